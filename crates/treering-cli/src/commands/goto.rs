//! `treering goto`

use crate::agent::{self, SummaryArgs};
use crate::error::Failure;
use crate::output::{self, Output, json_string_or_null};
use crate::session_arg::SessionArg;
use crate::text::safe_line;
use crate::typed::{TypedPosition, label};
use std::io::Write;
use treering::{EntryId, Position};
use treering_agent::{AgentSession, Moved, NavigateOptions, Navigation};

/// Move the leaf: the next entry continues from there
///
/// Nothing is lost: the abandoned branch stays in the tree. Prints the new leaf. With `--summarize`, a
/// summary of the abandoned branch is appended; with `--edit`, the leaf moves before a user message and
/// its text is printed, so that it can be edited and sent again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// The entry to go to (an id or its beginning; `none`: before the first entry)
    id: TypedPosition,
    /// Append a summary of the abandoned branch
    #[arg(long)]
    summarize: bool,
    /// Go to the position before a user message, and print its text
    #[arg(long)]
    edit: bool,
    /// Label the summary, or the entry if there is none
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = label)]
    label: Option<String>,
    #[command(flatten)]
    summaries: SummaryArgs,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    if !args.summarize
        && (args.summaries.instructions.is_some() || args.summaries.summarizer.is_some())
    {
        return Err(Failure::Usage {
            what: "--instructions and --summarizer need --summarize".to_owned(),
            hint: "add `--summarize`, or leave them out".to_owned(),
        });
    }
    let id = match &args.id {
        TypedPosition::Entry(id) => id,
        TypedPosition::Start if args.summarize || args.edit || args.label.is_some() => {
            return Err(Failure::Usage {
                what: "--summarize, --edit and --label need an entry to go to".to_owned(),
                hint: "`none` moves the leaf before the first entry".to_owned(),
            });
        }
        TypedPosition::Start => {
            let session = args.file.open()?;
            let old = session.leaf();
            session.branch(Position::Start)?;
            return write_place(None, old, args.json, out);
        }
    };
    let session = args.file.open()?;
    let id = id.resolve(&session)?;
    if !args.summarize && !args.edit && args.label.is_none() {
        let old = session.leaf();
        let leaf = session.branch(id)?;
        return write_place(leaf, old, args.json, out);
    }
    let agent = match args.summarize {
        true => agent::with_summarizer(&args.file, session, &args.summaries)?,
        false => AgentSession::new(session),
    };
    let mut options = NavigateOptions::new().summarize(args.summarize);
    options.exact = !args.edit;
    options.custom_instructions = args.summaries.instructions.clone();
    options.label = args.label.clone();
    let navigation = agent::run(&agent, async |cancel| {
        let options = options.cancel(cancel.clone());
        agent.navigate(id.as_str(), options).await
    })?;
    let has_text = match &navigation {
        Navigation::Moved(moved) => moved.editor_text.is_some(),
        _ => true,
    };
    let is_summarized = has_summary(&navigation);
    write_navigation(&agent, navigation, args.json, out)?;
    if args.summarize && !is_summarized {
        note_that_nothing_was_abandoned(out)?;
    }
    if args.edit && !has_text {
        out.finish()?;
        let entry = safe_line(id.as_str());
        output::write_notice("note", &format!("{entry} is not a user message: no text to edit"));
    }
    Ok(())
}

/// Returns whether a summary was appended, or the navigation did not take place.
pub(super) fn has_summary(navigation: &Navigation) -> bool {
    match navigation {
        Navigation::Moved(moved) => moved.summary.is_some(),
        Navigation::AlreadyThere => false,
        Navigation::Canceled { .. } | Navigation::Aborted => true,
    }
}

pub(super) fn note_that_nothing_was_abandoned(out: &mut Output) -> Result<(), Failure> {
    out.finish()?;
    output::write_notice("note", "no branch was abandoned: there is nothing to summarize");
    Ok(())
}

fn write_place(
    leaf: Option<EntryId>,
    old: Option<EntryId>,
    json: bool,
    out: &mut Output,
) -> Result<(), Failure> {
    write_report(&MoveReport { leaf, old, moved: None }, json, out)
}

/// A report about the new leaf.
struct MoveReport {
    leaf: Option<EntryId>,
    old: Option<EntryId>,
    /// The move, if the leaf has moved.
    moved: Option<Box<Moved>>,
}

/// Reports the new leaf, and the results of the navigation.
pub(super) fn write_navigation(
    agent: &AgentSession,
    navigation: Navigation,
    json: bool,
    out: &mut Output,
) -> Result<(), Failure> {
    match navigation {
        Navigation::Canceled { hook } => Err(agent::unwanted(&hook)),
        Navigation::Aborted => Err(agent::stopped()),
        Navigation::AlreadyThere => {
            let leaf = agent.session().leaf();
            write_place(leaf.clone(), leaf, json, out)
        }
        Navigation::Moved(moved) => {
            let (leaf, old) = (moved.new_leaf.clone(), moved.old_leaf.clone());
            write_report(&MoveReport { leaf, old, moved: Some(moved) }, json, out)
        }
    }
}

fn write_report(report: &MoveReport, json: bool, out: &mut Output) -> Result<(), Failure> {
    let id = |id: &Option<EntryId>| id.as_ref().map(EntryId::to_string);
    let moved = report.moved.as_deref();
    let summary = moved.and_then(|moved| moved.summary.as_ref()?.text("summary"));
    let editor_text = moved.and_then(|moved| moved.editor_text.as_deref());
    if json {
        out.write_all(b"{\"leaf\":")?;
        json_string_or_null(out, id(&report.leaf).as_deref())?;
        out.write_all(b",\"oldLeaf\":")?;
        json_string_or_null(out, id(&report.old).as_deref())?;
        out.write_all(b",\"summary\":")?;
        json_string_or_null(out, summary.as_deref())?;
        out.write_all(b",\"usage\":")?;
        let usage = moved.and_then(|moved| moved.usage).map(|usage| usage.to_json());
        out.write_all(usage.as_deref().unwrap_or(b"null"))?;
        out.write_all(b",\"editorText\":")?;
        json_string_or_null(out, editor_text)?;
        return Ok(out.write_all(b"}\n")?);
    }
    match &report.leaf {
        Some(leaf) => writeln!(out, "{}", safe_line(leaf.as_str()))?,
        None => writeln!(out, "none")?,
    }
    if let Some(summary) = summary {
        writeln!(out)?;
        crate::describe::write_text(out, &summary)?;
    }
    if let Some(text) = editor_text {
        writeln!(out)?;
        crate::describe::write_text(out, text)?;
    }
    Ok(())
}
