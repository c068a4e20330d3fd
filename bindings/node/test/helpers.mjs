// Shared by the tests: messages, and directories that vanish.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

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
