//! The usage events of one session, in a form that can be stored and read again.

use super::Purpose;
use super::event::EventName;
use super::ledger::earliest;
use super::names::{NO_NAME, Names};
use super::read::{Cost, Usage};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The usage events of a session, each counted once.
///
/// They can be stored as bytes and read again, so that sessions that have not changed need not be
/// read again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionEvents {
    models: Vec<Box<str>>,
    /// The number of events.
    count: usize,
    /// The events in their encoded form, which takes a sixth of the memory.
    encoded: Vec<u8>,
}

/// One request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionEvent {
    pub name: EventName,
    pub time: Option<i64>,
    /// The number of the model's name; [`NO_NAME`] if it is not known.
    pub model: u32,
    pub purpose: Purpose,
    pub usage: Usage,
}

impl SessionEvents {
    fn new(models: Vec<Box<str>>, events: &[SessionEvent]) -> Self {
        let mut encoded = Vec::with_capacity(events.len() * USUAL_BYTES);
        let mut before = 0;
        events.iter().for_each(|event| event.write(&mut before, &mut encoded));
        SessionEvents { models, count: events.len(), encoded }
    }

    /// Returns the total usage of the events.
    pub fn usage(&self) -> Usage {
        self.iter().map(|event| event.usage).sum()
    }

    /// Returns the total usage of the events, with costs from a list of prices where the session
    /// states none.
    pub fn priced(&self, prices: &dyn super::PriceList) -> Usage {
        let priced = |event: SessionEvent| {
            let cost = (event.usage.unpriced > 0)
                .then(|| prices.cost(self.model(&event), event.time, &event.usage));
            event.usage.priced(cost.flatten())
        };
        self.iter().map(priced).sum()
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = SessionEvent> {
        let (mut rest, mut before) = (&*self.encoded, 0);
        std::iter::from_fn(move || SessionEvent::read(&mut before, &mut rest))
    }

    /// Returns the model of an event; empty if it is not known.
    pub(super) fn model(&self, event: &SessionEvent) -> &str {
        self.models.get(event.model as usize).map_or("", |model| model)
    }

    /// Appends the events to `out` in the form that [`read`](Self::read) reads.
    pub fn write(&self, out: &mut Vec<u8>) {
        put_number(out, self.models.len() as u128);
        for model in &self.models {
            put_number(out, model.len() as u128);
            out.extend_from_slice(model.as_bytes());
        }
        out.extend_from_slice(&self.encoded);
    }

    /// Reads events that were [written](Self::write); `None` if the bytes are not in that form.
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
        let encoded = input.to_vec();
        let (mut count, mut before) = (0, 0);
        while !input.is_empty() {
            let event = SessionEvent::read(&mut before, input)?;
            if event.model != NO_NAME && event.model as usize >= models.len() {
                return None;
            }
            count += 1;
        }
        Some(SessionEvents { models, count, encoded })
    }
}

impl SessionEvent {
    /// Appends the event to `out`. `before` is the time of the previous event.
    fn write(&self, before: &mut i64, out: &mut Vec<u8>) {
        let SessionEvent { name, time, model, purpose, usage } = self;
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
            // Times mostly increase a little, so that their differences are short.
            let step = time.wrapping_sub(*before);
            let step = (step.cast_unsigned() << 1) ^ (step >> 63).cast_unsigned();
            put_number(out, u128::from(step));
            *before = *time;
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

    /// Reads an event from the start of some bytes; `None` if they are not in that form.
    fn read(before: &mut i64, input: &mut &[u8]) -> Option<Self> {
        let (&flags, rest) = input.split_first()?;
        let (hash, rest) = rest.split_first_chunk()?;
        *input = rest;
        let has = |flag: u8| flags & 1 << flag != 0;
        let name = EventName { hash: u128::from_le_bytes(*hash), is_in_family: has(0) };
        let mut next = || small_number(input);
        let time = match has(1) {
            true => {
                let step = next()?;
                let step = (step >> 1).cast_signed() ^ -(step & 1).cast_signed();
                *before = before.wrapping_add(step);
                Some(*before)
            }
            false => None,
        };
        let model = match has(2) {
            true => u32::try_from(next()?).ok().filter(|model| *model != NO_NAME)?,
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
        Some(SessionEvent { name, time, model, purpose, usage })
    }
}

/// The purposes, in the order of their codes.
const PURPOSES: [Purpose; 4] =
    [Purpose::Answer, Purpose::Compaction, Purpose::BranchSummary, Purpose::Other];

/// The usual number of bytes of an event.
const USUAL_BYTES: usize = 32;

/// Appends a number, seven bits in each byte, the lowest first.
fn put_number(out: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number of at most 64 bits from the start of some bytes. Most take one or two bytes.
fn small_number(bytes: &mut &[u8]) -> Option<u64> {
    match **bytes {
        [low @ 0..0x80, ref rest @ ..] => {
            *bytes = rest;
            Some(u64::from(low))
        }
        [low, high @ 0..0x80, ref rest @ ..] => {
            *bytes = rest;
            Some(u64::from(low & 0x7F) | u64::from(high) << 7)
        }
        _ => number(bytes).and_then(|number| u64::try_from(number).ok()),
    }
}

/// Reads a number from the start of some bytes.
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
        SessionEvents::new(names.all(), &self.events)
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
            let all = SessionEvents::new(models, &events);
            prop_assert_eq!(all.len(), events.len());
            prop_assert_eq!(&all.iter().collect::<Vec<_>>(), &events);
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
