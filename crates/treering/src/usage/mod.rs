//! The usage of sessions: tokens, cost and requests, by model and by branch.
//!
//! An *event* is one request to a model that an entry records: an answer, a summary, a title. The
//! same event may be in a file more than once (Claude Code writes an answer as several records that
//! repeat its usage, Codex repeats its counts) and in several files (forks copy entries). Therefore
//! `event` gives each event a name, and everything here counts names, not entries.
//!
//! `read` reads the numbers of an entry, `survey` reads the events of a session in one pass,
//! `ledger` counts them, `branches` sums them up along every path. `events` holds the events of a
//! session in a form that can be stored, and `count` counts those of many sessions. Nothing here is
//! estimated: `compaction` estimates the size of contexts, and prices come from a [`PriceList`].

mod branches;
mod count;
mod event;
mod events;
mod ledger;
mod names;
mod quick;
mod read;
mod survey;

pub use branches::Branch;
pub(crate) use branches::count as branch_count;
pub use count::{CountedEvent, UsageSource, count};
pub use event::EventSeed;
pub use events::SessionEvents;
pub use ledger::{Added, Ledger, PriceList, Stats};
pub(crate) use quick::of_session;
pub use read::{Cost, Usage};
pub(crate) use survey::of_rows;

use crate::error::Result;
use crate::position::Position;
use crate::session::{Part, Session};

/// The purpose of a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Purpose {
    /// An answer in the conversation.
    Answer,
    /// The summary of a compaction.
    Compaction,
    /// The summary of an abandoned branch.
    BranchSummary,
    /// A request on the side: titles, memories, keeping caches warm.
    Other,
}

impl Purpose {
    /// Returns the name of the purpose in reports.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Answer => "answers",
            Purpose::Compaction => "compactions",
            Purpose::BranchSummary => "branch summaries",
            Purpose::Other => "other",
        }
    }
}

/// Usage.
impl Session {
    /// Returns the usage that an entry records; `None` if it records none, or if it is a copy of
    /// another entry. In Claude Code, each record of an answer has the usage of the answer so far.
    ///
    /// ```
    /// use treering::{NewEntry, Session};
    /// let session = Session::in_memory("/project");
    /// let id = session.append(NewEntry::from_json(
    ///     br#"{"type":"message","message":{"role":"assistant","content":[],
    ///          "usage":{"input":10,"output":5,"cost":{"total":0.25}}}}"#,
    /// )?)?;
    /// let usage = session.entry_usage(&id)?.unwrap();
    /// assert_eq!((usage.total(), usage.cost.dollars()), (15, 0.25));
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if the session does not have the
    /// entry, and if the file cannot be read.
    pub fn entry_usage(&self, id: impl AsRef<str>) -> Result<Option<Usage>> {
        survey::of_entry(&self.view(), id.as_ref())
    }

    /// Returns the usage of the path from the root to a position, each event counted once.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if the session does not have the
    /// entry, and if the file cannot be read.
    pub fn branch_usage(&self, position: impl Into<Position>) -> Result<Usage> {
        Ok(self.branch_stats(position)?.usage)
    }

    /// Returns the content and usage of the path from the root to a position. Only the path is read.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if the session does not have the
    /// entry, and if the file cannot be read.
    pub fn branch_stats(&self, position: impl Into<Position>) -> Result<Stats> {
        let mut ledger = Ledger::of_one();
        ledger.add_branch(self, position)?;
        Ok(ledger.stats())
    }

    /// Returns the content and usage of the session, all branches included, each event counted
    /// once.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("hello"))?;
    /// let stats = session.stats()?;
    /// assert_eq!(stats.messages["user"], 1);
    /// assert_eq!(stats.usage.requests, 0);
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn stats(&self) -> Result<Stats> {
        self.part_stats(&Part::All)
    }

    /// Returns the content and usage of a part of the session, each event counted once.
    pub fn part_stats(&self, part: &Part) -> Result<Stats> {
        let mut ledger = Ledger::of_one();
        ledger.add_part(self, part)?;
        Ok(ledger.stats())
    }

    /// Returns the usage events of the session, all branches included, each counted once. Their
    /// names can be compared with those of other sessions that were read with the same seed.
    ///
    /// ```
    /// use treering::usage::{EventSeed, UsageSource, count};
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("hello"))?;
    /// let seed = EventSeed::random();
    /// let events = session.usage_events(seed)?;
    /// assert_eq!(events.usage(), session.stats()?.usage);
    /// let source = UsageSource::new("a", None, &events);
    /// assert!(count(seed, &[source]).is_empty());
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn usage_events(&self, seed: EventSeed) -> Result<SessionEvents> {
        quick::of_session(&self.view(), seed)
    }

    /// Returns the branches of the session, the most recently used first, with the usage of each
    /// since its branch point and in total. This takes time and memory linear in the size of the
    /// session.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// let question = session.append(Message::user("which way?"))?;
    /// let left = session.append(Message::assistant("acme", "m", "left"))?;
    /// session.branch(&question)?;
    /// let right = session.append(Message::assistant("acme", "m", "right"))?;
    ///
    /// let branches = session.branches()?;
    /// assert_eq!(branches.len(), 2);
    /// assert!(branches.iter().any(|branch| branch.is_active && branch.leaf == right));
    /// assert!(branches.iter().all(|branch| branch.since.as_ref() == Some(&question)));
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn branches(&self) -> Result<Vec<Branch>> {
        branches::of(self)
    }
}
