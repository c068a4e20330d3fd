//! Runs commands that may ask a model: creates the summarizer, and waits for it.

use crate::config::Config;
use crate::error::Failure;
use crate::session_arg::SessionArg;
use crate::text::safe_line;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use treering::Session;
use treering_agent::{
    AgentError, AgentSession, CancellationToken, Event, ModelError, Provider, StreamDelta,
};

/// Options that choose the summarizer and steer its summary.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SummaryArgs {
    /// Additional instructions for the summarizer
    #[arg(long, value_name = "TEXT")]
    pub(crate) instructions: Option<String>,
    /// The summarizer: anthropic, openai (any compatible server), command, or extractive (no model)
    #[arg(long, value_name = "NAME", value_parser = provider)]
    pub(crate) summarizer: Option<Provider>,
}

pub(crate) fn provider(name: &str) -> Result<Provider, String> {
    Provider::parse(name)
        .ok_or_else(|| "choose anthropic, openai, command or extractive".to_owned())
}

/// Returns the session of `file`, ready for operations that summarize.
pub(crate) fn with_summarizer(
    file: &SessionArg,
    session: Session,
    summaries: &SummaryArgs,
) -> Result<AgentSession, Failure> {
    let config = Config::load()?;
    let session = file.agent(AgentSession::new(session));
    let session = session.with_settings(config.compaction.settings());
    let summarizer = config
        .summarizer
        .with_environment(summaries.summarizer)
        .and_then(|summarizer| summarizer.build());
    match summarizer {
        Ok(summarizer) => Ok(session.with_summarizer(summarizer)),
        Err(error) => Err(Failure::with_hint(
            error.to_string(),
            "`--summarizer extractive` needs no model; see `treering help summarizers`",
        )),
    }
}

/// Runs an operation to its end, or until Ctrl-C. Returns `None` if it was stopped; nothing has
/// changed then.
pub(crate) fn run<T>(
    agent: &AgentSession,
    operation: impl AsyncFnOnce(&CancellationToken) -> Result<T, AgentError>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::message(format!("cannot start the runtime: {error}")))?;
    let cancel = CancellationToken::new();
    let (mut events, mut deltas) = (agent.subscribe(), agent.subscribe_deltas());
    let mut waiting = SummaryProgress::new();
    let done = runtime.block_on(async {
        let work = operation(&cancel);
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                stopped = tokio::signal::ctrl_c(), if !cancel.is_cancelled() => {
                    if stopped.is_ok() {
                        cancel.cancel();
                    }
                }
                Ok(event) = events.recv() => waiting.event(&event),
                Ok(delta) = deltas.recv() => waiting.delta(&delta),
            }
        }
    });
    waiting.clear();
    done.map_err(failure)
}

/// Returns the failure of an operation that was stopped.
pub(crate) fn stopped() -> Failure {
    Failure::message("interrupted; nothing was changed")
}

/// Returns the failure of an operation that a handler canceled.
pub(crate) fn unwanted(hook: &str) -> Failure {
    Failure::message(format!("the handler {hook} refused; nothing was changed"))
}

fn failure(error: AgentError) -> Failure {
    match error {
        AgentError::Session(error) => error.into(),
        AgentError::Model(error @ ModelError::NotConfigured) => Failure::message(error.to_string()),
        AgentError::Model(error) => Failure::with_hint(
            error.to_string(),
            "nothing was changed; try again, or choose another `--summarizer`",
        ),
        other => Failure::message(other.to_string()),
    }
}

/// Shows on a terminal that a summary is being written.
struct SummaryProgress {
    terminal: bool,
    next: Instant,
    characters: usize,
    shown: bool,
}

impl SummaryProgress {
    fn new() -> Self {
        let terminal = io::stderr().is_terminal();
        SummaryProgress { terminal, next: Instant::now(), characters: 0, shown: false }
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::AutoRetry(notice) => {
                self.clear();
                crate::output::write_notice("warning", &safe_line(&notice.to_string()));
            }
            Event::HookFailed { hook, error, .. } => {
                crate::output::write_notice("warning", &safe_line(&format!("{hook}: {error}")));
            }
            _ => {}
        }
    }

    fn delta(&mut self, delta: &StreamDelta) {
        match delta {
            StreamDelta::SummaryText(text) => self.characters += text.chars().count(),
            StreamDelta::SummaryRestarted => self.characters = 0,
            _ => return,
        }
        if self.terminal && Instant::now() >= self.next {
            self.next = Instant::now() + Duration::from_millis(100);
            self.shown = true;
            let _ = write!(io::stderr(), "\rsummarizing … {} characters", self.characters);
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r{:40}\r", "");
        }
    }
}
