//! The list of commands and keys.

use super::action::ChatAction;
use super::commands::TABLE;
use crate::keys::Bindings;
use crate::page::{Page, StyledLine, StyledSpan};
use crate::theme::Tone;

/// Returns the help page: commands and keys.
pub(crate) fn page(bindings: &Bindings<ChatAction>) -> Page {
    let mut lines = vec![StyledLine::new(Tone::Plain, "Text is sent to the model.")];
    row(&mut lines, "!COMMAND", "run a shell command; the model sees it with the next message");
    row(&mut lines, "!!COMMAND", "run a shell command without showing it to the model");
    lines.extend([StyledLine::default(), StyledLine::new(Tone::Title, "Commands")]);
    for spec in TABLE {
        let typed = format!("/{} {}", spec.name, spec.arguments);
        row(&mut lines, typed.trim_end(), spec.about);
    }
    lines.push(StyledLine::new(
        Tone::Dim,
        "ENTRY is an entry id or its unique prefix, a label, or a branch number from /branches.",
    ));
    lines.push(StyledLine::default());
    lines.push(StyledLine::new(Tone::Title, "Keys"));
    for (keys, about) in bindings.list() {
        row(&mut lines, &keys, about);
    }
    Page { lines }
}

/// Adds a line of two columns. A text that is too long for the first column gets a line of its own.
fn row(lines: &mut Vec<StyledLine>, left: &str, right: &str) {
    const LEFT: usize = 24;
    let mut left = left;
    if left.chars().count() > LEFT {
        lines.push(StyledLine::new(Tone::Label, left));
        left = "";
    }
    let spans = [(Tone::Label, format!("{left:LEFT$} ")), (Tone::Plain, right.to_owned())];
    let spans = spans.map(|(tone, text)| StyledSpan { tone, text });
    lines.push(StyledLine::of(spans.into()).hanging(LEFT + 1));
}
