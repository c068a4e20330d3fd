//! Groups events: by day, week, month, project, agent, model or session.

use crate::count::UsageEvents;
use crate::zone::{Dates, Zone};
use jiff::ToSpan;
use jiff::civil::Date;
use std::collections::HashMap;
use std::hash::Hash;
use treering::usage::Usage;

/// The property by which a report groups events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupBy {
    /// Groups by calendar day.
    Day,
    /// Groups by week, named by its Monday.
    Week,
    /// Groups by calendar month.
    Month,
    /// Groups by project directory.
    Project,
    /// Groups by the agent that wrote the session.
    Agent,
    /// Groups by model, as `provider/model`.
    Model,
    /// Groups by session.
    Session,
}

/// A group of events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row<'a> {
    /// The name of the group: a date, a month such as `2026-01`, a directory, an agent, a model, or
    /// the id of a session. It is empty if the group has none.
    pub name: String,
    /// The usage of the group.
    pub usage: Usage,
    /// The number of sessions with events in the group.
    pub sessions: usize,
    /// The usage of each model, the most expensive first.
    pub models: Vec<(&'a str, Usage)>,
    /// The index of the session, in a report by session.
    pub session: Option<usize>,
    /// The times of the first and the last event, in Unix milliseconds.
    pub times: Option<(i64, i64)>,
}

/// The usage by groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report<'a> {
    /// The groups, in the order of time if they are times, else the most expensive first.
    pub rows: Vec<Row<'a>>,
    /// The sum of all groups.
    pub total: Row<'a>,
}

impl<'a> Row<'a> {
    pub(crate) fn add(&mut self, session: usize, time: i64, model: &'a str, usage: Usage) {
        // The events of a session are consecutive.
        if self.session != Some(session) {
            self.sessions += 1;
            self.session = Some(session);
        }
        self.usage += usage;
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
        match self.models.iter_mut().find(|(name, _)| *name == model) {
            Some((_, known)) => *known += usage,
            None => self.models.push((model, usage)),
        }
    }

    /// Sorts the models, and forgets the session that was added last.
    pub(crate) fn finish(&mut self) {
        self.session = None;
        self.models.sort_by(|(a, x), (b, y)| price_order(y, x).then_with(|| a.cmp(b)));
    }
}

/// Compares usages by their cost, then by their tokens.
fn price_order(a: &Usage, b: &Usage) -> std::cmp::Ordering {
    (a.total_cost(), a.total()).cmp(&(b.total_cost(), b.total()))
}

impl<'a> UsageEvents<'a> {
    /// Groups the events. The sum of all groups always equals the sum of all events.
    pub fn report(&self, by: GroupBy, zone: &Zone) -> Report<'a> {
        let mut rows = match by {
            GroupBy::Day => self.by_date(zone, |date| date),
            GroupBy::Week => self.by_date(zone, monday),
            GroupBy::Month => self.by_date(zone, Date::first_of_month),
            GroupBy::Project => {
                self.by(|event| self.session(event.session).map_or("", |info| &info.cwd))
            }
            GroupBy::Agent => {
                self.by(|event| self.session(event.session).map_or("", |info| info.agent.name()))
            }
            GroupBy::Model => self.by(|event| event.model),
            GroupBy::Session => self.by_session(),
        };
        if by == GroupBy::Month {
            rows.iter_mut().for_each(|row| row.name.truncate("2026-01".len()));
        }
        match by {
            GroupBy::Day | GroupBy::Week | GroupBy::Month => {
                rows.sort_by_key(|row| row.times.map(|(first, _)| first));
            }
            _ => rows
                .sort_by(|a, b| price_order(&b.usage, &a.usage).then_with(|| a.name.cmp(&b.name))),
        }
        let mut total = Row::default();
        for event in self.events() {
            total.add(event.session, event.time, event.model, event.usage);
        }
        total.finish();
        Report { rows, total }
    }

    fn by_date(&self, zone: &Zone, group: impl Fn(Date) -> Date) -> Vec<Row<'a>> {
        let dates = Dates::of(zone);
        self.rows(|event| group(dates.date(event.time)), |date| date.to_string())
    }

    fn by(&self, name: impl Fn(&crate::PricedEvent<'a>) -> &'a str) -> Vec<Row<'a>> {
        self.rows(name, |name| (*name).to_owned())
    }

    fn by_session(&self) -> Vec<Row<'a>> {
        let id = |session: &usize| {
            self.session(*session).map(|info| info.id.as_str().to_owned()).unwrap_or_default()
        };
        let mut numbers = Vec::new();
        let mut rows = self.rows_with(|event| event.session, id, &mut numbers);
        for (row, session) in rows.iter_mut().zip(numbers) {
            row.session = Some(session);
        }
        rows
    }

    fn rows<K: Hash + Eq + Copy>(
        &self,
        key: impl Fn(&crate::PricedEvent<'a>) -> K,
        name: impl Fn(&K) -> String,
    ) -> Vec<Row<'a>> {
        self.rows_with(key, name, &mut Vec::new())
    }

    /// Adds events up by key; `keys` receives the key of each row.
    fn rows_with<K: Hash + Eq + Copy>(
        &self,
        key: impl Fn(&crate::PricedEvent<'a>) -> K,
        name: impl Fn(&K) -> String,
        keys: &mut Vec<K>,
    ) -> Vec<Row<'a>> {
        let mut places: HashMap<K, usize> = HashMap::new();
        let mut rows: Vec<Row<'a>> = Vec::new();
        let mut last: Option<(K, usize)> = None;
        for event in self.events() {
            let key = key(event);
            // An event is mostly in the group of the event before it.
            let place = match last.filter(|(last, _)| *last == key) {
                Some((_, place)) => place,
                None => *places.entry(key).or_insert_with(|| {
                    rows.push(Row { name: name(&key), ..Row::default() });
                    keys.push(key);
                    rows.len() - 1
                }),
            };
            last = Some((key, place));
            if let Some(row) = rows.get_mut(place) {
                row.add(event.session, event.time, event.model, event.usage);
            }
        }
        rows.iter_mut().for_each(Row::finish);
        rows
    }
}

/// Returns the Monday of the week of a date.
fn monday(date: Date) -> Date {
    let days = i64::from(date.weekday().to_monday_zero_offset());
    date.checked_sub(days.days()).unwrap_or(date)
}
