//! The clipboard of whoever sits at the terminal, also at the far end of a connection: the terminal is
//! asked to copy (OSC 52). It does not answer, and some do not do it.
//!
//! Only for the thread that draws, between two frames: so it is never in the middle of one.

use std::io::{self, Write, stdout};

/// Terminals drop requests that are longer than about this, in bytes of text.
const MOST: usize = 74_994;

/// Copies a text. Fails if only its beginning was copied.
pub(crate) fn copy(text: &str) -> io::Result<()> {
    let mut end = text.len().min(MOST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (copied, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let mut out = stdout().lock();
    out.write_all(request(copied.as_bytes()).as_bytes())?;
    out.flush()?;
    match rest.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "only the first {end} of {} bytes were copied: terminals take no more",
            text.len()
        ))),
    }
}

fn request(bytes: &[u8]) -> String {
    format!("\x1b]52;c;{}\x07", base64(bytes))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS.get((bits >> (18 - 6 * at) & 63) as usize).copied();
            out.push(if at <= chunk.len() { char::from(digit.unwrap_or(b'=')) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_in_sixty_four_digits() {
        for (text, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("\u{1b}]é~?", "G13DqX4/"),
        ] {
            assert_eq!(base64(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(request(b"\x07\x1b\\"), "\x1b]52;c;Bxtc\x07");
    }
}
