/** Errors of treering. */

/** The kinds of errors that programs treat differently. */
export type ErrorCategory = "NotFound" | "Conflict" | "Invalid" | "ReadOnly" | "Format" | "Storage";

/**
 * An operation that failed. `code` is stable, the message is not; nothing was changed unless the code says so.
 */
export class TreeringError extends Error {
  override readonly name = "TreeringError";
  /** The stable name of the error, such as `unknown_entry` or `leaf_moved`. */
  readonly code: string;
  /** The kind of the error. */
  readonly category: ErrorCategory;
  /** The facts that the message names. */
  readonly details: Record<string, unknown>;
  /** Whether the same call may succeed later. */
  readonly isRetryable: boolean;
  /** The number of the error in the operating system. */
  readonly errno: number | undefined;

  constructor(code: string, message: string, facts: Partial<Pick<TreeringError, "category" | "details" | "isRetryable" | "errno">> = {}) {
    super(message);
    this.code = code;
    this.category = facts.category ?? "Invalid";
    this.details = facts.details ?? {};
    this.isRetryable = facts.isRetryable ?? false;
    this.errno = facts.errno;
  }
}

/** Returns the error that callers get for one of the addon. */
export function fromNative(error: unknown): unknown {
  if (!(error instanceof Error) || !error.message.startsWith('{"code":')) return error;
  const { code, message, category, details, isRetryable, errno } = JSON.parse(error.message);
  return new TreeringError(code, message, { category, details, isRetryable, errno: errno ?? undefined });
}
