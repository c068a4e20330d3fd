//! Draws a state. Changes nothing, and draws nothing but what is on the screen.

use super::action::Action;
use super::areas::MARK;
use super::complete::complete;
use super::state::{State, Work};
use crate::amount::tokens;
use crate::canvas::{Canvas, Pen};
use crate::text::safe_line;
use crate::theme::Tone;
use ratatui::Frame;
use ratatui::layout::Rect;

/// Draws the chat over the whole screen.
pub fn draw(state: &State, frame: &mut Frame<'_>) {
    let areas = state.areas();
    Canvas::draw(frame, state.theme, |canvas| {
        let mut view = View { state, canvas };
        match &state.sheet {
            Some(_) => view.sheet(areas.transcript),
            None => view.transcript(areas.transcript),
        }
        view.status(areas.status);
        view.editor(areas.editor);
        view.foot(areas.foot);
    });
}

struct View<'a, 'b> {
    state: &'a State,
    canvas: &'a mut Canvas<'b>,
}

impl View<'_, '_> {
    fn transcript(&mut self, area: Rect) {
        let lines = self.state.transcript.visible(usize::from(area.height));
        if lines.is_empty() && self.state.transcript.entries().is_empty() && area.height > 0 {
            let welcome = "Nothing was said yet. Write, and Enter sends it; /help lists the rest.";
            self.canvas.put(&mut Pen::new(area, area.y), Tone::Dim, welcome);
        }
        for (y, line) in (area.y..area.bottom()).zip(lines) {
            self.canvas.line(&mut Pen::new(area, y), line);
        }
    }

    fn sheet(&mut self, area: Rect) {
        let Some(sheet) = &self.state.sheet else { return };
        if area.height == 0 {
            return;
        }
        let mut pen = Pen::new(area, area.y);
        self.canvas.put(&mut pen, Tone::Title, &format!("── {} ", sheet.title));
        let shown = usize::from(area.height) - 1;
        let hint = match sheet.lines.len() > shown {
            true => {
                let last = (sheet.top + shown).min(sheet.lines.len());
                format!(
                    "{}–{last} of {} · PgUp PgDn · Esc closes ",
                    sheet.top + 1,
                    sheet.lines.len()
                )
            }
            false => "Esc closes ".to_owned(),
        };
        self.canvas.put(&mut pen, Tone::Dim, &hint);
        self.canvas.put(&mut pen, Tone::Dim, &"─".repeat(usize::from(area.width)));
        for (y, line) in (area.y + 1..area.bottom()).zip(sheet.lines.iter().skip(sheet.top)) {
            self.canvas.line(&mut Pen::new(area, y), line);
        }
    }

    fn status(&mut self, area: Rect) {
        if area.height == 0 {
            return;
        }
        let status = &self.state.status;
        let mut parts = Vec::new();
        parts.extend(self.state.work.as_ref().map(|work| (Tone::Active, describe(work))));
        if !self.state.transcript.is_at_end() {
            parts.push((Tone::Active, "↓ more below".to_owned()));
        }
        if let Some(drafts) = self.drafts() {
            parts.push((Tone::Label, drafts));
        }
        parts.push((Tone::Title, safe_line(&status.name)));
        let model = status.model.as_deref().unwrap_or("no model");
        parts.push((Tone::Plain, safe_line(model)));
        if let Some(used) = status.tokens.filter(|_| status.window > 0) {
            let percent = used.saturating_mul(100) / status.window;
            let text = format!("{}/{} {percent} %", tokens(used), tokens(status.window));
            parts.push((if percent >= 80 { Tone::Failure } else { Tone::Plain }, text));
        }
        parts.push((Tone::Plain, safe_line(&status.cost)));
        if !matches!(status.thinking.as_str(), "" | "off") {
            parts.push((Tone::Plain, format!("thinking {}", safe_line(&status.thinking))));
        }
        let mut pen = Pen::new(area, area.y);
        self.canvas.put(&mut pen, Tone::Dim, "──");
        for (tone, text) in parts.iter().filter(|(_, text)| !text.is_empty()) {
            let between = if pen.column > 2 { " · " } else { " " };
            self.canvas.put(&mut pen, Tone::Dim, between);
            self.canvas.put(&mut pen, *tone, text);
        }
        self.canvas.put(&mut pen, Tone::Dim, " ");
        self.canvas.put(&mut pen, Tone::Dim, &"─".repeat(usize::from(area.width)));
    }

    /// How many drafts were put aside, and the key for them.
    fn drafts(&self) -> Option<String> {
        let count = match self.state.drafts.texts().len() {
            0 => return None,
            1 => "1 draft".to_owned(),
            count => format!("{count} drafts"),
        };
        let key = self.state.bindings.key(Action::Draft);
        Some(key.map_or(count.clone(), |key| format!("{count}: {key}")))
    }

    fn editor(&mut self, area: Rect) {
        let editor = &self.state.editor;
        let (row, before) = editor.place();
        let shown = usize::from(area.height);
        let top = (row + 1).saturating_sub(shown);
        let mark = MARK.min(area.width);
        let inner = Rect { x: area.x + mark, width: area.width - mark, ..area };
        for (y, (at, text)) in
            (area.y..area.bottom()).zip(editor.rows().iter().enumerate().skip(top))
        {
            let is_first_shown = at == top;
            let sign = if at == 0 { "›" } else { "…" };
            if is_first_shown {
                self.canvas.put(&mut Pen::new(area, y), Tone::User, sign);
            }
            let mut pen = Pen::new(inner, y);
            self.canvas.put(&mut pen, Tone::Plain, &safe_line(editor.row(*text)));
            if at == row {
                let mut pen = Pen::new(inner, y);
                self.canvas.put(&mut pen, Tone::Plain, &safe_line(before));
                self.canvas.type_here(&pen);
            }
        }
    }

    fn foot(&mut self, area: Rect) {
        if area.height == 0 {
            return;
        }
        let mut pen = Pen::new(area, area.y);
        let state = self.state;
        if let Some(notice) = &state.notice {
            self.canvas.put(&mut pen, notice.tone, &notice.text);
            return;
        }
        let (before, _) = state.editor.halves();
        let hints = state.completion.clone().or_else(|| complete(before, &state.names));
        match hints {
            Some(hints) => {
                let chosen = hints.at.or((hints.candidates.len() == 1).then_some(0));
                for (at, (text, _)) in hints.candidates.iter().enumerate() {
                    let tone = if chosen == Some(at) { Tone::Cursor } else { Tone::Dim };
                    self.canvas.put(&mut pen, tone, &safe_line(text));
                    self.canvas.put(&mut pen, Tone::Dim, "  ");
                }
                let about = chosen.and_then(|at| hints.candidates.get(at)).map(|(_, about)| about);
                self.canvas.put(&mut pen, Tone::Plain, &safe_line(about.map_or("", |text| text)));
            }
            None => {
                let keys = match &state.work {
                    Some(_) => "Esc stop · PgUp PgDn scroll · /help",
                    None => "Enter send · Esc Esc tree · /help · Alt+Enter new line",
                };
                self.canvas.put(&mut pen, Tone::Dim, keys);
            }
        }
    }
}

fn describe(work: &Work) -> String {
    let Work { what, seconds, characters, is_stopping } = work;
    let what = if *is_stopping { format!("stopping: {what}") } else { what.clone() };
    let what = safe_line(&what);
    match characters {
        0 => format!("{what} {seconds} s"),
        _ => format!("{what} {seconds} s, {characters} characters"),
    }
}
