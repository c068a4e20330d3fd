//! Decides which usage events are the same.
//!
//! The rule, the first that applies:
//!
//! 1. The provider's name of the response. Claude Code's records have its id (`message.id`, with
//!    `requestId`), and all records with the same one are one event. Elsewhere an answer may have a
//!    `responseId`; as some providers give every response the same, its token counts are part of the
//!    name.
//! 2. A count with a running total (Codex) is named by that total, within the family of the session: as
//!    long as the total stays, nothing was used. A fork begins with the counts of its parent, at new
//!    times; sessions that have nothing to do with each other may well have equal totals.
//! 3. The entry's id, time and token counts: copies in forks keep them, whatever they hang on. Where the
//!    file has no ids, time and counts are enough; where it has no times either, the id that treering
//!    gave the entry counts, within the family.
//!
//! An entry that says `copiedFrom` tells of another entry's event: it has none of its own.

use super::read::Usage;
use foldhash::quality::RandomState;
use std::collections::HashMap;
use std::hash::BuildHasher;

/// The name of an event or an entry: a hash of what makes it what it is. Seeded, so that no file can be
/// made to collide, and only good within the same [`EventHasher`].
pub(super) type Key = u128;

/// The identity of an event.
#[derive(Debug, Clone, Copy)]
pub(super) enum Identity<'a> {
    /// All records of the response, whatever they count.
    Response(&'a [u8]),
    /// One request whose response has this name.
    Request(&'a [u8]),
    /// A running total of tokens.
    Total([u64; 4]),
    /// The entry itself.
    Entry,
}

/// An entry, as far as others may be copies of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventSource<'a> {
    pub id: &'a [u8],
    /// The id is not in the file.
    pub is_derived: bool,
    pub time: Option<i64>,
    /// The oldest session that this one is known to come from.
    pub family: &'a str,
}

#[derive(Debug, Default)]
pub(super) struct EventHasher {
    low: RandomState,
    high: RandomState,
}

impl EventHasher {
    fn hash(&self, parts: &[&[u8]]) -> Key {
        u128::from(self.high.hash_one(parts)) << 64 | u128::from(self.low.hash_one(parts))
    }

    pub(super) fn event(
        &self,
        identity: Identity<'_>,
        usage: &Usage,
        place: EventSource<'_>,
    ) -> Key {
        let counts = numbers([usage.input, usage.output, usage.cache_read, usage.cache_write]);
        match identity {
            Identity::Response(name) => self.hash(&[b"response", name]),
            Identity::Request(name) => self.hash(&[b"request", name, &counts]),
            Identity::Total(total) => {
                self.hash(&[b"total", place.family.as_bytes(), &numbers(total)])
            }
            Identity::Entry => self.hash_place(b"used", place, &counts),
        }
    }

    /// Returns the name of an entry, whatever it used.
    pub(super) fn entry(&self, place: EventSource<'_>, len: u64) -> Key {
        // Without an id, entries of the same time are at least told apart by their length.
        let len = if place.is_derived { len } else { 0 };
        self.hash_place(b"entry", place, &len.to_le_bytes())
    }

    fn hash_place(&self, kind: &[u8], place: EventSource<'_>, more: &[u8]) -> Key {
        let time = place.time.unwrap_or(i64::MIN).to_le_bytes();
        match (place.is_derived, place.time) {
            (false, _) => self.hash(&[kind, place.id, &time, more]),
            (true, Some(_)) => self.hash(&[kind, &time, more]),
            (true, None) => self.hash(&[kind, place.id, place.family.as_bytes(), more]),
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

/// Families of sessions that come from the same one, as far as their headers tell. Exact if parents
/// are added before their forks; otherwise as far as the sessions added so far can tell.
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

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: EventSource<'static> =
        EventSource { id: b"a1", is_derived: false, time: Some(5), family: "root" };

    #[test]
    fn what_is_the_same_has_the_same_name_and_nothing_else_has() {
        let namer = EventHasher::default();
        let (one, two) =
            (Usage { input: 1, ..Usage::default() }, Usage { input: 2, ..Usage::default() });
        let elsewhere = EventSource { id: b"b2", time: Some(6), family: "other", ..PLACE };
        let event = |identity, usage: &Usage, place| namer.event(identity, usage, place);
        use Identity::{Entry, Request, Response, Total};
        let same = [
            (event(Response(b"r"), &one, PLACE), event(Response(b"r"), &two, elsewhere)),
            (event(Request(b"r"), &one, PLACE), event(Request(b"r"), &one, elsewhere)),
            (
                event(Total([1, 2, 3, 4]), &one, PLACE),
                event(Total([1, 2, 3, 4]), &two, EventSource { time: None, ..PLACE }),
            ),
            (
                event(Entry, &one, PLACE),
                event(Entry, &one, EventSource { family: "other", ..PLACE }),
            ),
            (
                event(Entry, &one, EventSource { is_derived: true, ..PLACE }),
                event(Entry, &one, EventSource { id: b"b2", is_derived: true, ..PLACE }),
            ),
        ];
        for (at, (left, right)) in same.into_iter().enumerate() {
            assert_eq!(left, right, "{at}");
        }
        let timeless = EventSource { is_derived: true, time: None, ..PLACE };
        let different = [
            event(Response(b"r"), &one, PLACE),
            event(Response(b"r2"), &one, PLACE),
            event(Request(b"r"), &one, PLACE),
            event(Request(b"r"), &two, PLACE),
            event(Total([1, 2, 3, 4]), &one, PLACE),
            event(Total([1, 2, 3, 4]), &one, elsewhere),
            event(Entry, &one, PLACE),
            event(Entry, &two, PLACE),
            event(Entry, &one, EventSource { time: Some(6), ..PLACE }),
            event(Entry, &one, EventSource { id: b"b2", ..PLACE }),
            event(Entry, &one, timeless),
            event(Entry, &one, EventSource { id: b"b2", ..timeless }),
            event(Entry, &one, EventSource { family: "other", ..timeless }),
            namer.entry(PLACE, 0),
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
}
