//! The session picker's office: it reads the index, does what is to be done to sessions, and notices
//! what others do to them.

mod chores;
mod index;
mod preview;

use super::clipboard;
use super::desk::{Desk, Office, Post};
use crate::keys::Bindings;
use crate::picker::{Action, Effect, Event, Scope, Start, State};
use crate::theme::Theme;
use chores::Chores;
use preview::Previews;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::SystemTime;
use treering_index::housekeeping::Trash;
use treering_index::{Project, SessionIndex};

/// How a picker was left.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// This session was chosen.
    Open(PathBuf),
    /// Go on with this session in a copy of it.
    Copy(PathBuf),
    /// There is no session at all: show the demo.
    Demo,
    /// Begin a new session.
    New,
    /// Nothing was chosen.
    Closed,
    /// The system wants the program to end.
    Stopped,
}

/// What a picker picks from, and how.
#[derive(Debug, Clone)]
pub struct PickerSetup {
    /// The sessions.
    pub index: SessionIndex,
    /// The project that somebody works on.
    pub project: Project,
    /// Whose sessions are listed at first.
    pub scope: Scope,
    /// Where deleted sessions go; without one they are gone.
    pub trash: Option<Trash>,
    /// Where exported pages go.
    pub export_dir: PathBuf,
    /// Which key does what.
    pub bindings: Bindings<Action>,
    /// The colours.
    pub theme: Theme,
    /// The clock, in Unix milliseconds.
    pub now: fn() -> i64,
}

impl PickerSetup {
    /// Everything as usual for somebody in the directory `cwd`.
    pub fn new(index: SessionIndex, cwd: &Path, trash: Option<Trash>) -> Self {
        PickerSetup {
            project: Project::around(cwd, index.places().home()),
            index,
            scope: Scope::default(),
            trash,
            export_dir: cwd.to_owned(),
            bindings: Bindings::default(),
            theme: Theme::default(),
            now: system_time,
        }
    }
}

fn system_time() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// Shows all sessions until somebody chooses one or leaves. `open` is the session that is open: it is
/// never moved away. `failure` is said at first.
pub fn pick(
    desk: &mut Desk,
    setup: &PickerSetup,
    open: Option<&Path>,
    failure: Option<String>,
) -> io::Result<Outcome> {
    let post = Post::default();
    if let Some(failure) = failure {
        // Nobody can have left yet.
        let _ = post.events.send(Event::Failure(failure));
    }
    let mut state = State::new(Start {
        project: setup.project.clone(),
        scope: setup.scope,
        home: setup.index.places().home().map(Path::to_owned),
        open: open.map(Path::to_owned),
        has_trash: setup.trash.is_some(),
        now: (setup.now)(),
    });
    state.bindings = setup.bindings.clone();
    state.theme = setup.theme;
    let mut clerk = Clerk::new(setup, open, &post.events);
    index::read(setup.index.clone(), post.events.clone());
    let _watched = index::watch(&setup.index, setup.now, post.events.clone());
    desk.run(state, &mut clerk, &post)
}

/// Does what the picker wants done. What takes time is done by others.
#[derive(Debug)]
struct Clerk {
    events: Sender<Event>,
    open: Option<PathBuf>,
    chores: Chores,
    previews: Previews,
}

impl Clerk {
    fn new(setup: &PickerSetup, open: Option<&Path>, events: &Sender<Event>) -> Self {
        Clerk {
            events: events.clone(),
            open: open.and_then(|path| path.canonicalize().ok()),
            chores: Chores::start(setup, events.clone()),
            previews: Previews::start(setup, events.clone()),
        }
    }

    /// Tells the screen something; nobody is there any more if that fails.
    fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// The same file may have several names.
    fn is_open(&self, path: &Path) -> bool {
        self.open.is_some() && path.canonicalize().ok() == self.open
    }
}

impl Office<State> for Clerk {
    type Outcome = Outcome;

    fn perform(&mut self, effect: Effect, state: &State) -> Option<Outcome> {
        match effect {
            Effect::Close => return Some(Outcome::Closed),
            Effect::Stop => return Some(Outcome::Stopped),
            Effect::Demo => return Some(Outcome::Demo),
            Effect::New => return Some(Outcome::New),
            // It might be moved away the next moment.
            Effect::Open(_) | Effect::OpenCopy(_) if self.chores.are_under_way() => {
                self.tell(Event::Notice("something is still being done, one moment".to_owned()));
            }
            Effect::Open(path) => return Some(Outcome::Open(path)),
            Effect::OpenCopy(path) => return Some(Outcome::Copy(path)),
            Effect::Delete(path) | Effect::Archive(path) | Effect::Unarchive(path)
                if self.is_open(&path) =>
            {
                self.tell(Event::Failure("this session is open: it stays where it is".to_owned()));
            }
            Effect::CopyPath(path) => {
                let text = path.to_string_lossy();
                self.tell(match clipboard::copy(&text) {
                    Ok(copied) => Event::Notice(format!("{copied}: {text}")),
                    Err(error) => Event::Failure(error.to_string()),
                });
            }
            Effect::Preview(path) => {
                if let Some(session) = state.session(&path) {
                    self.previews.want(session.clone());
                }
            }
            chore => self.chores.add(chore),
        }
        None
    }
}

#[cfg(test)]
mod tests;
