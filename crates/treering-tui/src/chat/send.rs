//! Sending what was written: to the model, to the shell, or to the chat itself.

use super::action::Action;
use super::commands::{Command, Typed};
use super::help;
use super::state::State;
use super::update::{Effect, Left};
use crate::Notice;
use crate::page::Page;

/// Takes what is in the editor out of it, to be sent.
fn take(state: &mut State) {
    let text = state.editor.content();
    // A text that was being written before ↑ brought this one back is not sent with it.
    if let Some(draft) = state.history.draft().map(str::to_owned) {
        state.drafts.put_aside(&draft);
    }
    state.drafts.remove(&text);
    state.history.add(text.trim());
    state.editor.set("");
    state.sheet = None;
}

pub(super) fn send(state: &mut State, armed: Option<Action>, effects: &mut Vec<Effect>) {
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
    let typed = match Typed::read(&text) {
        Ok(typed) => typed,
        Err(mistake) => {
            state.notice = Some(Notice::failure(mistake.to_string()));
            return;
        }
    };
    let only_looks = matches!(&typed, Typed::Command(command) if command.only_looks());
    if state.work.is_some() && !only_looks {
        let why = "something is going on: wait, or stop it with Esc";
        state.notice = Some(Notice::failure(why));
        return;
    }
    match typed {
        Typed::Said(_) if state.status.model.is_none() => {
            let page = Page::of_markdown(&state.no_model);
            state.show_sheet("no model is configured", page);
        }
        Typed::Said(_) | Typed::Shell { .. } if offers_copy(state, armed) => {}
        Typed::Said(text) => {
            take(state);
            state.transcript.show_end();
            effects.push(Effect::Say(text));
        }
        Typed::Shell { command, in_context } => {
            take(state);
            state.transcript.show_end();
            effects.push(Effect::Shell { command, in_context });
        }
        Typed::Command(command) => {
            take(state);
            run(state, command, effects);
        }
    }
}

/// Asks whether to go on in a copy where the session cannot be written to. A second press says yes.
fn offers_copy(state: &mut State, armed: Option<Action>) -> bool {
    let Some(why) = &state.status.read_only else { return false };
    if armed == Some(Action::Send) {
        return false;
    }
    let key = state.bindings.key(Action::Send).map_or("send".to_owned(), |key| key.to_string());
    state.notice = Some(Notice::new(format!("{why}: {key} again goes on in a copy")));
    state.armed = Some(Action::Send);
    true
}

fn run(state: &mut State, command: Command, effects: &mut Vec<Effect>) {
    match command {
        Command::Tree => effects.push(Effect::Leave(Left::Tree)),
        Command::Resume => effects.push(Effect::Leave(Left::Resume)),
        Command::Quit => effects.push(Effect::Leave(Left::Quit)),
        Command::Help => {
            let page = help::page(&state.bindings);
            state.show_sheet("commands and keys", page);
        }
        command => effects.push(Effect::Run(command)),
    }
}
