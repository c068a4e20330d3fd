//! Rules of single APIs that a request must obey or it is refused, and what a request must return
//! unchanged to the model that wrote it.

use crate::providers::{context, parsed, requests, user};
use serde_json::{Value, json};
use treering::Context;
use treering::context::{ContextMessage, Model};
use treering::provider::{ContextRepair, Pairing, RequestOptions, Tool};

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB";

fn call(id: &str) -> Value {
    json!({"type":"toolCall","id":id,"name":"run","arguments":{}})
}

fn thought(signature: &str) -> Value {
    json!({"type":"thinking","thinking":"hm","thinkingSignature":signature})
}

fn thinking_dropped(entry: &str) -> ContextRepair {
    ContextRepair::ThinkingDropped { entry: entry.into() }
}

#[test]
fn a_failed_tool_call_without_text_has_some_for_anthropic() {
    let result = |id: &str, content: Value| json!({"role":"toolResult","toolCallId":id,"isError":true,"content":content});
    let image = json!({"type":"image","data":PNG,"mimeType":"image/png"});
    let messages = [
        user(),
        json!({"role":"assistant","content":[call("1"), call("2")]}),
        result("1", json!([])),
        result("2", json!([image])),
    ];
    let request = context(&messages).to_anthropic(&RequestOptions::new());
    let blocks = parsed(&request)["messages"][2]["content"].clone();
    let texts = |block: &Value| block["content"][0]["text"].clone();
    assert_eq!(texts(&blocks[0]), "(no output)");
    assert_eq!(texts(&blocks[1]), "(The images of this result follow.)");
    assert_eq!(blocks[3]["type"], "image");
    assert_eq!(request.repairs, []);
}

#[test]
fn a_tool_schema_has_the_members_that_providers_require() {
    let complete = json!({"type":"object","properties":{}});
    let property = json!({"type":"object","properties":{"path":{"type":"string"}}});
    for (schema, expected) in [
        ("{}", complete.clone()),
        (r#"{"type":"object"}"#, complete.clone()),
        (r#"{"type":null,"properties":null}"#, complete.clone()),
        (r#"{"properties":{"path":{"type":"string"}}}"#, property.clone()),
        (r#"{"type":"object","properties":{"path":{"type":"string"}}}"#, property),
    ] {
        let tool = Tool::new("run", "Runs.", schema).unwrap();
        let options = RequestOptions::new().with_tool(tool);
        let [anthropic, chat, responses] = requests(&context(&[user()]), &options);
        let tool = |request| parsed(request)["tools"][0].clone();
        assert_eq!(tool(&anthropic)["input_schema"], expected, "{schema}");
        assert_eq!(tool(&chat)["function"]["parameters"], expected, "{schema}");
        assert_eq!(tool(&responses)["parameters"], expected, "{schema}");
    }
}

#[test]
fn responses_do_not_make_optional_arguments_required() {
    let tool = Tool::new("run", "Runs.", "{}").unwrap();
    let options = RequestOptions::new().with_tool(tool);
    let request = context(&[user()]).to_openai_responses(&options);
    assert_eq!(parsed(&request)["tools"][0]["strict"], false);
}

#[test]
fn responses_return_the_phase_of_a_text_and_the_namespace_of_a_call() {
    let text = |text: &str, signature: Value| json!({"type":"text","text":text,"textSignature":signature.to_string()});
    let mut namespaced = call("1");
    namespaced["namespace"] = json!("files");
    let messages = [
        user(),
        json!({"role":"assistant","provider":"acme","model":"oak","content":[
            text("Looking.", json!({"v":1,"id":"msg_1","phase":"commentary"})),
            text("Odd.", json!({"v":1,"id":"msg_2","phase":"x\"y"})),
            namespaced]}),
    ];
    let context = context(&messages);
    let input = |model: &str| {
        let options = RequestOptions::new().with_model(Model::new("acme", model));
        parsed(&context.to_openai_responses(&options))["input"].clone()
    };
    let same = input("oak");
    assert_eq!((&same[1]["phase"], &same[2]["phase"]), (&json!("commentary"), &Value::Null));
    assert_eq!(same[3]["namespace"], "files");
    let other = input("elm");
    assert_eq!((&other[1]["phase"], &other[3]["namespace"]), (&Value::Null, &Value::Null));
}

#[test]
fn images_have_the_type_of_their_data() {
    let images = [
        (PNG, "image/jpeg", "image/png"),
        ("/9j/4AAQSkZJRgAB", "image/png", "image/jpeg"),
        ("R0lGODlhAQABAAAA", "image/x-gif", "image/gif"),
        ("UklGRiQAAABXRUJQVlA4IBgA", "image/png", "image/webp"),
        ("UklGRiQAAABXQVZFZm10IBgA", "image/png", "image/png"),
        ("QUJD", "image/jpg", "image/jpeg"),
        ("QUJD", "image/png", "image/png"),
    ];
    for (data, mime_type, expected) in images {
        let image = json!([{"type":"image","data":data,"mimeType":mime_type}]);
        let context = context(&[json!({"role":"user","content":image})]);
        let [anthropic, chat, responses] = requests(&context, &RequestOptions::new());
        let source = parsed(&anthropic)["messages"][0]["content"][0]["source"].clone();
        assert_eq!(source, json!({"type":"base64","media_type":expected,"data":data}));
        let url = format!("data:{expected};base64,{data}");
        assert!(chat.json.contains(&url) && responses.json.contains(&url), "{}", chat.json);
        assert_eq!(anthropic.repairs, []);
    }
}

#[test]
fn thinking_that_another_api_signed_is_not_sent_to_anthropic() {
    let answer = |api: &str, signature: &str| json!({"role":"assistant","api":api,"content":[thought(signature),{"type":"text","text":"Yes."}]});
    for (api, signature, is_sent) in [
        ("anthropic-messages", "EpwEsig", true),
        ("bedrock-converse-stream", "EpwEsig", true),
        ("a-proxy", "EpwEsig", true),
        ("google-generative-ai", "EpwEsig", false),
        ("google-vertex", "EpwEsig", false),
        ("codex", "gAAAAABo9-dKPs_NFV6w", false),
        ("openai-completions", r#"[{"type":"reasoning.text","text":"hm"}]"#, false),
    ] {
        let context = context(&[user(), answer(api, signature), user()]);
        let request = context.to_anthropic(&RequestOptions::new());
        assert_eq!(request.json.contains("thinking"), is_sent, "{api} {signature}");
        let dropped = if is_sent { vec![] } else { vec![thinking_dropped("e1")] };
        assert_eq!(request.repairs, dropped, "{api} {signature}");
    }
}

#[test]
fn codex_reasoning_is_returned_as_an_item() {
    let answer = json!({"role":"assistant","api":"codex","content":[
        thought("gAAAAABo9-dKPs_NFV6w"), {"type":"text","text":"Yes."}]});
    let request = context(&[user(), answer]).to_openai_responses(&RequestOptions::new());
    assert_eq!(
        parsed(&request)["input"][1],
        json!({"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],
               "encrypted_content":"gAAAAABo9-dKPs_NFV6w"})
    );
    assert_eq!(request.repairs, []);
}

#[test]
fn signed_thinking_that_had_to_be_changed_is_not_sent() {
    let json = r#"{"role":"assistant","content":[
        {"type":"thinking","thinking":"a \ud83d","thinkingSignature":"sig1"},
        {"type":"thinking","thinking":"whole","thinkingSignature":"sig2"},
        {"type":"text","text":"b"}]}"#;
    let mut context = Context::default();
    context.messages.push(ContextMessage::new("e0", json));
    let request = context.to_anthropic(&RequestOptions::new());
    assert!(!request.json.contains("sig1") && request.json.contains("sig2"), "{}", request.json);
    assert!(request.repairs.contains(&thinking_dropped("e0")), "{:?}", request.repairs);
}

#[test]
fn encrypted_thinking_of_omp_is_returned_to_anthropic() {
    let answer = json!({"role":"assistant","content":[
        {"type":"redactedThinking","data":"opaque"}, {"type":"text","text":"Yes."}]});
    let context = context(&[user(), answer, user()]);
    let [anthropic, chat, _] = requests(&context, &RequestOptions::new());
    let block = parsed(&anthropic)["messages"][1]["content"][0].clone();
    assert_eq!(block, json!({"type":"redacted_thinking","data":"opaque"}));
    assert_eq!(anthropic.repairs, []);
    assert_eq!(chat.repairs, [thinking_dropped("e1")]);
}

#[test]
fn hook_messages_of_omp_are_instructions_and_their_images_are_the_users() {
    let text = |text: &str| json!({"type":"text","text":text});
    let image = json!({"type":"image","data":PNG,"mimeType":"image/png"});
    let hook = |content: Value| json!({"role":"hookMessage","customType":"lint","content":content});
    let messages = [
        hook(json!("Mind the gap.")),
        hook(json!([text("one"), image, text("two")])),
        hook(json!([image])),
    ];
    let llm = context(&messages).to_llm(Pairing::Strict);
    assert_eq!(llm.repairs, []);
    let all: Vec<Value> =
        llm.messages.iter().map(|m| serde_json::from_slice(&m.json).unwrap()).collect();
    let images = json!([text("Images attached to lint."), image]);
    for (at, (role, content)) in [
        ("developer", json!([text("Mind the gap.")])),
        ("developer", json!([text("one"), text("two")])),
        ("user", images.clone()),
        ("user", images),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!((&all[at]["role"], &all[at]["content"]), (&json!(role), &content));
    }
    assert_eq!(all.len(), 4);
}

#[test]
fn a_truncated_output_of_omp_says_what_is_missing() {
    let tail = json!({"direction":"tail","truncatedBy":"bytes","totalLines":2000,"totalBytes":81920,
        "outputLines":1301,"outputBytes":51200,"shownRange":{"start":700,"end":2000},"artifactId":"3"});
    let middle = json!({"direction":"middle","truncatedBy":"middle","totalLines":12000,"totalBytes":9000000,
        "outputLines":401,"outputBytes":51200,"headRange":{"start":1,"end":200},
        "tailRange":{"start":11801,"end":12000},"elidedBytes":1280,"elidedLines":11600});
    let partial = json!({"direction":"head","truncatedBy":"bytes","totalLines":1,"totalBytes":3145728,
        "outputLines":1,"outputBytes":1000,"partialLine":true});
    let columns = json!({"columnTruncated":{"maxColumn":768,"unit":"bytes"}});
    for (meta, note) in [
        (json!({}), ""),
        (
            json!({"truncation":tail}),
            "\n\n[Showing lines 700-2000 of 2000 (50.0KB limit). Read artifact://3 for full output]",
        ),
        (
            json!({"truncation":middle}),
            "\n\n[Showing lines 1-200 and 11801-12000 of 12000; 11,600 middle lines (1.3KB) elided]",
        ),
        (
            json!({"truncation":partial,"artifactError":"write"}),
            "\n\n[Showing line 1 (partial, 1000B of 3.0MB) of 1. Full output was not saved \
             completely (artifact write failed)]",
        ),
        (json!({"limits":columns}), "\n\n[Some lines truncated to 768 bytes]"),
    ] {
        let bash =
            json!({"role":"bashExecution","command":"ls","output":"x","exitCode":2,"meta":meta});
        let python =
            json!({"role":"pythonExecution","code":"1","output":"x","cancelled":true,"meta":meta});
        let llm = context(&[bash, python]).to_llm(Pairing::Strict);
        let text = |at: usize| llm.messages[at].view().text();
        assert_eq!(text(0), format!("Ran `ls`\n```\nx\n```\n\nCommand exited with code 2{note}"));
        assert!(text(1).ends_with(&format!("\n\n(execution cancelled){note}")), "{}", text(1));
    }
}
