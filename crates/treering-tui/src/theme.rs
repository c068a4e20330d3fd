//! How things look. Colour only repeats what a mark or a word says already: a screen without it says
//! the same.

use ratatui::style::{Color, Modifier, Style};

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each is named after what it marks")]
pub enum Tone {
    Plain,
    Dim,
    Title,
    User,
    Assistant,
    Tool,
    Summary,
    Label,
    Active,
    Cursor,
    Failure,
}

/// A set of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// For light text on a dark ground.
    #[default]
    Dark,
    /// For dark text on a light ground.
    Light,
    /// No colour at all.
    Plain,
}

impl Theme {
    /// The look of a tone.
    pub fn style(self, tone: Tone) -> Style {
        let base = Style::new();
        let style = match tone {
            Tone::Title | Tone::Cursor | Tone::Label => base.add_modifier(Modifier::BOLD),
            Tone::Dim => base.add_modifier(Modifier::DIM),
            _ => base,
        };
        match self.colour(tone) {
            Some(colour) => style.fg(colour),
            None => style,
        }
    }

    fn colour(self, tone: Tone) -> Option<Color> {
        let (dark, light) = match tone {
            Tone::Plain | Tone::Dim | Tone::Title | Tone::Cursor => return None,
            Tone::User => (Color::Cyan, Color::Blue),
            Tone::Assistant => (Color::Green, Color::Green),
            Tone::Tool => (Color::DarkGray, Color::DarkGray),
            Tone::Summary => (Color::Magenta, Color::Magenta),
            Tone::Label => (Color::Yellow, Color::Red),
            Tone::Active => (Color::Yellow, Color::Blue),
            Tone::Failure => (Color::Red, Color::Red),
        };
        match self {
            Theme::Dark => Some(dark),
            Theme::Light => Some(light),
            Theme::Plain => None,
        }
    }
}
