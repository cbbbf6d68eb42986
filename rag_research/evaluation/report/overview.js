// The first view: tables and plots, one section each; a section without data is left out.

function overview(data) {
  const sections = [
    resultsSection(data),
    differencesSection(data),
    costSection(data),
    roundsSection(data),
    curvesSection(data),
    ablationSection(data),
    sweepSection(data),
    remarkableSection(data),
    originSection(data),
  ].filter(Boolean);
  const facts = [data.dataset, data.questions.length ? count(data.questions.length, "question") : null,
    data.runs.length ? count(data.runs.length, "run") : null];
  return [
    h("h1", null, data.title),
    h("p", { class: "lead" }, facts.filter(Boolean).join(" · ")),
    h("nav", { class: "contents", "aria-label": "Sections" }, sections.map((part) =>
      h("a", { href: `#/overview/${part.id}` }, part.querySelector("h2").textContent))),
    sections,
  ];
}

function section(id, title, lead, ...children) {
  return h("section", { id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title), lead ? h("p", { class: "lead" }, lead) : null, children);
}

function resultsSection(data) {
  if (!data.runs.length) return null;
  const columns = data.columns.filter((column) => column.right);
  const plots = columns.filter((column, n) => !column.key.includes("@") || isLast(columns, n)).map((column) =>
    h("div", null, h("h3", null, column.label), forest(column.label, data.runs.map((run, n) => {
      const value = run.metrics[column.key];
      if (!value) return { label: run.name, note: "no gold data", mean: null };
      const note = `${score(value.mean, column)} (${score(value.low, column)}–${score(value.high, column)})`;
      return { label: run.name, note, tone: series(n), mean: 100 * value.mean, low: 100 * value.low, high: 100 * value.high };
    }), 0, 100)));
  return section("results", "Results",
    "Means with 95 % bootstrap intervals; shares in percent. A failed question counts as wrong. Select a column's name to sort.",
    scrollable("Comparison of the runs", comparisonTable(data)), publishedPart(data),
    plots.length ? h("div", { class: "grid-of-plots" }, plots) : null);
}

// Of recall@2 and recall@5 only the last is drawn; the table has both.
function isLast(columns, n) {
  const family = columns[n].key.split("@")[0];
  return !columns.slice(n + 1).some((column) => column.key.split("@")[0] === family);
}

function gapRows(rows, percent) {
  const scale = percent ? 100 : 1;
  return rows.map((gap) => {
    const p = gap.holm ?? gap.p;
    const sure = p === undefined || p === null ? gap.low > 0 || gap.high < 0 : p < 0.05;
    const note = `${signed(scale * gap.difference)} (${signed(scale * gap.low)} to ${signed(scale * gap.high)})` +
      (p === undefined || p === null ? "" : `, p ${p < 0.001 ? "< 0.001" : number(p, 3)}`);
    const tone = !sure ? "unsure" : gap.difference > 0 ? "better" : "worse";
    return { label: gap.name, note, tone, mean: scale * gap.difference, low: scale * gap.low, high: scale * gap.high };
  });
}

function gapPlots(data, gaps) {
  const metrics = [...new Set(gaps.map((gap) => gap.metric))];
  const known = metrics.map((key) => data.columns.find((c) => c.key === key) ||
    { key, label: words(key), percent: gaps.every((gap) => Math.abs(gap.difference) <= 1) });
  const shown = known.filter((column, n) => !column.key.includes("@") || isLast(known, n));
  return h("div", { class: "grid-of-plots" }, shown.map((column) => {
    const rows = gapRows(gaps.filter((gap) => gap.metric === column.key), column.percent);
    const far = Math.max(5, ...rows.flatMap((row) => [Math.abs(row.low), Math.abs(row.high)])) * 1.05;
    return h("div", null, h("h3", null, column.label), forest(column.label, rows, -far, far, true, 0.47));
  }));
}

function differencesSection(data) {
  // An ablation's own section says the same.
  const said = data.ablations.some((one) => data.runs.length && one.reference === data.runs[0].name);
  if (!data.gaps.length || said) return null;
  return section("differences", "Differences",
    `Each run minus ${data.runs[0].name} on the same questions, in points, with 95 % bootstrap intervals; p after Holm over the runs; filled where it is below 0.05. Where the interval holds zero, the questions do not tell the two apart.`,
    gapPlots(data, data.gaps));
}

function ablationSection(data) {
  if (!data.ablations.length) return null;
  return section("ablations", "Ablations", "Each ablation minus the full system on the same questions, with 95 % intervals; p after Holm; filled where it is below 0.05.",
    data.ablations.map((one) => [h("h3", null, one.title), gapPlots(data, one.rows), ablationQuestions(one)]));
}

function ablationQuestions(one) {
  const asked = Object.entries(one.questions).filter(([, question]) => question);
  return asked.length ? later("What each ablation asks", () => h("dl", { class: "facts" }, asked.map(([name, question]) =>
    [h("dt", null, name), h("dd", null, question)]))) : null;
}

const MEASURES = [
  ["in", "Tokens in", number], ["out", "Tokens out", number], ["weighted", "Input + 4 × output", number],
  ["calls", "LLM calls", (value) => number(value, 1)], ["seconds", "Seconds waiting for the model", seconds],
];

function costSection(data) {
  if (!data.runs.length) return null;
  const purposes = [...new Set(data.runs.flatMap((run) => [...run.query, ...run.index].map((row) => row.purpose)))];
  const order = (name) => purposes.indexOf(name);
  const place = h("div");
  const draw = (choice) => {
    const [key, name, show] = MEASURES[choice];
    replace(place, costFigure(data, `${name} per question`, "query", (run) => Math.max(1, run.asked), key, show, order),
      data.runs.some((run) => run.index.length)
        ? costFigure(data, `${name}, whole index`, "index", () => 1, key, show, order) : null);
  };
  const menu = h("select", { onchange: (event) => draw(Number(event.target.value)) },
    MEASURES.map(([, name], n) => h("option", { value: n }, name)));
  draw(0);
  return section("costs", "Costs",
    "What the language model was asked for, by purpose; calls answered by the cache are counted like others, but take no time.",
    h("p", { class: "controls" }, h("label", null, "Measure ", menu)),
    legend(purposes, order), place, wallFigure(data));
}

function costFigure(data, title, stage, divide, key, show, order) {
  const rows = data.runs.map((run) => {
    const parts = run[stage].map((row) => ({ name: row.purpose, value: row[key] / divide(run), tone: series(order(row.purpose)) }));
    const sum = parts.reduce((total, part) => total + part.value, 0);
    const cached = run[stage].reduce((total, row) => total + row.cached, 0);
    const calls = run[stage].reduce((total, row) => total + row.calls, 0);
    return { label: run.name, note: calls ? `${show(sum)} · ${number((100 * cached) / calls)} % of calls cached` : "no LLM call", parts };
  });
  const table = data.runs.flatMap((run) => run[stage].map((row) =>
    [run.name, row.purpose, number(row.calls), number(row.cached), number(row.in), number(row.out), seconds(row.seconds)]));
  return figure(title, bars(title, rows, show), ["Run", "Purpose", "Calls", "Cached", "Tokens in", "Tokens out", "Time"], table, null, "Numbers, sums over the run");
}

function wallFigure(data) {
  const stages = [...new Set(data.runs.flatMap((run) => Object.keys(run.stages)))];
  if (!stages.length) return null;
  const order = (name) => ({ load: 7, index: 5 })[name] ?? 0;
  const rows = data.runs.map((run) => {
    const parts = stages.map((stage) => ({ name: stage, value: run.stages[stage] || 0, tone: series(order(stage)) }));
    return { label: run.name, note: stages.map((stage) => `${stage} ${seconds(run.stages[stage])}`).join(" · "), parts };
  });
  const table = data.runs.map((run) => [run.name, ...stages.map((stage) => seconds(run.stages[stage]))]);
  return h("div", null, figure("Wall-clock time by stage", [legend(stages, order), bars("Wall-clock time by stage", rows, seconds)],
    ["Run", ...stages.map(words)], table, "work found in the store takes none"));
}

// Answered questions of a run by their rounds, fewest first, with the mean of a column.
function histogram(data, run, column) {
  const groups = new Map();
  for (const question of data.questions) {
    const own = question.runs[run];
    if (!own || own.error) continue;
    if (!groups.has(own.rounds)) groups.set(own.rounds, []);
    groups.get(own.rounds).push(column ? own.scores[column.key] : null);
  }
  const answered = [...groups.values()].reduce((sum, values) => sum + values.length, 0);
  return [...groups].sort(([a], [b]) => a - b).map(([round, values]) => {
    const known = values.filter((value) => value !== null && value !== undefined);
    const mean = known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
    return { round, questions: values.length, share: values.length / answered, mean };
  });
}

function roundsSection(data) {
  const column = data.columns.find((c) => c.right && !c.key.includes("@"));
  const found = data.runs.map((run, n) => [run, n, histogram(data, n, column)]);
  const runs = found.filter(([, , groups]) => groups.some((group) => group.round > 1));
  if (!runs.length) return null;
  return section("rounds", "Rounds", "After how many retrieval rounds questions were answered, and how right the answers were that stopped there.",
    h("div", { class: "grid-of-plots" }, runs.map(([run, n, groups]) => {
      const rows = groups.map((group) => {
        const right = group.mean === null ? "" : ` · ${column.label} ${score(group.mean, column)}`;
        return { label: count(group.round, "round"), note: `${count(group.questions, "question")} (${number(100 * group.share)} %)${right}`,
          parts: [{ name: "share of questions", value: 100 * group.share, tone: series(n) }] };
      });
      return h("div", null, h("h3", null, run.name), bars(run.name, rows, (value) => `${number(value, 1)} %`, 100));
    })));
}

function curvesSection(data) {
  const found = data.curves.filter((curve) => Object.values(curve.measures).some((rows) => Object.keys(rows).length));
  if (!found.length) return null;
  return section("curves", "Recall against the budget",
    "How much of the evidence fits into so many tokens, read in the order of each retriever.",
    found.map((curve) => [
      h("h3", null, `${curve.name}`, h("small", null, ` ${curve.dataset}, ${count(curve.questions, "question")}`)),
      h("div", { class: "grid-of-plots" }, Object.entries(curve.measures).map(([measure, rows]) => {
        const named = Object.fromEntries(Object.entries(rows).map(([name, values]) => [name, values.map((v) => 100 * v)]));
        const names = Object.keys(named);
        const every = curve.budgets.map((budget, n) => [budget, n]).filter(([, n]) => n % 4 === 3);
        return figure(MEANINGS[measure] || words(measure),
          [lines(measure, curve.budgets, named, "tokens read", 100), lineLegend(names)],
          ["Retriever", ...every.map(([budget]) => number(budget))],
          names.map((name) => [name, ...every.map(([, n]) => number(named[name][n], 1))]), "in percent");
      })),
    ]));
}

function lineLegend(names) {
  return h("ul", { class: "legend" }, names.map((name, n) => h("li", null,
    s("svg", { width: 26, height: 10, "aria-hidden": "true" }, s("line", { class: `line ${series(n)} d${Math.floor(n / 8) % 3}`, x1: 0, x2: 26, y1: 5, y2: 5 })), name)));
}

const MEANINGS = {
  whole: "Gold passages read in whole",
  touched: "Gold passages of which a sentence is read",
  sentences: "Supporting sentences read",
};

function remarkableSection(data) {
  const scored = data.questions.filter((question) => question.mean !== null && question.mean < 1);
  const worst = chosen(scored, { text: "", order: "worst" }).slice(0, 8);
  const apart = chosen(data.questions, { text: "", order: "disagreeing" }).filter((question) => question.disagree).slice(0, 8);
  if (!worst.length && !apart.length) return null;
  const list = (title, questions) => questions.length
    ? h("div", null, h("h3", null, title), h("ol", { class: "remarkable" }, questions.map((question) => remarkable(question, data)))) : null;
  return section("remarkable", "Worst and most disagreeing questions",
    "Lowest mean score over the runs, most tokens first; and widest apart between the runs. Each opens its traces.",
    h("div", { class: "grid-of-plots" }, list("Worst", worst), list("Most disagreeing", apart)));
}

function remarkable(question, data) {
  return h("li", null, h("a", { href: address({ id: question.id }) }, question.text),
    h("ul", { class: "answers" }, question.runs.map((own, n) => own
      ? h("li", null, mark(own), h("span", { class: "who" }, `${data.runs[n].name}: `), own.error ? own.error : own.answer || "(no answer)") : null)),
    question.golds.length ? h("p", { class: "gold" }, `Gold: ${question.golds.slice(0, 3).join(" / ")}`) : null);
}

// Right, wrong or failed, as a sign and as a word.
function mark(own) {
  const [sign, word] = own.error ? ["!", "failed"] : own.right === null ? ["·", "not scored"] : own.right ? ["✓", "right"] : ["✗", "wrong"];
  return h("span", { class: `mark ${word.split(" ")[0]}`, title: word }, h("span", { "aria-hidden": "true" }, sign), hidden(`${word}, `));
}

function originSection(data) {
  if (!data.runs.length) return null;
  return section("origin", "Where the figures come from", "What a result row must name: code, configuration, data, models, prompts, metric versions, seed.",
    data.runs.map((run) => {
      const code = run.facts.code || {};
      const rows = [
        ["Date", run.facts.date], ["Commit", code.commit ? `${code.commit}${code.dirty ? ", with uncommitted changes" : ""}` : null],
        ["Configuration", run.fingerprint], ["Seed", run.config.seed],
        ["Model", (run.facts.models?.llm || {}).model], ["Encoder", (run.config.encoder || {}).model || (run.config.encoder || {}).name],
        ["Passages", run.data.passages && `${number(run.data.passages)}, ${run.data.corpus_fingerprint}`],
        ["Questions asked", run.data.asked_fingerprint],
      ];
      return later(run.name, () => [
        h("dl", { class: "facts" }, rows.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) =>
          [h("dt", null, name), h("dd", null, String(value))])),
        later("Everything", () => h("pre", null, JSON.stringify({ facts: run.facts, data: run.data, configuration: run.config }, null, 2)))]);
    }));
}
