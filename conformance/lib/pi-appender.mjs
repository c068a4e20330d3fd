// pi appends to a session without a pause, until it gets a message to stop; then it reports the ids of its entries.
//   node pi-appender.mjs PACKAGE_DIR FILE
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const { SessionManager } = await import(pathToFileURL(join(process.argv[2], "dist/core/session-manager.js")));
const session = SessionManager.open(process.argv[3], dirname(process.argv[3]));
const written = [];
let stopped = false;

function append() {
  // A few at a time, so that messages from the harness are received in between.
  for (let i = 0; i < 4; i++) {
    const content = [{ type: "text", text: `message ${written.length}` }];
    written.push(session.appendMessage({ role: "user", content, timestamp: 1 }));
  }
  if (stopped) process.send({ written }, () => process.disconnect());
  else setImmediate(append);
}

process.on("message", () => {
  stopped = true;
});
process.send({ ready: true });
append();
