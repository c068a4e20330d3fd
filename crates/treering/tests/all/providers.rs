//! Contexts as the requests of providers: their shapes, and what is repaired.

use crate::support::{entry, file, open};
use serde_json::{Value, json};
use treering::context::Model;
use treering::provider::{
    CacheControl, ContextRepair, Pairing, ProviderRequest, RequestOptions, Tool,
};
use treering::{Context, Error};

/// Returns a context of these messages, each an entry `e0`, `e1` … below the one before it.
pub(crate) fn context(messages: &[Value]) -> Context {
    raw_context(&messages.iter().map(Value::to_string).collect::<Vec<_>>())
}

fn raw_context(messages: &[String]) -> Context {
    let line = |(at, message): (usize, &String)| {
        let parent = at.checked_sub(1).map(|at| format!("e{at}"));
        let more = format!(",\"message\":{message}");
        entry("message", &format!("e{at}"), parent.as_deref(), &more)
    };
    let lines: Vec<String> = messages.iter().enumerate().map(line).collect();
    open(file(&lines)).context().unwrap()
}

pub(crate) fn parsed(request: &ProviderRequest) -> Value {
    serde_json::from_str(&request.json).unwrap()
}

fn turn() -> Vec<Value> {
    vec![
        json!({"role":"system","content":"Be kind."}),
        json!({"role":"user","content":[{"type":"text","text":"look"},
               {"type":"image","data":"QUJD","mimeType":"image/png"}]}),
        json!({"role":"assistant","provider":"acme","model":"oak","content":[
            {"type":"thinking","thinking":"hm","thinkingSignature":"sig"},
            {"type":"text","text":"Let me see."},
            {"type":"toolCall","id":"call|1","name":"read","arguments":{"path":"a"}},
            {"type":"toolCall","id":"2","name":"read","arguments":{}}]}),
        json!({"role":"toolResult","toolCallId":"2","toolName":"read","isError":true,
               "content":[{"type":"text","text":"no"},{"type":"image","data":"RA==","mimeType":"image/png"}]}),
        json!({"role":"toolResult","toolCallId":"call|1","toolName":"read","content":[{"type":"text","text":"yes"}]}),
    ]
}

#[test]
fn anthropic_gets_results_in_one_message_and_signed_thinking() {
    let tool = Tool::new("read", "Reads a file.", r#"{"type":"object"}"#).unwrap();
    let options = RequestOptions::new()
        .with_system("You help.")
        .with_tool(tool)
        .with_cache(CacheControl::Ephemeral);
    let request = context(&turn()).to_anthropic(&options);
    let mark = json!({"type":"ephemeral"});
    assert_eq!(
        parsed(&request),
        json!({
            "system":[{"type":"text","text":"You help."},
                      {"type":"text","text":"Be kind.","cache_control":mark}],
            "messages":[
                {"role":"user","content":[{"type":"text","text":"look"},
                    {"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]},
                {"role":"assistant","content":[
                    {"type":"thinking","thinking":"hm","signature":"sig"},
                    {"type":"text","text":"Let me see."},
                    {"type":"tool_use","id":"call_1","name":"read","input":{"path":"a"}},
                    {"type":"tool_use","id":"2","name":"read","input":{}}]},
                {"role":"user","content":[
                    {"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"yes"}]},
                    {"type":"tool_result","tool_use_id":"2","content":[{"type":"text","text":"no"}],"is_error":true},
                    {"type":"text","text":"(Images of failed tool calls follow.)"},
                    {"type":"image","source":{"type":"base64","media_type":"image/png","data":"RA=="},
                     "cache_control":mark}]}],
            "tools":[{"name":"read","description":"Reads a file.","input_schema":{"type":"object","properties":{}},"cache_control":mark}]
        })
    );
    let renamed = ContextRepair::CallRenamed {
        entry: "e2".into(),
        from: "call|1".into(),
        to: "call_1".into(),
    };
    assert_eq!(request.repairs, [renamed]);
}

#[test]
fn chat_completions_get_calls_as_functions_and_images_after_results() {
    let tool = Tool::new("read", "Reads a file.", r#"{"type":"object"}"#).unwrap();
    let request = context(&turn()).to_openai_chat(&RequestOptions::new().with_tool(tool));
    let function = |id: &str, arguments: &str| json!({"id":id,"type":"function","function":{"name":"read","arguments":arguments}});
    assert_eq!(
        parsed(&request),
        json!({
            "messages":[
                {"role":"system","content":"Be kind."},
                {"role":"user","content":[{"type":"text","text":"look"},
                    {"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}]},
                {"role":"assistant","content":"Let me see.",
                 "tool_calls":[function("call_1", r#"{"path":"a"}"#), function("2", "{}")]},
                {"role":"tool","tool_call_id":"call_1","content":"yes"},
                {"role":"tool","tool_call_id":"2","content":"no"},
                {"role":"user","content":[{"type":"text","text":"(Images of tool results follow.)"},
                    {"type":"image_url","image_url":{"url":"data:image/png;base64,RA=="}}]}],
            "tools":[{"type":"function","function":
                {"name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{}}}}]
        })
    );
    assert!(request.repairs.contains(&ContextRepair::ThinkingDropped { entry: "e2".into() }));
}

#[test]
fn responses_get_reasoning_items_and_call_ids() {
    let reasoning = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}"#;
    let messages = [
        json!({"role":"user","content":"go"}),
        json!({"role":"assistant","content":[
            {"type":"thinking","thinking":"","thinkingSignature":reasoning},
            {"type":"text","text":"Going.","textSignature":"msg_1"},
            {"type":"toolCall","id":"call_9|fc_9","name":"run","arguments":{"n":1}}]}),
        json!({"role":"toolResult","toolCallId":"call_9|fc_9","toolName":"run","content":"done"}),
    ];
    let options = RequestOptions::new().with_system("You help.");
    let request = context(&messages).to_openai_responses(&options);
    assert_eq!(
        parsed(&request),
        json!({
            "instructions":"You help.",
            "input":[
                {"role":"user","content":[{"type":"input_text","text":"go"}]},
                {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},
                {"type":"message","role":"assistant","id":"msg_1","status":"completed",
                 "content":[{"type":"output_text","text":"Going.","annotations":[]}]},
                {"type":"function_call","call_id":"call_9","name":"run","arguments":"{\"n\":1}"},
                {"type":"function_call_output","call_id":"call_9","output":"done"}]
        })
    );
    assert_eq!(request.repairs, []);
}

#[test]
fn thinking_of_another_model_is_not_sent_back() {
    let model = |id: &str| Model::new("acme", id);
    let context = context(&turn());
    let same = context.to_anthropic(&RequestOptions::new().with_model(model("oak")));
    let other = context.to_anthropic(&RequestOptions::new().with_model(model("elm")));
    assert!(same.json.contains("\"signature\":\"sig\""));
    assert!(!other.json.contains("\"signature\""));
    assert!(other.repairs.contains(&ContextRepair::ThinkingDropped { entry: "e2".into() }));
}

#[test]
fn failed_answers_and_empty_texts_are_left_out_and_reported() {
    let messages = [
        json!({"role":"user","content":"hello"}),
        json!({"role":"assistant","content":[],"stopReason":"error","errorMessage":"529"}),
        json!({"role":"assistant","content":[{"type":"text","text":" "}],"stopReason":"aborted"}),
        json!({"role":"assistant","content":[{"type":"text","text":""},{"type":"text","text":"Hi."}]}),
        json!({"role":"martian","content":"?"}),
    ];
    let llm = context(&messages).to_llm(Pairing::Strict);
    let dropped = |entry: &str| ContextRepair::EmptyMessageDropped {
        entry: entry.into(),
        role: "assistant".into(),
    };
    assert_eq!(llm.messages.len(), 2);
    assert_eq!(
        llm.repairs,
        [
            ContextRepair::RoleDropped { entry: "e4".into(), role: "martian".into() },
            dropped("e1"),
            dropped("e2"),
            ContextRepair::EmptyTextDropped { entry: "e3".into(), blocks: 1 },
        ]
    );
}

#[test]
fn half_a_surrogate_pair_makes_no_message_unusable() {
    let messages = [
        r#"{"role":"user","content":"a \ud83d b \ud83d\ude00"}"#.to_owned(),
        r#"{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"x","arguments":{"k":"\udc00"}}]}"#.to_owned(),
    ];
    let request = raw_context(&messages).to_anthropic(&RequestOptions::new());
    let messages = &parsed(&request)["messages"];
    assert_eq!(messages[0]["content"][0]["text"], "a \u{fffd} b \u{1f600}");
    assert_eq!(messages[1]["content"][0]["input"]["k"], "\u{fffd}");
    for entry in ["e0", "e1"] {
        assert!(request.repairs.contains(&ContextRepair::TextReplaced { entry: entry.into() }));
    }
}

#[test]
fn messages_of_other_agents_become_what_those_agents_send() {
    let image = json!({"type":"image","data":"QUJD","mimeType":"image/png"});
    let messages = [
        json!({"role":"developer","content":"Mind the gap."}),
        json!({"role":"pythonExecution","code":"1/0","output":"boom","exitCode":1}),
        json!({"role":"pythonExecution","code":"secret","output":"","excludeFromContext":true}),
        json!({"role":"fileMention","files":[{"path":"a.md","content":"A"},
               {"path":"b.png","content":"","image":image}]}),
        json!({"role":"hookMessage","customType":"x","content":"hooked","display":true}),
    ];
    let llm = context(&messages).to_llm(Pairing::Strict);
    assert_eq!(llm.repairs, []);
    let all: Vec<Value> =
        llm.messages.iter().map(|m| serde_json::from_slice(&m.json).unwrap()).collect();
    let text = |text: &str| json!({"type":"text","text":text});
    assert_eq!(all[0]["role"], "developer");
    let ran =
        "Ran Python:\n```python\n1/0\n```\nOutput:\n```\nboom\n```\n\nExecution failed with code 1";
    assert_eq!((&all[1]["role"], &all[1]["content"][0]), (&json!("user"), &text(ran)));
    let mention = "<file path=\"a.md\">\nA\n</file>";
    assert_eq!((&all[2]["role"], &all[2]["content"][0]), (&json!("developer"), &text(mention)));
    let picture = json!([text("<file path=\"b.png\">\n</file>"), image]);
    assert_eq!((&all[3]["role"], &all[3]["content"]), (&json!("user"), &picture));
    assert_eq!(all[4]["content"][0], text("hooked"));
    assert_eq!(all.len(), 5);
}

#[test]
fn calls_that_share_an_id_get_ids_of_their_own() {
    let call = json!({"type":"toolCall","id":"1","name":"run","arguments":{}});
    let result = json!({"role":"toolResult","toolCallId":"1","toolName":"run","content":"done"});
    let messages = [
        json!({"role":"user","content":"go"}),
        json!({"role":"assistant","content":[call, call]}),
        result.clone(),
        json!({"role":"assistant","content":[call]}),
        result,
    ];
    let request = context(&messages).to_anthropic(&RequestOptions::new());
    let messages = &parsed(&request)["messages"];
    let ids = |at: usize, key: &str| -> Vec<Value> {
        messages[at]["content"].as_array().unwrap().iter().map(|block| block[key].clone()).collect()
    };
    assert_eq!(
        (ids(1, "id"), ids(2, "tool_use_id")),
        (vec!["1".into(), "1_2".into()], vec!["1".into(), "1_2".into()])
    );
    assert_eq!((ids(3, "id"), ids(4, "tool_use_id")), (vec![json!("1_3")], vec![json!("1_3")]));
}

pub(crate) fn user() -> Value {
    json!({"role":"user","content":"go"})
}

#[test]
fn thinking_at_the_end_of_an_answer_is_not_sent() {
    let item = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;
    let thought = |signature: &str| {
        json!({"role":"assistant","stopReason":"aborted","content":[
            {"type":"thinking","thinking":"hm","thinkingSignature":signature}]})
    };
    let repairs = [
        ContextRepair::ThinkingDropped { entry: "e1".into() },
        ContextRepair::EmptyMessageDropped { entry: "e1".into(), role: "assistant".into() },
    ];
    let options = RequestOptions::new();
    let request = context(&[user(), thought("sig")]).to_anthropic(&options);
    assert_eq!(parsed(&request)["messages"].as_array().unwrap().len(), 1);
    assert_eq!(request.repairs, repairs);
    let request = context(&[user(), thought(item), user()]).to_openai_responses(&options);
    assert!(!request.json.contains("rs_1"));
    assert_eq!(request.repairs, repairs);
    // An answer in two messages, as some agents record it, keeps its thinking.
    let first = json!({"role":"assistant","content":[
        {"type":"thinking","thinking":"hm","thinkingSignature":"sig"}]});
    let second = json!({"role":"assistant","content":[{"type":"text","text":"Yes."}]});
    let request = context(&[user(), first, second]).to_anthropic(&options);
    assert_eq!(request.repairs, []);
}

#[test]
fn a_retried_answer_begins_with_its_thinking() {
    let messages = [
        user(),
        json!({"role":"assistant","stopReason":"error","content":[{"type":"text","text":"par"}]}),
        json!({"role":"assistant","content":[
            {"type":"thinking","thinking":"hm","thinkingSignature":"sig"},
            {"type":"text","text":"Yes."}]}),
        user(),
    ];
    let request = context(&messages).to_anthropic(&RequestOptions::new());
    let messages = &parsed(&request)["messages"];
    assert_eq!(messages[2]["content"][0]["text"], "(The answer was cut off here.)");
    assert_eq!(messages[3]["content"][0]["type"], "thinking");
    assert_eq!(request.repairs, [ContextRepair::UserMessageAdded { entry: "e2".into() }]);
}

#[test]
fn an_answer_at_the_end_has_no_trailing_space() {
    let messages = [user(), json!({"role":"assistant","content":[{"type":"text","text":"So \n"}]})];
    let request = context(&messages).to_anthropic(&RequestOptions::new());
    assert_eq!(parsed(&request)["messages"][1]["content"][0]["text"], "So");
    assert_eq!(request.repairs, [ContextRepair::TrailingSpaceDropped { entry: "e1".into() }]);
}

#[test]
fn images_that_no_provider_can_decode_are_left_out_and_reported() {
    let image = |data: &str, mime: &str| json!({"type":"image","data":data,"mimeType":mime});
    let content = json!([
        {"type":"image"},
        image("", "image/png"),
        image("blob:sha256:00", "image/png"),
        image("QQ==", "text/plain"),
        image("QQ==", "image/bmp"),
        image("QQQQQ", "image/png"),
        image("Q=QQ", "image/png"),
        {"type":"text","text":"look"}]);
    let context = context(&[json!({"role":"user","content":content})]);
    let dropped = ContextRepair::BlockDropped { entry: "e0".into(), block: "image".into() };
    let options = RequestOptions::new();
    for request in requests(&context, &options) {
        assert!(!request.json.contains("base64"), "{}", request.json);
        assert_eq!(request.repairs, vec![dropped.clone(); 7]);
    }
}

/// Returns the requests to all APIs.
pub(crate) fn requests(context: &Context, options: &RequestOptions) -> [ProviderRequest; 3] {
    [
        context.to_anthropic(options),
        context.to_openai_chat(options),
        context.to_openai_responses(options),
    ]
}

#[test]
fn images_reach_providers_in_standard_base64() {
    for data in ["-_8", "+/8", " +/\n8= \n", "-_8="] {
        let content = json!([{"type":"image","data":data,"mimeType":"image/png"}]);
        let context = context(&[json!({"role":"user","content":content})]);
        for request in requests(&context, &RequestOptions::new()) {
            assert!(request.json.contains("+/8=\""), "{data:?}: {}", request.json);
            assert_eq!(request.repairs, []);
        }
    }
}

#[test]
fn sections_of_a_system_message_are_a_part_of_its_text() {
    let system = |content: &str, sections: Value| json!({"role":"system","content":content,"sections":sections});
    let messages = [
        system("Help.", json!({"env":"<env>linux</env>","skills":"<skills/>"})),
        user(),
        system(" ", json!({"env":"<env>windows</env>","skills":null,"n":5})),
    ];
    let context = context(&messages);
    let [anthropic, chat, responses] = requests(&context, &RequestOptions::new());
    let first = "Help.\n\n<env>linux</env>\n\n<skills/>";
    let update = "Updated system prompt section \"env\":\n\n<env>windows</env>\n\n\
                  Removed system prompt section \"skills\".";
    assert_eq!(parsed(&anthropic)["system"], json!([{"type":"text","text":first}]));
    assert_eq!(parsed(&anthropic)["messages"][0]["content"][1]["text"], update);
    let content_of = |at: usize| parsed(&chat)["messages"][at]["content"].clone();
    assert_eq!((content_of(0), content_of(2)), (json!(first), json!(update)));
    assert_eq!(parsed(&responses)["input"][2]["content"][0]["text"], update);
    let llm = context.to_llm(Pairing::Strict);
    let system: Value = serde_json::from_slice(&llm.messages[0].json).unwrap();
    assert_eq!(system, json!({"role":"system","content":first}));
    let dropped = ContextRepair::BlockDropped { entry: "e2".into(), block: "section n".into() };
    for request in [anthropic, chat, responses] {
        assert_eq!(request.repairs, std::slice::from_ref(&dropped));
    }
}

#[test]
fn tools_of_the_context_that_the_request_does_not_define_are_reported() {
    let tools = |names: &[&str]| -> Value {
        names.iter().map(|name| json!({"name":name,"description":"","parameters":{}})).collect()
    };
    let messages = [
        json!({"role":"system","content":"Help.","toolsAdded":tools(&["read", "bash"])}),
        user(),
        json!({"role":"system","content":"","toolsAdded":tools(&["write"]),
               "toolsRemoved":[{"name":"bash"}]}),
    ];
    let dropped = |entry: &str, tool: &str| ContextRepair::ToolDropped {
        entry: entry.into(),
        tool: tool.into(),
    };
    let empty = ContextRepair::EmptyMessageDropped { entry: "e2".into(), role: "system".into() };
    let options = RequestOptions::new();
    for request in requests(&context(&messages), &options) {
        assert_eq!(request.repairs, [empty.clone(), dropped("e0", "read"), dropped("e2", "write")]);
    }
    let options = options.with_tool(Tool::new("read", "Reads.", "{}").unwrap());
    for request in requests(&context(&messages), &options) {
        assert_eq!(request.repairs, [empty.clone(), dropped("e2", "write")]);
    }
}

#[test]
fn what_a_tool_result_loses_is_reported() {
    let call = |id: &str| json!({"type":"toolCall","id":id,"name":"run","arguments":{}});
    let result =
        |id: &str, content: Value| json!({"role":"toolResult","toolCallId":id,"content":content});
    let messages = [
        user(),
        json!({"role":"assistant","content":[call("1"), call("2"), call("3"), call("4")]}),
        result("1", json!([{"type":"text","text":""},{"type":"text","text":"\n"}])),
        result("2", json!(" \n")),
        result("3", json!({"text":"lost"})),
        result("4", json!("")),
    ];
    let empty =
        |entry: &str, blocks| ContextRepair::EmptyTextDropped { entry: entry.into(), blocks };
    let dropped = ContextRepair::BlockDropped { entry: "e4".into(), block: String::new() };
    for request in requests(&context(&messages), &RequestOptions::new()) {
        assert_eq!(request.repairs, [empty("e2", 2), empty("e3", 1), dropped.clone()]);
    }
}

#[test]
fn an_exit_code_that_is_no_number_leaves_a_message_valid() {
    let run = json!({"role":"bashExecution","command":"ls","output":"","exitCode":{"a":"b"}});
    let text = "Ran `ls`\n(no output)\n\nCommand exited with code {\"a\":\"b\"}";
    let context = context(&[run]);
    assert_eq!(
        parsed(&context.to_openai_chat(&RequestOptions::new()))["messages"][0]["content"],
        text
    );
    let llm = context.to_llm(Pairing::Raw);
    assert!(serde_json::from_slice::<Value>(&llm.messages[0].json).is_ok());
}

#[test]
fn reasoning_without_a_summary_is_not_sent() {
    for item in
        [r#"{"type":"reasoning","id":"rs_1"}"#, r#"{"type":"reasoning","id":5,"summary":[]}"#]
    {
        let answer = json!({"role":"assistant","content":[
            {"type":"thinking","thinking":"hm","thinkingSignature":item},
            {"type":"text","text":"Yes."}]});
        let request = context(&[user(), answer]).to_openai_responses(&RequestOptions::new());
        assert!(!request.json.contains("reasoning"), "{}", request.json);
        assert_eq!(request.repairs, [ContextRepair::ThinkingDropped { entry: "e1".into() }]);
    }
}

#[test]
fn names_that_no_provider_accepts_are_replaced_unless_the_request_has_the_tool() {
    let call = |id: &str, name: &str| json!({"type":"toolCall","id":id,"name":name,"arguments":{}});
    let calls = json!({"role":"assistant","content":[call("1", "mcp.read it"), call("2", "")]});
    let context = context(&[user(), calls]);
    let renamed = |from: &str, to: &str| ContextRepair::ToolRenamed {
        entry: "e1".into(),
        from: from.into(),
        to: to.into(),
    };
    let both = [renamed("mcp.read it", "mcp_read_it"), renamed("", "unnamed")];
    let options = RequestOptions::new();
    for request in [
        context.to_anthropic(&options),
        context.to_openai_chat(&options),
        context.to_openai_responses(&options),
    ] {
        assert!(request.repairs.ends_with(&both), "{:?}", request.repairs);
        assert!(request.json.contains(r#""name":"mcp_read_it""#), "{}", request.json);
        assert!(request.json.contains(r#""name":"unnamed""#), "{}", request.json);
    }
    let options = options.with_tool(Tool::new("mcp.read it", "Reads.", "{}").unwrap());
    assert!(context.to_openai_chat(&options).repairs.ends_with(&both[1..]));
}

#[test]
fn a_request_has_each_tool_once_and_only_tools_that_providers_accept() {
    let wrong = ["", "object", "[]", "null", r#""{}""#, r#"{"type":"object""#, "{}]", "{} {}"];
    for parameters in wrong {
        let error = Tool::new("read", "Reads.", parameters).unwrap_err();
        assert!(matches!(&error, Error::InvalidOption(why) if why.contains("\"read\"")), "{error}");
    }
    assert!(matches!(Tool::new("", "Reads.", "{}"), Err(Error::InvalidOption(_))));

    let half = r#" {"description":"half a pair: \ud83d"} "#;
    let options = RequestOptions::new()
        .with_tool(Tool::new("read", "Reads a file.", "{}").unwrap())
        .with_tool(Tool::new("now", "Returns the time.", "{}").unwrap())
        .with_tool(Tool::new("read", "Reads a page.", half).unwrap());
    let context = context(&[user()]);
    for request in [
        context.to_anthropic(&options),
        context.to_openai_chat(&options),
        context.to_openai_responses(&options),
    ] {
        let tools = parsed(&request)["tools"].clone();
        assert_eq!(tools.as_array().unwrap().len(), 2, "{tools}");
        let read = tools[0].to_string();
        assert!(read.contains("Reads a page.") && read.contains("half a pair"), "{read}");
    }
}

#[test]
fn responses_get_each_item_once_and_no_id_without_its_reasoning() {
    let answer = |model: &str| {
        let item = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;
        json!({"role":"assistant","provider":"acme","model":model,"content":[
            {"type":"thinking","thinking":"","thinkingSignature":item},
            {"type":"text","text":"Yes.","textSignature":"msg_1"}]})
    };
    // A branch that was merged as copies has the same answer twice.
    let context = context(&[user(), answer("oak"), user(), answer("oak"), user()]);
    let request = context.to_openai_responses(&RequestOptions::new());
    assert_eq!(request.json.matches("rs_1").count(), 1);
    assert_eq!(request.json.matches("msg_1").count(), 1);
    assert_eq!(request.repairs, [ContextRepair::ThinkingDropped { entry: "e3".into() }]);
    let options = RequestOptions::new().with_model(Model::new("acme", "elm"));
    assert!(!context.to_openai_responses(&options).json.contains("msg_1"));
}

#[test]
fn signatures_of_other_apis_are_not_sent_to_anthropic() {
    for signature in ["reasoning_content", r#"{"type":"reasoning","id":"rs_1"}"#] {
        let answer = json!({"role":"assistant","content":[
            {"type":"thinking","thinking":"hm","thinkingSignature":signature},
            {"type":"text","text":"Yes."}]});
        let request = context(&[user(), answer, user()]).to_anthropic(&RequestOptions::new());
        assert!(!request.json.contains("thinking"), "{}", request.json);
        assert_eq!(request.repairs, [ContextRepair::ThinkingDropped { entry: "e1".into() }]);
    }
}
