//! Where the entries of a tree stand on the screen. Pure: an outline, what of it is seen and what is
//! folded in; rows out.
//!
//! A conversation is mostly one long run, so depth must not cost columns: a run stays flat. Only
//! siblings are indented by a level, and what follows the first of them by one more. Entries that are
//! not seen hand their children to the nearest one above them that is. Every pass is a loop over flat
//! arrays; gutters are drawn when a row is, for the columns that are looked at.

use super::outline::{NONE, Outline};

/// The connection of a row to the one above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Joint {
    /// It continues it.
    #[default]
    Run,
    /// One of several, and not the last.
    Tee,
    /// The last of several.
    Elbow,
}

/// Whether a row can be folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fold {
    /// It does not begin a branch, or nothing is below it.
    #[default]
    None,
    /// The rows below it are shown.
    Open,
    /// The rows below it are folded away.
    Closed,
}

/// A visible entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The entry: its place in the outline.
    pub node: u32,
    parent: u32,
    /// The number of rows below it, those folded away included.
    pub children: u32,
    /// The level of indentation.
    pub level: u32,
    /// The nearest row at or above it that is one of several.
    anchor: u32,
    /// The connection to the row above it.
    pub joint: Joint,
    /// Whether it is folded.
    pub fold: Fold,
}

/// The visible entries of a tree, top to bottom.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rows {
    rows: Vec<Row>,
    /// For every entry its row, or that of the nearest visible one above it.
    nearest: Vec<u32>,
}

impl Rows {
    /// Lays out the entries that `is_seen`; what is below those that are `folded` is left out, if
    /// they begin a branch.
    pub fn lay_out(
        outline: &Outline,
        is_seen: impl Fn(u32) -> bool,
        folded: impl Fn(u32) -> bool,
    ) -> Self {
        let (mut rows, mut nearest) = hang(outline, is_seen);
        let several_roots = rows.iter().filter(|row| row.parent == NONE).nth(1).is_some();
        for at in 0..rows.len() {
            let above = rows.get(rows[at].parent as usize).copied();
            let begins_branch = above.is_none_or(|above| above.children > 1);
            let is_foldable = begins_branch && rows[at].children > 0;
            rows[at].fold = match is_foldable {
                false => Fold::None,
                true if folded(rows[at].node) => Fold::Closed,
                true => Fold::Open,
            };
        }
        fold(&mut rows, &mut nearest);
        indent(&mut rows, several_roots);
        Rows { rows, nearest }
    }

    /// Returns how many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether nothing is seen.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns all rows.
    pub fn all(&self) -> &[Row] {
        &self.rows
    }

    /// Returns a row.
    pub fn get(&self, at: usize) -> Option<&Row> {
        self.rows.get(at)
    }

    /// Returns the row that a row hangs on.
    pub fn parent(&self, at: usize) -> Option<usize> {
        self.rows.get(at).map(|row| row.parent as usize).filter(|parent| *parent < self.rows.len())
    }

    /// Returns the row of an entry or, if it is not seen, of the nearest one above it that is. If
    /// there is none, the next row after it.
    pub fn nearest(&self, node: u32) -> Option<usize> {
        let last = self.rows.len().checked_sub(1)?;
        match self.nearest.get(node as usize) {
            Some(&row) if row != NONE => Some((row as usize).min(last)),
            _ => Some(self.rows.partition_point(|row| row.node < node).min(last)),
        }
    }

    /// Returns where the branch of a row begins: the nearest row above it that is one of several,
    /// or a root.
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

    /// Returns the mirror of it: the first of several rows further down, or the end of the run.
    pub fn branch_end(&self, at: usize) -> usize {
        let mut end = at;
        while self.parent(end + 1) == Some(end) {
            let forks = self.rows[end].children > 1;
            end += 1;
            if forks {
                break;
            }
        }
        end
    }

    /// Returns the gutter of a row in levels `from..to`, three columns each; it ends at the row's
    /// own level.
    pub fn gutter(&self, at: usize, from: usize, to: usize) -> String {
        let Some(row) = self.rows.get(at) else { return String::new() };
        let level = row.level as usize;
        let mut cells = vec!["   "; level.min(to).saturating_sub(from)];
        let mut set = |level: u32, cell: &'static str| {
            let place = (level as usize).checked_sub(from + 1);
            if let Some(slot) = place.and_then(|place| cells.get_mut(place)) {
                *slot = cell;
            }
        };
        match (row.joint, row.fold) {
            (Joint::Run, _) => {}
            (Joint::Tee, Fold::None) => set(row.level, "├─ "),
            (Joint::Tee, Fold::Open) => set(row.level, "├⊟ "),
            (Joint::Tee, Fold::Closed) => set(row.level, "├⊞ "),
            (Joint::Elbow, Fold::None) => set(row.level, "└─ "),
            (Joint::Elbow, Fold::Open) => set(row.level, "└⊟ "),
            (Joint::Elbow, Fold::Closed) => set(row.level, "└⊞ "),
        }
        let anchor = |row: &Row| self.rows.get(row.anchor as usize);
        let above = |row: &Row| self.rows.get(row.parent as usize).and_then(anchor);
        let mut next = if row.joint == Joint::Run { anchor(row) } else { above(row) };
        while let Some(sibling) = next.filter(|sibling| sibling.level as usize > from) {
            if sibling.joint == Joint::Tee {
                set(sibling.level, "│  ");
            }
            next = above(sibling);
        }
        cells.concat()
    }
}

/// Returns the seen entries with their parents and children, and for every entry the row that
/// stands for it.
fn hang(outline: &Outline, is_seen: impl Fn(u32) -> bool) -> (Vec<Row>, Vec<u32>) {
    let mut rows: Vec<Row> = Vec::new();
    let mut nearest: Vec<u32> = Vec::with_capacity(outline.len());
    for (at, node) in (0..).zip(outline.nodes()) {
        let parent = nearest.get(node.parent as usize).copied().unwrap_or(NONE);
        if !is_seen(at) {
            nearest.push(parent);
            continue;
        }
        if let Some(parent) = rows.get_mut(parent as usize) {
            parent.children += 1;
        }
        nearest.push(rows.len() as u32);
        rows.push(Row {
            node: at,
            parent,
            children: 0,
            level: 0,
            anchor: NONE,
            joint: Joint::Run,
            fold: Fold::None,
        });
    }
    (rows, nearest)
}

/// Takes out what is below closed rows.
fn fold(rows: &mut Vec<Row>, nearest: &mut [u32]) {
    if !rows.iter().any(|row| row.fold == Fold::Closed) {
        return;
    }
    // The row that stands for each after folding: itself, or the closed one above it.
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

/// Sets levels and joints.
fn indent(rows: &mut [Row], several_roots: bool) {
    for at in 0..rows.len() {
        let above = rows.get(rows[at].parent as usize).copied();
        let (level, is_one_of_several, anchor) = match above {
            None => (u32::from(several_roots), several_roots, NONE),
            Some(above) if above.children > 1 => (above.level + 1, true, NONE),
            Some(above) => {
                let is_first = above.joint != Joint::Run;
                (above.level + u32::from(is_first), false, above.anchor)
            }
        };
        rows[at].level = level;
        // The last of several is found below.
        rows[at].joint = if is_one_of_several { Joint::Tee } else { Joint::Run };
        rows[at].anchor = if is_one_of_several { at as u32 } else { anchor };
    }
    // Backwards, the first one met of each family is its last. Roots are a family, too.
    let mut has_last = vec![false; rows.len() + 1];
    for row in rows.iter_mut().rev() {
        let family = (row.parent as usize).min(has_last.len() - 1);
        if row.joint == Joint::Tee && !std::mem::replace(&mut has_last[family], true) {
            row.joint = Joint::Elbow;
        }
    }
}
