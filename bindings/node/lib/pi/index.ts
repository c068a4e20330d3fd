/**
 * pi's session manager on treering: the API of the module `session-manager` of pi's package, and of its compaction.
 *
 * @packageDocumentation
 */
export { COMPATIBILITY, type Compatibility, type CompatibilityName, getCompatibility, setCompatibility } from "./compatibility.js";
export * from "./compaction.js";
export {
  buildContextEntries, buildSessionContext, buildSessionProjection, CURRENT_SESSION_VERSION, getLatestCompactionEntry,
  loadEntriesFromFile, migrateSessionEntries, parseSessionEntries,
} from "./entries.js";
export { type ReadonlySessionManager, SessionManager } from "./manager.js";
export { projectContextEntry, sessionEntryToContextMessages } from "./messages.js";
export {
  type CompleteSimple, completeSummarization, getSummarizationFailure, type Model, type ModelContext, type ModelStream, type RetryCallbacks,
  type RetryPolicy, setCompleteSimple, type StreamFn, SUMMARIZATION_SYSTEM_PROMPT,
} from "./models.js";
export { assertValidSessionId, findMostRecentSession, getDefaultSessionDir } from "./paths.js";
export * from "./search.js";
export * from "./summaries.js";
export type * from "./types.js";
