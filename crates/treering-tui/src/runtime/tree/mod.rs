//! The tree selector's office: it reads the session, writes what is to be written, and notices what
//! others write.

mod worker;

use super::desk::{Desk, Office, Post};
use crate::tree::{Effect, Event, Outline, State, read_some, update};
use std::io;
use std::sync::Arc;
use treering::Session;
use worker::Worker;

/// How a selector was left.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing was chosen.
    Closed,
    /// The system wants the program to end.
    Stopped,
    /// Go to this entry.
    Go(String),
    /// The same, with a summary of what is left behind.
    SummariseAndGo(String),
    /// Go back to where the leaf was.
    Undo,
}

/// Shows a session's tree until somebody chooses or leaves. The terminal is as it was afterwards.
pub fn select(session: Arc<Session>) -> io::Result<Outcome> {
    let mut desk = Desk::open()?;
    let post = Post::default();
    let state = State::new(Outline::of(&session));
    let mut worker = Worker::new(session, post.events.clone());
    worker.read(0, Arc::clone(state.outline()));
    let _followed = worker.follow();
    desk.run(state, &mut worker, &post)
}

impl Office<State> for Worker {
    type Outcome = Outcome;

    /// Reads what is on the screen at once; the rest comes when it comes. What is read may turn out
    /// not to be seen, and other entries take its place: a few rounds are enough for all but the
    /// oddest.
    fn prepare(&mut self, mut state: State) -> State {
        const ROUNDS: usize = 8;
        for _ in 0..ROUNDS {
            let unknown = state.unknown_on_screen();
            if unknown.is_empty() {
                break;
            }
            let gists = read_some(&self.session, state.outline(), &unknown);
            let generation = state.generation();
            (state, _) = update(state, Event::Gists(generation, gists));
        }
        state
    }

    fn perform(&mut self, effect: Effect, state: &State) -> Option<Outcome> {
        match effect {
            Effect::Close => return Some(Outcome::Closed),
            Effect::Stop => return Some(Outcome::Stopped),
            Effect::Go(id) => return Some(Outcome::Go(id)),
            Effect::SummariseAndGo(id) => return Some(Outcome::SummariseAndGo(id)),
            Effect::Undo => return Some(Outcome::Undo),
            Effect::Label(id, label) => {
                let event = match self.session.label(&id, label.as_deref()) {
                    Ok(_) => Event::Tree(Outline::of(&self.session)),
                    Err(error) => Event::Notice(error.to_string()),
                };
                self.tell(event);
            }
            Effect::Copy(_) => {
                self.tell(Event::Notice("copying is not supported yet".to_owned()));
            }
            Effect::Search(query) => {
                self.search(state.generation(), Arc::clone(state.outline()), query);
            }
            Effect::Read(generation) => self.read(generation, Arc::clone(state.outline())),
            Effect::Preview(id, shown) => self.page(id, shown),
        }
        None
    }
}
