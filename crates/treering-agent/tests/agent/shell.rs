//! Tests of commands that the user runs: their output, aborts, and records.

use crate::support::talk::json_of;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use treering::Session;
use treering::entry::MessageView;
use treering::provider::Pairing;
use treering_agent::ShellContext::{Excluded, Included};
use treering_agent::{
    AgentError, AgentSession, CancellationToken, OnOutput, Operation, ShellContext, ShellRun,
};

fn place() -> (TempDir, AgentSession) {
    let dir = tempfile::tempdir().unwrap();
    let session = Session::in_memory(dir.path());
    (dir, AgentSession::new(session))
}

async fn run(agent: &AgentSession, command: &str, context: ShellContext) -> ShellRun {
    agent.run_shell(command, context, None, &CancellationToken::new()).await.unwrap()
}

fn record(agent: &AgentSession, run: &ShellRun) -> Value {
    json_of(&agent.session().entry(run.entry.as_str()).unwrap())["message"].clone()
}

/// Returns the context as one text.
fn seen(agent: &AgentSession) -> String {
    let messages = agent.context().unwrap().to_llm(Pairing::Strict).messages;
    messages.iter().map(|message| MessageView::new(&message.json).text()).collect()
}

#[tokio::test]
async fn a_command_is_recorded_with_its_output_and_exit_code() {
    let (dir, agent) = place();
    let ran = run(&agent, "pwd -P; echo oops >&2; exit 3", Included).await;
    let place = dir.path().canonicalize().unwrap();
    assert_eq!(ran.output.lines().next(), place.to_str());
    assert_eq!(ran.exit_code, Some(3));
    let record = record(&agent, &ran);
    assert_eq!(record["role"], "bashExecution");
    assert_eq!(record["command"], "pwd -P; echo oops >&2; exit 3");
    assert_eq!((&record["exitCode"], &record["cancelled"]), (&3.into(), &false.into()));
    assert_eq!((&record["truncated"], &record["fullOutputPath"]), (&false.into(), &Value::Null));
    assert!(seen(&agent).contains("Command exited with code 3"));
    assert_eq!(run(&agent, "kill -TERM $$", Included).await.exit_code, Some(143));
}

#[tokio::test]
async fn what_is_for_people_is_kept_from_the_model() {
    let (_dir, agent) = place();
    let ran = run(&agent, "echo private", Excluded).await;
    assert_eq!(record(&agent, &ran)["excludeFromContext"], true);
    assert_eq!(seen(&agent), "");
}

#[tokio::test]
async fn of_a_long_output_the_end_is_kept_and_all_of_it_in_a_file() {
    let (_dir, agent) = place();
    for (command, lines, bytes) in
        [("seq 1 100000", 100_000, 588_895), ("yes | head -2500", 2500, 5000)]
    {
        let ran = run(&agent, command, Included).await;
        assert!(ran.output.len() <= 50 * 1024 && ran.output.lines().count() <= 2000);
        let record = record(&agent, &ran);
        assert_eq!(record["truncated"], true);
        let file = ran.full_output.as_ref().unwrap();
        let full = std::fs::read_to_string(file).unwrap();
        std::fs::remove_file(file).unwrap();
        assert_eq!((full.lines().count(), full.len()), (lines, bytes));
        assert!(full.trim_end().ends_with(&ran.output), "{command}");
        assert_eq!(record["fullOutputPath"], file.to_str().unwrap());
        assert!(seen(&agent).contains("[Output truncated. Full output: "));
    }
}

#[tokio::test]
async fn stopping_a_command_stops_its_children() {
    let (dir, agent) = place();
    let agent = Arc::new(agent);
    let stops = Arc::clone(&agent);
    let seen = Arc::new(Mutex::new(String::new()));
    let sees = Arc::clone(&seen);
    let on_output: OnOutput = Box::new(move |text| {
        sees.lock().unwrap().push_str(text);
        if sees.lock().unwrap().contains("ready") {
            assert_eq!(stops.abort(), Some(Operation::Shell));
        }
    });
    // The child holds a lock as long as it lives.
    let command = "mkfifo pipe; (echo ready; exec cat pipe) & wait";
    let never = CancellationToken::new();
    let ran = agent.run_shell(command, Included, Some(on_output), &never).await.unwrap();
    assert!(ran.is_canceled && ran.exit_code.is_none());
    assert_eq!(ran.output, "ready");
    assert_eq!(record(&agent, &ran)["cancelled"], true);
    assert_eq!(record(&agent, &ran)["exitCode"], Value::Null);
    // The reader of the pipe is gone: opening it to write without waiting fails.
    let pipe = dir.path().join("pipe");
    let opened = loop {
        use std::os::unix::fs::OpenOptionsExt;
        let opened = std::fs::OpenOptions::new().write(true).custom_flags(0o4000).open(&pipe);
        match opened {
            Ok(_) => tokio::task::yield_now().await,
            Err(error) => break error,
        }
    };
    assert_eq!(opened.raw_os_error(), Some(6), "ENXIO");
}

#[tokio::test]
async fn what_is_left_running_does_not_hold_up_the_rest() {
    let (_dir, agent) = place();
    let ran = run(&agent, "sleep 1000 & echo $!", Included).await;
    assert_eq!(ran.exit_code, Some(0));
    let child = rustix::process::Pid::from_raw(ran.output.parse().unwrap()).unwrap();
    rustix::process::kill_process(child, rustix::process::Signal::KILL)
        .expect("it is left running");
}

#[tokio::test]
async fn a_missing_directory_is_reported() {
    let (dir, agent) = place();
    drop(dir);
    let refused = agent.run_shell("true", Included, None, &CancellationToken::new()).await;
    assert!(matches!(refused.unwrap_err(), AgentError::Shell(_)));
    assert!(agent.session().tree().is_empty());
}
