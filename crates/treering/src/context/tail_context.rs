//! The context of a session of which only the end was read.

use super::{ContextMessage, Model, Projection};
use crate::error::Result;

/// The context at the leaf of a session of which only the end was read; see
/// [`SessionTail::context`](crate::session::SessionTail::context).
///
/// Settings are often made once, at the start of a session, and are then [`TailSetting::Unread`]. The
/// [whole session](crate::session::SessionTail::whole) has them.
///
/// ```
/// use treering::context::{TailContext, TailSetting};
/// fn level(context: &TailContext) -> &str {
///     match &context.thinking_level {
///         TailSetting::Known(level) => level,
///         _ => "unknown until the whole session is read",
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TailContext {
    /// The messages, oldest first.
    pub messages: Vec<ContextMessage>,
    /// The thinking level in effect.
    pub thinking_level: TailSetting<String>,
    /// The model in effect, if an entry names one.
    pub model: TailSetting<Option<Model>>,
}

/// A setting of a session of which only the end was read.
///
/// ```
/// use treering::context::TailSetting;
/// assert_eq!(TailSetting::Known("high").known(), Some("high"));
/// assert_eq!(TailSetting::<&str>::Unread.known(), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TailSetting<T> {
    /// The part that was read determines the setting.
    Known(T),
    /// The setting depends on a part that was not read.
    Unread,
}

impl<T> TailSetting<T> {
    /// Returns the setting, if the part that was read determines it.
    pub fn known(self) -> Option<T> {
        match self {
            TailSetting::Known(setting) => Some(setting),
            TailSetting::Unread => None,
        }
    }

    fn new(is_known: bool, setting: T) -> Self {
        if is_known { TailSetting::Known(setting) } else { TailSetting::Unread }
    }
}

/// A projection whose settings may be in a part of the log that was not read.
pub(crate) struct TailProjection {
    pub(super) projection: Projection,
    pub(super) knows_level: bool,
    pub(super) knows_model: bool,
}

impl TailProjection {
    /// Reads all messages.
    pub(crate) fn read(self) -> Result<TailContext> {
        let TailProjection { projection, knows_level, knows_model } = self;
        let thinking_level = TailSetting::new(knows_level, projection.thinking_level.clone());
        let model = TailSetting::new(knows_model, projection.model.clone());
        let messages = projection.collect::<Result<_>>()?;
        Ok(TailContext { messages, thinking_level, model })
    }
}
