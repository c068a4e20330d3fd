/**
 * A message store for the AI SDK that keeps branches.
 *
 * ```ts
 * import { openChatStore } from "treering/ai";
 * const chats = await openChatStore("/chats");
 * const chatId = await chats.createChat();
 * await chats.saveChat({ chatId, messages });     // in onFinish of toUIMessageStreamResponse
 * const messages = await chats.loadChat(chatId);  // for useChat
 * ```
 *
 * A message that was regenerated or edited does not replace the old one: it becomes another branch. `versions` lists the
 * versions of a message, and `selectVersion` goes back to one.
 *
 * @packageDocumentation
 */
import type { Session } from "../session.js";
import { openStore, type Store, type StoreOptions } from "../store.js";
import { TreeringError } from "../errors.js";
import type { Entry, SessionInfo } from "../types.js";
import { entriesOf, type UIMessageLike, uiMessageOf } from "./messages.js";

export type { UIMessageLike, UIPart } from "./messages.js";

/** Options for opening a chat store. */
export interface ChatStoreOptions extends StoreOptions {
  /** The project that chats belong to. */
  cwd?: string;
}

/** One of several messages at the same position of a chat. */
export interface MessageVersion<M> {
  message: M;
  /** Whether it is on the branch that `loadChat` returns. */
  isActive: boolean;
}

/** Opens a chat store: a directory, `https://HOST` or `postgres://USER@HOST/DATABASE`. */
export async function openChatStore<M extends UIMessageLike = UIMessageLike>(address: string, options: ChatStoreOptions = {}): Promise<ChatStore<M>> {
  return new ChatStore<M>(await openStore(address, options), options.cwd ?? process.cwd());
}

/** Chats in a store, one session each. */
export class ChatStore<M extends UIMessageLike = UIMessageLike> {
  readonly #store: Store;
  /** The chats that are being created. */
  readonly #creating = new Map<string, Promise<Session>>();
  readonly #cwd: string;

  constructor(store: Store, cwd: string = process.cwd()) {
    this.#store = store;
    this.#cwd = cwd;
  }

  /** Creates a chat. Returns its id. */
  async createChat(options: { id?: string } = {}): Promise<string> {
    const session = await this.#store.create(this.#cwd, { ...options, creation: "at-once" });
    const { id } = session;
    session.close();
    return id;
  }

  /** Returns the messages of a chat, on the branch that was saved or selected last. */
  async loadChat(chatId: string): Promise<M[]> {
    return this.#with(chatId, (session) => Chat.of<M>(session).active().map((node) => node.message));
  }

  /**
   * Saves the messages of a chat. New ones are appended; where they differ from the messages saved before, they become a
   * branch, and nothing is lost. A chat that does not exist is created.
   */
  async saveChat({ chatId, messages }: { chatId: string; messages: readonly M[] }): Promise<void> {
    await this.#with(chatId, (session) => save(session, messages), true);
  }

  /** Returns all versions of a message, regenerated or edited, in the order of their creation. */
  async versions(chatId: string, messageId: string): Promise<MessageVersion<M>[]> {
    return this.#with(chatId, (session) => {
      const chat = Chat.of<M>(session);
      const active = new Set(chat.active());
      const node = chat.find(messageId);
      return node.parent.children.map((child) => ({ message: child.message!, isActive: active.has(child as Node<M>) }));
    });
  }

  /** Goes to the end of the newest branch through a message. Returns the messages of that branch. */
  async selectVersion(chatId: string, messageId: string): Promise<M[]> {
    return this.#with(chatId, (session) => {
      const chat = Chat.of<M>(session);
      let node = chat.find(messageId);
      for (let child = node.children.at(-1); child; child = child.children.at(-1)) node = child;
      session.branchSync(node.end);
      return Chat.of<M>(session).active().map((message) => message.message);
    });
  }

  /** Returns all chats, the newest first. */
  async listChats(): Promise<SessionInfo[]> {
    const chats: SessionInfo[] = [];
    for await (const chat of this.#store.sessions()) chats.push(chat);
    return chats;
  }

  /** Deletes a chat with all its branches. */
  async deleteChat(chatId: string): Promise<void> {
    await this.#store.remove(chatId);
  }

  /** Opens the session of a chat, for all other operations on sessions. */
  openSession(chatId: string): Promise<Session> {
    return this.#store.open(chatId);
  }

  async #with<T>(chatId: string, work: (session: Session) => T, isCreated = false): Promise<T> {
    const session = await this.#open(chatId, isCreated);
    try {
      return work(session);
    } finally {
      session.close();
    }
  }

  async #open(chatId: string, isCreated: boolean): Promise<Session> {
    try {
      return await this.#store.open(chatId);
    } catch (error) {
      if (!isCreated || !(error instanceof TreeringError) || error.category !== "NotFound") throw error;
    }
    const other = this.#creating.get(chatId);
    if (other) return other.then(() => this.#store.open(chatId));
    const creating = this.#create(chatId);
    this.#creating.set(chatId, creating);
    try {
      return await creating;
    } finally {
      this.#creating.delete(chatId);
    }
  }

  async #create(chatId: string): Promise<Session> {
    try {
      return await this.#store.create(this.#cwd, { id: chatId, creation: "at-once" });
    } catch (error) {
      // Another process may have created it meanwhile.
      if (!(error instanceof TreeringError) || error.category !== "Conflict") throw error;
      return this.#store.open(chatId);
    }
  }
}

/** A position in the tree of a chat: a UI message, or the start. */
interface Place<M> {
  message?: M;
  /** The last entry of the message; null at the start. */
  end: string | null;
  children: Node<M>[];
}

interface Node<M> extends Place<M> {
  message: M;
  end: string;
  parent: Place<M>;
  /** The message in canonical form, for comparisons. */
  text: string;
}

/** The UI messages of a session as a tree. */
class Chat<M extends UIMessageLike> {
  readonly #session: Session;
  readonly #start: Place<M> = { end: null, children: [] };
  /** The message that each entry belongs to. */
  readonly #owners = new Map<string, Node<M>>();

  private constructor(session: Session) {
    this.#session = session;
  }

  static of<M extends UIMessageLike>(session: Session): Chat<M> {
    const chat = new Chat<M>(session);
    for (const entry of session.entries()) chat.#add(entry);
    return chat;
  }

  #add(entry: Entry): void {
    const above = entry.parentId === null ? undefined : this.#owners.get(entry.parentId);
    const message = uiMessageOf<M>(entry);
    if (!message) {
      // A result, a further step, a label: it belongs to the message before it. Moved messages are not part of it.
      if (!above) return;
      if (entry.type === "message") above.end = entry.id;
      this.#owners.set(entry.id, above);
      return;
    }
    const parent = above ?? this.#start;
    const node: Node<M> = { message, end: entry.id, children: [], parent, text: canonical(message) };
    parent.children.push(node);
    this.#owners.set(entry.id, node);
  }

  /** Returns the messages of the active branch. */
  active(): Node<M>[] {
    const path: Node<M>[] = [];
    const leaf = this.#session.leaf;
    let node: Place<M> | undefined = leaf === null ? undefined : this.#owners.get(leaf);
    while (node && node !== this.#start) {
      path.unshift(node as Node<M>);
      node = (node as Node<M>).parent;
    }
    return path;
  }

  /** Returns a message by its id, on the active branch if it is there. */
  find(messageId: string): Node<M> {
    const has = (node: Node<M>) => node.message.id === messageId;
    const found = this.active().find(has) ?? [...this.#owners.values()].findLast(has);
    if (!found) throw new TreeringError("unknown_message", `the chat has no message ${messageId}`, { category: "NotFound" });
    return found;
  }

  /** Follows the messages down the tree as long as they exist, and appends the others. */
  save(messages: readonly M[]): void {
    let place = this.#start;
    let known = 0;
    for (const message of messages) {
      const text = canonical(message);
      const child = place.children.find((candidate) => candidate.text === text);
      if (!child) break;
      place = child;
      known++;
    }
    if (this.#session.leaf !== place.end) this.#session.branchSync(place.end);
    const entries = messages.slice(known).flatMap(entriesOf);
    if (entries.length > 0) this.#session.appendAllSync(entries, { expecting: place.end });
  }
}

/** Saves messages. If another writer was faster, its entries are read first, so that equal messages are saved once. */
function save<M extends UIMessageLike>(session: Session, messages: readonly M[]): void {
  for (let attempt = 1; ; attempt++) {
    session.refreshSync();
    session.follow();
    try {
      return Chat.of<M>(session).save(messages);
    } catch (error) {
      if (!(error instanceof TreeringError && error.code === "leaf_moved") || attempt === 100) throw error;
    }
  }
}

/** Returns a value as JSON with sorted members, so that equal values are equal texts. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member) =>
    member !== null && typeof member === "object" && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
