// node open-large.mjs FILE: opens a session, reads its context and counts its entries; prints what it saw and the peak of memory.
import { statSync } from "node:fs";
import { SessionManager } from "treering/pi";

const path = process.argv[2];
const manager = SessionManager.open(path);
const context = manager.buildSessionContext();
const found = { size: statSync(path).size, messages: context.messages.length, entries: manager.getEntryCount(), level: context.thinkingLevel };
console.log(JSON.stringify({ ...found, peak: Math.round(process.resourceUsage().maxRSS / 1024) }));
