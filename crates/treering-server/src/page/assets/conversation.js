// The conversation: a branch of the session. Its entries are fetched from the server, a window at a time, when the
// screen is near them, and removed from the document when it is far away.

import { address, ask, byId, localTimes, make, nodes } from './dom.js';
import { highlight } from './highlight.js';

/** How far beyond the screen entries are fetched, and how far they stay in the document, in pixels. */
const NEAR = 1400;
const FAR = 4200;

/**
 * A window of a branch, as the server sends it.
 * @typedef {{tip: string | null, first: string | null, last: string | null, hasBefore: boolean, hasAfter: boolean, isActive: boolean, html: string}} BranchWindow
 */

export class Conversation {
  /**
   * @param {string} session
   * @param {string} tip
   * @param {() => string} filter
   */
  constructor(session, tip, filter) {
    this.session = session;
    this.tip = tip;
    this.filter = filter;
    this.box = byId('path');
    this.hasBefore = 'before' in this.box.dataset;
    this.hasAfter = 'after' in this.box.dataset;
    this.isActive = 'active' in this.box.dataset;
    this.first = this.box.dataset.first || '';
    this.last = this.box.dataset.last || '';
    /** The current entry: the one chosen last. */
    this.reading = '';
    this.busy = false;
    /** Called before appended entries are inserted into the document. @type {(content: ParentNode) => void} */
    this.onGrow = () => {};
    /** The number of branches shown so far: responses for an earlier one are dropped. */
    this.age = 0;
    this.enhance(this.box);
    const near = new IntersectionObserver(seen => { if (seen.some(entry => entry.isIntersecting)) void this.more(); }, { rootMargin: `${NEAR}px 0px` });
    this.edges = [make('div', 'edge'), make('div', 'edge')];
    this.box.before(this.edges[0]);
    this.box.after(this.edges[1]);
    this.edges.forEach(edge => near.observe(edge));
    this.box.addEventListener('click', event => {
      const button = event.target instanceof Element ? event.target.closest('.later button') : null;
      if (button) void this.showAll(/** @type {HTMLElement} */ (button.closest('.later')));
    });
    // The event does not bubble.
    this.box.addEventListener('toggle', event => {
      const part = event.target instanceof HTMLDetailsElement ? event.target : null;
      if (part?.open && 'later' in part.dataset) void this.fill(part);
    }, { capture: true });
    this.endNote();
  }

  /** @param {ParentNode} root */
  enhance(root) {
    for (const code of root.querySelectorAll('code[data-l]')) highlight(/** @type {HTMLElement} */ (code));
    localTimes(root);
    for (const later of root.querySelectorAll('.later[data-auto]')) void this.showAll(/** @type {HTMLElement} */ (later));
  }

  /**
   * Fetches an entry that was too large for its window.
   * @param {HTMLElement} body
   */
  async showAll(body) {
    const id = body.closest('article')?.dataset.id || '';
    body.classList.remove('later');
    body.removeAttribute('data-auto');
    try {
      const html = await (await ask(address(`/s/${this.session}/entry`, { entry: id }))).text();
      body.replaceChildren(nodes(html));
      this.enhance(body);
    } catch (error) {
      body.classList.add('later');
    }
  }

  /**
   * Fetches the folded parts of an entry, which windows leave out, when one of them is unfolded.
   * @param {HTMLDetailsElement} part
   */
  async fill(part) {
    const article = /** @type {HTMLElement | null} */ (part.closest('article'));
    const parts = /** @type {HTMLDetailsElement[]} */ ([...article?.querySelectorAll('.body details') || []]);
    const missing = parts.filter(other => 'later' in other.dataset);
    missing.forEach(other => delete other.dataset.later);
    const note = make('p', 'note', 'Loading …');
    part.append(note);
    try {
      const html = await (await ask(address(`/s/${this.session}/entry`, { entry: article?.dataset.id }))).text();
      const whole = nodes(html).querySelectorAll('details');
      this.keep(() => {
        for (const other of missing) {
          const content = whole[parts.indexOf(other)];
          content?.querySelector('summary')?.remove();
          other.append(...content?.childNodes || []);
        }
        note.remove();
        if (article) this.enhance(article);
      });
    } catch (error) {
      note.remove();
      missing.forEach(other => { other.dataset.later = ''; });
      part.open = false;
    }
  }

  /** @param {Record<string, string>} where */
  async fetch(where) {
    const path = address(`/s/${this.session}/branch`, { filter: this.filter(), ...where });
    return /** @type {BranchWindow} */ (await (await ask(path)).json());
  }

  /** @param {string} id */
  find(id) {
    return id ? document.getElementById(`entry-${id}`) : null;
  }

  /** Fetches what comes next at an edge that is near the screen. */
  async more() {
    if (this.busy) return;
    this.busy = true;
    try {
      for (let turns = 0; turns < 20; turns++) {
        const [top, bottom] = this.edges.map(edge => edge.getBoundingClientRect());
        if (this.hasAfter && bottom.top < innerHeight + NEAR) await this.extend('after');
        else if (this.hasBefore && top.bottom > -NEAR) await this.extend('before');
        else break;
      }
    } catch { /* The next scroll asks again. */ }
    this.busy = false;
  }

  /** @param {'before' | 'after'} side */
  async extend(side) {
    const age = this.age;
    const fresh = await this.fetch({ tip: this.tip, [side]: side === 'before' ? this.first : this.last });
    if (age !== this.age) return;
    this.tip = fresh.tip || this.tip;
    this.isActive = fresh.isActive;
    const content = nodes(fresh.html);
    this.enhance(content);
    if (side === 'after') {
      this.hasAfter = fresh.hasAfter;
      if (fresh.last) this.last = fresh.last;
      this.keep(() => { this.trim('before'); this.box.append(content); });
    } else {
      this.hasBefore = fresh.hasBefore;
      if (fresh.first) this.first = fresh.first;
      this.keep(() => { this.trim('after'); this.box.prepend(content); });
    }
    this.endNote();
  }

  /**
   * Changes the document without moving the visible part.
   * @param {() => void} change
   */
  keep(change) {
    const articles = [...this.box.children];
    const anchor = articles.find(article => article.getBoundingClientRect().bottom > 0) || articles[articles.length - 1];
    const top = anchor?.getBoundingClientRect().top;
    change();
    if (!anchor?.isConnected || top === undefined) return;
    const moved = anchor.getBoundingClientRect().top - top;
    if (Math.abs(moved) >= 1) scrollBy({ top: moved, behavior: 'instant' });
  }

  /**
   * Removes entries at an edge of the document if they are far from the screen. It is called before others are
   * inserted, while all positions are known, so that the document is laid out once.
   * @param {'before' | 'after'} side
   */
  trim(side) {
    const articles = /** @type {HTMLElement[]} */ ([...this.box.querySelectorAll(':scope > article')]);
    if (side === 'before') {
      const keep = articles.find(article => article.getBoundingClientRect().bottom > -FAR);
      if (!keep || keep === articles[0]) return;
      while (this.box.firstElementChild && this.box.firstElementChild !== keep) this.box.firstElementChild.remove();
      this.first = keep.dataset.id || '';
      this.hasBefore = true;
    } else {
      const keep = articles.reverse().find(article => article.getBoundingClientRect().top < innerHeight + FAR);
      if (!keep || keep === articles[0]) return;
      while (this.box.lastElementChild && this.box.lastElementChild !== keep) this.box.lastElementChild.remove();
      this.last = keep.dataset.id || '';
      this.hasAfter = true;
    }
  }

  endNote() {
    byId('end').textContent = this.hasAfter ? 'Loading …' : '';
  }

  /**
   * Shows the branch of an entry, and goes to it.
   * @param {string} id the entry; the end of the branch if it is empty
   * @param {string} [tip] the end of the branch, if it is known
   * @param {number} [top] where the entry is to be on the screen
   */
  async show(id, tip, top) {
    let element = this.find(id);
    if (!element || (tip && tip !== this.tip)) {
      const age = ++this.age;
      const fresh = await this.fetch(id ? { around: id, tip: tip || '' } : { tip: tip || '' });
      if (age !== this.age) return;
      this.replace(fresh);
      element = this.find(id) || this.find(fresh.last || '');
    }
    if (!element) return;
    if (top !== undefined) scrollBy({ top: element.getBoundingClientRect().top - top, behavior: 'instant' });
    else if (id) element.scrollIntoView({ block: 'start', behavior: 'instant' });
    else scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' });
    this.flash(element);
    await this.more();
  }

  /** @param {BranchWindow} fresh */
  replace(fresh) {
    this.tip = fresh.tip || '';
    this.first = fresh.first || '';
    this.last = fresh.last || '';
    this.hasBefore = fresh.hasBefore;
    this.hasAfter = fresh.hasAfter;
    this.isActive = fresh.isActive;
    const content = nodes(fresh.html);
    this.enhance(content);
    this.box.replaceChildren(content);
    this.endNote();
  }

  /** @param {HTMLElement} element */
  flash(element) {
    document.querySelector('.entry.target')?.classList.remove('target');
    element.classList.add('target');
    this.reading = element.dataset.id || '';
  }

  /** Returns whether the end of the branch is on the screen. */
  isAtEnd() {
    return !this.hasAfter && scrollY + innerHeight >= document.documentElement.scrollHeight - 120;
  }

  /** Fetches entries that were appended to the branch. Returns how many were inserted. */
  async grow() {
    if (this.hasAfter) return 0;
    const age = this.age;
    const follows = this.isAtEnd();
    if (!this.last) {
      const fresh = await this.fetch({ tip: this.tip });
      if (age === this.age) { this.onGrow(nodes(fresh.html)); this.replace(fresh); }
      return this.box.childElementCount;
    }
    const fresh = await this.fetch({ tip: this.tip, after: this.last });
    if (age !== this.age) return 0;
    this.tip = fresh.tip || this.tip;
    this.isActive = fresh.isActive;
    if (!fresh.html) return 0;
    const content = nodes(fresh.html);
    const count = content.querySelectorAll('article').length;
    this.enhance(content);
    this.last = fresh.last || this.last;
    this.hasAfter = fresh.hasAfter;
    this.keep(() => { this.trim('before'); this.onGrow(content); this.box.append(content); });
    this.endNote();
    if (follows) scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' });
    return count;
  }

  /** Returns the current entry: the one chosen last, while it is visible, or else the last one above the top. */
  current() {
    const box = this.find(this.reading)?.getBoundingClientRect();
    if (box && box.bottom > 60 && box.top < innerHeight) return this.find(this.reading);
    const articles = /** @type {HTMLElement[]} */ ([...this.box.querySelectorAll(':scope > article')]);
    const above = articles.filter(article => article.getBoundingClientRect().top <= 90);
    return above[above.length - 1] || articles[0] || null;
  }

  /**
   * Returns the entry before or after the current one.
   * @param {number} by
   */
  neighbor(by) {
    const articles = /** @type {HTMLElement[]} */ ([...this.box.querySelectorAll(':scope > article')]);
    const now = this.current();
    const at = now ? articles.indexOf(now) : -1;
    return articles[Math.max(0, Math.min(articles.length - 1, at + by))] || null;
  }

  /** Unfolds everything near the screen, or folds it if nothing is folded. */
  unfold() {
    const isNear = (/** @type {Element} */ element) => { const { top, bottom } = element.getBoundingClientRect(); return bottom > -innerHeight && top < 2 * innerHeight; };
    const all = /** @type {HTMLDetailsElement[]} */ ([...this.box.querySelectorAll('details')]).filter(isNear);
    const open = all.some(details => !details.open);
    this.keep(() => all.forEach(details => { details.open = open; }));
  }
}
