//! Creates forks: a path, or a whole session, as a new session.
//!
//! All forks are made here. A fork in the dialect of its source is a copy of records
//! (`session::copy`); a fork in another dialect is a [conversion](crate::convert). Either is read
//! again, and must have the same leaf and the same context as its source, before its file gets its
//! name.

use crate::convert::{self, Conversion, Extent};
use crate::dialect::Dialect;
use crate::dialect::facts::LeafParent;
use crate::entry::Kind;
use crate::error::{Error, Result};
use crate::fs;
use crate::header::Header;
use crate::id::{EntryId, SessionId};
use crate::load::Loaded;
use crate::log::{CreateJournal, Journal, MemoryJournal, Scratch};
use crate::position::Position;
use crate::session::copy::{PathCopy, whole};
use crate::session::options::SYSTEM_PROMPT;
use crate::session::publish::write_verified;
use crate::session::state::{Backing, State, Target};
use crate::session::{Creation, Durability, OpenOptions, Session, location};
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::Row;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options for a fork. All have defaults.
///
/// ```
/// use treering::{Dialect, ForkOptions, SessionId};
/// let options = ForkOptions::new().dialect(Dialect::Chimera).id(SessionId::new("second-try")?);
/// assert_eq!(options.dialect, Some(Dialect::Chimera));
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ForkOptions {
    /// The directory of the new session. The default is the directory of the source if the fork has
    /// the same dialect, else the project's directory below [`root`](ForkOptions::root).
    pub dir: Option<PathBuf>,
    /// The root directory of the caller's own sessions, with a directory for each project, as in a
    /// [`Catalog`](crate::Catalog). A fork in another dialect than its source is written there,
    /// because it does not belong among the files of the source's agent. Other forks, and those of
    /// sessions in memory, do not use it.
    pub root: Option<PathBuf>,
    /// The dialect of the new session. The default is that of the source, or pi's if treering
    /// cannot write the source's.
    pub dialect: Option<Dialect>,
    /// The new session's project; that of the source if `None`.
    pub cwd: Option<PathBuf>,
    /// The new session's id; a UUID if `None`.
    pub id: Option<SessionId>,
    /// When the new session's file is created. It is created at once if the forked entries have the
    /// message that the rule waits for. A copy of a whole session is always written at once.
    pub creation: Creation,
    /// The durability of appends to the new session.
    pub durability: Durability,
}

impl ForkOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        ForkOptions::default()
    }

    /// Sets the directory of the new session.
    #[must_use]
    pub fn dir(self, dir: impl Into<PathBuf>) -> Self {
        ForkOptions { dir: Some(dir.into()), ..self }
    }

    /// Sets the root directory of the caller's own sessions.
    #[must_use]
    pub fn root(self, root: impl Into<PathBuf>) -> Self {
        ForkOptions { root: Some(root.into()), ..self }
    }

    /// Sets the dialect of the new session.
    #[must_use]
    pub fn dialect(self, dialect: Dialect) -> Self {
        ForkOptions { dialect: Some(dialect), ..self }
    }

    /// Sets the project of the new session.
    #[must_use]
    pub fn cwd(self, cwd: impl Into<PathBuf>) -> Self {
        ForkOptions { cwd: Some(cwd.into()), ..self }
    }

    /// Sets the id of the new session.
    #[must_use]
    pub fn id(self, id: SessionId) -> Self {
        ForkOptions { id: Some(id), ..self }
    }

    /// Sets when the new session's file is created.
    #[must_use]
    pub fn creation(self, creation: Creation) -> Self {
        ForkOptions { creation, ..self }
    }

    /// Sets the durability of appends to the new session.
    #[must_use]
    pub fn durability(self, durability: Durability) -> Self {
        ForkOptions { durability, ..self }
    }
}

impl Session {
    /// Creates a session from the path to a position, including labels and their times. Children of
    /// entries that are left out are linked to the nearest entry that is kept. A fork without any
    /// conversation gets its file with its first message; a fork of a session in memory stays in
    /// memory, unless the options name a directory.
    ///
    /// The fork is read again before its file gets its name: its leaf and its context must be those
    /// of the source at the position.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::NoForkDirectory`] if the fork is in another dialect than its source, as all
    /// forks of Claude Code's and Codex's sessions are, and the options name neither a directory nor a
    /// root.
    ///
    /// ```
    /// use treering::{ForkOptions, Message, Session};
    /// # let dir = tempfile::tempdir()?;
    /// let session = Session::create_at(dir.path().join("a.jsonl"), "/project", Default::default())?;
    /// let hello = session.append(Message::user("hello"))?;
    /// session.append(Message::assistant("acme", "m", "hi"))?;
    /// let fork = session.fork(&hello, ForkOptions::default())?;
    /// assert_eq!(fork.context()?.messages.len(), 1);
    /// assert_eq!(fork.header().parent_session, Some(session.path().unwrap().display().to_string()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fork(&self, position: impl Into<Position>, options: ForkOptions) -> Result<Session> {
        let leaf = self.fork_point(&position.into())?;
        ForkPlan::new(self, Extent::Path, leaf, options)?.make()
    }

    /// Returns the entry that becomes the leaf of a fork at a position.
    fn fork_point(&self, position: &Position) -> Result<Option<EntryId>> {
        let (view, row) = self.view_at(position)?;
        let (tree, is_left) =
            (view.tree(), self.dialect().facts().leaf_parent == LeafParent::PreviousLeaf);
        // A fork at a `leaf` entry is a fork at its target: in some dialects the parent of a `leaf`
        // entry is the previous leaf. In the others it is the target, except in files that no agent
        // writes.
        let row = match row.map(|row| (row, tree.leaf_move(row))) {
            Some((row, Some(target))) if is_left || tree.ancestors(row).nth(1) != target => target,
            Some((row, None)) if is_left && tree.node(row).kind() == Kind::Leaf => None,
            _ => row,
        };
        Ok(row.map(|row| tree.id(row)))
    }

    /// Creates a fork as [`fork`](Session::fork) does, in a journal that `target` creates.
    pub(crate) fn fork_into_journal(
        &self,
        position: &Position,
        options: ForkOptions,
        target: Arc<dyn CreateJournal>,
    ) -> Result<Session> {
        let leaf = self.fork_point(position)?;
        // The directory is not used, but `ForkPlan::new` may fail without one.
        let options = ForkOptions { dir: Some(PathBuf::new()), ..options };
        let mut fork = ForkPlan::new(self, Extent::Path, leaf, options)?;
        if self.path().is_none() {
            // A session that is not in a file is named by its id.
            let (id, cwd) = (SessionId::of_file(&fork.header.id), PathBuf::from(&fork.header.cwd));
            fork.header = Header::new(&id, &cwd, Some(self.id().as_str()));
        }
        ForkPlan { target: Some(Target::Journal(target)), ..fork }.make()
    }

    /// Creates a copy of the whole session, with the same leaf.
    pub(crate) fn fork_whole(&self, options: ForkOptions) -> Result<Session> {
        ForkPlan::new(self, Extent::Whole, self.leaf(), options)?.make()
    }
}

/// A planned fork.
struct ForkPlan<'a> {
    source: &'a Session,
    loaded: Loaded,
    /// The source, at the entry that becomes the leaf of the fork.
    from: SessionAt,
    extent: Extent,
    header: Header,
    dialect: Dialect,
    /// The storage of the fork; `None` for memory.
    target: Option<Target>,
    creation: Creation,
    durability: Durability,
}

/// A session at one of its entries.
struct SessionAt {
    view: Snapshot,
    /// The row of the header, if the tree has one for it.
    header: Option<Row>,
    leaf: Option<Row>,
}

impl<'a> ForkPlan<'a> {
    fn new(
        source: &'a Session,
        extent: Extent,
        leaf: Option<EntryId>,
        options: ForkOptions,
    ) -> Result<Self> {
        let ForkOptions { dir, root, dialect, cwd, id, creation, durability } = options;
        let (view, loaded) = {
            let state = source.state();
            (state.view(), state.loaded.clone())
        };
        let (own, path) = (loaded.dialect, source.path());
        let leaf = leaf.map(|leaf| view.tree().find_row(leaf.as_str())).transpose()?;
        let from = SessionAt { view, header: loaded.header_row(), leaf };
        let default = if own.is_writable() { own } else { Dialect::default() };
        let dialect = dialect.unwrap_or(default);
        if !dialect.is_writable() {
            return Err(Error::ReadOnlyDialect(dialect));
        }
        let cwd = cwd.unwrap_or_else(|| source.cwd().into());
        let id = id.unwrap_or_else(SessionId::generate).checked()?;
        let parent = path.as_deref().map(|path| fs::absolute(path).to_string_lossy().into_owned());
        let header = Header::new(&id, &cwd, parent.as_deref());
        let directory = match (dir, &path) {
            (Some(dir), _) => Some(dir),
            (None, None) => None,
            (None, Some(path)) if dialect == own => path.parent().map(Path::to_owned),
            (None, Some(_)) => match root {
                Some(root) => Some(location::project_directory(&root, &cwd)),
                None => return Err(Error::NoForkDirectory { from: own, to: dialect }),
            },
        };
        let name = location::file_name(&header.timestamp, header.id.as_str());
        let target = directory.map(|directory| Target::File(directory.join(name)));
        Ok(ForkPlan { source, loaded, from, extent, header, dialect, target, creation, durability })
    }

    fn make(self) -> Result<Session> {
        match &self.target {
            Some(Target::Journal(target)) if self.is_file_due() => self.write_journal(&**target),
            Some(Target::File(target)) if self.is_file_due() => {
                self.write_file(target)?;
                let (creation, durability) = (self.creation, self.durability);
                let options = OpenOptions { creation, durability };
                Session::open_with(target, options)
            }
            _ => self.hold(),
        }
    }

    fn rows(&self) -> Vec<Row> {
        match self.extent {
            Extent::Path => self.from.path(),
            Extent::Whole => self.from.view.tree().live().collect(),
        }
    }

    /// Returns whether the fork's file is written at once: the fork is a copy of the whole session,
    /// or its entries have the message that the creation rule waits for.
    fn is_file_due(&self) -> bool {
        let role = |row: Row| self.from.view.tree().node(row).role();
        matches!(self.extent, Extent::Whole)
            || self.creation == Creation::AtOnce
            || self.rows().into_iter().any(|row| self.creation.is_due_with(role(row)))
    }

    /// Returns the conversion that makes the fork; `None` if records are copied.
    fn conversion(&self) -> Result<Option<Conversion<'a>>> {
        if self.dialect == self.loaded.dialect {
            return Ok(None);
        }
        let leaf = self.from.leaf.map(|row| self.from.view.tree().id(row));
        let header = self.header.clone();
        Conversion::new(self.source, self.extent, leaf.as_ref(), header, self.dialect).map(Some)
    }

    fn write_file(&self, target: &Path) -> Result<()> {
        if let Some(conversion) = self.conversion()? {
            return convert::write_new(target, &conversion).map(drop);
        }
        let prove = |path: &Path| self.prove(&Session::open(path)?);
        write_verified(target, |out| self.copy(out), prove)
    }

    /// Creates the fork in memory; its file may be created later.
    fn hold(&self) -> Result<Session> {
        let (mut bytes, conversion) = (Vec::new(), self.conversion()?);
        self.write_log(conversion.as_ref(), &mut bytes)?;
        let memory = Arc::new(MemoryJournal::new(bytes));
        let journal = Arc::clone(&memory) as Arc<dyn Journal>;
        self.prove_log(&journal, conversion.as_ref())?;
        let backing = match self.target.clone() {
            None => Backing::memory(),
            Some(target) => Backing::Pending { target, creation: self.creation, memory },
        };
        self.open(backing, journal, self.durability)
    }

    /// Writes the fork, once it was verified, to a journal that `target` creates.
    fn write_journal(&self, target: &dyn CreateJournal) -> Result<Session> {
        let conversion = self.conversion()?;
        let mut out = Scratch::writer().map_err(Error::Storage)?;
        self.write_log(conversion.as_ref(), &mut out)?;
        let scratch = Arc::new(Scratch::of(out).map_err(Error::Storage)?);
        let log = Arc::clone(&scratch) as Arc<dyn Journal>;
        self.prove_log(&log, conversion.as_ref())?;
        let journal = target.create(&mut scratch.reader())?;
        self.open(Backing::Elsewhere { name: target.name().into() }, journal, self.durability)
    }

    /// Writes the log of the fork.
    fn write_log(&self, conversion: Option<&Conversion<'_>>, mut out: impl Write) -> Result<()> {
        match conversion {
            Some(conversion) => conversion.write(&mut out).map(drop),
            None => self.copy(&mut out).map_err(Error::Storage),
        }
    }

    /// Fails if a log is not that of the fork.
    fn prove_log(&self, log: &Arc<dyn Journal>, conversion: Option<&Conversion<'_>>) -> Result<()> {
        let open = || self.open(Backing::memory(), Arc::clone(log), Durability::None);
        match conversion {
            Some(conversion) => conversion.finish(&open).map(drop),
            None => self.prove(&open()?),
        }
    }

    fn open(
        &self,
        backing: Backing,
        journal: Arc<dyn Journal>,
        durability: Durability,
    ) -> Result<Session> {
        let loaded = Loaded::read(&*journal).map_err(|error| error.at(None))?;
        // The dialect cannot always be detected from the first records.
        let loaded = loaded.of_dialect(self.dialect);
        let state = State::with_header(backing, journal, loaded, self.header.clone())?;
        Ok(Session::new(state, self.creation, durability))
    }

    /// Writes the fork as a copy of records.
    fn copy(&self, out: &mut dyn Write) -> io::Result<()> {
        let (view, header) = (&self.from.view, &self.header);
        match self.extent {
            Extent::Whole => whole(view, &self.loaded, header, out),
            Extent::Path => {
                let (dialect, name) = (self.dialect, view.tree().name().map(str::to_owned));
                let own = self.loaded.header.as_ref();
                let system_prompt = own.and_then(|own| own.get(SYSTEM_PROMPT));
                let header_row = self.from.header;
                let copy = PathCopy { dialect, name, header, header_row, system_prompt };
                copy.write(view, &self.rows(), out)
            }
        }
    }

    /// Adds to an error the reason why a context may differ although all records are equal.
    fn explained(&self, error: Error) -> Error {
        let directory =
            |path: &Option<PathBuf>| path.as_deref().and_then(Path::parent).map(fs::absolute);
        let target = self.target.as_ref().and_then(Target::file).map(Path::to_owned);
        let is_elsewhere = directory(&target) != directory(&self.source.path());
        match error {
            Error::Unfaithful(what)
                if self.dialect.facts().blob_directories.is_some() && is_elsewhere =>
            {
                let why = "keeps images next to its sessions, which files in this directory cannot refer to";
                Error::Unfaithful(format!("{what}; {} {why}", self.dialect))
            }
            error => error,
        }
    }

    /// Fails if the leaf of the fork is wrong or its context is not that of the source.
    fn prove(&self, fork: &Session) -> Result<()> {
        let (view, header) = fork.view_and_header();
        let leaf = fork.leaf().and_then(|leaf| view.tree().row(leaf.as_str()));
        let (from, mut to) = (&self.from, SessionAt { view, header, leaf });
        let (theirs, ours) = (from.ids(from.sound_path()?), to.ids(to.sound_path()?));
        if theirs != ours {
            let end = |ids: &[&str]| ids.last().map_or("the start".to_owned(), |id| (*id).into());
            let what = format!("its leaf is {}, not {}", end(&ours), end(&theirs));
            return Err(Error::Unfaithful(what));
        }
        from.compare(&to).map_err(|error| self.explained(error))?;
        if self.extent == Extent::Path {
            return Ok(());
        }
        let all = |side: &SessionAt| side.view.tree().live().collect::<Vec<_>>();
        if from.ids(all(from)) != to.ids(all(&to)) {
            return Err(Error::Unfaithful("it has other entries".into()));
        }
        let tree = from.view.tree();
        for end in tree.conversation().leaves().iter().rev().take(ENDS) {
            let (view, leaf) = (from.view.clone(), tree.row(end.as_str()));
            to.leaf = to.view.tree().row(end.as_str());
            SessionAt { view, header: from.header, leaf }.compare(&to)?;
        }
        Ok(())
    }
}

/// The number of branch ends at which the contexts of a whole copy are compared. A copy has all
/// records of its source, so an error would show at many of them.
const ENDS: usize = 64;

impl SessionAt {
    fn path(&self) -> Vec<Row> {
        self.leaf.map(|leaf| self.view.tree().path_rows(leaf)).unwrap_or_default()
    }

    /// Returns the path without damaged entries at its end, and without labels and `leaf` entries
    /// there.
    fn sound_path(&self) -> Result<Vec<Row>> {
        let (mut path, mut bodies) = (self.path(), Bodies::few());
        while let Some(&row) = path.last() {
            let is_note = matches!(self.view.tree().node(row).kind(), Kind::Label | Kind::Leaf);
            if !is_note && bodies.record(&self.view, row)?.is_some() {
                break;
            }
            path.pop();
        }
        Ok(path)
    }

    /// Returns the ids of rows, except the header, `leaf` entries and labels, which a fork creates
    /// anew.
    fn ids(&self, rows: Vec<Row>) -> Vec<&str> {
        let tree = self.view.tree();
        let is_entry = |row: &Row| !matches!(tree.node(*row).kind(), Kind::Label | Kind::Leaf);
        let entries = rows.into_iter().filter(is_entry).filter(|row| Some(*row) != self.header);
        entries.map(|row| tree.id_text(row)).collect()
    }

    /// Fails if the contexts differ. They are read message by message.
    fn compare(&self, fork: &SessionAt) -> Result<()> {
        let mut theirs = self.view.clone().projection(self.leaf)?;
        let mut ours = fork.view.clone().projection(fork.leaf)?;
        let differs = |what: String| Err(Error::Unfaithful(what));
        if theirs.thinking_level != ours.thinking_level || theirs.model != ours.model {
            return differs("the model or the thinking level differs".into());
        }
        for number in 1.. {
            let what = match (theirs.next().transpose()?, ours.next().transpose()?) {
                (None, None) => break,
                (Some(before), Some(after)) if before == after => continue,
                (Some(_), Some(_)) => "differs",
                (Some(_), None) => "is missing",
                (None, Some(_)) => "was added",
            };
            return differs(format!("message {number} of the context {what}"));
        }
        Ok(())
    }
}
