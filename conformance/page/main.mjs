// Starts a server over sessions of every agent, runs the checks in a browser that may reach nothing else, and counts.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as checks from './checks.mjs';
import * as doingChecks from './doing.mjs';
import * as liveChecks from './live.mjs';
import { write } from './data.mjs';
import { NAME, model as startModel } from './model.mjs';
import { shots } from './shots.mjs';

const cache = process.argv[2];
const require = createRequire(join(cache, 'package.json'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const treering = process.env.TREERING_BIN;
const TOKEN = 'tr_the-token-of-the-page-checks';

const work = mkdtempSync(join(tmpdir(), 'treering-page-'));
const dir = join(work, 'sessions');
const agents = write(dir, treering);
writeFileSync(join(work, 'token'), `${TOKEN}\n`);
const model = await startModel();
const env = { ...process.env, TREERING_SUMMARIZER: 'openai', OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'none', TREERING_MODEL: NAME, NO_PROXY: '127.0.0.1', HOME: work, XDG_CACHE_HOME: join(work, 'cache'), XDG_DATA_HOME: join(work, 'data'), XDG_CONFIG_HOME: join(work, 'config'), TREERING_SESSIONS: dir, TREERING_STORE: '' };

// A server that can be stopped and started again at the same address.
const server = {
  address: '127.0.0.1:0',
  async start() {
    const child = spawn(treering, ['serve', '--listen', this.address, '--token-file', join(work, 'token')], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.child = child;
    let printed = '';
    let said = '';
    this.link = new Promise(found => {
      child.stderr.on('data', data => { said += data; if (/open \S+ /.test(said)) found(/open (\S+) /.exec(said)[1]); });
    });
    await new Promise((ready, failed) => {
      child.stdout.on('data', data => { printed += data; if (/listening on/.test(printed)) ready(); });
      child.on('exit', () => failed(new Error(`the server ended: ${said}`)));
    });
    this.url = /listening on (\S+)/.exec(printed)[1];
    this.address = this.url.replace('http://', '');
  },
  async stop() {
    const ended = new Promise(done => this.child.once('exit', done));
    this.child.removeAllListeners('exit');
    const gone = new Promise(done => this.child.once('exit', done));
    this.child.kill('SIGKILL');
    await Promise.race([ended, gone]);
  },
};
await server.start();

// Calls the API as another client does.
async function api(method, path, body) {
  const headers = { authorization: `Bearer ${TOKEN}` };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const response = await fetch(server.url + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : null;
}
const say = (session, text, parentId) => api('POST', `/v1/sessions/${session}/entries`, [{ type: 'message', ...(parentId ? { parentId } : {}), message: { role: 'user', content: text } }]);

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

// A page in a context of its own, logged in. Whatever it says, or asks of others, is a fault.
async function open(path, options = {}) {
  const { login = true, ...rest } = options;
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, ...rest });
  if (login) await context.addCookies([{ name: 'treering_session', value: TOKEN, url: server.url, httpOnly: true, sameSite: 'Strict' }]);
  // Files that are tried before they are built in.
  if (process.env.ASSETS) {
    await context.route('**/assets/*/*', route => {
      const path = join(process.env.ASSETS, route.request().url().split('/').at(-1));
      return existsSync(path) ? route.fulfill({ path, contentType: path.endsWith('.css') ? 'text/css' : 'text/javascript' }) : route.continue();
    });
  }
  context.setDefaultTimeout(Number(process.env.TIMEOUT || 60000));
  const page = await context.newPage();
  page.faults = [];
  page.expected = [];
  page.on('console', message => { if (['error', 'warning'].includes(message.type())) page.faults.push(`console: ${message.text()}`); });
  page.on('response', response => { if (response.status() === 404) page.faults.push(`404: ${response.url()}`); });
  page.on('pageerror', error => page.faults.push(`error: ${error.message}`));
  page.on('dialog', dialog => { page.faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', request => { if (!request.url().startsWith(`${server.url}/`) && !request.url().startsWith('data:')) page.faults.push(`request: ${request.url()}`); });
  page.on('popup', () => page.faults.push('popup'));
  // Requests that are under way, without those that follow a session for as long as the page is open.
  const pending = new Set();
  page.on('request', request => { if (!/\/(events|turns)\b/.test(request.url())) pending.add(request); });
  page.on('requestfinished', request => pending.delete(request));
  page.on('requestfailed', request => pending.delete(request));
  page.quiet = async () => {
    do await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
    while (pending.size);
  };
  await page.goto(server.url + path);
  if (login) await ready(page);
  return page;
}
const ready = page => page.waitForSelector('html[data-ready]', { state: 'attached' });

// What axe-core finds that is serious, by all of its rules or some.
async function violations(page, rules) {
  await page.evaluate(axe);
  const found = await page.evaluate(rules => globalThis.axe.run(document, { resultTypes: ['violations'], ...(rules ? { runOnly: { type: 'rule', values: rules } } : {}) }), rules);
  const serious = found.violations.filter(violation => ['serious', 'critical'].includes(violation.impact));
  return serious.map(violation => `${violation.id}: ${violation.nodes.slice(0, 3).map(node => `${node.target} ${node.failureSummary}`).join(' | ')}`);
}

const tools = { server, model, api, say, agents, dir, ready, violations, TOKEN };
let [passed, failed] = [0, 0];
// A check that hangs is a failure, not a wait.
setTimeout(() => { console.log('FAIL  the checks did not end'); process.exit(1); }, 12 * 60 * 1000).unref();
const all = Object.entries({ ...checks, ...liveChecks, ...doingChecks }).filter(([name]) => name.includes(process.env.ONLY || ''));
for (const [name, check] of all) {
  const opened = [];
  const started = Date.now();
  try {
    await check({ ...tools, open: async (...args) => { const page = await open(...args); opened.push(page); return page; } });
    for (const page of opened) {
      const faults = page.faults.filter(fault => !page.expected.some(part => fault.includes(part)));
      if (faults.length) throw new Error(faults.slice(0, 5).join('\n'));
    }
    passed++;
    console.log(`ok    ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}\n${String(error.stack).replace(/^/gm, '      ')}`);
  }
  for (const page of opened) await page.context().close();
}
if (process.env.SHOTS) {
  mkdirSync(process.env.SHOTS, { recursive: true });
  await shots(process.env.SHOTS, { ...tools, open });
}
await browser.close();
await server.stop();
model.close();
rmSync(work, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
