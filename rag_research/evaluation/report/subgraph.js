// ToG-3: the sub-graph of a round, its triplets by origin, and what changed since the last one.

const ORIGINS = { extracted: "from the text", refined: "rewritten", inferred: "added by the model" };

function isSubgraph(step) {
  return Array.isArray(step.nodes) && Array.isArray(step.triplets) && step.nodes.every((node) => Array.isArray(node));
}

function tripletKey(triplet) {
  return triplet.slice(0, 3).join("\u0001");
}

// Triplets with what became of them since the sub-graph before: new, stays or gone.
function changes(before, now) {
  const old = new Map((before || []).map((triplet) => [tripletKey(triplet), triplet]));
  const present = new Set(now.map(tripletKey));
  const rows = now.map((triplet) => ({ triplet, change: !before ? "first" : old.has(tripletKey(triplet)) ? "stays" : "new" }));
  const gone = (before || []).filter((triplet) => !present.has(tripletKey(triplet)));
  return [...rows, ...gone.map((triplet) => ({ triplet, change: "gone" }))];
}

function subgraphBefore(step, steps) {
  return steps.filter((other) => other.seq < step.seq && isSubgraph(other)).pop() || null;
}

function subgraphPart(step, steps, view) {
  const before = subgraphBefore(step, steps);
  const rows = changes(before && before.triplets, step.triplets);
  const drawn = rows.filter((row) => row.change !== "gone");
  const label = `Sub-graph: ${count(step.nodes.length, "node")}, ${count(drawn.length, "triplet")}`;
  return h("div", { class: "subgraph" }, h("p", { class: "flat" }, `${label}.`),
    drawn.length ? [entityLegend(), h("div", { class: "drawing" }, responsive((width) => entityDrawing(drawn, label, width)))] : null,
    rows.length ? changeList(rows) : null,
    later(`${count(step.nodes.length, "node")} with scores`, () => nodeList(step, view, before)));
}

function entityLegend() {
  return h("ul", { class: "legend" }, Object.entries(ORIGINS).map(([origin, title]) => h("li", null,
    s("svg", { width: 26, height: 10, "aria-hidden": "true" }, s("line", { class: `relation ${origin}`, x1: 0, x2: 26, y1: 5, y2: 5 })), title)),
    h("li", null, s("svg", { width: 26, height: 10, "aria-hidden": "true" }, s("line", { class: "relation extracted new", x1: 0, x2: 26, y1: 5, y2: 5 })), "new in this round"));
}

function entityDrawing(rows, label, width) {
  const names = new Map();
  const place = (name) => {
    const own = name.trim().toLowerCase();
    if (!names.has(own)) names.set(own, { name: name.trim(), number: names.size });
    return names.get(own).number;
  };
  const links = rows.map(({ triplet, change }) => ({ from: place(String(triplet[0])), to: place(String(triplet[2])), triplet, change }));
  const nodes = [...names.values()];
  const pad = Math.min(84, width / 5);
  const laid = bands(nodes.length, links.map((link) => [link.from, link.to]), width - 2 * pad,
    (size) => (size < 3 ? 0 : (width < 500 ? 70 : 50) * Math.ceil(Math.sqrt(size)) - 40));
  const height = laid.height + 64;
  const points = laid.places.map(([x, y]) => [x + pad, y + 30]);
  const drawn = s("svg", { width, height, role: "img", "aria-label": `${label}. ${rows.map((row) => row.triplet.slice(0, 3).join(" ")).join("; ")}.` });
  links.forEach(({ from, to, triplet, change }) => drawn.append(relation(points[from], points[to], triplet, change)));
  nodes.forEach((node, n) => {
    const [x, y] = points[n];
    drawn.append(s("g", { class: "entity" }, s("title", null, node.name), s("circle", { cx: x, cy: y, r: 5 }),
      s("text", { x, y: y - 10, "text-anchor": "middle" }, short(node.name, 2 * pad / 6.6))));
  });
  return drawn;
}

function relation([x1, y1], [x2, y2], triplet, change) {
  const origin = String(triplet[3] || "extracted");
  return s("g", { class: "link" }, s("title", null, `${triplet.slice(0, 3).join(" — ")} (${ORIGINS[origin] || origin}, ${change})`),
    s("line", { class: `relation ${origin} ${change}`, x1, y1, x2, y2 }), arrow(x1, y1, x2, y2, origin),
    s("text", { class: "predicate", x: (x1 + x2) / 2, y: (y1 + y2) / 2 + 14, "text-anchor": "middle" },
      short(String(triplet[1]), Math.max(10, Math.hypot(x2 - x1, y2 - y1) / 6.4))));
}

// A small triangle before the object, so that the direction shows.
function arrow(x1, y1, x2, y2, origin) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length < 24) return null;
  const [x, y] = [(x2 - x1) / length, (y2 - y1) / length];
  const at = (along, aside) => `${(x2 - x * along - y * aside).toFixed(1)},${(y2 - y * along + x * aside).toFixed(1)}`;
  return s("polygon", { class: `arrowhead ${origin}`, points: [at(7, 0), at(15, 4), at(15, -4)].join(" ") });
}

function changeList(rows) {
  return h("ul", { class: "triplets" }, rows.map(({ triplet, change }) => {
    const [subject, predicate, object, origin] = triplet.map(String);
    return h("li", { class: change }, tripletElement({ subject, predicate, object }), " ",
      change === "new" || change === "gone" ? h("span", { class: `tag ${change}` }, change) : null, " ",
      h("span", { class: `tag ${origin}` }, ORIGINS[origin] || origin));
  }));
}

// What is known of a sub-graph's nodes, by id. Its triplets stand in the order of its triplet nodes.
function nodesOf(step, view) {
  const triplets = [...step.triplets];
  return new Map(step.nodes.map(([id, score]) => {
    const kind = id.split(":")[0];
    const own = kind === "triplet" ? triplets.shift() : null;
    const passage = kind === "chunk" ? view.passages[passageId(id)] : null;
    const told = (step.communities || {})[id];
    const title = own ? own.slice(0, 3).join(" — ") : passage ? passage.title : told && short(told, 60);
    return [id, { kind, score, title: title || id, text: passage ? passage.text : told }];
  }));
}

function nodeItem({ kind, title, text, score }, fresh) {
  const head = [h("span", { class: `tag ${kind}` }, kind), h("span", { class: "title" }, title),
    fresh ? h("span", { class: "tag new" }, "new") : null, h("span", { class: "value" }, number(score, 3))];
  return h("li", null, text ? later(head, () => h("p", { class: "source" }, text)) : h("p", { class: "flat" }, head));
}

function nodeList(step, view, before) {
  const old = new Set(before ? before.nodes.map(([id]) => id) : []);
  return h("ol", { class: "hits" }, [...nodesOf(step, view)].map(([id, node]) => nodeItem(node, before && !old.has(id))));
}

// What the reranker kept of the last sub-graph.
function keptList(step, steps, view) {
  const before = subgraphBefore(step, steps);
  const nodes = before ? nodesOf(before, view) : new Map();
  return h("ol", { class: "hits" }, step.kept.map((id) => nodes.has(id) ? nodeItem(nodes.get(id)) : h("li", null, id)));
}
