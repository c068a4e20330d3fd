//! Tests of sessions of OpenCode.

use crate::dialect::battery::{self, context_texts, open};
use crate::dialect::{is_stored, stored_sessions};
use crate::usage::Ledger;
use crate::{Dialect, Session};
use std::path::{Path, PathBuf};

/// The session `ses_main1` of the database, as lines.
const FIXTURE: &str = include_str!("fixture.jsonl");

/// Made by `testdata/make.py`.
const DATABASE: &[u8] = include_bytes!("testdata/opencode.db");

/// Returns a copy of the database in a directory of its own.
fn database() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    std::fs::write(&path, DATABASE).unwrap();
    (dir, path)
}

fn stored(database: &Path, id: &str) -> Session {
    Session::open(format!("{}#{id}", database.display())).unwrap()
}

#[test]
fn the_fixture_passes_the_battery() {
    battery::run(Dialect::OpenCode, FIXTURE);
}

#[test]
fn a_session_in_the_database_reads_as_its_lines() {
    let (_dir, path) = database();
    let session = stored(&path, "ses_main1");
    let journal = crate::internal::journal_of(&session);
    let mut lines = vec![0; journal.len().unwrap() as usize];
    crate::log::scan::read_full(&*journal, 0, &mut lines).unwrap();
    if std::env::var_os("RENEW_FIXTURE").is_some() {
        let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dialect/opencode/fixture.jsonl");
        std::fs::write(at, &lines).unwrap();
    }
    assert_eq!(String::from_utf8(lines).unwrap(), FIXTURE);
    assert_eq!((session.id().as_str(), session.cwd().as_str()), ("ses_main1", "/srv/kiln"));
    assert_eq!(session.name().as_deref(), Some("Kiln sensor"));
    assert!(session.append(crate::Message::user("no")).is_err());
    assert!(!session.refresh().unwrap().iter().any(|id| id.as_str().is_empty()));
}

#[test]
fn sessions_of_subagents_are_listed_with_the_one_that_began_them() {
    let (_dir, path) = database();
    let sessions = stored_sessions(&path).unwrap().unwrap();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let names: Vec<String> = sessions.iter().map(|session| name(&session.path)).collect();
    assert_eq!(
        names,
        ["ses_main1", "ses_part1", "ses_whole1"].map(|id| format!("opencode.db#{id}"))
    );
    assert!(sessions.iter().all(|session| is_stored(&session.path)));
    assert_eq!(sessions[0].messages, 12);
    let info = crate::catalog::info(&sessions[0].path).unwrap();
    assert_eq!((info.agent, info.title()), (Dialect::OpenCode, "Kiln sensor"));
}

#[test]
fn the_context_continues_from_the_summary() {
    let session = open(FIXTURE).unwrap();
    let expected = [
        "c The kiln overheats: the sensor reads 7.",
        "a The sensor always reads 7.",
        "u Continue if you have next steps.",
        "a Shall I fix it?",
        "u Fix the sensor.",
        "a I begin.",
        "t [Tool execution was interrupted]",
    ];
    assert_eq!(context_texts(&session), expected);
    let own = session.agent_context_at(session.leaf().unwrap().as_str()).unwrap().unwrap();
    let own: Vec<String> = own.messages.iter().map(|m| String::from_utf8_lossy(m).into()).collect();
    assert!(own[0].contains("What did we do so far?") && own[1].contains("The kiln overheats"));
    assert!(own[2].contains("always reads 7"), "{own:?}");
    assert!(own.last().unwrap().contains("[Tool execution was interrupted]"));
    assert_eq!(own.len(), 8);
}

#[test]
fn messages_before_a_summary_are_still_in_the_tree() {
    let session = open(FIXTURE).unwrap();
    let before = session.context_at("msg_0006").unwrap();
    let texts: Vec<serde_json::Value> = before
        .messages
        .iter()
        .map(|message| serde_json::from_slice(&message.json).unwrap())
        .collect();
    let roles: Vec<&str> = texts.iter().map(|message| message["role"].as_str().unwrap()).collect();
    let (user, answer, result) = ("user", "assistant", "toolResult");
    assert_eq!(roles, [user, answer, result, result, answer, result, answer]);
    let question = texts[0]["content"].as_array().unwrap();
    assert_eq!(question.len(), 4, "two texts, an image and the name of a file");
    assert_eq!(question[2]["data"], "iVBORw0KGgo=");
    assert_eq!(texts[1]["content"][0]["thinkingSignature"], "c2ln");
    assert_eq!((&texts[3]["isError"], &texts[3]["toolCallId"]), (&true.into(), &"call_2".into()));
    assert_eq!(texts[5]["content"][0]["text"], "[Old tool result content cleared]");
}

#[test]
fn subagents_are_sidechains() {
    let session = open(FIXTURE).unwrap();
    let fan = session.context_at("msg_0005").unwrap();
    let last = String::from_utf8_lossy(&fan.messages.last().unwrap().json).into_owned();
    assert!(last.contains("The fan is fine."));
    assert!(!context_texts(&session).iter().any(|line| line.contains("fan")));
    assert_eq!(session.title().unwrap(), "Kiln sensor");
    let unnamed = open(FIXTURE.replace("Kiln sensor", "New session - 2026")).unwrap();
    assert!(unnamed.title().unwrap().starts_with("Why does the kiln overheat?"));
}

#[test]
fn what_was_taken_back_is_a_branch() {
    let (_dir, path) = database();
    let whole = stored(&path, "ses_whole1");
    assert_eq!(context_texts(&whole), ["u Say tea.", "a tea"]);
    assert_eq!(whole.tree().len(), 4);
    let part = stored(&path, "ses_part1");
    assert_eq!(context_texts(&part), ["u Count to three.", "a one"]);
    assert_eq!(part.name(), None, "a title that OpenCode made up is none");
}

#[test]
fn tokens_and_costs_count_once() {
    let session = open(FIXTURE).unwrap();
    let mut ledger = Ledger::default();
    let usage = ledger.add(&session).unwrap().usage;
    // Seven answers, one of them without a cost: that of the subagent and the summary count, too.
    assert_eq!((usage.requests, usage.unpriced), (7, 1));
    assert_eq!((usage.input, usage.output, usage.cache_read), (7 * 600, 7 * 80, 7 * 400));
    assert_eq!(usage.cost.dollars(), 0.06);
    // A fork has the same messages under other ids. Summaries count by their entries.
    let fork = open(FIXTURE.replace("msg_", "msg_f").replace("ses_main1", "ses_fork1")).unwrap();
    assert_eq!(ledger.add(&fork).unwrap().shared.requests, 6);
}

/// Writes a session as versions before the database did, after the lines that it reads as.
fn write_files(storage: &Path, lines: &str) -> PathBuf {
    let put = |path: String, value: &serde_json::Value| {
        let path = storage.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, serde_json::to_string_pretty(value).unwrap()).unwrap();
        path
    };
    let mut lines = lines.lines().map(|line| serde_json::from_str(line).unwrap());
    let first: serde_json::Value = lines.next().unwrap();
    let mut session = first["session"].clone();
    let id = session["id"].as_str().unwrap().to_owned();
    session["time"] =
        serde_json::json!({"created": session["time"], "updated": session["updated"]});
    session["projectID"] = "4b0ea68d".into();
    if !first["revert"].is_null() {
        session["revert"] = first["revert"].clone();
    }
    for message in lines {
        let name = message["id"].as_str().unwrap();
        let mut info = message["info"].clone();
        info["id"] = name.into();
        info["sessionID"] = id.as_str().into();
        put(format!("message/{id}/{name}.json"), &info);
        for part in message["parts"].as_array().unwrap() {
            let mut part = part.clone();
            part["messageID"] = name.into();
            part["sessionID"] = id.as_str().into();
            put(format!("part/{name}/{}.json", part["id"].as_str().unwrap()), &part);
        }
    }
    put(format!("session/4b0ea68d/{id}.json"), &session)
}

#[test]
fn the_files_of_versions_before_the_database_read_as_the_rows_do() {
    let own: Vec<&str> = FIXTURE.lines().filter(|line| !line.contains("\"sidechain\"")).collect();
    let expected = open(own.join("\n") + "\n").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = write_files(&dir.path().join("storage"), &own.join("\n"));
    assert!(is_stored(&path));
    let session = Session::open(&path).unwrap();
    assert_eq!((session.id(), session.cwd()), (expected.id(), expected.cwd()));
    assert_eq!((session.name(), session.leaf()), (expected.name(), expected.leaf()));
    assert_eq!(context_texts(&session), context_texts(&expected));
    assert_eq!(session.tree().len(), expected.tree().len());
    assert_eq!(session.stats().unwrap(), expected.stats().unwrap());
    assert!(session.append(crate::Message::user("no")).is_err());
    let info = crate::catalog::info(&path).unwrap();
    assert_eq!((info.agent, info.title()), (Dialect::OpenCode, "Kiln sensor"));

    std::fs::write(dir.path().join("storage/message/ses_main1/msg_zz.json"), "no JSON").unwrap();
    let damaged = Session::open(&path).unwrap();
    assert_eq!(damaged.tree().len(), expected.tree().len() + 1, "nothing is hidden");
    std::fs::remove_dir_all(dir.path().join("storage/message")).unwrap();
    assert!(Session::open(&path).unwrap().tree().is_empty(), "a session without messages");
    std::fs::write(&path, "no JSON").unwrap();
    assert!(Session::open(&path).is_ok_and(|session| session.tree().is_empty()));
}

#[test]
fn other_files_are_not_taken_for_sessions() {
    for other in ["ses_1.json", "session/p/ses_1.json", "storage/session/p/x.json"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(other);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "{}").unwrap();
        assert!(!is_stored(&path), "{other}");
    }
}
