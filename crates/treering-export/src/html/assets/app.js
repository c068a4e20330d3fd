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
  const ends = [...leads].filter((yes, row) => yes && !children(row).some(child => leads[child])).length;
  if (ends > 1) fact('branches', ends);
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
  const place = placeOf.get(state.cursor);
  if (place !== undefined) { reveal(place); draw(); }
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

// Search: in slices, so that typing never waits for it.
const search = $('search');
let searching = 0;
function runSearch() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  state.words = words;
  const mine = ++searching;
  if (!words.length) {
    state.matches = null;
    relayout();
    const place = placeOf.get(state.shown);
    if (place !== undefined) { reveal(place); draw(); }
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
    if (row >= N || now - shownAt > 150) { shownAt = now; relayout(); }
    if (row < N) { $('count').textContent += ' so far …'; setTimeout(work); }
  };
  work();
}
let typing;
search.addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(runSearch, 60); });
search.addEventListener('keydown', event => {
  if (event.key === 'Escape') {
    if (search.value) { search.value = ''; runSearch(); } else search.blur();
  } else if ((event.key === 'Enter' || event.key === 'ArrowDown') && lines.rows.length) {
    moveCursor(placeOf.get(state.cursor) ?? 0, true);
    if (event.key === 'Enter') show(state.cursor, true);
  } else return;
  event.preventDefault();
  event.stopPropagation();
});

// Light or dark: the reader's choice, else the system's.
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
  try { localStorage.setItem('treering-theme', root.dataset.theme); } catch { /* Then only for now. */ }
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
const keys = $('keys');
$('help').addEventListener('click', () => keys.showModal());
const current = () => {
  const seen = document.elementsFromPoint(Math.min(innerWidth - 40, innerWidth / 2 + 160), 90).find(element => element.closest('article'));
  return seen ? +seen.closest('article').dataset.row : -1;
};
function stepEntry(by) {
  const said = path.filter(row => sectionOf.has(row));
  const at = said.indexOf(current());
  const next = said[Math.max(0, Math.min(said.length - 1, at + by))];
  if (next !== undefined) show(next, true);
}
// The branch point that is in the focus, else the one nearest to the middle of the screen.
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

// Paper shows all of it.
addEventListener('beforeprint', () => sections.forEach(fill));

// Links to entries.
function follow() {
  const hash = location.hash;
  if (!hash.startsWith('#entry-')) return false;
  let id = hash.slice(7);
  try { id = decodeURIComponent(id); } catch { /* As it stands. */ }
  const row = rowOfId(id);
  if (row < 0) return false;
  show(row, true);
  return true;
}
addEventListener('hashchange', follow);

setFilter('default');
if (!follow()) {
  const end = index.leaf >= 0 ? index.leaf : N ? tip(children(-1)[0]) : -1;
  if (end >= 0) {
    layPath(tip(end));
    state.shown = end;
    state.cursor = nearestVisible(end);
    sections.slice(0, 2).forEach(fill);
    redraw();
    const place = placeOf.get(state.cursor);
    if (place !== undefined) { reveal(place); draw(); }
    refresh(state.cursor);
  } else layPath(-1);
}
root.dataset.ready = '';
