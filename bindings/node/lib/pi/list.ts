/** Lists of sessions. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { callAsync } from "../call.js";
import { Session } from "../session.js";
import type { SessionInfo as AllFacts } from "../types.js";
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

type Facts = Pick<AllFacts, "id" | "cwd" | "name" | "parentSession" | "created" | "modified" | "messageCount" | "firstMessage">;

function toInfo(path: string, facts: Facts): SessionInfo {
  let text: string | undefined;
  return {
    path,
    id: facts.id,
    cwd: facts.cwd,
    name: facts.name ?? undefined,
    parentSessionPath: facts.parentSession ?? undefined,
    created: new Date(facts.created ?? Number.NaN),
    modified: new Date(facts.modified),
    messageCount: facts.messageCount,
    firstMessage: facts.firstMessage || "(no messages)",
    get allMessagesText() {
      return (text ??= allMessagesText(path));
    },
  } as SessionInfo;
}

const newestFirst = (sessions: SessionInfo[]) => sessions.sort((a, b) => b.modified.getTime() - a.modified.getTime());

async function describe(
  files: string[],
  onProgress: SessionListProgress | undefined,
  signal: AbortSignal | undefined,
  isWanted: (cwd: string) => boolean = () => true,
): Promise<SessionInfo[]> {
  const sessions: SessionInfo[] = [];
  // Without a progress callback there are no pieces, so that all cores are busy until the end.
  const size = onProgress ? PIECE : files.length;
  const begin = (from: number) => {
    const paths = files.slice(from, from + size);
    const infos = callAsync<(Facts | null)[]>("listFiles", { paths, byMessages: true, signal });
    // If a piece fails while another one is awaited, its error is thrown when it is awaited itself.
    infos.catch(() => undefined);
    return { paths, infos };
  };
  let next = files.length > 0 ? begin(0) : undefined;
  for (let done = 0; next; ) {
    const { paths, infos } = next;
    const found = await infos;
    done += paths.length;
    next = done < files.length ? begin(done) : undefined;
    found.forEach((facts, index) => {
      if (facts && isWanted(facts.cwd)) sessions.push(toInfo(paths[index]!, facts));
    });
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
  if (project === undefined) return describe(sessionFiles(dir), onProgress, signal);
  const cwd = resolvePath(project);
  // Most sessions of a directory belong to few projects.
  const known = new Map<string, boolean>();
  const isWanted = (of: string) => {
    const answer = known.get(of) ?? isOfProject(of, cwd);
    known.set(of, answer);
    return answer;
  };
  return describe(sessionFiles(dir), onProgress, signal, isWanted);
}

/** Lists the sessions of all projects, the newest first. */
export async function listEverything(
  sessionDir: string | undefined,
  onProgress: SessionListProgress | undefined,
  signal: AbortSignal | undefined,
): Promise<SessionInfo[]> {
  signal?.throwIfAborted();
  if (sessionDir !== undefined) return listDirectory(normalizePath(sessionDir), undefined, onProgress, signal);
  return listRoot(getSessionsDir(), onProgress, signal);
}

/** Lists the sessions of all directories in one, the newest first. */
export async function listRoot(
  root: string,
  onProgress: SessionListProgress | undefined,
  signal: AbortSignal | undefined,
): Promise<SessionInfo[]> {
  if (!existsSync(root)) return [];
  const files = readdirSync(root).map((name) => join(root, name)).filter(isDirectory).flatMap(sessionFiles);
  return describe(files, onProgress, signal);
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
