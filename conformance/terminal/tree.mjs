// The tree selector.

import { assistant, cli, configure, equal, treering, user, withDemo, write } from './story.mjs';

// What is said at the end of the active branch.
const leaf = (terminal, file) => cli(terminal, 'branches', file, '--json').trim().split('\n').map(line => JSON.parse(line)).find(branch => branch.active).text;

export async function tree_filters_searches_and_folds() {
  await withDemo(async (terminal, file) => {
    terminal.run(`${treering} open ${file}`);
    await terminal.see('15 of 18');
    terminal.keys('C-u');
    await terminal.see(screen => screen.includes('user-only  3 of 18') && !screen.includes('assistant:'));
    terminal.keys('C-a');
    await terminal.see('all  18 of 18');
    terminal.keys('C-d');
    terminal.type('load changelog');
    await terminal.see('nothing to see');
    terminal.keys('BSpace', 'C-u', 'C-d', 'Escape');
    await terminal.see('15 of 18');
    terminal.type('jitter');
    await terminal.see(/1 of 18.*search: jitter/);
    terminal.keys('Escape');
    await terminal.see('15 of 18');
    terminal.keys('Home', 'C-Left');
    await terminal.see('1 of 18');
    terminal.keys('C-Right');
    await terminal.see('15 of 18');
    terminal.keys('Tab');
    await terminal.see('── entry');
    terminal.keys('Tab');
    await terminal.see(/context from here(.|\n)*tokens/);
    terminal.keys('Escape');
    await terminal.prompt();
  });
}

export async function tree_labels_moves_and_goes_back() {
  await withDemo(async (terminal, file) => {
    const before = leaf(terminal, file);
    terminal.run(`${treering} open ${file}`);
    await terminal.see('← leaf');
    terminal.keys('End', 'L', 'C-u');
    terminal.type('given up');
    terminal.keys('Enter');
    await terminal.see('[given up]');
    terminal.keys('C-g');
    await terminal.see('the leaf is here now');
    await terminal.see(/given up.*← leaf/);
    terminal.keys('M-z');
    await terminal.see('the leaf is where it was');
    await terminal.see(/growing pauses.*← leaf/);
    terminal.keys('Escape');
    await terminal.prompt();
    equal(leaf(terminal, file), before, 'the leaf');
  });
}

export async function tree_forks_and_exports() {
  await withDemo(async (terminal, file) => {
    terminal.run(`${treering} open ${file}`);
    await terminal.see('← leaf');
    terminal.keys('M-e', 'C-u');
    terminal.type('branch.md');
    terminal.keys('Enter');
    await terminal.see('written: branch.md');
    terminal.keys('End', 'M-f');
    await terminal.see('this is the new session');
    await terminal.see(screen => !screen.includes('jitter') && /too simple.*← leaf/.test(screen));
    terminal.keys('Escape');
    await terminal.prompt();
  });
}

export async function tree_compares_and_shows_a_compaction() {
  await withDemo(async (terminal, file) => {
    configure(terminal, '[compaction]\nkeep_recent_tokens = 1\n');
    terminal.run(`${treering} open ${file}`);
    await terminal.see('← leaf');
    terminal.keys('Space', 'End', 'M-d');
    await terminal.see('the branches part after');
    terminal.keys('Escape');
    await terminal.see('← leaf');
    terminal.keys('M-k');
    await terminal.see('What a compaction would do');
    await terminal.see('− summarised:');
    terminal.keys('q');
    await terminal.see('← leaf');
  });
}

export async function tree_follows_other_writers() {
  await withDemo(async (terminal, file) => {
    terminal.run(`${treering} open ${file}`);
    await terminal.see('← leaf');
    terminal.keys('Home', 'Down');
    await terminal.see(/› • assistant: Let me look/);
    cli(terminal, 'append', file, '--user', 'from elsewhere');
    const screen = await terminal.see(/from elsewhere.*← leaf/);
    equal(/› • assistant: Let me look/.test(screen), true, 'the cursor stays');
  });
}

export async function tree_lives_on_small_screens_and_with_hostile_text() {
  await withDemo(async terminal => {
    const file = write(terminal, 'hostile.jsonl', [user('\u001b[2J\u001b]0;owned\u0007 \u202egnp.exe \u200bzero'), assistant('日本語 wide 👍🏽 e\u0301')]);
    terminal.run(`${treering} open ${file}`);
    await terminal.see('\\x1b[2J\\x1b]0;owned\\x07');
    await terminal.see('\\u{202e}gnp.exe');
    terminal.resize(40, 10);
    await terminal.see(screen => screen.split('\n').every(line => line.length <= 40) && screen.includes('2 of 2'));
    terminal.resize(100, 30);
    await terminal.see('日本語 wide');
    equal(terminal.ask('pane_title').includes('owned'), false, 'the title is not touched');
  });
}
