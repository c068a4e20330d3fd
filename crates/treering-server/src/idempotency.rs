//! Makes calls repeatable: the ids of new entries and sessions are derived from the client's key,
//! so that a repeated call finds them in the log. Nothing is stored for this, and every node gives
//! the same answer, even after a restart.

use crate::problem::Problem;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use treering::internal::hex;
use treering::{Entry, EntryId, Session, SessionId};

/// Returns the hash of a key and its purpose.
fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// Returns the id of the entry at an index in an append with this key: 16 hexadecimal digits. The
/// usual 8 digits would collide in large sessions, and a new entry would then look like a repeated
/// one.
pub(crate) fn entry_id(session: &SessionId, key: &str, at: usize) -> EntryId {
    let at = (at as u64).to_le_bytes();
    let hash = hash(&[b"entry", session.as_str().as_bytes(), key.as_bytes(), &at]);
    EntryId::from(hex(&hash[..8]))
}

/// Returns the id of the session that is created with this key: a UUID of version 8.
pub(crate) fn session_id(space: &str, key: &str) -> Result<SessionId, Problem> {
    uuid(hash(&[b"session", space.as_bytes(), key.as_bytes()]))
}

/// Returns the id of the fork of a session that is made with this key. As for entries, the key
/// belongs to the session: the same key means another fork in another session.
pub(crate) fn fork_id(space: &str, session: &SessionId, key: &str) -> Result<SessionId, Problem> {
    uuid(hash(&[b"fork", space.as_bytes(), session.as_str().as_bytes(), key.as_bytes()]))
}

fn uuid(mut hash: [u8; 32]) -> Result<SessionId, Problem> {
    hash[6] = hash[6] & 0x0F | 0x80;
    hash[8] = hash[8] & 0x3F | 0x80;
    let part = |from: usize, to: usize| hex(&hash[from..to]);
    let id = [part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 16)].join("-");
    crate::call::session_id(&id)
}

/// The result of comparing entries with those that a session has.
pub(crate) enum Repeated {
    /// The session has all of them, with the same content.
    Same,
    /// The session has only some of them, or with other content.
    Other,
}

/// Compares entries that were sent with those of the same ids in the session. Returns `None` if the
/// session has none of them. If it has the entry `next`, the first call had more entries.
pub(crate) fn compare(
    session: &Session,
    ids: &[Option<EntryId>],
    sent: &[Members],
    next: Option<&EntryId>,
) -> treering::Result<Option<Repeated>> {
    let tree = session.tree();
    let is_there = |id: &Option<EntryId>| id.as_ref().is_some_and(|id| tree.contains(id));
    if !ids.iter().any(is_there) {
        return Ok(None);
    }
    let mut reader = session.reader();
    for (id, sent) in ids.iter().zip(sent) {
        let Some(id) = id.as_ref().filter(|id| tree.contains(id)) else {
            return Ok(Some(Repeated::Other));
        };
        if !is_same(&reader.entry(id)?, sent) {
            return Ok(Some(Repeated::Other));
        }
    }
    let has_more = next.is_some_and(|next| tree.contains(next));
    Ok(Some(if has_more { Repeated::Other } else { Repeated::Same }))
}

/// The members of an entry, unread: strings may have unpaired surrogates, as those of JavaScript
/// do, and values may be nested to any depth.
pub(crate) type Members = BTreeMap<String, Box<RawValue>>;

/// Returns whether an entry has the content that was sent. The server chooses id, parent and time
/// if the client does not.
fn is_same(entry: &Entry, sent: &Members) -> bool {
    let Ok(stored) = serde_json::from_slice::<Members>(entry.raw()) else { return false };
    let is_chosen = |name: &str| matches!(name, "id" | "parentId" | "timestamp");
    let content = |members: &Members| members.keys().filter(|name| !is_chosen(name)).count();
    let is_stored = |name: &String, value: &RawValue| {
        stored.get(name).is_some_and(|stored| is_equal(stored, value))
    };
    content(&stored) == content(sent)
        && sent
            .iter()
            .all(|(name, value)| is_chosen(name) && name != "parentId" || is_stored(name, value))
}

/// Returns whether two values are equal. Values that differ in spelling are compared as far as they
/// can be read.
fn is_equal(one: &RawValue, other: &RawValue) -> bool {
    let read = |value: &RawValue| serde_json::from_str::<Value>(value.get()).ok();
    one.get() == other.get() || read(one).is_some_and(|one| Some(one) == read(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_depend_on_session_key_and_place() {
        let (one, two) = (SessionId::new("one").unwrap(), SessionId::new("two").unwrap());
        let id = entry_id(&one, "key", 0);
        assert_eq!(id.as_str().len(), 16);
        assert_eq!(id, entry_id(&one, "key", 0));
        for other in [entry_id(&two, "key", 0), entry_id(&one, "kez", 0), entry_id(&one, "key", 1)]
        {
            assert_ne!(id, other);
        }
        let session = session_id("main", "key").unwrap();
        assert_eq!(session.as_str().len(), 36);
        assert_ne!(session, session_id("other", "key").unwrap());
        let fork = fork_id("main", &one, "key").unwrap();
        assert_ne!(fork, session);
        assert_ne!(fork, fork_id("main", &two, "key").unwrap());
    }
}
