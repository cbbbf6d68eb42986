// Whatever a step recorded, shown by its shape; nothing here knows a system.

function isTriplet(value) {
  return value && typeof value === "object" && SLOTS.every((slot) => typeof value[slot] === "string");
}

function isHit(value) {
  return value && typeof value === "object" && "id" in value && "score" in value && Object.keys(value).length === 2;
}

function isPair(value) {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === "string" && typeof value[1] === "number";
}

function every(list, test) {
  return Array.isArray(list) && list.length > 0 && list.every(test);
}

function valueElement(value, view, name) {
  if (value === null || value === undefined) return h("span", { class: "quiet" }, "nothing");
  if (typeof value === "boolean") return h("span", null, value ? "yes" : "no");
  if (typeof value === "number") return h("span", null, number(value, Number.isInteger(value) ? 0 : 4));
  if (typeof value === "string") return textElement(value);
  if (Array.isArray(value)) return listElement(value, view, name);
  if (isTriplet(value)) return tripletElement(value);
  if (every(Object.values(value), (item) => typeof item === "number")) {
    return h("span", null, Object.entries(value).map(([own, item]) => `${own} ${number(item, Number.isInteger(item) ? 0 : 4)}`).join(" · "));
  }
  return h("dl", { class: "facts" }, Object.entries(value).map(([own, item]) =>
    [h("dt", null, words(own)), h("dd", null, valueElement(item, view, own))]));
}

function textElement(text) {
  if (text === "") return h("span", { class: "quiet" }, "empty");
  if (text.length < 400 && !text.includes("\n")) return h("span", null, text);
  return later(`${number(text.length)} characters`, () => h("div", { class: "source long", tabindex: "0", role: "region", "aria-label": "Text" }, text));
}

function listElement(value, view, name) {
  if (!value.length) return h("span", { class: "quiet" }, "none");
  if (every(value, isHit)) return hitList(value.map((hit) => [hit.id, hit.score]), view, words(name));
  if (every(value, isPair)) return hitList(value, view, words(name));
  if (every(value, isTriplet)) return h("ul", { class: "triplets" }, value.map((triplet) => h("li", null, tripletElement(triplet))));
  if (every(value, (item) => typeof item === "string")) return stringList(value);
  const text = JSON.stringify(value, null, 1);
  return text.length < 200 ? h("code", null, JSON.stringify(value)) : later(count(value.length, "entry", "entries"), () => h("pre", null, text));
}

const FEW = 6;

function stringList(items) {
  const item = (text) => h("li", null, text);
  if (items.length <= FEW + 2) return h("ul", { class: "strings" }, items.map(item));
  return h("div", null, h("ul", { class: "strings" }, items.slice(0, FEW).map(item)),
    later(`${number(items.length - FEW)} more`, () => h("ul", { class: "strings" }, items.slice(FEW).map(item))));
}
