//! What happens when something happens: a state and an event give a state and effects.

use super::action::Action;
use super::block::{Arrival, Folding};
use super::commands::Command;
use super::complete::{Completion, Names, complete};
use super::history::History;
use super::selector::Selector;
use super::send::send;
use super::state::{Arriving, DoubleEscape, State, Status, Work};
use super::transcript::Block;
use crate::happening::{Happening, Mouse};
use crate::keys::Key;
use crate::page::Page;
use crate::text::safe_line;
use crate::{Notice, Screen};
use ratatui::Frame;
use treering::EntryId;
use treering_export::text::size;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Something at the terminal.
    Happened(Happening),
    /// The entries of the path, and those of them that look different now.
    Entries(Vec<EntryId>, Vec<EntryId>),
    /// Blocks of this shape that were wanted.
    Blocks((usize, Folding), Vec<(EntryId, Block)>),
    /// Something has begun that takes time. What arrives goes under the heading, if there is one.
    Began(String, Option<(Arrival, String)>),
    /// Something arrived.
    Arrived(Piece),
    /// It takes so many seconds so far.
    Elapsed(u64),
    /// It is over; this may be worth saying.
    Ended(Option<Notice>),
    /// The status of the session.
    Status(Status),
    /// What arguments can be.
    Names(Names),
    /// What was said before, oldest first.
    History(Vec<String>),
    /// Something to read.
    Sheet(String, Page),
    /// Something a person should know.
    Notice(Notice),
    /// A text to be edited.
    Edit(String),
    /// The user's messages on the path, the oldest first, to choose where a fork begins.
    Select(Vec<(EntryId, String)>),
    /// A request failed and is sent again; says when, which attempt it is, and why.
    Retrying(String),
    /// What was sent could not be said, and why.
    Refused(String, String),
}

/// A piece of something that arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text to show.
    Text(String),
    /// A thought of the model.
    Thinking(String),
    /// So many characters of something that is not shown.
    Unseen(usize),
    /// What came so far is void.
    Restart,
}

impl From<Happening> for Event {
    fn from(happening: Happening) -> Self {
        Event::Happened(happening)
    }
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Leave the chat.
    Leave(Left),
    /// Say something to the model.
    Say(String),
    /// Run a command of the shell.
    Shell {
        /// The command line.
        command: String,
        /// Whether the model sees it.
        in_context: bool,
    },
    /// Do what a command says.
    Run(Command),
    /// Stop what is going on.
    Abort,
}

/// How the chat is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// For the tree.
    Tree,
    /// For other sessions.
    Resume,
    /// For good.
    Quit,
    /// Because the system wants it so.
    Stopped,
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

/// How many lines a turn of the wheel is.
const WHEEL: isize = 3;
/// What arrives is kept so far; what is longer is read where it is written.
const MAX_ARRIVING: usize = 4 << 20;

/// The state after an event, and what is to be done. Pure: it reads and writes nothing.
pub fn update(mut state: State, event: Event) -> (State, Vec<Effect>) {
    let mut effects = Vec::new();
    match event {
        Event::Happened(happening) => on_happening(&mut state, happening, &mut effects),
        Event::Entries(entries, changed) => {
            changed.iter().for_each(|entry| state.transcript.forget_entry(entry));
            state.transcript.set_entries(entries);
        }
        Event::Blocks(shape, blocks) if shape == state.block_shape() => {
            state.transcript.learn(blocks);
        }
        // What was made for another screen does not fit.
        Event::Blocks(..) => {}
        Event::Began(what, heading) => {
            let (seconds, characters, retry) = (0, 0, None);
            state.work = Some(Work { what, seconds, characters, is_stopping: false, retry });
            let begin = |(arrival, heading)| {
                let (text, thinking) = (String::new(), String::new());
                Arriving { arrival, heading, text, thinking, is_stale: true }
            };
            state.arriving = heading.map(begin);
        }
        Event::Arrived(piece) => arrive(&mut state, piece),
        Event::Elapsed(seconds) => {
            if let Some(work) = &mut state.work {
                work.seconds = seconds;
            }
        }
        Event::Ended(notice) => {
            state.work = None;
            state.arriving = None;
            state.notice = notice.or(state.notice.take());
        }
        Event::Status(status) => state.status = status,
        Event::Names(names) => state.names = names,
        Event::History(past) => {
            if let Some(draft) = state.history.draft().map(str::to_owned) {
                state.drafts.put_aside(&draft);
            }
            state.history.replace(past);
        }
        Event::Sheet(title, page) => state.show_sheet(&title, page),
        Event::Notice(notice) => state.notice = Some(notice),
        Event::Select(messages) => {
            state.selector = Selector::new(messages);
            if state.selector.is_none() {
                let why = "there is no message of yours to fork from yet";
                state.notice = Some(Notice::failure(why));
            }
        }
        Event::Retrying(why) => {
            if let Some(work) = &mut state.work {
                work.retry = Some(safe_line(&why));
            }
        }
        Event::Edit(text) => bring_back(&mut state, &text),
        Event::Refused(text, why) => {
            bring_back(&mut state, &text);
            state.notice = Some(Notice::failure(why));
        }
    }
    (state, effects)
}

fn arrive(state: &mut State, piece: Piece) {
    let Some(work) = &mut state.work else { return };
    work.retry = work.retry.take().filter(|_| piece == Piece::Restart);
    match piece {
        Piece::Text(text) => {
            work.characters += text.chars().count();
            if let Some(arriving) = &mut state.arriving
                && arriving.text.len() + text.len() <= MAX_ARRIVING
            {
                arriving.text.push_str(&text);
                arriving.is_stale = true;
            }
        }
        Piece::Thinking(text) => {
            work.characters += text.chars().count();
            if let Some(arriving) = &mut state.arriving
                && arriving.thinking.len() + text.len() <= MAX_ARRIVING
            {
                arriving.thinking.push_str(&text);
                arriving.is_stale = true;
            }
        }
        Piece::Unseen(characters) => work.characters += characters,
        Piece::Restart => {
            work.characters = 0;
            if let Some(arriving) = &mut state.arriving {
                arriving.text.clear();
                arriving.thinking.clear();
                arriving.is_stale = true;
            }
        }
    }
}

/// Puts a text into the editor. What somebody is writing there is not lost.
fn bring_back(state: &mut State, text: &str) {
    let written = state.draft();
    if !written.trim().is_empty() && written != text {
        state.drafts.put_aside(&written);
        state.notice = Some(Notice::new(format!("your text was put aside{}", way_back(state))));
    }
    if let Some(draft) = state.history.draft().map(str::to_owned) {
        state.drafts.put_aside(&draft);
        state.history.leave();
    }
    state.drafts.remove(text);
    state.editor.set(text);
}

/// Names the key that brings drafts back, as the end of a notice.
pub(super) fn way_back(state: &State) -> String {
    let key = state.bindings.key(Action::Draft);
    key.map_or(String::new(), |key| format!(": {key} brings it back"))
}

fn on_happening(state: &mut State, happening: Happening, effects: &mut Vec<Effect>) {
    match happening {
        Happening::Key(key) => on_key(state, key, effects),
        Happening::Paste(text) => {
            state.completion = None;
            state.armed = None;
            state.selector = None;
            if !state.editor.paste(&text) {
                refuse(state, text.len());
            }
        }
        Happening::Mouse(Mouse::WheelUp(..)) if state.selector.is_some() => {
            choose(state, Some(Action::Up), effects);
        }
        Happening::Mouse(Mouse::WheelDown(..)) if state.selector.is_some() => {
            choose(state, Some(Action::Down), effects);
        }
        Happening::Mouse(Mouse::WheelUp(..)) => scroll(state, -WHEEL),
        Happening::Mouse(Mouse::WheelDown(..)) => scroll(state, WHEEL),
        Happening::Mouse(Mouse::Click(..)) => {}
        Happening::Resize(width, height) => state.resize(width, height),
        Happening::Stop => effects.push(Effect::Leave(Left::Stopped)),
    }
}

fn on_key(state: &mut State, key: Key, effects: &mut Vec<Effect>) {
    let action = state.bindings.action(key);
    let armed = state.armed.take();
    state.notice = None;
    let cleared = state.cleared.take();
    if !matches!(action, Some(Action::Complete | Action::Up | Action::Down)) {
        state.completion = None;
    }
    if state.selector.is_some() {
        return choose(state, action, effects);
    }
    match (action, key.typed()) {
        (Some(Action::Back), _) => back(state, armed, effects),
        (Some(Action::Clear), _) => {
            state.cleared = cleared;
            clear(state, armed, effects);
        }
        (Some(Action::Send), _) => send(state, armed, effects),
        (Some(action), _) => act(state, action, effects),
        (None, Some(character)) => {
            let mut bytes = [0; 4];
            if !state.editor.insert(character.encode_utf8(&mut bytes)) {
                refuse(state, character.len_utf8());
            }
        }
        (None, None) => {}
    }
}

fn back(state: &mut State, armed: Option<Action>, effects: &mut Vec<Effect>) {
    if state.sheet.take().is_some() {
        return;
    }
    match &mut state.work {
        Some(work) => {
            work.is_stopping = true;
            effects.push(Effect::Abort);
        }
        None => {
            let (effect, what) = match state.double_escape {
                DoubleEscape::Tree => (Effect::Leave(Left::Tree), "once more: the tree"),
                DoubleEscape::Fork => (Effect::Run(Command::Branch(None)), "once more: fork"),
                DoubleEscape::Nothing => return,
            };
            if armed == Some(Action::Back) {
                effects.push(effect);
            } else {
                state.armed = Some(Action::Back);
                state.notice = Some(Notice::new(what));
            }
        }
    }
}

/// Says that a text is too long for the editor, which is as it was.
fn refuse(state: &mut State, bytes: usize) {
    let most = super::editor::MAX_BYTES;
    let why = match bytes > most {
        true => format!("the pasted text has {}", size(bytes as u64)),
        false => "the text would become too long".to_owned(),
    };
    let most = size(most as u64);
    let why = format!("{why}: at most {most} can be sent; put it into a file and name the file");
    state.notice = Some(Notice::failure(why));
}

/// Keys while there is a list of messages to choose from.
fn choose(state: &mut State, action: Option<Action>, effects: &mut Vec<Effect>) {
    let page = (state.areas().transcript.height as isize - 2).max(1);
    let Some(selector) = &mut state.selector else { return };
    match action {
        Some(Action::Up | Action::ScrollUp) => selector.step(-1),
        Some(Action::Down | Action::ScrollDown) => selector.step(1),
        Some(Action::PageUp) => selector.step(-page),
        Some(Action::PageDown) => selector.step(page),
        Some(Action::First | Action::LineStart) => selector.step(isize::MIN),
        Some(Action::Last | Action::LineEnd) => selector.step(isize::MAX),
        Some(Action::Send) => {
            let chosen = selector.chosen().map(|id| id.to_string());
            state.selector = None;
            effects.extend(chosen.map(|id| Effect::Run(Command::Branch(Some(id)))));
        }
        Some(Action::Back | Action::Clear | Action::DeleteOrLeave) => state.selector = None,
        _ => {}
    }
}

fn clear(state: &mut State, armed: Option<Action>, effects: &mut Vec<Effect>) {
    if armed == Some(Action::Clear) {
        effects.push(Effect::Leave(Left::Quit));
        return;
    }
    state.armed = Some(Action::Clear);
    let what = if state.editor.is_empty() {
        "once more: leave"
    } else {
        let text = state.editor.clear();
        let draft = state.history.draft().map(str::to_owned);
        draft.into_iter().for_each(|draft| state.drafts.put_aside(&draft));
        state.history.add(&text);
        state.cleared = Some(text);
        "↑ brings it back · once more: leave"
    };
    state.notice = Some(Notice::new(what));
}

fn act(state: &mut State, action: Action, effects: &mut Vec<Effect>) {
    let page = (state.areas().transcript.height as isize - 1).max(1);
    let editor = &mut state.editor;
    let reads = state.sheet.is_some() && editor.is_empty();
    match action {
        Action::Newline => {
            if !editor.insert("\n") {
                refuse(state, 1);
            }
        }
        Action::Up if state.completion.is_some() => complete_word(state, Completion::previous),
        Action::Down if state.completion.is_some() => complete_word(state, Completion::next),
        Action::Up if reads => scroll(state, -1),
        Action::Down if reads => scroll(state, 1),
        Action::Up => {
            if !editor.up() {
                walk(state, |history, current| history.back(current));
            }
        }
        Action::Down => {
            if !editor.down() {
                walk(state, |history, _| history.forward());
            }
        }
        Action::Left => editor.left(),
        Action::Right => editor.right(),
        Action::WordLeft => editor.word_left(),
        Action::WordRight => editor.word_right(),
        Action::LineStart => editor.home(),
        Action::LineEnd => editor.end(),
        Action::Backspace => editor.backspace(),
        Action::Delete => editor.delete_next(),
        Action::DeleteOrLeave if editor.is_empty() => effects.push(Effect::Leave(Left::Quit)),
        Action::DeleteOrLeave => editor.delete_next(),
        Action::KillBefore => editor.kill_before(),
        Action::KillAfter => editor.kill_after(),
        Action::KillWord => editor.kill_word(),
        Action::Yank => editor.yank(),
        Action::Draft => exchange_draft(state),
        Action::Complete => complete_word(state, Completion::next),
        Action::ScrollUp => scroll(state, -1),
        Action::ScrollDown => scroll(state, 1),
        Action::PageUp => scroll(state, -page),
        Action::PageDown => scroll(state, page),
        Action::First => match &mut state.sheet {
            Some(sheet) => sheet.top = 0,
            None => state.transcript.show_start(),
        },
        Action::Last => match &state.sheet {
            Some(sheet) => scroll(state, sheet.lines.len() as isize),
            None => state.transcript.show_end(),
        },
        Action::Unfold => {
            state.folding = match state.folding {
                Folding::Folded => Folding::Open,
                Folding::Open => Folding::Folded,
            };
            state.transcript.forget();
            if let Some(arriving) = &mut state.arriving {
                arriving.is_stale = true;
            }
        }
        Action::Send | Action::Back | Action::Clear => {}
    }
}

/// Shows another earlier message. One that was changed becomes a draft first.
fn walk(state: &mut State, step: for<'a> fn(&'a mut History, &str) -> Option<&'a str>) {
    let current = state.draft();
    let is_edited = state.history.is_edited(&current);
    if let Some(text) = step(&mut state.history, &current).map(str::to_owned) {
        if is_edited {
            state.drafts.put_aside(&current);
        }
        state.editor.set(&text);
    }
}

fn exchange_draft(state: &mut State) {
    if let Some(draft) = state.history.draft().map(str::to_owned) {
        // What stood here before ↑ is the next draft; an earlier message is none unless it was changed.
        state.drafts.put_aside(&draft);
        if !state.history.is_edited(&state.draft()) {
            state.editor.set("");
        }
        state.history.leave();
    }
    let text = state.draft();
    match state.drafts.exchange(&text) {
        Some(next) => state.editor.set(&next),
        None => state.notice = Some(Notice::new("there are no drafts")),
    }
}

fn scroll(state: &mut State, lines: isize) {
    let height = usize::from(state.areas().transcript.height).saturating_sub(1).max(1);
    match &mut state.sheet {
        Some(sheet) => {
            let last = sheet.lines.len().saturating_sub(height);
            sheet.top = sheet.top.saturating_add_signed(lines).min(last);
        }
        None => state.transcript.scroll(lines),
    }
}

/// Puts another completion in the place of the word at the cursor.
fn complete_word(state: &mut State, step: fn(&mut Completion, &str) -> Option<String>) {
    let (before, _) = state.editor.halves();
    let known = state.completion.take().filter(|completion| completion.at.is_some());
    let Some(mut completion) = known.or_else(|| complete(before, &state.names)) else { return };
    let word = before.get(completion.start..).unwrap_or_default();
    if let Some(next) = step(&mut completion, word) {
        state.editor.replace_from(completion.start, &next);
    }
    if completion.candidates.len() > 1 {
        state.completion = Some(completion);
    }
}
