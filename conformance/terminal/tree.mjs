// The tree selector.

import { appendFileSync, readFileSync, truncateSync } from 'node:fs';
import { children } from './terminal.mjs';
import { assistant, cli, configure, equal, treering, user, withDemo, write } from './story.mjs';

// The last message of the active branch.
const leaf = (terminal, file) => cli(terminal, 'branches', file, '--json').trim().split('\n').map(line => JSON.parse(line)).find(branch => branch.active).text;

export async function tree_filters_searches_and_folds() {
  await withDemo(async (terminal, file) => {
    terminal.run(`${treering} open ${file}`);
    await terminal.see('/15 · pi · default');
    terminal.keys('C-u');
    await terminal.see(screen => screen.includes('/3 · pi · user-only') && !screen.includes('assistant:'));
    terminal.keys('C-a');
    await terminal.see('/18 · pi · all');
    // The key of the current filter switches back to the default one.
    terminal.keys('C-a');
    terminal.type('load changelog');
    await terminal.see('no entries match');
    terminal.keys('BSpace', 'C-u', 'C-d', 'Escape');
    await terminal.see('/15 · pi · default');
    terminal.type('jitter');
    await terminal.see(/search: jitter.*1\/1 · pi/);
    terminal.keys('Escape');
    await terminal.see('/15 · pi · default');
    // Capitals are text once something was typed.
    terminal.type('upload Later');
    await terminal.see('search: upload Later');
    terminal.keys('Escape');
    await terminal.see('/15 · pi · default');
    terminal.keys('Home');
    await terminal.see(/›(.*)Uploads fail/);
    while (!/› [├└]⊟/.test(terminal.screen())) { terminal.keys('Down'); await terminal.see(/›/); }
    terminal.keys('C-Left');
    await terminal.see(/› [├└]⊞/);
    terminal.keys('C-Right');
    await terminal.see('/15 · pi · default');
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
    terminal.keys('Home', ...Array(8).fill('Down'));
    await terminal.see(/›.*too simple/);
    terminal.keys('L', 'C-u');
    terminal.type('given up');
    terminal.keys('Enter');
    await terminal.see('[given up]');
    terminal.keys('C-g');
    await terminal.see('moved the leaf here');
    await terminal.see(/given up.*← leaf/);
    terminal.keys('M-z');
    await terminal.see('moved the leaf back');
    await terminal.see(/growing pauses.*leaf/);
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
    terminal.keys('Home', ...Array(8).fill('Down'));
    await terminal.see(/›.*too simple/);
    terminal.keys('M-f');
    await terminal.see('forked to');
    await terminal.see(screen => !screen.includes('jitter') && /too simple.*leaf/.test(screen));
    terminal.keys('Escape');
    await terminal.prompt();
  });
}

export async function tree_compares_and_shows_a_compaction() {
  await withDemo(async (terminal, file) => {
    configure(terminal, '[compaction]\nkeep_recent_tokens = 1\n');
    terminal.run(`${treering} open ${file}`);
    await terminal.see('← leaf');
    terminal.keys('Space', 'Home', ...Array(8).fill('Down'));
    await terminal.see(/›.*too simple/);
    terminal.keys('M-d');
    await terminal.see('the branches diverge after');
    terminal.keys('Escape');
    await terminal.see('← leaf');
    terminal.keys('M-k');
    await terminal.see('What a compaction would do');
    await terminal.see('− summarized:');
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
    await terminal.see(screen => screen.split('\n').every(line => line.length <= 40) && screen.includes('/2 · pi'));
    terminal.resize(100, 30);
    await terminal.see('日本語 wide');
    equal(terminal.ask('pane_title').includes('owned'), false, 'the title is not touched');
  });
}

// Texts whose widths terminals disagree about.
const uncertain = ['हिन्दी में नमस्ते दुनिया, क्षि त्र ज्ञ', 'กำลังทำงาน น้ำ ทำไม', '🇩🇪🇫🇷🇯🇵 three flags', '👨‍👩‍👧 family ❤️‍🔥 heart', 'می‌خواهم بنویسم', '日本語と한국어', 'ᄒ\u1161\u11ab jamo', 'e\u0301a\u0308 marks', '\u0e33 alone', 'plain', '☎️ ✈️ ☺️', 'தமிழ் நிகழ்ச்சி'];

export async function tree_leaves_nothing_behind_when_widths_are_unsure() {
  for (const [columns, rows] of [[80, 24], [120, 40], [40, 10]]) {
    await withDemo(async terminal => {
      const texts = Array.from({ length: 40 }, (_, n) => `${uncertain[n % uncertain.length]} ${n} ${uncertain[(n * 7) % uncertain.length]}`);
      const file = write(terminal, 'scripts.jsonl', texts.map((text, n) => (n % 2 ? assistant(text) : user(text))));
      terminal.run(`${treering} open ${file}`);
      await terminal.see('40/40');
      let [frames, different] = [0, []];
      for (const [key, position] of [['Home', '1/40'], ['Down', '2/40'], ['PgDn', null], ['Down', null], ['PgDn', null], ['Up', null], ['Tab', null], ['Down', null], ['PgUp', null], ['Home', '1/40']]) {
        const before = terminal.screen();
        terminal.keys(key);
        await terminal.see(screen => (position ? screen.includes(position) : screen !== before), `(after ${key})`);
        // A whole frame has one selected row, the one that its title names.
        await terminal.see(screen => {
          const [, number] = /(\d+)\/40 ·/.exec(screen) ?? [];
          const selected = screen.split('\n').filter(line => line.startsWith('›'));
          return columns < 80 || (selected.length === 1 && selected[0].includes(` ${number - 1} `));
        }, `(a whole frame after ${key})`);
        const drawn = await settled(terminal);
        // A terminal that was reset is drawn on anew when the program is continued.
        terminal.tmux('send-keys', '-R', '-t', 'main');
        await terminal.gone('/40 ·');
        process.kill(children(terminal)[0], 'SIGCONT');
        await terminal.see(screen => screen.includes('/40 ·') && screen.trimEnd().split('\n').length === rows, '(a whole screen)');
        const fresh = await settled(terminal);
        frames += 1;
        if (comparable(fresh) !== comparable(drawn)) different.push(`--- ${key}: drawn\n${drawn}--- fresh\n${fresh}`);
      }
      equal(different.join(''), '', `frames that differ from a fresh drawing at ${columns}x${rows}, of ${frames}`);
    }, { columns, rows });
  }
}

// tmux 3.3 loses the rest of a joined emoji if it arrives in two pieces.
const comparable = screen => screen.replace(/(\u200d\p{Extended_Pictographic}\ufe0f?)+/gu, '').replace(/ +$/gm, '');

// The screen once several looks in a row are the same: a loaded machine may pause in the middle of a frame.
async function settled(terminal) {
  let [last, same] = [terminal.screen(), 0];
  return terminal.see(screen => {
    same = screen === last ? same + 1 : 0;
    last = screen;
    return same === 8;
  });
}

export async function tree_reads_a_file_again_that_was_cut_off() {
  await withDemo(async (terminal, file) => {
    terminal.run(`${treering} open ${file}`);
    await terminal.see('/15 · pi · default');
    const lines = readFileSync(file, 'utf8').split('\n');
    truncateSync(file, Buffer.byteLength(`${lines.slice(0, 4).join('\n')}\n`));
    await terminal.see('/3 · pi · default');
    await terminal.see('entries are gone');
    terminal.keys('Escape');
    await terminal.prompt();
  });
}

export async function tree_says_how_to_look_at_damage() {
  await withDemo(async (terminal, file) => {
    appendFileSync(file, '{"type":"message","id":\n');
    terminal.run(`${treering} open ${file}`);
    await terminal.see(/1 finding in this file; for details: treering doctor/);
  });
}

export async function tree_shows_local_times() {
  await withDemo(async terminal => {
    const file = write(terminal, 'times.jsonl', [user('hello'), assistant('hi')]);
    terminal.run(`TZ=Asia/Tokyo ${treering} open ${file}`);
    await terminal.see('2/2');
    terminal.keys('Tab');
    await terminal.see('2026-01-05 18:02:00');
  });
}
