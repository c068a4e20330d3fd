//! The events of many sessions, each counted once, with their costs.

use crate::prices::Prices;
use std::collections::HashMap;
use std::ops::RangeBounds;
use treering::catalog::SessionInfo;
use treering::usage::{EventSeed, PriceList, SessionEvents, Usage, UsageSource, count};

/// A session whose usage is counted.
#[derive(Debug, Clone, Copy)]
pub struct UsageSession<'a> {
    /// The description of the session.
    pub info: &'a SessionInfo,
    /// The usage events of the session.
    pub events: &'a SessionEvents,
}

/// An event that was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PricedEvent<'a> {
    /// The index of the session that the event belongs to.
    pub session: usize,
    /// The time of the event in Unix milliseconds; the time of its session if the file states none.
    pub time: i64,
    /// The model, as `provider/model`; empty if it is not known.
    pub model: &'a str,
    /// The tokens and the cost. A computed cost is in [`Usage::computed`].
    pub usage: Usage,
}

/// A model without a known price.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownModel<'a> {
    /// The model, as `provider/model`; empty if it is not known.
    pub model: &'a str,
    /// The usage whose cost is unknown.
    pub usage: Usage,
}

/// The usage events of some sessions, each counted once.
#[derive(Debug, Clone)]
pub struct UsageEvents<'a> {
    sessions: Vec<&'a SessionInfo>,
    pub(crate) events: Vec<PricedEvent<'a>>,
}

impl<'a> UsageEvents<'a> {
    /// Counts the events of sessions. An event that several sessions have belongs to the oldest of them.
    ///
    /// `seed` is the seed with which the events were read.
    pub fn count(seed: EventSeed, sessions: &[UsageSession<'a>], prices: &Prices) -> Self {
        let mut sessions = sessions.to_vec();
        sessions.sort_by(|a, b| {
            let age = |info: &SessionInfo| info.created.unwrap_or(info.modified);
            (age(a.info), &a.info.path).cmp(&(age(b.info), &b.info.path))
        });
        let sources: Vec<UsageSource<'a>> = sessions.iter().map(source).collect();
        let events = count(seed, &sources).into_iter().map(|event| {
            let cost = (event.usage.unpriced > 0)
                .then(|| prices.cost(event.model, event.time, &event.usage));
            let info = sessions.get(event.session).map(|session| session.info);
            let time =
                event.time.or_else(|| info.map(|info| info.created.unwrap_or(info.modified)));
            PricedEvent {
                session: event.session,
                time: time.unwrap_or_default(),
                model: event.model,
                usage: event.usage.priced(cost.flatten()),
            }
        });
        let events = events.collect();
        UsageEvents { sessions: sessions.iter().map(|session| session.info).collect(), events }
    }

    /// Keeps the events within a range of times, given in Unix milliseconds.
    #[must_use]
    pub fn within(mut self, times: impl RangeBounds<i64>) -> Self {
        self.events.retain(|event| times.contains(&event.time));
        self
    }

    /// Keeps the events of models whose name contains a text, ignoring case.
    #[must_use]
    pub fn of_model(mut self, text: &str) -> Self {
        let text = text.to_lowercase();
        let mut known: HashMap<&str, bool> = HashMap::new();
        self.events.retain(|event| {
            *known.entry(event.model).or_insert_with(|| event.model.to_lowercase().contains(&text))
        });
        self
    }

    /// Returns the events. Those of one session are consecutive.
    pub fn events(&self) -> &[PricedEvent<'a>] {
        &self.events
    }

    /// Returns the session with the index that an event has.
    pub fn session(&self, number: usize) -> Option<&'a SessionInfo> {
        self.sessions.get(number).copied()
    }

    /// Returns the total usage of all events.
    pub fn usage(&self) -> Usage {
        self.events.iter().map(|event| event.usage).sum()
    }

    /// Returns the models whose prices are needed but not known, by the number of their tokens.
    pub fn unknown_models(&self) -> Vec<UnknownModel<'a>> {
        let mut models: HashMap<&str, Usage> = HashMap::new();
        for event in self.events.iter().filter(|event| event.usage.unknown() > 0) {
            *models.entry(event.model).or_default() += event.usage;
        }
        let unknown = |(model, usage)| UnknownModel { model, usage };
        let mut models: Vec<_> = models.into_iter().map(unknown).collect();
        models.sort_by(|a, b| (b.usage.total(), a.model).cmp(&(a.usage.total(), b.model)));
        models
    }
}

fn source<'a>(session: &UsageSession<'a>) -> UsageSource<'a> {
    let UsageSession { info, events } = *session;
    UsageSource::new(info.id.as_str(), info.parent_session.as_deref(), events)
}
