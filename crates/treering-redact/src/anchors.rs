//! Finds the positions of a text at which a rule must be applied.
//!
//! Every rule has a word that its secrets begin with or are near. Four bytes of each word are in a
//! bit table, in which four bytes of the text at a time are looked up, ignoring case. For nearly
//! every position one lookup shows that none of the words is there, so most of a text costs one
//! load and one multiplication for each byte, whatever the number of words.

use crate::tokens::Alphabet;
use std::ops::ControlFlow;

/// The number of bits of the table, as a power of two: 32 KiB, most of which stays in a first-level
/// cache.
const TABLE_BITS: u32 = 18;

/// The number of buckets of entries, as a power of two.
const BUCKET_BITS: u32 = 12;

/// Clears the difference between upper- and lower-case letters of four bytes.
const FOLD: u32 = 0x2020_2020;

/// Clears the same difference for eight bytes.
const FOLD_EIGHT: u64 = 0x2020_2020_2020_2020;

/// An index of words by four of their bytes.
#[derive(Debug)]
pub(crate) struct Anchors {
    table: Vec<u64>,
    /// The index at which the entries of each bucket begin, and one more at the end.
    buckets: Vec<u32>,
    entries: Vec<AnchorEntry>,
    words: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, Copy)]
struct AnchorEntry {
    /// Four bytes, with case folded.
    key: u32,
    word: u16,
    /// The position of the four bytes in the word.
    offset: u8,
}

/// A word to search for, and the bytes that may follow it.
///
/// Words of fewer than four bytes need followers to fill four; longer ones ignore them.
#[derive(Debug)]
pub(crate) struct AnchorWord {
    pub text: Vec<u8>,
    pub followers: Alphabet,
}

impl Anchors {
    /// Builds the index. A word is reported by its index in `words`.
    pub(crate) fn new(words: &[AnchorWord]) -> Self {
        let mut entries = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let text = word.text.to_ascii_lowercase();
            let number = at as u16;
            if text.len() >= 4 {
                let offset = rarest_window(&text);
                let key = window(&text, offset);
                entries.push(AnchorEntry { key, word: number, offset: offset as u8 });
                continue;
            }
            for key in completed(&text, word.followers) {
                entries.push(AnchorEntry { key, word: number, offset: 0 });
            }
        }
        entries.sort_unstable_by_key(|entry| (bucket(hash(entry.key)), entry.key, entry.word));
        let mut table = vec![0_u64; 1 << (TABLE_BITS - 6)];
        let mut buckets = vec![0_u32; (1 << BUCKET_BITS) + 1];
        for entry in &entries {
            let hash = hash(entry.key);
            let bit = hash >> (32 - TABLE_BITS);
            if let Some(bits) = table.get_mut((bit >> 6) as usize) {
                *bits |= 1 << (bit & 63);
            }
            if let Some(count) = buckets.get_mut(bucket(hash) + 1) {
                *count += 1;
            }
        }
        let mut total = 0;
        for start in &mut buckets {
            total += *start;
            *start = total;
        }
        let words = words.iter().map(|word| word.text.to_ascii_lowercase()).collect();
        Anchors { table, buckets, entries, words }
    }

    /// Calls `each` with every word in `text`, ignoring case, and its position, until `each` asks
    /// to stop. The order is approximately that of the text.
    pub(crate) fn find(
        &self,
        text: &[u8],
        mut each: impl FnMut(usize, usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(table) = self.table.first_chunk::<{ 1 << (TABLE_BITS - 6) }>() else {
            return ControlFlow::Continue(());
        };
        let is_set = |key: u32| {
            let bit = hash(key) >> (32 - TABLE_BITS);
            table[(bit >> 6) as usize] >> (bit & 63) & 1
        };
        // Four positions are looked up together, so that there is only one branch for all of them.
        let mut at = 0;
        while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            let bytes = u64::from_le_bytes(*bytes) | FOLD_EIGHT;
            let keys = [bytes, bytes >> 8, bytes >> 16, bytes >> 24].map(|bytes| bytes as u32);
            if keys.iter().fold(0, |any, key| any | is_set(*key)) != 0 {
                for (position, key) in (at..).zip(keys) {
                    if is_set(key) != 0 {
                        self.confirm(text, position, key, &mut each)?;
                    }
                }
            }
            at += keys.len();
        }
        for (position, bytes) in (at..).zip(text.get(at..).unwrap_or_default().windows(4)) {
            let Some(bytes) = bytes.first_chunk::<4>() else { continue };
            let key = u32::from_le_bytes(*bytes) | FOLD;
            if is_set(key) != 0 {
                self.confirm(text, position, key, &mut each)?;
            }
        }
        ControlFlow::Continue(())
    }

    #[inline(never)]
    fn confirm(
        &self,
        text: &[u8],
        at: usize,
        key: u32,
        each: &mut impl FnMut(usize, usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let bucket = bucket(hash(key));
        let bounds = (self.buckets.get(bucket), self.buckets.get(bucket + 1));
        let (Some(&start), Some(&end)) = bounds else { return ControlFlow::Continue(()) };
        for entry in self.entries.get(start as usize..end as usize).unwrap_or_default() {
            if entry.key != key {
                continue;
            }
            let word = usize::from(entry.word);
            let (Some(begin), Some(bytes)) =
                (at.checked_sub(usize::from(entry.offset)), self.words.get(word))
            else {
                continue;
            };
            let found = text.get(begin..begin + bytes.len());
            if found.is_some_and(|found| found.eq_ignore_ascii_case(bytes)) {
                each(word, begin)?;
            }
        }
        ControlFlow::Continue(())
    }
}

#[inline]
fn hash(key: u32) -> u32 {
    key.wrapping_mul(0x9E37_79B1)
}

fn bucket(hash: u32) -> usize {
    (hash >> (32 - BUCKET_BITS)) as usize
}

fn window(text: &[u8], offset: usize) -> u32 {
    let bytes = text.get(offset..).and_then(<[u8]>::first_chunk::<4>);
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes) | FOLD)
}

/// Returns all keys of `text` with the followers that fill it up to four bytes.
fn completed(text: &[u8], followers: Alphabet) -> Vec<u32> {
    let mut all = vec![text.to_vec()];
    while all.first().is_some_and(|text| text.len() < 4) {
        let longer = |text: &Vec<u8>| {
            let text = text.clone();
            let bytes = (0..=u8::MAX).filter(|byte| followers.has(*byte));
            bytes.map(move |byte| text.iter().copied().chain([byte]).collect::<Vec<u8>>())
        };
        all = all.iter().flat_map(longer).collect();
    }
    let mut keys: Vec<u32> = all.iter().map(|text| window(text, 0)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Returns the position of the four bytes of a word that are rarest in texts.
fn rarest_window(text: &[u8]) -> usize {
    let cost = |offset: &usize| -> u32 {
        let bytes = text.get(*offset..offset + 4).unwrap_or_default();
        bytes.iter().map(|byte| commonness(*byte)).sum()
    };
    (0..=text.len() - 4).min_by_key(cost).unwrap_or(0)
}

/// Returns how common a byte is in code and prose, on a coarse scale.
fn commonness(byte: u8) -> u32 {
    const BY_FREQUENCY: &[u8] = b"etaoinsr lhdcum_pfg.w\"ybv-k/=:,'x0j1q2z34567\\89";
    let place = BY_FREQUENCY.iter().position(|common| *common == byte.to_ascii_lowercase());
    (BY_FREQUENCY.len() - place.unwrap_or(BY_FREQUENCY.len())) as u32
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "how a test fails")]

    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    fn words(texts: &[&str]) -> Vec<AnchorWord> {
        let word =
            |text: &&str| AnchorWord { text: text.as_bytes().to_vec(), followers: Alphabet::Any };
        texts.iter().map(word).collect()
    }

    const TEXTS: [&str; 6] = ["ab_k", "bak", "://", "kab-a.b", "aaaa", "b_"];
    static ANCHORS: LazyLock<Anchors> = LazyLock::new(|| Anchors::new(&words(&TEXTS)));

    proptest! {
        /// Compares the index with a plain search for each word.
        #[test]
        fn finds_every_word_and_nothing_else(text in "[aAbB_/:\\-.kK]{0,60}") {
            let mut found = Vec::new();
            let _ = ANCHORS.find(text.as_bytes(), |word, at| {
                found.push((word, at));
                ControlFlow::Continue(())
            });
            let lower = text.to_ascii_lowercase();
            let mut expected = Vec::new();
            for (number, word) in TEXTS.iter().enumerate() {
                // A short word needs followers.
                let least = word.len().max(4);
                let is_here = |at: &usize| lower[*at..].starts_with(word) && at + least <= lower.len();
                expected.extend((0..lower.len()).filter(is_here).map(|at| (number, at)));
            }
            found.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
