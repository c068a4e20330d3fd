//! Writes usage on one line, for prompts.

use super::ReportContext;
use crate::amounts::{cost, dollars, tokens};
use crate::error::Failure;
use crate::output::Output;
use std::io::Write;
use treering::usage::Usage;
use treering_usage::Block;

/// Writes the usage of today, and the usage, the remaining time and the rate of the current block:
/// `today ~$4.20 1.2M | block ~$1.10 2h13m left | ~$0.85/h`.
pub(super) fn write(context: &ReportContext<'_>, out: &mut Output) -> Result<(), Failure> {
    let ReportContext { counted, zone, now, .. } = context;
    let today = zone.day_range("today", *now).unwrap_or(*now..*now);
    let events = counted.events().iter().filter(|event| today.contains(&event.time));
    let usage: Usage = events.map(|event| event.usage).sum();
    let mut line = format!("today {}", amount(&usage));
    if let Some(block) = counted.blocks().last().filter(|block| block.is_active(*now)) {
        line += &format!(" | block {} {} left", amount(&block.row.usage), left(block, *now));
        if let Some(pace) = block.pace(*now) {
            let mark = if block.row.usage.computed_requests > 0 { "~" } else { "" };
            line += &format!(" | {mark}{}/h", dollars(pace.dollars_per_hour));
        }
    }
    writeln!(out, "{line}")?;
    Ok(())
}

fn amount(usage: &Usage) -> String {
    match usage.requests {
        0 => "$0.00".to_owned(),
        _ => format!("{} {}", cost(usage), tokens(usage.total())),
    }
}

/// Returns the remaining time of a block: `2h13m`.
pub(super) fn left(block: &Block<'_>, now: i64) -> String {
    let minutes = block.end.saturating_sub(now).max(0) / 60_000;
    format!("{}h{:02}m", minutes / 60, minutes % 60)
}
