//! Which sessions a list shows, and in which order.

use std::cmp::Reverse;
use std::str::FromStr;
use treering::SessionInfo;

/// The order of a list. The newest come first, the largest, the dearest; names as in a dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Sort {
    Modified,
    Created,
    Size,
    Messages,
    Name,
    Cost,
}

/// Sorts sessions that are sorted by their time; that order stays where the other does not decide.
pub(super) fn sort(sessions: &mut [&SessionInfo], by: Sort) {
    match by {
        Sort::Modified => {}
        Sort::Created => sessions.sort_by_key(|session| Reverse(session.created)),
        Sort::Size => sessions.sort_by_key(|session| Reverse(session.size)),
        Sort::Messages => sessions.sort_by_key(|session| Reverse(session.message_count)),
        Sort::Name => sessions.sort_by_cached_key(|session| {
            let name = session.name.as_ref().map(|name| name.to_lowercase());
            (name.is_none(), name)
        }),
        Sort::Cost => sessions.sort_by(|a, b| {
            let cost = |session: &SessionInfo| session.cost.unwrap_or(-1.0);
            cost(b).total_cmp(&cost(a))
        }),
    }
}

/// A time as people say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    /// So many milliseconds ago.
    Ago(i64),
    /// At this time, in Unix milliseconds.
    At(i64),
}

impl Since {
    pub(super) fn millis(self, now: i64) -> i64 {
        match self {
            Since::Ago(millis) => now.saturating_sub(millis),
            Since::At(time) => time,
        }
    }
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const HOUR: i64 = 3_600_000;
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match text.get(number.len()..).unwrap_or_default() {
            "m" | "min" => HOUR / 60,
            "h" => HOUR,
            "d" => 24 * HOUR,
            "w" => 7 * 24 * HOUR,
            "mon" => 30 * 24 * HOUR,
            "y" => 365 * 24 * HOUR,
            _ => {
                let time = treering::parse_time(text).map(Since::At);
                return time.ok_or_else(|| "neither 12h, 3d or 2w nor a date: 2026-01-31".into());
            }
        };
        let number: i64 = number.parse().map_err(|_| format!("{number:?} is no number"))?;
        Ok(Since::Ago(number.saturating_mul(unit)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_say_them() {
        let now = 1_000_000_000_000;
        let table = [
            ("90m", now - 5_400_000),
            ("12h", now - 43_200_000),
            ("3d", now - 259_200_000),
            ("2w", now - 1_209_600_000),
            ("1y", now - 31_536_000_000),
            ("2026-01-05", 1_767_571_200_000),
            ("2026-01-05T09:00:20Z", 1_767_603_620_000),
        ];
        for (text, expected) in table {
            assert_eq!(
                text.parse::<Since>().map(|since| since.millis(now)),
                Ok(expected),
                "{text}"
            );
        }
        assert_eq!("99999999999999999w".parse(), Ok(Since::Ago(i64::MAX)));
        for bad in ["", "d", "3", "three days", "1.5d", "3x", "99999999999999999999d", "2026-13-01"]
        {
            assert!(bad.parse::<Since>().is_err(), "{bad}");
        }
    }
}
