//! Rate limits: token buckets by key.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Token buckets that fill at a steady rate, and from which requests take.
#[derive(Debug)]
pub(crate) struct RateLimiter<K> {
    per_second: f64,
    burst: f64,
    buckets: Mutex<HashMap<K, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    level: f64,
    at: Instant,
}

/// The maximum number of keys. Full buckets are removed first.
const MAX_KEYS: usize = 65_536;

impl<K: Hash + Eq> RateLimiter<K> {
    /// Creates a limiter; a rate of 0 means no limit.
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        let (per_second, burst) = (f64::from(per_second), f64::from(burst.max(1)));
        RateLimiter { per_second, burst, buckets: Mutex::default() }
    }

    /// Takes one request from the bucket of `key`. Returns the seconds to wait if it is empty.
    pub(crate) fn take(&self, key: K, now: Instant) -> Result<(), u64> {
        self.with(key, now, |level| match *level >= 1.0 {
            true => {
                *level -= 1.0;
                Ok(())
            }
            false => Err(()),
        })
    }

    /// Returns whether the bucket of `key` is empty, without taking from it.
    pub(crate) fn check(&self, key: K, now: Instant) -> Result<(), u64> {
        self.with(key, now, |level| if *level >= 1.0 { Ok(()) } else { Err(()) })
    }

    fn with(
        &self,
        key: K,
        now: Instant,
        take: impl FnOnce(&mut f64) -> Result<(), ()>,
    ) -> Result<(), u64> {
        if self.per_second == 0.0 {
            return Ok(());
        }
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_KEYS && !buckets.contains_key(&key) {
            let (rate, burst) = (self.per_second, self.burst);
            buckets.retain(|_, bucket| bucket.filled(rate, burst, now) < burst);
            if buckets.len() >= MAX_KEYS {
                buckets.clear();
            }
        }
        let bucket = buckets.entry(key).or_insert(Bucket { level: self.burst, at: now });
        bucket.level = bucket.filled(self.per_second, self.burst, now);
        bucket.at = now;
        let missing = 1.0 - bucket.level;
        take(&mut bucket.level).map_err(|()| (missing / self.per_second).ceil().max(1.0) as u64)
    }
}

impl Bucket {
    fn filled(&self, per_second: f64, burst: f64, now: Instant) -> f64 {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        (self.level + passed * per_second).min(burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let (limiter, start) = (RateLimiter::new(2, 3), Instant::now());
        for _ in 0..3 {
            assert_eq!(limiter.take("a", start), Ok(()));
        }
        assert_eq!(limiter.take("a", start), Err(1));
        assert_eq!(limiter.take("b", start), Ok(()));
        let later = start + Duration::from_millis(500);
        assert_eq!(limiter.take("a", later), Ok(()));
        assert_eq!(limiter.check("a", later), Err(1));
        assert_eq!(RateLimiter::new(0, 1).take("a", start), Ok(()));
    }
}
