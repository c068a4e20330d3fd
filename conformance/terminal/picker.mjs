// The session picker.

import { existsSync, mkdirSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { assistant, cli, equal, treering, user, withDemo, write } from './story.mjs';
import { Terminal } from './terminal.mjs';

async function withSessions(check) {
  await withDemo(async terminal => {
    mkdirSync(join(terminal.dir, 'sessions'));
    write(terminal, 'sessions/colors.jsonl', [user('Name a color.'), assistant('Red.')]);
    write(terminal, 'sessions/numbers.jsonl', [user('Name a number.'), assistant('Seven.')]);
    cli(terminal, 'rename', join(terminal.dir, 'sessions/numbers.jsonl'), 'Counting');
    // What was written to a moment ago cannot be deleted.
    utimesSync(join(terminal.dir, 'sessions/numbers.jsonl'), 1e9, 1e9);
    terminal.run(`export TREERING_SESSIONS=${join(terminal.dir, 'sessions')}; clear`);
    await check(terminal);
  });
}

export async function picker_finds_opens_and_comes_back() {
  await withSessions(async terminal => {
    terminal.run(treering);
    await terminal.see(screen => screen.includes('Name a color.') && screen.includes('Counting'));
    terminal.type('color');
    await terminal.gone('Counting');
    terminal.keys('Enter');
    await terminal.see(/Red\..*← leaf/);
    terminal.keys('Escape');
    await terminal.see('Counting');
    terminal.keys('Escape');
    await terminal.prompt();
  });
}

export async function picker_renames_and_deletes() {
  await withSessions(async terminal => {
    terminal.run(treering);
    await terminal.see('Counting');
    terminal.type('color');
    await terminal.gone('Counting');
    terminal.keys('C-r', 'C-u');
    terminal.type('Paint');
    terminal.keys('Enter');
    await terminal.see('Paint');
    terminal.keys('Escape');
    terminal.type('Counting');
    await terminal.gone('Paint');
    terminal.keys('C-d');
    await terminal.see(/delete|trash/i);
    terminal.keys('y');
    await terminal.see(() => !existsSync(join(terminal.dir, 'sessions/numbers.jsonl')), '(the file is gone)');
    terminal.keys('C-c');
    await terminal.prompt();
  });
}

export async function picker_goes_on_in_a_copy() {
  await withSessions(async terminal => {
    const claude = join(terminal.dir, 'sessions/claude.jsonl');
    cli(terminal, 'convert', join(terminal.dir, 'sessions/colors.jsonl'), '--to', 'claude-code', '-o', claude);
    const before = readFileSync(claude, 'utf8');
    terminal.run(treering);
    await terminal.see('claude-code');
    terminal.type('claude');
    await terminal.gone('Counting');
    await terminal.see(/Enter look · Alt\+C continue in a copy/);
    terminal.keys('M-c');
    await terminal.see(screen => screen.includes('Red.') && screen.includes('Enter send'));
    terminal.type('!echo in a $((1 + 1))nd file');
    terminal.keys('Enter');
    await terminal.see('in a 2nd file');
    equal(readFileSync(claude, 'utf8') === before, true, 'the session is as it was');
  });
}

export async function picker_offers_the_demo() {
  const terminal = new Terminal();
  try {
    terminal.run(`TREERING_SESSIONS=${terminal.dir}/none ${treering}`);
    await terminal.see(/demo/i);
    terminal.keys('Enter');
    await terminal.see(/growing pauses.*← leaf/);
    terminal.keys('Escape', 'Escape');
  } finally { terminal.close(); }
}

export async function help_is_printed_where_there_is_no_terminal() {
  const terminal = new Terminal();
  try { equal(cli(terminal).includes('Usage: treering'), true, 'help'); } finally { terminal.close(); }
}
