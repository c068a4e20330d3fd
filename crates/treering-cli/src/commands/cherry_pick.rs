//! `treering cherry-pick`

use super::log;
use crate::error::Failure;
use crate::output::{Output, Style, json_string, json_string_or_null, json_strings};
use crate::session_arg::SessionArg;
use crate::short_ids::ShortIds;
use crate::text::{count, safe_line};
use crate::typed::TypedSelection;
use std::io::{self, Write};
use treering::merge::{PickPlan, Repeated};
use treering::{EntryId, Session};
use treering_display::preview_line::Calls;

/// Copy entries of another branch to the active branch
///
/// Messages and branch summaries are copied, in one write. A tool call comes with its results, a
/// result with its call. Entries that are already on the path are not copied again. Prints the copies.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// An entry (an id or its beginning), or FIRST..LAST: all from one to another below it
    #[arg(value_name = "ENTRY|FIRST..LAST")]
    selection: TypedSelection,
    /// The session to copy from; SESSION itself if not given
    #[arg(long, value_name = "SESSION")]
    pub(crate) from: Option<SessionArg>,
    /// Also copy entries that are already on the path
    #[arg(long)]
    force: bool,
    /// Show what would be copied; write nothing
    #[arg(long)]
    dry_run: bool,
    /// One JSON object: copied, skipped, leftOut, unanswered, tokens
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = args.file.open()?;
    let other = args.from.as_ref().map(SessionArg::open).transpose()?;
    let source = other.as_ref().unwrap_or(&session);
    let repeated = if args.force { Repeated::Copied } else { Repeated::Skipped };
    let about = |error, file: &SessionArg| Failure::about(error, file);
    let from = args.from.as_ref().unwrap_or(&args.file);
    let selection = args.selection.resolve(source).map_err(|error| about(error, from))?;
    let pick = session.plan_pick(source, &selection, repeated).map_err(|e| about(e, from))?;
    let copies = match args.dry_run {
        true => Vec::new(),
        false => session.apply_pick(&pick).map_err(|error| about(error, &args.file))?,
    };
    match args.json {
        true => Ok(write_json(&pick, &copies, out)?),
        false => write_for_people(source, &session, &pick, &copies, out),
    }
}

fn write_for_people(
    source: &Session,
    session: &Session,
    pick: &PickPlan,
    copies: &[EntryId],
    out: &mut Output,
) -> Result<(), Failure> {
    let (tree, own) = (source.tree(), session.tree());
    let (theirs, ours) = (ShortIds::of(&tree), ShortIds::of(&own));
    let mut reader = source.reader();
    let mut calls = Calls::default();
    for (at, from) in pick.entries.iter().enumerate() {
        if let Some(copy) = copies.get(at) {
            let id = out.paint(Style::Id, &ours.show(copy.as_str()));
            write!(out, "{id} ⇠ ")?;
        }
        log::write(&reader.entry(from.as_str())?, &tree, &theirs, &mut calls, out)?;
    }
    for (from, here) in &pick.skipped {
        let (from, here) = (theirs.show(from.as_str()), ours.show(here.as_str()));
        let note = match from == here {
            true => format!("{from} is already on the path"),
            false => format!("{from} is already on the path, as {here}"),
        };
        writeln!(out, "{}", out.paint(Style::Dim, &note))?;
    }
    for (entry, call) in &pick.unanswered {
        let (entry, call) = (theirs.show(entry.as_str()), safe_line(call));
        let note = format!("{entry}: its tool call {call} has no result in this session");
        writeln!(out, "{}", out.paint(Style::Dim, &note))?;
    }
    let copied = count(pick.entries.len(), "entry", "entries");
    let more = match pick.companions.len() {
        0 => String::new(),
        number => format!(", {number} of them to keep tool calls with their results"),
    };
    let left = match pick.left_out.len() {
        0 => String::new(),
        number => format!("; {number} left out that are not messages"),
    };
    let done = if copies.is_empty() && !pick.is_empty() { "would be copied" } else { "copied" };
    let line = format!("{copied} {done} (about {} tokens){more}{left}", pick.tokens);
    writeln!(out, "{}", out.paint(Style::Dim, &line))?;
    Ok(())
}

fn write_json(pick: &PickPlan, copies: &[EntryId], out: &mut Output) -> io::Result<()> {
    let pair = |out: &mut Output, at: usize, keys: [&str; 2], from: &str, other: Option<&str>| {
        let comma = if at > 0 { "," } else { "" };
        write!(out, "{comma}{{\"{}\":", keys[0])?;
        json_string(out, from)?;
        write!(out, ",\"{}\":", keys[1])?;
        json_string_or_null(out, other)?;
        out.write_all(b"}")
    };
    out.write_all(b"{\"copied\":[")?;
    for (at, from) in pick.entries.iter().enumerate() {
        pair(out, at, ["from", "id"], from.as_str(), copies.get(at).map(EntryId::as_str))?;
    }
    out.write_all(b"],\"skipped\":[")?;
    for (at, (from, here)) in pick.skipped.iter().enumerate() {
        pair(out, at, ["from", "id"], from.as_str(), Some(here.as_str()))?;
    }
    out.write_all(b"],\"companions\":")?;
    json_strings(out, &pick.companions)?;
    out.write_all(b",\"leftOut\":")?;
    json_strings(out, &pick.left_out)?;
    out.write_all(b",\"unanswered\":[")?;
    for (at, (entry, call)) in pick.unanswered.iter().enumerate() {
        pair(out, at, ["entry", "call"], entry.as_str(), Some(call))?;
    }
    writeln!(out, "],\"tokens\":{}}}", pick.tokens)
}
