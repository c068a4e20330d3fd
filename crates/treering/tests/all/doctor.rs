//! Findings of `doctor`, with their lines; every file of the corpus of faults.

use crate::support::{HEADER, compaction, entry, file, label, leaf, user};
use std::path::{Path, PathBuf};
use treering::Error;
use treering::doctor::{Diagnosis, Repair, RepairOptions, examine, repair};
use treering::findings::Severity;

/// A session file in a directory of its own.
pub(crate) struct Scratch {
    pub(crate) dir: tempfile::TempDir,
}

impl Scratch {
    pub(crate) fn new(bytes: impl AsRef<[u8]>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("s.jsonl"), bytes).unwrap();
        Scratch { dir }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("s.jsonl")
    }

    pub(crate) fn examine(&self) -> Diagnosis {
        let before = std::fs::read(self.path()).unwrap();
        let diagnosis = examine(self.path()).unwrap();
        assert_eq!(std::fs::read(self.path()).unwrap(), before, "examining changes nothing");
        diagnosis
    }

    pub(crate) fn repair(&self) -> Repair {
        repair(self.path(), RepairOptions::default()).unwrap()
    }

    /// Returns the repaired copy.
    pub(crate) fn repaired(&self) -> Vec<u8> {
        std::fs::read(self.dir.path().join("s.repaired.jsonl")).unwrap()
    }

    pub(crate) fn files(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// `line code` for everything found.
fn codes(diagnosis: &Diagnosis) -> Vec<String> {
    let code = |finding: &treering::findings::Finding| match finding.line {
        Some(line) => format!("{line} {}", finding.code()),
        None => finding.code().to_owned(),
    };
    diagnosis.findings.iter().map(code).collect()
}

fn found(bytes: impl AsRef<[u8]>) -> Vec<String> {
    codes(&Scratch::new(bytes).examine())
}

fn tool_call(id: &str, parent: &str, call: &str) -> String {
    let block = format!(r#"{{"type":"toolCall","id":"{call}","name":"bash","arguments":{{}}}}"#);
    let message = format!(r#","message":{{"role":"assistant","content":[{block}]}}"#);
    entry("message", id, Some(parent), &message)
}

fn tool_result(id: &str, parent: &str, call: &str) -> String {
    let message = r#","message":{"role":"toolResult","toolCallId":"CALL","content":[]}"#;
    entry("message", id, Some(parent), &message.replace("CALL", call))
}

#[test]
fn a_sound_file_has_no_findings_and_is_not_repaired() {
    let scratch = Scratch::new(file(&[
        user("a", None),
        tool_call("b", "a", "t1"),
        tool_result("c", "b", "t1"),
        label("d", Some("c"), "a", "x"),
        compaction("e", Some("d"), "b"),
        leaf("f", Some("c")),
        user("g", None),
    ]));
    let diagnosis = scratch.examine();
    assert_eq!((codes(&diagnosis), diagnosis.entries), (Vec::new(), 7));
    assert!(diagnosis.is_healthy() && diagnosis.worst().is_none());
    let repair = scratch.repair();
    assert_eq!((&repair.output, repair.before), (&None, repair.after));
    assert_eq!(scratch.files(), ["s.jsonl"]);
}

#[test]
fn damage_to_lines_is_found_by_line() {
    let torn = user("t", Some("a"))[..70].to_owned();
    let lines = [
        user("a", None),
        "42".into(),
        torn,
        format!("{}{}", user("b", Some("a")), user("c", Some("b"))),
        HEADER.into(),
        user("d", Some("c")) + "\0\0",
    ];
    let text = file(&lines) + &user("z", Some("d"))[..40];
    assert_eq!(
        found(&text),
        [
            "3 damaged-line",
            "4 damaged-entry",
            "5 glued-lines",
            "6 second-header",
            "7 glued-lines",
            "7 damaged-line",
            "8 torn-last-line",
        ]
    );
}

#[test]
fn a_damaged_body_is_found_although_opening_did_not_read_it() {
    let broken = user("b", Some("a")).replace("\"content\":\"b\"", "\"content\":\"b");
    assert_eq!(found(file(&[user("a", None), broken])), ["3 damaged-entry"]);
}

#[test]
fn a_missing_parent_is_distinguished_from_a_cycle() {
    let lines = [
        user("a", None),
        user("b", Some("gone")),
        user("c", Some("c")),
        user("d", Some("f")),
        user("e", Some("d")),
        user("f", Some("e")),
        user("g", Some("a")),
    ];
    let expected = ["3 missing-parent", "4 cycle", "5 cycle", "unreachable-history"];
    let diagnosis = Scratch::new(file(&lines)).examine();
    assert_eq!(codes(&diagnosis), expected);
    let cut_off = diagnosis.findings.last().unwrap().to_string();
    assert_eq!(cut_off, "5 of 7 entries (71 %) are cut off from the active leaf");
}

#[test]
fn ordinary_branches_and_roots_are_not_cut_off() {
    let lines = [user("a", None), user("b", Some("a")), user("c", Some("a")), user("d", None)];
    assert_eq!(found(file(&lines)), [""; 0]);
}

#[test]
fn what_points_nowhere_is_found() {
    let edit = entry("context_edit", "e", Some("d"), r#","targetId":"gone","replacement":null"#);
    let without = entry("compaction", "f", Some("e"), r#","summary":"s","tokensBefore":1"#);
    let lines = [
        user("a", None),
        label("b", Some("a"), "gone", "x"),
        compaction("c", Some("b"), "gone"),
        entry("leaf", "d", Some("c"), r#","targetId":"gone""#),
        edit,
        without,
    ];
    assert_eq!(
        found(file(&lines)),
        [
            "3 missing-target",
            "4 missing-first-kept",
            "5 missing-target",
            "6 missing-target",
            "7 missing-first-kept"
        ]
    );
}

#[test]
fn tool_calls_and_results_that_lost_each_other() {
    let lines = [
        user("a", None),
        tool_call("b", "a", "t1"), // Answered on another branch only.
        tool_result("c", "b", "t1"),
        tool_call("d", "c", "t2"),   // Never answered, and left.
        tool_result("e", "b", "t9"), // There is no such call.
        user("f", Some("e")),
        tool_call("g", "f", "t3"), // Perhaps still at work.
    ];
    let diagnosis = Scratch::new(file(&lines)).examine();
    let found: Vec<_> = diagnosis
        .findings
        .iter()
        .map(|finding| (finding.line.unwrap(), finding.code(), finding.severity()))
        .collect();
    assert_eq!(
        found,
        [
            (3, "orphan-tool-call", Severity::Warning),
            (5, "orphan-tool-call", Severity::Note),
            (6, "orphan-tool-result", Severity::Warning),
            (8, "orphan-tool-call", Severity::Note),
        ]
    );
    let message = diagnosis.findings[0].to_string();
    assert_eq!(message, "line 3: entry b calls a tool (t1) but there is no result");
    // A result must be below its call, not above it.
    let lines = [
        user("a", None),
        tool_result("b", "a", "t"),
        tool_call("c", "b", "t"),
        user("d", Some("c")),
    ];
    assert_eq!(self::found(file(&lines)), ["3 orphan-tool-result", "4 orphan-tool-call"]);
}

#[test]
fn headers_and_versions() {
    let misplaced = format!("{}\n{HEADER}\n{}\n", user("a", None), user("b", Some("a")));
    assert_eq!(found(misplaced), ["2 header-not-first"]);
    let future = HEADER.replace("\"version\":3", "\"version\":99");
    assert_eq!(found(format!("{future}\n{}\n", user("a", None))), ["1 future-version"]);
    let old = HEADER.replace("\"version\":3", "\"version\":2");
    assert_eq!(found(format!("{old}\n{}\n", user("a", None))), ["1 old-version"]);
    let none = HEADER.replace("\"version\":3,", "");
    assert_eq!(found(format!("{none}\n{}\n", user("a", None))), ["1 no-version"]);
    assert_eq!(found(""), ["1 empty-file"]);
    for nothing in ["\n\n", "{\"a\":1}\n", "hello\n"] {
        let refused = examine(Scratch::new(nothing).path());
        assert!(matches!(refused, Err(Error::NotASession { .. })), "{refused:?}");
    }
}

#[test]
fn what_is_odd_inside_an_entry() {
    let timeless = user("d", Some("c")).replace("2026-01-05T09:00:20.226Z", "tomorrow");
    let lines = [
        user("a", None),
        entry("message", "b", Some("a"), r#","message":null"#),
        entry("message", "c", Some("b"), r#","message":{"role":"user"}"#),
        timeless,
        entry("novelty", "e", Some("d"), ""),
        entry("novelty", "f", Some("e"), ""),
        entry("message", "g", Some("f"), r#","message":{"role":"hermit","content":"x"}"#),
        entry("message", "", Some("g"), r#","message":{"role":"user","content":"x"}"#),
    ];
    let diagnosis = Scratch::new(file(&lines)).examine();
    assert_eq!(
        codes(&diagnosis),
        [
            "3 no-message",
            "4 no-content",
            "5 invalid-timestamp",
            "6 unknown-type",
            "8 unknown-type",
            "9 no-id",
        ]
    );
    let message = diagnosis.findings[3].to_string();
    assert_eq!(message, "line 6: 2 records of unknown type \"novelty\": kept as they are");
}

#[test]
fn what_is_merely_unusual_is_a_note_at_most() {
    let text = format!("\u{FEFF}{HEADER}\r\n\r\n{}\r\n", user("a", None));
    let mut bytes = text.into_bytes();
    bytes.extend(user("b", Some("a")).replace("\"content\":\"b\"", "\"content\":\"@\"").bytes());
    let at = bytes.iter().position(|&byte| byte == b'@').unwrap();
    bytes[at] = 0xFF;
    let scratch = Scratch::new(&bytes);
    let diagnosis = scratch.examine();
    assert_eq!(codes(&diagnosis), ["1 byte-order-mark", "1 crlf", "4 not-utf8"]);
    assert!(diagnosis.is_healthy());
    assert_eq!(scratch.repair().output, None);
}

#[test]
fn large_entries_are_named_largest_first_in_the_file() {
    let big = |id: &str, size: usize| {
        entry(
            "message",
            id,
            None,
            &format!(r#","message":{{"role":"user","content":"{}"}}"#, "x".repeat(size)),
        )
    };
    let lines = [big("a", 100), big("b", (1 << 20) + 5), big("c", 1 << 19)];
    assert_eq!(found(file(&lines)), ["3 large-entry"]);
}

/// The findings for each file of the corpus of faults: codes, once each, by line.
const FAULTS: [(&str, &str); 47] = [
    ("bad-timestamps", "invalid-timestamp"),
    ("blank-lines", ""),
    ("bom", "byte-order-mark"),
    ("child-before-parent", ""),
    ("crlf", "crlf"),
    ("cycle", "cycle"),
    // Its tool call has no result.
    ("deep-nesting-500", "orphan-tool-call"),
    ("duplicate-id", "duplicate-id"),
    ("duplicate-id-loop", "duplicate-id cycle unreachable-history"),
    ("duplicate-keys", ""),
    ("empty", "empty-file"),
    ("empty-id", "no-id"),
    ("escaped-controls", ""),
    ("garbage-line", "damaged-line"),
    ("glued-lines", "glued-lines"),
    ("glued-to-fragment", "glued-lines damaged-line missing-parent unreachable-history"),
    ("header-only", ""),
    ("header-second", "header-not-first"),
    ("header-torn", "not a session"),
    ("huge-numbers", ""),
    ("integer-ids", ""),
    ("keys-in-unusual-order", ""),
    ("label-missing-target", "missing-target"),
    ("lone-surrogate", ""),
    ("message-null", "no-message no-content"),
    ("missing-first-kept", "missing-first-kept"),
    ("missing-parent-first", "missing-parent"),
    ("no-final-newline", ""),
    ("no-first-kept", "missing-first-kept"),
    ("no-version-tree", "no-version"),
    ("not-a-session", "not a session"),
    ("not-utf8", "not-utf8"),
    ("null-line", "damaged-line"),
    ("one-megabyte-line", "large-entry"),
    ("only-newlines", "not a session"),
    ("parent-absent-and-null", ""),
    ("parent-empty-string", ""),
    ("scalar-lines", "damaged-line"),
    ("self-parent", "cycle unreachable-history"),
    ("spaces-in-json", ""),
    ("title-slot", ""),
    ("torn-in-the-middle", "damaged-entry"),
    ("torn-last-line", "torn-last-line"),
    ("two-headers", "second-header"),
    ("u2028", ""),
    ("unknown-things", "unknown-type"),
    ("version-99", "future-version"),
];

/// The codes that a repair has no rule for.
const KEPT: [&str; 12] = [
    "invalid-timestamp",
    "byte-order-mark",
    "crlf",
    "orphan-tool-call",
    "missing-target",
    "no-message",
    "no-content",
    "missing-first-kept",
    "not-utf8",
    "large-entry",
    "unknown-type",
    "empty-file",
];

fn once_each(findings: &[treering::findings::Finding]) -> Vec<&'static str> {
    let mut codes: Vec<&'static str> = Vec::new();
    for finding in findings {
        if !codes.contains(&finding.code()) {
            codes.push(finding.code());
        }
    }
    codes
}

#[test]
fn every_file_of_the_corpus_of_faults() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let corpus = std::env::var("TREERING_CORPUS").unwrap_or_else(|_| default.to_owned());
    let faults = Path::new(&corpus).join("faults");
    let Ok(files) = std::fs::read_dir(&faults) else {
        eprintln!("SKIPPED: no corpus of faults at {}", faults.display());
        return;
    };
    let is_session =
        |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl");
    let mut seen = 0;
    for path in files.map(|file| file.unwrap().path()).filter(is_session) {
        seen += 1;
        let name = path.file_stem().unwrap().to_str().unwrap();
        let known = FAULTS.iter().find(|(fault, _)| *fault == name);
        let expected = known.unwrap_or_else(|| panic!("{name} is not in the table")).1;
        let scratch = Scratch::new(std::fs::read(&path).unwrap());
        if expected == "not a session" {
            let refused = examine(scratch.path());
            assert!(matches!(refused, Err(Error::NotASession { .. })), "{name}: {refused:?}");
            continue;
        }
        let diagnosis = scratch.examine();
        assert_eq!(once_each(&diagnosis.findings).join(" "), expected, "{name}");
        let is_kept = |code: &&str| KEPT.contains(code);
        let done = match repair(scratch.path(), RepairOptions::default()) {
            Err(Error::ReadOnly { .. }) => panic!("{name} needs no repair"),
            done => done.unwrap(),
        };
        let unrepaired = expected.split(' ').all(|code| {
            code.is_empty() || is_kept(&code) || ["no-version", "future-version"].contains(&code)
        });
        assert_eq!(done.output.is_none(), unrepaired, "{name}");
        let Some(output) = done.output else { continue };
        let left = once_each(&examine(output).unwrap().findings);
        assert!(left.iter().all(is_kept), "{name}: {left:?}");
    }
    assert_eq!(seen, FAULTS.len());
}
