//! The sessions that tools see: those of an index, or those of any other place that implements [`Sessions`].

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use treering::catalog::{Catalog, Progress, SessionInfo};
use treering::usage::{EventSeed, SessionEvents};
use treering::{ForkOptions, Position, Session, SessionId};
use treering_index::SessionIndex;
use treering_search::{Found, Options, Query, Summary};

/// A place whose sessions tools list, search, read and change.
///
/// Errors are messages for the model: what was wrong, and what to do about it.
pub trait Sessions: Send + Sync + fmt::Debug {
    /// Returns all sessions, newest first.
    fn list(&self, control: &Control<'_>) -> Result<Vec<SessionInfo>, String>;

    /// Opens a session of the list. It has everything that was appended before.
    fn open(&self, info: &SessionInfo) -> Result<Arc<Session>, String>;

    /// Opens the session of an id without a look at the list, which may not have it yet; `None` if that is not possible.
    fn open_id(&self, id: &SessionId) -> Option<Arc<Session>> {
        let _ = id;
        None
    }

    /// Searches the sessions and calls `each` with what is found, until the control is canceled.
    fn search(
        &self,
        query: &Query,
        options: &Options,
        control: &Control<'_>,
        each: &mut dyn FnMut(Found) -> ControlFlow<()>,
    ) -> Result<Summary, String>;

    /// Returns the usage events of the sessions.
    fn usage(&self, control: &Control<'_>) -> Result<UsageRead, String>;

    /// Writes the path to a position as a new session.
    fn fork(&self, session: &Session, at: Position) -> Result<Session, String>;
}

/// The usage events of many sessions.
#[derive(Debug)]
pub struct UsageRead {
    /// The seed of the names of the events.
    pub seed: EventSeed,
    /// Each session with its events.
    pub sessions: Vec<(SessionInfo, Arc<SessionEvents>)>,
    /// The number of sessions that were not read because that would have taken too long.
    pub missing: usize,
}

/// The control of a call: a flag that stops it, and a receiver of its progress.
pub struct Control<'a> {
    cancel: &'a AtomicBool,
    progress: &'a (dyn Fn(Progress) + Sync),
}

impl<'a> Control<'a> {
    /// Returns the control of a call that stops when `cancel` is set, and tells nothing.
    pub fn new(cancel: &'a AtomicBool) -> Self {
        Control { cancel, progress: &|_| {} }
    }

    /// Calls `progress` as the work goes on.
    #[must_use]
    pub fn with_progress(self, progress: &'a (dyn Fn(Progress) + Sync)) -> Self {
        Control { progress, ..self }
    }

    /// Returns the flag that stops the call.
    pub fn cancel(&self) -> &'a AtomicBool {
        self.cancel
    }

    /// Returns whether the call should stop and answer with what it has.
    pub fn is_canceled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Tells how far the work is.
    pub fn tell(&self, progress: Progress) {
        (self.progress)(progress);
    }
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("cancel", self.cancel).finish_non_exhaustive()
    }
}

impl Sessions for SessionIndex {
    fn list(&self, control: &Control<'_>) -> Result<Vec<SessionInfo>, String> {
        Ok(self.read(|step| control.tell(step.progress)).sessions)
    }

    fn open(&self, info: &SessionInfo) -> Result<Arc<Session>, String> {
        Session::open(&info.path).map(Arc::new).map_err(|error| error.to_string())
    }

    fn search(
        &self,
        query: &Query,
        options: &Options,
        control: &Control<'_>,
        each: &mut dyn FnMut(Found) -> ControlFlow<()>,
    ) -> Result<Summary, String> {
        Ok(treering_search::search(self.files(), query, options, control.cancel, each))
    }

    fn usage(&self, control: &Control<'_>) -> Result<UsageRead, String> {
        let mut found = self.read_usage(|step| control.tell(step.progress));
        let events = |info: SessionInfo| {
            let events = found.events.remove(&info.path)?;
            Some((info, Arc::new(events)))
        };
        let sessions = found.contents.sessions.into_iter().filter_map(events).collect();
        Ok(UsageRead { seed: found.seed, sessions, missing: 0 })
    }

    fn fork(&self, session: &Session, at: Position) -> Result<Session, String> {
        let mut options = ForkOptions::new();
        if !session.dialect().is_writable() {
            // The fork is in another format, and belongs to treering's own sessions.
            let own = self.places().own().ok_or("there is no place for new sessions")?;
            options = options.dir(Catalog::new(own).dir_for(session.cwd()));
        }
        session.fork(at, options).map_err(|error| error.to_string())
    }
}
