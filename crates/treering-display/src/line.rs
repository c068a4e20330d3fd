//! One line of a text: the first that is not blank, shortened.

use crate::text::{safe_line, visible_replacement};

/// Returns the first line that is not blank, without the spaces around it.
pub fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// Returns the first line that is not blank in at most `most` characters, followed by an ellipsis if it was
/// cut. Invisible characters are made visible and runs of spaces become one space.
pub fn excerpt(text: &str, most: usize) -> String {
    let line = first_line(text);
    plain_excerpt(line, most).unwrap_or_else(|| safe_excerpt(line, most))
}

/// Returns the excerpt of a line in which nothing has to be replaced, as in most lines.
fn plain_excerpt(line: &str, most: usize) -> Option<String> {
    let start = line.get(..line.len().min(most))?;
    let is_plain = start.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && !start.as_bytes().windows(2).any(|pair| pair == b"  ");
    let is_cut = start.len() < line.len();
    is_plain.then(|| if is_cut { format!("{}…", start.trim_end()) } else { start.to_owned() })
}

/// Returns the excerpt of any line.
fn safe_excerpt(text: &str, most: usize) -> String {
    let mut line = String::with_capacity(most.min(text.len()) + 4);
    let mut left = most;
    for word in text.split([' ', '\t']).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
            left = left.saturating_sub(1);
        }
        for character in word.chars() {
            if left == 0 {
                line.truncate(line.trim_end().len());
                line.push('…');
                return line;
            }
            left -= 1;
            match character {
                ' '..='~' => line.push(character),
                _ => match visible_replacement(character) {
                    Some(shown) => line.push_str(&shown),
                    None => line.push(character),
                },
            }
        }
    }
    line
}

/// Returns the first line that is not blank, safe to show, with runs of spaces as one space. A long line is
/// cut a little after `most` characters; the caller cuts it to its width.
///
/// ```
/// use treering_display::line::one_line;
/// assert_eq!(one_line("\n hello \t there\nworld", 80), "hello there");
/// ```
pub fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in first_line(text).split([' ', '\t']).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        // A word may be megabytes long.
        line.extend(word.chars().take(most.saturating_add(1)));
        if line.len() > most {
            break;
        }
    }
    safe_line(&line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_excerpt_is_one_visible_line() {
        assert_eq!(excerpt("\n  \n  hello \t  there \nworld", 20), "hello there");
        assert_eq!(excerpt(&"x".repeat(1_000_000), 4), "xxxx…");
        assert_eq!(excerpt("ab cd", 3), "ab…");
        assert_eq!(excerpt("\u{1b}[1m", 9), "\\x1b[1m");
    }

    proptest! {
        #[test]
        fn a_plain_line_is_cut_as_any_other(line in "[ab~é\t ]{0,12}", most in 0..14_usize) {
            let line = line.trim();
            let plain = plain_excerpt(line, most);
            prop_assert!(plain.is_none() || plain == Some(safe_excerpt(line, most)));
        }
    }

    #[test]
    fn one_line_is_the_first_with_text() {
        assert_eq!(one_line("\n  \n hello \t there\nworld", 100), "hello there");
        assert_eq!(one_line("\u{1b}[2J", 100), "\\x1b[2J");
        assert!(one_line(&"x ".repeat(100_000), 1000).len() < 2000);
        assert_eq!(one_line(&"x".repeat(100_000), 1000).len(), 1001);
    }
}
