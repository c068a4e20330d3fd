// Pages about a branch: colors for code, times, and the context as a request to copy.

import { address, ask, byId, localTimes } from './dom.js';
import { begin } from './frame.js';
import { highlight } from './highlight.js';

begin();
localTimes(document);
for (const code of document.querySelectorAll('code[data-l]')) highlight(/** @type {HTMLElement} */ (code));

const view = document.getElementById('view');
if (view instanceof HTMLSelectElement) {
  const { session, entry } = document.body.dataset;
  const path = () => address(`/v1/sessions/${session}/context`, { leaf: entry || '', view: view.value });
  const link = () => byId('raw').setAttribute('href', path());
  view.addEventListener('change', link);
  link();
  byId('copy').addEventListener('click', async () => {
    const said = byId('copied');
    try {
      const text = await (await ask(path())).text();
      await navigator.clipboard.writeText(text);
      said.textContent = `Copied, ${text.length.toLocaleString()} characters`;
    } catch (error) {
      said.textContent = `Not copied: ${error instanceof Error ? error.message : error}`;
    }
  });
}
const other = document.getElementById('other');
if (other instanceof HTMLSelectElement) other.addEventListener('change', () => other.form?.requestSubmit());
document.documentElement.dataset.ready = '';
