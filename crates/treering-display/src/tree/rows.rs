//! Lays out the visible entries of a tree: their rows, and the lines that connect them.
//!
//! Entries that continue each other stay in one column, the active path in the first. A side branch
//! is indented by one level and connected by a line at its left, so that only nested branches take
//! columns, not the depth along a path. The children of a hidden entry are connected to the nearest
//! visible entry above it.
//!
//! Every pass is a loop over flat arrays. A gutter is drawn when its row is drawn, for the visible columns.

use super::outline::{NONE, Outline};

/// The connection of a row to the one above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Connector {
    /// The row continues the row above it, in the same column.
    #[default]
    Straight,
    /// The row begins a side branch, and more rows of its parent follow.
    Tee,
    /// The row begins the last branch of its parent.
    Elbow,
}

/// Whether a row can be folded, and is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fold {
    /// The row does not begin a branch, or there is nothing below it.
    #[default]
    None,
    /// The rows below it are shown.
    Open,
    /// The rows below it are hidden.
    Closed,
}

/// A visible entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeRow {
    /// The index of the entry in the outline.
    pub node: u32,
    parent: u32,
    /// The row that continues this one.
    next: u32,
    /// The number of rows whose parent is this one, including hidden ones.
    pub children: u32,
    /// The level of indentation.
    pub level: u32,
    /// The nearest row, this one or one above it, that begins a branch.
    anchor: u32,
    /// The connection to the parent.
    pub connector: Connector,
    /// Whether the row is folded.
    pub fold: Fold,
}

/// The visible entries of a tree from top to bottom.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeRows {
    rows: Vec<TreeRow>,
    /// For every entry its row, or the row of the nearest visible entry above it.
    nearest: Vec<u32>,
}

impl TreeRows {
    /// Lays out the entries for which `is_seen` returns `true`. Entries below a `folded` entry that begins a
    /// branch are left out.
    pub fn lay_out(
        outline: &Outline,
        is_seen: impl Fn(u32) -> bool,
        folded: impl Fn(u32) -> bool,
    ) -> Self {
        let (mut rows, mut nearest) = hang(outline, is_seen);
        for row in &mut rows {
            row.fold = match row.connector != Connector::Straight && row.children > 0 {
                false => Fold::None,
                true if folded(row.node) => Fold::Closed,
                true => Fold::Open,
            };
        }
        fold(&mut rows, &mut nearest);
        indent(&mut rows);
        TreeRows { rows, nearest }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns all rows.
    pub fn all(&self) -> &[TreeRow] {
        &self.rows
    }

    /// Returns a row.
    pub fn get(&self, at: usize) -> Option<&TreeRow> {
        self.rows.get(at)
    }

    /// Returns the parent of a row.
    pub fn parent(&self, at: usize) -> Option<usize> {
        self.rows.get(at).map(|row| row.parent as usize).filter(|parent| *parent < self.rows.len())
    }

    /// Returns the row of an entry, or of the nearest visible entry above it. If there is none, it returns the
    /// next row after the entry.
    pub fn nearest(&self, node: u32) -> Option<usize> {
        let last = self.rows.len().checked_sub(1)?;
        match self.nearest.get(node as usize) {
            Some(&row) if row != NONE => Some((row as usize).min(last)),
            _ => Some(self.rows.partition_point(|row| row.node < node).min(last)),
        }
    }

    /// Returns the beginning of the segment of a row: the nearest row above it that follows a fork, or a root.
    pub fn branch_start(&self, at: usize) -> usize {
        let mut start = self.parent(at).unwrap_or(at);
        while let Some(above) = self.parent(start) {
            if self.rows[above].children > 1 {
                break;
            }
            start = above;
        }
        start
    }

    /// Returns the end of the segment of a row: the next row of the line that follows a fork, or the end of
    /// the line.
    pub fn branch_end(&self, at: usize) -> usize {
        let mut end = at;
        while let Some(next) = self.continuation(end) {
            let forks = self.rows[end].children > 1;
            end = next;
            if forks {
                break;
            }
        }
        end
    }

    /// Returns the row that continues a row, or its first child if no visible row continues it.
    fn continuation(&self, at: usize) -> Option<usize> {
        let next = self.rows.get(at)?.next as usize;
        match next < self.rows.len() {
            true => Some(next),
            false => Some(at + 1).filter(|first| self.parent(*first) == Some(at)),
        }
    }

    /// Returns the levels `from..to` of the gutter of a row, three columns each. The gutter ends at the row's
    /// own level and marks rows that can be folded.
    pub fn gutter(&self, at: usize, from: usize, to: usize) -> String {
        let fold = self.rows.get(at).map_or(Fold::None, |row| row.fold);
        self.draw_gutter(at, from, to, fold)
    }

    /// Returns the gutter as [`gutter`](TreeRows::gutter) does, without marks for folding.
    pub fn plain_gutter(&self, at: usize, from: usize, to: usize) -> String {
        self.draw_gutter(at, from, to, Fold::None)
    }

    fn draw_gutter(&self, at: usize, from: usize, to: usize, fold: Fold) -> String {
        let Some(row) = self.rows.get(at) else { return String::new() };
        let level = row.level as usize;
        let mut cells = vec!["   "; level.min(to).saturating_sub(from)];
        let mut set = |level: u32, cell: &'static str| {
            let place = (level as usize).checked_sub(from + 1);
            if let Some(slot) = place.and_then(|place| cells.get_mut(place)) {
                *slot = cell;
            }
        };
        match (row.connector, fold) {
            (Connector::Straight, _) => {}
            // There is nothing above the first row.
            (Connector::Tee, Fold::None) if at == 0 => set(row.level, "┌─ "),
            (Connector::Tee, Fold::Open) if at == 0 => set(row.level, "┌⊟ "),
            (Connector::Tee, Fold::Closed) if at == 0 => set(row.level, "┌⊞ "),
            (Connector::Elbow, Fold::None) if at == 0 => set(row.level, "╶─ "),
            (Connector::Elbow, Fold::Open) if at == 0 => set(row.level, "╶⊟ "),
            (Connector::Elbow, Fold::Closed) if at == 0 => set(row.level, "╶⊞ "),
            (Connector::Tee, Fold::None) => set(row.level, "├─ "),
            (Connector::Tee, Fold::Open) => set(row.level, "├⊟ "),
            (Connector::Tee, Fold::Closed) => set(row.level, "├⊞ "),
            (Connector::Elbow, Fold::None) => set(row.level, "└─ "),
            (Connector::Elbow, Fold::Open) => set(row.level, "└⊟ "),
            (Connector::Elbow, Fold::Closed) => set(row.level, "└⊞ "),
        }
        let anchor = |row: &TreeRow| self.rows.get(row.anchor as usize);
        let above = |row: &TreeRow| self.rows.get(row.parent as usize).and_then(anchor);
        let mut next = if row.connector == Connector::Straight { anchor(row) } else { above(row) };
        while let Some(sibling) = next.filter(|sibling| sibling.level as usize > from) {
            if sibling.connector == Connector::Tee {
                set(sibling.level, "│  ");
            }
            next = above(sibling);
        }
        cells.concat()
    }
}

/// Returns the visible entries with their parents and children, and for every entry its row or the row of the
/// nearest visible entry above it.
fn hang(outline: &Outline, is_seen: impl Fn(u32) -> bool) -> (Vec<TreeRow>, Vec<u32>) {
    let mut rows: Vec<TreeRow> = Vec::new();
    let mut nearest: Vec<u32> = Vec::with_capacity(outline.len());
    // Whether a hidden entry, or one between it and its row, begins a branch.
    let mut is_aside: Vec<bool> = Vec::with_capacity(outline.len());
    for (at, node) in (0..).zip(outline.nodes()) {
        let parent = nearest.get(node.parent as usize).copied().unwrap_or(NONE);
        let is_side = node.is_side || is_aside.get(node.parent as usize) == Some(&true);
        if !is_seen(at) {
            nearest.push(parent);
            is_aside.push(is_side);
            continue;
        }
        is_aside.push(false);
        if let Some(parent) = rows.get_mut(parent as usize) {
            parent.children += 1;
        }
        nearest.push(rows.len() as u32);
        rows.push(TreeRow {
            node: at,
            parent,
            next: NONE,
            children: 0,
            level: 0,
            anchor: NONE,
            // `indent` finds the last one of each parent.
            connector: if is_side { Connector::Tee } else { Connector::Straight },
            fold: Fold::None,
        });
    }
    (rows, nearest)
}

/// Removes the rows below closed rows.
fn fold(rows: &mut Vec<TreeRow>, nearest: &mut [u32]) {
    if !rows.iter().any(|row| row.fold == Fold::Closed) {
        return;
    }
    // The row of each entry after folding: itself, or the closed row above it.
    let mut kept: Vec<u32> = Vec::with_capacity(rows.len());
    let mut hidden = vec![false; rows.len()];
    let mut count = 0;
    for at in 0..rows.len() {
        let parent = rows[at].parent as usize;
        let is_below =
            rows.get(parent).is_some_and(|above| hidden[parent] || above.fold == Fold::Closed);
        hidden[at] = is_below;
        kept.push(if is_below { kept[parent] } else { count });
        count += u32::from(!is_below);
    }
    let moved = |row: u32| kept.get(row as usize).copied().unwrap_or(NONE);
    for row in rows.iter_mut() {
        row.parent = moved(row.parent);
    }
    for row in nearest.iter_mut() {
        *row = moved(*row);
    }
    let mut is_hidden = hidden.into_iter();
    rows.retain(|_| !is_hidden.next().unwrap_or(false));
}

/// Sets the levels and connectors, and the row that continues each row.
fn indent(rows: &mut [TreeRow]) {
    for at in 0..rows.len() {
        let above = rows.get(rows[at].parent as usize);
        let (level, anchor) = above.map_or((0, NONE), |above| (above.level, above.anchor));
        let is_side = rows[at].connector != Connector::Straight;
        rows[at].level = level + u32::from(is_side);
        rows[at].anchor = if is_side { at as u32 } else { anchor };
        let parent = rows[at].parent as usize;
        if let Some(above) = rows.get_mut(parent).filter(|_| !is_side) {
            above.next = at as u32;
        }
    }
    // Going backwards, the first row of each parent is the last one. The roots have a slot of their
    // own.
    let mut has_last = vec![false; rows.len() + 1];
    for row in rows.iter_mut().rev() {
        let family = (row.parent as usize).min(has_last.len() - 1);
        let is_last = !std::mem::replace(&mut has_last[family], true);
        if row.connector == Connector::Tee && is_last {
            row.connector = Connector::Elbow;
        }
    }
}
