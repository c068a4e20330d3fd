//! Formats the usage of one answer.

use crate::number::tokens;
use treering::entry::MessageView;

/// Returns the usage of one answer, given as JSON, as short texts: `7.6k in`, `120 out`, `45.9k
/// cached`, `$0.02`.
pub fn usage_facts(usage: &[u8]) -> Vec<String> {
    let [input, output, read, write, cost] =
        MessageView::new(usage).get_all(["input", "output", "cacheRead", "cacheWrite", "cost"]);
    let cost = cost.unwrap_or_default();
    let cost = match MessageView::new(cost).get("total") {
        Some(total) => number(Some(total)),
        None => number(Some(cost)),
    };
    let cached = number(read) + number(write);
    let numbers = [(number(input), "in"), (number(output), "out"), (cached, "cached")];
    let mut facts: Vec<String> = numbers
        .into_iter()
        .filter(|(number, _)| *number > 0.0)
        .map(|(number, what)| format!("{} {what}", tokens(number as u64)))
        .collect();
    match cost {
        0.0 => {}
        ..0.01 => facts.push(format!("${cost:.4}")),
        _ => facts.push(format!("${cost:.2}")),
    }
    facts
}

/// Returns a number that can be added up, or 0 for anything else. A sum of such numbers is never
/// infinite.
fn number(literal: Option<&[u8]>) -> f64 {
    let text = literal.and_then(|raw| std::str::from_utf8(raw).ok()).unwrap_or_default();
    text.parse().ok().filter(|number: &f64| (0.0..1e15).contains(number)).unwrap_or(0.0)
}
