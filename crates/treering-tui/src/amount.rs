//! Tokens and money in few characters.

use treering::Usage;

/// A number of tokens, to two or three digits: `950`, `1.2k`, `35k`, `4.0M`.
pub fn tokens(number: u64) -> String {
    if number < 1000 {
        return number.to_string();
    }
    let mut value = number as f64;
    for unit in ["k", "M", "G"] {
        value /= 1000.0;
        if value < 999.5 {
            let digits = usize::from(value < 9.95);
            return format!("{value:.digits$}{unit}");
        }
    }
    format!("{:.0}T", value / 1000.0)
}

/// What requests cost: `$1.23`; `?` if nobody knows; `$1.23+?` if there was more, of unknown cost.
pub fn cost(usage: &Usage) -> String {
    let dollars = usage.cost.dollars();
    let known = match dollars {
        _ if dollars > 0.0 && dollars < 0.000_05 => "<$0.0001".to_owned(),
        0.0..0.01 if dollars > 0.0 => format!("${dollars:.4}"),
        0.0..1e9 => format!("${dollars:.2}"),
        _ => format!("${dollars:.2e}"),
    };
    match (usage.requests, usage.unpriced) {
        (0, _) => String::new(),
        (_, 0) => known,
        (all, unpriced) if all == unpriced => "?".to_owned(),
        _ => format!("{known}+?"),
    }
}
