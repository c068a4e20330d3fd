// Runs the checks, one terminal each, and counts.

import * as chat from './chat.mjs';
import * as leaving from './leaving.mjs';
import * as picker from './picker.mjs';
import * as tree from './tree.mjs';

const wanted = process.argv.slice(2);
const all = Object.entries({ ...tree, ...picker, ...chat, ...leaving });
const checks = all.filter(([name]) => wanted.length === 0 || wanted.some(word => name.includes(word)));
let failed = 0;
for (const [name, check] of checks) {
  try {
    await check();
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
}
console.log(`terminal: ${checks.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 || checks.length === 0 ? 1 : 0);
