//! Compares texts: the change that an edit makes, two texts side by side, and the words that differ
//! between two lines.
//!
//! Comparing takes up to the product of the lengths, so for large texts only the common beginning and the
//! common end are found, and everything between them counts as replaced.

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices};

/// A line of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffLine<'a> {
    /// `-` for a removed line, `+` for an added one, a space for an unchanged one, `⋯` for unchanged lines
    /// that are left out.
    pub sign: char,
    /// The line, without its end.
    pub text: &'a str,
}

/// The largest cost of a comparison, per byte of text.
const MAX_COST: usize = 64;
/// The number of unchanged lines that are shown around a change.
const CONTEXT: usize = 3;

/// Returns the removed, added and unchanged lines. A line with the sign `⋯` replaces unchanged
/// lines that are left out.
///
/// ```
/// let signs: String = treering_display::diff::lines("a\nb", "a\nc").iter().map(|l| l.sign).collect();
/// assert_eq!(signs, " -+");
/// ```
pub fn lines<'a>(old: &'a str, new: &'a str) -> Vec<DiffLine<'a>> {
    let (before, after) = (split(old), split(new));
    let ops = compare(&before, &after, old.len() + new.len());
    let mut out = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let changes = op.iter_changes(&before, &after).map(|change| {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            DiffLine { sign, text: change.value() }
        });
        match op {
            DiffOp::Equal { len, .. } => {
                let head = if at == 0 { 0 } else { CONTEXT };
                let tail = if at + 1 == ops.len() { 0 } else { CONTEXT };
                let left_out = len.saturating_sub(head + tail);
                if left_out < 2 {
                    out.extend(changes);
                    continue;
                }
                for (place, line) in changes.enumerate() {
                    match place {
                        _ if place < head || place >= head + left_out => out.push(line),
                        _ if place == head => out.push(DiffLine { sign: '⋯', text: "" }),
                        _ => {}
                    }
                }
            }
            _ => out.extend(changes),
        }
    }
    out
}

/// Returns all lines of two texts in pairs. A line that only one of the texts has is paired with `None`.
///
/// ```
/// let pairs = treering_display::diff::pairs("a\nb", "a");
/// assert_eq!(pairs, [(Some("a"), Some("a")), (Some("b"), None)]);
/// ```
pub fn pairs<'a>(left: &'a str, right: &'a str) -> Vec<(Option<&'a str>, Option<&'a str>)> {
    let (before, after) = (split(left), split(right));
    let mut out = Vec::new();
    for op in compare(&before, &after, left.len() + right.len()) {
        let (_, old, new) = op.as_tag_tuple();
        for place in 0..old.len().max(new.len()) {
            let of = |lines: &[&'a str], range: &std::ops::Range<usize>| {
                lines.get(range.clone()).and_then(|lines| lines.get(place)).copied()
            };
            out.push((of(&before, &old), of(&after, &new)));
        }
    }
    out
}

/// A piece of a line, and whether it is missing from the other line.
pub type DiffPiece<'a> = (bool, &'a str);

/// Returns two lines in pieces. The pieces of a line together are the line.
///
/// ```
/// let (old, _) = treering_display::diff::words("a b c", "a x c");
/// assert_eq!(old, [(false, "a "), (true, "b"), (false, " c")]);
/// ```
pub fn words<'a>(old: &'a str, new: &'a str) -> (Vec<DiffPiece<'a>>, Vec<DiffPiece<'a>>) {
    let (before, after) = (split_words(old), split_words(new));
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let (mut old_at, mut new_at) = (0, 0);
    for op in compare(&before, &after, old.len() + new.len()) {
        let (tag, old_range, new_range) = op.as_tag_tuple();
        let is_changed = tag != similar::DiffTag::Equal;
        let add = |text: &'a str, words: &[&str], at: &mut usize, out: &mut Vec<DiffPiece<'a>>| {
            let length: usize = words.iter().map(|word| word.len()).sum();
            if let Some(piece) = text.get(*at..*at + length).filter(|piece| !piece.is_empty()) {
                out.push((is_changed, piece));
            }
            *at += length;
        };
        add(old, before.get(old_range).unwrap_or_default(), &mut old_at, &mut left);
        add(new, after.get(new_range).unwrap_or_default(), &mut new_at, &mut right);
    }
    (left, right)
}

/// Compares two lists, completely or only at their ends if they are too large.
fn compare(before: &[&str], after: &[&str], bytes: usize) -> Vec<DiffOp> {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = before.iter().zip(after).take_while(same).count();
    let least = before.len().min(after.len()) - head;
    let tail = before.iter().rev().zip(after.iter().rev()).take(least).take_while(same).count();
    let (old_len, new_len) = (before.len() - head - tail, after.len() - head - tail);
    if old_len.saturating_mul(new_len) <= MAX_COST * (bytes + 1) {
        return capture_diff_slices(Algorithm::Myers, before, after);
    }
    let (old_index, new_index) = (before.len() - tail, after.len() - tail);
    let ops = [
        DiffOp::Equal { old_index: 0, new_index: 0, len: head },
        DiffOp::Replace { old_index: head, old_len, new_index: head, new_len },
        DiffOp::Equal { old_index, new_index, len: tail },
    ];
    ops.into_iter().filter(|op| !matches!(op, DiffOp::Equal { len: 0, .. })).collect()
}

/// Splits a line into words, spaces, and single other characters.
fn split_words(line: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        _ if c == '_' || c.is_alphanumeric() => 1,
        _ if c.is_whitespace() => 2,
        _ => 0,
    };
    let (mut out, mut start, mut last) = (Vec::new(), 0, None);
    for (at, character) in line.char_indices() {
        let this = kind(character);
        if last.is_some_and(|last| last != this || this == 0) {
            out.extend(line.get(start..at));
            start = at;
        }
        last = Some(this);
    }
    out.extend(line.get(start..).filter(|rest| !rest.is_empty()));
    out
}

/// Splits a text into lines. An empty text has no lines.
fn split(text: &str) -> Vec<&str> {
    text.strip_suffix('\n').unwrap_or(text).split('\n').filter(|_| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        lines(old, new).iter().map(|line| format!("{}{}\n", line.sign, line.text)).collect()
    }

    #[test]
    fn what_goes_and_what_comes() {
        assert_eq!(shown("a\nb\nc", "a\nB\nc"), " a\n-b\n+B\n c\n");
        assert_eq!(shown("", "a\nb\n"), "+a\n+b\n");
        assert_eq!(shown("a\n", ""), "-a\n");
        assert_eq!(shown("", ""), "");
    }

    #[test]
    fn what_stays_is_cut_short() {
        let old: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        let mut new = old.clone();
        new[10] = "ten".to_owned();
        let expected = "⋯\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n⋯\n";
        assert_eq!(shown(&old.join("\n"), &new.join("\n")), expected);
    }

    #[test]
    fn huge_edits_are_shown_without_comparing() {
        let (old, new) = ("x\n".repeat(200_000), "y\n".repeat(200_000));
        assert_eq!(lines(&old, &new).len(), 400_000);
        assert_eq!(pairs(&old, &new).len(), 200_000);
        let (old, new) = (format!("a\n{old}b\n"), format!("a\n{new}b\n"));
        let pairs = pairs(&old, &new);
        assert_eq!(pairs.first(), Some(&(Some("a"), Some("a"))));
        assert_eq!(pairs.last(), Some(&(Some("b"), Some("b"))));
    }

    #[test]
    fn lines_that_belong_together_stand_together() {
        let expected = [
            (Some("a"), Some("a")),
            (Some("b"), Some("B")),
            (None, Some("new")),
            (Some("c"), Some("c")),
        ];
        assert_eq!(pairs("a\nb\nc", "a\nB\nnew\nc"), expected);
        assert_eq!(pairs("", "x"), [(None, Some("x"))]);
    }

    proptest::proptest! {
        #[test]
        fn words_are_the_line(old in "[ab _.é]{0,30}", new in "[ab _.é]{0,30}") {
            let (left, right) = words(&old, &new);
            for (line, pieces) in [(&old, &left), (&new, &right)] {
                let together: String = pieces.iter().map(|(_, piece)| *piece).collect();
                proptest::prop_assert_eq!(&together, line);
            }
            let same = |pieces: &[DiffPiece<'_>]| -> String {
                pieces.iter().filter(|(is_changed, _)| !is_changed).map(|(_, piece)| *piece).collect()
            };
            proptest::prop_assert_eq!(same(&left), same(&right));
        }
    }
}
