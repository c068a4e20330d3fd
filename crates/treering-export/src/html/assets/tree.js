// The tree at the side: only the rows in sight are in the document, so its length costs nothing.

const tree = $('tree');
const rowsBox = $('rows');
const ROW = 28;
const GUIDES = { '|': 'bar', T: 'tee', L: 'end', ' ': 'gap' };

const state = { filter: 'default', words: [], folded: new Set(), matches: null, pending: false, cursor: -1, shown: -1 };
let lines = outline(new Uint8Array(N), new Set());
let lineOf = new Map();
const drawn = new Map();

function relayout() {
  const isVisible = new Uint8Array(N);
  for (let row = 0; row < N; row++) {
    isVisible[row] = passes(state.filter, row) && (!state.matches || state.matches[row]) ? 1 : 0;
  }
  lines = outline(isVisible, state.folded);
  lineOf = new Map(lines.rows.map((row, line) => [row, line]));
  rowsBox.style.height = `${lines.rows.length * ROW}px`;
  if (!lineOf.has(state.cursor)) state.cursor = nearestVisible(state.cursor);
  for (const element of drawn.values()) element.remove();
  drawn.clear();
  draw();
  const total = lines.rows.length;
  const what = total === 1 ? 'entry' : 'entries';
  const soFar = state.pending ? ' so far …' : '';
  $('count').textContent = state.words.length ? `${total} of ${N} entries match${soFar}` : `${total} of ${N} ${what} shown`;
}

// Returns the row itself, or the nearest visible one above it, or the first.
function nearestVisible(row) {
  for (; row >= 0; row = parent[row]) if (lineOf.has(row)) return row;
  return lines.rows.length ? lines.rows[0] : -1;
}

function draw() {
  const from = Math.max(0, Math.floor(tree.scrollTop / ROW) - 12);
  const to = Math.min(lines.rows.length, Math.ceil((tree.scrollTop + tree.clientHeight) / ROW) + 12);
  for (const [line, element] of drawn) {
    if ((line < from || line >= to) && element !== document.activeElement) {
      element.remove();
      drawn.delete(line);
    }
  }
  let before = null;
  for (let line = to - 1; line >= from; line--) {
    let element = drawn.get(line);
    if (!element) {
      element = rowElement(line);
      drawn.set(line, element);
      rowsBox.insertBefore(element, before);
    }
    before = element;
  }
  markHits();
}

function rowElement(line) {
  const row = lines.rows[line];
  const kind = kinds[row];
  const gutter = lines.gutters[line];
  const element = make('div', `row k-${kind === '?' ? 'x' : kind}`);
  element.setAttribute('role', 'treeitem');
  element.setAttribute('aria-level', lines.level[row] + 1);
  element.setAttribute('aria-selected', row === state.shown);
  element.tabIndex = row === state.cursor ? 0 : -1;
  element.dataset.row = row;
  element.style.top = `${line * ROW}px`;
  if (active[row]) element.classList.add('on');
  if (onPath.has(row)) element.classList.add('here');
  if (row === index.leaf) element.classList.add('leaf');
  const left = lines.level[row] - gutter.length;
  if (left > 0) element.append(make('span', 'more', `+${left}`));
  for (const mark of gutter) element.append(make('span', `g ${GUIDES[mark]}`));
  const folds = canFold(row);
  if (folds) {
    const fold = make('span', 'fold', state.folded.has(row) ? '⊞' : '⊟');
    fold.title = state.folded.has(row) ? 'Unfold' : 'Fold';
    element.setAttribute('aria-expanded', !state.folded.has(row));
    element.append(fold);
  } else element.append(make('span', 'dot'));
  if (labels.has(row)) element.append(make('span', 'label', labels.get(row)));
  const name = ROLES[kind] && !'uaAEtTb'.includes(kind) ? make('span', 'kind', role(row)) : null;
  if (name) element.append(name);
  element.append(make('span', 'preview', previews[row] || role(row)));
  element.title = `${role(row)} · ${day(new Date(time[row]))} ${clock(new Date(time[row]))}`;
  return element;
}

function refresh(row) {
  const line = lineOf.get(row);
  const old = drawn.get(line);
  if (!old) return;
  const element = rowElement(line);
  const focused = old === document.activeElement;
  old.replaceWith(element);
  drawn.set(line, element);
  if (focused) element.focus({ preventScroll: true });
}

function redraw() {
  for (const line of [...drawn.keys()]) refresh(lines.rows[line]);
}

function reveal(line) {
  const top = line * ROW;
  if (top < tree.scrollTop + ROW) tree.scrollTop = top - 2 * ROW;
  else if (top > tree.scrollTop + tree.clientHeight - 3 * ROW) tree.scrollTop = top - tree.clientHeight + 4 * ROW;
}

function moveCursor(line, focus) {
  if (!lines.rows.length) return;
  line = Math.max(0, Math.min(lines.rows.length - 1, line));
  const old = state.cursor;
  state.cursor = lines.rows[line];
  reveal(line);
  draw();
  refresh(old);
  refresh(state.cursor);
  if (focus) drawn.get(line)?.focus({ preventScroll: true });
}

function toggleFold(row, fold) {
  const now = state.folded.has(row);
  if (fold === now) return false;
  if (now) state.folded.delete(row); else state.folded.add(row);
  const focused = tree.contains(document.activeElement);
  relayout();
  if (focused) moveCursor(lineOf.get(state.cursor) ?? 0, true);
  return true;
}

// Only a row that begins a branch can be folded, as in the terminal interface.
const canFold = row => row >= 0 && lines.branches[row] && lines.count[row] > 0;

tree.addEventListener('scroll', draw, { passive: true });
new ResizeObserver(draw).observe(tree);

tree.addEventListener('click', event => {
  const element = event.target.closest('.row');
  if (!element) return;
  const row = +element.dataset.row;
  moveCursor(lineOf.get(row), true);
  if (event.target.classList.contains('fold')) toggleFold(row);
  else show(row, true);
});

tree.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const row = state.cursor;
  const line = lineOf.get(row) ?? 0;
  const page = Math.max(1, Math.floor(tree.clientHeight / ROW) - 2);
  const total = lines.rows.length;
  switch (event.key) {
    case 'ArrowDown': moveCursor((line + 1) % total, true); break;
    case 'ArrowUp': moveCursor((line + total - 1) % total, true); break;
    case 'PageDown': moveCursor(line + page, true); break;
    case 'PageUp': moveCursor(line - page, true); break;
    case 'Home': moveCursor(0, true); break;
    case 'End': moveCursor(total - 1, true); break;
    case 'ArrowLeft':
      if (!(canFold(row) && toggleFold(row, true)) && lines.above[row] >= 0) moveCursor(lineOf.get(lines.above[row]), true);
      break;
    case 'ArrowRight':
      if (!(canFold(row) && toggleFold(row, false))) moveCursor(line + 1, true);
      break;
    case 'Enter': case ' ': show(row, true); break;
    default: return;
  }
  event.preventDefault();
  event.stopPropagation();
});
