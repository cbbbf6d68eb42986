// The second view: a list that can be filtered, and the question that was chosen.

const SORTS = [["data", "Order of the data"], ["worst", "Worst first"], ["disagreeing", "Most disagreeing first"]];

class Questions {
  constructor(data, place) {
    this.data = data;
    this.filter = { text: "", wrong: false, disagreeing: false, run: null, order: "data" };
    this.shown = data.questions;
    this.current = null;
    this.list = h("ul", { class: "list" });
    this.status = h("p", { class: "status", role: "status" });
    this.detail = h("div", { class: "detail" });
    this.side = h("aside", { class: "side", "aria-label": "Questions" }, this.controls(), this.status, this.list);
    replace(place, h("div", { class: "split" }, this.side, this.detail));
    this.fresh = false;
    replace(this.detail, h("p", { class: "notice" }, "Choose a question to see what each run did with it."));
  }

  controls() {
    const change = (name, value) => { this.filter[name] = value; this.refresh(); };
    const box = (name, label) => h("label", { class: "check" },
      h("input", { type: "checkbox", id: `only-${name}`, onchange: (event) => change(name, event.target.checked) }), label);
    const runs = this.data.runs;
    this.search = h("input", { type: "search", id: "filter", placeholder: "Question, answer or id", autocomplete: "off",
      oninput: (event) => change("text", event.target.value) });
    return h("form", { class: "controls", role: "search", onsubmit: (event) => event.preventDefault() },
      h("label", { class: "wide" }, "Find ", this.search),
      h("div", { class: "checks" }, box("wrong", "Only wrong"), runs.length > 1 ? box("disagreeing", "Only disagreeing") : null),
      runs.length > 1 ? h("label", null, "Wrong in ", h("select", { id: "wrong-in", onchange: (event) => change("run", event.target.value === "" ? null : Number(event.target.value)) },
        h("option", { value: "" }, "any run"), runs.map((run, n) => h("option", { value: n }, run.name)))) : null,
      h("label", null, "Sort ", h("select", { id: "order", onchange: (event) => change("order", event.target.value) },
        SORTS.filter(([key]) => runs.length > 1 || key !== "disagreeing").map(([key, name]) => h("option", { value: key }, name)))));
  }

  // The list is made when it is first looked at: a thousand rows take a while.
  ready() {
    if (!this.fresh) this.refresh();
  }

  refresh() {
    this.fresh = true;
    this.shown = chosen(this.data.questions, this.filter);
    this.status.textContent = `${number(this.shown.length)} of ${count(this.data.questions.length, "question")}`;
    replace(this.list, this.shown.map((question) => this.row(question)));
    this.point();
  }

  row(question) {
    return h("li", { "data-id": question.id }, h("a", { href: address({ ...this.current, id: question.id, step: null }) },
      h("span", { class: "text" }, question.text),
      h("span", { class: "marks" }, question.runs.map((own, n) => (own
        ? h("span", { class: "own", title: this.data.runs[n].name }, hidden(`${this.data.runs[n].name} `), mark(own)) : null)))));
  }

  // Mark the open question in the list.
  point() {
    for (const item of this.list.children) {
      const link = item.firstChild;
      if (this.current && item.dataset.id === this.current.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  async open({ id, run, step }) {
    const question = this.data.questions.find((one) => one.id === id);
    if (!question) {
      replace(this.detail, h("p", { class: "notice" }, `There is no question with the id ${id} in this report.`));
      this.current = null;
      return;
    }
    const names = this.data.runs.map((one) => one.name);
    const place = names.includes(run) ? names.indexOf(run) : Math.max(0, question.runs.findIndex(Boolean));
    const same = this.current && this.current.id === id && this.current.run === names[place];
    this.current = { id, run: names[place], step };
    if (!same) await this.show(question, place);
    this.point();
    if (step !== null && step !== undefined) markStep(step, true);
  }

  async show(question, place) {
    const wanted = this.current;
    const told = await traceOf(question.place, question.id, this.data.block);
    if (this.current !== wanted) return; // another question was opened meanwhile
    const view = { question, passages: told.passages };
    replace(this.detail, this.head(question), this.answers(question, place), evidencePart(question.runs[place], view) || "",
      h("h3", { class: "trace-title" }, `Trace of ${this.data.runs[place].name}`), this.tabs(question, place), tracePart(told.runs[place], view));
    if (this.list.querySelector("[aria-current]")) this.list.querySelector("[aria-current]").removeAttribute("aria-current");
    document.getElementById("live").textContent = `${question.text}, trace of ${this.data.runs[place].name}`;
    window.scrollTo({ top: 0 });
  }

  head(question) {
    const at = this.shown.indexOf(question);
    return h("header", { class: "question" },
      h("p", { class: "where" },
        h("a", { href: "#/questions", class: "back" }, "← All questions"),
        h("span", null, at < 0 ? "not in the filtered list" : `${number(at + 1)} of ${number(this.shown.length)}`),
        h("button", { type: "button", onclick: () => this.step(-1), disabled: at <= 0 }, "Previous"),
        h("button", { type: "button", onclick: () => this.step(1), disabled: at < 0 || at + 1 >= this.shown.length }, "Next")),
      h("h2", { tabindex: "-1", id: "question-title" }, question.text),
      h("p", { class: "gold" }, question.golds.length ? [h("strong", null, "Gold answer "), question.golds.join(" / ")] : "No gold answer",
        h("span", { class: "quiet" }, [question.type, question.id].filter(Boolean).map((text) => ` · ${text}`))));
  }

  answers(question, place) {
    const right = this.data.columns.filter((column) => column.right);
    const columns = right.filter((column, n) => !column.key.includes("@") || isLast(right, n));
    return scrollable("Answers of the runs", h("table", { class: "answers" },
      h("thead", null, h("tr", null, ["Run", "Answer", ...columns.map((c) => c.label), "Rounds", "Calls", "Tokens in", "out", "Time"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", null, question.runs.map((own, n) => this.answer(question, own, n, place, columns)))));
  }

  answer(question, own, n, place, columns) {
    const name = this.data.runs[n].name;
    const head = h("th", { scope: "row" }, h("span", { class: `swatch ${series(n)}`, "aria-hidden": "true" }), own
      ? h("a", { href: address({ id: question.id, run: name }), "aria-current": n === place ? "true" : null }, name) : name);
    if (!own) return h("tr", null, head, h("td", { colspan: columns.length + 6 }, "not asked"));
    return h("tr", { class: n === place ? "open" : null }, head,
      h("td", { class: "text" }, mark(own), own.error ? own.error : own.answer || "(no answer)"),
      columns.map((column) => h("td", null, score(own.scores[column.key], column, column.percent ? 0 : 1))),
      [number(own.rounds), number(own.calls), number(own.in), number(own.out), seconds(own.seconds)].map((cell) => h("td", null, cell)));
  }

  tabs(question, place) {
    if (this.data.runs.length < 2) return "";
    return h("nav", { class: "tabs", "aria-label": "Trace of" }, this.data.runs.map((run, n) =>
      h("a", { href: address({ id: question.id, run: run.name }), "aria-current": n === place ? "true" : null }, run.name)));
  }

  // Another question of the list as it is filtered and sorted now.
  step(by) {
    const at = this.shown.findIndex((question) => this.current && question.id === this.current.id);
    const next = this.shown[at < 0 ? (by > 0 ? 0 : this.shown.length - 1) : at + by];
    if (next) location.hash = address({ id: next.id, run: this.current && this.current.run });
  }

  run(by) {
    if (!this.current) return;
    const names = this.data.runs.map((run) => run.name);
    const next = names[names.indexOf(this.current.run) + by];
    if (next) location.hash = address({ id: this.current.id, run: next });
  }
}

// The next or previous step becomes the marked one; the address follows, the history does not.
function moveStep(by) {
  const cards = [...document.querySelectorAll("article.step")];
  if (!cards.length) return;
  const at = cards.findIndex((card) => card.hasAttribute("aria-current"));
  const next = cards[at < 0 ? (by > 0 ? 0 : cards.length - 1) : Math.min(cards.length - 1, Math.max(0, at + by))];
  goToStep(next.dataset.seq);
}

function goToStep(seq) {
  const parts = location.hash.split("/");
  history.replaceState(null, "", [...parts.slice(0, 3), parts[3] || "", seq].join("/"));
  markStep(seq, true);
}

function markStep(seq, focus) {
  for (const card of document.querySelectorAll("article.step[aria-current]")) card.removeAttribute("aria-current");
  const card = document.getElementById(`step-${seq}`);
  if (!card) return;
  card.setAttribute("aria-current", "step");
  if (focus) {
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "start" });
  }
}
