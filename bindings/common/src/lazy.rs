//! Sessions that are read whole only when something needs it.

use crate::failure::Failure;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use treering::session::SessionTail;
use treering::store::Store;
use treering::{CreateOptions, OpenOptions, Session, SessionId};

/// An open session, of which perhaps only the end was read.
///
/// Any number of threads may use it. One of them reads the rest when it is needed; meanwhile the
/// others are answered
/// from the end, or wait for that thread.
pub struct LazySession {
    opened: Mutex<Opened>,
    /// Held by the thread that reads the rest, so that the lock of `opened` is never held for long.
    reading: Mutex<()>,
}

#[derive(Clone)]
enum Opened {
    Tail(Arc<SessionTail>),
    Whole(Arc<Session>),
}

impl From<Session> for LazySession {
    fn from(session: Session) -> Self {
        LazySession::new(Opened::Whole(Arc::new(session)))
    }
}

impl From<SessionTail> for LazySession {
    fn from(tail: SessionTail) -> Self {
        LazySession::new(Opened::Tail(Arc::new(tail)))
    }
}

impl LazySession {
    fn new(opened: Opened) -> Self {
        LazySession { opened: Mutex::new(opened), reading: Mutex::new(()) }
    }

    fn opened(&self) -> MutexGuard<'_, Opened> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session file by its end, or whole if the end does not tell enough.
    ///
    /// # Errors
    ///
    /// As [`Session::open_with`].
    pub fn open(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self, Failure> {
        let path = path.as_ref();
        // If the file is damaged, opening the whole session reports the error.
        match SessionTail::open(path, options.clone()) {
            Ok(Some(tail)) => Ok(tail.into()),
            _ => Ok(Session::open_with(path, options)?.into()),
        }
    }

    /// Opens a session file as [`open`](LazySession::open) does, or creates it if there is none.
    ///
    /// # Errors
    ///
    /// As [`Session::open_or_create`].
    pub fn open_or_create(
        path: impl AsRef<Path>,
        cwd: impl AsRef<Path>,
        options: CreateOptions,
    ) -> Result<Self, Failure> {
        let path = path.as_ref();
        match SessionTail::open_existing(path, &options) {
            Ok(Some(tail)) => Ok(tail.into()),
            _ => Ok(Session::open_or_create(path, cwd, options)?.into()),
        }
    }

    /// Opens a session of a store: one that is a file as [`open`](LazySession::open) does, any
    /// other whole.
    ///
    /// # Errors
    ///
    /// As [`Session::open_in`].
    pub fn open_in(
        store: &Arc<dyn Store>,
        id: &SessionId,
        options: OpenOptions,
    ) -> Result<Self, Failure> {
        match store.file(id)? {
            Some(path) => LazySession::open(path, options),
            None => Ok(Session::open_in(store, id, options)?.into()),
        }
    }

    /// Returns the session, and reads the part of it that was not read yet. If that fails, the next
    /// call tries again.
    ///
    /// # Errors
    ///
    /// As [`SessionTail::whole`].
    pub fn whole(&self) -> Result<Arc<Session>, Failure> {
        if let Some(session) = self.if_whole() {
            return Ok(session);
        }
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let tail = match self.opened().clone() {
            // Another thread has read it meanwhile.
            Opened::Whole(session) => return Ok(session),
            Opened::Tail(tail) => tail,
        };
        let session = Arc::new(tail.whole()?);
        *self.opened() = Opened::Whole(Arc::clone(&session));
        Ok(session)
    }

    /// Returns the session if it was read whole.
    pub fn if_whole(&self) -> Option<Arc<Session>> {
        match &*self.opened() {
            Opened::Whole(session) => Some(Arc::clone(session)),
            Opened::Tail(_) => None,
        }
    }

    /// Returns the end of the session, if that is all that was read.
    pub fn tail(&self) -> Option<Arc<SessionTail>> {
        match &*self.opened() {
            Opened::Tail(tail) => Some(Arc::clone(tail)),
            Opened::Whole(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use treering::{Message, NewEntry};

    /// Returns a session file whose end is enough to build its context.
    fn long_session() -> std::path::PathBuf {
        let path =
            std::env::temp_dir().join(format!("treering-lazy-{}.jsonl", SessionId::generate()));
        let session = Session::create_at(&path, "/project", CreateOptions::new()).unwrap();
        let mut last = session.append(Message::user("hello")).unwrap();
        for _ in 0..20 {
            let text = "lorem ipsum ".repeat(10_000);
            last = session.append(Message::assistant("acme", "m", text)).unwrap();
        }
        session.append(NewEntry::compaction("it was long", Some(&last), 500_000)).unwrap();
        path
    }

    #[test]
    fn threads_that_need_the_whole_session_get_the_same_one() {
        let path = long_session();
        let session = LazySession::open(&path, OpenOptions::new()).unwrap();
        assert!(session.tail().is_some() && session.if_whole().is_none());
        let wholes: Vec<Arc<Session>> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| session.whole().unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(wholes.iter().all(|whole| Arc::ptr_eq(whole, &wholes[0])));
        assert_eq!(wholes[0].tree().len(), 22);
        assert!(session.tail().is_none() && session.if_whole().is_some());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn existing_files_are_opened_by_their_end_if_the_options_agree() {
        let path = long_session();
        let open = |options| LazySession::open_or_create(&path, "/project", options);
        assert!(open(CreateOptions::new()).unwrap().tail().is_some());
        let other = CreateOptions::new().id(SessionId::new("another").unwrap());
        assert_eq!(open(other).err().unwrap().code, "invalid_option");
        std::fs::remove_file(&path).unwrap();
        assert!(open(CreateOptions::new()).unwrap().if_whole().is_some());
        assert!(LazySession::open(&path, OpenOptions::new()).is_err());
    }
}
