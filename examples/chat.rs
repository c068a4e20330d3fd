//! A small chat over an OpenAI-compatible server, with everything a session tree gives an agent.
//!
//! ```sh
//! OPENAI_BASE_URL=http://localhost:11434 TREERING_MODEL=qwen3:14b \
//!     cargo run -p treering-agent --example chat -- chat.jsonl
//! ```
//!
//! Lines are said to the model; `/branches`, `/goto ID`, `/switch ID`, `/pop`, `/compact`, `/fork`,
//! `/merge ID`, `/pick ID`, `/drop ID`, `/label ID TEXT`, `/cost` and `/quit` do what they say. Ctrl-C stops an
//! answer, which is kept as far as it came.
#![allow(clippy::print_stdout, reason = "it is a program to talk to")]

use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};
use treering::{Branch, Message, NewEntry, Selection, Session};
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
    let session = match std::fs::exists(&path)? {
        true => Session::open(&path)?,
        false => Session::create_at(&path, std::env::current_dir()?, Default::default())?,
    };
    // Address, key and model come from the environment; summaries are by the same model.
    let config = SummarizerConfig::default().with_environment(Some(Provider::OpenAi))?;
    let model = config.build_chat()?;
    let settings =
        AgentSettings { context_window: model.context_window(), ..AgentSettings::default() };
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
            None => ask(&agent, &*model, &line).await,
        };
        println!("{}", done.unwrap_or_else(|error| error.to_string()));
    }
    agent.shutdown().await;
    Ok(())
}

/// A command: moves in the tree, or brings something from elsewhere in it.
async fn run(agent: &AgentSession, command: &str) -> Outcome<String> {
    let session = agent.session();
    let (name, argument) = command.split_once(' ').unwrap_or((command, ""));
    Ok(match name {
        "branches" => {
            let line = |branch: &Branch| format!("{} {} entries", branch.leaf, branch.entries);
            agent.branches()?.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        "goto" => moved(agent.navigate(argument, NavigateOptions::default()).await?),
        "switch" => moved(agent.switch(argument).await?),
        "pop" => moved(agent.pop(None, NavigateOptions::default()).await?),
        "compact" => match agent.compact(CompactOptions::default()).await? {
            Compaction::Done(done) => {
                format!("{} tokens, now {}", done.tokens_before, done.tokens_after)
            }
            nothing => format!("{nothing:?}"),
        },
        "fork" => format!("{:?}", agent.clone_session(&CancellationToken::new()).await?),
        "merge" => match agent.merge(argument, MergeOptions::default()).await? {
            MergeOutcome::Done(merged) => merged.entry.text("summary").unwrap_or_default().into(),
            nothing => format!("{nothing:?}"),
        },
        "pick" => format!("{:?}", agent.cherry_pick(&Selection::entry(argument))?),
        "drop" => format!("{:?}", session.drop_from_context(&[argument])?),
        "label" => {
            let (entry, text) = argument.split_once(' ').unwrap_or((argument, ""));
            agent.label(entry, Some(text))?.to_string()
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

/// A turn: the question is written down before the model is asked, the answer as far as it came.
async fn ask(agent: &AgentSession, model: &dyn ChatModel, question: &str) -> Outcome<String> {
    agent.check(&CancellationToken::new()).await?;
    let session = agent.session();
    session.append(Message::user(question))?;

    let turn = agent.begin_turn()?;
    let heard = Arc::new(Mutex::new(String::new()));
    let so_far = Arc::clone(&heard);
    let mut request = ChatRequest::of(&session.context()?);
    request.on_delta = Some(Box::new(move |delta| {
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        match delta {
            Delta::Text(text) => {
                heard.push_str(text);
                print!("{text}");
                let _ = std::io::stdout().flush();
            }
            Delta::Restart => heard.clear(),
        }
    }));
    let answered = tokio::select! {
        answered = model.answer(request, turn.cancelled()) => answered,
        _ = tokio::signal::ctrl_c() => Err(SummaryError::Cancelled),
    };
    let so_far = so_far.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (text, usage, stop) = match &answered {
        Ok(answer) => (answer.text.clone(), answer.usage.unwrap_or_default(), "stop"),
        Err(SummaryError::Cancelled) => (so_far, Usage::default(), "aborted"),
        Err(_) => (so_far, Usage::default(), "error"),
    };
    let message = serde_json::json!({
        "role": "assistant", "content": [{ "type": "text", "text": text }], "stopReason": stop,
        "api": "openai-completions", "provider": model.provider(), "model": model.model(),
        "usage": serde_json::from_slice::<serde_json::Value>(&usage.to_json())?,
        "errorMessage": answered.as_ref().err().map(ToString::to_string),
    });
    session.append(NewEntry::message(message.to_string().as_bytes())?)?;
    drop(turn);
    agent.check(&CancellationToken::new()).await?;
    Ok(answered.err().map(|error| error.to_string()).unwrap_or_default())
}
