//! The tree in the order in which it is shown: parents before children, the child that holds the
//! active leaf before its siblings, the others oldest first.
//!
//! Flat, and without the entries' contents: about 50 bytes an entry. Made once for a tree and a leaf,
//! in linear time; filters, folds and searches only choose from it.

use treering::{Kind, Role, Session, Tree};

/// "No such node."
pub(crate) const NONE: u32 = u32::MAX;

/// One entry of an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    id_start: u32,
    id_len: u32,
    pub(crate) parent: u32,
    label: u32,
    /// Its type.
    pub kind: Kind,
    /// The role, if it is a message.
    pub role: Option<Role>,
    /// On the path to the active leaf.
    pub is_active: bool,
    /// Part of what a subagent did on its own.
    pub is_sidechain: bool,
}

/// A label and when it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Label {
    text: String,
    time: Option<i64>,
}

/// A tree, ready to be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    nodes: Vec<Node>,
    ids: String,
    labels: Vec<Label>,
    leaf: Option<u32>,
}

impl Outline {
    /// Returns the outline of a session as it is now.
    pub fn of(session: &Session) -> Self {
        let leaf = session.leaf();
        Outline::new(&session.tree(), leaf.as_ref().map(|leaf| leaf.as_str()))
    }

    /// Returns the outline of a tree; `leaf` is the active leaf. One that the tree does not have is
    /// none.
    pub fn new(tree: &Tree, leaf: Option<&str>) -> Self {
        let path = leaf.and_then(|leaf| tree.path(leaf).ok()).unwrap_or_default();
        let mut outline = Outline::default();
        let mut depths = Vec::with_capacity(tree.len());
        // The places of the path in the walk.
        let mut active = Vec::with_capacity(path.len());
        for item in tree.walk() {
            let label = match item.label {
                Some(text) => outline.add_label(text, item.label_time),
                None => NONE,
            };
            let (id_start, id_len) = outline.add_id(item.id);
            let is_active = path.get(item.depth).is_some_and(|id| id.as_str() == item.id);
            if is_active {
                active.push(outline.nodes.len() as u32);
            }
            depths.push(item.depth);
            outline.nodes.push(Node {
                id_start,
                id_len,
                parent: NONE,
                label,
                kind: item.kind,
                role: item.role,
                is_active,
                is_sidechain: item.sidechain,
            });
        }
        let parents = parents(&depths);
        let order = active_first(&active, &ends(&parents));
        outline.reorder(&order, &parents);
        outline.leaf = (active.len() as u32).checked_sub(1);
        outline
    }

    fn add_label(&mut self, text: &str, time: Option<i64>) -> u32 {
        self.labels.push(Label { text: text.to_owned(), time });
        self.labels.len() as u32 - 1
    }

    /// Returns where the id is kept. Past four gigabytes of ids, which no file reaches, ids are
    /// empty.
    fn add_id(&mut self, id: &str) -> (u32, u32) {
        match (u32::try_from(self.ids.len()), u32::try_from(id.len())) {
            (Ok(start), Ok(len)) => {
                self.ids.push_str(id);
                (start, len)
            }
            _ => (0, 0),
        }
    }

    fn reorder(&mut self, order: &[u32], parents: &[u32]) {
        let mut places = vec![NONE; order.len()];
        for (place, &walked) in (0..).zip(order) {
            places[walked as usize] = place;
        }
        let place = |walked: u32| places.get(walked as usize).copied().unwrap_or(NONE);
        let moved = |&walked: &u32| Node {
            parent: place(parents[walked as usize]),
            ..self.nodes[walked as usize]
        };
        self.nodes = order.iter().map(moved).collect();
    }

    /// Returns how many entries there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the entries, as they are shown.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns an entry's id; empty for a node that is not there.
    pub fn id(&self, node: u32) -> &str {
        let Some(node) = self.nodes.get(node as usize) else { return "" };
        let start = node.id_start as usize;
        self.ids.get(start..start + node.id_len as usize).unwrap_or_default()
    }

    /// Returns the entry that a node continues, among those of the outline.
    pub fn parent(&self, node: u32) -> Option<u32> {
        self.nodes.get(node as usize).map(|node| node.parent).filter(|parent| *parent != NONE)
    }

    /// Returns an entry's label.
    pub fn label(&self, node: u32) -> Option<&str> {
        self.label_of(node).map(|label| &*label.text)
    }

    /// When it was set, in Unix milliseconds.
    pub fn label_time(&self, node: u32) -> Option<i64> {
        self.label_of(node)?.time
    }

    fn label_of(&self, node: u32) -> Option<&Label> {
        self.labels.get(self.nodes.get(node as usize)?.label as usize)
    }

    /// Returns the active leaf.
    pub fn leaf(&self) -> Option<u32> {
        self.leaf
    }
}

/// Returns the parents of entries given by their depths in pre-order.
fn parents(depths: &[usize]) -> Vec<u32> {
    let mut above: Vec<u32> = Vec::new();
    let mut parents = Vec::with_capacity(depths.len());
    for (at, &depth) in (0..).zip(depths) {
        above.truncate(depth);
        parents.push(above.last().copied().unwrap_or(NONE));
        above.push(at);
    }
    parents
}

/// Returns where what is below each entry ends, in the same order.
fn ends(parents: &[u32]) -> Vec<u32> {
    let mut ends: Vec<u32> = (1..).take(parents.len()).collect();
    for at in (0..parents.len()).rev() {
        let end = ends[at];
        if let Some(above) = ends.get_mut(parents[at] as usize) {
            *above = end.max(*above);
        }
    }
    ends
}

/// Returns the order in which a pre-order is shown. The active path comes first as a whole, for
/// each of its entries is the first child of the one above; what else hangs on the path follows,
/// from its end up.
fn active_first(path: &[u32], ends: &[u32]) -> Vec<u32> {
    let mut order = Vec::with_capacity(ends.len());
    order.extend_from_slice(path);
    let end = |at: u32| ends.get(at as usize).copied().unwrap_or(at);
    let all = ends.len() as u32;
    let Some(&leaf) = path.last() else { return (0..all).collect() };
    order.extend(leaf + 1..end(leaf));
    for (level, &at) in path.iter().enumerate().rev() {
        let above = level.checked_sub(1).and_then(|level| path.get(level));
        let (from, to) = above.map_or((0, all), |&above| (above + 1, end(above)));
        order.extend(from..at);
        order.extend(end(at)..to);
    }
    order
}
