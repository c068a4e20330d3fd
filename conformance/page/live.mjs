// The page while others write, and what a person does to a session.

import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';

let count = 0;
async function fresh(api, say) {
  const id = `live-${++count}`;
  await api('POST', '/v1/sessions', { id, cwd: '/home/me/live', name: `Live ${count}` });
  await say(id, 'The first message');
  return id;
}
const shows = (page, text) => page.waitForSelector(`#path >> text=${text}`);
const firstMessage = async (api, id) => (await api('GET', `/v1/sessions/${id}/tree`)).rows.find(row => row.role === 'user').id;

export async function the_list_moves_as_sessions_grow({ open, api, say }) {
  const id = await fresh(api, say);
  const page = await open('/?order=recent');
  await page.waitForSelector(`.s[data-id=${id}]`);
  const other = await fresh(api, say);
  await page.waitForSelector(`.s[data-id=${other}]`);
  await say(id, 'More');
  await page.waitForFunction(name => document.querySelector('.s').dataset.id === name, id);
  await page.waitForSelector(`.s.live[data-id=${id}]`);
}

export async function two_browsers_see_what_a_third_process_writes({ open, api, say, dir }) {
  const id = await fresh(api, say);
  const [one, two] = [await open(`/s/${id}`), await open(`/s/${id}`)];
  await say(id, 'Written through the API');
  await Promise.all([shows(one, 'Written through the API'), shows(two, 'Written through the API')]);
  // A process that knows nothing of the server appends to a file.
  const file = `${dir}/branches.jsonl`;
  const other = await open('/s/branches');
  execFileSync(process.env.TREERING_BIN, ['append', file, '--user', 'Written to the file']);
  await shows(other, 'Written to the file');
  await other.waitForFunction(() => [...document.querySelectorAll('#rows .row')].some(row => /Written to the file/.test(row.textContent)));
}

export async function reading_further_up_is_not_disturbed({ open, say }) {
  const page = await open('/s/long?entry=e5000');
  await page.waitForSelector('#entry-e5000');
  await page.quiet();
  const top = () => page.evaluate(() => document.getElementById('entry-e5000').getBoundingClientRect().top);
  const before = await top();
  const tree = () => page.evaluate(() => document.querySelector('#rows .row[aria-selected=true]').getBoundingClientRect().top);
  const row = await tree();
  for (let n = 0; n < 5; n++) await say('long', `Later ${n}`);
  await page.waitForFunction(() => /10,00[1-9]/.test(document.getElementById('count').textContent), null);
  await page.quiet();
  assert.ok(Math.abs(await top() - before) < 2, `moved from ${before} to ${await top()}`);
  assert.ok(Math.abs(await tree() - row) < 2);
}

export async function a_badge_tells_of_another_branch({ open, api, say }) {
  const id = await fresh(api, say);
  const first = await firstMessage(api, id);
  await say(id, 'On this branch');
  const page = await open(`/s/${id}`);
  await say(id, 'On another branch', first);
  await page.waitForSelector('#moved:not([hidden])');
  assert.match(await page.textContent('#path'), /On this branch/);
  await page.click('#moved button');
  await shows(page, 'On another branch');
  await page.waitForSelector('#moved[hidden]', { state: 'attached' });
}

export async function offline_and_online_again_nothing_is_missed({ open, api, say }) {
  const id = await fresh(api, say);
  const page = await open(`/s/${id}`);
  page.expected.push('ERR_INTERNET_DISCONNECTED', 'ERR_NETWORK');
  await page.waitForFunction(() => document.getElementById('status').textContent === 'Live');
  await page.context().setOffline(true);
  await page.waitForFunction(() => /Offline|lost/.test(document.getElementById('status').textContent));
  for (let n = 0; n < 3; n++) await say(id, `While away ${n}`);
  await page.context().setOffline(false);
  for (let n = 0; n < 3; n++) await shows(page, `While away ${n}`);
}

export async function a_restarted_server_is_found_again({ open, api, say, server }) {
  const id = await fresh(api, say);
  const page = await open(`/s/${id}`);
  page.expected.push('ERR_CONNECTION_REFUSED', 'ERR_INCOMPLETE_CHUNKED_ENCODING', 'ERR_CONNECTION_RESET', 'ERR_EMPTY_RESPONSE', 'ERR_SOCKET');
  await page.waitForFunction(() => document.getElementById('status').textContent === 'Live');
  await server.stop();
  await page.waitForFunction(() => /lost/.test(document.getElementById('status').textContent), null);
  await server.start();
  await say(id, 'After the restart');
  await shows(page, 'After the restart');
  await page.waitForFunction(() => /^Live/.test(document.getElementById('status').textContent), null);
  const texts = await page.locator('#path article .body').allTextContents();
  assert.deepEqual(texts.map(text => text.trim()), ['The first message', 'After the restart']);
}

const confirm = page => page.click('#ask button.primary, #ask button.danger');
// Whether the open question says why it was refused; a page that the user is leaving shows nothing.
const refused = page => page.locator('#ask .bad:not(:empty)').count().catch(() => 0);

export async function going_labeling_and_renaming_ask_and_can_be_undone({ open, api, say }) {
  const id = await fresh(api, say);
  const first = await firstMessage(api, id);
  await say(id, 'The second message');
  const page = await open(`/s/${id}?entry=${first}`);
  const leaf = async () => (await api('GET', `/v1/sessions/${id}`)).leaf;
  const before = await leaf();
  await page.click('[data-verb=go]');
  await page.waitForSelector('#ask[open]');
  assert.match(await page.textContent('#ask'), /The first message/);
  await page.click('#ask >> text=Cancel');
  assert.equal(await leaf(), before);
  await page.click('[data-verb=go]');
  await confirm(page);
  await page.waitForSelector('.toast button');
  assert.notEqual(await leaf(), before);
  await page.click('.toast button');
  await page.waitForFunction(() => document.querySelector('#rows .row.leaf')?.textContent.includes('second'), null);
  await page.click('[data-verb=label]');
  await page.fill('#ask input', 'start');
  await confirm(page);
  await page.waitForSelector('#rows .label >> text=start');
  await page.click('[data-verb=rename]');
  await page.fill('#ask input', 'A better name');
  await page.keyboard.press('Enter');
  await page.waitForSelector('h1 >> text=A better name');
  assert.equal((await api('GET', `/v1/sessions/${id}`)).name, 'A better name');
}

export async function picking_merging_and_compacting_show_what_they_do({ open, api, say }) {
  const id = await fresh(api, say);
  const first = await firstMessage(api, id);
  const side = (await say(id, 'Work on a side branch')).ids[0];
  await say(id, 'Work on the main branch', first);
  const page = await open(`/s/${id}?entry=${side}`);
  await page.click('[data-verb=pick]');
  await page.waitForSelector('#ask[open]');
  assert.match(await page.textContent('#ask'), /tokens/);
  await confirm(page);
  await page.waitForFunction(() => /main branch[^]*side branch/.test(document.getElementById('path').textContent), null);
  const more = (await say(id, 'More on the side', side)).ids[0];
  await say(id, 'Back on the main branch', first);
  await page.goto(`${page.url().split('?')[0]}?entry=${more}`);
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  await page.click('[data-verb=merge]');
  await page.waitForSelector('#ask[open]');
  await confirm(page);
  await page.waitForFunction(() => /Back on the main branch[^]*More on the side/.test(document.getElementById('path').textContent), null);
  await page.click('[data-verb=compact]');
  await page.waitForSelector('.toast >> text=too small');
  for (let n = 0; n < 6; n++) await say(id, `${n} ${'many words '.repeat(6000)}`);
  await page.click('[data-verb=compact]');
  await page.waitForSelector('#ask[open] .cut');
  assert.match(await page.textContent('#ask'), /tokens become a summary/);
  await page.fill('#ask textarea', 'It was about words.');
  await confirm(page);
  await shows(page, 'It was about words.');
}

export async function forking_exporting_and_deleting({ open, api, say, server, dir }) {
  const id = await fresh(api, say);
  const page = await open(`/s/${id}`);
  const exported = page.waitForEvent('download');
  await page.click('[data-verb=export]');
  await page.selectOption('#ask select', 'markdown');
  await confirm(page);
  assert.equal((await exported).suggestedFilename(), `${id}.md`);
  await page.click('[data-verb=fork]');
  await page.selectOption('#ask select', 'tau');
  const download = page.waitForEvent('download');
  await page.click('#ask .other');
  assert.match((await download).suggestedFilename(), /\.jsonl$/);
  await page.selectOption('#ask select', 'omp');
  await confirm(page);
  await page.waitForFunction(old => location.pathname.startsWith('/s/') && location.pathname !== `/s/${old}`, id);
  await page.waitForSelector('.agent >> text=omp');
  // No agent writes to a fork that the server made: it can be deleted at once.
  await page.click('[data-verb=remove]');
  await confirm(page);
  await page.waitForURL(`${server.url}/`);
  // A session that another program wrote a moment ago is not deleted, and the question says why.
  const file = `${dir}/just-now.jsonl`;
  const timestamp = new Date().toISOString();
  writeFileSync(file, [
    { type: 'session', version: 3, id: 'just-now', timestamp, cwd: '/home/me/live' },
    { type: 'message', id: 'a1', parentId: null, timestamp, message: { role: 'user', content: 'hello', timestamp: Date.now() } },
  ].map(line => `${JSON.stringify(line)}\n`).join(''));
  page.expected.push('409');
  await page.goto(`${server.url}/s/just-now`);
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  await page.click('[data-verb=remove]');
  await confirm(page);
  await page.waitForSelector('#ask .bad >> text=a moment ago');
  rmSync(file);
  await page.goto(`${server.url}/s/of-tau`);
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  await page.click('[data-verb=remove]');
  assert.match(await page.textContent('#ask'), /goes to the trash/);
  // The file may still be too young: then the question stays, and can be answered again.
  for (let turn = 0; turn < 40 && page.url() !== `${server.url}/`; turn++) {
    await confirm(page);
    for (let look = 0; look < 600 && page.url() !== `${server.url}/` && !(await refused(page)); look++) await page.waitForTimeout(100);
    if (await refused(page)) await page.waitForTimeout(1000);
  }
  await page.waitForSelector('.s');
  assert.equal(await page.locator('.s[data-id=of-tau]').count(), 0);
  // Sessions of Claude Code are read-only: their actions say so.
  const list = await api('GET', '/v1/sessions?agent=claude-code');
  await page.goto(`${server.url}/s/${list.sessions[0].id}`);
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  await page.click('[data-verb=label]', { force: true });
  await page.waitForSelector('.toast >> text=read-only');
}
