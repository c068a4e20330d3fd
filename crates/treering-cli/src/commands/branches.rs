//! `treering branches`

use super::warn_of_findings;
use crate::amounts::{cost, json_usage, tokens};
use crate::clock;
use crate::describe;
use crate::error::Failure;
use crate::output::{self, Output, Style, json_string, json_string_or_null};
use crate::session_arg::SessionArg;
use crate::short_ids::ShortIds;
use crate::text::{age, columns, fit, pad, safe_line};
use std::io::Write;
use treering::session::Reader;
use treering::usage::Branch;
use treering::{Kind, Role, Tree};
use treering_display::preview_line::Calls;

/// List the branches with their usage, newest first
///
/// • marks the branch of the active leaf. OWN counts the entries after the branch point, PATH all
/// entries from the root.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// One JSON object per branch and line: leaf, active, sidechain, label, text, since, ownEntries,
    /// entries, time, own, path
    #[arg(long)]
    json: bool,
    /// Also list branches without messages, which hold only labels, settings or an agent's notes
    #[arg(long)]
    all: bool,
    /// Also list the branches of subagents (sidechains)
    #[arg(long)]
    sidechains: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = args.file.open()?;
    let is_shown = |branch: &Branch| {
        let is_wanted =
            (args.all || branch.has_messages) && (args.sidechains || !branch.is_sidechain);
        branch.is_counted() || is_wanted
    };
    let branches: Vec<Branch> = session.branches()?.into_iter().filter(is_shown).collect();
    let tree = session.tree();
    let mut reader = session.reader();
    if args.json {
        for branch in &branches {
            write_json(branch, &tree, &mut reader, out)?;
        }
        return Ok(());
    }
    if branches.is_empty() {
        out.finish()?;
        output::write_notice("note", "no branches yet");
        return Ok(());
    }
    write(&branches, &tree, &mut reader, out)?;
    warn_of_findings(&session, &args.file, out)
}

/// The title of a branch: the label nearest to its end, and its last message.
struct Title {
    label: Option<String>,
    text: String,
}

/// Returns the title of a branch. Reads no further up than the branch point, so that all branches
/// together are read at most once.
fn title(branch: &Branch, tree: &Tree, reader: &mut Reader) -> Result<Title, Failure> {
    let mut title = Title { label: None, text: String::new() };
    let mut result = None;
    let mut id = Some(branch.leaf.clone());
    for _ in 0..branch.own_entries.max(1) {
        let Some(at) = id else { break };
        if title.label.is_none() {
            title.label = tree.label(at.as_str()).map(str::to_owned);
        }
        if title.text.is_empty() && is_conversation(tree.kind(at.as_str())?) {
            let entry = reader.entry(at.as_str())?;
            let preview = describe::preview(&entry, &mut Calls::default(), 200);
            match entry.role() {
                // A tool result counts only if there is no message.
                Some(Role::ToolResult) => result = result.or(Some(preview)),
                _ => title.text = preview,
            }
        }
        if title.label.is_some() && !title.text.is_empty() {
            break;
        }
        id = tree.parent(at.as_str())?;
    }
    if title.text.is_empty() {
        title.text = result.unwrap_or_default();
    }
    Ok(title)
}

fn is_conversation(kind: Kind) -> bool {
    matches!(kind, Kind::Message | Kind::Compaction | Kind::BranchSummary | Kind::CustomMessage)
}

/// One branch as a row of text.
struct Row {
    cells: [String; 6],
    id: String,
    label: String,
    text: String,
    is_active: bool,
}

const HEADINGS: [&str; 6] = ["ENTRIES", "AGE", "OWN", "", "PATH", ""];

fn write(
    branches: &[Branch],
    tree: &Tree,
    reader: &mut Reader,
    out: &mut Output,
) -> Result<(), Failure> {
    let now = clock::now();
    let ids = ShortIds::of(tree);
    let mut rows = Vec::with_capacity(branches.len());
    for branch in branches {
        let title = title(branch, tree, reader)?;
        let label = title.label.map(|label| format!("[{}] ", fit(&safe_line(&label), 40)));
        rows.push(Row {
            cells: [
                branch.own_entries.to_string(),
                branch.time.map_or("-".to_owned(), |time| age(now.saturating_sub(time))),
                tokens(branch.own.total()),
                cost(&branch.own),
                tokens(branch.usage.total()),
                cost(&branch.usage),
            ],
            id: ids.show(branch.leaf.as_str()),
            label: label.unwrap_or_default(),
            text: title.text,
            is_active: branch.is_active,
        });
    }
    write_rows(&rows, out)
}

fn write_rows(rows: &[Row], out: &mut Output) -> Result<(), Failure> {
    let widest = |cell: &dyn Fn(&Row) -> usize| rows.iter().map(cell).max().unwrap_or(0);
    let id = widest(&|row| columns(&row.id)).clamp(4, 40);
    let widths: Vec<usize> = HEADINGS
        .iter()
        .enumerate()
        .map(|(at, heading)| widest(&|row| columns(&row.cells[at])).max(heading.len()))
        .collect();
    let line = |cells: &[&str]| {
        let cells = cells.iter().zip(&widths);
        let cells = cells.filter(|(_, width)| **width > 0);
        cells.map(|(cell, width)| format!("{cell:>width$}")).collect::<Vec<_>>().join("  ")
    };
    let head = format!("  {}  {}  LAST MESSAGE", pad("LEAF", id), line(&HEADINGS));
    let used = columns(&head) - columns("LAST MESSAGE");
    let head = out.paint(Style::Dim, &head);
    writeln!(out, "{head}")?;
    for row in rows {
        let bullet = out.paint(Style::Leaf, if row.is_active { "•" } else { " " });
        let name = out.paint(Style::Id, &pad(&fit(&row.id, id), id));
        let cells: Vec<&str> = row.cells.iter().map(String::as_str).collect();
        let room = out.width().saturating_sub(used + columns(&row.label)).max(10);
        let label = out.paint(Style::Label, &row.label);
        let text = fit(&row.text, room);
        let line = format!("{bullet} {name}  {}  {label}{text}", line(&cells));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn write_json(
    branch: &Branch,
    tree: &Tree,
    reader: &mut Reader,
    out: &mut Output,
) -> Result<(), Failure> {
    let title = title(branch, tree, reader)?;
    out.write_all(b"{\"leaf\":")?;
    json_string(out, branch.leaf.as_str())?;
    write!(out, ",\"active\":{},\"sidechain\":{}", branch.is_active, branch.is_sidechain)?;
    out.write_all(b",\"label\":")?;
    json_string_or_null(out, title.label.as_deref())?;
    out.write_all(b",\"text\":")?;
    json_string(out, &title.text)?;
    out.write_all(b",\"since\":")?;
    json_string_or_null(out, branch.since.as_ref().map(|id| id.as_str()))?;
    write!(out, ",\"ownEntries\":{},\"entries\":{}", branch.own_entries, branch.entries)?;
    out.write_all(b",\"time\":")?;
    json_string_or_null(out, branch.time.map(treering::time::format).as_deref())?;
    out.write_all(b",\"own\":")?;
    json_usage(out, &branch.own)?;
    out.write_all(b",\"path\":")?;
    json_usage(out, &branch.usage)?;
    Ok(out.write_all(b"}\n")?)
}
