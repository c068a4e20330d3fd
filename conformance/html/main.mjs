// Runs the checks in a browser that may reach nothing, and counts.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as checks from './checks.mjs';

const cache = process.argv[2];
const { chromium } = createRequire(join(cache, 'package.json'))('playwright-core');
const here = dirname(fileURLToPath(import.meta.url));
const fixtures = join(here, '../../crates/treering-export/tests/export/fixtures');
const work = join(cache, 'work');
mkdirSync(work, { recursive: true });

function exported(session, name) {
  const page = join(work, `${name}.html`);
  execFileSync(process.env.TREERING_BIN, ['export', session, '--format', 'html', '-o', page, '--force']);
  return pathToFileURL(page).href;
}

// Ten thousand entries with a branch at every fiftieth.
function large() {
  const file = join(work, 'large.jsonl');
  const time = '2026-01-05T09:00:00.000Z';
  const lines = [{ type: 'session', version: 3, id: 'large', timestamp: time, cwd: '/p' }];
  let parent = null;
  for (let n = 0; n < 10000; n++) {
    const id = `e${n}`;
    const answer = { role: 'assistant', content: [{ type: 'text', text: `Answer **${n}**\n\n\`\`\`js\nlet n = ${n};\n\`\`\`` }], stopReason: 'stop' };
    const message = n % 2 ? answer : { role: 'user', content: `Question ${n} about topic${n % 7}` };
    lines.push({ type: 'message', id, parentId: parent, timestamp: time, message });
    if (n % 50 !== 49) parent = id;
  }
  writeFileSync(file, lines.map(line => JSON.stringify(line)).join('\n') + '\n');
  return file;
}

const pages = {
  rich: exported(join(fixtures, 'rich.jsonl'), 'rich'),
  hostile: exported(join(fixtures, 'hostile.jsonl'), 'hostile'),
  large: exported(large(), 'large'),
};
// A site of the same sessions, which the index of this machine finds in a directory.
function site() {
  const [sessions, dir] = [join(work, 'sessions'), join(work, 'site')];
  for (const old of [sessions, dir]) rmSync(old, { recursive: true, force: true });
  mkdirSync(sessions);
  for (const name of ['rich', 'hostile']) copyFileSync(join(fixtures, `${name}.jsonl`), join(sessions, `${name}.jsonl`));
  const env = { PATH: process.env.PATH, HOME: work, TREERING_SESSIONS: sessions };
  execFileSync(process.env.TREERING_BIN, ['export', '--site', dir], { env });
  return pathToFileURL(join(dir, 'index.html')).href;
}
pages.site = site();
const text = url => readFileSync(fileURLToPath(url), 'utf8');

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

// A page in a context of its own. Whatever it says, asks or loads is a fault.
async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on('console', message => page.faults.push(`console: ${message.text()}`));
  page.on('pageerror', error => page.faults.push(`error: ${error.message}`));
  page.on('dialog', dialog => { page.faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', request => { if (!/^(file|data):/.test(request.url())) page.faults.push(`request: ${request.url()}`); });
  page.on('popup', () => page.faults.push('popup'));
  await page.goto(url);
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  return page;
}

let [passed, failed] = [0, 0];
for (const [name, check] of Object.entries(checks)) {
  const opened = [];
  const tools = { pages, text, open: async (...args) => { const page = await open(...args); opened.push(page); return page; } };
  try {
    await check(tools);
    for (const page of opened) if (page.faults.length) throw new Error(page.faults.slice(0, 5).join('\n'));
    passed++;
    console.log(`ok    ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}\n${String(error.message).replace(/^/gm, '      ')}`);
  }
  for (const page of opened) await page.context().close();
}
if (process.env.SHOTS) {
  mkdirSync(process.env.SHOTS, { recursive: true });
  const phone = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
  for (const [name, hash, options] of [['light', '', {}], ['dark', '#entry-a4', { colorScheme: 'dark' }], ['phone', '', phone]]) {
    const page = await open(pages.rich + hash, options);
    await page.waitForTimeout(200);
    await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
    await page.context().close();
  }
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
