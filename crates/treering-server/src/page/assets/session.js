// The page of a session: its tree and a branch of it, kept up to date while agents write.

import { Actions } from './actions.js';
import { Chat } from './chat.js';
import { Conversation } from './conversation.js';
import { address, ask, byId, isPlainKey, leave } from './dom.js';
import { begin } from './frame.js';
import { follow, throttled } from './live.js';
import { Tree } from './tree.js';

const data = document.body.dataset;
const session = data.session || '';
const FILTERS = ['default', 'no-tools', 'user-only', 'labeled-only', 'all'];
const search = /** @type {HTMLInputElement} */ (byId('search'));

/** @type {import('./tree.js').View} */
const view = {
  session,
  filter: data.filter || 'default',
  folds: new Set((data.folds || '').split(',').filter(Boolean)),
  query: search.value,
  chosen: data.entry || byId('path').dataset.last || '',
  tip: data.tip || '',
};
const conversation = new Conversation(session, view.tip, () => view.filter);
const tree = new Tree(view, id => void choose(id), () => remember(false));
const actions = new Actions(session, () => view.chosen, choose, () => sync());
const chat = new Chat(session, conversation, () => choose(''), () => sync());

/** Returns the address of the shown entry. The end of the active branch needs no entry. */
function here() {
  return address(`/s/${session}`, {
    entry: view.chosen === conversation.last && !conversation.hasAfter && conversation.isActive ? '' : view.chosen,
    filter: view.filter === 'default' ? '' : view.filter,
    q: view.query,
    folds: [...view.folds].join(','),
  });
}

/**
 * Puts the shown entry into the address.
 * @param {boolean} isStep whether Back undoes it
 */
function remember(isStep) {
  const state = { chosen: view.chosen, tip: conversation.tip };
  if (isStep && here() !== location.pathname + location.search) {
    history.replaceState({ ...history.state, scrolled: scrollY }, '');
    history.pushState(state, '', here());
  } else history.replaceState(state, '', here());
}

/**
 * Shows the branch of an entry, and goes to it.
 * @param {string} id
 * @param {{tip?: string, top?: number, isBack?: boolean}} [options]
 */
async function choose(id, options = {}) {
  const before = conversation.tip;
  view.chosen = id;
  await conversation.show(id, options.tip, options.top);
  drawer(false);
  if (!id) view.chosen = conversation.last;
  await tree.show(view.chosen, conversation.tip);
  if (!options.isBack) remember(before !== conversation.tip);
  actions.chose(view.chosen);
  moved();
}

// Links to entries of this session are followed without leaving the page.
byId('conversation').addEventListener('click', event => {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  const url = new URL(link.href, location.href);
  const entry = url.searchParams.get('entry');
  if (url.origin !== location.origin || url.pathname !== `/s/${session}` || !entry) return;
  event.preventDefault();
  const isWay = link.closest('.ways') !== null;
  const top = isWay ? link.closest('article')?.getBoundingClientRect().top : undefined;
  const which = link.getAttribute('aria-label');
  void choose(entry, { top }).then(() => {
    const next = isWay ? conversation.find(entry) || conversation.current() : null;
    /** @type {HTMLElement | null | undefined} */ (next?.querySelector(`.ways a[aria-label="${which}"]`))?.focus({ preventScroll: true });
  });
});
addEventListener('popstate', event => {
  const params = new URLSearchParams(location.search);
  void choose(params.get('entry') || '', { tip: event.state?.tip, isBack: true }).then(() => {
    if (event.state?.scrolled !== undefined) scrollTo({ top: event.state.scrolled, behavior: 'instant' });
  });
});

// Filters.
/** @param {string} filter */
function setFilter(filter) {
  const isAll = (view.filter === 'all') !== (filter === 'all');
  view.filter = filter;
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (byId('filters').querySelectorAll('button'))) {
    const isChosen = button.dataset.filter === filter;
    button.setAttribute('aria-checked', String(isChosen));
    button.tabIndex = isChosen ? 0 : -1;
  }
  remember(false);
  tree.refresh(view.chosen).then(fresh => { if (fresh.around !== null) tree.reveal(fresh.around, true); }).catch(() => {});
  if (isAll) { const id = conversation.current()?.dataset.id || ''; conversation.age++; conversation.box.replaceChildren(); void conversation.show(id, conversation.tip); }
}
const stepFilter = (/** @type {number} */ by) => FILTERS[(FILTERS.indexOf(view.filter) + by + FILTERS.length) % FILTERS.length];
byId('filters').addEventListener('click', event => {
  const button = event.target instanceof Element ? event.target.closest('button') : null;
  if (button?.dataset.filter) setFilter(button.dataset.filter);
});
byId('filters').addEventListener('keydown', event => {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!by) return;
  setFilter(stepFilter(by));
  /** @type {HTMLElement | null} */ (byId('filters').querySelector('[aria-checked=true]'))?.focus();
  event.preventDefault();
});

// Search: the query language of all sessions, over this one.
let typing = 0;
function runSearch() {
  view.query = search.value.trim();
  search.removeAttribute('aria-invalid');
  remember(false);
  tree.refresh(view.chosen).then(fresh => { if (fresh.around !== null) tree.reveal(fresh.around, true); markHits(); }).catch(error => {
    search.setAttribute('aria-invalid', 'true');
    byId('count').textContent = error.message;
  });
}
search.addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(runSearch, 200); });
search.form?.addEventListener('submit', event => { event.preventDefault(); clearTimeout(typing); runSearch(); });
search.addEventListener('keydown', event => {
  if (event.key === 'Escape') { if (search.value) { search.value = ''; runSearch(); } else search.blur(); }
  else if (event.key === 'ArrowDown') void tree.moveTo(Math.max(0, tree.cursor));
  else return;
  event.preventDefault();
});

// Marks the hits of the search with the CSS Custom Highlight API. Browsers without it show no marks.
const marks = typeof Highlight === 'function' && CSS.highlights ? new Highlight() : null;
if (marks) CSS.highlights.set('hit', marks);
let marking = 0;
function markHits() {
  if (!marks || marking) return;
  marking = requestAnimationFrame(() => {
    marking = 0;
    marks.clear();
    const words = view.query.toLowerCase().split(/\s+/).map(word => word.replace(/^"|"$/g, '')).filter(word => word.length > 1 && !/^[a-z]+:/.test(word));
    if (!words.length) return;
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT, node => (node.parentElement?.closest('#rows, #path') ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT));
    for (let count = 0; texts.nextNode() && count < 4000;) {
      const node = /** @type {Text} */ (texts.currentNode);
      const text = node.data.toLowerCase();
      if (text.length !== node.data.length) continue;
      for (const word of words) {
        for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + word.length);
          marks.add(range);
          count++;
        }
      }
    }
  });
}
new MutationObserver(() => { if (view.query) markHits(); }).observe(document.body, { childList: true, subtree: true });

// The drawer of small screens.
/** @param {boolean} open */
function drawer(open) {
  document.body.classList.toggle('open', open);
  byId('menu').setAttribute('aria-expanded', String(open));
  if (open) { tree.draw(); search.focus({ preventScroll: true }); }
}
byId('menu').addEventListener('click', () => drawer(!document.body.classList.contains('open')));
byId('shade').addEventListener('click', () => drawer(false));

// Updates: appended entries are added to the tree and the branch. The page scrolls only if its end is visible.
let unseen = 0;
const sync = throttled(async () => {
  const wasActive = conversation.isActive;
  const isAtEnd = conversation.isAtEnd();
  const wasLast = view.chosen === conversation.last;
  const fresh = await tree.refresh();
  const count = await conversation.grow();
  view.tip = conversation.tip;
  if (wasLast && isAtEnd && count) {
    view.chosen = conversation.last;
    tree.mark(tree.rows);
    if (fresh.around !== null) tree.box.scrollTop = tree.rows.offsetHeight;
    actions.chose(view.chosen);
  }
  if (!isAtEnd) unseen += count;
  if (wasActive && !conversation.isActive) unseen = 0;
  chat.refreshed();
  moved();
}, 150);

/** Shows that the session was continued on another branch, or below the screen. */
function moved() {
  const badge = byId('moved');
  const isBelow = unseen > 0 && conversation.isActive && !conversation.isAtEnd();
  if (conversation.isActive && !isBelow) { badge.hidden = true; return; }
  const text = isBelow ? `${unseen} new below` : 'The session stands on another branch';
  if (badge.hidden || badge.dataset.text !== text) {
    badge.dataset.text = text;
    badge.hidden = false;
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = isBelow ? 'Show' : 'Go there';
    button.addEventListener('click', () => { unseen = 0; void choose(''); });
    badge.replaceChildren(`${text} `, button);
  }
}
addEventListener('scroll', () => { if (unseen && conversation.isAtEnd()) { unseen = 0; moved(); } }, { passive: true });

follow(`/v1/sessions/${session}/events`, data.length || null, {
  kinds: ['entry', 'leaf', 'removed'],
  event(kind) {
    if (kind === 'removed') { leave('/'); return; }
    sync();
  },
  resumed: sync,
});

// Keys.
/** @param {number} by */
function step(by) {
  const next = conversation.neighbor(by);
  if (next) { next.scrollIntoView({ block: 'start', behavior: 'instant' }); conversation.flash(next); pick(next.dataset.id || ''); void conversation.more(); }
}
/** @param {string} id */
function pick(id) {
  view.chosen = id;
  void tree.show(id, conversation.tip);
  actions.chose(id);
  remember(false);
}
/** @param {number} by */
function stepBranch(by) {
  const far = (/** @type {Element} */ box) => Math.abs(box.getBoundingClientRect().top - innerHeight / 2);
  const focused = document.activeElement?.closest('article')?.querySelector('.ways');
  const box = focused || [...document.querySelectorAll('#path .ways')].sort((a, b) => far(a) - far(b))[0];
  const link = box?.querySelector(by < 0 ? 'a:first-child' : 'a:last-child');
  if (link instanceof HTMLElement) link.click();
}
async function toStart() {
  const fresh = await tree.fetch({ from: 0 });
  const first = /<div[^>]* data-id="([^"]*)"/.exec(fresh.html);
  if (first) await choose(first[1], { tip: conversation.tip });
}
addEventListener('keydown', event => {
  if (!isPlainKey(event)) return;
  switch (event.key) {
    case '/': if (getComputedStyle(byId('menu')).display !== 'none') drawer(true); search.focus(); search.select(); break;
    case 'f': setFilter(stepFilter(1)); break;
    case 'e': conversation.unfold(); break;
    case 'y': void copyChosen(); break;
    case 'j': step(1); break;
    case 'k': step(-1); break;
    case '[': stepBranch(-1); break;
    case ']': stepBranch(1); break;
    case 'g': void toStart(); break;
    case 'G': void conversation.show('', conversation.tip).then(() => pick(conversation.last)); break;
    case 'c': byId('to-context').click(); break;
    case 'i': chat.focus(); break;
    case 's': location.href = '/'; break;
    case 'Escape': drawer(false); break;
    default: return;
  }
  event.preventDefault();
});

/** Copies the text of the chosen entry. */
async function copyChosen() {
  const body = /** @type {HTMLElement | null | undefined} */ (conversation.find(view.chosen)?.querySelector('.body'));
  if (!body) return;
  try {
    await navigator.clipboard.writeText(body.innerText.trim());
    actions.toast('Copied.');
  } catch (error) {
    actions.toast(`Not copied: ${error instanceof Error ? error.message : error}`);
  }
}

// A click on an entry chooses it for the actions.
byId('path').addEventListener('click', event => {
  const target = event.target instanceof Element ? event.target : null;
  const article = /** @type {HTMLElement | null} */ (target?.closest('article') ?? null);
  if (!article || target?.closest('a, button, summary') || !getSelection()?.isCollapsed) return;
  conversation.flash(article);
  pick(article.dataset.id || '');
});

// The server computes tokens and cost after the page is shown.
async function facts() {
  const usage = await (await ask(`/v1/sessions/${session}/usage`)).json();
  const short = (/** @type {number} */ number) => (number < 1000 ? String(number) : number < 1e6 ? `${(number / 1e3).toFixed(1)}k` : `${(number / 1e6).toFixed(1)}M`);
  /** @type {[string, string][]} */
  const more = [];
  if (usage.usage.total) more.push(['tokens', short(usage.usage.total)]);
  if (usage.usage.cost) more.push(['cost', `$${usage.usage.cost.toFixed(2)}`]);
  for (const [name, value] of more) {
    const box = document.createElement('div');
    const term = document.createElement('dt');
    const text = document.createElement('dd');
    term.textContent = name;
    text.textContent = value;
    box.append(term, text);
    byId('facts').append(box);
  }
}

begin();
actions.chose(view.chosen);
if (data.entry) conversation.find(data.entry)?.scrollIntoView({ block: 'start', behavior: 'instant' });
else scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' });
{
  const target = conversation.find(data.entry || '');
  if (target) conversation.flash(target);
}
history.scrollRestoration = 'manual';
moved();
markHits();
void conversation.more().then(() => facts().catch(() => {}));
document.documentElement.dataset.ready = '';
