//! Decides whether a request is retried, and after which pause.

use super::error::ModelError;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// Is called before each pause.
type OnRetry = Arc<dyn Fn(&ModelError, Duration) + Send + Sync>;

/// The policy of retries after a 408, 429 or 5xx, or a lost connection. If a part of the answer has
/// arrived, [`Delta::Restart`](crate::Delta::Restart) tells that it must be discarded.
#[derive(Clone)]
#[non_exhaustive]
pub struct Retry {
    /// The number of further attempts after the first.
    pub retries: u32,
    /// The first pause; each further one is twice as long. Up to half of it is random, so that
    /// clients that were refused together do not retry together.
    pub first_pause: Duration,
    /// The longest pause, even if the server asks for more with `Retry-After`.
    pub longest_pause: Duration,
    /// A function that is called before each pause, for a status line.
    pub on_retry: Option<OnRetry>,
}

impl Retry {
    /// Returns the defaults.
    pub fn new() -> Self {
        Retry::default()
    }

    /// Sets the number of further attempts after the first.
    #[must_use]
    pub fn retries(self, retries: u32) -> Self {
        Retry { retries, ..self }
    }

    /// Sets the first pause.
    #[must_use]
    pub fn first_pause(self, first_pause: Duration) -> Self {
        Retry { first_pause, ..self }
    }

    /// Sets the longest pause.
    #[must_use]
    pub fn longest_pause(self, longest_pause: Duration) -> Self {
        Retry { longest_pause, ..self }
    }

    /// Sets a function that is called before each pause.
    #[must_use]
    pub fn on_retry(
        self,
        on_retry: impl Fn(&ModelError, Duration) + Send + Sync + 'static,
    ) -> Self {
        Retry { on_retry: Some(Arc::new(on_retry)), ..self }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Retry {
            retries: 4,
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(60),
            on_retry: None,
        }
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("retries", &self.retries)
            .field("first_pause", &self.first_pause)
            .field("longest_pause", &self.longest_pause)
            .finish_non_exhaustive()
    }
}

impl Retry {
    /// Returns the pause before retry number `retry` (from 0), given the pause that the server
    /// asked for.
    pub(crate) fn pause(&self, retry: u32, asked: Option<Duration>) -> Duration {
        let longest = self.longest_pause;
        if let Some(asked) = asked {
            return asked.min(longest);
        }
        let full = self.first_pause.saturating_mul(2u32.saturating_pow(retry)).min(longest);
        full.mul_f64(1.0 - chance() / 2.0)
    }
}

/// Returns a number in 0..1 that is random enough to spread clients; the standard library seeds it.
fn chance() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1u64 << 53) as f64
}

/// Returns the pause that a `Retry-After` header asks for, in seconds or as an HTTP date, from
/// `now` on.
pub(crate) fn retry_after(value: &str, now: jiff::Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let then = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    // A date in the past means no pause.
    Some(Duration::try_from(then.duration_since(now)).unwrap_or_default())
}

/// Returns whether a status is temporary, so that another attempt may succeed.
pub(crate) fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502..=599)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let retry = Retry { longest_pause: Duration::from_secs(10), ..Retry::default() };
        for (number, full) in [(0, 1.0), (1, 2.0), (3, 8.0), (4, 10.0), (u32::MAX, 10.0)] {
            let pause = retry.pause(number, None).as_secs_f64();
            assert!(full / 2.0 <= pause && pause <= full, "{number}: {pause}");
        }
        assert_eq!(retry.pause(0, Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(retry.pause(0, Some(Duration::MAX)), Duration::from_secs(10));
    }

    #[test]
    fn retry_after_in_both_forms() {
        let now = "1994-11-06T08:49:30Z".parse().unwrap();
        let seconds = |value| retry_after(value, now).map(|pause| pause.as_secs());
        assert_eq!(seconds(" 12 "), Some(12));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(7));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
        assert_eq!(seconds("soon"), None);
        assert_eq!(seconds("-3"), None);
    }

    #[test]
    fn only_transient_errors_are_retried() {
        let transient: Vec<u16> = [200, 400, 401, 404, 408, 413, 429, 500, 501, 503, 529]
            .into_iter()
            .filter(|status| is_transient(*status))
            .collect();
        assert_eq!(transient, [408, 429, 500, 503, 529]);
    }
}
