//! What happens when something happens: a state and an event give a state and effects.

use super::action::Action;
use super::state::{Mode, Scope, State};
use crate::happening::{Happening, Mouse};
use crate::input::Input;
use crate::keys::{Code, Key};
use crate::page::Page;
use crate::{Notice, Screen};
use ratatui::Frame;
use std::path::{Path, PathBuf};
use treering::catalog::{Progress, SessionInfo};

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Something at the terminal.
    Happened(Happening),
    /// These sessions were found, or are different now; and how far reading has come, if it goes on.
    Found(Vec<SessionInfo>, Option<Progress>),
    /// There is nothing more to be found.
    Complete,
    /// These files are gone.
    Gone(Vec<PathBuf>),
    /// The session of this file has another one now.
    Moved(PathBuf, Box<SessionInfo>),
    /// A preview that was asked for.
    Page(PathBuf, Page),
    /// It is this late, in Unix milliseconds.
    Now(i64),
    /// Something a person should know.
    Notice(String),
    /// Something that was to be done and was not.
    Failure(String),
}

impl From<Happening> for Event {
    fn from(happening: Happening) -> Self {
        Event::Happened(happening)
    }
}

/// Something to be done. Sessions are named by their files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Close the picker.
    Close,
    /// End the program.
    Stop,
    /// Open a session.
    Open(PathBuf),
    /// Show what this is all about: there is nothing else to open.
    Demo,
    /// Go on with a session in a copy of it.
    OpenCopy(PathBuf),
    /// Begin a session.
    New,
    /// Give a session a name; an empty one is cleared.
    Rename(PathBuf, String),
    /// Move a session to the trash.
    Delete(PathBuf),
    /// Compress a session.
    Archive(PathBuf),
    /// Bring a compressed session back.
    Unarchive(PathBuf),
    /// Write a session as a page.
    Export(PathBuf),
    /// Put the path on the clipboard.
    CopyPath(PathBuf),
    /// Make a page of a session; what was asked for before is not wanted any more.
    Preview(PathBuf),
}

impl Screen for State {
    type Event = Event;
    type Effect = Effect;

    fn update(self, event: Event) -> (Self, Vec<Effect>) {
        update(self, event)
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        super::draw(self, frame);
    }
}

/// How many rows a turn of the wheel is.
const WHEEL: isize = 3;

/// The state after an event, and what is to be done. Pure: it reads and writes nothing.
pub fn update(mut state: State, event: Event) -> (State, Vec<Effect>) {
    let mut effects = Vec::new();
    match event {
        Event::Happened(happening) => on_happening(&mut state, happening, &mut effects),
        Event::Found(sessions, progress) => {
            if progress.is_some() {
                state.reading = progress;
            }
            reread_preview(&mut state, &sessions);
            state.learn(sessions);
        }
        Event::Complete => state.reading = None,
        Event::Gone(paths) => state.forget(&paths),
        Event::Moved(from, to) => state.rename_file(&from, *to),
        Event::Page(path, page) if state.preview.asked.as_ref() == Some(&path) => {
            state.show_page(page);
        }
        Event::Page(..) => {}
        Event::Now(now) => state.now = now,
        Event::Notice(notice) => state.notice = Some(Notice::new(notice)),
        Event::Failure(failure) => state.notice = Some(Notice::failure(failure)),
    }
    state.follow_cursor();
    ask_for_page(&mut state, &mut effects);
    (state, effects)
}

/// A session that is different now has another preview.
fn reread_preview(state: &mut State, sessions: &[SessionInfo]) {
    let is_other = |new: &&SessionInfo| {
        state.preview.asked.as_ref() == Some(&new.path) && state.session(&new.path) != Some(*new)
    };
    if sessions.iter().any(|session| is_other(&session)) {
        state.preview.asked = None;
    }
}

fn ask_for_page(state: &mut State, effects: &mut Vec<Effect>) {
    let wanted = state.selected().filter(|_| state.preview.is_shown).map(Path::to_owned);
    if wanted == state.preview.asked {
        return;
    }
    state.preview.page = None;
    state.preview.asked.clone_from(&wanted);
    effects.extend(wanted.map(Effect::Preview));
}

fn on_happening(state: &mut State, happening: Happening, effects: &mut Vec<Effect>) {
    match happening {
        Happening::Key(key) => {
            state.notice = None;
            on_key(state, key, effects);
        }
        Happening::Paste(text) => on_paste(state, &text),
        Happening::Mouse(mouse) => on_mouse(state, mouse, effects),
        Happening::Resize(width, height) => {
            state.size = (width, height);
            state.fit_page();
        }
        Happening::Stop => effects.push(Effect::Stop),
    }
}

fn on_key(state: &mut State, key: Key, effects: &mut Vec<Effect>) {
    let is_typing = match &state.mode {
        Mode::Rename(..) => true,
        Mode::Browse => !state.search.is_empty(),
        Mode::Delete(_) | Mode::Help(_) => false,
    };
    let action = state.bindings.command(key, is_typing);
    if action == Some(Action::Close) {
        effects.push(Effect::Close);
        return;
    }
    match std::mem::take(&mut state.mode) {
        Mode::Rename(path, input) => rename(state, path, input, key, effects),
        Mode::Delete(path) => match key.typed() {
            Some('y' | 'Y') => effects.push(Effect::Delete(path)),
            _ => state.notice = Some(Notice::new("nothing was deleted")),
        },
        Mode::Help(top) => state.mode = help(state, top, key),
        Mode::Browse => match action {
            Some(action) => act(state, action, effects),
            None => type_in(state, key),
        },
    }
}

fn type_in(state: &mut State, key: Key) {
    if state.search.input.take(key) {
        state.search_anew();
    }
}

/// Any key but those that scroll puts the list of keys away.
fn help(state: &State, top: usize, key: Key) -> Mode {
    let height = usize::from(state.size.1.saturating_sub(2)).max(1);
    let last_top = state.bindings.list().len().saturating_sub(height);
    match key.code {
        Code::Up => Mode::Help(top.saturating_sub(1)),
        Code::Down => Mode::Help((top + 1).min(last_top)),
        Code::PageUp => Mode::Help(top.saturating_sub(height)),
        Code::PageDown => Mode::Help((top + height).min(last_top)),
        _ => Mode::Browse,
    }
}

fn rename(state: &mut State, path: PathBuf, mut input: Input, key: Key, effects: &mut Vec<Effect>) {
    match key.code {
        Code::Esc => {}
        Code::Enter => {
            let name = input.text().trim();
            let old = state.session(&path).and_then(|session| session.name.as_deref());
            if name != old.unwrap_or_default() {
                let name = name.to_owned();
                state.notice = Some(Notice::work("renaming …"));
                effects.push(Effect::Rename(path, name));
            }
        }
        _ => {
            input.take(key);
            state.mode = Mode::Rename(path, input);
        }
    }
}

fn on_paste(state: &mut State, text: &str) {
    match &mut state.mode {
        Mode::Rename(_, input) => input.insert(text),
        Mode::Browse => {
            state.search.input.insert(text);
            state.search_anew();
        }
        Mode::Delete(_) | Mode::Help(_) => {}
    }
}

fn on_mouse(state: &mut State, mouse: Mouse, effects: &mut Vec<Effect>) {
    let areas = state.areas();
    match mouse {
        _ if state.mode != Mode::Browse => {}
        Mouse::Click(x, y) if areas.list.contains((x, y).into()) => {
            let row = state.top + usize::from(y - areas.list.y);
            match row == state.row {
                true => act(state, Action::Open, effects),
                false => state.choose(row),
            }
        }
        Mouse::Click(..) => {}
        Mouse::WheelUp(x, y) if areas.split.preview.contains((x, y).into()) => state.scroll(-WHEEL),
        Mouse::WheelDown(x, y) if areas.split.preview.contains((x, y).into()) => {
            state.scroll(WHEEL)
        }
        Mouse::WheelUp(..) => step(state, -WHEEL),
        Mouse::WheelDown(..) => step(state, WHEEL),
    }
}

fn act(state: &mut State, action: Action, effects: &mut Vec<Effect>) {
    let page = (state.areas().list.height as isize).max(1);
    let last = state.rows.len().saturating_sub(1);
    let selected = state.selected().map(Path::to_owned);
    match action {
        Action::Up if state.row == 0 => state.choose(last),
        Action::Up => step(state, -1),
        Action::Down if state.row == last => state.choose(0),
        Action::Down => step(state, 1),
        Action::PageUp => step(state, -page),
        Action::PageDown => step(state, page),
        Action::First => state.choose(0),
        Action::Last => state.choose(last),
        Action::Open if state.is_bare() => effects.push(Effect::Demo),
        Action::Open => effects.extend(selected.map(Effect::Open)),
        Action::Copy => effects.extend(selected.map(Effect::OpenCopy)),
        Action::New => effects.push(Effect::New),
        Action::Sort => {
            state.sort = state.sort.next();
            state.lay_out();
        }
        Action::Named => {
            state.named_only = !state.named_only;
            state.lay_out();
        }
        Action::Scope => {
            state.scope = match state.scope {
                Scope::Project => Scope::All,
                Scope::All => Scope::Project,
            };
            state.lay_out();
        }
        Action::Rename => {
            if let Some(card) = state.selected_card() {
                let input = Input::new(card.info.name.as_deref().unwrap_or_default());
                state.mode = Mode::Rename(card.info.path.clone(), input);
            }
        }
        Action::Delete => match selected {
            Some(path) if state.is_open(&path) => refuse(state, "deleted"),
            Some(path) => state.mode = Mode::Delete(path),
            None => {}
        },
        Action::Archive => archive(state, effects),
        Action::Export => {
            if let Some(path) = selected {
                state.notice = Some(Notice::work("exporting …"));
                effects.push(Effect::Export(path));
            }
        }
        Action::CopyPath => effects.extend(selected.map(Effect::CopyPath)),
        Action::Preview => state.preview.is_shown = !state.preview.is_shown,
        Action::PreviewUp => state.scroll(-1),
        Action::PreviewDown => state.scroll(1),
        Action::Help => state.mode = Mode::Help(0),
        Action::Back if state.search.is_empty() => effects.push(Effect::Close),
        Action::Back => {
            state.search.input.clear();
            state.search_anew();
        }
        Action::Close => effects.push(Effect::Close),
    }
}

/// The session that is open stays where it is.
fn refuse(state: &mut State, what: &str) {
    let text = format!("this session is open: it cannot be {what} from here");
    state.notice = Some(Notice::failure(text));
}

fn archive(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(card) = state.selected_card() else { return };
    let (path, is_archived) = (card.info.path.clone(), card.is_archived());
    match is_archived {
        _ if state.is_open(&path) => refuse(state, "archived"),
        true => {
            state.notice = Some(Notice::work("unpacking …"));
            effects.push(Effect::Unarchive(path));
        }
        false => {
            state.notice = Some(Notice::work("archiving …"));
            effects.push(Effect::Archive(path));
        }
    }
}

/// Moves by so many rows, as far as there are rows.
fn step(state: &mut State, rows: isize) {
    let last = state.rows.len().saturating_sub(1);
    state.choose(state.row.saturating_add_signed(rows).min(last));
}
