// Appends to a session until it is killed, and tells each id when its append has returned.
import { writeSync } from "node:fs";
import { Session } from "treering";

const session = Session.openSync(process.argv[2]);
for (let index = 0; ; index++) {
  const id = session.appendMessageSync({ role: "user", content: `${process.pid} ${index} ${"x".repeat(index % 5000)}`, timestamp: index });
  try {
    writeSync(1, `${id}\n`);
  } catch {
    // The reader has heard enough and kills this process in the middle of what follows.
  }
}
