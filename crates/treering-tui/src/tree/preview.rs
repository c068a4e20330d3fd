//! Which page the preview shows.

/// What the preview shows.
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
    /// The one after it; none after the last.
    pub fn next(self) -> Shown {
        match self {
            Shown::Nothing => Shown::Entry,
            Shown::Entry => Shown::Context,
            Shown::Context => Shown::Nothing,
        }
    }
}
