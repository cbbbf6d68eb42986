// Addresses, keys, theme, and the start.
// An address is #/overview[/section], #/questions or #/q/<question>[/<run>[/<step>]].

function address({ id, run, step }) {
  const parts = ["#/q", encodeURIComponent(id)];
  if (run) parts.push(encodeURIComponent(run));
  if (run && step !== null && step !== undefined) parts.push(step);
  return parts.join("/");
}

function placeOf(hash) {
  const [, view, ...rest] = hash.split("/");
  const [first, second, third] = rest.map(decodeURIComponent);
  if (view === "q" && first !== undefined) return { view: "questions", id: first, run: second || null, step: third ?? null };
  if (view === "questions") return { view };
  return { view: "overview", part: first };
}

function show(view) {
  for (const name of ["overview", "questions"]) {
    document.getElementById(name).hidden = name !== view;
    const link = document.getElementById(`to-${name}`);
    if (name === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function follow(data, questions) {
  const place = placeOf(location.hash);
  show(place.view);
  if (place.view === "questions") questions.ready();
  document.body.classList.toggle("reading", Boolean(place.id));
  document.title = data.title;
  if (place.id) {
    await questions.open(place);
    const question = data.questions.find((one) => one.id === place.id);
    if (question) document.title = `${question.text} · ${data.title}`;
  } else if (place.part) {
    const target = document.getElementById(place.part);
    if (target) target.scrollIntoView();
  }
}

const THEMES = ["auto", "light", "dark"];

// file:// pages may have no storage; the choice then lasts as long as the page.
function remembered(value) {
  try {
    if (value !== undefined) localStorage.setItem("rag-research-theme", value);
    return localStorage.getItem("rag-research-theme");
  } catch (error) {
    if (error.name !== "SecurityError") throw error;
    return null;
  }
}

function theming() {
  const button = document.getElementById("theme");
  const apply = (theme) => {
    if (theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", theme);
    button.textContent = `Theme: ${theme}`;
    button.dataset.theme = theme;
  };
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(button.dataset.theme) + 1) % THEMES.length];
    remembered(next);
    apply(next);
  });
  const kept = remembered();
  apply(THEMES.includes(kept) ? kept : "auto");
}

function keys(questions) {
  const help = document.getElementById("help");
  document.getElementById("keys").addEventListener("click", () => help.showModal());
  const act = {
    o: () => { location.hash = "#/overview"; },
    "/": () => {
      if (document.getElementById("questions").hidden) location.hash = "#/questions";
      setTimeout(() => questions.search.focus(), 0);
    },
    n: () => questions.step(1),
    p: () => questions.step(-1),
    j: () => moveStep(1),
    k: () => moveStep(-1),
    "[": () => questions.run(-1),
    "]": () => questions.run(1),
    e: toggleCalls,
    Escape: () => { location.hash = "#/questions"; },
    "?": () => help.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const typing = event.target.closest("input, select, textarea");
    if (typing) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (act[event.key]) {
      event.preventDefault();
      act[event.key]();
    }
  });
}

function toggleCalls() {
  const calls = [...document.querySelectorAll("article.step[aria-current] details.call")];
  const open = calls.some((part) => !part.open);
  for (const part of calls) part.open = open;
}

// On paper there is nothing to open: what a reader opened stays open, the numbers of plots open.
function printing() {
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details.numbers")) {
      part.make();
      part.open = true;
    }
  });
}

async function start() {
  const data = await embedded("data");
  data.questions.forEach((question, n) => { question.place = n; });
  document.getElementById("brand").textContent = data.title;
  replace(document.getElementById("overview"), overview(data));
  const questions = new Questions(data, document.getElementById("questions"));
  if (!data.questions.length) document.getElementById("to-questions").hidden = true;
  theming();
  keys(questions);
  // Addresses are the views', so this one link does not change them.
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  });
  printing();
  window.addEventListener("hashchange", () => follow(data, questions));
  document.getElementById("loading").remove();
  await follow(data, questions);
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => {
  const place = document.getElementById("loading") || document.getElementById("main");
  place.textContent = `The report cannot be read: ${error.message}`;
  throw error;
});
