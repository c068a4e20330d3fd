//! The tree in the order in which it is shown.
//!
//! One child of every entry continues it: the child on the path to the active leaf, otherwise the
//! child with the most entries below it. Side branches come between an entry and its continuation,
//! oldest first. The active path is therefore one line from top to bottom, and the nesting of any
//! entry is at most the logarithm of the number of entries.
//!
//! An outline is flat and does not hold contents: about 50 bytes per entry. It is built once for a tree and
//! a leaf, in linear time; filters, folds and searches select from it.

use treering::{Kind, Role, Session, Tree};

/// The index that means "no node".
pub(super) const NONE: u32 = u32::MAX;

/// An entry of an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutlineNode {
    id_start: u32,
    id_len: u32,
    pub(super) parent: u32,
    label: u32,
    /// The type of the entry.
    pub kind: Kind,
    /// The role of the message, or `None` for other entries.
    pub role: Option<Role>,
    /// Whether the entry is on the path to the active leaf.
    pub is_active: bool,
    /// Whether the entry belongs to the conversation of a subagent.
    pub is_sidechain: bool,
    /// Whether the entry begins a side branch instead of continuing its parent.
    pub is_side: bool,
}

/// A label and the time when it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OutlineLabel {
    text: String,
    time: Option<i64>,
}

/// The entries of a tree in the order in which they are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    nodes: Vec<OutlineNode>,
    ids: String,
    labels: Vec<OutlineLabel>,
    leaf: Option<u32>,
    title: String,
    agent: &'static str,
}

impl Outline {
    /// Creates the outline of a session as it is now.
    pub fn of(session: &Session) -> Self {
        let leaf = session.leaf();
        let outline = Outline::new(&session.tree(), leaf.as_ref().map(|leaf| leaf.as_str()));
        Outline {
            title: session.title().unwrap_or_default(),
            agent: session.dialect().name(),
            ..outline
        }
    }

    /// Creates the outline of a tree. `leaf` is the active leaf; an id that the tree does not have counts as
    /// `None`.
    pub fn new(tree: &Tree, leaf: Option<&str>) -> Self {
        let path = leaf.and_then(|leaf| tree.path(leaf).ok()).unwrap_or_default();
        let mut outline = Outline::default();
        let mut depths = Vec::with_capacity(tree.len());
        // The positions of the path in the walk.
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
            outline.nodes.push(OutlineNode {
                id_start,
                id_len,
                parent: NONE,
                label,
                kind: item.kind,
                role: item.role,
                is_active,
                is_sidechain: item.sidechain,
                is_side: false,
            });
        }
        let parents = parents(&depths);
        let DisplayOrder { order, is_side } = DisplayOrder::new(&parents, &active);
        for (node, is_side) in outline.nodes.iter_mut().zip(is_side) {
            node.is_side = is_side;
        }
        outline.reorder(&order, &parents);
        let leaf = outline.nodes.iter().rposition(|node| node.is_active);
        outline.leaf = leaf.and_then(|leaf| u32::try_from(leaf).ok());
        outline
    }

    fn add_label(&mut self, text: &str, time: Option<i64>) -> u32 {
        self.labels.push(OutlineLabel { text: text.to_owned(), time });
        self.labels.len() as u32 - 1
    }

    /// Stores an id and returns its position. Beyond four gigabytes of ids, which no file reaches, ids are
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
        let moved = |&walked: &u32| OutlineNode {
            parent: place(parents[walked as usize]),
            ..self.nodes[walked as usize]
        };
        self.nodes = order.iter().map(moved).collect();
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the entries in the order in which they are shown.
    pub fn nodes(&self) -> &[OutlineNode] {
        &self.nodes
    }

    /// Returns the id of an entry, or an empty text for an index out of range.
    pub fn id(&self, node: u32) -> &str {
        let Some(node) = self.nodes.get(node as usize) else { return "" };
        let start = node.id_start as usize;
        self.ids.get(start..start + node.id_len as usize).unwrap_or_default()
    }

    /// Returns the parent of an entry.
    pub fn parent(&self, node: u32) -> Option<u32> {
        self.nodes.get(node as usize).map(|node| node.parent).filter(|parent| *parent != NONE)
    }

    /// Returns the label of an entry.
    pub fn label(&self, node: u32) -> Option<&str> {
        self.label_of(node).map(|label| &*label.text)
    }

    /// Returns the time when the label of an entry was set, in Unix milliseconds.
    pub fn label_time(&self, node: u32) -> Option<i64> {
        self.label_of(node)?.time
    }

    fn label_of(&self, node: u32) -> Option<&OutlineLabel> {
        self.labels.get(self.nodes.get(node as usize)?.label as usize)
    }

    /// Returns the session's title; empty if it has none.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the name of the agent that wrote the session, or an empty text if it is unknown.
    pub fn agent(&self) -> &'static str {
        self.agent
    }

    /// Returns the active leaf.
    pub fn leaf(&self) -> Option<u32> {
        self.leaf
    }
}

/// Returns the parents of entries that are given by their depths in pre-order.
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

/// Returns the end of the subtree of each entry, in the same order.
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

/// The order in which the entries of a tree are shown. It is computed from the parents alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayOrder {
    /// The positions of the entries in pre-order, in the order in which they are shown.
    pub order: Vec<u32>,
    /// Whether each entry begins a side branch, by its position in pre-order.
    pub is_side: Vec<bool>,
}

impl DisplayOrder {
    /// Computes the order of a tree that is given in pre-order by the position of each entry's parent;
    /// `u32::MAX` stands for no parent. `path` is the active path.
    ///
    /// ```
    /// use treering_display::tree::DisplayOrder;
    /// // An entry with two children, of which the first is active.
    /// let shown = DisplayOrder::new(&[u32::MAX, 0, 0], &[0, 1]);
    /// assert_eq!(shown.order, [0, 2, 1]);
    /// assert_eq!(shown.is_side, [false, false, true]);
    /// ```
    pub fn new(parents: &[u32], path: &[u32]) -> Self {
        let continuations = Continuations::new(parents, path);
        let is_side = (0..).take(parents.len()).map(|at| !continuations.continues(at, parents));
        DisplayOrder { is_side: is_side.collect(), order: continuations.order() }
    }
}

/// The child that continues each entry of a tree in pre-order.
struct Continuations {
    ends: Vec<u32>,
    /// The continuing child of every entry; the last element is for the roots.
    next: Vec<u32>,
}

impl Continuations {
    /// Finds the continuations of a tree that is given by its parents; `path` is the active path.
    fn new(parents: &[u32], path: &[u32]) -> Self {
        let ends = ends(parents);
        let mut next = vec![NONE; parents.len() + 1];
        let size = |at: u32| ends.get(at as usize).map_or(0, |end| end - at);
        for (at, &parent) in (0..).zip(parents) {
            let next = &mut next[(parent as usize).min(parents.len())];
            // Of children with subtrees of the same size, the newest continues the entry.
            if *next == NONE || size(at) >= size(*next) {
                *next = at;
            }
        }
        for &at in path {
            next[(parents[at as usize] as usize).min(parents.len())] = at;
        }
        Continuations { ends, next }
    }

    fn continues(&self, at: u32, parents: &[u32]) -> bool {
        self.next[(parents[at as usize] as usize).min(parents.len())] == at
    }

    /// Returns the positions of the entries in the order in which they are shown.
    fn order(&self) -> Vec<u32> {
        let count = self.ends.len();
        let mut order = Vec::with_capacity(count);
        // The entries to come, the next one last.
        let mut waiting = Vec::new();
        self.push_children(0, count as u32, self.next[count], &mut waiting);
        while let Some(at) = waiting.pop() {
            order.push(at);
            let (end, next) = (self.ends[at as usize], self.next[at as usize]);
            self.push_children(at + 1, end, next, &mut waiting);
        }
        order
    }

    fn push_children(&self, from: u32, to: u32, next: u32, waiting: &mut Vec<u32>) {
        waiting.extend(Some(next).filter(|next| *next != NONE));
        let start = waiting.len();
        let mut child = from;
        while child < to {
            waiting.extend(Some(child).filter(|child| *child != next));
            child = self.ends[child as usize];
        }
        waiting[start..].reverse();
    }
}
