//! The words of sessions, and the index that the page searches.
//!
//! A page that was opened from a disk cannot read files, but it can load scripts. The index is therefore one script for
//! each pair of letters that words begin with, and a search loads those of its words.

use super::index::Item;
use super::word_table::WordTable;
use super::{SEARCH, WORDS};
use crate::Result;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use treering::entry::{Block, Body};
use treering::internal::fs::{self, NewFile};
use treering_display::entry_parts::EntryParts;

/// The lengths of words in the index, in characters.
const LENGTHS: std::ops::RangeInclusive<usize> = 2..=32;

/// The maximum number of words of a session: more than a conversation has.
const MAX_WORDS: usize = 50_000;

/// The maximum size of a file of words.
const MAX_FILE: u64 = 32 << 20;

/// The lowercase letter or digit for each ASCII byte; 0 for other bytes.
const SMALL: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            table[byte] = (byte as u8).to_ascii_lowercase();
        }
        byte += 1;
    }
    table
};

/// The words of a session, in lowercase, in the order of their first use.
#[derive(Default)]
pub(super) struct Words {
    known: WordTable,
    /// The current word, if it is not ASCII.
    word: String,
}

impl Words {
    /// Adds the texts of an entry, and the arguments of its tool calls.
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

    /// Removes all words.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    /// Writes the words, one on each line.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let mut file = NewFile::beside(path)?;
        file.write_all(self.known.lines())?;
        file.publish_replacing_unsynced()?;
        Ok(())
    }

    /// Adds the words of a text. This runs over every letter of a session, most of them in known
    /// words.
    fn add(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            let mut small = [0; *LENGTHS.end()];
            while let Some(letter) = bytes.get(at).map(|byte| SMALL[usize::from(*byte)])
                && letter != 0
            {
                if let Some(slot) = small.get_mut(at - start) {
                    *slot = letter;
                }
                at += 1;
            }
            if bytes.get(at).is_some_and(|byte| !byte.is_ascii()) {
                at = self.add_at(text, start);
                continue;
            }
            if let Some(word) = small.get(..at - start) {
                self.keep(word);
            }
            // Skips the separator.
            at += 1;
        }
    }

    /// Adds the word at `start`, which may have any letters, and returns the position after its
    /// separator.
    fn add_at(&mut self, text: &str, start: usize) -> usize {
        let rest = text.get(start..).unwrap_or_default();
        let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        // A character has at most four bytes.
        if word.len() <= LENGTHS.end() * 4 && LENGTHS.contains(&word.chars().count()) {
            let mut small = std::mem::take(&mut self.word);
            small.clear();
            small.extend(word.chars().flat_map(char::to_lowercase));
            self.keep(small.as_bytes());
            self.word = small;
        }
        start + end + rest.chars().next().map_or(1, char::len_utf8)
    }

    /// Adds a word in lowercase, up to the limit.
    fn keep(&mut self, word: &[u8]) {
        if word.len() >= *LENGTHS.start() && self.known.len() < MAX_WORDS {
            self.known.number(word);
        }
    }
}

/// Returns the name of the script that contains a word.
fn shard(word: &str) -> String {
    let mut name = String::new();
    for c in word.chars().take(2) {
        let _ = write!(name, "{:x}.", u32::from(c));
    }
    name + "js"
}

/// Words, and the numbers of the sessions that contain them: four bytes for each word of each
/// session, and every word once.
#[derive(Default)]
struct Postings {
    words: WordTable,
    /// The sessions by the number of the word.
    sessions: Vec<Vec<u32>>,
}

impl Postings {
    /// Reads the words of sessions.
    fn read(dir: &Path, items: &[Item<'_>]) -> Self {
        let mut postings = Postings::default();
        for item in items {
            let path = dir.join(WORDS).join(format!("{}.txt", item.name));
            let text = fs::read_text(&path, MAX_FILE).unwrap_or_default();
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', text.as_bytes()) {
                let word = text.as_bytes().get(start..end).unwrap_or_default();
                postings.of(word).push(item.page.number);
                start = end + 1;
            }
        }
        postings
    }

    /// Returns the sessions that contain a word.
    fn of(&mut self, word: &[u8]) -> &mut Vec<u32> {
        let number = self.words.number(word);
        if number >= self.sessions.len() {
            self.sessions.resize_with(number + 1, Vec::new);
        }
        &mut self.sessions[number]
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &Vec<u32>)> {
        self.words.iter().zip(&self.sessions)
    }
}

/// Writes the scripts of the search index that are not up to date, on all cores: each thread reads
/// the words of some sessions, and then writes some of the scripts.
pub(super) fn write_index(dir: &Path, items: &[Item<'_>]) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, 4);
    let parts: Vec<Postings> = std::thread::scope(|scope| {
        let chunks = items.chunks(items.len().div_ceil(threads).max(1));
        let started: Vec<_> =
            chunks.map(|items| scope.spawn(move || Postings::read(dir, items))).collect();
        started.into_iter().map(join).collect()
    });
    let made: Vec<Result<Vec<String>>> = std::thread::scope(|scope| {
        let parts = &parts;
        let start = |thread| scope.spawn(move || write_shards(dir, parts, thread, threads));
        let started: Vec<_> = (0..threads).map(start).collect();
        started.into_iter().map(join).collect()
    });
    let mut names: HashSet<String> = HashSet::new();
    for made in made {
        names.extend(made?);
    }
    let search = dir.join(SEARCH);
    for entry in std::fs::read_dir(&search)? {
        let name = entry?.file_name();
        // Only files whose names have the form of these scripts are removed.
        let unknown = name.to_str().filter(|name| !names.contains(*name));
        if let Some(name) = unknown.filter(|name| is_shard(name)) {
            fs::remove_file(&search.join(name))?;
        }
    }
    Ok(())
}

/// Returns the result of a thread. A panic is resumed in this thread: an index without its part
/// would miss words.
fn join<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns the thread that writes the script of a word. It depends on the letters that name the
/// script.
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
    parts: &[Postings],
    thread: usize,
    threads: usize,
) -> Result<Vec<String>> {
    let mut own = Postings::default();
    for part in parts {
        let is_own = |word: &str| thread_of(word, threads) == thread && is_word(word);
        for (word, sessions) in part.iter().filter(|(word, _)| is_own(word)) {
            own.of(word.as_bytes()).extend_from_slice(sessions);
        }
    }
    own.sessions.iter_mut().for_each(|sessions| sessions.sort_unstable());
    let mut shards: BTreeMap<String, Vec<(&str, &Vec<u32>)>> = BTreeMap::new();
    for (word, sessions) in own.iter() {
        shards.entry(shard(word)).or_default().push((word, sessions));
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

fn script(name: &str, words: &[(&str, &Vec<u32>)]) -> String {
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

/// Appends a number. There are millions of them, and formatting takes several times as long.
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
        let mut words: Vec<&str> = words.known.iter().collect();
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
