//! The operations of the API, in the order of the document.

use crate::call::{Call, JSON, NDJSON, OCTETS};
use crate::handlers::{entries, events, export, log, reading, search, sessions, system};
use crate::operation::{Answered, Operation, Param, Run, Values};
use crate::problem::Code;
use crate::types;
use axum::http::Method;
use serde_json::{Value, json};
use std::future::Future;
use std::pin::Pin;
use std::sync::LazyLock;
use treering::store::Scope;

/// Makes a handler callable through a pointer.
macro_rules! run {
    ($handler:path) => {{
        fn run(call: Call) -> Pin<Box<dyn Future<Output = Answered> + Send>> {
            Box::pin($handler(call))
        }
        run as Run
    }};
}

mod branches;

const ID: Param =
    Param::path("id", Values::Session, "The session.", "019b8d62-7a80-77da-8ca6-e755b346b1b7");
const ENTRY: Param = Param::path("entry", Values::Text(1, 512), "The entry.", "1f3a9c0e");
const CURSOR: Param =
    Param::query("cursor", Values::Text(1, 512), "`next` of the previous page.", "");
const LIMIT: Param =
    Param::query("limit", Values::Integer(1, 1000), "The size of a page; 100 by default.", "20");
const KEY: Param = Param::header(
    "Idempotency-Key",
    Values::Text(1, 255),
    "A text of the client's choice. A call that is repeated with the same key happens once.",
    "5f0c8a1e-1",
);
const IF_MATCH: Param = Param::header(
    "If-Match",
    Values::Tag,
    "The entry that must be the leaf of the session, in quotes; `\"\"` before the first one. Without it, any leaf is accepted.",
    "\"1f3a9c0e\"",
);
const IF_NONE_MATCH: Param = Param::header(
    "If-None-Match",
    Values::Text(1, 1024),
    "Entity tags that the client has: answered with 304 if one of them is current.",
    "\"4096\"",
);
const FILTERS: [Param; 5] = [
    Param::query(
        "cwd",
        Values::Text(0, 4096),
        "Only sessions of exactly this directory.",
        "/home/me/project",
    ),
    Param::query(
        "project",
        Values::Text(0, 4096),
        "Only sessions of this directory and of the directories below it.",
        "/home/me/project",
    ),
    Param::query("agent", Values::OneOf(AGENTS), "Only sessions of this agent.", "pi"),
    Param::query(
        "since",
        Values::Integer(0, MAX_TIME),
        "Only sessions with a message at this time or later, in Unix milliseconds.",
        "1767225600000",
    ),
    Param::query(
        "until",
        Values::Integer(0, MAX_TIME),
        "Only sessions whose last message is earlier, in Unix milliseconds.",
        "",
    ),
];
const AGENTS: &[&str] = &treering::Dialect::NAMES;
const MAX_TIME: i64 = 253_402_300_799_999;
const MAX_OFFSET: i64 = 999_999_999_999_999_999;

const EVENT_AFTER: Param = Param::query(
    "after",
    Values::Event,
    "As `Last-Event-ID`, for clients that cannot set headers; `0` for everything.",
    "0",
);

/// All operations.
pub(crate) static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let mut operations = session_operations();
    operations.extend(entry_operations());
    operations.extend(branches::operations());
    operations.extend(log_operations());
    operations.extend(other_operations());
    operations
});

fn session_operations() -> Vec<Operation> {
    let (read, write) = (Some(Scope::Read), Some(Scope::Write));
    vec![
        Operation::new(
            (Method::GET, "/v1/sessions"),
            ("listSessions", "Sessions"),
            read,
            ("List sessions", "Newest first. A cursor stays valid when sessions are added or removed."),
            run!(sessions::list),
        )
        .params(&[CURSOR, LIMIT])
        .params(&FILTERS)
        .answer(200, "A page of sessions.")
        .with::<types::SessionPage>(JSON, json!({"sessions": [session_example()], "next": null})),
        Operation::new(
            (Method::POST, "/v1/sessions"),
            ("createSession", "Sessions"),
            write,
            (
                "Create a session",
                "As JSON: an empty session. As NDJSON: one whose log begins with the body, in any agent's dialect; `id` is needed then, and more lines are appended through the log.",
            ),
            run!(sessions::create),
        )
        .param(Param::query("id", Values::Session, "The id, if the body is a log.", "fix-login.2"))
        .param(KEY)
        .body::<types::NewSession>(JSON, json!({"cwd": "/home/me/project", "name": "fix the login"}))
        .body::<types::Text>(NDJSON, json!("{\"type\":\"session\",\"version\":3,\"id\":\"fix-login.2\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}\n"))
        .answer(200, "The session was created by a call with the same key before.")
        .with::<types::SessionDetail>(JSON, Value::Null)
        .answer(201, "The session was created.")
        .with::<types::SessionDetail>(JSON, detail_example())
        .header("Location", "The path of the session.")
        .problems(&[Code::SessionExists, Code::NotASession, Code::NotWritable, Code::InvalidEntry, Code::NotApplicable, Code::IdempotencyKeyReused]),
        Operation::new(
            (Method::GET, "/v1/sessions/{id}"),
            ("getSession", "Sessions"),
            read,
            ("Describe a session", "The entity tag is the length of its log."),
            run!(sessions::get),
        )
        .params(&[ID, IF_NONE_MATCH])
        .answer(200, "The session.")
        .with::<types::SessionDetail>(JSON, detail_example())
        .header("ETag", "The length of the log, in quotes.")
        .answer(304, "The client has the current version.")
        .problems(&[Code::UnknownSession, Code::NotASession]),
        Operation::new(
            (Method::DELETE, "/v1/sessions/{id}"),
            ("removeSession", "Sessions"),
            write,
            ("Remove a session", "With all of its entries."),
            run!(sessions::remove),
        )
        .param(ID)
        .answer(204, "The session was removed.")
        .problems(&[Code::UnknownSession, Code::SessionInUse, Code::NotWritable, Code::NotApplicable]),
        Operation::new(
            (Method::PUT, "/v1/sessions/{id}/name"),
            ("renameSession", "Sessions"),
            write,
            ("Name a session", ""),
            run!(sessions::rename),
        )
        .param(ID)
        .body::<types::NewName>(JSON, json!({"name": "fix the login"}))
        .answer(200, "The session.")
        .with::<types::SessionDetail>(JSON, Value::Null)
        .problems(&[Code::UnknownSession, Code::NotWritable, Code::NotASession]),
    ]
}

fn entry_operations() -> Vec<Operation> {
    let (read, write) = (Some(Scope::Read), Some(Scope::Write));
    vec![
        Operation::new(
            (Method::POST, "/v1/sessions/{id}/entries"),
            ("appendEntries", "Entries"),
            write,
            (
                "Append entries",
                "In one write, all or none. An entry without `parentId` continues the one before it, the first one continues the leaf of the session. Appends to one session are served in the order in which they come.",
            ),
            run!(entries::append),
        )
        .params(&[ID, IF_MATCH, KEY])
        .body::<types::NewEntries>(JSON, json!([{"type": "message", "message": {"role": "user", "content": "Tea or coffee?"}}]))
        .answer(200, "The entries are in the log.")
        .with::<types::Appended>(JSON, json!({"ids": ["1f3a9c0e"], "leaf": "1f3a9c0e", "length": 4096}))
        .problems(&[
            Code::UnknownSession,
            Code::DuplicateEntry,
            Code::LeafMoved,
            Code::InvalidEntry,
            Code::NotWritable,
            Code::NotASession,
            Code::IdempotencyKeyReused,
        ]),
        Operation::new(
            (Method::GET, "/v1/sessions/{id}/entries"),
            ("listEntries", "Entries"),
            read,
            ("List entries", "In the order of the log: a page as JSON, or all as NDJSON, streamed."),
            run!(entries::list),
        )
        .param(ID)
        .param(Param::query("after", Values::Text(1, 512), "Only entries after this one.", ""))
        .param(LIMIT)
        .answer(200, "Entries.")
        .with::<types::EntryPage>(JSON, json!({"entries": [entry_example()], "next": null}))
        .with::<types::Text>(NDJSON, Value::Null)
        .problems(&[Code::UnknownSession, Code::UnknownEntry, Code::NotASession]),
        Operation::new(
            (Method::GET, "/v1/sessions/{id}/entries/{entry}"),
            ("getEntry", "Entries"),
            read,
            ("Read an entry", ""),
            run!(entries::get),
        )
        .params(&[ID, ENTRY])
        .answer(200, "The entry.")
        .with::<types::Entry>(JSON, entry_example())
        .problems(&[Code::UnknownSession, Code::UnknownEntry, Code::NotASession]),
        Operation::new(
            (Method::GET, "/v1/sessions/{id}/tree"),
            ("getTree", "Entries"),
            read,
            ("Show the tree", "A row for every entry, in the order of the log; streamed."),
            run!(reading::tree),
        )
        .params(&[ID, IF_NONE_MATCH])
        .answer(200, "The tree; as NDJSON one row a line.")
        .with::<types::Tree>(JSON, tree_example())
        .with::<types::Text>(NDJSON, Value::Null)
        .header("ETag", "The length of the log, in quotes.")
        .answer(304, "The client has the current version.")
        .problems(&[Code::UnknownSession, Code::NotASession]),
        Operation::new(
            (Method::GET, "/v1/sessions/{id}/context"),
            ("getContext", "Entries"),
            read,
            (
                "Show what the model sees",
                "At the leaf of the session, or at any entry, by treering's rules, by those of the agent that wrote it, or as the request of a provider.",
            ),
            run!(reading::context),
        )
        .param(ID)
        .param(Param::query("leaf", Values::Text(0, 512), "The entry; empty for before the first one.", "1f3a9c0e"))
        .param(Param::query("view", Values::OneOf(reading::VIEWS), "The view; `treering` by default.", "anthropic"))
        .answer(200, "The context.")
        .with::<types::Context>(JSON, json!({"messages": [{"role": "user", "content": "Tea or coffee?"}], "thinkingLevel": "off", "model": null}))
        .problems(&[Code::UnknownSession, Code::UnknownEntry, Code::NotASession]),
        Operation::new(
            (Method::GET, "/v1/sessions/{id}/usage"),
            ("getSessionUsage", "Entries"),
            read,
            ("Report the tokens and cost of a session", ""),
            run!(reading::usage),
        )
        .param(ID)
        .answer(200, "The usage.")
        .with::<types::UsageReport>(JSON, Value::Null)
        .problems(&[Code::UnknownSession, Code::NotASession]),
        Operation::new(
            (Method::GET, "/v1/sessions/{id}/export"),
            ("exportSession", "Entries"),
            read,
            ("Export a session", "As one HTML page, Markdown, JSON, or a new session in treering's format."),
            run!(export::get),
        )
        .param(ID)
        .param(Param::query("format", Values::OneOf(export::FORMATS), "The format; `html` by default.", "markdown"))
        .param(Param::query("redact", Values::Boolean, "Whether secrets are replaced.", "true"))
        .answer(200, "The document.")
        .with::<types::Text>("text/html", Value::Null)
        .with::<types::Text>("text/markdown", Value::Null)
        .with::<Value>(JSON, Value::Null)
        .with::<types::Text>(NDJSON, Value::Null)
        .problems(&[Code::UnknownSession, Code::NotApplicable, Code::NotASession]),
        Operation::new(
            (Method::GET, "/v1/sessions/{id}/secrets"),
            ("findSecrets", "Entries"),
            read,
            (
                "List the secrets that redaction replaces",
                "Their kinds, how many there are, and where; never the secrets. An export, a fork and a download with `redact` replace these.",
            ),
            run!(export::secrets),
        )
        .param(ID)
        .param(Param::query("at", Values::Text(1, 512), "Only those on the path to this entry, which a fork has.", ""))
        .answer(200, "The results.")
        .with::<types::Secrets>(JSON, json!({"occurrences": 2, "signatures": 0, "kinds": [{"kind": "github-token", "distinct": 1, "occurrences": 2}], "places": [{"kind": "github-token", "number": 1, "entry": "1f3a9c0e", "field": "message.content", "count": 2}]}))
        .problems(&[Code::UnknownSession, Code::UnknownEntry, Code::NotASession]),
    ]
}

fn log_operations() -> Vec<Operation> {
    let (read, write) = (Some(Scope::Read), Some(Scope::Write));
    vec![
        Operation::new(
            (Method::GET, "/v1/sessions/{id}/log"),
            ("readLog", "Log"),
            read,
            ("Read the log", "Byte for byte, all of it or a range."),
            run!(log::get),
        )
        .params(&[ID, IF_NONE_MATCH])
        .param(Param::header("Range", Values::Range, "One range of bytes.", "bytes=4096-"))
        .answer(200, "The log.")
        .with::<types::Text>(OCTETS, Value::Null)
        .header("X-Treering-Length", "The length of the log.")
        .header("ETag", "The length of the log, in quotes.")
        .answer(206, "A part of the log.")
        .with::<types::Text>(OCTETS, Value::Null)
        .header("X-Treering-Length", "The length of the log.")
        .header("Content-Range", "The part.")
        .answer(304, "The client has the current version.")
        .problems(&[Code::UnknownSession, Code::RangeNotSatisfiable]),
        Operation::new(
            (Method::POST, "/v1/sessions/{id}/log"),
            ("appendLog", "Log"),
            write,
            ("Append to the log", "Whole lines, if the log is as long as the client thinks. This is how remote sessions are written."),
            run!(log::append),
        )
        .param(ID)
        .param(Param::query("at", Values::Integer(0, MAX_OFFSET), "The length of the log.", "4096").required())
        .param(Param::header("X-Treering-End", Values::Text(1, 512), "The offset of the last line, a colon, and its first bytes in base64 (256 at most): they are compared, too.", ""))
        .body::<types::Text>(NDJSON, json!("{\"type\":\"message\",\"id\":\"1f3a9c0e\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"hello\"}}\n"))
        .body::<types::Text>(OCTETS, Value::Null)
        .answer(200, "The lines are in the log.")
        .with::<types::LogAppended>(JSON, json!({"start": 4096, "length": 4200}))
        .problems(&[Code::UnknownSession, Code::Moved, Code::NotWritable]),
        Operation::new(
            (Method::POST, "/v1/sessions/{id}/log/start"),
            ("replaceLogStart", "Log"),
            write,
            ("Replace the first bytes of the log", "By as many others, if they are the expected ones: for dialects that keep the title of a session there."),
            run!(log::replace_start),
        )
        .param(ID)
        .body::<types::NewStart>(JSON, json!({"expected": "eyJ0", "bytes": "eyJ1"}))
        .answer(200, "Whether they were replaced.")
        .with::<types::StartReplaced>(JSON, json!({"replaced": true}))
        .problems(&[Code::UnknownSession, Code::NotWritable, Code::Moved]),
        Operation::new(
            (Method::GET, "/v1/changes"),
            ("listChanges", "Events"),
            read,
            ("List changed sessions", "Those that were created, appended to or removed since a mark; without one, only the mark of now. A session may be listed although nothing happened to it."),
            run!(events::changes),
        )
        .param(Param::query("mark", Values::Text(1, 1024), "The mark of the call before.", ""))
        .answer(200, "The sessions.")
        .with::<types::ChangeList>(JSON, json!({"mark": "812", "sessions": [{"id": "fix-login.2", "length": 4096}]})),
        Operation::new(
            (Method::GET, "/v1/sessions/{id}/events"),
            ("followSession", "Events"),
            read,
            (
                "Follow a session",
                "Server-sent events: `entry` for every entry that is appended, `leaf` for one that moves the leaf, `title` without an id when the title was overwritten in place, `removed` at the end. The id of an event is its position in the log, so that a client that reconnects with `Last-Event-ID`, to any node, gets every event exactly once. Without it, the stream begins at the end of the log.",
            ),
            run!(events::session),
        )
        .param(ID)
        .param(Param::header("Last-Event-ID", Values::Event, "The last event that the client has.", "4096"))
        .param(EVENT_AFTER)
        .answer(200, "Events.")
        .with::<types::Text>("text/event-stream", json!("id: 4200\nevent: entry\ndata: {\"type\":\"message\",\"id\":\"1f3a9c0e\"}\n\n"))
        .problems(&[Code::UnknownSession, Code::Moved])
        .stream(),
        Operation::new(
            (Method::GET, "/v1/events"),
            ("followSessions", "Events"),
            read,
            (
                "Follow all sessions",
                "Server-sent events: `changed` with the session and the length of its log, `removed` with the session. The id is the store's mark; after a break a session may be sent again.",
            ),
            run!(events::all),
        )
        .param(Param::header("Last-Event-ID", Values::Text(1, 1024), "The last event that the client has.", ""))
        .param(Param::query("after", Values::Text(1, 1024), "As `Last-Event-ID`, for clients that cannot set headers.", ""))
        .answer(200, "Events.")
        .with::<types::Text>("text/event-stream", json!("id: 812\nevent: changed\ndata: {\"session\":\"fix-login.2\",\"length\":4200}\n\n"))
        .stream(),
    ]
}

fn other_operations() -> Vec<Operation> {
    let read = Some(Scope::Read);
    vec![
        Operation::new(
            (Method::GET, "/v1/search"),
            ("search", "Search"),
            read,
            ("Search sessions", "On all branches, newest session first. An answer covers some hundred sessions; `next` leads to the others."),
            run!(search::search),
        )
        .param(Param::query("q", Values::Text(1, 1024), "The query: words, \"phrases\", `re:PATTERN`, and filters such as `role:user`, `tool:bash`, `file:src/main.rs`.", "parser role:user").required())
        .params(&[CURSOR, LIMIT])
        .params(&FILTERS)
        .answer(200, "The results.")
        .with::<types::SearchPage>(JSON, json!({"sessions": [], "next": null})),
        Operation::new(
            (Method::GET, "/v1/usage"),
            ("getUsage", "Search"),
            read,
            ("Report the tokens and cost of sessions", "Of some hundred sessions, newest first; `next` leads to the others."),
            run!(search::usage),
        )
        .params(&[CURSOR])
        .params(&FILTERS)
        .answer(200, "The usage.")
        .with::<types::UsageReport>(JSON, Value::Null),
        Operation::new(
            (Method::GET, "/healthz"),
            ("getHealth", "Server"),
            None,
            ("Report whether the server runs", ""),
            run!(system::health),
        )
        .answer(200, "It does.")
        .with::<types::Health>(JSON, json!({"status": "ok"})),
        Operation::new(
            (Method::GET, "/readyz"),
            ("getReadiness", "Server"),
            None,
            ("Report whether the server can do its work", "It reaches its store, and is not shutting down."),
            run!(system::ready),
        )
        .answer(200, "It can.")
        .with::<types::Health>(JSON, json!({"status": "ok"}))
        .problems(&[Code::StoreUnavailable]),
        Operation::new(
            (Method::GET, "/metrics"),
            ("getMetrics", "Server"),
            Some(Scope::Admin),
            ("Show counters", "In the text format of Prometheus."),
            run!(system::metrics),
        )
        .answer(200, "The counters.")
        .with::<types::Text>("text/plain", Value::Null),
        Operation::new(
            (Method::GET, "/openapi.json"),
            ("getDocument", "Server"),
            None,
            ("Show this document", ""),
            run!(system::openapi),
        )
        .answer(200, "The document.")
        .with::<Value>(JSON, Value::Null),
        Operation::new(
            (Method::GET, "/login"),
            ("logIn", "Server"),
            None,
            ("Log in a browser", "With the code of a link that the server printed, which can be used once. Without a code it is a page that asks for a token."),
            run!(system::login),
        )
        .param(Param::query("code", Values::Text(1, 128), "The code.", ""))
        .param(Param::query("next", Values::Text(0, 4096), "The page to go to afterwards.", "/"))
        .answer(200, "A page that asks for a token.")
        .with::<types::Text>("text/html", Value::Null)
        .answer(303, "The browser has a cookie now.")
        .header("Set-Cookie", "The cookie.")
        .header("Location", "The page.")
        .problems(&[Code::TooManyRequests]),
    ]
}

fn session_example() -> Value {
    json!({
        "id": "019b8d62-7a80-77da-8ca6-e755b346b1b7",
        "agent": "pi",
        "cwd": "/home/me/project",
        "name": "fix the login",
        "parentSession": null,
        "created": "2026-01-01T00:00:00.000Z",
        "modified": "2026-01-01T00:05:00.000Z",
        "messageCount": 2,
        "entryCount": 3,
        "branchCount": 1,
        "compactionCount": 0,
        "findingCount": 0,
        "tokens": null,
        "cost": null,
        "firstMessage": "Tea or coffee?",
        "size": 4096,
        "partial": false,
    })
}

fn detail_example() -> Value {
    let mut example = session_example();
    example["leaf"] = "1f3a9c0e".into();
    example["length"] = 4096.into();
    example
}

fn entry_example() -> Value {
    json!({
        "type": "message",
        "id": "1f3a9c0e",
        "parentId": null,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"role": "user", "content": "Tea or coffee?"},
    })
}

fn tree_example() -> Value {
    json!({
        "leaf": "1f3a9c0e",
        "rows": [{
            "id": "1f3a9c0e",
            "parent": null,
            "type": "message",
            "role": "user",
            "time": "2026-01-01T00:00:00.000Z",
            "label": null,
            "preview": "Tea or coffee?",
            "active": true,
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_names_of_their_own() {
        let mut ids: Vec<&str> = OPERATIONS.iter().map(|operation| operation.id).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
        assert!(OPERATIONS.iter().all(|operation| !operation.answers.is_empty()));
    }
}
