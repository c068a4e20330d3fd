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
use treering::entry::{Block, Body};
use treering::internal::fs::{self, NewFile};
use treering_display::entry_parts::EntryParts;

/// The lengths of words that are found, in characters.
const LENGTHS: std::ops::RangeInclusive<usize> = 2..=32;

/// The most words of a session that are found: more than people and models say.
const MAX_WORDS: usize = 50_000;

/// The most bytes of a file of words.
const MAX_FILE: u64 = 32 << 20;

/// The words of a session, in small letters, in no order.
#[derive(Default)]
pub(super) struct Words {
    known: HashSet<Box<str>, RandomState>,
    /// The word at hand.
    word: String,
}

impl Words {
    /// Adds what was said in an entry, and the arguments of its tool calls.
    pub(super) fn add_entry(&mut self, parts: &EntryParts<'_>) {
        match &parts.body {
            Body::Message(_) => {}
            Body::Compaction { summary, .. } | Body::BranchSummary { summary, .. } => {
                self.add(summary);
            }
            Body::CustomMessage { text, .. } => self.add(text),
            _ => {}
        }
        for block in &parts.blocks {
            match block {
                Block::Text { text, .. } => self.add(text),
                Block::ToolCall { arguments: Some(arguments), .. } => {
                    self.add(&String::from_utf8_lossy(arguments));
                }
                _ => {}
            }
        }
    }

    /// Writes them, one a line.
    pub(super) fn write(self, path: &Path) -> Result<()> {
        let mut text = String::new();
        for word in self.known {
            text.push_str(&word);
            text.push('\n');
        }
        let mut file = NewFile::beside(path)?;
        file.write_all(text.as_bytes())?;
        file.publish_replacing_unsynced()?;
        Ok(())
    }

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

/// Writes the scripts of the search index that are not as they should be, on all cores: each thread reads all words
/// and makes the scripts of its own.
pub(super) fn write_index(dir: &Path, items: &[Item<'_>]) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, 4);
    let made: Vec<Result<Vec<String>>> = std::thread::scope(|scope| {
        let start = |thread| scope.spawn(move || write_shards(dir, items, thread, threads));
        let started: Vec<_> = (0..threads).map(start).collect();
        started.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let mut names: HashSet<String> = HashSet::new();
    for made in made {
        names.extend(made?);
    }
    let search = dir.join(SEARCH);
    for entry in std::fs::read_dir(&search)? {
        let name = entry?.file_name();
        // Only scripts that have the form of these names are removed.
        let unknown = name.to_str().filter(|name| !names.contains(*name));
        if let Some(name) = unknown.filter(|name| is_shard(name)) {
            fs::remove_file(&search.join(name))?;
        }
    }
    Ok(())
}

/// Returns the thread that makes the script of a word. It depends on the letters that name the script.
fn thread_of(word: &str, threads: usize) -> usize {
    let letters = word.chars().take(2).fold(0_usize, |sum, c| sum.wrapping_mul(31) + c as usize);
    letters % threads
}

fn is_word(line: &str) -> bool {
    line.bytes().all(|byte| byte.is_ascii_alphanumeric()) || line.chars().all(char::is_alphanumeric)
}

/// Writes the scripts of one thread, and returns their names.
fn write_shards(
    dir: &Path,
    items: &[Item<'_>],
    thread: usize,
    threads: usize,
) -> Result<Vec<String>> {
    // Four bytes for each word of each session, and every word once.
    let mut known: HashMap<Box<str>, Vec<u32>, RandomState> = HashMap::default();
    for item in items {
        let path = dir.join(WORDS).join(format!("{}.txt", item.name));
        let text = fs::read_text(&path, MAX_FILE).unwrap_or_default();
        let own = text.lines().filter(|word| thread_of(word, threads) == thread);
        for word in own.filter(|word| is_word(word)) {
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
    let mut names = Vec::new();
    for (name, mut words) in shards {
        words.sort_unstable();
        let (path, script) = (search.join(&name), script(&name, &words));
        let is_current = |old: Vec<u8>| old == script.as_bytes();
        if !fs::read(&path, script.len() as u64 + 1).is_ok_and(is_current) {
            let mut file = NewFile::beside(&path)?;
            file.write_all(script.as_bytes())?;
            file.publish_replacing_unsynced()?;
        }
        names.push(name);
    }
    Ok(names)
}

fn script(name: &str, words: &[Posting]) -> String {
    let mut script = format!("found({name:?},{{");
    for (at, (word, pages)) in words.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        // Letters and digits need no escaping in a string.
        let _ = write!(script, "{comma}\"{word}\":[");
        for (at, page) in pages.iter().enumerate() {
            if at > 0 {
                script.push(',');
            }
            push_number(&mut script, *page);
        }
        script.push(']');
    }
    script.push_str("})\n");
    script
}

/// Appends a number: there are millions, and formatting takes several times as long.
fn push_number(text: &mut String, number: u32) {
    let mut tens = 1;
    while number / tens >= 10 {
        tens *= 10;
    }
    while tens > 0 {
        text.push(char::from(b'0' + (number / tens % 10) as u8));
        tens /= 10;
    }
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
    fn numbers_are_written_as_they_are_formatted() {
        for number in [0, 1, 9, 10, 99, 100, 1234, u32::MAX] {
            let mut text = String::new();
            push_number(&mut text, number);
            assert_eq!(text, number.to_string());
        }
    }

    #[test]
    fn the_words_of_a_script_belong_to_one_thread() {
        for (one, other) in [("parser", "path"), ("日本", "日本語"), ("a1", "a12")] {
            assert_eq!(shard(one), shard(other));
            assert_eq!(thread_of(one, 4), thread_of(other, 4));
        }
    }

    #[test]
    fn shards_are_plain_names() {
        assert_eq!((&*shard("parser"), &*shard("日本")), ("70.61.js", "65e5.672c.js"));
        assert!(is_shard("70.61.js") && !is_shard("site.js") && !is_shard("70.61.txt"));
    }
}
