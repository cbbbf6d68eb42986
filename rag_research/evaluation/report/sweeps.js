// Sweeps: the metric against each parameter that was varied, and the trials.

function sweepSection(data) {
  if (!data.sweeps.length) return null;
  return section("sweeps", "Sweeps", "Every point is a trial; the best is ringed. Parameters that stayed the same are left out.",
    data.sweeps.map((sweep) => sweepPart(sweep)));
}

function sweepPart(sweep) {
  const title = h("h3", null, sweep.name, h("small", null, ` ${sweep.metric}${sweep.goal ? `, to ${sweep.goal}` : ""}`));
  const scored = sweep.trials.filter((trial) => typeof trial.value === "number");
  if (!scored.length) return [title, h("p", null, "No trial has a value yet.")];
  const sign = sweep.goal === "minimize" ? 1 : -1;
  const sorted = [...scored].sort((a, b) => sign * (a.value - b.value));
  const names = [...new Set(scored.flatMap((trial) => Object.keys(trial.parameters)))].filter((name) =>
    new Set(scored.map((trial) => JSON.stringify(trial.parameters[name]))).size > 1);
  const shown = (value) => (value === undefined || value === null ? "–" : typeof value === "number" ? tick(value) : String(value));
  const plots = names.map((name) => {
    const own = scored.filter((trial) => trial.parameters[name] !== undefined && trial.parameters[name] !== null);
    return h("div", null, scatter(sweep.metric, own.map((trial) => ({
      x: trial.parameters[name], y: trial.value, best: trial === sorted[0],
      tone: trial === sorted[0] ? "c1 best" : trial.state === "finished" ? "c0" : "unsure",
      text: `trial ${trial.number}, ${trial.state}: ${shown(trial.value)} at ${name} ${shown(trial.parameters[name])}`,
    })), name));
  });
  const failed = sweep.trials.length - scored.length;
  return [title, h("div", { class: "grid-of-plots small" }, plots),
    failed ? h("p", null, `${count(failed, "trial")} without a value.`) : null,
    later(`${count(scored.length, "trial")}, best first`, () => scrollable(`Trials of ${sweep.name}`, plainTable(
      ["Trial", "State", sweep.metric, ...names],
      sorted.map((trial) => [String(trial.number), trial.state, shown(trial.value), ...names.map((name) => shown(trial.parameters[name]))]))))];
}
