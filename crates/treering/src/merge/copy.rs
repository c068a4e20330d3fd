//! Decides which entries are copied to another branch, and builds the copies.
//!
//! The chosen entries of a path are copied in the same order, in whole groups of tool calls and
//! their results. A group that is already on the target's path is not copied. If only the call is
//! there, the missing results are copied, provided that the target's path ends with that call;
//! anywhere else the results would have no call, so the call is copied once more with them. Chosen
//! context edits are copied as well, with the copies as their targets.

use super::pairs::{self, Pairs};
use super::target::Target;
use super::{COPIED_FROM, Origin};
use crate::compaction::estimate_tokens;
use crate::context::{contributes, joined};
use crate::dialect::embed;
use crate::entry::{Kind, Message, NewEntry, Role};
use crate::error::Result;
use crate::id::EntryId;
use crate::json;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{Node, Row, Tree};
use std::collections::{HashMap, HashSet};

/// The treatment of an entry that is already on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repeated {
    /// The entry is not copied again.
    #[default]
    Skipped,
    /// The entry is copied again.
    Copied,
}

/// The source of copies.
pub(super) struct Source {
    pub(super) view: Snapshot,
    /// The id of the source session.
    pub(super) session: String,
}

/// Copies that are ready to be written.
#[derive(Debug, Clone, Default)]
pub(super) struct Copies {
    pub(super) entries: Vec<Copy>,
    /// Entries that are already on the target's path, each with its counterpart there.
    pub(super) skipped: Vec<(EntryId, EntryId)>,
    /// Chosen entries that are not part of a conversation.
    pub(super) left_out: Vec<EntryId>,
    /// Tool calls without a result, each with its entry.
    pub(super) unanswered: Vec<(EntryId, String)>,
    pub(super) tokens: u64,
    edits: Vec<CopiedEdit>,
}

#[derive(Debug, Clone)]
pub(super) struct Copy {
    pub(super) source: EntryId,
    /// Whether the entry is copied only because its call or result was chosen.
    pub(super) is_companion: bool,
    entry: NewEntry,
}

/// A context edit that is copied.
#[derive(Debug, Clone)]
struct CopiedEdit {
    target: EditTarget,
    /// The new content: `null` or `{"content":…}`.
    replacement: Vec<u8>,
}

#[derive(Debug, Clone)]
enum EditTarget {
    Copy(usize),
    Entry(EntryId),
}

impl Copies {
    /// Returns the entries to write below `leaf`, in order. `ids` creates the given number of ids.
    pub(super) fn to_entries(
        &self,
        leaf: Option<EntryId>,
        ids: impl FnOnce(usize) -> Vec<EntryId>,
    ) -> Result<Vec<NewEntry>> {
        let ids = ids(if self.edits.is_empty() { 0 } else { self.entries.len() });
        let mut entries: Vec<NewEntry> =
            self.entries.iter().map(|copy| copy.entry.clone()).collect();
        for (entry, id) in entries.iter_mut().zip(&ids) {
            entry.id = Some(id.clone());
        }
        for edit in &self.edits {
            let target = match &edit.target {
                EditTarget::Copy(at) => ids.get(*at),
                EditTarget::Entry(id) => Some(id),
            };
            let content = json::get(&edit.replacement, "content");
            if let Some(target) = target {
                entries.push(NewEntry::of_context_edit(target, content));
            }
        }
        // The copies keep this parent even if the session's leaf moves meanwhile.
        if let Some(first) = entries.first_mut() {
            *first = first.clone().with_parent(leaf);
        }
        Ok(entries)
    }
}

/// Returns copies of the entries of `path` that are `chosen`, by index.
pub(super) fn copies(
    source: &Source,
    path: Vec<Row>,
    chosen: Vec<bool>,
    target: &Target,
    repeated: Repeated,
) -> Result<Copies> {
    let mut copying = CopySelection::new(source, path, chosen, target)?;
    copying.complete()?;
    copying.write(repeated)
}

struct CopySelection<'a> {
    source: &'a Source,
    target: &'a Target,
    path: Vec<Row>,
    chosen: Vec<bool>,
    pairs: Pairs,
    /// The groups that contain a chosen entry, by their first entry.
    groups: HashSet<usize>,
    bodies: Bodies,
}

/// The part of a group that the target's path lacks.
enum MissingEntries {
    Nothing,
    /// Results of the call at the end of the target's path.
    Results(Vec<usize>),
    /// The whole group has to be copied.
    All,
}

impl<'a> CopySelection<'a> {
    fn new(
        source: &'a Source,
        path: Vec<Row>,
        chosen: Vec<bool>,
        target: &'a Target,
    ) -> Result<Self> {
        let mut bodies = Bodies::with_images();
        let pairs = Pairs::of_path(&source.view, &mut bodies, &path)?;
        Ok(CopySelection { source, target, path, chosen, pairs, groups: HashSet::new(), bodies })
    }

    fn tree(&self) -> &'a Tree {
        self.source.view.tree()
    }

    fn id(&self, at: usize) -> EntryId {
        self.tree().id(self.path[at])
    }

    /// Extends the path downwards to the other pieces of its last message, and to the results of
    /// chosen calls.
    fn complete(&mut self) -> Result<()> {
        let view = &self.source.view;
        self.choose_groups();
        let Some(&last) = self.path.last() else { return Ok(()) };
        self.follow(pairs::parts_below(view, last))?;
        self.choose_groups();
        let Some(&last) = self.path.last() else { return Ok(()) };
        let mut wanted: HashSet<usize> = HashSet::new();
        for at in self.pairs.open().collect::<Vec<_>>() {
            if self.groups.contains(&self.pairs.group(at)) {
                wanted.insert(at);
            }
        }
        let rest = self.pairs.rest(view, &mut self.bodies, last, |at| wanted.contains(&at))?;
        self.follow(rest)?;
        self.choose_groups();
        Ok(())
    }

    fn follow(&mut self, rows: Vec<Row>) -> Result<()> {
        for row in rows {
            self.pairs.enter(&self.source.view, &mut self.bodies, row)?;
            self.path.push(row);
            self.chosen.push(false);
        }
        Ok(())
    }

    fn choose_groups(&mut self) {
        for at in 0..self.path.len() {
            if self.chosen[at] && is_conversation(self.tree(), self.path[at]) {
                self.groups.insert(self.pairs.group(at));
            }
        }
    }

    /// Returns the origin of the entry at `at`.
    fn origin(&mut self, at: usize) -> Result<Origin> {
        let (row, source) = (self.path[at], self.source);
        let body = self.bodies.any(&source.view, row)?;
        let read = body.and_then(|body| Origin::read(&body, &source.session));
        let mut origin = read.unwrap_or_else(|| Origin::here(self.tree().id_text(row)));
        if source.session != self.target.session {
            let session = origin.session.take().unwrap_or_else(|| source.session.clone());
            origin.session = Some(session).filter(|session| *session != self.target.session);
        }
        Ok(origin)
    }

    /// Returns the row of the target's path that has the same origin.
    fn present(&mut self, at: usize) -> Result<Option<Row>> {
        let origin = self.origin(at)?;
        if let Some(&row) = self.target.has.get(&origin) {
            return Ok(Some(row));
        }
        // A fork has the entries of its source under the same ids.
        let here = self.target.has.get(&Origin::here(self.tree().id_text(self.path[at])));
        let is_same = |row: &&Row| same(&self.source.view, self.path[at], &self.target.view, **row);
        let is_foreign = self.source.session != self.target.session;
        Ok(here.filter(|row| is_foreign && is_same(row)).copied())
    }

    fn write(mut self, repeated: Repeated) -> Result<Copies> {
        let mut out = Copies::default();
        let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut order = Vec::new();
        for at in 0..self.path.len() {
            let group = self.pairs.group(at);
            if self.groups.contains(&group) {
                let group = members.entry(group).or_insert_with(|| {
                    order.push(group);
                    Vec::new()
                });
                group.push(at);
            } else if self.chosen[at] && self.tree().node(self.path[at]).kind() != Kind::ContextEdit
            {
                out.left_out.push(self.id(at));
            }
        }
        let (mut first, mut then) = (Vec::new(), Vec::new());
        for group in order {
            let all = members.remove(&group).unwrap_or_default();
            let missing = match repeated {
                Repeated::Skipped => self.missing(&all, first.is_empty(), &mut out)?,
                Repeated::Copied => MissingEntries::All,
            };
            match missing {
                MissingEntries::All => then.extend(all),
                MissingEntries::Results(results) => first = results,
                MissingEntries::Nothing => {}
            }
        }
        then.sort_unstable();
        let copied: Vec<usize> = first.into_iter().chain(then).collect();
        let mut copies: HashMap<String, usize> = HashMap::new();
        for &at in &copied {
            let place = out.entries.len();
            self.copy(at, &mut out)?;
            if out.entries.len() > place {
                copies.insert(self.tree().id_text(self.path[at]).to_owned(), place);
            }
        }
        self.take_edits(&copies, &mut out)?;
        let copied: HashSet<usize> = copied.into_iter().collect();
        let open = self.pairs.unanswered().into_iter().filter(|(at, _)| copied.contains(at));
        out.unanswered = open.map(|(at, call)| (self.id(at), call.to_owned())).collect();
        Ok(out)
    }

    /// Returns the part of a group that has to be copied, and reports the rest as skipped.
    /// `may_complete` is true as long as nothing is copied after the call at the end of the
    /// target's path.
    fn missing(
        &mut self,
        group: &[usize],
        may_complete: bool,
        out: &mut Copies,
    ) -> Result<MissingEntries> {
        let (mut missing, mut here) = (Vec::new(), Vec::new());
        for &at in group {
            // A later piece is where its message is.
            if self.tree().node(self.path[at]).has(Node::CONTINUED) {
                continue;
            }
            match self.present(at)? {
                Some(row) => here.push((at, row)),
                None => missing.push(at),
            }
        }
        let is_partial = may_complete && self.completes(&missing, here.first(), group)?;
        if !missing.is_empty() && !is_partial {
            return Ok(MissingEntries::All);
        }
        for (at, row) in here {
            out.skipped.push((self.id(at), self.target.view.tree().id(row)));
        }
        Ok(if missing.is_empty() {
            MissingEntries::Nothing
        } else {
            MissingEntries::Results(missing)
        })
    }

    /// Returns whether some results can be appended to the call at the end of the target's path.
    fn completes(
        &mut self,
        missing: &[usize],
        here: Option<&(usize, Row)>,
        group: &[usize],
    ) -> Result<bool> {
        let Some((end, answered)) = &self.target.end else { return Ok(false) };
        let is_at_end = |(at, row): &(usize, Row)| Some(at) == group.first() && row == end;
        if !here.is_some_and(is_at_end) {
            return Ok(false);
        }
        for &at in missing {
            let uses = pairs::uses(&self.source.view, &mut self.bodies, self.path[at])?;
            if uses.iter().any(|(is_call, call)| *is_call || answered.contains(call)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn copy(&mut self, at: usize, out: &mut Copies) -> Result<()> {
        let row = self.path[at];
        let entry = self.bodies.entry(&self.source.view, row)?;
        if entry.is_damaged() || (entry.kind() == Kind::Message && entry.message().is_none()) {
            out.left_out.push(entry.id().clone());
            return Ok(());
        }
        let origin = self.origin(at)?.to_json();
        // A message that its agent wrote in pieces becomes one message.
        if self.tree().node(row).has(Node::CONTINUED)
            && let Some(whole) = out.entries.iter_mut().rev().find(|c| c.entry.role == entry.role)
            && let Some(part) = entry.message()
        {
            let message = embed::member(&whole.entry.fields, "message").unwrap_or_default();
            let message = joined(message, part.raw());
            let fields =
                json::with_member(&embed::as_object(&whole.entry.fields), "message", &message);
            whole.entry.fields = [b",", &fields[1..fields.len() - 1]].concat();
            out.tokens += estimate_tokens(part.raw());
            return Ok(());
        }
        let is_companion = !self.chosen[at];
        let mut push = |entry: NewEntry, source: EntryId| {
            let entry = entry.raw(COPIED_FROM, &origin);
            out.entries.push(Copy { source, is_companion, entry });
        };
        let bare = json::without(entry.raw(), &[COPIED_FROM]);
        push(embed::entry_of(&bare), entry.id().clone());
        for message in entry.more_messages() {
            let json = String::from_utf8_lossy(message.raw());
            push(Message::from_json(&*json)?.into_entry(), entry.id().clone());
        }
        out.tokens += entry.message().map_or(0, |message| estimate_tokens(message.raw()));
        Ok(())
    }

    /// Copies the chosen context edits whose targets are copied now, or were copied earlier. Edits
    /// of entries that both branches have are not copied.
    fn take_edits(&mut self, copies: &HashMap<String, usize>, out: &mut Copies) -> Result<()> {
        let (tree, path) = (self.tree(), self.path.clone());
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (at, &row) in path.iter().enumerate() {
            if !self.chosen[at] || tree.node(row).kind() != Kind::ContextEdit {
                continue;
            }
            if places.is_empty() {
                places.extend(path.iter().enumerate().map(|(at, &row)| (tree.id_text(row), at)));
            }
            let Some(body) = self.bodies.whole(&self.source.view, row)? else { continue };
            let replacement = json::get(&body, "replacement").unwrap_or(b"null").to_vec();
            let target = json::get(&body, "targetId").and_then(json::string).unwrap_or_default();
            let aim = match (copies.get(&*target), places.get(&*target).copied()) {
                (Some(copy), _) => Some(EditTarget::Copy(*copy)),
                (None, Some(place)) => {
                    let target = target.into_owned();
                    let here = self.present(place)?.map(|row| self.target.view.tree().id(row));
                    here.filter(|here| here.as_str() != target).map(EditTarget::Entry)
                }
                (None, None) => None,
            };
            match aim {
                Some(target) => out.edits.push(CopiedEdit { target, replacement }),
                None => out.left_out.push(self.id(at)),
            }
        }
        Ok(())
    }
}

/// Returns whether an entry is part of a conversation. A system prompt belongs to its own branch,
/// and a compaction to the entries it replaces.
pub(super) fn is_conversation(tree: &Tree, row: Row) -> bool {
    contributes(tree, row) && tree.node(row).role() != Some(Role::System)
}

/// Returns whether two sessions have the same entry, because one is a fork of the other.
pub(crate) fn same(a: &Snapshot, row: Row, b: &Snapshot, other: Row) -> bool {
    let (one, two) = (a.tree().node(row), b.tree().node(other));
    a.tree().id_bytes(row) == b.tree().id_bytes(other)
        && (one.kind(), one.role(), one.time) == (two.kind(), two.role(), two.time)
}
