//! Draws a state. Changes nothing, and draws nothing but what is on the screen.

use super::dialog::{Mode, Sheet, Subject};
use super::gist::name;
use super::outline::Node;
use super::preview::Shown;
use super::state::State;
use crate::canvas::{Canvas, Pen};
use crate::split::Split;
use crate::text::{columns, safe_line};
use crate::theme::Tone;
use ratatui::Frame;
use ratatui::layout::Rect;
use treering::{Kind, Role};

/// Columns for the mark of the cursor.
const MARK: u16 = 2;
/// A label is cut after so many characters.
const LABEL: usize = 40;

/// Draws the tree selector over the whole screen.
pub fn draw(state: &State, frame: &mut Frame<'_>) {
    let areas = state.areas();
    Canvas::draw(frame, state.theme, |canvas| {
        let mut view = View { state, canvas };
        view.head(areas.head);
        match &state.mode {
            Mode::Help(top) => view.canvas.keys(areas.body(), &state.bindings.list(), *top),
            Mode::Read(sheet, top) => view.sheet(sheet, *top, areas.body()),
            _ => {
                view.tree(areas.list);
                view.preview(areas);
            }
        }
        view.foot(areas.foot);
    });
}

struct View<'a, 'b> {
    state: &'a State,
    canvas: &'a mut Canvas<'b>,
}

impl View<'_, '_> {
    fn put(&mut self, pen: &mut Pen, tone: Tone, text: &str) {
        self.canvas.put(pen, tone, text);
    }

    fn head(&mut self, area: Rect) {
        let state = self.state;
        let position = state.cursor_row().map_or(0, |row| row + 1);
        let mut facts = vec![format!("{position}/{}", state.rows.len())];
        facts.extend([state.outline.agent(), state.filter.name()].map(str::to_owned));
        facts.retain(|fact| !fact.is_empty());
        let facts = format!(" {} ", facts.join(" · "));
        let width = u16::try_from(columns(&facts)).unwrap_or(area.width).min(area.width);
        self.put(&mut Pen::at_end(area, area.y, width), Tone::Plain, &facts);
        let left = Rect { width: area.width - width, ..area };
        let mut pen = Pen::new(left, area.y).marking_cuts();
        match state.search.is_empty() {
            true => self.put(&mut pen, Tone::Title, &format!(" {}", state.title())),
            false => {
                const TITLE: &str = " search: ";
                // The end of a long query is seen, where it is typed.
                let (before, _) = state.search.halves();
                let cursor = columns(TITLE) + columns(&safe_line(before)) + 1;
                pen.first = cursor.saturating_sub(usize::from(left.width));
                self.put(&mut pen, Tone::Title, TITLE);
                self.canvas.input(&mut pen, &state.search);
            }
        }
        self.canvas.title_bar(area);
    }

    fn foot(&mut self, area: Rect) {
        let mut pen = Pen::new(area, area.y).marking_cuts();
        let state = self.state;
        let hint = match &state.mode {
            Mode::Label { .. } => "Enter set the label · Esc leave it",
            Mode::Help(_) => "↑↓ scroll · any key back",
            Mode::Ask(question, input) => {
                self.put(&mut pen, Tone::Title, question.text());
                self.put(&mut pen, Tone::Plain, " ");
                self.canvas.input(&mut pen, input);
                self.put(&mut pen, Tone::Dim, "   ");
                question.hint()
            }
            Mode::Read(sheet, _) if sheet.subject == Subject::Compaction => {
                "Enter compact · ↑↓ scroll · any other key back"
            }
            Mode::Read(..) => "↑↓ scroll · any key back",
            Mode::Wait(work) => {
                self.put(&mut pen, Tone::Title, work.what);
                let count = format!(" … {} characters", work.characters);
                let count = if work.characters > 0 { &count } else { " …" };
                self.put(&mut pen, Tone::Plain, count);
                " · Esc stops it"
            }
            Mode::Browse => match &state.notice {
                Some(notice) => return self.put(&mut pen, notice.tone, &notice.text),
                None => "? keys · Enter go · Tab preview · type to search · Esc close",
            },
        };
        self.put(&mut pen, Tone::Dim, hint);
    }

    fn sheet(&mut self, sheet: &Sheet, top: usize, area: Rect) {
        self.put(&mut Pen::new(area, area.y).marking_cuts(), Tone::Title, &sheet.title);
        let lines = sheet.page.lines.iter().skip(top);
        for (y, line) in (area.y.saturating_add(1)..area.bottom()).zip(lines) {
            self.canvas.line(&mut Pen::new(area, y), line);
        }
    }

    fn tree(&mut self, area: Rect) {
        let cursor = self.state.cursor_row();
        if area.height > 0 && cursor.is_none() {
            let nothing = if self.state.outline.is_empty() {
                "no entries yet"
            } else {
                "nothing to see with this filter and search"
            };
            self.put(&mut Pen::new(area, area.y), Tone::Dim, nothing);
        }
        for (y, row) in (area.y..area.bottom()).zip(self.state.top..self.state.rows.len()) {
            self.row(area, y, row, cursor == Some(row));
        }
    }

    fn row(&mut self, area: Rect, y: u16, at: usize, is_selected: bool) {
        let state = self.state;
        let Some(row) = state.rows.get(at).copied() else { return };
        let Some(node) = state.outline.nodes().get(row.node as usize).copied() else { return };
        if is_selected {
            self.put(&mut Pen::new(area, y), Tone::Cursor, "›");
        }
        if state.marked.contains(&row.node) {
            let mut pen = Pen::new(area, y);
            pen.column = 1;
            self.put(&mut pen, Tone::Label, "*");
        }
        let mark = MARK.min(area.width);
        let line = Rect { x: area.x + mark, width: area.width - mark, ..area };
        let leaf = if node.is_active { self.leaf_mark(at, row.node) } else { "" };
        let leaf_width = u16::try_from(columns(leaf)).unwrap_or(0).min(line.width);
        // However long the text is, the mark of the leaf is seen.
        let text = Rect { width: line.width - leaf_width, ..line };
        let mut pen = Pen::new(text, y);
        let width = usize::from(text.width);
        pen.first = state.first_column(usize::from(line.width));
        // Only the part of the gutter that is looked at: it may be very long.
        let (from, to) = (pen.first / 3, (pen.first + width) / 3 + 1);
        pen.column = from * 3;
        self.put(&mut pen, Tone::Dim, &state.rows.gutter(at, from, to));
        pen.column = row.level as usize * 3;
        if row.level == 0 {
            self.put(&mut pen, Tone::Active, if node.is_active { "• " } else { "  " });
        }
        let mut pen = pen.marking_cuts();
        self.label(&mut pen, row.node);
        self.words(&mut pen, row.node, &node, is_selected);
        if !node.is_active {
            self.canvas.fade(Rect { y, height: 1, ..line });
        }
        let mut end = Pen::new(line, y);
        end.first = pen.first;
        end.column = pen.column.min(pen.first + width);
        self.put(&mut end, Tone::Active, leaf);
        if is_selected {
            self.canvas.select(Rect { y, height: 1, ..area });
        }
    }

    /// Returns the mark of a row of the active path that is the leaf, or below which the leaf is hidden.
    fn leaf_mark(&self, at: usize, shown: u32) -> &'static str {
        let state = self.state;
        let Some(leaf) = state.outline.leaf() else { return "" };
        let is_above = shown < leaf && state.rows.nearest(leaf) == Some(at);
        match shown == leaf {
            true => " ← leaf",
            false if is_above => " ↓ leaf (hidden)",
            false => "",
        }
    }

    fn label(&mut self, pen: &mut Pen, node: u32) {
        let state = self.state;
        if let Mode::Label { node: edited, input } = &state.mode
            && *edited == node
        {
            self.put(pen, Tone::Label, "[");
            self.canvas.input(pen, input);
            self.put(pen, Tone::Label, "] ");
            return;
        }
        let Some(label) = state.outline.label(node) else { return };
        let cut: String = label.chars().take(LABEL).collect();
        let ellipsis = if cut.len() < label.len() { "…" } else { "" };
        self.put(pen, Tone::Label, &format!("[{}{ellipsis}] ", safe_line(&cut)));
        if let Some(time) = state.outline.label_time(node).filter(|_| state.label_times) {
            self.put(pen, Tone::Dim, &format!("{} ", state.zone.minute(time)));
        }
    }

    fn words(&mut self, pen: &mut Pen, at: u32, node: &Node, is_selected: bool) {
        let gist = self.state.gists.get(at);
        let tone = match &gist {
            Some(gist) if gist.is_failure => Tone::Failure,
            _ => tone(node.kind, node.role),
        };
        let text = gist.as_ref().map_or("…", |gist| &gist.text);
        // A call in brackets says that it is one.
        if node.role != Some(Role::ToolResult) || !text.starts_with('[') {
            self.put(pen, tone, name(node.kind, node.role));
            self.put(pen, tone, ": ");
        }
        let is_tool = node.role == Some(Role::ToolResult);
        let plain = if is_selected { Tone::Cursor } else { Tone::Plain };
        self.put(pen, if is_tool { tone } else { plain }, text);
    }

    fn preview(&mut self, areas: Split) {
        let title = match self.state.shown() {
            Shown::Nothing => return,
            Shown::Entry => "entry",
            Shown::Context => "context from here",
        };
        areas.draw_edges(self.canvas, title);
        let Some(page) = &self.state.preview.page else { return };
        let inner = areas.page();
        for (y, row) in (inner.y..inner.bottom()).zip(page.rows()) {
            self.canvas.line(&mut Pen::new(inner, y), row);
        }
    }
}

/// What an entry looks like.
fn tone(kind: Kind, role: Option<Role>) -> Tone {
    match (kind, role) {
        (Kind::Message, Some(Role::User)) | (Kind::CustomMessage, _) => Tone::User,
        (Kind::Message, Some(Role::Assistant)) => Tone::Assistant,
        (Kind::Message, Some(Role::ToolResult | Role::BashExecution)) => Tone::Tool,
        (Kind::Message | Kind::Compaction | Kind::BranchSummary | Kind::Reset, _) => Tone::Summary,
        _ => Tone::Dim,
    }
}
