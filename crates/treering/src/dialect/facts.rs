//! The constant facts about each dialect.

use super::detect::FirstRecord;
use super::export::ExportFn;
use super::home::{AgentPlace, Destination, ProjectPaths};
use super::inserted_text::InsertedText;
use super::members::MemberNames;
use super::name::Dialect;
use super::python;
use super::stored::{ScatteredFormat, StoredFormat};
use super::subagents::SubagentFormat;
use crate::entry::{Kind, head};
use crate::header::VERSION;
use crate::id::{EntryId, IdMaker};
use crate::json;
use crate::log::scan::Needle;
use crate::tree::Shape;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The names of the members for a record's id, parent and time.
#[derive(Debug)]
pub(crate) struct Keys {
    pub id: &'static str,
    pub parent: &'static str,
    pub time: &'static str,
}

/// The records that hold the id and the project of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderPlace {
    /// The header is a record of its own. A file without it is not a session.
    Required,
    /// The header is a record of its own that may be missing. No other record has its fields then.
    Optional,
    /// The fields are in ordinary records, and the first record that has them counts.
    Anywhere,
}

/// The way in which a dialect writes numbers and texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonStyle {
    Standard,
    /// JSON as Python's `json.dumps` writes it by default: with spaces, and with `NaN` and
    /// `Infinity`.
    Python,
    /// JSON as Python writes it, without spaces.
    CompactPython,
}

impl JsonStyle {
    /// Returns a record as standard JSON.
    pub(crate) fn standard<'a>(self, record: &'a [u8]) -> Cow<'a, [u8]> {
        match self {
            JsonStyle::Standard => Cow::Borrowed(record),
            JsonStyle::Python | JsonStyle::CompactPython => python::standard(record),
        }
    }

    /// Returns standard JSON in this style.
    pub(crate) fn rendered(self, json: Vec<u8>) -> Vec<u8> {
        match self {
            JsonStyle::Python => python::dumps(&json),
            JsonStyle::Standard | JsonStyle::CompactPython => json,
        }
    }

    /// Returns a record as standard JSON of the same length, so that offsets stay valid.
    pub(crate) fn masked<'a>(self, record: &'a [u8]) -> Cow<'a, [u8]> {
        match self {
            JsonStyle::Standard => Cow::Borrowed(record),
            JsonStyle::Python | JsonStyle::CompactPython => python::masked(record),
        }
    }
}

/// The format of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeFormat {
    /// Times are ISO 8601 texts, or numbers of Unix milliseconds.
    Iso,
    /// Times are Unix seconds, as floating-point numbers.
    Seconds,
}

impl TimeFormat {
    /// Returns the Unix milliseconds of a JSON value.
    pub(crate) fn parse(self, literal: &[u8]) -> Option<i64> {
        match self {
            TimeFormat::Iso => head::timestamp(literal),
            TimeFormat::Seconds => python::millis(literal),
        }
    }

    /// Returns the JSON value of a time in Unix milliseconds.
    pub(crate) fn literal(self, millis: i64) -> Vec<u8> {
        match self {
            TimeFormat::Iso => json::quoted(&crate::time::format(millis)),
            TimeFormat::Seconds => python::seconds(millis),
        }
    }
}

/// The length of new entry ids, in hexadecimal characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdLength {
    Eight,
    Twelve,
}

/// The kinds of entries that are in the file in treering's own format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NativeKinds {
    All,
    AllExcept(&'static [Kind]),
    None,
}

/// The parent of a `leaf` entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeafParent {
    Target,
    /// The parent is the previous leaf.
    PreviousLeaf,
}

/// The rule for a session's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// The last name counts; an empty one removes the name.
    LastGiven,
    /// The last name on the path to the leaf counts.
    OnPath,
    /// The last name that is not empty counts.
    NeverCleared,
}

/// The form in which a conversion writes a reset, which removes everything before it from the
/// context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResetForm {
    /// The dialect has an entry for it.
    Entry,
    /// A reset is written as a compaction that keeps nothing.
    Compaction,
    /// A reset is written as a new root.
    Root,
}

/// A first line of fixed length that holds the session's name and is overwritten in place.
#[derive(Debug)]
pub(crate) struct TitleSlot {
    /// The length in bytes, including the newline.
    pub len: usize,
    /// Returns whether these bytes are exactly a slot.
    pub is_slot: fn(&[u8]) -> bool,
    /// Returns the title in a line; `None` if the line is not a slot.
    pub title: fn(&[u8]) -> Option<String>,
    /// Returns the time in a slot at which its title was set, in Unix milliseconds.
    pub updated: fn(&[u8]) -> Option<i64>,
    /// Returns the slot for a title that a user set, which may be empty, at a time.
    pub render: fn(&str, &str) -> Vec<u8>,
    /// Takes a slot and its changed form of another length; returns the changed form with the
    /// length of a slot.
    pub refitted: fn(&[u8], &[u8]) -> Option<Vec<u8>>,
}

impl TitleSlot {
    /// The length of the longest slot of any dialect.
    pub(crate) const MAX_LEN: usize = 256;
}

/// Reads a running total of tokens: input, cached input, output, all.
pub(crate) type ReadTotal = fn(&[u8]) -> Option<[u64; 4]>;

/// The constant facts about a dialect.
#[derive(Debug)]
pub(crate) struct Facts {
    pub keys: Keys,
    /// The newest version of the dialect that treering writes.
    pub version: u64,
    /// Whether treering appends to this agent's files.
    pub is_writable: bool,
    /// Whether this is treering's own format.
    pub is_own_format: bool,
    /// Whether header, versions and answers are those of treering's own format.
    pub has_own_header: bool,
    pub header: HeaderPlace,
    /// The way in which entries are linked; `None` if the version decides.
    pub shape: Option<Shape>,
    /// Whether the beginning of a record is enough to classify it, so that long records need not be
    /// read.
    pub heads_first: bool,
    pub json: JsonStyle,
    pub time: TimeFormat,
    pub ids: IdLength,
    pub native: NativeKinds,
    /// Whether a new root is a child of the header.
    pub roots_below_header: bool,
    pub leaf_parent: LeafParent,
    /// The name of the member for the first entry that a compaction keeps.
    pub first_kept: &'static str,
    /// The names of the members of a header for the session that this one was forked from.
    pub parent_session: &'static [&'static str],
    /// The names of other members.
    pub members: MemberNames,
    /// Whether a root has no member for its parent, rather than `null`.
    pub omits_null_parent: bool,
    /// The types of records that this agent is known to write and for which treering has no kind.
    /// Unknown types are kept as well, and reported.
    pub own_types: &'static [&'static str],
    /// The roles of messages that this agent is known to write and for which treering has no role.
    pub own_roles: &'static [&'static str],
    pub name_rule: NameRule,
    /// The texts that this agent puts into user messages, in groups.
    pub inserted_texts: &'static [&'static [InsertedText]],
    /// The heading in this agent's summaries above the user's request.
    pub request_heading: Option<&'static str>,
    pub title_slot: Option<&'static TitleSlot>,
    pub reset: ResetForm,
    /// The dialect as which a session of this one is detected until it has a message.
    pub reads_as: Option<Dialect>,
    /// Returns the directories of the blobs of a session file.
    pub blob_directories: Option<fn(&Path) -> Vec<PathBuf>>,
    /// The way in which the agent stores the files of subagents.
    pub subagents: Option<&'static SubagentFormat>,
    /// Writes whole sessions in the format of an agent whose files are never appended to.
    pub export: Option<ExportFn>,
    /// Whether the file may have several versions of a record, the last of which counts, and
    /// records with neither an id nor a time. These are then not reported as findings.
    pub updates_records: bool,
    /// The way in which the agent stores sessions in a database.
    pub stored: Option<&'static StoredFormat>,
    /// The way in which the agent stores a session in several files.
    pub scattered: Option<&'static ScatteredFormat>,
    /// Returns the project of a session file, if something beside the file names it.
    pub project: Option<fn(&Path) -> Option<String>>,
    /// Returns whether the first record of a file is this agent's, for dialects that one record is
    /// enough to detect.
    pub recognizes: Option<fn(&FirstRecord<'_>) -> bool>,
    /// The directories in which the agent stores sessions.
    pub places: &'static [AgentPlace],
    /// The command with which the agent resumes a session; see [`Dialect::resume_command`].
    pub resume: Option<&'static [&'static str]>,
    /// Whether the agent finds only one session of each project.
    pub has_one_session_per_project: bool,
    /// Returns the path at which the agent finds a new session of a project.
    pub destination: Option<fn(&ProjectPaths<'_>) -> Destination>,
    /// Other names of the agent.
    pub aliases: &'static [&'static str],
    /// Whether the agent reads compressed session files.
    pub reads_archives: bool,
    /// Whether the agent writes files without messages, even beside the file of the session that it
    /// resumes. Lists leave them out, as the agent's own list does.
    pub leaves_empty_files: bool,
    /// Whether entries that are neither messages nor settings are notes, which are not part of the
    /// conversation.
    pub has_notes: bool,
    /// Reads the tokens of the whole session so far that the details of a usage entry state.
    pub running_total: Option<ReadTotal>,
    /// Whether the cost of a request is in its entry or record. Without it, a cost of zero means that the
    /// cost is unknown.
    pub has_prices: bool,
}

impl Facts {
    /// The facts that most dialects share. Each dialect states only what differs.
    pub(crate) const DEFAULT: Facts = Facts {
        keys: Keys { id: "id", parent: "parentId", time: "timestamp" },
        version: VERSION,
        is_writable: true,
        is_own_format: false,
        has_own_header: false,
        header: HeaderPlace::Required,
        shape: Some(Shape::Tree),
        heads_first: false,
        json: JsonStyle::Standard,
        time: TimeFormat::Iso,
        ids: IdLength::Eight,
        native: NativeKinds::None,
        roots_below_header: false,
        leaf_parent: LeafParent::Target,
        first_kept: "firstKeptEntryId",
        parent_session: &["parentSession", "branchedFrom"],
        members: MemberNames::NONE,
        omits_null_parent: false,
        own_types: &[],
        own_roles: &[],
        name_rule: NameRule::LastGiven,
        inserted_texts: &[],
        request_heading: None,
        title_slot: None,
        reset: ResetForm::Root,
        reads_as: None,
        blob_directories: None,
        subagents: None,
        export: None,
        updates_records: false,
        stored: None,
        scattered: None,
        project: None,
        recognizes: None,
        places: &[],
        resume: None,
        has_one_session_per_project: false,
        destination: None,
        aliases: &[],
        reads_archives: false,
        leaves_empty_files: false,
        has_notes: false,
        running_total: None,
        has_prices: true,
    };

    /// Returns whether entries of a kind are in the file in treering's own format.
    pub(crate) fn is_native(&self, kind: Kind) -> bool {
        match self.native {
            NativeKinds::All => true,
            NativeKinds::AllExcept(kinds) => !kinds.contains(&kind),
            NativeKinds::None => false,
        }
    }

    /// Returns whether a file can be a session without a header.
    pub(crate) fn is_headerless(&self) -> bool {
        self.header != HeaderPlace::Required
    }

    /// Returns whether every record is the child of the one before it.
    pub(crate) fn is_chain(&self) -> bool {
        self.shape == Some(Shape::Chain)
    }

    /// Returns the needle that finds the key of a record's parent.
    pub(crate) fn parent_key(&self) -> Needle {
        Needle::key(self.keys.parent)
    }

    /// Creates an entry id in this dialect's usual form.
    pub(crate) fn make_id(&self, ids: &mut IdMaker, taken: impl Fn(&str) -> bool) -> EntryId {
        match self.ids {
            IdLength::Eight => ids.make(taken),
            IdLength::Twelve => ids.make_long(taken),
        }
    }

    /// Returns the title in a record, if the record is the dialect's title slot.
    pub(crate) fn title(&self, record: &[u8]) -> Option<String> {
        self.title_slot.and_then(|slot| (slot.title)(record))
    }

    /// Returns the files of the subagents of the session at `path`.
    pub(crate) fn subagents_of(&self, path: &Path) -> Vec<PathBuf> {
        self.subagents.map(|format| (format.files)(path)).unwrap_or_default()
    }
}
