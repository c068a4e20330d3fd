//! A small chat over an OpenAI-compatible server, with everything a session tree gives an agent.
//!
//! ```sh
//! OPENAI_BASE_URL=http://localhost:11434 TREERING_MODEL=qwen3:14b \
//!     cargo run -p treering-agent --example chat -- chat.jsonl
//! ```
//!
//! A line is sent to the model, and `!command` runs a command. `/branches`, `/goto ID`, `/switch ID`,
//! `/pop`, `/compact`, `/fork`, `/merge ID`, `/pick ID`, `/drop ID`, `/label ID TEXT`, `/cost`, `/retry`
//! and `/quit` use the tree. Ctrl-C stops what is running; an answer is kept as far as it arrived.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program to talk to")]

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::sync::mpsc;
use treering::Session;
use treering::merge::Selection;
use treering::usage::Branch;
use treering_agent::*;

const USAGE: &str = "\
usage: chat [FILE]

Talks to a model, and records the conversation in FILE (chat.jsonl).

The environment chooses the model:
  ANTHROPIC_API_KEY   a model of Anthropic
  OPENAI_API_KEY      a model of OpenAI
  OPENAI_BASE_URL     the address of a compatible server, such as http://localhost:11434
  TREERING_MODEL      the model's name; optional for Anthropic";

const COMMANDS: &str = "/branches, /goto ID, /switch ID, /pop, /compact, /fork, /merge ID, \
    /pick ID, /drop ID, /label ID TEXT, /cost, /retry, /quit";

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A handler that reports compactions to the user.
struct Announce;

impl Hooks for Announce {
    fn session_compact<'a>(&'a self, event: &'a Compact) -> HookFuture<'a, ()> {
        Box::pin(async move {
            println!("(compacted into {})", event.entry.id());
            Ok(())
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["-h" | "--help"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [] => talk("chat.jsonl").await,
        [file] if !file.starts_with('-') => talk(file).await,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("chat: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Carries out the user's lines until there are no more, or the user quits.
async fn talk(file: &str) -> Outcome {
    // Address, key and model come from the environment; summaries are by the same model. An address
    // counts more than the key of another provider.
    let chosen = std::env::var_os("OPENAI_BASE_URL").map(|_| Provider::OpenAi);
    let config = SummarizerConfig::default().for_chat(chosen)?;
    let model = config.build_chat()?;
    let session = Session::open_or_create(file, std::env::current_dir()?, Default::default())?;
    let settings = AgentSettings::new().context_window(model.context_window());
    let agent = AgentSession::new(session)
        .with_settings(settings)
        .with_summarizer(config.build()?)
        .with_hooks("announce", Arc::new(Announce));
    agent.start().await;

    let mut lines = lines();
    loop {
        let line = tokio::select! {
            line = lines.recv() => match line {
                Some(line) => line?,
                None => break,
            },
            _ = tokio::signal::ctrl_c() => break,
        };
        if line == "/quit" {
            break;
        }
        let work = handle(&agent, &*model, &line);
        tokio::pin!(work);
        let done = loop {
            tokio::select! {
                done = &mut work => break done,
                // The operation ends and reports that it was aborted.
                _ = tokio::signal::ctrl_c() => drop(agent.abort()),
            }
        };
        println!("{}", done.unwrap_or_else(|error| error.to_string()));
    }
    agent.shutdown().await;
    Ok(())
}

/// Returns the lines of the user. A thread reads them, so that Ctrl-C is noticed meanwhile.
fn lines() -> mpsc::UnboundedReceiver<std::io::Result<String>> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Carries out one line of the user, and returns the text to print.
async fn handle(agent: &AgentSession, model: &dyn ChatModel, line: &str) -> Outcome<String> {
    match (line.strip_prefix('/'), line.strip_prefix('!')) {
        _ if line.trim().is_empty() => Ok(String::new()),
        (Some("retry"), _) => ask(agent, model, None).await,
        (Some(command), _) => run(agent, command).await,
        (_, Some(command)) => shell(agent, command).await,
        _ => ask(agent, model, Some(line)).await,
    }
}

/// Runs a command that moves in the tree, or brings something from elsewhere in it.
async fn run(agent: &AgentSession, command: &str) -> Outcome<String> {
    let session = agent.session();
    let (name, argument) = command.split_once(' ').unwrap_or((command, ""));
    // People type the beginning of an id.
    let entry = |text: &str| session.resolve(text).found(text);
    Ok(match name {
        "branches" => {
            let line = |branch: &Branch| format!("{} {} entries", branch.leaf, branch.entries);
            agent.branches()?.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        "goto" => {
            moved(agent.navigate(entry(argument)?.as_ref(), NavigateOptions::default()).await?)
        }
        "switch" => {
            moved(agent.navigate(entry(argument)?.as_ref(), NavigateOptions::exact()).await?)
        }
        "pop" => moved(agent.pop_previous(NavigateOptions::default()).await?),
        "compact" => match agent.compact(CompactOptions::default()).await? {
            Compaction::Done(done) => {
                format!("{} tokens, now {}", done.tokens_before, done.tokens_after)
            }
            nothing => format!("{nothing:?}"),
        },
        "fork" => match agent.clone_session(&CancellationToken::new()).await? {
            Forked::Done { file: Some(file), .. } => format!("now in {}", file.display()),
            other => format!("{other:?}"),
        },
        "merge" => match agent.merge(entry(argument)?.as_ref(), MergeOptions::default()).await? {
            MergeOutcome::Done(merged) => merged.entry.text("summary").unwrap_or_default().into(),
            nothing => format!("{nothing:?}"),
        },
        "pick" => format!("{:?}", agent.cherry_pick(&Selection::entry(entry(argument)?))?),
        "drop" => format!("{:?}", session.drop_from_context([entry(argument)?])?),
        "label" => {
            let (id, text) = argument.split_once(' ').unwrap_or((argument, ""));
            agent.label(entry(id)?.as_ref(), Some(text))?.to_string()
        }
        "cost" => {
            let usage = session.stats()?.usage;
            format!("{} tokens in {} requests", usage.total(), usage.requests)
        }
        other => format!("there is no /{other}, but {COMMANDS}"),
    })
}

fn moved(navigation: Navigation) -> String {
    match navigation {
        Navigation::Moved(moved) => {
            let leaf = moved.new_leaf.map_or("the beginning".into(), |leaf| leaf.to_string());
            format!("now at {leaf}\n{}", moved.editor_text.unwrap_or_default())
        }
        nothing => format!("{nothing:?}"),
    }
}

/// Runs a command of the user; the model sees it with the next question.
async fn shell(agent: &AgentSession, command: &str) -> Outcome<String> {
    let never = CancellationToken::new();
    Ok(agent.run_shell(command, ShellContext::Included, None, &never).await?.output)
}

/// Asks the model, and prints the answer as it arrives. Without a question, the model is asked again for
/// an answer that failed or was stopped.
async fn ask(
    agent: &AgentSession,
    model: &dyn ChatModel,
    question: Option<&str>,
) -> Outcome<String> {
    let on_delta: OnDelta = Box::new(|delta| {
        match delta {
            Delta::Text(text) => print!("{text}"),
            Delta::Restart => println!("\n(the answer is lost and begins again)"),
            Delta::Retry(notice) => println!("({notice})"),
            _ => {}
        }
        let _ = std::io::stdout().flush();
    });
    let never = CancellationToken::new();
    let turn = match question {
        Some(question) => agent.prompt(model, question, Some(on_delta), &never).await?,
        None => agent.continue_turn(model, Some(on_delta), &never).await?,
    };
    Ok(match turn.end {
        TurnEnd::Complete => String::new(),
        end => format!("\n({end})"),
    })
}
