//! What every screen is: plain data, a function that changes it, a function that draws it.

use crate::Happening;
use ratatui::Frame;

/// A screen.
pub trait Screen: Sized {
    /// What it can be told. What happens at the terminal is part of it.
    type Event: From<Happening> + Send + 'static;
    /// What it can want done: a value, for somebody else to do.
    type Effect;

    /// The screen after an event, and what is to be done. Pure: it reads and writes nothing.
    fn update(self, event: Self::Event) -> (Self, Vec<Self::Effect>);

    /// Draws the screen, and changes nothing.
    fn draw(&self, frame: &mut Frame<'_>);
}
