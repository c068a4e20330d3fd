// Measures the page on a large session: first picture, bytes, frames while scrolling, keys and clicks, memory.
//   node conformance/page/measure.mjs CACHE_DIR SESSION_FILE
// CACHE_DIR has the packages of run.sh; TREERING_BIN and CHROMIUM name the binaries. Prints one JSON object.

import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const [cache, file] = process.argv.slice(2);
const { chromium } = createRequire(join(resolve(cache), 'package.json'))('playwright-core');
const TOKEN = 'tr_the-token-of-the-measurement';
const work = mkdtempSync(join(tmpdir(), 'treering-measure-'));
mkdirSync(join(work, 'sessions'));
try { symlinkSync(resolve(file), join(work, 'sessions', 'large.jsonl')); } catch { copyFileSync(file, join(work, 'sessions', 'large.jsonl')); }
writeFileSync(join(work, 'token'), TOKEN);
const env = { ...process.env, HOME: work, XDG_CACHE_HOME: join(work, 'cache'), XDG_DATA_HOME: work, XDG_CONFIG_HOME: work, TREERING_STORE: '' };
const server = spawn(process.env.TREERING_BIN, ['serve', '--store', join(work, 'sessions'), '--listen', '127.0.0.1:0', '--token-file', join(work, 'token')], { env });
const url = await new Promise(found => server.stdout.on('data', data => { const line = /listening on (\S+)/.exec(data); if (line) found(line[1]); }));
const list = await (await fetch(`${url}/v1/sessions`, { headers: { authorization: `Bearer ${TOKEN}` } })).json();
const session = list.sessions[0];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const results = { entries: session.entryCount, bytes: statSync(file).size };

async function open() {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 } });
  await context.addCookies([{ name: 'treering_session', value: TOKEN, url }]);
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send('Network.enable');
  page.sent = 0;
  cdp.on('Network.loadingFinished', event => { page.sent += event.encodedDataLength; });
  const started = Date.now();
  await page.goto(`${url}/s/${session.id}`, { waitUntil: 'commit' });
  await page.waitForSelector('#path article', { state: 'attached' });
  const first = await page.evaluate(() => new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? performance.now())))));
  page.first = { wall: Date.now() - started, paint: Math.round(first), bytes: page.sent };
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  return { page, cdp };
}

// The first picture: with a session that the server has not read, and again.
let { page, cdp } = await open();
results.cold = page.first;
await page.context().close();
({ page, cdp } = await open());
results.warm = page.first;
await page.waitForTimeout(1500);
results.sentAfterwards = page.sent;

// Frames while the tree is scrolled through.
results.scrolling = await page.evaluate(() => new Promise(done => {
  const tree = document.getElementById('tree');
  tree.scrollTop = 0;
  const times = [];
  const step = tree.scrollHeight / 300;
  const frame = now => {
    times.push(now);
    tree.scrollTop += Math.min(step, 4000);
    if (times.length < 240) requestAnimationFrame(frame);
    else {
      const gaps = times.slice(1).map((time, at) => time - times[at]).sort((a, b) => a - b);
      done({ framesPerSecond: Math.round(1000 * gaps.length / (times.at(-1) - times[0])), worst95: Math.round(gaps[Math.floor(gaps.length * 0.95)]) });
    }
  };
  requestAnimationFrame(frame);
}));
results.conversation = await page.evaluate(() => new Promise(done => {
  const times = [];
  const frame = now => {
    times.push(now);
    scrollBy(0, -60);
    if (times.length < 240) requestAnimationFrame(frame);
    else done({ framesPerSecond: Math.round(1000 * (times.length - 1) / (times.at(-1) - times[0])) });
  };
  requestAnimationFrame(frame);
}));

// A key and a click, until the page shows their effect.
await page.evaluate(() => document.querySelector('#rows .row').focus());
const timed = async (isKey, act) => {
  const times = [];
  for (let turn = 0; turn < 20; turn++) {
    await page.evaluate(() => { globalThis.acted = 0; addEventListener('keydown', () => { globalThis.acted = performance.now(); }, { once: true, capture: true }); addEventListener('click', () => { globalThis.acted = performance.now(); }, { once: true, capture: true }); });
    const before = await page.evaluate(isKey => (isKey ? document.activeElement?.dataset.at : document.querySelector('#path article.target')?.id), isKey);
    await act(turn);
    times.push(await page.evaluate(([isKey, old]) => new Promise(done => {
      const seen = () => (isKey ? document.activeElement?.dataset.at : document.querySelector('#path article.target')?.id);
      const look = () => (seen() !== old ? done(performance.now() - globalThis.acted) : requestAnimationFrame(look));
      look();
    }), [isKey, before]));
  }
  times.sort((a, b) => a - b);
  return { median: Math.round(times[10]), worst: Math.round(times[19]) };
};
console.error(JSON.stringify(results));
results.key = await timed(true, () => page.keyboard.press('ArrowDown'));
results.click = await timed(false, turn => page.evaluate(at => document.querySelectorAll('#rows .row')[10 + at * 3].click(), turn));

await cdp.send('HeapProfiler.collectGarbage');
await cdp.send('Performance.enable');
const metrics = Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map(metric => [metric.name, metric.value]));
results.heapMB = Math.round(metrics.JSHeapUsedSize / 1e6);
results.nodes = metrics.Nodes;
const { processInfo } = await (await browser.newBrowserCDPSession()).send('SystemInfo.getProcessInfo');
const { execFileSync } = await import('node:child_process');
const resident = processInfo.filter(info => info.type === 'renderer').map(info => Number(execFileSync('ps', ['-o', 'rss=', '-p', String(info.id)]).toString()) / 1000);
results.rendererMB = Math.round(Math.max(...resident));
console.log(JSON.stringify(results, null, 2));
await browser.close();
server.kill();
rmSync(work, { recursive: true, force: true });
