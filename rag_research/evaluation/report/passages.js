// Passages that were found: rank, title, score, gold or not; the text when it is asked for.

function passageId(id) {
  return id.replace(/^chunk:/, "").split("@")[0];
}

function passageTitle(id, view) {
  const known = view.passages[passageId(id)];
  return known ? known.title || id : id;
}

// hits: [id, score] pairs; fresh: ids that were not known before.
function hitList(hits, view, label, fresh) {
  const gold = new Set(view.question.gold_passages);
  return h("ol", { class: "hits", "aria-label": label }, hits.map(([id, value]) => {
    const known = view.passages[passageId(id)];
    const head = [h("span", { class: "title" }, passageTitle(id, view)),
      gold.has(passageId(id)) ? h("span", { class: "tag gold" }, "gold") : null,
      fresh && fresh.has(id) ? h("span", { class: "tag new" }, "new") : null,
      h("span", { class: "id" }, id),
      h("span", { class: "value" }, number(value, 3))];
    return h("li", null, known ? later(head, () => h("p", { class: "source" }, known.text)) : h("p", { class: "flat" }, head));
  }));
}

// What a run read for its answer, with the gold passages it missed.
function evidencePart(own, view) {
  const gold = view.question.gold_passages;
  if (!own || (!own.evidence.length && !gold.length)) return null;
  const found = new Set(own.evidence.map(([id]) => passageId(id)));
  const missing = gold.filter((id) => !found.has(id));
  const told = gold.length ? ` · ${gold.length - missing.length} of ${gold.length} gold found` : "";
  return later(`Evidence: ${count(own.evidence.length, "passage")}${told}`, () => [
    own.evidence.length ? hitList(own.evidence, view, "Evidence") : null,
    missing.length ? [h("p", { class: "flat" }, "Gold passages that were not found"),
      hitList(missing.map((id) => [id, null]), view, "Gold passages not found")] : null,
  ].flat().filter(Boolean), { class: "evidence" });
}
