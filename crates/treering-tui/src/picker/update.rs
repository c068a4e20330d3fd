//! The update function of the session picker, which maps a state and an event to a new state and
//! effects.

use super::action::PickerAction;
use super::state::{PickerMode, PickerState, Scope};
use crate::input::TextInput;
use crate::keys::{Code, Key};
use crate::page::Page;
use crate::terminal_event::{MouseEvent, TerminalEvent};
use crate::{Notice, Screen};
use ratatui::Frame;
use std::path::{Path, PathBuf};
use treering::catalog::{Progress, SessionInfo};

/// An event of the session picker.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PickerEvent {
    /// A terminal event.
    Terminal(TerminalEvent),
    /// Sessions were found or have changed; the second value is the progress of reading.
    Found(Vec<SessionInfo>, Option<Progress>),
    /// All sessions were read.
    Complete,
    /// Files were removed.
    Gone(Vec<PathBuf>),
    /// The session of a file was moved to another file.
    Moved(PathBuf, Box<SessionInfo>),
    /// A requested preview.
    Page(PathBuf, Page),
    /// Sessions in whose contents a query was found, each with the line that matches.
    Hits(String, Vec<(PathBuf, String)>),
    /// The contents of all sessions were searched for a query.
    Searched(String),
    /// The current time, in Unix milliseconds.
    Now(i64),
    /// A notice for the footer.
    Notice(String),
    /// A failure.
    Failure(String),
}

impl From<TerminalEvent> for PickerEvent {
    fn from(event: TerminalEvent) -> Self {
        PickerEvent::Terminal(event)
    }
}

/// An effect that the runtime carries out. Sessions are named by their files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PickerEffect {
    /// Close the picker.
    Close,
    /// End the program.
    Stop,
    /// Open a session.
    Open(PathBuf),
    /// Open the demo session.
    Demo,
    /// Continue a session in a copy.
    OpenCopy(PathBuf),
    /// Resume a session in its agent.
    Resume(PathBuf),
    /// Create a session.
    New,
    /// Set the name of a session; an empty name clears it.
    Rename(PathBuf, String),
    /// Move a session to the trash.
    Delete(PathBuf),
    /// Compress a session.
    Archive(PathBuf),
    /// Decompress a session.
    Unarchive(PathBuf),
    /// Export a session as HTML.
    Export(PathBuf),
    /// Put the path on the clipboard.
    CopyPath(PathBuf),
    /// Search the contents of these files for a query; earlier searches end. An empty query only ends them.
    Search(String, Vec<PathBuf>),
    /// Create the preview of a session; earlier requests are dropped.
    Preview(PathBuf),
}

impl Screen for PickerState {
    type Event = PickerEvent;
    type Effect = PickerEffect;

    fn update(self, event: PickerEvent) -> (Self, Vec<PickerEffect>) {
        update(self, event)
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        super::draw(self, frame);
    }
}

/// The number of rows per step of the mouse wheel.
const WHEEL: isize = 3;

/// Returns the new state and the effects of an event. The function is pure: it reads and writes
/// nothing.
pub fn update(mut state: PickerState, event: PickerEvent) -> (PickerState, Vec<PickerEffect>) {
    let mut effects = Vec::new();
    match event {
        PickerEvent::Terminal(terminal_event) => {
            on_terminal_event(&mut state, terminal_event, &mut effects)
        }
        PickerEvent::Found(sessions, progress) => {
            if progress.is_some() {
                state.reading = progress;
            }
            reread_preview(&mut state, &sessions);
            state.learn(sessions);
        }
        PickerEvent::Complete => {
            state.reading = None;
            // Sessions that became known after a search began were not searched.
            if state.search.needs_contents() {
                search_contents(&mut state, &mut effects);
            }
        }
        PickerEvent::Hits(query, hits) if query == state.search.valid_text => {
            state.hits.extend(hits);
            state.lay_out();
        }
        PickerEvent::Searched(query) if query == state.search.valid_text => {
            state.is_searching = false;
        }
        PickerEvent::Hits(..) | PickerEvent::Searched(_) => {}
        PickerEvent::Gone(paths) => state.forget(&paths),
        PickerEvent::Moved(from, to) => state.rename_file(&from, *to),
        PickerEvent::Page(path, page) if state.preview.asked.as_ref() == Some(&path) => {
            state.show_page(page);
        }
        PickerEvent::Page(..) => {}
        PickerEvent::Now(now) => state.now = now,
        PickerEvent::Notice(notice) => state.notice = Some(Notice::new(notice)),
        PickerEvent::Failure(failure) => state.notice = Some(Notice::failure(failure)),
    }
    state.follow_cursor();
    ask_for_page(&mut state, &mut effects);
    (state, effects)
}

/// Requests the preview again if its session has changed.
fn reread_preview(state: &mut PickerState, sessions: &[SessionInfo]) {
    let is_other = |new: &&SessionInfo| {
        state.preview.asked.as_ref() == Some(&new.path) && state.session(&new.path) != Some(*new)
    };
    if sessions.iter().any(|session| is_other(&session)) {
        state.preview.asked = None;
    }
}

fn ask_for_page(state: &mut PickerState, effects: &mut Vec<PickerEffect>) {
    let wanted = state.selected().filter(|_| state.preview.is_shown).map(Path::to_owned);
    if wanted == state.preview.asked {
        return;
    }
    state.preview.page = None;
    state.preview.asked.clone_from(&wanted);
    effects.extend(wanted.map(PickerEffect::Preview));
}

fn on_terminal_event(
    state: &mut PickerState,
    event: TerminalEvent,
    effects: &mut Vec<PickerEffect>,
) {
    match event {
        TerminalEvent::Key(key) => {
            state.notice = None;
            on_key(state, key, effects);
        }
        TerminalEvent::Paste(text) => on_paste(state, &text, effects),
        TerminalEvent::Mouse(mouse) => on_mouse(state, mouse, effects),
        TerminalEvent::Resize(width, height) => {
            state.size = (width, height);
            state.fit_page();
        }
        TerminalEvent::Stop => effects.push(PickerEffect::Stop),
    }
}

fn on_key(state: &mut PickerState, key: Key, effects: &mut Vec<PickerEffect>) {
    let is_typing = match &state.mode {
        PickerMode::Rename(..) => true,
        PickerMode::Browse => !state.search.is_empty(),
        PickerMode::Delete(_) | PickerMode::Help(_) => false,
    };
    let action = state.bindings.command(key, is_typing);
    if action == Some(PickerAction::Close) {
        effects.push(PickerEffect::Close);
        return;
    }
    match std::mem::take(&mut state.mode) {
        PickerMode::Rename(path, input) => rename(state, path, input, key, effects),
        PickerMode::Delete(path) => match key.typed() {
            Some('y' | 'Y') => effects.push(PickerEffect::Delete(path)),
            _ => state.notice = Some(Notice::new("nothing was deleted")),
        },
        PickerMode::Help(top) => state.mode = help(state, top, key),
        PickerMode::Browse => match action {
            Some(action) => act(state, action, effects),
            None => type_in(state, key, effects),
        },
    }
}

fn type_in(state: &mut PickerState, key: Key, effects: &mut Vec<PickerEffect>) {
    if state.search.input.take(key) {
        search_anew(state, effects);
    }
}

/// Applies a changed query: at once to the known facts, and to the contents of sessions as they are
/// read.
fn search_anew(state: &mut PickerState, effects: &mut Vec<PickerEffect>) {
    state.search_anew();
    search_contents(state, effects);
}

fn search_contents(state: &mut PickerState, effects: &mut Vec<PickerEffect>) {
    let was_searching = std::mem::replace(&mut state.is_searching, state.search.needs_contents());
    match state.is_searching {
        true => {
            let query = state.search.valid_text.clone();
            effects.push(PickerEffect::Search(query, state.searched_files()));
        }
        false if was_searching => effects.push(PickerEffect::Search(String::new(), Vec::new())),
        false => {}
    }
}

/// Handles a key in the list of keys. Every key that does not scroll closes it.
fn help(state: &PickerState, top: usize, key: Key) -> PickerMode {
    let height = usize::from(state.size.1.saturating_sub(2)).max(1);
    let last_top = state.bindings.list().len().saturating_sub(height);
    match key.code {
        Code::Up => PickerMode::Help(top.saturating_sub(1)),
        Code::Down => PickerMode::Help((top + 1).min(last_top)),
        Code::PageUp => PickerMode::Help(top.saturating_sub(height)),
        Code::PageDown => PickerMode::Help((top + height).min(last_top)),
        _ => PickerMode::Browse,
    }
}

fn rename(
    state: &mut PickerState,
    path: PathBuf,
    mut input: TextInput,
    key: Key,
    effects: &mut Vec<PickerEffect>,
) {
    match key.code {
        Code::Esc => {}
        Code::Enter => {
            let name = input.text().trim();
            let old = state.session(&path).and_then(|session| session.name.as_deref());
            if name != old.unwrap_or_default() {
                let name = name.to_owned();
                state.notice = Some(Notice::work("renaming …"));
                effects.push(PickerEffect::Rename(path, name));
            }
        }
        _ => {
            input.take(key);
            state.mode = PickerMode::Rename(path, input);
        }
    }
}

fn on_paste(state: &mut PickerState, text: &str, effects: &mut Vec<PickerEffect>) {
    match &mut state.mode {
        PickerMode::Rename(_, input) => input.insert(text),
        PickerMode::Browse => {
            state.search.input.insert(text);
            search_anew(state, effects);
        }
        PickerMode::Delete(_) | PickerMode::Help(_) => {}
    }
}

fn on_mouse(state: &mut PickerState, mouse: MouseEvent, effects: &mut Vec<PickerEffect>) {
    let areas = state.areas();
    match mouse {
        _ if state.mode != PickerMode::Browse => {}
        MouseEvent::Click(x, y) if areas.list.contains((x, y).into()) => {
            let row = state.top + usize::from(y - areas.list.y);
            match row == state.row {
                true => act(state, PickerAction::Open, effects),
                false => state.choose(row),
            }
        }
        MouseEvent::Click(..) => {}
        MouseEvent::WheelUp(x, y) if areas.split.preview.contains((x, y).into()) => {
            state.scroll(-WHEEL)
        }
        MouseEvent::WheelDown(x, y) if areas.split.preview.contains((x, y).into()) => {
            state.scroll(WHEEL)
        }
        MouseEvent::WheelUp(..) => step(state, -WHEEL),
        MouseEvent::WheelDown(..) => step(state, WHEEL),
    }
}

fn act(state: &mut PickerState, action: PickerAction, effects: &mut Vec<PickerEffect>) {
    let page = (state.areas().list.height as isize).max(1);
    let last = state.rows.len().saturating_sub(1);
    let selected = state.selected().map(Path::to_owned);
    match action {
        PickerAction::Up if state.row == 0 => state.choose(last),
        PickerAction::Up => step(state, -1),
        PickerAction::Down if state.row == last => state.choose(0),
        PickerAction::Down => step(state, 1),
        PickerAction::PageUp => step(state, -page),
        PickerAction::PageDown => step(state, page),
        PickerAction::First => state.choose(0),
        PickerAction::Last => state.choose(last),
        PickerAction::Open if state.is_bare() => effects.push(PickerEffect::Demo),
        PickerAction::Open => effects.extend(selected.map(PickerEffect::Open)),
        PickerAction::Copy => effects.extend(selected.map(PickerEffect::OpenCopy)),
        PickerAction::Resume => effects.extend(selected.map(PickerEffect::Resume)),
        PickerAction::New => effects.push(PickerEffect::New),
        PickerAction::Sort => {
            state.sort = state.sort.next();
            state.lay_out();
        }
        PickerAction::Named => {
            state.named_only = !state.named_only;
            state.lay_out();
        }
        PickerAction::Scope => {
            state.scope = match state.scope {
                Scope::Project => Scope::All,
                Scope::All => Scope::Project,
            };
            state.lay_out();
            if state.search.needs_contents() {
                search_contents(state, effects);
            }
        }
        PickerAction::PreviousQuery | PickerAction::NextQuery => {
            let step = if action == PickerAction::PreviousQuery { -1 } else { 1 };
            match state.choose_recent_query(step) {
                true => search_anew(state, effects),
                false => state.notice = Some(Notice::new("there is no other recent query")),
            }
        }
        PickerAction::Rename => {
            if let Some(session) = state.selected_session() {
                let input = TextInput::new(session.info.name.as_deref().unwrap_or_default());
                state.mode = PickerMode::Rename(session.info.path.clone(), input);
            }
        }
        PickerAction::Delete => match selected {
            Some(path) if state.is_open(&path) => refuse(state, "deleted"),
            Some(path) => state.mode = PickerMode::Delete(path),
            None => {}
        },
        PickerAction::Archive => archive(state, effects),
        PickerAction::Export => {
            if let Some(path) = selected {
                state.notice = Some(Notice::work("exporting …"));
                effects.push(PickerEffect::Export(path));
            }
        }
        PickerAction::CopyPath => effects.extend(selected.map(PickerEffect::CopyPath)),
        PickerAction::Preview => state.preview.is_shown = !state.preview.is_shown,
        PickerAction::PreviewUp => state.scroll(-1),
        PickerAction::PreviewDown => state.scroll(1),
        PickerAction::Help => state.mode = PickerMode::Help(0),
        PickerAction::Back if state.search.is_empty() => effects.push(PickerEffect::Close),
        PickerAction::Back => {
            state.search.input.clear();
            search_anew(state, effects);
        }
        PickerAction::Close => effects.push(PickerEffect::Close),
    }
}

/// Shows that the open session cannot be changed.
fn refuse(state: &mut PickerState, what: &str) {
    let text = format!("this session is open and cannot be {what} here");
    state.notice = Some(Notice::failure(text));
}

fn archive(state: &mut PickerState, effects: &mut Vec<PickerEffect>) {
    let Some(session) = state.selected_session() else { return };
    let (path, is_archived) = (session.info.path.clone(), session.is_archived());
    match is_archived {
        _ if state.is_open(&path) => refuse(state, "archived"),
        true => {
            state.notice = Some(Notice::work("unpacking …"));
            effects.push(PickerEffect::Unarchive(path));
        }
        false => {
            state.notice = Some(Notice::work("archiving …"));
            effects.push(PickerEffect::Archive(path));
        }
    }
}

/// Moves the selection by `rows`, within the list.
fn step(state: &mut PickerState, rows: isize) {
    let last = state.rows.len().saturating_sub(1);
    state.choose(state.row.saturating_add_signed(rows).min(last));
}
