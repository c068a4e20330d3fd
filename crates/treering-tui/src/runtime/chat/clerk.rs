//! Does what the screen wants done. One thing at a time that takes time; looking goes on beside it.

use super::commands::{self, Reply};
use super::teller::{Teller, full_name, read_only};
use super::{ChatSetup, Outcome, lists};
use crate::Notice;
use crate::chat::{Arrival, Block, Command, Effect, Event, Folding, Piece, State, block, update};
use crate::page::Page;
use crate::runtime::desk::Office;
use crate::runtime::keeper::KeeperHandle;
use crate::text::safe_line;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use treering::{EntryId, Role, Session};
use treering_agent::{
    AgentError, AgentSession, CancellationToken, Delta, Ending, Event as Told, Forked, OnDelta,
    OnOutput, RetryNotice, ShellContext, StreamDelta,
};
use treering_export::{Calls, Gist};

/// The call that a result answers is looked for so far above it.
const CALL_WITHIN: usize = 64;
/// Blocks are made in so many rounds at most: a few are enough for all but the oddest.
const ROUNDS: usize = 256;
/// What is going on is waited for so long when the chat is left.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Clerk {
    runtime: Handle,
    teller: Teller,
    calls: Calls,
    pub(super) keeper: KeeperHandle,
    task: Option<(JoinHandle<()>, CancellationToken)>,
    _followed: Sender<()>,
}

impl Clerk {
    pub(super) fn new(
        runtime: &Handle,
        agent: &Arc<AgentSession>,
        setup: &ChatSetup,
        events: Sender<Event>,
    ) -> Self {
        let teller = Teller::new(Arc::clone(agent), setup.models(), events);
        teller.look();
        let followed = teller.follow();
        let (runtime, calls, keeper) = (runtime.clone(), Calls::default(), KeeperHandle::default());
        Clerk { runtime, teller, calls, keeper, task: None, _followed: followed }
    }

    /// Takes in what others wrote, without waiting for the next look.
    #[cfg(test)]
    pub(super) fn take_in(&self) {
        self.teller.take_in();
    }

    /// Ends what is going on, and waits for that.
    pub(super) fn close(&mut self) {
        let Some((task, cancel)) = self.task.take() else { return };
        cancel.cancel();
        self.teller.agent.abort();
        // What does not end within this time is not worth waiting for.
        let _ = self.runtime.block_on(async { tokio::time::timeout(PATIENCE, task).await });
    }

    /// Begins something that takes time, and tells the screen how it goes.
    fn begin(
        &mut self,
        what: &str,
        heading: Option<(Arrival, String)>,
        cancel: CancellationToken,
        job: impl Future<Output = Reply> + Send + 'static,
    ) {
        let teller = self.teller.clone();
        teller.tell(Event::Began(what.to_owned(), heading));
        // On a task of its own: a panic ends the work, not the chat.
        let job = self.runtime.spawn(job);
        let what = what.to_owned();
        let job = async move {
            job.await.unwrap_or_else(|died| {
                let why = format!("{what} ended unexpectedly ({died}); ↑ brings your text back");
                Reply::failure(why)
            })
        };
        let task = self.runtime.spawn(async move {
            let reply = watch(&teller, job).await;
            let teller = Arc::new(teller);
            let looks = Arc::clone(&teller);
            // The entries come before the end: what has arrived does not vanish in between.
            let _ = tokio::task::spawn_blocking(move || looks.look()).await;
            reply.events.into_iter().for_each(|event| teller.tell(event));
            teller.tell(Event::Ended(reply.notice));
        });
        self.task = Some((task, cancel));
    }

    fn say(&mut self, text: String) {
        let Some(model) = self.teller.models.current() else {
            let why = "no model is configured".to_owned();
            return self.teller.tell(Event::Refused(text, why));
        };
        let cancel = CancellationToken::new();
        let (agent, stop) = (Arc::clone(&self.teller.agent), cancel.clone());
        let teller = self.teller.clone();
        let on_delta: OnDelta = Box::new(move |delta| {
            teller.tell(Event::Arrived(match delta {
                Delta::Text(text) => Piece::Text(text.to_owned()),
                Delta::Thinking(text) => Piece::Thinking(text.to_owned()),
                Delta::Restart => Piece::Restart,
                // Further attempts are told by an event, for summaries as well.
                _ => return,
            }));
        });
        let heading = (Arrival::Answer, format!("● {}", model.model()));
        self.begin("answering", Some(heading), cancel, async move {
            if let Some(why) = move_to_copy(&agent, &stop).await {
                return Reply::event(Event::Refused(text, why));
            }
            match agent.say(&*model, &text, Some(on_delta), &stop).await {
                Ok(said) => match said.ending {
                    Ending::Whole => Reply::default(),
                    Ending::Cut => Reply::failure("the answer reached the longest allowed"),
                    Ending::Aborted => Reply::notice("stopped: what had come is kept"),
                    Ending::Failed(error) => Reply::failure(error.to_string()),
                },
                // Nothing was said: it is still to be said.
                Err(error) => Reply::event(Event::Refused(text, explained(&error))),
            }
        });
    }

    fn shell(&mut self, command: String, in_context: bool) {
        let cancel = CancellationToken::new();
        let (agent, stop) = (Arc::clone(&self.teller.agent), cancel.clone());
        let teller = self.teller.clone();
        let on_output: OnOutput =
            Box::new(move |text| teller.tell(Event::Arrived(Piece::Text(text.to_owned()))));
        let context = if in_context { ShellContext::Included } else { ShellContext::Excluded };
        let heading = (Arrival::Output, format!("$ {command}"));
        self.begin("running", Some(heading), cancel, async move {
            let mark = if in_context { "!" } else { "!!" };
            if let Some(why) = move_to_copy(&agent, &stop).await {
                return Reply::event(Event::Refused(format!("{mark}{command}"), why));
            }
            match agent.run_shell(&command, context, Some(on_output), &stop).await {
                Ok(_) => Reply::default(),
                Err(error) => {
                    Reply::event(Event::Refused(format!("{mark}{command}"), explained(&error)))
                }
            }
        });
    }

    fn run(&mut self, command: Command) {
        if command.only_looks() || matches!(command, Command::Branch(None) | Command::Fork(None)) {
            let teller = self.teller.clone();
            self.runtime.spawn_blocking(move || show(&teller, &command));
            return;
        }
        let cancel = CancellationToken::new();
        let (teller, stop) = (self.teller.clone(), cancel.clone());
        self.begin(doing(&command), None, cancel, async move {
            match commands::run(&teller, command, &stop).await {
                Ok(reply) => reply,
                Err(error) => Reply::failure(explained(&error)),
            }
        });
    }

    fn blocks(
        &mut self,
        wanted: &[EntryId],
        (width, folding): (usize, Folding),
    ) -> Vec<(EntryId, Block)> {
        let session = self.teller.agent.session();
        let tree = session.tree();
        let mut reader = session.reader();
        let mut blocks = Vec::with_capacity(wanted.len());
        for id in wanted {
            if matches!(tree.role(id.as_str()), Ok(Some(Role::ToolResult))) {
                self.learn_calls(&session, id);
            }
            let made = match reader.entry(id.as_str()) {
                Ok(entry) => {
                    let label = tree.label(id.as_str());
                    block(&entry, label, &mut self.calls, folding, width)
                }
                Err(error) => Page::of_failure(&error.to_string()).wrapped(width).lines.into(),
            };
            blocks.push((id.clone(), made));
        }
        blocks
    }

    /// Reads the calls of the answer above a result.
    fn learn_calls(&mut self, session: &Session, result: &EntryId) {
        let tree = session.tree();
        let above = |id: &EntryId| tree.parent(id.as_str()).ok().flatten();
        let mut ancestors = std::iter::successors(above(result), above).take(CALL_WITHIN);
        let is_answer = |id: &EntryId| matches!(tree.role(id.as_str()), Ok(Some(Role::Assistant)));
        if let Some(answer) = ancestors.find(is_answer)
            && let Ok(entry) = session.entry(answer.as_str())
        {
            Gist::read(&entry, &mut self.calls);
        }
    }
}

/// Puts a copy in the place of a session that cannot be written to. Returns why that failed, if it did.
async fn move_to_copy(agent: &AgentSession, cancel: &CancellationToken) -> Option<String> {
    read_only(&agent.session())?;
    match agent.clone_session(cancel).await {
        Ok(Forked::Done { .. }) => None,
        Ok(Forked::Aborted) => Some("stopped: no copy was made".to_owned()),
        Ok(Forked::Cancelled { hook }) => Some(format!("{hook} said no: no copy was made")),
        Err(error) => Some(format!("no copy was made: {}", safe_line(&error.to_string()))),
    }
}

/// Waits for something, and tells the screen how long it takes and what arrives.
async fn watch(teller: &Teller, job: impl Future<Output = Reply>) -> Reply {
    let began = tokio::time::Instant::now();
    let second = Duration::from_secs(1);
    let mut ticks = tokio::time::interval_at(began + second, second);
    let (mut events, mut deltas) = (teller.agent.subscribe(), teller.agent.subscribe_deltas());
    tokio::pin!(job);
    loop {
        tokio::select! {
            biased;
            reply = &mut job => return reply,
            _ = ticks.tick() => teller.tell(Event::Elapsed(began.elapsed().as_secs())),
            Ok(delta) = deltas.recv() => match delta {
                StreamDelta::SummaryText(text) => {
                    teller.tell(Event::Arrived(Piece::Unseen(text.chars().count())));
                }
                StreamDelta::SummaryRestarted => teller.tell(Event::Arrived(Piece::Restart)),
                _ => {}
            },
            Ok(told) = events.recv() => match told {
                Told::AutoRetry(notice) => {
                    teller.tell(Event::Retrying(retrying(&notice)));
                }
                Told::SessionCompact(_) => {
                    teller.tell(Event::Notice(Notice::new("older context was compacted")));
                }
                Told::SessionCompactFailed(failed) if !failed.aborted => {
                    let why = format!("the context could not be compacted: {}", failed.error);
                    teller.tell(Event::Notice(Notice::failure(why)));
                }
                Told::HookFailed { hook, error, .. } => {
                    let why = format!("{hook}: {error}");
                    teller.tell(Event::Notice(Notice::failure(why)));
                }
                _ => {}
            },
        }
    }
}

/// Shows what a command that only looks is about.
fn show(teller: &Teller, command: &Command) {
    let session = teller.agent.session();
    let page = match command {
        Command::Branch(_) | Command::Fork(_) => {
            return teller.tell(Event::Select(lists::user_messages(&session)));
        }
        Command::Branches => ("branches", lists::branches(&session, &teller.numbers)),
        Command::Context => ("context", lists::context(&session)),
        Command::Cost => ("cost", lists::costs(&session)),
        Command::Model(_) => {
            let model = teller.models.current().map(|model| full_name(&*model));
            let text = model.map_or("no model is configured".to_owned(), |model| {
                format!("{model} answers; /model NAME takes another")
            });
            return teller.tell(Event::Notice(Notice::new(text)));
        }
        Command::Thinking(_) => {
            let level = session.projection().map(|projection| projection.thinking_level.clone());
            let text = format!("thinking: {}", level.unwrap_or_default());
            return teller.tell(Event::Notice(Notice::new(text)));
        }
        _ => {
            let name = session.name().unwrap_or_else(|| "the session has no name".to_owned());
            return teller.tell(Event::Notice(Notice::new(name)));
        }
    };
    teller.tell(match page {
        (title, Ok(page)) => Event::Sheet(title.to_owned(), page),
        (_, Err(error)) => Event::Notice(Notice::failure(error.to_string())),
    });
}

/// What the status line says while a command runs.
fn doing(command: &Command) -> &'static str {
    match command {
        Command::Compact(_) => "compacting",
        Command::Merge { .. } | Command::CherryPick(_) => "bringing it here",
        Command::ExportBranch(..) => "writing",
        Command::Branch(_) | Command::Fork(_) | Command::Clone => "forking",
        Command::BranchHere(..) | Command::Switch(_) | Command::Pop(_) => "going there",
        _ => "working",
    }
}

/// Says when a request is sent again, which attempt that is, and why.
fn retrying(notice: &RetryNotice) -> String {
    let RetryNotice { attempt, attempts, reason, wait } = notice;
    let seconds = wait.as_secs_f64().ceil();
    format!("retrying in {seconds} s ({attempt}/{attempts}): {reason}")
}

/// An error, and what to do about it here.
fn explained(error: &AgentError) -> String {
    let hint = match error {
        AgentError::Session(treering::Error::UnknownEntry(_)) => {
            ": a place is an id, a label, or a number from /branches"
        }
        AgentError::Session(treering::Error::ReadOnlyDialect(_)) => "; /clone goes on in a copy",
        _ => "",
    };
    format!("{}{hint}", safe_line(&error.to_string()))
}

impl Office<State> for Clerk {
    type Outcome = Outcome;

    fn prepare(&mut self, mut state: State) -> State {
        self.keeper.keep(state.unsent());
        for _ in 0..ROUNDS {
            state.settle();
            if state.wanted().is_empty() {
                break;
            }
            let shape = state.block_shape();
            let blocks = self.blocks(state.wanted(), shape);
            (state, _) = update(state, Event::Blocks(shape, blocks));
        }
        state
    }

    fn perform(&mut self, effect: Effect, state: &State) -> Option<Outcome> {
        match effect {
            Effect::Leave(left) => {
                self.close();
                return Some(Outcome { left, unsent: state.unsent() });
            }
            Effect::Say(text) => self.say(text),
            Effect::Shell { command, in_context } => self.shell(command, in_context),
            Effect::Run(command) => self.run(command),
            Effect::Abort => {
                if let Some((_, cancel)) = &self.task {
                    cancel.cancel();
                }
                self.teller.agent.abort();
            }
        }
        None
    }
}
