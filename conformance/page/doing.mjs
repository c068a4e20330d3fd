// What a person does to the context of a session, and to its secrets.

import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';

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
  const before = await context(api, id);
  await page.click('[data-verb=edit]');
  await page.waitForSelector('#ask[open] .effect');
  assert.match(await page.textContent('#ask .effect'), /About [\d,]+ tokens instead of [\d,]+, [\d,]+ less/);
  assert.match(await page.textContent('#ask .edits'), /no edit of it is in force/);
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
