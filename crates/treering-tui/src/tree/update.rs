//! What happens when something happens: a state and an event give a state and effects.

use super::action::Action;
use super::answer::{answer, edit_label, read, scrolled};
use super::dialog::{Mode, Question, Subject, Work};
use super::event::{Effect, Event};
use super::filter::Filter;
use super::outline::Outline;
use super::preview::Shown;
use super::rows::Fold;
use super::state::State;
use crate::happening::{Happening, Mouse};
use crate::input::Input;
use crate::keys::{Code, Key};
use crate::page::Reader;
use crate::{Notice, Screen};
use ratatui::Frame;
use treering::Role;

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

/// How many rows a turn of the wheel is, and how many columns a step to the side.
const WHEEL: isize = 3;
const PAN: i32 = 8;

/// The state after an event, and what is to be done. Pure: it reads and writes nothing.
pub fn update(mut state: State, event: Event) -> (State, Vec<Effect>) {
    let mut effects = Vec::new();
    match event {
        Event::Happened(happening) => on_happening(&mut state, happening, &mut effects),
        Event::Tree(outline) => on_tree(&mut state, outline, &mut effects),
        // What was read of an older tree names other entries.
        Event::Gists(generation, gists) if generation == state.generation => state.learn(gists),
        Event::Found(generation, search, nodes)
            if generation == state.generation && search == state.search.text() =>
        {
            state.find(&nodes);
        }
        Event::Page(id, shown, page) if is_asked_for(&state, &id, shown) => {
            state.preview.page = Some(Reader::new(page));
        }
        Event::Gists(..) | Event::Found(..) | Event::Page(..) => {}
        Event::Sheet(sheet) => state.mode = Mode::Read(sheet, 0),
        Event::Progress(characters) => {
            if let Mode::Wait(work) = &mut state.mode {
                work.characters = characters;
            }
        }
        Event::Noticed(notice) => {
            state.notice.get_or_insert(Notice::new(notice));
        }
        Event::Lost(why) => effects.push(Effect::Reopen(why)),
        Event::Went(draft) => effects.push(Effect::Talk(draft)),
        Event::ReadOnly(id) => state.mode = Mode::Ask(Question::Copy(id), Input::default()),
        Event::Replaced(notice) => effects.push(Effect::Again(notice)),
        Event::Done(notice) => finish(&mut state, Notice::new(notice)),
        Event::Failed(why) => finish(&mut state, Notice::failure(why)),
    }
    state.follow_cursor();
    ask_for_page(&mut state, &mut effects);
    state.fit_page();
    (state, effects)
}

fn on_happening(state: &mut State, happening: Happening, effects: &mut Vec<Effect>) {
    match happening {
        Happening::Key(key) => {
            state.notice = None;
            on_key(state, key, effects);
        }
        Happening::Paste(text) => on_paste(state, &text, effects),
        Happening::Mouse(mouse) => on_mouse(state, mouse),
        Happening::Resize(width, height) => {
            state.size = (width, height);
            if let Mode::Read(sheet, _) = &state.mode
                && let Subject::Diff(a, b) = &sheet.subject
            {
                effects.push(Effect::Diff(a.clone(), b.clone(), width));
            }
        }
        Happening::Stop => effects.push(Effect::Stop),
    }
}

fn finish(state: &mut State, notice: Notice) {
    if matches!(state.mode, Mode::Wait(_)) {
        state.mode = Mode::Browse;
    }
    state.notice = Some(notice);
}

fn on_tree(state: &mut State, outline: Outline, effects: &mut Vec<Effect>) {
    state.renew(outline);
    effects.push(Effect::Read);
    if !state.search.is_empty() {
        effects.push(Effect::Search(state.search.text().to_owned()));
    }
}

fn is_asked_for(state: &State, id: &str, shown: Shown) -> bool {
    state.preview.asked.is_some_and(|(node, asked)| asked == shown && state.outline.id(node) == id)
}

fn ask_for_page(state: &mut State, effects: &mut Vec<Effect>) {
    let shown = state.shown();
    let wanted = state.selected_node().filter(|_| shown != Shown::Nothing);
    let wanted = wanted.map(|node| (node, shown));
    if wanted == state.preview.asked {
        return;
    }
    state.preview.page = None;
    state.preview.asked = wanted;
    if let Some((node, shown)) = wanted {
        effects.push(Effect::Preview(state.outline.id(node).to_owned(), shown));
    }
}

fn on_key(state: &mut State, key: Key, effects: &mut Vec<Effect>) {
    let action = state.bindings.command(key, state.is_typing());
    if action == Some(Action::Close) {
        effects.extend([Effect::Cancel, Effect::Close]);
        return;
    }
    match std::mem::take(&mut state.mode) {
        Mode::Label { node, input } => edit_label(state, node, input, key, effects),
        Mode::Help(top) => {
            let lines = state.bindings.list().len();
            state.mode = scrolled(state, top, lines, key).map_or(Mode::Browse, Mode::Help);
        }
        Mode::Ask(question, input) => answer(state, question, input, key, effects),
        Mode::Read(sheet, top) => read(state, sheet, top, key),
        Mode::Wait(work) => {
            if key.code == Code::Esc {
                effects.push(Effect::Cancel);
            }
            state.mode = Mode::Wait(work);
        }
        Mode::Browse => match (action, key.typed()) {
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

fn search_anew(state: &mut State, effects: &mut Vec<Effect>) {
    state.search_anew();
    effects.push(Effect::Search(state.search.text().to_owned()));
}

/// Wants something done that the keys wait for.
pub(super) fn wait(
    state: &mut State,
    what: &'static str,
    effect: Effect,
    effects: &mut Vec<Effect>,
) {
    state.mode = Mode::Wait(Work { what, characters: 0 });
    effects.push(effect);
}

fn on_paste(state: &mut State, text: &str, effects: &mut Vec<Effect>) {
    match &mut state.mode {
        Mode::Label { input, .. } | Mode::Ask(_, input) => input.insert(text),
        Mode::Browse => {
            state.search.insert(text);
            search_anew(state, effects);
        }
        Mode::Help(_) | Mode::Read(..) | Mode::Wait(_) => {}
    }
}

fn on_mouse(state: &mut State, mouse: Mouse) {
    let areas = state.areas();
    match mouse {
        _ if state.mode != Mode::Browse => {}
        Mouse::Click(x, y) if areas.list.contains((x, y).into()) => {
            let row = state.top + usize::from(y - areas.list.y);
            move_to(state, row);
        }
        Mouse::WheelUp(x, y) if areas.preview.contains((x, y).into()) => scroll(state, -WHEEL),
        Mouse::WheelDown(x, y) if areas.preview.contains((x, y).into()) => scroll(state, WHEEL),
        Mouse::WheelUp(..) => step(state, -WHEEL),
        Mouse::WheelDown(..) => step(state, WHEEL),
        Mouse::Click(..) => {}
    }
}

fn act(state: &mut State, action: Action, effects: &mut Vec<Effect>) {
    let page = (state.areas().list.height as isize).max(1);
    let last = state.rows.len().saturating_sub(1);
    match action {
        Action::Up => match state.cursor_row() {
            Some(0) => move_to(state, last),
            _ => step(state, -1),
        },
        Action::Down => match state.cursor_row() {
            Some(row) if row == last => move_to(state, 0),
            _ => step(state, 1),
        },
        Action::PageUp => step(state, -page),
        Action::PageDown => step(state, page),
        Action::PreviousTurn => turn(state, false),
        Action::NextTurn => turn(state, true),
        Action::First => move_to(state, 0),
        Action::Last => move_to(state, last),
        Action::FoldOrUp => fold_or_up(state),
        Action::UnfoldOrDown => unfold_or_down(state),
        Action::Go => with_selected(state, |state, id| {
            wait(state, "going", Effect::Go(id), effects);
        }),
        Action::SummariseAndGo => ask(state, Question::Summarise, ""),
        Action::Stay => with_selected(state, |state, id| {
            wait(state, "going", Effect::Stay(id), effects);
        }),
        Action::Undo => wait(state, "going back", Effect::Undo, effects),
        Action::Mark => mark(state),
        Action::Diff => compare(state, effects),
        Action::Fork => with_selected(state, |state, id| {
            wait(state, "forking", Effect::Fork(id), effects);
        }),
        Action::Clone => wait(state, "cloning", Effect::Clone, effects),
        Action::CherryPick => {
            let marked = std::mem::take(&mut state.marked);
            let nodes =
                if marked.is_empty() { Vec::from_iter(state.selected_node()) } else { marked };
            let ids: Vec<_> = nodes.iter().map(|node| state.outline.id(*node).to_owned()).collect();
            if !ids.is_empty() {
                wait(state, "copying", Effect::CherryPick(ids), effects);
            }
        }
        Action::Merge => ask(state, Question::Merge, ""),
        Action::Compact => effects.push(Effect::PlanCompaction),
        Action::Export => {
            let file = format!("{}.html", file_name(state.selected().unwrap_or_default()));
            ask(state, Question::Export, &file);
        }
        Action::Copy => effects.extend(selected(state).map(Effect::Copy)),
        Action::EditLabel => {
            if let Some(node) = state.selected_node() {
                let input = Input::new(state.outline.label(node).unwrap_or_default());
                state.mode = Mode::Label { node, input };
            }
        }
        Action::LabelTimes => state.label_times = !state.label_times,
        // The key of the filter in force goes back to the usual one.
        Action::Choose(filter) if filter == state.filter => choose(state, Filter::Default),
        Action::Choose(filter) => choose(state, filter),
        Action::NextFilter => {
            let next = state.filter.next();
            choose(state, next);
        }
        Action::PreviousFilter => {
            let previous = state.filter.previous();
            choose(state, previous);
        }
        Action::Preview => state.preview.choice = Some(state.shown().next()),
        Action::PreviewUp => scroll(state, -1),
        Action::PreviewDown => scroll(state, 1),
        Action::PanLeft => state.pan = state.pan.saturating_sub(PAN).max(-i32::from(i16::MAX)),
        Action::PanRight => state.pan = state.pan.saturating_add(PAN).min(i32::from(i16::MAX)),
        Action::Help => state.mode = Mode::Help(0),
        Action::Back if state.search.is_empty() => effects.push(Effect::Close),
        Action::Back => {
            state.search.clear();
            search_anew(state, effects);
        }
        Action::Close => effects.push(Effect::Close),
    }
}

fn selected(state: &State) -> Option<String> {
    state.selected().map(str::to_owned)
}

fn with_selected(state: &mut State, act: impl FnOnce(&mut State, String)) {
    if let Some(id) = selected(state) {
        act(state, id);
    }
}

fn ask(state: &mut State, question: fn(String) -> Question, suggestion: &str) {
    with_selected(state, |state, id| {
        state.mode = Mode::Ask(question(id), Input::new(suggestion));
    });
}

/// What an id is called as a file: an id may be anything.
fn file_name(id: &str) -> String {
    let is_plain = |character: &char| character.is_ascii_alphanumeric() || *character == '-';
    let name: String = id.chars().filter(is_plain).take(32).collect();
    if name.is_empty() { "branch".to_owned() } else { name }
}

/// Marks the selected entry, or no longer, and goes on to the next.
fn mark(state: &mut State) {
    let Some(node) = state.selected_node() else { return };
    match state.marked.iter().position(|marked| *marked == node) {
        Some(at) => {
            state.marked.remove(at);
        }
        None => state.marked.push(node),
    }
    step(state, 1);
}

/// The two entries marked last, or the marked one and the selected one.
fn compare(state: &mut State, effects: &mut Vec<Effect>) {
    let pair = match (state.marked.as_slice(), state.selected_node()) {
        ([.., a, b], _) => Some((*a, *b)),
        ([a], Some(b)) if *a != b => Some((*a, b)),
        _ => None,
    };
    match pair {
        Some((a, b)) => {
            let id = |node| state.outline.id(node).to_owned();
            effects.push(Effect::Diff(id(a), id(b), state.size.0));
        }
        None => {
            let key = state.bindings.key(Action::Mark).map(|key| key.to_string());
            let how = key.map(|key| format!(" with {key}")).unwrap_or_default();
            let notice = format!("mark an entry{how}, then choose another to compare it with");
            state.notice = Some(Notice::new(notice));
        }
    }
}

fn choose(state: &mut State, filter: Filter) {
    state.filter = filter;
    state.lay_out();
}

fn move_to(state: &mut State, row: usize) {
    if let Some(row) = state.rows.get(row) {
        state.cursor = row.node;
    }
}

/// Moves by so many rows, as far as there are rows.
fn step(state: &mut State, rows: isize) {
    let Some(row) = state.cursor_row() else { return };
    let last = state.rows.len().saturating_sub(1);
    move_to(state, row.saturating_add_signed(rows).min(last));
}

/// Moves to the nearest message of the user above or below, if there is one.
fn turn(state: &mut State, is_below: bool) {
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

fn scroll(state: &mut State, lines: isize) {
    if let Some(page) = &mut state.preview.page {
        page.scroll(lines);
    }
}

fn fold_or_up(state: &mut State) {
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

fn unfold_or_down(state: &mut State) {
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
