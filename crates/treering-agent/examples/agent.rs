//! A small coding agent: a model that reads, writes and edits files and runs commands in a directory.
//!
//! ```sh
//! OPENAI_BASE_URL=http://localhost:11434 TREERING_MODEL=qwen3:14b \
//!     cargo run -p treering-agent --example agent -- DIRECTORY "Add a test for the parser."
//! ```
//!
//! The conversation is recorded in `DIRECTORY/agent.jsonl`, and continues there the next time. Ctrl-C aborts
//! the turn; what was done so far stays recorded. Commands run without a sandbox: use a directory, and a
//! machine, where that is acceptable.
#![allow(clippy::print_stdout, reason = "it is a program to talk to")]

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
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

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (Some(directory), Some(task)) = (arguments.next(), arguments.next()) else {
        return Err("usage: agent DIRECTORY TASK".into());
    };
    let directory = std::fs::canonicalize(directory)?;
    let file = directory.join("agent.jsonl");
    let session = Session::open_or_create(&file, &directory, Default::default())?;
    // Address, key and model come from the environment; summaries are by the same model.
    let config = SummarizerConfig::default().with_environment(Some(Provider::OpenAi))?;
    let model = config.build_chat()?;
    let agent = coding_agent(session, &directory).with_summarizer(config.build()?);
    let cancel = CancellationToken::new();
    let turn = run(&agent, &*model, &task, &cancel);
    tokio::pin!(turn);
    let report = tokio::select! {
        report = &mut turn => report?,
        _ = tokio::signal::ctrl_c() => {
            cancel.cancel();
            turn.await?
        }
    };
    agent.shutdown().await;
    println!("\n{} answers, {:?}", report.rounds, report.end);
    Ok(())
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
            "Runs a command in the directory and returns its output.",
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
    if let StreamDelta::AnswerText(text) = delta {
        print!("{text}");
        let _ = std::io::stdout().flush();
    }
}

fn print_event(event: &Event) {
    match event {
        Event::ToolStart(started) => println!("\n> {} {}", started.tool, started.arguments),
        Event::ToolEnd(ended) if ended.is_error => println!("  {} failed", ended.tool),
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
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take().ok_or("the command has no output")?;
    let mut tail: VecDeque<u8> = VecDeque::new();
    let work = async {
        let (mut buffer, mut is_cut) = ([0; 8192], false);
        loop {
            let count = output.read(&mut buffer).await?;
            if count == 0 {
                break;
            }
            tail.extend(&buffer[..count]);
            is_cut |= tail.len() > MAX_OUTPUT;
            tail.drain(..tail.len().saturating_sub(MAX_OUTPUT));
        }
        Ok::<_, ToolError>((child.wait().await?, is_cut))
    };
    let limit = Duration::from_secs(MAX_SECONDS);
    let (status, is_cut) = tokio::time::timeout(limit, work)
        .await
        .map_err(|_| format!("the command took longer than {MAX_SECONDS} s and was stopped"))??;
    let mut printed = String::from_utf8_lossy(tail.make_contiguous()).into_owned();
    if is_cut {
        printed.insert_str(0, "(The beginning was left out.)\n");
    }
    match status.success() {
        true => Ok(ToolOutput::text(printed)),
        false => Ok(ToolOutput::error(format!("{printed}\n({status})"))),
    }
}
