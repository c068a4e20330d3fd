//! What a whole session used, for lists: quickly.
//!
//! pi and omp write `usage` near the end of an answer. The end is read first, and believed if it closes
//! just there; otherwise the whole answer is read. All other dialects are read as usual. Lists do not
//! look for copies of an answer in the same file: only Claude Code and Codex repeat what they count,
//! and those are read as usual.

use super::read::{self, Usage};
use super::survey;
use crate::dialect::{Dialect, Price};
use crate::entry::Role;
use crate::error::{Error, Result};
use crate::json;
use crate::log::{Journal, scan};
use crate::snapshot::Snapshot;
use crate::tree::Node;
use memchr::memmem::Finder;

/// How much of an answer's end is looked at first.
const END: u64 = 640;

const KEY: &[u8] = b"\"usage\":";

/// What all answers used.
pub(crate) fn of_session(view: &Snapshot, dialect: Dialect) -> Result<Usage> {
    let tree = view.tree();
    if !matches!(dialect, Dialect::Pi | Dialect::Omp) {
        return survey::of_rows(view, &tree.live().collect::<Vec<u32>>());
    }
    let key = Finder::new(KEY);
    let mut ends = Ends { journal: view.journal(), bytes: Vec::new() };
    let mut all = Usage::default();
    for row in tree.live() {
        let node = tree.node(row);
        if node.role() != Some(Role::Assistant) {
            continue;
        }
        let usage = match at_end(ends.of(node, END)?, &key) {
            Some(usage) => usage,
            None => {
                let message = json::get(ends.of(node, node.len)?, "message");
                let usage = message.and_then(|message| json::get(message, "usage"));
                usage.and_then(|usage| read::usage(usage, Price::InEntry))
            }
        };
        all += usage.unwrap_or_default();
    }
    Ok(all)
}

/// The last bytes of records.
struct Ends<'a> {
    journal: &'a dyn Journal,
    bytes: Vec<u8>,
}

impl Ends<'_> {
    fn of(&mut self, node: &Node, length: u64) -> Result<&[u8]> {
        let length = length.min(node.len);
        let start = node.offset + (node.len - length);
        let to_size = |number| usize::try_from(number).unwrap_or(usize::MAX);
        if let Some(held) = self.journal.held() {
            return Ok(held.get(to_size(start)..to_size(start + length)).unwrap_or_default());
        }
        self.bytes.resize(to_size(length), 0);
        scan::read_full(self.journal, start, &mut self.bytes).map_err(Error::Storage)?;
        Ok(&self.bytes)
    }
}

/// What the last `usage` in the end of a record says, if it is a member of the object that is the
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
        let usage = of_session(&view, loaded.dialect).unwrap();
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
}
