// Elements and numbers. Text goes in as text nodes only, so nothing in the data becomes markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(3)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function hidden(text) {
  return h("span", { class: "hidden" }, text);
}

// A details element whose contents are made when it is first opened.
function later(summary, build, attributes) {
  const element = h("details", attributes, h("summary", null, summary));
  let made = false;
  element.make = () => {
    if (!made) element.append(...[build()].flat());
    made = true;
  };
  element.addEventListener("toggle", () => { if (element.open) element.make(); });
  return element;
}

function replace(element, ...children) {
  element.replaceChildren();
  return fill(element, null, children);
}

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

function number(value, digits = 0) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (digits === 0) return WHOLE.format(value);
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function signed(value, digits = 1) {
  const text = number(Math.abs(value), digits);
  if (Number(Math.abs(value).toFixed(digits)) === 0) return text;
  return (value < 0 ? "−" : "+") + text;
}

function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value >= 3600) return `${number(value / 3600, 1)} h`;
  if (value >= 120) return `${number(value / 60, 1)} min`;
  if (value > 0 && value < 0.01) return "< 0.01 s";
  return `${number(value, value < 10 ? 2 : 1)} s`;
}

function count(n, word, words) {
  return `${number(n)} ${n === 1 ? word : words || word + "s"}`;
}

// A score as tables show it: shares in percent.
function score(value, column, digits = 1) {
  if (value === null || value === undefined) return "–";
  return number(column.percent ? 100 * value : value, digits);
}

function words(name) {
  const text = name.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// Series colours are classes, so both themes and print can set them.
function series(index) {
  return `c${index % 8}`;
}

function scrollable(label, ...children) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, ...children);
}

function legend(names, order) {
  return h("ul", { class: "legend" }, names.map((name) =>
    h("li", null, h("span", { class: `swatch ${series(order(name))}`, "aria-hidden": "true" }), name)));
}
