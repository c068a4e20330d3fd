// The outline: which rows the tree shows, and their layout. Rows that continue each other stay in one column, the
// active path in the first. A side branch is indented by one level. The children of a hidden row hang on the nearest
// visible row above it. The terminal interface and the command line have the same layout.

const FILTERS = ['default', 'no-tools', 'user-only', 'labeled-only', 'all'];
const MAX_LEVELS = 6; // further ones are counted, not drawn

function passes(filter, row) {
  const kind = kinds[row];
  // An answer without text is hidden unless it is the leaf.
  if (kind === 'A' && row !== index.leaf) return filter === 'labeled-only' && labels.has(row);
  switch (filter) {
    case 'all': return true;
    case 'user-only': return kind === 'u';
    case 'labeled-only': return labels.has(row);
    case 'no-tools': return kind !== 't' && kind !== 'T' && !BOOKKEEPING.includes(kind);
    default: return !BOOKKEEPING.includes(kind);
  }
}

// Returns the visible rows in order. For each: its level, and its gutter with one letter per level (a bar, nothing, and
// at its own level a tee or an end). For all rows: the nearest visible row above, the number of rows below, whether the
// row begins a branch.
function outline(isVisible, folded) {
  const above = new Int32Array(N).fill(-1);
  const branches = new Uint8Array(N); // of a hidden row: whether it, or a hidden row above it, begins a branch
  const count = new Int32Array(N);
  const level = new Int32Array(N);
  const anchor = new Int32Array(N).fill(-1); // the nearest row, itself or above, that begins a branch
  const hidden = new Uint8Array(N); // below a folded row
  const rows = [];
  for (let row = 0; row < N; row++) {
    const up = parent[row];
    const isHung = up >= 0 && !isVisible[up];
    above[row] = isHung ? above[up] : up;
    branches[row] = isSide[row] || (isHung && branches[up]) ? 1 : 0;
    if (!isVisible[row]) continue;
    const top = above[row];
    if (top >= 0) {
      count[top]++;
      hidden[row] = hidden[top] || (branches[top] && folded.has(top)) ? 1 : 0;
    }
    level[row] = (top < 0 ? 0 : level[top]) + branches[row];
    anchor[row] = branches[row] ? row : top < 0 ? -1 : anchor[top];
    if (!hidden[row]) rows.push(row);
  }
  // Backwards, the first row of each parent is its last. Roots are at N.
  const isLast = new Uint8Array(N);
  const seen = new Uint8Array(N + 1);
  for (let at = rows.length - 1; at >= 0; at--) {
    const row = rows[at];
    const slot = above[row] < 0 ? N : above[row];
    if (!seen[slot]) isLast[row] = 1;
    seen[slot] = 1;
  }
  const gutters = rows.map(row => {
    const cells = Array(Math.min(level[row], MAX_LEVELS)).fill(' ');
    const from = level[row] - cells.length;
    const set = (at, letter) => { if (at > from) cells[at - from - 1] = letter; };
    if (branches[row]) set(level[row], isLast[row] ? 'L' : 'T');
    let next = branches[row] ? (above[row] < 0 ? -1 : anchor[above[row]]) : anchor[row];
    while (next >= 0 && level[next] > from) {
      if (!isLast[next]) set(level[next], '|');
      next = above[next] < 0 ? -1 : anchor[above[next]];
    }
    return cells.join('');
  });
  return { rows, gutters, level, above, count, branches };
}
