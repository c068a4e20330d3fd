// The chat, against a scripted model.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Model } from './server.mjs';
import { cli, configure, equal, treering, withDemo } from './story.mjs';
import { children } from './terminal.mjs';

function answer(question) {
  if (question.includes('slowly')) return { text: 'It was a dark and', hold: true };
  if (question.includes('Think')) return { thinking: 'First this.\nThen that.', text: 'Thought about it.' };
  if (question.includes('busy') && !answer.refused) { answer.refused = true; return { refuse: 429 }; }
  if (/summar/i.test(question)) return 'They spoke about colors.';
  return `You said **${question.slice(0, 30)}**`;
}

async function talk(check) {
  const model = await Model.start(answer);
  try {
    await withDemo(async terminal => {
      configure(terminal, `[summarizer]\nprovider = "openai"\nmodel = "mock"\nbase_url = "${model.url}"\n[compaction]\nkeep_recent_tokens = 1\n`);
      await check(terminal, join(terminal.dir, 'talk.jsonl'), model);
    });
  } finally { model.close(); }
}

const entries = file => readFileSync(file, 'utf8').trim().split('\n').map(line => JSON.parse(line));
const roles = file => entries(file).filter(entry => entry.type === 'message').map(entry => entry.message.role);

async function say(terminal, text, answered) {
  terminal.type(text);
  terminal.keys('Enter');
  await terminal.see(answered);
}

export async function chat_asks_branches_and_continues() {
  await talk(async (terminal, file) => {
    terminal.run(`${treering} chat --new ${file}`);
    await terminal.see('mock');
    await say(terminal, 'Name a color.', 'You said Name a color.');
    await say(terminal, 'Another one.', 'You said Another one.');
    // An earlier message is offered for editing; sending it begins another branch.
    terminal.keys('Escape');
    await terminal.see('press again to open the tree');
    terminal.keys('Escape');
    await terminal.see('← leaf');
    terminal.keys('Up', 'Enter');
    await terminal.see(screen => screen.includes('Another one.') && !screen.includes('You said Another'));
    terminal.keys('C-u');
    await say(terminal, 'A darker one.', 'You said A darker one.');
    await say(terminal, '/branches', /2.*Another one|Another one.*2/s);
    terminal.keys('Escape');
    await say(terminal, '/switch 2', 'You said Another one.');
    terminal.keys('C-d');
    await terminal.prompt();
    equal(roles(file).join(' '), 'user assistant user assistant user assistant', 'what was said');
    // After a restart it continues where it was.
    terminal.run(`clear; ${treering} -c`);
    await terminal.see('You said Another one.');
    await say(terminal, 'And a third.', 'You said And a third.');
    terminal.keys('C-d');
    await terminal.prompt();
    equal(cli(terminal, 'branches', file, '--json').trim().split('\n').length, 2, 'branches');
  });
}

export async function chat_aborts() {
  await talk(async (terminal, file) => {
    terminal.run(`${treering} chat --new ${file}`);
    await terminal.see('mock');
    await say(terminal, 'Tell me slowly.', 'It was a dark and');
    terminal.keys('Escape');
    await terminal.see(/aborted|stopped/i);
    await say(terminal, 'Briefly.', 'You said Briefly.');
    terminal.keys('C-d');
    await terminal.prompt();
    const aborted = entries(file).find(entry => entry.message?.stopReason === 'aborted');
    equal(aborted.message.content[0].text, 'It was a dark and', 'what came is kept');
  });
}

export async function chat_compacts_labels_and_runs_commands() {
  await talk(async (terminal, file) => {
    terminal.run(`${treering} chat --new ${file}`);
    await terminal.see('mock');
    for (const color of ['red', 'green', 'blue']) await say(terminal, `Tell me of ${color}.`, `You said Tell me of ${color}.`);
    await say(terminal, '/label here', '[here]');
    await say(terminal, '/name Colors', 'the session name is');
    await say(terminal, '!echo seen $((20 + 3))', 'seen 23');
    await say(terminal, '!!echo unseen $((20 + 4))', 'unseen 24');
    await say(terminal, '/compact', /They spoke about colors|compacted/i);
    await say(terminal, '/cost', /token|cost/i);
    await terminal.escape();
    await say(terminal, '/context', /token/i);
    await terminal.escape();
    await say(terminal, '/help', '/branch-here');
    await terminal.escape();
    await say(terminal, '/nonsense', 'unknown command /nonsense');
    terminal.keys('C-c', 'C-c');
    await terminal.prompt();
    const all = entries(file);
    const shell = all.filter(entry => entry.message?.role === 'bashExecution').map(entry => entry.message);
    equal(shell.map(run => run.output.trim()).join(' · '), 'seen 23 · unseen 24', 'what was run');
    equal(shell[1].excludeFromContext, true, '!! is kept out');
    equal(all.filter(entry => entry.type === 'compaction').length, 1, 'compactions');
  });
}

export async function chat_says_how_to_get_a_model() {
  await withDemo(async (terminal, file) => {
    terminal.run(`${treering} chat ${file}`);
    await terminal.see('growing pauses');
    terminal.type('hello?');
    terminal.keys('Enter');
    await terminal.see(/summarizer|OPENAI_BASE_URL|config/i);
  });
}

export async function chat_prints_one_answer() {
  await talk(async (terminal, file) => {
    terminal.run(`clear; ${treering} chat --new ${file} -p 'Name a color.'; echo "exit $?"`);
    await terminal.see(/You said \*\*Name a color\.\*\*\s+exit 0/);
    terminal.run(`clear; echo piped | ${treering} chat ${file} -p 'And this:'; echo "exit $?"`);
    await terminal.see(/You said(.|\n)*exit 0/);
  });
}

export async function chat_keeps_unsent_text() {
  await talk(async (terminal, file) => {
    terminal.run(`${treering} chat --new ${file}`);
    await terminal.see('mock');
    await say(terminal, 'Name a color.', 'You said Name a color.');
    // Another message is brought back to be edited: the unsent text gives way and comes back.
    terminal.type('a text in progress');
    terminal.keys('Escape');
    await terminal.see('press again to open the tree');
    terminal.keys('Escape');
    await terminal.see('← leaf');
    terminal.keys('Up', 'Enter');
    await terminal.see(screen => screen.includes('1 draft: Ctrl+S') && screen.includes('› Name a color.'));
    terminal.keys('C-s');
    await terminal.see('› a text in progress');
    // It also outlives the program, left in three ways.
    const again = async () => {
      terminal.run(`clear; ${treering} chat ${file}`);
      await terminal.see('drafts: Ctrl+S');
    };
    terminal.keys('C-c', 'C-c');
    await terminal.prompt();
    await again();
    terminal.keys('C-d');
    await terminal.see('unsent text was kept');
    await again();
    for (const pid of children(terminal)) process.kill(pid, 'SIGTERM');
    await terminal.see(/stopped by signal|terminated/i);
    await again();
    const texts = new Set();
    for (let n = 0; n < 3; n++) {
      terminal.keys('C-s');
      texts.add((await terminal.see(/^› .+/m)).match(/^› (.*)/m)[1]);
      if (texts.size === 2) break;
    }
    equal([...texts].sort().join(' · '), 'Name a color. · a text in progress', 'drafts');
  });
}

export async function chat_sends_a_large_paste_whole() {
  await talk(async (terminal, file) => {
    terminal.run(`${treering} chat --new ${file}`);
    await terminal.see('mock');
    const line = 'All work and no play makes Jack a dull boy. ';
    const text = `${line.repeat(Math.ceil((1 << 20) / line.length / 16)).trimEnd()}\n`.repeat(16);
    const paste = join(terminal.dir, 'paste.txt');
    writeFileSync(paste, text);
    terminal.tmux('load-buffer', paste);
    terminal.tmux('paste-buffer', '-p', '-t', 'main');
    await terminal.see('[paste #1: 16 lines]');
    terminal.keys('Enter');
    await terminal.see('You said All work');
    terminal.keys('C-d');
    await terminal.prompt();
    const said = entries(file).find(entry => entry.message?.role === 'user').message.content;
    const whole = typeof said === 'string' ? said : said[0].text;
    equal(whole.length, text.trim().length, 'characters that were sent');
    equal(whole === text.trim(), true, 'the whole text');
  });
}

export async function chat_forks_from_a_list_of_messages() {
  await talk(async (terminal, file) => {
    terminal.run(`${treering} chat --new ${file}`);
    await terminal.see('mock');
    await say(terminal, 'Name a color.', 'You said Name a color.');
    await say(terminal, 'Another one.', 'You said Another one.');
    await say(terminal, '/fork', 'fork before a message');
    terminal.keys('Up');
    await terminal.see('› Name a color.');
    terminal.keys('Down', 'Enter');
    await terminal.see(screen => screen.includes('forked to') && !screen.includes('You said Another'));
    await terminal.see('› Another one.');
    terminal.keys('Enter');
    await terminal.see('You said Another one.');
    equal(roles(file).join(' '), 'user assistant user assistant', 'the session that was forked is as it was');
  });
}

export async function chat_goes_on_in_a_copy() {
  await talk(async (terminal, file) => {
    cli(terminal, 'convert', join(terminal.dir, 'retry.jsonl'), '--to', 'claude-code', '-o', join(terminal.dir, 'claude.jsonl'));
    const before = readFileSync(join(terminal.dir, 'claude.jsonl'), 'utf8');
    terminal.run(`${treering} chat claude.jsonl`);
    await terminal.see('read-only');
    terminal.type('Go on.');
    terminal.keys('Enter');
    await terminal.see('press Enter again to continue in a copy');
    terminal.keys('Enter');
    await terminal.see(screen => screen.includes('You said Go on.') && !screen.includes('read-only'));
    terminal.keys('C-d');
    await terminal.prompt();
    equal(readFileSync(join(terminal.dir, 'claude.jsonl'), 'utf8') === before, true, 'the session is as it was');
    // From the tree, too.
    terminal.run(`clear; ${treering} open claude.jsonl`);
    await terminal.see('← leaf');
    terminal.keys('Enter');
    await terminal.see('continue in a copy?');
    terminal.keys('Enter');
    await terminal.see('mock');
    await say(terminal, 'From the tree.', 'You said From the tree.');
    equal(readFileSync(join(terminal.dir, 'claude.jsonl'), 'utf8') === before, true, 'the session is as it was');
  });
}

export async function chat_shows_thoughts_and_retries() {
  await talk(async (terminal, file) => {
    terminal.run(`${treering} chat --new ${file}`);
    await terminal.see('mock');
    await say(terminal, 'Think first.', /thinking, 2 lines: First this\.\s+Thought about it\./);
    terminal.keys('C-o');
    await terminal.see(/First this\.\s+Then that\.\s+Thought about it\./);
    await say(terminal, 'Are you busy?', /retrying in \d+ s \(2\/\d\): .*429/);
    await terminal.see(screen => screen.includes('You said Are you busy?') && !screen.includes('retrying'));
  });
}
