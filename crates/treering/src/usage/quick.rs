//! The usage of a whole session for lists, without reading all of it.
//!
//! The result is the one of the [ledger](super::ledger): each event once. Most bytes of a session are in
//! its answers, and agents that share treering's own format write `usage` near the end of an answer, so
//! there only the two ends of a record are read, and believed if they show that nothing else can matter. Compactions, summaries and
//! counts are read as usual. So are the answers that may tell of the same event as another: that takes
//! equal token counts, and an id that the file does not have or a name of the response. All other
//! dialects are read as usual.

use super::event::EventHasher;
use super::read::{self, Usage};
use super::survey::{self, UsageReader};
use crate::dialect::Price;
use crate::entry::{Kind, Role};
use crate::error::{Error, Result};
use crate::json;
use crate::log::{Journal, scan};
use crate::snapshot::Snapshot;
use crate::tree::{Node, Row};
use memchr::memmem::{self, Finder};
use std::collections::HashMap;

/// The number of bytes at the end of an answer that are read first.
const END: u64 = 640;

/// Length of its beginning: everything before the message.
const HEAD: u64 = 256;

const KEY: &[u8] = b"\"usage\":";

/// Returns what a session used, all branches included.
pub(crate) fn of_session(view: &Snapshot) -> Result<Usage> {
    if !view.facts().has_own_header {
        return survey::of_rows(view, &view.tree().live().collect::<Vec<Row>>());
    }
    let namer = EventHasher::default();
    let mut quick = Quick {
        view,
        surveyor: UsageReader::of_few(view, &namer),
        ends: Ends { journal: view.journal(), bytes: Vec::new() },
        key: Finder::new(KEY),
        all: Usage::default(),
        counts: Vec::new(),
    };
    for row in view.tree().live() {
        quick.add(row)?;
    }
    quick.count_once()
}

struct Quick<'a> {
    view: &'a Snapshot,
    surveyor: UsageReader<'a>,
    ends: Ends<'a>,
    key: Finder<'static>,
    /// The sum of all entries, in which an event that several tell of is counted several times.
    all: Usage,
    /// The entries that were counted: a hash of the token counts, and the row.
    counts: Vec<(u64, Row)>,
}

impl Quick<'_> {
    fn add(&mut self, row: Row) -> Result<()> {
        let node = self.view.tree().node(row);
        let usage = match node.kind() {
            Kind::Message if node.role() == Some(Role::Assistant) => self.answer(row, node)?,
            Kind::Compaction | Kind::BranchSummary | Kind::Usage => self.whole(row)?,
            _ => None,
        };
        if let Some(usage) = usage {
            self.all += usage;
            self.counts.push((hash_of(&usage), row));
        }
        Ok(())
    }

    fn answer(&mut self, row: Row, node: &Node) -> Result<Option<Usage>> {
        if !is_plain(self.ends.start(node, HEAD)?) {
            return self.whole(row);
        }
        match at_end(self.ends.end(node, END)?, &self.key) {
            Some(usage) => Ok(usage),
            None => self.whole(row),
        }
    }

    fn whole(&mut self, row: Row) -> Result<Option<Usage>> {
        Ok(self.surveyor.read(row)?.usage.map(|(usage, ..)| usage))
    }

    /// Takes out of the sum what was counted more than once.
    fn count_once(mut self) -> Result<Usage> {
        let mut counts = std::mem::take(&mut self.counts);
        counts.sort_unstable();
        let mut events = HashMap::new();
        for group in counts.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            for &(_, row) in group {
                if !self.may_repeat(row)? {
                    continue;
                }
                if let Some((usage, key, _)) = self.surveyor.read(row)?.usage {
                    self.all = self.all.without(usage);
                    let known = events.entry(key).or_insert(usage);
                    *known = known.same_event(usage);
                }
            }
        }
        Ok(self.all + events.into_values().sum())
    }

    /// Returns whether another entry of the file may tell of the same event: see [`event`](super::event).
    fn may_repeat(&mut self, row: Row) -> Result<bool> {
        let node = self.view.tree().node(row);
        if node.has(Node::DERIVED) || node.role() != Some(Role::Assistant) {
            return Ok(true);
        }
        let record = self.ends.end(node, node.len)?;
        Ok(memmem::find(record, b"\"responseId\"").is_some())
    }
}

fn hash_of(usage: &Usage) -> u64 {
    use std::hash::BuildHasher;
    let counts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
    foldhash::fast::FixedState::default().hash_one(counts)
}

/// Returns whether the first object in a record that begins like this is its message, so that nothing before it
/// says that the record is a copy.
fn is_plain(start: &[u8]) -> bool {
    let inside = start.get(1..).unwrap_or_default();
    memchr::memchr(b'{', inside).is_some_and(|object| inside[..object].ends_with(b"\"message\":"))
}

/// The two ends of records.
struct Ends<'a> {
    journal: &'a dyn Journal,
    bytes: Vec<u8>,
}

impl Ends<'_> {
    fn start(&mut self, node: &Node, length: u64) -> Result<&[u8]> {
        self.read(node.offset, length.min(node.len))
    }

    fn end(&mut self, node: &Node, length: u64) -> Result<&[u8]> {
        let length = length.min(node.len);
        self.read(node.offset + (node.len - length), length)
    }

    fn read(&mut self, start: u64, length: u64) -> Result<&[u8]> {
        let to_size = |number| usize::try_from(number).unwrap_or(usize::MAX);
        if let Some(held) = self.journal.as_slice() {
            return Ok(held.get(to_size(start)..to_size(start + length)).unwrap_or_default());
        }
        self.bytes.resize(to_size(length), 0);
        scan::read_full(self.journal, start, &mut self.bytes).map_err(Error::Storage)?;
        Ok(&self.bytes)
    }
}

/// Returns the last `usage` in the end of a record, if it is a member of the object that is the
/// record's last member. A key cannot be mistaken for text: in text its quotes would be escaped.
fn at_end(end: &[u8], key: &Finder<'_>) -> Option<Option<Usage>> {
    // Finding all of them is quicker than looking backwards.
    let key = key.find_iter(end).last()?;
    let (usage, mut at) = read::usage_at(end, key + KEY.len(), Price::InEntry)?;
    while end.get(at) == Some(&b',') {
        let value = json::skip_value(end, at + 1)?;
        at = json::skip_value(end, value + usize::from(end.get(value) == Some(&b':')))?;
    }
    (end.get(at..)?.trim_ascii_end() == b"}}").then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Loaded;
    use crate::log::MemoryJournal;
    use std::sync::Arc;

    const USAGE: &str = r#"{"input":1,"output":2,"totalTokens":7,"cost":{"total":0.5}}"#;

    fn used(answers: &[String]) -> (u64, String) {
        let mut log = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}"#.to_owned();
        for (at, answer) in answers.iter().enumerate() {
            log += &format!(
                "\n{{\"type\":\"message\",\"id\":\"a{at}\",\"parentId\":null,\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"message\":{answer}}}"
            );
        }
        let journal = Arc::new(MemoryJournal::new((log + "\n").into_bytes()));
        let loaded = Loaded::read(&*journal).unwrap();
        let view = Snapshot::new(&loaded, journal, false);
        let usage = of_session(&view).unwrap();
        (usage.total(), usage.cost.to_string())
    }

    #[test]
    fn every_answer_is_counted_wherever_it_says_so() {
        let late =
            format!(r#"{{"role":"assistant","content":[],"usage":{USAGE},"stopReason":"stop"}}"#);
        let early = format!(
            r#"{{"role":"assistant","usage":{USAGE},"content":[{{"text":"{}"}}]}}"#,
            "x".repeat(2000)
        );
        let inside =
            r#"{"role":"assistant","content":[{"arguments":{"usage":{"input":9}}}]}"#.to_owned();
        let quoted = r#"{"role":"assistant","content":"\"usage\":{\"input\":9}"}"#.to_owned();
        let user = late.replace("assistant", "user");
        assert_eq!(used(std::slice::from_ref(&late)), (3, "0.5".to_owned()));
        assert_eq!(used(std::slice::from_ref(&early)), (3, "0.5".to_owned()));
        assert_eq!(used(&[inside.clone(), quoted, user]), (0, "0".to_owned()));
        assert_eq!(used(&[late, inside, early]), (6, "1".to_owned()));
    }

    #[test]
    fn an_event_is_counted_once_and_a_copy_not_at_all() {
        let answer =
            |more: &str| format!(r#"{{"role":"assistant","content":[],"usage":{USAGE}{more}}}"#);
        let (plain, named) = (answer(""), answer(r#","responseId":"r""#));
        assert_eq!(used(&[plain.clone(), plain.clone()]), (6, "1".to_owned()));
        assert_eq!(used(&[named.clone(), named.clone()]), (3, "0.5".to_owned()));
        assert_eq!(used(&[plain.clone(), named.clone(), named]), (6, "1".to_owned()));
        let copied = |answer: &str| format!(r#"{answer},"copiedFrom":{{"entryId":"a0"}}"#);
        assert_eq!(used(&[plain.clone(), copied(&plain)]), (3, "0.5".to_owned()));
        let before = format!(r#"null,"copiedFrom":{{"entryId":"a0"}},"message":{plain}"#);
        assert_eq!(used(&[plain, before]), (3, "0.5".to_owned()));
    }

    #[test]
    fn everything_that_used_something_is_counted() {
        let log = format!(
            "{}\n{}\n{}\n{}\n",
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}"#,
            format_args!(
                r#"{{"type":"compaction","id":"a","parentId":null,"timestamp":"2026-01-05T09:00:00.000Z","summary":"s","firstKeptEntryId":"a","usage":{USAGE}}}"#
            ),
            format_args!(
                r#"{{"type":"branch_summary","id":"b","parentId":"a","timestamp":"2026-01-05T09:00:00.000Z","fromId":"a","summary":"s","usage":{USAGE}}}"#
            ),
            format_args!(
                r#"{{"type":"usage","id":"c","parentId":"b","timestamp":"2026-01-05T09:00:00.000Z","usage":{USAGE}}}"#
            ),
        );
        let journal = Arc::new(MemoryJournal::new(log.into_bytes()));
        let loaded = Loaded::read(&*journal).unwrap();
        let view = Snapshot::new(&loaded, journal, false);
        let usage = of_session(&view).unwrap();
        assert_eq!((usage.requests, usage.total()), (3, 9));
    }
}
