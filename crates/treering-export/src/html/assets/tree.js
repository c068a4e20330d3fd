// The tree at the side: only the rows in sight are in the document, so its length costs nothing.

const tree = $('tree');
const rowsBox = $('rows');
const ROW = 28;
const GUIDES = { '|': 'bar', T: 'tee', L: 'end', ' ': 'gap' };

const state = { filter: 'default', words: [], folded: new Set(), matches: null, pending: false, cursor: -1, shown: -1 };
let lines = outline(new Uint8Array(N), new Set());
let placeOf = new Map();
const drawn = new Map();

function relayout() {
  const isVisible = new Uint8Array(N);
  for (let row = 0; row < N; row++) {
    isVisible[row] = passes(state.filter, row) && (!state.matches || state.matches[row]) ? 1 : 0;
  }
  lines = outline(isVisible, state.folded);
  placeOf = new Map(lines.rows.map((row, place) => [row, place]));
  rowsBox.style.height = `${lines.rows.length * ROW}px`;
  if (!placeOf.has(state.cursor)) state.cursor = nearestVisible(state.cursor);
  for (const element of drawn.values()) element.remove();
  drawn.clear();
  draw();
  const total = lines.rows.length;
  const what = total === 1 ? 'entry' : 'entries';
  const soFar = state.pending ? ' so far …' : '';
  $('count').textContent = state.words.length ? `${total} of ${N} entries match${soFar}` : `${total} of ${N} ${what} shown`;
}

// The row itself, else the nearest one above it that is shown, else the first.
function nearestVisible(row) {
  for (; row >= 0; row = parent[row]) if (placeOf.has(row)) return row;
  return lines.rows.length ? lines.rows[0] : -1;
}

function draw() {
  const from = Math.max(0, Math.floor(tree.scrollTop / ROW) - 12);
  const to = Math.min(lines.rows.length, Math.ceil((tree.scrollTop + tree.clientHeight) / ROW) + 12);
  for (const [place, element] of drawn) {
    if ((place < from || place >= to) && element !== document.activeElement) {
      element.remove();
      drawn.delete(place);
    }
  }
  let before = null;
  for (let place = to - 1; place >= from; place--) {
    let element = drawn.get(place);
    if (!element) {
      element = rowElement(place);
      drawn.set(place, element);
      rowsBox.insertBefore(element, before);
    }
    before = element;
  }
  markHits();
}

function rowElement(place) {
  const row = lines.rows[place];
  const kind = kinds[row];
  const gutter = lines.gutters[place];
  const element = make('div', `row k-${kind === '?' ? 'x' : kind}`);
  element.setAttribute('role', 'treeitem');
  element.setAttribute('aria-level', lines.level[row] + 1);
  element.setAttribute('aria-selected', row === state.shown);
  element.tabIndex = row === state.cursor ? 0 : -1;
  element.dataset.row = row;
  element.style.top = `${place * ROW}px`;
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
  const place = placeOf.get(row);
  const old = drawn.get(place);
  if (!old) return;
  const element = rowElement(place);
  const focused = old === document.activeElement;
  old.replaceWith(element);
  drawn.set(place, element);
  if (focused) element.focus({ preventScroll: true });
}

function redraw() {
  for (const place of [...drawn.keys()]) refresh(lines.rows[place]);
}

function reveal(place) {
  const top = place * ROW;
  if (top < tree.scrollTop + ROW) tree.scrollTop = top - 2 * ROW;
  else if (top > tree.scrollTop + tree.clientHeight - 3 * ROW) tree.scrollTop = top - tree.clientHeight + 4 * ROW;
}

function moveCursor(place, focus) {
  if (!lines.rows.length) return;
  place = Math.max(0, Math.min(lines.rows.length - 1, place));
  const old = state.cursor;
  state.cursor = lines.rows[place];
  reveal(place);
  draw();
  refresh(old);
  refresh(state.cursor);
  if (focus) drawn.get(place)?.focus({ preventScroll: true });
}

function toggleFold(row, fold) {
  const now = state.folded.has(row);
  if (fold === now) return false;
  if (now) state.folded.delete(row); else state.folded.add(row);
  const focused = tree.contains(document.activeElement);
  relayout();
  if (focused) moveCursor(placeOf.get(state.cursor) ?? 0, true);
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
  moveCursor(placeOf.get(row), true);
  if (event.target.classList.contains('fold')) toggleFold(row);
  else show(row, true);
});

tree.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const row = state.cursor;
  const place = placeOf.get(row) ?? 0;
  const page = Math.max(1, Math.floor(tree.clientHeight / ROW) - 2);
  const total = lines.rows.length;
  switch (event.key) {
    case 'ArrowDown': moveCursor((place + 1) % total, true); break;
    case 'ArrowUp': moveCursor((place + total - 1) % total, true); break;
    case 'PageDown': moveCursor(place + page, true); break;
    case 'PageUp': moveCursor(place - page, true); break;
    case 'Home': moveCursor(0, true); break;
    case 'End': moveCursor(total - 1, true); break;
    case 'ArrowLeft':
      if (!(canFold(row) && toggleFold(row, true)) && lines.above[row] >= 0) moveCursor(placeOf.get(lines.above[row]), true);
      break;
    case 'ArrowRight':
      if (!(canFold(row) && toggleFold(row, false))) moveCursor(place + 1, true);
      break;
    case 'Enter': case ' ': show(row, true); break;
    default: return;
  }
  event.preventDefault();
  event.stopPropagation();
});
