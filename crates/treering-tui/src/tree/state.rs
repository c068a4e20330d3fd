//! What the tree selector knows. Plain data: it reads nothing and writes nothing.
//!
//! The rows are kept and only laid out anew when what they depend on has changed: the tree, the
//! preview_lines, the filter, the folds, the search. Moving about costs nothing but the move.

use super::action::TreeAction;
use super::dialog::TreeMode;
use super::filter::{Filter, FilterTraits};
use super::outline::Outline;
use super::preview_line::{PreviewLine, name};
use super::preview_lines::PreviewLines;
use super::preview_pane::PreviewContent;
use super::rows::TreeRows;
use super::search::{SearchText, SearchWords};
use crate::Notice;
use crate::input::TextInput;
use crate::keys::Bindings;
use crate::page::PageView;
use crate::split::SplitAreas;
use crate::text::one_line;
use crate::theme::Theme;
use crate::time_zone::DisplayZone;
use std::collections::HashMap;
use std::sync::Arc;
use treering::Role;

/// From this width on there is a preview unless it was switched off.
const PREVIEW_FROM: u16 = 120;
/// A title is cut after this many characters.
const TITLE: usize = 200;
/// The first words of a session are looked for among this many entries.
const NEAR_BEGINNING: usize = 32;

/// The preview.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TreePreview {
    /// What was chosen to be shown; without a choice the width of the screen decides.
    pub choice: Option<PreviewContent>,
    /// The entry that was asked for last.
    pub asked: Option<(u32, PreviewContent)>,
    /// What came.
    pub page: Option<PageView>,
}

/// The state of the tree selector.
#[derive(Debug, Clone)]
pub struct TreeState {
    /// Which key does what.
    pub bindings: Bindings<TreeAction>,
    /// The colours.
    pub theme: Theme,
    /// The zone that times are shown in.
    pub zone: DisplayZone,
    pub(crate) outline: Arc<Outline>,
    /// How many trees there were before this one.
    pub(crate) generation: u64,
    /// What entries say, as far as it is known.
    pub(crate) preview_lines: PreviewLines,
    /// Entries whose whole content has all words of the search, as far as that is known.
    found: Vec<bool>,
    folded: Vec<bool>,
    pub(crate) rows: TreeRows,
    pub(crate) filter: Filter,
    pub(crate) search: TextInput,
    /// The entry that was chosen. If it is not seen, the nearest visible one above stands for it,
    /// until something else is chosen.
    pub(crate) cursor: u32,
    /// The first row on the screen.
    pub(crate) top: usize,
    /// Columns to the right of where the view would look by itself.
    pub(crate) pan: i32,
    pub(crate) size: (u16, u16),
    pub(crate) label_times: bool,
    pub(crate) mode: TreeMode,
    pub(crate) preview: TreePreview,
    /// Entries chosen for something that needs several, in the order they were chosen.
    pub(crate) marked: Vec<u32>,
    pub(crate) notice: Option<Notice>,
}

impl TreeState {
    /// A selector at the active leaf.
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

    /// The entry that is selected; `None` if nothing is seen.
    pub fn selected(&self) -> Option<&str> {
        self.selected_node().map(|node| self.outline.id(node))
    }

    /// The filter in force.
    pub fn filter(&self) -> Filter {
        self.filter
    }

    /// What is searched for.
    pub fn search(&self) -> &str {
        self.search.text()
    }

    /// What the keys are for.
    pub fn mode(&self) -> &TreeMode {
        &self.mode
    }

    /// Returns whether a text has been started: a query, a label or an answer. Printable keys then
    /// belong to the text, whatever else they are bound to.
    pub(crate) fn is_typing(&self) -> bool {
        match &self.mode {
            TreeMode::Label { .. } | TreeMode::Prompt(..) => true,
            TreeMode::Browse => !self.search.is_empty(),
            TreeMode::Overlay(..) | TreeMode::Busy(_) | TreeMode::Help(_) => false,
        }
    }

    /// The rows as they stand.
    pub fn rows(&self) -> &TreeRows {
        &self.rows
    }

    /// Columns and rows of the screen.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// How many trees there were before this one: what is read of a tree names it by this.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether an entry's preview_line is known.
    pub fn is_known(&self, node: u32) -> bool {
        self.preview_lines.is_known(node)
    }

    /// The entries on the screen whose preview_lines are not known.
    pub fn unknown_on_screen(&self) -> Vec<u32> {
        let height = usize::from(self.areas().list.height);
        let rows = self.rows.all().iter().skip(self.top).take(height);
        rows.map(|row| row.node).filter(|node| !self.is_known(*node)).collect()
    }

    /// All entries whose preview_lines are not known.
    pub fn unknown(&self) -> Vec<u32> {
        (0..self.outline.len() as u32).filter(|node| !self.is_known(*node)).collect()
    }

    /// The tree that is shown.
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

    /// Returns what the preview shows: what was chosen or, on a wide screen, the entry.
    pub(crate) fn shown(&self) -> PreviewContent {
        let is_wide = self.size.0 >= PREVIEW_FROM;
        self.preview.choice.unwrap_or(if is_wide {
            PreviewContent::Entry
        } else {
            PreviewContent::Nothing
        })
    }

    /// Returns what the session is called: its name, or how it begins.
    pub(crate) fn title(&self) -> String {
        let begins = |node: &u32| {
            let role = self.outline.nodes().get(*node as usize).and_then(|node| node.role);
            // Some agents begin with what the machine says, in tags.
            let is_said = || {
                self.preview_lines
                    .get(*node)
                    .is_some_and(|preview_line| !preview_line.text.starts_with('<'))
            };
            role == Some(Role::User) && is_said()
        };
        let first = || (0..self.outline.len() as u32).take(NEAR_BEGINNING).find(begins);
        let name = self.outline.name().map(|name| one_line(name, TITLE));
        let text = name.or_else(|| {
            first()
                .and_then(|node| self.preview_lines.get(node))
                .map(|preview_line| preview_line.text.into())
        });
        text.unwrap_or_else(|| "session".to_owned())
    }

    /// Lays out what is seen.
    pub(crate) fn lay_out(&mut self) {
        let words = SearchWords::new(self.search.text());
        let is_seen = |node: u32| self.is_shown(node) && self.is_match(node, &words);
        // Whatever is found must be seen, also below a fold.
        let is_folded = |node: u32| words.is_empty() && self.is_folded(node);
        self.rows = TreeRows::lay_out(&self.outline, is_seen, is_folded);
    }

    fn is_shown(&self, node: u32) -> bool {
        let Some(entry) = self.outline.nodes().get(node as usize) else { return false };
        self.filter.shows(FilterTraits {
            kind: entry.kind,
            role: entry.role,
            labelled: self.outline.label(node).is_some(),
            sidechain: entry.is_sidechain,
            silent: self.preview_lines.is_silent(node),
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

    /// Takes in preview_lines that were read. What is seen depends on few of them.
    pub(crate) fn learn(&mut self, preview_lines: Vec<(u32, PreviewLine)>) {
        let mut is_different = !self.search.is_empty();
        for (node, preview_line) in preview_lines {
            is_different |= preview_line.is_silent;
            self.preview_lines.set(node, &preview_line);
        }
        if is_different {
            self.lay_out();
        }
    }

    /// Takes in where the whole content of entries has all words of the search.
    pub(crate) fn find(&mut self, nodes: &[u32]) {
        for &node in nodes {
            if let Some(found) = self.found.get_mut(node as usize) {
                *found = true;
            }
        }
        self.lay_out();
    }

    /// The search changed: what was found for the old one does not count.
    pub(crate) fn search_anew(&mut self) {
        self.found.fill(false);
        self.lay_out();
    }

    /// The tree changed: what is known of its entries stays, wherever they stand now.
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
        // Neither an entry nor what is above it changes: a page stays what it is.
        let asked = self.preview.asked;
        self.preview.asked = asked.and_then(|(node, shown)| Some((place(node)?, shown)));
        if let TreeMode::Label { node, input } = std::mem::take(&mut self.mode) {
            self.mode =
                place(node).map_or(TreeMode::Browse, |node| TreeMode::Label { node, input });
        }
        self.marked = self.marked.iter().filter_map(|node| place(*node)).collect();
        (self.found, self.folded) = (found, folded);
        self.generation += 1;
        self.lay_out();
    }

    /// The first column of the tree that is looked at: as far right as the selected entry's
    /// indentation asks for, and as far as somebody looked aside.
    pub(crate) fn first_column(&self, width: usize) -> usize {
        const ROOM: usize = 24;
        let selected = self.cursor_row().and_then(|row| self.rows.get(row));
        let start = selected.map_or(0, |row| row.level as usize * 3);
        let own = (start + ROOM.min(width)).saturating_sub(width);
        own.saturating_add_signed(self.pan as isize)
    }

    /// Gives the preview's page the room there is for it.
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
