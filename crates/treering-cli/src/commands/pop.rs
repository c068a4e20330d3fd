//! `treering pop`

use super::goto::{has_summary, note_that_nothing_was_abandoned, write_navigation};
use crate::agent::{self, SummaryArgs};
use crate::error::Failure;
use crate::output::Output;
use crate::session_arg::SessionArg;
use crate::typed::TypedEntry;
use treering_agent::NavigateOptions;

/// Go back to your previous message or an entry, and summarize the abandoned branch
///
/// The leaf moves before the message, and its text is printed so that it can be edited and sent again.
/// Nothing is lost: the abandoned branch stays in the tree.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// The entry to go back to (an id or its beginning)
    id: Option<TypedEntry>,
    #[command(flatten)]
    summaries: SummaryArgs,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = args.file.open()?;
    let id = args.id.as_ref().map(|id| id.resolve(&session)).transpose()?;
    let agent = agent::with_summarizer(&args.file, session, &args.summaries)?;
    let navigation = agent::run(&agent, async |cancel| {
        let mut options = NavigateOptions::new().cancel(cancel.clone());
        options.custom_instructions = args.summaries.instructions.clone();
        match &id {
            Some(id) => agent.pop(id, options).await,
            None => agent.pop_previous(options).await,
        }
    })?;
    let is_summarized = has_summary(&navigation);
    write_navigation(&agent, navigation, args.json, out)?;
    match is_summarized {
        true => Ok(()),
        false => note_that_nothing_was_abandoned(out),
    }
}
