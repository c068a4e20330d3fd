//! Session trees in a terminal.
//!
//! Each screen consists of three parts: a *state* that is plain data, an *update* function that
//! maps a state and an event to a new state and effects, and a *view* that draws a state and
//! changes nothing. An effect is a value that describes what to do. Only [`runtime`] reads
//! sessions, writes them and owns the terminal.
//!
//! [`picker`] chooses a session, [`tree`] an entry, [`chat`] is the conversation; [`page`] holds
//! lines to read, [`keys`] the key bindings. Text of a session is made safe by `treering-display`
//! before it is drawn.
//!
//! ```
//! use treering::{Message, Session};
//! use treering_display::tree::Outline;
//! use treering_tui::keys::Key;
//! use treering_tui::tree::{TreeEffect, TreeEvent, TreeState, update};
//!
//! let session = Session::in_memory("/project");
//! let hello = session.append(Message::user("hello"))?;
//! session.append(Message::assistant("acme", "m", "hi"))?;
//! let state = TreeState::new(Outline::of(&session));
//! let (state, _) = update(state, TreeEvent::Terminal(Key::UP.into()));
//! let (_, effects) = update(state, TreeEvent::Terminal(Key::ENTER.into()));
//! assert_eq!(effects, [TreeEffect::Navigate(hello.to_string())]);
//! # Ok::<(), treering::Error>(())
//! ```

pub mod chat;
pub mod draw;
pub mod input;
pub mod keys;
mod notice;
pub mod page;
pub mod picker;
pub mod runtime;
mod screen;
mod split;
mod terminal_event;
#[cfg(test)]
mod testing;
pub mod theme;
pub mod time_zone;
pub mod tree;

pub use notice::Notice;
pub use screen::Screen;
pub use terminal_event::{MouseEvent, TerminalEvent};
