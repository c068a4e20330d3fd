//! Actions that handlers ask for.
//!
//! A handler runs inside an operation, and one operation runs at a time: a handler that started
//! another one and waited for it would wait for itself. So it asks, and goes on; the session acts when
//! the operation that called the handler has ended.

use super::{AgentSession, NavigateOptions};
use crate::OwnFuture;
use crate::error::AgentError;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The largest number of actions that follow one operation. Handlers that answer each action with
/// another one must not block the session forever; the remaining actions follow the next operation.
const AT_ONCE: usize = 16;

/// A handle for handlers, to move the session that they are called by. Clones share one queue.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use treering::{Message, Session};
/// use treering_agent::{
///     AgentSession, HookFuture, Hooks, InfoChanged, NavigateOptions, SessionActions,
/// };
/// /// Goes back to an entry as soon as the session gets a name.
/// struct Back(SessionActions, String);
/// impl Hooks for Back {
///     fn session_info_changed<'a>(&'a self, _event: &'a InfoChanged) -> HookFuture<'a, ()> {
///         let mut options = NavigateOptions::exact();
///         options.given_summary = Some("Nothing came of it.".into());
///         self.0.navigate(&self.1, options);
///         Box::pin(async { Ok(()) })
///     }
/// }
/// let agent = AgentSession::new(Session::in_memory("/project"));
/// let first = agent.session().append(Message::user("Name a color."))?;
/// agent.session().append(Message::assistant("acme", "m", "Red."))?;
/// let back = Back(agent.actions(), first.to_string());
/// let agent = agent.with_hooks("back", Arc::new(back));
/// agent.set_name("Colors").await?;
/// let leaf = agent.session().path_to(treering::Position::Leaf)?.last().transpose()?;
/// assert_eq!(leaf.and_then(|leaf| leaf.parent().cloned()), Some(first));
/// # Ok::<(), treering_agent::AgentError>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Clone, Default)]
pub struct SessionActions(Arc<Mutex<VecDeque<Action>>>);

/// An action that was asked for.
#[derive(Debug)]
struct Action {
    entry: String,
    options: NavigateOptions,
}

impl SessionActions {
    /// Asks for a navigation to an entry of the same file, as [`AgentSession::navigate`] does it.
    ///
    /// Returns at once. The leaf moves when the operation that called the handler has ended, and
    /// handlers are called as for every navigation. A navigation that fails is reported as
    /// [`Event::HookFailed`](crate::Event::HookFailed) of the handler `actions`.
    pub fn navigate(&self, entry: impl Into<String>, options: NavigateOptions) {
        self.queue().push_back(Action { entry: entry.into(), options });
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Action>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Action> {
        self.queue().pop_front()
    }
}

impl AgentSession {
    /// Returns the handle with which handlers ask for actions.
    pub fn actions(&self) -> SessionActions {
        self.actions.clone()
    }

    /// Does what handlers have asked for. To be called when an operation has ended.
    pub(super) fn act(&self) -> OwnFuture<'_, ()> {
        Box::pin(async move {
            for _ in 0..AT_ONCE {
                let Some(action) = self.actions.next() else { return };
                match self.navigate_only(&action.entry, action.options.clone()).await {
                    Ok(_) => {}
                    // The operation that was faster acts at its end.
                    Err(AgentError::Busy { .. }) => return self.actions.queue().push_front(action),
                    Err(error) => self.hooks.action_failed("navigate", &error),
                }
            }
        })
    }
}
