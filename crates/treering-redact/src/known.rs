//! Searches everywhere for secrets that were recognized by their context in one place.

use crate::rules::{Candidates, Kind, Rank, RuleMatch};
use aho_corasick::{AhoCorasick, MatchKind};
use std::collections::HashMap;

/// A search for secrets that were recognized before.
pub(crate) struct KnownSecrets {
    words: AhoCorasick,
    kinds: Vec<Kind>,
    /// A part of each secret that no escape except `\u00xx` can change; `None` if one of them has
    /// no such part, so that every line has to be searched.
    fragments: Option<AhoCorasick>,
}

/// The minimum length of a part of a secret that lines are searched for.
const MIN_FRAGMENT: usize = 4;

impl KnownSecrets {
    /// Builds the search. Returns `None` if there are no secrets.
    pub(crate) fn new(noticed: &HashMap<Vec<u8>, Kind>) -> Option<KnownSecrets> {
        if noticed.is_empty() {
            return None;
        }
        let mut noticed: Vec<_> = noticed.iter().collect();
        noticed.sort_unstable();
        let words = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(noticed.iter().map(|(secret, _)| secret))
            .ok()?;
        let kinds = noticed.iter().map(|(_, kind)| **kind).collect();
        let fragments: Option<Vec<&[u8]>> =
            noticed.iter().map(|(secret, _)| fragment(secret)).collect();
        let fragments = fragments.and_then(|fragments| AhoCorasick::new(fragments).ok());
        Some(KnownSecrets { words, kinds, fragments })
    }

    /// Adds the secrets in a decoded text.
    pub(crate) fn find(&self, text: &[u8], hits: &mut Vec<RuleMatch>) {
        for found in self.words.find_iter(text) {
            let Some(&kind) = self.kinds.get(found.pattern().as_usize()) else { continue };
            hits.push(RuleMatch { span: found.range(), kind, rank: Rank::Known });
        }
    }

    /// Adds the positions of an undecoded line at which one of the secrets may be.
    pub(crate) fn candidates(&self, raw: &[u8], candidates: &mut Candidates) {
        let fragments = match &self.fragments {
            Some(fragments) if !candidates.has_colors => fragments,
            _ => {
                *candidates = Candidates::all();
                return;
            }
        };
        for found in fragments.find_iter(raw) {
            if candidates.is_all || candidates.push(found.start()).is_break() {
                return;
            }
        }
        candidates.sort();
    }
}

/// Returns the longest part of a secret that is unchanged in a line, whatever escapes surround it.
fn fragment(secret: &[u8]) -> Option<&[u8]> {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !b"\"\\/%".contains(byte);
    let parts = secret.split(|byte| !is_plain(byte));
    parts.max_by_key(|part| part.len()).filter(|part| part.len() >= MIN_FRAGMENT)
}
