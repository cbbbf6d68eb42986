// One question's trace in one run: rounds, steps, what each did and what it cost.

// Fields that are told elsewhere on a step's card, or drawn.
const OWN_FIELDS = ["seq", "parent", "step", "round", "calls", "seconds", "error"];
const DRAWN = {
  topology: ["spans", "links"],
  energy: ["anchors", "energy", "selected", "kept"],
  state: ["state", "filled", "kept"],
  subgraph: ["nodes", "triplets", "communities"],
};

// Steps in groups: before the first round, each round, after the last.
function rounds(steps) {
  const groups = [];
  const last = steps.reduce((found, step, n) => (step.round ? n : found), -1);
  steps.forEach((step, n) => {
    const parent = step.parent === null ? null : steps.find((other) => other.seq === step.parent);
    const round = step.round || (parent && parent.round) || null;
    const name = round ? `Round ${round}` : last === -1 ? "Steps" : n > last ? "Answer" : n === 0 || !groups.length || groups[groups.length - 1].name === "Start" ? "Start" : groups[groups.length - 1].name;
    if (!groups.length || groups[groups.length - 1].name !== name) groups.push({ name, steps: [] });
    groups[groups.length - 1].steps.push(step);
  });
  return groups;
}

function costOf(steps) {
  const calls = steps.flatMap((step) => step.calls || []);
  const sum = (name) => calls.reduce((total, call) => total + (call[name] || 0), 0);
  return { calls: calls.length, cached: sum("cached_calls"), in: sum("input_tokens"), out: sum("output_tokens"),
    seconds: steps.reduce((total, step) => total + (step.parent === null ? step.seconds : 0), 0) };
}

function costText(cost) {
  const parts = cost.calls ? [count(cost.calls, "call") + (cost.cached ? cost.cached === cost.calls ? ", cached" : `, ${cost.cached} cached` : ""),
    `${number(cost.in)} in`, `${number(cost.out)} out`] : [];
  return [...parts, seconds(cost.seconds)].join(" · ");
}

function tracePart(steps, view) {
  if (!steps) return h("p", { class: "notice" }, "This run has no trace of the question.");
  if (!steps.length) return h("p", { class: "notice" }, "The trace has no step.");
  return h("div", { class: "trace" }, costStrip(steps), tripletBoard(steps),
    rounds(steps).map((group) => h("section", { class: "round", "aria-label": group.name },
      h("header", null, h("h3", null, group.name), h("p", { class: "cost" }, costText(costOf(group.steps)))),
      group.steps.map((step) => stepCard(step, steps, view)))));
}

// Where the tokens went, a piece for each step that asked the model.
function costStrip(steps) {
  const asked = steps.map((step) => [step, costOf([step])]).filter(([, cost]) => cost.in + cost.out > 0);
  if (!asked.length) return null;
  const purposes = [...new Set(asked.flatMap(([step]) => step.calls.map((call) => call.purpose)))];
  const total = costOf(steps);
  return h("div", { class: "strip" },
    h("p", { class: "cost" }, `Whole trace: ${costText(total)}. Width: input + 4 × output tokens.`),
    h("div", { class: "pieces" }, asked.map(([step, cost]) => {
      const name = `Step ${step.seq + 1}, ${words(step.step)}: ${costText(cost)}`;
      return h("button", { type: "button", title: name, "aria-label": name, class: series(purposes.indexOf(step.calls[0].purpose)),
        style: `flex-grow:${cost.in + 4 * cost.out}`, onclick: () => goToStep(step.seq) }, String(step.seq + 1));
    })), legend(purposes, (name) => purposes.indexOf(name)));
}

function stepCard(step, steps, view) {
  const card = h("article", { class: `step${step.parent === null ? "" : " inner"}`, id: `step-${step.seq}`, tabindex: "-1", "data-seq": step.seq,
    "aria-label": `Step ${step.seq + 1}, ${words(step.step)}` },
    h("header", null, h("h4", null, h("span", { class: "seq" }, step.seq + 1), words(step.step)),
      h("p", { class: "cost" }, costText(costOf([{ ...step, parent: null }])))),
    step.error ? h("p", { class: "notice bad" }, step.error) : null);
  const drawn = new Set(OWN_FIELDS);
  for (const part of specialParts(step, steps, view, drawn)) card.append(part);
  const rest = Object.entries(step).filter(([name]) => !drawn.has(name));
  if (rest.length) {
    card.append(h("dl", { class: "fields" }, rest.map(([name, value]) =>
      [h("dt", null, words(name)), h("dd", null, valueElement(value, view, name))])));
  }
  for (const call of step.calls || []) card.append(callPart(call));
  card.append(later("As recorded", () => h("pre", null, JSON.stringify({ ...step, calls: (step.calls || []).length }, null, 1)), { class: "raw" }));
  return card;
}

// Views for what is better drawn than listed; each names the fields it has told.
function specialParts(step, steps, view, drawn) {
  const parts = [];
  const told = (names) => names.forEach((name) => drawn.add(name));
  if (typeof step.query === "string" && isSubgraph(step)) {
    told(["query"]);
    parts.push(h("dl", { class: "fields" }, h("dt", null, "Query"), h("dd", null, step.query)));
  }
  if (typeof step.answer === "string") {
    told(["answer"]);
    parts.push(h("p", { class: "answer" }, hidden("Answer: "), step.answer || "(no answer)"));
  }
  if (every(step.hits, isHit) && Array.isArray(step.new)) {
    told(["hits", "new"]);
    const fresh = new Set(step.new);
    parts.push(h("dl", { class: "fields" }, Array.isArray(step.queries) ? [h("dt", null, "Queries"), h("dd", null, valueElement(step.queries, view, "queries"))] : null,
      h("dt", null, "Hits"), h("dd", null, hitList(step.hits.map((hit) => [hit.id, hit.score]), view, "Hits", fresh))));
    told(["queries"]);
  }
  if (step.verdict && typeof step.verdict === "object") {
    told(["verdict"]);
    parts.push(verdictPart(step.verdict, view));
  }
  if (Array.isArray(step.spans) && Array.isArray(step.links)) told(DRAWN.topology);
  if (every(step.energy, Array.isArray)) {
    told(DRAWN.energy);
    parts.push(topologyPart(step, steps, view));
  }
  if (step.state && Array.isArray(step.state.resolved)) {
    told(DRAWN.state);
    parts.push(...statePart(step, steps));
  }
  if (step.step === "rerank" && every(step.kept, (id) => typeof id === "string")) {
    told(["query", "kept"]);
    parts.push(h("dl", { class: "fields" }, h("dt", null, "Query"), h("dd", null, step.query),
      h("dt", null, "Kept"), h("dd", null, keptList(step, steps, view))));
  }
  if (step.found && isSubgraph(step.found)) {
    told(["found"]);
    parts.push(h("dl", { class: "fields" }, h("dt", null, "Found"), h("dd", null, nodeList(step.found, view))));
  }
  if (isSubgraph(step)) {
    told(DRAWN.subgraph);
    parts.push(subgraphPart(step, steps, view));
  }
  return parts;
}

function verdictPart(verdict, view) {
  const { sufficient, ...rest } = verdict;
  const missing = Object.entries(rest).filter(([, value]) => value !== "" && value !== null && !(Array.isArray(value) && !value.length));
  return h("div", null,
    sufficient === undefined ? null : h("p", { class: "verdict" }, h("span", { class: `tag ${sufficient ? "yes" : "no"}` }, sufficient ? "sufficient" : "not sufficient")),
    missing.length ? h("dl", { class: "fields" }, missing.map(([name, value]) => [h("dt", null, words(name)), h("dd", null, valueElement(value, view, name))])) : null);
}

// What the model filled in, and what became of the triplets.
function statePart(step, steps) {
  const parts = [];
  const kept = new Set((step.kept || []).map((triplet) => JSON.stringify(triplet)));
  if (Array.isArray(step.filled)) {
    const refused = step.filled.filter((triplet) => !kept.has(JSON.stringify(triplet)));
    if (refused.length) parts.push(tripletList(refused, "Filled in, but not supported by the context"));
    if (!step.filled.length) parts.push(h("p", { class: "flat" }, "The model filled in nothing."));
  }
  const told = steps.filter((other) => other.state && Array.isArray(other.state.resolved) && other.seq <= step.seq);
  const rows = evolution(told.map((other) => other.state));
  const now = rows.map((row) => row[told.length - 1]).filter(Boolean);
  const before = new Map(rows.map((row) => [row[told.length - 1], row[told.length - 2]]));
  parts.push(now.length ? h("ul", { class: "triplets state" }, now.map((triplet) =>
    h("li", { class: triplet.kind }, tripletElement(triplet, before.get(triplet)), " ", h("span", { class: `tag ${triplet.kind}` }, STATUS[triplet.kind]))))
    : h("p", { class: "flat" }, "No triplets."));
  return parts;
}

function callPart(call) {
  const cost = `${number(call.input_tokens)} in · ${number(call.output_tokens)} out · ${call.cached ? "cached" : seconds(call.seconds)}`;
  return later([h("span", { class: "what" }, "Prompt and reply"), ` ${call.prompt || call.purpose || ""}`, h("span", { class: "cost" }, ` ${cost}`)], () => [
    ...promptParts(call.messages || []),
    messagePart("reply", call.reply ?? "", call.finish_reason && call.finish_reason !== "stop" ? `ended by ${call.finish_reason}` : ""),
  ], { class: "call" });
}

// The instruction and what was asked; worked examples between them, all alike, are opened apart.
function promptParts(messages) {
  const part = (message) => messagePart(message.role, message.content);
  const first = messages.length && messages[0].role === "system" ? 1 : 0;
  const examples = messages.slice(first, -1);
  if (examples.length < 2) return messages.map(part);
  return [...messages.slice(0, first).map(part), later(`${count(examples.length, "message")} of worked examples`, () => examples.map(part)),
    part(messages[messages.length - 1])];
}

function messagePart(role, text, note) {
  return h("div", { class: `message ${role}` }, h("h5", null, role, note ? ` (${note})` : ""), h("pre", null, text));
}
