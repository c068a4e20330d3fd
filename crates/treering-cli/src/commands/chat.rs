//! `treering chat`

use crate::agent::provider;
use crate::amounts::json_usage;
use crate::config::Config;
use crate::error::Failure;
use crate::interface::{self, FirstScreen};
use crate::models::Models;
use crate::output::{self, Output, json_string, json_string_or_null};
use crate::session_arg::SessionArg;
use crate::text::{safe_line, safe_lines, shell_word};
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::Arc;
use treering::{CreateOptions, Session};
use treering_agent::{
    AgentError, AgentSession, CancellationToken, ChatModel, Delta, OnDelta, Provider, TurnEnd,
    TurnReport,
};

/// Chat with a model, and store the conversation in a session
///
/// With `-p`, or with a prompt on standard input, the command prints the answer and exits. Prompt and
/// answer are appended to the session, or to a new one in treering's own directory if none is given.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session to continue; a new one if not given
    pub(crate) session: Option<SessionArg>,
    /// Send this prompt, print the answer, and exit; standard input is appended to the prompt
    #[arg(short, long, value_name = "PROMPT")]
    print: Option<String>,
    /// The name of the model; the configured one if not given
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The provider of the model: anthropic or openai (any compatible server)
    #[arg(long, value_name = "NAME", value_parser = chat_provider)]
    provider: Option<Provider>,
    /// Create SESSION as a new file
    #[arg(long)]
    pub(crate) new: bool,
    /// One JSON object instead of the text: text, usage, model, session, entry
    #[arg(long)]
    json: bool,
}

/// Parses the name of a provider that can chat.
fn chat_provider(name: &str) -> Result<Provider, String> {
    let can_chat = |provider: &Provider| matches!(provider, Provider::Anthropic | Provider::OpenAi);
    let known = provider(name).ok().filter(can_chat);
    known.ok_or_else(|| "choose anthropic or openai".to_owned())
}

/// The longest prompt that is read from standard input.
const MAX_INPUT: u64 = 16 << 20;

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let prompt = prompt(args)?;
    if prompt.is_none() && args.json {
        return Err(Failure::Usage {
            what: "--json needs a prompt".to_owned(),
            hint: "give it with -p, or on standard input".to_owned(),
        });
    }
    let config = Config::load()?;
    let models = Models::new(&config, args.provider, args.model.clone());
    let session = session(args)?;
    let Some(prompt) = prompt else {
        let store = args.session.as_ref().and_then(SessionArg::store);
        let store = store.map(|(store, _)| Arc::clone(store));
        return interface::show(FirstScreen::Chat(session), config, models, store, out);
    };
    let hint = "`treering help summarizers` explains how to configure a model";
    let model = models.chosen();
    let model = model.map_err(|error| Failure::with_hint(error.to_string(), hint))?;
    print(args, &models.agent(session, &config), &*model, &prompt, out)
}

/// Returns the prompt that was given on the command line or on standard input.
fn prompt(args: &Args) -> Result<Option<String>, Failure> {
    let stdin = io::stdin();
    let mut piped = Vec::new();
    if !stdin.is_terminal() {
        let read = stdin.lock().take(MAX_INPUT + 1).read_to_end(&mut piped);
        read.map_err(|error| Failure::message(format!("cannot read standard input: {error}")))?;
    }
    if piped.len() as u64 > MAX_INPUT {
        return Err(Failure::message("the prompt on standard input is too long: 16 MiB at most"));
    }
    let piped = String::from_utf8_lossy(&piped);
    let parts = [args.print.as_deref().unwrap_or_default().trim(), piped.trim()];
    let prompt = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    match prompt.is_empty() {
        false => Ok(Some(prompt)),
        true if args.print.is_some() => Err(Failure::Usage {
            what: "the prompt is empty".to_owned(),
            hint: "give a text: `treering chat -p PROMPT`".to_owned(),
        }),
        true if stdin.is_terminal() && io::stdout().is_terminal() => Ok(None),
        true => Err(Failure::Usage {
            what: "chat needs a terminal or a prompt".to_owned(),
            hint: "`treering chat -p PROMPT` answers once; a prompt can also be piped".to_owned(),
        }),
    }
}

fn session(args: &Args) -> Result<Session, Failure> {
    match &args.session {
        Some(session) if args.new => {
            let (file, cwd) = (session.file()?, interface::current_dir()?);
            Ok(Session::create_at(file, cwd, CreateOptions::new())?)
        }
        Some(session) => interface::open(session),
        None => interface::begin(),
    }
}

/// Sends one message. The answer is printed as it arrives.
fn print(
    args: &Args,
    agent: &AgentSession,
    model: &dyn ChatModel,
    prompt: &str,
    out: &mut Output,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::message(format!("cannot start the runtime: {error}")))?;
    let mut printer = Printer {
        is_silent: args.json,
        is_safe: !io::stdout().is_terminal(),
        ends_line: true,
        written: Ok(()),
        out,
    };
    let outcome = runtime.block_on(async {
        agent.start().await;
        let outcome = run_turn(agent, model, prompt, &mut printer).await;
        agent.shutdown().await;
        outcome
    });
    let Printer { ends_line, written, .. } = printer;
    written?;
    let outcome = outcome.map_err(failure)?;
    if args.json && matches!(outcome.end, TurnEnd::Complete | TurnEnd::Length) {
        write_json(agent, &outcome, out)?;
    } else if !ends_line {
        out.write_all(b"\n")?;
    }
    out.finish()?;
    ended(agent, &outcome)
}

/// Runs a turn until it has ended, Ctrl-C is pressed, or the output is closed.
async fn run_turn(
    agent: &AgentSession,
    model: &dyn ChatModel,
    prompt: &str,
    printer: &mut Printer<'_>,
) -> Result<TurnReport, AgentError> {
    let cancel = CancellationToken::new();
    let (pieces, mut arriving) = tokio::sync::mpsc::unbounded_channel();
    let on_delta: OnDelta = Box::new(move |delta| {
        let piece = match delta {
            Delta::Text(text) => AnswerPiece::Text(text.to_owned()),
            Delta::Restart => AnswerPiece::Restart,
            Delta::Retry(notice) => AnswerPiece::Retry(notice.to_string()),
            // Thinking is recorded in the session but not printed.
            _ => return,
        };
        // If this fails, the receiver is gone.
        let _ = pieces.send(piece);
    });
    let turn = agent.prompt(model, prompt, Some(on_delta), &cancel);
    tokio::pin!(turn);
    let outcome = loop {
        tokio::select! {
            biased;
            Some(piece) = arriving.recv() => {
                printer.print(piece);
                if printer.written.is_err() {
                    cancel.cancel();
                }
            }
            outcome = &mut turn => break outcome,
            _ = tokio::signal::ctrl_c(), if !cancel.is_cancelled() => cancel.cancel(),
        }
    };
    while let Ok(piece) = arriving.try_recv() {
        printer.print(piece);
    }
    outcome
}

/// A piece of an answer.
enum AnswerPiece {
    Text(String),
    /// The answer begins again, and the text so far must be discarded.
    Restart,
    /// The model is asked again; the text has the reason and the pause.
    Retry(String),
}

/// Prints an answer as it arrives.
struct Printer<'a> {
    /// Whether the answer is printed as a whole at the end.
    is_silent: bool,
    /// Whether the output is not a terminal, so that control characters are harmless.
    is_safe: bool,
    ends_line: bool,
    written: io::Result<()>,
    out: &'a mut Output,
}

impl Printer<'_> {
    fn print(&mut self, piece: AnswerPiece) {
        match piece {
            AnswerPiece::Retry(why) => output::write_notice("warning", &safe_line(&why)),
            _ if self.is_silent || self.written.is_err() => {}
            AnswerPiece::Text(text) => {
                self.ends_line = text.ends_with('\n');
                let text = if self.is_safe { text } else { safe_lines(&text) };
                self.written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
            }
            AnswerPiece::Restart => {
                output::write_notice("warning", "the connection was lost: the answer begins again");
            }
        }
    }
}

fn failure(error: AgentError) -> Failure {
    match error {
        AgentError::Session(error) => error.into(),
        other => Failure::message(other.to_string()),
    }
}

/// Fails if the turn did not end well.
fn ended(agent: &AgentSession, outcome: &TurnReport) -> Result<(), Failure> {
    let file = agent.session().path().map_or("the session".to_owned(), |file| shell_word(&file));
    let kept = format!("the question and the partial answer are in {file}");
    match &outcome.end {
        TurnEnd::Complete => Ok(()),
        TurnEnd::Length => {
            output::write_notice(
                "warning",
                "the answer was cut off: it reached the maximum number of tokens",
            );
            Ok(())
        }
        TurnEnd::Aborted => Err(Failure::with_hint("stopped", kept)),
        TurnEnd::Failed(error) => Err(Failure::with_hint(error.to_string(), kept)),
        other => Err(Failure::with_hint(other.to_string(), kept)),
    }
}

fn write_json(agent: &AgentSession, outcome: &TurnReport, out: &mut Output) -> Result<(), Failure> {
    out.write_all(b"{\"text\":")?;
    json_string(out, &outcome.text)?;
    out.write_all(b",\"usage\":")?;
    match &outcome.usage {
        Some(usage) => json_usage(out, usage)?,
        None => out.write_all(b"null")?,
    }
    out.write_all(b",\"model\":")?;
    json_string(out, &outcome.model)?;
    out.write_all(b",\"session\":")?;
    let path = agent.session().path();
    json_string_or_null(out, path.as_deref().and_then(Path::to_str))?;
    out.write_all(b",\"entry\":")?;
    json_string(out, outcome.answer.as_str())?;
    Ok(out.write_all(b"}\n")?)
}
