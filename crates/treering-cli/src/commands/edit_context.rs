//! `treering edit-context`

use crate::error::Failure;
use crate::output::{Output, Style, json_strings};
use crate::session_arg::SessionArg;
use crate::short_ids::ShortIds;
use crate::text::count;
use crate::typed::TypedEntry;
use std::io::{self, Read, Write};
use treering::context_edit::EditPlan;
use treering::{EntryId, Session};

/// Change what entries contribute to the context
///
/// The entries themselves stay as they are: the command appends an edit that applies to this branch from
/// here on. `restore` undoes it, and so does `treering goto` to an entry before it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    #[command(subcommand)]
    edit: Edit,
    /// Show what would change and how much that saves; write nothing
    #[arg(long, global = true)]
    dry_run: bool,
    /// One JSON object: targets, companions, edits, tokensBefore, tokensAfter
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Edit {
    /// Remove entries from the context, together with the results of their tool calls
    Drop {
        /// The entries (ids or their beginnings)
        #[arg(required = true, value_name = "ENTRY")]
        entries: Vec<TypedEntry>,
    },
    /// Replace the text of an entry; a message keeps its tool calls
    Replace {
        /// The entry (an id or its beginning)
        entry: TypedEntry,
        /// The text; `-` reads it from standard input
        #[arg(long, allow_hyphen_values = true)]
        text: String,
    },
    /// Undo edits, so that entries contribute their own content again
    Restore {
        /// The entries (ids or their beginnings)
        #[arg(required = true, value_name = "ENTRY")]
        entries: Vec<TypedEntry>,
    },
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = args.file.open()?;
    let (verb, plan) = match &args.edit {
        Edit::Drop { entries } => ("dropped", session.plan_drop(resolve(entries, &session)?)?),
        Edit::Replace { entry, text } => {
            let text = if text == "-" { from_stdin()? } else { text.clone() };
            ("replaced", session.plan_replace(entry.resolve(&session)?, &text)?)
        }
        Edit::Restore { entries } => {
            ("restored", session.plan_restore(resolve(entries, &session)?)?)
        }
    };
    let edits = if args.dry_run { Vec::new() } else { session.apply_edit(&plan)? };
    if args.json {
        return Ok(write_json(&plan, &edits, out)?);
    }
    let ids = ShortIds::of(&session.tree());
    // Both are in the order of the context.
    let mut companions = plan.companions.iter().peekable();
    for target in &plan.targets {
        let is_companion = companions.next_if_eq(&target).is_some();
        let note = if is_companion { " (with its call)" } else { "" };
        let id = out.paint(Style::Id, &ids.show(target.as_str()));
        writeln!(out, "{id} {verb}{note}")?;
    }
    let (before, after) = (plan.tokens_before, plan.tokens_after);
    let (change, by) = match before >= after {
        true => ("less", before - after),
        false => ("more", after - before),
    };
    let written = match args.dry_run {
        true => "nothing written".to_owned(),
        false => count(edits.len(), "edit written", "edits written"),
    };
    let line = format!("about {after} tokens instead of {before}, {by} {change}; {written}");
    writeln!(out, "{}", out.paint(Style::Dim, &line))?;
    Ok(())
}

fn resolve(entries: &[TypedEntry], session: &Session) -> treering::Result<Vec<EntryId>> {
    entries.iter().map(|entry| entry.resolve(session)).collect()
}

fn from_stdin() -> Result<String, Failure> {
    let mut text = String::new();
    let read = io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| Failure::message(format!("cannot read standard input: {error}")))?;
    Ok(text)
}

fn write_json(plan: &EditPlan, edits: &[EntryId], out: &mut Output) -> io::Result<()> {
    out.write_all(b"{\"targets\":")?;
    json_strings(out, &plan.targets)?;
    out.write_all(b",\"companions\":")?;
    json_strings(out, &plan.companions)?;
    out.write_all(b",\"edits\":")?;
    json_strings(out, edits)?;
    let (before, after) = (plan.tokens_before, plan.tokens_after);
    writeln!(out, ",\"tokensBefore\":{before},\"tokensAfter\":{after}}}")
}
