use crate::support::{Home, pi};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use treering::{CreateOptions, Dialect, Message, Session};

const CLAUDE: &str = r#"{"parentUuid":null,"isSidechain":false,"cwd":"/p","sessionId":"s","type":"user","message":{"role":"user","content":"Look."},"uuid":"u1","timestamp":"2026-01-05T09:01:00.000Z"}
{"parentUuid":"u1","isSidechain":false,"cwd":"/p","sessionId":"s","type":"assistant","message":{"id":"m1","role":"assistant","model":"oak","content":[{"type":"text","text":"Yes."}]},"uuid":"a1","timestamp":"2026-01-05T09:02:00.000Z"}
{"parentUuid":null,"isSidechain":true,"cwd":"/p","sessionId":"s","type":"user","message":{"role":"user","content":"Look for me."},"uuid":"x1","timestamp":"2026-01-05T09:03:00.000Z"}
"#;

/// A file written by a subagent of that session.
const SUBAGENT: &str = r#"{"parentUuid":null,"isSidechain":true,"cwd":"/p","sessionId":"s","type":"user","message":{"role":"user","content":"Look further."},"uuid":"y1","timestamp":"2026-01-05T09:04:00.000Z"}
"#;

const CODEX: &str = r#"{"timestamp":"2026-01-05T09:00:00.000Z","type":"session_meta","payload":{"id":"c0de","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p","originator":"codex_cli_rs","cli_version":"0.47.0"}}
{"timestamp":"2026-01-05T09:01:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Build it."}]}}
"#;

fn create(home: &Home, dialect: Dialect, file: &str) {
    let options = CreateOptions::new().dialect(dialect);
    let session = Session::create_at(home.at(file), "/p", options).unwrap();
    session.append(Message::user(format!("I use {dialect}."))).unwrap();
    session.append(Message::assistant("acme", "oak", "Good.")).unwrap();
}

/// Paths of a session of each agent.
const WRITTEN: [(Dialect, &str); 8] = [
    (Dialect::Pi, ".pi/agent/sessions/--p--/1.jsonl"),
    (Dialect::Omp, ".omp/agent/sessions/-p/1.jsonl"),
    (Dialect::Omp, ".omp/profiles/other/agent/sessions/-p/1.jsonl"),
    (Dialect::Chimera, ".chimera/sessions/0123456789ab.jsonl"),
    (Dialect::Operator, ".operator/sessions/1.jsonl"),
    (Dialect::Operator, ".operator/profiles/other/sessions/1.jsonl"),
    (Dialect::Tau, ".tau/sessions/1.jsonl"),
    (Dialect::Tau, ".tau/sessions/p/1.jsonl"),
];

fn everything() -> Home {
    let home = Home::new();
    for (dialect, file) in WRITTEN {
        create(&home, dialect, file);
    }
    home.write(".claude/projects/-p/5e55.jsonl", CLAUDE);
    home.write(".claude/projects/-p/5e55/subagents/agent-1.jsonl", SUBAGENT);
    home.write(".codex/sessions/2026/01/05/rollout-1.jsonl", CODEX);
    home.write(".codex/archived_sessions/rollout-2.jsonl", CODEX);
    let packed = compress_to_vec(CODEX.as_bytes(), CompressionLevel::Fastest);
    std::fs::write(home.at(".codex/sessions/2026/01/05/rollout-3.jsonl.zst"), packed).unwrap();
    // None of these is a session.
    home.write(".codex/history.jsonl", "{}\n");
    home.write(".claude/history.jsonl", "{}\n");
    home.write(".pi/agent/sessions/--p--/deeper/1.jsonl", &pi("deep", "too deep"));
    home
}

#[test]
fn every_agents_sessions_are_found() {
    let home = everything();
    let contents = home.read();
    let mut found: Vec<(Dialect, String)> = Vec::new();
    for session in &contents.sessions {
        let path = session.path.strip_prefix(home.path()).unwrap().to_string_lossy();
        found.push((session.agent, path.replace('\\', "/")));
        assert_eq!(session.branch_count, 1, "{path}");
        assert_eq!(session.finding_count, 0, "{path}");
        assert!(
            session.agent == Dialect::Chimera || session.cwd == "/p",
            "{path}: {}",
            session.cwd
        );
    }
    let mut expected: Vec<(Dialect, String)> =
        WRITTEN.iter().map(|(dialect, file)| (*dialect, file.to_string())).collect();
    let foreign = [
        (Dialect::ClaudeCode, ".claude/projects/-p/5e55.jsonl"),
        (Dialect::Codex, ".codex/sessions/2026/01/05/rollout-1.jsonl"),
        (Dialect::Codex, ".codex/archived_sessions/rollout-2.jsonl"),
        (Dialect::Codex, ".codex/sessions/2026/01/05/rollout-3.jsonl.zst"),
    ];
    expected.extend(foreign.map(|(dialect, file)| (dialect, file.to_owned())));
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert!(contents.skipped.is_empty(), "{:?}", contents.skipped);
}

#[test]
fn the_newest_comes_first_and_each_session_is_reported() {
    let home = Home::new();
    for (minute, name) in ["c", "a", "b"].iter().enumerate() {
        let session = pi(name, name).replace("09:0", &format!("1{minute}:0"));
        home.write(&format!(".pi/agent/sessions/{name}.jsonl"), &session);
    }
    home.write(".pi/agent/sessions/none.jsonl", "nothing\n");
    for round in 0..2 {
        let (mut found, mut steps) = (Vec::new(), Vec::new());
        let contents = home.index().read(|step| {
            steps.push((step.progress.done, step.progress.total));
            found.extend(step.session.map(|session| session.id.clone()));
        });
        let ids: Vec<&str> = contents.sessions.iter().map(|session| session.id.as_str()).collect();
        assert_eq!(ids, ["b", "a", "c"], "{round}");
        found.sort();
        assert_eq!(found, ["a", "b", "c"]);
        assert_eq!(steps, [(1, 4), (2, 4), (3, 4), (4, 4)]);
        assert!(contents.skipped[0].is_no_session && contents.skipped.len() == 1);
    }
}

#[test]
#[cfg(unix)]
fn unreadable_files_are_reported_and_hide_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    home.pi("one", "first");
    home.write(".pi/agent/sessions/closed/two.jsonl", &pi("two", "second"));
    // A file where a directory should be: even root cannot look into it.
    home.write(".chimera/sessions", "");
    let closed = home.at(".pi/agent/sessions/closed");
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
    let contents = home.read();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
    assert!(contents.sessions.iter().any(|session| session.first_message == "first"));
    assert!(contents.skipped.iter().any(|skipped| skipped.path == home.at(".chimera/sessions")));
    assert!(contents.skipped.iter().all(|skipped| !skipped.is_no_session));
}

#[test]
fn long_texts_are_shortened_between_characters() {
    let home = Home::new();
    home.pi("one", &"é".repeat(5000));
    for _ in 0..2 {
        let text = home.read().sessions.remove(0).first_message;
        assert_eq!((text.len(), text.chars().all(|c| c == 'é')), (1024, true));
    }
    home.pi("one", &format!("x{}", "é".repeat(5000)));
    home.age(".pi/agent/sessions/--p--/one.jsonl", 10);
    assert_eq!(home.read().sessions[0].first_message.len(), 1023);
}
