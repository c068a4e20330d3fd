//! The outcome of a conversion, for every kind of entry.

use crate::dialect::Dialect;
use crate::dialect::export::Outcome;
use std::collections::BTreeMap;

/// The report of a conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversionReport {
    /// The dialect of the source.
    pub from: Dialect,
    /// The dialect of the result.
    pub to: Dialect,
    /// The outcome for each kind of entry.
    pub outcomes: Outcomes,
    /// The number of contexts that were read again and compared: at the active leaf and at the ends
    /// of branches. All of them were equal.
    pub verified: usize,
    /// The number of ends of branches, the active leaf among them.
    pub ends: usize,
}

/// The outcome for the entries of a session, by kind: kept exactly, adapted or left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcomes {
    items: BTreeMap<String, CountsByKind>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct CountsByKind {
    carried: usize,
    adapted: BTreeMap<&'static str, usize>,
    left_out: BTreeMap<&'static str, usize>,
}

impl Outcomes {
    pub(crate) fn note(&mut self, kind: &str, outcome: Outcome) {
        let kinds = match self.items.get_mut(kind) {
            Some(kinds) => kinds,
            None => self.items.entry(kind.to_owned()).or_default(),
        };
        match outcome {
            Outcome::Carried => kinds.carried += 1,
            Outcome::Adapted(why) => *kinds.adapted.entry(why).or_default() += 1,
            Outcome::LeftOut(why) => *kinds.left_out.entry(why).or_default() += 1,
        }
    }

    /// Returns every kind of entry with its outcome and the number of entries.
    pub fn items(&self) -> Vec<(&str, Outcome, usize)> {
        let mut all = Vec::new();
        for (kind, kinds) in &self.items {
            if kinds.carried > 0 {
                all.push((kind.as_str(), Outcome::Carried, kinds.carried));
            }
            all.extend(
                kinds.adapted.iter().map(|(why, n)| (kind.as_str(), Outcome::Adapted(why), *n)),
            );
            all.extend(
                kinds.left_out.iter().map(|(why, n)| (kind.as_str(), Outcome::LeftOut(why), *n)),
            );
        }
        all
    }

    /// Returns the number of entries that were kept exactly.
    pub fn carried(&self) -> usize {
        self.items.values().map(|kinds| kinds.carried).sum()
    }

    /// Returns the number of entries that the target agent sees in another form.
    pub fn adapted(&self) -> usize {
        self.items.values().flat_map(|kinds| kinds.adapted.values()).sum()
    }

    /// Returns the number of entries that are not in the result.
    pub fn left_out(&self) -> usize {
        self.items.values().flat_map(|kinds| kinds.left_out.values()).sum()
    }
}
