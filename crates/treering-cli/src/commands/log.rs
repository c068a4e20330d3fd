//! `treering log`

use super::warn_of_findings;
use crate::describe;
use crate::error::Failure;
use crate::output::{Output, Style};
use crate::session_arg::SessionArg;
use crate::short_ids::ShortIds;
use crate::text::{columns, excerpt, pad, time};
use crate::typed::TypedPosition;
use std::io::Write;
use treering::{Dialect, Entry, Tree};
use treering_display::preview_line::Calls;

/// List the entries on the path to the leaf, root first
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// The path to another entry (an id or its beginning; `none`: before the first entry)
    #[arg(long, value_name = "ID")]
    leaf: Option<TypedPosition>,
    /// The entries as they are in the file, one JSON object per line; those of other agents in
    /// treering's shape, with the original in `record`
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = args.file.open()?;
    let position = TypedPosition::or_leaf(args.leaf.as_ref(), &session)?;
    let tree = session.tree();
    let (ids, mut calls) = (ShortIds::of(&tree), Calls::default());
    for entry in session.path_to(position)? {
        let entry = entry?;
        if args.json {
            write_json(&entry, session.dialect(), out)?;
        } else {
            write(&entry, &tree, &ids, &mut calls, out)?;
        }
    }
    match args.json {
        true => Ok(()),
        false => warn_of_findings(&session, &args.file, out),
    }
}

/// Writes the entry, and the original record if it is another agent's.
pub(super) fn write_json(entry: &Entry, dialect: Dialect, out: &mut Output) -> Result<(), Failure> {
    let is_ours = dialect == Dialect::default() || entry.is_damaged();
    match entry.raw().strip_suffix(b"}").filter(|_| !is_ours) {
        Some(fields) => {
            out.write_json(fields)?;
            out.write_all(b",\"record\":")?;
            out.write_json(entry.record())?;
            out.write_all(b"}")?;
        }
        None => out.write_json(entry.raw())?,
    }
    Ok(out.write_all(b"\n")?)
}

/// Writes an entry on one line. `calls` has the tool calls of earlier entries, for their results.
pub(super) fn write(
    entry: &Entry,
    tree: &Tree,
    ids: &ShortIds,
    calls: &mut Calls,
    out: &mut Output,
) -> Result<(), Failure> {
    let id = ids.show(entry.id().as_str());
    let time = time(entry.time());
    let name = pad(&describe::name(entry), 10);
    let label = tree.label(entry.id().as_str());
    let label = label.map(|label| format!("[{}] ", excerpt(label, 40)));
    let label = label.unwrap_or_default();
    let used = columns(&id) + 2 + columns(&time) + 2 + columns(&name) + 2 + columns(&label);
    let preview = describe::preview(entry, calls, out.width().saturating_sub(used).max(20));
    let style = describe::style(entry.kind(), entry.role());
    let (id, time) = (out.paint(Style::Id, &id), out.paint(Style::Dim, &time));
    let (name, label) = (out.paint(style, &name), out.paint(Style::Label, &label));
    let line = format!("{id}  {time}  {name}  {label}{preview}");
    writeln!(out, "{}", line.trim_end())?;
    Ok(())
}
