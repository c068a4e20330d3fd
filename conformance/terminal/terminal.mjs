// A terminal with a shell in it, driven by keys and looked at as text. Nothing here waits for time to
// pass: it waits for something to be on the screen, and gives up after a while.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PATIENCE = 20_000;
const LOOK = 40;
const pause = ms => new Promise(done => setTimeout(done, ms));

export class Terminal {
  constructor({ columns = 100, rows = 30, env = {} } = {}) {
    this.dir = mkdtempSync(join(tmpdir(), 'treering-terminal-'));
    this.socket = join(this.dir, 'tmux');
    const home = { HOME: this.dir, XDG_CACHE_HOME: join(this.dir, 'cache'), XDG_STATE_HOME: join(this.dir, 'state'), XDG_CONFIG_HOME: join(this.dir, 'config'), XDG_DATA_HOME: join(this.dir, 'data') };
    const clean = { PATH: process.env.PATH, LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', ENV: '', PS1: '$ ', ...home, ...env };
    this.env = clean;
    const set = Object.entries(clean).map(([name, value]) => `${name}=${value}`);
    this.tmux('-f', '/dev/null', 'new-session', '-d', '-s', 'main', '-x', String(columns), '-y', String(rows), '-c', this.dir, 'env', '-i', 'TERM=tmux-256color', ...set, 'sh');
    this.tmux('set-option', '-g', 'escape-time', '0');
    this.tmux('set-option', '-g', 'remain-on-exit', 'on');
  }

  tmux(...args) {
    return execFileSync('tmux', ['-S', this.socket, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }

  // Keys by tmux's names; text with `type`.
  keys(...keys) { this.tmux('send-keys', '-t', 'main', ...keys); }
  type(text) { this.tmux('send-keys', '-t', 'main', '-l', text); }
  // A command for the shell.
  run(command) { this.type(command); this.keys('Enter'); }
  resize(columns, rows) { this.tmux('resize-window', '-t', 'main', '-x', String(columns), '-y', String(rows)); }
  screen() { return this.tmux('capture-pane', '-p', '-t', 'main'); }
  ask(what) { return this.tmux('display-message', '-p', '-t', 'main', `#{${what}}`).trim(); }

  // The screen, once it holds what is wanted: a text, a pattern, or a function of the screen.
  async see(wanted, why = '') {
    const holds = typeof wanted === 'function' ? wanted : screen => (wanted instanceof RegExp ? wanted.test(screen) : screen.includes(wanted));
    const end = Date.now() + PATIENCE;
    let screen = '';
    do {
      screen = this.screen();
      if (holds(screen)) return screen;
      await pause(LOOK);
    } while (Date.now() < end);
    throw new Error(`not seen: ${wanted} ${why}\n--- the screen\n${screen}---`);
  }

  // The shell waits for a command again.
  // A command that was typed before the shell was ready leaves two prompts on one line.
  async prompt() { return this.see(screen => /(^|\n)(\$ )?\$$/.test(screen.trimEnd()), '(the prompt)'); }

  // Presses Escape and waits until it had an effect: a key that follows at once would be taken for Alt and that key.
  async escape() {
    const before = this.screen();
    this.keys('Escape');
    await this.see(screen => screen !== before, '(after Escape)');
  }

  async gone(text) { return this.see(screen => !screen.includes(text), `(waited for ${JSON.stringify(text)} to go)`); }

  close() {
    try { this.tmux('kill-server'); } catch { /* it is gone already */ }
    // A program that ran in it may still be writing its last file.
    for (let attempt = 0; ; attempt += 1) {
      try { return rmSync(this.dir, { recursive: true, force: true }); } catch (error) { if (attempt === 100) throw error; }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    }
  }
}

// The processes below the shell of a terminal.
export function children(terminal) {
  const shell = terminal.ask('pane_pid');
  try {
    return execFileSync('ps', ['-o', 'pid=', '--ppid', shell], { encoding: 'utf8' }).split(/\s+/).filter(Boolean).map(Number);
  } catch { return []; }
}
