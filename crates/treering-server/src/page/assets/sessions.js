// The list of sessions: filters without reloading, older sessions on demand, and live updates.

import { address, ask, byId, isPlainKey, localTimes, nodes } from './dom.js';
import { begin, status } from './frame.js';
import { follow, throttled } from './live.js';

const LIVE_TIME = 12000;
const form = /** @type {HTMLFormElement} */ (byId('choices'));
const search = /** @type {HTMLInputElement} */ (byId('search'));
const list = byId('sessions');
/** @type {Map<string, number>} until when a session counts as being written */
const live = new Map();

/** The choices of the form as parameters. */
function choices() {
  /** @type {Record<string, string>} */
  const params = {};
  for (const [name, value] of new FormData(form)) params[name] = String(value);
  return params;
}

/** @type {AbortController | null} */
let loading = null;

/**
 * Fetches the list for the current choices and replaces the old one.
 * @param {boolean} isStep whether the change is a step that Back undoes
 */
async function load(isStep) {
  loading?.abort();
  const mine = loading = new AbortController();
  const params = choices();
  const here = address('/', params);
  if (isStep && here !== location.pathname + location.search) history.pushState(null, '', here);
  if (params.q) status('Searching …', 'wait');
  list.setAttribute('aria-busy', 'true');
  try {
    const response = await ask(address('/sessions', params), { signal: mine.signal });
    replace(nodes(await response.text()));
    say(null);
    status('Live');
  } catch (error) {
    if (mine.signal.aborted) return;
    say(error instanceof Error ? error.message : String(error));
    status('Live');
  }
  list.removeAttribute('aria-busy');
}

/** @param {string | null} text */
function say(text) {
  let element = document.getElementById('refused');
  search.toggleAttribute('aria-invalid', text !== null);
  if (text === null) { element?.remove(); return; }
  if (!element) {
    element = document.createElement('p');
    element.id = 'refused';
    element.className = 'bad';
    element.setAttribute('role', 'alert');
    form.after(element);
  }
  element.textContent = text;
}

/**
 * Replaces the list. Elements of unchanged rows are kept, so that focus and scroll position stay.
 * @param {DocumentFragment} fresh
 */
function replace(fresh) {
  const focused = document.activeElement?.closest('li.s')?.getAttribute('data-id');
  /** @type {Map<string, Element>} */
  const old = new Map();
  for (const row of list.querySelectorAll('li.s')) old.set(row.getAttribute('data-id') || '', row);
  for (const row of fresh.querySelectorAll('li.s')) {
    const known = old.get(row.getAttribute('data-id') || '');
    if (!known) row.classList.add('new');
    else if (known.outerHTML === row.outerHTML) row.replaceWith(known);
  }
  list.replaceChildren(fresh);
  after(list);
  if (focused) rowLink(focused)?.focus({ preventScroll: true });
}

/** @param {string} id */
const rowLink = id => /** @type {HTMLElement | null} */ (list.querySelector(`li.s[data-id="${CSS.escape(id)}"] a.title`));

/** @param {ParentNode} root */
function after(root) {
  localTimes(root);
  markLive();
}

function markLive() {
  const now = Date.now();
  for (const row of list.querySelectorAll('li.s')) {
    const until = live.get(row.getAttribute('data-id') || '');
    if (until !== undefined) row.classList.toggle('live', until > now);
  }
}

// Older sessions are appended.
list.addEventListener('click', async event => {
  const link = event.target instanceof Element ? event.target.closest('a[data-more]') : null;
  if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  link.textContent = 'Loading …';
  try {
    const fresh = nodes(await (await ask(link.dataset.more || '')).text());
    const known = new Set([...list.querySelectorAll('li.s')].map(row => row.getAttribute('data-id')));
    const rows = [...fresh.querySelectorAll('li.s')].filter(row => !known.has(row.getAttribute('data-id')));
    list.querySelector('ol.sessions')?.append(...rows);
    const next = fresh.querySelector('p.next');
    link.closest('p')?.remove();
    if (next) list.append(next);
    after(list);
    isExtended = true;
    /** @type {HTMLElement | null | undefined} */ (rows[0]?.querySelector('a.title'))?.focus();
  } catch (error) {
    link.textContent = 'That failed; try again';
  }
});
let isExtended = false;

let typing = 0;
search.addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(() => { isExtended = false; void load(true); }, 250); });
form.addEventListener('change', event => { if (event.target !== search) { isExtended = false; void load(true); } });
form.addEventListener('submit', event => { event.preventDefault(); clearTimeout(typing); isExtended = false; void load(true); });
addEventListener('popstate', () => {
  const params = new URLSearchParams(location.search);
  for (const field of form.elements) {
    if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) field.value = params.get(field.name) || '';
  }
  void load(false);
});

// Keys.
/** @param {number} by */
function step(by) {
  const links = /** @type {HTMLElement[]} */ ([...list.querySelectorAll('a.title, .hits a')]);
  const at = links.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const next = links[at < 0 ? 0 : Math.max(0, Math.min(links.length - 1, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}
search.addEventListener('keydown', event => {
  if (event.key === 'Escape') { if (search.value) { search.value = ''; void load(true); } else search.blur(); }
  else if (event.key === 'ArrowDown') step(1);
  else return;
  event.preventDefault();
});
addEventListener('keydown', event => {
  if (!isPlainKey(event)) return;
  switch (event.key) {
    case '/': search.focus(); search.select(); break;
    case 'j': case 'ArrowDown': step(1); break;
    case 'k': case 'ArrowUp': step(-1); break;
    case 'u': location.href = '/usage'; break;
    default: return;
  }
  event.preventDefault();
});

// Sessions appear as they are found, and move up as they grow. A search is not repeated automatically, and
// an extended list is not reloaded; both mark sessions that are being written.
const refresh = throttled(async () => {
  markLive();
  if (isExtended || search.value || document.hidden) return;
  await load(false);
}, 700);
follow('/v1/events', null, {
  kinds: ['changed', 'removed'],
  event(kind, data) {
    if (kind === 'changed') live.set(data.session, Date.now() + LIVE_TIME);
    refresh();
  },
  resumed: refresh,
});
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
setInterval(() => { markLive(); localTimes(list); }, 5000);

begin();
after(list);
document.documentElement.dataset.ready = '';
