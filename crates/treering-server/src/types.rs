//! The objects of the API.

use crate::operation::session_id_schema;
use crate::problem::Code;
use crate::schema::{Components, Schema, api_object};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use treering::catalog::SessionInfo;
use treering::usage::{Stats, Usage};
use treering::{Dialect, Session as OpenSession};

api_object! { answer
    /// A session, as a list shows it.
    Session {
        /// The id.
        id: String,
        /// The agent that wrote it: the dialect of its log.
        agent: DialectName,
        /// The directory of its project.
        cwd: String,
        /// The name, if it has one.
        name: Option<String>,
        /// The session that it was forked from, as its header names it.
        parent_session: Option<String>,
        /// The time of its creation.
        created: Option<String>,
        /// The time of its last message, or of its creation.
        modified: String,
        /// Messages on all branches.
        message_count: usize,
        /// Entries on all branches.
        entry_count: usize,
        /// Branches.
        branch_count: usize,
        /// Compactions.
        compaction_count: usize,
        /// Findings of reading it: damage, and other oddities.
        finding_count: usize,
        /// Tokens that were used; null if the list does not know. See its usage.
        tokens: Option<u64>,
        /// Their cost in dollars; null if the list does not know.
        cost: Option<f64>,
        /// The first message of the user.
        first_message: String,
        /// The length of its log in bytes.
        size: u64,
        /// Whether only the beginning was read, because it is a large archive.
        partial: bool,
    }
}

api_object! { answer
    /// A page of sessions, newest first.
    SessionPage {
        /// The sessions.
        sessions: Vec<Session>,
        /// The cursor of the next page; null if this is the last one.
        next: Option<String>,
    }
}

/// A session, and where it stands: the members of a session in a list, and two more.
#[derive(Debug, serde::Serialize)]
pub(crate) struct SessionDetail {
    #[serde(flatten)]
    session: Session,
    leaf: Option<String>,
    length: u64,
}

impl Schema for SessionDetail {
    fn schema(components: &mut Components) -> Value {
        Session::schema(components);
        let mut schema = components.0.get("Session").cloned().unwrap_or_default();
        schema["description"] = "A session, and where it stands.".into();
        schema["properties"]["leaf"] = json!({
            "type": ["string", "null"],
            "description": "The entry that the next append continues; null before the first one.",
        });
        schema["properties"]["length"] = json!({
            "type": "integer",
            "minimum": 0,
            "description": "The length of its log in bytes.",
        });
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.extend([Value::from("leaf"), Value::from("length")]);
        }
        components.0.insert("SessionDetail".to_owned(), schema);
        json!({"$ref": "#/components/schemas/SessionDetail"})
    }
}

impl Session {
    pub(crate) fn new(info: SessionInfo) -> Self {
        Session {
            id: info.id.to_string(),
            agent: DialectName(info.agent),
            cwd: info.cwd,
            name: info.name,
            parent_session: info.parent_session,
            created: info.created.map(treering::time::format),
            modified: treering::time::format(info.modified),
            message_count: info.message_count,
            entry_count: info.entry_count,
            branch_count: info.branch_count,
            compaction_count: info.compaction_count,
            finding_count: info.finding_count,
            tokens: info.tokens,
            cost: info.cost.filter(|cost| cost.is_finite()),
            first_message: info.first_message,
            size: info.size,
            partial: info.is_partial,
        }
    }
}

impl SessionDetail {
    /// Describes an open session that was caught up.
    pub(crate) fn of(session: &OpenSession) -> treering::Result<Self> {
        let leaf = session.leaf().map(|leaf| leaf.to_string());
        let length = session.log_length();
        let mut info = session.info()?;
        info.size = length;
        Ok(SessionDetail { session: Session::new(info), leaf, length })
    }

    /// Names the session as the store does, which is not always how its log does.
    pub(crate) fn with_id(mut self, id: &treering::SessionId) -> Self {
        self.session.id = id.to_string();
        self
    }

    pub(crate) fn id(&self) -> &str {
        &self.session.id
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }
}

/// The name of a dialect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DialectName(pub(crate) Dialect);

impl serde::Serialize for DialectName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<'de> serde::Deserialize<'de> for DialectName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map(DialectName).map_err(serde::de::Error::custom)
    }
}

impl Schema for DialectName {
    fn schema(_: &mut Components) -> Value {
        let names: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
        json!({"type": "string", "enum": names})
    }
}

/// The id of a new session.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct NewId(pub(crate) String);

impl Schema for NewId {
    fn schema(_: &mut Components) -> Value {
        session_id_schema()
    }
}

/// The id of an entry.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct EntryName(pub(crate) String);

impl Schema for EntryName {
    fn schema(_: &mut Components) -> Value {
        json!({"type": "string", "minLength": 1, "maxLength": 512})
    }
}

/// Text without control characters, such as a path or a name.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct ShortText(pub(crate) String);

impl Schema for ShortText {
    fn schema(_: &mut Components) -> Value {
        json!({"type": "string", "maxLength": 4096})
    }
}

api_object! { request
    /// A session to be created.
    NewSession {
        /// The id; a UUID if there is none.
        id: Option<NewId>,
        /// The directory of its project; `/` if there is none.
        cwd: Option<ShortText>,
        /// The dialect of its log; pi's if there is none. Sessions of Claude Code and Codex cannot be created.
        dialect: Option<DialectName>,
        /// The session that it comes from.
        parent_session: Option<ShortText>,
        /// The name.
        name: Option<ShortText>,
    }
}

/// An entry, as the log has it.
#[derive(Debug)]
pub(crate) struct Entry;

impl Schema for Entry {
    fn schema(components: &mut Components) -> Value {
        let schema = json!({
            "type": "object",
            "description": "An entry in treering's format, whatever the dialect of the log. Its members depend on its type: docs/format.md lists them.",
            "properties": {
                "type": {"type": "string", "description": "Such as `message`, `compaction`, `label`, `leaf`; `damaged` for one that cannot be read."},
                "id": {"type": ["string", "integer"]},
                "parentId": {"type": ["string", "integer", "null"]},
            },
            "required": ["type"],
            "additionalProperties": true,
        });
        components.0.insert("Entry".to_owned(), schema);
        json!({"$ref": "#/components/schemas/Entry"})
    }
}

/// Entries to be appended.
#[derive(Debug)]
pub(crate) struct NewEntries;

impl Schema for NewEntries {
    fn schema(components: &mut Components) -> Value {
        let entry = json!({
            "type": "object",
            "description": "An entry to be appended. `id`, `parentId` and `timestamp` are decided by the server where they are missing; all other members are kept.",
            "properties": {
                "type": {"type": "string", "minLength": 1},
                "id": {"type": "string", "minLength": 1, "maxLength": 512},
                "parentId": {"type": ["string", "null"]},
                "timestamp": {"type": "string"},
                "message": {"type": "object"},
            },
            "required": ["type"],
            "additionalProperties": true,
        });
        components.0.insert("NewEntry".to_owned(), entry);
        json!({
            "type": "array",
            "items": {"$ref": "#/components/schemas/NewEntry"},
            "minItems": 1,
            "maxItems": MAX_ENTRIES,
        })
    }
}

/// The entries of one append.
pub(crate) const MAX_ENTRIES: usize = 10_000;

api_object! { answer
    /// Entries that were appended.
    Appended {
        /// Their ids.
        ids: Vec<String>,
        /// The entry that the session stands at now.
        leaf: Option<String>,
        /// The length of the log in bytes now.
        length: u64,
    }
}

api_object! { answer
    /// A page of entries, in the order of the log.
    EntryPage {
        /// The entries.
        entries: Vec<AnyEntry>,
        /// The last entry of this page, to be given as `after`; null if this is the last one.
        next: Option<String>,
    }
}

/// An entry in an answer.
#[derive(Debug, serde::Serialize)]
#[serde(transparent)]
pub(crate) struct AnyEntry(pub(crate) Box<serde_json::value::RawValue>);

impl Schema for AnyEntry {
    fn schema(components: &mut Components) -> Value {
        Entry::schema(components)
    }
}

api_object! { answer
    /// An entry in the tree.
    TreeRow {
        /// The id.
        id: String,
        /// The entry that it continues; null for a root.
        parent: Option<String>,
        /// The type.
        r#type: String,
        /// The role, if it is a message.
        role: Option<String>,
        /// The time.
        time: Option<String>,
        /// The label.
        label: Option<String>,
        /// One line about its content.
        preview: String,
        /// Whether it is on the path to the leaf.
        active: bool,
    }
}

api_object! { answer
    /// The tree of a session, in the order of its log.
    Tree {
        /// The entry that the session stands at.
        leaf: Option<String>,
        /// The entries.
        rows: Vec<TreeRow>,
    }
}

/// A context in treering's shape, or an agent's own.
#[derive(Debug)]
pub(crate) struct Context;

impl Schema for Context {
    fn schema(components: &mut Components) -> Value {
        let schema = json!({
            "type": "object",
            "description": "What the model sees. The views `treering` and `agent` have `messages` and the settings in force; those of providers have `request`, the part of a request that comes from the context, and `repairs`, the changes that made it acceptable.",
            "properties": {
                "messages": {"type": "array", "items": {"type": "object"}},
                "thinkingLevel": {"type": "string"},
                "model": {"type": ["object", "null"]},
                "request": {"type": "object"},
                "repairs": {"type": "array", "items": {"type": "string"}},
            },
            "additionalProperties": true,
        });
        components.0.insert("Context".to_owned(), schema);
        json!({"$ref": "#/components/schemas/Context"})
    }
}

api_object! { request
    /// The entry that becomes the leaf.
    NewLeaf {
        /// The entry; null for before the first one.
        entry: Option<EntryName>,
    }
}

api_object! { answer
    /// The entry that is the leaf.
    Leaf {
        /// The entry; null before the first one.
        leaf: Option<String>,
        /// The length of the log in bytes.
        length: u64,
    }
}

api_object! { request
    /// A label.
    NewLabel {
        /// The text; null removes the label.
        label: Option<ShortText>,
    }
}

api_object! { request
    /// A name.
    NewName {
        /// The name; an empty one removes it.
        name: ShortText,
    }
}

api_object! { request
    /// A fork.
    NewFork {
        /// The entry that the fork ends at; where the session stands if there is none.
        at: Option<EntryName>,
        /// The dialect of the fork; that of the session if there is none, or pi's if that is only read.
        dialect: Option<DialectName>,
        /// The id; a UUID if there is none.
        id: Option<NewId>,
        /// The directory of its project; that of the session if there is none.
        cwd: Option<ShortText>,
    }
}

api_object! { request
    /// Entries to be copied to the leaf.
    NewPick {
        /// The entry, or the first one of a range.
        first: EntryName,
        /// The last one of a range, below the first.
        last: Option<EntryName>,
        /// The session to copy from; this one if there is none.
        from: Option<NewId>,
        /// Whether entries that are on the path already are copied again.
        force: Option<bool>,
        /// Whether nothing is written.
        dry_run: Option<bool>,
    }
}

api_object! { answer
    /// Entries that were copied, or would be.
    Picked {
        /// The entries of the source.
        entries: Vec<String>,
        /// Their copies; none if nothing was written.
        ids: Vec<String>,
        /// Entries that came along, to keep tool calls with their results.
        companions: Vec<String>,
        /// Entries that are on the path already.
        skipped: Vec<String>,
        /// Entries that are not messages, and were left out.
        left_out: Vec<String>,
        /// The size of the copies in tokens, estimated.
        tokens: u64,
    }
}

api_object! { request
    /// A merge of another branch into the one that the session stands at.
    NewMerge {
        /// The entry at the end of the other branch.
        from: EntryName,
        /// A summary of its work. Without one, its messages are copied.
        summary: Option<String>,
        /// Whether nothing is written.
        dry_run: Option<bool>,
    }
}

api_object! { answer
    /// A merge that was made, or would be.
    Merged {
        /// Whether something was written.
        merged: bool,
        /// The entry that records the merge.
        id: Option<String>,
        /// The entries of the other branch that are new to this one.
        entries: Vec<String>,
        /// Their copies.
        copies: Vec<String>,
        /// The size of the work in tokens, estimated.
        tokens: u64,
    }
}

api_object! { request
    /// A compaction at the leaf.
    NewCompaction {
        /// The summary. Without one, it is made of quotations, without a model.
        summary: Option<String>,
        /// The number of the newest tokens that are kept.
        keep_recent_tokens: Option<u64>,
        /// Whether nothing is written.
        dry_run: Option<bool>,
    }
}

api_object! { answer
    /// A compaction that was made, or would be.
    Compacted {
        /// Whether something was written.
        compacted: bool,
        /// The reason why there is nothing to compact: `too_small` or `already_compacted`.
        reason: Option<String>,
        /// The entry.
        id: Option<String>,
        /// The first entry that is kept.
        first_kept_entry_id: Option<String>,
        /// The size of the context before, in tokens.
        tokens_before: Option<u64>,
        /// The size of what is kept, in tokens.
        tokens_kept: Option<u64>,
        /// The conversation that a summary has to stand for, as text; only with `dryRun`.
        conversation: Option<String>,
        /// The summary.
        summary: Option<String>,
    }
}

api_object! { answer
    /// The position of lines that were appended.
    LogAppended {
        /// The offset of the first byte.
        start: u64,
        /// The length of the log now.
        length: u64,
    }
}

/// Bytes in base64.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct Base64(pub(crate) String);

impl Schema for Base64 {
    fn schema(_: &mut Components) -> Value {
        json!({"type": "string", "contentEncoding": "base64", "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"})
    }
}

api_object! { request
    /// The first bytes of a log, and what replaces them.
    NewStart {
        /// The bytes that the log begins with.
        expected: Base64,
        /// As many others.
        bytes: Base64,
    }
}

api_object! { answer
    /// Whether the first bytes of a log were replaced.
    StartReplaced {
        /// False if the log begins with other bytes, or its storage cannot replace them.
        replaced: bool,
    }
}

api_object! { answer
    /// Sessions that changed.
    ChangeList {
        /// The mark to ask with next time.
        mark: String,
        /// The sessions.
        sessions: Vec<ChangedSession>,
    }
}

api_object! { answer
    /// A session that changed.
    ChangedSession {
        /// The id.
        id: String,
        /// The length of its log in bytes; null if it was removed.
        length: Option<u64>,
    }
}

api_object! { answer
    /// Tokens and money.
    UsageSum {
        /// Requests.
        requests: u64,
        /// Tokens in.
        input: u64,
        /// Tokens out.
        output: u64,
        /// Tokens read from a cache.
        cache_read: u64,
        /// Tokens written to a cache.
        cache_write: u64,
        /// All tokens.
        total: u64,
        /// Dollars.
        cost: f64,
        /// Requests whose cost is not known.
        unpriced: u64,
    }
}

impl From<&Usage> for UsageSum {
    fn from(usage: &Usage) -> Self {
        UsageSum {
            requests: usage.requests,
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            total: usage.total(),
            cost: usage.cost.dollars(),
            unpriced: usage.unpriced,
        }
    }
}

api_object! { answer
    /// The usage, each event counted once.
    UsageReport {
        /// Sessions.
        sessions: u64,
        /// Entries.
        entries: u64,
        /// Branches.
        branches: u64,
        /// Compactions.
        compactions: u64,
        /// All of it.
        usage: UsageSum,
        /// On the paths to the leaves.
        active: UsageSum,
        /// On other branches.
        abandoned: UsageSum,
        /// By model.
        by_model: BTreeMap<String, UsageSum>,
        /// Tool calls, by tool.
        tools: BTreeMap<String, u64>,
        /// The time of the first entry.
        first: Option<String>,
        /// The time of the last entry.
        last: Option<String>,
        /// The cursor of the sessions that were not counted yet; null if all were.
        next: Option<String>,
    }
}

impl UsageReport {
    pub(crate) fn new(stats: &Stats, sessions: u64, next: Option<String>) -> Self {
        let by_model = stats.by_model.iter();
        UsageReport {
            sessions,
            entries: stats.entries,
            branches: stats.branches,
            compactions: stats.compactions,
            usage: (&stats.usage).into(),
            active: (&stats.active).into(),
            abandoned: (&stats.abandoned).into(),
            by_model: by_model.map(|(model, usage)| (model.clone(), usage.into())).collect(),
            tools: stats.tools.clone(),
            first: stats.first.map(treering::time::format),
            last: stats.last.map(treering::time::format),
            next,
        }
    }
}

api_object! { answer
    /// Sessions in which something was found.
    SearchPage {
        /// The sessions, newest first.
        sessions: Vec<SessionHits>,
        /// The cursor of the sessions that were not searched yet; null if all were.
        next: Option<String>,
    }
}

api_object! { answer
    /// The hits in a session.
    SessionHits {
        /// The session.
        session: Session,
        /// The hits that are described.
        hits: Vec<SearchHit>,
        /// All hits.
        hit_count: usize,
    }
}

api_object! { answer
    /// An entry in which something was found.
    SearchHit {
        /// The entry; null if it is the name of the session.
        id: Option<String>,
        /// The role or the type.
        role: String,
        /// The part of the entry: `text`, `thinking`, `call`, `result` …
        part: String,
        /// The state of its branch: `active`, `compacted`, `abandoned` …
        state: String,
        /// The time.
        time: Option<String>,
        /// The line around the first match.
        snippet: String,
    }
}

api_object! { answer
    /// Whether the server is well.
    Health {
        /// `ok`.
        status: String,
    }
}

/// A problem.
#[derive(Debug)]
pub(crate) struct ProblemBody;

impl Schema for ProblemBody {
    fn schema(components: &mut Components) -> Value {
        let codes: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
        let schema = json!({
            "type": "object",
            "description": "A problem (RFC 9457). `code` is stable; some codes have members of their own.",
            "properties": {
                "type": {"type": "string", "description": "A URN that ends with the code."},
                "title": {"type": "string"},
                "status": {"type": "integer"},
                "code": {"type": "string", "enum": codes},
                "detail": {"type": "string", "description": "What happened, for people."},
                "length": {"type": "integer", "description": "With `moved`: the length of the log."},
                "leaf": {"type": ["string", "null"], "description": "With `leaf_moved`: the entry that the session stands at."},
                "limit": {"type": "integer", "description": "With `body_too_large`: the number of bytes."},
            },
            "required": ["type", "title", "status", "code", "detail"],
        });
        components.0.insert("Problem".to_owned(), schema);
        json!({"$ref": "#/components/schemas/Problem"})
    }
}

/// Text of any kind.
#[derive(Debug)]
pub(crate) struct Text;

impl Schema for Text {
    fn schema(_: &mut Components) -> Value {
        json!({"type": "string"})
    }
}

/// Any JSON object, such as the OpenAPI document.
impl Schema for Value {
    fn schema(_: &mut Components) -> Value {
        json!({"type": "object"})
    }
}
