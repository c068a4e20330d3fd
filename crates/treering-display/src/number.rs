//! Formats numbers for users: tokens, money, bytes and ages in few characters.

use treering::usage::Usage;

/// Returns a number of tokens in two or three digits: `950`, `1.2k`, `35.1k`, `65.8M`.
pub fn tokens(number: u64) -> String {
    if number < 1000 {
        return number.to_string();
    }
    let mut value = number as f64;
    for unit in ["k", "M", "G"] {
        value /= 1000.0;
        if value < 999.5 {
            let digits = usize::from(value < 99.95);
            let text = format!("{value:.digits$}");
            // A zero after the point is left out, unless only one digit is before it.
            let text = text.strip_suffix(".0").filter(|text| text.len() > 1).unwrap_or(&text);
            return format!("{text}{unit}");
        }
    }
    format!("{:.0}T", value / 1000.0)
}

/// Returns an estimated number of tokens as [`tokens`] does.
pub fn short_number(number: f64) -> String {
    // The cast of a float saturates.
    tokens(number.round() as u64)
}

/// Returns the cost of requests: `$1.23`; `~$1.23` if a part of it was computed with a list of prices; `?` if
/// it is unknown; `$1.23+?` if a part of it is unknown.
pub fn cost(usage: &Usage) -> String {
    let mark = if usage.computed_requests > 0 { "~" } else { "" };
    let known = format!("{mark}{}", dollars(usage.total_cost().dollars()));
    match (usage.requests, usage.unknown()) {
        (0, _) => String::new(),
        (_, 0) => known,
        (all, unknown) if all == unknown => "?".to_owned(),
        _ => format!("{known}+?"),
    }
}

/// Returns an amount of dollars: `$1.23`, `$0.0042`.
pub fn dollars(amount: f64) -> String {
    match amount {
        _ if amount > 0.0 && amount < 0.000_05 => "<$0.0001".to_owned(),
        0.0..0.01 if amount > 0.0 => format!("${amount:.4}"),
        0.0..1e9 => format!("${amount:.2}"),
        _ => format!("${amount:.2e}"),
    }
}

/// Returns an age in the largest unit that fits: `5 min`, `3 d`.
pub fn age(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    match seconds {
        ..60 => "now".to_owned(),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        86_400..5_184_000 => format!("{} d", seconds / 86_400),
        5_184_000..63_072_000 => format!("{} mon", seconds / 2_592_000),
        _ => format!("{} y", seconds / 31_536_000),
    }
}

/// Returns a size in bytes in two or three digits.
pub fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if value < 999.5 {
            let digits = usize::from(value < 9.95 && unit != "B");
            return format!("{value:.digits$} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.0} TB")
}

/// Returns a number and its noun: `1 entry`, `2 entries`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Returns the shortened name of the blob that holds an image, or `None` if the image is in the session.
/// The name is safe to show.
///
/// ```
/// use treering_display::number::blob_name;
/// assert_eq!(blob_name("blob:sha256:0123456789abcdef").as_deref(), Some("blob 0123456789ab"));
/// assert_eq!(blob_name("iVBORw0KGgo="), None);
/// ```
pub fn blob_name(image_data: &str) -> Option<String> {
    let hash = treering::internal::blob_hash(image_data)?;
    let digits: String = hash.chars().take_while(char::is_ascii_hexdigit).take(12).collect();
    Some(format!("blob {digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ages_in_short() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1234), "1.2 KB");
        assert_eq!(size(56_789), "57 KB");
        assert_eq!(size(999_600), "1.0 MB");
        assert_eq!(size(2_000_000_000_000), "2 TB");
        assert_eq!(age(59_000), "now");
        assert_eq!(age(-1), "now");
        assert_eq!(age(3_600_000 * 25), "1 d");
    }

    #[test]
    fn numbers_in_short() {
        assert_eq!(
            ["0", "999", "12.3k", "4.6M"].map(str::to_owned),
            [0, 999, 12_345, 4_560_000].map(tokens)
        );
        let cases = [
            (1000, "1.0k"),
            (9_951, "10k"),
            (99_949, "99.9k"),
            (99_951, "100k"),
            (999_499, "999k"),
            (999_500, "1.0M"),
            (65_812_345, "65.8M"),
            (4_000_000_000, "4.0G"),
            (u64::MAX, "18446744T"),
        ];
        for (number, expected) in cases {
            assert_eq!(tokens(number), expected);
        }
    }

    #[test]
    fn unknown_costs_are_not_nothing() {
        let of = |requests, unpriced, dollars| {
            let cost = treering::usage::Cost::from_dollars(dollars).unwrap();
            super::cost(&Usage::default().requests(requests).unpriced(unpriced).cost(cost))
        };
        assert_eq!(of(0, 0, 0.0), "");
        assert_eq!(of(2, 0, 0.0), "$0.00");
        assert_eq!(of(2, 0, 12.345), "$12.35");
        assert_eq!(of(2, 0, 0.0042), "$0.0042");
        assert_eq!(of(2, 0, 0.000_000_1), "<$0.0001");
        assert_eq!(of(2, 1, 1.0), "$1.00+?");
        assert_eq!(of(2, 2, 0.0), "?");
        assert_eq!(of(1, 0, 1e20), "$1.00e20");
    }

    #[test]
    fn computed_costs_are_marked() {
        let cost_of = |requests, unpriced, computed: Option<f64>| {
            let usage = Usage::default().requests(requests).unpriced(unpriced);
            let computed = computed.and_then(treering::usage::Cost::from_dollars);
            super::cost(&usage.priced(computed))
        };
        assert_eq!(cost_of(2, 2, Some(1.5)), "~$1.50");
        assert_eq!(cost_of(2, 1, Some(0.0)), "~$0.00");
        assert_eq!(cost_of(2, 0, Some(1.5)), "$0.00");
        assert_eq!(cost_of(2, 2, None), "?");
        let (known, unknown) = (Usage::default().requests(1), Usage::of_request());
        let computed = unknown.priced(treering::usage::Cost::from_dollars(2.0));
        assert_eq!(super::cost(&(known + unknown + computed)), "~$2.00+?");
    }
}
