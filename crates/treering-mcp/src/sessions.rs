//! The sessions that tools can access: those of an index, or of any other type that implements
//! [`Sessions`].

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use treering::catalog::{Catalog, Progress, SessionInfo};
use treering::usage::{EventSeed, SessionEvents};
use treering::{ForkOptions, Position, Session, SessionId};
use treering_index::SessionIndex;
use treering_search::{Found, Options, Query, Summary};

/// A collection of sessions that tools list, search, read and change.
///
/// Errors are messages for the model that say what was wrong, and what to do about it.
pub trait Sessions: Send + Sync + fmt::Debug {
    /// Returns all sessions, newest first.
    fn list(&self, control: &Control<'_>) -> Result<Vec<SessionInfo>, String>;

    /// Opens a session of the list in its current state.
    fn open(&self, info: &SessionInfo) -> Result<Arc<Session>, String>;

    /// Opens the session with an id without the list, which may not have it yet; `None` if that is
    /// not possible.
    fn open_id(&self, id: &SessionId) -> Option<Arc<Session>> {
        let _ = id;
        None
    }

    /// Searches the sessions and calls `each` with the results, until the control is canceled.
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
    /// The sessions, each with its events.
    pub sessions: Vec<(SessionInfo, Arc<SessionEvents>)>,
    /// The number of sessions that were not read because that would have taken too long.
    pub missing: usize,
}

/// The control of a call: a flag that cancels it, and a receiver of its progress.
pub struct Control<'a> {
    cancel: &'a AtomicBool,
    progress: &'a (dyn Fn(Progress) + Sync),
}

impl<'a> Control<'a> {
    /// Creates the control of a call that is canceled when `cancel` is set, and reports no
    /// progress.
    pub fn new(cancel: &'a AtomicBool) -> Self {
        Control { cancel, progress: &|_| {} }
    }

    /// Sets a function that is called with the progress.
    #[must_use]
    pub fn with_progress(self, progress: &'a (dyn Fn(Progress) + Sync)) -> Self {
        Control { progress, ..self }
    }

    /// Returns the flag that cancels the call.
    pub fn cancel(&self) -> &'a AtomicBool {
        self.cancel
    }

    /// Returns whether the call is canceled and should return what it has.
    pub fn is_canceled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Reports the progress.
    pub fn report(&self, progress: Progress) {
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
        Ok(self.read(|step| control.report(step.progress)).sessions)
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
        let mut found = self.read_usage(|step| control.report(step.progress));
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
            // The fork has another format, so it belongs to treering's own sessions.
            let own = self.places().own().ok_or("there is no directory for new sessions")?;
            options = options.dir(Catalog::new(own).dir_for(session.cwd()));
        }
        session.fork(at, options).map_err(|error| error.to_string())
    }
}
