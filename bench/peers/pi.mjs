// Driver for pi. install.sh copies it beside the node_modules it imports from.
//
// The session manager is imported by its file, not through the package's index,
// which would load the terminal UI and every model provider first.
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { assistantMessage, ms, run, timeAppends, userMessage } from "./common.mjs";
import {
  buildSessionContext,
  SessionManager,
} from "./node_modules/@earendil-works/pi-coding-agent/dist/core/session-manager.js";

await run({
  context(file) {
    const start = performance.now();
    const { messages } = SessionManager.open(file).buildSessionContext();
    return { messages: messages.length, ms: ms(start) };
  },

  leaves(file, idsFile) {
    const ids = JSON.parse(readFileSync(idsFile, "utf8"));
    const start = performance.now();
    const entries = SessionManager.open(file).getEntries();
    const byId = new Map(entries.map((entry) => [entry.id, entry]));
    const opened = performance.now();
    let total = 0;
    // The exported function takes an index made once. branch() followed by the
    // manager's own buildSessionContext() would copy the entry list every time.
    for (const id of ids) total += buildSessionContext(entries, id, byId).messages.length;
    return { open_ms: ms(start, opened), contexts_ms: ms(opened), messages: total };
  },

  append(dir, count, bytes) {
    const manager = SessionManager.create(process.cwd(), dir);
    manager.appendMessage(userMessage("hello"));
    manager.appendMessage(assistantMessage("hello"));
    return timeAppends(manager, Number(count), Number(bytes));
  },

  async list(dir) {
    const start = performance.now();
    // listAll(dir) is list(cwd, dir) without its filter on the header's cwd.
    const sessions = await SessionManager.listAll(dir);
    return { sessions: sessions.length, ms: ms(start) };
  },

  fork(file, leafId, outDir) {
    const start = performance.now();
    const manager = SessionManager.open(file, resolve(outDir));
    const opened = performance.now();
    const path = manager.createBranchedSession(leafId);
    return { path, open_ms: ms(start, opened), fork_ms: ms(opened) };
  },

  // The command as it is published, which ends the process itself: what it calls cannot be imported
  // on its own, because it needs the colors of the terminal UI.
  async export(file, out) {
    const start = performance.now();
    process.on("exit", () => console.log(JSON.stringify({ bytes: statSync(out).size, ms: ms(start) })));
    process.argv.splice(2, process.argv.length, "--export", resolve(file), resolve(out));
    await import("./node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js");
    return new Promise(() => {});
  },
});
