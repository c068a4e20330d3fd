//! Images that stand outside the session file.
//!
//! omp writes an image of a kilobyte or more to a file named by the SHA-256 of its bytes and leaves a
//! reference `blob:sha256:<64 hex digits>` in the record. Only certain places hold references: `data`
//! of an image block in `content` or `images`, `result` of an `image_generation_call`, and any
//! `image_url`, whose blob is the text of a data URL. The same words anywhere else are just text. A
//! reference whose blob is missing stays as it is, as in omp.

use crate::json;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

const PREFIX: &[u8] = b"blob:sha256:";

/// The hashes of the blobs that `message` refers to, each once, in order.
pub(crate) fn references(message: &[u8]) -> Vec<String> {
    let mut hashes: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for reference in find(message) {
        let hash = reference.hash(message);
        if seen.insert(hash) {
            hashes.push(hash.to_owned());
        }
    }
    hashes
}

/// `message` with every reference replaced by what `load` gives for its hash.
pub(crate) fn resolve<'a>(
    message: &'a [u8],
    load: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
) -> Cow<'a, [u8]> {
    let mut out = Vec::new();
    let mut done = 0;
    for reference in find(message) {
        let Some(blob) = load(reference.hash(message)) else { continue };
        out.extend_from_slice(&message[done..reference.literal.start]);
        if reference.is_text {
            json::write_string(&mut out, &String::from_utf8_lossy(&blob));
        } else {
            out.push(b'"');
            base64(&mut out, &blob);
            out.push(b'"');
        }
        done = reference.literal.end;
    }
    if done == 0 {
        return Cow::Borrowed(message);
    }
    out.extend_from_slice(&message[done..]);
    Cow::Owned(out)
}

/// Where the blobs of a session may be, likeliest first: `blobs` stands beside the directory that
/// holds all sessions, which is some levels above the file (sessions of sub-agents lie deeper).
pub(crate) fn directories(session_file: &Path) -> Vec<PathBuf> {
    const LEVELS: usize = 6;
    let above: Vec<&Path> = session_file.ancestors().skip(1).take(LEVELS).collect();
    let beside_sessions =
        |pair: &&[&Path]| matches!(pair, [below, _] if below.ends_with("sessions"));
    let likely = above.windows(2).filter(beside_sessions).filter_map(|pair| pair.get(1));
    let mut found: Vec<PathBuf> = Vec::new();
    for directory in likely.chain(&above) {
        let blobs = directory.join("blobs");
        if !found.contains(&blobs) {
            found.push(blobs);
        }
    }
    found
}

/// A reference in a place where one counts.
struct Reference {
    /// The string literal, quotes included.
    literal: Range<usize>,
    /// The blob is text to be quoted, not bytes to be encoded.
    is_text: bool,
}

impl Reference {
    fn hash<'a>(&self, message: &'a [u8]) -> &'a str {
        hash(&message[self.literal.clone()]).unwrap_or_default()
    }
}

/// The hash in a string literal that is a reference. Anything but 64 lower-case digits is none: the
/// hash becomes a file's name.
fn hash(literal: &[u8]) -> Option<&str> {
    let digits = json::inside(literal)?.strip_prefix(PREFIX)?;
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (digits.len() == 64 && digits.iter().all(is_digit)).then_some(())?;
    std::str::from_utf8(digits).ok()
}

/// Which images a value holds, by the name of the member it belongs to (through arrays).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Content,
    Images,
    Elsewhere,
}

/// An object or array that is still open, and what is known of it.
struct Open {
    is_object: bool,
    place: Place,
    /// The name of the member being read; only for objects.
    key: Range<usize>,
    kind: Option<Range<usize>>,
    mime: Option<Range<usize>>,
    data: Option<Range<usize>>,
    result: Option<Range<usize>>,
    url: Option<Range<usize>>,
    /// How many references had been found before it.
    before: usize,
}

/// All references of a message, in order. One pass, whatever the nesting.
fn find(message: &[u8]) -> Vec<Reference> {
    let mut found = Vec::new();
    if memchr::memmem::find(message, PREFIX).is_none() {
        return found;
    }
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = message.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'{' | b'[' => {
                let place =
                    open.last().map_or(Place::Elsewhere, |outer| outer.inner_place(message));
                open.push(Open::new(byte == b'{', place, found.len()));
            }
            b'}' | b']' => {
                if let Some(closed) = open.pop() {
                    closed.close(message, &mut found);
                }
            }
            b'"' => {
                let Some(end) = json::skip_string(message, start) else { break };
                at = end;
                if let Some(object) = open.last_mut().filter(|open| open.is_object) {
                    if message.get(json::skip_space(message, end)) == Some(&b':') {
                        object.key = start..end;
                        object.remember(message, None);
                    } else {
                        object.remember(message, Some(start..end));
                    }
                }
            }
            _ => {}
        }
    }
    found.sort_by_key(|reference| reference.literal.start);
    found
}

impl Open {
    fn new(is_object: bool, place: Place, before: usize) -> Self {
        let (kind, mime, data, result, url) = (None, None, None, None, None);
        Open { is_object, place, key: 0..0, kind, mime, data, result, url, before }
    }

    fn inner_place(&self, message: &[u8]) -> Place {
        match &message[self.key.clone()] {
            _ if !self.is_object => self.place,
            b"\"content\"" => Place::Content,
            b"\"images\"" => Place::Images,
            _ => Place::Elsewhere,
        }
    }

    /// Notes the string that the current member is; `None` as long as it is not known to be one.
    fn remember(&mut self, message: &[u8], literal: Option<Range<usize>>) {
        match &message[self.key.clone()] {
            b"\"type\"" => self.kind = literal,
            b"\"mimeType\"" => self.mime = literal,
            b"\"data\"" => self.data = literal,
            b"\"result\"" => self.result = literal,
            b"\"image_url\"" => self.url = literal,
            _ => {}
        }
    }

    fn close(self, message: &[u8], found: &mut Vec<Reference>) {
        let is_reference = |span: &Range<usize>| hash(&message[span.clone()]).is_some();
        let kind = self.kind.map(|span| &message[span]);
        let is_image = kind == Some(b"\"image\"");
        let has_image_type = self.mime.is_some_and(|span| {
            message[span].get(1..7).is_some_and(|name| name.eq_ignore_ascii_case(b"image/"))
        });
        let holds_image = match self.place {
            Place::Content => is_image,
            Place::Images => is_image || has_image_type,
            Place::Elsewhere => false,
        };
        if let Some(literal) = self.data.filter(is_reference).filter(|_| holds_image) {
            // What else such a block holds is not looked at.
            found.truncate(self.before);
            found.push(Reference { literal, is_text: false });
            return;
        }
        let is_generation = kind == Some(b"\"image_generation_call\"");
        if let Some(literal) = self.result.filter(is_reference).filter(|_| is_generation) {
            found.push(Reference { literal, is_text: false });
        }
        if let Some(literal) = self.url.filter(is_reference) {
            found.push(Reference { literal, is_text: true });
        }
    }
}

/// Appends `bytes` in base64, padded.
fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.reserve(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { digit } else { b'=' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    fn message(template: &str) -> String {
        template
            .replace("@A", &format!("blob:sha256:{A}"))
            .replace("@B", &format!("blob:sha256:{B}"))
    }

    fn resolved(template: &str) -> String {
        let message = message(template);
        let mut load = |hash: &str| {
            (hash == A).then(|| b"M\xfb\xff".to_vec()).or((hash == B).then(|| b"data:\"x".to_vec()))
        };
        String::from_utf8(resolve(message.as_bytes(), &mut load).into_owned()).unwrap()
    }

    #[test]
    fn images_come_back_where_omp_puts_them_back() {
        for (before, after) in [
            (
                r#"{"content":[{"type":"image","data":"@A"}]}"#,
                r#"{"content":[{"type":"image","data":"Tfv/"}]}"#,
            ),
            (
                r#"{"content":{"data" : "@A" , "type":"image"}}"#,
                r#"{"content":{"data" : "Tfv/" , "type":"image"}}"#,
            ),
            (
                r#"{"images":[{"mimeType":"IMAGE/png","data":"@A"}]}"#,
                r#"{"images":[{"mimeType":"IMAGE/png","data":"Tfv/"}]}"#,
            ),
            (
                r#"{"x":[{"type":"image_generation_call","result":"@A"}]}"#,
                r#"{"x":[{"type":"image_generation_call","result":"Tfv/"}]}"#,
            ),
            (
                r#"{"x":[{"image_url":"@B"},{"image_url":"@A"}],"y":1}"#,
                "{\"x\":[{\"image_url\":\"data:\\\"x\"},{\"image_url\":\"M\u{fffd}\u{fffd}\"}],\"y\":1}",
            ),
        ] {
            assert_eq!(resolved(before), after);
        }
    }

    #[test]
    fn elsewhere_the_same_words_are_text() {
        for template in [
            r#"{"content":"@A"}"#,
            r#"{"content":[{"type":"text","text":"@A","data":"@A"}]}"#,
            r#"{"content":[{"mimeType":"image/png","data":"@A"}]}"#,
            r#"{"frames":[{"type":"image","data":"@A"}]}"#,
            r#"{"content":[{"type":"image","data":"@A","data":7}]}"#,
            r#"{"content":[{"type":"image","data":"@Aa"}]}"#,
            r#"{"content":[{"type":"image","data":"blob:sha256:../../../../../../../../../../../../../../../../../../../etc/pass"}]}"#,
        ] {
            assert_eq!(resolved(template), message(template));
            assert!(references(message(template).as_bytes()).is_empty(), "{template}");
        }
    }

    #[test]
    fn a_missing_blob_stays_a_reference() {
        let message = message(r#"{"content":[{"type":"image","data":"@A"}]}"#);
        assert!(matches!(resolve(message.as_bytes(), &mut |_| None), Cow::Borrowed(_)));
        assert_eq!(references(message.as_bytes()), [A]);
    }

    #[test]
    fn each_hash_is_named_once() {
        let images = r#"{"images":[{"type":"image","data":"@B"},{"type":"image","data":"@A"},{"type":"image","data":"@B"}]}"#;
        assert_eq!(references(message(images).as_bytes()), [B, A]);
    }

    #[test]
    fn an_image_is_not_searched_for_others() {
        let image = r#"{"images":[{"type":"image","x":{"image_url":"@A"},"data":"@B"}]}"#;
        assert_eq!(references(message(image).as_bytes()), [B]);
    }

    #[test]
    fn base64_as_others_write_it() {
        let encoded = |bytes: &[u8]| {
            let mut out = Vec::new();
            base64(&mut out, bytes);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|text| encoded(text.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
        assert_eq!(encoded(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn deep_nesting_is_only_long() {
        let depth = 200_000;
        let mut deep = "{\"content\":[".repeat(depth);
        deep.push_str(&message(r#"{"type":"image","data":"@A"}"#));
        deep.push_str(&"]}".repeat(depth));
        assert_eq!(references(deep.as_bytes()), [A]);
    }

    #[test]
    fn blobs_stand_beside_the_sessions() {
        let first = |file: &str| directories(Path::new(file)).remove(0);
        assert_eq!(first("/h/.omp/agent/sessions/-p/a.jsonl"), Path::new("/h/.omp/agent/blobs"));
        assert_eq!(first("/h/.omp/agent/sessions/-p/a/b.jsonl"), Path::new("/h/.omp/agent/blobs"));
        assert_eq!(first("/h/.omp/agent/sessions/a.jsonl"), Path::new("/h/.omp/agent/blobs"));
        assert!(directories(Path::new("/x/sessions/bucket/a.jsonl")).contains(&"/x/blobs".into()));
    }
}
