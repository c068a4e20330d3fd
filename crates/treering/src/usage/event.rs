//! Decides which usage events are the same.
//!
//! The first rule that applies identifies an event:
//!
//! 1. The provider's name of the response. Claude Code's records have its id (`message.id`, with
//!    `requestId`), and all records with the same one are one event. Elsewhere an answer may have a
//!    `responseId`; as some providers give every response the same, its token counts are part of the
//!    name.
//! 2. A count with a running total (Codex) is named by that total, within the family of the
//!    session: as long as the total stays the same, nothing was used. A fork begins with the counts
//!    of its parent, at new times; unrelated sessions may have equal totals.
//! 3. The entry's id, time and token counts: copies in forks keep them, even if they have another
//!    parent. If the file has no ids, time and counts are enough; if it has no times either, the id
//!    that treering gave the entry counts, within the family.
//!
//! An entry with `copiedFrom` repeats another entry's event, and has none of its own.

use super::read::Usage;
use foldhash::SharedSeed;
use foldhash::quality::SeedableRandomState;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// The identity of an event or an entry among all sessions that are counted together: a hash, which
/// is comparable only within the same [`EventHasher`].
pub(super) type Key = u128;

/// The seed of the hashes that name events, so that no file can be made to collide with another.
/// Names are comparable only if they have the same seed.
///
/// ```
/// use treering::usage::EventSeed;
/// let seed = EventSeed::random();
/// assert_eq!(EventSeed::from_bytes(seed.to_bytes()), seed);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSeed([u64; 2]);

impl EventSeed {
    /// Creates a new seed.
    pub fn random() -> Self {
        EventSeed([0_u64, 1].map(|number| RandomState::new().hash_one(number)))
    }

    /// Creates the seed with these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let number = u128::from_le_bytes(bytes);
        EventSeed([number as u64, (number >> 64) as u64])
    }

    /// Returns the seed as bytes.
    pub fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.0[1]) << 64 | u128::from(self.0[0])).to_le_bytes()
    }
}

/// The name of an event, which is the same in every copy and differs from those of all other
/// events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventName {
    pub hash: u128,
    /// Whether the name is unique only within a family of sessions.
    pub is_in_family: bool,
}

/// The property that identifies an event.
#[derive(Debug, Clone, Copy)]
pub(super) enum Identity<'a> {
    /// The id of the response: all its records are one event, even if their counts differ.
    Response(&'a [u8]),
    /// The id of the response together with the token counts.
    Request(&'a [u8]),
    /// A running total of tokens.
    Total([u64; 4]),
    /// The entry itself: its id, time and counts.
    Entry,
}

/// The properties of an entry that copies of it keep.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventSource<'a> {
    pub id: &'a [u8],
    /// Whether the id is derived and not in the file.
    pub is_derived: bool,
    pub time: Option<i64>,
}

/// Computes the names of events.
#[derive(Debug, Clone)]
pub(super) struct EventHasher {
    low: SeedableRandomState,
    high: SeedableRandomState,
}

impl Default for EventHasher {
    fn default() -> Self {
        EventHasher::new(EventSeed::random())
    }
}

impl EventHasher {
    pub(super) fn new(EventSeed([low, high]): EventSeed) -> Self {
        let state = |seed| SeedableRandomState::with_seed(seed, SharedSeed::global_fixed());
        EventHasher { low: state(low), high: state(high) }
    }

    fn hash(&self, parts: &[&[u8]]) -> Key {
        u128::from(self.high.hash_one(parts)) << 64 | u128::from(self.low.hash_one(parts))
    }

    pub(super) fn event(
        &self,
        identity: Identity<'_>,
        usage: &Usage,
        place: EventSource<'_>,
    ) -> EventName {
        let counts = numbers([usage.input, usage.output, usage.cache_read, usage.cache_write]);
        let everywhere = |hash| EventName { hash, is_in_family: false };
        match identity {
            Identity::Response(name) => everywhere(self.hash(&[b"response", name])),
            Identity::Request(name) => everywhere(self.hash(&[b"request", name, &counts])),
            Identity::Total(total) => {
                EventName { hash: self.hash(&[b"total", &numbers(total)]), is_in_family: true }
            }
            Identity::Entry => self.hash_place(b"used", place, &counts),
        }
    }

    /// Returns the name of an entry, independent of its usage.
    pub(super) fn entry(&self, place: EventSource<'_>, len: u64) -> EventName {
        // Entries without an id and with the same time are distinguished by their length.
        let len = if place.is_derived { len } else { 0 };
        self.hash_place(b"entry", place, &len.to_le_bytes())
    }

    fn hash_place(&self, kind: &[u8], place: EventSource<'_>, more: &[u8]) -> EventName {
        let time = place.time.unwrap_or(i64::MIN).to_le_bytes();
        let (hash, is_in_family) = match (place.is_derived, place.time) {
            (false, _) => (self.hash(&[kind, place.id, &time, more]), false),
            (true, Some(_)) => (self.hash(&[kind, &time, more]), false),
            (true, None) => (self.hash(&[kind, place.id, more]), true),
        };
        EventName { hash, is_in_family }
    }

    /// Returns the key of a name in a session of a family.
    pub(super) fn key(&self, name: EventName, family: &str) -> Key {
        match name.is_in_family {
            true => self.hash(&[b"family", family.as_bytes(), &name.hash.to_le_bytes()]),
            false => name.hash,
        }
    }
}

fn numbers(numbers: [u64; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (slot, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        slot.copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

/// Families of sessions that were forked from the same one, according to their headers. The result
/// is exact if parents are added before their forks; otherwise it depends on the sessions added so
/// far.
#[derive(Debug, Default)]
pub(super) struct Families(HashMap<String, String>);

impl Families {
    /// Returns the family of a session, whose parent is `parent`.
    pub(super) fn of(&mut self, id: &str, parent: Option<&str>) -> String {
        let oldest = parent.unwrap_or(id);
        let known = self.0.get(id).or_else(|| self.0.get(oldest));
        let family = known.map_or(oldest, String::as_str).to_owned();
        for member in [id, oldest] {
            self.0.entry(member.to_owned()).or_insert_with(|| family.clone());
        }
        family
    }
}

/// Returns the families of sessions, given the ids of sessions and of their parents. Sessions that
/// are connected by parents have the same family, in any order. A session that is not among them is
/// a family of its own.
pub(super) fn families<'a>(
    sessions: impl Iterator<Item = (&'a str, Option<&'a str>)> + Clone,
) -> HashMap<&'a str, &'a str> {
    fn root<'a>(families: &HashMap<&'a str, &'a str>, mut id: &'a str) -> &'a str {
        while let Some(above) = families.get(id).filter(|above| **above != id) {
            id = above;
        }
        id
    }
    let mut families: HashMap<&'a str, &'a str> = HashMap::new();
    for (id, parent) in sessions.clone() {
        let Some(parent) = parent else { continue };
        let (one, other) = (root(&families, id), root(&families, parent));
        families.insert(one.max(other), one.min(other));
        // The path is shortened for the next lookup.
        families.insert(id, root(&families, id));
    }
    let ids: Vec<&str> = families.keys().copied().collect();
    ids.into_iter().map(|id| (id, root(&families, id))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: EventSource<'static> = EventSource { id: b"a1", is_derived: false, time: Some(5) };

    #[test]
    fn what_is_the_same_has_the_same_name_and_nothing_else_has() {
        let namer = EventHasher::default();
        let (one, two) =
            (Usage { input: 1, ..Usage::default() }, Usage { input: 2, ..Usage::default() });
        let elsewhere = EventSource { id: b"b2", time: Some(6), ..PLACE };
        let event = |identity, usage: &Usage, place, family| {
            namer.key(namer.event(identity, usage, place), family)
        };
        use Identity::{Entry, Request, Response, Total};
        let same = [
            (
                event(Response(b"r"), &one, PLACE, "root"),
                event(Response(b"r"), &two, elsewhere, "other"),
            ),
            (
                event(Request(b"r"), &one, PLACE, "root"),
                event(Request(b"r"), &one, elsewhere, "other"),
            ),
            (
                event(Total([1, 2, 3, 4]), &one, PLACE, "root"),
                event(Total([1, 2, 3, 4]), &two, EventSource { time: None, ..PLACE }, "root"),
            ),
            (event(Entry, &one, PLACE, "root"), event(Entry, &one, PLACE, "other")),
            (
                event(Entry, &one, EventSource { is_derived: true, ..PLACE }, "root"),
                event(Entry, &one, EventSource { id: b"b2", is_derived: true, ..PLACE }, "root"),
            ),
        ];
        for (at, (left, right)) in same.into_iter().enumerate() {
            assert_eq!(left, right, "{at}");
        }
        let timeless = EventSource { is_derived: true, time: None, ..PLACE };
        let different = [
            event(Response(b"r"), &one, PLACE, "root"),
            event(Response(b"r2"), &one, PLACE, "root"),
            event(Request(b"r"), &one, PLACE, "root"),
            event(Request(b"r"), &two, PLACE, "root"),
            event(Total([1, 2, 3, 4]), &one, PLACE, "root"),
            event(Total([1, 2, 3, 4]), &one, PLACE, "other"),
            event(Entry, &one, PLACE, "root"),
            event(Entry, &two, PLACE, "root"),
            event(Entry, &one, EventSource { time: Some(6), ..PLACE }, "root"),
            event(Entry, &one, EventSource { id: b"b2", ..PLACE }, "root"),
            event(Entry, &one, timeless, "root"),
            event(Entry, &one, EventSource { id: b"b2", ..timeless }, "root"),
            event(Entry, &one, timeless, "other"),
            namer.key(namer.entry(PLACE, 0), "root"),
        ];
        for (at, left) in different.iter().enumerate() {
            assert!(!different[at + 1..].contains(left), "{at}");
        }
    }

    #[test]
    fn a_family_is_found_from_its_oldest_member_or_from_its_youngest() {
        let mut families = Families::default();
        assert_eq!(families.of("a", None), "a");
        assert_eq!(families.of("b", Some("a")), "a");
        assert_eq!(families.of("c", Some("b")), "a");
        assert_eq!(families.of("x", None), "x");
        let mut families = Families::default();
        assert_eq!(families.of("c", Some("b")), "b");
        assert_eq!(families.of("b", Some("a")), "b");
        assert_eq!(families.of("a", None), "b");
    }

    #[test]
    fn families_do_not_depend_on_the_order_of_sessions() {
        let all = [("c", Some("b")), ("b", Some("a")), ("a", None), ("x", None), ("y", Some("x"))];
        let mut turned = all;
        for _ in 0..all.len() {
            turned.rotate_left(1);
            let families = families(turned.into_iter());
            let of = |id: &'static str| families.get(id).copied().unwrap_or(id);
            assert_eq!([of("a"), of("b"), of("c")], ["a"; 3]);
            assert_eq!([of("x"), of("y")], ["x"; 2]);
        }
    }

    #[test]
    fn names_depend_on_the_seed_and_on_nothing_else() {
        let seed = EventSeed::from_bytes([7; 16]);
        let name = |seed| EventHasher::new(seed).entry(PLACE, 0);
        assert_eq!(name(seed), name(EventSeed::from_bytes(seed.to_bytes())));
        assert_ne!(name(seed), name(EventSeed::from_bytes([8; 16])));
    }
}
