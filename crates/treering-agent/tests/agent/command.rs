//! Tests of the summarizer that runs an external command.

use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use treering_agent::{
    CancellationToken, Command, Delta, ModelError, Program, Summarizer, Summary, SummaryRequest,
    Waiting,
};

fn shell(line: &str) -> Command {
    Command::new(Program::Shell(line.into()))
}

fn text(delta: Delta<'_>) -> &str {
    match delta {
        Delta::Text(text) => text,
        _ => panic!("a command is run once, and only says text"),
    }
}

fn request(user: &str) -> SummaryRequest {
    SummaryRequest::new("Be brief.", user)
}

async fn run(command: &Command, user: &str) -> Result<Summary, ModelError> {
    command.summarize(request(user), &CancellationToken::new()).await
}

#[tokio::test]
async fn the_prompt_goes_in_and_the_summary_comes_out() {
    let seen = Arc::new(Mutex::new(String::new()));
    let sink = seen.clone();
    let mut request = request("hé");
    request.on_delta = Some(Box::new(move |piece| sink.lock().unwrap().push_str(text(piece))));
    let cat = Command::new(Program::Direct("cat".into(), vec!["-".into()]));
    let summary = cat.summarize(request, &CancellationToken::new()).await.unwrap();
    assert_eq!(summary.text, "Be brief.\n\nhé");
    assert_eq!(*seen.lock().unwrap(), "Be brief.\n\nhé");
    assert_eq!((summary.provider.as_str(), summary.usage), ("command", None));
}

#[tokio::test]
async fn more_than_a_pipe_holds_goes_through() {
    let long = "x".repeat(1 << 20);
    assert_eq!(
        run(&shell("cat"), &long).await.unwrap().text.len(),
        "Be brief.\n\n".len() + (1 << 20)
    );
    // And a command need not read what it is given.
    assert_eq!(run(&shell("echo done"), &long).await.unwrap().text, "done");
}

#[tokio::test]
async fn a_failure_quotes_the_end_of_standard_error() {
    let line = "echo half; seq 100000 >&2; printf 'no \\033[31mmodel\\n' >&2; exit 3";
    let ModelError::Command(text) = run(&shell(line), "").await.unwrap_err() else { panic!() };
    assert!(text.contains("exit status: 3") && text.ends_with("no \\u{1b}[31mmodel"), "{text}");
    assert!(text.len() < 600, "{}", text.len());

    let none = Command::new(Program::Direct("/no/such/program".into(), vec![]));
    let ModelError::Command(text) = run(&none, "").await.unwrap_err() else { panic!() };
    assert!(text.starts_with("cannot be started"), "{text}");
    let silent = ModelError::Command("printed nothing".into());
    assert_eq!(run(&shell("true"), "").await.unwrap_err(), silent);
}

/// Runs `line`, which writes a word once it and its children run, until `stop` stops it; then waits
/// until the last of them has let go of the pipe that it was given.
async fn stopped(command: Command, stop: impl AsyncFnOnce(&CancellationToken)) -> ModelError {
    let (started, mut starts) = mpsc::unbounded_channel();
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    let mut request = request("");
    request.on_delta =
        Some(Box::new(move |piece| started.send(text(piece).to_owned()).unwrap_or_default()));
    let job = tokio::spawn(async move { command.summarize(request, &token).await });
    assert_eq!(starts.recv().await.as_deref(), Some("started\n"));
    stop(&cancel).await;
    job.await.unwrap().unwrap_err()
}

#[tokio::test]
async fn cancellation_kills_the_command_and_its_children() {
    // The children hold a pipe open; it ends only when all of them are gone.
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let path = fifo.clone();
    let reader = tokio::task::spawn_blocking(move || std::fs::read(path).unwrap());
    let line = format!("exec 9>'{}'; sleep 1000 & sleep 1000 & echo started; wait", fifo.display());
    let error = stopped(shell(&line), async |cancel| cancel.cancel()).await;
    assert_eq!(error, ModelError::Canceled);
    assert_eq!(reader.await.unwrap(), b"", "no process writes to it");
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed() {
    let mut command = shell("echo started; sleep 1000");
    command.timeout = std::time::Duration::from_secs(100);
    let limit = command.timeout;
    let error = stopped(command, async |_| {
        tokio::time::pause();
        crate::support::pass(limit).await;
    })
    .await;
    assert_eq!(error, ModelError::Timeout { waiting: Waiting::Total, limit });
}
