//! The time zone of shown times. The library and its files use UTC only.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A time zone; UTC by default.
///
/// ```
/// use treering_tui::time_zone::DisplayZone;
/// assert_eq!(DisplayZone::default().minute(0), "1970-01-01 00:00 UTC");
/// assert_eq!(DisplayZone::fixed(2).minute(0), "1970-01-01 02:00");
/// ```
#[derive(Debug, Clone)]
pub struct DisplayZone(TimeZone);

impl Default for DisplayZone {
    fn default() -> Self {
        DisplayZone(TimeZone::UTC)
    }
}

impl DisplayZone {
    /// Returns the time zone of this machine, or UTC if it cannot be determined.
    pub fn local() -> Self {
        DisplayZone(TimeZone::system())
    }

    /// Returns a zone that is always this many hours ahead of UTC.
    pub fn fixed(hours: i8) -> Self {
        DisplayZone(TimeZone::fixed(jiff::tz::offset(hours)))
    }

    /// Returns a time in Unix milliseconds as text, to the minute. UTC is marked; local time is
    /// not.
    pub fn minute(&self, millis: i64) -> String {
        self.format(millis, "%Y-%m-%d %H:%M")
    }

    /// Returns a time in Unix milliseconds as text, to the second.
    pub fn second(&self, millis: i64) -> String {
        self.format(millis, "%Y-%m-%d %H:%M:%S")
    }

    fn format(&self, millis: i64, pattern: &str) -> String {
        // Times outside of the calendar are shown as the library shows them.
        let Ok(time) = Timestamp::from_millisecond(millis) else {
            return treering::time::format(millis);
        };
        let mark = if self.0 == TimeZone::UTC || self.0.is_unknown() { " UTC" } else { "" };
        format!("{}{mark}", time.to_zoned(self.0.clone()).strftime(pattern))
    }
}
