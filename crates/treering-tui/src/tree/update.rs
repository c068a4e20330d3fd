//! The update function of the tree selector, which maps a state and an event to a new state and
//! effects.

use super::Filter;
use super::action::TreeAction;
use super::dialog::{OverlayKind, Prompt, Task, TreeMode};
use super::dialog_keys::{answer, edit_label, read, scrolled};
use super::event::{TreeEffect, TreeEvent};
use super::preview_pane::PreviewContent;
use super::state::TreeState;
use crate::input::TextInput;
use crate::keys::{Code, Key};
use crate::page::PageView;
use crate::terminal_event::{MouseEvent, TerminalEvent};
use crate::{Notice, Screen};
use ratatui::Frame;
use treering::Role;
use treering_display::tree::Fold;
use treering_display::tree::Outline;

impl Screen for TreeState {
    type Event = TreeEvent;
    type Effect = TreeEffect;

    fn update(self, event: TreeEvent) -> (Self, Vec<TreeEffect>) {
        update(self, event)
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        super::draw(self, frame);
    }
}

/// The number of rows per step of the mouse wheel, and of columns per step to the side.
const WHEEL: isize = 3;
const PAN: i32 = 8;

/// Returns the new state and the effects of an event. The function is pure: it reads and writes
/// nothing.
pub fn update(mut state: TreeState, event: TreeEvent) -> (TreeState, Vec<TreeEffect>) {
    let mut effects = Vec::new();
    match event {
        TreeEvent::Terminal(terminal_event) => {
            on_terminal_event(&mut state, terminal_event, &mut effects)
        }
        TreeEvent::Tree(outline) => on_tree(&mut state, outline, &mut effects),
        // Results for an older tree refer to other entries.
        TreeEvent::PreviewLines(generation, preview_lines) if generation == state.generation => {
            state.learn(preview_lines)
        }
        TreeEvent::Found(generation, search, nodes)
            if generation == state.generation && search == state.search.text() =>
        {
            state.find(nodes);
        }
        TreeEvent::Page(id, shown, page) if is_asked_for(&state, &id, shown) => {
            state.preview.page = Some(PageView::new(page));
        }
        TreeEvent::PreviewLines(..) | TreeEvent::Found(..) | TreeEvent::Page(..) => {}
        TreeEvent::Overlay(overlay) => state.mode = TreeMode::Overlay(overlay, 0),
        TreeEvent::Progress(characters) => {
            if let TreeMode::Busy(work) = &mut state.mode {
                work.characters = characters;
            }
        }
        TreeEvent::Notice(notice) => {
            state.notice.get_or_insert(Notice::new(notice));
        }
        TreeEvent::FileLost(why) => effects.push(TreeEffect::Reopen(why)),
        TreeEvent::Navigated(draft) => effects.push(TreeEffect::OpenChat(draft)),
        TreeEvent::ReadOnly(id) => {
            state.mode = TreeMode::Prompt(Prompt::Copy(id), TextInput::default())
        }
        TreeEvent::Replaced(notice) => effects.push(TreeEffect::ShowReplacement(notice)),
        TreeEvent::Done(notice) => finish(&mut state, Notice::new(notice)),
        TreeEvent::Failed(why) => finish(&mut state, Notice::failure(why)),
    }
    state.follow_cursor();
    ask_for_page(&mut state, &mut effects);
    state.fit_page();
    (state, effects)
}

fn on_terminal_event(state: &mut TreeState, event: TerminalEvent, effects: &mut Vec<TreeEffect>) {
    match event {
        TerminalEvent::Key(key) => {
            state.notice = None;
            on_key(state, key, effects);
        }
        TerminalEvent::Paste(text) => on_paste(state, &text, effects),
        TerminalEvent::Mouse(mouse) => on_mouse(state, mouse),
        TerminalEvent::Resize(width, height) => {
            state.size = (width, height);
            if let TreeMode::Overlay(overlay, _) = &state.mode
                && let OverlayKind::Diff(a, b) = &overlay.subject
            {
                effects.push(TreeEffect::Diff(a.clone(), b.clone(), width));
            }
        }
        TerminalEvent::Stop => effects.push(TreeEffect::Stop),
    }
}

fn finish(state: &mut TreeState, notice: Notice) {
    if matches!(state.mode, TreeMode::Busy(_)) {
        state.mode = TreeMode::Browse;
    }
    state.notice = Some(notice);
}

fn on_tree(state: &mut TreeState, outline: Outline, effects: &mut Vec<TreeEffect>) {
    state.renew(outline);
    effects.push(TreeEffect::Read);
    if !state.search.is_empty() {
        effects.push(TreeEffect::Search(state.search.text().to_owned()));
    }
}

fn is_asked_for(state: &TreeState, id: &str, shown: PreviewContent) -> bool {
    state.preview.asked.is_some_and(|(node, asked)| asked == shown && state.outline.id(node) == id)
}

fn ask_for_page(state: &mut TreeState, effects: &mut Vec<TreeEffect>) {
    let shown = state.shown();
    let wanted = state.selected_node().filter(|_| shown != PreviewContent::Nothing);
    let wanted = wanted.map(|node| (node, shown));
    if wanted == state.preview.asked {
        return;
    }
    state.preview.page = None;
    state.preview.asked = wanted;
    if let Some((node, shown)) = wanted {
        effects.push(TreeEffect::Preview(state.outline.id(node).to_owned(), shown));
    }
}

fn on_key(state: &mut TreeState, key: Key, effects: &mut Vec<TreeEffect>) {
    let action = state.bindings.command(key, state.is_typing());
    if action == Some(TreeAction::Close) {
        effects.extend([TreeEffect::Cancel, TreeEffect::Close]);
        return;
    }
    match std::mem::take(&mut state.mode) {
        TreeMode::Label { node, input } => edit_label(state, node, input, key, effects),
        TreeMode::Help(top) => {
            let lines = state.bindings.list().len();
            state.mode = scrolled(state, top, lines, key).map_or(TreeMode::Browse, TreeMode::Help);
        }
        TreeMode::Prompt(question, input) => answer(state, question, input, key, effects),
        TreeMode::Overlay(overlay, top) => read(state, overlay, top, key),
        TreeMode::Busy(work) => {
            if key.code == Code::Esc {
                effects.push(TreeEffect::Cancel);
            }
            state.mode = TreeMode::Busy(work);
        }
        TreeMode::Browse => match (action, key.typed()) {
            (Some(action), _) => act(state, action, effects),
            (None, Some(_)) => {
                state.search.take(key);
                search_anew(state, effects);
            }
            (None, None) if key == Key::plain(Code::Backspace) && !state.search.is_empty() => {
                state.search.backspace();
                search_anew(state, effects);
            }
            (None, None) => {}
        },
    }
}

fn search_anew(state: &mut TreeState, effects: &mut Vec<TreeEffect>) {
    state.search_anew();
    effects.push(TreeEffect::Search(state.search.text().to_owned()));
}

/// Starts a task for which the keys wait.
pub(super) fn wait(
    state: &mut TreeState,
    what: &'static str,
    effect: TreeEffect,
    effects: &mut Vec<TreeEffect>,
) {
    state.mode = TreeMode::Busy(Task { what, characters: 0 });
    effects.push(effect);
}

fn on_paste(state: &mut TreeState, text: &str, effects: &mut Vec<TreeEffect>) {
    match &mut state.mode {
        TreeMode::Label { input, .. } | TreeMode::Prompt(_, input) => input.insert(text),
        TreeMode::Browse => {
            state.search.insert(text);
            search_anew(state, effects);
        }
        TreeMode::Help(_) | TreeMode::Overlay(..) | TreeMode::Busy(_) => {}
    }
}

fn on_mouse(state: &mut TreeState, mouse: MouseEvent) {
    let areas = state.areas();
    match mouse {
        _ if state.mode != TreeMode::Browse => {}
        MouseEvent::Click(x, y) if areas.list.contains((x, y).into()) => {
            let row = state.top + usize::from(y - areas.list.y);
            move_to(state, row);
        }
        MouseEvent::WheelUp(x, y) if areas.preview.contains((x, y).into()) => scroll(state, -WHEEL),
        MouseEvent::WheelDown(x, y) if areas.preview.contains((x, y).into()) => {
            scroll(state, WHEEL)
        }
        MouseEvent::WheelUp(..) => step(state, -WHEEL),
        MouseEvent::WheelDown(..) => step(state, WHEEL),
        MouseEvent::Click(..) => {}
    }
}

fn act(state: &mut TreeState, action: TreeAction, effects: &mut Vec<TreeEffect>) {
    let page = (state.areas().list.height as isize).max(1);
    let last = state.rows.len().saturating_sub(1);
    match action {
        TreeAction::Up => match state.cursor_row() {
            Some(0) => move_to(state, last),
            _ => step(state, -1),
        },
        TreeAction::Down => match state.cursor_row() {
            Some(row) if row == last => move_to(state, 0),
            _ => step(state, 1),
        },
        TreeAction::PageUp => step(state, -page),
        TreeAction::PageDown => step(state, page),
        TreeAction::PreviousTurn => turn(state, false),
        TreeAction::NextTurn => turn(state, true),
        TreeAction::First => move_to(state, 0),
        TreeAction::Last => move_to(state, last),
        TreeAction::FoldOrUp => fold_or_up(state),
        TreeAction::UnfoldOrDown => unfold_or_down(state),
        TreeAction::Navigate => with_selected(state, |state, id| {
            wait(state, "navigating", TreeEffect::Navigate(id), effects);
        }),
        TreeAction::NavigateWithSummary => ask(state, Prompt::Summarize, ""),
        TreeAction::MoveLeaf => with_selected(state, |state, id| {
            wait(state, "navigating", TreeEffect::MoveLeaf(id), effects);
        }),
        TreeAction::Undo => wait(state, "undoing", TreeEffect::Undo, effects),
        TreeAction::Mark => mark(state),
        TreeAction::Diff => compare(state, effects),
        TreeAction::Fork => with_selected(state, |state, id| {
            wait(state, "forking", TreeEffect::Fork(id), effects);
        }),
        TreeAction::Resume => with_selected(state, |state, id| {
            let leaf = state.outline.leaf().map(|leaf| state.outline.id(leaf).to_owned());
            effects.push(TreeEffect::Resume(Some(id).filter(|id| Some(id) != leaf.as_ref())));
        }),
        TreeAction::Clone => wait(state, "cloning", TreeEffect::Clone, effects),
        TreeAction::CherryPick => {
            let marked = std::mem::take(&mut state.marked);
            let nodes =
                if marked.is_empty() { Vec::from_iter(state.selected_node()) } else { marked };
            let ids: Vec<_> = nodes.iter().map(|node| state.outline.id(*node).to_owned()).collect();
            if !ids.is_empty() {
                wait(state, "copying", TreeEffect::CherryPick(ids), effects);
            }
        }
        TreeAction::Merge => ask(state, Prompt::Merge, ""),
        TreeAction::Compact => effects.push(TreeEffect::PlanCompaction),
        TreeAction::Export => {
            let file = format!("{}.html", file_name(state.selected().unwrap_or_default()));
            ask(state, Prompt::Export, &file);
        }
        TreeAction::Copy => effects.extend(selected(state).map(TreeEffect::Copy)),
        TreeAction::EditLabel => {
            if let Some(node) = state.selected_node() {
                let input = TextInput::new(state.outline.label(node).unwrap_or_default());
                state.mode = TreeMode::Label { node, input };
            }
        }
        TreeAction::LabelTimes => state.label_times = !state.label_times,
        // The key of the current filter returns to the default filter.
        TreeAction::Choose(filter) if filter == state.filter => choose(state, Filter::Default),
        TreeAction::Choose(filter) => choose(state, filter),
        TreeAction::NextFilter => {
            let next = state.filter.next();
            choose(state, next);
        }
        TreeAction::PreviousFilter => {
            let previous = state.filter.previous();
            choose(state, previous);
        }
        TreeAction::Preview => state.preview.choice = Some(state.shown().next()),
        TreeAction::PreviewUp => scroll(state, -1),
        TreeAction::PreviewDown => scroll(state, 1),
        TreeAction::PanLeft => state.pan = state.pan.saturating_sub(PAN).max(-i32::from(i16::MAX)),
        TreeAction::PanRight => state.pan = state.pan.saturating_add(PAN).min(i32::from(i16::MAX)),
        TreeAction::Help => state.mode = TreeMode::Help(0),
        TreeAction::Back if state.search.is_empty() => effects.push(TreeEffect::Close),
        TreeAction::Back => {
            state.search.clear();
            search_anew(state, effects);
        }
        TreeAction::Close => effects.push(TreeEffect::Close),
    }
}

fn selected(state: &TreeState) -> Option<String> {
    state.selected().map(str::to_owned)
}

fn with_selected(state: &mut TreeState, act: impl FnOnce(&mut TreeState, String)) {
    if let Some(id) = selected(state) {
        act(state, id);
    }
}

fn ask(state: &mut TreeState, question: fn(String) -> Prompt, suggestion: &str) {
    with_selected(state, |state, id| {
        state.mode = TreeMode::Prompt(question(id), TextInput::new(suggestion));
    });
}

/// Returns a file name for an id. An id may contain any character.
fn file_name(id: &str) -> String {
    let is_plain = |character: &char| character.is_ascii_alphanumeric() || *character == '-';
    let name: String = id.chars().filter(is_plain).take(32).collect();
    if name.is_empty() { "branch".to_owned() } else { name }
}

/// Marks or unmarks the selected entry, and moves to the next.
fn mark(state: &mut TreeState) {
    let Some(node) = state.selected_node() else { return };
    match state.marked.iter().position(|marked| *marked == node) {
        Some(at) => {
            state.marked.remove(at);
        }
        None => state.marked.push(node),
    }
    step(state, 1);
}

/// Compares the two entries that were marked last, or the marked one and the selected one.
fn compare(state: &mut TreeState, effects: &mut Vec<TreeEffect>) {
    let pair = match (state.marked.as_slice(), state.selected_node()) {
        ([.., a, b], _) => Some((*a, *b)),
        ([a], Some(b)) if *a != b => Some((*a, b)),
        _ => None,
    };
    match pair {
        Some((a, b)) => {
            let id = |node| state.outline.id(node).to_owned();
            effects.push(TreeEffect::Diff(id(a), id(b), state.size.0));
        }
        None => {
            let key = state.bindings.key(TreeAction::Mark).map(|key| key.to_string());
            let how = key.map(|key| format!(" with {key}")).unwrap_or_default();
            let notice = format!("mark an entry{how}, then choose another to compare it with");
            state.notice = Some(Notice::new(notice));
        }
    }
}

fn choose(state: &mut TreeState, filter: Filter) {
    state.filter = filter;
    state.lay_out();
}

fn move_to(state: &mut TreeState, row: usize) {
    if let Some(row) = state.rows.get(row) {
        state.cursor = row.node;
    }
}

/// Moves the cursor by `rows`, within the tree.
fn step(state: &mut TreeState, rows: isize) {
    let Some(row) = state.cursor_row() else { return };
    let last = state.rows.len().saturating_sub(1);
    move_to(state, row.saturating_add_signed(rows).min(last));
}

/// Moves to the nearest user message above or below.
fn turn(state: &mut TreeState, is_below: bool) {
    let Some(from) = state.cursor_row() else { return };
    let is_turn = |row: &usize| {
        let node =
            state.rows.get(*row).and_then(|row| state.outline.nodes().get(row.node as usize));
        node.is_some_and(|node| node.role == Some(Role::User))
    };
    let found = match is_below {
        true => (from + 1..state.rows.len()).find(is_turn),
        false => (0..from).rev().find(is_turn),
    };
    if let Some(row) = found {
        move_to(state, row);
    }
}

fn scroll(state: &mut TreeState, lines: isize) {
    if let Some(page) = &mut state.preview.page {
        page.scroll(lines);
    }
}

fn fold_or_up(state: &mut TreeState) {
    let Some(at) = state.cursor_row() else { return };
    match state.rows.get(at) {
        Some(row) if row.fold == Fold::Open && state.search.is_empty() => {
            let node = row.node;
            state.cursor = node;
            state.set_folded(node, true);
        }
        _ => {
            let start = state.rows.branch_start(at);
            move_to(state, start);
        }
    }
}

fn unfold_or_down(state: &mut TreeState) {
    let Some(at) = state.cursor_row() else { return };
    match state.rows.get(at) {
        Some(row) if row.fold == Fold::Closed => {
            let node = row.node;
            state.cursor = node;
            state.set_folded(node, false);
        }
        _ => {
            let end = state.rows.branch_end(at);
            move_to(state, end);
        }
    }
}
