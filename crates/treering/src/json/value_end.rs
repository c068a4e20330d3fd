//! Finds the ends of values by their brackets and quotes alone, 64 bytes at a time.
//!
//! Each block is reduced to bit masks with one bit for each byte: quotes, backslashes, escaped
//! bytes, bytes inside a string. The text of strings, which is most of a session, then needs no
//! data-dependent branches.

use super::seek::{BLOCK, Block};
use super::skip_value;

/// Returns the end of the value at `pos` according to its brackets and quotes alone, or `None` if
/// it does not end. This is several times as fast as [`skip_value`], for readers of heads; the
/// grammar is checked when the body is read.
pub(crate) fn value_end(bytes: &[u8], pos: usize) -> Option<usize> {
    let (open, close) = match bytes.get(pos)? {
        b'"' => return string_end(bytes, pos),
        b'{' => (b'{', b'}'),
        b'[' => (b'[', b']'),
        _ => return skip_value(bytes, pos),
    };
    let (mut at, mut depth) = (pos + 1, 1_usize);
    let mut text = StringState::default();
    while at < bytes.len() {
        let block = Block::at(bytes, at);
        let (quotes, escapes) = text.quotes(&block);
        // Most blocks are wholly inside a string.
        if quotes != 0 || !text.is_inside() {
            let inside = text.pass(quotes);
            if escapes & !inside != 0 {
                // The bytes are not JSON: a backslash outside a string escapes nothing.
                return value_end_bytewise(bytes, pos, open, close);
            }
            let mut opens = block.mask(open) & !inside;
            let mut closes = block.mask(close) & !inside;
            while closes != 0 {
                let first = closes.trailing_zeros();
                let before = (1 << first) - 1;
                depth += (opens & before).count_ones() as usize;
                depth -= 1;
                if depth == 0 {
                    return Some(at + first as usize + 1);
                }
                opens &= !before;
                closes &= closes - 1;
            }
            depth += opens.count_ones() as usize;
        }
        at += BLOCK;
    }
    None
}

/// Returns the same as `value_end`, byte by byte.
fn value_end_bytewise(bytes: &[u8], pos: usize, open: u8, close: u8) -> Option<usize> {
    let (mut at, mut depth) = (pos + 1, 1_usize);
    loop {
        let byte = *bytes.get(at)?;
        if byte == b'"' {
            at = string_end(bytes, at)?;
            continue;
        }
        at += 1;
        if byte == open {
            depth += 1;
        } else if byte == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
}

/// Returns the end of the string whose opening quote is at `pos`.
#[inline]
fn string_end(bytes: &[u8], pos: usize) -> Option<usize> {
    let start = pos + 1;
    // Most strings are short and have no escapes.
    let near = Block::at(bytes, start);
    let (quotes, escapes) = (near.mask(b'"'), near.mask(b'\\'));
    let first = quotes.trailing_zeros();
    if quotes != 0 && escapes & ((1 << first) - 1) == 0 {
        return Some(start + first as usize + 1);
    }
    text_end(bytes, start)
}

/// Returns the end of the string whose text begins at `at`.
fn text_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut text = StringState::inside();
    while at < bytes.len() {
        let (quotes, _) = text.quotes(&Block::at(bytes, at));
        if quotes != 0 {
            return Some(at + quotes.trailing_zeros() as usize + 1);
        }
        at += BLOCK;
    }
    None
}

/// The state between two blocks.
#[derive(Default)]
pub(super) struct StringState {
    /// The bits are all set if the next block begins inside a string, and all clear otherwise.
    inside: u64,
    /// The number is 1 if the first byte of the next block is escaped, and 0 otherwise.
    escaped: u64,
}

impl StringState {
    /// Returns the state at the start of a string's text.
    pub(super) fn inside() -> Self {
        StringState { inside: u64::MAX, escaped: 0 }
    }

    fn is_inside(&self) -> bool {
        self.inside != 0
    }

    /// Returns the quotes of the next block that begin or end a string, and its backslashes.
    #[inline]
    fn quotes(&mut self, block: &Block) -> (u64, u64) {
        let backslashes = block.mask(b'\\');
        (block.mask(b'"') & !self.escaped(backslashes), backslashes)
    }

    /// Returns the mask of the bytes that are inside a string: from the opening quote to before the
    /// closing one.
    #[inline]
    fn pass(&mut self, quotes: u64) -> u64 {
        let inside = prefix_xor(quotes) ^ self.inside;
        self.inside = ((inside as i64) >> 63) as u64;
        inside
    }

    /// Returns the mask of the bytes that follow an odd number of backslashes.
    #[inline]
    pub(super) fn escaped(&mut self, backslashes: u64) -> u64 {
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        let unescaped = backslashes & !self.escaped;
        // The subtraction carries through every run of backslashes: the position of its end shows
        // whether its length is odd.
        let ends = ((unescaped << 1) | ODD).wrapping_sub(unescaped) ^ ODD;
        let escaped = ends ^ (backslashes | self.escaped);
        self.escaped = (ends & backslashes) >> 63;
        escaped
    }
}

/// Sets each bit to the parity of the bits up to it.
#[inline]
fn prefix_xor(mut bits: u64) -> u64 {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^ (bits << 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Finds the end of a string byte by byte.
    fn end_of_text(bytes: &[u8], mut at: usize) -> Option<usize> {
        loop {
            match bytes.get(at)? {
                b'"' => return Some(at + 1),
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
    }

    fn end_of_value(bytes: &[u8]) -> Option<usize> {
        let close = if bytes[0] == b'{' { b'}' } else { b']' };
        let (mut at, mut depth) = (1, 1);
        while depth > 0 {
            let byte = *bytes.get(at)?;
            at += 1;
            if byte == b'"' {
                at = end_of_text(bytes, at)?;
            } else if byte == bytes[0] {
                depth += 1;
            } else if byte == close {
                depth -= 1;
            }
        }
        Some(at)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Backslashes and quotes anywhere, across the borders of blocks.
        #[test]
        fn blocks_end_where_bytes_end(
            runs in prop::collection::vec(("[\\[\\]{}\"\\\\ab]", 1_usize..70), 0..40)
        ) {
            let body: String = runs.iter().map(|(byte, count)| {
                // Long runs of text, short ones of what matters.
                let count = if matches!(&**byte, "a" | "b") { *count } else { count % 4 };
                byte.repeat(count)
            }).collect();
            for open in ["[", "{"] {
                let bytes = format!("{open}{body}");
                prop_assert_eq!(value_end(bytes.as_bytes(), 0), end_of_value(bytes.as_bytes()));
            }
            let bytes = format!("\"{body}");
            prop_assert_eq!(value_end(bytes.as_bytes(), 0), end_of_text(bytes.as_bytes(), 1));
        }
    }
}
