//! Tests that conversions keep the contexts, message by message, independently of the verification
//! that a conversion does itself.

use crate::samples;
use std::path::Path;
use treering::convert::{ConvertOptions, convert};
use treering::entry::{Block, MessageView};
use treering::provider::Pairing;
use treering::{Context, CreateOptions, Dialect, Error, Message, Role, Session};

const TARGETS: [Dialect; 7] = [
    Dialect::Pi,
    Dialect::Uuid,
    Dialect::Omp,
    Dialect::Chimera,
    Dialect::Operator,
    Dialect::Tau,
    Dialect::ClaudeCode,
];

/// The parts that a provider gets: roles, texts and calls. Consecutive messages of the user are one
/// where `joined`, because Claude Code's own format joins them.
fn sent(context: &Context, joined: bool) -> Vec<(Role, String)> {
    let mut all: Vec<(Role, String)> = Vec::new();
    for message in context.to_llm(Pairing::Raw).messages {
        let view = MessageView::new(&message.json);
        let role = view.role();
        // Claude Code keeps no system prompt, which is what a developer's message is.
        if joined && matches!(role, Role::System | Role::Other) {
            continue;
        }
        let mut words = view.field("toolCallId").map(|id| id.into_owned()).unwrap_or_default();
        for block in view.blocks() {
            match block {
                Block::Text { text, .. } => words.push_str(&text),
                Block::ToolCall { id, name, .. } => words.push_str(&format!("{id} {name}")),
                _ => {}
            }
        }
        match all.last_mut() {
            Some((before, text)) if joined && *before == Role::User && role == Role::User => {
                text.push_str(&words);
            }
            _ => all.push((role, words)),
        }
    }
    all
}

/// Converts a file to every dialect. Returns, for each, the number of contexts that were compared, or
/// what the conversion said.
fn convert_all(file: &Path) -> Vec<(Dialect, Result<usize, String>)> {
    let source = Session::open(file).unwrap();
    let leaf = source.leaf();
    let theirs = source.context_at(leaf.as_ref().map(|leaf| leaf.as_str())).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let one = |dialect: Dialect| {
        let target = dir.path().join(format!("{dialect}.jsonl"));
        let options = ConvertOptions::default();
        let losses = match convert(file, &target, dialect, &options) {
            Ok(losses) => losses,
            Err(Error::Unfaithful(what)) => return Err(what),
            Err(error) => panic!("{} to {dialect}: {error}", file.display()),
        };
        let joined = dialect == Dialect::ClaudeCode;
        let ours = Session::open(&target).unwrap().context().unwrap();
        if sent(&ours, joined) != sent(&theirs, joined) {
            return Err("its active context differs, and nothing said so".to_owned());
        }
        Ok(losses.verified)
    };
    TARGETS.into_iter().map(|dialect| (dialect, one(dialect))).collect()
}

fn is_silent(file: &Path) -> bool {
    Session::open(file).unwrap().info().unwrap().message_count == 0
}

#[test]
fn every_dialect_becomes_every_other() {
    let dir = tempfile::tempdir().unwrap();
    for file in samples::write_all(dir.path()) {
        for (dialect, outcome) in convert_all(&file) {
            let verified = outcome.unwrap_or_else(|what| panic!("{file:?} to {dialect}: {what}"));
            assert!(verified > 0);
        }
    }
}

/// The format of Claude Code has no leaf pointer, so the ends of other branches are found by their records.
#[test]
fn the_contexts_of_all_branches_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("branches.jsonl");
    let session = Session::create_at(&file, "/project", CreateOptions::new()).unwrap();
    let question = session.append(Message::user("Name a color.")).unwrap();
    for color in ["Red.", "Green.", "Blue."] {
        session.branch(&question).unwrap();
        session.append(Message::assistant("acme", "model-1", color)).unwrap();
    }
    for dialect in TARGETS {
        let target = dir.path().join(format!("{dialect}.jsonl"));
        let report = convert(&file, &target, dialect, &ConvertOptions::default()).unwrap();
        assert_eq!((report.verified, report.ends), (3, 3), "{dialect}");
    }
}

#[test]
fn every_file_of_the_corpus_becomes_every_other() {
    let mut failed = Vec::new();
    let (mut files, mut conversions, mut contexts) = (0, 0, 0);
    for file in treering_testkit::corpus::files() {
        let readable = Session::open(&file).and_then(|session| session.info());
        if !readable.is_ok_and(|info| info.size > 0) {
            continue;
        }
        files += 1;
        for (dialect, outcome) in convert_all(&file) {
            conversions += 1;
            match outcome {
                Ok(verified) => contexts += verified,
                // There are no messages, so nothing would be written.
                Err(_) if dialect == Dialect::ClaudeCode && is_silent(&file) => {}
                Err(what) => failed.push(format!("{} to {dialect}: {what}", file.display())),
            }
        }
    }
    eprintln!("{files} files, {conversions} conversions, {contexts} contexts, {failed:#?}");
    assert!(failed.is_empty());
}
