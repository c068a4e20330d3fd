// Measures the page on a large session: first picture, bytes, frames while scrolling, keys and clicks, memory.
//   node conformance/page/measure.mjs CACHE_DIR SESSION_FILE [EXPORT.html]
// CACHE_DIR has the packages of run.sh; TREERING_BIN and CHROMIUM name the binaries; large.mjs writes a session. With
// a third argument, an HTML export of another program is measured, too, in the same way. ASSETS names a directory whose files are
// used in place of those in the binary. Prints every bar with met or missed, then all figures as one JSON object.

import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [cache, file, peer] = process.argv.slice(2);
const { chromium } = createRequire(join(resolve(cache), 'package.json'))('playwright-core');
const TOKEN = 'tr_the-token-of-the-measurement';
const work = mkdtempSync(join(tmpdir(), 'treering-measure-'));
mkdirSync(join(work, 'sessions'));
try { symlinkSync(resolve(file), join(work, 'sessions', 'large.jsonl')); } catch { copyFileSync(file, join(work, 'sessions', 'large.jsonl')); }
writeFileSync(join(work, 'token'), TOKEN);
const env = { ...process.env, HOME: work, XDG_CACHE_HOME: join(work, 'cache'), XDG_DATA_HOME: work, XDG_CONFIG_HOME: work, TREERING_STORE: '' };
const server = spawn(process.env.TREERING_BIN, ['serve', '--store', join(work, 'sessions'), '--listen', '127.0.0.1:0', '--token-file', join(work, 'token')], { env });
process.on('exit', () => server.kill());
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
const url = await new Promise(found => server.stdout.on('data', data => { const line = /listening on (\S+)/.exec(data); if (line) found(line[1]); }));
const list = await (await fetch(`${url}/v1/sessions`, { headers: { authorization: `Bearer ${TOKEN}` } })).json();
const session = list.sessions[0];
/** @type {Record<string, any>} */
const results = { entries: session.entryCount, bytes: statSync(file).size, load: Math.round(loadavg()[0]) };

const begun = Date.now();
const step = name => process.stderr.write(`${((Date.now() - begun) / 1000).toFixed(1)} s ${name} … `);

// A browser of its own for every page, so that memory and processor time are those of that page.
async function start() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 } });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send('Performance.setTimeDomain', { timeDomain: 'threadTicks' });
  await cdp.send('Performance.enable');
  await cdp.send('Network.enable');
  page.sent = 0;
  cdp.on('Network.loadingFinished', event => { page.sent += event.encodedDataLength; });
  return { browser, context, page, cdp };
}

// Opens a page, until `shown` is in the document and on the screen. Times are counted from the request.
async function open({ context, page, cdp }, address, shown) {
  if (address.startsWith(url)) await context.addCookies([{ name: 'treering_session', value: TOKEN, url }]);
  if (process.env.ASSETS) {
    await context.route('**/assets/*/*', route => {
      const path = join(process.env.ASSETS, route.request().url().split('/').at(-1));
      return existsSync(path) ? route.fulfill({ path, contentType: path.endsWith('.css') ? 'text/css' : path.endsWith('.svg') ? 'image/svg+xml' : 'text/javascript' }) : route.continue();
    });
  }
  await page.goto(address, { waitUntil: 'commit', timeout: 900000 });
  await page.waitForSelector(shown, { state: 'attached', timeout: 900000 });
  const paint = await page.evaluate(() => new Promise(done => requestAnimationFrame(() => setTimeout(() => {
    const first = performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
    done({ first: Math.round(first ?? performance.now()), content: Math.round(performance.now()) });
  }))));
  return { ...paint, mainThreadMs: Math.round(1000 * (await metrics(cdp)).ThreadTime), bytes: page.sent };
}

async function metrics(cdp) {
  return Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map(metric => [metric.name, metric.value]));
}

// Frames while something scrolls, and the time of the main thread that each of them took: the latter does not depend on
// how busy the machine is.
async function scroll({ page, cdp }, selector, step) {
  const before = await metrics(cdp);
  const result = await page.evaluate(([selector, step]) => new Promise(done => {
    const box = selector ? document.querySelector(selector) : document.scrollingElement;
    if (step > 0) box.scrollTop = 0;
    const times = [];
    const from = box.scrollTop;
    let way = 0;
    const frame = now => {
      times.push(now);
      const old = box.scrollTop;
      box.scrollTop += step;
      way += Math.abs(box.scrollTop - old);
      if (times.length < 300) requestAnimationFrame(frame);
      else {
        const gaps = times.slice(1).map((time, at) => time - times[at]).sort((a, b) => a - b);
        done({ framesPerSecond: Math.round(1000 * gaps.length / (times.at(-1) - times[0])), slowest5Percent: Math.round(gaps[Math.floor(gaps.length * 0.95)]), pixels: Math.round(way), from: Math.round(from) });
      }
    };
    requestAnimationFrame(frame);
  }), [selector, step]);
  const after = await metrics(cdp);
  return { ...result, mainThreadMsPerFrame: Math.round(10000 * (after.ThreadTime - before.ThreadTime) / 300) / 10 };
}

// Resident memory of the renderer, with the libraries that it shares with others, and the part that is its own.
async function memory({ browser, cdp, page }) {
  await cdp.send('HeapProfiler.collectGarbage');
  const { JSHeapUsedSize, Nodes } = await metrics(cdp);
  const elements = await page.evaluate(() => document.querySelectorAll('*').length);
  const { processInfo } = await (await browser.newBrowserCDPSession()).send('SystemInfo.getProcessInfo');
  const sizes = processInfo.filter(info => info.type === 'renderer').map(info => {
    const rollup = readFileSync(`/proc/${info.id}/smaps_rollup`, 'utf8');
    const megabytes = name => [...rollup.matchAll(new RegExp(`^${name}:\\s+(\\d+) kB`, 'gm'))].reduce((sum, found) => sum + Number(found[1]) / 1000, 0);
    return { residentMB: Math.round(megabytes('Rss')), ownMB: Math.round(megabytes('Private_Dirty') + megabytes('Private_Clean')) };
  });
  const largest = sizes.sort((a, b) => b.residentMB - a.residentMB)[0];
  return { ...largest, heapMB: Math.round(JSHeapUsedSize / 1e6), nodes: Nodes, elements };
}

// From an input event until the page shows its effect, many times.
async function timed(page, seen, act, count = 20) {
  const times = [];
  // The page's policy lets only the debugger turn text into code.
  await page.evaluate(`globalThis.seen = ${seen}`);
  for (let turn = 0; turn < count; turn++) {
    const before = await page.evaluate(seen);
    await page.evaluate(() => {
      globalThis.acted = 0;
      for (const kind of ['keydown', 'click', 'input']) addEventListener(kind, () => { globalThis.acted ||= performance.now(); }, { once: true, capture: true });
    });
    await act(turn);
    times.push(await page.evaluate(old => new Promise(done => {
      const look = () => (globalThis.acted && globalThis.seen() !== old ? done(performance.now() - globalThis.acted) : requestAnimationFrame(look));
      look();
    }), before));
  }
  times.sort((a, b) => a - b);
  return { median: Math.round(times[Math.floor(count / 2)]), worst: Math.round(times[count - 1]) };
}

// The first picture: with a session that the server has not read, and again in a fresh browser.
const address = `${url}/s/${session.id}`;
let tab = await start();
step('blank');
results.blank = await memory(tab);
step('cold');
results.cold = await open(tab, address, '#path article');
await tab.browser.close();
tab = await start();
step('warm');
results.warm = await open(tab, address, '#path article');
const { page } = tab;
await page.waitForSelector('html[data-ready]', { state: 'attached' });
await page.waitForFunction(() => !document.getElementById('count').textContent.includes('reading'));
step('sentWhenComplete');
results.sentWhenComplete = page.sent;

step('tree');
results.tree = await scroll(tab, '#tree', 4000);
step('conversation');
results.conversation = await scroll(tab, '', -60);

await page.evaluate(() => document.querySelector('#rows .row').focus());
step('key');
results.key = await timed(page, () => document.activeElement?.dataset.at, () => page.keyboard.press('ArrowDown'));
const target = () => document.querySelector('#path article.target')?.id;
step('click');
results.click = await timed(page, target, turn => page.evaluate(at => document.querySelectorAll('#rows .row')[10 + at * 3].click(), turn));
step('far');
results.far = await timed(page, target, turn => page.evaluate(async at => {
  const tree = document.getElementById('tree');
  const row = () => [...document.querySelectorAll('#rows .row')].find(row => row.getBoundingClientRect().top > 200 && row.getBoundingClientRect().top < 700 && Math.abs(row.dataset.at * 28 - tree.scrollHeight * (at + 1) / 12) < 2000);
  while (!row()) { tree.scrollTop = tree.scrollHeight * (at + 1) / 12; await new Promise(requestAnimationFrame); }
  row().click();
}, turn), 10);
if (await page.locator('#path details[data-later]').count() > 5) results.fold = await timed(page, () => document.querySelectorAll('#path details[open] pre').length, turn => page.evaluate(() => document.querySelector('#path details:not([open])[data-later] summary')?.click()), 5);
step('search');
results.search = await page.evaluate(() => new Promise(done => {
  const started = performance.now();
  const search = document.getElementById('search');
  search.value = 'Question 90000';
  search.form.requestSubmit();
  const look = () => (/found/.test(document.getElementById('count').textContent) ? done(Math.round(performance.now() - started)) : requestAnimationFrame(look));
  look();
}));
step('memory');
results.memory = await memory(tab);
await tab.browser.close();

// The export of another program: the same figures, as far as it has the same parts.
if (peer) {
  step('peer');
  const other = { fileBytes: statSync(peer).size };
  tab = await start();
  try {
    Object.assign(other, await open(tab, pathToFileURL(resolve(peer)).href, process.env.PEER_SHOWN || '#messages > *'));
    other.conversation = await scroll(tab, process.env.PEER_SCROLLS ?? '', 60);
    other.memory = await memory(tab);
    const field = process.env.PEER_SEARCH || '#tree-search';
    other.search = await tab.page.evaluate(field => new Promise(done => {
      const search = document.querySelector(field);
      const started = performance.now();
      search.value = 'Question 90';
      search.dispatchEvent(new Event('input', { bubbles: true }));
      requestAnimationFrame(() => setTimeout(() => done(Math.round(performance.now() - started))));
    }), field);
  } catch (error) {
    other.failed = String(error.message).split('\n')[0];
  }
  results.peer = other;
  await tab.browser.close().catch(() => {});
}

const bars = [
  ['first picture, the server has not read the session', results.cold.first, '<=', 1000, 'ms'],
  ['first picture, it has', results.warm.first, '<=', 1000, 'ms'],
  ['transferred until the first picture', results.cold.bytes / 1000, '<=', 200, 'KB'],
  ['tree', results.tree.framesPerSecond, '>=', 50, 'frames/s'],
  ['conversation', results.conversation.framesPerSecond, '>=', 50, 'frames/s'],
  ['a key, at worst', results.key.worst, '<=', 100, 'ms'],
  ['a click, at worst', results.click.worst, '<=', 100, 'ms'],
  ['a click far away, at worst', results.far.worst, '<=', 100, 'ms'],
  ['renderer, with shared libraries', results.memory.residentMB, '<=', 250, 'MB'],
];
for (const [name, value, than, bar, unit] of bars) {
  const isMet = than === '<=' ? value <= bar : value >= bar;
  console.log(`${isMet ? 'met   ' : 'MISSED'}  ${name}: ${Math.round(value)} ${unit} (${than} ${bar})`);
}
console.log(JSON.stringify(results, null, 1));
rmSync(work, { recursive: true, force: true });
