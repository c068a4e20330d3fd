//! Carries out the commands of the chat.

use super::session_watcher::{SessionWatcher, full_name, short};
use super::targets::find;
use crate::Notice;
use crate::chat::{ChatCommand, ChatEvent, SummaryChoice};
use std::path::Path;
use std::sync::Arc;
use treering::merge::Selection;
use treering::session::Part;
use treering::{EntryId, Kind, NewEntry, Role, Session};
use treering_agent::{
    AgentError, AgentSession, CancellationToken, CompactOptions, Compaction, ForkPosition, Forked,
    MergeOptions, MergeOutcome, NavigateOptions, Navigation, Replaced,
};
use treering_export::{Existing, Export, write_file};

/// The result of a command.
#[derive(Debug, Default)]
pub(super) struct CommandReply {
    pub notice: Option<Notice>,
    pub events: Vec<ChatEvent>,
}

impl CommandReply {
    pub(super) fn notice(text: impl AsRef<str>) -> Self {
        CommandReply { notice: Some(Notice::new(text)), ..CommandReply::default() }
    }

    pub(super) fn failure(text: impl AsRef<str>) -> Self {
        CommandReply { notice: Some(Notice::failure(text)), ..CommandReply::default() }
    }

    pub(super) fn event(event: ChatEvent) -> Self {
        CommandReply { events: vec![event], ..CommandReply::default() }
    }

    /// Adds a text for the editor.
    fn and_edit(mut self, text: Option<String>) -> Self {
        self.events.extend(text.map(ChatEvent::Edit));
        self
    }
}

type CommandResult = Result<CommandReply, AgentError>;

/// Runs a command.
pub(super) async fn run(
    watcher: &SessionWatcher,
    command: ChatCommand,
    cancel: &CancellationToken,
) -> CommandResult {
    let agent = &*watcher.agent;
    let session = agent.session();
    let place = |text: &str| find(&session, &watcher.numbers, text);
    let options = || NavigateOptions::new().cancel(cancel.clone());
    let exact = || NavigateOptions::exact().cancel(cancel.clone());
    match command {
        ChatCommand::BranchHere(to, summary) => {
            let to = place(&to)?;
            let mut options = exact();
            match summary {
                SummaryChoice::None => {}
                SummaryChoice::Given(text) => options.given_summary = Some(text),
                SummaryChoice::Generate(focus) => {
                    (options.summarize, options.custom_instructions) = (true, focus);
                }
            }
            Ok(moved(agent.navigate(to.as_str(), options).await?))
        }
        ChatCommand::Switch(to) => Ok(moved(agent.navigate(place(&to)?.as_str(), exact()).await?)),
        ChatCommand::Pop(to) => Ok(moved(match to {
            Some(to) => agent.pop(place(&to)?, options()).await?,
            None => agent.pop_previous(options()).await?,
        })),
        ChatCommand::Branch(Some(at)) => {
            let at = place(&at)?;
            Ok(forked(agent.fork(at.as_str(), ForkPosition::Before, cancel).await?))
        }
        ChatCommand::Fork(Some(at)) => {
            let at = place(&at)?;
            let is_user = matches!(session.tree().role(at.as_str()), Ok(Some(Role::User)));
            let position = if is_user { ForkPosition::Before } else { ForkPosition::At };
            Ok(forked(agent.fork(at.as_str(), position, cancel).await?))
        }
        ChatCommand::Clone => Ok(forked(agent.clone_session(cancel).await?)),
        ChatCommand::New => Ok(match agent.new_session(cancel).await? {
            Replaced::Done => CommandReply::notice("started a new session"),
            Replaced::Aborted => stopped(),
            Replaced::Canceled { hook } => unwanted(&hook),
        }),
        ChatCommand::Compact(instructions) => {
            let mut options = CompactOptions::new().cancel(cancel.clone());
            options.instructions = instructions;
            Ok(compacted(agent.compact(options).await?))
        }
        ChatCommand::Merge { place: other, full, focus } => {
            let mut options = MergeOptions::new().full(full).cancel(cancel.clone());
            options.custom_instructions = focus;
            Ok(match agent.merge(place(&other)?.as_str(), options).await? {
                MergeOutcome::NothingNew => {
                    CommandReply::notice("this branch already has these entries")
                }
                MergeOutcome::Aborted => stopped(),
                MergeOutcome::Done(merged) => {
                    CommandReply::notice(format!("merged: {}", short(merged.entry.id())))
                }
            })
        }
        ChatCommand::CherryPick(selection) => {
            let selection = match selection.split_once("..") {
                Some((from, to)) => Selection::range(place(from)?.as_str(), place(to)?.as_str()),
                None => Selection::entry(place(&selection)?.as_str()),
            };
            let copies = agent.cherry_pick(&selection)?;
            Ok(match copies.len() {
                0 => CommandReply::notice("this branch already has these entries"),
                1 => CommandReply::notice("copied 1 entry"),
                count => CommandReply::notice(format!("copied {count} entries")),
            })
        }
        ChatCommand::Label(text) => label(agent, &session, &text),
        ChatCommand::Name(name) => {
            agent.set_name(&name).await?;
            watcher.send_status();
            Ok(CommandReply::notice(format!("the session name is {name:?}")))
        }
        ChatCommand::ExportBranch(at, file) => {
            let at = match at {
                Some(at) => place(&at)?,
                None => root(&session)?,
            };
            Ok(export(session, at, file).await)
        }
        ChatCommand::Model(Some(name)) => Ok(match watcher.models.choose(&name) {
            Err(why) => CommandReply::failure(why),
            Ok(model) => {
                session.append(NewEntry::model_change(model.provider(), model.model()))?;
                watcher.send_status();
                CommandReply::notice(format!("the model is now {}", full_name(&*model)))
            }
        }),
        ChatCommand::Thinking(Some(level)) => {
            session.append(NewEntry::thinking_level_change(&level))?;
            watcher.send_status();
            Ok(CommandReply::notice(format!("the thinking level is now {level}")))
        }
        // The other commands are handled by the screen.
        _ => Ok(CommandReply::default()),
    }
}

fn stopped() -> CommandReply {
    CommandReply::notice("interrupted; nothing was changed")
}

fn unwanted(hook: &str) -> CommandReply {
    CommandReply::failure(format!("the handler {hook} refused; nothing was changed"))
}

fn moved(navigation: Navigation) -> CommandReply {
    match navigation {
        Navigation::AlreadyThere => CommandReply::notice("already at this entry"),
        Navigation::Aborted => stopped(),
        Navigation::Canceled { hook } => unwanted(&hook),
        Navigation::Moved(moved) => {
            let place = moved.new_leaf.as_ref().map_or("the beginning".to_owned(), short);
            let what = match moved.summary {
                Some(_) => format!("now at {place}, with a summary of the abandoned branch"),
                None => format!("now at {place}"),
            };
            CommandReply::notice(what).and_edit(moved.editor_text)
        }
    }
}

fn forked(forked: Forked) -> CommandReply {
    match forked {
        Forked::Aborted => stopped(),
        Forked::Canceled { hook } => unwanted(&hook),
        Forked::Done { file, editor_text } => {
            let file = file.map_or("in memory".to_owned(), |file| file.display().to_string());
            CommandReply::notice(format!("forked to {file}")).and_edit(editor_text)
        }
    }
}

fn compacted(compaction: Compaction) -> CommandReply {
    match compaction {
        Compaction::AlreadyCompacted => {
            CommandReply::notice("nothing to compact: already compacted")
        }
        Compaction::TooSmall => {
            CommandReply::notice("nothing to compact: the context is too small")
        }
        Compaction::Aborted => stopped(),
        Compaction::Canceled { hook } => unwanted(&hook),
        Compaction::Done(done) => {
            let (before, after) = (done.tokens_before, done.tokens_after);
            let tokens = treering_display::number::tokens;
            CommandReply::notice(format!(
                "compacted: {} → {} tokens",
                tokens(before),
                tokens(after)
            ))
        }
    }
}

/// Labels an entry: `ENTRY TEXT` labels that entry, `TEXT` the last message; `-` removes the label.
fn label(agent: &AgentSession, session: &Session, text: &str) -> CommandResult {
    let tree = session.tree();
    let (first, more) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    // A prefix of an id must be long enough not to be a word.
    let named = Some(first).filter(|first| !more.trim().is_empty() && first.len() >= 4);
    let named = named.and_then(|first| tree.resolve(first).found(first).ok());
    let (entry, text) = match named {
        Some(entry) => (entry, more.trim()),
        None => (last_message_entry(session)?, text),
    };
    let label = Some(text).filter(|text| *text != "-");
    agent.label(entry.as_str(), label)?;
    Ok(CommandReply::notice(match label {
        Some(label) => format!("labeled {} [{label}]", short(&entry)),
        None => format!("removed the label of {}", short(&entry)),
    }))
}

fn empty_session_error() -> treering::Error {
    treering::Error::UnknownEntry("the leaf of an empty session".into())
}

/// Returns the last message or summary on the path.
fn last_message_entry(session: &Session) -> Result<EntryId, treering::Error> {
    let tree = session.tree();
    let leaf = session.leaf().ok_or_else(empty_session_error)?;
    let above = |id: &EntryId| tree.parent(id.as_str()).ok().flatten();
    let mut path = std::iter::successors(Some(leaf.clone()), above);
    let is_message = |id: &EntryId| {
        let message_kinds =
            [Kind::Message, Kind::Compaction, Kind::BranchSummary, Kind::CustomMessage];
        tree.kind(id.as_str()).is_ok_and(|kind| message_kinds.contains(&kind))
    };
    Ok(path.find(is_message).unwrap_or(leaf))
}

fn root(session: &Session) -> Result<EntryId, treering::Error> {
    let leaf = session.leaf().ok_or_else(empty_session_error)?;
    session.tree().path(leaf.as_str())?.into_iter().next().ok_or_else(empty_session_error)
}

/// Writes the subtree of an entry to a file. The format follows the extension: a session file, or a
/// document. Existing files are not replaced.
async fn export(session: Arc<Session>, at: EntryId, file: Option<String>) -> CommandReply {
    let name = file.unwrap_or_else(|| format!("branch-{}.jsonl", short(&at).replace('/', "-")));
    let path = Path::new(&session.cwd()).join(name);
    let target = path.clone();
    let written = tokio::task::spawn_blocking(move || write(&session, &at, &target)).await;
    match written {
        Ok(Ok(())) => CommandReply::notice(format!("written: {}", path.display())),
        Ok(Err(error)) => CommandReply::failure(format!("{}: {error}", path.display())),
        Err(died) => CommandReply::failure(died.to_string()),
    }
}

fn write(session: &Session, at: &EntryId, path: &Path) -> Result<(), treering_export::Error> {
    let export = Export::new().part(Part::Subtree(at.clone()));
    let extension = path.extension().and_then(|extension| extension.to_str());
    write_file(path, Existing::Kept, |out| match extension {
        Some("html") => export.html(session, out),
        Some("md") => export.markdown(session, out),
        Some("json") => export.json(session, out),
        _ => export.jsonl(session, out),
    })?;
    Ok(())
}
