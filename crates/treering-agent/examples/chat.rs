//! A small chat over an OpenAI-compatible server, with everything a session tree gives an agent.
//!
//! ```sh
//! OPENAI_BASE_URL=http://localhost:11434 TREERING_MODEL=qwen3:14b \
//!     cargo run -p treering-agent --example chat -- chat.jsonl
//! ```
//!
//! Lines are sent to the model, `!command` runs a command; `/branches`, `/goto ID`, `/switch ID`,
//! `/pop`, `/compact`, `/fork`, `/merge ID`, `/pick ID`, `/drop ID`, `/label ID TEXT`, `/cost` and
//! `/quit` do what they say. Ctrl-C stops an answer, which is kept as far as it came.
#![allow(clippy::print_stdout, reason = "it is a program to talk to")]

use std::io::{BufRead, Write};
use std::sync::Arc;
use treering::Session;
use treering::merge::Selection;
use treering::usage::Branch;
use treering_agent::*;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Takes part: says when the context was compacted.
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
async fn main() -> Outcome {
    let path = std::env::args().nth(1).unwrap_or_else(|| "chat.jsonl".into());
    let session = Session::open_or_create(&path, std::env::current_dir()?, Default::default())?;
    // Address, key and model come from the environment; summaries are by the same model.
    let config = SummarizerConfig::default().with_environment(Some(Provider::OpenAi))?;
    let model = config.build_chat()?;
    let settings = AgentSettings::new().context_window(model.context_window());
    let agent = AgentSession::new(session)
        .with_settings(settings)
        .with_summarizer(config.build()?)
        .with_hooks("announce", Arc::new(Announce));
    agent.start().await;

    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let done = match line.strip_prefix('/') {
            _ if line.trim().is_empty() => Ok(String::new()),
            Some("quit") => break,
            Some(command) => run(&agent, command).await,
            None => match line.strip_prefix('!') {
                Some(command) => shell(&agent, command).await,
                None => ask(&agent, &*model, &line).await,
            },
        };
        println!("{}", done.unwrap_or_else(|error| error.to_string()));
    }
    agent.shutdown().await;
    Ok(())
}

/// Returns a command: moves in the tree, or brings something from elsewhere in it.
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
        "fork" => format!("{:?}", agent.clone_session(&CancellationToken::new()).await?),
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
        "cost" => format!("{:?}", session.stats()?.usage),
        other => format!("there is no /{other}"),
    })
}

fn moved(navigation: Navigation) -> String {
    match navigation {
        Navigation::Moved(moved) => {
            format!("now at {:?}\n{}", moved.new_leaf, moved.editor_text.unwrap_or_default())
        }
        nothing => format!("{nothing:?}"),
    }
}

/// Returns a command of the user's; the model sees it with the next question.
async fn shell(agent: &AgentSession, command: &str) -> Outcome<String> {
    let never = CancellationToken::new();
    Ok(agent.run_shell(command, ShellContext::Included, None, &never).await?.output)
}

/// Returns a turn: the answer is printed as it comes. Ctrl-C stops it.
async fn ask(agent: &AgentSession, model: &dyn ChatModel, question: &str) -> Outcome<String> {
    let cancel = CancellationToken::new();
    let on_delta: OnDelta = Box::new(|delta| {
        if let Delta::Text(text) = delta {
            print!("{text}");
            let _ = std::io::stdout().flush();
        }
    });
    let turn = agent.prompt(model, question, Some(on_delta), &cancel);
    tokio::pin!(turn);
    let answer = tokio::select! {
        answer = &mut turn => answer?,
        _ = tokio::signal::ctrl_c() => {
            cancel.cancel();
            turn.await?
        }
    };
    Ok(match answer.end {
        TurnEnd::Failed(error) => error.to_string(),
        TurnEnd::Aborted => "(stopped)".to_owned(),
        _ => String::new(),
    })
}
