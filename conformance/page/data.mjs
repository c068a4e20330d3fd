// Sessions to look at: one of every agent, a long one, a hostile one, one with branches.

import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const fixtures = join(here, '../../crates/treering-export/tests/export/fixtures');
const corpus = join(here, '../../../shared/corpus');

const at = minute => new Date(Date.UTC(2026, 0, 5, 9, 0) + minute * 60000).toISOString();
const entry = (id, parentId, minute, message) => ({ type: 'message', id, parentId, timestamp: at(minute), message });
const header = (id, cwd, extra = {}) => ({ type: 'session', version: 3, id, timestamp: at(0), cwd, ...extra });
const said = text => ({ role: 'user', content: text });
const usage = (input, output, total) => ({ input, output, cacheRead: 0, cacheWrite: 0, cost: { total } });
const answer = (text, cost = 0.01) => ({
  role: 'assistant', provider: 'acme', model: 'sage-2', stopReason: 'stop', usage: usage(1200, 240, cost), content: [{ type: 'text', text }],
});

// A session with a long tree: a side branch at every fiftieth entry.
export function long(file, count) {
  const lines = [header('long', '/home/me/archive')];
  let parent = null;
  for (let n = 0; n < count; n++) {
    const id = `e${n}`;
    const message = n % 2 ? answer(`Answer **${n}**\n\n\`\`\`js\nlet n = ${n};\n\`\`\``) : said(`Question ${n} about topic${n % 7}`);
    lines.push(entry(id, parent, n / 60, message));
    if (n % 50 !== 49) parent = id;
  }
  writeFileSync(file, `${lines.map(line => JSON.stringify(line)).join('\n')}\n`);
}

// A session with two branches, a tool call, an edit and a compaction.
function branches(file, id) {
  const call = (id, name, args) => ({ type: 'toolCall', id, name, arguments: args });
  const lines = [
    header(id, '/home/me/kettle'),
    entry('b1', null, 1, said('Why does the kettle whistle twice?')),
    entry('b2', 'b1', 2, { ...answer('Let me look.'), stopReason: 'toolUse', content: [{ type: 'thinking', thinking: 'The timer may be set twice.' }, { type: 'text', text: 'Let me look at the **timer**.' }, call('c1', 'read', { path: 'src/timer.rs' })] }),
    entry('b3', 'b2', 3, { role: 'toolResult', toolCallId: 'c1', toolName: 'read', content: [{ type: 'text', text: 'fn start() {\n    arm();\n    arm();\n}\n' }], isError: false }),
    entry('b4', 'b3', 4, { ...answer('', 0.02), stopReason: 'toolUse', content: [call('c2', 'edit', { path: 'src/timer.rs', oldText: '    arm();\n    arm();\n', newText: '    arm();\n' })] }),
    entry('b5', 'b4', 5, { role: 'toolResult', toolCallId: 'c2', toolName: 'edit', content: [{ type: 'text', text: 'edited' }], isError: false }),
    entry('b6', 'b5', 6, answer('The timer was armed twice. Now it is armed **once**.', 0.03)),
    entry('b7', 'b6', 7, said('Does it whistle at all now?')),
    entry('b8', 'b7', 8, answer('It does, once.\n\n| water | whistle |\n|---|---|\n| cold | no |\n| boiling | once |')),
    entry('b9', 'b6', 9, said('Write a test for it instead.')),
    entry('b10', 'b9', 10, answer('```rust\n#[test]\nfn whistles_once() {\n    assert_eq!(kettle().whistles(), 1);\n}\n```')),
    { type: 'label', id: 'b11', parentId: 'b10', timestamp: at(11), targetId: 'b10', label: 'tested' },
  ];
  writeFileSync(file, `${lines.map(line => JSON.stringify(line)).join('\n')}\n`);
}

// A session of tool results that are folded because they are long.
function results(file) {
  const lines = [header('results', '/home/me/archive'), entry('r', null, 0, said('Read all of it.'))];
  let parent = 'r';
  for (let n = 0; n < 60; n++) {
    const text = Array.from({ length: 100 }, (_, line) => `line ${line} of result ${n}`).join('\n');
    const content = [{ type: 'toolCall', id: `call${n}`, name: 'read', arguments: { path: `src/part${n}.rs` } }];
    lines.push(entry(`c${n}`, parent, n, { ...answer(''), stopReason: 'toolUse', content }));
    lines.push(entry(`r${n}`, `c${n}`, n, { role: 'toolResult', toolCallId: `call${n}`, toolName: 'read', content: [{ type: 'text', text }], isError: false }));
    parent = `r${n}`;
  }
  writeFileSync(file, `${lines.map(line => JSON.stringify(line)).join('\n')}\n`);
}

function compacted(file) {
  const lines = [header('compacted', '/home/me/kettle', { parentSession: 'branches' })];
  let parent = null;
  for (let n = 0; n < 12; n++) {
    lines.push(entry(`k${n}`, parent, n, n % 2 ? answer(`Step ${n} is done.`) : said(`Do step ${n}.`)));
    parent = `k${n}`;
  }
  lines.push({ type: 'compaction', id: 'kc', parentId: parent, timestamp: at(13), summary: '## Goal\n\nSteps 0 to 7 were done.', firstKeptEntryId: 'k8', tokensBefore: 42000 });
  lines.push(entry('k13', 'kc', 14, said('And now?')), entry('k14', 'k13', 15, answer('Now we rest.')));
  writeFileSync(file, `${lines.map(line => JSON.stringify(line)).join('\n')}\n`);
}

// Writes all sessions into a directory. Returns the names of the agents that are among them.
export function write(dir, treering) {
  mkdirSync(dir, { recursive: true });
  branches(join(dir, 'branches.jsonl'), 'branches');
  const source = join(dir, '..', 'source.jsonl');
  compacted(join(dir, 'compacted.jsonl'));
  long(join(dir, 'long.jsonl'), 10000);
  results(join(dir, 'results.jsonl'));
  for (const name of ['rich', 'hostile']) {
    const [first, ...rest] = readFileSync(join(fixtures, `${name}.jsonl`), 'utf8').split('\n');
    writeFileSync(join(dir, `${name}.jsonl`), [JSON.stringify({ ...JSON.parse(first), id: name }), ...rest].join('\n'));
  }
  const agents = ['pi'];
  for (const agent of ['uuid', 'omp', 'chimera', 'operator', 'tau', 'claude-code']) {
    const file = join(dir, `of-${agent}.jsonl`);
    branches(source, `of-${agent}`);
    execFileSync(treering, ['convert', source, '--to', agent, '-o', file]);
    agents.push(agent);
  }
  // Long enough ago to be deleted.
  utimesSync(join(dir, 'of-tau.jsonl'), new Date(2026, 0, 6), new Date(2026, 0, 6));
  if (existsSync(corpus) && process.env.CORPUS !== 'no') {
    for (const agent of ['codex', 'claude-code', 'chimera', 'omp']) {
      for (const file of readdirSync(join(corpus, agent)).filter(name => name.endsWith('.jsonl'))) {
        copyFileSync(join(corpus, agent, file), join(dir, `corpus-${agent}-${file}`));
      }
    }
  }
  return agents;
}
