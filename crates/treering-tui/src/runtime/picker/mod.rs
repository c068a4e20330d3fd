//! The runtime of the session picker: it reads the index, carries out file actions, and follows
//! changes of other programs.

mod content_search;
mod file_actions;
mod preview;
mod recent_queries;
mod sessions;
mod source;

use super::clipboard;
use super::runner::{EffectHandler, EventChannel, Runner};
use crate::TerminalEvent;
use crate::keys::Bindings;
use crate::picker::{
    PickerAction, PickerEffect, PickerEvent, PickerOptions, PickerState, PickerView, Scope,
};
use crate::theme::Theme;
use content_search::ContentSearch;
use file_actions::FileActions;
use preview::Previews;
pub use source::{PickerSource, id_of};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::SystemTime;
use treering::store::Store;
use treering_index::housekeeping::Trash;
use treering_index::{Project, SessionIndex};

/// The outcome of a picker.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PickerOutcome {
    /// A session was chosen.
    Open(PathBuf),
    /// A session is continued in a copy.
    Copy(PathBuf),
    /// A session is resumed in its agent.
    Resume(PathBuf),
    /// There are no sessions, so the demo is shown.
    Demo,
    /// A new session is created.
    New,
    /// Nothing was chosen.
    Closed,
    /// A signal ends the program.
    Stopped,
}

/// The settings of a picker.
#[derive(Debug, Clone)]
pub struct PickerSetup {
    /// The source of the sessions.
    pub source: PickerSource,
    /// The current project.
    pub project: Project,
    /// The initial scope.
    pub scope: Scope,
    /// The trash; without one, sessions are deleted.
    pub trash: Option<Trash>,
    /// The directory for exported pages.
    pub export_dir: PathBuf,
    /// The key bindings.
    pub bindings: Bindings<PickerAction>,
    /// The colors.
    pub theme: Theme,
    /// The clock, in Unix milliseconds.
    pub now: fn() -> i64,
    /// The file of recent queries; `None` if they are not kept.
    pub recent_queries: Option<PathBuf>,
}

impl PickerSetup {
    /// Creates the default settings for the directory `cwd`.
    pub fn new(index: SessionIndex, cwd: &Path, trash: Option<Trash>) -> Self {
        PickerSetup {
            project: Project::around(cwd, index.places().home()),
            source: PickerSource::Machine(index),
            scope: Scope::default(),
            trash,
            export_dir: cwd.to_owned(),
            bindings: Bindings::default(),
            theme: Theme::default(),
            now: system_time,
            recent_queries: None,
        }
    }

    /// Shows the sessions of a store, of all projects, instead of those of this machine.
    pub fn show_store(&mut self, store: Arc<dyn Store>) {
        self.source = PickerSource::Store(store);
        self.scope = Scope::All;
        self.trash = None;
    }
}

fn system_time() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// Shows all sessions until the user chooses one or leaves. `open` is the open session, which is
/// never moved. `failure` is shown first.
pub fn pick(
    runner: &mut Runner,
    setup: &PickerSetup,
    open: Option<&Path>,
    failure: Option<String>,
) -> io::Result<PickerOutcome> {
    pick_again(runner, setup, open, failure, &mut None)
}

/// Shows the picker with the settings in `view`, which are updated when a session is opened.
pub(super) fn pick_again(
    runner: &mut Runner,
    setup: &PickerSetup,
    open: Option<&Path>,
    failure: Option<String>,
    view: &mut Option<PickerView>,
) -> io::Result<PickerOutcome> {
    let channel = EventChannel::default();
    if let Some(failure) = failure {
        // The screen exists, so this cannot fail.
        let _ = channel.events.send(PickerEvent::Failure(failure));
    }
    let mut state = PickerState::new(PickerOptions {
        project: setup.project.clone(),
        scope: setup.scope,
        home: setup.source.home().map(Path::to_owned),
        open: open.map(Path::to_owned),
        has_trash: setup.trash.is_some(),
        now: (setup.now)(),
        recent_queries: setup
            .recent_queries
            .as_deref()
            .map(recent_queries::read)
            .unwrap_or_default(),
    });
    state.bindings = setup.bindings.clone();
    state.theme = setup.theme;
    if let Some(view) = view {
        state.restore(view);
        // The query is pasted, so that it is searched.
        let query = TerminalEvent::Paste(view.query.clone());
        let _ = channel.events.send(PickerEvent::Terminal(query));
    }
    let mut controller = PickerController::new(setup, open, &channel.events);
    sessions::read(setup.source.clone(), channel.events.clone());
    let _watched = sessions::watch(&setup.source, setup.now, channel.events.clone());
    let outcome = runner.run(state, &mut controller, &channel);
    if let Some(left) = controller.left {
        *view = Some(left);
    }
    outcome
}

/// Carries out the effects of the picker. Long actions run on other threads.
#[derive(Debug)]
struct PickerController {
    events: Sender<PickerEvent>,
    open: Option<PathBuf>,
    file_actions: FileActions,
    previews: Previews,
    content_search: ContentSearch,
    recent_queries: Option<PathBuf>,
    /// The view of a picker that was left.
    left: Option<PickerView>,
}

impl PickerController {
    fn new(setup: &PickerSetup, open: Option<&Path>, events: &Sender<PickerEvent>) -> Self {
        PickerController {
            events: events.clone(),
            open: open.map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned())),
            file_actions: FileActions::start(setup, events.clone()),
            previews: Previews::start(setup, events.clone()),
            content_search: ContentSearch::new(setup.source.clone(), setup.now, events.clone()),
            recent_queries: setup.recent_queries.clone(),
            left: None,
        }
    }

    /// Sends an event to the screen. A failure means that the screen is gone.
    fn tell(&self, event: PickerEvent) {
        let _ = self.events.send(event);
    }

    /// Returns the outcome of a picker that is left, after its query was recorded.
    fn leave(&mut self, outcome: PickerOutcome, state: &PickerState) -> Option<PickerOutcome> {
        self.left = Some(state.view());
        if let Some(file) = &self.recent_queries {
            recent_queries::add(file, state.query());
        }
        Some(outcome)
    }

    /// Returns whether a file is the open session. The same file may have several names.
    fn is_open(&self, path: &Path) -> bool {
        let same = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.open.as_ref() == Some(&same)
    }
}

impl EffectHandler<PickerState> for PickerController {
    type Outcome = PickerOutcome;

    fn perform(&mut self, effect: PickerEffect, state: &PickerState) -> Option<PickerOutcome> {
        match effect {
            PickerEffect::Close => return self.leave(PickerOutcome::Closed, state),
            PickerEffect::Stop => return Some(PickerOutcome::Stopped),
            PickerEffect::Demo => return Some(PickerOutcome::Demo),
            PickerEffect::New => return Some(PickerOutcome::New),
            // A running action may move the file.
            PickerEffect::Open(_) | PickerEffect::OpenCopy(_) | PickerEffect::Resume(_)
                if self.file_actions.are_running() =>
            {
                self.tell(PickerEvent::Notice(
                    "a file action is still running; try again in a moment".to_owned(),
                ));
            }
            PickerEffect::Open(path) => return self.leave(PickerOutcome::Open(path), state),
            PickerEffect::Resume(path) => return self.leave(PickerOutcome::Resume(path), state),
            PickerEffect::OpenCopy(path) => return self.leave(PickerOutcome::Copy(path), state),
            PickerEffect::Delete(path)
            | PickerEffect::Archive(path)
            | PickerEffect::Unarchive(path)
                if self.is_open(&path) =>
            {
                self.tell(PickerEvent::Failure(
                    "this session is open and cannot be moved or deleted".to_owned(),
                ));
            }
            PickerEffect::CopyPath(path) => {
                let text = path.to_string_lossy();
                self.tell(match clipboard::copy(&text) {
                    Ok(copied) => PickerEvent::Notice(format!("{copied}: {text}")),
                    Err(error) => PickerEvent::Failure(error.to_string()),
                });
            }
            PickerEffect::Search(query, files) => self.content_search.start(&query, files),
            PickerEffect::Preview(path) => {
                if let Some(session) = state.session(&path) {
                    self.previews.want(session.clone());
                }
            }
            action => self.file_actions.add(action),
        }
        None
    }
}

#[cfg(test)]
mod tests;
