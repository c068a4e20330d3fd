//! Filters of a tree: the conversation, a part of it, or everything.

use treering::{Kind, Role};

/// A filter of a tree, the same in the terminal interface and on the web page.
///
/// ```
/// use treering_display::tree::Filter;
/// assert_eq!(Filter::default().next(), Filter::NoTools);
/// assert_eq!(Filter::from_name("user-only"), Some(Filter::UserOnly));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Filter {
    /// The conversation, without bookkeeping.
    #[default]
    Default,
    /// The conversation without tool results.
    NoTools,
    /// Only user messages.
    UserOnly,
    /// Only labeled entries.
    LabeledOnly,
    /// Every entry.
    All,
}

/// The facts about an entry that a filter uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterTraits {
    /// The type of the entry.
    pub kind: Kind,
    /// The role of the message, or `None` for other entries.
    pub role: Option<Role>,
    /// Whether the entry has a label.
    pub labeled: bool,
    /// Whether the entry belongs to the conversation of a subagent.
    pub sidechain: bool,
    /// Whether the entry is an answer that has only tool calls.
    pub silent: bool,
    /// Whether it is the active leaf.
    pub is_leaf: bool,
}

impl Filter {
    /// All filters, in the order in which they are cycled.
    pub const ALL: [Filter; 5] =
        [Filter::Default, Filter::NoTools, Filter::UserOnly, Filter::LabeledOnly, Filter::All];

    /// Returns the name of the filter on the screen.
    pub fn name(self) -> &'static str {
        match self {
            Filter::Default => "default",
            Filter::NoTools => "no-tools",
            Filter::UserOnly => "user-only",
            Filter::LabeledOnly => "labeled-only",
            Filter::All => "all",
        }
    }

    /// Returns the filter with this name.
    pub fn from_name(name: &str) -> Option<Filter> {
        Filter::ALL.into_iter().find(|filter| filter.name() == name)
    }

    /// Returns the next filter; after the last, the first.
    pub fn next(self) -> Filter {
        match self {
            Filter::Default => Filter::NoTools,
            Filter::NoTools => Filter::UserOnly,
            Filter::UserOnly => Filter::LabeledOnly,
            Filter::LabeledOnly => Filter::All,
            Filter::All => Filter::Default,
        }
    }

    /// Returns the previous filter; before the first, the last.
    pub fn previous(self) -> Filter {
        match self {
            Filter::Default => Filter::All,
            Filter::NoTools => Filter::Default,
            Filter::UserOnly => Filter::NoTools,
            Filter::LabeledOnly => Filter::UserOnly,
            Filter::All => Filter::LabeledOnly,
        }
    }

    /// Returns whether an entry is visible.
    pub fn shows(self, entry: FilterTraits) -> bool {
        if entry.silent && !entry.is_leaf {
            return false;
        }
        let is_conversation = !is_bookkeeping(entry.kind) && !entry.sidechain;
        match self {
            Filter::Default => is_conversation,
            Filter::NoTools => is_conversation && entry.role != Some(Role::ToolResult),
            Filter::UserOnly => is_conversation && entry.role == Some(Role::User),
            Filter::LabeledOnly => entry.labeled,
            Filter::All => true,
        }
    }
}

/// Returns whether an entry holds settings or notes instead of conversation.
fn is_bookkeeping(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Label
            | Kind::Leaf
            | Kind::Custom
            | Kind::ContextEdit
            | Kind::ModelChange
            | Kind::ThinkingLevelChange
            | Kind::SessionInfo
            | Kind::Usage
            | Kind::Other
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_cycled_both_ways() {
        for (at, filter) in Filter::ALL.into_iter().enumerate() {
            assert_eq!(filter.next(), Filter::ALL[(at + 1) % 5]);
            assert_eq!(filter.next().previous(), filter);
            assert_eq!(Filter::from_name(filter.name()), Some(filter));
        }
        assert_eq!(Filter::from_name("some"), None);
    }

    #[test]
    fn each_filter_shows_what_it_says() {
        let message = |role| FilterTraits {
            kind: Kind::Message,
            role: Some(role),
            labeled: false,
            sidechain: false,
            silent: false,
            is_leaf: false,
        };
        let user = message(Role::User);
        let silent = FilterTraits { silent: true, ..message(Role::Assistant) };
        let cases = [
            (user, [true, true, true, false, true]),
            (FilterTraits { labeled: true, ..user }, [true; 5]),
            (FilterTraits { sidechain: true, ..user }, [false, false, false, false, true]),
            (message(Role::Assistant), [true, true, false, false, true]),
            (message(Role::ToolResult), [true, false, false, false, true]),
            (silent, [false; 5]),
            (FilterTraits { labeled: true, ..silent }, [false; 5]),
            (FilterTraits { is_leaf: true, ..silent }, [true, true, false, false, true]),
            (
                FilterTraits { kind: Kind::Label, role: None, ..user },
                [false, false, false, false, true],
            ),
            (
                FilterTraits { kind: Kind::Compaction, role: None, ..user },
                [true, true, false, false, true],
            ),
        ];
        for (entry, expected) in cases {
            assert_eq!(Filter::ALL.map(|filter| filter.shows(entry)), expected, "{entry:?}");
        }
    }
}
