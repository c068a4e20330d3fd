//! The words of sessions, and the index that the page searches.
//!
//! A page that was opened from a disk cannot read files, but it can load scripts. The index is therefore one script for
//! each pair of letters that words begin with, and a search loads those of its words.

use super::index::Item;
use super::{SEARCH, WORDS};
use crate::Result;
use std::collections::{BTreeMap, BTreeSet};
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
    let mut words = BTreeSet::new();
    for entry in session.entries() {
        let entry = entry?;
        match entry.body() {
            Body::Message(message) => of_message(&mut words, message),
            Body::Compaction { summary, .. } | Body::BranchSummary { summary, .. } => {
                collect(&mut words, &summary);
            }
            Body::CustomMessage { text, .. } => collect(&mut words, &text),
            _ => {}
        }
    }
    let mut text = String::new();
    for word in words {
        text.push_str(&word);
        text.push('\n');
    }
    let mut file = NewFile::beside(path)?;
    file.write_all(text.as_bytes())?;
    file.publish_replacing_unsynced()?;
    Ok(())
}

fn of_message(words: &mut BTreeSet<String>, message: MessageView<'_>) {
    for block in message.blocks() {
        match block {
            Block::Text { text, .. } => collect(words, &text),
            Block::ToolCall { arguments: Some(arguments), .. } => {
                collect(words, &String::from_utf8_lossy(arguments));
            }
            _ => {}
        }
    }
}

/// Adds the words of a text, in small letters.
fn collect(words: &mut BTreeSet<String>, text: &str) {
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if words.len() >= MAX_WORDS {
            return;
        }
        if LENGTHS.contains(&word.chars().count()) {
            let word = word.to_lowercase();
            if !words.contains(&word) {
                words.insert(word);
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

/// Writes the scripts of the search index that are not as they should be.
pub(super) fn write_index(dir: &Path, items: &[Item<'_>]) -> Result<()> {
    let mut shards: BTreeMap<String, BTreeMap<String, BTreeSet<usize>>> = BTreeMap::new();
    for item in items {
        let path = dir.join(WORDS).join(format!("{}.txt", item.name));
        let text = fs::read_text(&path, MAX_FILE).unwrap_or_default();
        for word in text.lines().filter(|word| word.chars().all(char::is_alphanumeric)) {
            let words = shards.entry(shard(word)).or_default();
            words.entry(word.to_owned()).or_default().insert(item.page.number);
        }
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
    for (name, words) in shards {
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

fn script(name: &str, words: &BTreeMap<String, BTreeSet<usize>>) -> String {
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
        let mut words = BTreeSet::new();
        collect(
            &mut words,
            &format!("A Parser's off-by-one; ÉTÉ 日本 x {} \"</script>", "y".repeat(33)),
        );
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(words, ["by", "off", "one", "parser", "script", "été", "日本"]);
    }

    #[test]
    fn shards_are_plain_names() {
        assert_eq!((&*shard("parser"), &*shard("日本")), ("70.61.js", "65e5.672c.js"));
        assert!(is_shard("70.61.js") && !is_shard("site.js") && !is_shard("70.61.txt"));
    }
}
