//! The examples, run against a scripted model server on loopback.

#[path = "../../examples/agent.rs"]
#[allow(dead_code, reason = "its main is for people")]
mod agent;

use crate::support::scripted::{Play, Scripted};
use crate::support::server::{Server, Step};
use crate::support::talk::lines;
use crate::support::wire::{
    answer, begin, calls, delta, finish, head, refusal, wants_tools, whole,
};
use crate::support::{Api, BOTH, chat_model};
use crate::turn::{assert_paired, messages};
use std::time::Duration;
use treering::Session;
use treering::compaction::CompactionSettings;
use treering_agent::{AgentSession, AgentSettings, CancellationToken, Event, ModelError, TurnEnd};

/// Returns the settings of the example, without pauses.
fn hurry(agent: AgentSession) -> AgentSession {
    let mut settings = AgentSettings::clone(&agent.settings());
    settings.turn.retry_pause = Duration::ZERO;
    settings.compaction = CompactionSettings::new().keep_recent_tokens(1);
    agent.with_settings(settings)
}

#[tokio::test]
async fn it_reads_writes_edits_and_runs_commands() {
    for api in BOTH {
        let ask = |all: &[(&str, &str, &[&str])]| {
            answer(&(begin(api) + &calls(api, all) + &finish(api, wants_tools(api))))
        };
        let server = Server::start(vec![
            ask(&[
                ("c1", "read", &["{\"path\":\"in.txt\"}"]),
                ("c2", "read", &["{\"path\":\"../secret\"}"]),
            ]),
            ask(&[("c3", "write", &["{\"path\":\"d/out.txt\",", "\"content\":\"one two\"}"])]),
            ask(&[
                ("c4", "edit", &["{\"path\":\"d/out.txt\",\"old\":\"two\",\"new\":\"three\"}"]),
                ("c5", "bash", &["{\"command\":\"cat d/out.txt; echo; exit 3\"}"]),
                ("c6", "bash", &["{\"command\":\"seq 100000\"}"]),
            ]),
            answer(&whole(api, &["Finished."])),
        ])
        .await;
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("in.txt"), "input\n").unwrap();
        let agent = agent::coding_agent(Session::in_memory("/project"), dir.path());
        let model = chat_model(api, &server.url());
        let never = CancellationToken::new();
        let turn = agent::run(&agent, &*model, "Work.", &never).await.unwrap();
        assert_eq!((&*turn.text, turn.end, turn.rounds), ("Finished.", TurnEnd::Complete, 4));
        assert_eq!(std::fs::read_to_string(dir.path().join("d/out.txt")).unwrap(), "one three");
        let results: Vec<String> = lines(&agent.context().unwrap())
            .into_iter()
            .filter_map(|line| Some(line.strip_prefix("toolResult: ")?.to_owned()))
            .collect();
        assert_eq!(results[0], "input\n");
        assert_eq!(results[1], "../secret is outside the directory");
        assert_eq!((&*results[2], &*results[3]), ("Wrote 7 bytes.", "Replaced."));
        assert_eq!(results[4], "one three\n\n(exit status: 3)");
        assert!(results[5].starts_with("(The beginning was left out.)"), "{}", &results[5][..60]);
        assert!(results[5].len() < 31_000 && results[5].ends_with("100000\n"));
        assert_paired(&agent);
        let request = server.requests().remove(0);
        assert!(request.contains("You are a coding agent."));
    }
}

#[tokio::test]
async fn it_survives_failures_an_overflow_and_an_abort() {
    for api in BOTH {
        let hang = begin(api) + &delta(api, "I am still");
        let server = Server::start(vec![
            answer(&whole(api, &["First."])),
            // An answer without content fails, and is requested again.
            answer(&(begin(api) + &finish(api, crate::support::wire::normal(api)))),
            answer(&whole(api, &["Second."])),
            refusal(413, "", r#"{"error":{"message":"the prompt is too long"}}"#),
            answer(&whole(api, &["Third."])),
            vec![head(), Step::Chunk(hang.into()), Step::Closed],
        ])
        .await;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("agent.jsonl");
        let session = Session::create_at(&file, dir.path(), Default::default()).unwrap();
        let agent = hurry(agent::coding_agent(session, dir.path()))
            .with_summarizer(Scripted::plays([Play::Say("Two questions.")]));
        let model = chat_model(api, &server.url());
        let cancel = CancellationToken::new();
        let mut events = agent.subscribe();
        for (task, expected) in [("One?", "First."), ("Two?", "Second."), ("Three?", "Third.")] {
            let turn = agent::run(&agent, &*model, task, &cancel).await.unwrap();
            assert_eq!((&*turn.text, turn.end), (expected, TurnEnd::Complete));
        }
        let received: Vec<Event> = std::iter::from_fn(|| events.try_recv().ok()).collect();
        let rewound = received.iter().find_map(|event| match event {
            Event::AnswerRewound(rewound) => Some(rewound.reason.clone()),
            _ => None,
        });
        assert_eq!(rewound, Some(ModelError::Empty));
        assert!(received.iter().any(|event| matches!(event, Event::SessionCompact(_))));

        let mut deltas = agent.subscribe_deltas();
        let abort = async {
            deltas.recv().await.unwrap();
            cancel.cancel();
        };
        let (turn, ()) = tokio::join!(agent::run(&agent, &*model, "Four?", &cancel), abort);
        assert_eq!(turn.unwrap().end, TurnEnd::Aborted);
        assert_eq!(messages(&agent).last().unwrap()["stopReason"], "aborted");
        // The file alone tells the same.
        let context = lines(&Session::open(&file).unwrap().context().unwrap());
        assert!(context[0].starts_with("compactionSummary: Two questions."), "{context:?}");
        assert_eq!(context.last().unwrap(), "assistant: I am still");
    }
}

/// Returns a built example, ready to talk to the server; `None` if only this test was built, and not
/// the examples (`cargo test --test agent`).
fn program(name: &str, api: Api, server: &Server) -> Option<tokio::process::Command> {
    let mut command = program_without_model(name)?;
    let (key, url) = match api {
        Api::Anthropic => ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        Api::OpenAi => ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    };
    command.env(key, "key").env(url, server.url()).env("TREERING_MODEL", "model-1");
    Some(command)
}

/// Returns a built example without the variables that choose a model.
fn program_without_model(name: &str) -> Option<tokio::process::Command> {
    let test = std::env::current_exe().unwrap();
    let program = test.parent()?.parent()?.join("examples").join(name);
    let program = program.with_extension(std::env::consts::EXE_EXTENSION);
    if !program.exists() {
        eprintln!("SKIPPED: {} is not built", program.display());
        return None;
    }
    let mut command = tokio::process::Command::new(program);
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(name);
    }
    for name in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"] {
        command.env_remove(name);
    }
    command.env_remove("TREERING_SUMMARIZER").env_remove("TREERING_MODEL");
    command.kill_on_drop(true);
    Some(command)
}

#[tokio::test]
async fn the_program_agent_does_a_task_and_records_it() {
    for api in BOTH {
        let write = ("c1", "write", &["{\"path\":\"out.txt\",\"content\":\"hello\"}"][..]);
        let server = Server::start(vec![
            answer(&(begin(api) + &calls(api, &[write]) + &finish(api, wants_tools(api)))),
            answer(&whole(api, &["It is written."])),
        ])
        .await;
        let dir = tempfile::tempdir().unwrap();
        let Some(mut program) = program("agent", api, &server) else { return };
        let output = program.arg(dir.path()).arg("Write hello.").output().await.unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
        assert!(printed.contains("> write {\"path\""), "{printed}");
        let end = "It is written.\nthe answer is complete (answers: 2)\n";
        assert!(printed.ends_with(end), "{printed}");
        assert_eq!(std::fs::read_to_string(dir.path().join("out.txt")).unwrap(), "hello");
        let session = Session::open(dir.path().join("agent.jsonl")).unwrap();
        let context = lines(&session.context().unwrap());
        assert_eq!(context.last().unwrap(), "assistant: It is written.");
        assert_eq!(context.len(), 4, "{context:?}");
    }
}

#[tokio::test]
async fn the_programs_say_how_they_are_used_and_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let run = async |name: &str, arguments: &[&str], key: &str| {
        let mut program = program_without_model(name)?;
        if !key.is_empty() {
            program.env("ANTHROPIC_API_KEY", key);
        }
        let output = program.current_dir(&dir).args(arguments).output().await.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Some((output.status.code(), text(output.stdout), text(output.stderr)))
    };
    for name in ["agent", "chat"] {
        let Some((code, out, error)) = run(name, &["--help"], "").await else { return };
        assert_eq!((code, &*error), (Some(0), ""));
        assert!(out.starts_with(&format!("usage: {name} ")), "{out}");
        assert!(out.contains("ANTHROPIC_API_KEY") && out.contains("OPENAI_BASE_URL"), "{out}");
        let wrong = &["--wrong", "--wrong", "--wrong"];
        let (code, out, error) = run(name, wrong, "").await.unwrap();
        assert_eq!((code, &*out), (Some(2), ""));
        assert!(error.starts_with(&format!("usage: {name} ")), "{error}");
    }
    let (code, _, error) = run("agent", &[".", "Work."], "").await.unwrap();
    assert_eq!(code, Some(1));
    assert!(error.starts_with("agent: no model is configured; set ANTHROPIC_API_KEY"), "{error}");
    let (code, _, error) = run("chat", &[], "").await.unwrap();
    assert_eq!(code, Some(1));
    assert!(error.starts_with("chat: no model is configured; set ANTHROPIC_API_KEY"), "{error}");
    let (code, _, error) = run("agent", &["nowhere", "Work."], "key").await.unwrap();
    assert_eq!(code, Some(1));
    assert!(error.starts_with("agent: cannot open nowhere: "), "{error}");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0, "nothing was created");
}

/// A command is over when its shell is, also if it leaves a process behind that holds the output.
#[cfg(unix)]
#[tokio::test]
async fn a_command_takes_the_processes_that_it_leaves_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let agent = agent::coding_agent(Session::in_memory("/project"), dir.path());
    let bash = agent.tools().into_iter().find(|tool| tool.name() == "bash").unwrap();
    let never = CancellationToken::new();
    let call = |command: &str| {
        let arguments = serde_json::json!({ "command": command }).to_string();
        treering_agent::ToolCall::new("c", "bash", arguments)
    };
    let leaves = bash.run(call("sleep 100 & echo $!"), &never);
    let output = tokio::time::timeout(Duration::from_secs(60), leaves).await.unwrap().unwrap();
    assert!(!output.is_error, "{}", output.text);
    let is_gone = format!("while kill -0 {}; do sleep 0.01; done", output.text.trim());
    let gone = tokio::process::Command::new("sh").args(["-c", &is_gone]).output();
    tokio::time::timeout(Duration::from_secs(60), gone).await.unwrap().unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn ctrl_c_stops_what_runs_in_the_program_chat_and_not_the_program() {
    use tokio::io::AsyncWriteExt;
    let server = Server::start(vec![]).await;
    let dir = tempfile::tempdir().unwrap();
    let Some(mut program) = program("chat", Api::OpenAi, &server) else { return };
    program.current_dir(&dir);
    program.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut running = program.spawn().unwrap();
    let mut input = running.stdin.take().unwrap();
    input.write_all(b"!echo begun; touch begun; sleep 1000\n").await.unwrap();
    while !dir.path().join("begun").exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let pid = rustix::process::Pid::from_raw(running.id().unwrap() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    input.write_all(b"!echo after\n/nothing\n/quit\n").await.unwrap();
    let output = tokio::time::timeout(Duration::from_secs(60), running.wait_with_output());
    let output = output.await.unwrap().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    assert!(printed.starts_with("begun\nafter\nthere is no /nothing, but /branches"), "{printed}");
}

#[cfg(unix)]
#[tokio::test]
async fn the_program_chat_answers_and_runs_commands() {
    use tokio::io::AsyncWriteExt;
    let api = Api::OpenAi;
    let server = Server::start(vec![
        answer(&whole(api, &["Blue."])),
        refusal(401, "", r#"{"error":{"message":"no"}}"#),
        answer(&whole(api, &["Red."])),
    ])
    .await;
    let dir = tempfile::tempdir().unwrap();
    let Some(mut program) = program("chat", api, &server) else { return };
    let file = dir.path().join("chat.jsonl");
    program.arg(&file).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut running = program.spawn().unwrap();
    let mut input = running.stdin.take().unwrap();
    let typed = b"Name a color.\nAnother!\n/retry\n!echo done\n/branches\n/goto nowhere\n/quit\n";
    input.write_all(typed).await.unwrap();
    let output = running.wait_with_output().await.unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    let answers = "Blue.\n\n(the server answered 401: no)\nRed.\ndone\n";
    assert!(printed.starts_with(answers), "{printed}");
    assert!(printed.contains(" entries\n"), "{printed}");
    assert!(printed.contains("nowhere"), "the unknown entry is named: {printed}");
    let context = lines(&Session::open(&file).unwrap().context().unwrap());
    let expected = ["user: Name a color.", "assistant: Blue.", "user: Another!", "assistant: Red."];
    assert_eq!(context[..4], expected);
}
