//! Resolves findings that overlap.

use crate::line::FoundSecret;
use crate::rules::{Rank, RuleMatch};

/// Adds findings of all views of a text as spans of the line that do not overlap.
pub(crate) fn resolve_overlaps(
    mut all: Vec<(RuleMatch, Vec<u8>)>,
    start: usize,
    field: &dyn Fn() -> String,
    found: &mut Vec<FoundSecret>,
) {
    if all.is_empty() {
        return;
    }
    all.sort_by_key(|(hit, _)| (hit.rank == Rank::Personal, hit.span.start));
    let mut taken: Vec<(RuleMatch, Vec<u8>)> = Vec::new();
    let mut personal: Vec<(RuleMatch, Vec<u8>)> = Vec::new();
    for (hit, secret) in all {
        if hit.rank == Rank::Personal {
            // The findings before these are complete and in order.
            let at = taken.partition_point(|(other, _)| other.span.end <= hit.span.start);
            let is_clear = |other: Option<&(RuleMatch, Vec<u8>)>, start: bool| {
                other.is_none_or(|(other, _)| match start {
                    true => other.span.start >= hit.span.end,
                    false => other.span.end <= hit.span.start,
                })
            };
            if is_clear(taken.get(at), true) && is_clear(personal.last(), false) {
                personal.push((hit, secret));
            }
            continue;
        }
        match taken.last_mut() {
            Some((last, their)) if hit.span.start < last.span.end => {
                // Overlapping findings are joined; the longer one, or else the more certain one,
                // decides the kind.
                let union = last.span.start..last.span.end.max(hit.span.end);
                let is_as_long = hit.span.len() == last.span.len();
                if hit.span.len() > last.span.len() || is_as_long && hit.rank < last.rank {
                    (*last, *their) = (hit, secret);
                }
                last.span = union;
            }
            _ => taken.push((hit, secret)),
        }
    }
    taken.append(&mut personal);
    let field = field();
    found.extend(taken.into_iter().map(|(hit, secret)| FoundSecret {
        span: start + hit.span.start..start + hit.span.end,
        kind: hit.kind,
        rank: hit.rank,
        secret,
        field: field.clone(),
    }));
}
