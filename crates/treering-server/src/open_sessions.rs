//! The sessions that a node has open: their indexes within a memory budget, and the queues of their
//! writers.

use crate::appends::AppendQueue;
use crate::call::Call;
use crate::metrics::Metrics;
use crate::node::Node;
use crate::problem::Problem;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use treering::session::Durability;
use treering::store::Store;
use treering::{Error, OpenOptions, Session, SessionId};

/// The estimated memory of an open session without entries, and of each entry.
const SESSION_BYTES: u64 = 8 * 1024;
const ENTRY_BYTES: u64 = 80;

/// The open sessions of a node.
#[derive(Debug)]
pub(crate) struct OpenSessions {
    slots: Mutex<HashMap<(String, SessionId), Arc<Slot>>>,
    /// Counts uses, to find the least recently used session.
    clock: AtomicU64,
    budget: u64,
}

/// A session that may be open.
#[derive(Debug)]
pub(crate) struct Slot {
    id: SessionId,
    store: Arc<dyn Store>,
    /// The queue of writers, first come, first served.
    pub(crate) queue: Arc<tokio::sync::Mutex<()>>,
    /// The queue of appends of entries.
    pub(crate) appends: AppendQueue,
    session: Mutex<Option<Arc<Session>>>,
    used: AtomicU64,
    bytes: AtomicU64,
}

impl OpenSessions {
    pub(crate) fn new(budget: u64) -> Self {
        OpenSessions { slots: Mutex::default(), clock: AtomicU64::new(0), budget }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<(String, SessionId), Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the slot of a session, whether or not it is open.
    fn slot(&self, space: &str, id: &SessionId, store: Arc<dyn Store>) -> Arc<Slot> {
        let mut slots = self.slots();
        let slot = slots.entry((space.to_owned(), id.clone())).or_insert_with(|| {
            Arc::new(Slot {
                id: id.clone(),
                store,
                queue: Arc::default(),
                appends: AppendQueue::default(),
                session: Mutex::default(),
                used: AtomicU64::new(0),
                bytes: AtomicU64::new(SESSION_BYTES),
            })
        });
        slot.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Arc::clone(slot)
    }

    /// Returns whether a session is open.
    pub(crate) fn is_open(&self, space: &str, id: &SessionId) -> bool {
        let slot = self.slots().get(&(space.to_owned(), id.clone())).cloned();
        slot.is_some_and(|slot| slot.session().is_some())
    }

    /// Removes the slot of a session that was removed.
    pub(crate) fn forget(&self, space: &str, id: &SessionId) {
        self.slots().remove(&(space.to_owned(), id.clone()));
    }

    /// Closes the least recently used sessions, until the others are within the budget. Sessions in
    /// use stay open.
    pub(crate) fn trim(&self) {
        let mut slots = self.slots();
        let mut total: u64 = slots.values().map(|slot| slot.bytes.load(Ordering::Relaxed)).sum();
        if total <= self.budget {
            return;
        }
        let mut idle: Vec<_> = slots
            .iter()
            .filter(|(_, slot)| Arc::strong_count(slot) == 1)
            .map(|(key, slot)| (slot.used.load(Ordering::Relaxed), key.clone()))
            .collect();
        idle.sort();
        for (_, key) in idle {
            if total <= self.budget {
                return;
            }
            if let Some(slot) = slots.remove(&key) {
                total -= slot.bytes.load(Ordering::Relaxed);
            }
        }
    }

    /// Returns the number of open sessions, and their memory.
    pub(crate) fn size(&self) -> (u64, u64) {
        let slots = self.slots();
        let bytes = slots.values().map(|slot| slot.bytes.load(Ordering::Relaxed)).sum();
        (slots.len() as u64, bytes)
    }
}

impl Slot {
    fn session(&self) -> MutexGuard<'_, Option<Arc<Session>>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session, and opens it if necessary. An open session may be behind the log.
    fn open(&self, metrics: &Metrics) -> Result<(Arc<Session>, Freshness), Error> {
        let mut session = self.session();
        if let Some(session) = &*session {
            metrics.reused.fetch_add(1, Ordering::Relaxed);
            return Ok((Arc::clone(session), Freshness::Reused));
        }
        let options = OpenOptions::new().durability(Durability::Each);
        let opened = Arc::new(Session::open_in(&self.store, &self.id, options)?);
        metrics.opened.fetch_add(1, Ordering::Relaxed);
        *session = Some(Arc::clone(&opened));
        Ok((opened, Freshness::New))
    }

    /// Runs `job` on the session. If the session turns out to be gone, it is opened once more,
    /// because another one may have replaced it in the store.
    pub(crate) fn run<T>(&self, metrics: &Metrics, job: SlotJob<'_, T>) -> Result<T, Problem> {
        let (session, freshness) = self.open(metrics)?;
        let result = match job(&session, freshness) {
            Err(problem) if problem.is_gone() => {
                *self.session() = None;
                match freshness {
                    Freshness::Reused => {
                        let (session, freshness) = self.open(metrics)?;
                        job(&session, freshness)
                    }
                    Freshness::New => Err(problem),
                }
            }
            result => result,
        };
        let bytes = SESSION_BYTES + ENTRY_BYTES * session.tree().len() as u64;
        self.bytes.store(bytes, Ordering::Relaxed);
        result
    }
}

/// A job with a session, which was read just now or earlier.
type SlotJob<'a, T> = &'a mut dyn FnMut(&Arc<Session>, Freshness) -> Result<T, Problem>;

/// A job with a session, boxed so that all handlers that return a `T` share one type.
type SessionJob<T> = Box<dyn FnMut(&Arc<Session>) -> Result<T, Problem> + Send>;

/// Whether a session was read just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    New,
    Reused,
}

impl Node {
    /// Returns a session that is up to date, with its leaf at the leaf of its log. Blocks.
    pub(crate) fn open_session(
        &self,
        space: &str,
        id: &SessionId,
        store: &Arc<dyn Store>,
    ) -> Result<Arc<Session>, Problem> {
        let slot = self.sessions.slot(space, id, Arc::clone(store));
        let opened = slot.run(&self.metrics, &mut |session, freshness| {
            catch_up(session, freshness)?;
            Ok(Arc::clone(session))
        });
        if opened.as_ref().is_err_and(Problem::is_gone) {
            self.sessions.forget(space, id);
        }
        opened
    }
}

impl Call {
    pub(crate) fn slot(&self, id: &SessionId) -> Result<Arc<Slot>, Problem> {
        Ok(self.node.sessions.slot(self.space(), id, self.store()?))
    }

    /// Runs `job` with the session of the path, which is up to date, with its leaf at the leaf of
    /// the log.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        job: impl FnMut(&Arc<Session>) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.read_session(self.session_id()?, job).await
    }

    /// Runs `job` as [`read`](Call::read) does, with any session of the space.
    pub(crate) fn read_session<T: Send + 'static>(
        &self,
        id: SessionId,
        job: impl FnMut(&Arc<Session>) -> Result<T, Problem> + Send + 'static,
    ) -> impl Future<Output = Result<T, Problem>> + Send {
        self.read_boxed(id, Box::new(job))
    }

    async fn read_boxed<T: Send + 'static>(
        &self,
        id: SessionId,
        mut job: SessionJob<T>,
    ) -> Result<T, Problem> {
        let (slot, node) = (self.slot(&id)?, Arc::clone(&self.node));
        let done = self.node.work.run(move || {
            let done = slot.run(&node.metrics, &mut |session, freshness| {
                catch_up(session, freshness)?;
                job(session)
            });
            drop(slot);
            node.sessions.trim();
            done
        });
        let done = done.await?;
        self.forget_unknown(&id, &done);
        done
    }

    /// Removes the slot of a session that does not exist.
    pub(crate) fn forget_unknown<T>(&self, id: &SessionId, done: &Result<T, Problem>) {
        if done.as_ref().is_err_and(Problem::is_gone) {
            self.node.sessions.forget(self.space(), id);
        }
    }

    /// Runs `job` with the session of the path when it is its turn among the writers. The session
    /// may be behind the log; `job` must append with calls that detect this.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        job: impl FnMut(&Arc<Session>) -> Result<T, Problem> + Send + 'static,
    ) -> impl Future<Output = Result<T, Problem>> + Send {
        self.write_boxed(Box::new(job))
    }

    async fn write_boxed<T: Send + 'static>(&self, mut job: SessionJob<T>) -> Result<T, Problem> {
        let id = self.session_id()?;
        let (slot, node) = (self.slot(&id)?, Arc::clone(&self.node));
        let turn = Arc::clone(&slot.queue).lock_owned().await;
        let done = self.node.work.run(move || {
            let done = slot.run(&node.metrics, &mut |session, _| job(session));
            drop((turn, slot));
            node.sessions.trim();
            done
        });
        let done = done.await?;
        self.forget_unknown(&id, &done);
        self.node.feeds.wake(self.space());
        done
    }

    /// Runs `job` as [`write`](Call::write) does, with a session that is up to date, with its leaf
    /// at the leaf of the log: for operations that read the tree first.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        mut job: impl FnMut(&Arc<Session>) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.write(move |session| {
            catch_up(session, Freshness::Reused)?;
            job(session)
        })
        .await
    }
}

fn catch_up(session: &Session, freshness: Freshness) -> Result<(), Problem> {
    if freshness == Freshness::Reused {
        session.refresh()?;
        session.follow()?;
    }
    Ok(())
}
