//! The terminal and whoever sits at it: one for all the screens of a program, one after the other.
//!
//! A key that is pressed between two screens waits for the second. The terminal is given back when the
//! desk is left.

use super::guard::Guard;
use super::listen::{Listener, Signals};
use crate::Screen;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};
use std::io::{self, Stdout, stdout};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Does what a screen wants done. Whatever takes time is done elsewhere, and the screen told.
pub trait Office<S: Screen> {
    /// How a screen is left.
    type Outcome;

    /// Looks at a screen before it is drawn, and may see to it that there is something to draw.
    fn prepare(&mut self, screen: S) -> S {
        screen
    }

    /// Does one thing; says so if that was the last of it.
    fn perform(&mut self, effect: S::Effect, screen: &S) -> Option<Self::Outcome>;
}

/// Where a screen's events go in and come out.
#[derive(Debug)]
pub struct Post<E> {
    /// For whoever has something to tell.
    pub events: Sender<E>,
    inbox: Receiver<E>,
}

impl<E> Default for Post<E> {
    fn default() -> Self {
        let (events, inbox) = channel();
        Post { events, inbox }
    }
}

/// A terminal that is in use.
#[derive(Debug)]
pub struct Desk {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    listener: Listener,
    _signals: Signals,
    /// Last: the terminal is given back when nobody writes to it any more.
    _guard: Guard,
}

/// So many events are one frame at most: a flood must not freeze the picture.
const BURST: usize = 64;

impl Desk {
    /// Takes the terminal.
    pub fn open() -> io::Result<Self> {
        let guard = Guard::enter()?;
        let listener = Listener::start();
        let signals = Signals::heed(&listener)?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        Ok(Desk { terminal, listener, _signals: signals, _guard: guard })
    }

    /// Shows a screen until its office says how it was left.
    pub fn run<S: Screen, O: Office<S>>(
        &mut self,
        mut screen: S,
        office: &mut O,
        post: &Post<S::Event>,
    ) -> io::Result<O::Outcome> {
        let size = self.terminal.size()?;
        let events = post.events.clone();
        let _heard = self.listener.tell(size, move |happening| {
            // Nobody is there any more if this fails.
            let _ = events.send(happening.into());
        });
        // Everything is drawn anew. `clear` would ask the terminal where its cursor is, and not every
        // one answers.
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))?;
        // The size comes first, before there is anything to draw.
        while let Ok(event) = post.inbox.recv() {
            for event in std::iter::once(event).chain(post.inbox.try_iter().take(BURST)) {
                let effects;
                (screen, effects) = screen.update(event);
                for effect in effects {
                    if let Some(outcome) = office.perform(effect, &screen) {
                        return Ok(outcome);
                    }
                }
            }
            screen = office.prepare(screen);
            self.terminal.draw(|frame| screen.draw(frame))?;
        }
        Err(io::Error::other("nobody tells the screen anything any more"))
    }
}
