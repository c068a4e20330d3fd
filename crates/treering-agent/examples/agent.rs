//! A small coding agent: a model that reads, writes and edits files and runs commands in a directory.
//!
//! ```sh
//! OPENAI_BASE_URL=http://localhost:11434 TREERING_MODEL=qwen3:14b \
//!     cargo run -p treering-agent --example agent -- DIRECTORY "Add a test for the parser."
//! ```
//!
//! The conversation is recorded in `DIRECTORY/agent.jsonl`, and continues there the next time. Ctrl-C aborts
//! the turn; what was done so far stays recorded. Commands run without a sandbox: use a directory, and a
//! machine, where that is acceptable. `--help` lists the variables that choose the model.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program to talk to")]

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use treering::Session;
use treering_agent::*;

/// The largest result of a tool, in bytes. The model pays for every byte in every later round.
const MAX_OUTPUT: usize = 30_000;
/// The largest file that is edited or read.
const MAX_FILE: u64 = 4 << 20;
/// The longest time that a command may take.
const MAX_SECONDS: u64 = 120;

const SYSTEM_PROMPT: &str = "You are a coding agent. You work in one directory with the tools read, \
    write, edit and bash. Look before you change something, check what you changed, and end with a \
    short report.";

const USAGE: &str = "\
usage: agent DIRECTORY TASK

Works on TASK in DIRECTORY, and records the conversation in DIRECTORY/agent.jsonl.

The environment chooses the model:
  ANTHROPIC_API_KEY   a model of Anthropic
  OPENAI_API_KEY      a model of OpenAI
  OPENAI_BASE_URL     the address of a compatible server, such as http://localhost:11434
  TREERING_MODEL      the model's name; optional for Anthropic";

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["-h" | "--help"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [directory, task] => work(Path::new(directory), task).await,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(TurnReport { rounds, end, .. }) => {
            println!("\n{end} (answers: {rounds})");
            if end == TurnEnd::Complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("agent: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Works on a task until it is done or the user presses Ctrl-C.
async fn work(directory: &Path, task: &str) -> Result<TurnReport, Failure> {
    // Address, key and model come from the environment; summaries are by the same model. An address
    // counts more than the key of another provider.
    let chosen = std::env::var_os("OPENAI_BASE_URL").map(|_| Provider::OpenAi);
    let config = SummarizerConfig::default().for_chat(chosen)?;
    let model = config.build_chat()?;
    let directory = std::fs::canonicalize(directory)
        .map_err(|error| format!("cannot open {}: {error}", directory.display()))?;
    let file = directory.join("agent.jsonl");
    let session = Session::open_or_create(&file, &directory, Default::default())?;
    let agent = coding_agent(session, &directory).with_summarizer(config.build()?);
    let cancel = CancellationToken::new();
    let turn = run(&agent, &*model, task, &cancel);
    tokio::pin!(turn);
    let report = tokio::select! {
        report = &mut turn => report?,
        _ = tokio::signal::ctrl_c() => {
            cancel.cancel();
            turn.await?
        }
    };
    agent.shutdown().await;
    Ok(report)
}

/// Returns an agent that works in `directory`.
pub(crate) fn coding_agent(session: Session, directory: &Path) -> AgentSession {
    let turn =
        TurnSettings::new().system_prompt(SYSTEM_PROMPT.to_owned()).max_rounds(50).retries(2);
    let files = |name: &str, description: &str, parameters: &str, work: FileWork| {
        let directory = directory.to_owned();
        FnTool::new(name, description, parameters, move |call, _cancel| {
            let directory = directory.clone();
            // File systems block: not on the thread that talks to the model.
            async move { tokio::task::spawn_blocking(move || work(&directory, &call)).await? }
        })
    };
    let commands = directory.to_owned();
    AgentSession::new(session)
        .with_settings(AgentSettings::new().turn(turn))
        .with_tool(
            files(
                "read",
                "Returns the content of a text file.",
                r#"{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","description":"First line, from 1."},"limit":{"type":"integer","description":"Number of lines."}},"required":["path"]}"#,
                read,
            )
            .parallel(),
        )
        .with_tool(files(
            "write",
            "Creates or replaces a file.",
            r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}"#,
            write,
        ))
        .with_tool(files(
            "edit",
            "Replaces a text that occurs exactly once in a file.",
            r#"{"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"}},"required":["path","old","new"]}"#,
            edit,
        ))
        .with_tool(FnTool::new(
            "bash",
            "Runs a command in the directory and returns its output. Processes that it leaves running are ended.",
            r#"{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}"#,
            move |call, _cancel| bash(commands.clone(), call),
        ))
}

/// Runs one turn and prints it as it happens.
pub(crate) async fn run(
    agent: &AgentSession,
    model: &dyn ChatModel,
    task: &str,
    cancel: &CancellationToken,
) -> Result<TurnReport, AgentError> {
    let (mut events, mut deltas) = (agent.subscribe(), agent.subscribe_deltas());
    let turn = agent.prompt(model, task, None, cancel);
    tokio::pin!(turn);
    let report = loop {
        tokio::select! {
            biased;
            Ok(delta) = deltas.recv() => print_delta(&delta),
            Ok(event) = events.recv() => print_event(&event),
            report = &mut turn => break report,
        }
    };
    // The end of the answer may have arrived together with the end of the turn.
    while let Ok(delta) = deltas.try_recv() {
        print_delta(&delta);
    }
    while let Ok(event) = events.try_recv() {
        print_event(&event);
    }
    report
}

fn print_delta(delta: &StreamDelta) {
    match delta {
        StreamDelta::AnswerText(text) => print!("{text}"),
        StreamDelta::AnswerRestarted => println!("\n(the answer is lost and begins again)"),
        _ => {}
    }
    let _ = std::io::stdout().flush();
}

fn print_event(event: &Event) {
    match event {
        Event::ToolStart(started) => println!("\n> {} {}", started.tool, started.arguments),
        Event::ToolEnd(ended) if ended.is_error => println!("  {} failed", ended.tool),
        Event::AutoRetry(notice) => println!("\n({notice})"),
        Event::AnswerRewound(rewound) => println!("\n({}; asking again)", rewound.reason),
        Event::SessionCompact(_) => println!("\n(older context was compacted)"),
        _ => {}
    }
}

type FileWork = fn(&Path, &ToolCall) -> Result<ToolOutput, ToolError>;

/// Returns the arguments of a call.
fn arguments(call: &ToolCall) -> Result<serde_json::Value, ToolError> {
    Ok(serde_json::from_str(&call.arguments)?)
}

fn text<'a>(arguments: &'a serde_json::Value, key: &str) -> Result<&'a str, ToolError> {
    arguments[key].as_str().ok_or_else(|| format!("the argument {key:?} is missing").into())
}

/// Returns the path of a file below the directory.
fn path_in(directory: &Path, arguments: &serde_json::Value) -> Result<PathBuf, ToolError> {
    let path = Path::new(text(arguments, "path")?);
    let relative = path.strip_prefix(directory).unwrap_or(path);
    let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !relative.components().all(is_plain) {
        return Err(format!("{} is outside the directory", path.display()).into());
    }
    Ok(directory.join(relative))
}

fn content(path: &Path) -> Result<String, ToolError> {
    let size = std::fs::metadata(path)?.len();
    if size > MAX_FILE {
        return Err(format!("the file has {size} bytes; {MAX_FILE} are allowed").into());
    }
    Ok(std::fs::read_to_string(path)?)
}

fn read(directory: &Path, call: &ToolCall) -> Result<ToolOutput, ToolError> {
    let arguments = arguments(call)?;
    let content = content(&path_in(directory, &arguments)?)?;
    let number =
        |key: &str| arguments[key].as_u64().and_then(|number| usize::try_from(number).ok());
    let skip = number("offset").unwrap_or(1).saturating_sub(1);
    let lines =
        content.split_inclusive('\n').skip(skip).take(number("limit").unwrap_or(usize::MAX));
    let mut kept = String::new();
    for line in lines {
        if kept.len() + line.len() > MAX_OUTPUT {
            if kept.is_empty() {
                kept.extend(line.chars().take(MAX_OUTPUT / 4));
            }
            kept += "\n(The rest was left out: use offset and limit.)";
            break;
        }
        kept += line;
    }
    Ok(ToolOutput::text(kept))
}

fn write(directory: &Path, call: &ToolCall) -> Result<ToolOutput, ToolError> {
    let arguments = arguments(call)?;
    let (path, content) = (path_in(directory, &arguments)?, text(&arguments, "content")?);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(&path, content)?;
    Ok(ToolOutput::text(format!("Wrote {} bytes.", content.len())))
}

fn edit(directory: &Path, call: &ToolCall) -> Result<ToolOutput, ToolError> {
    let arguments = arguments(call)?;
    let path = path_in(directory, &arguments)?;
    let (old, new) = (text(&arguments, "old")?, text(&arguments, "new")?);
    let content = content(&path)?;
    match content.matches(old).count() {
        1 if !old.is_empty() => std::fs::write(&path, content.replacen(old, new, 1))?,
        count => return Err(format!("the old text occurs {count} times, not once").into()),
    }
    Ok(ToolOutput::text("Replaced."))
}

async fn bash(directory: PathBuf, call: ToolCall) -> Result<ToolOutput, ToolError> {
    let arguments = arguments(&call)?;
    // Through one pipe, so that both outputs stay in their order.
    let script = format!("exec 2>&1\n{}", text(&arguments, "command")?);
    let mut command = tokio::process::Command::new("sh");
    command.arg("-c").arg(script).current_dir(directory).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let group = ProcessGroup(child.id());
    let mut output = child.stdout.take().ok_or("the command has no output")?;
    let (mut tail, mut is_cut): (VecDeque<u8>, bool) = Default::default();
    let work = async {
        let read = async {
            let mut buffer = [0; 8192];
            while let count @ 1.. = output.read(&mut buffer).await? {
                tail.extend(&buffer[..count]);
                is_cut |= tail.len() > MAX_OUTPUT;
                tail.drain(..tail.len().saturating_sub(MAX_OUTPUT));
            }
            Ok(())
        };
        let wait = async {
            let status = child.wait().await;
            // Processes in the background would keep the output open.
            drop(group);
            status
        };
        tokio::try_join!(read, wait)
    };
    let limit = Duration::from_secs(MAX_SECONDS);
    let done = tokio::time::timeout(limit, work).await;
    let mut printed = String::from_utf8_lossy(tail.make_contiguous()).into_owned();
    if is_cut {
        printed.insert_str(0, "(The beginning was left out.)\n");
    }
    Ok(match done {
        Ok(Ok(((), status))) if status.success() => ToolOutput::text(printed),
        Ok(Ok(((), status))) => ToolOutput::error(format!("{printed}\n({status})")),
        Ok(Err(error)) => return Err(error.into()),
        Err(_) => ToolOutput::error(format!("{printed}\n(stopped after {MAX_SECONDS} s)")),
    })
}

/// The processes of a command. They are ended when this is dropped, also by an abort.
struct ProcessGroup(Option<u32>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.0.and_then(|id| rustix::process::Pid::from_raw(id as i32)) {
            // An error means that all of them have ended.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}
