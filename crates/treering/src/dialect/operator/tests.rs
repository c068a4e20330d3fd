//! Tests of both dialects with small records of their own.

use super::*;
use crate::dialect::tau::Tau;
use crate::dialect::uuid_of;
use proptest::prelude::*;

const STAMP: Stamp<'static> = Stamp {
    id: "0123abcd",
    parent: Some("0123abce"),
    millis: 1_769_504_400_251,
    left: Some("left0000"),
};
const HEAD: &str = r#"{"id":"0123abcd","timestamp":1769504400.251,"parent_id":"0123abce","type":"#;

fn native(json: &str) -> NewEntry {
    NewEntry::from_json(json.as_bytes()).unwrap()
}

fn line(codec: &dyn Codec, json: &str) -> String {
    String::from_utf8(codec.encode(&native(json), &STAMP).unwrap()).unwrap()
}

fn decoded(record: &str) -> String {
    let entry = Operator.decode(record.as_bytes()).entry;
    format!("{}{}", entry.type_name, String::from_utf8(entry.fields).unwrap())
}

#[test]
fn every_type_is_written_as_operator_does_and_read_again() {
    for (ours, theirs) in [
        (
            r#""compaction","summary":"s","firstKeptEntryId":"a","tokensBefore":7,"details":{"n":null}"#,
            r#""compaction","summary":"s","first_kept_entry_id":"a","tokens_before":7,"details":{"n":null},"from_hook":false"#,
        ),
        (
            r#""branch_summary","fromId":"root","summary":"","fromHook":true"#,
            r#""branch_summary","from_id":"root","summary":"","from_hook":true"#,
        ),
        (r#""label","targetId":"a","label":"★""#, r#""label","label":"★","target_id":"a""#),
        (r#""label","targetId":"a""#, r#""label","target_id":"a""#),
        (
            r#""model_change","provider":"p","modelId":"m""#,
            r#""model_change","model_id":"m","provider_id":"p""#,
        ),
        (
            r#""thinking_level_change","thinkingLevel":"high""#,
            r#""thinking_level_change","thinking_level":"high""#,
        ),
        (r#""session_info","name":"n""#, r#""session_info","name":"n""#),
        (r#""custom","customType":"t","data":1e400"#, r#""custom","custom_type":"t","data":1e400"#),
        (
            r#""custom_message","customType":"t","content":[{"type":"text","text":"x"}],"display":true"#,
            r#""custom_message","custom_type":"t","content":[{"type":"text","content":"x"}],"display":true"#,
        ),
        (
            r#""context_edit","targetId":"a","replacement":null"#,
            r#""context_edit","targetId":"a","replacement":null"#,
        ),
        (r#""channel","name":"cli","chat_id":"1""#, r#""channel","name":"cli","chat_id":"1""#),
    ] {
        let theirs = format!("{HEAD}{theirs}}}");
        assert_eq!(line(&Operator, &format!("{{\"type\":{ours}}}")), theirs);
        let (type_name, fields) = ours[1..].split_once('"').unwrap();
        assert_eq!(decoded(&theirs), format!("{type_name}{fields}"));
    }
    let compaction =
        r#"{"type":"compaction","summary":"s","firstKeptEntryId":"a","tokensBefore":7}"#;
    assert!(!line(&Tau, compaction).contains("from_hook"));
}

#[test]
fn documented_names_and_absent_members_are_understood() {
    let branch =
        r#"{"id":"b","type":"branch","from_id":"a","summary":"s","label":null,"x":null,"y":1}"#;
    assert_eq!(decoded(branch), r#"branch_summary,"fromId":"a","summary":"s","y":1"#);
    assert_eq!(classify("branch", branch.as_bytes()), Class::Entry(Kind::BranchSummary, None));
    assert_eq!(decoded(r#"{"type":"session_info"}"#), r#"session_info,"name":"""#);
    assert_eq!(
        decoded(r#"{"type":"odd","parentId":"x","parent_id":"y","z":null}"#),
        r#"odd,"z":null"#
    );
    assert_eq!(decoded(r#"{"a":1}"#), r#","a":1"#);
    assert_eq!(classify("message", br#"{"message":7}"#), Class::Entry(Kind::Message, None));
}

#[test]
fn a_message_keeps_an_id_of_its_own() {
    let record = format!(
        r#"{HEAD}"message","message":{{"role":"user","contents":[],"id":"own","timestamp":1.0}}}}"#
    );
    let entry = Operator.decode(record.as_bytes()).entry;
    assert_eq!(Operator.encode(&entry, &STAMP).unwrap(), record.as_bytes());
    let made_up = record.replace("own", &uuid_of("0123abcd"));
    assert!(!decoded(&made_up).contains("\"id\""));
    assert_ne!(uuid_of("a"), uuid_of("b"));
}

#[test]
fn messages_are_written_in_each_agents_order() {
    let message = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"x"}],"provider":"p","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":1769504400000,"errorMessage":"e"},"meta":{"a":1}}"#;
    let id = uuid_of("0123abcd");
    let contents = r#""contents":[{"type":"text","content":"x"}]"#;
    let usage = r#""usage":{"input_tokens":1,"output_tokens":2,"cache_read_tokens":0,"cache_write_tokens":0,"#;
    let costs = r#""cost":{"input":0,"output":0,"cache_read":0,"cache_write":0,"total":0}},"stop_reason":"tool_calls","error":"e""#;
    let operator = format!(
        r#"{HEAD}"message","message":{{"role":"assistant",{contents},"id":"{id}","timestamp":1769504400.0,{usage}{costs},"provider":"p"}},"meta":{{"a":1}}}}"#
    );
    let tau = format!(
        r#"{HEAD}"message","message":{{{contents},"id":"{id}","timestamp":1769504400.0,"role":"assistant",{usage}"cache_write_1h_tokens":0,"input_tokens_include_cache_read":false,{costs},"error_kind":"unknown","provider":"p"}},"meta":{{"a":1}}}}"#
    );
    for (codec, theirs, tau) in [(&Operator as &dyn Codec, operator, false), (&Tau, tau, true)] {
        assert_eq!(line(codec, message), theirs);
        assert!(embed::same(&codec.decode(theirs.as_bytes()).entry, &native(message)));
        assert_eq!(is_tau(theirs.as_bytes()), tau);
    }
}

#[test]
fn results_of_several_calls_come_apart() {
    let record = format!(
        r#"{HEAD}"message","message":{{"role":"tool","contents":[{{"type":"tool_result","id":"c1","content":"one","is_error":false,"metadata":{{}},"terminate":false}},{{"type":"tool_result","id":"c2","content":"two","is_error":true,"metadata":{{"k":1}},"terminate":true,"tool_name":"ls"}}],"id":"m","timestamp":1.5}}}}"#
    );
    let results = Operator.decode(record.as_bytes());
    assert_eq!(
        String::from_utf8(results.entry.fields).unwrap(),
        r#","message":{"role":"toolResult","toolCallId":"c1","toolName":"","content":[{"type":"text","text":"one"}],"isError":false,"timestamp":1500,"id":"m"}"#
    );
    assert_eq!(results.entry.role, Some(Role::ToolResult));
    assert_eq!(results.more.len(), 1);
    assert_eq!(
        String::from_utf8(results.more[0].clone()).unwrap(),
        r#"{"role":"toolResult","toolCallId":"c2","toolName":"ls","content":[{"type":"text","text":"two"}],"isError":true,"details":{"k":1},"terminate":true,"timestamp":1500}"#
    );
}

#[test]
fn a_leaf_names_the_leaf_that_was_left() {
    let head =
        r#"{"id":"0123abcd","timestamp":1769504400.251,"parent_id":"left0000","type":"leaf""#;
    let leaf = line(&Operator, r#"{"type":"leaf","targetId":"a"}"#);
    assert_eq!(leaf, format!(r#"{head},"target_id":"a"}}"#));
    let before_all = line(&Operator, r#"{"type":"leaf","targetId":null}"#);
    assert_eq!(before_all, format!("{head}}}"));
    assert_eq!(decoded(&before_all), r#"leaf,"targetId":null"#);
}

#[test]
fn what_operator_cannot_say_is_carried() {
    for (ours, visible) in [
        (
            r#"{"type":"message","message":{"role":"user","content":"x","timestamp":1}}"#,
            r#"[{"type":"text","content":"x"}]"#,
        ),
        (
            r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"","exitCode":0,"timestamp":1}}"#,
            r#""role":"user","contents":[{"type":"text","content":"Ran `ls`\n(no output)"}]"#,
        ),
        (
            r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"","excludeFromContext":true,"timestamp":1}}"#,
            r#""type":"custom","custom_type":"bashExecution""#,
        ),
        (r#"{"type":"session_header","a":1}"#, r#""type":"custom","custom_type":"session_header""#),
        (r#"{"type":"branch","a":1}"#, r#""type":"branch","a":1"#),
        (
            r#"{"type":"odd","parent_id":"x","treering":{"type":"label"}}"#,
            r#""type":"odd","treering""#,
        ),
        (r#"{"type":"label","targetId":"a","label":null}"#, r#""type":"label","target_id":"a""#),
    ] {
        let theirs = line(&Operator, ours);
        assert!(theirs.contains(visible) && theirs.contains("\"treering\""), "{theirs}");
        let (entry, type_name) = (native(ours), json::get(theirs.as_bytes(), "type").unwrap());
        assert!(embed::same(&Operator.decode(theirs.as_bytes()).entry, &entry), "{theirs}");
        let class = classify(&json::string(type_name).unwrap(), theirs.as_bytes());
        assert_eq!(class, Class::Entry(entry.kind(), entry.role), "{theirs}");
        assert_eq!(quick(theirs.as_bytes()), None);
    }
}

#[test]
fn a_compaction_that_keeps_nothing_names_itself() {
    let line = Operator.encode(&NewEntry::compaction("s", None, 1), &STAMP).unwrap();
    assert_eq!(
        String::from_utf8(line).unwrap(),
        format!(
            r#"{HEAD}"compaction","summary":"s","first_kept_entry_id":"0123abcd","tokens_before":1,"from_hook":false}}"#
        )
    );
}

#[test]
fn headers_of_both_names_are_read() {
    for record in [
        r#"{"type":"session","version":3,"id":"s","timestamp":1769504400.251,"cwd":"/p","parent_session":"q"}"#,
        r#"{"type":"session_header","id":"s","timestamp":"2026-01-27T09:00:00.251Z","cwd":"/p","parent_session":"q"}"#,
    ] {
        let type_name = json::string(json::get(record.as_bytes(), "type").unwrap()).unwrap();
        assert_eq!(classify(&type_name, record.as_bytes()), Class::Header);
        let header = header(record.as_bytes()).unwrap();
        assert_eq!((header.id.as_str(), header.version, &*header.cwd), ("s", 3, "/p"));
        assert_eq!(header.timestamp, "2026-01-27T09:00:00.251Z");
        assert_eq!(header.parent_session.as_deref(), Some("q"));
        assert_eq!(header.raw(), record.as_bytes());
    }
    let about = NewHeader { id: "s", cwd: "/é", parent_session: None, created: 1_769_504_400_000 };
    assert_eq!(
        encode_header(&about),
        r#"{"type":"session","version":3,"id":"s","timestamp":1769504400.0,"cwd":"/é"}"#.as_bytes()
    );
}

#[test]
fn compactions_keep_what_each_agent_thinks() {
    let message = |id: &str| {
        format!(
            r#"{{"id":"{id}","type":"message","message":{{"role":"user","contents":[],"id":"{id}"}}}}"#
        )
    };
    let compaction = |id: &str, kept: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":"1.5","type":"compaction","summary":"{id}","first_kept_entry_id":"{kept}","tokens_before":1}}"#
        )
    };
    let path = |kept: &str| {
        let records =
            [message("a"), message("b"), compaction("c", "b"), compaction("d", kept), message("e")];
        crate::dialect::agent::RecordsInMemory(records.map(String::into_bytes).to_vec())
    };
    let names = |codec: &dyn Codec, kept: &str| {
        let context = codec.agent_context(&mut path(kept)).unwrap().unwrap();
        let name = |message: &Vec<u8>| {
            let name = json::get(message, "id").or(json::get(message, "summary")).unwrap();
            json::string(name).unwrap().into_owned()
        };
        context.messages.iter().map(name).collect::<String>()
    };
    assert_eq!(names(&Operator, "b"), "dbe");
    assert_eq!(names(&Tau, "b"), "dcbe");
    assert_eq!(names(&Operator, "nowhere"), "de");
    assert_eq!(names(&Tau, "nowhere"), "");
    let context = Operator.agent_context(&mut path("b")).unwrap().unwrap();
    assert_eq!(
        context.messages[0],
        br#"{"role":"compaction_summary","summary":"d","tokens_before":1,"timestamp":1.5}"#
    );
}

#[test]
fn unusual_lines_are_left_to_the_thorough_reader() {
    let usual =
        r#"{"id":"a","timestamp":1.5,"parent_id":"b","type":"message","message":{"role":"tool""#;
    let (head, used) = quick(usual.as_bytes()).unwrap();
    assert_eq!((head.kind, head.role, used), (Kind::Message, Some(Role::ToolResult), usual.len()));
    for (from, to) in [
        ("1.5", "\"1.5\""),
        ("1.5", "01.5"),
        ("1.5", "1."),
        ("\"a\"", "\"\""),
        ("\"b\"", "\"\""),
        ("\"b\"", "null"),
        ("\"a\"", "\"\\u0061\""),
        ("message\",", "session\","),
        ("\"role\"", "\"contents\""),
        ("tool", "robot"),
    ] {
        let line = usual.replacen(from, to, 1);
        assert_ne!(line, usual);
        assert_eq!(quick(line.as_bytes()), None, "{line}");
    }
}

#[test]
fn deep_and_wide_records_cost_no_stack_and_little_time() {
    let deep = format!("{}1{}", "[{\"a\":".repeat(100_000), "}]".repeat(100_000));
    let wide: String = (0..100_000).map(|at| format!(",\"k{at}\":{at}")).collect();
    let blocks = r#"{"type":"toolCall","id":"c","name":"n","arguments":{}},"#.repeat(20_000);
    let ours = format!(
        r#"{{"type":"message","message":{{"role":"assistant","content":[{blocks}{deep}],"timestamp":1{wide}}}{wide}}}"#
    );
    let theirs = Tau.encode(&native(&ours), &STAMP).unwrap();
    assert!(embed::same(&Tau.decode(&theirs).entry, &native(&ours)));
    assert!(!theirs.windows(10).any(|bytes| bytes == b"\"treering\""));
    let mut path = crate::dialect::agent::RecordsInMemory(vec![theirs]);
    assert_eq!(Tau.agent_context(&mut path).unwrap().unwrap().messages.len(), 1);
}

/// JSON full of the words that mean something here.
fn any_json() -> impl Strategy<Value = String> {
    let words = [
        "type",
        "id",
        "role",
        "content",
        "contents",
        "text",
        "thinking",
        "signature",
        "args",
        "arguments",
        "metadata",
        "images",
        "data",
        "mimeType",
        "usage",
        "cost",
        "input",
        "timestamp",
        "toolCallId",
        "toolName",
        "tool_name",
        "isError",
        "details",
        "stopReason",
        "stop_reason",
        "error",
        "error_kind",
        "errorMessage",
        "summary",
        "fromId",
        "fromHook",
        "from_hook",
        "targetId",
        "target_id",
        "label",
        "customType",
        "custom_type",
        "totalTokens",
        "treering",
        "parent_id",
        "tool",
        "tool_result",
        "toolCall",
        "image",
        "user",
        "toolResult",
        "toolUse",
        "tool_calls",
        "iVBORw0KGgo",
        "unknown",
        "",
        "\\ud800",
    ];
    let word = prop::sample::select(words.to_vec()).prop_map(|word| format!("\"{word}\""));
    let plain = prop::sample::select(vec!["null", "true", "false", "0", "1e400", "12", "{}", "[]"]);
    let leaf = prop_oneof![plain.prop_map(str::to_owned), word.clone()];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let member =
            (word.clone(), inner.clone()).prop_map(|(key, value)| format!("{key}: {value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|all| format!("[{}]", all.join(", "))),
            prop::collection::vec(member, 0..6).prop_map(|all| format!("{{{}}}", all.join(","))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn no_entry_is_lost(
        type_name in prop::sample::select(vec![
            "message", "compaction", "branch_summary", "custom_message", "custom", "label", "leaf",
            "model_change", "session_info", "usage", "context_edit", "branch", "session_header",
            "odd",
        ]),
        role in prop::sample::select(vec![
            "user", "assistant", "toolResult", "system", "bashExecution", "custom", "branchSummary",
            "compactionSummary", "tool", "odd",
        ]),
        blocks in prop::sample::select(vec!["text", "thinking", "toolCall", "image", "tool_result"]),
        json in any_json(),
        more in any_json(),
    ) {
        let entry = format!(
            r#"{{"type":"{type_name}","message":{{"content":[{{"type":"{blocks}","x":{json}}},{more}],"usage":{more},"a":{json},"role":"{role}"}},"targetId":"t","details":{json},"content":{more},"label":{more}}}"#
        );
        let entry = native(&entry);
        for codec in [&Operator as &dyn Codec, &Tau] {
            let record = codec.encode(&entry, &STAMP).unwrap();
            let text = String::from_utf8_lossy(&record);
            prop_assert!(embed::same(&codec.decode(&record).entry, &entry), "{}", text);
            prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&record).is_ok());
            let their_type = json::string(json::get(&record, "type").unwrap()).unwrap();
            let role = (entry.kind() == Kind::Message).then_some(entry.role).flatten();
            prop_assert_eq!(
                codec.classify(&their_type, &record),
                Class::Entry(entry.kind(), role)
            );
        }
    }

    #[test]
    fn no_record_is_too_odd(json in any_json(), more in any_json()) {
        for type_name in ["message", "compaction", "custom_message", "leaf", "odd"] {
            let record = format!(
                r#"{{"type":"{type_name}","id":{json},"timestamp":{more},"message":{{"role":"tool","contents":[{json},{more}],"usage":{json}}},"content":{more}}}"#
            );
            let decoded = Operator.decode(record.as_bytes());
            let object = embed::as_object(&decoded.entry.fields);
            prop_assert!(json::skip_value(&object, 0) == Some(object.len()), "{}", record);
            for message in decoded.more {
                prop_assert!(json::skip_value(&message, 0) == Some(message.len()), "{}", record);
            }
            for codec in [&Operator as &dyn Codec, &Tau] {
                let mut path = crate::dialect::agent::RecordsInMemory(vec![record.clone().into_bytes()]);
                for message in codec.agent_context(&mut path).unwrap().unwrap().messages {
                    prop_assert!(json::skip_value(&message, 0) == Some(message.len()));
                }
            }
        }
    }
}
