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
//! use treering_tui::tree::{Effect, Event, Outline, State, update};
//!
//! let session = Session::in_memory("/project");
//! let hello = session.append(Message::user("hello"))?;
//! session.append(Message::assistant("acme", "m", "hi"))?;
//! let state = State::new(Outline::of(&session));
//! let (state, _) = update(state, Event::Happened(Key::UP.into()));
//! let (_, effects) = update(state, Event::Happened(Key::ENTER.into()));
//! assert_eq!(effects, [Effect::Go(hello.to_string())]);
//! # Ok::<(), treering::Error>(())
//! ```

pub mod amount;
pub mod canvas;
pub mod chat;
mod happening;
pub mod input;
pub mod keys;
mod notice;
pub mod page;
pub mod picker;
pub mod runtime;
mod screen;
mod split;
#[cfg(test)]
mod testing;
pub mod text;
pub mod theme;
pub mod tree;
pub mod zone;

pub use happening::{Happening, Mouse};
pub use notice::Notice;
pub use screen::Screen;
