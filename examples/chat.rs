//! A small chat over an OpenAI-compatible server, with everything a session tree gives an agent.
//!
//! ```sh
//! OPENAI_BASE_URL=http://localhost:11434 TREERING_MODEL=qwen3:14b \
//!     cargo run -p treering-agent --example chat -- chat.jsonl
//! ```
//!
//! Lines are said to the model; `/tree`, `/goto ID`, `/pop`, `/compact`, `/fork`, `/merge ID`, `/cost` and
//! `/quit` do what they say. Ctrl-C stops an answer, which is kept as far as it came.

use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use treering::{Message, NewEntry, Session};
use treering_agent::*;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Looks on: what handlers can do is in the documentation of `Hooks`.
struct Announce;

impl Hooks for Announce {
    fn session_compact<'a>(&'a self, event: &'a Compact) -> HookFuture<'a, ()> {
        Box::pin(async move {
            println!("(compacted: {})", event.entry.id());
            Ok(())
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let path = std::env::args().nth(1).unwrap_or_else(|| "chat.jsonl".into());
    let session = match std::path::Path::new(&path).exists() {
        true => Session::open(&path)?,
        false => Session::create_at(&path, std::env::current_dir()?, Default::default())?,
    };
    let config = SummarizerConfig { provider: Some(Provider::OpenAi), ..Default::default() };
    let config = config.with_environment(Some(Provider::OpenAi))?;
    let model = config.build_chat()?;
    let settings =
        AgentSettings { context_window: model.context_window(), ..AgentSettings::default() };
    let agent = AgentSession::new(session)
        .with_settings(settings)
        .with_summarizer(config.build()?)
        .with_hooks("announce", Arc::new(Announce));
    agent.start().await;

    let mut lines = std::io::stdin().lock().lines();
    loop {
        print!("> ");
        std::io::stdout().flush()?;
        let Some(line) = lines.next().transpose()? else { break };
        let (command, argument) = line.split_once(' ').unwrap_or((&line, ""));
        let done = match command {
            "" => Ok(()),
            "/quit" => break,
            "/tree" => show(&agent),
            "/goto" => moved(agent.navigate(argument, Default::default()).await),
            "/pop" => moved(agent.pop(None, Default::default()).await),
            "/compact" => compacted(agent.compact(Default::default()).await),
            "/merge" => merged(agent.merge(argument, Default::default()).await),
            "/fork" => {
                let forked = agent.clone_session(&CancellationToken::new()).await;
                forked.map(|forked| println!("{forked:?}")).map_err(Into::into)
            }
            "/cost" => cost(&agent),
            _ => ask(&agent, &*model, &line).await,
        };
        if let Err(error) = done {
            println!("{error}");
        }
    }
    agent.shutdown().await;
    Ok(())
}

/// One turn: the question is written down before the model is asked, the answer as far as it came.
async fn ask(agent: &AgentSession, model: &dyn ChatModel, question: &str) -> Outcome {
    agent.check(&CancellationToken::new()).await?;
    let session = agent.session();
    session.append(Message::user(question))?;

    let turn = agent.begin_turn()?;
    let said = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&said);
    let mut request = ChatRequest::of(&session.context()?);
    request.on_delta = Some(Box::new(move |delta| {
        let mut heard = heard.lock().unwrap_or_else(|broken| broken.into_inner());
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
    println!();
    let (text, stop) = match &answered {
        Ok(answer) => (answer.text.clone(), "stop"),
        Err(SummaryError::Cancelled) => (said.lock().map(|said| said.clone())?, "aborted"),
        Err(SummaryError::Length) => (said.lock().map(|said| said.clone())?, "length"),
        Err(_) => (said.lock().map(|said| said.clone())?, "error"),
    };
    let usage = answered.as_ref().ok().and_then(|answer| answer.usage).unwrap_or_default();
    let usage: serde_json::Value = serde_json::from_slice(&usage.to_json())?;
    let message = serde_json::json!({
        "role": "assistant", "content": [{ "type": "text", "text": text }],
        "api": "openai-completions", "provider": model.provider(), "model": model.model(),
        "usage": usage, "stopReason": stop,
        "errorMessage": answered.as_ref().err().map(ToString::to_string),
    });
    session.append(NewEntry::message(message.to_string().as_bytes())?)?;
    drop(turn);
    agent.check(&CancellationToken::new()).await?;
    Ok(())
}

fn show(agent: &AgentSession) -> Outcome {
    for branch in agent.branches()? {
        let mark = if branch.is_active { '•' } else { ' ' };
        println!("{mark} {}  {} messages of its own", branch.leaf, branch.own_messages);
    }
    Ok(())
}

fn moved(navigation: Result<Navigation, AgentError>) -> Outcome {
    if let Navigation::Moved(moved) = navigation? {
        println!("at {:?}; {}", moved.new_leaf, moved.editor_text.unwrap_or_default());
    }
    Ok(())
}

fn compacted(compaction: Result<Compaction, AgentError>) -> Outcome {
    match compaction? {
        Compaction::Done(done) => {
            println!("{} tokens before, {} now", done.tokens_before, done.tokens_after);
        }
        nothing => println!("{nothing:?}"),
    }
    Ok(())
}

fn merged(merge: Result<MergeOutcome, AgentError>) -> Outcome {
    if let MergeOutcome::Done(merged) = merge? {
        println!("{}", merged.entry.text("summary").unwrap_or_default());
    }
    Ok(())
}
