//! A store over HTTP.

mod create;
mod events;
mod journal;
mod nodes;
mod options;
mod problem;
mod window;
mod wire;

pub use events::{Event, EventKind, Events, StopHandle};
pub use options::{HttpOptions, InvalidAddress};

use events::Follower;
use journal::HttpJournal;
use nodes::{Method, Nodes, Request};
use problem::Problem;
use std::io::Read;
use std::sync::{Arc, OnceLock};
use treering::storage::Journal;
use treering::store::{Changes, ListQuery, Mark, Page, Store};
use treering::{Error, Result, SessionId};

/// The sessions of a treering server.
///
/// The server may have several nodes: if one does not answer, the next one is asked. Calls that
/// fail temporarily are repeated until the deadline; then they fail with an error for which
/// [`is_retryable`](treering::Error::is_retryable) is true. If no node was ever reached, because
/// connections are refused or the host is unknown, each is tried once.
///
/// ```
/// use treering_client::{HttpOptions, HttpStore};
/// use treering::store::Store;
/// let store = HttpStore::new("https://one.example,https://two.example", HttpOptions::new())?;
/// assert_eq!(store.location(), "https://one.example,https://two.example");
/// assert!(HttpStore::new("ftp://one.example", HttpOptions::new()).is_err());
/// # Ok::<(), treering_client::InvalidAddress>(())
/// ```
#[derive(Debug, Clone)]
pub struct HttpStore {
    nodes: Arc<Nodes>,
    /// The follower of all sessions, once a caller asked for news.
    follower: Arc<OnceLock<Follower>>,
}

impl HttpStore {
    /// Returns the store behind one or several base addresses, separated by commas. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// Fails for addresses that do not begin with `http://` or `https://`, that contain a user name
    /// or a password, and for tokens that cannot be sent.
    pub fn new(urls: &str, options: HttpOptions) -> Result<HttpStore, InvalidAddress> {
        let nodes = Arc::new(Nodes::new(urls, options)?);
        Ok(HttpStore { nodes, follower: Arc::default() })
    }

    /// Follows the entries of a session: those after an event id, or those that are written from
    /// now on.
    ///
    /// ```no_run
    /// use treering_client::{HttpOptions, HttpStore};
    /// use treering::SessionId;
    /// let store = HttpStore::new("https://sessions.example", HttpOptions::new())?;
    /// for event in store.events(&SessionId::new("nightly-build")?, Some("0")) {
    ///     println!("{}", event?.data);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn events(&self, id: &SessionId, after: Option<&str>) -> Events {
        Events::of_session(&self.nodes, id, after)
    }

    /// Follows all sessions of the store: their changes after a mark, or those from now on.
    pub fn all_events(&self, after: Option<&Mark>) -> Events {
        Events::of_store(&self.nodes, after)
    }

    fn journal(&self, id: &SessionId) -> HttpJournal {
        HttpJournal::new(Arc::clone(&self.nodes), id)
    }
}

impl Store for HttpStore {
    fn location(&self) -> String {
        self.nodes.location().to_owned()
    }

    fn create(&self, id: &SessionId, start: &mut dyn Read) -> Result<Arc<dyn Journal>> {
        let journal = self.journal(id);
        create::create(&self.nodes, id, start, &journal)?;
        Ok(Arc::new(journal))
    }

    fn open(&self, id: &SessionId) -> Result<Arc<dyn Journal>> {
        let journal = self.journal(id);
        match journal.fetch_length() {
            Ok(_) => Ok(Arc::new(journal)),
            Err(Problem::UnknownSession(_)) => Err(Error::UnknownSession(id.clone())),
            Err(problem) => Err(problem.into_error()),
        }
    }

    fn list(&self, query: &ListQuery) -> Result<Page> {
        let request = Request::new(Method::Get, wire::list_path(query));
        let answer = self.nodes.call(&request).map_err(Problem::into_error)?;
        wire::page(&answer.body).map_err(|error| self.nodes.unreadable(&error).into_error())
    }

    fn remove(&self, id: &SessionId) -> Result<()> {
        let request = Request::new(Method::Delete, wire::session_path(id));
        let mut attempts = self.nodes.attempts(0);
        loop {
            match attempts.send(&request) {
                Ok(_) => return Ok(()),
                // An earlier attempt removed it, and its response was lost.
                Err(Problem::UnknownSession(_)) if attempts.is_uncertain() => return Ok(()),
                Err(Problem::UnknownSession(_)) => return Err(Error::UnknownSession(id.clone())),
                Err(problem) => attempts.wait(problem).map_err(Problem::into_error)?,
            }
        }
    }

    fn changes(&self, mark: Option<&Mark>) -> Result<Changes> {
        let request = Request::new(Method::Get, wire::changes_path(mark));
        let follower = self.follower.get();
        if let Some(follower) = follower {
            follower.clear_news();
        }
        let answer = self.nodes.call(&request);
        if let (Err(_), Some(follower)) = (&answer, follower) {
            follower.keep_news();
        }
        let answer = answer.map_err(Problem::into_error)?;
        wire::changes(&answer.body).map_err(|error| self.nodes.unreadable(&error).into_error())
    }

    fn has_news(&self) -> bool {
        self.follower.get_or_init(|| Follower::start(self.all_events(None))).has_news()
    }
}
