//! The update function of the chat, which maps a state and an event to a new state and effects.

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
use crate::{Notice, Screen};
use ratatui::Frame;
use treering::EntryId;
use treering_display::number::size;
use treering_display::text::safe_line;

/// An event of the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// A terminal event.
    Terminal(TerminalEvent),
    /// The entries of the path, and those that have to be rendered again.
    Entries(Vec<EntryId>, Vec<EntryId>),
    /// Requested blocks, and the width and folding for which they were rendered.
    Blocks((usize, Folding), Vec<(EntryId, TranscriptBlock)>),
    /// A task has started. Streamed text is shown under the heading, if there is one.
    TaskStarted(String, Option<(StreamKind, String)>),
    /// A chunk of streamed text arrived.
    Chunk(StreamChunk),
    /// The task has been running for this many seconds.
    Elapsed(u64),
    /// The task has finished.
    TaskFinished(Option<Notice>),
    /// The status of the session.
    Status(Status),
    /// The values of arguments, for completion.
    Completions(CompletionSources),
    /// The earlier messages, oldest first.
    History(Vec<String>),
    /// A page to show over the transcript, with its title.
    Overlay(String, Page),
    /// A notice for the footer.
    Notice(Notice),
    /// A text to put into the editor.
    Edit(String),
    /// The user's messages on the path, the oldest first, to choose where a fork begins.
    Select(Vec<(EntryId, String)>),
    /// A failed request is retried; the text names the delay, the attempt and the reason.
    Retrying(String),
    /// The text could not be sent; the second value is the reason.
    SendFailed(String, String),
}

/// A chunk of streamed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamChunk {
    /// Text of the answer or the output.
    Text(String),
    /// Thinking of the model.
    Thinking(String),
    /// The number of characters of a text that is not shown.
    Unseen(usize),
    /// The text so far is discarded.
    Restart,
}

impl From<TerminalEvent> for ChatEvent {
    fn from(event: TerminalEvent) -> Self {
        ChatEvent::Terminal(event)
    }
}

/// An effect that the runtime carries out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatEffect {
    /// Leave the chat.
    Exit(ExitReason),
    /// Send a message to the model.
    Send(String),
    /// Run a command of the shell.
    Shell {
        /// The command line.
        command: String,
        /// Whether the command and its output are part of the context.
        in_context: bool,
    },
    /// Run a command.
    Run(ChatCommand),
    /// Abort the running task.
    Abort,
}

/// The reason for leaving the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// The tree is opened.
    Tree,
    /// The session picker is opened.
    Resume,
    /// The program ends.
    Quit,
    /// A signal ends the program.
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

/// The number of lines per step of the mouse wheel.
const WHEEL: isize = 3;
/// The largest streamed text that is shown, in bytes.
const MAX_STREAMING: usize = 4 << 20;

/// Returns the new state and the effects of an event. The function is pure: it reads and writes
/// nothing.
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
        // The width has changed since the blocks were requested.
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
                let why = "cannot fork: this branch has no user message yet";
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

/// Puts a text into the editor. The text that was there becomes a draft.
fn bring_back(state: &mut ChatState, text: &str) {
    let written = state.draft();
    if !written.trim().is_empty() && written != text {
        state.drafts.put_aside(&written);
        state.notice =
            Some(Notice::new(format!("your text was saved as a draft{}", way_back(state))));
    }
    if let Some(draft) = state.history.draft().map(str::to_owned) {
        state.drafts.put_aside(&draft);
        state.history.leave();
    }
    state.drafts.remove(text);
    state.editor.set(text);
}

/// Returns the end of a notice that names the key for drafts.
pub(super) fn way_back(state: &ChatState) -> String {
    let key = state.bindings.key(ChatAction::Draft);
    key.map_or(String::new(), |key| format!("; {key} restores it"))
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
    // The editor has the focus unless a list is open: printable keys are text, whatever they are bound to.
    let action = state.bindings.command(key, state.selector.is_none());
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
                DoubleEscape::Tree => {
                    (ChatEffect::Exit(ExitReason::Tree), "press again to open the tree")
                }
                DoubleEscape::Fork => (
                    ChatEffect::Run(ChatCommand::Branch(None)),
                    "press again to choose a message to fork from",
                ),
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

/// Shows that a text is too long for the editor.
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

/// Handles a key in the list of messages.
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
        "press again to quit"
    } else {
        let text = state.editor.clear();
        let draft = state.history.draft().map(str::to_owned);
        draft.into_iter().for_each(|draft| state.drafts.put_aside(&draft));
        state.history.add(&text);
        state.cleared = Some(text);
        "↑ restores the text · press again to quit"
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
        // The text before ↑ becomes the next draft; an earlier message becomes one only if it was
        // changed.
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

/// Replaces the word at the cursor by another completion.
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
