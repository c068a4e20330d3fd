//! Reports the number and the positions of replacements, but never the secrets themselves.

/// The findings of a redaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The places of the replacements, in file order.
    pub places: Vec<Place>,
    /// The number of thinking signatures that were emptied because the signed text has changed.
    pub signatures: usize,
}

/// A text in which something was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The kind of secret: `github-token`, or the name of a custom pattern.
    pub kind: String,
    /// The number of the secret within its kind, counted from 1 in file order.
    pub number: usize,
    /// The number of the line, counted from 1.
    pub line: u64,
    /// The entry's id, if it has one.
    pub entry: Option<String>,
    /// The path of the text in its record: `message.content[0].text`.
    pub field: String,
    /// The number of occurrences.
    pub count: usize,
}

/// The totals of a kind of secret.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sum {
    /// The kind of secret.
    pub kind: String,
    /// The number of different secrets.
    pub distinct: usize,
    /// The number of occurrences.
    pub occurrences: usize,
}

impl Report {
    /// Returns whether nothing was replaced.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the number of replacements.
    pub fn occurrences(&self) -> usize {
        self.places.iter().map(|place| place.count).sum()
    }

    /// Returns the totals of each kind, in the order of their first occurrence.
    pub fn sums(&self) -> Vec<Sum> {
        let mut sums: Vec<(Sum, std::collections::HashSet<usize>)> = Vec::new();
        for place in &self.places {
            let at = sums.iter().position(|(sum, _)| sum.kind == place.kind).unwrap_or_else(|| {
                let kind = place.kind.clone();
                sums.push((Sum { kind, distinct: 0, occurrences: 0 }, Default::default()));
                sums.len() - 1
            });
            if let Some((sum, numbers)) = sums.get_mut(at) {
                numbers.insert(place.number);
                sum.distinct = numbers.len();
                sum.occurrences += place.count;
            }
        }
        sums.into_iter().map(|(sum, _)| sum).collect()
    }

    /// Keeps findings in entries for which `is_there` is true, and findings outside of entries: a
    /// fork has only some of the entries.
    pub fn only(mut self, is_there: impl Fn(&str) -> bool) -> Report {
        self.places.retain(|place| place.entry.as_deref().is_none_or(&is_there));
        self
    }
}
