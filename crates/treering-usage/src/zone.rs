//! Time zones, which decide when days begin.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use std::cell::Cell;

/// A time zone. Days, weeks and months are those of its calendar.
///
/// ```
/// use treering_usage::Zone;
/// assert_eq!(Zone::utc().day(1_767_571_200_000), "2026-01-05");
/// assert_eq!(Zone::named("-03:00").unwrap().day(1_767_571_200_000), "2026-01-04");
/// ```
#[derive(Debug, Clone)]
pub struct Zone {
    zone: TimeZone,
}

/// Converts times, which are mostly consecutive, to dates.
#[derive(Debug)]
pub(crate) struct Dates<'a> {
    zone: &'a Zone,
    /// The last quarter of an hour, and its date. Offsets of time zones change, and days begin,
    /// only at quarters, and consecutive events are mostly in the same one.
    last: Cell<(i64, Date)>,
}

impl<'a> Dates<'a> {
    pub(crate) fn of(zone: &'a Zone) -> Self {
        Dates { zone, last: Cell::new((i64::MIN, Date::MIN)) }
    }

    /// Returns the date at a time, as [`Zone::date`] does.
    pub(crate) fn date(&self, millis: i64) -> Date {
        let quarter = millis.div_euclid(QUARTER);
        let (known, date) = self.last.get();
        if known == quarter {
            return date;
        }
        let date = self.zone.date(millis);
        self.last.set((quarter, date));
        date
    }
}

/// The error for a name that is not a time zone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a time zone: write `local`, `UTC`, an offset such as `+02:00`, or a name such as `Europe/Berlin`"
)]
pub struct UnknownZone(String);

const QUARTER: i64 = 15 * 60 * 1000;

impl Zone {
    fn new(zone: TimeZone) -> Self {
        Zone { zone }
    }

    /// Returns Coordinated Universal Time.
    pub fn utc() -> Self {
        Zone::new(TimeZone::UTC)
    }

    /// Returns the time zone of this machine, or UTC if it cannot be determined.
    pub fn local() -> Self {
        Zone::new(TimeZone::system())
    }

    /// Returns the zone that a text names: `local`, `UTC`, an offset, or a name of the time zone database.
    ///
    /// # Errors
    ///
    /// Fails with [`UnknownZone`] if there is no such zone.
    pub fn named(name: &str) -> Result<Self, UnknownZone> {
        if name.eq_ignore_ascii_case("local") {
            return Ok(Zone::local());
        }
        if name.eq_ignore_ascii_case("utc") || name.eq_ignore_ascii_case("z") {
            return Ok(Zone::utc());
        }
        let zone = match name.starts_with(['+', '-']) {
            true => jiff::fmt::temporal::DateTimeParser::new().parse_time_zone(name),
            false => TimeZone::get(name),
        };
        zone.map(Zone::new).map_err(|_| UnknownZone(name.to_owned()))
    }

    /// Returns the date at a time in Unix milliseconds. Times outside of the calendar are clamped.
    pub(crate) fn date(&self, millis: i64) -> Date {
        let range = Timestamp::MIN.as_millisecond()..=Timestamp::MAX.as_millisecond();
        let millis = millis.clamp(*range.start(), *range.end());
        let time = Timestamp::from_millisecond(millis).unwrap_or_default();
        self.zone.to_datetime(time).date()
    }

    /// Returns the date at a time in Unix milliseconds, as `2026-01-31`.
    pub fn day(&self, millis: i64) -> String {
        self.date(millis).to_string()
    }

    /// Returns a time in Unix milliseconds as text, to the minute.
    pub fn minute(&self, millis: i64) -> String {
        match Timestamp::from_millisecond(millis) {
            Ok(time) => self.zone.to_datetime(time).strftime("%Y-%m-%d %H:%M").to_string(),
            Err(_) => treering::time::format(millis),
        }
    }

    /// Returns the time at which the day `days` after a date begins, in Unix milliseconds.
    fn start(&self, date: Date, days: i64) -> Option<i64> {
        let date = date.checked_add(days.days()).ok()?;
        Some(self.zone.to_zoned(date.into()).ok()?.timestamp().as_millisecond())
    }

    /// Returns the start and the end of a day in Unix milliseconds: of `2026-01-31`, or of `today`
    /// or `yesterday` relative to `now`. Returns `None` for any other text.
    ///
    /// ```
    /// use treering_usage::Zone;
    /// let day = Zone::utc().day_range("2026-01-05", 0).unwrap();
    /// assert_eq!(day, 1_767_571_200_000..1_767_657_600_000);
    /// assert_eq!(Zone::utc().day_range("yesterday", day.end), Some(day));
    /// assert_eq!(Zone::utc().day_range("7d", 0), None);
    /// ```
    pub fn day_range(&self, text: &str, now: i64) -> Option<std::ops::Range<i64>> {
        let (date, days) = match text {
            "today" => (self.date(now), 0),
            "yesterday" => (self.date(now), -1),
            _ if text.len() == 10 => (text.parse().ok()?, 0),
            _ => return None,
        };
        Some(self.start(date, days)?..self.start(date, days + 1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_by_name() {
        for name in ["local", "UTC", "utc", "+02:00", "-09:30"] {
            assert!(Zone::named(name).is_ok(), "{name}");
        }
        for name in ["", "nowhere/at/all", "+99:00", "2 o'clock"] {
            assert!(Zone::named(name).is_err(), "{name}");
        }
    }

    #[test]
    fn dates_follow_the_offset_and_extreme_times_have_one() {
        let zone = Zone::named("+02:00").unwrap();
        let midnight = 1_767_564_000_000; // 2026-01-04T22:00Z
        let dates = Dates::of(&zone);
        for millis in [midnight - 1, midnight, midnight + 1, midnight - 1] {
            let expected = if millis < midnight { "2026-01-04" } else { "2026-01-05" };
            assert_eq!(
                (&*zone.day(millis), &*dates.date(millis).to_string()),
                (expected, expected)
            );
        }
        assert_eq!(zone.day_range("2026-01-05", 0).unwrap().start, midnight);
        assert_eq!(zone.minute(midnight), "2026-01-05 00:00");
        for extreme in [i64::MIN, i64::MAX] {
            assert!(!zone.day(extreme).is_empty());
            assert!(!zone.minute(extreme).is_empty());
        }
        for text in ["2026-02-30", "tomorrow", "today ", "12345678901"] {
            assert_eq!(zone.day_range(text, 0), None, "{text}");
        }
    }
}
