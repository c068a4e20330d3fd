//! The course of a generated session: turns, steps back, compactions, and its end.

use super::line::{self, Clock, Id, Line};
use super::{Limit, Plan, Stats};
use crate::rng::Rng;
use std::io::{self, Write};

/// The reason why the generation ended.
pub(super) enum Stop {
    Enough,
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Io(error)
    }
}

pub(super) type Step = Result<(), Stop>;

/// Nothing, ever: the generation ends only by a [`Stop`].
pub(super) enum Never {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    User,
    Assistant,
    Result,
    Compaction,
    Other,
}

pub(super) const MODELS: &[(&str, &str)] =
    &[("acme", "oak-4"), ("acme", "oak-4-mini"), ("globex", "larch-2"), ("initech", "yew-1.5")];

/// Entries kept for [`Stats::sample`].
pub(super) const SAMPLE: usize = 1000;

/// Bytes collected before they are written.
pub(super) const BUFFER: usize = 256 * 1024;

pub(super) struct Maker<'a> {
    out: &'a mut dyn Write,
    pub(super) plan: &'a Plan,
    pub(super) rng: Rng,
    pub(super) clock: Clock,
    pub(super) buffer: Vec<u8>,
    written: u64,
    pub(super) entries: u64,
    session: String,
    pub(super) path: Vec<(Id, What)>,
    middle: Option<Id>,
    sample: Vec<Id>,
    until_branch: u64,
    pub(super) since_compaction: u64,
    pub(super) model: (&'static str, &'static str),
    pub(super) tokens: u64,
    /// The tool call that waits for its result.
    pub(super) call: Option<(String, &'static str)>,
}

impl<'a> Maker<'a> {
    pub(super) fn new(out: &'a mut dyn Write, plan: &'a Plan) -> Self {
        let mut rng = Rng::new(plan.seed);
        let session = line::uuid(&mut rng);
        let until_branch = rng.range(35, 66);
        Maker {
            out,
            plan,
            rng,
            clock: Clock::new(plan.start),
            buffer: Vec::with_capacity(BUFFER + 128 * 1024),
            written: 0,
            entries: 0,
            session,
            path: Vec::new(),
            middle: None,
            sample: Vec::new(),
            until_branch,
            since_compaction: 0,
            model: MODELS[0],
            tokens: 4000,
            call: None,
        }
    }

    pub(super) fn work(&mut self) -> Result<Never, Stop> {
        let header = format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"{}\",\"timestamp\":\"{}\",\"cwd\":{}}}\n",
            self.session,
            self.clock.iso(),
            serde_json::Value::from(self.plan.cwd.as_str()),
        );
        self.buffer.extend_from_slice(header.as_bytes());
        if let Limit::Entries(0) = self.plan.limit {
            return Err(Stop::Enough);
        }
        self.change_model()?;
        self.change_thinking("medium")?;
        self.user()?;
        self.name()?;
        loop {
            for _ in 0..self.rng.streak(0.745, 12) {
                self.assistant(true)?;
                self.result()?;
            }
            self.assistant(false)?;
            self.extras()?;
            if self.plan.compactions && self.since_compaction >= 400 && self.path.len() > 60 {
                self.compact()?;
            }
            if self.until_branch == 0 && self.path.len() > 12 {
                self.branch()?;
            }
            self.user()?;
        }
    }

    pub(super) fn finish(mut self) -> io::Result<Stats> {
        self.flush()?;
        self.out.flush()?;
        let text = |id: Option<&Id>| id.map(Id::text).unwrap_or_default();
        let leaf = self.path.last().map(|(id, _)| *id);
        Ok(Stats {
            bytes: self.written,
            entries: self.entries,
            session: self.session,
            leaf: text(leaf.as_ref()),
            middle: text(self.middle.or(leaf).as_ref()),
            depth: self.path.len(),
            sample: self.sample.iter().map(Id::text).collect(),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Begins an entry with the usual head.
    pub(super) fn begin(&mut self, kind: &str) -> (Id, Line<'_>) {
        self.clock.pass(self.rng.range(200, 20_000));
        let id = Id::new(self.plan.seed, self.entries);
        let mut line = Line(&mut self.buffer);
        line.raw("{\"type\":\"").raw(kind).raw("\"");
        line.head(&id, self.path.last().map(|(id, _)| id), &mut self.clock);
        (id, line)
    }

    /// Counts an entry whose line is complete; it is the new leaf.
    pub(super) fn put(&mut self, id: Id, what: What) -> Step {
        self.path.push((id, what));
        self.entries += 1;
        self.until_branch = self.until_branch.saturating_sub(1);
        self.since_compaction += 1;
        if self.sample.len() < SAMPLE {
            self.sample.push(id);
        } else {
            let place = self.rng.index(self.entries as usize);
            if let Some(slot) = self.sample.get_mut(place) {
                *slot = id;
            }
        }
        let bytes = self.written + self.buffer.len() as u64;
        let (done, of) = match self.plan.limit {
            Limit::Bytes(limit) => (bytes, limit),
            Limit::Entries(limit) => (self.entries, limit),
        };
        if self.middle.is_none() && done >= of / 2 {
            self.middle = Some(id);
        }
        if done >= of {
            return Err(Stop::Enough);
        }
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    /// Moves the leaf back to the end of a turn, usually of a recent one.
    fn branch(&mut self) -> Step {
        self.until_branch = self.rng.range(35, 66);
        let back = match self.rng.chance(0.8) {
            true => self.rng.range(2, 16),
            false => self.rng.range(16, 120),
        };
        let mut keep = self.path.len() - (back as usize).min(self.path.len() - 3);
        while keep > 3 && !matches!(self.path[keep - 1].1, What::Assistant | What::Other) {
            keep -= 1;
        }
        let left = self.path[self.path.len() - 1].0;
        let gone = self.path.split_off(keep);
        self.since_compaction = self.since_compaction.saturating_sub(gone.len() as u64);
        if gone.iter().any(|(_, what)| *what == What::Compaction) {
            self.since_compaction = 380;
        }
        if !self.rng.chance(0.3) {
            return Ok(());
        }
        let summary = self.text(900.0, 0.5, 100, 4000);
        let (id, mut line) = self.begin("branch_summary");
        line.raw(",\"fromId\":\"").raw(&left.text()).raw("\",\"summary\":\"").bytes(summary);
        line.raw("\"}\n");
        self.put(id, What::Other)
    }
}
