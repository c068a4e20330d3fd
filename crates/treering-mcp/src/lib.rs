//! Sessions as tools of the Model Context Protocol.
//!
//! With these tools, a model lists and searches sessions, reads entries, contexts and trees in
//! pieces that fit its window, and reads usage. With [`Access::ReadWrite`] it can also label,
//! branch, fork and write notes. Tools take the same addresses of sessions as commands
//! (`treering_index::resolve`), and only for those of [`Sessions`]: no tool takes a path.
//!
//! The content of sessions is not trusted. Every answer is therefore between two lines with a
//! marker that no session can know, below a sentence which says that it is data.
//!
//! `tools` is the list of the tools; `read` and `write` implement them over `sessions`; `pieces`
//! cuts answers to size; `protocol` answers messages, and `stdio` transports them.
//! `treering-server` transports them over HTTP.

mod args;
mod pieces;
mod progress;
mod protocol;
mod read;
mod sessions;
mod stdio;
mod tools;
mod write;

pub use progress::ProgressNotes;
pub use protocol::{ErrorCode, Message, ProtocolError, Request, is_version};
pub use sessions::{Control, Sessions, UsageRead};

use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use treering::SessionId;
use treering_index::Project;
use treering_usage::{Prices, Zone};

/// The access of a client to sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The client can only read sessions.
    ReadOnly,
    /// The client can also label, branch and fork sessions, and write notes.
    ReadWrite,
}

/// The environment of a server: the crate itself reads no environment and no clock.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The sessions that tools can access.
    pub sessions: Arc<dyn Sessions>,
    /// The project in which `@latest` counts, and whose sessions come first.
    pub project: Project,
    /// The prices of requests whose cost is not stated.
    pub prices: Prices,
    /// The zone in which days begin.
    pub zone: Zone,
    /// The access of clients to sessions.
    pub access: Access,
    /// A function that returns the current time in Unix milliseconds.
    pub clock: fn() -> i64,
}

/// A server that executes the tools.
///
/// ```
/// use std::sync::Arc;
/// use treering_index::{Places, Project, SessionIndex};
/// use treering_mcp::{Access, McpServer, Settings};
/// use treering_usage::{Prices, Zone};
/// let server = McpServer::new(Settings {
///     sessions: Arc::new(SessionIndex::new(Places::default()).with_cache(None)),
///     project: Project::new("/project"),
///     prices: Prices::published(),
///     zone: Zone::utc(),
///     access: Access::ReadOnly,
///     clock: || 0,
/// });
/// let answer = server.call("list_sessions", Default::default()).unwrap();
/// assert_eq!(answer["sessions"], serde_json::json!([]));
/// assert!(server.call("label", Default::default()).is_err(), "it only reads");
/// ```
#[derive(Debug, Clone)]
pub struct McpServer {
    settings: Arc<Settings>,
}

impl McpServer {
    /// Creates a server.
    pub fn new(settings: Settings) -> Self {
        McpServer { settings: Arc::new(settings) }
    }

    /// Calls a tool and waits for its answer.
    ///
    /// # Errors
    ///
    /// Returns a message for the model that says what was wrong, and what to do about it.
    pub fn call(
        &self,
        tool: &str,
        arguments: serde_json::Map<String, Value>,
    ) -> Result<Value, String> {
        let known = tools::find(tool, self.settings.access);
        let known = known.ok_or_else(|| format!("there is no tool {tool:?}"))?;
        let cancel = AtomicBool::new(false);
        (known.run)(&self.settings, Value::Object(arguments), &Control::new(&cancel))
    }

    /// Returns the id of the session that a text names.
    ///
    /// # Errors
    ///
    /// Returns a message for the model.
    pub fn resolve(&self, text: &str, control: &Control<'_>) -> Result<SessionId, String> {
        Ok(read::open(&self.settings, text, control)?.id())
    }
}
