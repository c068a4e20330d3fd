// However the program is left, the terminal is as it was.

import { assistant, equal, treering, user, withDemo, write } from './story.mjs';
import { children } from './terminal.mjs';

const flags = terminal => ['alternate_on', 'cursor_flag', 'mouse_any_flag', 'keypad_cursor_flag'].map(flag => `${flag}=${terminal.ask(flag)}`).join(' ');

async function settings(terminal) {
  terminal.run('clear; stty -g');
  const screen = await terminal.see(/^[0-9a-f:]{20,}$/m);
  return screen.match(/^[0-9a-f:]{20,}$/m)[0];
}

async function leaves(command, shown, leave) {
  await withDemo(async (terminal, file) => {
    const before = [flags(terminal), await settings(terminal)];
    terminal.run(command(file, terminal));
    await terminal.see(shown);
    equal(terminal.ask('alternate_on'), '1', 'it has the screen');
    await leave(terminal);
    await terminal.see(() => terminal.ask('alternate_on') === '0' && children(terminal).length === 0, '(the program ends)');
    equal((await settings(terminal)), before[1], 'the settings');
    equal(flags(terminal), before[0], 'the flags');
  });
}

const open = file => `${treering} open ${file}`;

export async function leaving_by_escape() { await leaves(open, '← leaf', terminal => terminal.keys('Escape')); }
export async function leaving_by_ctrl_c() { await leaves(open, '← leaf', terminal => terminal.keys('C-c')); }
export async function leaving_by_sigterm() { await leaves(open, '← leaf', terminal => process.kill(children(terminal)[0], 'SIGTERM')); }
export async function leaving_by_sigint() { await leaves(open, '← leaf', terminal => process.kill(children(terminal)[0], 'SIGINT')); }
export async function leaving_by_a_panic() { await leaves(() => process.env.PANIC_BIN, 'any key panics', terminal => terminal.keys('x')); }
export async function leaving_the_chat() {
  const chat = (_, terminal) => `${treering} chat ${write(terminal, 'talk.jsonl', [user('hello'), assistant('hi there')])}`;
  await leaves(chat, 'hi there', terminal => terminal.keys('C-d'));
}

export async function leaving_tells_the_signal_in_the_exit_code() {
  await withDemo(async (terminal, file) => {
    for (const [signal, code] of [['SIGTERM', 143], ['SIGHUP', 129], ['SIGQUIT', 131]]) {
      terminal.run(`clear; ${open(file)}; echo "code $?."`);
      await terminal.see('← leaf');
      process.kill(children(terminal)[0], signal);
      await terminal.see(`code ${code}.`);
      equal(terminal.ask('alternate_on'), '0', `the screen after ${signal}`);
    }
  });
}

export async function leaving_by_sigquit() { await leaves(open, '← leaf', terminal => process.kill(children(terminal)[0], 'SIGQUIT')); }

// Suspended by `stop`, the terminal is the shell's; continued, the program has it again.
async function suspends(stop) {
  await withDemo(async (terminal, file) => {
    terminal.run('set -m; clear');
    const before = [flags(terminal), await settings(terminal)];
    terminal.run(open(file));
    const shown = await terminal.see('← leaf');
    await stop(terminal);
    await terminal.see(() => terminal.ask('alternate_on') === '0', '(the shell has the screen)');
    equal(await settings(terminal), before[1], 'the settings while suspended');
    equal(flags(terminal), before[0], 'the flags while suspended');
    terminal.run('clear; fg');
    await terminal.see(screen => screen === shown, '(the same screen as before)');
    equal(terminal.ask('alternate_on'), '1', 'it has the screen again');
    terminal.keys('Up', 'Up');
    await terminal.see(screen => screen !== shown && screen.includes('←'), '(keys arrive)');
    terminal.keys('C-c');
    await terminal.see(() => terminal.ask('alternate_on') === '0' && children(terminal).length === 0, '(the program ends)');
    equal(await settings(terminal), before[1], 'the settings afterwards');
    equal(flags(terminal), before[0], 'the flags afterwards');
  });
}

export async function suspending_by_ctrl_z() { await suspends(terminal => terminal.keys('C-z')); }
export async function suspending_by_sigtstp() { await suspends(terminal => process.kill(children(terminal)[0], 'SIGTSTP')); }

export async function leaving_a_dumb_terminal_alone() {
  await withDemo(async (terminal, file) => {
    terminal.run(`clear; TERM=dumb ${open(file)}; echo "code $?."`);
    const screen = await terminal.see('code 2.');
    equal(screen.includes('TERM is "dumb"'), true, 'it says why');
  });
}
