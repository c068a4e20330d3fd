//! The tree: every entry of a session as a row, its parent as another row.
//!
//! The tree is flat and does no I/O. It has the positions of entries but not their content, so that
//! it takes about 60 bytes for each entry, whatever its size. Walks are loops, never recursion, and
//! every walk ends.

mod build;
mod conversation;
mod nested;
mod node;
mod row;
mod walk;

pub(crate) use build::{Insert, NewRow, own_head};
pub use conversation::Conversation;
pub use nested::TreeNode;
pub(crate) use node::Node;
pub(crate) use row::{NONE, Row};
pub use walk::{TreeItem, TreeWalk};

use crate::entry::{Kind, Role};
use crate::error::{Error, Result};
use crate::findings::Problem;
use crate::id::EntryId;
use crate::position::Resolved;
use foldhash::quality::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

/// The maximum number of candidates for an ambiguous text.
const MAX_CANDIDATES: usize = 10;

/// A snapshot of a session's tree.
///
/// ```
/// use treering::{Message, Session};
/// let session = Session::in_memory("/project");
/// let question = session.append(Message::user("which way?"))?;
/// let left = session.append(Message::assistant("acme", "m", "left"))?;
/// session.branch(&question)?;
/// let right = session.append(Message::assistant("acme", "m", "right"))?;
///
/// let tree = session.tree();
/// assert_eq!(tree.children(&question)?.len(), 3); // left, the leaf entry, right
/// assert_eq!(tree.common_ancestor(&left, &right)?, Some(question));
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tree {
    nodes: Vec<Node>,
    ids: Ids,
    /// Maps ids to rows. The hash is seeded, so that no file can be made to cause collisions.
    rows: hashbrown::HashTable<Slot>,
    hasher: RandomState,
    labels: HashMap<Box<str>, Label>,
    /// The targets of the `leaf` entries.
    leaf_targets: HashMap<Row, Option<Box<str>>>,
    name: Option<Box<str>>,
    /// Every name that the session was given, with the row that set it.
    names: Vec<(Row, Option<Box<str>>)>,
    /// The active leaf, if the dialect has a rule of its own for it.
    chosen_leaf: Option<Option<Row>>,
    shadowed: u32,
    /// Rows whose parent is missing, with the parent's id.
    orphans: Vec<(Row, Box<str>)>,
    /// The ids of the missing parents.
    missed: HashSet<Box<str>>,
    /// Whether every link leads to an earlier row and no id is repeated.
    plain: bool,
    children: OnceLock<Arc<walk::Children>>,
}

/// The way in which the entries of a file are linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Entries name their parents.
    Tree,
    /// Every entry is the child of the one before it.
    Chain,
}

/// The current label of an entry.
#[derive(Debug, Clone)]
struct Label {
    /// The row of the entry that set the label.
    row: Row,
    text: Box<str>,
    /// The label as in the file, because not every text can be a `String`.
    literal: Box<[u8]>,
}

/// A row and the hash of its id, so that growing the table need not hash ids again.
#[derive(Debug, Clone, Copy)]
struct Slot {
    hash: u32,
    row: Row,
}

impl Slot {
    /// Spreads a hash over 64 bits: the table uses the lowest and the highest ones.
    fn spread(hash: u32) -> u64 {
        u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

/// All ids, concatenated.
#[derive(Debug, Clone, Default)]
struct Ids(String);

impl Ids {
    /// Returns the position of the stored text. Beyond four gigabytes of ids, which no file
    /// reaches, ids are empty.
    fn add(&mut self, text: &str) -> (u32, u16) {
        match (u32::try_from(self.0.len()), u16::try_from(text.len())) {
            (Ok(start), Ok(len)) => {
                self.0.push_str(text);
                (start, len)
            }
            _ => (0, 0),
        }
    }

    fn bytes(&self, node: &Node) -> &[u8] {
        let start = node.id_start as usize;
        self.0.as_bytes().get(start..start + usize::from(node.id_len)).unwrap_or_default()
    }

    fn get(&self, node: &Node) -> &str {
        let start = node.id_start as usize;
        self.0.get(start..start + usize::from(node.id_len)).unwrap_or_default()
    }
}

impl Default for Tree {
    fn default() -> Self {
        Tree::new()
    }
}

impl Tree {
    pub(crate) fn new() -> Self {
        Tree {
            nodes: Vec::new(),
            ids: Ids::default(),
            rows: hashbrown::HashTable::new(),
            hasher: RandomState::default(),
            labels: HashMap::new(),
            leaf_targets: HashMap::new(),
            name: None,
            names: Vec::new(),
            chosen_leaf: None,
            shadowed: 0,
            orphans: Vec::new(),
            missed: HashSet::new(),
            plain: true,
            children: OnceLock::new(),
        }
    }

    /// Returns the number of entries in the tree. Shadowed entries, whose id a later entry has, do
    /// not count.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.shadowed as usize
    }

    /// Returns whether the tree has no entries.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the number of shadowed entries, whose id a later entry has.
    pub fn shadowed(&self) -> usize {
        self.shadowed as usize
    }

    /// Returns the session's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the name that the nearest naming entry on the path to the active leaf set.
    pub(crate) fn name_on_path(&self) -> Option<Box<str>> {
        let leaf = self.file_leaf_row().filter(|_| !self.names.is_empty())?;
        let named = |row: Row| self.names.iter().rev().find(|(by, _)| *by == row);
        self.ancestors(leaf).find_map(named).and_then(|(_, name)| name.clone())
    }

    /// Returns the last name that one of these rows, in file order, set; `None` if none of them
    /// did.
    pub(crate) fn name_given_by(&self, rows: &[Row]) -> Option<Option<&str>> {
        let given = self.names.iter().rev().find(|(row, _)| rows.binary_search(row).is_ok());
        given.map(|(_, name)| name.as_deref())
    }

    /// Returns the last name that an entry set; `None` if the entry removed it.
    pub(crate) fn last_given_name(&self) -> Option<&str> {
        self.names.last()?.1.as_deref()
    }

    /// Returns the last name that is not empty.
    pub(crate) fn last_name(&self) -> Option<Box<str>> {
        self.names.iter().rev().find_map(|(_, name)| name.clone())
    }

    /// Returns whether there is an entry with exactly this id.
    pub fn contains(&self, id: impl AsRef<str>) -> bool {
        self.row(id.as_ref()).is_some()
    }

    /// Returns the id of an entry.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if there is no entry with exactly this id.
    pub fn find(&self, id: impl AsRef<str>) -> Result<EntryId> {
        self.find_row(id.as_ref()).map(|row| self.id(row))
    }

    pub(crate) fn find_row(&self, id: &str) -> Result<Row> {
        self.row(id).ok_or_else(|| Error::UnknownEntry(id.to_owned()))
    }

    /// Returns the entry that a text refers to: the one with this id, or the only one whose id
    /// begins with it. See [`Session::resolve`](crate::Session::resolve).
    pub fn resolve(&self, text: &str) -> Resolved {
        if let Some(row) = self.row(text) {
            return Resolved::Found(self.id(row));
        }
        if text.is_empty() {
            return Resolved::Unknown;
        }
        let hits = self.live().filter(|&row| self.id_text(row).starts_with(text));
        let mut hits: Vec<EntryId> = hits.take(MAX_CANDIDATES).map(|row| self.id(row)).collect();
        match (hits.len(), hits.pop()) {
            (1, Some(only)) => Resolved::Found(only),
            (_, Some(last)) => {
                hits.push(last);
                Resolved::Ambiguous(hits)
            }
            _ => Resolved::Unknown,
        }
    }

    /// Returns the same as [`find_row`](Self::find_row), and tries `likely` first, because
    /// sequential readers know the next row.
    pub(crate) fn find_row_at(&self, likely: Row, id: &str) -> Result<Row> {
        match self.nodes.get(likely.index()) {
            Some(node) if !node.has(Node::SHADOWED) && self.id_bytes(likely) == id.as_bytes() => {
                Ok(likely)
            }
            _ => self.find_row(id),
        }
    }

    pub(crate) fn row(&self, id: &str) -> Option<Row> {
        let hash = self.hash(id);
        let is_it = |slot: &Slot| slot.hash == hash && self.id_bytes(slot.row) == id.as_bytes();
        self.rows.find(Slot::spread(hash), is_it).map(|slot| slot.row)
    }

    fn hash(&self, id: &str) -> u32 {
        self.hasher.hash_one(id.as_bytes()) as u32
    }

    pub(crate) fn id_bytes(&self, row: Row) -> &[u8] {
        self.nodes.get(row.index()).map_or(b"", |node| self.ids.bytes(node))
    }

    /// Reserves memory for about this many more entries.
    pub(crate) fn reserve(&mut self, entries: usize) {
        self.nodes.reserve(entries);
        self.ids.0.reserve(entries.saturating_mul(8));
        self.rows.reserve(entries, |slot| Slot::spread(slot.hash));
    }

    pub(crate) fn id_text(&self, row: Row) -> &str {
        self.nodes.get(row.index()).map_or("", |node| self.ids.get(node))
    }

    pub(crate) fn id(&self, row: Row) -> EntryId {
        EntryId::from(self.id_text(row))
    }

    /// Returns the id as JSON: a number if it is one in the file.
    pub(crate) fn id_literal(&self, row: Row) -> Vec<u8> {
        match self.node(row).has(Node::NUMBER) {
            true => self.id_bytes(row).to_vec(),
            false => crate::json::quoted(self.id_text(row)),
        }
    }

    pub(crate) fn node(&self, row: Row) -> &Node {
        &self.nodes[row.index()]
    }

    /// Returns the number of rows, including those that are not part of the tree.
    pub(crate) fn row_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the row that the next entry will get.
    pub(crate) fn next_row(&self) -> Row {
        Row::new(self.nodes.len())
    }

    /// Returns all rows, in file order.
    pub(crate) fn rows(&self) -> impl DoubleEndedIterator<Item = Row> + Clone + use<> {
        Row::range(Row::FIRST..self.next_row())
    }

    /// Returns the nodes of all rows, in file order.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter()
    }

    /// Returns the node of a row; `None` if there is no such row.
    pub(crate) fn get(&self, row: Row) -> Option<&Node> {
        self.nodes.get(row.index())
    }

    /// Returns the first row whose entry begins at or after `offset`.
    pub(crate) fn row_from(&self, offset: u64) -> Row {
        Row::new(self.nodes.partition_point(|node| node.offset < offset))
    }

    /// Sets a flag of a row.
    pub(crate) fn set_flag(&mut self, row: Row, flag: u8) {
        self.nodes[row.index()].flags |= flag;
    }

    /// Returns all rows that are part of the tree, in file order.
    pub(crate) fn live(&self) -> impl DoubleEndedIterator<Item = Row> + Clone + '_ {
        self.live_from(Row::FIRST)
    }

    /// Returns the rows that are part of the tree, from a row on, in file order.
    pub(crate) fn live_from(
        &self,
        first: Row,
    ) -> impl DoubleEndedIterator<Item = Row> + Clone + '_ {
        Row::range(first..self.next_row()).filter(|&row| !self.node(row).has(Node::SHADOWED))
    }

    /// Returns all ids, in file order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = EntryId> + '_ {
        self.live().map(|row| self.id(row))
    }

    /// Returns the entry's type.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if there is no entry with exactly this id.
    pub fn kind(&self, id: impl AsRef<str>) -> Result<Kind> {
        Ok(self.node(self.find_row(id.as_ref())?).kind())
    }

    /// Returns the role of the entry, if it is a message.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if there is no entry with exactly this id.
    pub fn role(&self, id: impl AsRef<str>) -> Result<Option<Role>> {
        Ok(self.node(self.find_row(id.as_ref())?).role())
    }

    /// Returns the label on an entry.
    pub fn label(&self, id: impl AsRef<str>) -> Option<&str> {
        let row = self.find_row(id.as_ref()).ok()?;
        self.label_of(row).map(|label| &*label.text)
    }

    fn label_of(&self, row: Row) -> Option<&Label> {
        if self.labels.is_empty() { None } else { self.labels.get(self.id_text(row)) }
    }

    /// Returns the label on a row as a JSON string, and the row of the entry that set it.
    pub(crate) fn label_literal(&self, row: Row) -> Option<(&[u8], Row)> {
        self.label_of(row).map(|label| (&*label.literal, label.row))
    }

    /// Returns all current labels, in the order in which they were set: the target, the text, and
    /// the time.
    pub fn labels(&self) -> Vec<(EntryId, &str, Option<i64>)> {
        let mut labels: Vec<_> =
            self.labels.iter().filter(|(target, _)| self.contains(target)).collect();
        labels.sort_by_key(|(_, label)| label.row);
        labels
            .into_iter()
            .map(|(target, label)| {
                (EntryId::from(&**target), &*label.text, self.node(label.row).time())
            })
            .collect()
    }

    /// Returns the active leaf of the file: its last entry, or the target of the last entry if that
    /// is a `leaf` entry. A `leaf` entry whose target does not exist is skipped.
    pub fn file_leaf(&self) -> Option<EntryId> {
        self.file_leaf_row().map(|row| self.id(row))
    }

    pub(crate) fn file_leaf_row(&self) -> Option<Row> {
        if let Some(leaf) = self.chosen_leaf {
            return leaf;
        }
        for row in self.live().rev() {
            // For a damaged `leaf` entry, its parent counts, as for any damaged entry.
            if self.node(row).kind() != Kind::Leaf || self.node(row).has(Node::DAMAGED) {
                return Some(row);
            }
            match self.leaf_targets.get(&row) {
                Some(None) => return None,
                Some(Some(target)) => match self.row(target) {
                    Some(target) => return Some(target),
                    None => continue,
                },
                None => continue,
            }
        }
        None
    }

    /// Returns the target row of a `leaf` entry.
    pub(crate) fn leaf_target(&self, row: Row) -> Option<Row> {
        self.leaf_targets.get(&row)?.as_deref().and_then(|target| self.row(target))
    }

    /// Returns where a `leaf` entry moves the leaf, `Some(None)` if before the first entry; `None` if
    /// its target does not exist, and for other entries.
    pub(crate) fn leaf_move(&self, row: Row) -> Option<Option<Row>> {
        match self.leaf_targets.get(&row)? {
            Some(target) => self.row(target).map(Some),
            None => Some(None),
        }
    }

    /// Returns whether the targets of the `leaf` entries at the end of the file do not exist, or
    /// there are only such entries.
    pub(crate) fn points_nowhere(&self) -> bool {
        for row in self.live().rev() {
            match self.leaf_targets.get(&row) {
                _ if self.node(row).kind() != Kind::Leaf || self.node(row).has(Node::DAMAGED) => {
                    return false;
                }
                Some(None) => return false,
                Some(Some(target)) => return !self.contains(target),
                None => continue,
            }
        }
        true
    }

    /// Returns the problems that were found while building the tree, with their offsets.
    pub(crate) fn problems(&self) -> impl Iterator<Item = (u64, Problem)> + '_ {
        self.rows().zip(&self.nodes).filter_map(|(row, node)| {
            let id = || EntryId::from(self.ids.get(node));
            if node.has(Node::SHADOWED) {
                Some((node.offset, Problem::Duplicate(id())))
            } else if !node.has(Node::LOST_PARENT) {
                None
            } else if self.missing_parent(row).is_some() {
                Some((node.offset, Problem::LostParent(id())))
            } else {
                Some((node.offset, Problem::Cycle(id())))
            }
        })
    }

    /// Returns the parent that a row names if it does not exist; `None` for any other row,
    /// including one in a cycle.
    pub(crate) fn missing_parent(&self, row: Row) -> Option<&str> {
        let at = self.orphans.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        let wanted = &*self.orphans[at].1;
        (wanted != self.id_text(row)).then_some(wanted)
    }

    /// Returns whether every link leads to an earlier row, so that ancestors have decreasing row
    /// numbers.
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Returns whether some entry names this id as its parent although no entry has it.
    pub(crate) fn is_missed(&self, id: &str) -> bool {
        self.missed.contains(id)
    }
}
