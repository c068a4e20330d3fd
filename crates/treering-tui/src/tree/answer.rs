//! Keys that are not for the tree: in a question, in a label, on a page that is being read.

use super::dialog::{Mode, Question, Sheet, Subject};
use super::event::Effect;
use super::state::State;
use super::update::wait;
use crate::input::Input;
use crate::keys::{Code, Key};

/// Where a page of so many lines is looked at after a key; any key but those that scroll puts it
/// away.
pub(super) fn scrolled(state: &State, top: usize, lines: usize, key: Key) -> Option<usize> {
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

pub(super) fn read(state: &mut State, sheet: Box<Sheet>, top: usize, key: Key) {
    let is_confirmed = sheet.subject == Subject::Compaction && key.code == Code::Enter;
    let lines = sheet.page.lines.len();
    state.mode = match scrolled(state, top, lines, key) {
        Some(top) => Mode::Read(sheet, top),
        None if is_confirmed => Mode::Ask(Question::Compact, Input::default()),
        None => Mode::Browse,
    };
}

/// A key in the answer to a question.
pub(super) fn answer(
    state: &mut State,
    question: Question,
    mut input: Input,
    key: Key,
    effects: &mut Vec<Effect>,
) {
    if key.code == Code::Esc {
        return;
    }
    if key.code != Code::Enter {
        if !matches!(question, Question::Copy(_)) {
            input.take(key);
        }
        state.mode = Mode::Ask(question, input);
        return;
    }
    let answer = Some(input.text().trim().to_owned()).filter(|answer| !answer.is_empty());
    match question {
        Question::Summarise(id) => {
            wait(state, "summarising", Effect::SummariseAndGo(id, answer), effects);
        }
        Question::Merge(id) => wait(state, "merging", Effect::Merge(id, answer), effects),
        Question::Copy(id) => wait(state, "copying", Effect::GoInCopy(id), effects),
        Question::Compact => wait(state, "compacting", Effect::Compact(answer), effects),
        Question::Export(id) => match answer {
            Some(file) => wait(state, "exporting", Effect::Export(id, file), effects),
            None => state.mode = Mode::Ask(Question::Export(id), input),
        },
    }
}

pub(super) fn edit_label(
    state: &mut State,
    node: u32,
    mut input: Input,
    key: Key,
    effects: &mut Vec<Effect>,
) {
    match key.code {
        Code::Esc => {}
        Code::Enter => {
            let label = Some(input.text().trim()).filter(|label| !label.is_empty());
            if label != state.outline.label(node) {
                let id = state.outline.id(node).to_owned();
                effects.push(Effect::Label(id, label.map(str::to_owned)));
            }
        }
        _ => {
            input.take(key);
            state.mode = Mode::Label { node, input };
        }
    }
}
