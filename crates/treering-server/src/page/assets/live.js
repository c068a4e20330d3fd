// Events of the server, followed for as long as the page is open. After a broken connection it continues after
// the last event that arrived, so that nothing is missed.

import { status } from './frame.js';

/**
 * @typedef {object} Follower
 * @property {(kind: string, data: any) => void} event
 * @property {() => void} [resumed] called when a broken connection is back
 * @property {string[]} kinds
 */

const FIRST_WAIT = 500;
const LONGEST_WAIT = 8000;

/**
 * Follows a stream of events.
 * @param {string} path
 * @param {string | null} after the id of the last event that is known
 * @param {Follower} follower
 */
export function follow(path, after, follower) {
  let last = after;
  let wait = FIRST_WAIT;
  let broken = false;
  /** @type {EventSource | null} */
  let source = null;

  const open = () => {
    source?.close();
    source = new EventSource(last === null ? path : `${path}?after=${encodeURIComponent(last)}`);
    source.onopen = () => {
      wait = FIRST_WAIT;
      if (broken) {
        status('Live again, nothing missed');
        follower.resumed?.();
        setTimeout(() => { if (!broken) status('Live'); }, 4000);
      } else status('Live');
      broken = false;
    };
    source.onerror = () => {
      broken = true;
      source?.close();
      status(navigator.onLine ? 'Connection lost, trying again …' : 'Offline', 'wait');
      setTimeout(retry, wait);
      wait = Math.min(LONGEST_WAIT, wait * 2);
    };
    for (const kind of follower.kinds) {
      source.addEventListener(kind, event => {
        const message = /** @type {MessageEvent} */ (event);
        if (message.lastEventId) last = message.lastEventId;
        follower.event(kind, JSON.parse(message.data));
      });
    }
  };

  // A refusal looks like a broken connection to an event source: the status of a plain request distinguishes them.
  const retry = async () => {
    try {
      const response = await fetch('/sessions?days=1', { headers: { 'X-Treering-Part': '1' } });
      if (response.status === 401) {
        status('Your login has ended: reload the page to log in', 'bad');
        return;
      }
    } catch { /* The server cannot be reached yet. */ }
    open();
  };
  addEventListener('online', () => { if (broken) { wait = FIRST_WAIT; open(); } });
  addEventListener('offline', () => status('Offline', 'wait'));
  addEventListener('pagehide', () => source?.close());
  addEventListener('pageshow', event => { if (event.persisted) open(); });
  open();
}

/**
 * Reads the events of an answer until it ends.
 * @param {Response} response
 * @returns {AsyncGenerator<{kind: string, data: any}>}
 */
export async function* readEvents(response) {
  const reader = response.body?.getReader();
  if (!reader) return;
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const field = (/** @type {string} */ name) => lines.find(line => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const kind = field('event');
      if (kind) yield { kind, data: JSON.parse(field('data') || 'null') };
    }
  }
}

/**
 * Runs a job soon, and not more often than every `interval` milliseconds; never twice at the same time.
 * @param {() => Promise<void>} job
 * @param {number} interval
 */
export function throttled(job, interval) {
  let due = false;
  let running = false;
  const run = async () => {
    if (running) return;
    running = true;
    while (due) {
      due = false;
      try {
        await job();
      } catch { /* The next event, or the next connection, tries again. */ }
      await new Promise(done => setTimeout(done, interval));
    }
    running = false;
  };
  return () => { due = true; void run(); };
}
