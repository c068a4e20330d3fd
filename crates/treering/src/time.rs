//! Timestamps: Unix milliseconds in memory, ISO 8601 with milliseconds and `Z` in files.

use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::{ContextV7, Timestamp};

/// Returns the current time in Unix milliseconds.
pub(crate) fn now() -> i64 {
    millis(crate::fs::now())
}

/// Returns a time in Unix milliseconds, which is negative before 1970.
pub(crate) fn millis(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    }
}

/// Returns a new UUID version 7, which sorts by time of creation. A clock before 1970 counts as
/// 1970.
pub(crate) fn uuid() -> uuid::Uuid {
    static CONTEXT: Mutex<ContextV7> = Mutex::new(ContextV7::new());
    let since = crate::fs::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let context = CONTEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let stamp = Timestamp::from_unix(&*context, since.as_secs(), since.subsec_nanos());
    uuid::Uuid::new_v7(stamp)
}

/// Formats Unix milliseconds as sessions write a time: ISO 8601, in UTC, with milliseconds.
///
/// Years outside 0–9999 are clamped.
///
/// ```
/// assert_eq!(treering::time::format(1_767_603_620_226), "2026-01-05T09:00:20.226Z");
/// ```
pub fn format(millis: i64) -> String {
    let millis = millis.clamp(-62_167_219_200_000, 253_402_300_799_999);
    let (days, rest) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (year, month, day) = civil(days);
    let mut out = String::with_capacity(24);
    let mut put = |value: i64, width: u32, after: char| {
        for place in (0..width).rev() {
            out.push(char::from(b'0' + (value / 10_i64.pow(place) % 10) as u8));
        }
        out.push(after);
    };
    put(year, 4, '-');
    put(month, 2, '-');
    put(day, 2, 'T');
    put(rest / 3_600_000, 2, ':');
    put(rest / 60_000 % 60, 2, ':');
    put(rest / 1000 % 60, 2, '.');
    put(rest % 1000, 3, 'Z');
    out
}

/// Converts days since 1970 to year, month and day (proleptic Gregorian; years counted from March).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Parses an ISO 8601 time or date, in UTC unless it names an offset, into Unix milliseconds.
///
/// ```
/// use treering::time::parse;
///
/// assert_eq!(parse("2026-01-05"), Some(1_767_571_200_000));
/// assert_eq!(parse("2026-01-05T10:00:20.226+01:00"), Some(1_767_603_620_226));
/// assert_eq!(parse("yesterday"), None);
/// ```
pub fn parse(text: impl AsRef<[u8]>) -> Option<i64> {
    let text = text.as_ref();
    parse_usual(text).or_else(|| parse_any(std::str::from_utf8(text).ok()?))
}

/// Parses exactly `YYYY-MM-DDTHH:MM:SS.mmmZ`, which agents write, and does so quickly.
pub(crate) fn parse_usual(text: &[u8]) -> Option<i64> {
    let text: &[u8; 24] = text.try_into().ok()?;
    let number = |from: usize, to: usize| {
        text[from..to].iter().try_fold(0_i64, |sum, byte| {
            byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0'))
        })
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if marks.iter().any(|&(at, mark)| text[at] != mark) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => return None,
    };
    if !(1..=length).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let from_march = year - i64::from(month <= 2);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days =
        from_march.div_euclid(4) - from_march.div_euclid(100) + from_march.div_euclid(400);
    let days = from_march * 365 + leap_days + day_of_year - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + number(20, 23)?)
}

fn parse_any(text: &str) -> Option<i64> {
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(instant.as_millisecond());
    }
    // A date is midnight.
    let time: jiff::civil::DateTime = text.parse().ok()?;
    Some(time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_shapes_that_occur() {
        assert_eq!(parse(b"2026-01-05T09:00:20.226Z"), Some(1_767_603_620_226));
        assert_eq!(parse(b"2026-01-05T09:00:20Z"), Some(1_767_603_620_000));
        assert_eq!(parse(b"2026-01-05T10:00:20.226+01:00"), Some(1_767_603_620_226));
        assert_eq!(parse(b"2026-01-05"), Some(1_767_571_200_000));
        assert_eq!(parse("2026-01-05T09:00:20.226"), Some(1_767_603_620_226), "UTC");
        assert_eq!(parse("2026-01-05 09:00:20"), Some(1_767_603_620_000));
        for bad in ["", "yesterday", "2026-13-45T99:99:99.000Z", "2026-02-30T00:00:00.000Z", "17"] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn format_and_parse_agree_with_a_calendar_library(millis in -62_000_000_000_000_i64..253_000_000_000_000) {
            let text = format(millis);
            prop_assert_eq!(parse_usual(text.as_bytes()), Some(millis));
            prop_assert_eq!(text.parse::<jiff::Timestamp>().unwrap().as_millisecond(), millis);
        }
    }
}
