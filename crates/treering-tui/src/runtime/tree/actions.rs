//! What changes a session: everything here goes through the agent session, so hooks take part, and
//! whatever is stopped has changed nothing.

use super::worker::Worker;
use crate::runtime::clipboard;
use crate::runtime::visit::{Trail, Visit};
use crate::tree::{Effect, Event, Outline};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use treering::compaction::CompactionSettings;
use treering::entry::Body;
use treering::merge::Selection;
use treering::session::Part;
use treering::{Entry, EntryId, Role, Session};
use treering_agent::{
    AgentError, AgentSession, CancellationToken, CompactOptions, Compaction, ForkPosition, Forked,
    MergeOptions, MergeOutcome, NavigateOptions, Navigation, StreamDelta,
};
use treering_export::text::short_number;
use treering_export::{Existing, Export};

pub(super) struct Actions {
    visit: Visit,
    worker: Worker,
    /// Stops what is going on.
    cancel: CancellationToken,
}

/// What is said of something that was stopped.
const STOPPED: &str = "stopped: nothing was changed";

impl Drop for Actions {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Actions {
    pub(super) fn new(visit: &Visit, worker: Worker) -> Self {
        Actions { visit: visit.clone(), worker, cancel: CancellationToken::new() }
    }

    pub(super) fn compaction_settings(&self) -> CompactionSettings {
        self.visit.agent.settings().compaction.clone()
    }

    pub(super) fn perform(&mut self, effect: Effect) {
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        match effect {
            Effect::Cancel => self.cancel.cancel(),
            Effect::Label(id, label) => self.label(&id, label.as_deref()),
            Effect::Copy(id) => self.copy(&id),
            Effect::Export(id, file) => {
                self.start(stop, move |doing| async move {
                    let session = doing.agent.session();
                    let write = move || export(&session, &id, Path::new(&file));
                    match tokio::task::spawn_blocking(write).await {
                        Ok(Ok(said)) => Event::Done(said),
                        Ok(Err(why)) => Event::Failed(why),
                        Err(error) => Event::Failed(error.to_string()),
                    }
                });
            }
            Effect::Go(id) => self.start(stop, move |doing| async move {
                let options = NavigateOptions { cancel, ..Default::default() };
                match doing.agent.navigate(&id, options).await {
                    Err(AgentError::Session(treering::Error::ReadOnlyDialect(_))) => {
                        Event::ReadOnly(id)
                    }
                    other => doing.went(other),
                }
            }),
            Effect::GoInCopy(id) => self.start(stop, move |doing| async move {
                let session = doing.agent.session();
                let is_user = matches!(session.tree().role(&id), Ok(Some(Role::User)));
                let position = if is_user { ForkPosition::Before } else { ForkPosition::At };
                match doing.agent.fork(&id, position, &cancel).await {
                    Ok(Forked::Done { editor_text, .. }) => {
                        doing.trail.begin_anew();
                        doing.trail.own();
                        Event::Went(editor_text)
                    }
                    other => doing.forked(other),
                }
            }),
            Effect::SummariseAndGo(id, custom_instructions) => {
                self.start(stop, move |doing| async move {
                    let options = NavigateOptions {
                        summarize: true,
                        custom_instructions,
                        cancel,
                        ..Default::default()
                    };
                    doing.went(doing.agent.navigate(&id, options).await)
                });
            }
            Effect::Stay(id) => self.start(stop, move |doing| async move {
                let options = NavigateOptions { cancel, ..NavigateOptions::exact() };
                doing.stayed(doing.agent.navigate(&id, options).await)
            }),
            Effect::Undo => self.start(stop, move |doing| async move { doing.undo(cancel).await }),
            Effect::Fork(id) => self.start(stop, move |doing| async move {
                doing.forked(doing.agent.fork(&id, ForkPosition::At, &cancel).await)
            }),
            Effect::Clone => self.start(stop, move |doing| async move {
                doing.forked(doing.agent.clone_session(&cancel).await)
            }),
            Effect::CherryPick(ids) => {
                self.start(stop, move |doing| async move { doing.pick(&ids) })
            }
            Effect::Merge(id, custom_instructions) => self.start(stop, move |doing| async move {
                let options = MergeOptions { custom_instructions, cancel, ..Default::default() };
                doing.merged(doing.agent.merge(&id, options).await)
            }),
            Effect::Compact(instructions) => self.start(stop, move |doing| async move {
                let options = CompactOptions { instructions, cancel, ..Default::default() };
                doing.compacted(doing.agent.compact(options).await)
            }),
            _ => {}
        }
    }

    /// Does something that takes time, and tells how far it is and how it ended.
    fn start<F: Future<Output = Event> + Send + 'static>(
        &mut self,
        cancel: CancellationToken,
        work: impl FnOnce(Doing) -> F,
    ) {
        self.cancel = cancel;
        let doing = Doing {
            agent: Arc::clone(&self.visit.agent),
            trail: self.visit.trail.clone(),
            worker: self.worker.clone(),
        };
        let mut deltas = doing.agent.subscribe_deltas();
        let worker = self.worker.clone();
        let work = work(doing);
        self.visit.runtime.spawn(async move {
            let mut characters = 0;
            tokio::pin!(work);
            let end = loop {
                tokio::select! {
                    end = &mut work => break end,
                    Ok(delta) = deltas.recv() => match delta {
                        StreamDelta::SummaryText(text) => {
                            characters += text.chars().count();
                            worker.tell(Event::Progress(characters));
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
        self.worker.tell(match self.visit.agent.label(id, label) {
            Ok(_) => Event::Tree(Outline::of(&self.worker.session)),
            Err(error) => Event::Failed(error.to_string()),
        });
    }

    fn copy(&self, id: &str) {
        let text = self.worker.session.entry(id).map(|entry| text(&entry));
        self.worker.tell(match text.map(|text| clipboard::copy(&text)) {
            Ok(Ok(copied)) => Event::Done(copied.to_string()),
            Ok(Err(error)) => Event::Failed(error.to_string()),
            Err(error) => Event::Failed(error.to_string()),
        });
    }
}

/// What is needed where something is done.
struct Doing {
    agent: Arc<AgentSession>,
    trail: Trail,
    worker: Worker,
}

impl Doing {
    fn show_tree(&self) {
        self.worker.tell(Event::Tree(Outline::of(&self.worker.session)));
    }

    fn went(&self, navigation: Result<Navigation, AgentError>) -> Event {
        match navigation {
            Ok(Navigation::AlreadyThere) => Event::Went(None),
            Ok(Navigation::Moved(moved)) => {
                self.trail.step(moved.old_leaf);
                Event::Went(moved.editor_text)
            }
            other => not_moved(other),
        }
    }

    fn stayed(&self, navigation: Result<Navigation, AgentError>) -> Event {
        match navigation {
            Ok(Navigation::AlreadyThere) => Event::Done("the leaf is here already".to_owned()),
            Ok(Navigation::Moved(moved)) => {
                self.trail.step(moved.old_leaf);
                self.show_tree();
                Event::Done("the leaf is here now".to_owned())
            }
            other => not_moved(other),
        }
    }

    async fn undo(&self, cancel: CancellationToken) -> Event {
        let Some(before) = self.trail.back() else {
            return Event::Done("nothing to go back to".to_owned());
        };
        let gone = match &before {
            Some(leaf) => {
                let options = NavigateOptions { cancel, ..NavigateOptions::exact() };
                self.agent.navigate(leaf.as_str(), options).await
            }
            None => match self.agent.session().reset_leaf() {
                Ok(()) => Ok(Navigation::AlreadyThere),
                Err(error) => Err(error.into()),
            },
        };
        match gone {
            Ok(Navigation::AlreadyThere | Navigation::Moved(_)) => {
                self.show_tree();
                Event::Done("the leaf is where it was".to_owned())
            }
            other => {
                self.trail.step(before);
                not_moved(other)
            }
        }
    }

    fn forked(&self, forked: Result<Forked, AgentError>) -> Event {
        match forked {
            Ok(Forked::Done { file, .. }) => {
                self.trail.begin_anew();
                self.trail.own();
                let file = file.map_or("in memory".to_owned(), |file| file.display().to_string());
                Event::Replaced(format!("this is the new session: {file}"))
            }
            Ok(Forked::Cancelled { hook }) => unwanted(&hook),
            Ok(Forked::Aborted) => Event::Done(STOPPED.to_owned()),
            Err(error) => Event::Failed(error.to_string()),
        }
    }

    fn pick(&self, ids: &[String]) -> Event {
        let before = self.agent.session().leaf();
        let mut copies: Vec<EntryId> = Vec::new();
        for id in ids {
            match self.agent.cherry_pick(&Selection::entry(id)) {
                Ok(new) => copies.extend(new),
                Err(error) => return Event::Failed(error.to_string()),
            }
        }
        self.trail.step(before);
        self.show_tree();
        Event::Done(format!("copied to the leaf: {}", counted(copies.len(), "entry", "entries")))
    }

    fn merged(&self, merged: Result<MergeOutcome, AgentError>) -> Event {
        match merged {
            Ok(MergeOutcome::Done(merged)) => {
                self.trail.step(merged.plan.into.clone());
                self.show_tree();
                Event::Done(format!("merged into {}", merged.entry.id()))
            }
            Ok(MergeOutcome::NothingNew) => {
                Event::Done("the active branch has all of this one".to_owned())
            }
            Ok(MergeOutcome::Aborted) => Event::Done(STOPPED.to_owned()),
            Err(error) => Event::Failed(error.to_string()),
        }
    }

    fn compacted(&self, compaction: Result<Compaction, AgentError>) -> Event {
        match compaction {
            Ok(Compaction::Done(done)) => {
                self.trail.own();
                self.show_tree();
                let [before, after] = [done.tokens_before, done.tokens_after]
                    .map(|tokens| short_number(tokens as f64));
                Event::Done(format!("compacted: {before} tokens, now about {after}"))
            }
            Ok(Compaction::AlreadyCompacted) => Event::Done("compacted already".to_owned()),
            Ok(Compaction::TooSmall) => Event::Done("nothing to summarise yet".to_owned()),
            Ok(Compaction::Cancelled { hook }) => unwanted(&hook),
            Ok(Compaction::Aborted) => Event::Done(STOPPED.to_owned()),
            Err(error) => Event::Failed(error.to_string()),
        }
    }
}

/// What an entry says, as it was written.
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

fn not_moved(navigation: Result<Navigation, AgentError>) -> Event {
    match navigation {
        Ok(Navigation::Cancelled { hook }) => unwanted(&hook),
        Ok(_) => Event::Done(STOPPED.to_owned()),
        Err(error) => Event::Failed(error.to_string()),
    }
}

fn unwanted(hook: &str) -> Event {
    Event::Failed(format!("{hook} said no: nothing was changed"))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Writes the branch to an entry; the file's ending says how. A file that is there stays.
fn export(session: &Session, id: &str, file: &Path) -> Result<String, String> {
    let name = file.display();
    let export = Export { part: Part::Branch(id.to_owned()), ..Default::default() };
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let written = treering_export::write_file(file, Existing::Kept, |out| match ending {
        "html" => export.html(session, out),
        "md" => export.markdown(session, out),
        "json" => export.json(session, out),
        "jsonl" => export.jsonl(session, out),
        _ => Err(std::io::Error::other("names end in .html, .md, .jsonl or .json").into()),
    });
    match written {
        Ok(bytes) => Ok(format!("written: {name} ({})", treering_export::text::size(bytes))),
        Err(treering_export::Error::Write(error)) if error.kind() == ErrorKind::AlreadyExists => {
            Err(format!("{name} is there already"))
        }
        Err(error) => Err(format!("{name}: {error}")),
    }
}
