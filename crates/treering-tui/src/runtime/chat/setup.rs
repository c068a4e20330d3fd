//! The settings of a chat: colors, keys, models.

use crate::chat::{ChatAction, DoubleEscape};
use crate::keys::Bindings;
use crate::theme::Theme;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use treering_agent::ChatModel;

/// Resolves the name of a model, or returns the reason why there is none.
pub type ModelResolver = Box<dyn Fn(&str) -> Result<Arc<dyn ChatModel>, String> + Send + Sync>;

/// The settings of a chat. The chosen model is kept when the chat is left for the tree and opened
/// again.
pub struct ChatSetup {
    /// The colors.
    pub theme: Theme,
    /// The key bindings.
    pub bindings: Bindings<ChatAction>,
    /// The action of two presses of Esc.
    pub double_escape: DoubleEscape,
    inner: Arc<ModelState>,
}

struct ModelState {
    no_model: String,
    model: Mutex<Option<Arc<dyn ChatModel>>>,
    choose: ModelResolver,
}

/// The models of a setup, for the background threads.
#[derive(Clone)]
pub(super) struct Models(Arc<ModelState>);

impl fmt::Debug for ChatSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatSetup").field("theme", &self.theme).finish_non_exhaustive()
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Models")
    }
}

impl ChatSetup {
    /// Creates the settings of a chat. If there is no model, `no_model`, in Markdown, says how to
    /// configure one.
    pub fn new(model: Option<Arc<dyn ChatModel>>, no_model: &str, choose: ModelResolver) -> Self {
        let inner = ModelState { no_model: no_model.to_owned(), model: Mutex::new(model), choose };
        ChatSetup {
            theme: Theme::default(),
            bindings: Bindings::default(),
            double_escape: DoubleEscape::default(),
            inner: Arc::new(inner),
        }
    }

    pub(super) fn no_model(&self) -> &str {
        &self.inner.no_model
    }

    pub(super) fn models(&self) -> Models {
        Models(Arc::clone(&self.inner))
    }
}

impl Models {
    /// Returns the chosen model.
    pub(super) fn current(&self) -> Option<Arc<dyn ChatModel>> {
        self.0.model.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Chooses another model.
    pub(super) fn choose(&self, name: &str) -> Result<Arc<dyn ChatModel>, String> {
        let chosen = (self.0.choose)(name)?;
        *self.0.model.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&chosen));
        Ok(chosen)
    }
}
