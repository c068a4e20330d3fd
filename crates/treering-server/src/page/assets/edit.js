// Editing the context: what an entry contributes to what the model sees, from the leaf of the session on.

import { ask, make } from './dom.js';

/** @typedef {import('./actions.js').Actions} Actions */

/** The edits, as `treering edit-context` names them, and what they do. */
const EDITS = [['drop', 'Leave it out'], ['replace', 'Replace its text'], ['restore', 'Put it back as it was']];

/**
 * Returns the text of an entry's message.
 * @param {any} entry
 * @returns {string}
 */
function textOf(entry) {
  const content = entry.message?.content ?? entry.content ?? '';
  if (typeof content === 'string') return content;
  return content.filter((/** @type {any} */ block) => block.type === 'text').map((/** @type {any} */ block) => block.text).join('\n\n');
}

/**
 * @param {Actions} actions
 * @param {string} entry
 */
export async function editContext(actions, entry) {
  const plan = (/** @type {string} */ edit, /** @type {string} */ text) => actions.call('/context', 'POST', { edit, entries: [entry], dryRun: true, ...(edit === 'replace' ? { text } : {}) });
  const why = (/** @type {unknown} */ error) => (error instanceof Error ? error.message : String(error));
  const text = textOf(await (await ask(`${actions.path}/entries/${encodeURIComponent(entry)}`)).json());
  /** @type {[string, string, any, string][]} */
  const edits = [];
  for (const [edit, name] of EDITS) {
    try {
      edits.push([edit, name, await plan(edit, text), '']);
    } catch (error) {
      edits.push([edit, name, null, why(error)]);
    }
  }
  if (edits.every(([, , possible]) => !possible)) { actions.toast(edits[0][3]); return; }

  const group = make('fieldset', 'edits');
  group.append(make('legend', '', 'In the context'));
  const area = actions.area('The text that the model sees instead');
  area.input.value = text;
  const effect = make('p', 'effect');
  effect.setAttribute('role', 'status');
  const chosen = () => /** @type {HTMLInputElement | null} */ (group.querySelector('input:checked'))?.value || '';
  for (const [edit, name, possible, refused] of edits) {
    const label = make('label', 'check');
    const input = /** @type {HTMLInputElement} */ (make('input'));
    Object.assign(input, { type: 'radio', name: 'edit', value: edit, disabled: !possible, checked: Boolean(possible) && !chosen() });
    label.append(input, ` ${name}`);
    if (refused) label.append(make('span', 'note', ` – ${refused}`));
    group.append(label);
  }
  let asked = 0;
  const preview = async () => {
    const turn = ++asked;
    const edit = chosen();
    area.box.hidden = edit !== 'replace';
    try {
      const fresh = await plan(edit, area.input.value);
      if (turn !== asked) return;
      const [before, after] = [fresh.tokensBefore, fresh.tokensAfter];
      const along = fresh.companions.length ? ` ${fresh.companions.length} of its tool results ${fresh.companions.length === 1 ? 'goes' : 'go'} along.` : '';
      effect.textContent = `About ${after.toLocaleString()} tokens instead of ${before.toLocaleString()}, ${Math.abs(before - after).toLocaleString()} ${before >= after ? 'less' : 'more'}.${along}`;
    } catch (error) {
      if (turn === asked) effect.textContent = why(error);
    }
  };
  let soon = 0;
  group.addEventListener('change', () => void preview());
  area.input.addEventListener('input', () => { clearTimeout(soon); soon = setTimeout(() => void preview(), 250); });
  await preview();

  const before = await actions.leaf();
  actions.question({
    title: 'Edit the context',
    about: ['What ', actions.name(entry), ' contributes to what the model sees, from the leaf of the session on. The entry is not changed.', group, area.box, effect],
    verb: 'Edit the context',
    run: async () => {
      const edit = chosen();
      const done = await actions.call('/context', 'POST', { edit, entries: [entry], ...(edit === 'replace' ? { text: area.input.value } : {}) });
      actions.changed();
      const said = { drop: 'The entry is out of the context.', replace: 'The model sees the other text.', restore: 'The entry counts again.' }[edit] || '';
      const last = done.edits[done.edits.length - 1];
      actions.toast(said, async () => {
        // Only if nothing was appended since, because that would be abandoned.
        await actions.call('/leaf', 'PUT', { entry: before }, { 'If-Match': `"${last}"` });
        actions.changed();
        actions.toast('The context is as it was.');
      });
    },
  });
}
