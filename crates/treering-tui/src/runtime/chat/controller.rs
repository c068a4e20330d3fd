//! Carries out the effects of the chat. One task runs at a time; commands that change nothing run
//! concurrently.

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
use std::pin::Pin;
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
use treering_display::preview_line::{Calls, PreviewLine};
use treering_display::text::safe_line;

/// The number of entries above a result among which its call is searched.
const CALL_WITHIN: usize = 64;
/// The largest number of rounds in which missing blocks are rendered.
const ROUNDS: usize = 256;
/// The time that a running task gets to end when the chat is left.
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

    /// Polls the file now, instead of waiting for the next interval.
    #[cfg(test)]
    pub(super) fn poll_file(&self) {
        self.watcher.poll_file();
    }

    /// Aborts the running task and waits for its end.
    pub(super) fn close(&mut self) {
        let Some((task, cancel)) = self.task.take() else { return };
        cancel.cancel();
        self.watcher.agent.abort();
        // A task that does not end in time is abandoned.
        let _ = self.runtime.block_on(async { tokio::time::timeout(CLOSE_TIMEOUT, task).await });
    }

    /// Starts a task, and sends its progress to the screen.
    fn begin(
        &mut self,
        what: &str,
        heading: Option<(StreamKind, String)>,
        cancel: CancellationToken,
        job: impl Future<Output = CommandReply> + Send + 'static,
    ) {
        self.begin_boxed(what, heading, cancel, Box::pin(job));
    }

    fn begin_boxed(
        &mut self,
        what: &str,
        heading: Option<(StreamKind, String)>,
        cancel: CancellationToken,
        job: Pin<Box<dyn Future<Output = CommandReply> + Send>>,
    ) {
        let watcher = self.watcher.clone();
        watcher.send(ChatEvent::TaskStarted(what.to_owned(), heading));
        // The job runs as a separate task, so that a panic ends the job and not the chat.
        let job = self.runtime.spawn(job);
        let what = what.to_owned();
        let job = async move {
            job.await.unwrap_or_else(|died| {
                let why = format!("{what} ended unexpectedly ({died}); ↑ restores your text");
                CommandReply::failure(why)
            })
        };
        let task = self.runtime.spawn(async move {
            let reply = watch(&watcher, job).await;
            let watcher = Arc::new(watcher);
            let looks = Arc::clone(&watcher);
            // The entries are sent before the end, so that the streamed text does not disappear in
            // between.
            let _ = tokio::task::spawn_blocking(move || looks.check()).await;
            reply.events.into_iter().for_each(|event| watcher.send(event));
            watcher.send(ChatEvent::TaskFinished(reply.notice));
        });
        self.task = Some((task, cancel));
    }

    fn send_message(&mut self, text: String) {
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
                // Retries are reported by an event, also for summaries.
                _ => return,
            }));
        });
        let heading = (StreamKind::Answer, format!("● {}", model.model()));
        self.begin("answering", Some(heading), cancel, async move {
            if let Some(why) = move_to_copy(&agent, &stop).await {
                return CommandReply::event(ChatEvent::SendFailed(text, why));
            }
            match agent.prompt(&*model, &text, Some(on_delta), &stop).await {
                Ok(turn) => match turn.end {
                    TurnEnd::Complete => CommandReply::default(),
                    TurnEnd::Length => {
                        CommandReply::failure("the answer was cut off at the output limit")
                    }
                    TurnEnd::Aborted => CommandReply::notice("aborted; the partial answer is kept"),
                    other => CommandReply::failure(other.to_string()),
                },
                // Nothing was sent, so the text returns to the editor.
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
        self.begin(status_text(&command), None, cancel, async move {
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

/// Replaces a read-only session by a copy. Returns the reason if that failed.
async fn move_to_copy(agent: &AgentSession, cancel: &CancellationToken) -> Option<String> {
    read_only(&agent.session())?;
    match agent.clone_session(cancel).await {
        Ok(Forked::Done { .. }) => None,
        Ok(Forked::Aborted) => Some("aborted; no copy was made".to_owned()),
        Ok(Forked::Canceled { hook }) => Some(format!("{hook} canceled it; no copy was made")),
        Err(error) => Some(format!("no copy was made: {}", safe_line(&error.to_string()))),
    }
}

/// Waits for a job, and sends its duration and its streamed text to the screen.
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
            Ok(event) = events.recv() => match event {
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

/// Shows the result of a command that changes nothing.
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
                format!("model: {model}; /model NAME changes it")
            });
            return watcher.send(ChatEvent::Notice(Notice::new(text)));
        }
        ChatCommand::Thinking(_) => {
            let level = session.projection().map(|projection| projection.thinking_level.clone());
            let text = format!("thinking: {}", level.unwrap_or_default());
            return watcher.send(ChatEvent::Notice(Notice::new(text)));
        }
        _ => {
            let name = session
                .name()
                .unwrap_or_else(|| "the session has no name; /name TEXT sets one".to_owned());
            return watcher.send(ChatEvent::Notice(Notice::new(name)));
        }
    };
    watcher.send(match page {
        (title, Ok(page)) => ChatEvent::Overlay(title.to_owned(), page),
        (_, Err(error)) => ChatEvent::Notice(Notice::failure(error.to_string())),
    });
}

/// Returns the text of the status line while a command runs.
fn status_text(command: &ChatCommand) -> &'static str {
    match command {
        ChatCommand::Compact(_) => "compacting",
        ChatCommand::Merge { .. } | ChatCommand::CherryPick(_) => "merging",
        ChatCommand::ExportBranch(..) => "writing",
        ChatCommand::Branch(_) | ChatCommand::Fork(_) | ChatCommand::Clone => "forking",
        ChatCommand::BranchHere(..) | ChatCommand::Switch(_) | ChatCommand::Pop(_) => "navigating",
        _ => "working",
    }
}

/// Returns the text about a retry: delay, attempt and reason.
fn retrying(notice: &RetryNotice) -> String {
    let RetryNotice { attempt, attempts, reason, wait, .. } = notice;
    let seconds = wait.as_secs_f64().ceil();
    format!("retrying in {seconds} s ({attempt}/{attempts}): {reason}")
}

/// Returns an error with a hint for the chat.
fn explained(error: &AgentError) -> String {
    let hint = match error {
        AgentError::Session(treering::Error::UnknownEntry(_)) => {
            "; name an entry by its id, a label, or a number from /branches"
        }
        AgentError::Session(treering::Error::ReadOnlyDialect(_)) => "; /clone continues in a copy",
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
            ChatEffect::Send(text) => self.send_message(text),
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
