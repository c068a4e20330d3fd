//! The pages of commands: branches, context, costs.

use super::session_watcher::short;
use super::targets::BranchNumbers;
use crate::page::{Page, StyledLine, StyledSpan};
use crate::theme::Tone;
use treering::session::Reader;
use treering::usage::{Branch, Usage};
use treering::{EntryId, Error, Kind, Role, Session, Tree};
use treering_display::number::{cost, tokens};
use treering_display::preview_line::{Calls, PreviewLine};
use treering_display::text::safe_line;

/// The largest number of rows of a list.
const MAX_ROWS: usize = 1000;

fn line(spans: &[(Tone, &str)]) -> StyledLine {
    let spans = spans.iter().map(|(tone, text)| StyledSpan { tone: *tone, text: safe_line(text) });
    StyledLine::of(spans.collect()).hanging(4)
}

/// Lists the branches with numbers that commands accept.
pub(super) fn branches(session: &Session, numbers: &BranchNumbers) -> Result<Page, Error> {
    let branches: Vec<Branch> =
        session.branches()?.into_iter().filter(Branch::is_counted).take(MAX_ROWS).collect();
    numbers.set(branches.iter().map(|branch| branch.leaf.clone()).collect());
    let tree = session.tree();
    let mut reader = session.reader();
    let mut lines = Vec::new();
    for (at, branch) in branches.iter().enumerate() {
        let (label, preview_line) = title(branch, &tree, &mut reader);
        let label = label.map(|label| format!("[{label}] ")).unwrap_or_default();
        let count = match branch.own_entries {
            1 => "1 entry".to_owned(),
            count => format!("{count} entries"),
        };
        let used = format!("{} {}", tokens(branch.own.total()), cost(&branch.own));
        lines.push(line(&[
            (Tone::Label, &format!("{:>3} ", at + 1)),
            (Tone::Active, if branch.is_active { "• " } else { "  " }),
            (Tone::Plain, &short(&branch.leaf)),
            (Tone::Dim, &format!("  {count:>10}  {:<12} ", used.trim_end())),
            (Tone::Label, &label),
            (Tone::Plain, &preview_line),
        ]));
    }
    if lines.is_empty() {
        lines.push(StyledLine::new(Tone::Dim, "no messages yet"));
    } else {
        lines.push(StyledLine::default());
        let hint = "/switch N continues a branch · /merge N merges it into this one · • is the active branch";
        lines.push(StyledLine::new(Tone::Dim, hint));
    }
    Ok(Page { lines })
}

/// Returns the label nearest to the end of a branch, and its last message.
fn title(branch: &Branch, tree: &Tree, reader: &mut Reader) -> (Option<String>, String) {
    /// The number of entries that are read. A branch may be very long.
    const WITHIN: u64 = 64;
    let (mut label, mut preview_line) = (None, String::new());
    let mut id = Some(branch.leaf.clone());
    for _ in 0..branch.own_entries.clamp(1, WITHIN) {
        let Some(at) = id else { break };
        label = label.or_else(|| tree.label(at.as_str()).map(str::to_owned));
        let has_text = matches!(
            tree.kind(at.as_str()),
            Ok(Kind::Message | Kind::Compaction | Kind::BranchSummary | Kind::CustomMessage)
        );
        if preview_line.is_empty() && has_text {
            let entry = reader.entry(at.as_str()).ok();
            preview_line = entry
                .map(|entry| PreviewLine::read(&entry, &mut Calls::default()).text)
                .unwrap_or_default();
        }
        id = tree.parent(at.as_str()).ok().flatten();
    }
    (label, preview_line)
}

/// Returns the user's messages on the active path, the oldest first.
pub(super) fn user_messages(session: &Session) -> Vec<(EntryId, String)> {
    let tree = session.tree();
    let path = session.leaf().and_then(|leaf| tree.path(leaf.as_str()).ok()).unwrap_or_default();
    let is_user = |id: &EntryId| matches!(tree.role(id.as_str()), Ok(Some(Role::User)));
    let mut reader = session.reader();
    let newest = path.into_iter().rev().filter(is_user).take(MAX_ROWS);
    let mut messages: Vec<(EntryId, String)> = newest
        .map(|id| {
            let entry = reader.entry(id.as_str());
            let text = entry.map(|entry| PreviewLine::read(&entry, &mut Calls::default()).text);
            (id, text.unwrap_or_else(|error| error.to_string()))
        })
        .collect();
    messages.reverse();
    messages
}

/// Returns a page with the context of the model.
pub(super) fn context(session: &Session) -> Result<Page, Error> {
    Ok(Page::of_context(&session.context()?))
}

/// Returns a page with the usage.
pub(super) fn costs(session: &Session) -> Result<Page, Error> {
    let stats = session.stats()?;
    let mut lines = vec![usage("in all", &stats.usage), usage("this branch", &stats.active)];
    lines.push(usage("other branches", &stats.abandoned));
    lines.push(StyledLine::default());
    lines.push(StyledLine::new(Tone::Title, "by model"));
    for (model, used) in stats.by_model.iter().take(MAX_ROWS) {
        lines.push(usage(if model.is_empty() { "(not named)" } else { model }, used));
    }
    lines.push(StyledLine::default());
    lines.push(StyledLine::new(Tone::Title, "for"));
    for (purpose, used) in &stats.by_purpose {
        lines.push(usage(purpose.name(), used));
    }
    if stats.usage.unpriced > 0 {
        lines.push(StyledLine::default());
        let hint = "?: the server does not report the cost of its answers";
        lines.push(StyledLine::new(Tone::Dim, hint));
    }
    Ok(Page { lines })
}

fn usage(name: &str, used: &Usage) -> StyledLine {
    let requests = match used.requests {
        1 => "1 request".to_owned(),
        count => format!("{count} requests"),
    };
    let cached = match used.cache_read {
        0 => String::new(),
        count => format!(", {} cached", tokens(count)),
    };
    let (read, written) = (used.input.saturating_add(used.cache_write), used.output);
    line(&[
        (Tone::Plain, &format!("{name:<28} ")),
        (Tone::Label, &format!("{:<10} ", cost(used))),
        (Tone::Plain, &requests),
        (Tone::Dim, &format!(": {} read{cached}, {} written", tokens(read), tokens(written))),
    ])
}
