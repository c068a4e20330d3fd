//! Renders tool calls: commands as they are typed, edits as diffs, other arguments by their values.

use super::code::{Gutter, blanks};
use super::writer::{PageWriter, pieces};
use super::{StyledLine, StyledSpan, WrapMode};
use crate::theme::Tone;
use treering_display::diff;
use treering_display::line::excerpt;
use treering_display::text::safe_line;
use treering_display::tool::{self, Arguments, Call};

/// The indentation of the arguments of a call.
const INDENT: usize = 2;
const BLANKS: &str = "  ";
/// The longest description of a call, in characters.
const MAX_DESCRIPTION: usize = 160;

/// Adds a call.
pub(super) fn write(writer: &mut PageWriter, name: &str, raw: Option<&[u8]>) {
    let call = Call::new(name, raw);
    let arguments = call.arguments();
    let about = match arguments {
        Arguments::Command(_) | Arguments::Json(_) => String::new(),
        _ => call.about(MAX_DESCRIPTION),
    };
    let mut spans = vec![StyledSpan::new(Tone::Tool, &format!("→ {}", excerpt(name, 80)))];
    if !about.is_empty() {
        spans.push(StyledSpan::new(Tone::Plain, &format!(" {about}")));
    }
    writer.push(StyledLine::of(spans).hanging(INDENT));
    let indent = blanks(INDENT);
    let path = call.path().unwrap_or_default();
    match arguments {
        Arguments::Command(command) => write_command(writer, BLANKS, &command),
        Arguments::Edits(edits) => {
            for (place, (old, new)) in edits.iter().enumerate() {
                if place > 0 {
                    writer.indented(Tone::Dim, BLANKS, "⋯");
                }
                write_diff(writer, BLANKS, old, new);
            }
        }
        Arguments::Content(content) => {
            writer.code(Gutter::even(&indent), tool::language(&path), &content);
        }
        Arguments::Patch(patch) => writer.code(Gutter::even(&indent), "diff", &patch),
        Arguments::Json(json) => match raw.and_then(tool::members) {
            Some(members) => members.iter().for_each(|member| write_member(writer, member)),
            None => writer.code(Gutter::even(&indent), "json", &json),
        },
        _ => {}
    }
}

/// Adds a command as it is typed.
pub(super) fn write_command(writer: &mut PageWriter, before: &str, command: &str) {
    let first = [StyledSpan { tone: Tone::Dim, text: format!("{before}$ ") }];
    let rest = blanks(before.len() + 2);
    writer.code(Gutter { first: &first, rest: &rest }, "sh", command.trim());
}

/// Adds a diff.
pub(super) fn write_diff(writer: &mut PageWriter, before: &str, old: &str, new: &str) {
    for line in diff::lines(old, new) {
        let tone = match line.sign {
            '+' => Tone::Added,
            '-' => Tone::Removed,
            '⋯' => Tone::Dim,
            _ => Tone::Plain,
        };
        for piece in pieces(line.text.strip_suffix('\r').unwrap_or(line.text)) {
            if writer.is_full() {
                return;
            }
            let text = format!("{before}{} {}", line.sign, safe_line(piece));
            let hang = before.len() + 2;
            writer.push(StyledLine {
                spans: vec![StyledSpan { tone, text }],
                hang,
                wrap_mode: WrapMode::Code,
            });
        }
    }
}

/// Adds a member of the arguments. A text is shown without JSON escapes.
fn write_member(writer: &mut PageWriter, (key, raw): &(String, &[u8])) {
    let name = StyledSpan::new(Tone::Name, &format!("{BLANKS}{}: ", excerpt(key, 80)));
    let after = BLANKS.len() + INDENT;
    let text = treering::internal::json_text(raw);
    let is_long = |text: &str| text.len() > 4 * MAX_DESCRIPTION || text.contains('\n');
    match text {
        Some(text) if is_long(&text) => {
            writer.push(StyledLine::of(vec![name]));
            writer.indented(Tone::Plain, &" ".repeat(after), text.trim_end_matches('\n'));
        }
        Some(text) => {
            writer.push(
                StyledLine::of(vec![name, StyledSpan::new(Tone::Plain, &text)]).hanging(after),
            );
        }
        None if raw.len() <= MAX_DESCRIPTION => {
            let json = StyledSpan::new(Tone::Code, &String::from_utf8_lossy(raw));
            writer.push(StyledLine::of(vec![name, json]).hanging(after));
        }
        None => {
            writer.push(StyledLine::of(vec![name]));
            writer.json(Gutter::even(&blanks(after)), raw);
        }
    }
}
