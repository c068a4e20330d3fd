/** The entries of a native session as objects, each parsed once and only when it is needed. */
import { callSession, entryCountOf, hasEntry } from "../call.js";
import type { NativeSession } from "../native.js";
import type { SessionEntry, SessionTreeNode } from "./types.js";

/**
 * The size of the pieces in which all entries are read. V8 parses short strings faster, and another thread makes the next
 * one meanwhile. A very long session has larger ones, so that there are not too many.
 */
const PIECE = 256 << 10;
const MOST_PIECES = 512;

/** Entries from the library. */
export interface Batch {
  entries: SessionEntry[];
  /** The entries that name a hidden record as their parent, and the parents that they get in its place. */
  parents?: [string, string | null][];
}

/** Entries, and whether there are more. */
interface Piece extends Batch {
  last: string | null;
}

/** Labels of entries. */
export type Labels = Map<string, { label: string; timestamp: string }>;

/**
 * The entries that were asked for. All of them are loaded when something needs all; a context or a path loads its own.
 *
 * With `hidesMoves`, the records of where the leaf was moved are in no list, and an entry that hangs on one of them
 * hangs on the nearest entry above it, or is a root. The library says which entry that is.
 */
export class EntryCache {
  readonly #native: NativeSession;
  readonly #indexed = new Map<string, SessionEntry>();
  /** Entries that were appended and are not in the map yet. A program that only appends looks none up. */
  #appended: SessionEntry[] = [];
  /** The form in which the library gives entries; with `record` in the shape of the session's agent. */
  readonly form: { hidesMoves: boolean; record: boolean };
  /** The number of hidden records, and of how many entries of the native session; unknown at first. */
  #hidden = { count: 0, of: -1 };
  #all: SessionEntry[] | undefined;
  #rows = new Map<string, number>();
  #parents: number[] = [];
  /** The number of entries that the native session had when all of them were loaded or appended here. */
  #count = -1;

  constructor(native: NativeSession, hidesMoves: boolean, record = false) {
    this.#native = native;
    this.form = { hidesMoves, record };
  }

  /** The entries by their ids. */
  get #byId(): Map<string, SessionEntry> {
    if (this.#appended.length > 0) {
      for (const entry of this.#appended) this.#indexed.set(entry.id, entry);
      this.#appended = [];
    }
    return this.#indexed;
  }

  /** Whether no entry was parsed yet. */
  get isEmpty(): boolean {
    return this.#byId.size === 0;
  }

  /** Keeps entries, and returns them. The same entry is always the same object: one that is there already stays. */
  keepAll({ entries, parents }: Batch): SessionEntry[] {
    const byId = this.#byId;
    const isFirst = byId.size === 0;
    const above = parents?.length ? new Map(parents) : undefined;
    for (let index = 0; index < entries.length; index++) {
      const entry = entries[index]!;
      const kept = isFirst ? undefined : byId.get(entry.id);
      if (kept) {
        entries[index] = kept;
        continue;
      }
      const parent = above?.get(entry.id);
      if (parent !== undefined) entry.parentId = parent;
      byId.set(entry.id, entry);
    }
    return entries;
  }

  /** Adds an entry that was appended just now. */
  add(entry: SessionEntry): void {
    this.#appended.push(entry);
    if (this.#hidden.of >= 0 && entryCountOf(this.#native) === this.#hidden.of + 1) this.#hidden.of++;
    if (!this.#all) return;
    // More than one new entry means that others wrote as well, and their positions are not known here.
    if (entryCountOf(this.#native) !== this.#count + 1) return this.forget();
    this.#count++;
    this.#push(entry);
  }

  /** Forgets the order of entries, after others than `add` appended some. */
  forget(): void {
    this.#all = undefined;
  }

  /** Forgets the order of entries after a record was written that no list shows. */
  noteHidden(): void {
    if (this.#all && entryCountOf(this.#native) === this.#count + 1) this.#count++;
    else this.#all = undefined;
  }

  has(id: string): boolean {
    return this.#byId.has(id) || (hasEntry(this.#native, id) && !this.#isHidden(id));
  }

  get(id: string): SessionEntry | undefined {
    return this.#byId.get(id) ?? (this.has(id) ? this.some([id])[0] : undefined);
  }

  /** Returns the entries of these ids; those that are not loaded yet are read together. */
  some(ids: string[]): SessionEntry[] {
    const missing = ids.filter((id) => !this.#byId.has(id));
    if (missing.length > 0) {
      this.keepAll(callSession<Batch>(this.#native, "someEntries", { ids: missing, ...this.form }));
    }
    return ids.flatMap((id) => this.#byId.get(id) ?? []);
  }

  /** Returns all entries, in the order of the file. The array belongs to the cache. */
  all(): SessionEntry[] {
    if (this.#all && entryCountOf(this.#native) === this.#count) return this.#all;
    this.#all = [];
    this.#rows = new Map();
    this.#parents = [];
    this.#count = -1;
    // Entries that are appended meanwhile make the number another one, and the next call reads again.
    const { logLength, entryCount } = callSession<{ logLength: number; entryCount: number }>(this.#native, "facts");
    const size = Math.max(PIECE, Math.ceil(logLength / MOST_PIECES));
    for (let after: string | null = null; ; ) {
      const piece: Piece = callSession<Piece>(this.#native, "entriesAhead", { after: after ?? undefined, size, ...this.form });
      for (const entry of this.keepAll(piece)) this.#push(entry);
      if (piece.last === null) break;
      after = piece.last;
    }
    this.#count = entryCount;
    this.#findLateParents();
    return this.#all;
  }

  /** Returns the number of entries. */
  get size(): number {
    if (this.#all && entryCountOf(this.#native) === this.#count) return this.#all.length;
    if (!this.form.hidesMoves) return entryCountOf(this.#native);
    if (entryCountOf(this.#native) !== this.#hidden.of) {
      const { length: count } = callSession<string[]>(this.#native, "bookkeeping");
      this.#hidden = { count, of: entryCountOf(this.#native) };
    }
    return this.#hidden.of - this.#hidden.count;
  }

  /** Returns the entries from a root to this one; none if there is no such entry. */
  path(id: string | null): SessionEntry[] {
    const path: SessionEntry[] = [];
    for (let next = id; next !== null; ) {
      const entry = this.#byId.get(next);
      if (!entry) {
        const above = this.#loadPath(next);
        const walked = new Set(path);
        return above.some((entry) => walked.has(entry)) ? this.#loadPath(id) : above.concat(path.reverse());
      }
      path.push(entry);
      // The library has cut a cycle of parents, so it has to return the path through it.
      if (path.length > entryCountOf(this.#native)) return this.#loadPath(id);
      next = entry.parentId ?? null;
    }
    return path.reverse();
  }

  /** Returns the children of an entry. */
  children(parentId: string): SessionEntry[] {
    const all = this.all();
    const row = this.#rows.get(parentId);
    if (row === undefined) return all.filter((entry) => entry.parentId === parentId);
    const children: SessionEntry[] = [];
    for (let index = 0; index < all.length; index++) if (this.#parents[index] === row) children.push(all[index]!);
    return children;
  }

  /** Returns the tree. Children are sorted by time. */
  tree(labels: Labels): SessionTreeNode[] {
    const all = this.all();
    const parents = this.#parents;
    const count = all.length;
    const nodes = new Array<SessionTreeNode>(count);
    for (let row = 0; row < count; row++) {
      nodes[row] = { entry: all[row]!, children: [], label: undefined, labelTimestamp: undefined } as unknown as SessionTreeNode;
    }
    const roots: SessionTreeNode[] = [];
    const forks: SessionTreeNode[] = [];
    for (let row = 0; row < count; row++) {
      const node = nodes[row]!;
      const parent = parents[row]!;
      if (parent < 0) {
        roots.push(node);
        continue;
      }
      const above = nodes[parent]!;
      // An array of one element is smaller than one that was empty and has grown.
      if (above.children.length === 0) above.children = [node];
      else if (above.children.push(node) === 2) forks.push(above);
    }
    for (const fork of forks) sortByTime(fork.children);
    for (const [id, { label, timestamp }] of labels) {
      const row = this.#rows.get(id);
      if (row === undefined) continue;
      nodes[row]!.label = label;
      nodes[row]!.labelTimestamp = timestamp;
    }
    return roots;
  }

  #push(entry: SessionEntry): void {
    const row = this.#all!.push(entry) - 1;
    this.#rows.set(entry.id, row);
    const { parentId } = entry;
    this.#parents.push(parentId && parentId !== entry.id ? (this.#rows.get(parentId) ?? -1) : -1);
  }

  /** Finds parents that come after their children in the file. */
  #findLateParents(): void {
    this.#all!.forEach(({ id, parentId }, row) => {
      if (this.#parents[row] === -1 && parentId && parentId !== id) this.#parents[row] = this.#rows.get(parentId) ?? -1;
    });
  }

  #loadPath(id: string | null): SessionEntry[] {
    if (id === null || !this.has(id)) return [];
    return this.keepAll(callSession<Batch>(this.#native, "path", { to: id, ...this.form }));
  }

  #isHidden(id: string): boolean {
    return this.form.hidesMoves && callSession<string[]>(this.#native, "bookkeeping", { ids: [id] }).length > 0;
  }
}

/** Sorts by time. In most files the times have one format and are in order, so the texts are compared. */
function sortByTime(nodes: SessionTreeNode[]): void {
  for (let index = 1; index < nodes.length; index++) {
    const before = nodes[index - 1]!.entry.timestamp;
    const after = nodes[index]!.entry.timestamp;
    if (before?.length === 24 && after?.length === 24 && before <= after) continue;
    const time = (node: SessionTreeNode) => new Date(node.entry.timestamp).getTime();
    nodes.sort((a, b) => time(a) - time(b));
    return;
  }
}
