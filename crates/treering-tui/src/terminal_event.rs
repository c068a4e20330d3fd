//! Events from the terminal, the same for every screen.

use crate::keys::Key;

/// An event of the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TerminalEvent {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// The mouse was used.
    Mouse(MouseEvent),
    /// The size in columns and rows. It is the first event of every screen.
    Resize(u16, u16),
    /// A signal asks the program to end.
    Stop,
}

impl From<Key> for TerminalEvent {
    fn from(key: Key) -> Self {
        TerminalEvent::Key(key)
    }
}

/// A mouse event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseEvent {
    /// A click in this column and row.
    Click(u16, u16),
    /// The wheel was turned up over this column and row.
    WheelUp(u16, u16),
    /// The wheel was turned down.
    WheelDown(u16, u16),
}
