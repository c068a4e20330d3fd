//! Sessions: in lists, alone, and new ones.

use super::{DialectName, NewId, ShortText};
use crate::schema::{Components, Schema, api_object};
use serde_json::{Value, json};
use treering::Session as OpenSession;
use treering::catalog::SessionInfo;

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

/// A session with its leaf: the members of a session in a list, and two more.
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
        schema["description"] = "A session with its leaf.".into();
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
    /// Describes an open session that is up to date.
    pub(crate) fn of(session: &OpenSession) -> treering::Result<Self> {
        let leaf = session.leaf().map(|leaf| leaf.to_string());
        let length = session.log_length();
        let mut info = session.info()?;
        info.size = length;
        Ok(SessionDetail { session: Session::new(info), leaf, length })
    }

    /// Sets the id of the session to that in the store, which may differ from that in its log.
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
