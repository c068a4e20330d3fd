//! The usage events of one session, in a form that can be kept and read again.

use super::Purpose;
use super::event::EventName;
use super::ledger::earliest;
use super::names::{NO_NAME, Names};
use super::read::{Cost, Usage};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The usage events of a session, each once.
///
/// They can be written to bytes and read again, so that sessions that have not changed need not be read
/// to be counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionEvents {
    models: Vec<Box<str>>,
    events: Vec<SessionEvent>,
}

/// One request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionEvent {
    pub name: EventName,
    pub time: Option<i64>,
    /// The number of the model; [`NO_NAME`] if nothing names it.
    pub model: u32,
    pub purpose: Purpose,
    pub usage: Usage,
}

impl SessionEvents {
    /// Returns the sum of the events.
    pub fn usage(&self) -> Usage {
        self.events.iter().map(|event| event.usage).sum()
    }

    /// Returns the sum of the events, with costs from a list of prices where the session states none.
    pub fn priced(&self, prices: &dyn super::PriceList) -> Usage {
        let priced = |event: &SessionEvent| {
            let cost = (event.usage.unpriced > 0)
                .then(|| prices.cost(self.model(event), event.time, &event.usage));
            event.usage.priced(cost.flatten())
        };
        self.events.iter().map(priced).sum()
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &SessionEvent> {
        self.events.iter()
    }

    /// Returns the model of an event; empty if nothing names it.
    pub(super) fn model(&self, event: &SessionEvent) -> &str {
        self.models.get(event.model as usize).map_or("", |model| model)
    }

    /// Appends the events to `out`, as [`read`](Self::read) reads them.
    pub fn write(&self, out: &mut Vec<u8>) {
        put_number(out, self.models.len() as u128);
        for model in &self.models {
            put_number(out, model.len() as u128);
            out.extend_from_slice(model.as_bytes());
        }
        let mut before = 0;
        for event in &self.events {
            let SessionEvent { name, time, model, purpose, usage } = event;
            let purpose = PURPOSES.iter().position(|known| known == purpose).unwrap_or(0) as u8;
            let flags = [
                name.is_in_family,
                time.is_some(),
                *model != NO_NAME,
                usage.unpriced > 0,
                usage.cache_write_1h > 0,
                usage.cost > Cost::default(),
            ];
            let flags = flags.iter().enumerate().map(|(at, set)| u8::from(*set) << at);
            out.push(flags.sum::<u8>() | purpose << 6);
            out.extend_from_slice(&name.hash.to_le_bytes());
            if let Some(time) = time {
                // Times mostly grow a little, so that their differences are short.
                let step = time.wrapping_sub(before);
                put_number(
                    out,
                    u128::from((step.cast_unsigned() << 1) ^ (step >> 63).cast_unsigned()),
                );
                before = *time;
            }
            if *model != NO_NAME {
                put_number(out, u128::from(*model));
            }
            for tokens in [usage.input, usage.output, usage.cache_read, usage.cache_write] {
                put_number(out, u128::from(tokens));
            }
            if usage.cache_write_1h > 0 {
                put_number(out, u128::from(usage.cache_write_1h));
            }
            if usage.cost > Cost::default() {
                put_number(out, usage.cost.picodollars());
            }
        }
    }

    /// Reads events that were [written](Self::write); `None` if these bytes are something else.
    pub fn read(mut bytes: &[u8]) -> Option<Self> {
        let input = &mut bytes;
        let count = usize::try_from(number(input)?).ok()?;
        let mut models = Vec::new();
        for _ in 0..count {
            let length = usize::try_from(number(input)?).ok()?;
            let (model, rest) = input.split_at_checked(length)?;
            models.push(std::str::from_utf8(model).ok()?.into());
            *input = rest;
        }
        let mut events = Vec::with_capacity(input.len() / 32);
        let mut before = 0_i64;
        while let Some((&flags, rest)) = input.split_first() {
            let (hash, rest) = rest.split_first_chunk()?;
            *input = rest;
            let has = |flag: u8| flags & 1 << flag != 0;
            let name = EventName { hash: u128::from_le_bytes(*hash), is_in_family: has(0) };
            let mut next = || number(input).and_then(|number| u64::try_from(number).ok());
            let time = match has(1) {
                true => {
                    let step = next()?;
                    let step = (step >> 1).cast_signed() ^ -(step & 1).cast_signed();
                    before = before.wrapping_add(step);
                    Some(before)
                }
                false => None,
            };
            let model = match has(2) {
                true => u32::try_from(next()?).ok().filter(|at| (*at as usize) < models.len())?,
                false => NO_NAME,
            };
            let mut usage = Usage {
                requests: 1,
                unpriced: u64::from(has(3)),
                input: next()?,
                output: next()?,
                cache_read: next()?,
                cache_write: next()?,
                ..Usage::default()
            };
            if has(4) {
                usage.cache_write_1h = next()?;
            }
            if has(5) {
                usage.cost = Cost::from_picodollars(number(input)?);
            }
            let purpose = *PURPOSES.get(usize::from(flags >> 6))?;
            events.push(SessionEvent { name, time, model, purpose, usage });
        }
        Some(SessionEvents { models, events })
    }
}

/// The purposes by the numbers that stand for them in bytes.
const PURPOSES: [Purpose; 4] =
    [Purpose::Answer, Purpose::Compaction, Purpose::BranchSummary, Purpose::Other];

/// Appends a number, seven bits a byte, the lowest first.
fn put_number(out: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number from the start of some bytes.
fn number(bytes: &mut &[u8]) -> Option<u128> {
    let mut number = 0_u128;
    for shift in (0..128).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u128::from(byte & 0x7f);
        if bits.checked_shl(shift)? >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Collects the events of a session and merges the records of each.
#[derive(Debug, Default)]
pub(super) struct Collector {
    events: Vec<SessionEvent>,
    places: HashMap<u128, usize, foldhash::fast::RandomState>,
}

impl Collector {
    /// Adds a record of an event.
    pub(super) fn add(&mut self, event: SessionEvent) {
        match self.places.entry(event.name.hash) {
            Entry::Vacant(place) => {
                place.insert(self.events.len());
                self.events.push(event);
            }
            Entry::Occupied(place) => {
                if let Some(known) = self.events.get_mut(*place.get()) {
                    known.usage = known.usage.same_event(event.usage);
                    known.time = earliest(known.time, event.time);
                    known.model = if known.model == NO_NAME { event.model } else { known.model };
                }
            }
        }
    }

    /// Returns the events.
    pub(super) fn finish(self, names: &Names) -> SessionEvents {
        SessionEvents { models: names.all(), events: self.events }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event() -> impl Strategy<Value = SessionEvent> {
        let tokens = prop_oneof![Just(0), 1..10_000_u64, any::<u64>()];
        let counts = [tokens.clone(), tokens.clone(), tokens.clone(), tokens.clone(), tokens];
        let time = prop::option::of(prop_oneof![0..2_000_000_000_000_i64, any::<i64>()]);
        let rest = (0..4_usize, prop::option::of(0..3_u32), any::<bool>(), any::<u128>());
        (any::<u128>(), any::<bool>(), time, counts, rest).prop_map(
            |(hash, is_in_family, time, counts, (purpose, model, is_priced, cost))| {
                let [input, output, cache_read, cache_write, cache_write_1h] = counts;
                let cost = Cost::from_picodollars(if is_priced { cost } else { 0 });
                let unpriced = u64::from(!is_priced);
                let usage = Usage {
                    requests: 1,
                    input,
                    output,
                    cache_read,
                    cache_write,
                    cache_write_1h,
                    cost,
                    unpriced,
                    ..Usage::default()
                };
                let name = EventName { hash, is_in_family };
                let model = model.unwrap_or(NO_NAME);
                SessionEvent { name, time, model, purpose: PURPOSES[purpose], usage }
            },
        )
    }

    proptest! {
        #[test]
        fn events_read_back_as_they_were_written(events in prop::collection::vec(event(), 0..20)) {
            let models = ["a/b", "", "é"].map(Box::from).to_vec();
            let all = SessionEvents { models, events };
            let mut bytes = Vec::new();
            all.write(&mut bytes);
            prop_assert_eq!(SessionEvents::read(&bytes), Some(all));
        }

        #[test]
        fn no_bytes_are_a_reason_to_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = SessionEvents::read(&bytes);
        }
    }

    #[test]
    fn a_model_that_is_not_listed_is_not_read() {
        let mut bytes = vec![0, 1 << 2];
        bytes.extend([0; 16]);
        bytes.extend([0; 5]);
        assert_eq!(SessionEvents::read(&bytes), None);
        bytes[1] = 0;
        assert_eq!(SessionEvents::read(&bytes[..bytes.len() - 1]).map(|all| all.len()), Some(1));
        assert_eq!(SessionEvents::read(&bytes), None, "something follows");
    }
}
