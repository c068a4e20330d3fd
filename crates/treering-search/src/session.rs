//! Searches one session for matching entries.

use crate::exact::{self, CallNames, Part};
use crate::file_filter;
use crate::query::Query;
use crate::snippet::{Snippet, snippet};
use crate::state::{BranchState, States};
use std::borrow::Cow;
use std::collections::HashSet;
use treering::catalog::SessionInfo;
use treering::entry::Body;
use treering::{Entry, EntryId, Kind, Result, Role, Session};

/// The hits in a session.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionHits {
    /// The description of the session.
    pub info: SessionInfo,
    /// The hits in file order, up to the limit. There are none if the query is only about sessions.
    pub hits: Vec<Hit>,
    /// The number of hits; if not all are counted, the number of described hits.
    pub total: usize,
    /// The relevance of the session, which is only comparable with that of others.
    pub score: u64,
}

/// An entry that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hit {
    /// The id of the entry; `None` if the session's name matches and no entry holds it.
    pub entry: Option<EntryId>,
    /// The shortest unambiguous form of the entry's id.
    pub short: String,
    /// The role of a message, or the type of any other entry.
    pub name: String,
    /// The type of the entry.
    pub kind: Kind,
    /// The role of the entry, if it is a message.
    pub role: Option<Role>,
    /// The time of the entry, in Unix milliseconds.
    pub time: Option<i64>,
    /// The branch state of the entry.
    pub state: BranchState,
    /// The part of the entry that is shown.
    pub part: Part,
    /// The line to show.
    pub snippet: Snippet,
}

/// The limits of the hits in a session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HitLimits {
    pub hits: usize,
    /// Whether further hits are counted.
    pub counts: bool,
    pub width: usize,
    pub now: i64,
}

/// Searches a session; `None` if it does not match.
pub(crate) fn search(
    session: &Session,
    query: &Query,
    wanted: HitLimits,
) -> Result<Option<SessionHits>> {
    let filters = &query.filters;
    let tree = session.tree();
    let cwd = session.cwd();
    if !filters.fits_agent(session.dialect())
        || !filters.projects.iter().all(|project| project.is_in(&cwd))
    {
        return Ok(None);
    }
    let labels = tree.labels();
    if !filters.labels.iter().all(|wanted| labels.iter().any(|(_, text, _)| wanted.is_in(text))) {
        return Ok(None);
    }
    let mut info = None;
    if filters.asks_for_time() {
        let known = session.info()?;
        if !filters.fits_time(known.modified, wanted.now) {
            return Ok(None);
        }
        info = Some(known);
    }
    let mut finder = HitFinder::new(session, query, wanted, &cwd)?;
    for (target, text, _) in &labels {
        if filters.labels.iter().any(|wanted| wanted.is_in(text)) {
            finder.chosen.insert(target.clone());
        }
    }
    finder.search_entries()?;
    finder.search_name();
    if finder.touched.contains(&false)
        || !finder.has_model
        || (finder.total == 0 && finder.chooses_entries())
    {
        return Ok(None);
    }
    let HitFinder { hits, total, score, .. } = finder;
    let info = match info {
        Some(info) => info,
        None => session.info()?,
    };
    Ok(Some(SessionHits { info, hits, total, score }))
}

struct HitFinder<'a> {
    session: &'a Session,
    query: &'a Query,
    wanted: HitLimits,
    cwd: &'a str,
    states: States,
    calls: CallNames,
    /// Whether each of the wanted files was touched.
    touched: Vec<bool>,
    /// Whether a wanted model was used, or the query names no model.
    has_model: bool,
    /// Entries that are shown because of a filter, if the query has no other condition on entries.
    chosen: HashSet<EntryId>,
    hits: Vec<Hit>,
    total: usize,
    score: u64,
}

impl<'a> HitFinder<'a> {
    fn new(
        session: &'a Session,
        query: &'a Query,
        wanted: HitLimits,
        cwd: &'a str,
    ) -> Result<Self> {
        Ok(HitFinder {
            session,
            query,
            wanted,
            cwd,
            states: States::of(session)?,
            calls: CallNames::default(),
            touched: vec![false; query.filters.files.len()],
            has_model: query.filters.models.is_empty(),
            chosen: HashSet::new(),
            hits: Vec::new(),
            total: 0,
            score: 0,
        })
    }

    /// Returns whether the query has conditions on entries, so that a session without a hit does
    /// not match.
    fn chooses_entries(&self) -> bool {
        !self.query.terms.is_empty() || self.query.filters.choose_entries()
    }

    fn search_entries(&mut self) -> Result<()> {
        let (query, filters) = (self.query, &self.query.filters);
        let chooses = self.chooses_entries();
        let names_tools = !filters.tools.is_empty();
        let names_files = !filters.files.is_empty();
        let names_labels = !filters.labels.is_empty() && !chooses;
        let names_models = !filters.models.is_empty();
        if !chooses && !names_files && !names_labels && !names_models {
            return Ok(());
        }
        let is_call = |role| role == Some(Role::Assistant);
        let touches =
            |kind, role| is_call(role) || matches!(kind, Kind::Compaction | Kind::BranchSummary);
        let can_match = |kind, role, record: &[u8]| {
            filters.fits_role(kind, role) && query.terms.iter().all(|term| term.may_be_in(record))
        };
        let may_name_model = |kind, role, record: &[u8]| {
            (is_call(role) || kind == Kind::ModelChange)
                && filters.models.iter().any(|model| model.may_be_in(record))
        };
        let wanted = |kind: Kind, role: Option<Role>, record: &[u8]| {
            names_models && may_name_model(kind, role, record)
                || names_tools && is_call(role)
                || names_files && touches(kind, role)
                || names_labels
                || chooses && can_match(kind, role, record)
        };
        for entry in self.session.entries_where(wanted) {
            self.search_entry(&entry?, chooses);
            let is_enough = self.hits.len() >= self.wanted.hits
                && self.has_model
                && !self.touched.contains(&false);
            if is_enough && !self.wanted.counts {
                break;
            }
        }
        Ok(())
    }

    fn search_entry(&mut self, entry: &Entry, chooses: bool) {
        let filters = &self.query.filters;
        if !filters.tools.is_empty() {
            self.calls.take(entry);
        }
        if !self.has_model {
            let model = model(entry);
            self.has_model =
                model.is_some_and(|model| filters.models.iter().any(|wanted| wanted.is_in(&model)));
        }
        let mut is_chosen = self.chosen.contains(entry.id());
        if !filters.files.is_empty() {
            for file in file_filter::files(entry) {
                for (wanted, touched) in filters.files.iter().zip(&mut self.touched) {
                    let is_it = wanted.is(&file, self.cwd);
                    *touched |= is_it;
                    is_chosen |= is_it;
                }
            }
        }
        if chooses && !filters.fits_role(entry.kind(), entry.role()) || !chooses && !is_chosen {
            return;
        }
        let pieces = exact::pieces(entry, &self.calls);
        match exact::best(self.query, &pieces) {
            Some(piece) => self.found(Some(entry), piece.part, &piece.text),
            None if is_chosen && !chooses => self.found(Some(entry), Part::Data, ""),
            None => {}
        }
    }

    /// Searches the session's name, which some agents store outside the entries.
    fn search_name(&mut self) {
        let Query { terms, excluded, filters } = self.query;
        let Some(name) = self.session.name() else { return };
        let is_known = self.hits.iter().any(|hit| hit.kind == Kind::SessionInfo);
        let fits = !terms.is_empty()
            && filters.tools.is_empty()
            && filters.fits_role(Kind::SessionInfo, None)
            && terms.iter().all(|term| term.is_in(&name))
            && !excluded.iter().any(|term| term.is_in(&name));
        if fits && !is_known {
            self.found(None, Part::Name, &name);
        }
    }

    fn found(&mut self, entry: Option<&Entry>, part: Part, text: &str) {
        self.total += 1;
        self.score = self.score.saturating_add(part.weight());
        if self.hits.len() >= self.wanted.hits {
            return;
        }
        let state = match entry {
            Some(entry) => self.states.state(self.session, entry.id()),
            None => BranchState::Active,
        };
        self.hits.push(Hit {
            entry: entry.map(|entry| entry.id().clone()),
            short: entry.map(|entry| self.short(entry.id())).unwrap_or_default(),
            name: entry.map_or("session_info".to_owned(), name),
            kind: entry.map_or(Kind::SessionInfo, Entry::kind),
            role: entry.and_then(Entry::role),
            time: entry.and_then(Entry::time),
            state,
            part,
            snippet: snippet(self.query, text, self.wanted.width),
        });
    }

    /// Returns the beginning of a long id, if no other id begins like it.
    fn short(&self, id: &EntryId) -> String {
        let text = id.as_str();
        let beginning: String = text.chars().take(8).collect();
        let is_long = text.chars().count() > 16;
        match is_long && self.session.tree().find(&beginning).is_ok() {
            true => beginning,
            false => text.to_owned(),
        }
    }
}

/// Returns the model of an answer, or of a change of the model.
fn model(entry: &Entry) -> Option<String> {
    match (entry.body(), entry.message()) {
        (Body::ModelChange { model, .. }, _) => Some(model.into_owned()),
        (_, Some(message)) => message.field("model").map(Cow::into_owned),
        _ => None,
    }
}

fn name(entry: &Entry) -> String {
    let role = entry.role().map(|role| match (role.name(), entry.message()) {
        (Some(name), _) => name.to_owned(),
        (None, Some(message)) => message.role_name().into_owned(),
        (None, None) => "message".to_owned(),
    });
    role.unwrap_or_else(|| entry.type_name().into_owned())
}
