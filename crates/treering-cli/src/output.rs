//! Output: stdout with its width and colors, messages on stderr.

use crate::config::{Color, Config};
use crate::error::Failure;
use crate::pager::Pager;
use crate::progress;
use crate::text::{count, shell_word};
use std::fmt::Write as _;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::Path;

/// The line width without a terminal.
const USUAL_WIDTH: usize = 100;

/// The width below which lines are not cut, but wrapped by the terminal.
const MIN_CUT_WIDTH: usize = 40;

/// The meaning of a piece of text; only this module decides its appearance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Id,
    Dim,
    User,
    Assistant,
    Tool,
    Summary,
    Label,
    Leaf,
    Bad,
    Heading,
    Match,
}

impl Style {
    fn sgr(self) -> &'static str {
        match self {
            Style::Id => "33",
            Style::Dim => "2",
            Style::User => "1;36",
            Style::Assistant => "32",
            Style::Tool => "34",
            Style::Summary => "35",
            Style::Label => "1;35",
            Style::Leaf => "1;32",
            Style::Bad => "1;31",
            Style::Heading => "1",
            Style::Match => "1;31",
        }
    }
}

/// Standard output, or a pager in front of it.
#[derive(Debug)]
pub(crate) struct Output {
    out: BufWriter<Stdout>,
    pager: Option<BufWriter<Pager>>,
    terminal: bool,
    colors: bool,
    /// The width of a line; `None` in a pipe or a file, where no line is too wide.
    width: Option<usize>,
    /// The number of byte sequences that were not UTF-8 and were replaced in JSON.
    replaced: u64,
}

/// Standard output. At a terminal the line of progress is removed before anything is written.
#[derive(Debug)]
struct Stdout {
    out: StdoutLock<'static>,
    terminal: bool,
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.terminal {
            true => progress::while_clear(|| {
                let written = self.out.write(bytes)?;
                self.out.flush()?;
                Ok(written)
            }),
            false => self.out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Output {
    pub(crate) fn stdout() -> Self {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        let width = wanted_width().or_else(|| {
            let (width, _) = terminal_size::terminal_size_of(&stdout).filter(|_| terminal)?;
            Some(usize::from(width.0).max(MIN_CUT_WIDTH))
        });
        let out = BufWriter::with_capacity(64 * 1024, Stdout { out: stdout.lock(), terminal });
        let colors = colors_wanted(terminal);
        Output { out, pager: None, terminal, colors, width, replaced: 0 }
    }

    /// Sends everything through a pager from now on, if there is a terminal.
    pub(crate) fn page(&mut self) {
        if self.terminal {
            self.pager = Pager::start().map(BufWriter::new);
        }
    }

    /// Returns the number of columns of a line.
    pub(crate) fn width(&self) -> usize {
        self.width.unwrap_or(USUAL_WIDTH)
    }

    /// Returns the maximum number of columns of a table. In a pipe nothing is cut, unless `COLUMNS`
    /// is set.
    pub(crate) fn table_width(&self) -> usize {
        self.width.unwrap_or(usize::MAX)
    }

    /// Returns whether colors are used, so that words need not repeat their meaning.
    pub(crate) fn has_colors(&self) -> bool {
        self.colors
    }

    /// Returns the text in its style. The text must be safe to show.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        match self.colors && !text.trim().is_empty() {
            true => format!("\x1b[{}m{text}\x1b[0m", style.sgr()),
            false => text.to_owned(),
        }
    }

    /// Writes JSON of a session. Bytes that are not UTF-8 become `\ufffd`, because programs expect
    /// valid JSON, and [`finish`](Self::finish) warns about it.
    pub(crate) fn write_json(&mut self, json: &[u8]) -> io::Result<()> {
        for chunk in json.utf8_chunks() {
            self.write_all(chunk.valid().as_bytes())?;
            if !chunk.invalid().is_empty() {
                self.write_all(br"\ufffd")?;
                self.replaced += 1;
            }
        }
        Ok(())
    }

    /// Writes a path as a JSON string, with the same replacements.
    pub(crate) fn json_path(&mut self, path: &Path) -> io::Result<()> {
        let bytes = path.as_os_str().as_encoded_bytes();
        self.replaced +=
            bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count() as u64;
        json_string(self, &path.to_string_lossy())
    }

    /// Writes a path as a JSON string, or `null`.
    pub(crate) fn json_path_or_null(&mut self, path: Option<&Path>) -> io::Result<()> {
        match path {
            Some(path) => self.json_path(path),
            None => self.write_all(b"null"),
        }
    }

    /// Writes a path on a line of its own: unchanged for a program, as a quoted word of a shell
    /// command at a terminal.
    pub(crate) fn path_line(&mut self, path: &Path) -> io::Result<()> {
        match self.terminal {
            true => self.write_all(shell_word(path).as_bytes())?,
            false => self.write_all(path.as_os_str().as_encoded_bytes())?,
        }
        self.write_all(b"\n")
    }

    /// Flushes the output, and waits for a pager to end. Must be called before a message that
    /// should come after the output.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        if let Some(mut pager) = self.pager.take() {
            let flushed = pager.flush();
            pager.get_mut().close();
            flushed?;
        }
        self.out.flush()?;
        if self.replaced > 0 {
            let bytes = count(self.replaced as usize, "byte sequence is", "byte sequences are");
            write_notice("warning", &format!("{bytes} not UTF-8: written as \\ufffd"));
            self.replaced = 0;
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.pager {
            Some(pager) => {
                if pager.buffer().is_empty() {
                    progress::stop();
                }
                pager.write(bytes)
            }
            None => self.out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.pager {
            Some(pager) => pager.flush(),
            None => self.out.flush(),
        }
    }
}

/// Returns the width in `COLUMNS`. Shells set it only for themselves, so a program that sees it was
/// given it on purpose.
fn wanted_width() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok()?;
    columns
        .parse()
        .ok()
        .filter(|columns| *columns > 0)
        .map(|columns: usize| columns.max(MIN_CUT_WIDTH))
}

/// Returns whether to use colors, by the usual conventions: `NO_COLOR` takes precedence over
/// `CLICOLOR_FORCE`, and both over everything else.
fn colors_wanted(terminal: bool) -> bool {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if set("NO_COLOR").is_some() {
        return false;
    }
    if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    let dumb = set("TERM").is_some_and(|term| term == "dumb");
    terminal && !dumb && Config::current().ui.color == Color::Auto
}

/// Writes a message to stderr: `error: …`, `hint: …`, `warning: …`. The text must be safe to show.
pub(crate) fn write_notice(kind: &str, text: &str) {
    Config::warn();
    let colored = colors_wanted(io::stderr().is_terminal());
    let mut line = String::new();
    if colored {
        let color = match kind {
            "error" => Style::Bad,
            "warning" => Style::Id,
            _ => Style::Heading,
        };
        let _ = write!(line, "\x1b[{}m{kind}:\x1b[0m {text}", color.sgr());
    } else {
        let _ = write!(line, "{kind}: {text}");
    }
    // A closed standard error is not a failure.
    let _ = progress::while_clear(|| writeln!(io::stderr().lock(), "{line}"));
}

/// Appends `text` as a JSON string.
pub(crate) fn json_string(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(b"\"")?;
    let bytes = text.as_bytes();
    let mut from = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.write_all(&bytes[from..at])?;
        from = at + 1;
        match byte {
            b'"' | b'\\' => out.write_all(&[b'\\', byte])?,
            b'\n' => out.write_all(b"\\n")?,
            b'\r' => out.write_all(b"\\r")?,
            b'\t' => out.write_all(b"\\t")?,
            _ => write!(out, "\\u{byte:04x}")?,
        }
    }
    out.write_all(&bytes[from..])?;
    out.write_all(b"\"")
}

/// Appends texts as a JSON array of strings.
pub(crate) fn json_strings<T: AsRef<str>>(
    out: &mut impl Write,
    texts: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    out.write_all(b"[")?;
    for (at, text) in texts.into_iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        json_string(out, text.as_ref())?;
    }
    out.write_all(b"]")
}

/// Appends `text` as a JSON string, or `null`.
pub(crate) fn json_string_or_null(out: &mut impl Write, text: Option<&str>) -> io::Result<()> {
    match text {
        Some(text) => json_string(out, text),
        None => out.write_all(b"null"),
    }
}
