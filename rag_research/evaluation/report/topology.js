// ThreadRAG: the topology graph as threads, one a document, and its spans in the source text.

const EDGES = ["narrative", "semantic", "lexical"];

// Spans and edges known at a step, gathered from the topology steps up to it.
function graphAt(steps, at) {
  const told = steps.filter((step) => step.seq <= at && Array.isArray(step.spans) && Array.isArray(step.links));
  if (!told.length) return null;
  const spans = told.flatMap((step) => step.spans).map(([document, start, end, text]) => ({ document, start, end, text }));
  return { spans, links: told[told.length - 1].links, fresh: spans.length - told[told.length - 1].spans.length };
}

function key(span) {
  return `${span.document ?? span[0]} ${span.start ?? span[1]} ${span.end ?? span[2]}`;
}

// Each span with its energy and what became of it.
function spansOf(step, graph) {
  const energy = new Map(step.energy.map((row) => [key(row), row[3]]));
  const sets = Object.fromEntries(["anchors", "selected", "kept"].map((name) => [name, new Set((step[name] || []).map(key))]));
  const base = graph ? graph.spans : step.energy.map(([document, start, end]) => ({ document, start, end, text: null }));
  return base.map((span, n) => {
    const own = key(span);
    return { ...span, number: n, energy: energy.get(own) ?? 0, anchor: sets.anchors.has(own),
      selected: sets.selected.has(own), kept: sets.kept.has(own), fresh: graph ? n >= graph.fresh : false };
  });
}

function threadsOf(spans) {
  const threads = new Map();
  for (const span of spans) {
    if (!threads.has(span.document)) threads.set(span.document, []);
    threads.get(span.document).push(span);
  }
  const best = (own) => Math.max(...own.map((span) => span.energy));
  for (const own of threads.values()) own.sort((a, b) => a.start - b.start || a.end - b.end);
  return [...threads.values()].sort((a, b) => best(b) - best(a) || (a[0].document < b[0].document ? -1 : 1));
}

function documentTitle(thread, view) {
  const known = view.passages[passageId(String(thread[0].document))];
  if (known && known.title) return known.title;
  const text = thread[0].start === 0 && thread[0].text ? thread[0].text.split("\n")[0] : "";
  return text && text.length < 80 ? text : String(thread[0].document);
}

function topologyPart(step, steps, view) {
  const graph = graphAt(steps, step.seq);
  const spans = spansOf(step, graph);
  if (!spans.length) return h("p", { class: "flat" }, "There was no span to choose from.");
  const threads = threadsOf(spans);
  const kept = spans.filter((span) => span.kept).length;
  const label = `Topology graph: ${count(spans.length, "span")} of ${count(threads.length, "document")}, ` +
    `${graph ? count(graph.links.length, "edge") : "edges not recorded"}, ${kept} kept`;
  return h("div", { class: "topology" },
    h("p", { class: "flat" }, `${label}.`),
    graph ? edgeLegend() : null,
    h("div", { class: "drawing" }, responsive((width) => threadDrawing(threads, spans, graph, view, label, width, step.seq))),
    graph ? sourceText(threads, view, step.seq) : null,
    later("Spans as a table", () => scrollable("Spans", spanTable(threads, view))));
}

function edgeLegend() {
  const item = (name, title) => h("li", null, s("svg", { width: 26, height: 10, "aria-hidden": "true" },
    s("line", { class: `edge ${name}`, x1: 0, x2: 26, y1: 5, y2: 5, "stroke-width": 2 })), title);
  const dot = (name, title) => h("li", null, s("svg", { width: 16, height: 16, "aria-hidden": "true" },
    s("circle", { class: `node ${name}`, cx: 8, cy: 8, r: 5 }),
    name.includes("anchor") ? s("circle", { class: "ring", cx: 8, cy: 8, r: 7.2 }) : null), title);
  return h("ul", { class: "legend" }, dot("kept", "kept"), dot("", "left out"), dot("anchor", "anchor"),
    item("narrative", "reading order"), item("semantic", "likeness"), item("lexical", "shared entities"),
    h("li", null, "area: energy"));
}

// Titles beside the threads where there is room, above them on a phone.
function threadPlaces(threads, width) {
  const aside = width >= 620;
  const [left, tall, down] = aside ? [212, 46, 24] : [24, 66, 44];
  const longest = Math.max(...threads.map((thread) => thread.length));
  const gap = Math.max(30, Math.min(96, (width - left - 70) / longest));
  const places = [];
  // Every other thread is moved, so that edges between first spans do not lie on one line.
  threads.forEach((thread, row) => thread.forEach((span, n) => {
    places[span.number] = [left + 0.32 * gap * (row % 2) + n * gap, row * tall + down];
  }));
  const title = (row) => (aside ? { x: 0, y: row * tall + down + 4, room: left - 26 } : { x: 4, y: row * tall + 17, room: width });
  return { places, title, tall, wide: Math.max(width, left + longest * gap + 60), high: threads.length * tall + 8 };
}

function threadDrawing(threads, spans, graph, view, label, width, seq) {
  const { places, title, tall, wide, high } = threadPlaces(threads, width);
  const most = Math.max(...spans.map((span) => span.energy), 1e-9);
  const drawn = s("svg", { width: wide, height: high, role: "img", "aria-label": label });
  for (const [a, b, weight, ...values] of graph ? graph.links : []) drawn.append(edge(places[a], places[b], weight, values, spans[a], spans[b], tall));
  threads.forEach((thread, row) => {
    const { x, y, room } = title(row);
    const name = documentTitle(thread, view);
    drawn.append(s("text", { class: "thread", x, y }, s("title", null, name), short(name, room / 6.9)));
  });
  for (const span of spans) {
    const [x, y] = places[span.number];
    const r = 3 + 10 * Math.sqrt(span.energy / most);
    const state = [span.kept ? "kept" : span.selected ? "selected" : "", span.anchor ? "anchor" : ""].join(" ");
    drawn.append(s("g", { class: "spot", onclick: () => showSpan(seq, span.number) },
      s("title", null, `${spanState(span)}, energy ${number(span.energy, 3)}: ${short(span.text || key(span), 160)}`),
      s("circle", { class: `node ${state}`, cx: x, cy: y, r }),
      span.anchor ? s("circle", { class: "ring", cx: x, cy: y, r: r + 3 }) : null));
  }
  return drawn;
}

// Reading order is a line; other edges bow out, the further the threads are apart the more.
function edge([x1, y1], [x2, y2], weight, values, a, b, tall) {
  const kind = EDGES[values.indexOf(Math.max(...values))];
  const apart = Math.abs(y1 - y2) / tall;
  const [across, up] = apart ? [10 + 13 * apart, 0] : [0, kind === "narrative" ? 0 : -18];
  const path = `M${x1} ${y1}Q${(x1 + x2) / 2 + across} ${(y1 + y2) / 2 + up} ${x2} ${y2}`;
  return s("path", { class: `edge ${kind}${a.kept && b.kept ? " strong" : ""}`, d: path, "stroke-width": (0.8 + 2.4 * Math.min(1, weight)).toFixed(2) });
}

function spanState(span) {
  return [span.kept ? "kept" : span.selected ? "selected, then dropped" : "left out", span.anchor ? "anchor" : null].filter(Boolean).join(", ");
}

function showSpan(seq, place) {
  const target = document.getElementById(`span-${seq}-${place}`);
  if (!target) return;
  const outer = target.closest("details");
  if (outer) outer.open = true;
  target.scrollIntoView({ block: "center", behavior: "smooth" });
  target.classList.add("flash");
  setTimeout(() => target.classList.remove("flash"), 1600);
}

// The documents as they read, kept spans marked; what was not retrieved is a gap.
function sourceText(threads, view, seq) {
  const withKept = threads.filter((thread) => thread.some((span) => span.kept));
  const others = threads.filter((thread) => !withKept.includes(thread));
  const part = (thread) => h("div", { class: "document" }, h("h5", null, documentTitle(thread, view)),
    h("p", { class: "source" }, thread.map((span, n) => [
      n && span.start > thread[n - 1].end + 1 ? h("span", { class: "gap" }, " … ") : n ? " " : null,
      spanElement(span, seq)])));
  return h("div", { class: "sources" }, withKept.map(part),
    others.length ? later(`${count(others.length, "document")} of which nothing was kept`, () => others.map(part)) : null);
}

function spanElement(span, seq) {
  const text = (span.text || "").trim();
  const id = `span-${seq}-${span.number}`;
  const title = `${spanState(span)}, energy ${number(span.energy, 4)}`;
  if (span.kept) return h("mark", { id, class: "kept", title }, text, h("sub", null, number(span.energy, 2)));
  return h("span", { id, class: "left", title }, text);
}

function spanTable(threads, view) {
  const rows = threads.flat().sort((a, b) => b.energy - a.energy || a.number - b.number);
  const titles = new Map(threads.map((thread) => [thread[0].document, documentTitle(thread, view)]));
  return plainTable(["Document", "From", "To", "Energy", "State", "Text"], rows.map((span) =>
    [titles.get(span.document), number(span.start), number(span.end), number(span.energy, 4), spanState(span), short(span.text || "", 120)]));
}
