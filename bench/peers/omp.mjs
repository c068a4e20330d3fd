// Driver for oh-my-pi, run on bun. install.sh copies it beside the node_modules
// it imports from.
//
// The package publishes its TypeScript sources and exports each of them, so the
// session manager is imported alone.
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { SessionManager } from "@oh-my-pi/pi-coding-agent/session/session-manager";
import { assistantMessage, ms, run, timeAppends, userMessage } from "./common.mjs";

// Naming the directory spares omp deriving one from the recorded cwd; the
// breadcrumb only serves its interactive "continue".
const open = (file, dir = dirname(resolve(file))) =>
  SessionManager.open(file, dir, undefined, { suppressBreadcrumb: true });

await run({
  async context(file) {
    const start = performance.now();
    const { messages } = (await open(file)).buildSessionContext();
    return { messages: messages.length, ms: ms(start) };
  },

  async leaves(file, idsFile) {
    const ids = JSON.parse(readFileSync(idsFile, "utf8"));
    const start = performance.now();
    const manager = await open(file);
    const opened = performance.now();
    let total = 0;
    for (const id of ids) {
      manager.branch(id);
      total += manager.buildSessionContext().messages.length;
    }
    return { open_ms: ms(start, opened), contexts_ms: ms(opened), messages: total };
  },

  async append(dir, count, bytes) {
    const manager = SessionManager.create(process.cwd(), dir);
    manager.appendMessage(userMessage("hello"));
    manager.appendMessage(assistantMessage("hello"));
    await manager.flush();
    const result = await timeAppends(manager, Number(count), Number(bytes), () => manager.flush());
    await manager.close();
    return result;
  },

  async list(dir) {
    const start = performance.now();
    const sessions = await SessionManager.list(process.cwd(), dir);
    return { sessions: sessions.length, ms: ms(start) };
  },

  async fork(file, leafId, outDir) {
    mkdirSync(outDir, { recursive: true });
    const start = performance.now();
    const manager = await open(file, resolve(outDir));
    const opened = performance.now();
    const written = manager.createBranchedSession(leafId);
    const forked = performance.now();
    await manager.close();
    // A session whose recorded cwd does not exist is forked into omp's default
    // directory whatever was asked for; bring the file where the caller wants it.
    const path = join(resolve(outDir), basename(written));
    if (path !== written) {
      copyFileSync(written, path); // not a rename: it may be another file system
      rmSync(written);
    }
    return { path, open_ms: ms(start, opened), fork_ms: ms(opened, forked) };
  },

  async export(file, out) {
    // Only here: it loads more of the agent than the others need.
    const { exportFromFile } = await import("@oh-my-pi/pi-coding-agent/export/html/index");
    const start = performance.now();
    await exportFromFile(resolve(file), { outputPath: resolve(out) });
    return { bytes: statSync(out).size, ms: ms(start) };
  },
});
