//! The context that the end of a log tells.

use super::{ContextMessage, Model, Projection};
use crate::error::Result;

/// The context at the leaf of a session of which only the end was read.
///
/// Settings are often made once, at the start of a session. Those that the end does not tell are `None`; the
/// [whole](crate::session::SessionTail::whole) session knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TailContext {
    /// The messages, oldest first.
    pub messages: Vec<ContextMessage>,
    /// The thinking level in force; `None` if the end does not tell.
    pub thinking_level: Option<String>,
    /// The model in force, if any was named; the outer `None` means that the end does not tell.
    pub model: Option<Option<Model>>,
}

/// A projection whose settings may stand in a part of the log that was not read.
pub(crate) struct TailProjection {
    pub(super) projection: Projection,
    pub(super) knows_level: bool,
    pub(super) knows_model: bool,
}

impl TailProjection {
    /// Reads all messages.
    pub(crate) fn read(self) -> Result<TailContext> {
        let TailProjection { projection, knows_level, knows_model } = self;
        let thinking_level = knows_level.then(|| projection.thinking_level.clone());
        let model = knows_model.then(|| projection.model.clone());
        let messages = projection.collect::<Result<_>>()?;
        Ok(TailContext { messages, thinking_level, model })
    }
}
