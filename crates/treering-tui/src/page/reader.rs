//! A page on a screen. It is wrapped only as far as the user has scrolled, so that showing the
//! beginning of a long page costs no more than showing a short one.

use super::{Page, StyledLine, wrap};

/// A page and its visible part.
///
/// ```
/// use treering_tui::page::{Page, PageView};
/// let mut reader = PageView::new(Page::of_markdown("one\ntwo\nthree"));
/// reader.resize(20, 2);
/// reader.scroll(9);
/// let rows: Vec<String> = reader.rows().iter().map(|row| row.text()).collect();
/// assert_eq!(rows, ["two", "three"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageView {
    page: Page,
    width: usize,
    height: usize,
    /// The wrapped rows so far.
    pub(super) rows: Vec<StyledLine>,
    /// The first row of each wrapped line.
    starts: Vec<usize>,
    /// The first visible row.
    top: usize,
}

impl PageView {
    /// Creates a view of the beginning of a page. Nothing is visible before `resize`.
    pub fn new(page: Page) -> Self {
        PageView { page, ..PageView::default() }
    }

    /// Returns the page.
    pub fn page(&self) -> &Page {
        &self.page
    }

    /// Sets the number of columns and rows. The top line stays at the top.
    pub fn resize(&mut self, width: usize, height: usize) {
        if width != self.width {
            let line = self.starts.partition_point(|start| *start <= self.top).saturating_sub(1);
            self.width = width;
            self.rows.clear();
            self.starts.clear();
            self.reach(|reader| reader.starts.len() > line);
            self.top = self.starts.get(line).copied().unwrap_or(0);
        }
        self.height = height;
        self.scroll(0);
    }

    /// Scrolls by `rows`, within the page.
    pub fn scroll(&mut self, rows: isize) {
        let wanted = self.top.saturating_add_signed(rows);
        let end = wanted.saturating_add(self.height);
        self.reach(|reader| reader.rows.len() >= end);
        self.top = wanted.min(self.rows.len().saturating_sub(self.height));
    }

    /// Scrolls to the end.
    pub fn scroll_to_end(&mut self) {
        self.scroll(isize::MAX);
    }

    /// Returns the first visible row.
    pub fn top(&self) -> usize {
        self.top
    }

    /// Returns the scroll position in percent of the page's lines; it is exact only at the end.
    pub fn percent(&self) -> usize {
        let bottom = self.top + self.height;
        let seen = self.starts.partition_point(|start| *start < bottom);
        let is_end = seen >= self.page.lines.len() && bottom >= self.rows.len();
        match self.page.lines.len() {
            _ if is_end => 100,
            0 => 100,
            lines => (seen * 100 / lines).min(99),
        }
    }

    /// Returns the visible rows.
    pub fn rows(&self) -> &[StyledLine] {
        let end = (self.top + self.height).min(self.rows.len());
        self.rows.get(self.top..end).unwrap_or_default()
    }

    /// Wraps lines until there are enough, or no more.
    fn reach(&mut self, is_enough: impl Fn(&Self) -> bool) {
        while !is_enough(self) {
            let Some(line) = self.page.lines.get(self.starts.len()) else { return };
            self.starts.push(self.rows.len());
            wrap::wrap(line, self.width, &mut self.rows);
        }
    }
}
