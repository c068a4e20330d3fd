//! Tokens and money in few characters.

pub use treering_export::text::{cost, tokens};
