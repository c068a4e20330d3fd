//! Formats text for the command line.
//!
//! Everything from a session that is shown passes through [`safe_lines`] or [`safe_line`] of
//! `treering-display`. This module adds times in columns and shell words.

use std::path::Path;
pub(crate) use treering_display::columns::{
    excerpt, fit, fit_end, pad, printed_columns as columns,
};
pub(crate) use treering_display::number::{age, blob_name, count, size};
pub(crate) use treering_display::text::{project, safe_bytes, safe_line, safe_lines, safe_path};

/// Returns a time in UTC, or a dash, in 20 columns.
pub(crate) fn time(unix_millis: Option<i64>) -> String {
    const UNKNOWN: &str = "-                   ";
    let Some(millis) = unix_millis else { return UNKNOWN.to_owned() };
    let iso = treering::time::format(millis);
    match (iso.get(..10), iso.get(11..19)) {
        (Some(day), Some(clock)) => format!("{day} {clock}Z"),
        _ => UNKNOWN.to_owned(),
    }
}

/// Returns a path as one word of a shell command that is safe to show: in quotes if necessary, and
/// with escapes (`$'\x1b'`, as Bash and Zsh read them) if it contains invisible characters.
pub(crate) fn shell_word(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+:,@%=".contains(byte);
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && bytes.iter().all(is_plain) => text.to_owned(),
        Ok(text) if text.chars().all(is_visible) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => escaped_word(bytes),
    }
}

/// Returns whether a character is shown unchanged, on one line.
fn is_visible(character: char) -> bool {
    safe_line(character.encode_utf8(&mut [0; 4])).chars().eq([character])
}

fn escaped_word(bytes: &[u8]) -> String {
    let mut word = "$'".to_owned();
    let number = |word: &mut String, byte: &u8| word.push_str(&format!("\\x{byte:02x}"));
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' => word.push_str("\\n"),
                '\'' | '\\' => word.extend(['\\', character]),
                _ if is_visible(character) => word.push(character),
                _ => {
                    let bytes = character.encode_utf8(&mut [0; 4]).as_bytes().to_vec();
                    bytes.iter().for_each(|byte| number(&mut word, byte));
                }
            }
        }
        chunk.invalid().iter().for_each(|byte| number(&mut word, byte));
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_same_width() {
        assert_eq!(time(Some(1_767_603_620_226)), "2026-01-05 09:00:20Z");
        assert_eq!(time(None).len(), 20);
    }

    #[test]
    fn a_path_is_one_word_whatever_is_in_it() {
        assert_eq!(shell_word(Path::new("/a/b-c.jsonl")), "/a/b-c.jsonl");
        assert_eq!(shell_word(Path::new("/a b/it's")), r"'/a b/it'\''s'");
        assert_eq!(shell_word(Path::new("/日本 語")), "'/日本 語'");
        assert_eq!(shell_word(Path::new("a\x1b[2J\n\t'\\")), r"$'a\x1b[2J\n\x09\'\\'");
        assert_eq!(shell_word(Path::new("a\u{202e}b")), r"$'a\xe2\x80\xaeb'");
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_reads_the_word_as_the_path() {
        use std::os::unix::ffi::OsStrExt;
        for name in [&b"plain"[..], b"it's \\ \x1b[31m\n\xff\xe2\x80\xae", b"$HOME `x` \"y\"", b""]
        {
            let word = shell_word(Path::new(std::ffi::OsStr::from_bytes(name)));
            let mut shell = std::process::Command::new("bash");
            // Not on every machine.
            let Ok(output) = shell.args(["-c", &format!("printf %s {word}")]).output() else {
                return;
            };
            assert_eq!(output.stdout, name, "{word}");
        }
    }
}
