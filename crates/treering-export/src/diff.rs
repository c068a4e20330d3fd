//! The change that an edit makes, line by line.

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices};

/// A line of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub sign: char,
    pub text: &'a str,
}

/// Comparing lines costs up to the product of their numbers. Per byte of text it may cost this much;
/// beyond that they are not compared.
const MAX_COST: usize = 64;
/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// The lines that go, come and stay. A line with the sign `⋯` stands for unchanged ones left out.
pub(crate) fn lines<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let (before, after) = (split(old), split(new));
    if before.len().saturating_mul(after.len()) > MAX_COST * (old.len() + new.len() + 1) {
        let gone = before.into_iter().map(|text| Line { sign: '-', text });
        return gone.chain(after.into_iter().map(|text| Line { sign: '+', text })).collect();
    }
    let ops = capture_diff_slices(Algorithm::Myers, &before, &after);
    let mut out = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let changes = op.iter_changes(&before, &after).map(|change| {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            Line { sign, text: change.value() }
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
                        _ if place == head => out.push(Line { sign: '⋯', text: "" }),
                        _ => {}
                    }
                }
            }
            _ => out.extend(changes),
        }
    }
    out
}

/// No text has no lines, not one empty line.
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
    }
}
