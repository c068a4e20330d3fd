//! A cache of the trees of viewed sessions: their outlines, and which of their answers have no
//! text.
//!
//! An outline is built once for a state of a session and used for many windows. Whether an answer
//! has text is known only after it was read. Until then it counts as one with text; a window reads
//! its own answers, and the others are read in the background, so that the first window of a large
//! session does not wait.

use crate::problem::Problem;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use treering::{EntryId, Kind, Role, Session, SessionId};
use treering_display::entry_parts::EntryParts;
use treering_display::preview_line::PreviewLine;
use treering_display::tree::{Filter, FilterTraits, Outline, TreeRows};
use treering_search::{Case, Options, Query};

/// The maximum number of trees in the cache.
const MAX_TREES: usize = 12;

/// The maximum number of layouts of a tree in the cache.
const MAX_LAYOUTS: usize = 4;

/// The number of answers up to which they are read one by one; more are read in one pass over the
/// log.
const MAX_READ_SINGLY: usize = 512;

/// The length of a log up to which it is read before the first window is built.
const SMALL: u64 = 24 << 20;

/// The maximum number of hits of a search in a tree.
const MAX_HITS: usize = 50_000;

/// The trees of a node, the most recently used first.
#[derive(Debug, Default)]
pub(crate) struct PageTrees(Mutex<Vec<CachedTree>>);

#[derive(Debug)]
struct CachedTree {
    space: String,
    id: SessionId,
    tree: Arc<PageTree>,
}

/// The tree of a session at one length of its log.
#[derive(Debug)]
pub(crate) struct PageTree {
    pub(crate) outline: Outline,
    pub(crate) length: u64,
    leaf: Option<EntryId>,
    /// The child that continues each entry.
    next: Vec<u32>,
    /// Whether each entry, or one below it, is part of the conversation.
    leads: Vec<bool>,
    /// The entries by the hashes of their ids, built on first use.
    by_id: OnceLock<HashMap<u64, u32>>,
    answers: Arc<SilentAnswers>,
    layouts: Mutex<Vec<(LayoutKey, Arc<TreeRows>)>>,
    found: Mutex<Option<QueryMatches>>,
}

/// The entries that a query finds.
#[derive(Debug)]
struct QueryMatches {
    query: String,
    nodes: Arc<HashSet<u32>>,
}

/// The answers of a session that have no text, as far as known, by the hashes of their ids.
#[derive(Debug, Default)]
struct SilentAnswers {
    silent: Mutex<HashMap<u64, bool>>,
    hasher: RandomState,
    is_scanned: AtomicBool,
}

/// The choices that determine a layout, and the number of answers that were known.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LayoutKey {
    selection: Selection,
    known: usize,
}

/// The rows of a tree that a user selects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Selection {
    pub(crate) filter: Filter,
    /// The ids of folded entries, separated by commas.
    pub(crate) folds: String,
    pub(crate) query: String,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PageTrees {
    /// Returns the tree of a session that is up to date.
    pub(crate) fn tree(&self, space: &str, id: &SessionId, session: &Session) -> Arc<PageTree> {
        let (length, leaf) = (session.log_length(), session.leaf());
        let mut slots = lock(&self.0);
        let known = slots.iter().position(|slot| slot.space == space && slot.id == *id);
        let known = known.map(|at| slots.remove(at).tree);
        let tree = match known {
            Some(tree) if tree.length == length && tree.leaf == leaf => tree,
            known => {
                let answers = known.filter(|tree| tree.length <= length);
                let answers = answers.map(|tree| Arc::clone(&tree.answers)).unwrap_or_default();
                drop(slots);
                let tree = Arc::new(PageTree::new(session, (length, leaf), answers));
                slots = lock(&self.0);
                slots.retain(|slot| slot.space != space || slot.id != *id);
                tree
            }
        };
        let slot = CachedTree { space: space.to_owned(), id: id.clone(), tree: Arc::clone(&tree) };
        slots.insert(0, slot);
        slots.truncate(MAX_TREES);
        tree
    }
}

/// The index that means "no node".
pub(crate) const NONE: u32 = u32::MAX;

impl PageTree {
    fn new(
        session: &Session,
        (length, leaf): (u64, Option<EntryId>),
        answers: Arc<SilentAnswers>,
    ) -> Self {
        let outline = Outline::new(&session.tree(), leaf.as_ref().map(EntryId::as_str));
        let mut next = vec![NONE; outline.len()];
        let mut leads = vec![false; outline.len()];
        let count = u32::try_from(outline.len()).unwrap_or(NONE);
        for at in (0..count).rev() {
            let Some(node) = outline.nodes().get(at as usize) else { continue };
            let parent = outline.parent(at).map(|parent| parent as usize);
            let is_led = leads.get(at as usize) == Some(&true) || is_conversation(node.kind);
            if let Some(slot) = leads.get_mut(at as usize) {
                *slot = is_led;
            }
            let Some(parent) = parent else { continue };
            if is_led && let Some(slot) = leads.get_mut(parent) {
                *slot = true;
            }
            if !node.is_side
                && let Some(slot) = next.get_mut(parent)
            {
                *slot = at;
            }
        }
        let (layouts, found) = (Mutex::default(), Mutex::default());
        let by_id = OnceLock::new();
        PageTree { outline, length, leaf, next, leads, by_id, answers, layouts, found }
    }

    /// Returns the number of an entry.
    pub(crate) fn node(&self, id: &str) -> Option<u32> {
        let hash = self.answers.hasher.hash_one(id);
        let by_id = self.by_id.get_or_init(|| {
            let count = u32::try_from(self.outline.len()).unwrap_or(NONE);
            (0..count).map(|node| (self.hash(node), node)).collect()
        });
        by_id.get(&hash).copied().filter(|node| self.outline.id(*node) == id)
    }

    /// Returns the end of the branch of an entry: down the children that continue it.
    pub(crate) fn tip(&self, mut node: u32) -> u32 {
        while let Some(next) = self.next.get(node as usize).filter(|next| **next != NONE) {
            node = *next;
        }
        node
    }

    /// Returns the path to an entry, from its root.
    pub(crate) fn path(&self, node: u32) -> Vec<u32> {
        let mut path = vec![node];
        while let Some(parent) = path.last().and_then(|node| self.outline.parent(*node)) {
            path.push(parent);
        }
        path.reverse();
        path
    }

    /// Returns whether an entry, or one below it, is part of the conversation.
    pub(crate) fn leads(&self, node: u32) -> bool {
        self.leads.get(node as usize) == Some(&true)
    }

    /// Lays out the rows of a selection, as far as answers are known.
    pub(crate) fn layout(
        &self,
        session: &Session,
        selection: &Selection,
    ) -> Result<Arc<TreeRows>, Problem> {
        let found = match selection.query.trim() {
            "" => None,
            query => Some(self.find(session, query)?),
        };
        let silent = lock(&self.answers.silent);
        let key = LayoutKey { selection: selection.clone(), known: silent.len() };
        if let Some((_, rows)) = lock(&self.layouts).iter().find(|(known, _)| *known == key) {
            return Ok(Arc::clone(rows));
        }
        let is_seen = |node: u32| {
            let Some(entry) = self.outline.nodes().get(node as usize) else { return false };
            let is_answer = entry.role == Some(Role::Assistant);
            let traits = FilterTraits {
                kind: entry.kind,
                role: entry.role,
                labeled: self.outline.label(node).is_some(),
                sidechain: entry.is_sidechain,
                silent: is_answer && silent.get(&self.hash(node)) == Some(&true),
                is_leaf: self.outline.leaf() == Some(node),
            };
            selection.filter.shows(traits)
                && found.as_ref().is_none_or(|found| found.contains(&node))
        };
        let folded: HashSet<&str> =
            selection.folds.split(',').filter(|id| !id.is_empty()).collect();
        let is_folded = |node: u32| !folded.is_empty() && folded.contains(self.outline.id(node));
        let rows = Arc::new(TreeRows::lay_out(&self.outline, is_seen, is_folded));
        let mut layouts = lock(&self.layouts);
        layouts.insert(0, (key, Arc::clone(&rows)));
        layouts.truncate(MAX_LAYOUTS);
        Ok(rows)
    }

    /// Returns the entries that match a query, or whose label contains its text.
    fn find(&self, session: &Session, query: &str) -> Result<Arc<HashSet<u32>>, Problem> {
        if let Some(found) = &*lock(&self.found)
            && found.query == query
        {
            return Ok(Arc::clone(&found.nodes));
        }
        let parsed = parse(query)?;
        let options = Options::new().hits_per_session(MAX_HITS).counts_all(false);
        let hits = treering_search::search_session(session, &parsed, &options)?;
        let hits = hits.map(|found| found.hits).unwrap_or_default();
        let ids: HashSet<&str> =
            hits.iter().filter_map(|hit| hit.entry.as_ref()).map(EntryId::as_str).collect();
        let small = query.to_lowercase();
        let is_found = |node: &u32| {
            let label = self.outline.label(*node);
            ids.contains(self.outline.id(*node))
                || label.is_some_and(|label| label.to_lowercase().contains(&small))
        };
        let count = u32::try_from(self.outline.len()).unwrap_or(NONE);
        let nodes: Arc<HashSet<u32>> = Arc::new((0..count).filter(is_found).collect());
        *lock(&self.found) =
            Some(QueryMatches { query: query.to_owned(), nodes: Arc::clone(&nodes) });
        Ok(nodes)
    }

    fn hash(&self, node: u32) -> u64 {
        self.answers.hasher.hash_one(self.outline.id(node))
    }

    /// Returns the entries among these that are answers which were not read yet.
    fn unknown(&self, nodes: impl Iterator<Item = u32>) -> Vec<u32> {
        let silent = lock(&self.answers.silent);
        let is_answer = |node: &u32| {
            let entry = self.outline.nodes().get(*node as usize);
            entry.is_some_and(|entry| entry.role == Some(Role::Assistant))
        };
        nodes.filter(is_answer).filter(|node| !silent.contains_key(&self.hash(*node))).collect()
    }

    /// Reads the answers among some entries. Returns whether one of them has no text.
    pub(crate) fn read(
        &self,
        session: &Session,
        nodes: impl Iterator<Item = u32>,
    ) -> Result<bool, Problem> {
        let unknown = self.unknown(nodes);
        if unknown.is_empty() {
            return Ok(false);
        }
        let mut reader = session.reader();
        let mut any = false;
        for node in unknown {
            let entry = reader.entry(self.outline.id(node))?;
            let is_silent = PreviewLine::of(&EntryParts::of(&entry)).kind.is_silent();
            any |= is_silent;
            lock(&self.answers.silent).insert(self.hash(node), is_silent);
        }
        Ok(any)
    }

    /// Reads the unknown answers, if that is quick. Returns whether all are known afterwards.
    pub(crate) fn read_quickly(&self, session: &Session) -> Result<bool, Problem> {
        let count = u32::try_from(self.outline.len()).unwrap_or(NONE);
        let unknown = self.unknown(0..count);
        if unknown.is_empty() {
            return Ok(true);
        }
        if unknown.len() <= MAX_READ_SINGLY {
            self.read(session, unknown.into_iter())?;
            return Ok(true);
        }
        if self.length > SMALL {
            return Ok(false);
        }
        self.scan(session)?;
        Ok(true)
    }

    /// Claims the job to read all answers; `false` if another thread does it.
    pub(crate) fn begin_scan(&self) -> bool {
        !self.answers.is_scanned.swap(true, Ordering::Relaxed)
    }

    /// Reads all answers in one pass over the log.
    pub(crate) fn scan(&self, session: &Session) -> treering::Result<()> {
        let mut batch: Vec<(u64, bool)> = Vec::new();
        let keep = |batch: &mut Vec<(u64, bool)>| {
            lock(&self.answers.silent).extend(batch.drain(..));
        };
        for entry in session.entries_where(|_, role, _| role == Some(Role::Assistant)) {
            let entry = entry?;
            let is_silent = PreviewLine::of(&EntryParts::of(&entry)).kind.is_silent();
            batch.push((self.answers.hasher.hash_one(entry.id().as_str()), is_silent));
            if batch.len() >= 4096 {
                keep(&mut batch);
            }
        }
        keep(&mut batch);
        // Answers that the pass did not find, such as entries of files that were joined meanwhile,
        // are not waited for.
        let count = u32::try_from(self.outline.len()).unwrap_or(NONE);
        let mut silent = lock(&self.answers.silent);
        for node in 0..count {
            let entry = self.outline.nodes().get(node as usize);
            if entry.is_some_and(|entry| entry.role == Some(Role::Assistant)) {
                silent.entry(self.hash(node)).or_insert(false);
            }
        }
        Ok(())
    }
}

/// Parses a query of a user.
pub(crate) fn parse(query: &str) -> Result<Query, Problem> {
    Query::parse(query, Case::Ignored)
        .map_err(|error| Problem::invalid(format!("the query, at {}: {}", error.at, error.message)))
}

/// Returns whether entries of this type are part of a conversation, with the rule of exported
/// pages.
pub(crate) fn is_conversation(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Label | Kind::Leaf | Kind::Custom | Kind::SessionInfo | Kind::Usage | Kind::Other
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use treering::Message;

    fn tree(session: &Session) -> PageTree {
        let state = (session.log_length(), session.leaf());
        PageTree::new(session, state, Arc::default())
    }

    fn call() -> Message {
        let json = r#"{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"ls","arguments":{}}],"stopReason":"toolUse"}"#;
        Message::from_json(json.as_bytes()).unwrap()
    }

    #[test]
    fn answers_without_text_are_hidden_once_they_were_read() {
        let session = Session::in_memory("/p");
        let first = session.append(Message::user("a")).unwrap();
        session.append(call()).unwrap();
        session.append(Message::user("b")).unwrap();
        let tree = tree(&session);
        let count = || tree.layout(&session, &Selection::default()).unwrap().len();
        assert_eq!(count(), 3);
        assert!(tree.read(&session, 0..3).unwrap());
        assert_eq!(count(), 2);
        let query = Selection { query: "a".into(), ..Selection::default() };
        let found = tree.layout(&session, &query).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(tree.outline.id(found.get(0).unwrap().node), first.as_str());
        let broken = Selection { query: "re:(".into(), ..Selection::default() };
        assert!(tree.layout(&session, &broken).is_err());
    }

    #[test]
    fn what_was_read_is_known_in_the_next_state() {
        let trees = PageTrees::default();
        let session = Session::in_memory("/p");
        session.append(Message::user("a")).unwrap();
        session.append(call()).unwrap();
        let id = session.id();
        let tree = trees.tree("main", &id, &session);
        assert!(tree.read_quickly(&session).unwrap());
        assert!(Arc::ptr_eq(&tree, &trees.tree("main", &id, &session)));
        session.append(Message::user("b")).unwrap();
        let grown = trees.tree("main", &id, &session);
        assert_eq!(grown.outline.len(), 3);
        assert!(grown.unknown(0..3).is_empty());
    }

    #[test]
    fn a_tip_is_the_end_of_the_branch() {
        let session = Session::in_memory("/p");
        let a = session.append(Message::user("a")).unwrap();
        let b = session.append(Message::user("b")).unwrap();
        let c = session.append(Message::user("c")).unwrap();
        session.branch(&a).unwrap();
        let d = session.append(Message::user("d")).unwrap();
        let tree = tree(&session);
        let node = |id: &EntryId| tree.node(id.as_str()).unwrap();
        assert_eq!(tree.tip(node(&b)), node(&c));
        assert_eq!(tree.outline.id(tree.tip(node(&a))), d.as_str());
        let path: Vec<&str> =
            tree.path(node(&c)).into_iter().map(|node| tree.outline.id(node)).collect();
        assert_eq!(path, [a.as_str(), b.as_str(), c.as_str()]);
    }
}
