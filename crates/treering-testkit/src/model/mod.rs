//! A second implementation of the format's rules, written as plainly as possible.
//!
//! A file is a vector of entries, and every query walks it from the start. The model shares no code with
//! the library, so where the two agree, both are probably right.
//!
//! Where the format leaves room, these decisions hold:
//!
//! - A whole object at the start of a line is an entry, whatever follows it. After it, a whole object
//!   is one if it names its type, itself and its parent.
//! - A torn piece keeps its place if type, id and parentId can be read within the piece itself. On
//!   the last line of a file that has no newline, a torn piece at the end is nothing.
//! - In a cycle of parents the entry that is first in the file becomes a root.
//! - A damaged entry is never the active leaf: its nearest undamaged ancestor is, or nothing.
//! - A `leaf` entry that points to nothing is ignored.
//! - An entry without a usable id has one derived by the library. The model calls it `?line:column`
//!   until the test sets it; see [`Model::adopt_derived`].
//! - An empty `parentId` is none. Of repeated keys the last counts.
//! - A sibling without a valid time is as old as the one before it in the file. Roots are in file
//!   order.
//! - A label set by an entry that is shadowed later is still set.

mod context;
mod json;
mod read;

pub use context::{Context, Message};

use serde_json::Value;
use std::collections::HashMap;

/// Returns a JSON object as a value, with U+FFFD for what a string cannot hold; `None` if it is not
/// whole.
pub fn value(bytes: &[u8]) -> Option<Value> {
    let object = json::object(bytes, json::skip_space(bytes, 0))?;
    object.end.map(|_| object.value())
}

/// The error for a file that is not a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotASession;

/// A session.
#[derive(Debug, Clone, Default)]
pub struct Model {
    /// The header; `None` only for an empty file.
    pub header: Option<Value>,
    /// The version of the header, or the one that the shape of the entries shows.
    pub version: u64,
    /// Every entry in file order, also shadowed ones.
    pub entries: Vec<Entry>,
    /// Whether an entry has its `type`, `id` or `timestamp` twice. Here the last counts; a reader that
    /// does not read to the end may take the first, and the format does not say which is right.
    pub repeats_its_head: bool,
    /// The parent in the tree, for every entry.
    parents: Vec<Option<usize>>,
}

/// An entry.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// Whether the file has no id for it, so that the model derived this one.
    pub derived: bool,
    /// The parent it names, which may not exist.
    pub parent: Option<String>,
    /// Its type.
    pub kind: String,
    /// Its time in Unix milliseconds.
    pub time: Option<i64>,
    /// The value of the entry; `None` if it is damaged.
    pub value: Option<Value>,
    /// The line it is on.
    pub line: usize,
}

/// An entry in a walk over the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The entry.
    pub id: String,
    /// Its parent in the tree.
    pub parent: Option<String>,
    /// The number of entries above it.
    pub depth: usize,
    /// Its type.
    pub kind: String,
    /// Its label and when that was set.
    pub label: Option<(String, Option<i64>)>,
    /// The number of children.
    pub children: usize,
}

impl Model {
    /// Reads a file.
    pub fn read(bytes: &[u8]) -> Result<Model, NotASession> {
        let mut model = read::read(bytes)?;
        model.link();
        Ok(model)
    }

    /// Adopts the ids that the library derived, so that what refers to them can be followed.
    /// `names` are all ids of the tree in file order, as [`Model::ids`] has them.
    pub fn adopt_derived(&mut self, names: &[String]) {
        let mine = self.ids();
        for (mine, name) in mine.iter().zip(names) {
            if !self.entry(mine).is_some_and(|entry| entry.derived) {
                continue;
            }
            for entry in &mut self.entries {
                let first_kept =
                    entry.value.as_mut().and_then(|value| value.get_mut("firstKeptEntryId"));
                if let Some(first_kept) = first_kept.filter(|kept| *kept == mine) {
                    *first_kept = Value::from(name.as_str());
                }
                for id in std::iter::once(&mut entry.id).chain(&mut entry.parent) {
                    if id == mine {
                        *id = name.clone();
                    }
                }
            }
        }
        self.link();
    }

    /// Returns the entry an id means: the last one that has it.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.position(id).map(|at| &self.entries[at])
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.entries.iter().rposition(|entry| entry.id == id)
    }

    /// Decides every entry's parent.
    fn link(&mut self) {
        let last: HashMap<&str, usize> =
            self.entries.iter().enumerate().map(|(at, entry)| (&*entry.id, at)).collect();
        let named = |at: usize| {
            let parent = *last.get(self.entries[at].parent.as_deref()?)?;
            (parent != at).then_some(parent)
        };
        let named: Vec<Option<usize>> = (0..self.entries.len()).map(named).collect();
        let is_first_of_a_cycle = |at: usize| {
            let above = std::iter::successors(named[at], |&row| named[row]);
            // A walk from an entry in a cycle returns to it within as many steps as there are entries.
            let cycle: Vec<usize> = above.take(named.len()).take_while(|&row| row != at).collect();
            let back = cycle.last().map_or(named[at], |&row| named[row]) == Some(at);
            back && cycle.iter().all(|&row| row > at)
        };
        self.parents = (0..self.entries.len())
            .map(|at| named[at].filter(|_| !is_first_of_a_cycle(at)))
            .collect();
    }

    /// Returns the ids of the tree in file order, each once, at the position of the entry that has it.
    pub fn ids(&self) -> Vec<String> {
        self.names(&self.live())
    }

    fn live(&self) -> Vec<usize> {
        let last: HashMap<&str, usize> =
            self.entries.iter().enumerate().map(|(at, entry)| (&*entry.id, at)).collect();
        (0..self.entries.len()).filter(|&at| last[&*self.entries[at].id] == at).collect()
    }

    fn parent_of(&self, at: usize) -> Option<usize> {
        self.parents[at]
    }

    /// Returns an entry's parent in the tree.
    pub fn parent(&self, id: &str) -> Option<String> {
        let parent = self.parent_of(self.position(id)?)?;
        Some(self.entries[parent].id.clone())
    }

    fn rows_to(&self, at: usize) -> Vec<usize> {
        let mut path = vec![at];
        while let Some(parent) = self.parent_of(path[path.len() - 1]) {
            path.push(parent);
        }
        path.reverse();
        path
    }

    fn names(&self, rows: &[usize]) -> Vec<String> {
        rows.iter().map(|&at| self.entries[at].id.clone()).collect()
    }

    /// Returns the entries from the root to `id`.
    pub fn path(&self, id: &str) -> Vec<String> {
        self.position(id).map(|at| self.names(&self.rows_to(at))).unwrap_or_default()
    }

    /// Returns the live rows, each with its parent.
    fn links(&self) -> Vec<(usize, Option<usize>)> {
        self.live().into_iter().map(|at| (at, self.parent_of(at))).collect()
    }

    /// Sorts siblings from oldest to newest.
    fn sorted(&self, siblings: Vec<usize>) -> Vec<usize> {
        let mut last = i64::MIN;
        let mut timed = Vec::new();
        for at in siblings {
            last = self.entries[at].time.unwrap_or(last);
            timed.push((last, at));
        }
        timed.sort();
        timed.into_iter().map(|(_, at)| at).collect()
    }

    /// Returns the entries directly under `id`, oldest first.
    pub fn children(&self, id: &str) -> Vec<String> {
        let parent = self.position(id);
        let links = self.links();
        let mine = links.iter().filter(|(_, above)| above.is_some() && *above == parent);
        self.names(&self.sorted(mine.map(|(at, _)| *at).collect()))
    }

    /// Returns every entry, parents before children, children oldest first, roots in file order.
    pub fn walk(&self) -> Vec<Item> {
        let links = self.links();
        let labels = self.labels();
        let mut items = Vec::new();
        let roots: Vec<usize> =
            links.iter().filter(|(_, parent)| parent.is_none()).map(|(at, _)| *at).collect();
        let mut open: Vec<(usize, usize)> = roots.into_iter().rev().map(|at| (at, 0)).collect();
        // A loop instead of recursion, because files can be a thousand levels deep.
        while let Some((at, depth)) = open.pop() {
            let mine = links.iter().filter(|(_, parent)| *parent == Some(at)).map(|(at, _)| *at);
            let children = self.sorted(mine.collect());
            let entry = &self.entries[at];
            let label = labels.iter().find(|(target, _, _)| *target == entry.id);
            let parent = links.iter().find(|(row, _)| *row == at).and_then(|(_, parent)| *parent);
            items.push(Item {
                id: entry.id.clone(),
                parent: parent.map(|at| self.entries[at].id.clone()),
                depth,
                kind: entry.kind.clone(),
                label: label.map(|(_, text, time)| (text.clone(), *time)),
                children: children.len(),
            });
            open.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
        }
        items
    }

    /// Returns the current labels, in the order they were set: target, text, time.
    pub fn labels(&self) -> Vec<(String, String, Option<i64>)> {
        let mut labels: Vec<(String, String, Option<i64>)> = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.kind == "label") {
            let Some(value) = &entry.value else { continue };
            let Some(target) = target(value) else { continue };
            labels.retain(|(other, _, _)| *other != target);
            if let Some(text) = value["label"].as_str().filter(|text| !text.is_empty()) {
                labels.push((target, text.to_owned(), entry.time));
            }
        }
        labels.retain(|(target, _, _)| self.entry(target).is_some());
        labels
    }

    /// Returns the session's name.
    pub fn name(&self) -> Option<String> {
        let infos = self.entries.iter().filter(|entry| entry.kind == "session_info");
        let last = infos.filter_map(|entry| entry.value.as_ref()).next_back()?;
        let name = last["name"].as_str()?.trim();
        (!name.is_empty()).then(|| name.to_owned())
    }

    /// Returns the active leaf.
    pub fn leaf(&self) -> Option<String> {
        let links = self.links();
        for &(at, _) in links.iter().rev() {
            let entry = &self.entries[at];
            let here = match &entry.value {
                Some(value) if entry.kind == "leaf" => match value.get("targetId") {
                    Some(Value::Null) => return None,
                    _ => target(value).and_then(|id| self.position(&id)),
                },
                _ => Some(at),
            };
            if let Some(here) = here {
                return self.sound(here);
            }
        }
        None
    }

    /// Returns the entry, or the nearest one above it, that is not damaged.
    fn sound(&self, at: usize) -> Option<String> {
        let path = self.rows_to(at);
        let sound = path.into_iter().rev().find(|&at| self.entries[at].value.is_some())?;
        Some(self.entries[sound].id.clone())
    }

    /// Returns the entries that have a number of children for which `wanted` holds, in file order.
    fn with_children(
        &self,
        links: &[(usize, Option<usize>)],
        wanted: fn(usize) -> bool,
    ) -> Vec<String> {
        let count = |at: usize| links.iter().filter(|(_, parent)| *parent == Some(at)).count();
        let rows = links.iter().map(|(at, _)| *at).filter(|at| wanted(count(*at)));
        self.names(&rows.collect::<Vec<_>>())
    }

    /// Returns the rows without bookkeeping entries, each with the nearest parent that is none.
    fn conversation(&self) -> Vec<(usize, Option<usize>)> {
        let links = self.links();
        let is_bookkeeping = |at: usize| matches!(&*self.entries[at].kind, "leaf" | "label");
        let parent_of = |at: usize| links.iter().find(|(row, _)| *row == at).and_then(|row| row.1);
        let mut visible = links.clone();
        visible.retain(|(at, _)| !is_bookkeeping(*at));
        for (_, parent) in &mut visible {
            while let Some(at) = parent.filter(|at| is_bookkeeping(*at)) {
                *parent = parent_of(at);
            }
        }
        visible
    }

    /// Returns the entries without children, in file order.
    pub fn leaves(&self) -> Vec<String> {
        self.with_children(&self.links(), |count| count == 0)
    }

    /// Returns the ends of all branches of the conversation, in file order.
    pub fn conversation_leaves(&self) -> Vec<String> {
        self.with_children(&self.conversation(), |count| count == 0)
    }

    /// Returns the entries with more than one child, in file order.
    pub fn branch_points(&self) -> Vec<String> {
        self.with_children(&self.links(), |count| count > 1)
    }

    /// Returns the conversation's entries with more than one child, in file order.
    pub fn conversation_branch_points(&self) -> Vec<String> {
        self.with_children(&self.conversation(), |count| count > 1)
    }

    /// Returns the deepest entry that is on both paths.
    pub fn common_ancestor(&self, a: &str, b: &str) -> Option<String> {
        let other = self.path(b);
        self.path(a).into_iter().rev().find(|id| other.contains(id))
    }

    /// Returns the entries on the path to `from` but not on the path to `to`, oldest first.
    pub fn abandoned(&self, from: Option<&str>, to: Option<&str>) -> Vec<String> {
        let path = |id: Option<&str>| id.map(|id| self.path(id)).unwrap_or_default();
        let kept = path(to);
        path(from).into_iter().filter(|id| !kept.contains(id)).collect()
    }
}

/// Returns the id to which a label or leaf entry refers. A file with numbers as ids has numbers
/// here, too.
fn target(value: &Value) -> Option<String> {
    match value.get("targetId")? {
        Value::String(id) => Some(id.clone()).filter(|id| !id.is_empty()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s","cwd":"/p"}"#;

    fn entry(kind: &str, id: &str, parent: &str, more: &str) -> String {
        let parent = if parent == "-" { "null".into() } else { format!("\"{parent}\"") };
        format!(
            r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:00Z"{more}}}"#
        )
    }

    fn user(id: &str, parent: &str) -> String {
        entry("message", id, parent, &format!(r#","message":{{"role":"user","content":"{id}"}}"#))
    }

    fn read(lines: &[String]) -> Model {
        Model::read(format!("{HEADER}\n{}\n", lines.join("\n")).as_bytes()).unwrap()
    }

    fn ids(model: &Model) -> String {
        model.walk().iter().map(|item| format!("{}{}", item.id, item.depth)).collect()
    }

    #[test]
    fn trees_cycles_and_duplicates() {
        let tree = read(&[user("a", "-"), user("b", "a"), user("c", "b"), user("d", "a")]);
        assert_eq!(ids(&tree), "a0b1c2d1");
        assert_eq!(tree.leaf().as_deref(), Some("d"));
        assert_eq!(tree.common_ancestor("c", "d").as_deref(), Some("a"));
        assert_eq!(tree.abandoned(Some("c"), Some("d")), ["b", "c"]);
        assert_eq!(tree.leaves(), ["c", "d"]);
        assert_eq!(tree.branch_points(), ["a"]);

        assert_eq!(ids(&read(&[user("a", "b"), user("b", "c"), user("c", "b")])), "b0a1c1");
        assert_eq!(
            ids(&read(&[user("x", "c"), user("a", "x"), user("b", "a"), user("c", "b")])),
            "x0a1b2c3"
        );
        assert_eq!(ids(&read(&[user("a", "a"), user("b", "gone")])), "a0b0");
        let twice = read(&[user("a", "-"), user("b", "a"), user("a", "b")]);
        assert_eq!(twice.ids(), ["b", "a"]);
        assert_eq!(ids(&twice), "b0a1");
    }

    #[test]
    fn damaged_lines() {
        let torn = user("b", "a")[..90].to_owned();
        let cut = |text: &str| {
            Model::read(format!("{HEADER}\n{}\n{text}", user("a", "-")).as_bytes()).unwrap()
        };
        assert_eq!(cut(&torn).ids(), ["a"]);
        let fenced = cut(&format!("{torn}\n"));
        assert_eq!((fenced.ids(), fenced.leaf()), (vec!["a".into(), "b".into()], Some("a".into())));
        let glued = cut(&format!("{torn}{}\n", user("c", "b")));
        assert_eq!(glued.path("c"), ["a", "b", "c"]);
        assert_eq!(glued.context(Some("c")).messages.len(), 2);
        assert_eq!(cut(&format!("{torn}{}", user("c", "b"))).ids(), ["a", "b", "c"]);
        assert_eq!(cut(&format!("{}{}\n", user("b", "a"), user("c", "b"))).ids(), ["a", "b", "c"]);
        for nothing in ["42", "null", "[1]", "", "\r", "{\"type\":\"mess", "\0\0"] {
            assert_eq!(cut(&format!("{nothing}\n")).ids(), ["a"], "{nothing:?}");
        }
        let nameless = cut("{\"type\":\"x\"}\n");
        assert!(nameless.entries[1].derived);
        assert!(Model::read(b"not a session\n").is_err());
        assert!(Model::read(b"").unwrap().header.is_none());
    }

    #[test]
    fn leaves_labels_and_names() {
        let target = |id: &str| format!(r#","targetId":{id}"#);
        let label = |text: &str| format!(r#","targetId":"a","label":"{text}""#);
        let mut lines =
            vec![user("a", "-"), user("b", "a"), entry("leaf", "l", "a", &target("\"a\""))];
        assert_eq!(read(&lines).leaf().as_deref(), Some("a"));
        lines.push(entry("leaf", "m", "-", &target("null")));
        assert_eq!(read(&lines).leaf(), None);
        lines.push(entry("leaf", "n", "a", &target("\"gone\"")));
        assert_eq!(read(&lines).leaf(), None);
        lines.push(entry("label", "o", "b", &label("one")));
        lines.push(entry("label", "p", "b", &label("two")));
        assert_eq!(read(&lines).labels()[0].1, "two");
        lines.push(entry("label", "q", "b", &label("")));
        assert!(read(&lines).labels().is_empty());
        lines.push(entry("session_info", "r", "b", r#","name":" n ""#));
        assert_eq!(read(&lines).name().as_deref(), Some("n"));
        lines.push(entry("session_info", "s", "b", ""));
        assert_eq!(read(&lines).name(), None);
    }

    #[test]
    fn compactions_and_edits() {
        let kept =
            |id: &str| format!(r#","summary":"S","tokensBefore":9,"firstKeptEntryId":"{id}""#);
        let shape = |model: &Model| -> String {
            let leaf = model.leaf();
            model
                .context(leaf.as_deref())
                .messages
                .iter()
                .map(|message| message.entry.clone())
                .collect()
        };
        let mut lines = vec![user("a", "-"), user("b", "a"), user("c", "b")];
        lines.push(entry("compaction", "x", "c", &kept("b")));
        lines.push(user("d", "x"));
        assert_eq!(shape(&read(&lines)), "xbcd");
        lines[3] = entry("compaction", "x", "c", &kept("gone"));
        assert_eq!(shape(&read(&lines)), "xd");
        lines.push(entry("context_edit", "e", "d", r#","targetId":"x","replacement":null"#));
        assert_eq!(shape(&read(&lines)), "d");
        lines.push(entry(
            "context_edit",
            "f",
            "e",
            r#","targetId":"d","replacement":{"content":"new"}"#,
        ));
        let model = read(&lines);
        assert_eq!(model.context(model.leaf().as_deref()).messages[0].value["content"], "new");
    }
}
