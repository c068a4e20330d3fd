// The chat with a model below the conversation. The answer is shown as it arrives; as soon as it is an entry of the
// session, the entry replaces it.

import { ask, byId, make } from './dom.js';
import { readEvents } from './live.js';

/** @typedef {import('./conversation.js').Conversation} Conversation */

export class Chat {
  /**
   * @param {string} session
   * @param {Conversation} conversation
   * @param {() => Promise<void>} toEnd shows the active branch of the session
   * @param {() => void} changed called when something was written
   */
  constructor(session, conversation, toEnd, changed) {
    this.path = `/v1/sessions/${session}/turns`;
    this.conversation = conversation;
    this.toEnd = toEnd;
    this.changed = changed;
    /** @type {AbortController | null} */
    this.turn = null;
    /** The entry of the message, when it is recorded. */
    this.question = '';
    /** The entry of the answer, when it is recorded. */
    this.answer = '';
    /** Times that the conversation was brought up to date after the end of the turn. */
    this.synced = 0;
    this.hasEnded = false;
    this.form = document.getElementById('composer');
    if (!(this.form instanceof HTMLFormElement)) return;
    this.field = /** @type {HTMLTextAreaElement} */ (byId('say'));
    this.button = /** @type {HTMLButtonElement} */ (byId('send'));
    this.stopper = /** @type {HTMLButtonElement} */ (byId('stop'));
    this.form.addEventListener('submit', event => { event.preventDefault(); void this.send(); });
    this.field.addEventListener('input', () => this.fit());
    this.field.addEventListener('keydown', event => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      void this.send();
    });
    this.stopper.addEventListener('click', () => void this.stop());
    addEventListener('keydown', event => {
      if (event.key !== 'Escape' || !this.turn || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      void this.stop();
    });
    conversation.onGrow = content => this.grew(content);
  }

  focus() {
    this.field?.focus();
  }

  /** Makes the field as high as its text. */
  fit() {
    if (!this.field) return;
    this.field.style.height = 'auto';
    this.field.style.height = `${this.field.scrollHeight + 2}px`;
  }

  /** @param {string} text @param {boolean} [isBad] */
  say(text, isBad = false) {
    const line = byId('turn');
    line.textContent = text;
    line.classList.toggle('bad', isBad);
  }

  /** @param {boolean} isBusy */
  busy(isBusy) {
    if (!this.button || !this.stopper || !this.field) return;
    this.button.hidden = isBusy;
    this.stopper.hidden = !isBusy;
    this.field.readOnly = isBusy;
  }

  async send() {
    const text = this.field?.value || '';
    if (!this.field || this.turn || !text.trim()) return;
    const turn = new AbortController();
    this.turn = turn;
    this.clear();
    [this.question, this.answer, this.synced, this.hasEnded] = ['', '', 0, false];
    this.busy(true);
    this.say('Sending …');
    let hasBegun = false;
    try {
      if (!this.conversation.isActive || this.conversation.hasAfter) await this.toEnd();
      const response = await ask(this.path, { method: 'POST', body: { text }, headers: { Accept: 'text/event-stream' }, signal: turn.signal });
      this.say('The model answers. Esc stops it.');
      for await (const { kind, data } of readEvents(response)) {
        if (kind === 'question') { hasBegun = true; this.question = data.entry; this.asked(); }
        this.event(kind, data);
      }
      if (!this.hasEnded) this.over('failed', 'The connection was lost: the answer is recorded as far as it came.');
    } catch (error) {
      if (turn.signal.aborted) this.over('aborted', '');
      else this.over('failed', error instanceof Error ? error.message : String(error));
    }
    this.turn = null;
    this.busy(false);
    const active = document.activeElement;
    // The page does not scroll if the user reads, or writes in another field.
    if (hasBegun && (active === document.body || this.form?.contains(active))) this.field.focus({ preventScroll: true });
  }

  /** Handles that the message is in the session. */
  asked() {
    if (!this.field) return;
    this.field.value = '';
    this.fit();
    this.changed();
  }

  /**
   * @param {string} kind
   * @param {any} data
   */
  event(kind, data) {
    switch (kind) {
      case 'text': this.add('.draft-text', data.text); break;
      case 'thinking': this.add('.think pre', data.text); break;
      case 'restart': this.answer = ''; this.clear(); break;
      case 'retry': this.say(`Asking again: ${data.detail}`); break;
      case 'answer': this.answer = data.entry; this.changed(); break;
      case 'end': this.over(data.end, data.detail); break;
      default:
    }
  }

  /**
   * @param {string} end
   * @param {string} detail
   */
  over(end, detail) {
    this.hasEnded = true;
    if (end === 'complete') this.say('');
    else if (end === 'aborted') this.say('Stopped. What came is recorded.');
    else this.say(detail, true);
    this.changed();
  }

  /** Stops the answer. If the server has no turn of this session, closing the connection stops it. */
  async stop() {
    const turn = this.turn;
    if (!turn) return;
    this.say('Stopping …');
    try {
      const { stopped } = await (await ask(`${this.path}/stop`, { method: 'POST' })).json();
      if (!stopped) turn.abort();
    } catch { turn.abort(); }
  }

  /**
   * Shows more of the answer. The page scrolls only if the end is visible.
   * @param {string} part
   * @param {string} text
   */
  add(part, text) {
    // A late part is already in the entry.
    if (this.answer) return;
    const draft = byId('draft');
    const follows = this.conversation.isAtEnd();
    if (draft.hidden) {
      draft.hidden = false;
      const article = make('article', 'entry k-a');
      const header = make('header');
      header.append(make('span', 'who', 'Assistant'), make('span', 'model', draft.dataset.model || ''));
      const body = make('div', 'body');
      const think = /** @type {HTMLDetailsElement} */ (make('details', 'think'));
      think.hidden = true;
      think.append(make('summary', '', 'Thinking'), make('pre'));
      body.append(think, make('div', 'draft-text'));
      article.append(header, body);
      draft.replaceChildren(article);
    }
    const target = draft.querySelector(part);
    if (part.startsWith('.think')) /** @type {HTMLElement} */ (draft.querySelector('.think')).hidden = false;
    if (target?.lastChild instanceof Text) target.lastChild.appendData(text);
    else target?.append(text);
    if (follows) scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' });
  }

  /**
   * Removes the draft when entries are about to appear and the answer is among them.
   * @param {ParentNode} content
   */
  grew(content) {
    if (byId('draft').hidden || !this.question) return;
    const articles = /** @type {HTMLElement[]} */ ([...content.querySelectorAll('article')]);
    // An answer above the message belongs to an earlier one.
    const asked = articles.findIndex(article => article.dataset.id === this.question);
    if (asked < 0 && !this.conversation.find(this.question)) return;
    const answer = articles.slice(asked + 1).find(article => article.matches('.k-a, .k-A, .k-E'));
    if (!answer) return;
    this.answer ||= answer.dataset.id || '';
    this.clear();
  }

  /** Handles an update of the conversation. An answer on a branch that is not shown is removed. */
  refreshed() {
    if (this.hasEnded && ++this.synced > 1) this.clear();
  }

  clear() {
    const draft = document.getElementById('draft');
    if (!draft || draft.hidden) return;
    draft.hidden = true;
    draft.replaceChildren();
  }
}
