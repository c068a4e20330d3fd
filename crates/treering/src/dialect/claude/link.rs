//! Decides which records belong together and which leaf is active.
//!
//! An answer that calls several tools at once is written as several records, and each tool's result
//! names the record of its call as its parent: by parents alone, some pieces of the answer and all
//! results but one would be dead ends beside the conversation. So would the notes of hooks and
//! running commands. These dead ends are inserted into the path where they branched off; every
//! other link stays as in the file.

use super::mark;
use crate::dialect::Linker;
use crate::entry::head::Head;
use crate::json;
use crate::tree::{NONE, Node, Row, Tree};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

#[derive(Debug, Default)]
pub(super) struct Claude {
    /// The marks of each row.
    bits: Vec<u8>,
    /// The first row of each message that has an id.
    firsts: HashMap<u64, Row, RandomState>,
    /// All rows of each message that has several.
    groups: HashMap<u64, Vec<Row>, RandomState>,
    custom_title: Option<String>,
    ai_title: Option<String>,
    /// Summaries, each with the entry that it is about.
    summaries: Vec<(String, String)>,
}

/// Returns whether a side record may name the session.
pub(super) fn may_name_the_session(record: &[u8]) -> bool {
    let kind = json::get(record, "type");
    matches!(kind, Some(b"\"custom-title\"" | b"\"ai-title\"" | b"\"summary\""))
}

impl Linker for Claude {
    fn row(&mut self, row: Row, head: &Head<'_>) {
        self.bits.resize(row.index(), 0);
        self.bits.push(head.marks.bits);
        let group = head.marks.group;
        if group != 0 {
            let first = *self.firsts.entry(group).or_insert(row);
            if first != row {
                self.groups.entry(group).or_insert_with(|| vec![first]).push(row);
            }
        }
    }

    fn side(&mut self, record: &[u8]) {
        let text =
            |key| json::get(record, key).and_then(json::string).map(|text| text.into_owned());
        match json::get(record, "type") {
            Some(b"\"custom-title\"") => self.custom_title = text("customTitle").or(text("title")),
            Some(b"\"ai-title\"") => self.ai_title = text("aiTitle").or(text("title")),
            Some(b"\"summary\"") => {
                self.summaries.extend(text("leafUuid").zip(text("summary")));
            }
            _ => {}
        }
    }

    fn finish(&mut self, tree: &mut Tree) {
        self.firsts = Default::default(); // It is large, and was only there to find the others.
        self.bits.resize(tree.row_count(), 0);
        for (row, bits) in tree.rows().zip(&self.bits) {
            if bits & mark::SIDECHAIN != 0 {
                tree.set_flag(row, Node::SIDECHAIN);
            }
        }
        // The parents in the file decide where the agent itself would resume.
        let leaf = self.active_leaf(tree);
        tree.choose_leaf(leaf);
        self.join(tree);
        let summary = self.summaries.iter().rev().find(|(leaf, _)| tree.contains(leaf));
        let title = self.custom_title.take().or(self.ai_title.take());
        let title = title.or(summary.map(|(_, summary)| summary.clone()));
        tree.set_name(title.as_deref());
    }
}

impl Claude {
    fn is(&self, row: Row, bits: u8) -> bool {
        self.bits[row.index()] & bits != 0
    }

    /// Returns the active leaf: of the ends of all branches, each traced back to a message, the
    /// last in the file that belongs neither to a subagent nor to the program itself.
    fn active_leaf(&self, tree: &Tree) -> Option<Row> {
        let mut is_parent = vec![false; tree.row_count()];
        for row in tree.live() {
            if let Some(parent) = is_parent.get_mut(tree.node(row).parent.index()) {
                *parent = true;
            }
        }
        let is_message = mark::USER | mark::ASSISTANT;
        let other = mark::SIDECHAIN | mark::META | mark::TEAM;
        let mut seen = HashSet::<Row, RandomState>::default();
        let ends = tree.live().filter(|&row| !is_parent[row.index()]);
        let leaves = ends.filter_map(|end| {
            // A note is visited only once: its ancestors were checked then.
            let mut way =
                tree.ancestors(end).take_while(|&row| self.is(row, is_message) || seen.insert(row));
            way.find(|&row| self.is(row, is_message))
        });
        leaves.filter(|&leaf| !self.is(leaf, other)).max()
    }

    /// Marks the pieces of each message, and inserts the dead ends of an answer into the path.
    fn join(&self, tree: &mut Tree) {
        for group in self.groups.values() {
            for &part in group.iter().skip(1) {
                if self.follows(tree, part, group) {
                    tree.set_flag(part, Node::CONTINUED);
                }
            }
        }
        let ends = self.ends(tree);
        let mut children: HashMap<Row, Vec<Row>, RandomState> = HashMap::default();
        let mut counts = vec![0_u32; tree.row_count()];
        let parent_of = |tree: &Tree, row: Row| tree.node(row).parent;
        for row in tree.live() {
            if let Some(count) = counts.get_mut(parent_of(tree, row).index()) {
                *count += 1;
            }
        }
        for row in tree.live() {
            let parent = parent_of(tree, row);
            let is_dead_end = ends[row.index()] != BranchEnd::GoesOn;
            if counts.get(parent.index()).is_some_and(|&count| count > 1) || is_dead_end {
                children.entry(parent).or_default().push(row);
            }
        }
        let mut branched: Vec<Row> = children.keys().copied().filter(|&row| row != NONE).collect();
        branched.sort_unstable();
        let mut done = vec![false; tree.row_count()];
        for place in branched {
            let Some(below) = children.get(&place).filter(|_| !done[place.index()]) else {
                continue;
            };
            let is_dead = |row: &&Row| ends[row.index()] != BranchEnd::GoesOn;
            let mut dead: Vec<Row> = below.iter().filter(is_dead).copied().collect();
            if below.len() < 2 || dead.is_empty() {
                continue;
            }
            // Collects all rows below them, in file order.
            let mut at = 0;
            while at < dead.len() {
                let row = dead[at];
                done[row.index()] = true;
                dead.extend(children.get(&row).into_iter().flatten());
                at += 1;
            }
            dead.sort_unstable();
            let mut tip = place;
            for row in dead {
                tree.relink(row, tip);
                tip = row;
            }
            for &row in below.iter().filter(|&&row| ends[row.index()] == BranchEnd::GoesOn) {
                tree.relink(row, tip);
            }
        }
        tree.relinked();
    }

    /// Returns whether a piece follows another piece of its message, with only notes and results
    /// between them. A message that was copied after a compaction has the same id, but is another
    /// message.
    fn follows(&self, tree: &Tree, part: Row, group: &[Row]) -> bool {
        const MAX_DISTANCE: usize = 10_000;
        let is_message = |row: &Row| self.is(*row, mark::USER | mark::ASSISTANT);
        let mut above = tree.ancestors(part).skip(1).take(MAX_DISTANCE);
        let before = above.find(|row| is_message(row) && !self.is(*row, mark::RESULT));
        before.is_some_and(|row| group.binary_search(&row).is_ok())
    }

    /// Returns how each row's branch ends. Rows nearly always come after their parents; where one
    /// does not, its parent counts as a dead end, and is still in the path.
    fn ends(&self, tree: &Tree) -> Vec<BranchEnd> {
        let mut ends = vec![BranchEnd::Notes; tree.row_count()];
        for row in tree.live().rev() {
            let is_message = self.is(row, mark::USER | mark::ASSISTANT);
            let is_part = self.is(row, mark::RESULT) || tree.node(row).has(Node::CONTINUED);
            let own = match (is_message, is_part) {
                (true, false) => BranchEnd::GoesOn,
                (true, true) => BranchEnd::Dead,
                (false, _) => BranchEnd::Notes,
            };
            let end = ends[row.index()].max(own);
            ends[row.index()] = end;
            if let Some(above) = ends.get_mut(tree.node(row).parent.index()) {
                *above = end.max(*above);
            }
        }
        ends
    }
}

/// The content of a row's branch, the row included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum BranchEnd {
    /// There are no messages.
    Notes,
    /// There are only pieces of an answer and results of its calls.
    Dead,
    /// There is a further message.
    GoesOn,
}
