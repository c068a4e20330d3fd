//! The runtime of the tree selector: `worker` reads the session and follows other writers,
//! `actions` changes the session, `overlays` makes pages.

mod actions;
mod overlays;
mod worker;

use super::open_session::OpenSession;
use super::runner::{EffectHandler, EventChannel, Runner};
use crate::keys::Bindings;
use crate::theme::Theme;
use crate::time_zone::DisplayZone;
use crate::tree::{TreeAction, TreeEffect, TreeEvent, TreeState, load_visible_previews};
use actions::SessionActions;
use std::io;
use std::sync::Arc;
use treering_display::number::short_number;
use treering_display::tree::Outline;
use worker::TreeWorker;

/// The outcome of a selector.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeOutcome {
    /// Nothing was chosen.
    Closed,
    /// A signal ends the program.
    Stopped,
    /// The chat is opened at the leaf, with this text in the editor.
    OpenChat(Option<String>),
    /// The session is resumed in its agent, from this entry or from its leaf.
    Resume(Option<String>),
    /// The session was replaced; the text is a notice about it.
    Replaced(String),
    /// The session's file is no longer the one that was read; the text is the reason.
    Lost(String),
}

/// The settings of the tree selector.
#[derive(Debug, Clone, Default)]
pub struct TreeSetup {
    /// The colors.
    pub theme: Theme,
    /// The key bindings.
    pub bindings: Bindings<TreeAction>,
    /// The time zone of the shown times.
    pub zone: DisplayZone,
}

/// Laying out a tree of this many entries takes a moment, so a message is shown.
const LARGE: usize = 100_000;

/// Shows the tree of a session until the user chooses or leaves. `notice` is shown first.
pub fn select(
    runner: &mut Runner,
    open_session: &OpenSession,
    setup: &TreeSetup,
    notice: Option<String>,
) -> io::Result<TreeOutcome> {
    let channel = EventChannel::default();
    let session = open_session.agent.session();
    let count = session.tree().len();
    if count >= LARGE {
        runner.show_message(&format!("laying out {} entries …", short_number(count as f64)))?;
    }
    let mut state = TreeState::new(Outline::of(&session));
    state.theme = setup.theme;
    state.bindings = setup.bindings.clone();
    state.zone = setup.zone.clone();
    let worker = TreeWorker::new(session, channel.events.clone(), setup.zone.clone());
    worker.read(&state);
    worker.look_for_damage();
    let _followed =
        (!open_session.is_lost).then(|| worker.follow(open_session.leaf_history.clone()));
    if let Some(notice) = notice {
        worker.tell(TreeEvent::Done(notice));
    }
    let actions = SessionActions::new(open_session, worker.clone());
    runner.run(state, &mut TreeController { worker, actions }, &channel)
}

struct TreeController {
    worker: TreeWorker,
    actions: SessionActions,
}

impl EffectHandler<TreeState> for TreeController {
    type Outcome = TreeOutcome;

    /// Reads the visible entries at once; the others follow in the background.
    fn prepare(&mut self, state: TreeState) -> TreeState {
        load_visible_previews(&self.worker.session, state)
    }

    fn perform(&mut self, effect: TreeEffect, state: &TreeState) -> Option<TreeOutcome> {
        match effect {
            TreeEffect::Close => return Some(TreeOutcome::Closed),
            TreeEffect::Stop => return Some(TreeOutcome::Stopped),
            TreeEffect::OpenChat(draft) => return Some(TreeOutcome::OpenChat(draft)),
            TreeEffect::Resume(at) => return Some(TreeOutcome::Resume(at)),
            TreeEffect::ShowReplacement(notice) => return Some(TreeOutcome::Replaced(notice)),
            TreeEffect::Reopen(why) => return Some(TreeOutcome::Lost(why)),
            TreeEffect::Search(query) => {
                self.worker.search(state.generation(), Arc::clone(state.outline()), query);
            }
            TreeEffect::Read => self.worker.read(state),
            TreeEffect::Preview(id, shown) => self.worker.page(id, shown),
            TreeEffect::Diff(a, b, width) => self
                .worker
                .overlay(move |session| overlays::diff(session, &a, &b, usize::from(width))),
            TreeEffect::PlanCompaction => {
                let settings = self.actions.compaction_settings();
                let width = usize::from(state.size().0);
                self.worker.overlay(move |session| overlays::compaction(session, &settings, width));
            }
            other => self.actions.perform(other),
        }
        None
    }
}
