//! The handlers of calls, by topic.

pub(crate) mod branches;
pub(crate) mod entries;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod log;
pub(crate) mod reading;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod system;
pub(crate) mod turns;
