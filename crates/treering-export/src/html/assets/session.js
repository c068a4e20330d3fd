// The session: the index as typed columns, and the pieces of HTML, split when they are first needed.

const $ = id => document.getElementById(id);
const index = JSON.parse($('index').textContent);
const { ids, previews, kinds, models } = index;
const N = ids.length;

// Rows are in the order in which the tree shows them: parents before children, side branches before the
// row that continues their parent.
const parent = new Int32Array(N);
const time = new Float64Array(N);
for (let row = 0, now = 0; row < N; row++) {
  parent[row] = index.up[row] ? row - index.up[row] : -1;
  time[row] = now += index.times[row];
}

const labels = new Map(Object.entries(index.labels).map(([row, label]) => [+row, label]));
const answers = index.answers;
const rowOfId = id => ids.indexOf(id);

// Children, the active one first: one linked list per parent; roots at N.
const firstChild = new Int32Array(N + 1).fill(-1);
const nextSibling = new Int32Array(N).fill(-1);
for (let row = N - 1; row >= 0; row--) {
  const above = parent[row] < 0 ? N : parent[row];
  nextSibling[row] = firstChild[above];
  firstChild[above] = row;
}
const active = new Uint8Array(N);
for (let row = index.leaf; row >= 0; row = parent[row]) active[row] = 1;

function children(row) {
  const list = [];
  for (let child = firstChild[row < 0 ? N : row]; child >= 0; child = nextSibling[child]) list.push(child);
  const at = list.findIndex(child => active[child]);
  if (at > 0) list.unshift(...list.splice(at, 1));
  return list;
}

// Whether a row begins a side branch instead of continuing its parent.
const isSide = new Uint8Array(N);
for (const row of index.sides) isSide[row] = 1;

// The kinds that a conversation hides unless everything is shown.
const BOOKKEEPING = 'lfkeohig?';
const CONVERSATION = 'lfkig?';
const isMessage = row => !CONVERSATION.includes(kinds[row]);

// Whether a row, or a row below it, has content to read.
const leads = new Uint8Array(N);
for (let row = N - 1; row >= 0; row--) {
  if (isMessage(row)) leads[row] = 1;
  if (leads[row] && parent[row] >= 0) leads[parent[row]] = 1;
}

// Returns the end of the branch of a row: through the active child, otherwise through the child that continues it.
function tip(row) {
  for (;;) {
    const next = children(row).filter(child => leads[child]);
    if (!next.length) return row;
    row = active[next[0]] ? next[0] : next[next.length - 1];
  }
}

function pathTo(row) {
  const path = [];
  for (; row >= 0; row = parent[row]) path.push(row);
  return path.reverse();
}

// Pieces: blocks of text that are split when one of their entries is first shown.
const blocks = [...document.querySelectorAll('script[data-n]')];
const starts = new Int32Array(blocks.length + 1);
blocks.forEach((block, at) => { starts[at + 1] = starts[at] + +block.dataset.n; });
const split = new Map();

function piece(row) {
  let low = 0;
  let high = blocks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= row) low = middle; else high = middle - 1;
  }
  if (!blocks[low]) return '';
  let parts = split.get(low);
  if (!parts) {
    parts = blocks[low].textContent.split('<e>');
    split.set(low, parts);
    if (split.size > 64) split.delete(split.keys().next().value);
  }
  return parts[row - starts[low]] || '';
}

const ENTITIES = { '&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"', '&#39;': "'" };
const plain = html => html.replace(/<[^>]*>/g, '').replace(/&(?:lt|gt|amp|quot|#39);/g, found => ENTITIES[found]);

const role = row => ROLES[kinds[row]] || 'Other';

// Returns the text that a search covers: label, role, content.
const haystack = row => `${labels.get(row) || ''} ${role(row)} ${previews[row]} ${plain(piece(row))}`.toLowerCase();

const pad = number => String(number).padStart(2, '0');
const clock = date => `${pad(date.getHours())}:${pad(date.getMinutes())}`;
const day = date => date.toLocaleDateString(undefined, { year: 'numeric', month: 'short', day: 'numeric' });

function make(tag, name, text) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
}
