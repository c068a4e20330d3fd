// Small helpers of all pages.

/**
 * Returns the element with an id, which must exist.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

/**
 * Makes an element.
 * @param {string} tag
 * @param {string} [name] its class
 * @param {string} [text]
 * @returns {HTMLElement}
 */
export function make(tag, name, text) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
}

/**
 * Converts HTML of the server to nodes. The server has escaped all text of sessions in it.
 * @param {string} html
 * @returns {DocumentFragment}
 */
export function nodes(html) {
  const template = document.createElement('template');
  template.innerHTML = html;
  return template.content;
}

/** An error response of the server, with its message. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Fetches a part of a page, or calls the API.
 * @param {string} path
 * @param {{method?: string, body?: unknown, headers?: Record<string, string>, signal?: AbortSignal}} [options]
 * @returns {Promise<Response>}
 */
export async function ask(path, options = {}) {
  /** @type {Record<string, string>} */
  const headers = { 'X-Treering-Part': '1', ...options.headers };
  if (options.body !== undefined) headers['Content-Type'] = 'application/json';
  const body = options.body === undefined ? undefined : JSON.stringify(options.body);
  const response = await fetch(path, { method: options.method || 'GET', headers, body, signal: options.signal, credentials: 'same-origin' });
  if (response.ok) return response;
  let message = `the server answered with ${response.status}`;
  try {
    const problem = await response.json();
    message = problem.detail || problem.title || message;
  } catch { /* Only the status is known. */ }
  throw new Refused(response.status, message);
}

let isLeaving = false;

/**
 * Goes to another page. Later calls, such as those of running requests, are ignored.
 * @param {string} path
 */
export function leave(path) {
  if (isLeaving) return;
  isLeaving = true;
  location.href = path;
}
addEventListener('pageshow', () => { isLeaving = false; });

/**
 * Appends the parameters that have a value to a path.
 * @param {string} path
 * @param {Record<string, string | number | undefined | null>} params
 */
export function address(path, params) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== '' && value !== undefined && value !== null) query.set(name, String(value));
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

const pad = (/** @type {number} */ number) => String(number).padStart(2, '0');

/** @param {Date} date */
export const clock = date => `${pad(date.getHours())}:${pad(date.getMinutes())}`;

/** @param {Date} date */
export const day = date => date.toLocaleDateString(undefined, { year: 'numeric', month: 'short', day: 'numeric' });

/**
 * Returns the time since a moment, in the form that the server uses.
 * @param {number} millis
 */
export function age(millis) {
  const seconds = Math.max(0, millis) / 1000;
  if (seconds < 60) return 'now';
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  if (seconds < 5184000) return `${Math.floor(seconds / 86400)} d`;
  return seconds < 63072000 ? `${Math.floor(seconds / 2592000)} mon` : `${Math.floor(seconds / 31536000)} y`;
}

/**
 * Shows times in the reader's zone, and ages as of now.
 * @param {ParentNode} root
 */
export function localTimes(root) {
  for (const time of root.querySelectorAll('time')) {
    const date = new Date(time.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    if (time.classList.contains('age')) time.textContent = age(Date.now() - date.getTime());
    else time.textContent = clock(date);
    time.title = `${day(date)} ${clock(date)}`;
  }
}

/**
 * Returns whether a key is for the page: not for a field, and without Ctrl, Alt or Meta.
 * @param {KeyboardEvent} event
 */
export function isPlainKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return false;
  const target = event.target;
  return !(target instanceof HTMLElement && (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.closest('dialog')));
}
