/**
 * Session trees for AI agents.
 *
 * ```ts
 * import { Session } from "treering";
 * using session = Session.inMemory("/project");
 * const question = session.appendMessageSync({ role: "user", content: "hello", timestamp: Date.now() });
 * session.branchSync(null);
 * ```
 *
 * @packageDocumentation
 */
export type { Abortable } from "./call.js";
export { type ErrorCategory, TreeringError } from "./errors.js";
export {
  convert, type Directory, directoryFor, examine, findSession, listSessions, planRepair, repair, search, sessionInfo,
  sessionInfos, type UsageOptions, usageReport, version,
} from "./files.js";
export {
  type AppendOptions, type At, type ContextOptions, EntryStream, type Place, type Provider, type RequestOptions, Session,
  type SessionEvents, type SummaryOptions,
} from "./session.js";
export { type ListQuery, openStore, Store, type StoreOptions } from "./store.js";
export type * from "./types.js";
