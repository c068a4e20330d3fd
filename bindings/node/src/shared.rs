//! Sessions that are read whole only when something needs it.

use crate::ahead::Ahead;
use std::sync::{Arc, Mutex, PoisonError};
use treering::Session;
use treering::session::SessionTail;
use treering_bindings::Failure;

/// An open session, of which perhaps only the end was read.
pub struct SharedSession {
    opened: Mutex<Opened>,
    pub(crate) ahead: Ahead,
}

enum Opened {
    Tail(Arc<SessionTail>),
    Whole(Arc<Session>),
}

impl From<Session> for SharedSession {
    fn from(session: Session) -> Self {
        SharedSession::new(Opened::Whole(Arc::new(session)))
    }
}

impl From<SessionTail> for SharedSession {
    fn from(tail: SessionTail) -> Self {
        SharedSession::new(Opened::Tail(Arc::new(tail)))
    }
}

impl SharedSession {
    fn new(opened: Opened) -> Self {
        SharedSession { opened: Mutex::new(opened), ahead: Ahead::default() }
    }

    /// Returns the session. What was not read of it is read now; if that fails, the next call tries again.
    pub(crate) fn whole(&self) -> Result<Arc<Session>, Failure> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let tail = match &*opened {
            Opened::Whole(session) => return Ok(Arc::clone(session)),
            Opened::Tail(tail) => tail,
        };
        let session = Arc::new(tail.whole()?);
        *opened = Opened::Whole(Arc::clone(&session));
        Ok(session)
    }

    /// Returns the end of the session, if that is all that was read.
    pub(crate) fn tail(&self) -> Option<Arc<SessionTail>> {
        match &*self.opened.lock().unwrap_or_else(PoisonError::into_inner) {
            Opened::Tail(tail) => Some(Arc::clone(tail)),
            Opened::Whole(_) => None,
        }
    }
}
