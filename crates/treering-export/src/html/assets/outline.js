// The outline: which rows the tree shows, and where they stand. Runs stay flat; only what is below a
// fork is indented; a hidden row hands its children to the nearest visible one above it.

const FILTERS = ['default', 'no-tools', 'user-only', 'labeled-only', 'all'];
const MAX_LEVELS = 6; // further ones are counted, not drawn

function passes(filter, row) {
  const kind = kinds[row];
  // An answer without text says nothing, unless it is where the conversation stands.
  if (kind === 'A' && row !== index.leaf) return filter === 'labeled-only' && labels.has(row);
  switch (filter) {
    case 'all': return true;
    case 'user-only': return kind === 'u';
    case 'labeled-only': return labels.has(row);
    case 'no-tools': return kind !== 't' && kind !== 'T' && !BOOKKEEPING.includes(kind);
    default: return !BOOKKEEPING.includes(kind);
  }
}

// The visible rows in order. Of each: its level, and its gutter as one letter a level (a bar, nothing,
// and at its own place a tee or an end). Of all: the nearest visible row above, how many are below.
function outline(isVisible, folded) {
  const above = new Int32Array(N).fill(-1);
  const count = new Int32Array(N + 1); // the roots at N
  for (const row of order) {
    const up = parent[row];
    above[row] = up < 0 || isVisible[up] ? up : above[up];
    if (isVisible[row]) count[above[row] < 0 ? N : above[row]]++;
  }
  const level = new Int32Array(N);
  const seen = new Int32Array(N + 1);
  const hidden = new Uint8Array(N); // below a folded row
  const bars = []; // per level: whether a sibling is still to come
  const rows = [];
  const gutters = [];
  for (const row of order) {
    const up = parent[row];
    if (up >= 0 && (hidden[up] || (isVisible[up] && folded.has(up)))) hidden[row] = 1;
    if (!isVisible[row]) continue;
    const slot = above[row] < 0 ? N : above[row];
    const branches = count[slot] > 1;
    const base = above[row] < 0 ? 0 : level[above[row]];
    const isLast = ++seen[slot] === count[slot];
    level[row] = base + (branches ? 1 : 0);
    bars.length = base;
    if (!hidden[row]) {
      const drawnBars = bars.slice(-MAX_LEVELS).map(bar => (bar ? '|' : ' ')).join('');
      rows.push(row);
      gutters.push(drawnBars + (branches ? (isLast ? 'L' : 'T') : ''));
    }
    if (branches) bars.push(!isLast);
  }
  return { rows, gutters, level, above, count };
}
