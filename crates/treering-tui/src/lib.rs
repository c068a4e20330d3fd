//! Session trees in a terminal.
//!
//! Three things that know little of each other: a *state* that is plain data, an *update* that is a
//! function of a state and an event and gives a new state and what is to be done, and a *view* that
//! draws a state and changes nothing. What is to be done is an effect: a value. Only [`runtime`]
//! reads sessions, writes them and owns the terminal.
//!
//! [`picker`] chooses a session, [`tree`] a place in it, [`chat`] is the conversation; [`page`] is what
//! there is to read; [`keys`] which key does what; [`text`] what keeps a session's
//! content from driving the terminal.
//!
//! ```
//! use treering::{Message, Session};
//! use treering_tui::keys::Key;
//! use treering_tui::tree::{Outline, TreeEffect, TreeEvent, TreeState, update};
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

pub mod amount;
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
pub mod text;
pub mod theme;
pub mod time_zone;
pub mod tree;

pub use notice::Notice;
pub use screen::Screen;
pub use terminal_event::{MouseEvent, TerminalEvent};
