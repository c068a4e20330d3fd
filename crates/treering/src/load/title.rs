//! The name of a session, in dialects where it is not the last one in the file.

use super::Loaded;
use crate::dialect::facts::NameRule;
use crate::log::{Journal, scan};
use std::io;
use std::sync::Arc;

impl Loaded {
    pub(crate) fn has_title(&self) -> bool {
        self.title.is_some()
    }

    /// Returns whether the session has a non-empty title, which counts more than names in entries.
    pub(crate) fn is_titled(&self) -> bool {
        self.title.as_ref().is_some_and(|title| !title.is_empty())
    }

    /// Determines the session's name where it is not the last one in the file: some dialects store
    /// it outside the entries, others take it from the path, or never clear it.
    pub(crate) fn take_title(&mut self) {
        let by_rule = match self.facts.name_rule {
            NameRule::LastGiven => None,
            NameRule::OnPath => Some(self.tree.name_on_path()),
            NameRule::NeverCleared => Some(self.tree.last_name()),
        };
        if let Some(name) = by_rule.filter(|name| name.as_deref() != self.tree.name()) {
            Arc::make_mut(&mut self.tree).set_name(name.as_deref());
        }
        let title = match &self.title {
            Some(title) if !title.is_empty() => Some(title.as_str()),
            Some(_) => return,
            None if self.tree.name().is_none() => {
                let header = self.header.as_ref();
                header.and_then(|header| header.title.as_deref())
            }
            None => return,
        };
        if title != self.tree.name() {
            Arc::make_mut(&mut self.tree).set_name(title);
        }
    }

    /// Records that the title outside the entries was changed to this name.
    pub(crate) fn retitled(&mut self, title: &str) {
        self.title = Some(title.to_owned());
        self.take_title();
    }

    /// Reads the title again: it is the only part of a log that changes in place.
    pub(super) fn reread_title(&mut self, journal: &dyn Journal) -> io::Result<()> {
        if let (Some(_), Some(slot)) = (&self.title, self.facts.title_slot) {
            let mut slot = vec![0; slot.len];
            let got = scan::read_full(journal, 0, &mut slot)?;
            let line = slot[..got].split(|&byte| byte == b'\n').next().unwrap_or_default();
            if let Some(title) = self.facts.title(line) {
                self.retitled(&title);
            }
        }
        Ok(())
    }
}
