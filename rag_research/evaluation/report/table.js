// The comparison table: one row a run, sortable by every column, published figures below.

function comparisonTable(data) {
  const columns = tableColumns(data);
  const body = h("tbody", null, data.runs.map((run) => bodyRow(columns, run)));
  const heads = columns.map((column, n) =>
    h("th", { scope: "col", "aria-sort": "none" },
      h("button", { type: "button", title: column.title || null,
        onclick: () => sortBy(columns, n, body, heads, data.runs) }, column.label)));
  const parts = [h("caption", { class: "hidden" }, "Runs with 95 % intervals"),
    h("thead", null, h("tr", null, heads)), body];
  const same = data.published.filter((row) => row.same);
  if (same.length) parts.push(publishedBody(columns, same, "As published, with other models, encoders and samples of questions"));
  return h("table", { class: "comparison" }, parts);
}

function tableColumns(data) {
  const asked = (run) => Math.max(1, run.asked);
  const total = (run, name) => run.query.reduce((sum, row) => sum + row[name], 0) / asked(run);
  const plain = (label, title, value, digits) => ({
    label, title, value, cell: (run) => [number(value(run), digits)],
  });
  const scores = data.columns.map((column) => ({
    key: column.key,
    label: column.label,
    title: column.percent ? `${column.label}, percent` : column.label,
    value: (run) => (run.metrics[column.key] ? run.metrics[column.key].mean : null),
    cell: (run) => interval(run.metrics[column.key], column),
    printed: (value) => score(value, column),
  }));
  return [
    { label: "Run", value: (run) => run.name, head: true, cell: (run) => runName(run, data) },
    { label: "Asked / answered / failed", value: (run) => run.asked,
      cell: (run) => [`${number(run.asked)} / ${number(run.answered)} / ${number(run.failed)}`,
        run.failed ? h("small", { class: "bad" }, `${number(run.failed)} failed`) : null,
        run.partial ? h("small", { class: "bad" }, `ended early, of ${number(run.questions)}`) : null] },
    ...scores,
    plain("Rounds", "Mean retrieval rounds", (run) => run.means.rounds, 1),
    plain("Calls", "LLM calls a question", (run) => total(run, "calls"), 1),
    plain("Tokens in", "A question, cached calls included", (run) => total(run, "in")),
    plain("Tokens out", "A question, cached calls included", (run) => total(run, "out")),
    plain("Weighted", "Input + 4 × output tokens a question", (run) => total(run, "weighted")),
    plain("Index tokens", "Input and output, all of the index",
      (run) => run.index.reduce((sum, row) => sum + row.in + row.out, 0)),
    { label: "Time", title: "Asking divided by the questions; cached replies take none",
      value: (run) => run.seconds.a_question, cell: (run) => [seconds(run.seconds.a_question)] },
  ];
}

function runName(run, data) {
  const place = data.runs.indexOf(run);
  const more = run.system === run.name ? run.folder : run.system;
  return [h("span", { class: `swatch ${series(place)}`, "aria-hidden": "true" }), run.name,
    more === run.name ? null : h("small", null, more)];
}

function interval(value, column) {
  if (!value) return ["–"];
  return [score(value.mean, column), h("small", null, `${score(value.low, column)}–${score(value.high, column)}`)];
}

function bodyRow(columns, run) {
  return h("tr", null, columns.map((column) =>
    column.head ? h("th", { scope: "row" }, column.cell(run)) : h("td", null, column.cell(run))));
}

function sortBy(columns, n, body, heads, runs) {
  const column = columns[n];
  const before = heads[n].getAttribute("aria-sort");
  const down = before === "none" ? !column.head : before === "ascending";
  heads.forEach((head, k) => head.setAttribute("aria-sort", k !== n ? "none" : down ? "descending" : "ascending"));
  const sorted = [...runs].sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    if (x === y) return 0;
    if (x === null || x === undefined) return 1;
    if (y === null || y === undefined) return -1;
    return (x < y ? -1 : 1) * (down ? -1 : 1);
  });
  replace(body, sorted.map((run) => bodyRow(columns, run)));
  document.getElementById("live").textContent = `Sorted by ${column.label}, ${down ? "highest" : "lowest"} first`;
}

// Figures of the papers under our columns; no difference to them is ever computed.
function publishedBody(columns, rows, title) {
  return h("tbody", { class: "published" },
    h("tr", null, h("th", { colspan: columns.length, scope: "rowgroup" }, title)),
    rows.map((row) => h("tr", null, columns.map((column) => {
      if (column.head) {
        return h("th", { scope: "row" }, `${row.name}, ${row.reader === "not stated" ? "model not stated" : row.reader}`,
          h("small", null, `${row.source}, ${row.encoder}`));
      }
      const value = column.key ? row.metrics[column.key] : undefined;
      return h("td", null, value === undefined || value === null ? "" : column.printed(value));
    }))));
}

// All published figures on the data set, of methods that are not in the table as well.
function publishedPart(data) {
  if (!data.published.length) return null;
  const columns = data.columns.filter((column) => data.published.some((row) => row.metrics[column.key] !== undefined));
  return later(`All ${data.published.length} published rows on ${data.dataset}`, () => scrollable("Published figures", plainTable(
    ["Method", "Model", "Encoder", "Source", ...columns.map((column) => column.label)],
    data.published.map((row) => [row.name, row.reader, row.encoder, row.source,
      ...columns.map((column) => score(row.metrics[column.key], column))]))), { class: "numbers" });
}
