//! Answers as the real servers send them.

use super::Api;
use super::server::Step;
use serde_json::{Value, json};

/// Returns the head of a streamed answer.
pub(crate) fn head() -> Step {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
                transfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    Step::Send(head.into())
}

/// Returns a whole answer that is not a stream.
pub(crate) fn refusal(status: u16, headers: &str, body: &str) -> Vec<Step> {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n{headers}\r\n",
        body.len()
    );
    vec![Step::Send((head + body).into())]
}

fn named(name: &str, data: Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn choice(delta: Value, finish: Option<&str>) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    let chunk = json!({ "id": "c1", "object": "chat.completion.chunk", "model": "real-model",
        "choices": [choice], "usage": null });
    format!("data: {chunk}\n\n")
}

/// Returns the events before the text.
pub(crate) fn begin(api: Api) -> String {
    match api {
        Api::Anthropic => {
            let usage = json!({ "input_tokens": 100, "cache_creation_input_tokens": 20,
                "cache_read_input_tokens": 30, "output_tokens": 1 });
            let message = json!({ "id": "m1", "type": "message", "role": "assistant",
                "model": "real-model", "content": [], "stop_reason": null, "usage": usage });
            let block = json!({ "type": "text", "text": "" });
            named("message_start", json!({ "type": "message_start", "message": message }))
                + &named(
                    "content_block_start",
                    json!({ "type": "content_block_start", "index": 0, "content_block": block }),
                )
                + &named("ping", json!({ "type": "ping" }))
        }
        Api::OpenAi => choice(json!({ "role": "assistant", "content": "" }), None),
    }
}

/// Returns a piece of the text.
pub(crate) fn delta(api: Api, text: &str) -> String {
    match api {
        Api::Anthropic => named(
            "content_block_delta",
            json!({ "type": "content_block_delta", "index": 0,
                "delta": { "type": "text_delta", "text": text } }),
        ),
        Api::OpenAi => choice(json!({ "content": text }), None),
    }
}

/// Returns an event with thinking; `field` is the name that an OpenAI-compatible server has for it.
pub(crate) fn thinking(api: Api, field: &str, pieces: &[&str]) -> String {
    let delta = |delta: Value| {
        named(
            "content_block_delta",
            json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        )
    };
    let mut events = String::new();
    if api == Api::Anthropic {
        let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
        let start = json!({ "type": "content_block_start", "index": 0, "content_block": block });
        events += &named("content_block_start", start);
    }
    for piece in pieces {
        events += &match api {
            Api::Anthropic => delta(json!({ "type": "thinking_delta", "thinking": piece })),
            Api::OpenAi => choice(json!({ "content": null, field: piece }), None),
        };
    }
    if api == Api::Anthropic {
        events += &delta(json!({ "type": "signature_delta", "signature": "c2lnbmVk" }));
        let stop = json!({ "type": "content_block_stop", "index": 0 });
        events += &named("content_block_stop", stop);
    }
    events
}

/// Returns the events of tool calls: id, name, arguments in pieces.
pub(crate) fn calls(api: Api, calls: &[(&str, &str, &[&str])]) -> String {
    let mut events = String::new();
    for (at, (id, name, pieces)) in calls.iter().enumerate() {
        let index = at + 1;
        let block = |kind: &str, more: Value| {
            let mut event = json!({ "type": kind, "index": index });
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            named(kind, event)
        };
        let call = |call: Value| choice(json!({ "tool_calls": [call] }), None);
        events += &match api {
            Api::Anthropic => {
                let tool = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
                block("content_block_start", json!({ "content_block": tool }))
            }
            Api::OpenAi => call(json!({ "index": at, "id": id, "type": "function",
                "function": { "name": name, "arguments": "" } })),
        };
        for piece in *pieces {
            events += &match api {
                Api::Anthropic => {
                    let delta = json!({ "type": "input_json_delta", "partial_json": piece });
                    block("content_block_delta", json!({ "delta": delta }))
                }
                Api::OpenAi => call(json!({ "index": at, "function": { "arguments": piece } })),
            };
        }
        if api == Api::Anthropic {
            events += &block("content_block_stop", json!({}));
        }
    }
    events
}

/// Returns the reason for stopping at tool calls.
pub(crate) fn wants_tools(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "tool_use",
        Api::OpenAi => "tool_calls",
    }
}

/// Returns the events after the text, with the reason for stopping.
pub(crate) fn finish(api: Api, reason: &str) -> String {
    match api {
        Api::Anthropic => {
            let delta = json!({ "stop_reason": reason, "stop_sequence": null });
            let usage = json!({ "output_tokens": 40 });
            named("content_block_stop", json!({ "type": "content_block_stop", "index": 0 }))
                + &named(
                    "message_delta",
                    json!({ "type": "message_delta", "delta": delta, "usage": usage }),
                )
                + &named("message_stop", json!({ "type": "message_stop" }))
        }
        Api::OpenAi => {
            let usage = json!({ "prompt_tokens": 130, "completion_tokens": 40, "total_tokens": 170,
                "prompt_tokens_details": { "cached_tokens": 30 } });
            let last = json!({ "id": "c1", "model": "real-model", "choices": [], "usage": usage });
            choice(json!({}), Some(reason)) + &format!("data: {last}\n\ndata: [DONE]\n\n")
        }
    }
}

/// Returns the reason for a normal end.
pub(crate) fn normal(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "end_turn",
        Api::OpenAi => "stop",
    }
}

/// Returns all events of a whole answer.
pub(crate) fn whole(api: Api, pieces: &[&str]) -> String {
    let deltas: String = pieces.iter().map(|piece| delta(api, piece)).collect();
    begin(api) + &deltas + &finish(api, normal(api))
}

/// Returns the script of an answer with these events.
pub(crate) fn answer(events: &str) -> Vec<Step> {
    vec![head(), Step::Chunk(events.into()), Step::End]
}
