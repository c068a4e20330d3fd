//! Renders the pictures of the documentation as SVG files: the tree selector as it is drawn on a terminal,
//! and the colored output of a command.
//!
//! ```text
//! treering demo --dir /tmp/demo
//! cd /tmp/demo && CLICOLOR_FORCE=1 treering tree retry.jsonl > tree.txt
//! cargo run -p treering-tui --example pictures -- docs/images /tmp/demo/retry.jsonl /tmp/demo/tree.txt
//! ```

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use treering::Session;
use treering_display::columns::{columns, graphemes};
use treering_display::tree::Outline;
use treering_tui::TerminalEvent;
use treering_tui::page::Page;
use treering_tui::time_zone::DisplayZone;
use treering_tui::tree::{TreeEffect, TreeEvent, TreeState, draw, load_visible_previews, update};

/// The size of the terminal in columns and rows.
const SIZE: (u16, u16) = (120, 20);
/// The width of a column, the height of a row and the margin, in pixels.
const COLUMN: f64 = 8.42;
const ROW: u32 = 19;
const MARGIN: u32 = 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [dir, session, tree] = arguments.as_slice() else {
        return Err("usage: pictures DIRECTORY SESSION TREE-OUTPUT".into());
    };
    let picture = selector(&Session::open(session)?)?;
    write(
        dir,
        "selector.svg",
        "treering open: the tree of a session, and an entry of it",
        &picture,
    )?;
    let output = format!("$ treering tree retry.jsonl\n{}", std::fs::read_to_string(tree)?);
    write(dir, "tree.svg", "treering tree: a session with two branches", &colored(&output))?;
    Ok(())
}

fn write(dir: &Path, name: &str, title: &str, picture: &Buffer) -> std::io::Result<()> {
    std::fs::write(dir.join(name), svg(title, picture))
}

/// Draws the tree selector with the preview of the selected entry.
fn selector(session: &Session) -> Result<Buffer, Box<dyn std::error::Error>> {
    let state = TreeState::new(Outline::of(session));
    let (state, effects) = update(state, TerminalEvent::Resize(SIZE.0, SIZE.1).into());
    let mut state = load_visible_previews(session, state);
    for effect in effects {
        if let TreeEffect::Preview(id, content) = effect {
            let page = Page::of_entry_in(session, &session.entry(&id)?, &DisplayZone::default());
            (state, _) = update(state, TreeEvent::Page(id, content, page));
        }
    }
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1))?;
    terminal.draw(|frame| draw(&state, frame))?;
    Ok(terminal.backend().buffer().clone())
}

/// Returns a text with color codes as cells.
fn colored(text: &str) -> Buffer {
    let lines: Vec<Vec<(Style, String)>> = text.lines().map(spans).collect();
    let width = |line: &Vec<(Style, String)>| line.iter().map(|(_, text)| columns(text)).sum();
    let widest: usize = lines.iter().map(width).max().unwrap_or(0);
    let mut buffer = Buffer::empty(Rect::new(0, 0, widest as u16, lines.len() as u16));
    for (y, line) in (0..).zip(&lines) {
        let mut x = 0;
        for (style, text) in line {
            (x, _) = buffer.set_stringn(x, y, text, widest, *style);
        }
    }
    buffer
}

/// Splits a line at its color codes.
fn spans(line: &str) -> Vec<(Style, String)> {
    let mut parts = line.split("\x1b[");
    let mut spans = vec![(Style::new(), parts.next().unwrap_or_default().to_owned())];
    let mut style = Style::new();
    for part in parts {
        let (codes, text) = part.split_once('m').unwrap_or(("", part));
        for code in codes.split(';') {
            style = match code.parse::<u8>() {
                Ok(1) => style.add_modifier(Modifier::BOLD),
                Ok(2) => style.add_modifier(Modifier::DIM),
                Ok(code @ 30..=37) => style.fg(ansi(code - 30)),
                Ok(code @ 90..=97) => style.fg(ansi(code - 90)),
                _ => Style::new(),
            };
        }
        spans.push((style, text.to_owned()));
    }
    spans
}

fn ansi(code: u8) -> Color {
    match code {
        1 => Color::Red,
        2 => Color::Green,
        3 => Color::Yellow,
        4 => Color::Blue,
        5 => Color::Magenta,
        6 => Color::Cyan,
        _ => Color::DarkGray,
    }
}

fn svg(title: &str, buffer: &Buffer) -> String {
    let area = buffer.area;
    let width = (f64::from(area.width) * COLUMN).ceil() as u32 + 2 * MARGIN;
    let height = u32::from(area.height) * ROW + 2 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1e2127\"/>\n\
         <g font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,monospace\" font-size=\"14\" \
         fill=\"#d7dae0\" xml:space=\"preserve\">\n"
    );
    for y in 0..area.height {
        row(&mut out, buffer, y);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

fn row(out: &mut String, buffer: &Buffer, y: u16) {
    let top = MARGIN + u32::from(y) * ROW;
    let mut texts = String::new();
    let mut x = 0;
    while x < buffer.area.width {
        let (style, start, mut text) = (buffer[(x, y)].style(), x, String::new());
        while x < buffer.area.width && buffer[(x, y)].style() == style {
            let symbol = buffer[(x, y)].symbol();
            text.push_str(symbol);
            x += (columns(symbol) as u16).max(1);
        }
        let left = f64::from(MARGIN) + f64::from(start) * COLUMN;
        if let Some(fill) = style.bg.and_then(hex) {
            let wide = f64::from(x - start) * COLUMN;
            let _ = writeln!(
                out,
                "<rect x=\"{left:.1}\" y=\"{top}\" width=\"{wide:.1}\" height=\"{ROW}\" fill=\"{fill}\"/>"
            );
        }
        span(&mut texts, style, start, &text);
    }
    if !texts.is_empty() {
        let _ = writeln!(out, "<text y=\"{}\">{texts}</text>", top + 14);
    }
}

/// Appends the words of a span, each at its column, so that the font's own widths do not matter.
fn span(out: &mut String, style: Style, start: u16, text: &str) {
    let mut column = usize::from(start);
    for run in text.split_inclusive("  ") {
        let shown = run.trim_end();
        let before = graphemes(run).count() - graphemes(run.trim_start()).count();
        let shown = shown.trim_start();
        if !shown.is_empty() {
            let left = f64::from(MARGIN) + (column + before) as f64 * COLUMN;
            let wide = columns(shown) as f64 * COLUMN;
            let _ = write!(out, "<tspan x=\"{left:.1}\" textLength=\"{wide:.1}\"");
            let is_dim = style.add_modifier.contains(Modifier::DIM);
            let fill = if is_dim { Some("#7f848e") } else { style.fg.and_then(hex) };
            if let Some(fill) = fill {
                let _ = write!(out, " fill=\"{fill}\"");
            }
            if style.add_modifier.contains(Modifier::BOLD) {
                out.push_str(" font-weight=\"bold\"");
            }
            let escaped = shown.replace('&', "&amp;").replace('<', "&lt;");
            let _ = write!(out, ">{escaped}</tspan>");
        }
        column += columns(run);
    }
}

fn hex(color: Color) -> Option<&'static str> {
    Some(match color {
        Color::Red => "#e06c75",
        Color::Green => "#98c379",
        Color::Yellow => "#e5c07b",
        Color::Blue | Color::LightBlue => "#61afef",
        Color::Magenta => "#c678dd",
        Color::Cyan | Color::LightCyan => "#56b6c2",
        Color::DarkGray | Color::Gray => "#7f848e",
        Color::Indexed(24) => "#214a66",
        Color::Indexed(237) => "#2f343d",
        _ => return None,
    })
}
