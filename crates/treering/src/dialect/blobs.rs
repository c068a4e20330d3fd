//! Images that are stored outside the session file.
//!
//! omp writes an image of a kilobyte or more to a file named by the SHA-256 of its bytes and leaves
//! a reference `blob:sha256:<64 hex digits>` in the record. Only certain members hold references:
//! `data` of an image block in `content` or `images`, `result` of an `image_generation_call`, and
//! any `image_url`, whose blob is the text of a data URL. The same text anywhere else is just text.
//! A reference whose blob is missing is not replaced, as in omp.
//!
//! The content of a blob may end up in a request to a provider or in an exported page, so it is
//! used only if it is the blob that the reference names: a regular file directly in a directory of
//! blobs, not a link, whose SHA-256 is the one in its name. Sizes are limited, because one short
//! line can refer to a large blob any number of times. Other references are not replaced, and
//! `doctor` reports them.

use crate::fs::{is_not_regular, open_unlinked, read_limited};
use crate::json;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

const PREFIX: &str = "blob:sha256:";

/// The largest blob that is used. Images in sessions are screenshots and photographs.
const MAX_BLOB: u64 = 64 << 20;

/// The largest total size of the blobs of one record. No provider accepts requests of this size.
const MAX_TOTAL: u64 = 128 << 20;

/// The reason why a blob is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BlobError {
    /// The file does not exist.
    Missing,
    /// The file cannot be read.
    Unreadable,
    /// The record refers to more than [`MAX_TOTAL`] bytes.
    TooMany,
    /// The file is larger than [`MAX_BLOB`].
    TooLarge,
    /// The file is a link, a directory, a pipe or a device.
    NotRegular,
    /// The hash of the content differs from the file's name.
    Mismatch,
}

impl fmt::Display for BlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BlobError::Missing => "it is missing",
            BlobError::Unreadable => "it cannot be read",
            BlobError::TooMany => "the entry refers to more than 128 MiB",
            BlobError::TooLarge => "it is larger than 64 MiB",
            BlobError::NotRegular => "it is not a regular file",
            BlobError::Mismatch => "its content does not have this hash",
        })
    }
}

/// Reads the blob with this hash from the first of the directories that has it.
fn read(directories: &[PathBuf], hash: &str) -> Result<Vec<u8>, BlobError> {
    let mut worst = BlobError::Missing;
    for directory in directories {
        match read_file(&directory.join(hash), hash) {
            Ok(bytes) => return Ok(bytes),
            Err(error) => worst = worst.max(error),
        }
    }
    Err(worst)
}

fn read_file(path: &Path, hash: &str) -> Result<Vec<u8>, BlobError> {
    let read = open_unlinked(path).and_then(|file| read_limited(&file, MAX_BLOB));
    let bytes = read.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => BlobError::Missing,
        io::ErrorKind::FileTooLarge => BlobError::TooLarge,
        _ if is_not_regular(&error) => BlobError::NotRegular,
        _ => BlobError::Unreadable,
    })?;
    let found = Sha256::digest(&bytes);
    let is_digit = |(at, byte): (usize, &u8)| {
        hash.get(2 * at..2 * at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok())
            == Some(*byte)
    };
    match found.iter().enumerate().all(is_digit) {
        true => Ok(bytes),
        false => Err(BlobError::Mismatch),
    }
}

/// The blobs of one record, each read once, in bounded memory.
struct Blobs<'a> {
    directories: &'a [PathBuf],
    known: HashMap<String, Result<Vec<u8>, BlobError>>,
    total: u64,
}

impl<'a> Blobs<'a> {
    fn new(directories: &'a [PathBuf]) -> Self {
        Blobs { directories, known: HashMap::new(), total: 0 }
    }

    /// Returns the content for another reference to this hash.
    fn take(&mut self, hash: &str) -> Result<&[u8], BlobError> {
        let known = match self.known.entry(hash.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let found = read(self.directories, hash);
                let is_too_much = |bytes: &Vec<u8>| self.total + bytes.len() as u64 > MAX_TOTAL;
                unknown.insert(match found {
                    // The content is not kept, which bounds the memory.
                    Ok(bytes) if is_too_much(&bytes) => Err(BlobError::TooMany),
                    found => found,
                })
            }
        };
        let bytes = known.as_ref().map_err(|error| *error)?;
        let total = self.total + bytes.len() as u64;
        if total > MAX_TOTAL {
            return Err(BlobError::TooMany);
        }
        self.total = total;
        Ok(bytes)
    }
}

/// Returns the blobs that `message` refers to and that cannot be used, each once, in order.
pub(crate) fn problems(message: &[u8], directories: &[PathBuf]) -> Vec<(String, BlobError)> {
    let mut blobs = Blobs::new(directories);
    let mut found: Vec<(String, BlobError)> = Vec::new();
    for reference in find(message) {
        let hash = reference.hash(message);
        if let Err(error) = blobs.take(hash)
            && !found.iter().any(|(known, _)| known == hash)
        {
            found.push((hash.to_owned(), error));
        }
    }
    found
}

/// Returns `message` with every reference replaced by the content of its blob.
pub(crate) fn inlined<'a>(message: &'a [u8], directories: &[PathBuf]) -> Cow<'a, [u8]> {
    let mut blobs = Blobs::new(directories);
    let mut out = Vec::new();
    let mut done = 0;
    for reference in find(message) {
        let Ok(blob) = blobs.take(reference.hash(message)) else { continue };
        out.extend_from_slice(&message[done..reference.literal.start]);
        if reference.is_text {
            json::write_string(&mut out, &String::from_utf8_lossy(blob));
        } else {
            out.push(b'"');
            base64(&mut out, blob);
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

/// Returns the directories in which the blobs of a session may be, the most likely first: `blobs`
/// is beside the directory of all sessions, which is some levels above the file (sessions of
/// subagents are deeper).
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

/// A reference in a member that may hold one.
struct Reference {
    /// The range of the string literal, including the quotes.
    literal: Range<usize>,
    /// Whether the blob is text to be quoted, and not bytes to be encoded.
    is_text: bool,
}

impl Reference {
    fn hash<'a>(&self, message: &'a [u8]) -> &'a str {
        hash(&message[self.literal.clone()]).unwrap_or_default()
    }
}

/// Returns the hash in the data of an image that is a reference, as it was written.
pub(crate) fn hash_in(image_data: &str) -> Option<&str> {
    image_data.strip_prefix(PREFIX)
}

/// Returns the hash in a string literal that is a reference. Only 64 lower-case hexadecimal digits
/// are accepted, because the hash becomes a file name.
fn hash(literal: &[u8]) -> Option<&str> {
    let digits = json::inside(literal)?.strip_prefix(PREFIX.as_bytes())?;
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (digits.len() == 64 && digits.iter().all(is_digit)).then_some(())?;
    std::str::from_utf8(digits).ok()
}

/// The kind of images that a value may hold, by the name of the member it belongs to (through
/// arrays).
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlobContext {
    Content,
    Images,
    Elsewhere,
}

/// An object or array that is still open.
struct OpenContainer {
    is_object: bool,
    place: BlobContext,
    /// The name of the current member; only for objects.
    key: Range<usize>,
    kind: Option<Range<usize>>,
    mime: Option<Range<usize>>,
    data: Option<Range<usize>>,
    result: Option<Range<usize>>,
    url: Option<Range<usize>>,
    /// The number of references that were found before it.
    before: usize,
}

/// Returns all references of a message, in order, in one pass that does not recurse.
fn find(message: &[u8]) -> Vec<Reference> {
    let mut found = Vec::new();
    if memchr::memmem::find(message, PREFIX.as_bytes()).is_none() {
        return found;
    }
    let mut open: Vec<OpenContainer> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = message.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'{' | b'[' => {
                let place =
                    open.last().map_or(BlobContext::Elsewhere, |outer| outer.inner_place(message));
                open.push(OpenContainer::new(byte == b'{', place, found.len()));
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

impl OpenContainer {
    fn new(is_object: bool, place: BlobContext, before: usize) -> Self {
        let (kind, mime, data, result, url) = (None, None, None, None, None);
        OpenContainer { is_object, place, key: 0..0, kind, mime, data, result, url, before }
    }

    fn inner_place(&self, message: &[u8]) -> BlobContext {
        match &message[self.key.clone()] {
            _ if !self.is_object => self.place,
            b"\"content\"" => BlobContext::Content,
            b"\"images\"" => BlobContext::Images,
            _ => BlobContext::Elsewhere,
        }
    }

    /// Records the string of the current member; `None` if it is not known to be a string yet.
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
            BlobContext::Content => is_image,
            BlobContext::Images => is_image || has_image_type,
            BlobContext::Elsewhere => false,
        };
        if let Some(literal) = self.data.filter(is_reference).filter(|_| holds_image) {
            // The other members of such a block are ignored.
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

/// Appends `bytes` in Base64, with padding.
fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let free = out.get_mut(start..).unwrap_or_default();
    let written = STANDARD.encode_slice(bytes, free).unwrap_or(0);
    out.truncate(start + written);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blobs `M\xfb\xff` and `data:"x`, in a directory, and a message that refers to them.
    struct Case {
        dir: tempfile::TempDir,
        a: String,
        b: String,
    }

    fn name(content: &[u8]) -> String {
        Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    impl Case {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let mut case = Case { dir, a: String::new(), b: String::new() };
            (case.a, case.b) = (case.add(b"M\xfb\xff"), case.add(b"data:\"x"));
            case
        }

        fn add(&self, content: &[u8]) -> String {
            let name = name(content);
            std::fs::write(self.dir.path().join(&name), content).unwrap();
            name
        }

        fn message(&self, template: &str) -> String {
            template
                .replace("@A", &format!("blob:sha256:{}", self.a))
                .replace("@B", &format!("blob:sha256:{}", self.b))
        }

        fn directories(&self) -> [PathBuf; 2] {
            [self.dir.path().join("nowhere"), self.dir.path().to_owned()]
        }

        fn inlined(&self, template: &str) -> String {
            let message = self.message(template);
            let inlined = inlined(message.as_bytes(), &self.directories());
            String::from_utf8(inlined.into_owned()).unwrap()
        }

        fn problems(&self, template: &str) -> Vec<(String, BlobError)> {
            problems(self.message(template).as_bytes(), &self.directories())
        }
    }

    /// Returns the hashes that a message refers to.
    fn hashes(message: &str) -> Vec<&str> {
        find(message.as_bytes()).iter().map(|found| found.hash(message.as_bytes())).collect()
    }

    const IMAGE: &str = r#"{"content":[{"type":"image","data":"@A"}]}"#;

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
            assert_eq!(Case::new().inlined(before), after);
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
            let case = Case::new();
            assert_eq!(case.inlined(template), case.message(template));
            assert!(hashes(&case.message(template)).is_empty(), "{template}");
        }
    }

    #[track_caller]
    fn assert_refused(case: &Case, error: BlobError) {
        assert_eq!(case.inlined(IMAGE), case.message(IMAGE), "stays a reference");
        assert_eq!(case.problems(IMAGE), [(case.a.clone(), error)]);
    }

    #[test]
    fn a_blob_that_is_missing_or_changed_stays_a_reference() {
        let case = Case::new();
        assert_eq!(case.problems(IMAGE), []);
        let path = case.dir.path().join(&case.a);
        std::fs::write(&path, "something else").unwrap();
        assert_refused(&case, BlobError::Mismatch);
        std::fs::remove_file(&path).unwrap();
        assert_refused(&case, BlobError::Missing);
        std::fs::create_dir(&path).unwrap();
        assert_refused(&case, BlobError::NotRegular);
    }

    /// A test that fails here would hang: a named pipe without a writer.
    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_no_blobs_even_with_the_right_content() {
        let case = Case::new();
        let path = case.dir.path().join(&case.a);
        std::fs::rename(&path, case.dir.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert_refused(&case, BlobError::NotRegular);
        std::fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_refused(&case, BlobError::NotRegular);
    }

    #[test]
    fn a_huge_blob_is_not_read() {
        let case = Case::new();
        let file = std::fs::File::create(case.dir.path().join(&case.a)).unwrap();
        file.set_len(MAX_BLOB + 1).unwrap();
        assert_refused(&case, BlobError::TooLarge);
    }

    #[test]
    fn many_references_to_one_blob_do_not_add_up_without_limit() {
        let mut case = Case::new();
        case.a = case.add(&vec![7; 20 << 20]);
        let images = vec![r#"{"type":"image","data":"@A"}"#; 60].join(",");
        let message = format!(r#"{{"content":[{images}]}}"#);
        let inlined = case.inlined(&message);
        assert_eq!(hashes(&inlined).len(), 54, "six of 20 MiB fit into 128 MiB");
        assert!(inlined.len() < 180 << 20);
        assert_eq!(case.problems(&message), [(case.a.clone(), BlobError::TooMany)]);
    }

    #[test]
    fn each_hash_is_named_once() {
        let case = Case { a: "a".repeat(64), b: "b".repeat(64), ..Case::new() };
        let images = r#"{"images":[{"type":"image","data":"@B"},{"type":"image","data":"@A"},{"type":"image","data":"@B"}]}"#;
        let missing = |name: &String| (name.clone(), BlobError::Missing);
        assert_eq!(case.problems(images), [missing(&case.b), missing(&case.a)]);
    }

    #[test]
    fn an_image_is_not_searched_for_others() {
        let case = Case::new();
        let image = r#"{"images":[{"type":"image","x":{"image_url":"@A"},"data":"@B"}]}"#;
        assert_eq!(hashes(&case.message(image)), [&*case.b]);
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
        let case = Case::new();
        deep.push_str(&case.message(r#"{"type":"image","data":"@A"}"#));
        deep.push_str(&"]}".repeat(depth));
        assert_eq!(hashes(&deep), [&*case.a]);
    }

    #[test]
    fn blobs_are_beside_the_sessions() {
        let first = |file: &str| directories(Path::new(file)).remove(0);
        assert_eq!(first("/h/.omp/agent/sessions/-p/a.jsonl"), Path::new("/h/.omp/agent/blobs"));
        assert_eq!(first("/h/.omp/agent/sessions/-p/a/b.jsonl"), Path::new("/h/.omp/agent/blobs"));
        assert_eq!(first("/h/.omp/agent/sessions/a.jsonl"), Path::new("/h/.omp/agent/blobs"));
        assert!(directories(Path::new("/x/sessions/bucket/a.jsonl")).contains(&"/x/blobs".into()));
    }
}
