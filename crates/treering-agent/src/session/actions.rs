//! Actions that handlers request.
//!
//! A handler runs inside an operation, and only one operation runs at a time: a handler that
//! started another one and waited for it would wait for itself. So a handler only requests an
//! action; the session carries it out when the operation that called the handler has ended.

use super::{AgentSession, NavigateOptions};
use crate::OwnFuture;
use crate::error::AgentError;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The maximum number of actions that follow one operation, so that handlers that respond to each
/// action with another one cannot block the session forever. The remaining actions follow the next
/// operation.
const AT_ONCE: usize = 16;

/// A handle with which handlers request actions of the session that calls them. Clones share one
/// queue.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use treering::{EntryId, Message, Session};
/// use treering_agent::{
///     AgentSession, HookFuture, Hooks, InfoChanged, NavigateOptions, SessionActions,
/// };
/// /// Goes back to an entry as soon as the session gets a name.
/// struct Back(SessionActions, EntryId);
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
/// let back = Back(agent.actions(), first.clone());
/// let agent = agent.with_hooks("back", Arc::new(back));
/// agent.set_name("Colors").await?;
/// let leaf = agent.session().path_to(treering::Position::Leaf)?.last().transpose()?;
/// assert_eq!(leaf.and_then(|leaf| leaf.parent().cloned()), Some(first));
/// # Ok::<(), treering_agent::AgentError>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Clone, Default)]
pub struct SessionActions(Arc<Mutex<VecDeque<Action>>>);

/// A requested action.
#[derive(Debug)]
struct Action {
    entry: String,
    options: NavigateOptions,
}

impl SessionActions {
    /// Requests a navigation to an entry of the same file, as by [`AgentSession::navigate`].
    ///
    /// Returns at once. The leaf moves when the operation that called the handler has ended, and
    /// handlers are called as for every navigation. A navigation that fails is reported as
    /// [`Event::HookFailed`](crate::Event::HookFailed) of the handler `actions`.
    pub fn navigate(&self, entry: impl AsRef<str>, options: NavigateOptions) {
        self.queue().push_back(Action { entry: entry.as_ref().to_owned(), options });
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Action>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Action> {
        self.queue().pop_front()
    }
}

impl AgentSession {
    /// Returns the handle with which handlers request actions.
    pub fn actions(&self) -> SessionActions {
        self.actions.clone()
    }

    /// Carries out the actions that handlers have requested. Must be called when an operation has
    /// ended.
    pub(super) fn act(&self) -> OwnFuture<'_, ()> {
        Box::pin(async move {
            for _ in 0..AT_ONCE {
                let Some(action) = self.actions.next() else { return };
                match self.navigate_only(&action.entry, action.options.clone()).await {
                    Ok(_) => {}
                    // Another operation has started meanwhile, and carries out the actions at its
                    // end.
                    Err(AgentError::Busy { .. }) => return self.actions.queue().push_front(action),
                    Err(error) => self.hooks.action_failed("navigate", &error),
                }
            }
        })
    }
}
