//! Matches a query against the sessions of a list, without opening them.
//!
//! All words must occur in a session's name, first message, project, agent, id or path, together.
//! The part in which they occur decides the rank: a match in the name counts more than one in the
//! first message, and that more than one in the directory. A title that contains a word
//! approximately matches as well, with the lowest rank.

use crate::query::Query;
use crate::term::Term;
use treering::catalog::SessionInfo;

/// The rank of a session for a query. Greater ranks are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Rank {
    name: u32,
    first_message: u32,
    project: u32,
}

impl Query {
    /// Returns the rank of a listed session; `None` if it does not match. `now` is in Unix
    /// milliseconds.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use treering_search::{Case, Query};
    /// let session = treering::Session::create_at(dir.path().join("s.jsonl"), "/tea", Default::default())?;
    /// session.append(treering::Message::user("Which pot?"))?;
    /// session.append(treering::Message::assistant("acme", "m", "The blue one."))?;
    /// let info = session.info()?;
    /// let fits = |text: &str| Query::parse(text, Case::Ignored).map(|query| query.rank(&info, 0));
    /// assert!(fits("tea POT")?.is_some() && fits("coffee")?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rank(&self, session: &SessionInfo, now: i64) -> Option<Rank> {
        let filters = &self.filters;
        let fits = filters.fits_agent(session.agent)
            && filters.fits_time(session.modified, now)
            && filters.projects.iter().all(|project| project.is_in(&session.cwd));
        if !fits || self.needs_entries().is_some() {
            return None;
        }
        let texts = [session.title(), &session.first_message, &session.cwd];
        if self.excluded.iter().any(|term| texts.iter().any(|text| term.is_in(text))) {
            return None;
        }
        let name = session.name.as_deref().unwrap_or_default();
        let mut rank = Rank::default();
        for term in &self.terms {
            let grades = [name, &session.first_message, &session.cwd].map(|text| grade(term, text));
            let [in_name, in_first_message, in_project] = grades;
            let is_somewhere = grades != [0; 3]
                || is_elsewhere(term, session)
                || term.is_nearly_in(session.title());
            if !is_somewhere {
                return None;
            }
            rank.name += in_name;
            rank.first_message += in_first_message;
            rank.project += in_project;
        }
        Some(rank)
    }

    /// Returns the first condition that can only be checked by opening the session, if the query
    /// has one.
    pub fn needs_entries(&self) -> Option<&'static str> {
        let filters = &self.filters;
        let conditions = [
            (filters.roles.is_empty(), "role:"),
            (filters.tools.is_empty(), "tool:"),
            (filters.labels.is_empty(), "label:"),
            (filters.files.is_empty(), "file:"),
            (filters.models.is_empty(), "model:"),
        ];
        conditions.into_iter().find(|(is_empty, _)| !is_empty).map(|(_, name)| name)
    }
}

/// Returns 2 if a word in the text begins with the term, 1 if the term is inside a word, and 0 if
/// it does not occur.
fn grade(term: &Term, text: &str) -> u32 {
    let Some(found) = term.find_at(text, 0) else { return 0 };
    let before = text.get(..found.start).and_then(|before| before.chars().next_back());
    if before.is_some_and(char::is_alphanumeric) { 1 } else { 2 }
}

fn is_elsewhere(term: &Term, session: &SessionInfo) -> bool {
    term.is_in(session.agent.name())
        || term.is_in(session.id.as_str())
        || term.is_in(&session.path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::Case;
    use treering::{Dialect, SessionId};

    fn session() -> SessionInfo {
        let id = SessionId::of_file("0199-abc");
        let mut info = SessionInfo::new("/sessions/2026_abc.jsonl", Dialect::Codex, id);
        info.cwd = "/home/me/teapot".into();
        info.name = Some("Fix the kettle".into());
        info.modified = 1_000;
        info.first_message = "The water\nis cold".into();
        info
    }

    fn rank(text: &str) -> Option<Rank> {
        Query::parse(text, Case::Ignored).unwrap().rank(&session(), 2_000)
    }

    #[test]
    fn every_text_of_a_list_counts_and_all_words_must_occur() {
        let fit = ["kettle", "WATER", "teapot", "codex", "0199", "2026_", "kettle water codex"];
        for query in fit.into_iter().chain([r"re:k.ttle$", "\"water is\"", "agent:codex tea"]) {
            assert!(rank(query).is_some(), "{query}");
        }
        assert!(rank("ktle").is_some() && rank("kettle OR coffee").is_some());
        assert!(rank("kettle -coffee").is_some() && rank("kettle -water").is_none());
        assert!(rank("before:2026-01-01").is_some() && rank("before:1970-01-01").is_none());
        for query in ["coffee", "kettle coffee", "agent:pi kettle", "project:kettle", "re:^ettle"] {
            assert!(rank(query).is_none(), "{query}");
        }
        assert!(rank("since:1h").is_some() && rank("since:2026-01-01").is_none());
    }

    #[test]
    fn a_name_says_more_than_a_message_and_a_beginning_more_than_a_middle() {
        let order = ["kettle", "ettle", "water", "ater", "tea", "pot", "codex"];
        let ranks: Vec<Rank> = order.iter().map(|query| rank(query).unwrap()).collect();
        assert!(ranks.windows(2).all(|pair| pair[0] > pair[1]), "{ranks:?}");
    }

    #[test]
    fn what_a_list_cannot_tell_is_named() {
        let needs = |text: &str| Query::parse(text, Case::Ignored).unwrap().needs_entries();
        assert_eq!(needs("kettle agent:pi project:x since:1d"), None);
        assert_eq!(needs("file:x"), Some("file:"));
        assert_eq!((needs("model:x"), rank("model:x kettle")), (Some("model:"), None));
        assert_eq!(needs("a role:user"), Some("role:"));
    }
}
