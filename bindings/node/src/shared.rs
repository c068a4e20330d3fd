//! The session behind a handle of JavaScript.

use crate::ahead::Ahead;
use std::ops::Deref;
use treering_bindings::LazySession;

/// An open session, and the pieces of its entries that are made ahead.
pub struct SharedSession {
    session: LazySession,
    pub(crate) ahead: Ahead,
}

impl<T: Into<LazySession>> From<T> for SharedSession {
    fn from(session: T) -> Self {
        SharedSession { session: session.into(), ahead: Ahead::default() }
    }
}

impl Deref for SharedSession {
    type Target = LazySession;

    fn deref(&self) -> &LazySession {
        &self.session
    }
}
