// The page: title and facts, search, filters, theme, keys, links.

const root = document.documentElement;

// Title and facts.
document.title = index.title;
$('title').textContent = index.title;
{
  const about = $('about');
  about.append(make('span', 'agent', index.agent));
  if (index.cwd) about.append(make('code', '', index.cwd));
  const facts = $('facts');
  const fact = (name, value) => {
    const box = make('div');
    box.append(make('dt', '', name), make('dd', '', value));
    facts.append(box);
    return box;
  };
  for (const text of index.facts) {
    const [value, ...name] = text.split(' ');
    const box = fact(name.join(' ') || 'cost', value);
    if (name[0] === 'tokens') {
      const part = (number, what) => `${Math.round(number).toLocaleString()} ${what}`;
      box.title = [part(index.input, 'in'), part(index.output, 'out'), part(index.cached, 'cached')].join(', ');
    }
  }
  if (index.branches > 1) fact('branches', index.branches);
  if (index.compactions) fact(index.compactions === 1 ? 'compaction' : 'compactions', index.compactions);
  if (index.first !== null) {
    const [from, to] = [new Date(index.first), new Date(index.last)];
    const end = day(from) === day(to) ? clock(to) : `${day(to)} ${clock(to)}`;
    fact('when', `${day(from)} ${clock(from)} – ${end}`).classList.add('wide');
  }
  if (models.length) fact(models.length === 1 ? 'model' : 'models', models.slice(0, 4).join(', ') + (models.length > 4 ? ' …' : '')).classList.add('wide');
}

// Filters.
const NAMES = { 'default': 'Default', 'no-tools': 'No tools', 'user-only': 'User', 'labeled-only': 'Labeled', 'all': 'All' };
function setFilter(filter) {
  const everything = (state.filter === 'all') !== (filter === 'all');
  state.filter = filter;
  for (const button of $('filters').children) {
    const chosen = button.dataset.filter === filter;
    button.setAttribute('aria-checked', chosen);
    button.tabIndex = chosen ? 0 : -1;
  }
  const end = path[path.length - 1];
  if (everything && end !== undefined) layPath(end);
  relayout();
  const line = lineOf.get(state.cursor);
  if (line !== undefined) { reveal(line); draw(); }
}
for (const filter of FILTERS) {
  const button = make('button', '', NAMES[filter]);
  button.type = 'button';
  button.dataset.filter = filter;
  button.setAttribute('role', 'radio');
  button.addEventListener('click', () => setFilter(filter));
  $('filters').append(button);
}
const step = by => FILTERS[(FILTERS.indexOf(state.filter) + by + FILTERS.length) % FILTERS.length];
$('filters').addEventListener('keydown', event => {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!by) return;
  setFilter(step(by));
  $('filters').querySelector('[aria-checked=true]').focus();
  event.preventDefault();
});

// Marks the hits of the search in the document, with the CSS Custom Highlight API. Browsers without it show no marks.
const MAX_MARKS = 5000;
const marks = typeof Highlight === 'function' && CSS.highlights ? new Highlight() : null;
if (marks) CSS.highlights.set('hit', marks);
let marking = 0;
function markHits() {
  if (!marks || marking || (!state.words.length && !marks.size)) return;
  marking = requestAnimationFrame(() => {
    marking = 0;
    marks.clear();
    if (!state.words.length) return;
    for (const element of document.querySelectorAll('#rows .preview, #rows .label, #path article')) {
      const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      while (texts.nextNode() && marks.size < MAX_MARKS) markText(texts.currentNode);
    }
  });
}
function markText(node) {
  const text = node.data.toLowerCase();
  // If lower case changes the length of the text, positions in it do not match.
  if (text.length !== node.data.length) return;
  for (const word of state.words) {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + word.length);
      marks.add(range);
    }
  }
}

// Unfolds the parts of an entry that contain a hit.
function openHits(element) {
  for (const details of element.querySelectorAll('details:not([open])')) {
    const text = details.textContent.toLowerCase();
    if (state.words.some(word => text.includes(word))) details.open = true;
  }
}

// Search, in slices, so that typing is never delayed.
const search = $('search');
let searching = 0;
function runSearch() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  state.words = words;
  const mine = ++searching;
  state.pending = words.length > 0;
  if (!words.length) {
    state.matches = null;
    relayout();
    const line = lineOf.get(state.shown);
    if (line !== undefined) { reveal(line); draw(); }
    return;
  }
  const matches = new Uint8Array(N);
  state.matches = matches;
  let row = 0;
  let shownAt = 0;
  const work = () => {
    if (mine !== searching) return;
    const until = performance.now() + 12;
    for (; row < N && performance.now() < until; row++) {
      const text = haystack(row);
      matches[row] = words.every(word => text.includes(word)) ? 1 : 0;
    }
    const now = performance.now();
    state.pending = row < N;
    if (!state.pending || now - shownAt > 150) { shownAt = now; relayout(); }
    if (state.pending) setTimeout(work);
  };
  work();
}
let typing;
search.addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(runSearch, 60); });
search.addEventListener('keydown', event => {
  if (event.key === 'Escape') {
    if (search.value) { search.value = ''; runSearch(); } else search.blur();
  } else if ((event.key === 'Enter' || event.key === 'ArrowDown') && lines.rows.length) {
    moveCursor(lineOf.get(state.cursor) ?? 0, true);
    if (event.key === 'Enter') show(state.cursor, true);
  } else return;
  event.preventDefault();
  event.stopPropagation();
});

// The theme: the reader's choice, or that of the system.
const stored = key => { try { return localStorage.getItem(key); } catch { return null; } };
const dark = matchMedia('(prefers-color-scheme: dark)');
function setTheme(theme) {
  root.dataset.theme = theme;
  $('theme').textContent = theme === 'dark' ? '☀' : '☾';
}
setTheme(stored('treering-theme') || (dark.matches ? 'dark' : 'light'));
dark.addEventListener('change', () => { if (!stored('treering-theme')) setTheme(dark.matches ? 'dark' : 'light'); });
function toggleTheme() {
  setTheme(root.dataset.theme === 'dark' ? 'light' : 'dark');
  try { localStorage.setItem('treering-theme', root.dataset.theme); } catch { /* The choice is not stored. */ }
}
$('theme').addEventListener('click', toggleTheme);

// The drawer of small screens.
function drawer(open) {
  document.body.classList.toggle('open', open);
  $('menu').setAttribute('aria-expanded', open);
  if (open) { draw(); search.focus({ preventScroll: true }); }
}
$('menu').addEventListener('click', () => drawer(!document.body.classList.contains('open')));
$('shade').addEventListener('click', () => drawer(false));

// Keys.
const TOP = 40;
const keys = $('keys');
$('help').addEventListener('click', () => keys.showModal());
// The current entry: the one chosen last, while it is visible, or else the last one that begins at or above the top
// of the screen.
const current = () => {
  const box = sectionOf.has(state.reading) && elementOf(state.reading)?.getBoundingClientRect();
  if (box && box.bottom > 0 && box.top < innerHeight) return state.reading;
  const above = [...pathBox.querySelectorAll('article')].filter(element => element.getBoundingClientRect().top <= TOP);
  return above.length ? +above[above.length - 1].dataset.row : -1;
};
function stepEntry(by) {
  const messages = path.filter(row => sectionOf.has(row));
  const at = messages.indexOf(current());
  const next = messages[Math.max(0, Math.min(messages.length - 1, at + by))];
  if (next !== undefined) show(next, true);
}
// Steps to another branch at the focused branch point, or at the one nearest to the middle of the screen.
function stepBranch(by) {
  const far = box => Math.abs(box.getBoundingClientRect().top - innerHeight / 2);
  const focused = document.activeElement?.closest('article')?.querySelector('.ways');
  const box = focused || [...document.querySelectorAll('#path .ways')].sort((a, b) => far(a) - far(b))[0];
  const { ways, at } = arrows.get(+box?.closest('article').dataset.row) || {};
  if (ways) goBranch(ways, at + by);
}
function unfold() {
  const all = [...document.querySelectorAll('#path details')];
  const open = all.some(details => !details.open);
  all.forEach(details => { details.open = open; });
}
addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || keys.open || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  switch (event.key) {
    case '/': if (getComputedStyle($('menu')).display !== 'none') drawer(true); search.focus(); search.select(); break;
    case '?': keys.showModal(); break;
    case 't': toggleTheme(); break;
    case 'f': setFilter(step(1)); break;
    case 'e': unfold(); break;
    case 'j': stepEntry(1); break;
    case 'k': stepEntry(-1); break;
    case '[': stepBranch(-1); break;
    case ']': stepBranch(1); break;
    case 'Escape': drawer(false); break;
    default: return;
  }
  event.preventDefault();
});

// Everything is unfolded for printing.
addEventListener('beforeprint', () => sections.forEach(fill));

// Links to entries.
function follow() {
  const hash = location.hash;
  if (!hash.startsWith('#entry-')) return false;
  let id = hash.slice(7);
  try { id = decodeURIComponent(id); } catch { /* It is used undecoded. */ }
  const row = rowOfId(id);
  if (row < 0) return false;
  show(row, true);
  return true;
}

// Shows the active branch from its beginning, which is the first view of the page.
function home() {
  const end = index.leaf >= 0 ? index.leaf : N ? tip(children(-1)[0]) : -1;
  if (end >= 0) {
    layPath(tip(end));
    state.shown = end;
    state.cursor = nearestVisible(end);
    sections.slice(0, 2).forEach(fill);
    redraw();
    const line = lineOf.get(state.cursor);
    if (line !== undefined) { reveal(line); draw(); }
    refresh(state.cursor);
  } else layPath(-1);
}

addEventListener('hashchange', follow);
addEventListener('popstate', event => {
  const end = event.state?.end;
  if (end >= 0 && end < N && end !== path[path.length - 1]) { layPath(end); redraw(); }
  if (follow()) return;
  home();
  scrollTo(0, event.state?.scrolled ?? 0);
});

setFilter('default');
if (!follow()) home();
root.dataset.ready = '';
