/** The files that oh-my-pi keeps beside its sessions: artifacts, drafts and blobs. */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { access, cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { call } from "../call.js";
import { resolvePath } from "../pi/paths.js";

/** Returns the directory of a project's sessions. */
export function defaultSessionDir(cwd: string): string {
  const dir = call<string | null>("destination", { dialect: "omp", cwd: resolvePath(cwd), home: process.env["HOME"] });
  if (dir === null) throw new Error("oh-my-pi has no directory for sessions here: pass one");
  return dir;
}

/** Returns the directory of a project's sessions beside that of another project, if that one has its default name. */
export function siblingSessionDir(sessionDir: string, cwd: string, newCwd: string): string {
  const dir = defaultSessionDir(newCwd);
  return basename(sessionDir) === basename(defaultSessionDir(cwd)) ? join(dirname(sessionDir), basename(dir)) : dir;
}

/** Returns the directory of the files that belong to a session; null for a file that oh-my-pi would not write. */
export function artifactsDirFor(sessionFile: string | undefined): string | null {
  return sessionFile?.endsWith(".jsonl") ? sessionFile.slice(0, -".jsonl".length) : null;
}

/** Moves the files of a session. A file that already exists in the new directory is not replaced. */
export async function moveArtifacts(from: string | null, to: string | null): Promise<void> {
  if (from === null || to === null || from === to || !existsSync(from)) return;
  await mkdir(dirname(to), { recursive: true });
  if (!existsSync(to)) return rename(from, to);
  await cp(from, to, { recursive: true, force: false, errorOnExist: false });
  await rm(from, { recursive: true, force: true });
}

/** Outputs of tools that are too large for a session, numbered, in the session's directory. */
export class ArtifactManager {
  #next = 0;
  #ready: Promise<void> | undefined;

  constructor(readonly dir: string) {}

  /** Creates the directory, and finds the first number that is free. */
  async #prepare(): Promise<void> {
    await mkdir(this.dir, { recursive: true });
    const taken = (await this.listFiles()).map((name) => Number(/^(\d+)\..*\.log$/.exec(name)?.[1] ?? -1));
    this.#next = taken.reduce((a, b) => Math.max(a, b), -1) + 1;
  }

  allocateId(): number {
    return this.#next++;
  }
  /** Reserves a path. The file does not exist yet. */
  async allocatePath(toolType: string): Promise<{ id: string; path: string }> {
    await (this.#ready ??= this.#prepare());
    const id = String(this.allocateId());
    return { id, path: join(this.dir, `${id}.${fileNamePart(toolType)}.log`) };
  }
  /** Writes an artifact, whole or not at all. Returns its id. */
  async save(content: string, toolType: string): Promise<string> {
    const { id, path } = await this.allocatePath(toolType);
    const staged = `${path}.tmp-${randomUUID()}`;
    try {
      await writeFile(staged, content);
      await rename(staged, path);
    } catch (error) {
      await rm(staged, { force: true });
      throw error;
    }
    return id;
  }
  async exists(id: string): Promise<boolean> {
    return (await this.getPath(id)) !== null;
  }
  async listFiles(): Promise<string[]> {
    return readdir(this.dir).catch(() => []);
  }
  async getPath(id: string): Promise<string | null> {
    const name = (await this.listFiles()).find((name) => name.startsWith(`${id}.`));
    return name === undefined ? null : join(this.dir, name);
  }
}

/** Names of tools may contain characters that names of files may not. */
function fileNamePart(toolType: string): string {
  return toolType.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 64).replace(/^_+|_+$/g, "") || "tool";
}

export interface BlobPutOptions {
  /** A suffix for a second name of the file, for programs that go by it. */
  extension?: string;
}

export interface BlobPutResult {
  hash: string;
  path: string;
  /** The path with the extension. */
  displayPath: string;
  /** The reference to the blob in entries. */
  readonly ref: string;
}

/** Data that is shared by all sessions, each under its SHA-256. */
export class BlobStore {
  constructor(readonly dir: string) {}

  async put(data: Uint8Array, options?: BlobPutOptions): Promise<BlobPutResult> {
    const result = this.#name(data, options);
    await mkdir(this.dir, { recursive: true });
    await writeFile(result.path, data);
    this.#link(result, data);
    return result;
  }
  putSync(data: Uint8Array, options?: BlobPutOptions): BlobPutResult {
    const result = this.#name(data, options);
    mkdirSync(this.dir, { recursive: true });
    writeFileSync(result.path, data);
    this.#link(result, data);
    return result;
  }
  /** Returns a blob; null if there is none. */
  async get(hash: string): Promise<Buffer | null> {
    return readFile(this.#path(hash)).catch(absent);
  }
  getSync(hash: string): Buffer | null {
    try {
      return readFileSync(this.#path(hash));
    } catch (error) {
      return absent(error);
    }
  }
  async has(hash: string): Promise<boolean> {
    return access(this.#path(hash)).then(() => true, () => false);
  }

  #path(hash: string): string {
    if (!/^[a-f0-9]{64}$/.test(hash)) throw new Error(`${JSON.stringify(hash)} is not the SHA-256 of a blob`);
    return join(this.dir, hash);
  }
  #name(data: Uint8Array, options: BlobPutOptions | undefined): BlobPutResult {
    const hash = createHash("sha256").update(data).digest("hex");
    const path = join(this.dir, hash);
    const extension = /^\.?([a-zA-Z0-9][a-zA-Z0-9._-]{0,31})$/.exec(options?.extension ?? "")?.[1]?.toLowerCase();
    return { hash, path, displayPath: extension ? `${path}.${extension}` : path, ref: `blob:sha256:${hash}` };
  }
  #link({ path, displayPath }: BlobPutResult, data: Uint8Array): void {
    if (displayPath === path || existsSync(displayPath)) return;
    try {
      linkSync(path, displayPath);
    } catch {
      // Not every file system has links.
      writeFileSync(displayPath, data);
    }
  }
}

function absent(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
  throw error;
}

/** Returns the store of oh-my-pi on this machine. */
export function defaultBlobs(): BlobStore {
  return new BlobStore(join(dirname(dirname(defaultSessionDir("/"))), "blobs"));
}
