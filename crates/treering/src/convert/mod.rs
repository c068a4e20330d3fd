//! Converts a session of one agent to a session of another.
//!
//! [`Session::plan_conversion`] says what a conversion would do, [`ConversionPlan::apply`] does it;
//! [`convert`] does both at once. Every entry is converted to treering's format and from there to
//! the target's (`plan` decides the order and the parents, [`write`] writes the entries). The
//! report says for each kind of entry what was kept exactly, what had to be adapted, and what was
//! left out and why. The result is read again by the target's rules, and must have the same
//! contexts (`verify`) before its file gets its name.

mod plan;
mod report;
mod verify;
mod write;

pub use crate::dialect::export::Outcome;
pub use report::{ConversionReport, Outcomes};
pub(crate) use write::Conversion;

use crate::dialect::Dialect;
use crate::error::{Error, Result};
use crate::fs::{self, NewFile};
use crate::position::Position;
use crate::session::Session;
use std::io;
use std::path::Path;

/// The part of a session that is converted or forked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The path to one entry.
    Path,
    /// All entries.
    Whole,
}

/// Options for a conversion. All have defaults.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ConvertOptions {
    /// Converts only the path to this position, instead of the whole tree.
    pub path_to: Option<Position>,
}

impl ConvertOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        ConvertOptions::default()
    }

    /// Converts only the path to a position.
    #[must_use]
    pub fn path_to(self, path_to: impl Into<Position>) -> Self {
        ConvertOptions { path_to: Some(path_to.into()) }
    }
}

/// Writes the session at `source` to the new file `target`, in the format of another agent.
///
/// # Errors
///
/// Fails with [`Error::AlreadyExists`] if there is a file at `target`, with
/// [`Error::ReadOnlyDialect`] if treering writes no sessions of that agent, and with
/// [`Error::Unfaithful`] if the result does not have the same contexts. Nothing is written then.
///
/// ```
/// use treering::{Dialect, Message, Session};
/// use treering::convert::ConvertOptions;
/// # let dir = tempfile::tempdir()?;
/// let (from, to) = (dir.path().join("pi.jsonl"), dir.path().join("chimera.jsonl"));
/// let session = Session::create_at(&from, "/project", Default::default())?;
/// session.append(Message::user("hello"))?;
///
/// let report = treering::convert::convert(&from, &to, Dialect::Chimera, &ConvertOptions::default())?;
/// assert_eq!(report.outcomes.left_out(), 0);
/// assert_eq!(Session::open(&to)?.context()?.messages.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    dialect: Dialect,
    options: &ConvertOptions,
) -> Result<ConversionReport> {
    let target = target.as_ref();
    check(target, dialect)?;
    convert_session(&Session::open(source)?, target, dialect, options)
}

/// Converts a session that is open: see [`convert`].
///
/// # Errors
///
/// As [`convert`].
pub fn convert_session(
    session: &Session,
    target: impl AsRef<Path>,
    dialect: Dialect,
    options: &ConvertOptions,
) -> Result<ConversionReport> {
    let target = target.as_ref();
    check(target, dialect)?;
    write_new(target, &session.conversion(dialect, options)?)
}

/// A planned conversion, with its outcome for every kind of entry. Nothing is written until it is
/// [applied](ConversionPlan::apply).
///
/// ```
/// use treering::convert::{ConvertOptions, Outcome};
/// use treering::entry::UserMessage;
/// use treering::{Dialect, NewEntry, Session};
/// # let dir = tempfile::tempdir()?;
/// let session = Session::in_memory("/project");
/// // Chimera has one time where pi has two, of the message and of its entry.
/// let time = 1_767_603_600_000;
/// session.append(NewEntry::from(UserMessage::new().with_text("hello").with_timestamp(time)).with_timestamp(time))?;
/// session.append(NewEntry::session_info("Greeting"))?;
///
/// let plan = session.plan_conversion(Dialect::Chimera, &ConvertOptions::new())?;
/// assert_eq!((plan.from(), plan.to()), (Dialect::Pi, Dialect::Chimera));
/// assert!(plan.outcomes().items().contains(&("message (user)", Outcome::Carried, 1)));
/// assert_eq!(plan.outcomes().left_out(), 0);
///
/// let report = plan.apply(dir.path().join("chimera.jsonl"))?;
/// assert_eq!(&report.outcomes, plan.outcomes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ConversionPlan<'a> {
    conversion: Conversion<'a>,
    outcomes: Outcomes,
}

impl ConversionPlan<'_> {
    /// Returns the dialect of the source.
    pub fn from(&self) -> Dialect {
        self.conversion.dialects().0
    }

    /// Returns the dialect of the result.
    pub fn to(&self) -> Dialect {
        self.conversion.dialects().1
    }

    /// Returns the outcome of the conversion for each kind of entry.
    pub fn outcomes(&self) -> &Outcomes {
        &self.outcomes
    }

    /// Writes the session, in the state in which the conversion was planned, to the new file
    /// `target`.
    ///
    /// # Errors
    ///
    /// Fails and writes nothing if `target` exists, or if the result, read by the rules of its
    /// agent, does not have the same contexts.
    pub fn apply(&self, target: impl AsRef<Path>) -> Result<ConversionReport> {
        let target = target.as_ref();
        check(target, self.to())?;
        write_new(target, &self.conversion)
    }
}

impl Session {
    /// Plans to write this session, or the path to one position, as another agent would have written
    /// it. Every entry is converted, and nothing is written.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::ReadOnlyDialect`] if treering writes no sessions of that agent.
    pub fn plan_conversion(
        &self,
        dialect: Dialect,
        options: &ConvertOptions,
    ) -> Result<ConversionPlan<'_>> {
        check_dialect(dialect)?;
        let conversion = self.conversion(dialect, options)?;
        let outcomes = conversion.write(&mut io::sink())?;
        Ok(ConversionPlan { conversion, outcomes })
    }

    fn conversion(&self, dialect: Dialect, options: &ConvertOptions) -> Result<Conversion<'_>> {
        let leaf = self.entry_at(options.path_to.as_ref().unwrap_or(&Position::Leaf))?;
        let extent = if options.path_to.is_some() { Extent::Path } else { Extent::Whole };
        Conversion::new(self, extent, leaf.as_ref(), self.header(), dialect)
    }
}

/// Writes a conversion to a new file, which gets its name once its content was verified.
pub(crate) fn write_new(target: &Path, conversion: &Conversion<'_>) -> Result<ConversionReport> {
    let new = NewFile::beside(target).map_err(Error::io(target, "write"))?;
    let mut out = io::BufWriter::with_capacity(1 << 20, new);
    let outcomes = conversion.write(&mut out)?;
    let new = out.into_inner().map_err(io::IntoInnerError::into_error);
    let new = new.map_err(Error::io(target, "write"))?;
    let verified = conversion.finish(&|| Session::open(new.path()))?;
    new.publish().map_err(Error::creating(target, "write"))?;
    let (from, to) = conversion.dialects();
    let (verified, ends) = (verified.compared, verified.ends);
    Ok(ConversionReport { from, to, outcomes, verified, ends })
}

/// Fails if there can be no result, before anything is read.
fn check(target: &Path, dialect: Dialect) -> Result<()> {
    if fs::exists(target) {
        return Err(Error::AlreadyExists(target.to_owned()));
    }
    check_dialect(dialect)
}

/// Fails if treering writes no sessions of this dialect.
fn check_dialect(dialect: Dialect) -> Result<()> {
    match dialect.is_conversion_target() {
        true => Ok(()),
        false => Err(Error::ReadOnlyDialect(dialect)),
    }
}
