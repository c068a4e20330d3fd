/** Calls of the addon: arguments to JSON, results to values, cancellation. */
import { fileURLToPath } from "node:url";
import { fromNative } from "./errors.js";
import { addon, type NativeCancellation, type NativeSession, type NativeStore, type Outcome } from "./native.js";

/** Options of asynchronous calls. */
export interface Abortable {
  /** Aborts the call. An operation that has begun may still complete. */
  signal?: AbortSignal | undefined;
}

/** Arguments of an operation. */
export type Args = object;

/** Returns arguments as JSON; members that are undefined are absent. */
export function encode(args: Args | undefined): string {
  if (args === undefined) return "";
  // A signal is no argument of an operation.
  const own = "signal" in args ? { ...args, signal: undefined } : args;
  const json = JSON.stringify(own);
  return json.includes('"file:') || json.includes("\\ud") ? JSON.stringify(own, asText) : json;
}

/** Turns `file:` URLs into paths, and halves of surrogate pairs, which UTF-8 does not have, into U+FFFD. */
function asText(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const own = this[key];
  if (own instanceof URL && own.protocol === "file:") return fileURLToPath(own);
  return typeof value === "string" ? Buffer.from(value).toString() : value;
}

/** Returns the value of a result. */
export function decode<T>(outcome: Outcome): T {
  return (typeof outcome === "string" ? JSON.parse(outcome) : outcome) as T;
}

/** Makes a call and translates its error. */
export function guarded<T>(call: () => Outcome): T {
  let outcome: Outcome;
  try {
    outcome = call();
  } catch (error) {
    throw fromNative(error);
  }
  return decode<T>(outcome);
}

/** Waits for a call, as long as the signal is not aborted. */
export async function awaited<T>(
  signal: AbortSignal | undefined,
  call: (cancellation: NativeCancellation | null) => Promise<Outcome>,
): Promise<T> {
  signal?.throwIfAborted();
  const cancellation = signal ? new addon.Cancellation() : null;
  let promise: Promise<Outcome>;
  try {
    promise = call(cancellation);
  } catch (error) {
    throw fromNative(error);
  }
  if (!signal || !cancellation) return promise.then(decode<T>, rethrow);
  let abort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => {
      cancellation.cancel();
      reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
  });
  try {
    return decode<T>(await Promise.race([promise, aborted]));
  } catch (error) {
    throw fromNative(error);
  } finally {
    if (abort) signal.removeEventListener("abort", abort);
    promise.catch(() => undefined);
  }
}

function rethrow(error: unknown): never {
  throw fromNative(error);
}

/** Runs an operation of the module. */
export function call<T>(operation: string, args?: Args, data?: string[]): T {
  return guarded<T>(() => addon.invoke(operation, encode(args), data));
}

/** Runs an operation of the module off the main thread. */
export function callAsync<T>(operation: string, args?: Args, data?: string[]): Promise<T> {
  return awaited<T>(signalOf(args), (cancellation) => addon.invokeAsync(operation, encode(args), data, cancellation));
}

/** Runs an operation on a session. */
export function callSession<T>(session: NativeSession, operation: string, args?: Args, data?: string[], other?: NativeSession): T {
  return guarded<T>(() => session.invoke(operation, encode(args), data, other));
}

/** Returns the number of entries of a session. */
export function entryCountOf(session: NativeSession): number {
  try {
    return session.entryCount;
  } catch (error) {
    throw fromNative(error);
  }
}

/** Returns whether a session has an entry of exactly this id. */
export function hasEntry(session: NativeSession, id: string): boolean {
  try {
    return session.has(id);
  } catch (error) {
    throw fromNative(error);
  }
}

/** Runs an operation on a session off the main thread. */
export function callSessionAsync<T>(
  session: NativeSession,
  operation: string,
  args?: Args,
  data?: string[],
  other?: NativeSession,
): Promise<T> {
  return awaited<T>(signalOf(args), (cancellation) =>
    session.invokeAsync(operation, encode(args), data, other, cancellation),
  );
}

/** Runs an operation on a store. */
export function callStore<T>(store: NativeStore, operation: string, args?: Args, other?: NativeSession): T {
  return guarded<T>(() => store.invoke(operation, encode(args), other));
}

/** Runs an operation on a store off the main thread. */
export function callStoreAsync<T>(store: NativeStore, operation: string, args?: Args, other?: NativeSession): Promise<T> {
  return awaited<T>(signalOf(args), (cancellation) => store.invokeAsync(operation, encode(args), other, cancellation));
}

function signalOf(args: Args | undefined): AbortSignal | undefined {
  return (args as Abortable | undefined)?.signal;
}
