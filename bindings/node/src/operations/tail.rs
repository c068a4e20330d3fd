//! Operations for which the end of a session is enough.

use super::entries::{Form, context_of_end};
use super::reading::start_of;
use crate::args::Args;
use crate::outcome::Outcome;
use treering::session::SessionTail;
use treering_bindings::Failure;

/// Carries out an operation; `None` if it needs more of the session than its end.
pub(super) fn invoke(
    tail: &SessionTail,
    operation: &str,
    args: &Args,
) -> Result<Option<Outcome>, Failure> {
    Ok(match operation {
        "start" => {
            let path = tail.path().display().to_string();
            Some(start_of(&tail.header().id, Some(path), tail.leaf(), tail.last_entry()))
        }
        "header" => Some(Outcome::Json(tail.header().raw().to_vec())),
        "contextEntries" => match args.text("at")? {
            Some(at) => {
                let form = Form::of(args)?;
                tail.context_entries(at)?.map(|context| context_of_end(&context, form))
            }
            None => None,
        },
        _ => None,
    })
}
