// The demo session and others, in a terminal of their own.

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Terminal } from './terminal.mjs';

export const treering = process.env.TREERING_BIN;

// Runs `check` with a terminal and the demo session's file.
export async function withDemo(check, options) {
  const terminal = new Terminal(options);
  try {
    const file = join(terminal.dir, 'retry.jsonl');
    cli(terminal, 'demo', '--dir', terminal.dir);
    await check(terminal, file);
  } finally { terminal.close(); }
}

// The output of a command in the terminal's surroundings.
export function cli(terminal, ...args) {
  return execFileSync(treering, args, { encoding: 'utf8', env: terminal.env, cwd: terminal.dir });
}

export function write(terminal, name, entries) {
  const file = join(terminal.dir, name);
  const time = n => `2026-01-05T09:${String(n).padStart(2, '0')}:00.000Z`;
  const header = { type: 'session', version: 3, id: `id-${name}`, timestamp: time(0), cwd: terminal.dir };
  let parent = null;
  const lines = entries.map((entry, n) => {
    const line = { type: 'message', id: `e${n}`, parentId: parent, timestamp: time(n + 1), ...entry };
    parent = line.id;
    return line;
  });
  writeFileSync(file, [header, ...lines].map(line => `${JSON.stringify(line)}\n`).join(''));
  return file;
}

// Writes the configuration file of the terminal's user.
export function configure(terminal, text) {
  const dir = join(terminal.dir, 'config/treering');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'config.toml'), text);
}

export const user = text => ({ message: { role: 'user', content: text } });
export const assistant = text => ({ message: { role: 'assistant', content: [{ type: 'text', text }], stopReason: 'stop' } });

export function equal(actual, expected, what) {
  if (actual !== expected) throw new Error(`${what}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`);
}
