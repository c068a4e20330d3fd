//! Changes what entries contribute to the context, without changing the entries.
//!
//! A context edit is an entry of its own: on its branch, from there on, it removes another entry's
//! message, or replaces its content. The latest edit of an entry counts, so an edit is undone by
//! another one that restores the original content, or by moving the leaf to before it. An edit that
//! a provider would refuse is refused here: a message is removed together with the results of its
//! tool calls, it keeps its calls when its text changes, and a tool result can be replaced but not
//! removed alone.

use crate::compaction::estimate_tokens;
use crate::context::edited;
use crate::entry::{Block, Kind, MessageView, NewEntry, Role, tool_uses};
use crate::error::{Error, Result};
use crate::id::EntryId;
use crate::json;
use crate::session::Session;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::Row;
use std::collections::{HashMap, HashSet};

/// A planned edit of the context: the changes it would make.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EditPlan {
    /// The leaf that the edit was planned for.
    pub leaf: Option<EntryId>,
    /// The entries whose contributions change, in the order of the context.
    pub targets: Vec<EntryId>,
    /// Entries that were added to the selection, because the results of a message's tool calls are
    /// removed and restored with it.
    pub companions: Vec<EntryId>,
    /// The estimated size of the context before the edit.
    pub tokens_before: u64,
    /// The estimated size of the context after the edit.
    pub tokens_after: u64,
    entries: Vec<NewEntry>,
}

/// Editing the context.
impl Session {
    /// Removes entries from the context of this branch, from the leaf on. The results of a
    /// message's tool calls are removed with it. Returns the ids of the context edits, which are
    /// appended in one write.
    ///
    /// # Errors
    ///
    /// As [`plan_drop`](Session::plan_drop) and [`apply_edit`](Session::apply_edit).
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// let aside = session.append(Message::user("By the way …"))?;
    /// session.append(Message::user("Back to work."))?;
    /// session.drop_from_context([&aside])?;
    /// assert_eq!(session.context()?.messages.len(), 1);
    /// session.restore_in_context([&aside])?;
    /// assert_eq!(session.context()?.messages.len(), 2);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn drop_from_context(
        &self,
        entries: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Vec<EntryId>> {
        self.apply_edit(&self.plan_drop(entries)?)
    }

    /// Replaces the text of an entry in the context of this branch, from the leaf on. Of the
    /// original message only the tool calls are kept. Returns the id of the context edit.
    ///
    /// # Errors
    ///
    /// As [`plan_replace`](Session::plan_replace) and [`apply_edit`](Session::apply_edit).
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// let log = session.append(Message::user("a log of 3000 lines"))?;
    /// session.replace_in_context(&log, "line 2917: connection reset")?;
    /// assert_eq!(session.context()?.messages[0].view().text(), "line 2917: connection reset");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn replace_in_context(&self, entry: impl AsRef<str>, text: &str) -> Result<EntryId> {
        let mut ids = self.apply_edit(&self.plan_replace(entry, text)?)?;
        ids.pop().ok_or_else(|| Error::InvalidEntry("nothing to append".into()))
    }

    /// Undoes earlier edits of entries, from the leaf on: the original content counts again. The
    /// results of a message's tool calls are restored with it. Returns the ids of the context
    /// edits.
    ///
    /// # Errors
    ///
    /// As [`plan_restore`](Session::plan_restore) and [`apply_edit`](Session::apply_edit).
    pub fn restore_in_context(
        &self,
        entries: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Vec<EntryId>> {
        self.apply_edit(&self.plan_restore(entries)?)
    }

    /// Plans [`drop_from_context`](Session::drop_from_context) and changes nothing.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if there is no entry with exactly such an id, and with
    /// [`Error::NotOnPath`] or [`Error::NotEditable`] if an entry does not contribute to the context
    /// at the leaf, was removed before, or cannot be removed alone.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// let long = session.append(Message::user("a long paste"))?;
    /// session.append(Message::user("a question"))?;
    /// let plan = session.plan_drop([&long])?;
    /// assert!(plan.tokens_after < plan.tokens_before);
    /// session.apply_edit(&plan)?;
    /// assert_eq!(session.context()?.messages.len(), 1);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn plan_drop(
        &self,
        entries: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<EditPlan> {
        let seen = EditableContext::at_leaf(self)?;
        let asked = seen.find_all(entries)?;
        for &at in &asked {
            let found = &seen.contributions[at];
            let stays =
                |caller: usize| !asked.contains(&caller) && !seen.contributions[caller].is_omitted;
            let is_alone = found.caller.is_some_and(stays);
            match found.kind {
                _ if found.is_omitted => return Err(seen.refused(at, "it was already removed")),
                Kind::Compaction => return Err(seen.refused(at, NO_COMPACTION)),
                _ if is_alone => return Err(seen.refused(at, NO_RESULT)),
                _ => {}
            }
        }
        let all = seen.with_results(&asked, |found| !found.is_omitted);
        seen.plan(&asked, all, |_| None)
    }

    /// Plans [`replace_in_context`](Session::replace_in_context) and changes nothing.
    ///
    /// # Errors
    ///
    /// As [`plan_drop`](Session::plan_drop), and with [`Error::NotEditable`] if the entry has no text
    /// that can be replaced.
    pub fn plan_replace(&self, entry: impl AsRef<str>, text: &str) -> Result<EditPlan> {
        let seen = EditableContext::at_leaf(self)?;
        let at = seen.find(entry.as_ref())?;
        let found = &seen.contributions[at];
        let editable = [Role::User, Role::Assistant, Role::ToolResult, Role::Custom];
        if !found.role.is_some_and(|role| editable.contains(&role)) {
            return Err(seen.refused(at, NO_CONTENT));
        }
        // A replacement would restore the message without the results that were removed with it, or
        // before them.
        if found.is_omitted {
            return Err(seen.refused(at, "it was removed; restore it first"));
        }
        let content = with_text(&found.original, text);
        seen.plan(&HashSet::from([at]), vec![at], |_| Some(content.clone()))
    }

    /// Plans [`restore_in_context`](Session::restore_in_context) and changes nothing.
    ///
    /// # Errors
    ///
    /// As [`plan_drop`](Session::plan_drop), and with [`Error::NotEditable`] if no edit applies to an
    /// entry.
    pub fn plan_restore(
        &self,
        entries: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<EditPlan> {
        let seen = EditableContext::at_leaf(self)?;
        let mut asked = seen.find_all(entries)?;
        for at in asked.clone() {
            if !seen.contributions[at].is_edited {
                return Err(seen.refused(at, "no edit applies to it"));
            }
            // A result cannot be restored without its call.
            let caller = seen.contributions[at].caller;
            asked.extend(caller.filter(|at| seen.contributions[*at].is_omitted));
        }
        let all = seen.with_results(&asked, |found| found.is_omitted);
        seen.plan(&asked, all, |found| Some(found.own_content()))
    }

    /// Appends the planned context edits to the leaf they were planned for, in one write.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::LeafMoved`] if the session's leaf has moved since, and as
    /// [`append`](Session::append) does.
    pub fn apply_edit(&self, plan: &EditPlan) -> Result<Vec<EntryId>> {
        self.append_planned(plan.leaf.as_ref(), &plan.entries)
    }
}

const NO_RESULT: &str = "it is the result of a tool call, which would stay without one: \
                         drop the message with the call, or replace the result's text";
const NO_COMPACTION: &str = "it replaces all compacted entries: move the leaf before it instead";
const NO_CONTENT: &str = "only messages of users, assistants, tools and extensions have a text \
                          that can be replaced: drop it instead";

/// An entry of the context.
struct Contribution {
    id: EntryId,
    kind: Kind,
    /// The role of the entry's message.
    role: Option<Role>,
    /// The tokens that the entry contributes now.
    tokens: u64,
    /// The message of the entry, without any edits.
    original: Vec<u8>,
    is_omitted: bool,
    is_edited: bool,
    /// The index of the entry whose tool call this is a result of.
    caller: Option<usize>,
}

impl Contribution {
    fn own_content(&self) -> Vec<u8> {
        // For a message without content, the edit then changes nothing, as intended.
        json::get(&self.original, "content").unwrap_or(b"[]").to_vec()
    }

    fn tokens_with(&self, content: Option<&[u8]>) -> u64 {
        content.map_or(0, |content| estimate_tokens(&edited(self.original.clone(), content)))
    }
}

/// The context at the leaf, entry by entry.
struct EditableContext {
    view: Snapshot,
    leaf: Option<Row>,
    contributions: Vec<Contribution>,
    places: HashMap<EntryId, usize>,
}

impl EditableContext {
    fn at_leaf(session: &Session) -> Result<Self> {
        session.check_writable()?;
        let (view, leaf) = session.view_and_leaf()?;
        let mut projection = view.clone().projection(leaf)?;
        let (mut bodies, mut contributions) = (Bodies::default(), Vec::new());
        while let Some(selected) = projection.next_selected()? {
            if selected.messages.is_empty() && !selected.is_omitted {
                continue;
            }
            let (tree, row) = (view.tree(), selected.row);
            let messages = selected.messages.iter();
            let tokens = messages.map(|message| estimate_tokens(&message.json)).sum();
            let original = match tree.node(row).kind() {
                Kind::Compaction => Vec::new(),
                _ => original(&view, &mut bodies, row)?,
            };
            contributions.push(Contribution {
                id: tree.id(row),
                kind: tree.node(row).kind(),
                role: Some(MessageView::new(&original).role()).filter(|_| !original.is_empty()),
                tokens,
                original,
                is_omitted: selected.is_omitted,
                is_edited: false,
                caller: None,
            });
        }
        let places: HashMap<EntryId, usize> =
            contributions.iter().enumerate().map(|(at, found)| (found.id.clone(), at)).collect();
        for edit in projection.edits() {
            if let Some(&at) = places.get(edit.target.as_str()) {
                contributions[at].is_edited = true;
            }
        }
        pair(&mut contributions);
        Ok(EditableContext { view, leaf, contributions, places })
    }

    fn leaf(&self) -> Option<EntryId> {
        self.leaf.map(|leaf| self.view.tree().id(leaf))
    }

    fn find(&self, id: &str) -> Result<usize> {
        let tree = self.view.tree();
        let row = tree.find_row(id)?;
        let entry = tree.id(row);
        if let Some(&at) = self.places.get(&entry) {
            return Ok(at);
        }
        let is_on_path = self.leaf.is_some_and(|leaf| tree.ancestors(leaf).any(|up| up == row));
        match is_on_path {
            true => Err(Error::NotEditable { entry, reason: "it contributes nothing to it" }),
            false => Err(Error::NotOnPath { entry, leaf: self.leaf() }),
        }
    }

    fn find_all(&self, ids: impl IntoIterator<Item = impl AsRef<str>>) -> Result<HashSet<usize>> {
        ids.into_iter().map(|id| self.find(id.as_ref())).collect()
    }

    fn refused(&self, at: usize, reason: &'static str) -> Error {
        Error::NotEditable { entry: self.contributions[at].id.clone(), reason }
    }

    /// Returns those indices and the results of their calls that are `wanted`, in order.
    fn with_results(
        &self,
        asked: &HashSet<usize>,
        wanted: impl Fn(&Contribution) -> bool,
    ) -> Vec<usize> {
        let is_with = |(at, found): &(usize, &Contribution)| {
            let follows = found.caller.is_some_and(|caller| asked.contains(&caller));
            asked.contains(at) || (follows && wanted(found))
        };
        self.contributions.iter().enumerate().filter(is_with).map(|(at, _)| at).collect()
    }

    fn plan(
        &self,
        asked: &HashSet<usize>,
        all: Vec<usize>,
        content: impl Fn(&Contribution) -> Option<Vec<u8>>,
    ) -> Result<EditPlan> {
        let tokens_before: u64 = self.contributions.iter().map(|found| found.tokens).sum();
        let mut plan = EditPlan {
            leaf: self.leaf(),
            targets: Vec::new(),
            companions: Vec::new(),
            tokens_before,
            tokens_after: tokens_before,
            entries: Vec::new(),
        };
        for at in all {
            let found = &self.contributions[at];
            let content = content(found);
            plan.tokens_after -= found.tokens;
            plan.tokens_after += found.tokens_with(content.as_deref());
            plan.entries.push(NewEntry::of_context_edit(&found.id, content.as_deref()));
            plan.targets.push(found.id.clone());
            if !asked.contains(&at) {
                plan.companions.push(found.id.clone());
            }
        }
        Ok(plan)
    }
}

/// Returns the message of an entry, ignoring context edits.
fn original(view: &Snapshot, bodies: &mut Bodies, row: Row) -> Result<Vec<u8>> {
    let edits = crate::context::Edits::of_rows(view, bodies, &[])?;
    let messages = edits.project(view, bodies, row)?;
    Ok(messages.into_iter().next().map(|message| message.json).unwrap_or_default())
}

/// Finds the caller of every result: the nearest message above it with that call.
fn pair(contributions: &mut [Contribution]) {
    let mut calls: HashMap<String, usize> = HashMap::new();
    for (at, found) in contributions.iter_mut().enumerate() {
        let role = found.role;
        let mut caller = None;
        tool_uses(&found.original, |is_call, call| match is_call {
            true => drop(calls.insert(call.to_owned(), at)),
            false if role == Some(Role::ToolResult) => caller = calls.get(call).copied(),
            false => {}
        });
        found.caller = caller;
    }
}

/// Returns the content of a message with another text; its tool calls are kept.
fn with_text(message: &[u8], text: &str) -> Vec<u8> {
    let literal = json::quoted(text);
    let view = MessageView::new(message);
    let content = view.get("content").unwrap_or_default();
    let is_call = |block: &Block<'_>| matches!(block, Block::ToolCall { .. });
    if view.role() != Role::Assistant || !view.blocks().iter().any(is_call) {
        return literal;
    }
    let blocks = json::elements(content).into_iter().zip(view.blocks());
    let mut out = [b"[{\"type\":\"text\",\"text\":", &*literal, b"}"].concat();
    for (raw, _) in blocks.filter(|(_, block)| is_call(block)) {
        out.push(b',');
        out.extend_from_slice(raw);
    }
    out.push(b']');
    out
}
