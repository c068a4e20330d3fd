//! `treering context`

use super::{Position, warn_of_findings};
use crate::describe::{self, Calls};
use crate::error::Failure;
use crate::output::{self, Output, Style};
use crate::text::{count, safe_line, time};
use std::io::Write;
use std::path::PathBuf;
use treering::{Context, ContextMessage, MessageView, Pairing, PairingRepair, Session};

/// Show what the model sees
///
/// The messages on the path from the root to the leaf, with compactions, branch summaries and context
/// edits applied.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session file
    pub(crate) file: PathBuf,
    /// See it from another entry (an id or its beginning; `none`: before the first entry)
    #[arg(long, value_name = "ID")]
    leaf: Option<Position>,
    /// One JSON object: {"messages":[…],"thinkingLevel":…,"model":…}
    #[arg(long)]
    json: bool,
    /// The messages as a provider gets them: summaries, commands and custom messages as user text
    #[arg(long)]
    llm: bool,
    /// Pair every tool call with its result, as providers demand; repairs are reported
    #[arg(long, requires = "llm")]
    strict: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let (mut context, session) = read(args)?;
    let mut repairs = Vec::new();
    if args.llm {
        let pairing = if args.strict { Pairing::Strict } else { Pairing::Raw };
        let llm = context.to_llm(pairing);
        (context.messages, repairs) = (llm.messages, llm.repairs);
    }
    if args.json {
        out.write_all(&context.to_json())?;
        out.write_all(b"\n")?;
    } else {
        write(&context, out)?;
    }
    out.finish()?;
    for repair in &repairs {
        output::complain("warning", &safe_line(&in_words(repair)));
    }
    match session.filter(|_| !args.json) {
        Some(session) => warn_of_findings(&session, &args.file, out),
        None => Ok(()),
    }
}

/// The active leaf's context comes from the end of the file; any other needs the whole tree.
fn read(args: &Args) -> Result<(Context, Option<Session>), Failure> {
    let Some(leaf) = &args.leaf else { return Ok((treering::active_context(&args.file)?, None)) };
    let session = Session::open(&args.file)?;
    let context = session.context_at(leaf.id())?;
    Ok((context, Some(session)))
}

/// Writes a context for people.
pub(super) fn write(context: &Context, out: &mut Output) -> Result<(), Failure> {
    for message in &context.messages {
        write_message(message, out)?;
        writeln!(out)?;
    }
    let model = context.model.as_ref().map_or("no model".to_owned(), |model| {
        let name = |part: &Option<String>| part.as_deref().map_or("?".to_owned(), safe_line);
        format!("model {}/{}", name(&model.provider), name(&model.model_id))
    });
    let end = format!(
        "{}, {model}, thinking {}",
        count(context.messages.len(), "message", "messages"),
        safe_line(&context.thinking_level),
    );
    let end = out.paint(Style::Dim, &end);
    writeln!(out, "{end}")?;
    Ok(())
}

fn write_message(message: &ContextMessage, out: &mut Output) -> Result<(), Failure> {
    let view = MessageView::new(&message.json);
    let mut role = safe_line(&view.role_name());
    for detail in ["toolName", "customType"] {
        if let Some(name) = view.field(detail) {
            role = format!("{role} {}", safe_line(&name));
        }
    }
    let role = out.paint(describe::role_style(view.role()), &role);
    let id = out.paint(Style::Id, &safe_line(message.entry.as_str()));
    let time = out.paint(Style::Dim, &time(describe::message_time(view)));
    writeln!(out, "── {role}  {id}  {time}")?;
    describe::write_message(out, view, Calls::OneLine)
}

fn in_words(repair: &PairingRepair) -> String {
    match repair {
        PairingRepair::ResultMadeUp { entry, call } => {
            format!("entry {entry}: tool call {call} has no result: an error result was made up")
        }
        PairingRepair::ResultMoved { entry, call } => {
            format!("entry {entry}: the result of tool call {call} was moved to its call")
        }
        PairingRepair::ResultDropped { entry, call } => {
            format!("entry {entry}: a result without its tool call {call} was left out")
        }
        other => format!("{other:?}"),
    }
}
