//! The state of a session behind its lock: its storage, what was read, and its leaf.

use super::options::Creation;
use crate::dialect;
use crate::entry::{NewEntry, Role};
use crate::error::{Error, Result};
use crate::header::Header;
use crate::id::{EntryId, IdMaker};
use crate::load::{LoadError, Loaded};
use crate::log::{
    CreateJournal, FileJournal, Joined, Journal, JournalError, MemoryJournal, lock, scan,
};
use crate::migrate::{self, Upgrade};
use crate::position::Position;
use crate::snapshot::Snapshot;
use crate::tree::{Node, Row};
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The storage of a session.
#[derive(Debug)]
pub(crate) enum Backing {
    /// A journal that is not one of treering's files.
    Elsewhere {
        /// The name of the journal for messages.
        name: PathBuf,
    },
    /// A session that is in memory, because its file is not created yet.
    Pending {
        target: Target,
        creation: Creation,
        memory: Arc<MemoryJournal>,
    },
    File {
        path: PathBuf,
        file: Arc<FileJournal>,
    },
}

/// The storage that a session will have.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    File(PathBuf),
    Journal(Arc<dyn CreateJournal>),
}

impl Target {
    /// Returns the file, if the target is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Target::File(path) => Some(path),
            Target::Journal(_) => None,
        }
    }
}

impl Backing {
    /// Returns the backing of a session in memory.
    pub(crate) fn memory() -> Self {
        Backing::Elsewhere { name: "(memory)".into() }
    }
}

/// An existing session's file, and its log: the file itself, or the file joined with those of the
/// session's subagents.
pub(crate) struct OpenedSession {
    pub file: Arc<FileJournal>,
    pub journal: Arc<dyn Journal>,
    pub joined: Option<Arc<Joined>>,
    pub loaded: Loaded,
}

impl OpenedSession {
    pub(crate) fn at(path: &Path) -> Result<Self> {
        let file = Arc::new(dialect::stored::open(path)?);
        let mut journal = Arc::clone(&file) as Arc<dyn Journal>;
        let failed = |error: LoadError| error.at(Some(path));
        let mut joined = None;
        let dialect = file.len().and_then(|length| dialect::detect(&*file, length));
        let dialect = dialect.map_err(Error::io(path, "read"))?;
        let subagents = dialect.facts().subagents_of(path);
        if !subagents.is_empty() {
            let files = Arc::new(Joined::open(path, &subagents)?);
            journal = Arc::clone(&files) as Arc<dyn Journal>;
            joined = Some(files);
        }
        let loaded = Loaded::read(&*journal).map_err(failed)?.at(path);
        Ok(OpenedSession { file, journal, joined, loaded })
    }
}

#[derive(Debug)]
pub(crate) struct State {
    pub backing: Backing,
    pub journal: Arc<dyn Journal>,
    /// The joined files, if the session has several.
    pub joined: Option<Arc<Joined>>,
    pub loaded: Loaded,
    pub leaf: Option<EntryId>,
    /// Whether the header is still to be written, because the file exists but is empty.
    pub unwritten_header: bool,
    pub(super) ids: IdMaker,
    /// A buffer that is kept for the next batch.
    pub(super) scratch: Vec<u8>,
}

impl State {
    /// Returns the state of a session with a header and no entries.
    pub(crate) fn of(backing: Backing, journal: Arc<dyn Journal>, loaded: Loaded) -> Self {
        let (ids, scratch) = (IdMaker::new(), Vec::new());
        let (leaf, joined) = (None, None);
        State { backing, journal, joined, loaded, leaf, unwritten_header: false, ids, scratch }
    }

    /// Returns the state of a session that was read. If its journal was empty, the session gets
    /// `header`.
    pub(crate) fn with_header(
        backing: Backing,
        journal: Arc<dyn Journal>,
        loaded: Loaded,
        header: Header,
    ) -> Result<Self> {
        let mut state = State::of(backing, journal, loaded);
        if state.loaded.header.is_none() {
            state.loaded.header = Some(header);
            state.unwritten_header = true;
        }
        state.leaf = state.file_leaf()?;
        Ok(state)
    }

    pub(crate) fn header(&self) -> &Header {
        static NONE: std::sync::LazyLock<Header> = std::sync::LazyLock::new(Header::unknown);
        self.loaded.header.as_ref().unwrap_or(&NONE)
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.backing {
            Backing::Elsewhere { .. } => None,
            Backing::Pending { target, .. } => target.file(),
            Backing::File { path, .. } => Some(path),
        }
    }

    /// Returns the path or name of the session for messages.
    pub(super) fn place(&self) -> PathBuf {
        match &self.backing {
            Backing::Elsewhere { name } => name.clone(),
            Backing::Pending { target: Target::Journal(target), .. } => target.name().into(),
            Backing::Pending { target: Target::File(path), .. } | Backing::File { path, .. } => {
                path.clone()
            }
        }
    }

    pub(crate) fn view(&self) -> Snapshot {
        Snapshot::new(&self.loaded, Arc::clone(&self.journal), false)
    }

    /// Returns the active leaf of the file.
    pub(crate) fn file_leaf(&self) -> Result<Option<EntryId>> {
        let view = self.view();
        Ok(view.file_leaf()?.map(|row| view.tree().id(row)))
    }

    /// Returns the active leaf of the file. If it is the session's own leaf, which is known to be
    /// undamaged, the log is not read.
    pub(super) fn log_leaf(&self) -> Result<Option<EntryId>> {
        let tree = &self.loaded.tree;
        let is_own = match (&self.leaf, tree.file_leaf_row()) {
            (Some(leaf), Some(row)) => leaf == tree.id_text(row),
            (None, None) => true,
            _ => false,
        };
        if is_own { Ok(self.leaf.clone()) } else { self.file_leaf() }
    }

    fn failed(&self, error: LoadError) -> Error {
        error.at(Some(&self.place()))
    }

    /// Reads the entries that others appended, and returns their ids.
    pub(crate) fn refresh(&mut self) -> Result<Vec<EntryId>> {
        if let Backing::File { path, file } = &self.backing
            && (!file.is_at(path) || self.joined.as_ref().is_some_and(|joined| joined.is_stale()))
        {
            return self.reopen();
        }
        self.catch_up()
    }

    pub(super) fn catch_up(&mut self) -> Result<Vec<EntryId>> {
        if self.unwritten_header {
            // The journal was empty when the header was created in memory.
            return match self.journal.is_empty().map_err(Error::Storage)? {
                true => Ok(Vec::new()),
                false => self.reload(),
            };
        }
        let refreshed = self.loaded.refresh(&*self.journal);
        match refreshed.map_err(|error| self.failed(error))? {
            Some(rows) => Ok(self.ids_of(rows)),
            None => self.reload(),
        }
    }

    fn ids_of(&self, rows: Range<Row>) -> Vec<EntryId> {
        let tree = &self.loaded.tree;
        Row::range(rows)
            .filter(|&row| !tree.node(row).has(Node::SHADOWED))
            .map(|row| tree.id(row))
            .collect()
    }

    /// Reads everything again, and returns the ids that are new.
    pub(crate) fn reload(&mut self) -> Result<Vec<EntryId>> {
        let mut fresh = Loaded::read(&*self.journal).map_err(|error| self.failed(error))?;
        if let Some(path) = self.path() {
            fresh = fresh.at(path);
        }
        self.replace_loaded(fresh)
    }

    /// Replaces the state by what was read from the file, unless that is another session.
    fn replace_loaded(&mut self, fresh: Loaded) -> Result<Vec<EntryId>> {
        self.check_same(&fresh)?;
        let old = std::mem::replace(&mut self.loaded, fresh);
        self.unwritten_header = self.loaded.header.is_none();
        if self.unwritten_header {
            self.loaded.header = old.header;
        }
        if self.leaf.as_ref().is_some_and(|leaf| !self.loaded.tree.contains(leaf.as_str())) {
            self.leaf = self.file_leaf()?;
        }
        let tree = &self.loaded.tree;
        Ok(tree.ids().filter(|id| !old.tree.contains(id.as_str())).collect())
    }

    /// Fails if `fresh` is another session, and not a later state of this one.
    fn check_same(&self, fresh: &Loaded) -> Result<()> {
        let (Some(old), Some(new)) = (&self.loaded.header, &fresh.header) else { return Ok(()) };
        let first = |loaded: &Loaded| loaded.tree.ids().next();
        let is_same = match old.id.is_empty() && new.id.is_empty() {
            // Sessions without an id are distinguished by their first entries.
            true => match (first(&self.loaded), first(fresh)) {
                (Some(old), Some(new)) => old == new,
                _ => true,
            },
            false => old.id == new.id,
        };
        if is_same || self.unwritten_header {
            return Ok(());
        }
        let path = self.place();
        Err(Error::Replaced { path, expected: old.id.clone(), found: new.id.clone() })
    }

    /// Opens the file that the path names now, after an upgrade or a rewrite by another program,
    /// and uses it if it is the same session.
    pub(super) fn reopen(&mut self) -> Result<Vec<EntryId>> {
        let Backing::File { path, .. } = &self.backing else { return Ok(Vec::new()) };
        let path = path.clone();
        let opened = match OpenedSession::at(&path) {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::Deleted(path));
            }
            opened => opened?,
        };
        // Another program created a file with that name and has not written to it yet.
        if opened.loaded.header.is_none() && !self.unwritten_header {
            return Err(Error::Deleted(path));
        }
        self.check_same(&opened.loaded)?;
        (self.journal, self.joined) = (opened.journal, opened.joined);
        self.backing = Backing::File { path, file: opened.file };
        self.replace_loaded(opened.loaded)
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        let dialect = self.loaded.dialect;
        self.loaded.header.as_ref().map_or(Ok(()), |header| dialect.check_writable(header))
    }

    /// Returns an id that no entry has.
    pub(crate) fn new_id(&mut self) -> EntryId {
        self.make_id(|_| false)
    }

    fn make_id(&mut self, is_also_taken: impl Fn(&str) -> bool) -> EntryId {
        let (tree, facts) = (&self.loaded.tree, self.loaded.facts());
        let is_taken = |id: &str| tree.contains(id) || tree.is_missed(id) || is_also_taken(id);
        facts.make_id(&mut self.ids, is_taken)
    }

    /// Returns ids for entries that refer to each other before they are written.
    pub(crate) fn fresh_ids(&mut self, count: usize) -> Vec<EntryId> {
        let mut made: HashSet<EntryId> = HashSet::with_capacity(count);
        let mut ids = Vec::with_capacity(count);
        for _ in 0..count {
            let id = self.make_id(|id| made.contains(id));
            made.insert(id.clone());
            ids.push(id);
        }
        ids
    }

    /// Returns the entry id that a position names, whether or not the entry exists.
    pub(crate) fn named<'a>(&'a self, position: &'a Position) -> Option<&'a EntryId> {
        match position {
            Position::Leaf => self.leaf.as_ref(),
            Position::Entry(id) => Some(id),
            Position::Start => None,
        }
    }

    /// Fails if the session's name is in a title that cannot be overwritten: an entry with another
    /// name would have no effect.
    pub(crate) fn check_nameable(&self) -> Result<()> {
        let Some(slot) = self.loaded.facts().title_slot.filter(|_| self.loaded.is_titled()) else {
            return Ok(());
        };
        let mut start = vec![0; slot.len];
        let got = scan::read_full(&*self.journal, 0, &mut start).map_err(Error::Storage)?;
        match (slot.is_slot)(&start[..got]) {
            true => Ok(()),
            false => Err(self.not_nameable()),
        }
    }

    fn not_nameable(&self) -> Error {
        Error::NotNameable(self.place())
    }

    /// Writes the session's name to the title slot, if there is one.
    pub(crate) fn retitle(&mut self) -> Result<()> {
        let Some(form) = self.loaded.facts().title_slot.filter(|_| self.loaded.has_title()) else {
            return Ok(());
        };
        let name = self.loaded.tree.last_given_name().unwrap_or_default().to_owned();
        let now = crate::time::format(crate::time::now());
        let slot = (form.render)(&name, &now);
        let Some(title) = (form.title)(&slot).filter(|_| slot.len() == form.len) else {
            return Err(self.not_nameable());
        };
        if self.replace_slot(&slot, form.is_slot)? {
            self.loaded.retitled(&title);
        } else if self.loaded.is_titled() {
            // There was a slot when the entry was written, but it is gone.
            return Err(self.not_nameable());
        }
        Ok(())
    }

    /// Replaces the title slot at the start of the log. Returns false, and changes nothing, if there is
    /// none.
    fn replace_slot(&self, slot: &[u8], is_slot: fn(&[u8]) -> bool) -> Result<bool> {
        let journal: &dyn Journal = match &self.backing {
            Backing::File { file, .. } => &**file,
            _ => &*self.journal,
        };
        let mut found = vec![0; slot.len()];
        // Every round reads a title that another process set; the limit ends a race that would
        // never end.
        for _ in 0..100 {
            let got = scan::read_full(journal, 0, &mut found).map_err(Error::Storage)?;
            if !is_slot(&found[..got]) {
                return Ok(false);
            }
            let replaced = journal.replace_start(&found, slot);
            if replaced.map_err(|error| storage(error, &self.place()))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether the session's file must exist once it has these entries.
    pub(super) fn is_file_due<'a>(&self, mut entries: impl Iterator<Item = &'a NewEntry>) -> bool {
        let Backing::Pending { creation, .. } = &self.backing else { return false };
        let counts = |role: Option<Role>| creation.is_due_with(role);
        *creation == Creation::AtOnce
            || entries.any(|entry| counts(entry.role))
            || self.loaded.tree.nodes().any(|node| counts(node.role()))
    }

    /// Writes a pending session, with `more` at its end, to its file or its store.
    pub(crate) fn create_file(&mut self, more: &[u8]) -> Result<()> {
        let Backing::Pending { target, memory, .. } = &self.backing else { return Ok(()) };
        let mut bytes = memory.contents();
        bytes.extend_from_slice(more);
        (self.journal, self.backing) = match target {
            Target::File(path) => {
                let file = Arc::new(FileJournal::create(path, &bytes)?);
                let journal = Arc::clone(&file) as Arc<dyn Journal>;
                (journal, Backing::File { path: path.clone(), file })
            }
            Target::Journal(new) => {
                let journal = new.create(&mut bytes.as_slice())?;
                (journal, Backing::Elsewhere { name: new.name().into() })
            }
        };
        Ok(())
    }

    /// Rewrites a file of an older version, and keeps the old file beside it. The entries of other
    /// writers that were read are added to `foreign` in any case.
    pub(crate) fn upgrade(&mut self, foreign: &mut Vec<EntryId>) -> Result<Option<Upgrade>> {
        self.check_writable()?;
        foreign.extend(self.refresh()?);
        let Backing::File { path, file } = &self.backing else {
            return match migrate::is_due(&self.loaded) {
                true => Err(Error::CannotUpgrade(self.header().version)),
                false => Ok(None),
            };
        };
        if !migrate::is_due(&self.loaded) {
            return Ok(None); // Perhaps another process just did it.
        }
        let (path, file) = (path.clone(), Arc::clone(file));
        let mut upgrade = None;
        {
            let _lock = lock(file.file()).map_err(|error| storage(error, &path))?;
            if file.is_at(&path) {
                foreign.extend(self.catch_up()?);
                let mut done = migrate::planned_upgrade(&self.view(), &self.loaded)?;
                let backup = migrate::upgrade(&path, &file, &self.loaded)?;
                if let Some(done) = &mut done {
                    done.backup = Some(backup);
                }
                upgrade = done;
            }
        }
        foreign.extend(self.reopen()?);
        Ok(upgrade)
    }

    /// Writes the whole session to its path again, after the file was deleted.
    pub(crate) fn recreate(&mut self) -> Result<()> {
        let Backing::File { path, file } = &self.backing else { return Ok(()) };
        if file.is_at(path) {
            return Ok(());
        }
        let mut bytes = vec![0; usize::try_from(self.loaded.seen).unwrap_or(usize::MAX)];
        let got = scan::read_full(&**file, 0, &mut bytes).map_err(Error::Storage)?;
        bytes.truncate(got);
        let file = Arc::new(FileJournal::create(path, &bytes)?);
        self.journal = Arc::clone(&file) as Arc<dyn Journal>;
        self.backing = Backing::File { path: path.clone(), file };
        Ok(())
    }

    /// Returns the row of a position; `None` is before the first entry.
    pub(crate) fn row(&self, position: &Position) -> Result<Option<Row>> {
        self.named(position).map(|id| self.loaded.tree.find_row(id.as_str())).transpose()
    }

    /// Returns the entry at a position; `None` is before the first entry.
    pub(crate) fn entry_at(&self, position: &Position) -> Result<Option<EntryId>> {
        Ok(self.row(position)?.map(|row| self.loaded.tree.id(row)))
    }
}

/// Converts an error of a journal to an error of the session.
pub(crate) fn storage(error: JournalError, path: &Path) -> Error {
    match error {
        JournalError::Io(source) => Error::io(path, "append to")(source),
        JournalError::Locked => Error::Locked(crate::log::LOCK_TIMEOUT.as_secs()),
        JournalError::Gone => Error::Deleted(path.to_owned()),
        JournalError::Moved(_) => Error::Storage(std::io::ErrorKind::InvalidData.into()),
    }
}
