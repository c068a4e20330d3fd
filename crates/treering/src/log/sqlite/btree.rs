//! The b-trees of pages that tables and indexes consist of.

use super::pages::Pages;
use super::record::{Payload, Row, Value, varint};
use super::schema::Table;
use super::{damaged, u16_at, u32_at};
use std::cmp::Ordering;
use std::io;
use std::rc::Rc;

/// The maximum depth of a tree: an interior page has at least two children, and page numbers have
/// 32 bits.
const MAX_DEPTH: usize = 40;

/// The types of pages.
const INDEX_INTERIOR: u8 = 2;
const TABLE_INTERIOR: u8 = 5;
const INDEX_LEAF: u8 = 10;
const TABLE_LEAF: u8 = 13;

/// A page of a tree.
#[derive(Debug, Clone)]
struct TreePage {
    bytes: Rc<[u8]>,
    kind: u8,
    /// The offset at which the positions of the cells begin.
    cells: usize,
    count: usize,
    /// The child page after all cells, in an interior page.
    last: Option<u32>,
}

impl TreePage {
    fn read(pages: &Pages, number: u32) -> io::Result<Self> {
        let bytes = pages.page(number)?;
        // The first page begins with the header of the database file.
        let start = if number == 1 { 100 } else { 0 };
        let kind = bytes.get(start).copied().unwrap_or(0);
        let count = usize::from(u16_at(&bytes, start + 3)?);
        let (cells, last) = match kind {
            INDEX_LEAF | TABLE_LEAF => (start + 8, None),
            INDEX_INTERIOR | TABLE_INTERIOR => (start + 12, Some(u32_at(&bytes, start + 8)?)),
            _ => return Err(damaged("a page has an unknown type")),
        };
        // A cell takes at least four bytes, and two for its position.
        if count > bytes.len() / 4 {
            return Err(damaged("a page has more cells than fit in it"));
        }
        Ok(TreePage { bytes, kind, cells, count, last })
    }

    fn is_leaf(&self) -> bool {
        self.last.is_none()
    }

    /// Returns the bytes of a page from the start of a cell on.
    fn cell(&self, at: usize) -> io::Result<&[u8]> {
        let start = usize::from(u16_at(&self.bytes, self.cells + 2 * at)?);
        self.bytes.get(start..).ok_or_else(|| damaged("a cell is outside of its page"))
    }

    /// Returns the child page before a cell, or after all cells.
    fn child(&self, at: usize) -> io::Result<u32> {
        match self.last {
            Some(last) if at >= self.count => Ok(last),
            _ => u32_at(self.cell(at)?, 0),
        }
    }

    /// Returns the row id of a cell of a table.
    fn row_id(&self, at: usize) -> io::Result<i64> {
        let cell = self.cell(at)?;
        let rest = match self.kind {
            TABLE_INTERIOR => cell.get(4..).unwrap_or_default(),
            TABLE_LEAF => varint(cell).ok_or_else(|| damaged("a cell is cut off"))?.1,
            _ => return Err(damaged("an index is where a table should be")),
        };
        let (id, _) = varint(rest).ok_or_else(|| damaged("a cell is cut off"))?;
        Ok(id.cast_signed())
    }

    /// Returns the record in a cell.
    fn payload<'a>(&'a self, pages: &'a Pages, at: usize) -> io::Result<Payload<'a>> {
        let cut = || damaged("a cell is cut off");
        let mut rest = self.cell(at)?;
        if self.kind == INDEX_INTERIOR {
            rest = rest.get(4..).ok_or_else(cut)?;
        }
        let (len, mut rest) = varint(rest).ok_or_else(cut)?;
        if self.kind == TABLE_LEAF {
            rest = varint(rest).ok_or_else(cut)?.1;
        }
        let usable = pages.usable();
        let room = usable as u64 * u64::from(pages.readable());
        let len = usize::try_from(len).ok().filter(|len| *len as u64 <= room);
        let len = len.ok_or_else(|| damaged("a row is larger than the database"))?;
        let most = match self.kind {
            TABLE_LEAF => usable - 35,
            _ => (usable - 12) * 64 / 255 - 23,
        };
        if len <= most {
            let local = rest.get(..len).ok_or_else(cut)?;
            return Ok(Payload { pages, local, len, overflow: 0 });
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let kept = least + (len - least) % (usable - 4);
        let kept = if kept <= most { kept } else { least };
        let local = rest.get(..kept).ok_or_else(cut)?;
        Ok(Payload { pages, local, len, overflow: u32_at(rest, kept)? })
    }
}

/// The number of pages that may still be visited: no tree has the same page twice.
struct Budget(u32);

impl Budget {
    fn read(&mut self, pages: &Pages, number: u32) -> io::Result<TreePage> {
        let rest = self.0.checked_sub(1);
        self.0 = rest.ok_or_else(|| damaged("pages of a tree form a cycle"))?;
        TreePage::read(pages, number)
    }

    fn check_depth(stack: &[(TreePage, usize)]) -> io::Result<()> {
        match stack.len() < MAX_DEPTH {
            true => Ok(()),
            false => Err(damaged("pages of a tree form a cycle")),
        }
    }
}

/// Calls `each` for all rows of a table.
pub(super) fn rows(
    pages: &Pages,
    table: &Table,
    mut each: impl FnMut(&Row<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut budget = Budget(pages.readable());
    let mut stack = vec![(budget.read(pages, table.root)?, 0)];
    while let Some((page, at)) = stack.pop() {
        match page.kind {
            TABLE_LEAF => {
                for at in 0..page.count {
                    let payload = page.payload(pages, at)?;
                    each(&Row::new(table, page.row_id(at)?, payload)?)?;
                }
            }
            TABLE_INTERIOR => {
                let child = page.child(at)?;
                if at < page.count {
                    stack.push((page, at + 1));
                }
                Budget::check_depth(&stack)?;
                stack.push((budget.read(pages, child)?, 0));
            }
            _ => return Err(damaged("an index is where a table should be")),
        }
    }
    Ok(())
}

/// Calls `each` for the row with an id, if there is one.
pub(super) fn row(
    pages: &Pages,
    table: &Table,
    id: i64,
    mut each: impl FnMut(&Row<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut number = table.root;
    for _ in 0..MAX_DEPTH {
        let page = TreePage::read(pages, number)?;
        let at = first_not_below(page.count, |at| Ok(page.row_id(at)?.cmp(&id)))?;
        if !page.is_leaf() {
            number = page.child(at)?;
            continue;
        }
        if at < page.count && page.row_id(at)? == id {
            each(&Row::new(table, id, page.payload(pages, at)?)?)?;
        }
        return Ok(());
    }
    Err(damaged("pages of a tree form a cycle"))
}

/// Calls `each` for all entries of an index that begin with a text.
pub(super) fn find(
    pages: &Pages,
    root: u32,
    text: &str,
    mut each: impl FnMut(&Payload<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let compare = |page: &TreePage, at: usize| -> io::Result<Ordering> {
        let payload = page.payload(pages, at)?;
        Ok(match payload.value(0)? {
            Value::Null | Value::Integer(_) | Value::Real(_) => Ordering::Less,
            Value::Text(found) => found.as_bytes().cmp(text.as_bytes()),
            Value::Blob(_) => Ordering::Greater,
        })
    };
    let mut budget = Budget(pages.readable());
    let start = |page: TreePage| -> io::Result<(TreePage, usize)> {
        if !matches!(page.kind, INDEX_LEAF | INDEX_INTERIOR) {
            return Err(damaged("a table is where an index should be"));
        }
        let at = first_not_below(page.count, |at| compare(&page, at))?;
        Ok((page, at))
    };
    // Pages with the index of the cell before whose child they were left, which is the next one.
    let mut stack = Vec::new();
    let mut entered = Some(root);
    loop {
        // Descends to the leaf before the next cell.
        while let Some(number) = entered.take() {
            Budget::check_depth(&stack)?;
            let (page, at) = start(budget.read(pages, number)?)?;
            entered = if page.is_leaf() { None } else { Some(page.child(at)?) };
            stack.push((page, at));
        }
        let Some((page, at)) = stack.pop() else { return Ok(()) };
        if at >= page.count {
            continue;
        }
        if compare(&page, at)? != Ordering::Equal {
            return Ok(());
        }
        each(&page.payload(pages, at)?)?;
        entered = if page.is_leaf() { None } else { Some(page.child(at + 1)?) };
        stack.push((page, at + 1));
    }
}

/// Returns the first of `count` sorted positions that is not below the text that is searched for.
fn first_not_below(
    count: usize,
    compare: impl Fn(usize) -> io::Result<Ordering>,
) -> io::Result<usize> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = usize::midpoint(low, high);
        match compare(middle)? {
            Ordering::Less => low = middle + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}
