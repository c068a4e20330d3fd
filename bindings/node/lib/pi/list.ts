/** Lists of sessions. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { callAsync } from "../call.js";
import { Session } from "../session.js";
import type { SessionInfo as Facts } from "../types.js";
import { textOf } from "./messages.js";
import { getSessionsDir, isOfProject, normalizePath, resolvePath, sessionFiles } from "./paths.js";
import type { SessionInfo, SessionListProgress } from "./types.js";

/** The number of files that are described between two calls of `onProgress`. */
const PIECE = 500;

/** Returns the texts of all messages of the user and the assistant. */
function allMessagesText(path: string): string {
  const session = Session.openSync(path);
  try {
    const texts: string[] = [];
    for (const { message } of session.entries()) {
      if (message?.role !== "user" && message?.role !== "assistant") continue;
      const text = textOf(message.content);
      if (text) texts.push(text);
    }
    return texts.join(" ");
  } finally {
    session.close();
  }
}

function toInfo(path: string, facts: Facts): SessionInfo {
  const info = {
    path,
    id: facts.id,
    cwd: facts.cwd,
    name: facts.name ?? undefined,
    parentSessionPath: facts.parentSession ?? undefined,
    created: new Date(facts.created ?? Number.NaN),
    modified: new Date(facts.modified),
    messageCount: facts.messageCount,
    firstMessage: facts.firstMessage || "(no messages)",
  } as SessionInfo;
  let text: string | undefined;
  Object.defineProperty(info, "allMessagesText", {
    enumerable: true,
    configurable: true,
    get: () => (text ??= allMessagesText(path)),
  });
  return info;
}

const newestFirst = (sessions: SessionInfo[]) => sessions.sort((a, b) => b.modified.getTime() - a.modified.getTime());

async function describe(
  files: string[],
  onProgress: SessionListProgress | undefined,
  signal: AbortSignal | undefined,
  isWanted: (info: SessionInfo) => boolean = () => true,
): Promise<SessionInfo[]> {
  const sessions: SessionInfo[] = [];
  for (let done = 0; done < files.length; ) {
    const paths = files.slice(done, done + PIECE);
    const infos = await callAsync<(Facts | null)[]>("listFiles", { paths, byMessages: true, signal });
    infos.forEach((facts, index) => {
      const info = facts && toInfo(paths[index]!, facts);
      if (info && isWanted(info)) sessions.push(info);
    });
    done += paths.length;
    onProgress?.(done, files.length, newestFirst([...sessions]));
  }
  return newestFirst(sessions);
}

/** Lists the sessions of a directory, the newest first. */
export async function listDirectory(
  dir: string,
  project: string | undefined,
  onProgress: SessionListProgress | undefined,
  signal: AbortSignal | undefined,
): Promise<SessionInfo[]> {
  signal?.throwIfAborted();
  if (!existsSync(dir)) return [];
  const cwd = project === undefined ? undefined : resolvePath(project);
  return describe(sessionFiles(dir), onProgress, signal, (info) => cwd === undefined || isOfProject(info.cwd, cwd));
}

/** Lists the sessions of all projects, the newest first. */
export async function listEverything(
  sessionDir: string | undefined,
  onProgress: SessionListProgress | undefined,
  signal: AbortSignal | undefined,
): Promise<SessionInfo[]> {
  signal?.throwIfAborted();
  if (sessionDir !== undefined) return listDirectory(normalizePath(sessionDir), undefined, onProgress, signal);
  const root = getSessionsDir();
  if (!existsSync(root)) return [];
  const files = readdirSync(root).map((name) => join(root, name)).filter(isDirectory).flatMap(sessionFiles);
  return describe(files, onProgress, signal);
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
