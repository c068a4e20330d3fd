//! The state of the session picker. Plain data: it reads nothing and writes nothing.
//!
//! The rows are kept and only laid out anew when what they depend on has changed: the sessions, the
//! query, the order, the scope. The selection is a file: it stays selected wherever its row moves.

use super::action::Action;
use super::areas::Areas;
use super::cards::{Card, Cards, rank};
use super::query::Search;
use super::rows::Rows;
use super::threads::Threads;
use crate::Notice;
use crate::input::Input;
use crate::keys::Bindings;
use crate::page::{Page, Reader};
use crate::theme::Theme;
use std::path::{Path, PathBuf};
use treering::catalog::{Progress, SessionInfo};
use treering_index::Project;

/// The order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sort {
    /// Forks below what they were forked from.
    #[default]
    Threaded,
    /// The newest first.
    Recent,
    /// The best match first.
    Relevance,
}

impl Sort {
    /// Returns the one after it; the first after the last.
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
    /// Those of all projects.
    All,
}

/// The mode that decides what keys do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Mode {
    /// Moving in the list; characters go to the query.
    #[default]
    Browse,
    /// Giving this session a name.
    Rename(PathBuf, Input),
    /// Asking whether this session may go.
    Delete(PathBuf),
    /// Reading the list of keys, from this line on.
    Help(usize),
}

/// The initial settings of a picker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The current project.
    pub project: Project,
    /// The initial scope.
    pub scope: Scope,
    /// The home directory: what is below it is named shorter.
    pub home: Option<PathBuf>,
    /// The session that is open: it is never moved away.
    pub open: Option<PathBuf>,
    /// Whether deleted sessions go to a trash.
    pub has_trash: bool,
    /// The current time, in Unix milliseconds.
    pub now: i64,
}

/// The preview.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Preview {
    pub is_shown: bool,
    /// The session that was asked for last.
    pub asked: Option<PathBuf>,
    /// The page, once it was read.
    pub page: Option<Reader>,
}

/// The state of the session picker.
#[derive(Debug, Clone)]
pub struct State {
    /// The key bindings.
    pub bindings: Bindings<Action>,
    /// The colours.
    pub theme: Theme,
    pub(crate) start: Start,
    pub(crate) now: i64,
    pub(crate) cards: Cards,
    threads: Threads,
    pub(crate) rows: Rows,
    pub(crate) search: Search,
    pub(crate) sort: Sort,
    pub(crate) scope: Scope,
    pub(crate) named_only: bool,
    /// The progress of reading; `None` when everything is known.
    pub(crate) reading: Option<Progress>,
    /// The chosen file; `None` until the user chooses: then the first row is selected, whatever
    /// comes to stand there.
    cursor: Option<PathBuf>,
    /// The row that is selected, and the first on the screen.
    pub(crate) row: usize,
    pub(crate) top: usize,
    pub(crate) size: (u16, u16),
    pub(crate) mode: Mode,
    pub(crate) preview: Preview,
    pub(crate) notice: Option<Notice>,
}

impl State {
    /// Returns a picker that knows no sessions yet.
    pub fn new(start: Start) -> Self {
        State {
            bindings: Bindings::default(),
            theme: Theme::default(),
            now: start.now,
            scope: start.scope,
            start,
            cards: Cards::default(),
            threads: Threads::default(),
            rows: Rows::default(),
            search: Search::default(),
            sort: Sort::default(),
            named_only: false,
            reading: Some(Progress { done: 0, total: 0 }),
            cursor: None,
            row: 0,
            top: 0,
            size: (80, 24),
            mode: Mode::Browse,
            preview: Preview::default(),
            notice: None,
        }
    }

    /// Returns the file of the session that is selected.
    pub fn selected(&self) -> Option<&Path> {
        self.selected_card().map(|card| &*card.info.path)
    }

    /// Returns the known facts about a session.
    pub fn session(&self, path: &Path) -> Option<&SessionInfo> {
        let place = self.cards.place(path)?;
        self.cards.get(place).map(|card| &card.info)
    }

    /// Returns how many sessions are known.
    pub fn count(&self) -> usize {
        self.cards.all().len()
    }

    /// Returns the rows as they stand.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Returns the file of the session in a row.
    pub fn path(&self, row: usize) -> Option<&Path> {
        let card = self.cards.get(self.rows.get(row)?.card)?;
        Some(&card.info.path)
    }

    /// Returns the mode.
    pub fn mode(&self) -> &Mode {
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

    /// Everything was read, and there is no session at all.
    pub fn is_bare(&self) -> bool {
        self.reading.is_none() && self.count() == 0
    }

    /// Returns whether this is the session that is open.
    pub fn is_open(&self, path: &Path) -> bool {
        self.start.open.as_deref() == Some(path)
    }

    pub(crate) fn selected_card(&self) -> Option<&Card> {
        self.cards.get(self.rows.get(self.row)?.card)
    }

    pub(crate) fn areas(&self) -> Areas {
        Areas::of(self.size.0, self.size.1, self.preview.is_shown)
    }

    /// Takes in sessions, in place of what was known of them.
    pub(crate) fn learn(&mut self, sessions: Vec<SessionInfo>) {
        for info in sessions {
            let rank = rank(&info, self.search.query.as_ref(), self.now);
            let is_here = self.start.project.has(&info.cwd);
            self.cards.put(Card { info, is_here, rank });
        }
        self.sessions_changed();
    }

    /// Forgets sessions.
    pub(crate) fn forget(&mut self, paths: &[PathBuf]) {
        paths.iter().for_each(|path| self.cards.remove(path));
        self.sessions_changed();
    }

    /// A session has another file now.
    pub(crate) fn rename_file(&mut self, from: &Path, to: SessionInfo) {
        self.cards.remove(from);
        if self.cursor.as_deref() == Some(from) {
            self.cursor = Some(to.path.clone());
        }
        self.learn(vec![to]);
    }

    fn sessions_changed(&mut self) {
        self.threads = Threads::of(&self.cards);
        match &self.mode {
            Mode::Rename(path, _) | Mode::Delete(path) if self.cards.place(path).is_none() => {
                self.mode = Mode::Browse;
            }
            _ => {}
        }
        self.lay_out();
    }

    /// The query changed: every session is asked again.
    pub(crate) fn search_anew(&mut self) {
        self.search.read();
        self.cards.ask(self.search.query.as_ref(), self.now);
        self.lay_out();
    }

    /// Lays out what is listed, and finds what is selected in it.
    pub(crate) fn lay_out(&mut self) {
        let is_listed = |card: u32| {
            self.cards.get(card).is_some_and(|card| {
                card.rank.is_some()
                    && (self.scope == Scope::All || card.is_here)
                    && (!self.named_only || card.info.name.is_some())
            })
        };
        self.rows = Rows::lay_out(&self.cards, &self.threads, self.sort, is_listed);
        self.find_cursor();
    }

    fn find_cursor(&mut self) {
        let Some(path) = &self.cursor else {
            self.row = 0;
            return;
        };
        let place = self.cards.place(path);
        match place.map(|card| self.rows.row_of(card)) {
            Some(Some(row)) => self.row = row,
            // The session exists but is not listed: a new search begins at the top.
            Some(None) => self.row = 0,
            // It is gone: what stands in its place is next.
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

    /// Shows a page in the preview. Where there is one of the same session already, which may have been
    /// only its head, reading goes on at the same row.
    pub(crate) fn show_page(&mut self, page: Page) {
        let old = self.preview.page.replace(Reader::new(page));
        self.fit_page();
        self.scroll(old.map_or(0, |old| old.top() as isize));
    }

    /// Gives the preview's page the room there is for it.
    pub(crate) fn fit_page(&mut self) {
        let area = self.areas().split.page();
        if let Some(page) = &mut self.preview.page {
            page.resize(usize::from(area.width), usize::from(area.height));
        }
    }

    /// Scrolls the preview, as far as there is something to read.
    pub(crate) fn scroll(&mut self, rows: isize) {
        if let Some(page) = &mut self.preview.page {
            page.scroll(rows);
        }
    }
}
