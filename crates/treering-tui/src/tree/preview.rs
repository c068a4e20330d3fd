//! The page that the preview shows.

/// The content of the preview.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Shown {
    /// There is no preview.
    #[default]
    Nothing,
    /// The whole entry.
    Entry,
    /// The context that the model would see from there.
    Context,
}

impl Shown {
    /// Returns the one after it; none after the last.
    pub fn next(self) -> Shown {
        match self {
            Shown::Nothing => Shown::Entry,
            Shown::Entry => Shown::Context,
            Shown::Context => Shown::Nothing,
        }
    }
}
