// What a person does to the context of a session, its secrets, and with a model.

import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { NAME } from './model.mjs';

let count = 0;
async function fresh(api, say, text = 'The first message') {
  const id = `doing-${++count}`;
  await api('POST', '/v1/sessions', { id, cwd: '/home/me/doing', name: `Doing ${count}` });
  await say(id, text);
  return id;
}
const confirm = page => page.click('#ask button.primary');
const context = async (api, id) => JSON.stringify((await api('GET', `/v1/sessions/${id}/context`)).messages);

export async function the_context_is_edited_with_a_preview_and_undone({ open, api, say }) {
  const id = await fresh(api, say, `A long paste. ${'many words '.repeat(200)}`);
  const long = (await api('GET', `/v1/sessions/${id}`)).leaf;
  await say(id, 'A question');
  const page = await open(`/s/${id}?entry=${long}`);
  // Edits that do not apply are asked for, and offered with the reason.
  page.expected.push('422');
  const before = await context(api, id);
  await page.click('[data-verb=edit]');
  await page.waitForSelector('#ask[open] .effect');
  assert.match(await page.textContent('#ask .effect'), /About [\d,]+ tokens instead of [\d,]+, [\d,]+ less/);
  assert.match(await page.textContent('#ask .edits'), /no edit applies to it/);
  await page.click('#ask >> text=Cancel');
  assert.equal(await context(api, id), before);
  await page.click('[data-verb=edit]');
  await page.check('#ask [value=drop]');
  await confirm(page);
  await page.waitForSelector('.toast >> text=out of the context');
  assert.doesNotMatch(await context(api, id), /A long paste/);
  await page.click('.toast button');
  await page.waitForSelector('.toast >> text=as it was');
  assert.match(await context(api, id), /A long paste/);
  // A shorter text; its effect follows what is typed.
  await page.click('[data-verb=edit]');
  await page.check('#ask [value=replace]');
  assert.match(await page.inputValue('#ask textarea'), /^A long paste/);
  await page.fill('#ask textarea', 'A short note.');
  await page.waitForFunction(() => /About \d\d? tokens/.test(document.querySelector('#ask .effect').textContent));
  await confirm(page);
  await page.waitForSelector('.toast >> text=other text');
  assert.match(await context(api, id), /A short note/);
  await page.click('[data-verb=edit]');
  await page.check('#ask [value=restore]');
  await confirm(page);
  await page.waitForSelector('.toast >> text=counts again');
  assert.match(await context(api, id), /A long paste/);
}

export async function copies_are_made_without_secrets({ open, api, say, server }) {
  const secret = `ghp_${'a1B2c3D4'.repeat(5)}`;
  const id = await fresh(api, say, `the key is ${secret}`);
  const page = await open(`/s/${id}`);
  const file = async button => {
    const saved = page.waitForEvent('download');
    await page.click(button);
    return readFileSync(await (await saved).path(), 'utf8');
  };
  for (const format of ['html', 'markdown', 'json', 'jsonl', 'for tau']) {
    await page.click('[data-verb=export]');
    await page.selectOption('#ask select', format);
    await page.check('#ask [name=redact]');
    await page.waitForSelector('#ask .found >> text=github-token');
    assert.match(await page.textContent('#ask .found'), /1 distinct, 1 occurrence/);
    const text = await file('#ask button.primary');
    assert.ok(!text.includes(secret) && text.includes('REDACTED:github-token:1'), format);
  }
  await page.click('[data-verb=fork]');
  assert.ok((await file('#ask .other')).includes(secret));
  await page.check('#ask [name=redact]');
  await page.waitForSelector('#ask .found >> text=github-token');
  assert.ok(!(await file('#ask .other')).includes(secret));
  await confirm(page);
  await page.waitForFunction(old => location.pathname.startsWith('/s/') && location.pathname !== `/s/${old}`, id);
  await page.waitForSelector('#path >> text=REDACTED:github-token:1');
  // Readers can export as well.
  await page.goto(`${server.url}/s/hostile`);
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  await page.click('[data-verb=export]');
  await page.check('#ask [name=redact]');
  await page.waitForSelector('#ask .found >> text=not found');
}

const answered = (page, text) => page.waitForSelector(`#path article:is(.k-a, .k-E) >> text=${text}`);

export async function talking_to_the_model_is_streamed_and_stored_once({ open, api, say, model }) {
  const id = await fresh(api, say);
  const [page, other] = [await open(`/s/${id}`), await open(`/s/${id}`)];
  await page.keyboard.press('i');
  assert.match(await page.textContent('#composer label'), new RegExp(NAME));
  await page.keyboard.type('Hello parrot');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#draft:not([hidden]) .draft-text');
  await page.waitForSelector('#path >> text=Hello parrot');
  await Promise.all([answered(page, 'That is all.'), answered(other, 'That is all.')]);
  await page.waitForSelector('#send:not([hidden])');
  assert.equal(await page.locator('#conversation >> text=That is all.').count(), 1, 'the answer is there once');
  assert.equal(await page.locator('#draft[hidden]').count(), 1);
  assert.equal(await page.inputValue('#say'), '');
  assert.equal(await page.locator('#path strong').count(), 1, 'the stored answer is rendered');
  assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
  assert.match(model.requests.at(-1).join('\n'), /The first message[^]*Hello parrot/);
  // Two lines, then another message that continues the answer.
  await page.fill('#say', 'One more');
  await page.click('#send');
  await page.waitForFunction(() => document.querySelectorAll('#path strong').length === 2);
}

export async function esc_stops_the_model_and_failures_are_shown({ open, api, say, model }) {
  const id = await fresh(api, say);
  const page = await open(`/s/${id}`);
  const closed = model.closed;
  await page.fill('#say', 'hang on');
  await page.press('#say', 'Enter');
  await page.waitForSelector('#draft >> text=You said');
  await page.waitForSelector('#draft .think', { state: 'attached' });
  await page.keyboard.press('Escape');
  await page.waitForSelector('#turn >> text=Stopped');
  await page.waitForFunction(() => document.getElementById('draft').hidden);
  await answered(page, 'You said');
  assert.equal(await page.locator('#conversation >> text=You said').count(), 1);
  for (let look = 0; look < 600 && model.closed === closed; look++) await page.waitForTimeout(100);
  assert.equal(model.closed, closed + 1);
  await page.fill('#say', 'refuse this');
  await page.press('#say', 'Enter');
  await page.waitForSelector('#turn.bad >> text=out of credit');
  // Leaving the page stops it as well.
  await page.fill('#say', 'hang again');
  await page.press('#say', 'Enter');
  await page.waitForSelector('#draft >> text=You said');
  await page.goto('about:blank');
  for (let look = 0; look < 600 && model.closed === closed + 1; look++) await page.waitForTimeout(100);
  assert.equal(model.closed, closed + 2);
  page.expected.push('about:blank');
}
