//! Counts the events of many sessions, each once.
//!
//! The result equals that of the [ledger](super::ledger), for events that were read before. As all
//! sessions are known, families do not depend on their order.

use super::Purpose;
use super::event::{EventHasher, EventSeed, Key, families};
use super::events::SessionEvents;
use super::ledger::earliest;
use super::read::Usage;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// A session whose events are counted.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct UsageSource<'a> {
    /// The id of the session.
    pub id: &'a str,
    /// The session that this one was forked from, as its header names it.
    pub parent: Option<&'a str>,
    /// The usage events of the session. They must have been read with the seed that they are
    /// counted with.
    pub events: &'a SessionEvents,
}

impl<'a> UsageSource<'a> {
    /// Creates the source for the session `id`, which was forked from `parent`.
    pub fn new(id: &'a str, parent: Option<&'a str>, events: &'a SessionEvents) -> Self {
        UsageSource { id, parent, events }
    }
}

/// An event that was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountedEvent<'a> {
    /// The index of the first session that has the event.
    pub session: usize,
    /// The earliest time in the event's records, in Unix milliseconds.
    pub time: Option<i64>,
    /// The model, as `provider/model`; empty if it is not known.
    pub model: &'a str,
    /// The purpose of the request.
    pub purpose: Purpose,
    /// The tokens and the cost of the request.
    pub usage: Usage,
}

/// Counts the events of some sessions. An event that several sessions have counts for the first of
/// them, so that the sum over all sessions equals the sum over all events.
///
/// ```
/// use treering::usage::{EventSeed, UsageSource, count};
/// use treering::{ForkOptions, NewEntry, Session};
/// let session = Session::in_memory("/project");
/// let answer = session.append(NewEntry::from_json(
///     br#"{"type":"message","message":{"role":"assistant","content":[],"usage":{"output":5}}}"#,
/// )?)?;
/// let fork = session.fork(&answer, ForkOptions::default())?;
///
/// let seed = EventSeed::random();
/// let events = [session.usage_events(seed)?, fork.usage_events(seed)?];
/// let sources = events.each_ref().map(|events| UsageSource::new("", None, events));
/// let counted = count(seed, &sources);
/// assert_eq!((counted.len(), counted[0].session, counted[0].usage.output), (1, 0, 5));
/// # Ok::<(), treering::Error>(())
/// ```
pub fn count<'a>(seed: EventSeed, sessions: &[UsageSource<'a>]) -> Vec<CountedEvent<'a>> {
    let hasher = EventHasher::new(seed);
    let families = families(sessions.iter().map(|session| (session.id, session.parent)));
    let all = sessions.iter().map(|session| session.events.len()).sum();
    // A table of indices into `keys`, which takes a third of the memory of a map.
    let mut places: HashTable<u32> = HashTable::with_capacity(all);
    let mut keys: Vec<Key> = Vec::with_capacity(all);
    let mut counted: Vec<CountedEvent<'a>> = Vec::with_capacity(all);
    for (at, session) in sessions.iter().enumerate() {
        let family = families.get(session.id).copied().unwrap_or(session.id);
        for event in session.events.iter() {
            let model = session.events.model(&event);
            let key = hasher.key(event.name, family);
            let is_it = |place: &u32| keys.get(*place as usize) == Some(&key);
            let hash = |place: &u32| keys.get(*place as usize).map_or(0, |key| *key as u64);
            // The keys are hashes already.
            match places.entry(key as u64, is_it, hash) {
                Entry::Vacant(place) => {
                    place.insert(keys.len() as u32);
                    keys.push(key);
                    let (time, purpose, usage) = (event.time, event.purpose, event.usage);
                    counted.push(CountedEvent { session: at, time, model, purpose, usage });
                }
                Entry::Occupied(place) => {
                    if let Some(known) = counted.get_mut(*place.get() as usize) {
                        known.usage = known.usage.same_event(event.usage);
                        known.time = earliest(known.time, event.time);
                        known.model = if known.model.is_empty() { model } else { known.model };
                    }
                }
            }
        }
    }
    counted
}
