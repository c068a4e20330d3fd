//! Draws the tree selector. It changes nothing and draws only the visible part.

use super::dialog::{Overlay, OverlayKind, TreeMode};
use super::entry_name::name;
use super::preview_pane::PreviewContent;
use super::state::TreeState;
use crate::draw::{DrawContext, LineCursor};
use crate::split::SplitAreas;
use crate::theme::Tone;
use ratatui::Frame;
use ratatui::layout::Rect;
use treering::{Kind, Role};
use treering_display::columns::columns;
use treering_display::text::safe_line;
use treering_display::tree::OutlineNode;

/// The columns of the cursor mark.
const MARK: u16 = 2;
/// The largest number of characters of a label.
const LABEL: usize = 40;

/// Draws the tree selector over the whole screen.
pub fn draw(state: &TreeState, frame: &mut Frame<'_>) {
    let areas = state.areas();
    DrawContext::draw(frame, state.theme, |draw| {
        let mut view = TreeView { state, draw };
        view.head(areas.head);
        match &state.mode {
            TreeMode::Help(top) => view.draw.keys(areas.body(), &state.bindings.list(), *top),
            TreeMode::Overlay(overlay, top) => view.overlay(overlay, *top, areas.body()),
            _ => {
                view.tree(areas.list);
                view.preview(areas);
            }
        }
        view.foot(areas.foot);
    });
}

struct TreeView<'a, 'b> {
    state: &'a TreeState,
    draw: &'a mut DrawContext<'b>,
}

impl TreeView<'_, '_> {
    fn put(&mut self, cursor: &mut LineCursor, tone: Tone, text: &str) {
        self.draw.put(cursor, tone, text);
    }

    fn head(&mut self, area: Rect) {
        let state = self.state;
        let position = state.cursor_row().map_or(0, |row| row + 1);
        let mut facts = vec![format!("{position}/{}", state.rows.len())];
        facts.extend([state.outline.agent(), state.filter.name()].map(str::to_owned));
        facts.retain(|fact| !fact.is_empty());
        let facts = format!(" {} ", facts.join(" · "));
        let width = u16::try_from(columns(&facts)).unwrap_or(area.width).min(area.width);
        self.put(&mut LineCursor::at_end(area, area.y, width), Tone::Plain, &facts);
        let left = Rect { width: area.width - width, ..area };
        let mut cursor = LineCursor::new(left, area.y).marking_cuts();
        match state.search.is_empty() {
            true => self.put(&mut cursor, Tone::Title, &format!(" {}", state.title())),
            false => {
                const TITLE: &str = " search: ";
                // The end of a long query, where the user types, is visible.
                let (before, _) = state.search.halves();
                let typed = columns(TITLE) + columns(&safe_line(before)) + 1;
                cursor.first = typed.saturating_sub(usize::from(left.width));
                self.put(&mut cursor, Tone::Title, TITLE);
                self.draw.input(&mut cursor, &state.search);
            }
        }
        self.draw.title_bar(area);
    }

    fn foot(&mut self, area: Rect) {
        let mut cursor = LineCursor::new(area, area.y).marking_cuts();
        let state = self.state;
        let hint = match &state.mode {
            TreeMode::Label { .. } => "Enter save · Esc cancel",
            TreeMode::Help(_) => "↑↓ scroll · any other key closes",
            TreeMode::Prompt(question, input) => {
                self.put(&mut cursor, Tone::Title, question.text());
                self.put(&mut cursor, Tone::Plain, " ");
                self.draw.input(&mut cursor, input);
                self.put(&mut cursor, Tone::Dim, "   ");
                question.hint()
            }
            TreeMode::Overlay(overlay, _) if overlay.subject == OverlayKind::Compaction => {
                "Enter compact · ↑↓ scroll · any other key closes"
            }
            TreeMode::Overlay(..) => "↑↓ scroll · any other key closes",
            TreeMode::Busy(work) => {
                self.put(&mut cursor, Tone::Title, work.what);
                let count = format!(" … {} characters", work.characters);
                let count = if work.characters > 0 { &count } else { " …" };
                self.put(&mut cursor, Tone::Plain, count);
                " · Esc stops it"
            }
            TreeMode::Browse => match &state.notice {
                Some(notice) => return self.put(&mut cursor, notice.tone, &notice.text),
                None => "? keys · Enter go · Tab preview · type to search · Esc close",
            },
        };
        self.put(&mut cursor, Tone::Dim, hint);
    }

    fn overlay(&mut self, overlay: &Overlay, top: usize, area: Rect) {
        self.put(&mut LineCursor::new(area, area.y).marking_cuts(), Tone::Title, &overlay.title);
        let lines = overlay.page.lines.iter().skip(top);
        for (y, line) in (area.y.saturating_add(1)..area.bottom()).zip(lines) {
            self.draw.line(&mut LineCursor::new(area, y), line);
        }
    }

    fn tree(&mut self, area: Rect) {
        let cursor = self.state.cursor_row();
        if area.height > 0 && cursor.is_none() {
            let nothing = if self.state.outline.is_empty() {
                "no entries yet"
            } else {
                "no entries match this filter and search"
            };
            self.put(&mut LineCursor::new(area, area.y), Tone::Dim, nothing);
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
            self.put(&mut LineCursor::new(area, y), Tone::Cursor, "›");
        }
        if state.marked.contains(&row.node) {
            let mut cursor = LineCursor::new(area, y);
            cursor.column = 1;
            self.put(&mut cursor, Tone::Label, "*");
        }
        let mark = MARK.min(area.width);
        let line = Rect { x: area.x + mark, width: area.width - mark, ..area };
        let leaf = if node.is_active { self.leaf_mark(at, row.node) } else { "" };
        let leaf_width = u16::try_from(columns(leaf)).unwrap_or(0).min(line.width);
        // The mark of the leaf is always visible.
        let text = Rect { width: line.width - leaf_width, ..line };
        let mut cursor = LineCursor::new(text, y);
        let width = usize::from(text.width);
        cursor.first = state.first_column(usize::from(line.width));
        // Only the visible part of the gutter is drawn.
        let (from, to) = (cursor.first / 3, (cursor.first + width) / 3 + 1);
        cursor.column = from * 3;
        self.put(&mut cursor, Tone::Dim, &state.rows.gutter(at, from, to));
        cursor.column = row.level as usize * 3;
        if row.level == 0 {
            self.put(&mut cursor, Tone::Active, if node.is_active { "• " } else { "  " });
        }
        let mut cursor = cursor.marking_cuts();
        self.label(&mut cursor, row.node);
        self.words(&mut cursor, row.node, &node, is_selected);
        if !node.is_active {
            self.draw.fade(Rect { y, height: 1, ..line });
        }
        let mut end = LineCursor::new(line, y);
        end.first = cursor.first;
        end.column = cursor.column.min(cursor.first + width);
        self.put(&mut end, Tone::Active, leaf);
        if is_selected {
            self.draw.select(Rect { y, height: 1, ..area });
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

    fn label(&mut self, cursor: &mut LineCursor, node: u32) {
        let state = self.state;
        if let TreeMode::Label { node: edited, input } = &state.mode
            && *edited == node
        {
            self.put(cursor, Tone::Label, "[");
            self.draw.input(cursor, input);
            self.put(cursor, Tone::Label, "] ");
            return;
        }
        let Some(label) = state.outline.label(node) else { return };
        let cut: String = label.chars().take(LABEL).collect();
        let ellipsis = if cut.len() < label.len() { "…" } else { "" };
        self.put(cursor, Tone::Label, &format!("[{}{ellipsis}] ", safe_line(&cut)));
        if let Some(time) = state.outline.label_time(node).filter(|_| state.label_times) {
            self.put(cursor, Tone::Dim, &format!("{} ", state.zone.minute(time)));
        }
    }

    fn words(&mut self, cursor: &mut LineCursor, at: u32, node: &OutlineNode, is_selected: bool) {
        let lines = &self.state.preview_lines;
        let tone = match lines.kind(at) {
            Some(kind) if kind.is_failure() => Tone::Failure,
            _ => tone(node.kind, node.role),
        };
        let text = lines.get(at);
        let text = text.as_deref().unwrap_or("…");
        // A call in brackets needs no name before it.
        if node.role != Some(Role::ToolResult) || !text.starts_with('[') {
            self.put(cursor, tone, name(node.kind, node.role));
            self.put(cursor, tone, ": ");
        }
        let is_tool = node.role == Some(Role::ToolResult);
        let plain = if is_selected { Tone::Cursor } else { Tone::Plain };
        self.put(cursor, if is_tool { tone } else { plain }, text);
        if let Some(snippet) = self.state.snippet(at) {
            self.put(cursor, Tone::Dim, &format!(" · {snippet}"));
        }
    }

    fn preview(&mut self, areas: SplitAreas) {
        let title = match self.state.shown() {
            PreviewContent::Nothing => return,
            PreviewContent::Entry => "entry",
            PreviewContent::Context => "context from here",
        };
        areas.draw_edges(self.draw, title);
        let Some(page) = &self.state.preview.page else { return };
        let inner = areas.page();
        for (y, row) in (inner.y..inner.bottom()).zip(page.rows()) {
            self.draw.line(&mut LineCursor::new(inner, y), row);
        }
    }
}

/// Returns the tone of an entry.
fn tone(kind: Kind, role: Option<Role>) -> Tone {
    match (kind, role) {
        (Kind::Message, Some(Role::User)) | (Kind::CustomMessage, _) => Tone::User,
        (Kind::Message, Some(Role::Assistant)) => Tone::Assistant,
        (Kind::Message, Some(Role::ToolResult | Role::BashExecution)) => Tone::Tool,
        (Kind::Message | Kind::Compaction | Kind::BranchSummary | Kind::Reset, _) => Tone::Summary,
        _ => Tone::Dim,
    }
}
