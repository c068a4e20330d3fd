// The actions of the session page. Each shows what it will do, and can be canceled; some can be undone.

import { exportSession, fork } from './copies.js';
import { address, ask, byId, leave, make } from './dom.js';
import { editContext } from './edit.js';

/**
 * A question to the reader.
 * @typedef {object} Question
 * @property {string} title
 * @property {(string | Node)[]} about
 * @property {string} verb the label of the button that runs the action
 * @property {boolean} [isDanger]
 * @property {() => Promise<void>} run
 * @property {{verb: string, run: () => void}} [other] an alternative, after which the question stays open
 */

export class Actions {
  /**
   * @param {string} session
   * @param {() => string} chosen
   * @param {(id: string) => Promise<void>} choose
   * @param {() => void} changed
   */
  constructor(session, chosen, choose, changed) {
    this.session = session;
    this.chosen = chosen;
    this.choose = choose;
    this.changed = changed;
    this.path = `/v1/sessions/${session}`;
    this.dialog = /** @type {HTMLDialogElement} */ (byId('ask'));
    const bar = byId('actions');
    const { readOnly, canWrite } = document.body.dataset;
    for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (bar.querySelectorAll('button'))) {
      const verb = button.dataset.verb || '';
      // A fork is a new session, and a session of any agent can be deleted. Readers can export.
      const refused = verb === 'export' ? '' : verb === 'fork' || verb === 'remove' ? (canWrite ? '' : readOnly) : readOnly;
      if (refused) {
        button.setAttribute('aria-disabled', 'true');
        button.title = `${button.title}: ${refused}`;
      }
    }
    bar.addEventListener('click', event => {
      const button = event.target instanceof Element ? event.target.closest('button') : null;
      if (!button) return;
      if (button.getAttribute('aria-disabled') === 'true') { this.toast(button.title); return; }
      void this.start(button.dataset.verb || '');
    });
  }

  /**
   * Binds the links of the bar to the chosen entry.
   * @param {string} id
   */
  chose(id) {
    byId('to-context').setAttribute('href', address(`/s/${this.session}/context`, { entry: id }));
    byId('to-compare').setAttribute('href', address(`/s/${this.session}/compare`, { a: id }));
  }

  /** @param {string} verb */
  async start(verb) {
    const entry = this.chosen();
    try {
      switch (verb) {
        case 'go': await this.go(entry); break;
        case 'label': this.label(entry); break;
        case 'fork': fork(this, entry); break;
        case 'edit': await editContext(this, entry); break;
        case 'export': exportSession(this, entry); break;
        case 'pick': await this.pick(entry); break;
        case 'merge': await this.merge(entry); break;
        case 'compact': await this.compact(); break;
        case 'rename': this.rename(); break;
        case 'remove': this.remove(); break;
        default:
      }
    } catch (error) {
      this.toast(error instanceof Error ? error.message : String(error));
    }
  }

  /** Returns a short text for an entry in questions. @param {string} id */
  name(id) {
    const row = document.querySelector(`.row[data-id="${CSS.escape(id)}"] .preview`);
    const article = document.getElementById(`entry-${id}`)?.querySelector('.body');
    const text = (row?.textContent || article?.textContent || id).trim().replace(/\s+/g, ' ');
    return make('q', 'entry-name', text.length > 140 ? `${text.slice(0, 140)}…` : text);
  }

  /** @param {string} path @param {string} method @param {unknown} body @param {Record<string, string>} [headers] */
  async call(path, method, body, headers) {
    const response = await ask(this.path + path, { method, body, headers });
    return response.status === 204 ? null : response.json();
  }

  async leaf() {
    return (await (await ask(this.path)).json()).leaf;
  }

  /** @param {string} entry */
  async go(entry) {
    const before = await this.leaf();
    if (before === entry) { this.toast('The session stands here already.'); return; }
    this.question({
      title: 'Go here?',
      about: ['The session goes on from ', this.name(entry), '. What comes next begins a new branch; nothing is removed.'],
      verb: 'Go here',
      run: async () => {
        await this.call('/leaf', 'PUT', { entry });
        this.changed();
        this.toast('The session goes on from here.', async () => { await this.call('/leaf', 'PUT', { entry: before }); this.changed(); });
      },
    });
  }

  /** @param {string} entry */
  label(entry) {
    const old = document.querySelector(`.row[data-id="${CSS.escape(entry)}"] .label`)?.textContent || '';
    const field = this.field('Label', old);
    this.question({
      title: old ? 'Change the label' : 'Label this entry',
      about: [this.name(entry), field.box, 'An empty label is removed.'],
      verb: 'Save',
      run: async () => {
        const label = field.input.value.trim();
        await this.call(`/labels/${encodeURIComponent(entry)}`, 'PUT', { label: label || null });
        this.changed();
        this.toast(label ? 'Labeled.' : 'The label is gone.', async () => { await this.call(`/labels/${encodeURIComponent(entry)}`, 'PUT', { label: old || null }); this.changed(); });
      },
    });
  }

  rename() {
    const old = document.body.dataset.name || '';
    const field = this.field('Name', old);
    this.question({
      title: 'Rename the session',
      about: [field.box],
      verb: 'Rename',
      run: async () => {
        const name = field.input.value.trim();
        await this.call('/name', 'PUT', { name });
        document.body.dataset.name = name;
        const heading = document.querySelector('#top h1');
        if (heading && name) heading.textContent = name;
        this.toast('Renamed.', async () => { await this.call('/name', 'PUT', { name: old }); location.reload(); });
      },
    });
  }

  /** @param {string} entry */
  async pick(entry) {
    const plan = await this.call('/cherry-pick', 'POST', { first: entry, dryRun: true });
    if (!plan.entries.length) { this.toast('There is nothing to copy: the entry is on the branch of the session already, or is no message.'); return; }
    const along = plan.companions.length ? `, with ${plan.companions.length} that belong to it` : '';
    this.question({
      title: 'Copy to the leaf of the session?',
      about: [this.name(entry), ` is copied${along}: about ${plan.tokens.toLocaleString()} tokens.`],
      verb: 'Copy',
      run: async () => { await this.call('/cherry-pick', 'POST', { first: entry }); await this.choose(''); this.changed(); },
    });
  }

  /** @param {string} entry */
  async merge(entry) {
    const plan = await this.call('/merge', 'POST', { from: entry, dryRun: true });
    if (!plan.entries.length) { this.toast('There is nothing to merge: the branch of the session has all of it.'); return; }
    const text = this.area('A summary instead of copies (optional)');
    this.question({
      title: 'Merge this branch?',
      about: [`${plan.entries.length} entries, about ${plan.tokens.toLocaleString()} tokens, are copied to the leaf of the session.`, text.box],
      verb: 'Merge',
      run: async () => {
        const summary = text.input.value.trim();
        await this.call('/merge', 'POST', summary ? { from: entry, summary } : { from: entry });
        await this.choose('');
        this.changed();
      },
    });
  }

  async compact() {
    const plan = await this.call('/compaction', 'POST', { dryRun: true });
    if (plan.reason) { this.toast(plan.reason === 'too_small' ? 'The context is too small to be compacted.' : 'The context was compacted already.'); return; }
    const cut = make('details', 'cut');
    cut.append(make('summary', '', 'What the summary stands for'), make('pre', '', plan.conversation || ''));
    const text = this.area('The summary (empty: made of quotations, without a model)');
    const kept = this.name(plan.firstKeptEntryId || '');
    this.question({
      title: 'Compact the context?',
      about: [`${plan.tokensBefore.toLocaleString()} tokens become a summary and the last ${plan.tokensKept.toLocaleString()}, from `, kept, ' on. Nothing is removed from the session.', cut, text.box],
      verb: 'Compact',
      run: async () => {
        const summary = text.input.value.trim();
        await this.call('/compaction', 'POST', summary ? { summary } : {});
        await this.choose('');
        this.changed();
      },
    });
  }

  remove() {
    this.question({
      title: 'Delete the session?',
      about: ['The session ', make('q', 'entry-name', document.querySelector('#top h1')?.textContent || ''), ' goes to the trash where there is one, with all of its branches. On a shared store it is gone for everyone.'],
      verb: 'Delete',
      isDanger: true,
      run: async () => { await this.call('', 'DELETE', undefined); leave('/'); },
    });
  }

  /** @param {string} name @param {string} value */
  field(name, value) {
    const box = make('label', 'field', name);
    const input = /** @type {HTMLInputElement} */ (make('input'));
    input.value = value;
    input.maxLength = 200;
    input.autocomplete = 'off';
    box.append(input);
    return { box, input };
  }

  /** @param {string} name */
  area(name) {
    const box = make('label', 'field', name);
    const input = /** @type {HTMLTextAreaElement} */ (make('textarea'));
    input.rows = 5;
    box.append(input);
    return { box, input };
  }

  /** @param {Question} question */
  question(question) {
    const form = /** @type {HTMLFormElement} */ (make('form'));
    const title = make('h2', '', question.title);
    title.id = 'ask-title';
    const about = make('div', 'about');
    about.append(...question.about);
    const failed = make('p', 'bad');
    failed.setAttribute('role', 'alert');
    const buttons = make('p', 'buttons');
    const cancel = /** @type {HTMLButtonElement} */ (make('button', '', 'Cancel'));
    cancel.type = 'button';
    cancel.addEventListener('click', () => this.dialog.close());
    const run = /** @type {HTMLButtonElement} */ (make('button', question.isDanger ? 'danger' : 'primary', question.verb));
    buttons.append(cancel);
    if (question.other) {
      const other = /** @type {HTMLButtonElement} */ (make('button', 'other', question.other.verb));
      other.type = 'button';
      other.addEventListener('click', question.other.run);
      buttons.append(other);
    }
    buttons.append(run);
    form.append(title, about, failed, buttons);
    form.addEventListener('submit', async event => {
      event.preventDefault();
      run.disabled = true;
      failed.textContent = '';
      try {
        await question.run();
        this.dialog.close();
      } catch (error) {
        failed.textContent = error instanceof Error ? error.message : String(error);
      }
      run.disabled = false;
    });
    this.dialog.replaceChildren(form);
    this.dialog.showModal();
    const first = form.querySelector(':is(input, textarea, select):enabled');
    (first instanceof HTMLElement ? first : run).focus();
  }

  /**
   * Disables the buttons of the open question while a request is running.
   * @param {boolean} isWaiting
   */
  wait(isWaiting) {
    for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (this.dialog.querySelectorAll('.primary, .other'))) button.disabled = isWaiting;
  }

  /**
   * Shows a message for some seconds, with a button to undo the action.
   * @param {string} text
   * @param {() => Promise<void>} [undo]
   */
  toast(text, undo) {
    document.querySelector('.toast')?.remove();
    const toast = make('p', 'toast', `${text} `);
    toast.setAttribute('role', 'status');
    if (undo) {
      const button = /** @type {HTMLButtonElement} */ (make('button', '', 'Undo'));
      button.type = 'button';
      button.addEventListener('click', () => { toast.remove(); undo().catch(error => this.toast(error.message)); });
      toast.append(button);
    }
    document.body.append(toast);
    setTimeout(() => toast.remove(), 12000);
  }
}
