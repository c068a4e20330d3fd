//! The state of the tree selector. It is plain data: it reads and writes nothing.
//!
//! The rows are laid out again only when the tree, the preview lines, the filter, the folds or the
//! search change. Moving the cursor costs nothing else.

use super::action::TreeAction;
use super::dialog::TreeMode;
use super::entry_name::name;
use super::preview_lines::PreviewLines;
use super::preview_pane::PreviewContent;
use super::search::{SearchText, SearchWords};
use crate::Notice;
use crate::input::TextInput;
use crate::keys::Bindings;
use crate::page::PageView;
use crate::split::SplitAreas;
use crate::theme::Theme;
use crate::time_zone::DisplayZone;
use std::collections::HashMap;
use std::sync::Arc;
use treering_display::line::one_line;
use treering_display::preview_line::{PreviewKind, PreviewLine};
use treering_display::tree::{Filter, FilterTraits, Outline, TreeRows};

/// The smallest width at which the preview is shown by default.
const PREVIEW_FROM: u16 = 120;
/// The largest number of characters of a title.
const TITLE: usize = 200;
/// The preview.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TreePreview {
    /// The chosen content; without a choice the width of the screen decides.
    pub choice: Option<PreviewContent>,
    /// The entry that was requested last.
    pub asked: Option<(u32, PreviewContent)>,
    /// The page that was received.
    pub page: Option<PageView>,
}

/// The state of the tree selector.
#[derive(Debug, Clone)]
pub struct TreeState {
    /// The key bindings.
    pub bindings: Bindings<TreeAction>,
    /// The colors.
    pub theme: Theme,
    /// The time zone of the shown times.
    pub zone: DisplayZone,
    pub(crate) outline: Arc<Outline>,
    /// The number of earlier trees.
    pub(crate) generation: u64,
    /// The known preview lines.
    pub(crate) preview_lines: PreviewLines,
    /// The entries whose content contains all words of the search, as far as it is known.
    found: Vec<bool>,
    /// The lines of those entries that match.
    snippets: HashMap<u32, String>,
    folded: Vec<bool>,
    pub(crate) rows: TreeRows,
    pub(crate) filter: Filter,
    pub(crate) search: TextInput,
    /// The chosen entry. If it is hidden, the nearest visible entry above it is selected instead.
    pub(crate) cursor: u32,
    /// The first row on the screen.
    pub(crate) top: usize,
    /// The horizontal scrolling in columns, relative to the automatic position.
    pub(crate) pan: i32,
    pub(crate) size: (u16, u16),
    pub(crate) label_times: bool,
    pub(crate) mode: TreeMode,
    pub(crate) preview: TreePreview,
    /// The marked entries, in the order of marking.
    pub(crate) marked: Vec<u32>,
    pub(crate) notice: Option<Notice>,
}

impl TreeState {
    /// Creates a selector at the active leaf.
    pub fn new(outline: Outline) -> Self {
        let count = outline.len();
        let mut state = TreeState {
            bindings: Bindings::default(),
            theme: Theme::default(),
            zone: DisplayZone::default(),
            cursor: outline.leaf().unwrap_or(0),
            outline: Arc::new(outline),
            generation: 0,
            preview_lines: PreviewLines::unknown(count),
            found: vec![false; count],
            snippets: HashMap::new(),
            folded: vec![false; count],
            rows: TreeRows::default(),
            filter: Filter::default(),
            search: TextInput::default(),
            top: 0,
            pan: 0,
            size: (80, 24),
            label_times: false,
            mode: TreeMode::Browse,
            preview: TreePreview::default(),
            marked: Vec::new(),
            notice: None,
        };
        state.lay_out();
        state.follow_cursor();
        state
    }

    /// Returns the selected entry; `None` if nothing is visible.
    pub fn selected(&self) -> Option<&str> {
        self.selected_node().map(|node| self.outline.id(node))
    }

    /// Returns the filter.
    pub fn filter(&self) -> Filter {
        self.filter
    }

    /// Returns the text of the search.
    pub fn search(&self) -> &str {
        self.search.text()
    }

    /// Returns the mode.
    pub fn mode(&self) -> &TreeMode {
        &self.mode
    }

    /// Returns whether a text has been started: a query, a label or an answer. Printable keys then
    /// belong to the text, whatever they are bound to.
    pub(crate) fn is_typing(&self) -> bool {
        match &self.mode {
            TreeMode::Label { .. } | TreeMode::Prompt(..) => true,
            TreeMode::Browse => !self.search.is_empty(),
            TreeMode::Overlay(..) | TreeMode::Busy(_) | TreeMode::Help(_) => false,
        }
    }

    /// Returns the rows.
    pub fn rows(&self) -> &TreeRows {
        &self.rows
    }

    /// Returns the columns and rows of the screen.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// Returns the number of earlier trees, which identifies the tree in events.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns whether the preview line of an entry is known.
    pub fn is_known(&self, node: u32) -> bool {
        self.preview_lines.is_known(node)
    }

    /// Returns the visible entries without a known preview line.
    pub fn unknown_on_screen(&self) -> Vec<u32> {
        let height = usize::from(self.areas().list.height);
        let rows = self.rows.all().iter().skip(self.top).take(height);
        rows.map(|row| row.node).filter(|node| !self.is_known(*node)).collect()
    }

    /// Returns all entries without a known preview line.
    pub fn unknown(&self) -> Vec<u32> {
        (0..self.outline.len() as u32).filter(|node| !self.is_known(*node)).collect()
    }

    /// Returns the outline of the tree.
    pub fn outline(&self) -> &Arc<Outline> {
        &self.outline
    }

    pub(crate) fn cursor_row(&self) -> Option<usize> {
        self.rows.nearest(self.cursor)
    }

    pub(crate) fn selected_node(&self) -> Option<u32> {
        self.rows.get(self.cursor_row()?).map(|row| row.node)
    }

    pub(crate) fn areas(&self) -> SplitAreas {
        SplitAreas::of(self.size.0, self.size.1, self.shown() != PreviewContent::Nothing)
    }

    /// Returns the content of the preview: the chosen one or, on a wide screen, the entry.
    pub(crate) fn shown(&self) -> PreviewContent {
        let is_wide = self.size.0 >= PREVIEW_FROM;
        self.preview.choice.unwrap_or(if is_wide {
            PreviewContent::Entry
        } else {
            PreviewContent::Nothing
        })
    }

    /// Returns the title of the session.
    pub(crate) fn title(&self) -> String {
        match one_line(self.outline.title(), TITLE) {
            title if title.is_empty() => "session".to_owned(),
            title => title,
        }
    }

    /// Lays out the visible entries.
    pub(crate) fn lay_out(&mut self) {
        let words = SearchWords::new(self.search.text());
        let is_seen = |node: u32| self.is_shown(node) && self.is_match(node, &words);
        // Matches are visible even below a fold.
        let is_folded = |node: u32| words.is_empty() && self.is_folded(node);
        self.rows = TreeRows::lay_out(&self.outline, is_seen, is_folded);
    }

    fn is_shown(&self, node: u32) -> bool {
        let Some(entry) = self.outline.nodes().get(node as usize) else { return false };
        self.filter.shows(FilterTraits {
            kind: entry.kind,
            role: entry.role,
            labeled: self.outline.label(node).is_some(),
            sidechain: entry.is_sidechain,
            silent: self.preview_lines.kind(node).is_some_and(PreviewKind::is_silent),
            is_leaf: self.outline.leaf() == Some(node),
        })
    }

    fn is_match(&self, node: u32, words: &SearchWords) -> bool {
        if words.is_empty() || self.found.get(node as usize) == Some(&true) {
            return true;
        }
        let Some(entry) = self.outline.nodes().get(node as usize) else { return false };
        let label = self.outline.label(node).unwrap_or_default().to_ascii_lowercase();
        let name = SearchText::known(name(entry.kind, entry.role), false);
        words.match_any_of(&[self.preview_lines.text(node), name, SearchText::new(&label)])
    }

    fn is_folded(&self, node: u32) -> bool {
        self.folded.get(node as usize) == Some(&true)
    }

    /// Folds or unfolds an entry.
    pub(crate) fn set_folded(&mut self, node: u32, is_folded: bool) {
        if let Some(folded) = self.folded.get_mut(node as usize) {
            *folded = is_folded;
        }
        self.lay_out();
    }

    /// Stores preview lines. Few of them change which entries are visible.
    pub(crate) fn learn(&mut self, preview_lines: Vec<(u32, PreviewLine)>) {
        let mut is_different = !self.search.is_empty();
        for (node, preview_line) in preview_lines {
            is_different |= preview_line.kind.is_silent();
            self.preview_lines.set(node, &preview_line);
        }
        if is_different {
            self.lay_out();
        }
    }

    /// Stores the entries whose content contains all words of the search, and the lines that match.
    pub(crate) fn find(&mut self, nodes: Vec<(u32, String)>) {
        for (node, snippet) in nodes {
            if let Some(found) = self.found.get_mut(node as usize) {
                *found = true;
                self.snippets.insert(node, snippet);
            }
        }
        self.lay_out();
    }

    /// Returns the line of an entry that matches the search, unless its preview line shows the match.
    pub(crate) fn snippet(&self, node: u32) -> Option<&str> {
        let snippet = self.snippets.get(&node).filter(|snippet| !snippet.is_empty())?;
        let words = SearchWords::new(self.search.text());
        (!words.match_any_of(&[self.preview_lines.text(node)])).then_some(snippet)
    }

    /// Drops the matches of the earlier search.
    pub(crate) fn search_anew(&mut self) {
        self.found.fill(false);
        self.snippets.clear();
        self.lay_out();
    }

    /// Replaces the tree. Facts about entries that it still contains are kept.
    pub(crate) fn renew(&mut self, outline: Outline) {
        let count = outline.len();
        let old = std::mem::replace(&mut self.outline, Arc::new(outline));
        let places: HashMap<&str, u32> =
            (0..count as u32).map(|node| (self.outline.id(node), node)).collect();
        let place = |node: u32| places.get(old.id(node)).copied();
        let (mut found, mut folded) = (vec![false; count], vec![false; count]);
        for node in 0..old.len() as u32 {
            let (from, Some(to)) = (node as usize, place(node)) else { continue };
            found[to as usize] = self.found[from];
            folded[to as usize] = self.folded[from];
        }
        self.preview_lines.moved(count, place);
        self.cursor = place(self.cursor).or(self.outline.leaf()).unwrap_or(0);
        // The page of an entry does not change, so it is kept.
        let asked = self.preview.asked;
        self.preview.asked = asked.and_then(|(node, shown)| Some((place(node)?, shown)));
        if let TreeMode::Label { node, input } = std::mem::take(&mut self.mode) {
            self.mode =
                place(node).map_or(TreeMode::Browse, |node| TreeMode::Label { node, input });
        }
        self.marked = self.marked.iter().filter_map(|node| place(*node)).collect();
        (self.found, self.folded) = (found, folded);
        // The search is repeated, and brings them again.
        self.snippets.clear();
        self.generation += 1;
        self.lay_out();
    }

    /// Returns the first visible column of the tree: as far right as the indentation of the
    /// selected entry and the user's scrolling need.
    pub(crate) fn first_column(&self, width: usize) -> usize {
        const MIN_VISIBLE: usize = 24;
        let selected = self.cursor_row().and_then(|row| self.rows.get(row));
        let start = selected.map_or(0, |row| row.level as usize * 3);
        let own = (start + MIN_VISIBLE.min(width)).saturating_sub(width);
        own.saturating_add_signed(self.pan as isize)
    }

    /// Resizes the page of the preview to its area.
    pub(crate) fn fit_page(&mut self) {
        let area = self.areas().page();
        if let Some(page) = &mut self.preview.page {
            page.resize(usize::from(area.width), usize::from(area.height));
        }
    }

    /// Scrolls as little as needed to have the cursor on the screen.
    pub(crate) fn follow_cursor(&mut self) {
        let height = usize::from(self.areas().list.height).max(1);
        let cursor = self.cursor_row().unwrap_or(0);
        let last_top = self.rows.len().saturating_sub(height);
        self.top = self.top.clamp((cursor + 1).saturating_sub(height), cursor).min(last_top);
    }
}
