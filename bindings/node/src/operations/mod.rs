//! The operations, by what they are called on.

mod entries;
mod files;
mod plans;
mod reading;
mod stores;
mod tail;
mod visible;
mod writing;

use crate::args::Args;
use crate::outcome::{Answer, Outcome};
use crate::shared::SharedSession;
use std::sync::Arc;
use treering::store::Store;
use treering_bindings::Failure;

pub(crate) use entries::{Form, Piece, piece_of_entries};

/// The size of pieces of entries that are made ahead, unless the caller says otherwise.
const PIECE: u64 = 256 << 10;

/// Carries out an operation of the module.
pub(crate) fn module(operation: &str, args: &Args) -> Answer {
    files::invoke(operation, args).unwrap_or_else(|| Err(unknown(operation)))
}

/// Carries out an operation on a session.
pub(crate) fn session(shared: &SharedSession, operation: &str, args: &Args) -> Answer {
    if let Some(answer) =
        shared.tail().and_then(|tail| tail::invoke(&tail, operation, args).transpose())
    {
        return answer;
    }
    let session = &shared.whole()?;
    if operation == "entriesAhead" {
        let size = args.number("size")?.unwrap_or(PIECE);
        let piece = shared.prefetch.piece(session, args.text("after")?, size, Form::of(args)?)?;
        return Ok(Outcome::Json(piece.json));
    }
    entries::invoke(session, operation, args)
        .or_else(|| reading::invoke(session, operation, args))
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
