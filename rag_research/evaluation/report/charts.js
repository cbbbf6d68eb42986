// Plots as SVG, drawn for the width there is; every figure has its numbers in a table too.

// A place that is drawn again when its width changes.
function responsive(draw) {
  const place = h("div", { class: "plot" });
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.round(place.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      const drawn = draw(width);
      // On paper the drawing shrinks to the page.
      drawn.setAttribute("viewBox", `0 0 ${drawn.getAttribute("width")} ${drawn.getAttribute("height")}`);
      replace(place, drawn);
    }
  }).observe(place);
  return place;
}

function figure(title, plots, head, rows, note, numbers = "Numbers") {
  return h("figure", null,
    h("figcaption", null, h("strong", null, title), note ? h("span", null, ` ${note}`) : null),
    plots,
    later(numbers, () => scrollable(title, plainTable(head, rows)), { class: "numbers" }));
}

function plainTable(head, rows) {
  return h("table", null,
    h("thead", null, h("tr", null, head.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", null, rows.map(([first, ...rest]) =>
      h("tr", null, h("th", { scope: "row" }, first), rest.map((cell) => h("td", null, cell))))));
}

function ticks(low, high, wanted) {
  const raw = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((m) => m >= raw);
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n += 1) found.push(n * step);
  return found;
}

function tick(value) {
  const text = String(Number(value.toPrecision(4)));
  return text.replace("-", "−");
}

// Means with intervals. rows: {label, note, mean, low, high, tone}; shown as given.
function forest(title, rows, low, high, zero, aside = 0.34) {
  return responsive((width) => {
    const left = Math.min(230, Math.max(120, width * aside));
    const right = width - 14;
    const tall = 38;
    const bottom = rows.length * tall + 8;
    const x = (value) => left + ((right - left) * (value - low)) / (high - low);
    const drawn = s("svg", { width, height: bottom + 26, role: "img", "aria-label": describe(title, rows) });
    for (const at of ticks(low, high, width < 500 ? 3 : 5)) {
      drawn.append(
        s("line", { class: at === 0 && zero ? "zero" : "grid", x1: x(at), x2: x(at), y1: 0, y2: bottom }),
        s("text", { class: "tick", x: x(at), y: bottom + 17, "text-anchor": "middle" }, tick(at)));
    }
    rows.forEach((row, n) => {
      const y = n * tall + 19;
      drawn.append(s("text", { class: "label", x: 0, y: y - 2 }, short(row.label, left / 7.4)),
        s("text", { class: "note", x: 0, y: y + 13 }, row.note));
      if (row.mean === null) return;
      drawn.append(s("g", { class: row.tone },
        s("line", { class: "whisker", x1: x(row.low), x2: x(row.high), y1: y, y2: y }),
        s("circle", { class: "dot", cx: x(row.mean), cy: y, r: 5 }),
        s("title", null, `${row.label}: ${row.note}`)));
    });
    return drawn;
  });
}

function describe(title, rows) {
  return `${title}. ${rows.map((row) => `${row.label}: ${row.note}`).join("; ")}.`;
}

function short(text, letters) {
  const most = Math.max(4, Math.floor(letters));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

// Horizontal bars made of parts. rows: {label, note, parts: [{name, value, tone}]}.
function bars(title, rows, show, full = 0) {
  const most = full || Math.max(...rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0)), 1e-9);
  return responsive((width) => {
    const left = Math.min(180, Math.max(104, width * 0.3));
    const room = width - left - 6;
    const drawn = s("svg", { width, height: rows.length * 42 + 2, role: "img", "aria-label": describe(title, rows) });
    rows.forEach((row, n) => {
      const y = n * 42 + 6;
      drawn.append(s("text", { class: "label", x: 0, y: y + 13 }, short(row.label, left / 7.4)));
      let at = left;
      for (const part of row.parts) {
        const long = (room * part.value) / most;
        drawn.append(s("rect", { class: `bar ${part.tone}`, x: at, y, width: Math.max(0, long - 1), height: 16, rx: 2 },
          s("title", null, `${row.label}, ${part.name}: ${show(part.value)}`)));
        at += long;
      }
      drawn.append(s("text", { class: "note", x: left, y: y + 30 }, row.note));
    });
    return drawn;
  });
}

// Lines over a common axis. lines: {name: values}.
function lines(title, x, named, across, highest) {
  const names = Object.keys(named);
  return responsive((width) => {
    const [left, right, top, bottom] = [38, width - 12, 10, Math.min(340, Math.max(220, width * 0.5))];
    const [first, last] = [x[0], x[x.length - 1]];
    const px = (value) => left + ((right - left) * (value - first)) / (last - first || 1);
    const py = (value) => bottom - ((bottom - top) * value) / highest;
    const drawn = s("svg", { width, height: bottom + 42, role: "img",
      "aria-label": `${title}, a line for each of ${names.join(", ")}. The numbers are in the table below.` });
    for (const at of ticks(0, highest, 5)) {
      drawn.append(s("line", { class: "grid", x1: left, x2: right, y1: py(at), y2: py(at) }),
        s("text", { class: "tick", x: left - 6, y: py(at) + 4, "text-anchor": "end" }, tick(at)));
    }
    for (const at of ticks(first, last, width < 500 ? 3 : 6)) {
      drawn.append(s("text", { class: "tick", x: px(at), y: bottom + 17, "text-anchor": "middle" }, tick(at)));
    }
    drawn.append(s("text", { class: "note", x: right, y: bottom + 36, "text-anchor": "end" }, across));
    names.forEach((name, n) => {
      const points = named[name].map((value, k) => `${px(x[k]).toFixed(1)},${py(value).toFixed(1)}`).join(" ");
      drawn.append(s("polyline", { class: `line ${series(n)} d${Math.floor(n / 8) % 3}`, points }, s("title", null, name)));
    });
    return drawn;
  });
}

// Points over one parameter, numbers or names. points: {x, y, tone, text}.
function scatter(title, points, name) {
  const numeric = points.every((point) => typeof point.x === "number");
  const kinds = numeric ? [] : [...new Set(points.map((point) => String(point.x)))].sort();
  const at = (point) => (numeric ? point.x : kinds.indexOf(String(point.x)));
  const [xs, ys] = [points.map(at), points.map((point) => point.y)];
  const log = numeric && Math.min(...xs) > 0 && Math.max(...xs) / Math.min(...xs) > 50;
  const scaled = xs.map((value) => (log ? Math.log10(value) : value));
  const span = (values, pad) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const more = (high - low) * pad || 0.5;
    return [low - more, high + more];
  };
  const [[x0, x1], [y0, y1]] = [span(scaled, 0.08), span(ys, 0.12)];
  return responsive((width) => {
    const [left, right, top, bottom] = [46, width - 8, 8, 150];
    const px = (value) => left + ((right - left) * (value - x0)) / (x1 - x0);
    const py = (value) => bottom - ((bottom - top) * (value - y0)) / (y1 - y0);
    const drawn = s("svg", { width, height: bottom + 38, role: "img", "aria-label": `${title} against ${name}` });
    for (const level of ticks(y0, y1, 3)) {
      drawn.append(s("line", { class: "grid", x1: left, x2: right, y1: py(level), y2: py(level) }),
        s("text", { class: "tick", x: left - 6, y: py(level) + 4, "text-anchor": "end" }, tick(level)));
    }
    const tried = [...new Set(scaled)].sort((a, b) => a - b);
    const places = numeric ? (tried.length <= 5 && !log ? tried : ticks(x0, x1, 4)).map((v) => [v, log ? `10^${tick(v)}` : tick(v)]) : kinds.map((kind, n) => [n, kind]);
    for (const [value, label] of places) {
      drawn.append(s("text", { class: "tick", x: px(value), y: bottom + 16, "text-anchor": "middle" }, short(label, 16)));
    }
    drawn.append(s("text", { class: "note", x: (left + right) / 2, y: bottom + 33, "text-anchor": "middle" }, name));
    points.forEach((point, n) => {
      drawn.append(s("circle", { class: `dot ${point.tone}`, cx: px(scaled[n]), cy: py(point.y), r: point.best ? 6 : 4 },
        s("title", null, point.text)));
    });
    return drawn;
  });
}
