//! The protocol on streams: versions, errors, cancellation and progress.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use serde_json::{Value, json};
use std::io::{BufReader, Read, Write};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use treering::catalog::{Progress, SessionInfo};
use treering::{Position, Session};
use treering_index::{Places, Project, SessionIndex};
use treering_mcp::{Access, Control, McpServer, Sessions, Settings, UsageRead};
use treering_search::{Found, Options, Query, Summary};
use treering_usage::{Prices, Zone};

fn server(sessions: Arc<dyn Sessions>) -> McpServer {
    McpServer::new(Settings {
        sessions,
        project: Project::new("/project"),
        prices: Prices::published(),
        zone: Zone::utc(),
        access: Access::ReadOnly,
        clock: || 4_000_000_000_000,
    })
}

fn empty() -> Arc<dyn Sessions> {
    Arc::new(SessionIndex::new(Places::default()).with_cache(None))
}

/// Sends lines, and returns the answers by their ids.
fn answers(lines: &[Value]) -> Vec<Value> {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut output = Vec::new();
    server(empty()).serve(input.as_bytes(), &mut output).unwrap();
    let text = String::from_utf8(output).unwrap();
    let mut answers: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.sort_by_key(|answer| answer["id"].as_i64());
    answers
}

fn request(id: i64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[test]
fn a_version_is_agreed_on() {
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let answers = answers(&[
            request(1, "initialize", json!({"protocolVersion": asked, "capabilities": {}})),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            request(2, "tools/list", json!({})),
            request(3, "ping", json!({})),
        ]);
        assert_eq!(answers.len(), 3);
        assert_eq!(answers[0]["result"]["protocolVersion"], agreed);
        assert_eq!(answers[0]["result"]["serverInfo"]["name"], "treering");
        assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 7);
        assert!(answers[1]["result"].get("resultType").is_none());
        assert_eq!(answers[2]["result"], json!({}));
    }
}

#[test]
fn requests_may_name_their_version() {
    let meta = |version: Value| {
        json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        }})
    };
    let found = answers(&[
        request(1, "server/discover", meta(json!("2026-07-28"))),
        request(2, "tools/list", meta(json!("2026-07-28"))),
        request(3, "tools/list", meta(json!("2099-01-01"))),
        request(4, "tools/list", meta(json!(5))),
        request(5, "initialize", meta(json!("2026-07-28"))),
        request(
            6,
            "tools/list",
            json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}),
        ),
    ]);
    assert!(
        found[0]["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28"))
    );
    assert_eq!(found[1]["result"]["resultType"], "complete");
    assert_eq!(found[1]["result"]["ttlMs"], 0);
    assert_eq!(found[2]["error"]["code"], -32022);
    assert_eq!(found[2]["error"]["data"]["requested"], "2099-01-01");
    assert_eq!(found[3]["error"]["code"], -32602);
    assert_eq!(found[4]["error"]["code"], -32601);
    assert_eq!(found[5]["error"]["code"], -32602);
}

#[test]
fn invalid_messages_get_errors_and_later_ones_are_answered() {
    let call = |id, params| request(id, "tools/call", params);
    let found = answers(&[
        call(1, json!({"name": "label", "arguments": {}})),
        call(2, json!({"arguments": {}})),
        call(3, json!({"name": "search", "arguments": []})),
        call(4, json!({"name": "search", "arguments": {"qery": "x"}})),
        request(5, "resources/list", json!({})),
        call(6, json!({"name": "list_sessions"})),
    ]);
    for (at, code) in [(0, -32602), (1, -32602), (2, -32602), (4, -32601)] {
        assert_eq!(found[at]["error"]["code"], code, "{at}");
    }
    assert_eq!(found[3]["result"]["isError"], true);
    assert_eq!(found[5]["result"]["isError"], false);

    let mut output = Vec::new();
    let input = b"\n{\n[1]\n{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}";
    server(empty()).serve(&input[..], &mut output).unwrap();
    let text = String::from_utf8(output).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.contains("-32700") && text.contains("-32600") && text.contains("\"id\":9"));
}

#[test]
fn a_line_without_end_is_given_up() {
    let endless = std::io::repeat(b'x');
    assert!(server(empty()).serve(BufReader::new(endless), std::io::sink()).is_err());
}

/// Sessions whose search continues until it is canceled, and reports its progress.
#[derive(Debug)]
struct Endless {
    begun: Mutex<Sender<()>>,
}

impl Sessions for Endless {
    fn list(&self, _: &Control<'_>) -> Result<Vec<SessionInfo>, String> {
        Ok(Vec::new())
    }

    fn open(&self, _: &SessionInfo) -> Result<Arc<Session>, String> {
        Err("none".to_owned())
    }

    fn search(
        &self,
        _: &Query,
        _: &Options,
        control: &Control<'_>,
        _: &mut dyn FnMut(Found) -> ControlFlow<()>,
    ) -> Result<Summary, String> {
        control.report(Progress::new(1, 4));
        control.report(Progress::new(1, 4));
        control.report(Progress::new(3, 4));
        self.begun.lock().unwrap().send(()).unwrap();
        while !control.is_canceled() {
            std::thread::yield_now();
        }
        Ok(Summary::default())
    }

    fn usage(&self, _: &Control<'_>) -> Result<UsageRead, String> {
        Err("none".to_owned())
    }

    fn fork(&self, _: &Session, _: Position) -> Result<Session, String> {
        Err("none".to_owned())
    }
}

/// An input whose later parts come when they are sent.
struct Parts(Receiver<Vec<u8>>, Vec<u8>);

impl Read for Parts {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.1.is_empty() {
            self.1 = self.0.recv().unwrap_or_default();
        }
        let count = self.1.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.1[..count]);
        self.1.drain(..count);
        Ok(count)
    }
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_call_reports_progress_can_be_canceled_and_blocks_no_other() {
    let (begun, has_begun) = channel();
    let server = server(Arc::new(Endless { begun: Mutex::new(begun) }));
    let (lines, input) = channel();
    let output = Shared::default();
    let written = output.clone();
    let serving = std::thread::spawn(move || {
        server.serve(BufReader::new(Parts(input, Vec::new())), output).unwrap();
    });
    let send = |message: Value| lines.send(format!("{message}\n").into_bytes()).unwrap();
    let params = json!({
        "name": "search", "arguments": {"query": "x"}, "_meta": {"progressToken": "p"},
    });
    send(request(1, "tools/call", params));
    has_begun.recv().unwrap();
    send(request(2, "ping", json!({})));
    send(
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
    );
    drop(lines);
    serving.join().unwrap();
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    let messages: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let notifications: Vec<&Value> = messages
        .iter()
        .filter(|message| message["method"] == "notifications/progress")
        .map(|message| &message["params"]["progress"])
        .collect();
    assert_eq!(notifications, [&json!(1), &json!(3)]);
    assert!(messages.iter().any(|message| message["id"] == 2));
    assert!(!messages.iter().any(|message| message["id"] == 1), "{text}");
}
