use crate::support::{TestDir, sessions, shown};
use treering::{CreateOptions, Dialect, Message, Session};

#[test]
fn every_dialect_that_treering_writes_has_hits() {
    for dialect in Dialect::ALL.into_iter().filter(|dialect| dialect.is_writable()) {
        let test_dir = TestDir::empty();
        let path = test_dir.file("s.jsonl");
        let options = CreateOptions::new().dialect(dialect);
        let session = Session::create_at(&path, "/p", options).unwrap();
        let first = session.append(Message::user("Where is the Café \"Noir\"?")).unwrap();
        session.append(Message::assistant("acme", "m", "The CAFÉ is\nclosed.")).unwrap();
        session.branch(first.as_str()).unwrap();
        session.append(Message::assistant("acme", "m", "No café here 😀.")).unwrap();
        let found = sessions([path.clone()], "café");
        assert_eq!(found.len(), 1, "{dialect}");
        assert_eq!(found[0].info.agent, dialect);
        let states: Vec<&str> = found[0].hits.iter().map(|hit| hit.state.name()).collect();
        assert_eq!(states, ["active", "abandoned", "active"], "{dialect}");
        assert_eq!(sessions([path.clone()], r#""café \"noir\"?""#)[0].total, 1, "{dialect}");
        assert_eq!(sessions([path], "café 😀").len(), 1, "{dialect}");
    }
}

const CLAUDE: &str = r#"{"parentUuid":null,"isSidechain":false,"cwd":"/p","sessionId":"s","type":"user","message":{"role":"user","content":"Look for the needle."},"uuid":"u1","timestamp":"2026-01-05T09:01:00.000Z"}
{"parentUuid":"u1","isSidechain":false,"cwd":"/p","sessionId":"s","type":"assistant","message":{"id":"m1","role":"assistant","model":"oak","content":[{"type":"text","text":"A needle?"}]},"uuid":"a1","timestamp":"2026-01-05T09:02:00.000Z"}
{"parentUuid":"a1","isSidechain":false,"cwd":"/p","sessionId":"s","type":"assistant","message":{"id":"m1","role":"assistant","model":"oak","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/p/needle.rs"}}]},"uuid":"a2","timestamp":"2026-01-05T09:02:01.000Z"}
{"parentUuid":"a2","isSidechain":false,"cwd":"/p","sessionId":"s","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"fn needle() {}"}]},"uuid":"u2","timestamp":"2026-01-05T09:04:00.000Z"}
"#;

const SUBAGENT: &str = r#"{"parentUuid":null,"isSidechain":true,"agentId":"x","cwd":"/p","sessionId":"s","type":"user","message":{"role":"user","content":"Hay and needle."},"uuid":"x1","timestamp":"2026-01-05T09:03:00.000Z"}
"#;

#[test]
fn claude_code_with_its_subagents() {
    let test_dir = TestDir::empty();
    let path = test_dir.write("s.jsonl", CLAUDE);
    test_dir.write("s/subagents/agent-1.jsonl", SUBAGENT);
    let hits = |query: &str| -> Vec<String> {
        sessions([path.clone()], query).iter().flat_map(|found| &found.hits).map(shown).collect()
    };
    assert_eq!(
        hits("needle"),
        [
            "u1 active text: Look for the [needle].",
            "a1 active text: A [needle]?",
            "a2 active call: /p/[needle].rs",
            "u2 active result: fn [needle]() {}",
            "x1 sidechain text: Hay and [needle].",
        ]
    );
    assert_eq!(hits("hay"), ["x1 sidechain text: [Hay] and needle."], "only in the other file");
    assert_eq!(hits("tool:read fn"), ["u2 active result: [fn] needle() {}"]);
    assert_eq!(hits("file:needle.rs role:user hay").len(), 1);
}

/// A session of Gemini CLI, and the file of a subagent in the directory that has its whole id.
const GEMINI: [(&str, &str); 2] = [
    (
        "chats/session-2026-03-02T08-00-9e311000.jsonl",
        r#"{"sessionId":"9e311000-0000-4000-8000-000000000001","projectHash":"5f","startTime":"2026-03-02T08:00:00.000Z","lastUpdated":"2026-03-02T08:00:00.000Z","kind":"main"}
{"id":"u1","timestamp":"2026-03-02T08:00:01.000Z","type":"user","content":[{"text":"Look for the needle."}]}
"#,
    ),
    (
        "chats/9e311000-0000-4000-8000-000000000001/explore-1.jsonl",
        r#"{"sessionId":"explore-1","projectHash":"5f","startTime":"2026-03-02T09:00:00.000Z","lastUpdated":"2026-03-02T09:00:00.000Z","kind":"subagent"}
{"id":"s1","timestamp":"2026-03-02T09:00:01.000Z","type":"user","content":[{"text":"Nothing but hay."}]}
"#,
    ),
];

/// A session of Qwen Code, and the file of a subagent in the project's directory for all of them.
const QWEN: [(&str, &str); 2] = [
    (
        "chats/b6f1d0aa.jsonl",
        r#"{"uuid":"u1","parentUuid":null,"sessionId":"b6f1d0aa","timestamp":"2026-03-02T08:00:00.000Z","type":"user","cwd":"/p","message":{"role":"user","parts":[{"text":"Look for the needle."}]}}
"#,
    ),
    (
        "subagents/b6f1d0aa/agent-1.jsonl",
        r#"{"uuid":"s1","parentUuid":null,"sessionId":"b6f1d0aa","timestamp":"2026-03-02T09:00:00.000Z","type":"user","cwd":"/p","agentId":"x","isSidechain":true,"message":{"role":"user","parts":[{"text":"Nothing but hay."}]}}
"#,
    ),
];

#[test]
fn a_text_that_only_a_subagent_has_is_found_wherever_the_agent_keeps_its_file() {
    for files in [GEMINI, QWEN] {
        let test_dir = TestDir::empty();
        let [path, _] = files.map(|(name, text)| test_dir.write(name, text));
        let hits = |query: &str| -> Vec<String> {
            let found = sessions([path.clone()], query);
            found.iter().flat_map(|found| &found.hits).map(shown).collect()
        };
        assert_eq!(hits("needle"), ["u1 active text: Look for the [needle]."], "{path:?}");
        assert_eq!(hits("hay"), ["s1 sidechain text: Nothing but [hay]."], "{path:?}");
    }
}

const CODEX: &str = r#"{"timestamp":"2026-01-05T09:00:00.000Z","type":"session_meta","payload":{"id":"c-1","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p","originator":"codex","cli_version":"1"}}
{"timestamp":"2026-01-05T09:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Find the needle."}]}}
{"timestamp":"2026-01-05T09:00:02.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"grep \\\"n\\u00e9edle\\\" x\"]}","call_id":"c1"}}
{"timestamp":"2026-01-05T09:00:03.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"needle: 1\\n\",\"metadata\":{\"exit_code\":0}}"}}
"#;

#[test]
fn codex_with_its_strings_in_strings() {
    let test_dir = TestDir::empty();
    let path = test_dir.write("s.jsonl", CODEX);
    let lines = |query: &str| -> Vec<String> {
        let found = sessions([path.clone()], query);
        let hits = found.iter().flat_map(|found| &found.hits);
        hits.map(|hit| format!("{} {}", hit.part.name(), hit.snippet.text)).collect()
    };
    assert_eq!(lines("find"), ["text Find the needle."]);
    assert_eq!(lines("NÉEDLE"), [r#"call grep "néedle" x"#]);
    assert_eq!(lines("tool:shell \"needle: 1\"").len(), 1);
}
