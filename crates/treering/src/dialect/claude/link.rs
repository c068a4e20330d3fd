//! Which records belong together, and which leaf is active.
//!
//! An answer that calls several tools at once is written as several records, each naming the one
//! before it as its parent, and each tool's result names the record of its call: read by parents
//! alone, all results but one are dead ends beside the conversation. Here the parts of an answer
//! follow each other, then its results, and what came next follows those.

use super::mark;
use crate::dialect::Linker;
use crate::entry::head::Head;
use crate::json;
use crate::tree::{NONE, Node, Tree};
use std::collections::{HashMap, HashSet};

#[derive(Debug, Default)]
pub(super) struct Claude {
    /// What each row said about itself.
    bits: Vec<u8>,
    /// The rows of each message that has an id.
    groups: HashMap<u64, Vec<u32>>,
    custom_title: Option<String>,
    ai_title: Option<String>,
    /// Summaries, and the entries they are about.
    summaries: Vec<(String, String)>,
}

impl Linker for Claude {
    fn row(&mut self, row: u32, head: &Head<'_>) {
        self.bits.resize(row as usize, 0);
        self.bits.push(head.marks.bits);
        if head.marks.group != 0 {
            self.groups.entry(head.marks.group).or_default().push(row);
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
        self.bits.resize(tree.nodes.len(), 0);
        for (row, bits) in self.bits.iter().enumerate() {
            if bits & mark::SIDECHAIN != 0 {
                tree.nodes[row].flags |= Node::SIDECHAIN;
            }
        }
        // By the parents in the file: what the agent itself would go on from.
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
    fn is(&self, row: u32, bits: u8) -> bool {
        self.bits[row as usize] & bits != 0
    }

    /// Of the ends of all branches, walked back to what somebody said, the last in the file that is
    /// neither a subagent's nor the program's own.
    fn active_leaf(&self, tree: &Tree) -> Option<u32> {
        let mut is_parent = vec![false; tree.nodes.len()];
        for row in tree.live() {
            if let Some(parent) = is_parent.get_mut(tree.node(row).parent as usize) {
                *parent = true;
            }
        }
        let said = mark::USER | mark::ASSISTANT;
        let other = mark::SIDECHAIN | mark::META | mark::TEAM;
        let mut seen = HashSet::new();
        let ends = tree.live().filter(|&row| !is_parent[row as usize]);
        let leaves = ends.filter_map(|end| {
            // A note was walked over once: whatever is above it was found then.
            let mut way =
                tree.ancestors(end).take_while(|&row| self.is(row, said) || seen.insert(row));
            way.find(|&row| self.is(row, said))
        });
        leaves.filter(|&leaf| !self.is(leaf, other)).max()
    }

    /// Brings the parts of each message together, and its results after them.
    fn join(&self, tree: &mut Tree) {
        let mut last_part: HashMap<u32, u32> = HashMap::new();
        for group in self.groups.values().filter(|group| group.len() > 1) {
            let is_live = |row: &&u32| !tree.node(**row).has(Node::SHADOWED);
            let parts: Vec<u32> = group.iter().filter(is_live).copied().collect();
            for pair in parts.windows(2) {
                tree.relink(pair[1], pair[0]);
                tree.nodes[pair[1] as usize].flags |= Node::CONTINUED;
            }
            let last = parts.last().copied().unwrap_or(NONE);
            last_part.extend(parts.iter().map(|&part| (part, last)));
        }
        let mut results: HashMap<u32, Vec<u32>> = HashMap::new();
        for row in tree.live().filter(|&row| self.is(row, mark::RESULT)) {
            let parent = tree.node(row).parent;
            if parent != NONE && self.is(parent, mark::ASSISTANT) {
                let last = last_part.get(&parent).copied().unwrap_or(parent);
                results.entry(last).or_default().push(row);
            }
        }
        let went_on = self.went_on(tree);
        for (last, mut found) in results {
            // Dead ends first, in the order of the file; one that was gone on from comes last.
            found.sort_by_key(|&row| (went_on[row as usize], row));
            let mut tip = last;
            for row in found {
                tree.relink(row, tip);
                if !went_on[row as usize] {
                    tip = row;
                }
            }
        }
        tree.relinked();
    }

    /// Which rows somebody said something below. Rows nearly always come after their parents; where
    /// one does not, its parent counts as a dead end, and is still put where it belongs.
    fn went_on(&self, tree: &Tree) -> Vec<bool> {
        let mut went_on = vec![false; tree.nodes.len()];
        for row in tree.live().rev() {
            let said = self.is(row, mark::USER | mark::ASSISTANT);
            if let (true, Some(above)) =
                (said || went_on[row as usize], went_on.get_mut(tree.node(row).parent as usize))
            {
                *above = true;
            }
        }
        went_on
    }
}
