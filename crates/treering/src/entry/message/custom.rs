//! Messages of extensions.

use super::super::new::checked;
use super::content::Content;
use crate::entry::NewEntry;
use crate::error::Result;

/// Builds a message of an extension, which the model sees: an entry of type `custom_message`.
///
/// ```
/// use treering::Session;
/// use treering::entry::{Body, CustomMessage};
/// let session = Session::in_memory("/project");
/// let id = session.append(
///     CustomMessage::new("todo").with_text("Two items are open.").with_details(r#"{"open":2}"#)?,
/// )?;
/// let entry = session.entry(&id)?;
/// let Body::CustomMessage { text, display, .. } = entry.body() else { panic!() };
/// assert_eq!((&*text, display), ("Two items are open.", true));
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it is appended"]
pub struct CustomMessage {
    custom_type: String,
    content: Content,
    display: bool,
    details: Option<Vec<u8>>,
}

impl CustomMessage {
    /// Creates a message without content, which user interfaces show. `custom_type` names the
    /// extension's kind of message.
    pub fn new(custom_type: impl Into<String>) -> Self {
        CustomMessage {
            custom_type: custom_type.into(),
            content: Content::default(),
            display: true,
            details: None,
        }
    }

    /// Adds a block of text.
    pub fn with_text(mut self, text: impl AsRef<str>) -> Self {
        self.content.text(text.as_ref());
        self
    }

    /// Adds an image: its media type, such as `image/png`, and its bytes in Base64.
    pub fn with_image(mut self, mime_type: impl AsRef<str>, data: impl AsRef<str>) -> Self {
        self.content.image(mime_type.as_ref(), data.as_ref());
        self
    }

    /// Sets whether user interfaces show the message.
    pub fn with_display(mut self, display: bool) -> Self {
        self.display = display;
        self
    }

    /// Sets data of the extension, as JSON. The model does not see it.
    ///
    /// # Errors
    ///
    /// Fails if `details` is not JSON.
    pub fn with_details(mut self, details: impl AsRef<[u8]>) -> Result<Self> {
        self.details = Some(checked("details", details.as_ref())?.to_vec());
        Ok(self)
    }
}

impl From<CustomMessage> for NewEntry {
    fn from(message: CustomMessage) -> NewEntry {
        let CustomMessage { custom_type, content, display, details } = message;
        let entry = NewEntry::of_custom_message(&custom_type, &content.to_json(), display);
        match details {
            Some(details) => entry.raw("details", &details),
            None => entry,
        }
    }
}
