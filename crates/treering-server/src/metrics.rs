//! Counters of a server, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The upper bounds of the buckets of request times, in seconds.
const BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0];

/// The counters of a server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    counts: Mutex<Counts>,
    /// The number of open connections.
    pub(crate) connections: AtomicI64,
    /// The number of followers of events.
    pub(crate) followers: AtomicI64,
    /// The number of entries that were appended.
    pub(crate) entries: AtomicU64,
    /// The number of writes that appended them: waiting appends share one.
    pub(crate) writes: AtomicU64,
    /// The number of appends that wait for their turn.
    pub(crate) queued: AtomicI64,
    /// The number of appends that were carried out before, and answered from the log.
    pub(crate) replays: AtomicU64,
    /// The number of events that were sent.
    pub(crate) events: AtomicU64,
    /// The number of times that the store was polled for changes.
    pub(crate) polls: AtomicU64,
    /// The number of polls that failed.
    pub(crate) failed_polls: AtomicU64,
    /// The number of reads of a followed log, each for all of its followers.
    pub(crate) feed_reads: AtomicU64,
    /// The number of sessions that were opened, and of those that were already open.
    pub(crate) opened: AtomicU64,
    pub(crate) reused: AtomicU64,
}

#[derive(Debug, Default)]
struct Counts {
    /// The number of requests, by operation and status.
    requests: BTreeMap<(&'static str, u16), u64>,
    refusals: BTreeMap<&'static str, u64>,
    buckets: [u64; BUCKETS.len()],
    seconds: f64,
    answered: u64,
}

impl Metrics {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request that got a response.
    pub(crate) fn answered(&self, operation: &'static str, status: u16, time: Duration) {
        let seconds = time.as_secs_f64();
        let mut counts = self.counts();
        *counts.requests.entry((operation, status)).or_default() += 1;
        if let Some(at) = BUCKETS.iter().position(|bound| seconds <= *bound) {
            counts.buckets[at] += 1;
        }
        counts.seconds += seconds;
        counts.answered += 1;
    }

    /// Counts a refused request or connection.
    pub(crate) fn refused(&self, reason: &'static str) {
        *self.counts().refusals.entry(reason).or_default() += 1;
    }

    /// Returns all metrics as text. The caller reads the `gauges`: name, help and value.
    pub(crate) fn text(&self, gauges: &[(&str, &str, u64)]) -> String {
        let mut out = String::new();
        let counts = self.counts();
        head(&mut out, "treering_http_requests_total", "counter", "Answered requests.");
        for ((operation, status), count) in &counts.requests {
            let labels = format!("operation=\"{operation}\",status=\"{status}\"");
            let _ = writeln!(out, "treering_http_requests_total{{{labels}}} {count}");
        }
        let name = "treering_refusals_total";
        head(&mut out, name, "counter", "Refused requests and connections, by reason.");
        for (reason, count) in &counts.refusals {
            let _ = writeln!(out, "{name}{{reason=\"{reason}\"}} {count}");
        }
        let name = "treering_http_request_seconds";
        head(&mut out, name, "histogram", "Time from the header of a request to its answer's.");
        let mut sum = 0;
        for (bound, count) in BUCKETS.iter().zip(&counts.buckets) {
            sum += count;
            let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {sum}");
        }
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {}", counts.answered);
        let _ = writeln!(out, "{name}_sum {}\n{name}_count {}", counts.seconds, counts.answered);
        drop(counts);
        for (name, help, value) in [
            ("treering_entries_appended_total", "Appended entries.", &self.entries),
            ("treering_append_writes_total", "Writes that appended entries.", &self.writes),
            ("treering_replayed_appends_total", "Appends that had happened before.", &self.replays),
            ("treering_events_sent_total", "Events sent to followers.", &self.events),
            ("treering_polls_total", "Polls of stores for changes.", &self.polls),
            ("treering_failed_polls_total", "Polls that failed.", &self.failed_polls),
            ("treering_feed_reads_total", "Reads of followed logs.", &self.feed_reads),
            ("treering_sessions_opened_total", "Sessions opened.", &self.opened),
            ("treering_sessions_reused_total", "Uses of open sessions.", &self.reused),
        ] {
            head(&mut out, name, "counter", help);
            let _ = writeln!(out, "{name} {}", value.load(Ordering::Relaxed));
        }
        let level = |value: &AtomicI64| value.load(Ordering::Relaxed).max(0).unsigned_abs();
        let own = [
            ("treering_connections", "Open connections.", level(&self.connections)),
            ("treering_followers", "Followers of events.", level(&self.followers)),
            ("treering_queued_appends", "Appends that wait.", level(&self.queued)),
        ];
        for (name, help, value) in own.iter().chain(gauges) {
            head(&mut out, name, "gauge", help);
            let _ = writeln!(out, "{name} {value}");
        }
        out
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_was_counted_is_in_the_text() {
        let metrics = Metrics::default();
        metrics.answered("listSessions", 200, Duration::from_millis(3));
        metrics.refused("no_token");
        metrics.refused("no_token");
        let text = metrics.text(&[("treering_example", "An example.", 7)]);
        for line in [
            "treering_http_requests_total{operation=\"listSessions\",status=\"200\"} 1",
            "treering_refusals_total{reason=\"no_token\"} 2",
            "treering_http_request_seconds_bucket{le=\"0.0025\"} 0",
            "treering_http_request_seconds_bucket{le=\"0.005\"} 1",
            "treering_http_request_seconds_count 1",
            "treering_example 7",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
