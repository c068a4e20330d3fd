//! Shortens ids for users.

use crate::text::safe_line;
use std::collections::HashMap;
use treering::Tree;

/// The length of shortened ids, if it is unambiguous.
const SHORT: usize = 8;

/// The unambiguous beginnings of a session's long ids.
#[derive(Debug)]
pub(crate) struct ShortIds(HashMap<String, usize>);

impl ShortIds {
    pub(crate) fn of(tree: &Tree) -> Self {
        let mut ids = ShortIds(HashMap::new());
        tree.ids().for_each(|id| ids.add(id.as_str()));
        ids
    }

    /// Adds an id of the session.
    pub(crate) fn add(&mut self, id: &str) {
        *self.0.entry(beginning(id).to_owned()).or_default() += 1;
    }

    /// Returns the id for users: a UUID by its beginning, if no other id begins like it.
    pub(crate) fn show(&self, id: &str) -> String {
        let short = beginning(id);
        let is_long = id.chars().count() > 2 * SHORT;
        match is_long && self.0.get(short) == Some(&1) {
            true => safe_line(short),
            false => safe_line(id),
        }
    }
}

fn beginning(id: &str) -> &str {
    id.char_indices().nth(SHORT).map_or(id, |(end, _)| &id[..end])
}
