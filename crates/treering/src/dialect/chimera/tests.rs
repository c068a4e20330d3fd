//! Tests of single records in both directions.

use super::*;

const STAMP: Stamp<'_> = Stamp {
    id: "c0ffee000002",
    parent: Some("c0ffee000001"),
    millis: 1_773_219_600_618,
    left: None,
};
const HEAD: &str =
    r#""id": "c0ffee000002", "parent_id": "c0ffee000001", "timestamp": 1773219600.618"#;

fn native(json: &str) -> NewEntry {
    NewEntry::from_json(json.as_bytes()).unwrap()
}

fn encoded(entry: &NewEntry) -> String {
    String::from_utf8(Chimera.encode(entry, &STAMP).unwrap()).unwrap()
}

/// A native entry, and the line that stands for it; it must come back as it was.
fn check(json: &str, type_name: &str, rest: &str) {
    let entry = native(json);
    let line = encoded(&entry);
    let expected = format!(r#"{{"type": "{type_name}", {HEAD}{rest}}}"#);
    match expected.strip_suffix("CARRIED}") {
        Some(start) => assert!(
            line.starts_with(&format!("{start}, \"treering\": {{\"type\": ")),
            "{line}\n{expected}"
        ),
        None => assert_eq!(line, expected),
    }
    let back = Chimera.decode(line.as_bytes()).entry;
    assert!(embed::same(&back, &entry), "{back:?}\n{entry:?}");
    assert_eq!(back.role, entry.role);
    assert_eq!(
        Chimera.classify(type_name, line.as_bytes()),
        Class::Entry(entry.kind(), entry.role),
        "{line}"
    );
}

#[test]
fn messages_that_chimera_can_express_are_written_in_its_form() {
    check(
        r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"é/\ud83d"}],"timestamp":1773219600618}}"#,
        "message",
        r#", "message": {"role": "user", "content": "\u00e9/\ud83d"}"#,
    );
    check(
        r#"{"type":"message","message":{"role":"toolResult","toolCallId":"c1","toolName":"","content":[{"type":"text","text":"out"}],"isError":false,"timestamp":1773219600618}}"#,
        "message",
        r#", "message": {"role": "tool", "content": "out", "call_id": "c1"}"#,
    );
    check(
        r#"{"type":"message","message":{"role":"system","content":"be brief","timestamp":1773219600618}}"#,
        "message",
        r#", "message": {"role": "system", "content": "be brief"}"#,
    );
}

#[test]
fn what_chimera_has_no_place_for_comes_along() {
    check(
        r#"{"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"toolCall","id":"c1","name":"sh","arguments":{"n":1e400}},{"type":"text","text":"b"}],"provider":"p","model":"m","timestamp":5}}"#,
        "message",
        r#", "message": {"role": "assistant", "content": "a\nb", "tool_calls": [{"id": "c1", "name": "sh", "arguments": {"n": 1e400}}]}CARRIED"#,
    );
    check(
        r#"{"type":"message","message":{"role":"user","content":"plain","timestamp":1773219600618}}"#,
        "message",
        r#", "message": {"role": "user", "content": "plain"}CARRIED"#,
    );
    check(
        r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"","exitCode":1}}"#,
        "message",
        r#", "message": {"role": "user", "content": "Ran `ls`\n(no output)\n\nCommand exited with code 1"}CARRIED"#,
    );
    check(
        r#"{"type":"custom_message","customType":"x","content":[{"type":"text","text":"hi"}],"display":true}"#,
        "message",
        r#", "message": {"role": "user", "content": "hi"}CARRIED"#,
    );
    check(
        r#"{"type":"branch_summary","fromId":"a","summary":"went\nwrong"}"#,
        "message",
        r#", "message": {"role": "user", "content": "The following is a summary of a branch that this conversation came back from:\n\n<summary>\nwent\nwrong</summary>"}CARRIED"#,
    );
}

#[test]
fn what_the_model_is_not_to_see_is_no_message() {
    check(
        r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"","excludeFromContext":true}}"#,
        "excluded_message",
        "CARRIED",
    );
    check(
        r#"{"type":"message","message":{"role":"fileMention","files":[]}}"#,
        "excluded_message",
        "CARRIED",
    );
    check(
        r#"{"type":"branch_summary","fromId":"a","summary":""}"#,
        "branch_summary",
        r#", "data": {"fromId": "a", "summary": ""}"#,
    );
    check(
        r#"{"type":"custom_message","customType":"x","content":[],"display":true}"#,
        "custom_message",
        r#", "data": {"customType": "x", "content": [], "display": true}"#,
    );
}

#[test]
fn settings_labels_and_compactions() {
    check(
        r#"{"type":"model_change","provider":"acme","modelId":"a/b"}"#,
        "state_change",
        r#", "kind": "model", "value": "acme/a/b""#,
    );
    check(
        r#"{"type":"model_change","modelId":"a"}"#,
        "state_change",
        r#", "kind": "model", "value": "a""#,
    );
    check(
        r#"{"type":"model_change","modelId":"a\/b"}"#,
        "state_change",
        r#", "kind": "model", "value": "a/b"CARRIED"#,
    );
    check(
        r#"{"type":"thinking_level_change","thinkingLevel":"high"}"#,
        "state_change",
        r#", "kind": "thinking", "value": "high""#,
    );
    check(
        r#"{"type":"label","targetId":"a","label":"★"}"#,
        "label",
        r#", "target_id": "a", "label": "\u2605""#,
    );
    check(r#"{"type":"label","targetId":"a"}"#, "label", r#", "target_id": "a", "label": """#);
    check(
        r#"{"type":"compaction","summary":"s","firstKeptEntryId":"a","tokensBefore":7,"details":{"readFiles":["x"],"modifiedFiles":[]}}"#,
        "compaction",
        r#", "summary": "s", "first_kept_entry_id": "a", "tokens_before": 7, "read_files": ["x"], "modified_files": []"#,
    );
    check(
        r#"{"type":"compaction","summary":"s","firstKeptEntryId":"a","tokensBefore":7,"fromHook":true}"#,
        "compaction",
        r#", "summary": "s", "first_kept_entry_id": "a", "tokens_before": 7, "read_files": [], "modified_files": []CARRIED"#,
    );
    let line = encoded(&NewEntry::compaction("s", None, 1));
    let keeps = json::get(line.as_bytes(), "first_kept_entry_id");
    assert_eq!(keeps, Some(&b"\"c0ffee000002\""[..]), "it names itself");
    assert!(!line.contains("treering"), "{line}");
}

#[test]
fn other_types_keep_their_fields_in_data() {
    for (json, type_name, rest) in [
        (r#"{"type":"leaf","targetId":null}"#, "leaf", r#", "data": {"targetId": null}"#),
        (r#"{"type":"session_info","name":"n"}"#, "session_info", r#", "data": {"name": "n"}"#),
        (
            r#"{"type":"custom","customType":"t","data":[1]}"#,
            "custom",
            r#", "data": {"customType": "t", "data": [1]}"#,
        ),
        (r#"{"type":"custom","data":{"x":1}}"#, "custom", r#", "data": {"x": 1}"#),
        (
            r#"{"type":"custom","data":{"customType":1}}"#,
            "custom",
            r#", "data": {"customType": 1}CARRIED"#,
        ),
        (
            r#"{"type":"usage","usage":{"input":1}}"#,
            "usage",
            r#", "data": {"usage": {"input": 1}}"#,
        ),
        (
            r#"{"type":"context_edit","targetId":"a","replacement":null}"#,
            "context_edit",
            r#", "data": {"targetId": "a", "replacement": null}"#,
        ),
        (r#"{"type":"note"}"#, "note", ""),
        (r#"{"type":"note","data":{"id":"é"}}"#, "note", r#", "data": {"id": "\u00e9"}"#),
        (
            r#"{"type":"note","x":1,"parent_id":2}"#,
            "note",
            r#", "data": {"x": 1, "parent_id": 2}CARRIED"#,
        ),
        (
            r#"{"type":"state_change","kind":"mode","value":"plan"}"#,
            "state_change",
            r#", "kind": "mode", "value": "plan""#,
        ),
        (
            r#"{"type":"state_change","kind":"model","value":"x"}"#,
            "state_change",
            r#", "kind": "model", "value": "x"CARRIED"#,
        ),
        (
            r#"{"type":"state_change","parent_id":3,"treering":{"type":"x"}}"#,
            "state_change",
            "CARRIED",
        ),
    ] {
        check(json, type_name, rest);
    }
}

#[test]
fn a_type_with_another_meaning_there_gets_none_here() {
    for type_name in ["leaf", "session_info", "custom_message", "model_change", "session"] {
        let line = format!(r#"{{"type": "{type_name}", {HEAD}, "data": {{"x": 1}}}}"#);
        let expected = Class::Entry(Kind::Other, None);
        assert_eq!(Chimera.classify(type_name, line.as_bytes()), expected);
        let entry = Chimera.decode(line.as_bytes()).entry;
        assert_eq!(entry.kind(), Kind::Other);
        assert_eq!(entry.type_name, format!("chimera:{type_name}"));
        assert_eq!(encoded(&entry), line);
    }
    check(r#"{"type":"chimera:message"}"#, "chimera:message", "");
}

#[test]
fn unknown_members_are_kept() {
    let line = format!(
        r#"{{"type": "message", {HEAD}, "meta": 1e400, "message": {{"role": "assistant", "content": null, "tool_calls": [{{"id": "c", "name": "n", "arguments": [], "x": 1}}], "cost": 2, "usage": 3}}}}"#
    );
    let entry = Chimera.decode(line.as_bytes()).entry;
    let fields = String::from_utf8(entry.fields).unwrap();
    assert!(fields.ends_with(r#","timestamp":1773219600618,"cost": 2},"meta": 1e400"#), "{fields}");
    assert!(fields.contains(
        r#""content":[{"type":"toolCall","id": "c","name": "n","arguments": [],"x": 1}],"usage":{"#
    ));
    assert!(fields.contains(r#""stopReason":"toolUse""#));
}

#[test]
fn headers_of_both_kinds() {
    let about = NewHeader {
        id: "019b8d62-7a80-77da-8ca6-e755b346b1b7",
        cwd: "/größe",
        parent_session: Some("/old.jsonl"),
        created: 1_773_219_600_000,
    };
    let line = Chimera.encode_header(&about).unwrap();
    let text = String::from_utf8(line.clone()).unwrap();
    assert!(text.starts_with(r#"{"type": "header", "id": ""#), "{text}");
    assert!(text.ends_with(r#"", "parent_id": null, "timestamp": 1773219600.0, "version": 1, "cwd": "/gr\u00f6\u00dfe", "system_prompt": "", "treering": {"session": {"id": "019b8d62-7a80-77da-8ca6-e755b346b1b7", "parentSession": "/old.jsonl"}}}"#), "{text}");
    let id = json::get(&line, "id").and_then(json::string).unwrap();
    assert!(id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    assert_eq!(Chimera.classify("header", &line), Class::HeaderNode);
    let header = Chimera.header(&line).unwrap();
    assert_eq!((header.id.as_str(), &*header.cwd), (about.id, about.cwd));
    assert_eq!(header.parent_session.as_deref(), about.parent_session);
    assert_eq!(header.timestamp, "2026-03-11T09:00:00.000Z");
    assert_eq!(header.raw(), line);
    assert!(
        crate::Dialect::Chimera.check_writable(&header).is_ok()
            && header.declared == crate::header::VERSION
    );

    let own = br#"{"type": "header", "id": "3b06cca8023e", "parent_id": null, "timestamp": 1773886267.618437, "version": 1, "cwd": "/p", "system_prompt": "s"}"#;
    let header = Chimera.header(own).unwrap();
    assert_eq!(
        (header.id.as_str(), &*header.cwd, header.parent_session),
        ("3b06cca8023e", "/p", None)
    );
    let entry = Chimera.decode(own).entry;
    assert_eq!(entry.type_name, "header");
    assert_eq!(entry.fields, br#","version": 1,"cwd": "/p","system_prompt": "s""#);
    assert!(Chimera.header(br#"{"type": "message", "id": "a"}"#).is_none());
}

#[test]
fn chimera_sees_nothing_above_a_record_it_cannot_load() {
    let line = |id: u8, rest: &str| {
        format!(r#"{{"type": "message", "id": "{id}", "parent_id": null{rest}}}"#).into_bytes()
    };
    let user =
        |id, text| line(id, &format!(r#", "message": {{"role": "user", "content": "{text}"}}"#));
    let lost = line(2, r#", "message": {"content": "no role"}"#);
    let call = line(
        3,
        r#", "message": {"role": "assistant", "tool_calls": [{"id": "a", "name": "n", "arguments": {}, "x": 1}], "call_id": "", "x": 1}"#,
    );
    let summary = br#"{"type": "compaction", "id": "4", "summary": "\ud83d"}"#.to_vec();
    let mut path = crate::dialect::agent::RecordsInMemory(vec![
        user(1, "a"),
        lost,
        call,
        summary,
        user(5, "b"),
    ]);
    let context = Chimera.agent_context(&mut path).unwrap().unwrap();
    let messages: Vec<_> =
        context.messages.into_iter().map(|message| String::from_utf8(message).unwrap()).collect();
    assert_eq!(
        messages,
        [
            r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","name":"n","arguments":{}}]}"#,
            r#"{"role":"user","content":"[Session compacted. Summary: \ud83d]"}"#,
            r#"{"role":"user","content":"b"}"#,
        ]
    );
}

#[test]
fn lines_out_of_the_ordinary_are_left_to_the_thorough_reader() {
    let usual =
        format!(r#"{{"type": "message", {HEAD}, "message": {{"role": "user", "content": "x"}}}}"#);
    assert!(Chimera.quick(usual.as_bytes()).is_some());
    for (from, to) in [
        ("\"type\": ", "\"type\":"),
        ("message\", \"id", "label\", \"id"),
        ("c0ffee000002", ""),
        ("c0ffee000002", "c0ffee\\u0030"),
        ("\"c0ffee000002\"", "7"),
        ("c0ffee000001", ""),
        ("\"c0ffee000001\"", "nulls"),
        ("1773219600.618", "NaN"),
        ("1773219600.618", "1e3"),
        ("1773219600.618", "1773219600."),
        ("1773219600.618", "01.5"),
        ("1773219600.618", "1.5.5"),
        ("1773219600.618", "\"1773219600.618\""),
        ("user", "toolResult"),
        ("\"user\"", "1"),
        ("\"x\"}", "\"x\"}, \"treering\": {\"type\": \"leaf\"}"),
    ] {
        let line = usual.replacen(from, to, 1);
        assert_ne!(line, usual);
        assert_eq!(Chimera.quick(line.as_bytes()), None, "{line}");
    }
}

proptest::proptest! {
    #[test]
    fn any_entry_survives_and_no_record_panics(
        type_name in "message|label|leaf|custom|compaction|state_change|header|usage|note|model_change|chimera:leaf",
        key in "message|targetId|data|value|kind|summary|content|treering|parent_id|x",
        value in r#"(\{"role":"(user|tool|custom|assistant)","content":)?[\[\]{},:"\\a-c0-2. ]{0,12}\}?"#,
    ) {
        let value = match json::skip_value(value.as_bytes(), 0) {
            Some(end) if end == value.len() => value,
            _ => String::from_utf8(json::quoted(&value)).unwrap(),
        };
        let fields = format!(",\"{key}\":{value}").into_bytes();
        let entry = embed::native(type_name, fields);
        let record = Chimera.encode(&entry, &STAMP).unwrap();
        proptest::prop_assert!(embed::same(&Chimera.decode(&record).entry, &entry));
        let foreign = encoded(&entry).replace("treering", "other");
        Chimera.decode(foreign.as_bytes());
        Chimera.classify(&entry.type_name, foreign.as_bytes());
        Chimera.agent_context(&mut crate::dialect::agent::RecordsInMemory(vec![record, foreign.into_bytes()])).unwrap();
    }
}
