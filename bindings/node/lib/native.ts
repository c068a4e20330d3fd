/** Loads the addon. */
import { existsSync } from "node:fs";
import { join } from "node:path";

/** A value that comes from the addon: JSON, bytes, or a handle. */
export type Outcome = string | Buffer | NativeSession | NativeStore;

/** A handle to an open session. */
export interface NativeSession {
  readonly leaf: string | null;
  readonly entryCount: number;
  invoke(operation: string, args: string, data?: string[] | null, other?: NativeSession | null): Outcome;
  invokeAsync(
    operation: string,
    args: string,
    data?: string[] | null,
    other?: NativeSession | null,
    cancellation?: NativeCancellation | null,
  ): Promise<Outcome>;
  appendEntry(entry: string): void;
  hasNews(): boolean;
  has(id: string): boolean;
  onChange(listener: (change: string) => void): void;
  close(): void;
}

/** A handle to an open store. */
export interface NativeStore {
  invoke(operation: string, args: string, other?: NativeSession | null): Outcome;
  invokeAsync(
    operation: string,
    args: string,
    other?: NativeSession | null,
    cancellation?: NativeCancellation | null,
  ): Promise<Outcome>;
}

/** Tells an operation that its caller no longer waits. */
export interface NativeCancellation {
  cancel(): void;
}

interface Addon {
  invoke(operation: string, args: string, data?: string[] | null): Outcome;
  invokeAsync(
    operation: string,
    args: string,
    data?: string[] | null,
    cancellation?: NativeCancellation | null,
  ): Promise<Outcome>;
  Cancellation: new () => NativeCancellation;
}

function load(): Addon {
  const platform = `${process.platform}-${process.arch}`;
  const file = join(__dirname, "..", "prebuilds", platform, "treering.node");
  if (!existsSync(file)) {
    throw new Error(`treering: this package has no addon for ${platform}; build it with bindings/node/scripts/build.mjs`);
  }
  return require(file) as Addon;
}

export const addon: Addon = load();
