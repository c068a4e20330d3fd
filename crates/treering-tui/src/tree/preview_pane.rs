//! The content of the preview.

/// The content of the preview.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PreviewContent {
    /// There is no preview.
    #[default]
    Nothing,
    /// The whole entry.
    Entry,
    /// The context of the model at the entry.
    Context,
}

impl PreviewContent {
    /// Returns the next content; none after the last.
    pub fn next(self) -> PreviewContent {
        match self {
            PreviewContent::Nothing => PreviewContent::Entry,
            PreviewContent::Entry => PreviewContent::Context,
            PreviewContent::Context => PreviewContent::Nothing,
        }
    }
}
