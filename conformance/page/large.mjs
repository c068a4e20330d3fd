// Writes a large session of pi to measure the page with: questions, answers with code, tool calls and results, side branches.
//   node conformance/page/large.mjs FILE [ENTRIES] [MEGABYTES]
// Every third entry is a tool result; their length makes the file as large as asked for.

import { closeSync, openSync, writeSync } from 'node:fs';

const [file, entries = '100000', megabytes = '1000'] = process.argv.slice(2);
const count = Number(entries);
const each = Math.max(200, Math.round((Number(megabytes) * 1e6 - count * 470) / (count / 3)));
const at = n => new Date(Date.UTC(2026, 0, 5, 9, 0) + n * 20000).toISOString();

// Lines like those of source files, different in every result.
function source(n, length) {
  const lines = [];
  for (let size = 0, line = 0; size < length; line++) {
    lines.push(`    let value_${n}_${line} = table.get(${(n * 31 + line * 7) % 997}).map(|cell| cell.width + ${line});`);
    size += lines[line].length + 2;
  }
  return lines.join('\n');
}

const out = openSync(file, 'w');
let batch = [JSON.stringify({ type: 'session', version: 3, id: 'large', timestamp: at(0), cwd: '/home/me/large' })];
let parent = null;
for (let n = 0; n < count; n++) {
  const id = `e${n}`;
  const usage = { input: 1200, output: 240, cacheRead: 0, cacheWrite: 0, cost: { total: 0.01 } };
  const answer = { role: 'assistant', provider: 'acme', model: 'sage-2', usage };
  let message;
  if (n % 3 === 2) message = { role: 'toolResult', toolCallId: `c${n - 1}`, toolName: 'read', content: [{ type: 'text', text: source(n, each) }], isError: false };
  else if (n % 3 === 1) message = { ...answer, stopReason: 'toolUse', content: [{ type: 'text', text: `I look at **part ${n}** of it.` }, { type: 'toolCall', id: `c${n}`, name: 'read', arguments: { path: `src/part${n % 50}.rs` } }] };
  else if (n % 9 === 0) message = { role: 'user', content: `Question ${n}: how wide is cell ${n % 997}?` };
  else message = { ...answer, stopReason: 'stop', content: [{ type: 'text', text: `Answer ${n}: the cell is *wide*.\n\n\`\`\`rust\nlet cell = table.get(${n});\nassert!(cell.width > ${n});\n\`\`\`\n\n- one\n- two` }] };
  batch.push(JSON.stringify({ type: 'message', id, parentId: parent, timestamp: at(n), message }));
  // A side branch: the next entry hangs on the same one.
  if (n % 40 !== 39 || n % 3 !== 2) parent = id;
  if (batch.length >= 500 || n === count - 1) {
    writeSync(out, `${batch.join('\n')}\n`);
    batch = [];
  }
}
closeSync(out);
