//! The operations, by what they are called on.

mod activity;
mod files;
mod plans;
mod reading;
mod stores;
mod writing;

use crate::args::Args;
use crate::outcome::Answer;
use std::sync::Arc;
use treering::Session;
use treering::store::Store;
use treering_bindings::Failure;

/// Carries out an operation of the module.
pub(crate) fn module(operation: &str, args: &Args) -> Answer {
    files::invoke(operation, args).unwrap_or_else(|| Err(unknown(operation)))
}

/// Carries out an operation on a session.
pub(crate) fn session(session: &Arc<Session>, operation: &str, args: &Args) -> Answer {
    reading::invoke(session, operation, args)
        .or_else(|| writing::invoke(session, operation, args))
        .or_else(|| plans::invoke(session, operation, args))
        .unwrap_or_else(|| Err(unknown(operation)))
}

/// Carries out an operation on a store.
pub(crate) fn store(store: &Arc<dyn Store>, operation: &str, args: &Args) -> Answer {
    stores::invoke(store, operation, args).unwrap_or_else(|| Err(unknown(operation)))
}

fn unknown(operation: &str) -> Failure {
    Failure::invalid("unknown_operation", format!("there is no operation {operation}"))
}
