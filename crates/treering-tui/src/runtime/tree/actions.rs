//! Carries out the effects of the tree that change a session. All of them use the agent session, so
//! that hooks take part, and an aborted action has changed nothing.

use super::worker::TreeWorker;
use crate::runtime::clipboard;
use crate::runtime::open_session::{LeafHistory, OpenSession};
use crate::tree::{TreeEffect, TreeEvent};
use std::io::ErrorKind;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::broadcast;
use treering::compaction::CompactionSettings;
use treering::entry::Body;
use treering::merge::Selection;
use treering::session::Part;
use treering::{Entry, EntryId, Position, Role, Session};
use treering_agent::{
    AgentError, AgentSession, CancellationToken, CompactOptions, Compaction, ForkPosition, Forked,
    MergeOptions, MergeOutcome, NavigateOptions, Navigation, StreamDelta,
};
use treering_display::number::short_number;
use treering_display::tree::Outline;
use treering_export::{Existing, Export};

pub(super) struct SessionActions {
    open_session: OpenSession,
    worker: TreeWorker,
    /// Aborts the running action.
    cancel: CancellationToken,
}

/// The notice after an abort.
const STOPPED: &str = "interrupted; nothing was changed";

impl Drop for SessionActions {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl SessionActions {
    pub(super) fn new(open_session: &OpenSession, worker: TreeWorker) -> Self {
        SessionActions {
            open_session: open_session.clone(),
            worker,
            cancel: CancellationToken::new(),
        }
    }

    pub(super) fn compaction_settings(&self) -> CompactionSettings {
        self.open_session.agent.settings().compaction.clone()
    }

    pub(super) fn perform(&mut self, effect: TreeEffect) {
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        match effect {
            TreeEffect::Cancel => self.cancel.cancel(),
            TreeEffect::Label(id, label) => self.label(&id, label.as_deref()),
            TreeEffect::Copy(id) => self.copy(&id),
            TreeEffect::Export(id, file) => {
                self.start(stop, move |context| async move {
                    let session = context.agent.session();
                    let write = move || export(&session, &id, Path::new(&file));
                    match tokio::task::spawn_blocking(write).await {
                        Ok(Ok(notice)) => TreeEvent::Done(notice),
                        Ok(Err(why)) => TreeEvent::Failed(why),
                        Err(error) => TreeEvent::Failed(error.to_string()),
                    }
                });
            }
            TreeEffect::Navigate(id) => self.start(stop, move |context| async move {
                let options = NavigateOptions::new().cancel(cancel);
                match context.agent.navigate(&id, options).await {
                    Err(AgentError::Session(treering::Error::ReadOnlyDialect(_))) => {
                        TreeEvent::ReadOnly(id)
                    }
                    other => context.went(other),
                }
            }),
            TreeEffect::NavigateInCopy(id) => self.start(stop, move |context| async move {
                let session = context.agent.session();
                let is_user = matches!(session.tree().role(&id), Ok(Some(Role::User)));
                let position = if is_user { ForkPosition::Before } else { ForkPosition::At };
                match context.agent.fork(&id, position, &cancel).await {
                    Ok(Forked::Done { editor_text, .. }) => {
                        context.leaf_history.reset();
                        context.leaf_history.mark_own();
                        TreeEvent::Navigated(editor_text)
                    }
                    other => context.forked(other),
                }
            }),
            TreeEffect::NavigateWithSummary(id, custom_instructions) => {
                self.start(stop, move |context| async move {
                    let mut options = NavigateOptions::new().summarize(true).cancel(cancel);
                    options.custom_instructions = custom_instructions;
                    context.went(context.agent.navigate(&id, options).await)
                });
            }
            TreeEffect::MoveLeaf(id) => self.start(stop, move |context| async move {
                let options = NavigateOptions::exact().cancel(cancel);
                context.stayed(context.agent.navigate(&id, options).await)
            }),
            TreeEffect::Undo => {
                self.start(stop, move |context| async move { context.undo(cancel).await })
            }
            TreeEffect::Fork(id) => self.start(stop, move |context| async move {
                context.forked(context.agent.fork(&id, ForkPosition::At, &cancel).await)
            }),
            TreeEffect::Clone => self.start(stop, move |context| async move {
                context.forked(context.agent.clone_session(&cancel).await)
            }),
            TreeEffect::CherryPick(ids) => {
                self.start(stop, move |context| async move { context.pick(&ids) })
            }
            TreeEffect::Merge(id, custom_instructions) => {
                self.start(stop, move |context| async move {
                    let mut options = MergeOptions::new().cancel(cancel);
                    options.custom_instructions = custom_instructions;
                    context.merged(context.agent.merge(&id, options).await)
                })
            }
            TreeEffect::Compact(instructions) => self.start(stop, move |context| async move {
                let mut options = CompactOptions::new().cancel(cancel);
                options.instructions = instructions;
                context.compacted(context.agent.compact(options).await)
            }),
            _ => {}
        }
    }

    /// Starts an action.
    fn start<F: Future<Output = TreeEvent> + Send + 'static>(
        &mut self,
        cancel: CancellationToken,
        work: impl FnOnce(ActionContext) -> F,
    ) {
        self.cancel = cancel;
        let context = ActionContext {
            agent: Arc::clone(&self.open_session.agent),
            leaf_history: self.open_session.leaf_history.clone(),
            worker: self.worker.clone(),
        };
        let deltas = context.agent.subscribe_deltas();
        self.watch(deltas, Box::pin(work(context)));
    }

    /// Spawns an action of any kind as one type of task, and sends its progress and its result.
    fn watch(
        &self,
        mut deltas: broadcast::Receiver<StreamDelta>,
        mut work: Pin<Box<dyn Future<Output = TreeEvent> + Send>>,
    ) {
        let worker = self.worker.clone();
        self.open_session.runtime.spawn(async move {
            let mut characters = 0;
            let end = loop {
                tokio::select! {
                    end = &mut work => break end,
                    Ok(delta) = deltas.recv() => match delta {
                        StreamDelta::SummaryText(text) => {
                            characters += text.chars().count();
                            worker.tell(TreeEvent::Progress(characters));
                        }
                        StreamDelta::SummaryRestarted => characters = 0,
                        _ => {}
                    },
                }
            };
            worker.tell(end);
        });
    }

    fn label(&self, id: &str, label: Option<&str>) {
        self.worker.tell(match self.open_session.agent.label(id, label) {
            Ok(_) => TreeEvent::Tree(Outline::of(&self.worker.session)),
            Err(error) => TreeEvent::Failed(error.to_string()),
        });
    }

    fn copy(&self, id: &str) {
        let text = self.worker.session.entry(id).map(|entry| text(&entry));
        self.worker.tell(match text.map(|text| clipboard::copy(&text)) {
            Ok(Ok(copied)) => TreeEvent::Done(copied.to_string()),
            Ok(Err(error)) => TreeEvent::Failed(error.to_string()),
            Err(error) => TreeEvent::Failed(error.to_string()),
        });
    }
}

/// The values that an action needs.
struct ActionContext {
    agent: Arc<AgentSession>,
    leaf_history: LeafHistory,
    worker: TreeWorker,
}

impl ActionContext {
    fn show_tree(&self) {
        self.worker.tell(TreeEvent::Tree(Outline::of(&self.worker.session)));
    }

    fn went(&self, navigation: Result<Navigation, AgentError>) -> TreeEvent {
        match navigation {
            Ok(Navigation::AlreadyThere) => TreeEvent::Navigated(None),
            Ok(Navigation::Moved(moved)) => {
                self.leaf_history.push(moved.old_leaf);
                TreeEvent::Navigated(moved.editor_text)
            }
            other => not_moved(other),
        }
    }

    fn stayed(&self, navigation: Result<Navigation, AgentError>) -> TreeEvent {
        match navigation {
            Ok(Navigation::AlreadyThere) => TreeEvent::Done("the leaf is already here".to_owned()),
            Ok(Navigation::Moved(moved)) => {
                self.leaf_history.push(moved.old_leaf);
                self.show_tree();
                TreeEvent::Done("moved the leaf here".to_owned())
            }
            other => not_moved(other),
        }
    }

    async fn undo(&self, cancel: CancellationToken) -> TreeEvent {
        let Some(before) = self.leaf_history.pop() else {
            return TreeEvent::Done("nothing to undo".to_owned());
        };
        let gone = match &before {
            Some(leaf) => {
                let options = NavigateOptions::exact().cancel(cancel);
                self.agent.navigate(leaf.as_str(), options).await
            }
            None => match self.agent.session().branch(Position::Start) {
                Ok(_) => Ok(Navigation::AlreadyThere),
                Err(error) => Err(error.into()),
            },
        };
        match gone {
            Ok(Navigation::AlreadyThere | Navigation::Moved(_)) => {
                self.show_tree();
                TreeEvent::Done("moved the leaf back".to_owned())
            }
            other => {
                self.leaf_history.push(before);
                not_moved(other)
            }
        }
    }

    fn forked(&self, forked: Result<Forked, AgentError>) -> TreeEvent {
        match forked {
            Ok(Forked::Done { file, .. }) => {
                self.leaf_history.reset();
                self.leaf_history.mark_own();
                let file = file.map_or("in memory".to_owned(), |file| file.display().to_string());
                TreeEvent::Replaced(format!("forked to {file}"))
            }
            Ok(Forked::Canceled { hook }) => unwanted(&hook),
            Ok(Forked::Aborted) => TreeEvent::Done(STOPPED.to_owned()),
            Err(error) => TreeEvent::Failed(error.to_string()),
        }
    }

    fn pick(&self, ids: &[String]) -> TreeEvent {
        let before = self.agent.session().leaf();
        let mut copies: Vec<EntryId> = Vec::new();
        for id in ids {
            match self.agent.cherry_pick(&Selection::entry(id)) {
                Ok(new) => copies.extend(new),
                Err(error) => return TreeEvent::Failed(error.to_string()),
            }
        }
        self.leaf_history.push(before);
        self.show_tree();
        TreeEvent::Done(format!(
            "copied to the leaf: {}",
            counted(copies.len(), "entry", "entries")
        ))
    }

    fn merged(&self, merged: Result<MergeOutcome, AgentError>) -> TreeEvent {
        match merged {
            Ok(MergeOutcome::Done(merged)) => {
                self.leaf_history.push(merged.plan.into.clone());
                self.show_tree();
                TreeEvent::Done(format!("merged into {}", merged.entry.id()))
            }
            Ok(MergeOutcome::NothingNew) => {
                TreeEvent::Done("the active branch already has these entries".to_owned())
            }
            Ok(MergeOutcome::Aborted) => TreeEvent::Done(STOPPED.to_owned()),
            Err(error) => TreeEvent::Failed(error.to_string()),
        }
    }

    fn compacted(&self, compaction: Result<Compaction, AgentError>) -> TreeEvent {
        match compaction {
            Ok(Compaction::Done(done)) => {
                self.leaf_history.mark_own();
                self.show_tree();
                let [before, after] = [done.tokens_before, done.tokens_after]
                    .map(|tokens| short_number(tokens as f64));
                TreeEvent::Done(format!("compacted: {before} tokens, now about {after}"))
            }
            Ok(Compaction::AlreadyCompacted) => {
                TreeEvent::Done("nothing to compact: already compacted".to_owned())
            }
            Ok(Compaction::TooSmall) => {
                TreeEvent::Done("nothing to compact: the context is too small".to_owned())
            }
            Ok(Compaction::Canceled { hook }) => unwanted(&hook),
            Ok(Compaction::Aborted) => TreeEvent::Done(STOPPED.to_owned()),
            Err(error) => TreeEvent::Failed(error.to_string()),
        }
    }
}

/// Returns the text of an entry.
fn text(entry: &Entry) -> String {
    match entry.body() {
        Body::Message(message) => {
            let first = std::iter::once(message.text());
            let more = entry.more_messages().map(|message| message.text());
            first.chain(more).collect::<Vec<_>>().join("\n\n")
        }
        Body::Compaction { summary, .. } | Body::BranchSummary { summary, .. } => summary.into(),
        Body::CustomMessage { text, .. } => text,
        _ => String::from_utf8_lossy(entry.raw()).into_owned(),
    }
}

fn not_moved(navigation: Result<Navigation, AgentError>) -> TreeEvent {
    match navigation {
        Ok(Navigation::Canceled { hook }) => unwanted(&hook),
        Ok(_) => TreeEvent::Done(STOPPED.to_owned()),
        Err(error) => TreeEvent::Failed(error.to_string()),
    }
}

fn unwanted(hook: &str) -> TreeEvent {
    TreeEvent::Failed(format!("the handler {hook} refused; nothing was changed"))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Writes the branch to an entry to a file. The extension selects the format. Existing files are
/// not replaced.
fn export(session: &Session, id: &str, file: &Path) -> Result<String, String> {
    let name = file.display();
    let export = Export::new().part(Part::Branch(id.into()));
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let written = treering_export::write_file(file, Existing::Kept, |out| match ending {
        "html" => export.html(session, out),
        "md" => export.markdown(session, out),
        "json" => export.json(session, out),
        "jsonl" => export.jsonl(session, out),
        _ => Err(std::io::Error::other(
            "unknown format; use a name that ends in .html, .md, .jsonl or .json",
        )
        .into()),
    });
    match written {
        Ok(bytes) => Ok(format!("written: {name} ({})", treering_display::number::size(bytes))),
        Err(treering_export::Error::Write(error)) if error.kind() == ErrorKind::AlreadyExists => {
            Err(format!("{name} already exists; choose another name"))
        }
        Err(error) => Err(format!("{name}: {error}")),
    }
}
