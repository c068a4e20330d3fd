// Appends to a session that other threads append to, and reports the ids.
import { parentPort, workerData } from "node:worker_threads";
import { Session } from "treering";

const session = Session.openSync(workerData.path);
const ids = [];
for (let index = 0; index < workerData.count; index++) {
  const message = { role: "user", content: `${workerData.number}-${index}`, timestamp: 1 };
  ids.push(index % 2 ? session.appendMessageSync(message) : await session.appendMessage(message));
}
session.close();
parentPort.postMessage(ids);
