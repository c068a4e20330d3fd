//! Handles keys in prompts, labels and overlays.

use super::dialog::{Overlay, OverlayKind, Prompt, TreeMode};
use super::event::TreeEffect;
use super::state::TreeState;
use super::update::wait;
use crate::input::TextInput;
use crate::keys::{Code, Key};

/// Returns the scroll position of a page of `lines` lines after a key. Every key that does not
/// scroll closes the page.
pub(super) fn scrolled(state: &TreeState, top: usize, lines: usize, key: Key) -> Option<usize> {
    let height = usize::from(state.size.1.saturating_sub(2)).max(1);
    let last_top = lines.saturating_sub(height);
    match key.code {
        Code::Up => Some(top.saturating_sub(1)),
        Code::Down => Some((top + 1).min(last_top)),
        Code::PageUp => Some(top.saturating_sub(height)),
        Code::PageDown => Some((top + height).min(last_top)),
        _ => None,
    }
}

pub(super) fn read(state: &mut TreeState, overlay: Box<Overlay>, top: usize, key: Key) {
    let is_confirmed = overlay.subject == OverlayKind::Compaction && key.code == Code::Enter;
    let lines = overlay.page.lines.len();
    state.mode = match scrolled(state, top, lines, key) {
        Some(top) => TreeMode::Overlay(overlay, top),
        None if is_confirmed => TreeMode::Prompt(Prompt::Compact, TextInput::default()),
        None => TreeMode::Browse,
    };
}

/// Handles a key in the answer to a question.
pub(super) fn answer(
    state: &mut TreeState,
    question: Prompt,
    mut input: TextInput,
    key: Key,
    effects: &mut Vec<TreeEffect>,
) {
    if key.code == Code::Esc {
        return;
    }
    if key.code != Code::Enter {
        if !matches!(question, Prompt::Copy(_)) {
            input.take(key);
        }
        state.mode = TreeMode::Prompt(question, input);
        return;
    }
    let answer = Some(input.text().trim().to_owned()).filter(|answer| !answer.is_empty());
    match question {
        Prompt::Summarize(id) => {
            wait(state, "summarizing", TreeEffect::NavigateWithSummary(id, answer), effects);
        }
        Prompt::Merge(id) => wait(state, "merging", TreeEffect::Merge(id, answer), effects),
        Prompt::Copy(id) => wait(state, "copying", TreeEffect::NavigateInCopy(id), effects),
        Prompt::Compact => wait(state, "compacting", TreeEffect::Compact(answer), effects),
        Prompt::Export(id) => match answer {
            Some(file) => wait(state, "exporting", TreeEffect::Export(id, file), effects),
            None => state.mode = TreeMode::Prompt(Prompt::Export(id), input),
        },
    }
}

pub(super) fn edit_label(
    state: &mut TreeState,
    node: u32,
    mut input: TextInput,
    key: Key,
    effects: &mut Vec<TreeEffect>,
) {
    match key.code {
        Code::Esc => {}
        Code::Enter => {
            let label = Some(input.text().trim()).filter(|label| !label.is_empty());
            if label != state.outline.label(node) {
                let id = state.outline.id(node).to_owned();
                effects.push(TreeEffect::Label(id, label.map(str::to_owned)));
            }
        }
        _ => {
            input.take(key);
            state.mode = TreeMode::Label { node, input };
        }
    }
}
