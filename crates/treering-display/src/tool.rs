//! Tool calls: a short description, and the arguments in the form in which they are best shown.
//!
//! Agents name their tools and arguments differently, so edits and commands are recognized by the shape of
//! the arguments. Other arguments are shown as JSON.

use crate::json::pretty_json;
use crate::line::excerpt;
use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use treering::entry::MessageView;

/// The arguments of a call, in the form in which they are shown.
#[derive(Debug, PartialEq, Eq)]
pub enum Arguments<'a> {
    /// A command line.
    Command(Cow<'a, str>),
    /// Texts that replace others in a file.
    Edits(Vec<(Cow<'a, str>, Cow<'a, str>)>),
    /// A file's new content.
    Content(Cow<'a, str>),
    /// A patch in its own format.
    Patch(Cow<'a, str>),
    /// Arguments that [`Call::about`] shows completely.
    InSummary,
    /// Other arguments, as JSON.
    Json(String),
}

/// The members of arguments that are recognized.
const KEYS: [&str; 24] = [
    "command",
    "cmd",
    "path",
    "file_path",
    "filePath",
    "pattern",
    "offset",
    "limit",
    "oldText",
    "newText",
    "old_string",
    "new_string",
    "old_text",
    "new_text",
    "old_str",
    "new_str",
    "edits",
    "content",
    "patch",
    "input",
    "query",
    "url",
    "description",
    "prompt",
];

/// A tool call. Its arguments may be as large as a file, so they are read once.
#[derive(Debug)]
pub struct Call<'a> {
    name: &'a str,
    raw: &'a [u8],
    /// The values of [`KEYS`].
    values: [Option<&'a [u8]>; KEYS.len()],
}

impl<'a> Call<'a> {
    /// Reads a call.
    pub fn new(name: &'a str, raw: Option<&'a [u8]>) -> Self {
        let raw = raw.unwrap_or_default();
        Call { name, raw, values: MessageView::new(raw).get_all(KEYS) }
    }

    fn get(&self, key: &str) -> Option<&'a [u8]> {
        let place = KEYS.iter().position(|known| *known == key)?;
        self.values.get(place).copied().flatten()
    }

    fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        treering::internal::json_text(self.get(key)?)
    }

    /// Returns the first of several members that exists.
    fn any_text(&self, keys: &[&str]) -> Option<Cow<'a, str>> {
        keys.iter().find_map(|key| self.text(key))
    }

    /// Returns the command line of a call that runs one.
    fn command(&self) -> Option<Cow<'a, str>> {
        ["command", "cmd"].iter().find_map(|key| {
            let value = self.get(key)?;
            treering::internal::json_text(value).or_else(|| command_line(value))
        })
    }

    /// Returns the patch that a call applies, in its own format.
    fn patch(&self) -> Option<Cow<'a, str>> {
        let is_patch = |text: &Cow<'_, str>| text.starts_with("*** Begin Patch");
        let given = ["patch", "input"].iter().find_map(|key| self.text(key).filter(is_patch));
        // Some agents run a program `apply_patch`, whose argument is the patch.
        given.or_else(|| {
            let command = self.command()?;
            let start = command.find("*** Begin Patch")?;
            let rest = command.get(start..)?;
            let is_program = command.starts_with("apply_patch");
            is_program.then(|| rest.trim_end_matches(['\'', '"']).to_owned().into())
        })
    }

    /// Returns the arguments in the form in which they are shown.
    pub fn arguments(&self) -> Arguments<'a> {
        let name = self.name.to_ascii_lowercase();
        if let Some(patch) = self.patch() {
            return Arguments::Patch(patch);
        }
        if let Some(command) = self.command().filter(|_| is_shell(&name)) {
            return Arguments::Command(command);
        }
        if let Some(edit) = edit(|key| self.text(key)) {
            return Arguments::Edits(vec![edit]);
        }
        if let Some(edits) = self.get("edits").and_then(edits) {
            return Arguments::Edits(edits);
        }
        let is_write = matches!(&*name, "write" | "write_file" | "create" | "create_file");
        if let Some(content) = self.text("content").filter(|_| is_write) {
            return Arguments::Content(content);
        }
        let is_in_summary = match &*name {
            "read" | "grep" | "find" | "ls" | "glob" if !self.raw.is_empty() => {
                has_only(self.raw, &["path", "file_path", "offset", "limit", "pattern"])
            }
            _ => matches!(self.raw, b"" | b"{}" | b"null"),
        };
        match is_in_summary {
            true => Arguments::InSummary,
            false => Arguments::Json(pretty_json(&String::from_utf8_lossy(self.raw))),
        }
    }

    /// Returns the path of the file that the call is about.
    pub fn path(&self) -> Option<Cow<'a, str>> {
        self.any_text(&["path", "file_path", "filePath"])
    }

    /// Returns a description of the call without its name: `src/main.rs:10-49`, the beginning of a command,
    /// `/pattern/ in src`. It is empty if the call has no arguments.
    pub fn about(&self, most: usize) -> String {
        let name = self.name.to_ascii_lowercase();
        let path = self.path();
        let patched =
            self.patch().map(|patch| patched_files(&patch)).filter(|files| !files.is_empty());
        let text = match &*name {
            _ if patched.is_some() => patched.map(Cow::Owned),
            "read" => path.map(|path| format!("{path}{}", self.range()).into()),
            "grep" | "glob" | "find" => self.text("pattern").map(|pattern| {
                let pattern =
                    if name == "grep" { format!("/{pattern}/") } else { pattern.into_owned() };
                match path {
                    Some(path) => format!("{pattern} in {path}").into(),
                    None => pattern.into(),
                }
            }),
            _ if is_shell(&name) => self.command(),
            _ => path.or_else(|| self.command()).or_else(|| {
                self.any_text(&["query", "url", "pattern", "description", "prompt", "input"])
            }),
        };
        match text {
            Some(text) => excerpt(&text, most),
            None if matches!(self.raw, b"" | b"{}" | b"null") => String::new(),
            None => {
                let start = self.raw.get(..most * 4 + 4).unwrap_or(self.raw);
                excerpt(&String::from_utf8_lossy(start), most)
            }
        }
    }

    /// Returns the lines of a file that are read: `:10-49`.
    fn range(&self) -> String {
        let number =
            |key: &str| -> Option<u64> { std::str::from_utf8(self.get(key)?).ok()?.parse().ok() };
        match (number("offset"), number("limit")) {
            (None, None) => String::new(),
            (from, Some(limit)) => {
                let from = from.unwrap_or(1);
                format!(":{from}-{}", from.saturating_add(limit).saturating_sub(1))
            }
            (Some(from), None) => format!(":{from}"),
        }
    }

    /// Returns the call on one line, as its result is shown in a tree: `[read: src/main.rs]`.
    pub fn label(&self) -> String {
        let name = excerpt(self.name, 40);
        match (Call { name: &name, ..*self }).about(50) {
            about if about.is_empty() => format!("[{name}]"),
            about => format!("[{name}: {about}]"),
        }
    }
}

fn is_shell(name: &str) -> bool {
    matches!(name, "bash" | "shell" | "exec" | "exec_command" | "local_shell" | "terminal" | "run")
}

/// Returns the command line in an array of words. If a shell runs the command, only the command is
/// returned.
fn command_line(words: &[u8]) -> Option<Cow<'static, str>> {
    let words: Vec<Cow<'_, str>> = serde_json::from_slice(words).ok()?;
    let line = match &words[..] {
        [shell, flag, script] if is_shell_program(shell) && flag.starts_with('-') => {
            script.clone().into_owned()
        }
        words => words.join(" "),
    };
    Some(line.into())
}

fn is_shell_program(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    matches!(name, "sh" | "bash" | "zsh" | "dash" | "fish")
}

/// Returns the files that a patch is about: `src/a.rs, src/b.rs`.
fn patched_files(patch: &str) -> String {
    const MARKS: [&str; 3] = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    let files = patch
        .lines()
        .filter_map(|line| MARKS.iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim));
    let files: Vec<&str> = files.take(20).collect();
    files.join(", ")
}

/// Returns a text and its replacement, under the names that agents use.
fn edit<'a>(text: impl Fn(&str) -> Option<Cow<'a, str>>) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    let pairs = [
        ("oldText", "newText"),
        ("old_string", "new_string"),
        ("old_text", "new_text"),
        ("old_str", "new_str"),
    ];
    pairs.iter().find_map(|(old, new)| Some((text(old)?, text(new)?)))
}

fn edits(raw: &[u8]) -> Option<Vec<(Cow<'_, str>, Cow<'_, str>)>> {
    let edits: Vec<&RawValue> = serde_json::from_slice(raw).ok()?;
    let edits = edits.into_iter().map(|raw| {
        let view = MessageView::new(raw.get().as_bytes());
        edit(|key| view.field(key))
    });
    edits.collect::<Option<Vec<_>>>().filter(|edits| !edits.is_empty())
}

fn has_only(raw: &[u8], keys: &[&str]) -> bool {
    members(raw).is_some_and(|members| members.iter().all(|(key, _)| keys.contains(&&**key)))
}

/// Returns the members of an object in their order, each with its JSON; `None` for anything else.
///
/// ```
/// let members = treering_display::tool::members(br#"{"b":[1],"a":"x"}"#).unwrap_or_default();
/// assert_eq!(members, [("b".into(), &b"[1]"[..]), ("a".into(), b"\"x\"")]);
/// ```
pub fn members(raw: &[u8]) -> Option<Vec<(String, &[u8])>> {
    struct InOrder;
    impl<'de> Visitor<'de> for InOrder {
        type Value = Vec<(String, &'de [u8])>;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                members.push((key, value.get().as_bytes()));
            }
            Ok(members)
        }
    }
    serde_json::Deserializer::from_slice(raw).deserialize_map(InOrder).ok()
}

/// Returns the language of a file, by its name, as code blocks name it.
pub fn language(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_plain = !extension.is_empty()
        && extension.len() <= 12
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_plain { extension } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_named_after_what_they_are_about() {
        let label = |name, raw: &str| Call::new(name, Some(raw.as_bytes())).label();
        assert_eq!(
            label("read", r#"{"path":"a.rs","offset":10,"limit":40}"#),
            "[read: a.rs:10-49]"
        );
        assert_eq!(label("read", r#"{"path":"a.rs"}"#), "[read: a.rs]");
        assert_eq!(label("bash", r#"{"command":"ls\n-l"}"#), "[bash: ls]");
        assert_eq!(label("grep", r#"{"pattern":"a b","path":"src"}"#), "[grep: /a b/ in src]");
        assert_eq!(label("odd", r#"{"x":1}"#), r#"[odd: {"x":1}]"#);
        assert_eq!(label("odd", "{}"), "[odd]");
        let long = format!(r#"{{"command":"{}"}}"#, "x".repeat(99));
        assert_eq!(label("bash", &long), format!("[bash: {}…]", "x".repeat(50)));
        assert_eq!(Call::new("x\u{1b}", None).label(), "[x\\x1b]");
    }

    #[test]
    fn commands_and_patches_are_found_in_every_shape() {
        let label = |name, raw: &str| Call::new(name, Some(raw.as_bytes())).label();
        for raw in [
            r#"{"command":["bash","-lc","ls -l"],"workdir":"."}"#,
            r#"{"command":["/bin/zsh","-c","ls -l"]}"#,
            r#"{"command":["ls","-l"]}"#,
            r#"{"type":"exec","command":["ls","-l"],"env":{}}"#,
            r#"{"cmd":"ls -l","yield_time_ms":1000}"#,
            r#"{"command":"ls -l"}"#,
        ] {
            assert_eq!(label("shell", raw), "[shell: ls -l]", "{raw}");
            let call = Call::new("shell", Some(raw.as_bytes()));
            assert_eq!(call.arguments(), Arguments::Command("ls -l".into()), "{raw}");
        }
        assert_eq!(label("odd", r#"{"command":[1]}"#), r#"[odd: {"command":[1]}]"#);
        assert_eq!(label("js", r#"{"input":"1 + 1"}"#), "[js: 1 + 1]");
        let patch = r"*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** Add File: b/c.rs\n+z\n*** End Patch";
        for raw in [
            format!(r#"{{"input":"{patch}"}}"#),
            format!(r#"{{"command":["apply_patch","{patch}"]}}"#),
            format!(r#"{{"command":["bash","-lc","apply_patch '{patch}'"]}}"#),
        ] {
            assert_eq!(label("apply_patch", &raw), "[apply_patch: a.rs, b/c.rs]", "{raw}");
            let call = Call::new("apply_patch", Some(raw.as_bytes()));
            let Arguments::Patch(shown) = call.arguments() else { panic!("{raw}") };
            assert!(shown.starts_with("*** Begin") && shown.ends_with("End Patch"), "{shown}");
        }
    }

    #[test]
    fn edits_are_found_by_their_shape() {
        fn arguments<'a>(name: &'a str, raw: Option<&'a [u8]>) -> Arguments<'a> {
            Call::new(name, raw).arguments()
        }
        let one = vec![("a".into(), "b".into())];
        for raw in [
            r#"{"path":"f","oldText":"a","newText":"b"}"#,
            r#"{"file_path":"f","old_string":"a","new_string":"b"}"#,
            r#"{"path":"f","edits":[{"oldText":"a","newText":"b"}]}"#,
        ] {
            assert_eq!(
                arguments("edit", Some(raw.as_bytes())),
                Arguments::Edits(one.clone()),
                "{raw}"
            );
        }
        let odd = r#"{"edits":[{"oldText":"a"}]}"#;
        assert!(matches!(arguments("edit", Some(odd.as_bytes())), Arguments::Json(_)));
        assert_eq!(
            arguments("Bash", Some(br#"{"command":"ls"}"#)),
            Arguments::Command("ls".into())
        );
        assert_eq!(arguments("read", Some(br#"{"path":"x","limit":3}"#)), Arguments::InSummary);
        assert!(matches!(arguments("read", Some(b"{\"path\":\"\xff")), Arguments::Json(_)));
    }

    #[test]
    fn a_language_is_a_plain_word() {
        assert_eq!(language("src/main.rs"), "rs");
        assert_eq!(language("a/Makefile"), "");
        assert_eq!(language("x.\"><script>"), "");
    }
}
