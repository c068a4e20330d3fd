// The conversation: the path to one leaf. Its entries are put into the document a section at a time,
// when they come near the screen.

const pathBox = $('path');
const SECTION = 20;
let onPath = new Set();
let path = [];
let sections = [];
let sectionOf = new Map();
let arrows = new Map();
let speakers = new Map();

const near = new IntersectionObserver(seen => {
  for (const entry of seen) if (entry.isIntersecting) fill(entry.target);
}, { rootMargin: '1200px 0px' });

// Lays out the path to `end` as empty sections.
function layPath(end) {
  path = pathTo(end);
  onPath = new Set(path);
  arrows = branchesAlong(path);
  speakers = modelsAlong(path);
  const messages = path.filter(row => isMessage(row) || state.filter === 'all');
  near.disconnect();
  sections = [];
  sectionOf = new Map();
  pathBox.replaceChildren();
  for (let at = 0; at < messages.length; at += SECTION) {
    const rows = messages.slice(at, at + SECTION);
    const section = make('section');
    section.rows = rows;
    section.before = at > 0 ? messages[at - 1] : -1;
    section.style.minHeight = `${rows.length * 90}px`;
    rows.forEach(row => sectionOf.set(row, section));
    sections.push(section);
    pathBox.append(section);
    near.observe(section);
  }
  if (!messages.length) pathBox.append(make('p', 'note', 'No messages here.'));
}

// Returns the first answer of each model on the path.
function modelsAlong(path) {
  const found = new Map();
  let last;
  for (const row of path) {
    const model = answers[row];
    if (model !== undefined && model !== last) found.set(row, models[last = model]);
  }
  return found;
}

// Returns the branch points of the path by the entry after each, which gets arrows.
function branchesAlong(path) {
  const found = new Map();
  let waiting = null;
  for (const row of path) {
    const up = parent[row];
    const first = firstChild[up < 0 ? N : up];
    if (nextSibling[first] >= 0) {
      const ways = children(up).filter(child => leads[child]).sort((a, b) => time[a] - time[b] || a - b);
      if (ways.length > 1) waiting = { ways, at: ways.indexOf(row) };
    }
    if (waiting && waiting.at >= 0 && isMessage(row)) {
      found.set(row, waiting);
      waiting = null;
    }
  }
  return found;
}

function fill(section) {
  if (section.filled) return;
  section.filled = true;
  near.unobserve(section);
  let before = section.before;
  for (const row of section.rows) {
    section.append(article(row, before));
    before = row;
  }
  section.style.minHeight = '';
  markHits();
}

const isWork = row => row >= 0 && 'aAEtT'.includes(kinds[row]);

function article(row, before) {
  const kind = kinds[row];
  const element = make('article', `entry k-${kind === '?' ? 'x' : kind}`);
  element.id = `entry-${ids[row]}`;
  element.dataset.row = row;
  element.tabIndex = -1;
  const switcher = arrows.get(row);
  const continues = isWork(row) && isWork(before) && !switcher && !labels.has(row);
  if (continues) element.classList.add('cont');
  element.append(heading(row, switcher));
  const body = make('div', 'body');
  const template = document.createElement('template');
  template.innerHTML = piece(row);
  body.append(template.content);
  for (const code of body.querySelectorAll('code[data-l]')) highlight(code);
  element.append(body);
  return element;
}

function heading(row, switcher) {
  const header = make('header');
  header.append(make('span', 'who', role(row)));
  if (speakers.has(row)) header.append(make('span', 'model', speakers.get(row)));
  if (labels.has(row)) header.append(make('span', 'label', labels.get(row)));
  if (switcher) header.append(switcherElement(switcher));
  const date = new Date(time[row]);
  const link = make('a', 'time', clock(date));
  link.href = `#entry-${encodeURIComponent(ids[row])}`;
  link.title = `${day(date)} ${clock(date)} — link to this entry`;
  header.append(link);
  return header;
}

function switcherElement({ ways, at }) {
  const box = make('span', 'ways');
  box.title = 'Other branches here';
  for (const [step, mark, name] of [[-1, '‹', 'Previous branch'], [1, '›', 'Next branch']]) {
    const button = make('button', '', mark);
    button.type = 'button';
    button.setAttribute('aria-label', name);
    button.addEventListener('click', () => goBranch(ways, at + step));
    box.append(button);
  }
  box.firstChild.after(make('span', '', `${at + 1}/${ways.length}`));
  return box;
}

// Shows another branch with its first entry at the same position on the screen.
function goBranch(ways, at) {
  const next = ways[(at + ways.length) % ways.length];
  const old = document.querySelector('.ways button:focus')?.closest('article') || null;
  const top = old ? old.getBoundingClientRect().top : 120;
  show(next, false);
  const element = elementOf(firstMessage(next));
  if (!element) return;
  scrollBy(0, element.getBoundingClientRect().top - top);
  element.querySelector('.ways button:last-child')?.focus({ preventScroll: true });
}

// Returns the first entry at or below a row, on the path, that the conversation shows.
function firstMessage(row) {
  for (let at = path.indexOf(row); at >= 0 && at < path.length; at++) if (sectionOf.has(path[at])) return path[at];
  for (; row >= 0; row = parent[row]) if (sectionOf.has(row)) return row;
  return -1;
}

function elementOf(row) {
  const section = sectionOf.get(row);
  if (!section) return null;
  fill(section);
  return section.querySelector(`article[data-row="${row}"]`);
}

// Shows the branch through a row and goes to it.
function show(row, go) {
  if (row < 0 || row >= N) return;
  const onCurrent = onPath.has(row) && path.length > 0;
  const scrolled = scrollY;
  if (!onCurrent) layPath(tip(row));
  const old = state.shown;
  state.shown = row;
  if (lineOf.has(row)) state.cursor = row;
  if (onCurrent) { refresh(old); refresh(row); } else redraw();
  remember(`#entry-${encodeURIComponent(ids[row])}`, !onCurrent, scrolled);
  if (!go) return;
  const element = elementOf(firstMessage(row));
  if (element) {
    // The neighbors first, so that their height does not move the section again.
    const at = sections.indexOf(sectionOf.get(+element.dataset.row));
    sections.slice(Math.max(0, at - 1), at + 2).forEach(fill);
    openHits(element);
    element.scrollIntoView({ block: 'start' });
    flash(element);
    state.reading = +element.dataset.row;
  }
  document.body.classList.remove('open');
  $('menu').setAttribute('aria-expanded', 'false');
}

// Puts a link to the shown entry into the address. Another branch is a step that Back undoes; moving along
// the same one is not. An entry may be on several branches, so the end of the branch is kept as well.
function remember(link, isStep, scrolled) {
  const end = path[path.length - 1];
  try {
    if (isStep && location.hash !== link) {
      history.replaceState({ ...history.state, scrolled }, '');
      history.pushState({ end }, '', link);
    } else history.replaceState({ end }, '', link);
  } catch { /* Pages without an address have no history. */ }
}

function flash(element) {
  document.querySelector('.entry.target')?.classList.remove('target');
  element.classList.add('target');
}
