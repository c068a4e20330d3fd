//! Tokens and money, for people and for programs.

use std::io::{self, Write};
use treering::Usage;

pub(crate) use treering_tui::amount::{cost, tokens};

/// Appends a usage as a JSON object. What nobody knows is `null`.
pub(crate) fn json_usage(out: &mut impl Write, usage: &Usage) -> io::Result<()> {
    let Usage { requests, input, output, cache_read, cache_write, cost, unpriced, .. } = usage;
    write!(
        out,
        "{{\"requests\":{requests},\"input\":{input},\"output\":{output},\
         \"cacheRead\":{cache_read},\"cacheWrite\":{cache_write},\"totalTokens\":{},\"cost\":",
        usage.total()
    )?;
    match *requests > 0 && requests == unpriced {
        true => out.write_all(b"null")?,
        false => write!(out, "{cost}")?,
    }
    write!(out, ",\"unpriced\":{unpriced}}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use treering::Cost;

    #[test]
    fn numbers_stay_short() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1000, "1.0k"),
            (9_949, "9.9k"),
            (9_951, "10k"),
            (999_499, "999k"),
            (999_500, "1.0M"),
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
            let cost = Cost::from_dollars(dollars).unwrap();
            super::cost(&Usage { requests, unpriced, cost, ..Usage::default() })
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
}
