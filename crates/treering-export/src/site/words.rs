//! The words of sessions, and the index that the page searches.
//!
//! A page that was opened from a disk cannot read files, but it can load scripts. The index is therefore one script for
//! each pair of letters that words begin with, and a search loads those of its words.

use super::index::Item;
use super::{SEARCH, WORDS};
use crate::Result;
use foldhash::quality::RandomState;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use treering::Session;
use treering::entry::{Block, Body, MessageView};
use treering::internal::fs::{self, NewFile};

/// The lengths of words that are found, in characters.
const LENGTHS: std::ops::RangeInclusive<usize> = 2..=32;

/// The most words of a session that are found: more than people and models say.
const MAX_WORDS: usize = 50_000;

/// The most bytes of a file of words.
const MAX_FILE: u64 = 32 << 20;

/// Writes the words of a session, one a line.
pub(super) fn write(path: &Path, session: &Session) -> Result<()> {
    let mut words = Words::default();
    for entry in session.entries() {
        let entry = entry?;
        match entry.body() {
            Body::Message(message) => of_message(&mut words, message),
            Body::Compaction { summary, .. } | Body::BranchSummary { summary, .. } => {
                words.add(&summary);
            }
            Body::CustomMessage { text, .. } => words.add(&text),
            _ => {}
        }
    }
    let mut text = String::new();
    for word in words.known {
        text.push_str(&word);
        text.push('\n');
    }
    let mut file = NewFile::beside(path)?;
    file.write_all(text.as_bytes())?;
    file.publish_replacing_unsynced()?;
    Ok(())
}

fn of_message(words: &mut Words, message: MessageView<'_>) {
    for block in message.blocks() {
        match block {
            Block::Text { text, .. } => words.add(&text),
            Block::ToolCall { arguments: Some(arguments), .. } => {
                words.add(&String::from_utf8_lossy(arguments));
            }
            _ => {}
        }
    }
}

/// The words of a session, in small letters, in no order.
#[derive(Default)]
struct Words {
    known: HashSet<Box<str>, RandomState>,
    /// The word at hand.
    word: String,
}

impl Words {
    /// Adds the words of a text.
    fn add(&mut self, text: &str) {
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            // A character has at most four bytes.
            if word.len() < *LENGTHS.start() || word.len() > LENGTHS.end() * 4 {
                continue;
            }
            self.word.clear();
            if word.is_ascii() {
                self.word.push_str(word);
                self.word.make_ascii_lowercase();
            } else {
                self.word.extend(word.chars().flat_map(char::to_lowercase));
            }
            if !self.known.contains(self.word.as_str())
                && LENGTHS.contains(&word.chars().count())
                && self.known.len() < MAX_WORDS
            {
                self.known.insert(self.word.as_str().into());
            }
        }
    }
}

/// Returns the name of the script that has a word.
fn shard(word: &str) -> String {
    let mut name = String::new();
    for c in word.chars().take(2) {
        let _ = write!(name, "{:x}.", u32::from(c));
    }
    name + "js"
}

/// A word, and the numbers of the sessions that have it.
type Posting = (Box<str>, Vec<u32>);

/// Writes the scripts of the search index that are not as they should be.
pub(super) fn write_index(dir: &Path, items: &[Item<'_>]) -> Result<()> {
    // Four bytes for each word of each session, and every word once.
    let mut known: HashMap<Box<str>, Vec<u32>, RandomState> = HashMap::default();
    for item in items {
        let path = dir.join(WORDS).join(format!("{}.txt", item.name));
        let text = fs::read_text(&path, MAX_FILE).unwrap_or_default();
        for word in text.lines().filter(|word| word.chars().all(char::is_alphanumeric)) {
            match known.get_mut(word) {
                Some(pages) => pages.push(item.page.number),
                None => {
                    known.insert(word.into(), vec![item.page.number]);
                }
            }
        }
    }
    let mut shards: BTreeMap<String, Vec<Posting>> = BTreeMap::new();
    for (word, mut pages) in known {
        pages.sort_unstable();
        shards.entry(shard(&word)).or_default().push((word, pages));
    }
    let search = dir.join(SEARCH);
    for entry in std::fs::read_dir(&search)? {
        let name = entry?.file_name();
        // Only scripts that have the form of these names are removed.
        let known = name.to_str().filter(|name| !shards.contains_key(*name));
        if let Some(name) = known.filter(|name| is_shard(name)) {
            fs::remove_file(&search.join(name))?;
        }
    }
    for (name, mut words) in shards {
        words.sort_unstable();
        let (path, script) = (search.join(&name), script(&name, &words));
        let is_current = |old: Vec<u8>| old == script.as_bytes();
        if !fs::read(&path, script.len() as u64 + 1).is_ok_and(is_current) {
            let mut file = NewFile::beside(&path)?;
            file.write_all(script.as_bytes())?;
            file.publish_replacing_unsynced()?;
        }
    }
    Ok(())
}

fn script(name: &str, words: &[Posting]) -> String {
    let mut script = format!("found({name:?},{{");
    for (at, (word, pages)) in words.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        // Letters and digits need no escaping in a string.
        let _ = write!(script, "{comma}\"{word}\":[");
        for (at, page) in pages.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let _ = write!(script, "{comma}{page}");
        }
        script.push(']');
    }
    script.push_str("})\n");
    script
}

fn is_shard(name: &str) -> bool {
    name.strip_suffix(".js")
        .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_small_and_neither_short_nor_long() {
        let mut words = Words::default();
        words.add(&format!("A Parser's off-by-one; ÉTÉ 日本 x {} \"</script>", "y".repeat(33)));
        let mut words: Vec<&str> = words.known.iter().map(|word| &**word).collect();
        words.sort_unstable();
        assert_eq!(words, ["by", "off", "one", "parser", "script", "été", "日本"]);
    }

    #[test]
    fn shards_are_plain_names() {
        assert_eq!((&*shard("parser"), &*shard("日本")), ("70.61.js", "65e5.672c.js"));
        assert!(is_shard("70.61.js") && !is_shard("site.js") && !is_shard("70.61.txt"));
    }
}
