//! The list of the tools, with their arguments as JSON Schema.

use crate::{Access, Control, Settings, read, write};
use serde_json::{Map, Value, json};

/// The description of a tool.
pub(crate) struct Tool {
    pub name: &'static str,
    pub description: &'static str,
    /// Returns the schema of its arguments.
    pub schema: fn() -> Map<String, Value>,
    pub access: Access,
    pub run: fn(&Settings, Value, &Control<'_>) -> Result<Value, String>,
}

const SESSION: &str = "The session: its id, its name, the beginning of either, or @latest, @2 (of this project), @all, @all/2 (of all)";
const MAX_TOKENS: &str = "About how many tokens the answer may have (default 4000, at most 50000)";

/// Returns the tools that a client may call.
pub(crate) fn all(access: Access) -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().filter(move |tool| access == Access::ReadWrite || tool.access == Access::ReadOnly)
}

pub(crate) fn find(name: &str, access: Access) -> Option<&'static Tool> {
    all(access).find(|tool| tool.name == name)
}

/// Returns the schema of an object with these properties.
fn object(required: &[&str], properties: &Value) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties.clone());
    schema.insert("required".to_owned(), json!(required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn number(description: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": description})
}

fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

static TOOLS: [Tool; 11] = [
    Tool {
        name: "list_sessions",
        description: "List past sessions of coding agents, the newest first: id, agent, project, title, time, messages, cost. Pass next_cursor as cursor for the next page.",
        schema: || {
            object(
                &[],
                &json!({
                    "text": text("Sessions whose title or project has this text"),
                    "agent": text("Sessions of this agent: claude-code, codex, pi, omp …"),
                    "project": text("Sessions whose directory has this text"),
                    "since": text("Sessions used since: 12h, 7d, 2w, 3mo, or a date such as 2026-01-31"),
                    "limit": number("The maximum number of sessions (default 20, at most 200)"),
                    "cursor": text("next_cursor of the previous answer"),
                }),
            )
        },
        access: Access::ReadOnly,
        run: read::list_sessions,
    },
    Tool {
        name: "search",
        description: "Search all messages of past sessions, including those on abandoned and compacted branches. An entry is found if it has all words; \"a phrase\", a OR b, -word, re:pattern; filters role:user, tool:bash, agent:codex, project:web, model:opus, since:7d, before:2w, label:x, file:src/x.rs. Then read around a hit with read_session or read_entry.",
        schema: || {
            object(
                &["query"],
                &json!({
                    "query": text("The words, phrases and filters"),
                    "limit": number("The maximum number of hits (default 20, at most 200)"),
                    "per_session": number("The maximum number of hits of each session (default 3)"),
                    "by_relevance": flag("Sort sessions by relevance instead of time; this searches all of them"),
                    "cursor": number("next_cursor of the previous answer"),
                }),
            )
        },
        access: Access::ReadOnly,
        run: read::search,
    },
    Tool {
        name: "read_session",
        description: "Read the conversation of a session: the entries on the path to its leaf, in pieces. Entries that are too long are cut (cut: true): read_entry has the rest.",
        schema: || {
            object(
                &["session"],
                &json!({
                    "session": text(SESSION),
                    "leaf": text("The last entry of the path (an id), to read another branch"),
                    "newest_first": flag("Begin with the last entry"),
                    "thinking": flag("Include the thinking of the model"),
                    "max_tokens": number(MAX_TOKENS),
                    "cursor": text("next_cursor of the previous answer"),
                }),
            )
        },
        access: Access::ReadOnly,
        run: read::read_session,
    },
    Tool {
        name: "read_entry",
        description: "Read one entry of a session as a whole, in pieces if it is long.",
        schema: || {
            object(
                &["session", "entry"],
                &json!({
                    "session": text(SESSION),
                    "entry": text("The id of the entry, or its beginning"),
                    "max_tokens": number(MAX_TOKENS),
                    "offset": number("next_offset of the previous answer"),
                }),
            )
        },
        access: Access::ReadOnly,
        run: read::read_entry,
    },
    Tool {
        name: "read_context",
        description: "Read what the model of a session sees: its messages after compactions, summaries and edits, in pieces, with their number of tokens.",
        schema: || {
            object(
                &["session"],
                &json!({
                    "session": text(SESSION),
                    "leaf": text("The context at another entry"),
                    "max_tokens": number(MAX_TOKENS),
                    "cursor": number("next_cursor of the previous answer"),
                }),
            )
        },
        access: Access::ReadOnly,
        run: read::read_context,
    },
    Tool {
        name: "read_tree",
        description: "List all entries of a session with their parents, one line each, also those of abandoned branches.",
        schema: || {
            object(
                &["session"],
                &json!({
                    "session": text(SESSION),
                    "limit": number("The maximum number of entries (default 100, at most 1000)"),
                    "cursor": number("next_cursor of the previous answer"),
                }),
            )
        },
        access: Access::ReadOnly,
        run: read::read_tree,
    },
    Tool {
        name: "usage",
        description: "Tokens and cost of past sessions, each request counted once. cost_computed is true if a cost was computed from a price list; cost is null if it is unknown.",
        schema: || {
            object(
                &[],
                &json!({
                    "by": {"type": "string", "enum": ["day", "week", "month", "project", "agent", "model", "session"], "description": "The rows (default day)"},
                    "since": text("Requests since: 12h, 7d, 2w, today, yesterday, or a date such as 2026-01-31"),
                    "agent": text("Sessions of this agent"),
                    "project": text("Sessions whose directory has this text"),
                    "limit": number("The maximum number of rows (default 31): the latest for times, else the most expensive"),
                }),
            )
        },
        access: Access::ReadOnly,
        run: read::usage,
    },
    Tool {
        name: "label",
        description: "Label an entry of a session, or clear its label.",
        schema: || {
            object(
                &["session", "entry"],
                &json!({
                    "session": text(SESSION),
                    "entry": text("The id of the entry, or its beginning"),
                    "label": text("The label; without it the label is cleared"),
                }),
            )
        },
        access: Access::ReadWrite,
        run: write::label,
    },
    Tool {
        name: "branch",
        description: "Move the leaf of a session to an entry: the conversation continues from there. Nothing is deleted.",
        schema: || {
            object(
                &["session", "entry"],
                &json!({
                    "session": text(SESSION),
                    "entry": text("The id of the entry, or its beginning"),
                }),
            )
        },
        access: Access::ReadWrite,
        run: write::branch,
    },
    Tool {
        name: "fork",
        description: "Copy the path to an entry to a new session, and return its id. The session itself does not change.",
        schema: || {
            object(
                &["session"],
                &json!({
                    "session": text(SESSION),
                    "entry": text("The id of the entry; without it the leaf"),
                }),
            )
        },
        access: Access::ReadWrite,
        run: write::fork,
    },
    Tool {
        name: "note",
        description: "Append a note to a session. It is found by search and read, and is not part of the context of its model.",
        schema: || {
            object(
                &["session", "text"],
                &json!({
                    "session": text(SESSION),
                    "text": text("The note"),
                }),
            )
        },
        access: Access::ReadWrite,
        run: write::note,
    },
];
