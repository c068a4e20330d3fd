//! The state of the session picker. It is plain data: it reads and writes nothing.
//!
//! The rows are laid out again only when the sessions, the query, the order or the scope change.
//! The selection is a file: it stays selected when its row moves.

use super::action::PickerAction;
use super::areas::PickerAreas;
use super::rows::SessionRows;
use super::search_input::SearchInput;
use super::session_table::{ListedSession, SessionTable, rank};
use super::threads::Threads;
use crate::Notice;
use crate::input::TextInput;
use crate::keys::Bindings;
use crate::page::{Page, PageView};
use crate::theme::Theme;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use treering::catalog::{Progress, SessionInfo};
use treering_index::Project;

/// The order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sort {
    /// Forks below their parents.
    #[default]
    Threaded,
    /// The newest first.
    Recent,
    /// The best match first.
    Relevance,
}

impl Sort {
    /// Returns the next order; after the last, the first.
    pub fn next(self) -> Sort {
        match self {
            Sort::Threaded => Sort::Recent,
            Sort::Recent => Sort::Relevance,
            Sort::Relevance => Sort::Threaded,
        }
    }

    /// Returns the name of the order.
    pub fn name(self) -> &'static str {
        match self {
            Sort::Threaded => "threaded",
            Sort::Recent => "recent",
            Sort::Relevance => "relevance",
        }
    }
}

/// The set of sessions that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scope {
    /// The sessions of the current project.
    #[default]
    Project,
    /// The sessions of all projects.
    All,
}

/// The mode that decides what keys do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PickerMode {
    /// The user moves in the list; characters go to the query.
    #[default]
    Browse,
    /// The user renames this session.
    Rename(PathBuf, TextInput),
    /// The user is asked whether to delete this session.
    Delete(PathBuf),
    /// The list of keys is shown from this line on.
    Help(usize),
}

/// The initial settings of a picker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickerOptions {
    /// The current project.
    pub project: Project,
    /// The initial scope.
    pub scope: Scope,
    /// The home directory, which is abbreviated in paths.
    pub home: Option<PathBuf>,
    /// The open session. It is never moved or deleted.
    pub open: Option<PathBuf>,
    /// Whether deleted sessions go to a trash.
    pub has_trash: bool,
    /// The current time, in Unix milliseconds.
    pub now: i64,
    /// The queries of earlier searches, the latest last.
    pub recent_queries: Vec<String>,
}

/// The preview.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PickerPreview {
    pub is_shown: bool,
    /// The session that was requested last.
    pub asked: Option<PathBuf>,
    /// The page, after it was read.
    pub page: Option<PageView>,
}

/// The state of the session picker.
#[derive(Debug, Clone)]
pub struct PickerState {
    /// The key bindings.
    pub bindings: Bindings<PickerAction>,
    /// The colors.
    pub theme: Theme,
    pub(crate) start: PickerOptions,
    pub(crate) now: i64,
    pub(crate) sessions: SessionTable,
    threads: Threads,
    pub(crate) rows: SessionRows,
    pub(crate) search: SearchInput,
    /// The sessions in whose contents the query was found, and the line that matches.
    pub(crate) hits: HashMap<PathBuf, String>,
    /// Whether contents are still being searched.
    pub(crate) is_searching: bool,
    /// The shown one of the recent queries.
    recent_query: Option<usize>,
    pub(crate) sort: Sort,
    pub(crate) scope: Scope,
    pub(crate) named_only: bool,
    /// The progress of reading; `None` when everything is known.
    pub(crate) reading: Option<Progress>,
    /// The chosen file. It is `None` until the user chooses; then the first row is selected.
    cursor: Option<PathBuf>,
    /// The selected row, and the first visible one.
    pub(crate) row: usize,
    pub(crate) top: usize,
    pub(crate) size: (u16, u16),
    pub(crate) mode: PickerMode,
    pub(crate) preview: PickerPreview,
    pub(crate) notice: Option<Notice>,
}

/// The choices of a user in the picker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PickerView {
    pub query: String,
    pub scope: Scope,
    pub sort: Sort,
    pub named_only: bool,
    pub cursor: Option<PathBuf>,
}

impl PickerState {
    /// Creates a picker without sessions.
    pub fn new(start: PickerOptions) -> Self {
        PickerState {
            bindings: Bindings::default(),
            theme: Theme::default(),
            now: start.now,
            scope: start.scope,
            start,
            sessions: SessionTable::default(),
            threads: Threads::default(),
            rows: SessionRows::default(),
            search: SearchInput::default(),
            hits: HashMap::new(),
            is_searching: false,
            recent_query: None,
            sort: Sort::default(),
            named_only: false,
            reading: Some(Progress::new(0, 0)),
            cursor: None,
            row: 0,
            top: 0,
            size: (80, 24),
            mode: PickerMode::Browse,
            preview: PickerPreview::default(),
            notice: None,
        }
    }

    /// Returns the file of the selected session.
    pub fn selected(&self) -> Option<&Path> {
        self.selected_session().map(|session| &*session.info.path)
    }

    /// Returns the known facts about a session.
    pub fn session(&self, path: &Path) -> Option<&SessionInfo> {
        let place = self.sessions.place(path)?;
        self.sessions.get(place).map(|session| &session.info)
    }

    /// Returns the number of known sessions.
    pub fn count(&self) -> usize {
        self.sessions.all().len()
    }

    /// Returns the rows.
    pub fn rows(&self) -> &SessionRows {
        &self.rows
    }

    /// Returns the file of the session in a row.
    pub fn path(&self, row: usize) -> Option<&Path> {
        let session = self.sessions.get(self.rows.get(row)?.session)?;
        Some(&session.info.path)
    }

    /// Returns the mode.
    pub fn mode(&self) -> &PickerMode {
        &self.mode
    }

    /// Returns the order of the list.
    pub fn sort(&self) -> Sort {
        self.sort
    }

    /// Returns the scope.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns whether everything was read and there are no sessions.
    pub fn is_bare(&self) -> bool {
        self.reading.is_none() && self.count() == 0
    }

    /// Returns whether this session is open.
    pub fn is_open(&self, path: &Path) -> bool {
        self.start.open.as_deref() == Some(path)
    }

    pub(crate) fn selected_session(&self) -> Option<&ListedSession> {
        self.sessions.get(self.rows.get(self.row)?.session)
    }

    pub(crate) fn areas(&self) -> PickerAreas {
        PickerAreas::of(self.size.0, self.size.1, self.preview.is_shown)
    }

    /// Stores sessions, in place of older versions.
    pub(crate) fn learn(&mut self, sessions: Vec<SessionInfo>) {
        for info in sessions {
            let rank = rank(&info, self.search.query.as_ref(), self.now);
            let is_here = self.start.project.has(&info.cwd);
            self.sessions.put(ListedSession { info, is_here, rank });
        }
        self.sessions_changed();
    }

    /// Removes sessions.
    pub(crate) fn forget(&mut self, paths: &[PathBuf]) {
        paths.iter().for_each(|path| self.sessions.remove(path));
        self.sessions_changed();
    }

    /// Moves a session to another file.
    pub(crate) fn rename_file(&mut self, from: &Path, to: SessionInfo) {
        self.sessions.remove(from);
        if self.cursor.as_deref() == Some(from) {
            self.cursor = Some(to.path.clone());
        }
        self.learn(vec![to]);
    }

    fn sessions_changed(&mut self) {
        self.threads = Threads::of(&self.sessions);
        match &self.mode {
            PickerMode::Rename(path, _) | PickerMode::Delete(path)
                if self.sessions.place(path).is_none() =>
            {
                self.mode = PickerMode::Browse;
            }
            _ => {}
        }
        self.lay_out();
    }

    /// Returns the text of the query.
    pub fn query(&self) -> &str {
        self.search.input.text()
    }

    /// Returns the settings with which a picker that is shown again begins.
    pub(crate) fn view(&self) -> PickerView {
        PickerView {
            query: self.query().to_owned(),
            scope: self.scope,
            sort: self.sort,
            named_only: self.named_only,
            cursor: self.cursor.clone(),
        }
    }

    /// Restores a view except its query, which is searched when it is entered.
    pub(crate) fn restore(&mut self, view: &PickerView) {
        (self.scope, self.sort, self.named_only) = (view.scope, view.sort, view.named_only);
        self.cursor.clone_from(&view.cursor);
    }

    /// Applies a changed query to all sessions.
    pub(crate) fn search_anew(&mut self) {
        self.search.read();
        self.hits.clear();
        self.sessions.ask(self.search.query.as_ref(), self.now);
        self.lay_out();
    }

    /// Returns the files whose contents are searched.
    pub(crate) fn searched_files(&self) -> Vec<PathBuf> {
        let is_in_scope = |session: &&ListedSession| self.scope == Scope::All || session.is_here;
        let sessions = self.sessions.all().iter().filter(is_in_scope);
        sessions.map(|session| session.info.path.clone()).collect()
    }

    /// Puts an earlier query into the input (`-1`) or a later one (`1`); after the latest, an empty one.
    /// Returns whether there is one.
    pub(crate) fn choose_recent_query(&mut self, step: isize) -> bool {
        let queries = &self.start.recent_queries;
        let at = self.recent_query.unwrap_or(queries.len());
        let Some(next) = at.checked_add_signed(step).filter(|next| *next <= queries.len()) else {
            return false;
        };
        let text = queries.get(next).map(String::as_str).unwrap_or_default();
        self.search.input = TextInput::new(text);
        self.recent_query = Some(next).filter(|next| *next < queries.len());
        true
    }

    /// Lays out the listed sessions, and finds the selected one.
    pub(crate) fn lay_out(&mut self) {
        let is_listed = |session: u32| {
            self.sessions.get(session).is_some_and(|session| {
                (session.rank.is_some() || self.hits.contains_key(&session.info.path))
                    && (self.scope == Scope::All || session.is_here)
                    && (!self.named_only || session.info.name.is_some())
            })
        };
        self.rows = SessionRows::lay_out(&self.sessions, &self.threads, self.sort, is_listed);
        self.find_cursor();
    }

    fn find_cursor(&mut self) {
        let Some(path) = &self.cursor else {
            self.row = 0;
            return;
        };
        let place = self.sessions.place(path);
        match place.map(|session| self.rows.row_of(session)) {
            Some(Some(row)) => self.row = row,
            // The session exists but is not listed, so the first row is selected.
            Some(None) => self.row = 0,
            // The session is gone, so the session in its row is selected.
            None => {
                let last = self.rows.len().saturating_sub(1);
                self.choose(self.row.min(last));
            }
        }
    }

    /// Selects a row.
    pub(crate) fn choose(&mut self, row: usize) {
        if let Some(path) = self.path(row).map(Path::to_owned) {
            self.cursor = Some(path);
            self.row = row;
        }
    }

    /// Scrolls as little as needed to have the cursor on the screen.
    pub(crate) fn follow_cursor(&mut self) {
        let height = usize::from(self.areas().list.height).max(1);
        let last_top = self.rows.len().saturating_sub(height);
        self.top = self.top.clamp((self.row + 1).saturating_sub(height), self.row).min(last_top);
    }

    /// Shows a page in the preview. If the beginning of the same page was shown before, the scroll
    /// position is kept.
    pub(crate) fn show_page(&mut self, page: Page) {
        let old = self.preview.page.replace(PageView::new(page));
        self.fit_page();
        self.scroll(old.map_or(0, |old| old.top() as isize));
    }

    /// Resizes the page of the preview to its area.
    pub(crate) fn fit_page(&mut self) {
        let area = self.areas().split.page();
        if let Some(page) = &mut self.preview.page {
            page.resize(usize::from(area.width), usize::from(area.height));
        }
    }

    /// Scrolls the preview.
    pub(crate) fn scroll(&mut self, rows: isize) {
        if let Some(page) = &mut self.preview.page {
            page.scroll(rows);
        }
    }
}
