//! Blocks of five hours, for which subscriptions limit usage.
//!
//! A block begins with the full hour (in UTC) of the first event in it and ends five hours later. The next
//! one begins with the first event after that, or with the first one after five hours without any.

use crate::count::UsageEvents;
use crate::report::Row;

/// The length of a block in milliseconds.
pub const BLOCK: i64 = 5 * HOUR;

const HOUR: i64 = 3_600_000;

/// The usage within five hours.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block<'a> {
    /// The time at which the block begins, in Unix milliseconds.
    pub start: i64,
    /// The time at which the block ends, in Unix milliseconds.
    pub end: i64,
    /// The usage in the block. The name of the row is empty.
    pub row: Row<'a>,
}

/// The rate of usage in a block.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Pace {
    /// Tokens for each minute, including those of caches.
    pub tokens_per_minute: f64,
    /// Dollars for each hour, as far as costs are known or computed.
    pub dollars_per_hour: f64,
    /// The projected tokens of the whole block at this rate.
    pub projected_tokens: u64,
    /// The projected dollars of the whole block at this rate.
    pub projected_dollars: f64,
}

impl Block<'_> {
    /// Returns whether the block includes the time `now`.
    pub fn is_active(&self, now: i64) -> bool {
        let (_, last) = self.row.times.unwrap_or((self.start, self.start));
        now < self.end && now.saturating_sub(last) < BLOCK
    }

    /// Returns the rate between the first and the last event, and the projection; `None` if the
    /// events span less than a minute.
    pub fn pace(&self, now: i64) -> Option<Pace> {
        let (first, last) = self.row.times?;
        let minutes = last.saturating_sub(first) as f64 / 60_000.0;
        if minutes < 1.0 {
            return None;
        }
        let (tokens, dollars) =
            (self.row.usage.total() as f64, self.row.usage.total_cost().dollars());
        let left = self.end.saturating_sub(now).max(0) as f64 / 60_000.0;
        Some(Pace {
            tokens_per_minute: tokens / minutes,
            dollars_per_hour: dollars / minutes * 60.0,
            projected_tokens: (tokens + tokens / minutes * left) as u64,
            projected_dollars: dollars + dollars / minutes * left,
        })
    }
}

impl<'a> UsageEvents<'a> {
    /// Returns the blocks, the oldest first.
    pub fn blocks(&self) -> Vec<Block<'a>> {
        let mut order: Vec<usize> = (0..self.events.len()).collect();
        order.sort_by_key(|at| self.events.get(*at).map(|event| event.time));
        let mut members: Vec<(i64, Vec<usize>)> = Vec::new();
        let mut before = i64::MIN;
        for at in order {
            let Some(event) = self.events.get(at) else { continue };
            let is_new = members.last().is_none_or(|(start, _)| {
                event.time.saturating_sub(*start) >= BLOCK
                    || event.time.saturating_sub(before) >= BLOCK
            });
            if is_new {
                members.push((event.time.div_euclid(HOUR).saturating_mul(HOUR), Vec::new()));
            }
            if let Some((_, events)) = members.last_mut() {
                events.push(at);
            }
            before = event.time;
        }
        members.into_iter().map(|(start, events)| self.block(start, events)).collect()
    }

    fn block(&self, start: i64, mut events: Vec<usize>) -> Block<'a> {
        // Rows count sessions correctly only if the events of a session are consecutive.
        events.sort_unstable();
        let mut row = Row::default();
        for event in events.into_iter().filter_map(|at| self.events.get(at)) {
            row.add(event.session, event.time, event.model, event.usage);
        }
        row.finish();
        Block { start, end: start.saturating_add(BLOCK), row }
    }
}
