/** The search of pi's session selector. */
import type { SessionInfo } from "./types.js";

export type SortMode = "threaded" | "recent" | "relevance";
export type NameFilter = "all" | "named";

export interface ParsedSearchQuery {
  mode: "tokens" | "regex";
  tokens: { kind: "fuzzy" | "phrase"; value: string }[];
  regex: RegExp | null;
  /** Set if the query is not valid. */
  error?: string;
}

export interface MatchResult {
  matches: boolean;
  /** Lower is better. */
  score: number;
}

const NO_MATCH: MatchResult = { matches: false, score: 0 };

/** Reads a query: `re:` and a regular expression, or words and quoted phrases that must all be there. */
export function parseSearchQuery(query: string): ParsedSearchQuery {
  const text = query.trim();
  if (text.startsWith("re:")) return regexQuery(text.slice(3).trim());
  // If a quote is not closed, quotes have no meaning.
  const isBalanced = (text.split('"').length - 1) % 2 === 0;
  const pieces = isBalanced ? text.split('"') : [text];
  const tokens = pieces.flatMap((piece, index): ParsedSearchQuery["tokens"] => {
    const isPhrase = index % 2 === 1;
    const values = isPhrase ? [piece.trim()] : piece.split(/\s+/);
    return values.filter((value) => value !== "").map((value) => ({ kind: isPhrase ? "phrase" : "fuzzy", value }));
  });
  return { mode: "tokens", tokens, regex: null };
}

function regexQuery(pattern: string): ParsedSearchQuery {
  const failed = (error: string): ParsedSearchQuery => ({ mode: "regex", tokens: [], regex: null, error });
  if (pattern === "") return failed("Empty regex");
  try {
    return { mode: "regex", tokens: [], regex: new RegExp(pattern, "i") };
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  }
}

/** Matches if all characters of a query are in a text in order. Runs of characters and starts of words count most. */
export function fuzzyMatch(query: string, text: string): MatchResult {
  const [wanted, searched] = [query.toLowerCase(), text.toLowerCase()];
  const found = inOrder(wanted, searched);
  if (found.matches) return found;
  // `abc12` also finds `12abc`, and the other way round.
  const [, head, tail] = /^([a-z]+)([0-9]+)$/.exec(wanted) ?? /^([0-9]+)([a-z]+)$/.exec(wanted) ?? [];
  if (head === undefined || tail === undefined) return found;
  const swapped = inOrder(tail + head, searched);
  return swapped.matches ? { matches: true, score: swapped.score + 5 } : found;
}

function inOrder(wanted: string, searched: string): MatchResult {
  let score = wanted !== "" && wanted === searched ? -100 : 0;
  let last = -1;
  let run = 0;
  for (const [index, character] of [...wanted].entries()) {
    const at = searched.indexOf(character, last + 1);
    if (at < 0) return NO_MATCH;
    // The first character of a text continues the run that is empty so far.
    if (at === last + 1 && (index > 0 || at === 0)) score -= ++run * 5;
    else {
      run = 0;
      if (last >= 0) score += (at - last - 1) * 2;
    }
    if (at === 0 || /[\s\-_./:]/.test(searched[at - 1]!)) score -= 10;
    score += at * 0.1;
    last = at;
  }
  return { matches: true, score };
}

const plain = (text: string) => text.toLowerCase().replace(/\s+/g, " ").trim();

/** Matches a session against a query. */
export function matchSession(session: SessionInfo, parsed: ParsedSearchQuery): MatchResult {
  const text = `${session.id} ${session.name ?? ""} ${session.allMessagesText} ${session.cwd}`;
  const foundAt = (index: number): MatchResult => (index < 0 ? NO_MATCH : { matches: true, score: index * 0.1 });
  if (parsed.mode === "regex") return parsed.regex ? foundAt(text.search(parsed.regex)) : NO_MATCH;
  let score = 0;
  for (const { kind, value } of parsed.tokens) {
    const found = kind === "phrase" ? foundAt(plain(text).indexOf(plain(value))) : fuzzyMatch(value, text);
    if (!found.matches) return NO_MATCH;
    score += found.score;
  }
  return { matches: true, score };
}

export function hasSessionName(session: SessionInfo): boolean {
  return Boolean(session.name?.trim());
}

/** Returns the sessions that match a query: in their order, or the best first if they are sorted by relevance. */
export function filterAndSortSessions(sessions: SessionInfo[], query: string, sortMode: SortMode, nameFilter: NameFilter = "all"): SessionInfo[] {
  const named = nameFilter === "all" ? sessions : sessions.filter(hasSessionName);
  if (query.trim() === "") return named;
  const parsed = parseSearchQuery(query);
  if (parsed.error !== undefined) return [];
  const found = named.map((session) => ({ session, ...matchSession(session, parsed) })).filter((item) => item.matches);
  if (sortMode !== "recent") {
    found.sort((a, b) => a.score - b.score || b.session.modified.getTime() - a.session.modified.getTime());
  }
  return found.map((item) => item.session);
}
