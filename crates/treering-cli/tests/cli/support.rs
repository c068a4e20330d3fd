//! Test support: a directory with a session, and the program that is tested in it.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::Deref;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// The result of a run of the program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Returns stdout of a run that must have succeeded without output on stderr.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{}", self.stdout);
        self.stdout
    }

    /// Returns stderr of a run that must have failed without output on stdout.
    #[track_caller]
    pub(crate) fn failed(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (1, ""), "{}", self.stderr);
        self.stderr
    }

    /// Returns stderr of a run whose command line must have been invalid.
    #[track_caller]
    pub(crate) fn misused(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (2, ""), "{}", self.stderr);
        self.stderr
    }

    /// Returns stdout of a run that must have succeeded, as JSON, one value for each line.
    #[track_caller]
    pub(crate) fn json(self) -> Vec<Value> {
        self.ok().lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}

/// A temporary directory, with `s.jsonl` as the session of most tests.
pub(crate) struct TestDir {
    test_dir: treering_testkit::test_dir::TestDir,
}

impl Deref for TestDir {
    type Target = treering_testkit::test_dir::TestDir;

    fn deref(&self) -> &Self::Target {
        &self.test_dir
    }
}

impl TestDir {
    pub(crate) fn empty() -> Self {
        TestDir { test_dir: Default::default() }
    }

    /// Creates a directory with a session of a header and these lines.
    pub(crate) fn with(lines: &[String]) -> Self {
        let test_dir = TestDir::empty();
        let all: String = [header()].iter().chain(lines).map(|line| format!("{line}\n")).collect();
        test_dir.write("s.jsonl", all.as_bytes());
        test_dir
    }

    /// Creates a directory with the session of [`story`].
    pub(crate) fn with_story() -> Self {
        TestDir::with(&story())
    }

    /// Returns the program in this directory, independent of the caller's terminal and settings for
    /// colors.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_treering"));
        command.args(args).current_dir(self.path()).env_remove("NO_COLOR");
        command.env_remove("CLICOLOR_FORCE").env_remove("COLUMNS").env("TERM", "xterm-256color");
        // A shell warns of a locale that is not installed.
        command.env("LC_ALL", "C");
        // The sessions of the user who runs the tests must not be found.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            let agents = ["PI_", "OMP_", "CHIMERA_", "CLAUDE_", "CODEX_", "QWEN_", "GEMINI_"];
            let agents = agents.iter().chain(&["COPILOT_", "GOOSE_", "XDG_", "TREERING_"]);
            let others = ["ANTHROPIC_", "OPENAI_", "PAGER"];
            let is_proxy = name.to_ascii_uppercase().ends_with("_PROXY");
            if is_proxy || agents.chain(&others).any(|start| name.starts_with(start)) {
                command.env_remove(&*name);
            }
        }
        let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        command.env(home, self.file("home"));
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.feed(args, b"")
    }

    /// Runs the program with something on its standard input.
    pub(crate) fn feed(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // The program may end before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The lines that a program prints, each of which must arrive soon: a program that buffers them
/// must fail a test, not hang it.
pub(crate) struct Lines {
    ask: Sender<()>,
    answers: Receiver<String>,
    reader: JoinHandle<()>,
}

impl Lines {
    pub(crate) fn of(stdout: impl Read + Send + 'static) -> Self {
        let (ask, asked) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines();
            while asked.recv().is_ok() {
                let line = lines.next().and_then(Result::ok).unwrap_or_default();
                if answer.send(line).is_err() {
                    return;
                }
            }
        });
        Lines { ask, answers, reader }
    }

    #[track_caller]
    pub(crate) fn next(&self) -> String {
        self.ask.send(()).unwrap();
        self.answers.recv_timeout(Duration::from_secs(120)).expect("a line of output")
    }

    /// Waits until the program's stdout is closed.
    pub(crate) fn close(self) {
        drop(self.ask);
        self.reader.join().unwrap();
    }
}

pub(crate) fn header() -> String {
    r#"{"type":"session","version":3,"id":"demo-1","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/project"}"#
        .to_owned()
}

/// Returns an entry as agents write it, with the common fields first, at this minute after nine.
pub(crate) fn entry(kind: &str, id: &str, parent: Option<&str>, minute: u8, more: Value) -> String {
    let time = format!("2026-01-05T09:{minute:02}:00.000Z");
    let common = [("type", json!(kind)), ("id", json!(id)), ("parentId", json!(parent))];
    let common = common.into_iter().chain([("timestamp", json!(time))]);
    let more = more.as_object().unwrap().iter().map(|(key, value)| (key.as_str(), value.clone()));
    object(common.chain(more))
}

/// Returns a message entry. The role comes first, as agents write it.
pub(crate) fn message(id: &str, parent: Option<&str>, minute: u8, mut message: Value) -> String {
    message["timestamp"] = json!(1_767_603_600_000_u64 + u64::from(minute) * 60_000);
    let role = message.as_object_mut().unwrap().remove("role").unwrap();
    let fields =
        message.as_object().unwrap().iter().map(|(key, value)| (key.as_str(), value.clone()));
    let message = object([("role", role)].into_iter().chain(fields));
    let head = entry("message", id, parent, minute, json!({}));
    format!("{},\"message\":{message}}}", head.strip_suffix('}').unwrap())
}

/// JSON with its keys in this order, which `Value` would not keep.
fn object<'a>(fields: impl Iterator<Item = (&'a str, Value)>) -> String {
    let fields: Vec<String> =
        fields.map(|(key, value)| format!("{}:{value}", json!(key))).collect();
    format!("{{{}}}", fields.join(","))
}

pub(crate) fn user(id: &str, parent: Option<&str>, minute: u8, text: &str) -> String {
    message(id, parent, minute, json!({"role": "user", "content": text}))
}

pub(crate) fn assistant(id: &str, parent: &str, minute: u8, content: Value) -> String {
    let from = json!({"role": "assistant", "content": content, "api": "none", "provider": "acme",
                      "model": "m1", "stopReason": "stop"});
    message(id, Some(parent), minute, from)
}

/// Two branches below `a2`: one tried and left, one that ends at the leaf `b4`.
///
/// `a1` user, `a2` assistant that calls a tool, `a3` its result, `b1` assistant \[first try\];
/// below `a3` again `b2` a summary, `b3` a label entry (on `b1`), `b4` a user's message.
pub(crate) fn story() -> Vec<String> {
    let call = json!([
        {"type": "text", "text": "Let me see."},
        {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "ls -l"}},
    ]);
    let result = json!({"role": "toolResult", "toolCallId": "t1", "toolName": "bash",
                        "content": [{"type": "text", "text": "total 0\nnothing"}], "isError": false});
    vec![
        user("a1", None, 1, "What is here?\nBe brief."),
        assistant("a2", "a1", 2, call),
        message("a3", Some("a2"), 3, result),
        assistant("b1", "a3", 4, json!([{"type": "text", "text": "Nothing."}])),
        entry(
            "branch_summary",
            "b2",
            Some("a3"),
            5,
            json!({"fromId": "b1", "summary": "Said nothing."}),
        ),
        entry("label", "b3", Some("b2"), 6, json!({"targetId": "b1", "label": "first try"})),
        user("b4", Some("b3"), 7, "Look again."),
    ]
}
