//! The clock. It is read only here, so that tests can set it.

use std::time::SystemTime;

/// Returns the current time in Unix milliseconds, or the value of `TREERING_NOW`.
pub(crate) fn now() -> i64 {
    let pretended = std::env::var("TREERING_NOW").ok();
    if let Some(time) = pretended.and_then(|text| treering::time::parse(&text)) {
        return time;
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
