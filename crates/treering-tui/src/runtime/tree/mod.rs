//! The tree selector's office: `worker` reads the session and notices what others write, `actions`
//! change it, `sheets` are made to be read.

mod actions;
mod sheets;
mod worker;

use super::desk::{Desk, Office, Post};
use super::visit::Visit;
use crate::keys::Bindings;
use crate::theme::Theme;
use crate::tree::{Action, Effect, Event, Outline, State, know_screen};
use crate::zone::Zone;
use actions::Actions;
use std::io;
use std::sync::Arc;
use treering_export::text::short_number;
use worker::Worker;

/// The outcome of a selector.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing was chosen.
    Closed,
    /// The system wants the program to end.
    Stopped,
    /// The user goes on at the leaf, with this text in the editor.
    Talk(Option<String>),
    /// The session is another one now; this is to be said about it.
    Replaced(String),
    /// The session's file is no longer the one that was read; why.
    Lost(String),
}

/// The looks and keys of the tree selector.
#[derive(Debug, Clone, Default)]
pub struct TreeSetup {
    /// Its colours.
    pub theme: Theme,
    /// Its keys.
    pub bindings: Bindings<Action>,
    /// The zone that times are shown in.
    pub zone: Zone,
}

/// A tree of this many entries takes a moment to lay out, and something is shown meanwhile.
const LARGE: usize = 100_000;

/// Shows a session's tree until the user chooses or leaves. `notice` is shown at first.
pub fn select(
    desk: &mut Desk,
    visit: &Visit,
    setup: &TreeSetup,
    notice: Option<String>,
) -> io::Result<Outcome> {
    let post = Post::default();
    let session = visit.agent.session();
    let count = session.tree().len();
    if count >= LARGE {
        desk.announce(&format!("laying out {} entries …", short_number(count as f64)))?;
    }
    let mut state = State::new(Outline::of(&session));
    state.theme = setup.theme;
    state.bindings = setup.bindings.clone();
    state.zone = setup.zone.clone();
    let worker = Worker::new(session, post.events.clone(), setup.zone.clone());
    worker.read(&state);
    worker.look_for_damage();
    let _followed = (!visit.is_lost).then(|| worker.follow(visit.trail.clone()));
    if let Some(notice) = notice {
        worker.tell(Event::Done(notice));
    }
    let actions = Actions::new(visit, worker.clone());
    desk.run(state, &mut TreeOffice { worker, actions }, &post)
}

struct TreeOffice {
    worker: Worker,
    actions: Actions,
}

impl Office<State> for TreeOffice {
    type Outcome = Outcome;

    /// Reads the visible entries at once; the others follow in the background.
    fn prepare(&mut self, state: State) -> State {
        know_screen(&self.worker.session, state)
    }

    fn perform(&mut self, effect: Effect, state: &State) -> Option<Outcome> {
        match effect {
            Effect::Close => return Some(Outcome::Closed),
            Effect::Stop => return Some(Outcome::Stopped),
            Effect::Talk(draft) => return Some(Outcome::Talk(draft)),
            Effect::Again(notice) => return Some(Outcome::Replaced(notice)),
            Effect::Reopen(why) => return Some(Outcome::Lost(why)),
            Effect::Search(query) => {
                self.worker.search(state.generation(), Arc::clone(state.outline()), query);
            }
            Effect::Read => self.worker.read(state),
            Effect::Preview(id, shown) => self.worker.page(id, shown),
            Effect::Diff(a, b, width) => {
                self.worker.sheet(move |session| sheets::diff(session, &a, &b, usize::from(width)))
            }
            Effect::PlanCompaction => {
                let settings = self.actions.compaction_settings();
                let width = usize::from(state.size().0);
                self.worker.sheet(move |session| sheets::compaction(session, &settings, width));
            }
            other => self.actions.perform(other),
        }
        None
    }
}
