// Shared by the tests: messages, directories that vanish, and properties.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";

export const user = (text) => ({ role: "user", content: text, timestamp: 1 });
export const assistant = (text, more = {}) => ({
  role: "assistant",
  content: [{ type: "text", text }],
  provider: "acme",
  model: "large",
  stopReason: "stop",
  usage: { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 },
  timestamp: 2,
  ...more,
});

/** Calls a function with a new directory, which is removed afterwards. */
export async function withDirectory(work) {
  const dir = mkdtempSync(join(tmpdir(), "treering-node-"));
  try {
    return await work(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The same cases in every run, so that a test that passed passes again. PROPERTY_SEED looks for more with another seed. */
const SEEDS = process.env.PROPERTY_SEED ? [Number(process.env.PROPERTY_SEED)] : [1, 20, 57, 144, 289];

/** Checks a property with each of the seeds; PROPERTY_RUNS is the number of cases for each. */
export function check(property, numRuns) {
  for (const seed of SEEDS) fc.assert(property, { seed, numRuns: Number(process.env.PROPERTY_RUNS ?? numRuns) });
}
