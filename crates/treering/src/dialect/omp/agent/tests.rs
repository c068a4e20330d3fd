//! Tests of the rules of omp's context, one by one, and against contexts that omp itself built.

use super::*;
use crate::dialect::omp::tests::{FILES, corpus, text};
use serde_json::{Value, json};
use std::collections::HashMap;

fn context(records: &[&str]) -> AgentContext {
    let records = records.iter().map(|record| record.as_bytes().to_vec()).collect();
    super::context(&mut crate::dialect::agent::RecordsInMemory(records)).unwrap()
}

fn messages(records: &[&str]) -> Value {
    context(records)
        .messages
        .iter()
        .map(|raw| serde_json::from_slice::<Value>(raw).unwrap())
        .collect()
}

#[test]
fn the_contexts_are_those_that_omp_builds() {
    for name in FILES {
        let Some((lines, expected)) = corpus(name) else { return };
        let by_id: HashMap<String, &Vec<u8>> = lines
            .iter()
            .filter(|line| text(line, "type").as_deref() != Some("session"))
            .filter_map(|line| Some((text(line, "id")?, line)))
            .collect();
        let contexts = expected["contexts"].as_object().unwrap();
        assert_eq!(contexts.len(), 11);
        for (leaf, expected) in contexts {
            let ids = expected["ids_on_path"].as_array().unwrap();
            let path = ids.iter().map(|id| by_id[id.as_str().unwrap()].clone()).collect();
            let built = super::context(&mut crate::dialect::agent::RecordsInMemory(path)).unwrap();
            let messages: Vec<Value> =
                built.messages.iter().map(|raw| serde_json::from_slice(raw).unwrap()).collect();
            assert_eq!(Value::from(messages), expected["messages"], "{name} {leaf}");
            for (setting, value) in built.settings {
                let value: Value = serde_json::from_slice(&value).unwrap();
                assert_eq!(value, expected[setting], "{name} {leaf} {setting}");
            }
        }
    }
}

const USER: &str = r#"{"type":"message","id":"u","message":{"role":"user","content":"hi"}}"#;

#[test]
fn a_path_that_says_nothing_has_the_usual_settings() {
    let none = context(&[]);
    assert!(none.messages.is_empty());
    let settings: Vec<_> = none
        .settings
        .iter()
        .map(|(name, value)| (*name, std::str::from_utf8(value).unwrap()))
        .collect();
    assert_eq!(
        settings,
        [
            ("thinkingLevel", "\"off\""),
            ("configuredThinkingLevel", "null"),
            ("model", "null"),
            ("models", "{}"),
            ("mode", "\"none\""),
            ("modeData", "null"),
            ("serviceTier", "null"),
            ("injectedTtsrRules", "[]"),
        ]
    );
}

#[test]
fn a_recorded_default_model_outlasts_the_model_that_answered() {
    let answer = r#"{"type":"message","message":{"role":"assistant","provider":"p","model":"m","content":[]}}"#;
    let chosen = r#"{"type":"model_change","model":"q/n"}"#;
    let slow = r#"{"type":"model_change","model":"s/l","role":"slow"}"#;
    let models = |records: &[&str]| {
        let settings = context(records).settings;
        let value = settings.into_iter().find(|(name, _)| *name == "models").unwrap().1;
        String::from_utf8(value).unwrap()
    };
    assert_eq!(models(&[slow, answer]), r#"{"slow":"s/l","default":"p/m"}"#);
    assert_eq!(models(&[answer, chosen, answer]), r#"{"default":"q/n"}"#);
}

#[test]
fn old_service_tiers_are_one_word_for_all() {
    let tier = |tier: &str| {
        let record = format!(r#"{{"type":"service_tier_change","serviceTier":{tier}}}"#);
        String::from_utf8(context(&[&record]).settings[6].1.clone()).unwrap()
    };
    assert_eq!(tier("\"claude-only\""), r#"{"anthropic":"priority"}"#);
    assert_eq!(tier("\"flex\""), r#"{"openai":"flex"}"#);
    assert_eq!(
        tier("\"priority\""),
        r#"{"openai":"priority","anthropic":"priority","google":"priority"}"#
    );
    assert_eq!(tier(r#"{"google":"scale","openai":"odd","x":"auto"}"#), r#"{"google":"scale"}"#);
    assert_eq!(tier(r#"{"openai":"odd"}"#), "null");
    assert_eq!(tier("null"), "null");
}

#[test]
fn a_call_without_a_result_goes_and_the_turn_loses_its_signatures() {
    let turn = |more: &str| {
        format!(
            r#"{{"type":"message","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c"}},{{"type":"redactedThinking","data":"x"}}{more}]}}}}"#
        )
    };
    assert_eq!(messages(&[&turn("")]), json!([]));
    let more = r#",{"type":"thinking","thinking":"t","thinkingSignature":"s"},{"type":"thinking","thinkingSignature":""},{"type":"toolCall","id":"d"}"#;
    let result = r#"{"type":"message","message":{"role":"toolResult","toolCallId":"\u0064"}}"#;
    assert_eq!(
        messages(&[&turn(more), result])[0]["content"],
        json!([{"type":"thinking","thinking":"t"}, {"type":"thinking","thinkingSignature":""}, {"type":"toolCall","id":"d"}])
    );
}

#[test]
fn failed_turns_go_with_their_results_unless_a_note_follows() {
    let failed = r#"{"type":"message","message":{"role":"assistant","stopReason":"aborted","content":[{"type":"toolCall","id":"c"}]}}"#;
    let result = r#"{"type":"message","message":{"role":"toolResult","toolCallId":"c"}}"#;
    let note = r#"{"type":"custom_message","customType":"interrupted-thinking","content":"n","timestamp":"x"}"#;
    let hi = json!({"role":"user","content":"hi"});
    assert_eq!(messages(&[USER, failed, result, USER]), json!([hi, hi]));
    let kept = messages(&[failed, note, result]);
    assert_eq!(kept.as_array().unwrap().len(), 3);
    assert_eq!(
        kept[1],
        json!({"role":"custom","customType":"interrupted-thinking","content":"n","display":false,"timestamp":null})
    );
    // The result between turn and note is gone by then: the second turn took it.
    assert_eq!(messages(&[failed, result, failed, note]).as_array().unwrap().len(), 2);
}

#[test]
fn a_server_compaction_is_dated_before_what_it_keeps() {
    let kept = r#"{"type":"message","id":"k","timestamp":"2026-01-05T09:00:20.226Z","message":{"role":"user","content":"hi"}}"#;
    let compaction = r#"{"type":"compaction","id":"c","firstKeptEntryId":"k","summary":"s","tokensBefore":9,"timestamp":"2026-02-05T09:00:20.226Z","preserveData":{"anthropicCompaction":{"provider":"anthropic","content":"x","filesText":""}}}"#;
    let built = messages(&[USER, kept, compaction]);
    assert_eq!(
        built[0],
        json!({"role":"compactionSummary","summary":"s","tokensBefore":9,
            "providerPayload":{"type":"anthropicCompaction","provider":"anthropic","content":"x"},
            "timestamp":1_767_603_620_225_i64})
    );
}

#[test]
fn a_remote_history_replaces_what_was_kept() {
    let compaction = |more: &str| {
        format!(
            r#"{{"type":"compaction","id":"c","firstKeptEntryId":"u","summary":"s","preserveData":{{"openaiRemoteCompaction":{{"provider":"openai","replacementHistory":[{{"a":1}}]}}}}{more}}}"#
        )
    };
    let later = r#"{"type":"message","id":"l","message":{"role":"user","content":"later"}}"#;
    let built = messages(&[USER, later, &compaction("")]);
    assert_eq!(built.as_array().unwrap().len(), 1);
    assert_eq!(built[0]["providerPayload"]["items"], json!([{"a":1}]));
    let built = messages(&[USER, later, &compaction(r#","providerReplayThroughEntryId":"u""#)]);
    assert_eq!(built[1]["content"], "later");
}

#[test]
fn a_rollover_keeps_the_latest_request() {
    let prompt = r#"{"type":"custom_message","id":"p","customType":"skill-prompt","content":"do","display":true,"attribution":"user"}"#;
    let answer = r#"{"type":"message","id":"a","message":{"role":"assistant","content":[]}}"#;
    let compaction = r#"{"type":"compaction","id":"c","firstKeptEntryId":"a","summary":"s","details":{"kind":"experimental-context-rollover"}}"#;
    let built = messages(&[USER, prompt, answer, compaction]);
    let roles: Vec<&str> =
        built.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["compactionSummary", "custom", "assistant"]);
}

#[test]
fn an_error_that_says_nothing_is_no_turn() {
    let note = r#"{"type":"custom_message","customType":"interrupted-thinking","content":"n"}"#;
    let turn = |block: &str| {
        let error = format!(
            r#"{{"type":"message","message":{{"role":"assistant","stopReason":"error","content":[{block}]}}}}"#
        );
        messages(&[&error, note]).as_array().unwrap().len() == 2
    };
    assert!(!turn(""));
    assert!(!turn(r#"{"type":"text","text":" \n\ufeff"}"#));
    assert!(turn(r#"{"type":"text","text":"\u0085"}"#));
    assert!(!turn(r#"{"type":"thinking","thinking":" "}"#));
    assert!(turn(r#"{"type":"thinking","thinking":"","thinkingSignature":"x"}"#));
    assert!(turn(r#"{"type":"something new"}"#));
    assert!(!turn(r#"{"type":"fallback"}"#));
}
