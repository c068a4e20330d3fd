//! `treering tree`

use super::warn_of_findings;
use crate::describe;
use crate::error::Failure;
use crate::layout::Layout;
use crate::output::{Output, Style, json_string, json_string_or_null};
use crate::short_ids::ShortIds;
use crate::text::{columns, fit, pad, safe_line};
use std::io::Write;
use std::path::PathBuf;
use treering::session::Reader;
use treering::tree::TreeItem;
use treering::{Dialect, EntryId, Kind, Role, Session, Tree};

/// Show all branches
///
/// • marks the path to the leaf, ⇠ the end of a branch that was merged. Labels and moves of the leaf are shown by their effect, not as entries.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session file
    pub(crate) file: PathBuf,
    /// One JSON object per entry and line, parents before children: id, parentId, depth, type, role,
    /// label, active (on the path to the leaf), leaf, mergedFrom (the end of the branch that was
    /// merged here), sidechain, record (as it stands in the file)
    #[arg(long)]
    json: bool,
    /// Show labels, moves of the leaf and an agent's notes as entries, too
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// Show what subagents did on their own
    #[arg(long, conflicts_with = "json")]
    sidechains: bool,
    /// Build and walk the tree, print nothing (for measuring)
    #[arg(long, hide = true, conflicts_with = "json")]
    quiet: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = Session::open(&args.file)?;
    if args.quiet {
        session.tree().walk().for_each(|item| {
            std::hint::black_box(item);
        });
        return Ok(());
    }
    if args.json {
        return write_json(&session, out);
    }
    write(&session, Shown { all: args.all, sidechains: args.sidechains }, out)?;
    warn_of_findings(&session, &args.file, out)
}

/// The path to the leaf. An entry is on it if it stands at its own depth there: no set needed.
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
pub(super) struct Shown {
    pub(super) all: bool,
    pub(super) sidechains: bool,
}

impl Shown {
    fn has(self, item: &TreeItem<'_>, dialect: Dialect) -> bool {
        // Claude Code notes what its hooks and tools are doing; that is not what was said.
        let is_note = item.kind == Kind::Other && dialect == Dialect::ClaudeCode;
        let is_bookkeeping = is_note || matches!(item.kind, Kind::Label | Kind::Leaf);
        (self.all || !is_bookkeeping) && (self.sidechains || !item.sidechain)
    }
}

/// Writes the tree for people.
pub(super) fn write(session: &Session, shown: Shown, out: &mut Output) -> Result<(), Failure> {
    let tree = session.tree();
    let path = ActivePath::of(session, &tree)?;
    let dialect = session.dialect();
    let is_visible = |item: &TreeItem<'_>| shown.has(item, dialect);
    // If the leaf itself is not shown, the last entry above it that is stands for it.
    let mut leaf = None;
    let layout = Layout::of(tree.walk().enumerate().map(|(at, item)| {
        let visible = is_visible(&item);
        if visible && path.has(&item) {
            leaf = Some(at);
        }
        (item.depth, visible)
    }));
    if path.0.is_empty() {
        let mark = out.paint(Style::Leaf, "← leaf");
        let note = if tree.is_empty() { "no entries yet" } else { "before the first entry" };
        writeln!(out, "({note}) {mark}")?;
    }
    let mut pen = layout.pen();
    let mut reader = session.reader();
    let ids = ShortIds::of(&tree);
    for (at, (item, place)) in tree.walk().zip(&layout.places).enumerate() {
        if let Some(gutter) = pen.draw(item.depth, *place) {
            let mark = if leaf == Some(at) { " ← leaf" } else { "" };
            write_item(&mut reader, &ids, &item, path.has(&item), &gutter, mark, out)?;
        }
    }
    Ok(())
}

fn write_item(
    reader: &mut Reader,
    ids: &ShortIds,
    item: &TreeItem<'_>,
    active: bool,
    gutter: &str,
    mark: &str,
    out: &mut Output,
) -> Result<(), Failure> {
    let entry = reader.entry(item.id)?;
    let id = ids.show(item.id);
    let name = pad(&describe::name(&entry), 10);
    let label = item.label.map(|label| format!("[{}] ", fit(&safe_line(label), 40)));
    let label = label.unwrap_or_default();
    let merged = entry.merged_from().map(|from| format!(" ⇠ {}", ids.show(&from)));
    let merged = merged.unwrap_or_default();
    let bullet = if active { "•" } else { " " };
    let used =
        [gutter, bullet, &id, &name, &label, &merged, mark].map(columns).iter().sum::<usize>() + 4;
    let gist = describe::gist(&entry, out.width().saturating_sub(used).max(20));

    let style = describe::style(item.kind, item.role);
    let (gutter, bullet) = (out.paint(Style::Dim, gutter), out.paint(Style::Leaf, bullet));
    let (id, name) = (out.paint(Style::Id, &id), out.paint(style, &name));
    let (label, mark) = (out.paint(Style::Label, &label), out.paint(Style::Leaf, mark));
    let merged = out.paint(Style::Summary, &merged);
    let line = format!("{gutter}{bullet} {id} {name} {label}{gist}{merged}{mark}");
    writeln!(out, "{}", line.trim_end())?;
    Ok(())
}
