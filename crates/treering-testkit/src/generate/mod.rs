//! Sessions made to measure.
//!
//! [`session`] writes a session as a long stretch of work with a coding agent leaves it: turns of
//! a question, tool calls with their results, and an answer; sizes spread log-normally around those
//! of real tool output; now and then a step back to an earlier entry, a compaction, a label, a
//! change of model. About 2.2 KB an entry. It streams, so that gigabytes need no memory, and copies
//! prepared text, so that they need no patience.
//!
//! Same [`Plan`], same bytes, on every machine.

mod entries;
mod line;
mod maker;
mod shapes;
mod small;

pub use shapes::{chain, star};
pub use small::small;

use maker::{Maker, Stop};
use std::io::{self, Write};

/// The options of a generated session.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Seed of the random numbers.
    pub seed: u64,
    /// When to stop.
    pub limit: Limit,
    /// Whether the path is compacted about every 400 entries.
    pub compactions: bool,
    /// Whether extensions speak (`custom_message`).
    pub custom_messages: bool,
    /// The project in the header.
    pub cwd: String,
    /// The session's first moment, in Unix milliseconds.
    pub start: i64,
}

/// The size of the session.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// At least this many bytes: the entry that reaches it is the last.
    Bytes(u64),
    /// Exactly this many entries.
    Entries(u64),
}

impl Plan {
    /// Returns the usual session of this many entries.
    pub fn entries(seed: u64, count: u64) -> Self {
        Plan {
            seed,
            limit: Limit::Entries(count),
            compactions: true,
            custom_messages: false,
            cwd: "/home/dev/orchard".into(),
            start: 1_767_258_000_000,
        }
    }

    /// Returns the usual session of this many bytes.
    pub fn bytes(seed: u64, count: u64) -> Self {
        Plan { limit: Limit::Bytes(count), ..Plan::entries(seed, 0) }
    }
}

/// The facts about a generated session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// The number of bytes, header included.
    pub bytes: u64,
    /// The number of entries.
    pub entries: u64,
    /// The session's id.
    pub session: String,
    /// The active leaf.
    pub leaf: String,
    /// The active leaf when half of it was written.
    pub middle: String,
    /// The number of entries on the path to the leaf.
    pub depth: usize,
    /// Up to 1000 ids, each entry being as likely as any other.
    pub sample: Vec<String>,
}

/// Writes a session.
///
/// ```
/// use treering_testkit::generate::{Plan, session};
/// let mut bytes = Vec::new();
/// let stats = session(&mut bytes, &Plan::entries(1, 100))?;
/// assert_eq!(bytes.iter().filter(|&&byte| byte == b'\n').count() as u64, stats.entries + 1);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn session(out: &mut dyn Write, plan: &Plan) -> io::Result<Stats> {
    let mut maker = Maker::new(out, plan);
    match maker.work() {
        Ok(never) => match never {},
        Err(Stop::Enough) => maker.finish(),
        Err(Stop::Io(error)) => Err(error),
    }
}

/// Returns a session as bytes.
pub fn session_bytes(plan: &Plan) -> (Vec<u8>, Stats) {
    let mut bytes = Vec::new();
    let stats = session(&mut bytes, plan).expect("writing to memory");
    (bytes, stats)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::{HashMap, HashSet};

    fn checksum(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0, |sum: u64, &byte| sum.wrapping_mul(0x0100_0000_01B3) ^ u64::from(byte))
    }

    /// Benchmarks compare numbers over years: what they run on must not drift.
    #[test]
    fn same_plan_same_bytes() {
        let (bytes, stats) = session_bytes(&Plan::entries(1, 500));
        assert_eq!((bytes.clone(), stats.clone()), session_bytes(&Plan::entries(1, 500)));
        assert_ne!(bytes, session_bytes(&Plan::entries(2, 500)).0);
        assert_eq!((stats.bytes, checksum(&bytes)), (1_103_860, 11_724_797_188_365_779_144));
        assert_eq!(checksum(&small(1, 100)), 1293026002598462719);
    }

    #[test]
    fn limits_are_kept() {
        let (bytes, stats) = session_bytes(&Plan::bytes(3, 300_000));
        assert_eq!(bytes.len() as u64, stats.bytes);
        assert!((300_000..350_000).contains(&stats.bytes));
        for count in [0, 1, 2, 77] {
            let (bytes, stats) = session_bytes(&Plan::entries(3, count));
            let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
            assert_eq!((lines, stats.entries), (count + 1, count));
        }
    }

    #[test]
    fn sessions_are_healthy_and_have_the_usual_mix() {
        let (bytes, stats) =
            session_bytes(&Plan { custom_messages: true, ..Plan::entries(4, 6000) });
        let mut ids: HashSet<String> = HashSet::new();
        let mut mix: HashMap<String, usize> = HashMap::new();
        for line in bytes.split(|&byte| byte == b'\n').skip(1).filter(|line| !line.is_empty()) {
            let entry: Value = serde_json::from_slice(line).unwrap();
            let text = |key: &str| entry[key].as_str().map(str::to_owned);
            assert!(
                text("parentId").is_none_or(|parent| ids.contains(&parent)),
                "parents come first"
            );
            assert!(ids.insert(text("id").unwrap()), "ids are unique");
            let role = entry["message"]["role"].as_str();
            *mix.entry(role.map_or_else(|| text("type").unwrap(), str::to_owned)).or_default() += 1;
        }
        assert_eq!(ids.len(), 6000);
        assert!(stats.sample.len() == 1000 && stats.sample.iter().all(|id| ids.contains(id)));
        assert!(ids.contains(&stats.leaf) && ids.contains(&stats.middle));
        assert!((1900..2600).contains(&(stats.bytes / stats.entries)), "bytes an entry");
        for (kind, range) in [
            ("assistant", 2500..3200),
            ("toolResult", 1700..2500),
            ("user", 600..1000),
            ("custom", 50..120),
            ("label", 25..90),
            ("branch_summary", 15..60),
            ("compaction", 8..20),
            ("custom_message", 20..80),
            ("session_info", 1..2),
        ] {
            let count = mix.get(kind).copied().unwrap_or(0);
            assert!(range.contains(&count), "{count} of {kind}");
        }
        let plain = session_bytes(&Plan { compactions: false, ..Plan::entries(4, 3000) }).0;
        assert!(!String::from_utf8(plain).unwrap().contains("\"type\":\"compaction\""));
    }

    #[test]
    fn chains_and_stars() {
        let mut bytes = Vec::new();
        let stats = chain(&mut bytes, 1, 300).unwrap();
        assert_eq!((stats.depth, stats.entries, stats.bytes), (300, 300, bytes.len() as u64));
        let mut bytes = Vec::new();
        let stats = star(&mut bytes, 1, 300).unwrap();
        assert_eq!((stats.depth, stats.entries, stats.bytes), (2, 300, bytes.len() as u64));
        let root = bytes.windows(15).filter(|window| *window == b"\"parentId\":null").count();
        assert_eq!(root, 1);
    }

    #[test]
    fn small_sessions_are_healthy() {
        let text = String::from_utf8(small(7, 400)).unwrap();
        let mut ids = HashSet::new();
        for line in text.lines().skip(1) {
            let entry: Value = serde_json::from_str(line).unwrap();
            assert!(entry["parentId"].as_str().is_none_or(|parent| ids.contains(parent)));
            ids.insert(entry["id"].as_str().unwrap().to_owned());
        }
        assert_eq!(ids.len(), 400);
        for kind in ["compaction", "leaf", "context_edit", "novelty", "branch_summary", "hermit"] {
            assert!(text.contains(&format!("\"{kind}\"")), "{kind}");
        }
    }
}
