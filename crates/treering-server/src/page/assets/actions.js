// The verbs of a session. Each shows what it will do, and can be cancelled; some can be undone.

import { address, ask, byId, make } from './dom.js';

/** The agents that a fork can be written for. */
const DIALECTS = ['pi', 'uuid', 'omp', 'chimera', 'operator', 'tau'];

/**
 * A question to the reader.
 * @typedef {object} Question
 * @property {string} title
 * @property {(string | Node)[]} about
 * @property {string} verb the name of the button that does it
 * @property {boolean} [isDanger]
 * @property {() => Promise<void>} run
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
      // A fork is a new session, and a session of any agent can be deleted.
      const refused = verb === 'fork' || verb === 'remove' ? (canWrite ? '' : readOnly) : readOnly;
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
        case 'fork': this.fork(entry); break;
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

  /** The text that stands for an entry in questions. @param {string} id */
  name(id) {
    const row = document.querySelector(`.row[data-id="${CSS.escape(id)}"] .preview`);
    const article = document.getElementById(`entry-${id}`)?.querySelector('.body');
    const text = (row?.textContent || article?.textContent || id).trim().replace(/\s+/g, ' ');
    return make('q', 'entry-name', text.length > 140 ? `${text.slice(0, 140)}…` : text);
  }

  /** @param {string} path @param {string} method @param {unknown} body */
  async call(path, method, body) {
    const response = await ask(this.path + path, { method, body });
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
  fork(entry) {
    const select = /** @type {HTMLSelectElement} */ (make('select'));
    for (const dialect of DIALECTS) select.append(new Option(dialect, dialect, false, dialect === document.body.dataset.agent));
    const label = make('label', 'field', 'For the agent');
    label.append(select);
    const download = /** @type {HTMLAnchorElement} */ (make('a', '', 'Download it as a file instead'));
    const link = () => { download.href = address(`/s/${this.session}/download`, { entry, dialect: select.value }); };
    select.addEventListener('change', link);
    link();
    const note = make('p');
    note.append(download);
    this.question({
      title: 'Fork the session',
      about: ['A new session with everything up to ', this.name(entry), '. This one stays as it is.', label, note],
      verb: 'New session',
      run: async () => {
        const made = await this.call('/fork', 'POST', { at: entry, dialect: select.value });
        location.href = `/s/${made.id}`;
      },
    });
  }

  /** @param {string} entry */
  async pick(entry) {
    const plan = await this.call('/cherry-pick', 'POST', { first: entry, dryRun: true });
    if (!plan.entries.length) { this.toast('There is nothing to copy: the entry is on the branch of the session already, or is no message.'); return; }
    const along = plan.companions.length ? `, with ${plan.companions.length} that belong to it` : '';
    this.question({
      title: 'Copy to where the session stands?',
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
      about: [`${plan.entries.length} entries, about ${plan.tokens.toLocaleString()} tokens, come to where the session stands, as copies.`, text.box],
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
      run: async () => { await this.call('', 'DELETE', undefined); location.href = '/'; },
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
    buttons.append(cancel, run);
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
    (form.querySelector('input, textarea, select') instanceof HTMLElement ? /** @type {HTMLElement} */ (form.querySelector('input, textarea, select')) : run).focus();
  }

  /**
   * Says something for a while, with a way to undo it.
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
