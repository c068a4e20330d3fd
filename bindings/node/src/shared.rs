//! The session behind a handle of JavaScript.

use crate::prefetch::Prefetch;
use std::ops::Deref;
use treering_bindings::LazySession;

/// An open session, and the prefetched pieces of its entries.
pub struct SharedSession {
    session: LazySession,
    pub(crate) prefetch: Prefetch,
}

impl<T: Into<LazySession>> From<T> for SharedSession {
    fn from(session: T) -> Self {
        SharedSession { session: session.into(), prefetch: Prefetch::default() }
    }
}

impl Deref for SharedSession {
    type Target = LazySession;

    fn deref(&self) -> &LazySession {
        &self.session
    }
}
