//! Carries out a repair and verifies the result.
//!
//! The invariant is that of an upgrade: at every moment a path names the complete old file or the
//! complete new one, and the new one only after it was read again and found to contain everything
//! that could be read in the old one.

mod verify;

use super::history::Reachability;
use super::plan::{RepairEdits, is_mere_list};
use super::{findings, write};
use crate::dialect::Dialect;
use crate::entry::NewEntry;
use crate::error::{Error, Result};
use crate::findings::Finding;
use crate::fs::{self, NewFile};
use crate::id::EntryId;
use crate::json;
use crate::load::Loaded;
use crate::log::{
    FileJournal, Journal, JournalError, Locked, TailCopier, check_replaceable, free, lock, replace,
    whole_lines,
};
use crate::session::{Session, storage};
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{NONE, Row};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The target of a repair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RepairTo {
    /// Writes the repaired session to `NAME.repaired.jsonl` in the same directory.
    #[default]
    Beside,
    /// Writes the repaired session to this path, which must not exist.
    Path(PathBuf),
    /// Replaces the file, and keeps the original as `NAME.jsonl.bak`.
    InPlace,
}

/// Options for a repair. All have defaults.
///
/// ```
/// use treering::doctor::{RepairOptions, RepairTo};
/// let options = RepairOptions::new().to(RepairTo::InPlace);
/// assert_eq!(options.to, RepairTo::InPlace);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RepairOptions {
    /// The target of the repair.
    pub to: RepairTo,
}

impl RepairOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        RepairOptions::default()
    }

    /// Sets the target of the repair.
    #[must_use]
    pub fn to(self, to: RepairTo) -> Self {
        RepairOptions { to }
    }
}

/// An entry that got another parent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Relinked {
    /// The entry.
    pub entry: EntryId,
    /// The parent that the entry named before.
    pub from: Option<String>,
    /// The parent that the entry has now; `None` if it is a root.
    pub to: Option<EntryId>,
}

/// An entry that got another id, because a later entry has the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Renamed {
    /// The id that the entry has now.
    pub entry: EntryId,
    /// The id that the entry had before.
    pub from: EntryId,
}

/// The changes that a repair makes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairChanges {
    /// Entries that got another parent.
    pub relinked: Vec<Relinked>,
    /// Entries that got another id.
    pub renamed: Vec<Renamed>,
    /// Entries without an id, which got the id that they were shown under.
    pub named: Vec<EntryId>,
    /// The number of lines that were left out because they are exact copies of later lines.
    pub copies: usize,
    /// The number of lines that were split.
    pub split: usize,
    /// The numbers of the lines with pieces that cannot be entries.
    pub rejected: Vec<u64>,
    /// Whether the header was moved to the start.
    pub moved_header: bool,
    /// Whether the header got the id that the session is known by.
    pub named_header: bool,
    /// Whether the session was upgraded to the current version.
    pub upgraded: bool,
}

/// The report of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The path of the file that was repaired.
    pub path: PathBuf,
    /// The dialect of the session.
    pub dialect: Dialect,
    /// The path of the repaired session; `None` if there was nothing to repair.
    pub output: Option<PathBuf>,
    /// The path of the original file, if it was replaced.
    pub backup: Option<PathBuf>,
    /// The file with the pieces that cannot be entries, if there were any.
    pub rejects: Option<PathBuf>,
    /// The size of the session before the repair.
    pub before: Reachability,
    /// The size of the session after the repair.
    pub after: Reachability,
    /// The number of branches that have more ancestors than before, or were not visible.
    pub contexts_gained: usize,
    /// The changes that were made.
    pub changes: RepairChanges,
    /// The findings that a repair does not remove.
    pub remaining: Vec<Finding>,
}

/// The action that error messages name.
const WRITE: &str = "write the repaired session";

/// The codes of the findings that a repair removes.
const REPAIRED: [&str; 13] = [
    "damaged-line",
    "damaged-entry",
    "glued-lines",
    "torn-last-line",
    "second-header",
    "second-title",
    "no-session-id",
    "header-not-first",
    "duplicate-id",
    "missing-parent",
    "cycle",
    "unreachable-history",
    "no-id",
];

/// Repairs a session file: writes a copy in which every line is a complete record and every link
/// resolves, and verifies it by reading the copy again. Nothing that can be read is lost. A healthy
/// file is not changed, and neither is a repaired one.
///
/// Sessions of agents whose files treering does not write are only ever copied.
///
/// # Errors
///
/// Fails with [`Error::NotRepaired`] if the result does not pass the verification, with
/// [`Error::AlreadyExists`] if the target exists, and if the file is not a session or cannot be read.
/// The file is unchanged then.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("s.jsonl");
/// # std::fs::write(&path, concat!(
/// #     r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}"#, "\n",
/// #     r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","#,
/// #     r#""message":{"role":"user","content":"hello"}}"#, "\ngarbage\n",
/// #     r#"{"type":"message","id":"b","parentId":"gone","timestamp":"2026-01-05T09:00:01.000Z","#,
/// #     r#""message":{"role":"user","content":"still there?"}}"#, "\n",
/// # ))?;
/// let repair = treering::doctor::repair(&path, Default::default())?;
/// assert_eq!((repair.before.messages, repair.after.messages), (1, 2));
/// assert_eq!(repair.changes.relinked[0].to.as_ref().unwrap(), "a");
/// let repaired = repair.output.unwrap();
/// assert_eq!(repaired, dir.path().join("s.repaired.jsonl"));
/// assert!(treering::doctor::examine(&repaired)?.is_healthy());
/// assert_eq!(treering::doctor::repair(&repaired, Default::default())?.output, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn repair(path: impl AsRef<Path>, options: RepairOptions) -> Result<Repair> {
    let path = path.as_ref();
    let file = Arc::new(crate::dialect::stored::open(path)?);
    // A file that is replaced is locked before it is read.
    let _lock = lock_replaced(&file, path, &options.to)?;
    RepairPlan::read(path, Arc::clone(&file))?.carry_out(&options.to)
}

/// Plans a repair of a session file and changes nothing.
///
/// # Errors
///
/// Fails if the file is not a session or cannot be read.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("s.jsonl");
/// # std::fs::write(&path, concat!(
/// #     r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}"#, "\n",
/// #     r#"{"type":"message","id":"a","parentId":"gone","timestamp":"2026-01-05T09:00:01.000Z","#,
/// #     r#""message":{"role":"user","content":"hello"}}"#, "\n",
/// # ))?;
/// let plan = treering::doctor::plan_repair(&path)?;
/// assert_eq!(plan.changes().relinked.len(), 1);
/// for finding in plan.findings()? {
///     println!("{finding}: {}", if plan.repairs(&finding) { "repaired" } else { "stays" });
/// }
/// let repair = plan.apply(Default::default())?;
/// assert_eq!(&repair.changes, plan.changes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan_repair(path: impl AsRef<Path>) -> Result<RepairPlan> {
    let path = path.as_ref();
    RepairPlan::read(path, Arc::new(crate::dialect::stored::open(path)?))
}

/// Locks a file that is to be replaced.
fn lock_replaced<'a>(
    file: &'a FileJournal,
    path: &Path,
    to: &RepairTo,
) -> Result<Option<Locked<'a>>> {
    if *to != RepairTo::InPlace {
        return Ok(None);
    }
    let lock = lock(file.file()).map_err(|error| storage(error, path))?;
    match file.is_at(path) {
        true => Ok(Some(lock)),
        false => Err(storage(JournalError::Gone, path)),
    }
}

/// A planned repair, with the changes that it would make. Nothing is written until it is
/// [applied](RepairPlan::apply). See [`plan_repair`].
#[derive(Debug)]
pub struct RepairPlan {
    path: PathBuf,
    file: Arc<FileJournal>,
    journal: Arc<dyn Journal>,
    loaded: Loaded,
    view: Snapshot,
    edits: RepairEdits,
    changes: RepairChanges,
    before: Reachability,
}

/// The files that a repair writes.
struct Targets {
    output: PathBuf,
    rejects: PathBuf,
}

impl RepairPlan {
    fn read(path: &Path, file: Arc<FileJournal>) -> Result<Self> {
        let journal = Arc::clone(&file) as Arc<dyn Journal>;
        let loaded = Loaded::read(&*journal).map_err(|error| error.at(Some(path)))?.at(path);
        let view = Snapshot::new(&loaded, Arc::clone(&journal), false);
        let edits = RepairEdits::make(&*journal, &view, &loaded)?;
        let changes = changes(&view, &loaded, &edits)?;
        let before = Reachability::of(&view, |row| edits.keep[row.index()])?;
        let path = path.to_owned();
        Ok(RepairPlan { path, file, journal, loaded, view, edits, changes, before })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the dialect of the session.
    pub fn dialect(&self) -> Dialect {
        self.loaded.dialect
    }

    /// Returns the planned changes.
    pub fn changes(&self) -> &RepairChanges {
        &self.changes
    }

    /// Returns the size of the session before the repair.
    pub fn before(&self) -> Reachability {
        self.before
    }

    /// Returns whether there is nothing to repair.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Reads all of the file and returns all findings, those that the repair removes and those that
    /// remain.
    pub fn findings(&self) -> Result<Vec<Finding>> {
        findings(&self.journal, &self.loaded)
    }

    /// Returns whether the repair removes a finding.
    pub fn repairs(&self, finding: &Finding) -> bool {
        !self.is_empty() && REPAIRED.contains(&finding.code())
    }

    /// Returns the file that the repaired session would be written to.
    ///
    /// # Errors
    ///
    /// Fails with the errors of [`apply`](RepairPlan::apply) that are known before anything is
    /// written.
    pub fn output(&self, options: &RepairOptions) -> Result<PathBuf> {
        Ok(self.targets(&options.to)?.output)
    }

    /// Repairs the file as planned, and verifies the result by reading it again.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::OutdatedPlan`] if the file has changed since the repair was planned.
    pub fn apply(&self, options: RepairOptions) -> Result<Repair> {
        let _lock = lock_replaced(&self.file, &self.path, &options.to)?;
        let length = self.journal.len().map_err(Error::io(&self.path, "read"))?;
        if length != self.loaded.seen || !self.file.is_at(&self.path) {
            return Err(Error::OutdatedPlan(self.path.clone()));
        }
        self.carry_out(&options.to)
    }

    fn carry_out(&self, to: &RepairTo) -> Result<Repair> {
        let mut repair = Repair {
            path: self.path.clone(),
            dialect: self.loaded.dialect,
            output: None,
            backup: None,
            rejects: None,
            before: self.before,
            after: self.before,
            contexts_gained: 0,
            changes: self.changes.clone(),
            remaining: Vec::new(),
        };
        if self.edits.is_empty() {
            repair.remaining = findings(&self.journal, &self.loaded)?;
            return Ok(repair);
        }
        let targets = self.targets(to)?;
        let (new, rejects) = self.write(&targets, &mut repair)?;
        if let Some(rejects) = rejects {
            rejects.publish().map_err(Error::creating(&targets.rejects, WRITE))?;
            repair.rejects = Some(targets.rejects.clone());
        }
        repair.backup = self.put(to, new).inspect_err(|_| {
            // The file was published for a repair that then failed.
            let _ = repair.rejects.as_deref().map(fs::remove_file);
        })?;
        repair.output = Some(targets.output);
        Ok(repair)
    }

    /// Returns the row's id in the repaired session.
    fn final_id(&self, row: Row) -> EntryId {
        final_id(&self.view, &self.edits, row)
    }

    fn targets(&self, to: &RepairTo) -> Result<Targets> {
        let (loaded, dialect) = (&self.loaded, self.loaded.dialect);
        if let Some(header) = &loaded.header
            && header.version > loaded.facts().version
        {
            let (version, supported) = (header.version, loaded.facts().version);
            return Err(Error::ReadOnly { version, supported });
        }
        let output = match to {
            RepairTo::InPlace if !dialect.is_writable() => {
                return Err(Error::ReadOnlyDialect(dialect));
            }
            RepairTo::InPlace if self.file.is_packed() => {
                let error = io::Error::new(io::ErrorKind::Unsupported, "the file is compressed");
                return Err(Error::io(&self.path, "repair in place")(error));
            }
            RepairTo::InPlace => {
                check_replaceable(&self.file).map_err(Error::io(&self.path, "repair in place"))?;
                // A symbolic link to the session must stay a link.
                fs::canonicalize(&self.path).map_err(Error::io(&self.path, "repair"))?
            }
            RepairTo::Path(path) => path.clone(),
            RepairTo::Beside => {
                self.path.with_file_name(format!("{}.repaired.jsonl", stem(&self.path)))
            }
        };
        if *to != RepairTo::InPlace && fs::exists(&output) {
            return Err(Error::AlreadyExists(output));
        }
        let rejects = free(output.with_file_name(format!("{}.rejects.txt", stem(&output))));
        Ok(Targets { output, rejects })
    }

    /// Writes the repaired session and the rejects, and verifies the session.
    fn write(&self, targets: &Targets, repair: &mut Repair) -> Result<(NewFile, Option<NewFile>)> {
        let Targets { output, rejects: rejects_path } = targets;
        let new = NewFile::beside(output).map_err(Error::io(output, WRITE))?;
        let mut rejects: Option<BufWriter<NewFile>> = None;
        let new = new.fill(|out| {
            write::log(&*self.journal, &self.loaded, &self.edits, out, &mut |line, bytes| {
                let file = match &mut rejects {
                    Some(file) => file,
                    none => none.insert(BufWriter::new(NewFile::beside(rejects_path)?)),
                };
                writeln!(file, "line {line} of {}:", self.path.display())?;
                file.write_all(bytes)?;
                file.write_all(b"\n")
            })
        });
        let new = new.map_err(Error::io(output, WRITE))?;
        let rejects = rejects.map(|out| out.into_inner().map_err(io::IntoInnerError::into_error));
        let rejects = rejects.transpose().map_err(Error::io(rejects_path, WRITE))?;
        let own = self.record(new.path())?;
        self.prove(new.path(), &own, repair)?;
        Ok((new, rejects))
    }

    /// Appends a note about the relinked entries to the repaired session, and makes sure that its
    /// leaf is unchanged. Returns the entries that were written for this.
    fn record(&self, temporary: &Path) -> Result<Vec<EntryId>> {
        if !self.loaded.dialect.is_writable() || is_mere_list(&self.loaded) {
            return Ok(Vec::new());
        }
        let is_kept = |&row: &Row| self.edits.keep[row.index()];
        let leaf = self.view.file_leaf()?;
        let leaf = leaf.and_then(|leaf| self.view.tree().ancestors(leaf).find(is_kept));
        let leaf = leaf.map(|row| self.final_id(row));
        let session = Session::open(temporary)?;
        let mut entries = Vec::new();
        if !self.changes.relinked.is_empty() || !self.changes.renamed.is_empty() {
            let note = NewEntry::custom("treering.repair", Some(&self.changes.to_note()))?;
            entries.push(note.with_parent(leaf.clone()));
        }
        if !entries.is_empty() || session.leaf() != leaf {
            entries.push(NewEntry::leaf(leaf.as_ref()));
        }
        session.append_all(&entries)
    }

    /// Gives the repaired session its name. Returns the path at which the original was kept.
    fn put(&self, to: &RepairTo, new: NewFile) -> Result<Option<PathBuf>> {
        let output = new.target().to_owned();
        if *to == RepairTo::InPlace {
            let replaced = self.replace(new).map_err(Error::io(&output, "replace"))?;
            return Ok(Some(replaced));
        }
        new.publish().map_err(Error::creating(&output, "write"))?;
        Ok(None)
    }

    fn replace(&self, new: NewFile) -> io::Result<PathBuf> {
        let (file, loaded) = (&*self.file, &self.loaded);
        let repaired = if loaded.tail_counts { loaded.seen } else { loaded.complete };
        let backup = fs::beside(new.target(), ".bak");
        let mut take = |from| whole_lines(file, from);
        replace(new, TailCopier::new(file, repaired, &mut take)?, backup)
    }
}

/// Returns the row's id in the repaired session.
fn final_id(view: &Snapshot, edits: &RepairEdits, row: Row) -> EntryId {
    edits.renamed.get(&row).cloned().unwrap_or_else(|| view.tree().id(row))
}

/// Returns the edits as changes of entries and lines.
fn changes(view: &Snapshot, loaded: &Loaded, edits: &RepairEdits) -> Result<RepairChanges> {
    let id = |row: Row| final_id(view, edits, row);
    let mut relinked = Vec::with_capacity(edits.relinked.len());
    let mut bodies = Bodies::default();
    for &row in &edits.relinked {
        let record = bodies.record(view, row)?.unwrap_or_default();
        let named = json::get(record, loaded.facts().keys.parent);
        let named = named.and_then(crate::entry::head::name);
        let parent = edits.parents[row.index()];
        relinked.push(Relinked {
            entry: id(row),
            from: named.map(|name| name.text.into_owned()),
            to: (parent != NONE).then(|| id(parent)),
        });
    }
    let mut renamed: Vec<(Row, &EntryId)> =
        edits.renamed.iter().map(|(row, id)| (*row, id)).collect();
    renamed.sort_unstable();
    let was_named =
        |(row, id): (Row, &EntryId)| Renamed { entry: id.clone(), from: view.tree().id(row) };
    Ok(RepairChanges {
        relinked,
        renamed: renamed.into_iter().map(was_named).collect(),
        named: edits.named.iter().map(|&row| id(row)).collect(),
        copies: edits.copies,
        split: edits.split,
        rejected: edits.rejected.clone(),
        moved_header: edits.moves_header,
        named_header: edits.names_header,
        upgraded: edits.upgrades,
    })
}

/// Returns the name of a session file without its extensions.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".zst").unwrap_or(&name);
    name.strip_suffix(".jsonl").unwrap_or(name).to_owned()
}

impl RepairChanges {
    /// Returns the note about the repair that is stored in the repaired session.
    fn to_note(&self) -> Vec<u8> {
        let quoted = |text: Option<&str>| text.map_or(b"null".to_vec(), json::quoted);
        let list = |items: Vec<Vec<u8>>| [b"[", &*items.join(&b","[..]), b"]"].concat();
        let relinked = self.relinked.iter().map(|relinked| {
            let Relinked { entry, from, to } = relinked;
            let (from, to) = (quoted(from.as_deref()), quoted(to.as_ref().map(EntryId::as_str)));
            let id = json::quoted(entry.as_str());
            [b"{\"id\":", &*id, b",\"from\":", &from, b",\"to\":", &to, b"}"].concat()
        });
        let renamed = self.renamed.iter().map(|Renamed { entry, from }| {
            let (id, from) = (json::quoted(entry.as_str()), json::quoted(from.as_str()));
            [b"{\"id\":", &*id, b",\"from\":", &from, b"}"].concat()
        });
        let (relinked, renamed) = (list(relinked.collect()), list(renamed.collect()));
        let rejected = self.rejected.len().to_string().into_bytes();
        let fields: [&[u8]; 7] = [
            b"{\"relinked\":",
            &relinked,
            b",\"renamed\":",
            &renamed,
            b",\"rejected\":",
            &rejected,
            b"}",
        ];
        fields.concat()
    }
}
