// Copies of a session: forks and files, with its secrets or without them.

import { address, ask, leave, make } from './dom.js';

/** @typedef {import('./actions.js').Actions} Actions */

/** The agents that a fork can be written for. */
const DIALECTS = (document.body.dataset.dialects || '').split(' ');

/** The documents that the server creates from a whole session: format, name, ending of the file. */
const DOCUMENTS = [['html', 'HTML page', 'html'], ['markdown', 'Markdown', 'md'], ['json', 'JSON', 'json'], ['jsonl', 'Session file, all branches', 'jsonl']];

/** The most places of secrets that are listed. */
const PLACES = 50;

/**
 * Returns a check box that lists the secrets before anything is copied.
 * @param {Actions} actions
 * @param {() => string} at the entry that the copy ends at; empty for all branches
 */
function withoutSecrets(actions, at) {
  const box = make('div', 'secrets');
  const label = make('label', 'check');
  const input = /** @type {HTMLInputElement} */ (make('input'));
  input.type = 'checkbox';
  input.name = 'redact';
  label.append(input, ' Without secrets');
  const found = make('div', 'found');
  found.setAttribute('role', 'status');
  box.append(label, found);
  let asked = 0;
  const list = async () => {
    const turn = ++asked;
    found.replaceChildren();
    actions.wait(false);
    if (!input.checked) return;
    // Nothing is copied before the list is there.
    actions.wait(true);
    found.textContent = 'Looking for secrets …';
    try {
      const secrets = await (await ask(address(`${actions.path}/secrets`, { at: at() }))).json();
      if (turn !== asked) return;
      found.replaceChildren(...describe(actions, secrets));
    } catch (error) {
      if (turn !== asked) return;
      input.checked = false;
      found.textContent = error instanceof Error ? error.message : String(error);
    }
    actions.wait(false);
  };
  input.addEventListener('change', list);
  return { box, input, list };
}

/**
 * @param {Actions} actions
 * @param {{occurrences: number, signatures: number, kinds: {kind: string, distinct: number, occurrences: number}[], places: {kind: string, number: number, entry: string | null, field: string, count: number}[]}} secrets
 */
function describe(actions, secrets) {
  const times = (/** @type {number} */ count, /** @type {string} */ one, /** @type {string} */ many) => `${count.toLocaleString()} ${count === 1 ? one : many}`;
  const note = make('p', 'note', 'What has no known shape and no telling name is not found: look at the copy before you share it.');
  if (!secrets.occurrences) return [make('p', '', 'Nothing was found.'), note];
  const kinds = make('ul');
  for (const sum of secrets.kinds) {
    const line = make('li');
    line.append(make('code', '', sum.kind), ` ${sum.distinct.toLocaleString()} distinct, ${times(sum.occurrences, 'occurrence', 'occurrences')}`);
    kinds.append(line);
  }
  const where = make('details');
  where.append(make('summary', '', 'Where'));
  const places = make('ul');
  for (const place of secrets.places.slice(0, PLACES)) {
    const line = make('li');
    line.append(make('code', '', `${place.kind}:${place.number}`), ' ', place.entry ? actions.name(place.entry) : 'in no entry', ` ${place.field}`, place.count > 1 ? ` ×${place.count}` : '');
    places.append(line);
  }
  if (secrets.places.length > PLACES) places.append(make('li', '', '… and more'));
  where.append(places);
  const parts = [make('p', '', 'These are replaced by [REDACTED:kind:number] in the copy:'), kinds, where, note];
  if (secrets.signatures) parts.splice(2, 0, make('p', '', `${times(secrets.signatures, 'signature', 'signatures')} emptied: what they signed has changed.`));
  return parts;
}

/**
 * Saves a file of the server.
 * @param {string} path
 * @param {string} name
 */
function save(path, name) {
  const link = /** @type {HTMLAnchorElement} */ (make('a'));
  link.href = path;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

/** @param {string} name @param {HTMLSelectElement} select */
function choice(name, select) {
  const label = make('label', 'field', name);
  label.append(select);
  return label;
}

/** @param {Actions} actions @param {string} entry @param {string} dialect @param {boolean} redact */
const branchFile = (actions, entry, dialect, redact) => address(`/s/${actions.session}/download`, { entry, dialect, redact: redact ? 'true' : '' });

/**
 * @param {Actions} actions
 * @param {string} entry
 */
export function fork(actions, entry) {
  const select = /** @type {HTMLSelectElement} */ (make('select'));
  for (const dialect of DIALECTS) select.append(new Option(dialect, dialect, false, dialect === document.body.dataset.agent));
  const secrets = withoutSecrets(actions, () => entry);
  actions.question({
    title: 'Fork the session',
    about: ['A new session with everything up to ', actions.name(entry), '. This one stays as it is.', choice('For the agent', select), secrets.box],
    verb: 'New session',
    run: async () => {
      const made = await actions.call('/fork', 'POST', { at: entry, dialect: select.value, redact: secrets.input.checked });
      leave(`/s/${made.id}`);
    },
    other: { verb: 'Download', run: () => save(branchFile(actions, entry, select.value, secrets.input.checked), '') },
  });
}

/**
 * @param {Actions} actions
 * @param {string} entry
 */
export function exportSession(actions, entry) {
  const select = /** @type {HTMLSelectElement} */ (make('select'));
  for (const [format, name] of DOCUMENTS) select.append(new Option(name, format));
  if (entry) for (const dialect of DIALECTS) select.append(new Option(`Session file for ${dialect}, up to the chosen entry`, `for ${dialect}`));
  const dialect = () => (select.value.startsWith('for ') ? select.value.slice(4) : '');
  const secrets = withoutSecrets(actions, () => (dialect() ? entry : ''));
  select.addEventListener('change', () => void secrets.list());
  actions.question({
    title: 'Export the session',
    about: [choice('As', select), secrets.box],
    verb: 'Download',
    run: async () => {
      const redact = secrets.input.checked;
      if (dialect()) { save(branchFile(actions, entry, dialect(), redact), ''); return; }
      const [format, , ending] = DOCUMENTS.find(([name]) => name === select.value) || DOCUMENTS[0];
      save(address(`${actions.path}/export`, { format, redact: redact ? 'true' : '' }), `${actions.session}${redact ? '.redacted' : ''}.${ending}`);
    },
  });
}
