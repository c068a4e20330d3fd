/** The context of a session manager, which is updated with every append. */
import { callSession } from "../call.js";
import type { NativeSession } from "../native.js";
import type { Batch, EntryCache } from "./cache.js";
import { applySettings, projectEntries, type Settings } from "./entries.js";
import { mayBeReplaced, sessionEntryToContextMessages } from "./messages.js";
import type { AgentMessage, ProjectedSessionEntry, SessionContext, SessionEntry } from "./types.js";

/** Entries that add their own messages to the end of a context and change nothing before it. */
const FOLLOWING = new Set([
  "message", "custom_message", "branch_summary", "thinking_level_change", "model_change", "custom", "label", "session_info", "usage",
]);

/** The settings at a leaf, as the library returns them. The level is null if the part of the file that was read does not show it. */
interface LibrarySettings {
  thinkingLevel: string | null;
  model: SessionContext["model"];
}

/** The entries that a context is made of, as the library returns them. */
interface Selected extends Batch, LibrarySettings {}

/**
 * Returns settings exactly as the entries name them. The texts of the library are UTF-8, in which half of a surrogate pair, which
 * JavaScript and JSON allow, is replaced; if something may have been replaced, the entries of the path are read.
 */
function exactSettings<S extends LibrarySettings>(found: S, leaf: string | null, cache: EntryCache): S {
  const { thinkingLevel, model } = found;
  if (![thinkingLevel, model?.provider, model?.modelId].some(mayBeReplaced)) return found;
  const exact: { thinkingLevel: string | undefined; model: Settings["model"] } = { thinkingLevel: undefined, model: null };
  for (const entry of cache.path(leaf)) applySettings(exact, entry);
  return { ...found, thinkingLevel: exact.thinkingLevel ?? thinkingLevel, model: exact.model ?? model };
}

/** The context at a leaf. The library selects its entries; the objects are those of the cache. */
export class CurrentContext {
  readonly #native: NativeSession;
  readonly #cache: EntryCache;
  /** The entry at which an unknown thinking level is looked up. */
  readonly #levelAt: string | null;
  leaf: string | null;
  readonly entries: ProjectedSessionEntry[];
  readonly messages: AgentMessage[];
  model: SessionContext["model"];
  /** Undefined if it was set so long ago that the part of the file that was read does not show it. */
  thinkingLevel: string | undefined;

  private constructor(native: NativeSession, cache: EntryCache, leaf: string | null, selected: SessionEntry[], found: LibrarySettings) {
    const { thinkingLevel, model } = exactSettings(found, leaf, cache);
    const { entries, messages } = projectEntries(selected, { thinkingLevel: "", model });
    this.#native = native;
    this.#cache = cache;
    this.#levelAt = leaf;
    this.leaf = leaf;
    this.entries = entries;
    this.messages = messages;
    this.model = model;
    this.thinkingLevel = thinkingLevel ?? undefined;
  }

  static at(leaf: string | null, native: NativeSession, cache: EntryCache): CurrentContext {
    if (leaf !== null && cache.isEmpty) {
      // Nothing was parsed yet: the entries come with the answer, in one string.
      const selected = callSession<Selected>(native, "contextEntries", { at: leaf, ...cache.form });
      return new CurrentContext(native, cache, leaf, cache.keepAll(selected), selected);
    }
    const selected = callSession<Settings & { entries: string[] }>(native, "selected", { at: leaf });
    return new CurrentContext(native, cache, leaf, cache.some(selected.entries), selected);
  }

  /** Adds an entry that was appended. Returns false if the context must be built anew. */
  follow(entry: SessionEntry): boolean {
    if (this.leaf !== entry.parentId || !FOLLOWING.has(entry.type)) return false;
    const messages = sessionEntryToContextMessages(entry);
    this.entries.push({ sourceEntry: entry, messages });
    this.messages.push(...messages);
    applySettings(this, entry);
    this.leaf = entry.id;
    return true;
  }

  /** Adds the settings to a context that is handed out. A level that is not known is looked up when it is first read. */
  withSettings<C extends object>(context: C): C & Settings {
    const { thinkingLevel, model } = this;
    const result = Object.assign(context, { thinkingLevel: thinkingLevel ?? "", model: model && { ...model } });
    if (thinkingLevel !== undefined) return result;
    const define = (value: string) =>
      Object.defineProperty(result, "thinkingLevel", { value, enumerable: true, configurable: true, writable: true });
    return Object.defineProperty(result, "thinkingLevel", {
      enumerable: true,
      configurable: true,
      get: () => {
        const found = callSession<Settings>(this.#native, "selected", { at: this.#levelAt });
        const level = exactSettings(found, this.#levelAt, this.#cache).thinkingLevel;
        // Unless an entry that was appended meanwhile set another one.
        this.thinkingLevel ??= level;
        define(level);
        return level;
      },
      set: define,
    });
  }
}
