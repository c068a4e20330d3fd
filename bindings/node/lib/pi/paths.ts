/** The paths of pi's sessions. */
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { readHeader } from "./entries.js";

/** Replaces a leading `~` by the home directory. */
export function normalizePath(path: string): string {
  if (path === "~") return homedir();
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
}

/** Returns an absolute path. */
export function resolvePath(path: string): string {
  return resolve(normalizePath(path));
}

/** Returns pi's directory: `PI_CODING_AGENT_DIR`, or `~/.pi/agent`. */
export function getAgentDir(): string {
  const named = process.env["PI_CODING_AGENT_DIR"];
  return named ? normalizePath(named) : join(homedir(), ".pi", "agent");
}

/** Returns the directory of all sessions. */
export function getSessionsDir(): string {
  return join(getAgentDir(), "sessions");
}

/** Returns the directory of a project's sessions, without creating it. */
export function defaultSessionDirPath(cwd: string, agentDir: string = getAgentDir()): string {
  const name = resolvePath(cwd).replace(/^[/\\]/, "").replace(/[/\\:]/g, "-");
  return join(resolvePath(agentDir), "sessions", `--${name}--`);
}

/** Returns the directory of a project's sessions, which exists afterwards. */
export function getDefaultSessionDir(cwd: string, agentDir: string = getAgentDir()): string {
  const dir = defaultSessionDirPath(cwd, agentDir);
  if (!existsSync(dir)) mkdirSync(dir, { recursive: true });
  return dir;
}

/** Returns the session files of a directory. */
export function sessionFiles(dir: string): string[] {
  // A directory may have thousands of files: the path before their names is built once.
  const before = join(dir, "_").slice(0, -1);
  return readdirSync(dir).filter((name) => name.endsWith(".jsonl")).map((name) => before + name);
}

/** Returns whether a session belongs to a project. */
export function isOfProject(cwd: unknown, project: string): boolean {
  return typeof cwd === "string" && cwd !== "" && resolvePath(cwd) === project;
}

/** Returns the session file of a directory that was changed last; only one of a project if `cwd` is given. */
export function findMostRecentSession(sessionDir: string, cwd?: string): string | null {
  const project = cwd === undefined ? undefined : resolvePath(cwd);
  try {
    const files = sessionFiles(normalizePath(sessionDir)).map((path) => ({ path, time: statSync(path).mtimeMs }));
    files.sort((a, b) => b.time - a.time);
    for (const { path } of files) {
      const header = readHeader(path);
      if (header && (project === undefined || isOfProject(header.cwd, project))) return path;
    }
  } catch {
    // Files may be deleted while a directory is read; they are left out.
  }
  return null;
}

/** Throws unless a text can be the id of a session. */
export function assertValidSessionId(id: string): void {
  if (!/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(id)) {
    throw new Error(
      `the session id ${JSON.stringify(id)} is not valid: use letters, digits, '-', '_' and '.', with a letter or digit at both ends`,
    );
  }
}
