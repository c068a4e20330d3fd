//! Lines: which strings are searched, escapes, and that all other bytes stay the same.

use crate::{random, redactor, thorough};
use serde_json::{Value, json};
use treering::storage::LineFilter;

fn token() -> String {
    format!("ghp_{}", random(7, 36))
}

fn redacted(line: &str) -> String {
    String::from_utf8(redactor().line(line.as_bytes()).into_owned()).unwrap()
}

#[test]
fn the_bytes_around_a_secret_stay() {
    let token = token();
    let line = format!(
        r#"{{"n":1e400, "z" : 1.0,"text":"\ud800 é \u00e9 \/ {token} \udc00\n","a":[ 12345678901234567890 ],"text":"\ud83d\ude00"}} "#
    );
    assert_eq!(redacted(&line), line.replace(&token, "[REDACTED:github-token:1]"));
    let clean = r#"{"text":"\ud800 nothing"}"#;
    assert!(matches!(redactor().line(clean.as_bytes()), std::borrow::Cow::Borrowed(_)));
}

#[test]
fn escapes_hide_nothing() {
    let token = token();
    let escaped: String = token.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    assert_eq!(
        redacted(&format!(r#"{{"t":"a {escaped} b"}}"#)),
        r#"{"t":"a [REDACTED:github-token:1] b"}"#
    );
    assert_eq!(
        redacted(&format!(r#"{{"t":"\n{token}\n"}}"#)),
        r#"{"t":"\n[REDACTED:github-token:1]\n"}"#
    );
    // The same inside of a JSON text, and inside of one in that.
    let mut value =
        json!({"cmd": format!("\n{token}\n"), "password": random(9, 20), "u": "a@example.com"});
    for _ in 0..3 {
        let line = value.to_string();
        let after = thorough().line(line.as_bytes()).into_owned();
        let mut inner: Value = serde_json::from_slice(&after).unwrap();
        while let Some(text) = inner.get("arguments").and_then(Value::as_str) {
            inner = serde_json::from_str(text).expect(text);
        }
        assert_eq!(
            inner,
            json!({"cmd": "\n[REDACTED:github-token:1]\n", "password": "[REDACTED:named-secret:1]", "u": "[REDACTED:email:1]"})
        );
        value = json!({"arguments": line});
    }
}

#[test]
fn a_private_key_however_often_it_was_encoded() {
    let key = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n{}\n-----END RSA PRIVATE KEY-----\n",
        random(1, 64),
        random(2, 64)
    );
    let mut text = key;
    for _ in 0..3 {
        text = json!({ "text": text }).to_string();
        let after = redacted(&text);
        assert!(
            after.contains("[REDACTED:private-key:1]") && !after.contains(&random(2, 64)),
            "{after}"
        );
        serde_json::from_str::<Value>(&after).unwrap();
    }
}

/// A pattern that matches ids must not change some of the members that refer to an id and not others,
/// whatever the agent calls them.
#[test]
fn references_have_other_names_in_other_formats() {
    for (key, id) in [
        ("id", "parentId"),
        ("uuid", "parentUuid"),
        ("id", "parent_id"),
        ("id", "parentID"),
        ("messageID", "sessionID"),
        ("uuid", "logicalParentUuid"),
        ("session_id", "forked_from_id"),
        ("firstKeptEntryUuid", "first_kept_entry_id"),
    ] {
        let line = json!({key: "TICKET-0001", "info": {id: "TICKET-0002"}}).to_string();
        assert_eq!(thorough().line(line.as_bytes()), line.as_bytes(), "{line}");
    }
}

#[test]
fn the_id_of_a_session_is_not_that_of_an_entry() {
    for kind in ["session", "header", "session_meta", "session_header", "message"] {
        let line = json!({"type": kind, "id": "a", "text": token()}).to_string();
        let redactor = redactor();
        redactor.line(line.as_bytes());
        let expected = (kind == "message").then(|| "a".to_owned());
        assert_eq!(redactor.report().places[0].entry, expected, "{kind}");
    }
}

/// The same string is replaced by the same in all members of the structure: references still match.
#[test]
fn tokens_in_the_structure_are_replaced_alike() {
    let (token, known) = (token(), random(5, 20));
    for key in ["id", "parentId", "uuid", "toolCallId", "toolName", "model", "provider", "type"] {
        let line = json!({"type": "message", key: format!("x-{token}")}).to_string();
        assert_eq!(redacted(&line), line.replace(&token, "[REDACTED:github-token:1]"));
        // Nothing that depends on the place of a text counts there.
        let line = json!({"type": "message", key: format!("password={known}")}).to_string();
        assert_eq!(redacted(&line), line);
        // In the data of a tool it is a string like any other.
        let line = json!({"arguments": {key: token}}).to_string();
        assert_eq!(redacted(&line), line.replace(&token, "[REDACTED:github-token:1]"));
    }
}

#[test]
fn a_report_names_no_secret_id() {
    let filter = redactor();
    let line = json!({"type": "message", "id": token(), "text": token()}).to_string();
    filter.line(line.as_bytes());
    let report = filter.report();
    assert_eq!(report.places.len(), 2);
    assert_eq!(report.places[0].entry.as_deref(), Some("[REDACTED:github-token:1]"));
    assert!(!format!("{report:?}").contains(&token()[4..]));
}

#[test]
fn a_signature_with_a_token_in_it_is_emptied() {
    let filter = redactor();
    let line =
        json!({"content": [{"thinking": "clean", "thinkingSignature": format!("a {}", token())}]});
    let after: Value = serde_json::from_slice(&filter.line(line.to_string().as_bytes())).unwrap();
    assert_eq!(after["content"][0], json!({"thinking": "clean", "thinkingSignature": ""}));
    assert_eq!((filter.report().signatures, filter.report().occurrences()), (1, 1));
}

#[test]
fn the_data_of_images_is_not_searched() {
    let image = json!({"type": "image", "data": format!("AKIA{}", random(1, 400)), "mimeType": "image/png"});
    assert_eq!(redacted(&image.to_string()), image.to_string());
    let url = json!({"image_url": format!("data:image/png;base64,{}/AKIA{}", random(1, 40), crate::upper(2, 16))});
    assert_eq!(redacted(&url.to_string()), url.to_string());
}

#[test]
fn keys_name_secrets_and_can_be_some() {
    let value = random(3, 20);
    let line =
        json!({"input": {"password": value, "note": "x", "list": {"apiKey": [value]}}}).to_string();
    assert_eq!(redacted(&line), line.replace(&value, "[REDACTED:named-secret:1]"));
    let line = json!({"input": {token(): true}}).to_string();
    assert_eq!(redacted(&line), line.replace(&token(), "[REDACTED:github-token:1]"));
    let line = json!({"usage": {"totalTokens": 12}, "maxTokens": "1234567890123", "secretName": "abc-123-def-456"});
    assert_eq!(redacted(&line.to_string()), line.to_string());
}

#[test]
fn what_signs_a_changed_text_is_emptied() {
    let thinking = |text: &str| {
        json!({"content": [{"type": "thinking", "thinking": text, "thinkingSignature": "c2lnbmVk"},
                           {"type": "thinking", "thinking": "clean", "thinkingSignature": "c2lnbmVk"}]})
    };
    let filter = redactor();
    let line = thinking(&format!("use {}", token())).to_string();
    let after: Value = serde_json::from_slice(&filter.line(line.as_bytes())).unwrap();
    assert_eq!(after["content"][0]["thinkingSignature"], "");
    assert_eq!(after["content"][1]["thinkingSignature"], "c2lnbmVk");
    assert_eq!(filter.report().signatures, 1);
}

#[test]
fn one_secret_has_one_name() {
    let (a, b) = (token(), format!("ghp_{}", random(8, 36)));
    let filter = redactor();
    let line = |text: String| {
        let line = json!({ "id": "e1", "text": text }).to_string();
        String::from_utf8(filter.line(line.as_bytes()).into_owned()).unwrap()
    };
    let (one, two) = ("[REDACTED:github-token:1]", "[REDACTED:github-token:2]");
    assert!(line(format!("{a} {b} {a}")).contains(&format!("{one} {two} {one}")));
    assert!(line(format!("token={b}")).contains(two));
    let report = filter.report();
    assert_eq!((report.sums()[0].distinct, report.occurrences()), (2, 4));
    assert_eq!((report.places[0].count, report.places[0].field.as_str()), (2, "text"));
    assert_eq!(report.places[0].entry.as_deref(), Some("e1"));
    let debug = format!("{report:?} {filter:?}");
    assert!(!debug.contains(&a[4..]) && !debug.contains(&b[4..]));
}

#[test]
fn damaged_lines_are_searched() {
    let token = token();
    for line in [
        "{} not json",
        r#"{"type":"message","text":"{}"#,
        r#"{"a":"b" {}"#,
        r#"{"id":"x","t":"a \"{}\" b"#,
    ] {
        let line = line.replace("{}", &token);
        assert_eq!(redacted(&line), line.replace(&token, "[REDACTED:github-token:1]"));
    }
}

/// A quarter of a megabyte of what rules begin to look at. If each look went to the end, the test would take hours.
#[test]
fn huge_lines_take_time_in_proportion() {
    const LENGTH: usize = 1 << 18;
    for piece in [
        "password=",
        "eyJ",
        "-----BEGIN PRIVATE KEY-----",
        "sk-",
        "://a:",
        "@a.",
        "bearer ",
        "\\\\",
        "[[",
        "ghp_",
        "secret:\\\"",
        "/home/",
        "a@example.com ",
        "-----BEGIN PRIVATE KEY-----\\n-----END ",
        "token",
        "-eyJ",
        "-sk-",
        ".ya29.",
        "curl -u ",
        "echo a|sudo -S ",
        "cookie: a=b;",
        "%20",
        "\\u001b[31m",
        "\\u0061",
        "\\n",
        "login x password ",
        "\"name\":\"api_key\",",
    ] {
        let text = piece.repeat(LENGTH / piece.len());
        let line = format!("{{\"text\":\"{text}\"}}");
        let after = thorough().line(line.as_bytes()).into_owned();
        assert!(after.starts_with(b"{\"text\":\"") && after.ends_with(b"\"}"), "{piece}");
        assert!(!thorough().line(text.as_bytes()).is_empty(), "{piece}");
    }
    for nested in ["[", "{\"a\":"] {
        let line = nested.repeat(LENGTH);
        assert_eq!(*thorough().line(line.as_bytes()), *line.as_bytes());
    }
}
