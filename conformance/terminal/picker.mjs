// The session picker.

import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
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
    // The picker is as it was left.
    await terminal.see(screen => screen.includes('search: color') && !screen.includes('Counting'));
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
    // An escape and a letter that arrive together are another key.
    await terminal.see('Counting');
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

// Sessions where pi keeps them, and a pi that says how it was started and what the terminal is like.
async function withAgent(check) {
  await withDemo(async terminal => {
    mkdirSync(join(terminal.dir, '.pi/agent/sessions/x'), { recursive: true });
    write(terminal, '.pi/agent/sessions/x/colors.jsonl', [user('Name a color.'), assistant('Red, like the kettle.')]);
    mkdirSync(join(terminal.dir, 'bin'));
    const script = '#!/bin/sh\necho "pi got $*"\nstty -a | grep -q " icanon" && echo "lines are edited"\n';
    writeFileSync(join(terminal.dir, 'bin/pi'), script, { mode: 0o755 });
    terminal.run(`export PATH=${join(terminal.dir, 'bin')}:$PATH; clear`);
    await check(terminal);
  });
}

export async function picker_resumes_in_the_agent() {
  await withAgent(async terminal => {
    terminal.run(treering);
    await terminal.see('Name a color.');
    terminal.keys('M-r');
    await terminal.see(/pi got --session .*colors\.jsonl/);
    await terminal.see('lines are edited');
    await terminal.prompt();
  });
}

export async function tree_resumes_a_fork_in_the_agent() {
  await withAgent(async terminal => {
    const file = join(terminal.dir, '.pi/agent/sessions/x/colors.jsonl');
    const before = readFileSync(file, 'utf8');
    terminal.run(`${treering} open ${file}`);
    await terminal.see('← leaf');
    terminal.keys('Home', 'M-r');
    const screen = await terminal.see(screen => screen.includes('pi got --session') && screen.includes('lines are edited'));
    // The command that was typed names the file, too, and may be wrapped in its name or not.
    const answer = screen.slice(screen.indexOf('pi got --session')).replaceAll('\n', '');
    equal(answer.includes('colors.jsonl'), false, 'the session itself was resumed');
    equal(readFileSync(file, 'utf8'), before, 'the session');
    await terminal.prompt();
  });
}

export async function picker_searches_contents() {
  await withAgent(async terminal => {
    write(terminal, '.pi/agent/sessions/x/numbers.jsonl', [user('Name a number.'), assistant('Seven.')]);
    terminal.run(treering);
    await terminal.see(screen => screen.includes('Name a color.') && screen.includes('Name a number.'));
    terminal.type('kettle');
    await terminal.see(screen => screen.includes('Red, like the kettle.') && !screen.includes('Name a number.'));
    terminal.keys('C-u');
    terminal.type('rol:user');
    await terminal.see('did you mean role:?');
    terminal.keys('C-u');
    terminal.type('seven OR kettle -red');
    await terminal.see(screen => screen.includes('Seven.') && !screen.includes('Name a color.'));
    terminal.keys('Enter');
    await terminal.see('← leaf');
    terminal.keys('Escape');
    await terminal.see(screen => screen.includes('search: seven OR kettle -red') && screen.includes('Seven.'));
    terminal.keys('C-u');
    await terminal.see('Name a color.');
    terminal.keys('C-p');
    await terminal.see('search: seven OR kettle -red');
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
