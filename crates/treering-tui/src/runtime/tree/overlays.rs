//! Makes overlays: two entries side by side, and the plan of a compaction.

use crate::page::diff::{DiffSide, side_by_side};
use crate::page::{Page, StyledLine};
use crate::theme::Tone;
use crate::tree::{Overlay, OverlayKind};
use treering::compaction::{CompactionSettings, Preparation, estimate_tokens};
use treering::diff::Diff;
use treering::entry::MessageView;
use treering::{EntryId, Result, Session};
use treering_display::number::short_number;
use treering_display::text::safe_line;

/// The largest number of characters of a message that are shown.
const MAX_PREVIEW: usize = 200;

/// Compares two entries, below a summary of their branches.
pub(super) fn diff(session: &Session, a: &str, b: &str, width: usize) -> Result<Overlay> {
    let Diff { common_ancestor, a: left, b: right, .. } = session.diff(a, b)?;
    let mut page = Page::default();
    let parted = match common_ancestor {
        Some(entry) => format!("the branches diverge after {entry}"),
        None => "the branches have nothing in common".to_owned(),
    };
    page.lines.push(StyledLine::new(Tone::Dim, &parted));
    for (id, side) in [(a, &left), (b, &right)] {
        page.lines.push(StyledLine::new(Tone::Dim, &format!("{id}: {}", side_totals(side))));
    }
    page.lines.push(StyledLine::default());
    let (one, other) = (session.entry(a)?, session.entry(b)?);
    let sides = side_by_side(&DiffSide::of_entry(&one), &DiffSide::of_entry(&other), width);
    page.lines.extend(sides.lines);
    let title = safe_line(&format!("{a} and {b}"));
    Ok(Overlay { subject: OverlayKind::Diff(a.to_owned(), b.to_owned()), title, page })
}

fn side_totals(side: &treering::diff::Side) -> String {
    let files = side.file_ops.lists();
    let (read, changed) = (files.read.len(), files.modified.len());
    format!(
        "{} messages, about {} tokens, {read} files read, {changed} changed",
        side.messages,
        short_number(side.tokens as f64)
    )
}

/// Describes what a compaction would summarize and keep.
pub(super) fn compaction(
    session: &Session,
    settings: &CompactionSettings,
    width: usize,
) -> Result<Option<Overlay>> {
    let plan = match session.plan_compaction(settings)? {
        Preparation::Ready(plan) => plan,
        Preparation::AlreadyCompacted | Preparation::TooSmall => return Ok(None),
    };
    let messages = session.context()?.messages;
    let is_kept = kept(
        session,
        &messages.iter().map(|message| &message.entry).collect::<Vec<_>>(),
        &plan.first_kept,
    )?;
    let (mut going, mut staying) = (Vec::new(), Vec::new());
    let (mut lost, mut left) = (0, 0);
    for (message, is_kept) in messages.iter().zip(is_kept) {
        let tokens = estimate_tokens(&message.json);
        let view = MessageView::new(&message.json);
        let text: String = view.text().chars().take(MAX_PREVIEW).collect();
        let (lines, sum, mark, tone) = match is_kept {
            true => (&mut staying, &mut left, "=", Tone::Plain),
            false => (&mut going, &mut lost, "−", Tone::Dim),
        };
        *sum += tokens;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        lines.push(StyledLine::new(
            tone,
            &format!("{mark} {:>6}  {}: {text}", short_number(tokens as f64), view.role_name()),
        ));
    }
    let mut page = Page::default();
    let counts = |lines: &[StyledLine], tokens: u64| {
        format!("{} messages, about {} tokens", lines.len(), short_number(tokens as f64))
    };
    page.lines
        .push(StyledLine::new(Tone::Title, &format!("− summarized: {}", counts(&going, lost))));
    page.lines.append(&mut going);
    page.lines.push(StyledLine::default());
    page.lines.push(StyledLine::new(Tone::Title, &format!("= kept: {}", counts(&staying, left))));
    if plan.is_split_turn {
        page.lines.push(StyledLine::new(
            Tone::Dim,
            "the cut goes through a turn: its beginning is summarized, too",
        ));
    }
    page.lines.append(&mut staying);
    let title = "What a compaction would do".to_owned();
    Ok(Some(Overlay { subject: OverlayKind::Compaction, title, page: page.wrapped(width) }))
}

/// Returns which entries of a context are kept: those from the first kept entry of the path on.
fn kept(session: &Session, entries: &[&EntryId], first: &EntryId) -> Result<Vec<bool>> {
    let tree = session.tree();
    entries
        .iter()
        .map(|entry| {
            tree.is_ancestor(first.as_str(), entry.as_str()).map(|above| above || *entry == first)
        })
        .collect()
}
