//! Follows the history of a chat: messages that are written again, rewinds, and the name of the
//! chat. The chats of subagents, which are read after it, are trees of their own.

use super::{get, literal};
use crate::dialect::Linker;
use crate::entry::Kind;
use crate::entry::head::Head;
use crate::json;
use crate::tree::{NONE, Node, Row, Tree};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

#[derive(Debug, Default)]
pub(super) struct Gemini {
    /// The last row of every message, and the index of its parent message.
    messages: Vec<(Row, Option<usize>)>,
    /// The indices of the messages by their ids.
    ids: HashMap<Box<str>, usize, RandomState>,
    /// The current history, as indices into `messages`.
    history: Vec<usize>,
    name: Option<String>,
    /// The index of the last message of the session itself, once the chat of a subagent has begun.
    end: Option<Option<usize>>,
    /// The rows of subagents.
    subagents: Vec<Row>,
}

/// The member `kind` in the header of a subagent's chat.
pub(super) const SUBAGENT: &[u8] = b"\"subagent\"";

/// Returns whether a record is the header of a subagent's chat.
pub(super) fn is_subagent(record: &[u8]) -> bool {
    memchr::memmem::find(record, SUBAGENT).is_some()
        && get(record, "projectHash").is_some()
        && get(record, "id").is_none()
        && get(record, "kind") == Some(SUBAGENT)
}

/// Returns whether a record may change the history or name the chat.
pub(super) fn is_command(record: &[u8]) -> bool {
    memchr::memmem::find(record, b"\"$").is_some()
}

impl Linker for Gemini {
    fn row(&mut self, row: Row, head: &Head<'_>) {
        if self.end.is_some() {
            self.subagents.push(row);
        }
        let id = head.id.as_ref().map(|id| &*id.text);
        let known = id.and_then(|id| self.ids.get(id)).copied();
        if let Some(known) = known {
            // The children of the earlier row become children of this one.
            self.messages[known].0 = row;
            if self.history.contains(&known) {
                return;
            }
        }
        if head.kind == Kind::Compaction {
            // Later rewinds refer to the messages of the compaction, or to later ones.
            self.ids.clear();
        }
        let at = self.messages.len();
        self.messages.push((row, self.history.last().copied()));
        self.history.push(at);
        if let Some(id) = id {
            self.ids.insert(id.into(), at);
        }
    }

    fn side(&mut self, record: &[u8]) {
        if is_subagent(record) {
            // The first chat is the one that was opened, even if it is a subagent's.
            if !self.messages.is_empty() {
                self.end.get_or_insert(self.history.last().copied());
                self.history.clear();
                self.ids.clear();
            }
        } else if let Some(id) = literal(record, "$rewindTo").and_then(json::string) {
            let known = self.ids.get(&*id);
            let place = known.and_then(|known| self.history.iter().position(|at| at == known));
            // Like in Gemini CLI, rewinding to a message that does not exist removes everything.
            self.history.truncate(place.unwrap_or(0));
        } else if self.end.is_none()
            && let Some(summary) = get(record, "$set").and_then(|set| literal(set, "summary"))
        {
            self.name = json::string(summary).map(|summary| summary.into_owned());
        }
    }

    fn finish(&mut self, tree: &mut Tree) {
        for &(row, before) in &self.messages {
            let parent = before.map_or(NONE, |before| self.messages[before].0);
            tree.relink(row, if parent == row { NONE } else { parent });
        }
        for row in self.subagents.drain(..) {
            tree.set_flag(row, Node::SIDECHAIN);
        }
        let end = self.end.unwrap_or(self.history.last().copied());
        let leaf = end.map(|at| self.messages[at].0);
        tree.choose_leaf(leaf);
        tree.relinked();
        if self.name.is_some() {
            tree.set_name(self.name.as_deref());
        }
    }
}
