//! The trait of all screens: plain data, an update function, and a draw function.

use crate::TerminalEvent;
use ratatui::Frame;

/// A screen.
pub trait Screen: Sized {
    /// The events of the screen. Terminal events are among them.
    type Event: From<TerminalEvent> + Send + 'static;
    /// The effects that the screen asks its runtime to carry out.
    type Effect;

    /// Returns the new screen and the effects of an event. The function is pure: it reads and
    /// writes nothing.
    fn update(self, event: Self::Event) -> (Self, Vec<Self::Effect>);

    /// Draws the screen, and changes nothing.
    fn draw(&self, frame: &mut Frame<'_>);
}
