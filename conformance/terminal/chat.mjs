// The chat, against a scripted model.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Model } from './server.mjs';
import { cli, configure, equal, treering, withDemo } from './story.mjs';

function answer(question) {
  if (question.includes('slowly')) return { text: 'It was a dark and', hold: true };
  if (/summar/i.test(question)) return 'They spoke about colours.';
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
    await say(terminal, 'Name a colour.', 'You said Name a colour.');
    await say(terminal, 'Another one.', 'You said Another one.');
    // An earlier message comes back to be edited; what is said then is another branch.
    terminal.keys('Escape');
    await terminal.see('once more: the tree');
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
    // Restarted, it goes on where it was.
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
    for (const colour of ['red', 'green', 'blue']) await say(terminal, `Tell me of ${colour}.`, `You said Tell me of ${colour}.`);
    await say(terminal, '/label here', 'here');
    await say(terminal, '/name Colours', 'Colours');
    await say(terminal, '!echo seen $((20 + 3))', 'seen 23');
    await say(terminal, '!!echo unseen $((20 + 4))', 'unseen 24');
    await say(terminal, '/compact', /They spoke about colours|compacted/i);
    await say(terminal, '/cost', /token|cost/i);
    terminal.keys('Escape');
    await say(terminal, '/context', /token/i);
    terminal.keys('Escape');
    await say(terminal, '/help', '/branch-here');
    terminal.keys('Escape');
    await say(terminal, '/nonsense', 'there is no /nonsense');
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
    terminal.run(`clear; ${treering} chat --new ${file} -p 'Name a colour.'; echo "exit $?"`);
    await terminal.see(/You said \*\*Name a colour\.\*\*\s+exit 0/);
    terminal.run(`clear; echo piped | ${treering} chat ${file} -p 'And this:'; echo "exit $?"`);
    await terminal.see(/You said(.|\n)*exit 0/);
  });
}

export async function chat_keeps_unsent_text() {
  await talk(async (terminal, file) => {
    terminal.run(`${treering} chat --new ${file}`);
    await terminal.see('mock');
    await say(terminal, 'Name a colour.', 'You said Name a colour.');
    // Another message is brought back to be edited: the unsent text gives way and comes back.
    terminal.type('a text in progress');
    terminal.keys('Escape');
    await terminal.see('once more: the tree');
    terminal.keys('Escape');
    await terminal.see('← leaf');
    terminal.keys('Up', 'Enter');
    await terminal.see(screen => screen.includes('1 draft: Ctrl+S') && screen.includes('› Name a colour.'));
    terminal.keys('C-s');
    await terminal.see('› a text in progress');
  });
}
