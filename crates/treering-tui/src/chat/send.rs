//! Sends the text in the editor: to the model, to the shell, or to the chat.

use super::action::ChatAction;
use super::commands::{ChatCommand, ParsedInput};
use super::help;
use super::state::ChatState;
use super::update::{ChatEffect, ExitReason};
use crate::Notice;
use crate::page::Page;

/// Removes the text from the editor before it is sent.
fn take(state: &mut ChatState) {
    let text = state.editor.content();
    // The text that was in the editor before ↑ becomes a draft.
    if let Some(draft) = state.history.draft().map(str::to_owned) {
        state.drafts.put_aside(&draft);
    }
    state.drafts.remove(&text);
    state.history.add(text.trim());
    state.editor.set("");
    state.overlay = None;
}

pub(super) fn send(
    state: &mut ChatState,
    armed: Option<ChatAction>,
    effects: &mut Vec<ChatEffect>,
) {
    let (before, after) = state.editor.halves();
    if before.ends_with('\\') && after.is_empty() {
        state.editor.backspace();
        state.editor.insert("\n");
        return;
    }
    let text = state.editor.content();
    if text.trim().is_empty() {
        return;
    }
    let typed = match ParsedInput::parse(&text) {
        Ok(typed) => typed,
        Err(mistake) => {
            state.notice = Some(Notice::failure(mistake.to_string()));
            return;
        }
    };
    let is_read_only = matches!(&typed, ParsedInput::Command(command) if command.is_read_only());
    if state.work.is_some() && !is_read_only {
        let why = "a task is running; wait for it, or press Esc to stop it";
        state.notice = Some(Notice::failure(why));
        return;
    }
    match typed {
        ParsedInput::Message(_) if state.status.model.is_none() => {
            let page = Page::of_markdown(&state.no_model);
            state.show_overlay("no model is configured", page);
        }
        ParsedInput::Message(_) | ParsedInput::Shell { .. } if offers_copy(state, armed) => {}
        ParsedInput::Message(text) => {
            take(state);
            state.transcript.show_end();
            effects.push(ChatEffect::Send(text));
        }
        ParsedInput::Shell { command, in_context } => {
            take(state);
            state.transcript.show_end();
            effects.push(ChatEffect::Shell { command, in_context });
        }
        ParsedInput::Command(command) => {
            take(state);
            run(state, command, effects);
        }
    }
}

/// Offers to continue in a copy if the session is read-only. Pressing the key again accepts.
fn offers_copy(state: &mut ChatState, armed: Option<ChatAction>) -> bool {
    let Some(why) = &state.status.read_only else { return false };
    if armed == Some(ChatAction::Send) {
        return false;
    }
    let key = state.bindings.key(ChatAction::Send).map_or("send".to_owned(), |key| key.to_string());
    state.notice = Some(Notice::new(format!("{why}; press {key} again to continue in a copy")));
    state.armed = Some(ChatAction::Send);
    true
}

fn run(state: &mut ChatState, command: ChatCommand, effects: &mut Vec<ChatEffect>) {
    match command {
        ChatCommand::Tree => effects.push(ChatEffect::Exit(ExitReason::Tree)),
        ChatCommand::Resume => effects.push(ChatEffect::Exit(ExitReason::Resume)),
        ChatCommand::Quit => effects.push(ChatEffect::Exit(ExitReason::Quit)),
        ChatCommand::Help => {
            let page = help::page(&state.bindings);
            state.show_overlay("commands and keys", page);
        }
        command => effects.push(ChatEffect::Run(command)),
    }
}
