//! Counts every usage event once, over one session or many.

use super::Purpose;
use super::branches;
use super::event::{EventHasher, Families, Key};
use super::names::{NO_NAME, Names};
use super::read::{Cost, Usage};
use super::survey::{ModelNames, RecordedRequest, UsageReader};
use crate::entry::Role;
use crate::error::Result;
use crate::id::EntryId;
use crate::position::Position;
use crate::session::{Part, Session};
use crate::snapshot::Snapshot;
use crate::tree::{Node, Row};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The content and usage of a session, or of several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// The total usage.
    pub usage: Usage,
    /// The usage by purpose.
    pub by_purpose: BTreeMap<Purpose, Usage>,
    /// The usage by model, as `provider/model`. A summary counts for the model that was in effect;
    /// usage of an unknown model is under an empty name.
    pub by_model: BTreeMap<String, Usage>,
    /// The usage of the paths to the active leaves.
    pub active: Usage,
    /// The usage of other branches.
    pub abandoned: Usage,
    /// The usage of subagents on branches of their own.
    pub sidechains: Usage,
    /// The number of entries.
    pub entries: u64,
    /// Number of branches: those for which [`Branch::is_counted`](crate::usage::Branch::is_counted)
    /// is true.
    pub branches: u64,
    /// Number of times that older context was replaced by a summary: compaction entries, and
    /// messages that are summaries (Claude Code).
    pub compactions: u64,
    /// The number of messages by role. A message in several pieces counts once; roles that treering
    /// does not know are under `other`.
    pub messages: BTreeMap<&'static str, u64>,
    /// The number of calls of each tool.
    pub tools: BTreeMap<String, u64>,
    /// The time of the oldest entry, in Unix milliseconds.
    pub first: Option<i64>,
    /// The time of the newest entry, in Unix milliseconds.
    pub last: Option<i64>,
}

/// The contribution of a session to a [`Ledger`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Added {
    /// The usage of the session.
    pub usage: Usage,
    /// The part of that usage that the ledger already had.
    pub shared: Usage,
}

/// The kind of branch that an event is on; of several, the greatest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum BranchKind {
    Abandoned,
    Sidechain,
    Active,
}

/// An event that was counted.
#[derive(Debug, Clone, Copy)]
struct LedgerEvent {
    usage: Usage,
    purpose: Purpose,
    model: u32,
    time: Option<i64>,
    standing: BranchKind,
}

/// A list of prices, from which the cost of a request is computed.
///
/// ```
/// use std::sync::Arc;
/// use treering::usage::{Cost, Ledger, PriceList, Usage};
/// use treering::{NewEntry, Session};
/// #[derive(Debug)]
/// struct OneCent;
/// impl PriceList for OneCent {
///     fn cost(&self, _model: &str, _time: Option<i64>, _usage: &Usage) -> Option<Cost> {
///         Cost::from_dollars(0.01)
///     }
/// }
///
/// let session = Session::in_memory("/project");
/// session.append(NewEntry::from_json(
///     br#"{"type":"message","message":{"role":"assistant","content":[],"usage":{"output":5}}}"#,
/// )?)?;
/// let mut ledger = Ledger::default().with_prices(Arc::new(OneCent));
/// ledger.add(&session)?;
/// assert_eq!(ledger.stats().usage.computed.to_string(), "0.01");
/// # Ok::<(), treering::Error>(())
/// ```
pub trait PriceList: std::fmt::Debug + Send + Sync {
    /// Returns the cost of one request to a model (`provider/model`) at a time in Unix
    /// milliseconds; `None` if the list does not have the model.
    fn cost(&self, model: &str, time: Option<i64>, usage: &Usage) -> Option<Cost>;
}

/// The usage of several sessions, in which each event is counted once: forks copy entries, but a
/// request was paid only once.
///
/// ```
/// use treering::{ForkOptions, NewEntry, Session};
/// use treering::usage::Ledger;
/// let session = Session::in_memory("/project");
/// let answer = session.append(NewEntry::from_json(
///     br#"{"type":"message","message":{"role":"assistant","content":[],"usage":{"output":5}}}"#,
/// )?)?;
/// let fork = session.fork(&answer, ForkOptions::default())?;
///
/// let mut ledger = Ledger::default();
/// ledger.add(&session)?;
/// ledger.add(&fork)?;
/// assert_eq!(ledger.stats().usage.output, 5);
/// assert_eq!(ledger.shared().output, 5);
/// # Ok::<(), treering::Error>(())
/// ```
///
/// An event is identified by the provider's id of the response; else by a running total within a
/// family of forks; else by its entry's id, time and token counts. Entries with `copiedFrom` have
/// no event of their own.
///
/// # Limitations
///
/// A session that was converted for another agent is not recognized as a copy unless ids and times, or
/// names of responses, survived. Forks of Codex are recognized if their parents are added first.
#[derive(Debug)]
pub struct Ledger {
    namer: EventHasher,
    families: Families,
    counted: HashMap<Key, LedgerEvent, foldhash::fast::RandomState>,
    models: Names,
    tools: Names,
    calls: BTreeMap<u32, u64>,
    /// The entries that were counted; `None` if there will be only one session.
    seen: Option<HashSet<Key, foldhash::fast::RandomState>>,
    /// The counts that need no second pass: everything except usage and tools.
    stats: Stats,
    shared: Usage,
    sessions: u64,
    prices: Option<Arc<dyn PriceList>>,
}

impl Default for Ledger {
    fn default() -> Self {
        Ledger { seen: Some(HashSet::default()), ..Ledger::of_one() }
    }
}

impl Ledger {
    /// Creates a ledger for one session, whose entries need not be remembered.
    pub(super) fn of_one() -> Self {
        Ledger {
            namer: EventHasher::default(),
            families: Families::default(),
            counted: HashMap::default(),
            models: Names::default(),
            tools: Names::default(),
            calls: BTreeMap::new(),
            seen: None,
            stats: Stats::default(),
            shared: Usage::default(),
            sessions: 0,
            prices: None,
        }
    }

    /// Sets a list of prices, for costs that sessions do not state.
    #[must_use]
    pub fn with_prices(self, prices: Arc<dyn PriceList>) -> Self {
        Ledger { prices: Some(prices), ..self }
    }

    /// Returns the usage of an event with its cost.
    fn priced(&self, event: &LedgerEvent) -> Usage {
        let cost = self.prices.as_ref().filter(|_| event.usage.unpriced > 0).and_then(|prices| {
            let model = self.models.name(event.model).unwrap_or_default();
            prices.cost(model, event.time, &event.usage)
        });
        event.usage.priced(cost)
    }

    /// Adds a session with all its branches.
    ///
    /// ```
    /// use treering::entry::{AssistantMessage, TokenUsage};
    /// use treering::usage::Ledger;
    /// use treering::Session;
    /// let session = Session::in_memory("/project");
    /// let answer = AssistantMessage::new("acme-api", "acme", "m").with_text("Red.").with_usage(TokenUsage::new(10, 5));
    /// session.append(answer)?;
    /// let mut ledger = Ledger::default();
    /// let added = ledger.add(&session)?;
    /// assert_eq!((added.usage.total(), added.shared.total()), (15, 0));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn add(&mut self, session: &Session) -> Result<Added> {
        let view = session.view();
        let rows: Vec<Row> = view.tree().live().collect();
        self.stats.branches += branches::count(view.tree(), active_row(session, &view)) as u64;
        self.take(session, &view, &rows, |models| {
            models.inherit(&view, branches::preorder(view.tree()))
        })
    }

    /// Adds the path from the root to a position.
    pub fn add_branch(
        &mut self,
        session: &Session,
        position: impl Into<Position>,
    ) -> Result<Added> {
        let (view, row) = session.view_at(&position.into())?;
        let rows = row.map(|row| view.tree().path_rows(row)).unwrap_or_default();
        self.stats.branches += 1;
        self.take(session, &view, &rows, |models| models.inherit(&view, rows.iter().copied()))
    }

    /// Adds an entry and all its descendants.
    fn add_subtree(&mut self, session: &Session, top: &EntryId) -> Result<Added> {
        let view = session.view();
        let top = view.tree().find_row(top.as_str())?;
        let mut is_below = vec![false; view.tree().row_count()];
        let mut rows = Vec::new();
        for row in branches::preorder(view.tree()) {
            let parent = view.tree().node(row).parent.index();
            if row == top || is_below.get(parent) == Some(&true) {
                is_below[row.index()] = true;
                rows.push(row);
            }
        }
        rows.sort_unstable();
        let is_in = |row: Row| is_below.get(row.index()) == Some(&true);
        let active = active_row(session, &view);
        self.stats.branches += branches::count_where(view.tree(), active, is_in) as u64;
        self.take(session, &view, &rows, |models| {
            models.inherit(&view, branches::preorder(view.tree()))
        })
    }

    /// Adds a part of a session. For a subtree, the branches that end in it are counted.
    pub fn add_part(&mut self, session: &Session, part: &Part) -> Result<Added> {
        match part {
            Part::All => self.add(session),
            Part::Branch(position) => self.add_branch(session, position),
            Part::Subtree(top) => self.add_subtree(session, top),
        }
    }

    /// Returns the content and usage of the sessions.
    pub fn stats(&self) -> Stats {
        let mut stats = self.stats.clone();
        for event in self.counted.values() {
            let model = self.models.name(event.model).unwrap_or_default();
            let usage = self.priced(event);
            stats.usage += usage;
            *stats.by_purpose.entry(event.purpose).or_default() += usage;
            *stats.by_model.entry(model.to_owned()).or_default() += usage;
            *match event.standing {
                BranchKind::Abandoned => &mut stats.abandoned,
                BranchKind::Sidechain => &mut stats.sidechains,
                BranchKind::Active => &mut stats.active,
            } += usage;
        }
        let named =
            |(tool, calls): (&u32, &u64)| Some((self.tools.name(*tool)?.to_owned(), *calls));
        stats.tools = self.calls.iter().filter_map(named).collect();
        stats
    }

    /// Returns the usage of copies, which was not counted again.
    pub fn shared(&self) -> Usage {
        self.shared
    }

    /// Returns the number of sessions that were added.
    pub fn sessions(&self) -> u64 {
        self.sessions
    }

    fn take(
        &mut self,
        session: &Session,
        view: &Snapshot,
        rows: &[Row],
        inherit: impl FnOnce(&mut ModelNames),
    ) -> Result<Added> {
        let header = session.header();
        let family = self.families.of(header.id.as_str(), header.parent_session.as_deref());
        let mut models = ModelNames::new(view);
        let mut events = self.read(view, &family, rows, &mut models)?;
        if events.iter().any(|event| event.model == NO_NAME) {
            inherit(&mut models);
        }
        for event in events.iter_mut().filter(|event| event.model == NO_NAME) {
            event.model = models.at(event.row);
        }
        let added = self.enter(view, &family, &ActiveRows::of(session, view), &events);
        self.shared += added.shared;
        self.sessions += 1;
        Ok(added)
    }

    /// Counts entries, and reads the events of those that have one.
    fn read(
        &mut self,
        view: &Snapshot,
        family: &str,
        rows: &[Row],
        models: &mut ModelNames,
    ) -> Result<Vec<RecordedRequest>> {
        let Ledger { namer, models: model_names, tools, calls, seen, stats, .. } = self;
        let mut surveyor = UsageReader::new(view, namer);
        let mut events = Vec::new();
        for &row in rows {
            let node = view.tree().node(row);
            let recorded = surveyor.read(row)?;
            if let Some(model) = &recorded.model {
                models.names(row, model, model_names);
            }
            if let Some((usage, name, purpose)) = recorded.usage {
                events.push(RecordedRequest { row, name, usage, purpose, model: models.at(row) });
            }
            let name = || namer.key(namer.entry(surveyor.place(row), node.len), family);
            if seen.as_mut().is_none_or(|seen| seen.insert(name())) {
                stats.count(node);
                for tool in &recorded.tools {
                    *calls.entry(tools.number(tool)).or_default() += 1;
                }
            }
        }
        Ok(events)
    }

    /// Counts a session's events: each of them once, and those that no other session had.
    fn enter(
        &mut self,
        view: &Snapshot,
        family: &str,
        active: &ActiveRows,
        events: &[RecordedRequest],
    ) -> Added {
        let mut own: HashMap<Key, LedgerEvent, foldhash::fast::RandomState> = HashMap::default();
        for event in events {
            let RecordedRequest { usage, purpose, model, .. } = *event;
            let standing = active.standing(view, event.row);
            let time = view.tree().node(event.row).time();
            let counted = LedgerEvent { usage, purpose, model, time, standing };
            let key = self.namer.key(event.name, family);
            own.entry(key).and_modify(|known| known.join(counted)).or_insert(counted);
        }
        let mut added = Added::default();
        for (key, event) in own {
            let usage = self.priced(&event);
            added.usage += usage;
            match self.counted.get_mut(&key) {
                Some(known) => {
                    added.shared += usage;
                    known.join(event);
                }
                None => {
                    self.counted.insert(key, event);
                }
            }
        }
        added
    }
}

impl LedgerEvent {
    /// Adds another record of the same event. Purpose and model are those of the first record, the
    /// time is the earliest.
    fn join(&mut self, other: LedgerEvent) {
        self.time = earliest(self.time, other.time);
        self.usage = self.usage.same_event(other.usage);
        self.standing = self.standing.max(other.standing);
        if self.model == NO_NAME {
            self.model = other.model;
        }
    }
}

/// Returns the earlier of two times, either of which may be unknown.
pub(super) fn earliest(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    one.into_iter().chain(other).min()
}

impl Stats {
    fn count(&mut self, node: &Node) {
        self.entries += 1;
        self.compactions += u64::from(node.is_compaction());
        if let Some(role) = node.role().filter(|_| !node.has(Node::CONTINUED)) {
            *self.messages.entry(Role::name(role).unwrap_or("other")).or_default() += 1;
        }
        if let Some(time) = node.time() {
            self.first = Some(self.first.map_or(time, |first| first.min(time)));
            self.last = Some(self.last.map_or(time, |last| last.max(time)));
        }
    }
}

/// Returns the row of the active leaf.
fn active_row(session: &Session, view: &Snapshot) -> Option<Row> {
    session.leaf().and_then(|leaf| view.tree().row(leaf.as_str()))
}

/// The rows on the path to the active leaf.
#[derive(Debug)]
struct ActiveRows(Vec<bool>);

impl ActiveRows {
    fn of(session: &Session, view: &Snapshot) -> Self {
        let tree = view.tree();
        let mut active = vec![false; tree.row_count()];
        for row in active_row(session, view).into_iter().flat_map(|leaf| tree.ancestors(leaf)) {
            if let Some(slot) = active.get_mut(row.index()) {
                *slot = true;
            }
        }
        ActiveRows(active)
    }

    fn standing(&self, view: &Snapshot, row: Row) -> BranchKind {
        if self.0.get(row.index()).is_some_and(|active| *active) {
            BranchKind::Active
        } else if view.tree().node(row).has(Node::SIDECHAIN) {
            BranchKind::Sidechain
        } else {
            BranchKind::Abandoned
        }
    }
}
