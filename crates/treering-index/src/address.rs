//! Resolves the addresses that users type for sessions.
//!
//! By age: `@latest` and `@2`, counted in the project; `@all` and `@all/2`, counted on the whole
//! machine. By word: an id or its beginning, a name or its beginning, ignoring case. Exact matches
//! come before matches of a beginning, and sessions of the project before all others. If several
//! sessions match, the error lists them.

use crate::project::Project;
use std::cmp::Reverse;
use std::collections::HashMap;
use treering::catalog::SessionInfo;

/// The maximum number of candidates for an ambiguous address, and of suggestions.
const LISTED: usize = 10;
const SUGGESTED: usize = 3;

/// The number of characters of a name that are compared to find similar ones.
const MAX_COMPARED: usize = 64;

/// The set of sessions in which an address by age counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The sessions of the project.
    Project,
    /// All sessions of the machine.
    All,
}

/// The reason why an address does not name a session.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AddressError {
    /// Several sessions match.
    #[error("{text:?} matches {count} sessions")]
    Ambiguous {
        /// The address as it was typed.
        text: String,
        /// The number of sessions that match.
        count: usize,
        /// The newest of the matching sessions.
        candidates: Vec<SessionInfo>,
    },
    /// No session matches.
    #[error("no file or session is named {text:?}")]
    Unknown {
        /// The address as it was typed.
        text: String,
        /// Similar names and ids, the most similar first.
        near: Vec<String>,
    },
    /// There are fewer sessions than the number in the address.
    #[error("there is no {text:?}: {}", count(*.has, *.scope))]
    TooFew {
        /// The address as it was typed.
        text: String,
        /// The number of sessions.
        has: usize,
        /// The set of sessions that were counted.
        scope: Scope,
    },
}

fn count(has: usize, scope: Scope) -> String {
    let of = match scope {
        Scope::Project => "this project",
        Scope::All => "this machine",
    };
    match has {
        0 => format!("{of} has no sessions"),
        1 => format!("{of} has one session"),
        _ => format!("{of} has {has} sessions"),
    }
}

/// Returns the session that `text` names. `sessions` are all sessions, newest first.
///
/// ```
/// use treering_index::{AddressError, Project, resolve};
/// let nothing = resolve("tea", &[], &Project::new("/home/me/tea"));
/// assert!(matches!(nothing, Err(AddressError::Unknown { .. })));
/// ```
pub fn resolve<'a>(
    text: &str,
    sessions: &'a [SessionInfo],
    project: &Project,
) -> Result<&'a SessionInfo, AddressError> {
    if let Some((scope, number)) = by_age(text) {
        let counted = || sessions.iter().filter(|s| scope == Scope::All || project.has(&s.cwd));
        let found = number.checked_sub(1).and_then(|before| counted().nth(before));
        let too_few = || AddressError::TooFew { text: text.into(), has: counted().count(), scope };
        return found.ok_or_else(too_few);
    }
    match by_word_in(text, &groups(sessions, project))? {
        Some(found) => Ok(found),
        None => Err(AddressError::Unknown { text: text.into(), near: near(text, sessions) }),
    }
}

/// A word that names a session, for shell completions.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Candidate<'a> {
    /// The word.
    pub text: String,
    /// The session that [`resolve`] returns for the word.
    pub session: &'a SessionInfo,
}

/// Returns the words that begin with `text` and name a session: names, the shortest ids, and ages
/// after an `@`. Sessions of the project come first. `sessions` are all sessions, newest first; at
/// most `limit` words are returned.
///
/// ```
/// use treering_index::{Project, candidates};
/// assert!(candidates("te", &[], &Project::new("/home/me/tea"), 10).is_empty());
/// ```
pub fn candidates<'a>(
    text: &str,
    sessions: &'a [SessionInfo],
    project: &Project,
    limit: usize,
) -> Vec<Candidate<'a>> {
    let groups = groups(sessions, project);
    if text.starts_with('@') {
        let word = |first: &str, more: &str, at: usize| match at {
            0 => first.to_owned(),
            _ => format!("{more}{}", at + 1),
        };
        let here = groups.first().into_iter().flatten().copied().enumerate();
        let here = here.map(|(at, session)| (word("@latest", "@", at), session));
        let all = sessions.iter().enumerate();
        let all = all.map(|(at, session)| (word("@all", "@all/", at), session));
        let fits = |(word, _): &(String, &SessionInfo)| word.starts_with(text);
        return here
            .take(LISTED)
            .chain(all.take(LISTED))
            .filter(fits)
            .take(limit)
            .map(|(text, session)| Candidate { text, session })
            .collect();
    }
    let (ids, lower) = (short_ids(sessions), text.to_lowercase());
    let mut found = Vec::new();
    for session in groups.iter().flatten().copied() {
        let id = session.id.as_str();
        let short = ids.get(id).copied().filter(|short| short.len() >= text.len());
        let id = Some(short.unwrap_or(id)).filter(|id| id.starts_with(text));
        let name = session.name.as_deref();
        let name = name.filter(|name| name.to_lowercase().starts_with(&lower));
        for word in name.into_iter().chain(id) {
            // A word that names another session, or several, is not offered.
            let meant = by_word_in(word, &groups).ok().flatten();
            if meant.is_some_and(|meant| meant.path == session.path) {
                found.push(Candidate { text: word.to_owned(), session });
            }
        }
        if found.len() >= limit {
            break;
        }
    }
    found.truncate(limit);
    found
}

/// Returns the sessions of the project, and all others.
fn groups<'a>(sessions: &'a [SessionInfo], project: &Project) -> [Vec<&'a SessionInfo>; 2] {
    let (here, elsewhere) = sessions.iter().partition(|session| project.has(&session.cwd));
    [here, elsewhere]
}

fn by_word_in<'a>(
    text: &str,
    groups: &[Vec<&'a SessionInfo>],
) -> Result<Option<&'a SessionInfo>, AddressError> {
    for group in groups {
        if let Some(found) = by_word(text, group)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Parses `@latest`, `@3`, `@all`, `@all/3`: the set of sessions, and the number counted from one.
fn by_age(text: &str) -> Option<(Scope, usize)> {
    let (scope, number) = match text.strip_prefix('@')? {
        "latest" => return Some((Scope::Project, 1)),
        "all" | "all/latest" => return Some((Scope::All, 1)),
        rest => match rest.strip_prefix("all/") {
            Some(number) => (Scope::All, number),
            None => (Scope::Project, rest),
        },
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    // A number that is too large to count is larger than the number of sessions.
    is_number.then(|| (scope, number.parse().unwrap_or(usize::MAX)))
}

/// The ways in which a word can match, the closest first.
const MATCHERS: [fn(&SessionInfo, &str, &str) -> bool; 5] = [
    |session, text, _| session.id == text,
    |session, text, _| session.name.as_deref() == Some(text),
    |session, _, lower| session.name.as_ref().is_some_and(|name| name.to_lowercase() == lower),
    |session, text, _| session.id.as_str().starts_with(text),
    |session, _, lower| {
        session.name.as_ref().is_some_and(|name| name.to_lowercase().starts_with(lower))
    },
];

fn by_word<'a>(
    text: &str,
    sessions: &[&'a SessionInfo],
) -> Result<Option<&'a SessionInfo>, AddressError> {
    if text.is_empty() {
        return Ok(None);
    }
    let lower = text.to_lowercase();
    for fits in MATCHERS {
        let mut fitting = sessions.iter().filter(|session| fits(session, text, &lower));
        let Some(first) = fitting.next() else { continue };
        let more: Vec<&&SessionInfo> = fitting.collect();
        if more.is_empty() {
            return Ok(Some(first));
        }
        let all = std::iter::once(first).chain(more.iter().copied());
        let candidates = all.take(LISTED).map(|session| (*session).clone()).collect();
        return Err(AddressError::Ambiguous {
            text: text.into(),
            count: more.len() + 1,
            candidates,
        });
    }
    Ok(None)
}

/// Returns names and ids that the user may have meant.
fn near(text: &str, sessions: &[SessionInfo]) -> Vec<String> {
    let wanted: Vec<char> = text.to_lowercase().chars().take(MAX_COMPARED).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let most = (wanted.len() / 3).max(1);
    let mut found: Vec<(usize, Reverse<i64>, &str)> = Vec::new();
    for session in sessions {
        for word in session.name.as_deref().into_iter().chain([session.id.as_str()]) {
            let lower = word.to_lowercase();
            let chars: Vec<char> = lower.chars().take(MAX_COMPARED).collect();
            // A word may be the beginning of a long name, or be in the middle of it.
            let start = chars.get(..wanted.len()).unwrap_or(&chars);
            let mut away = distance(&wanted, &chars).min(distance(&wanted, start));
            if wanted.len() > 2 && lower.contains(&*text.to_lowercase()) {
                away = away.min(1);
            }
            if away <= most {
                found.push((away, Reverse(session.modified), word));
            }
        }
    }
    found.sort();
    let mut near: Vec<String> = Vec::new();
    for (_, _, word) in found {
        if near.len() < SUGGESTED && !near.iter().any(|known| known == word) {
            near.push(word.to_owned());
        }
    }
    near
}

/// Returns how many characters have to be inserted, removed or changed to turn one text into the
/// other.
///
/// ```
/// let chars = |text: &str| text.chars().collect::<Vec<_>>();
/// assert_eq!(treering_index::distance(&chars("kitten"), &chars("sitting")), 3);
/// ```
pub fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (before, from) in a.iter().enumerate() {
        let mut diagonal = before;
        let mut left = before + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (to, above) in b.iter().zip(row.iter_mut().skip(1)) {
            let change = diagonal + usize::from(from != to);
            diagonal = *above;
            left = change.min(left + 1).min(diagonal + 1);
            *above = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// Returns the shortest unique prefix of every id, of at least eight characters.
pub fn short_ids(sessions: &[SessionInfo]) -> HashMap<&str, &str> {
    const SHORTEST: usize = 8;
    let mut ids: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let common = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let mut short = HashMap::new();
    let mut before = 0;
    for (at, id) in ids.iter().enumerate() {
        let after = ids.get(at + 1).map_or(0, |next| common(id, next));
        let mut end = (before.max(after) + 1).max(SHORTEST).min(id.len());
        while !id.is_char_boundary(end) {
            end += 1;
        }
        short.insert(*id, id.get(..end).unwrap_or(id));
        before = after;
    }
    short
}

#[cfg(test)]
mod tests;
