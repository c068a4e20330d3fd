//! Color themes. Colors only repeat what a mark or a word shows, so that nothing is lost without
//! colors.

use ratatui::style::{Color, Modifier, Style};

/// The meaning of a piece of text.
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
    // Prose.
    Heading,
    Strong,
    Emphasis,
    Struck,
    Link,
    Quote,
    // Code.
    Code,
    Keyword,
    Literal,
    Number,
    Comment,
    Name,
    // Differences.
    Added,
    Removed,
    Changed,
}

/// A set of colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// Light text on a dark background.
    #[default]
    Dark,
    /// Dark text on a light background.
    Light,
    /// No colors.
    Plain,
}

impl Theme {
    /// Returns the style of a tone.
    pub fn style(self, tone: Tone) -> Style {
        let style = Style::new().add_modifier(self.modifier(tone));
        match self.color(tone) {
            Some(color) => style.fg(color),
            None => style,
        }
    }

    /// Returns the style of the selected row. Without colors it is reversed.
    pub fn selection(self) -> Style {
        match self {
            Theme::Dark => Style::new().bg(Color::Indexed(24)),
            Theme::Light => Style::new().bg(Color::Indexed(153)),
            Theme::Plain => Style::new().add_modifier(Modifier::REVERSED),
        }
    }

    /// Returns the style of the title bar.
    pub fn title_bar(self) -> Style {
        match self {
            Theme::Dark => Style::new().bg(Color::Indexed(237)),
            Theme::Light => Style::new().bg(Color::Indexed(253)),
            Theme::Plain => Style::new().add_modifier(Modifier::REVERSED),
        }
    }

    fn modifier(self, tone: Tone) -> Modifier {
        match tone {
            Tone::Title | Tone::Cursor | Tone::Label | Tone::Heading | Tone::Strong => {
                Modifier::BOLD
            }
            Tone::Dim | Tone::Quote | Tone::Comment => Modifier::DIM,
            Tone::Link => Modifier::UNDERLINED,
            // Not every terminal supports italics and strikethrough, so the plain theme uses other
            // modifiers.
            Tone::Emphasis if self == Theme::Plain => Modifier::UNDERLINED,
            Tone::Emphasis => Modifier::ITALIC,
            Tone::Struck if self == Theme::Plain => Modifier::DIM,
            Tone::Struck => Modifier::CROSSED_OUT,
            Tone::Added | Tone::Keyword if self == Theme::Plain => Modifier::BOLD,
            Tone::Removed if self == Theme::Plain => Modifier::UNDERLINED,
            _ => Modifier::empty(),
        }
    }

    fn color(self, tone: Tone) -> Option<Color> {
        let (dark, light) = match tone {
            Tone::Plain | Tone::Dim | Tone::Title | Tone::Cursor => return None,
            Tone::Strong | Tone::Emphasis | Tone::Struck | Tone::Quote => return None,
            Tone::Comment => return None,
            Tone::User => (Color::Cyan, Color::Blue),
            Tone::Assistant => (Color::Green, Color::Green),
            Tone::Tool => (Color::DarkGray, Color::DarkGray),
            Tone::Summary => (Color::Magenta, Color::Magenta),
            Tone::Label => (Color::Yellow, Color::Red),
            Tone::Active => (Color::Yellow, Color::Blue),
            Tone::Failure => (Color::Red, Color::Red),
            Tone::Heading => (Color::Cyan, Color::Blue),
            Tone::Link => (Color::Blue, Color::Blue),
            Tone::Code => (Color::LightCyan, Color::Blue),
            Tone::Keyword => (Color::Magenta, Color::Magenta),
            Tone::Literal => (Color::Green, Color::Green),
            Tone::Number => (Color::Yellow, Color::Red),
            Tone::Name => (Color::LightBlue, Color::Blue),
            Tone::Added => (Color::Green, Color::Green),
            Tone::Removed => (Color::Red, Color::Red),
            Tone::Changed => (Color::Yellow, Color::Magenta),
        };
        match self {
            Theme::Dark => Some(dark),
            Theme::Light => Some(light),
            Theme::Plain => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_color_only_what_every_terminal_can_do() {
        let allowed = Modifier::BOLD | Modifier::DIM | Modifier::UNDERLINED | Modifier::REVERSED;
        for tone in [
            Tone::Plain,
            Tone::Dim,
            Tone::Title,
            Tone::User,
            Tone::Failure,
            Tone::Heading,
            Tone::Strong,
            Tone::Emphasis,
            Tone::Struck,
            Tone::Link,
            Tone::Quote,
            Tone::Code,
            Tone::Keyword,
            Tone::Comment,
            Tone::Added,
            Tone::Removed,
            Tone::Changed,
        ] {
            let style = Theme::Plain.style(tone);
            assert_eq!((style.fg, style.bg), (None, None), "{tone:?}");
            assert!(allowed.contains(style.add_modifier), "{tone:?}");
        }
    }
}
