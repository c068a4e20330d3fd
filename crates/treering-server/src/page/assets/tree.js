// The tree at the side. Only the rows near the screen are in the document. They are fetched from the server, a window
// of a hundred at a time, so that the cost does not depend on the length of the tree.

import { address, ask, byId, nodes } from './dom.js';

const ROW = 28;
const WINDOW = 100;

/** Windows that are fetched at once: a quick scroll passes many, and those that it passed are not needed. */
const FETCHED = 3;

/**
 * A window of rows, as the server sends it.
 * @typedef {{total: number, entries: number, from: number, around: number | null, complete: boolean, leaf: string | null, length: number, html: string}} RowWindow
 */

/**
 * The state of the view.
 * @typedef {{session: string, filter: string, folds: Set<string>, query: string, chosen: string, tip: string}} View
 */

export class Tree {
  /**
   * @param {View} view
   * @param {(id: string) => void} choose called when the reader chooses an entry
   * @param {() => void} changed called when folds change
   */
  constructor(view, choose, changed) {
    this.view = view;
    this.choose = choose;
    this.changed = changed;
    this.box = byId('tree');
    this.rows = byId('rows');
    this.total = Number(this.box.dataset.total);
    this.entries = 0;
    this.isComplete = 'complete' in this.box.dataset;
    /** @type {Map<number, HTMLElement>} the windows in the document, by their number */
    this.windows = new Map();
    /** @type {Map<number, Promise<void>>} */
    this.loading = new Map();
    /** The number of changes of the view: responses for an earlier view are dropped. */
    this.age = 0;
    /** The row with the cursor. */
    this.cursor = Number(this.box.dataset.around ?? 0);
    this.adopt();
    this.box.addEventListener('scroll', () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.box);
    this.box.addEventListener('click', event => this.clicked(event));
    this.box.addEventListener('keydown', event => this.pressed(event));
    if (!this.isComplete) this.wait();
  }

  /** Adopts the rows that came with the page. */
  adopt() {
    const first = this.rows.querySelector('.window');
    const rows = first ? [...first.querySelectorAll('.row')] : [];
    first?.remove();
    /** @type {Map<number, Element[]>} */
    const parts = new Map();
    for (const row of rows) {
      const part = Math.floor(Number(row.getAttribute('data-at')) / WINDOW);
      const list = parts.get(part) || [];
      list.push(row);
      parts.set(part, list);
    }
    for (const [part, list] of parts) this.place(part, list);
    this.resize();
    this.reveal(this.cursor, true);
    this.draw();
  }

  resize() {
    this.rows.style.height = `${this.total * ROW}px`;
    const shown = `${this.total.toLocaleString()} ${this.total === 1 ? 'entry' : 'entries'}`;
    byId('count').textContent = this.view.query ? `${shown} found` : this.isComplete ? shown : `${shown}, reading …`;
  }

  /**
   * Puts rows into the document.
   * @param {number} part
   * @param {Iterable<Node>} rows
   */
  place(part, rows) {
    const focused = this.box.contains(document.activeElement) ? document.activeElement?.getAttribute('data-id') : null;
    this.windows.get(part)?.remove();
    const element = document.createElement('div');
    element.className = 'window';
    element.setAttribute('role', 'none');
    element.style.top = `${part * WINDOW * ROW}px`;
    element.append(...rows);
    this.windows.set(part, element);
    const next = [...this.windows.keys()].filter(other => other > part).sort((a, b) => a - b)[0];
    this.rows.insertBefore(element, next === undefined ? null : this.windows.get(next) || null);
    this.mark(element);
    if (focused) this.find(focused)?.focus({ preventScroll: true });
  }

  /** @param {ParentNode} root */
  mark(root) {
    for (const row of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll('.row'))) {
      const isChosen = row.dataset.id === this.view.chosen;
      row.setAttribute('aria-selected', String(isChosen));
      row.tabIndex = Number(row.dataset.at) === this.cursor ? 0 : -1;
    }
  }

  /**
   * Returns the element of an entry, if it is in the document.
   * @param {string} id
   */
  find(id) {
    return id ? /** @type {HTMLElement | null} */ (this.rows.querySelector(`.row[data-id="${CSS.escape(id)}"]`)) : null;
  }

  /** Returns the windows that are visible or close to it. */
  parts() {
    const from = Math.max(0, Math.floor((this.box.scrollTop - 15 * ROW) / ROW / WINDOW));
    const bottom = this.box.scrollTop + this.box.clientHeight + 15 * ROW;
    const to = Math.min(Math.ceil(this.total / WINDOW), Math.ceil(bottom / ROW / WINDOW));
    return Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at);
  }

  /** Returns whether a window is near the screen. @param {number} part @param {number[]} parts those in sight */
  isNear(part, parts = this.parts()) {
    return part >= parts[0] - 1 && part <= parts[parts.length - 1] + 1;
  }

  draw() {
    const parts = this.parts();
    for (const [part, element] of this.windows) {
      if (!this.isNear(part, parts) && !element.contains(document.activeElement)) {
        element.remove();
        this.windows.delete(part);
      }
    }
    for (const part of parts) if (!this.windows.has(part) && this.loading.size < FETCHED) void this.load(part);
  }

  /** @param {Record<string, string | number>} where */
  async fetch(where) {
    const { session, filter, folds, query, tip } = this.view;
    const path = address(`/s/${session}/rows`, { ...where, count: WINDOW, filter, folds: [...folds].join(','), q: query, tip });
    return /** @type {RowWindow} */ (await (await ask(path)).json());
  }

  /** @param {RowWindow} fresh */
  learn(fresh) {
    this.total = fresh.total;
    this.entries = fresh.entries;
    this.isComplete = fresh.complete;
    this.resize();
  }

  /**
   * Fetches a window.
   * @param {number} part
   */
  load(part) {
    const known = this.loading.get(part);
    if (known) return known;
    const age = this.age;
    let isBroken = false;
    const job = (async () => {
      try {
        const fresh = await this.fetch({ from: part * WINDOW });
        if (age !== this.age) return;
        this.learn(fresh);
        if (this.isNear(part)) this.place(part, nodes(fresh.html).children);
      } catch {
        // The next scroll, or the next event, asks again.
        isBroken = true;
      }
      if (age === this.age) this.loading.delete(part);
      if (!isBroken) this.draw();
    })();
    this.loading.set(part, job);
    return job;
  }

  /**
   * Fetches the visible windows again after a change of the tree or the view. The row at the top of the screen, or
   * the given one, does not move.
   * @param {string} [anchor]
   */
  async refresh(anchor) {
    const age = ++this.age;
    this.loading.clear();
    const top = anchor ? this.find(anchor) : this.topRow();
    const id = anchor || top?.dataset.id || this.view.chosen;
    const fresh = await this.fetch({ around: id });
    if (age !== this.age) return fresh;
    const focused = this.box.contains(document.activeElement) ? document.activeElement?.getAttribute('data-id') : null;
    const isAtEnd = this.box.scrollTop + this.box.clientHeight > this.rows.offsetHeight - 2 * ROW;
    this.learn(fresh);
    if (fresh.around !== null && id === this.view.chosen) this.cursor = fresh.around;
    this.cursor = Math.max(0, Math.min(this.cursor, fresh.total - 1));
    for (const element of this.windows.values()) element.remove();
    this.windows.clear();
    this.place(Math.floor(fresh.from / WINDOW), nodes(fresh.html).children);
    if (fresh.around !== null) {
      if (top && fresh.around !== Number(top.dataset.at)) this.box.scrollTop += (fresh.around - Number(top.dataset.at)) * ROW;
      else if (!top) this.reveal(fresh.around, true);
    }
    if (isAtEnd && !anchor && this.followsEnd) this.box.scrollTop = this.rows.offsetHeight;
    this.draw();
    if (focused) {
      this.cursor = Number(this.find(focused)?.dataset.at ?? this.cursor);
      this.find(focused)?.focus({ preventScroll: true });
    }
    if (!this.isComplete) this.wait();
    return fresh;
  }

  /** Returns whether the end of the tree stays visible as it grows. */
  followsEnd = false;

  /** Fetches again until the server has read all answers: rows may disappear before that. */
  wait() {
    setTimeout(() => { if (!this.isComplete) this.refresh().catch(() => {}); }, 400);
  }

  topRow() {
    const at = Math.floor(this.box.scrollTop / ROW) + 1;
    return this.rowAt(Math.min(at, this.total - 1));
  }

  /** @param {number} at */
  rowAt(at) {
    return /** @type {HTMLElement | null} */ (this.rows.querySelector(`.row[data-at="${at}"]`));
  }

  /**
   * Scrolls until a row is visible.
   * @param {number} at
   * @param {boolean} [middle]
   */
  reveal(at, middle) {
    const top = at * ROW;
    const { scrollTop, clientHeight } = this.box;
    if (middle) {
      if (top < scrollTop || top > scrollTop + clientHeight - ROW) this.box.scrollTop = top - clientHeight / 2;
    } else if (top < scrollTop + ROW) this.box.scrollTop = top - 2 * ROW;
    else if (top > scrollTop + clientHeight - 3 * ROW) this.box.scrollTop = top - clientHeight + 4 * ROW;
  }

  /**
   * Marks the chosen entry and scrolls to it.
   * @param {string} id
   * @param {string} tip
   */
  async show(id, tip) {
    const isOther = tip !== this.view.tip;
    this.view.chosen = id;
    this.view.tip = tip;
    const row = this.find(id);
    if (row) {
      this.cursor = Number(row.dataset.at);
      this.mark(this.rows);
      this.reveal(this.cursor);
    }
    if (isOther || !row) {
      const fresh = await this.refresh(id);
      const at = fresh.around;
      if (at !== null) {
        this.cursor = at;
        this.reveal(at, true);
        this.draw();
        this.mark(this.rows);
      }
    }
  }

  /**
   * Moves the cursor to a row.
   * @param {number} at
   */
  async moveTo(at) {
    if (!this.total) return;
    this.cursor = Math.max(0, Math.min(this.total - 1, at));
    this.reveal(this.cursor);
    this.draw();
    if (!this.rowAt(this.cursor)) await this.load(Math.floor(this.cursor / WINDOW));
    this.mark(this.rows);
    this.rowAt(this.cursor)?.focus({ preventScroll: true });
  }

  /**
   * Folds or unfolds the branch that begins at a row. Returns whether that changed anything.
   * @param {HTMLElement} row
   * @param {boolean} [fold]
   */
  toggle(row, fold) {
    const state = row.getAttribute('aria-expanded');
    if (state === null || (fold !== undefined && fold === (state === 'false'))) return false;
    const id = row.dataset.id || '';
    if (state === 'true') this.view.folds.add(id); else this.view.folds.delete(id);
    this.changed();
    this.refresh(id).catch(() => {});
    return true;
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const target = event.target instanceof Element ? event.target : null;
    const row = /** @type {HTMLElement | null} */ (target?.closest('.row') ?? null);
    if (!row || !target) return;
    if (target.classList.contains('fold')) { this.toggle(row); return; }
    this.cursor = Number(row.dataset.at);
    // The row is marked at once; its branch follows when the server has sent it.
    this.view.chosen = row.dataset.id || '';
    this.mark(this.rows);
    row.focus({ preventScroll: true });
    this.choose(row.dataset.id || '');
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.total) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 2);
    const row = this.rowAt(this.cursor);
    switch (event.key) {
      case 'ArrowDown': void this.moveTo((this.cursor + 1) % this.total); break;
      case 'ArrowUp': void this.moveTo((this.cursor + this.total - 1) % this.total); break;
      case 'PageDown': void this.moveTo(this.cursor + page); break;
      case 'PageUp': void this.moveTo(this.cursor - page); break;
      case 'Home': void this.moveTo(0); break;
      case 'End': void this.moveTo(this.total - 1); break;
      case 'ArrowLeft': if (row && !this.toggle(row, true)) void this.moveTo(this.above(row)); break;
      case 'ArrowRight': if (row && !this.toggle(row, false)) void this.moveTo(this.cursor + 1); break;
      case 'Enter': case ' ': if (row) this.choose(row.dataset.id || ''); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * Returns the row to which a row belongs: the nearest one above that is not deeper.
   * @param {HTMLElement} row
   */
  above(row) {
    const level = Number(row.getAttribute('aria-level'));
    const begins = row.querySelector('.tee, .end, .top, .dash') !== null;
    for (let at = Number(row.dataset.at) - 1; at >= 0; at--) {
      const other = this.rowAt(at);
      if (!other) return at;
      const its = Number(other.getAttribute('aria-level'));
      if (begins ? its < level : its <= level) return at;
    }
    return 0;
  }
}
