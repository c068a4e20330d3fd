//! Raw logs, and lists of changes.

use crate::schema::{Components, Schema, api_object};
use serde_json::{Value, json};

api_object! { answer
    /// The position of lines that were appended.
    LogAppended {
        /// The offset of the first byte.
        start: u64,
        /// The length of the log in bytes after the append.
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
        /// The bytes that replace them; as many.
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
