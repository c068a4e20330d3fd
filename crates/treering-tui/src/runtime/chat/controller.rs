//! Does what the screen wants done. One thing at a time that takes time; looking goes on beside it.

use super::commands::{self, CommandReply};
use super::session_watcher::{SessionWatcher, full_name, read_only};
use super::{ChatOutcome, ChatSetup, lists};
use crate::Notice;
use crate::chat::{
    ChatCommand, ChatEffect, ChatEvent, ChatState, Folding, StreamChunk, StreamKind,
    TranscriptBlock, block, update,
};
use crate::page::Page;
use crate::runtime::draft_store::DraftStoreHandle;
use crate::runtime::runner::EffectHandler;
use crate::text::safe_line;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use treering::{EntryId, Role, Session};
use treering_agent::{
    AgentError, AgentSession, CancellationToken, Delta, Event as AgentEvent, Forked, OnDelta,
    OnOutput, RetryNotice, ShellContext, StreamDelta, TurnEnd,
};
use treering_export::{Calls, PreviewLine};

/// The call that a result answers is looked for so far above it.
const CALL_WITHIN: usize = 64;
/// Blocks are made in so many rounds at most: a few are enough for all but the oddest.
const ROUNDS: usize = 256;
/// What is going on is waited for so long when the chat is left.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct ChatController {
    runtime: Handle,
    watcher: SessionWatcher,
    calls: Calls,
    pub(super) draft_store: DraftStoreHandle,
    task: Option<(JoinHandle<()>, CancellationToken)>,
    _followed: Sender<()>,
}

impl ChatController {
    pub(super) fn new(
        runtime: &Handle,
        agent: &Arc<AgentSession>,
        setup: &ChatSetup,
        events: Sender<ChatEvent>,
    ) -> Self {
        let watcher = SessionWatcher::new(Arc::clone(agent), setup.models(), events);
        watcher.check();
        let followed = watcher.follow();
        let (runtime, calls, draft_store) =
            (runtime.clone(), Calls::default(), DraftStoreHandle::default());
        ChatController { runtime, watcher, calls, draft_store, task: None, _followed: followed }
    }

    /// ArgumentKind in what others wrote, without waiting for the next look.
    #[cfg(test)]
    pub(super) fn poll_file(&self) {
        self.watcher.poll_file();
    }

    /// Ends what is going on, and waits for that.
    pub(super) fn close(&mut self) {
        let Some((task, cancel)) = self.task.take() else { return };
        cancel.cancel();
        self.watcher.agent.abort();
        // What does not end within this time is not worth waiting for.
        let _ = self.runtime.block_on(async { tokio::time::timeout(CLOSE_TIMEOUT, task).await });
    }

    /// Begins something that takes time, and tells the screen how it goes.
    fn begin(
        &mut self,
        what: &str,
        heading: Option<(StreamKind, String)>,
        cancel: CancellationToken,
        job: impl Future<Output = CommandReply> + Send + 'static,
    ) {
        let watcher = self.watcher.clone();
        watcher.send(ChatEvent::TaskStarted(what.to_owned(), heading));
        // On a task of its own: a panic ends the work, not the chat.
        let job = self.runtime.spawn(job);
        let what = what.to_owned();
        let job = async move {
            job.await.unwrap_or_else(|died| {
                let why = format!("{what} ended unexpectedly ({died}); ↑ brings your text back");
                CommandReply::failure(why)
            })
        };
        let task = self.runtime.spawn(async move {
            let reply = watch(&watcher, job).await;
            let watcher = Arc::new(watcher);
            let looks = Arc::clone(&watcher);
            // The entries come before the end: what has arrived does not vanish in between.
            let _ = tokio::task::spawn_blocking(move || looks.check()).await;
            reply.events.into_iter().for_each(|event| watcher.send(event));
            watcher.send(ChatEvent::TaskFinished(reply.notice));
        });
        self.task = Some((task, cancel));
    }

    fn say(&mut self, text: String) {
        let Some(model) = self.watcher.models.current() else {
            let why = "no model is configured".to_owned();
            return self.watcher.send(ChatEvent::SendFailed(text, why));
        };
        let cancel = CancellationToken::new();
        let (agent, stop) = (Arc::clone(&self.watcher.agent), cancel.clone());
        let watcher = self.watcher.clone();
        let on_delta: OnDelta = Box::new(move |delta| {
            watcher.send(ChatEvent::Chunk(match delta {
                Delta::Text(text) => StreamChunk::Text(text.to_owned()),
                Delta::Thinking(text) => StreamChunk::Thinking(text.to_owned()),
                Delta::Restart => StreamChunk::Restart,
                // Further attempts are told by an event, for summaries as well.
                _ => return,
            }));
        });
        let heading = (StreamKind::Answer, format!("● {}", model.model()));
        self.begin("answering", Some(heading), cancel, async move {
            if let Some(why) = move_to_copy(&agent, &stop).await {
                return CommandReply::event(ChatEvent::SendFailed(text, why));
            }
            match agent.prompt(&*model, &text, Some(on_delta), &stop).await {
                Ok(said) => match said.end {
                    TurnEnd::Complete => CommandReply::default(),
                    TurnEnd::Length => {
                        CommandReply::failure("the answer reached the longest allowed")
                    }
                    TurnEnd::Aborted => CommandReply::notice("stopped: what had come is kept"),
                    other => CommandReply::failure(other.to_string()),
                },
                // Nothing was said: it is still to be said.
                Err(error) => CommandReply::event(ChatEvent::SendFailed(text, explained(&error))),
            }
        });
    }

    fn shell(&mut self, command: String, in_context: bool) {
        let cancel = CancellationToken::new();
        let (agent, stop) = (Arc::clone(&self.watcher.agent), cancel.clone());
        let watcher = self.watcher.clone();
        let on_output: OnOutput = Box::new(move |text| {
            watcher.send(ChatEvent::Chunk(StreamChunk::Text(text.to_owned())))
        });
        let context = if in_context { ShellContext::Included } else { ShellContext::Excluded };
        let heading = (StreamKind::Output, format!("$ {command}"));
        self.begin("running", Some(heading), cancel, async move {
            let mark = if in_context { "!" } else { "!!" };
            if let Some(why) = move_to_copy(&agent, &stop).await {
                return CommandReply::event(ChatEvent::SendFailed(format!("{mark}{command}"), why));
            }
            match agent.run_shell(&command, context, Some(on_output), &stop).await {
                Ok(_) => CommandReply::default(),
                Err(error) => CommandReply::event(ChatEvent::SendFailed(
                    format!("{mark}{command}"),
                    explained(&error),
                )),
            }
        });
    }

    fn run(&mut self, command: ChatCommand) {
        if command.is_read_only()
            || matches!(command, ChatCommand::Branch(None) | ChatCommand::Fork(None))
        {
            let watcher = self.watcher.clone();
            self.runtime.spawn_blocking(move || show(&watcher, &command));
            return;
        }
        let cancel = CancellationToken::new();
        let (watcher, stop) = (self.watcher.clone(), cancel.clone());
        self.begin(doing(&command), None, cancel, async move {
            match commands::run(&watcher, command, &stop).await {
                Ok(reply) => reply,
                Err(error) => CommandReply::failure(explained(&error)),
            }
        });
    }

    fn blocks(
        &mut self,
        wanted: &[EntryId],
        (width, folding): (usize, Folding),
    ) -> Vec<(EntryId, TranscriptBlock)> {
        let session = self.watcher.agent.session();
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
            PreviewLine::read(&entry, &mut self.calls);
        }
    }
}

/// Puts a copy in the place of a session that cannot be written to. Returns why that failed, if it did.
async fn move_to_copy(agent: &AgentSession, cancel: &CancellationToken) -> Option<String> {
    read_only(&agent.session())?;
    match agent.clone_session(cancel).await {
        Ok(Forked::Done { .. }) => None,
        Ok(Forked::Aborted) => Some("stopped: no copy was made".to_owned()),
        Ok(Forked::Canceled { hook }) => Some(format!("{hook} said no: no copy was made")),
        Err(error) => Some(format!("no copy was made: {}", safe_line(&error.to_string()))),
    }
}

/// Waits for something, and tells the screen how long it takes and what arrives.
async fn watch(watcher: &SessionWatcher, job: impl Future<Output = CommandReply>) -> CommandReply {
    let began = tokio::time::Instant::now();
    let second = Duration::from_secs(1);
    let mut ticks = tokio::time::interval_at(began + second, second);
    let (mut events, mut deltas) = (watcher.agent.subscribe(), watcher.agent.subscribe_deltas());
    tokio::pin!(job);
    loop {
        tokio::select! {
            biased;
            reply = &mut job => return reply,
            _ = ticks.tick() => watcher.send(ChatEvent::Elapsed(began.elapsed().as_secs())),
            Ok(delta) = deltas.recv() => match delta {
                StreamDelta::SummaryText(text) => {
                    watcher.send(ChatEvent::Chunk(StreamChunk::Unseen(text.chars().count())));
                }
                StreamDelta::SummaryRestarted => watcher.send(ChatEvent::Chunk(StreamChunk::Restart)),
                _ => {}
            },
            Ok(told) = events.recv() => match told {
                AgentEvent::AutoRetry(notice) => {
                    watcher.send(ChatEvent::Retrying(retrying(&notice)));
                }
                AgentEvent::SessionCompact(_) => {
                    watcher.send(ChatEvent::Notice(Notice::new("older context was compacted")));
                }
                AgentEvent::SessionCompactFailed(failed) if !failed.aborted => {
                    let why = format!("the context could not be compacted: {}", failed.error);
                    watcher.send(ChatEvent::Notice(Notice::failure(why)));
                }
                AgentEvent::HookFailed { hook, error, .. } => {
                    let why = format!("{hook}: {error}");
                    watcher.send(ChatEvent::Notice(Notice::failure(why)));
                }
                _ => {}
            },
        }
    }
}

/// Shows what a command that only looks is about.
fn show(watcher: &SessionWatcher, command: &ChatCommand) {
    let session = watcher.agent.session();
    let page = match command {
        ChatCommand::Branch(_) | ChatCommand::Fork(_) => {
            return watcher.send(ChatEvent::Select(lists::user_messages(&session)));
        }
        ChatCommand::Branches => ("branches", lists::branches(&session, &watcher.numbers)),
        ChatCommand::Context => ("context", lists::context(&session)),
        ChatCommand::Cost => ("cost", lists::costs(&session)),
        ChatCommand::Model(_) => {
            let model = watcher.models.current().map(|model| full_name(&*model));
            let text = model.map_or("no model is configured".to_owned(), |model| {
                format!("{model} answers; /model NAME takes another")
            });
            return watcher.send(ChatEvent::Notice(Notice::new(text)));
        }
        ChatCommand::Thinking(_) => {
            let level = session.projection().map(|projection| projection.thinking_level.clone());
            let text = format!("thinking: {}", level.unwrap_or_default());
            return watcher.send(ChatEvent::Notice(Notice::new(text)));
        }
        _ => {
            let name = session.name().unwrap_or_else(|| "the session has no name".to_owned());
            return watcher.send(ChatEvent::Notice(Notice::new(name)));
        }
    };
    watcher.send(match page {
        (title, Ok(page)) => ChatEvent::Overlay(title.to_owned(), page),
        (_, Err(error)) => ChatEvent::Notice(Notice::failure(error.to_string())),
    });
}

/// What the status line says while a command runs.
fn doing(command: &ChatCommand) -> &'static str {
    match command {
        ChatCommand::Compact(_) => "compacting",
        ChatCommand::Merge { .. } | ChatCommand::CherryPick(_) => "bringing it here",
        ChatCommand::ExportBranch(..) => "writing",
        ChatCommand::Branch(_) | ChatCommand::Fork(_) | ChatCommand::Clone => "forking",
        ChatCommand::BranchHere(..) | ChatCommand::Switch(_) | ChatCommand::Pop(_) => "going there",
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

impl EffectHandler<ChatState> for ChatController {
    type Outcome = ChatOutcome;

    fn prepare(&mut self, mut state: ChatState) -> ChatState {
        self.draft_store.keep(state.unsent());
        for _ in 0..ROUNDS {
            state.settle();
            if state.wanted().is_empty() {
                break;
            }
            let shape = state.block_shape();
            let blocks = self.blocks(state.wanted(), shape);
            (state, _) = update(state, ChatEvent::Blocks(shape, blocks));
        }
        state
    }

    fn perform(&mut self, effect: ChatEffect, state: &ChatState) -> Option<ChatOutcome> {
        match effect {
            ChatEffect::Exit(left) => {
                self.close();
                return Some(ChatOutcome { left, unsent: state.unsent() });
            }
            ChatEffect::Send(text) => self.say(text),
            ChatEffect::Shell { command, in_context } => self.shell(command, in_context),
            ChatEffect::Run(command) => self.run(command),
            ChatEffect::Abort => {
                if let Some((_, cancel)) = &self.task {
                    cancel.cancel();
                }
                self.watcher.agent.abort();
            }
        }
        None
    }
}
