//! The note about what is missing in the output of a command, made of the `meta` that some agents store
//! with it.
//!
//! The texts are those of the agents, as in [`wrap`](super::wrap).

use super::view::number;
use crate::json;
use std::borrow::Cow;

/// Returns the note, with the empty line before it; empty if nothing is missing.
pub(super) fn notice(meta: &[u8]) -> String {
    let [truncation, error, limits] =
        json::get_all(meta, ["truncation", "artifactError", "limits"]);
    let mut parts: Vec<String> = Vec::new();
    parts.extend(truncation.filter(|it| it.starts_with(b"{")).map(truncated));
    if let Some(error) = error.and_then(json::string).filter(|error| !error.is_empty()) {
        parts.push(format!("Full output was not saved completely (artifact {error} failed)"));
    }
    let columns = limits.and_then(|limits| json::get(limits, "columnTruncated"));
    parts.extend(columns.filter(|it| it.starts_with(b"{")).map(cut_lines));
    match parts.is_empty() {
        true => String::new(),
        false => format!("\n\n[{}]", parts.join(". ")),
    }
}

fn truncated(truncation: &[u8]) -> String {
    let count = |key: &str| json::get(truncation, key).and_then(count);
    let range = |key: &str| json::get(truncation, key).and_then(range);
    let is = |key: &str, text: &str| {
        json::get(truncation, key).and_then(json::string).as_deref() == Some(text)
    };
    let required = |key: &str| count(key).unwrap_or_default();
    let (lines, shown) = (required("totalLines"), required("outputLines"));
    let (bytes, shown_bytes) = (required("totalBytes"), required("outputBytes"));
    let mut text = if is("direction", "middle") {
        let left_out = count("elidedBytes").unwrap_or(bytes.saturating_sub(shown_bytes));
        let lines_left_out = count("elidedLines").unwrap_or(lines.saturating_sub(shown));
        match (range("headRange"), range("tailRange")) {
            (Some((first, last)), Some((tail, end))) => format!(
                "Showing lines {first}-{last} and {tail}-{end} of {lines}; {} middle line{} ({}) elided",
                grouped(lines_left_out),
                plural(lines_left_out),
                size(left_out)
            ),
            _ if left_out > 0 => format!(
                "Showing head and tail bytes of {} line{}; {} elided",
                grouped(lines),
                plural(lines),
                size(left_out)
            ),
            _ => format!("Showing {} of {lines} lines; middle elided", shown.min(lines)),
        }
    } else if json::get(truncation, "partialLine") == Some(b"true") {
        let line = range("shownRange").map_or(1, |(start, _)| start);
        let (shown, all) = (size(shown_bytes), size(bytes));
        return format!("Showing line {line} (partial, {shown} of {all}) of {lines}")
            + &full_output(truncation);
    } else {
        let shown = match range("shownRange") {
            Some((start, end)) if end >= start => {
                format!("Showing lines {start}-{end} of {lines}")
            }
            _ => format!("Showing {shown} of {lines} lines"),
        };
        match is("truncatedBy", "bytes") {
            true => format!("{shown} ({} limit)", size(count("maxBytes").unwrap_or(shown_bytes))),
            false => shown,
        }
    };
    if let Some(next) = count("nextOffset") {
        text += &format!(". Use :{next} to continue");
    }
    text + &full_output(truncation)
}

/// Returns the note about lines that were cut at a column.
fn cut_lines(columns: &[u8]) -> String {
    let width = json::get(columns, "maxColumn").and_then(count).unwrap_or_default();
    let unit = json::get(columns, "unit").and_then(json::string).unwrap_or(Cow::Borrowed("chars"));
    format!("Some lines truncated to {width} {unit}") + &full_output(columns)
}

/// Returns where the whole output is; empty if it was not saved.
fn full_output(meta: &[u8]) -> String {
    let id = json::get(meta, "artifactId").and_then(json::string);
    id.map(|id| format!(". Read artifact://{id} for full output")).unwrap_or_default()
}

fn count(raw: &[u8]) -> Option<u64> {
    number(raw).map(|count| count as u64)
}

fn range(raw: &[u8]) -> Option<(u64, u64)> {
    let [start, end] = json::get_all(raw, ["start", "end"]);
    Some((count(start?)?, count(end?)?))
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Returns a number with a comma between every three digits.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)];
    match UNITS.iter().find(|(_, unit)| bytes >= *unit) {
        // The formatter rounds half to even, the agents round half up.
        Some((name, unit)) => {
            let tenths = (bytes as f64 / *unit as f64 * 10.0 + 0.5).floor();
            format!("{:.1}{name}", tenths / 10.0)
        }
        None => format!("{bytes}B"),
    }
}
