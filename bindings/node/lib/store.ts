/** Stores: sessions in a directory, on a server or in a database. */
import { type Abortable, callAsync, callStore, callStoreAsync } from "./call.js";
import type { NativeSession, NativeStore } from "./native.js";
import { Session } from "./session.js";
import type {
  CreateOptions, Dialect, Durability, FilePath, ForkOptions, Page, SearchOptions, SearchResult, SessionInfo, StoreChanges,
} from "./types.js";

/** Options for opening a store. */
export interface StoreOptions {
  /** The token for a server. */
  token?: string;
  /** The space of a database. */
  space?: string;
}

/** A query for a list of sessions. */
export interface ListQuery {
  cwd?: string;
  agent?: Dialect;
  since?: number;
  until?: number;
  limit?: number;
  cursor?: string;
}

/** Opens the store with this address: a directory or its `file:` URL, `https://HOST` or `postgres://USER@HOST/DATABASE`. */
export async function openStore(address: FilePath, options: StoreOptions & Abortable = {}): Promise<Store> {
  return new Store(await callAsync<NativeStore>("openStore", { address, ...options }));
}

/** An open store. */
export class Store {
  readonly #native: NativeStore;

  /** @internal */
  constructor(native: NativeStore) {
    this.#native = native;
  }

  /** The address of the store. */
  get location(): string {
    return callStore(this.#native, "location");
  }
  /** Opens a session. */
  async open(id: string, options: { durability?: Durability } & Abortable = {}): Promise<Session> {
    return new Session(await callStoreAsync<NativeSession>(this.#native, "open", { id, ...options }));
  }
  /** Creates a session for a project. */
  async create(cwd: string, options: CreateOptions & Abortable = {}): Promise<Session> {
    return new Session(await callStoreAsync<NativeSession>(this.#native, "create", { cwd, ...options }));
  }
  /** Creates a session with the path to an entry of another one, which may be elsewhere. */
  async fork(session: Session, options: ForkOptions & Abortable = {}): Promise<Session> {
    return new Session(await callStoreAsync<NativeSession>(this.#native, "fork", options, session.native));
  }
  /** Returns one page of sessions, the newest first. */
  list(query: ListQuery & Abortable = {}): Promise<Page> {
    return callStoreAsync(this.#native, "list", query);
  }
  /** Yields all sessions, the newest first, page by page. */
  async *sessions(query: ListQuery & Abortable = {}): AsyncGenerator<SessionInfo, void, undefined> {
    for (let cursor = query.cursor; ; ) {
      const page: Page = await this.list({ ...query, cursor });
      yield* page.sessions;
      if (page.next === null) return;
      cursor = page.next;
    }
  }
  /** Removes a session. */
  remove(id: string, options: Abortable = {}): Promise<void> {
    return callStoreAsync(this.#native, "remove", { id, ...options });
  }
  /** Returns the sessions that changed since a mark, and the next mark. */
  changes(mark?: string, options: Abortable = {}): Promise<StoreChanges> {
    return callStoreAsync(this.#native, "changes", { mark, ...options });
  }
  /** Returns whether something may have changed. */
  hasNews(): boolean {
    return callStore(this.#native, "hasNews");
  }
  /** Returns the file of a session; null if it is in none. */
  file(id: string, options: Abortable = {}): Promise<string | null> {
    return callStoreAsync(this.#native, "file", { id, ...options });
  }
  /** Searches all sessions. */
  search(query: string, options: SearchOptions & Abortable = {}): Promise<SearchResult> {
    return callStoreAsync(this.#native, "search", { query, ...options });
  }
}
