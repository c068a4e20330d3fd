//! Tests of the title of a session: its name, the agent's own title, or the first message of the
//! user.

use treering::catalog::info;
use treering::{Message, Session};

/// Returns the title that lists and the session itself give for a file of these lines.
fn title(lines: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let (listed, session) = (info(&path).unwrap(), Session::open(&path).unwrap());
    assert_eq!(listed.title(), session.title().unwrap());
    assert_eq!(listed.title(), session.info().unwrap().title());
    listed.title().to_owned()
}

fn claude(uuid: &str, more: &str, text: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"{uuid}","parentUuid":null,"sessionId":"s","cwd":"/p","timestamp":"2026-01-05T09:00:20.226Z"{more},"message":{{"role":"user","content":"{text}"}}}}"#
    )
}

fn codex(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-01-05T09:00:20.226Z","type":"{kind}","payload":{payload}}}"#)
}

fn codex_user(text: &str) -> String {
    let content = format!(r#"[{{"type":"input_text","text":"{text}"}}]"#);
    codex("response_item", &format!(r#"{{"type":"message","role":"user","content":{content}}}"#))
}

#[test]
fn records_that_the_user_did_not_say_give_no_title() {
    let subagent = claude("a", r#","isSidechain":true"#, "search the sources");
    let meta = claude("b", r#","isMeta":true"#, "Caveat: instructions of the program");
    let command = claude("c", "", "<command-name>/clear</command-name>");
    let output = claude("d", "", "<local-command-stdout>done</local-command-stdout>");
    let question = claude("e", "", "<system-reminder>x</system-reminder>\\n\\nWhy is it slow?");
    let asides = [&*subagent, &meta, &command, &output];
    assert_eq!(title(&[&asides[..], &[&question]].concat()), "Why is it slow?");
    // Where the user said nothing, the first text is better than no title.
    assert_eq!(title(&[&meta, &command]), "Caveat: instructions of the program");
}

#[test]
fn instructions_and_surroundings_give_no_title() {
    let meta = codex("session_meta", r#"{"id":"s","timestamp":"2026-01-05T09:00:20Z","cwd":"/p"}"#);
    let rules = codex_user(
        "# AGENTS.md instructions for /p\\n\\n<INSTRUCTIONS>\\nbe brief\\n</INSTRUCTIONS>",
    );
    let place = codex_user("<environment_context>\\n  <cwd>/p</cwd>\\n</environment_context>");
    let question = codex_user("Make a timer");
    let lines = [&*meta, &rules, &place, &question];
    assert_eq!(title(&lines), "Make a timer");
    let name = |name: &str| {
        let name =
            format!(r#"{{"type":"thread_name_updated","thread_id":"s","thread_name":"{name}"}}"#);
        codex("event_msg", &name)
    };
    assert_eq!(title(&[&lines[..], &[&name("A timer"), &name("The timer")]].concat()), "The timer");
    assert_eq!(title(&[&lines[..], &[&name("A timer"), &name("")]].concat()), "Make a timer");
}

#[test]
fn names_come_before_titles_of_the_agent_and_those_before_questions() {
    let question = claude("e", "", "Why is it slow?");
    let summary = r#"{"type":"summary","summary":"Speed","leafUuid":"e"}"#;
    let ai = r#"{"type":"ai-title","aiTitle":"Slow search","sessionId":"s"}"#;
    let custom = r#"{"type":"custom-title","customTitle":"The slow one","sessionId":"s"}"#;
    assert_eq!(title(&[&question, summary]), "Speed");
    assert_eq!(title(&[&question, ai, summary]), "Slow search");
    assert_eq!(title(&[&question, custom, ai, summary]), "The slow one");
}

#[test]
fn a_blank_name_is_no_title() {
    let session = Session::in_memory("/project");
    session.append(Message::user("hello")).unwrap();
    session.set_name("  ").unwrap();
    assert_eq!(session.title().unwrap(), "hello");
    assert_eq!(session.info().unwrap().title(), "hello");
}

/// A hook's notes hang on the call that it watched, beside what the call led to.
#[test]
fn notes_beside_the_conversation_are_no_branch() {
    let record = |kind: &str, uuid: &str, parent: &str, more: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","cwd":"/p","timestamp":"2026-01-05T09:00:20.226Z",{more}}}"#
        )
    };
    let message =
        |role: &str, text: &str| format!(r#""message":{{"role":"{role}","content":"{text}"}}"#);
    let hook = r#""data":{"type":"hook_progress","hookEvent":"PostToolUse"}"#;
    let lines = [
        record("user", "a", "null", &message("user", "go")),
        record("assistant", "b", r#""a""#, &message("assistant", "going")),
        record("progress", "h1", r#""b""#, hook),
        record("progress", "h2", r#""h1""#, hook),
        record("user", "c", r#""b""#, &message("user", "on")),
        record("assistant", "d", r#""c""#, &message("assistant", "done")),
        record("progress", "h3", r#""d""#, hook),
        record("progress", "h4", r#""d""#, hook),
    ];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let session = Session::open(&path).unwrap();
    assert!(session.tree().branch_points().is_empty());
    assert_eq!(session.leaf().unwrap().as_str(), "d");
    assert_eq!(session.tree().path("d").unwrap(), ["a", "b", "h1", "h2", "c", "d"]);
    assert_eq!(info(&path).unwrap().branch_count, 1);
    assert_eq!(session.context().unwrap().messages.len(), 4);
}

/// Such a session continues one whose context was full, and has no message of the user yet.
#[test]
fn a_summary_gives_a_title_without_a_message_of_the_user() {
    let boundary = r#"{"type":"system","subtype":"compact_boundary","uuid":"u1","parentUuid":null,"sessionId":"s","cwd":"/p","timestamp":"2026-01-05T09:00:00.000Z","content":"Conversation compacted"}"#;
    let summary = |text: &str| {
        let message = serde_json::json!({"role": "user", "content": text});
        format!(
            r#"{{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"s","cwd":"/p","timestamp":"2026-01-05T09:00:01.000Z","isCompactSummary":true,"message":{message}}}"#
        )
    };
    let question = r#"{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s","cwd":"/p","timestamp":"2026-01-05T09:00:02.000Z","message":{"role":"user","content":"And now the relay."}}"#;
    let long = summary(
        "This session is being continued from a previous conversation that ran out of context.\n\nAnalysis:\nFirst things first.\n\nSummary:\n1. Primary Request and Intent:\n   The kiln overheats, and the user wants to know why.\n\n2. Key Technical Concepts:\n   - sensors",
    );
    assert_eq!(title(&[boundary, &long]), "The kiln overheats, and the user wants to know why.");
    assert_eq!(title(&[boundary, &summary("what was said\n\nand more")]), "what was said");
    assert_eq!(
        title(&[boundary, &long, question]),
        "And now the relay.",
        "what the user said counts"
    );
    assert_eq!(title(&[boundary, &summary(" \n")]), "");
}
