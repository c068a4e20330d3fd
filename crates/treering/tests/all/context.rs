//! Tests of contexts: the worked examples of the specification, and one test for each rule.

use crate::support::{assistant, compaction, entry, file, open, path, sources, user};
use serde_json::{Value, json};
use treering::{Context, Message, NewEntry, Session};

fn chain(ids: &[&str], parent: Option<&str>) -> Vec<String> {
    let parents = parent.into_iter().chain(ids.iter().copied()).map(Some);
    let parents = if parent.is_none() { vec![None] } else { vec![] }.into_iter().chain(parents);
    ids.iter().zip(parents).map(|(id, parent)| user(id, parent)).collect()
}

fn summary(id: &str, parent: &str, from: &str) -> String {
    let more = format!(r#","fromId":"{from}","summary":"of {from}""#);
    entry("branch_summary", id, Some(parent), &more)
}

fn messages(context: &Context) -> Vec<Value> {
    context.messages.iter().map(|message| serde_json::from_slice(&message.json).unwrap()).collect()
}

fn context(lines: &[String]) -> Context {
    open(file(lines)).context().unwrap()
}

#[test]
fn worked_example_with_a_branch_summary() {
    let mut lines = chain(&["m1", "m2", "m3", "m4", "m5", "m6"], None);
    lines.push(summary("bs1", "m2", "m6"));
    lines.extend(chain(&["m7", "m8"], Some("bs1")));
    let session = open(file(&lines));
    assert_eq!(session.leaf().unwrap(), "m8");
    assert_eq!(sources(&session.context().unwrap()), "m1 m2 bs1 m7 m8");
    let all = messages(&session.context().unwrap());
    let time = 1_767_603_620_226_i64;
    assert_eq!(
        all[2],
        json!({"role":"branchSummary","summary":"of m6","fromId":"m6","timestamp":time})
    );
}

#[test]
fn worked_example_with_a_compaction() {
    let ids = ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9", "m10"];
    let mut lines = chain(&ids, None);
    lines.push(compaction("c", Some("m10"), "m6"));
    let context = context(&lines);
    assert_eq!(sources(&context), "c m6 m7 m8 m9 m10");
    assert_eq!(
        messages(&context)[0],
        json!({"role":"compactionSummary","summary":"what was","tokensBefore":1234,"timestamp":1_767_603_620_226_i64})
    );
}

#[test]
fn worked_example_of_multiple_pops() {
    let mut lines = chain(&["a", "b", "c", "d", "e", "f", "g", "h"], None);
    lines.push(summary("i", "c", "h"));
    lines.extend(chain(&["j", "k", "l"], Some("i")));
    lines.push(summary("m", "k", "l"));
    lines.extend(chain(&["n"], Some("m")));
    assert_eq!(path(&open(file(&lines)), "n"), "a b c i j k m n");
}

#[test]
fn worked_example_through_the_verbs() {
    let session = Session::in_memory("/p");
    let say = |text: &str| session.append(Message::user(text)).unwrap();
    let ids: Vec<_> = ["m1", "m2", "m3", "m4", "m5", "m6"].into_iter().map(say).collect();
    let bs1 = session.branch_with_summary(ids[1].as_str(), "what was tried", Ok).unwrap();
    let (m7, m8) = (say("m7"), say("m8"));
    let expected = crate::support::join([&ids[0], &ids[1], &bs1, &m7, &m8]);
    assert_eq!(sources(&session.context().unwrap()), expected);
    assert_eq!(session.entry(bs1.as_str()).unwrap().text("fromId").unwrap(), ids[5].as_str());
    let kept_none = session.append(NewEntry::compaction("all of it", None, 9)).unwrap();
    assert_eq!(sources(&session.context().unwrap()), kept_none.to_string());
    let entry = session.entry(kept_none.as_str()).unwrap();
    assert_eq!(entry.text("firstKeptEntryId").unwrap(), kept_none.as_str(), "it names itself");
}

#[test]
fn only_the_latest_compaction_counts() {
    let mut lines = chain(&["a", "b"], None);
    lines.push(compaction("c1", Some("b"), "a"));
    lines.extend(chain(&["d"], Some("c1")));
    lines.push(compaction("c2", Some("d"), "b"));
    lines.extend(chain(&["e"], Some("c2")));
    assert_eq!(sources(&context(&lines)), "c2 b d e", "an older one in the kept range is silent");
}

#[test]
fn what_a_compaction_keeps() {
    for (first_kept, expected) in [
        ("a", "c a b d"),
        ("b", "c b d"),
        ("c", "c d"),
        ("gone", "c d"),
        ("d", "c d"),
        ("x", "c d"),
    ] {
        let mut lines = chain(&["a", "b"], None);
        lines.push(user("x", Some("a")));
        lines.push(compaction("c", Some("b"), first_kept));
        lines.extend(chain(&["d"], Some("c")));
        assert_eq!(sources(&context(&lines)), expected, "first kept: {first_kept}");
    }
}

#[test]
fn system_messages_and_compactions() {
    let system = |id: &str, parent: Option<&str>| {
        entry("message", id, parent, r#","message":{"role":"system","content":"rules"}"#)
    };
    let own = compaction("c", Some("b"), "s").replace(
        "\"summary\"",
        r#""systemMessage":{"role":"system","content":"new rules"},"summary""#,
    );
    let lines = [
        system("s", None),
        user("a", Some("s")),
        user("b", Some("a")),
        own,
        system("t", Some("c")),
    ];
    let context = context(&lines);
    assert_eq!(sources(&context), "c c a b t", "its own first, those it kept not, later ones do");
    assert_eq!(messages(&context)[0], json!({"role":"system","content":"new rules"}));
}

#[test]
fn settings_are_read_over_the_whole_path() {
    let thinking = |id: &str, parent: &str, level: &str| {
        entry("thinking_level_change", id, Some(parent), &format!(r#","thinkingLevel":"{level}""#))
    };
    let model = entry("model_change", "m", Some("t"), r#","provider":"globex","modelId":"larch""#);
    let mut lines = vec![user("a", None), thinking("t", "a", "high"), model];
    lines.push(compaction("c", Some("m"), "c"));
    lines.push(thinking("off-path", "a", "low"));
    lines.push(user("z", Some("c")));
    let context = context(&lines);
    assert_eq!(context.thinking_level, "high");
    assert_eq!(
        context.model.as_ref().unwrap().to_json(),
        br#"{"provider":"globex","modelId":"larch"}"#
    );
    assert_eq!(sources(&context), "c z");

    lines.push(assistant("y", Some("z")));
    let later = open(file(&lines)).context().unwrap().model.unwrap();
    assert_eq!((later.provider.as_deref(), later.model_id.as_deref()), (Some("acme"), Some("oak")));

    let nothing = open(file(&[user("a", None)])).context().unwrap();
    assert_eq!((nothing.thinking_level.as_str(), nothing.model), ("off", None));
}

#[test]
fn empty_content_of_every_role() {
    let message = |id: &str, parent: Option<&str>, json: &str| {
        entry("message", id, parent, &format!(",\"message\":{json}"))
    };
    let lines = [
        message("a", None, r#"{"role":"user","content":null}"#),
        message("b", Some("a"), r#"{"role":"assistant"}"#),
        message("c", Some("b"), r#"{"role":"toolResult","content":null,"toolCallId":"x"}"#),
        message("d", Some("c"), r#"{"role":"system"}"#),
        message("e", Some("d"), r#"{"role":"bashExecution","command":"ls"}"#),
        message("f", Some("e"), r#"{"role":"hermit","content":null}"#),
    ];
    let contents: Vec<Value> =
        messages(&context(&lines)).into_iter().map(|message| message["content"].clone()).collect();
    assert_eq!(contents, [json!([]), json!([]), json!([]), json!(""), Value::Null, Value::Null]);
}

#[test]
fn custom_messages_and_empty_summaries() {
    let custom = r#","customType":"memo","content":"note","display":false,"details":{"a":[1]}"#;
    let lines = [
        entry("custom_message", "a", None, custom),
        entry("branch_summary", "b", Some("a"), r#","fromId":"root","summary":"""#),
        entry("custom", "c", Some("b"), r#","customType":"state","data":{}"#),
        entry("usage", "d", Some("c"), r#","usage":{}"#),
        entry("novelty", "e", Some("d"), ""),
    ];
    assert_eq!(
        messages(&context(&lines)),
        [json!({"role":"custom","customType":"memo","content":"note","display":false,
                "details":{"a":[1]},"timestamp":1_767_603_620_226_i64})]
    );
}

#[test]
fn context_edits() {
    let edit = |id: &str, parent: &str, target: &str, replacement: &str| {
        let more = format!(r#","targetId":"{target}","replacement":{replacement}"#);
        entry("context_edit", id, Some(parent), &more)
    };
    let base = vec![user("u", None), assistant("v", Some("u")), user("w", Some("v"))];
    let with = |edits: &[String]| context(&[base.clone(), edits.to_vec()].concat());
    assert_eq!(sources(&with(&[edit("e", "w", "v", "null")])), "u w", "removed");
    let replaced = with(&[edit("e", "w", "v", r#"{"content":"new"}"#)]);
    assert_eq!(messages(&replaced)[1]["content"], json!([{"type":"text","text":"new"}]));
    let text = with(&[edit("e", "w", "u", r#"{"content":"new"}"#)]);
    assert_eq!(messages(&text)[0]["content"], "new");
    let latest = [edit("e", "w", "u", "null"), edit("f", "e", "u", r#"{"content":"back"}"#)];
    assert_eq!(messages(&with(&latest))[0]["content"], "back", "the latest counts");
    let elsewhere = [user("x", Some("v")), edit("e", "x", "w", "null"), user("y", Some("w"))];
    assert_eq!(sources(&with(&elsewhere)), "u v w y", "an edit on another branch does not");
    let compacted =
        [edit("e", "w", "w", "null"), compaction("c", Some("e"), "w"), user("z", Some("c"))];
    assert_eq!(sources(&with(&compacted)), "c z", "an edit in the kept range does");
    let gone = [edit("e", "w", "z", "null"), compaction("c", Some("e"), "c"), user("z", Some("c"))];
    assert_eq!(sources(&with(&gone)), "c z", "an edit that was compacted away does not");
}

#[test]
fn damaged_compactions_and_settings_are_passed_over() {
    let torn = |line: String| line[..line.len() - 3].to_owned();
    let level = r#","thinkingLevel":"high""#;
    let lines = [
        entry("thinking_level_change", "t", None, r#","thinkingLevel":"low""#),
        user("a", Some("t")),
        torn(compaction("c", Some("a"), "c")),
        torn(entry("thinking_level_change", "u", Some("c"), level)),
        torn(assistant("b", Some("u"))),
        user("z", Some("b")),
    ];
    let context = context(&lines);
    assert_eq!(sources(&context), "a z");
    assert_eq!((context.thinking_level.as_str(), context.model), ("low", None));
}

#[test]
fn a_context_is_one_json_object() {
    let lines = [user("a", None), assistant("b", Some("a"))];
    let context: Value = serde_json::from_slice(&context(&lines).to_json()).unwrap();
    assert_eq!(context["thinkingLevel"], "off");
    assert_eq!(context["model"], json!({"provider":"acme","modelId":"oak"}));
    assert_eq!(context["messages"].as_array().unwrap().len(), 2);
}
