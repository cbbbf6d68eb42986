// T2RAG: query triplets from their unknowns to what they were bound to.

const SLOTS = ["subject", "predicate", "object"];
const KINDS = ["resolved", "searchable", "fuzzy"];

function isUnknown(text) {
  return String(text).startsWith("?");
}

function stateTriplets(state) {
  return KINDS.flatMap((kind) => (state[kind] || []).map((triplet) => ({ ...triplet, kind })));
}

// Whether a triplet can have become another: equal but for unknowns that were filled in.
function becomes(before, after) {
  return SLOTS.every((slot) => before[slot] === after[slot] || isUnknown(before[slot]));
}

// Rows of triplets over the steps that recorded a state.
// A row: one entry a step, {subject, predicate, object, kind, bound: slots filled in there} or null.
function evolution(states) {
  const rows = [];
  states.forEach((state, step) => {
    const taken = new Set();
    for (const triplet of stateTriplets(state)) {
      const last = (row) => row[step - 1];
      const free = rows.filter((row) => !taken.has(row) && step > 0 && last(row));
      const row = free.find((r) => SLOTS.every((slot) => last(r)[slot] === triplet[slot])) ||
        free.find((r) => becomes(last(r), triplet));
      const bound = row ? SLOTS.filter((slot) => last(row)[slot] !== triplet[slot]) : [];
      const target = row || Array(step).fill(null);
      if (!row) rows.push(target);
      taken.add(target);
      target[step] = { ...triplet, bound };
    }
    rows.forEach((row) => { if (row[step] === undefined) row[step] = null; });
  });
  return rows;
}

function slotElement(triplet, slot, before) {
  const text = String(triplet[slot]);
  if (isUnknown(text)) return h("span", { class: "unknown" }, hidden("unknown "), text);
  if (triplet.bound && triplet.bound.includes(slot)) {
    return h("mark", { class: "bound" }, text, before ? hidden(` (was ${before[slot]})`) : null);
  }
  return h("span", null, text);
}

function tripletElement(triplet, before) {
  return h("span", { class: "triplet" }, SLOTS.map((slot, n) =>
    [n ? h("span", { class: "arrow", "aria-hidden": "true" }, n === 1 ? " — " : " → ") : null, slotElement(triplet, slot, before)]));
}

const STATUS = { resolved: "known", searchable: "one unknown", fuzzy: "several unknowns" };

// The table above a trace: a row a triplet, a column a step.
function tripletBoard(steps) {
  const told = steps.filter((step) => step.state && KINDS.some((kind) => Array.isArray(step.state[kind])));
  if (!told.length) return null;
  const rows = evolution(told.map((step) => step.state));
  if (!rows.length) return h("section", { class: "panel" }, h("h3", null, "Triplets"), h("p", null, "The question was not broken into triplets."));
  const heads = told.map((step) => (step.round ? `Round ${step.round}` : words(step.step)));
  return h("section", { class: "panel", "aria-label": "Triplets, from unknown to bound" },
    h("h3", null, "Triplets, from ? to bound"),
    // A phone lays the cells out as blocks, which would end the table for a screen reader but for the roles.
    scrollable("Triplets over the rounds", h("table", { class: "board", role: "table" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ["#", ...heads].map((head) => h("th", { role: "columnheader", scope: "col" }, head)))),
      h("tbody", { role: "rowgroup" }, rows.map((row, n) => h("tr", { role: "row" }, h("th", { role: "rowheader", scope: "row" }, n + 1),
        row.map((cell, step) => h("td", { role: "cell", class: cell ? cell.kind : "none", "data-head": heads[step] }, cell
          ? [tripletElement(cell, step ? row[step - 1] : null), h("small", null, STATUS[cell.kind])] : "–"))))))));
}

// The triplets of one step.
function tripletList(triplets, label) {
  if (!triplets.length) return h("p", { class: "flat" }, `${label}: none`);
  return h("div", null, h("h5", null, label), h("ul", { class: "triplets" }, triplets.map((triplet) =>
    h("li", { class: triplet.kind || null }, tripletElement(triplet)))));
}
