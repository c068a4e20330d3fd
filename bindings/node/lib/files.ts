/** Functions on files and directories of sessions. */
import { type Abortable, call, callAsync } from "./call.js";
import type { Diagnosis, Dialect, FilePath, Listing, Position, Report, SearchOptions, SearchResult, SessionInfo } from "./types.js";

/** A directory of sessions, or a directory of such directories, one a project. */
export type Directory = { dir: FilePath } | { root: FilePath };

/** Lists sessions, the newest first: of one project if `cwd` is given. */
export function listSessions(directory: Directory, options: { cwd?: FilePath } & Abortable = {}): Promise<Listing> {
  return callAsync("list", { ...directory, ...options });
}

/** Describes the session in a file. */
export function sessionInfo(path: FilePath, options: Abortable = {}): Promise<SessionInfo> {
  return callAsync("info", { path, ...options });
}

/** Describes the sessions in some files, in their order; null for a file that is no session. */
export function sessionInfos(paths: FilePath[], options: Abortable = {}): Promise<(SessionInfo | null)[]> {
  return callAsync("listFiles", { paths, ...options });
}

/** Returns the file of the session with this id; null if there is none. */
export function findSession(directory: Directory, id: string, options: Abortable = {}): Promise<string | null> {
  return callAsync("findById", { ...directory, id, ...options });
}

/** Returns the directory of a project's sessions. */
export function directoryFor(directory: Directory, cwd: FilePath): string {
  return call("directoryFor", { ...directory, cwd });
}

/** Returns all findings of a file. */
export function examine(path: FilePath, options: Abortable = {}): Promise<Diagnosis> {
  return callAsync("examine", { path, ...options });
}

/** Plans the repair of a file and changes nothing. */
export function planRepair(path: FilePath, options: Abortable = {}): Promise<Report> {
  return callAsync("planRepair", { path, ...options });
}

/** Repairs a file: as a copy beside it, as a copy at `to`, or in place, where the old file is kept as a backup. */
export function repair(path: FilePath, options: { to?: FilePath; inPlace?: boolean } & Abortable = {}): Promise<Report> {
  return callAsync("repair", { path, ...options });
}

/** Writes the session in a file as a session of another agent. */
export function convert(path: FilePath, to: FilePath, dialect: Dialect, options: { pathTo?: Position } & Abortable = {}): Promise<Report> {
  return callAsync("convert", { path, to, dialect, ...options });
}

/** Searches the sessions in some directories, or all sessions of all agents on this machine. */
export function search(query: string, options: { directories?: FilePath[] } & SearchOptions & Abortable = {}): Promise<SearchResult> {
  return callAsync("search", { query, ...options });
}

/** Options of usage reports. */
export interface UsageOptions {
  directories?: FilePath[];
  groupBy?: "day" | "week" | "month" | "session" | "model" | "project" | "agent";
  /** The time zone of days, such as `UTC`. */
  zone?: string;
  since?: number;
  until?: number;
}

/** Counts the usage of all sessions in some directories, or of all agents on this machine, each request once. */
export function usageReport(options: UsageOptions & Abortable = {}): Promise<Report> {
  return callAsync("usage", options);
}

/** The version of the library. */
export const version: string = call("version");
