//! What happens when something happens: a state and an event give a state and effects.

use super::action::ChatAction;
use super::block::{Folding, StreamKind};
use super::commands::ChatCommand;
use super::completion::{Completion, CompletionSources, complete};
use super::input_history::InputHistory;
use super::message_selector::MessageSelector;
use super::send::send;
use super::state::{ChatState, ChatTask, DoubleEscape, Status, StreamingText};
use super::transcript::TranscriptBlock;
use crate::keys::Key;
use crate::page::Page;
use crate::terminal_event::{MouseEvent, TerminalEvent};
use crate::text::safe_line;
use crate::{Notice, Screen};
use ratatui::Frame;
use treering::EntryId;
use treering_export::text::size;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// Something at the terminal.
    Terminal(TerminalEvent),
    /// The entries of the path, and those of them that look different now.
    Entries(Vec<EntryId>, Vec<EntryId>),
    /// Blocks of this shape that were wanted.
    Blocks((usize, Folding), Vec<(EntryId, TranscriptBlock)>),
    /// Something has begun that takes time. What arrives goes under the heading, if there is one.
    TaskStarted(String, Option<(StreamKind, String)>),
    /// Something arrived.
    Chunk(StreamChunk),
    /// It takes so many seconds so far.
    Elapsed(u64),
    /// It is over; this may be worth saying.
    TaskFinished(Option<Notice>),
    /// The status of the session.
    Status(Status),
    /// What arguments can be.
    Completions(CompletionSources),
    /// What was said before, oldest first.
    History(Vec<String>),
    /// Something to read.
    Overlay(String, Page),
    /// Something a person should know.
    Notice(Notice),
    /// A text to be edited.
    Edit(String),
    /// The user's messages on the path, the oldest first, to choose where a fork begins.
    Select(Vec<(EntryId, String)>),
    /// A request failed and is sent again; says when, which attempt it is, and why.
    Retrying(String),
    /// What was sent could not be said, and why.
    SendFailed(String, String),
}

/// A piece of something that arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamChunk {
    /// Text to show.
    Text(String),
    /// A thought of the model.
    Thinking(String),
    /// So many characters of something that is not shown.
    Unseen(usize),
    /// What came so far is void.
    Restart,
}

impl From<TerminalEvent> for ChatEvent {
    fn from(event: TerminalEvent) -> Self {
        ChatEvent::Terminal(event)
    }
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatEffect {
    /// Leave the chat.
    Exit(ExitReason),
    /// Say something to the model.
    Send(String),
    /// Run a command of the shell.
    Shell {
        /// The command line.
        command: String,
        /// Whether the model sees it.
        in_context: bool,
    },
    /// Do what a command says.
    Run(ChatCommand),
    /// Stop what is going on.
    Abort,
}

/// How the chat is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// For the tree.
    Tree,
    /// For other sessions.
    Resume,
    /// For good.
    Quit,
    /// Because the system wants it so.
    Stopped,
}

impl Screen for ChatState {
    type Event = ChatEvent;
    type Effect = ChatEffect;

    fn update(self, event: ChatEvent) -> (Self, Vec<ChatEffect>) {
        update(self, event)
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        super::draw(self, frame);
    }
}

/// How many lines a turn of the wheel is.
const WHEEL: isize = 3;
/// What arrives is kept so far; what is longer is read where it is written.
const MAX_STREAMING: usize = 4 << 20;

/// The state after an event, and what is to be done. Pure: it reads and writes nothing.
pub fn update(mut state: ChatState, event: ChatEvent) -> (ChatState, Vec<ChatEffect>) {
    let mut effects = Vec::new();
    match event {
        ChatEvent::Terminal(terminal_event) => {
            on_terminal_event(&mut state, terminal_event, &mut effects)
        }
        ChatEvent::Entries(entries, changed) => {
            changed.iter().for_each(|entry| state.transcript.forget_entry(entry));
            state.transcript.set_entries(entries);
        }
        ChatEvent::Blocks(shape, blocks) if shape == state.block_shape() => {
            state.transcript.learn(blocks);
        }
        // What was made for another screen does not fit.
        ChatEvent::Blocks(..) => {}
        ChatEvent::TaskStarted(what, heading) => {
            let (seconds, characters, retry) = (0, 0, None);
            state.work = Some(ChatTask { what, seconds, characters, is_stopping: false, retry });
            let begin = |(arrival, heading)| {
                let (text, thinking) = (String::new(), String::new());
                StreamingText { arrival, heading, text, thinking, is_stale: true }
            };
            state.streaming = heading.map(begin);
        }
        ChatEvent::Chunk(piece) => arrive(&mut state, piece),
        ChatEvent::Elapsed(seconds) => {
            if let Some(work) = &mut state.work {
                work.seconds = seconds;
            }
        }
        ChatEvent::TaskFinished(notice) => {
            state.work = None;
            state.streaming = None;
            state.notice = notice.or(state.notice.take());
        }
        ChatEvent::Status(status) => state.status = status,
        ChatEvent::Completions(names) => state.names = names,
        ChatEvent::History(past) => {
            if let Some(draft) = state.history.draft().map(str::to_owned) {
                state.drafts.put_aside(&draft);
            }
            state.history.replace(past);
        }
        ChatEvent::Overlay(title, page) => state.show_overlay(&title, page),
        ChatEvent::Notice(notice) => state.notice = Some(notice),
        ChatEvent::Select(messages) => {
            state.selector = MessageSelector::new(messages);
            if state.selector.is_none() {
                let why = "there is no message of yours to fork from yet";
                state.notice = Some(Notice::failure(why));
            }
        }
        ChatEvent::Retrying(why) => {
            if let Some(work) = &mut state.work {
                work.retry = Some(safe_line(&why));
            }
        }
        ChatEvent::Edit(text) => bring_back(&mut state, &text),
        ChatEvent::SendFailed(text, why) => {
            bring_back(&mut state, &text);
            state.notice = Some(Notice::failure(why));
        }
    }
    (state, effects)
}

fn arrive(state: &mut ChatState, piece: StreamChunk) {
    let Some(work) = &mut state.work else { return };
    work.retry = work.retry.take().filter(|_| piece == StreamChunk::Restart);
    match piece {
        StreamChunk::Text(text) => {
            work.characters += text.chars().count();
            if let Some(streaming) = &mut state.streaming
                && streaming.text.len() + text.len() <= MAX_STREAMING
            {
                streaming.text.push_str(&text);
                streaming.is_stale = true;
            }
        }
        StreamChunk::Thinking(text) => {
            work.characters += text.chars().count();
            if let Some(streaming) = &mut state.streaming
                && streaming.thinking.len() + text.len() <= MAX_STREAMING
            {
                streaming.thinking.push_str(&text);
                streaming.is_stale = true;
            }
        }
        StreamChunk::Unseen(characters) => work.characters += characters,
        StreamChunk::Restart => {
            work.characters = 0;
            if let Some(streaming) = &mut state.streaming {
                streaming.text.clear();
                streaming.thinking.clear();
                streaming.is_stale = true;
            }
        }
    }
}

/// Puts a text into the editor. What somebody is writing there is not lost.
fn bring_back(state: &mut ChatState, text: &str) {
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

/// CompletionSources the key that brings drafts back, as the end of a notice.
pub(super) fn way_back(state: &ChatState) -> String {
    let key = state.bindings.key(ChatAction::Draft);
    key.map_or(String::new(), |key| format!(": {key} brings it back"))
}

fn on_terminal_event(state: &mut ChatState, event: TerminalEvent, effects: &mut Vec<ChatEffect>) {
    match event {
        TerminalEvent::Key(key) => on_key(state, key, effects),
        TerminalEvent::Paste(text) => {
            state.completion = None;
            state.armed = None;
            state.selector = None;
            if !state.editor.paste(&text) {
                refuse(state, text.len());
            }
        }
        TerminalEvent::Mouse(MouseEvent::WheelUp(..)) if state.selector.is_some() => {
            choose(state, Some(ChatAction::Up), effects);
        }
        TerminalEvent::Mouse(MouseEvent::WheelDown(..)) if state.selector.is_some() => {
            choose(state, Some(ChatAction::Down), effects);
        }
        TerminalEvent::Mouse(MouseEvent::WheelUp(..)) => scroll(state, -WHEEL),
        TerminalEvent::Mouse(MouseEvent::WheelDown(..)) => scroll(state, WHEEL),
        TerminalEvent::Mouse(MouseEvent::Click(..)) => {}
        TerminalEvent::Resize(width, height) => state.resize(width, height),
        TerminalEvent::Stop => effects.push(ChatEffect::Exit(ExitReason::Stopped)),
    }
}

fn on_key(state: &mut ChatState, key: Key, effects: &mut Vec<ChatEffect>) {
    let action = state.bindings.action(key);
    let armed = state.armed.take();
    state.notice = None;
    let cleared = state.cleared.take();
    if !matches!(action, Some(ChatAction::Complete | ChatAction::Up | ChatAction::Down)) {
        state.completion = None;
    }
    if state.selector.is_some() {
        return choose(state, action, effects);
    }
    match (action, key.typed()) {
        (Some(ChatAction::Back), _) => back(state, armed, effects),
        (Some(ChatAction::Clear), _) => {
            state.cleared = cleared;
            clear(state, armed, effects);
        }
        (Some(ChatAction::Send), _) => send(state, armed, effects),
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

fn back(state: &mut ChatState, armed: Option<ChatAction>, effects: &mut Vec<ChatEffect>) {
    if state.overlay.take().is_some() {
        return;
    }
    match &mut state.work {
        Some(work) => {
            work.is_stopping = true;
            effects.push(ChatEffect::Abort);
        }
        None => {
            let (effect, what) = match state.double_escape {
                DoubleEscape::Tree => (ChatEffect::Exit(ExitReason::Tree), "once more: the tree"),
                DoubleEscape::Fork => {
                    (ChatEffect::Run(ChatCommand::Branch(None)), "once more: fork")
                }
                DoubleEscape::Nothing => return,
            };
            if armed == Some(ChatAction::Back) {
                effects.push(effect);
            } else {
                state.armed = Some(ChatAction::Back);
                state.notice = Some(Notice::new(what));
            }
        }
    }
}

/// Says that a text is too long for the editor, which is as it was.
fn refuse(state: &mut ChatState, bytes: usize) {
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
fn choose(state: &mut ChatState, action: Option<ChatAction>, effects: &mut Vec<ChatEffect>) {
    let page = (state.areas().transcript.height as isize - 2).max(1);
    let Some(selector) = &mut state.selector else { return };
    match action {
        Some(ChatAction::Up | ChatAction::ScrollUp) => selector.step(-1),
        Some(ChatAction::Down | ChatAction::ScrollDown) => selector.step(1),
        Some(ChatAction::PageUp) => selector.step(-page),
        Some(ChatAction::PageDown) => selector.step(page),
        Some(ChatAction::First | ChatAction::LineStart) => selector.step(isize::MIN),
        Some(ChatAction::Last | ChatAction::LineEnd) => selector.step(isize::MAX),
        Some(ChatAction::Send) => {
            let chosen = selector.chosen().map(|id| id.to_string());
            state.selector = None;
            effects.extend(chosen.map(|id| ChatEffect::Run(ChatCommand::Branch(Some(id)))));
        }
        Some(ChatAction::Back | ChatAction::Clear | ChatAction::DeleteOrLeave) => {
            state.selector = None
        }
        _ => {}
    }
}

fn clear(state: &mut ChatState, armed: Option<ChatAction>, effects: &mut Vec<ChatEffect>) {
    if armed == Some(ChatAction::Clear) {
        effects.push(ChatEffect::Exit(ExitReason::Quit));
        return;
    }
    state.armed = Some(ChatAction::Clear);
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

fn act(state: &mut ChatState, action: ChatAction, effects: &mut Vec<ChatEffect>) {
    let page = (state.areas().transcript.height as isize - 1).max(1);
    let editor = &mut state.editor;
    let reads = state.overlay.is_some() && editor.is_empty();
    match action {
        ChatAction::Newline => {
            if !editor.insert("\n") {
                refuse(state, 1);
            }
        }
        ChatAction::Up if state.completion.is_some() => complete_word(state, Completion::previous),
        ChatAction::Down if state.completion.is_some() => complete_word(state, Completion::next),
        ChatAction::Up if reads => scroll(state, -1),
        ChatAction::Down if reads => scroll(state, 1),
        ChatAction::Up => {
            if !editor.up() {
                walk(state, |history, current| history.back(current));
            }
        }
        ChatAction::Down => {
            if !editor.down() {
                walk(state, |history, _| history.forward());
            }
        }
        ChatAction::Left => editor.left(),
        ChatAction::Right => editor.right(),
        ChatAction::WordLeft => editor.word_left(),
        ChatAction::WordRight => editor.word_right(),
        ChatAction::LineStart => editor.home(),
        ChatAction::LineEnd => editor.end(),
        ChatAction::Backspace => editor.backspace(),
        ChatAction::Delete => editor.delete_next(),
        ChatAction::DeleteOrLeave if editor.is_empty() => {
            effects.push(ChatEffect::Exit(ExitReason::Quit))
        }
        ChatAction::DeleteOrLeave => editor.delete_next(),
        ChatAction::KillBefore => editor.kill_before(),
        ChatAction::KillAfter => editor.kill_after(),
        ChatAction::KillWord => editor.kill_word(),
        ChatAction::Yank => editor.yank(),
        ChatAction::Draft => exchange_draft(state),
        ChatAction::Complete => complete_word(state, Completion::next),
        ChatAction::ScrollUp => scroll(state, -1),
        ChatAction::ScrollDown => scroll(state, 1),
        ChatAction::PageUp => scroll(state, -page),
        ChatAction::PageDown => scroll(state, page),
        ChatAction::First => match &mut state.overlay {
            Some(overlay) => overlay.top = 0,
            None => state.transcript.show_start(),
        },
        ChatAction::Last => match &state.overlay {
            Some(overlay) => scroll(state, overlay.lines.len() as isize),
            None => state.transcript.show_end(),
        },
        ChatAction::Unfold => {
            state.folding = match state.folding {
                Folding::Folded => Folding::Open,
                Folding::Open => Folding::Folded,
            };
            state.transcript.forget();
            if let Some(streaming) = &mut state.streaming {
                streaming.is_stale = true;
            }
        }
        ChatAction::Send | ChatAction::Back | ChatAction::Clear => {}
    }
}

/// Shows another earlier message. One that was changed becomes a draft first.
fn walk(state: &mut ChatState, step: for<'a> fn(&'a mut InputHistory, &str) -> Option<&'a str>) {
    let current = state.draft();
    let is_edited = state.history.is_edited(&current);
    if let Some(text) = step(&mut state.history, &current).map(str::to_owned) {
        if is_edited {
            state.drafts.put_aside(&current);
        }
        state.editor.set(&text);
    }
}

fn exchange_draft(state: &mut ChatState) {
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

fn scroll(state: &mut ChatState, lines: isize) {
    let height = usize::from(state.areas().transcript.height).saturating_sub(1).max(1);
    match &mut state.overlay {
        Some(overlay) => {
            let last = overlay.lines.len().saturating_sub(height);
            overlay.top = overlay.top.saturating_add_signed(lines).min(last);
        }
        None => state.transcript.scroll(lines),
    }
}

/// Puts another completion in the place of the word at the cursor.
fn complete_word(state: &mut ChatState, step: fn(&mut Completion, &str) -> Option<String>) {
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
