//! The usage events of a whole session, without reading all of it.
//!
//! The result equals that of the [ledger](super::ledger): each event counts once. Most bytes of a
//! session are in its answers, and agents that use treering's own format write `usage` near the end
//! of an answer, after the model. Of such a record only the two ends are read, provided that they
//! show that nothing else can matter. The rest is searched only for the id of a response.
//! Compactions, summaries and counts are read as usual. In other dialects records are read as
//! usual, and decoded only where the dialect cannot read the counts of an answer from its record.

use super::Purpose;
use super::branches;
use super::event::{EventHasher, EventSeed, Identity};
use super::events::{Collector, SessionEvent, SessionEvents};
use super::names::{NO_NAME, Names};
use super::read::{self, Usage};
use super::survey::{ModelNames, UsageReader};
use crate::dialect::Price;
use crate::entry::{Kind, Role};
use crate::error::{Error, Result};
use crate::json;
use crate::log::{Journal, scan};
use crate::snapshot::Snapshot;
use crate::tree::{NONE, Node, Row};
use memchr::memmem::Finder;

/// The number of bytes at the end of an answer that are read first.
const END: u64 = 640;

/// The length of the beginning of a record that is read: everything before the message.
const HEAD: u64 = 256;

const KEY: &[u8] = b"\"usage\":";
const PROVIDER: &[u8] = b"\"provider\":";
const RESPONSE: &[u8] = b"\"responseId\"";

/// Returns the events of a session, all branches included.
pub(crate) fn of_session(view: &Snapshot, seed: EventSeed) -> Result<SessionEvents> {
    let hasher = EventHasher::new(seed);
    if !view.facts().has_own_header {
        return of_records(view, &hasher);
    }
    let mut quick = FastReader {
        view,
        reader: UsageReader::of_few(view, &hasher),
        ends: RecordEnds { journal: view.journal(), bytes: Vec::new() },
        finders: Finders {
            key: Finder::new(KEY),
            provider: Finder::new(PROVIDER),
            response: Finder::new(RESPONSE),
        },
        names: Names::default(),
        model: String::new(),
        unnamed: Vec::new(),
        events: Vec::new(),
    };
    for row in view.tree().live() {
        quick.add(row)?;
    }
    quick.finish()
}

/// Returns the events of a session whose records are all read.
fn of_records(view: &Snapshot, hasher: &EventHasher) -> Result<SessionEvents> {
    let mut reader = UsageReader::new(view, hasher);
    let (mut names, mut models) = (Names::default(), ModelNames::new(view));
    let mut events = Vec::new();
    for row in view.tree().live() {
        let recorded = reader.read_usage(row)?;
        if let Some(model) = &recorded.model {
            models.names(row, model, &mut names);
        }
        if let Some((usage, name, purpose)) = recorded.usage {
            let time = view.tree().node(row).time();
            events.push((row, SessionEvent { name, time, model: models.at(row), purpose, usage }));
        }
    }
    if events.iter().any(|(_, event)| event.model == NO_NAME) {
        models.inherit(view, branches::preorder(view.tree()));
    }
    let mut collector = Collector::default();
    for (row, event) in events {
        let model = if event.model == NO_NAME { models.at(row) } else { event.model };
        collector.add(SessionEvent { model, ..event });
    }
    Ok(collector.finish(&names))
}

struct Finders {
    key: Finder<'static>,
    provider: Finder<'static>,
    response: Finder<'static>,
}

struct FastReader<'a> {
    view: &'a Snapshot,
    reader: UsageReader<'a>,
    ends: RecordEnds<'a>,
    finders: Finders,
    names: Names,
    /// The name of the last answer's model.
    model: String,
    /// The events that do not name their model, and their rows. Their model is found further up.
    unnamed: Vec<(usize, Row)>,
    events: Vec<SessionEvent>,
}

impl FastReader<'_> {
    fn add(&mut self, row: Row) -> Result<()> {
        let node = self.view.tree().node(row);
        match node.kind() {
            Kind::Message if node.role() == Some(Role::Assistant) => self.answer(row, node),
            Kind::Compaction | Kind::BranchSummary | Kind::Usage => self.whole(row),
            _ => Ok(()),
        }
    }

    fn answer(&mut self, row: Row, node: &Node) -> Result<()> {
        if !is_plain(self.ends.start(node, HEAD)?) {
            return self.whole(row);
        }
        let end = self.ends.end(node, END)?;
        let Some(AnswerEnd { usage, provider, model, response, from }) = at_end(end, &self.finders)
        else {
            return self.whole(row);
        };
        let Some(usage) = usage else { return Ok(()) };
        let (Some(provider), Some(model)) = (json::string(provider), json::string(model)) else {
            return self.whole(row);
        };
        if provider.is_empty() || model.is_empty() {
            return self.whole(row);
        }
        self.model.clear();
        self.model.extend([&*provider, "/", &*model]);
        let identity = match response {
            Some(name) if name.starts_with(b"\"") && name != b"\"\"" => Identity::Request(name),
            Some(_) => return self.whole(row),
            None => Identity::Entry,
        };
        let name = self.reader.name(row, identity, &usage);
        if response.is_none() {
            // The part of the record before the model may also have the id of the response.
            let before = node.len - (end.len() - from) as u64;
            let before = self.ends.start(node, before)?;
            if self.finders.response.find(before).is_some() {
                return self.whole(row);
            }
        }
        let (time, model) = (node.time(), self.names.number(&self.model));
        let purpose = Purpose::Answer;
        self.events.push(SessionEvent { name, time, model, purpose, usage });
        Ok(())
    }

    fn whole(&mut self, row: Row) -> Result<()> {
        let recorded = self.reader.read_usage(row)?;
        let Some((usage, name, purpose)) = recorded.usage else { return Ok(()) };
        let model = recorded.model.map_or(NO_NAME, |model| self.names.number(&model));
        if model == NO_NAME {
            self.unnamed.push((self.events.len(), row));
        }
        let time = self.view.tree().node(row).time();
        self.events.push(SessionEvent { name, time, model, purpose, usage });
        Ok(())
    }

    /// Finds the models of events that do not name one, and merges the records of each event.
    fn finish(mut self) -> Result<SessionEvents> {
        // The models of the rows that were visited, so that no row is visited twice.
        let mut known = std::collections::HashMap::new();
        for (at, row) in std::mem::take(&mut self.unnamed) {
            let (mut above, mut found, mut passed) = (row, NO_NAME, Vec::new());
            while above != NONE {
                if let Some(model) = known.get(&above) {
                    found = *model;
                    break;
                }
                passed.push(above);
                if let Some(model) = self.reader.read_usage(above)?.model {
                    found = self.names.number(&model);
                    break;
                }
                above = self.view.tree().node(above).parent;
            }
            known.extend(passed.into_iter().map(|row| (row, found)));
            if let Some(event) = self.events.get_mut(at) {
                event.model = found;
            }
        }
        let mut collector = Collector::default();
        self.events.into_iter().for_each(|event| collector.add(event));
        Ok(collector.finish(&self.names))
    }
}

/// Returns whether the first object in a record that begins like this is its message, so that
/// nothing before it marks the record as a copy.
fn is_plain(start: &[u8]) -> bool {
    let inside = start.get(1..).unwrap_or_default();
    memchr::memchr(b'{', inside).is_some_and(|object| inside[..object].ends_with(b"\"message\":"))
}

/// Reads the two ends of records.
struct RecordEnds<'a> {
    journal: &'a dyn Journal,
    bytes: Vec<u8>,
}

impl RecordEnds<'_> {
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

/// The members at the end of an answer.
struct AnswerEnd<'a> {
    /// The usage, if any tokens were used.
    usage: Option<Usage>,
    provider: &'a [u8],
    model: &'a [u8],
    response: Option<&'a [u8]>,
    /// The offset of the first of these members.
    from: usize,
}

/// Returns the members from `provider` to the end of a record, if `usage` follows the model and is
/// a member of the object that is the record's last member. A key cannot be confused with text,
/// because its quotes would be escaped there.
fn at_end<'a>(end: &'a [u8], finders: &Finders) -> Option<AnswerEnd<'a>> {
    // Finding all occurrences is faster than searching backwards.
    let key = finders.key.find_iter(end).last()?;
    let from = finders.provider.find_iter(end.get(..key)?).last()?;
    let provider_at = from + PROVIDER.len();
    let provider_end = json::skip_value(end, provider_at)?;
    let model_key = b",\"model\":";
    let model_at = provider_end + model_key.len();
    let model_end = json::skip_value(end, model_at)?;
    let is_in_order = end.get(provider_end..model_at) == Some(model_key)
        && end.get(model_end) == Some(&b',')
        && model_end + 1 == key;
    if !is_in_order {
        return None;
    }
    let (usage, mut at) = read::usage_at(end, key + KEY.len(), Price::InEntry)?;
    let mut response = None;
    while end.get(at) == Some(&b',') {
        let name_end = json::skip_value(end, at + 1)?;
        let name = end.get(at + 1..name_end)?;
        let start = name_end + usize::from(end.get(name_end) == Some(&b':'));
        let value_end = json::skip_value(end, start)?;
        match name {
            b"\"responseId\"" => response = end.get(start..value_end),
            b"\"provider\"" | b"\"model\"" => return None,
            // A key with escapes may be any of them.
            _ if name.contains(&b'\\') => return None,
            _ => {}
        }
        at = value_end;
    }
    let is_last = end.get(at..)?.trim_ascii_end() == b"}}";
    let (provider, model) = (&end[provider_at..provider_end], &end[model_at..model_end]);
    is_last.then_some(AnswerEnd { usage, provider, model, response, from })
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
        let usage = of_session(&view, EventSeed::random()).unwrap().usage();
        (usage.total(), usage.cost.to_string())
    }

    #[test]
    fn every_answer_is_counted_wherever_its_usage_is() {
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
        let usage = of_session(&view, EventSeed::random()).unwrap().usage();
        assert_eq!((usage.requests, usage.total()), (3, 9));
    }
}
