// Where the nodes of a small graph go: springs from a circle, the same picture every time.

const STEPS = 250;
const BAND_GAP = 64;

// links: pairs of node numbers. Returns a list of [x, y] inside the box.
function springs(count, links, width, height) {
  if (count === 0) return [];
  const ideal = 0.75 * Math.sqrt((width * height) / count);
  const places = Array.from({ length: count }, (_, n) => {
    const angle = (2 * Math.PI * n) / count;
    return [width / 2 + 0.35 * width * Math.cos(angle), height / 2 + 0.35 * height * Math.sin(angle)];
  });
  for (let step = 0; step < STEPS; step += 1) {
    const heat = (0.12 * Math.min(width, height) * (STEPS - step)) / STEPS;
    const moves = places.map(() => [0, 0]);
    repel(places, moves, ideal);
    attract(places, moves, links, ideal);
    places.forEach((place, n) => {
      moves[n][0] += 0.02 * (width / 2 - place[0]);
      moves[n][1] += 0.05 * (height / 2 - place[1]);
      const length = Math.hypot(...moves[n]) || 1;
      const far = Math.min(length, heat) / length;
      place[0] = Math.min(width, Math.max(0, place[0] + moves[n][0] * far));
      place[1] = Math.min(height, Math.max(0, place[1] + moves[n][1] * far));
    });
  }
  return places;
}

// Places of nodes whose connected components lie in bands, one below the other, each as wide as all.
function bands(count, links, width, bandHeight) {
  const group = Array.from({ length: count }, (_, n) => n);
  const root = (n) => (group[n] === n ? n : root(group[n]));
  links.forEach(([a, b]) => { group[Math.max(root(a), root(b))] = Math.min(root(a), root(b)); });
  const members = new Map();
  group.forEach((_, n) => members.set(root(n), [...(members.get(root(n)) || []), n]));
  const places = [];
  let top = 0;
  for (const own of members.values()) {
    const number = new Map(own.map((n, at) => [n, at]));
    const inner = links.filter(([a]) => number.has(a)).map(([a, b]) => [number.get(a), number.get(b)]);
    const height = bandHeight(own.length);
    const found = stretched(springs(own.length, inner, width, Math.max(height, 1)), width, height);
    own.forEach((n, at) => { places[n] = [found[at][0], found[at][1] + top]; });
    top += height + BAND_GAP;
  }
  return { places, height: Math.max(0, top - BAND_GAP) };
}

// The same places, filling the box; on a line across its middle where they have no extent.
function stretched(places, width, height) {
  const fill = (axis, size) => {
    const values = places.map((place) => place[axis]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return (value) => (high - low < 1 ? size / 2 : ((value - low) / (high - low)) * size);
  };
  const [across, down] = [fill(0, width), fill(1, height)];
  return places.map(([x, y]) => [across(x), down(y)]);
}

function repel(places, moves, ideal) {
  for (let a = 0; a < places.length; a += 1) {
    for (let b = a + 1; b < places.length; b += 1) {
      // Two nodes in one place part along a line that depends on their numbers alone.
      const x = places[a][0] - places[b][0] || 0.01 * (a - b);
      const y = places[a][1] - places[b][1] || 0.01;
      const force = (ideal * ideal) / (x * x + y * y);
      moves[a][0] += x * force;
      moves[a][1] += y * force;
      moves[b][0] -= x * force;
      moves[b][1] -= y * force;
    }
  }
}

function attract(places, moves, links, ideal) {
  for (const [a, b] of links) {
    const x = places[a][0] - places[b][0];
    const y = places[a][1] - places[b][1];
    const force = Math.hypot(x, y) / ideal;
    moves[a][0] -= x * force;
    moves[a][1] -= y * force;
    moves[b][0] += x * force;
    moves[b][1] += y * force;
  }
}
