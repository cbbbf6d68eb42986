// What is embedded in the page: a summary at once, traces when they are asked for.

const MARK = "\u0001";

async function embedded(id) {
  const element = document.getElementById(id);
  if (element.type === "application/json") return JSON.parse(element.textContent);
  const packed = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

const opened = new Map();

function once(id) {
  if (!opened.has(id)) opened.set(id, embedded(id));
  return opened.get(id);
}

function unpack(value, texts) {
  if (typeof value === "string") {
    if (!value.startsWith(MARK)) return value;
    return value[1] === "#" ? texts[Number(value.slice(2))] : value.slice(1);
  }
  if (Array.isArray(value)) return value.map((item) => unpack(item, texts));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unpack(item, texts)]));
  }
  return value;
}

// The lines of a question's trace in every run, and the passages they name.
async function traceOf(place, id, size) {
  const [block, texts] = await Promise.all([once(`block-${Math.floor(place / size)}`), once("texts")]);
  return { runs: unpack(block.traces[id], texts), passages: block.passages };
}

// Questions that pass the filter, in the order asked for.
function chosen(questions, filter) {
  const text = filter.text.trim().toLowerCase();
  const shown = questions.filter((question) => {
    if (filter.disagreeing && !question.disagree) return false;
    if (filter.wrong && !missed(question, filter.run)) return false;
    return !text || haystack(question).includes(text);
  });
  return filter.order === "data" ? shown : [...shown].sort(ORDERS[filter.order]);
}

const ORDERS = {
  worst: (a, b) => rank(a) - rank(b) || spent(b) - spent(a) || a.place - b.place,
  disagreeing: (a, b) => b.spread - a.spread || spent(b) - spent(a) || a.place - b.place,
};

function rank(question) {
  return question.mean === null ? 2 : question.mean;
}

function spent(question) {
  return question.runs.reduce((sum, own) => sum + (own ? own.in + 4 * own.out : 0), 0);
}

// Wrong or failed in one run, or, without one, in any.
function missed(question, run) {
  const own = run === null ? question.runs : [question.runs[run]];
  return own.some((outcome) => outcome && (outcome.error || outcome.right === false));
}

function haystack(question) {
  if (!question.haystack) {
    const answers = question.runs.map((own) => (own && own.answer) || "");
    question.haystack = [question.id, question.text, question.type, ...question.golds, ...answers]
      .join("\n").toLowerCase();
  }
  return question.haystack;
}
