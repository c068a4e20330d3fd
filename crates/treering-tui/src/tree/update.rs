//! What happens when something happens: a state and an event give a state and effects.

use super::action::Action;
use super::gist::Gist;
use super::outline::Outline;
use super::preview::Shown;
use super::rows::Fold;
use super::state::{Mode, State};
use crate::Screen;
use crate::happening::{Happening, Mouse};
use crate::input::Input;
use crate::keys::{Code, Key};
use crate::page::Page;
use ratatui::Frame;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Something at the terminal.
    Happened(Happening),
    /// The session has another tree or leaf.
    Tree(Outline),
    /// Entries of the tree of this generation were read.
    Gists(u64, Vec<(u32, Gist)>),
    /// These entries of the tree of this generation have all words of this search in their content.
    Found(u64, String, Vec<u32>),
    /// A preview that was asked for.
    Page(String, Shown, Page),
    /// Something a person should know.
    Notice(String),
}

impl From<Happening> for Event {
    fn from(happening: Happening) -> Self {
        Event::Happened(happening)
    }
}

impl From<Key> for Event {
    fn from(key: Key) -> Self {
        Event::Happened(Happening::Key(key))
    }
}

/// Something to be done. Entries are named by their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Close the selector.
    Close,
    /// End the program.
    Stop,
    /// Move the leaf.
    Go(String),
    /// The same, with a summary of what is left behind.
    SummariseAndGo(String),
    /// Move the leaf back to where it was.
    Undo,
    /// Set or clear a label.
    Label(String, Option<String>),
    /// Put an entry's text on the clipboard.
    Copy(String),
    /// Look for words in the whole content of all entries; nothing more to look for if empty.
    Search(String),
    /// Read the gists that are not known of the tree of this generation.
    Read(u64),
    /// Make a page.
    Preview(String, Shown),
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
            state.preview.page = Some(page);
        }
        Event::Gists(..) | Event::Found(..) | Event::Page(..) => {}
        Event::Notice(notice) => state.notice = Some(crate::text::safe_line(&notice)),
    }
    state.follow_cursor();
    ask_for_page(&mut state, &mut effects);
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
        Happening::Resize(width, height) => state.size = (width, height),
        Happening::Stop => effects.push(Effect::Stop),
    }
}

fn on_tree(state: &mut State, outline: Outline, effects: &mut Vec<Effect>) {
    state.renew(outline);
    effects.push(Effect::Read(state.generation));
    if !state.search.is_empty() {
        effects.push(Effect::Search(state.search.text().to_owned()));
    }
}

fn is_asked_for(state: &State, id: &str, shown: Shown) -> bool {
    state.preview.asked.is_some_and(|(node, asked)| asked == shown && state.outline.id(node) == id)
}

fn ask_for_page(state: &mut State, effects: &mut Vec<Effect>) {
    let shown = state.preview.shown;
    let wanted = state.selected_node().filter(|_| shown != Shown::Nothing);
    let wanted = wanted.map(|node| (node, shown));
    if wanted == state.preview.asked {
        return;
    }
    state.preview.scroll = 0;
    state.preview.page = None;
    state.preview.asked = wanted;
    if let Some((node, shown)) = wanted {
        effects.push(Effect::Preview(state.outline.id(node).to_owned(), shown));
    }
}

fn on_key(state: &mut State, key: Key, effects: &mut Vec<Effect>) {
    let action = state.bindings.action(key);
    if action == Some(Action::Close) {
        effects.push(Effect::Close);
        return;
    }
    match std::mem::take(&mut state.mode) {
        Mode::Label { node, input } => edit_label(state, node, input, key, effects),
        Mode::Help(top) => state.mode = help(state, top, key),
        Mode::Browse => match (action, key.typed()) {
            // Words are parted by blanks: in a search the key is one.
            (Some(Action::Mark), Some(' ')) if !state.search.is_empty() => {
                state.search.take(key);
                search_anew(state, effects);
            }
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

fn edit_label(state: &mut State, node: u32, mut input: Input, key: Key, effects: &mut Vec<Effect>) {
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

fn on_paste(state: &mut State, text: &str, effects: &mut Vec<Effect>) {
    match &mut state.mode {
        Mode::Label { input, .. } => input.insert(text),
        Mode::Browse => {
            state.search.insert(text);
            search_anew(state, effects);
        }
        Mode::Help(_) => {}
    }
}

fn on_mouse(state: &mut State, mouse: Mouse) {
    let areas = state.areas();
    match mouse {
        _ if state.mode != Mode::Browse => {}
        Mouse::Click(x, y) if areas.tree.contains((x, y).into()) => {
            let row = state.top + usize::from(y - areas.tree.y);
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
    let page = (state.areas().tree.height as isize).max(1);
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
        Action::First => move_to(state, 0),
        Action::Last => move_to(state, last),
        Action::FoldOrUp => fold_or_up(state),
        Action::UnfoldOrDown => unfold_or_down(state),
        Action::Go => effects.extend(selected(state).map(Effect::Go)),
        Action::SummariseAndGo => effects.extend(selected(state).map(Effect::SummariseAndGo)),
        Action::Undo => effects.push(Effect::Undo),
        Action::Copy => effects.extend(selected(state).map(Effect::Copy)),
        Action::EditLabel => {
            if let Some(node) = state.selected_node() {
                let input = Input::new(state.outline.label(node).unwrap_or_default());
                state.mode = Mode::Label { node, input };
            }
        }
        Action::Stay
        | Action::Mark
        | Action::Diff
        | Action::Fork
        | Action::Clone
        | Action::CherryPick
        | Action::Merge
        | Action::Compact
        | Action::Export => {}
        Action::LabelTimes => state.label_times = !state.label_times,
        Action::Choose(filter) => choose(state, filter),
        Action::NextFilter => {
            let next = state.filter.next();
            choose(state, next);
        }
        Action::PreviousFilter => {
            let previous = state.filter.previous();
            choose(state, previous);
        }
        Action::Preview => state.preview.shown = state.preview.shown.next(),
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

fn choose(state: &mut State, filter: super::Filter) {
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

fn scroll(state: &mut State, lines: isize) {
    let last = state.preview.page.as_ref().map_or(0, |page| page.lines.len().saturating_sub(1));
    state.preview.scroll = state.preview.scroll.saturating_add_signed(lines).min(last);
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
