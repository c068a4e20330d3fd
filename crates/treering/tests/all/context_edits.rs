//! Edits of the context: what they do, what is refused, and how they are undone.

use crate::support::{
    assistant, calls, compaction, entry, file, join, label, open, result, sources, user, written,
};
use treering::provider::Pairing;
use treering::{Error, Session};

fn story() -> Vec<String> {
    vec![
        user("a", None),
        calls("c", Some("a"), &["x", "y"]),
        result("rx", Some("c"), "x"),
        label("l", Some("rx"), "a", "start"),
        result("ry", Some("l"), "y"),
        assistant("d", Some("ry")),
        entry("branch_summary", "s", Some("d"), r#","fromId":"q","summary":"what q did""#),
        entry(
            "message",
            "sh",
            Some("s"),
            r#","message":{"role":"bashExecution","command":"ls","output":"o","exitCode":0}"#,
        ),
        entry(
            "custom_message",
            "cm",
            Some("sh"),
            r#","customType":"t","content":"hi","display":true"#,
        ),
        user("side", Some("a")),
        user("end", Some("cm")),
    ]
}

fn seen(session: &Session) -> String {
    sources(&session.context().unwrap())
}

fn why(result: treering::Result<impl Sized>) -> String {
    match result {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it was done"),
    }
}

fn message(session: &Session, id: &str) -> String {
    let context = session.context().unwrap();
    let found = context.messages.iter().find(|message| message.entry == id).unwrap();
    String::from_utf8(found.json.clone()).unwrap()
}

#[test]
fn dropping_takes_out_what_belongs_together() {
    let all = "a c rx ry d s sh cm end";
    for (drop, left, edits) in [
        (&["a"][..], "c rx ry d s sh cm end", 1),
        (&["c"], "a d s sh cm end", 3),
        (&["c", "rx"], "a d s sh cm end", 3),
        (&["s", "sh", "cm"], "a c rx ry d end", 3),
        (&["d", "end"], "a c rx ry s sh cm", 2),
    ] {
        let session = open(file(&story()));
        assert_eq!(seen(&session), all);
        let plan = session.plan_drop(drop).unwrap();
        assert_eq!(seen(&session), all, "nothing was written");
        let ids = session.apply_edit(&plan).unwrap();
        assert_eq!((seen(&session).as_str(), ids.len()), (left, edits), "{drop:?}");
        assert_eq!(session.leaf().as_ref(), ids.last());
        assert!(session.context().unwrap().to_llm(Pairing::Strict).repairs.is_empty());
        let again = open(written(&session));
        assert_eq!(again.context().unwrap(), session.context().unwrap());
        // Elsewhere nothing changed.
        assert_eq!(sources(&session.context_at("end").unwrap()), all);

        let targets: Vec<String> = plan.targets.iter().map(|id| id.to_string()).collect();
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        session.restore_in_context(&targets).unwrap();
        let before = session.context_at("end").unwrap();
        assert_eq!(session.context().unwrap().messages, before.messages, "{drop:?} undone");
    }
}

#[test]
fn tokens_are_counted() {
    let session = open(file(&story()));
    let tokens = |session: &Session| -> u64 {
        let context = session.context().unwrap();
        context
            .messages
            .iter()
            .map(|message| treering::compaction::estimate_tokens(&message.json))
            .sum()
    };
    let before = tokens(&session);
    let plan = session.plan_drop(["c"]).unwrap();
    assert_eq!((plan.tokens_before, join(&plan.companions)), (before, "rx ry".to_owned()));
    session.apply_edit(&plan).unwrap();
    assert_eq!(tokens(&session), plan.tokens_after);
    let plan = session.plan_replace("d", &"long ".repeat(100)).unwrap();
    session.apply_edit(&plan).unwrap();
    assert_eq!(tokens(&session), plan.tokens_after);
    let plan = session.plan_restore(["c", "d"]).unwrap();
    session.apply_edit(&plan).unwrap();
    assert_eq!((tokens(&session), plan.tokens_after), (before, before));
}

#[test]
fn replacing_gives_another_text() {
    let session = open(file(&story()));
    for (entry, expected) in [
        ("a", r#"{"role":"user","content":"new \"text\""}"#),
        ("d", r#"{"role":"assistant","content":[{"type":"text","text":"new \"text\""}],"#),
        ("rx", r#""content":[{"type":"text","text":"new \"text\""}],"isError":false}"#),
        ("cm", r#""content":"new \"text\"","display":true"#),
        // The calls stay, or their results would stand alone.
        (
            "c",
            r#""content":[{"type":"text","text":"new \"text\""},{"type":"toolCall","id":"x","name":"read","arguments":{"path":"x.txt"}},{"type":"toolCall","id":"y""#,
        ),
    ] {
        session.replace_in_context(entry, "new \"text\"").unwrap();
        let found = message(&session, entry);
        assert!(found.contains(expected), "{entry}: {found}");
    }
    assert!(session.context().unwrap().to_llm(Pairing::Strict).repairs.is_empty());
    session.restore_in_context(["a", "c", "rx", "d", "cm"]).unwrap();
    let before = session.context_at("end").unwrap();
    assert_eq!(session.context().unwrap().messages, before.messages);
}

#[test]
fn what_is_refused() {
    let session = open(file(&story()));
    let refused = |what: String, why: &str| assert!(what.contains(why), "{what}");
    refused(why(session.drop_from_context(["nowhere"])), "no entry");
    refused(why(session.drop_from_context(["side"])), "side is not on the path to end");
    refused(why(session.drop_from_context(["l"])), "contributes nothing");
    refused(why(session.drop_from_context(["a", "rx"])), "result of a tool call");
    refused(why(session.replace_in_context("sh", "x")), "drop it instead");
    refused(why(session.replace_in_context("s", "x")), "drop it instead");
    refused(why(session.restore_in_context(["a"])), "no edit applies to it");
    assert_eq!(session.tree().len(), story().len(), "nothing was written");
    session.drop_from_context(["c"]).unwrap();
    refused(why(session.drop_from_context(["c"])), "already");
    refused(why(session.replace_in_context("c", "x")), "restore it first");
    // A result brings its call back, and that all its results.
    session.restore_in_context(["ry"]).unwrap();
    assert_eq!(seen(&session), "a c rx ry d s sh cm end");

    let mut lines = story();
    lines.push(compaction("k", Some("end"), "cm"));
    let session = open(file(&lines));
    refused(why(session.drop_from_context(["a"])), "contributes nothing");
    refused(why(session.drop_from_context(["k"])), "compacted");
    refused(why(session.replace_in_context("k", "x")), "drop it instead");
    let future = open(file(&story()).replace("\"version\":3", "\"version\":9"));
    assert!(matches!(future.drop_from_context(["a"]), Err(Error::ReadOnly { .. })));
}

#[test]
fn a_result_without_its_call_may_go() {
    let lines = [user("a", None), result("r", Some("a"), "x"), user("b", Some("r"))];
    let session = open(file(&lines));
    session.drop_from_context(["r"]).unwrap();
    assert_eq!(seen(&session), "a b");
}
