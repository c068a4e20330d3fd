//! `treering tree`

use super::warn_of_findings;
use crate::describe;
use crate::error::Failure;
use crate::output::{Output, Style, json_string, json_string_or_null};
use crate::session_arg::SessionArg;
use crate::short_ids::ShortIds;
use crate::text::{columns, fit, pad, safe_line};
use std::io::Write;
use treering::session::Reader;
use treering::tree::TreeItem;
use treering::{Dialect, EntryId, Kind, Role, Session, Tree};
use treering_display::preview_line::Calls;
use treering_display::tree::{Outline, OutlineNode, TreeRows};

/// Show all branches
///
/// • marks the path to the leaf, ⇠ the end of a branch that was merged. Labels and moves of the leaf are
/// shown by their effect, not as entries.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// One JSON object per entry and line, parents before children: id, parentId, depth, type, role,
    /// label, active (on the path to the leaf), leaf, mergedFrom (the end of the branch that was
    /// merged here), sidechain, record (as it is in the file)
    #[arg(long)]
    json: bool,
    /// Also show labels, moves of the leaf and an agent's notes as entries
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// Also show the branches of subagents (sidechains)
    #[arg(long, conflicts_with = "json")]
    sidechains: bool,
    /// Build and walk the tree, but print nothing (for benchmarks)
    #[arg(long, hide = true, conflicts_with = "json")]
    quiet: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = args.file.open()?;
    if args.quiet {
        session.tree().walk().for_each(|item| {
            std::hint::black_box(item);
        });
        return Ok(());
    }
    if args.json {
        return write_json(&session, out);
    }
    write(&session, ShownEntries { all: args.all, sidechains: args.sidechains }, out)?;
    warn_of_findings(&session, &args.file, out)
}

/// The path to the leaf. An entry is on it if the path has the entry at its depth, so no set is
/// needed.
struct ActivePath(Vec<EntryId>);

impl ActivePath {
    fn of(session: &Session, tree: &Tree) -> Result<Self, Failure> {
        let path = session.leaf().map_or(Ok(Vec::new()), |leaf| tree.path(leaf.as_str()))?;
        Ok(ActivePath(path))
    }

    fn has(&self, item: &TreeItem<'_>) -> bool {
        self.0.get(item.depth).is_some_and(|id| id.as_str() == item.id)
    }

    fn ends_at(&self, item: &TreeItem<'_>) -> bool {
        item.depth + 1 == self.0.len() && self.has(item)
    }
}

fn write_json(session: &Session, out: &mut Output) -> Result<(), Failure> {
    let tree = session.tree();
    let path = ActivePath::of(session, &tree)?;
    let mut reader = session.reader();
    for item in tree.walk() {
        out.write_all(b"{\"id\":")?;
        json_string(out, item.id)?;
        out.write_all(b",\"parentId\":")?;
        json_string_or_null(out, item.parent)?;
        write!(out, ",\"depth\":{},\"type\":", item.depth)?;
        match item.kind.name() {
            Some(name) => json_string(out, name)?,
            None => json_string(out, &session.entry(item.id)?.type_name())?,
        }
        out.write_all(b",\"role\":")?;
        match item.role.map(Role::name) {
            Some(None) => {
                let entry = session.entry(item.id)?;
                let role = entry.message().map(|message| message.role_name().into_owned());
                json_string_or_null(out, role.as_deref())?;
            }
            role => json_string_or_null(out, role.flatten())?,
        }
        out.write_all(b",\"label\":")?;
        out.write_all(item.label_json.unwrap_or(b"null"))?; // Exactly as in the file.
        let (active, leaf, sidechain) = (path.has(&item), path.ends_at(&item), item.sidechain);
        let entry = reader.entry(item.id)?;
        write!(out, ",\"active\":{active},\"leaf\":{leaf},\"mergedFrom\":")?;
        json_string_or_null(out, entry.merged_from().as_deref())?;
        write!(out, ",\"sidechain\":{sidechain},\"record\":")?;
        match entry.is_damaged() {
            true => out.write_all(b"null")?,
            false => out.write_json(entry.record())?,
        }
        out.write_all(b"}\n")?;
    }
    Ok(())
}

/// The entries that a tree shows besides the conversation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ShownEntries {
    pub(super) all: bool,
    pub(super) sidechains: bool,
}

impl ShownEntries {
    fn has(self, node: &OutlineNode, dialect: Dialect) -> bool {
        let is_note = matches!(node.kind, Kind::Other | Kind::Custom) && dialect.has_notes();
        let is_bookkeeping = is_note || matches!(node.kind, Kind::Label | Kind::Leaf);
        (self.all || !is_bookkeeping) && (self.sidechains || !node.is_sidechain)
    }
}

/// The largest number of levels that are drawn; outer ones are counted instead.
const MAX_LEVELS: usize = 16;

/// Writes the tree for users, in the layout of the terminal interface.
pub(super) fn write(
    session: &Session,
    shown: ShownEntries,
    out: &mut Output,
) -> Result<(), Failure> {
    let (outline, dialect) = (Outline::of(session), session.dialect());
    let node = |at: u32| outline.nodes().get(at as usize);
    let is_shown = |at: u32| node(at).is_some_and(|node| shown.has(node, dialect));
    let is_active = |at: u32| node(at).is_some_and(|node| node.is_active);
    let rows = TreeRows::lay_out(&outline, is_shown, |_| false);
    // If the leaf itself is hidden, the last visible entry above it is marked instead.
    let leaf = rows.all().iter().rposition(|row| is_active(row.node));
    if outline.leaf().is_none() {
        let mark = out.paint(Style::Leaf, "← leaf");
        let note = if outline.is_empty() { "no entries yet" } else { "before the first entry" };
        writeln!(out, "({note}) {mark}")?;
    }
    let mut reader = session.reader();
    let mut calls = Calls::default();
    let ids = ShortIds::of(&session.tree());
    for (at, row) in rows.all().iter().enumerate() {
        let Some(node) = node(row.node) else { continue };
        let skipped = (row.level as usize).saturating_sub(MAX_LEVELS);
        let count = if skipped > 0 { format!("+{skipped} ") } else { String::new() };
        let item = TreeLine {
            id: outline.id(row.node),
            node,
            label: outline.label(row.node),
            gutter: format!("{count}{}", rows.plain_gutter(at, skipped, usize::MAX)),
            mark: if leaf == Some(at) { " ← leaf" } else { "" },
        };
        item.write(&mut reader, &ids, &mut calls, out)?;
    }
    Ok(())
}

/// A line of the tree.
struct TreeLine<'a> {
    id: &'a str,
    node: &'a OutlineNode,
    label: Option<&'a str>,
    gutter: String,
    mark: &'static str,
}

impl TreeLine<'_> {
    fn write(
        self,
        reader: &mut Reader,
        ids: &ShortIds,
        calls: &mut Calls,
        out: &mut Output,
    ) -> Result<(), Failure> {
        let TreeLine { id, node, label, gutter, mark } = self;
        let entry = reader.entry(id)?;
        let id = ids.show(id);
        let name = pad(&describe::name(&entry), 10);
        let label = label.map(|label| format!("[{}] ", fit(&safe_line(label), 40)));
        let label = label.unwrap_or_default();
        let merged = entry.merged_from().map(|from| format!(" ⇠ {}", ids.show(&from)));
        let merged = merged.unwrap_or_default();
        let bullet = if node.is_active { "•" } else { " " };
        let parts = [&gutter, bullet, &id, &name, &label, &merged, mark];
        let used = parts.map(columns).iter().sum::<usize>() + 4;
        let preview = describe::preview(&entry, calls, out.width().saturating_sub(used).max(20));

        let style = describe::style(node.kind, node.role);
        let (gutter, bullet) = (out.paint(Style::Dim, &gutter), out.paint(Style::Leaf, bullet));
        let (id, name) = (out.paint(Style::Id, &id), out.paint(style, &name));
        let (label, mark) = (out.paint(Style::Label, &label), out.paint(Style::Leaf, mark));
        let merged = out.paint(Style::Summary, &merged);
        let line = format!("{gutter}{bullet} {id} {name} {label}{preview}{merged}{mark}");
        writeln!(out, "{}", line.trim_end())?;
        Ok(())
    }
}
