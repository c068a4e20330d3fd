//! The OpenAPI document: it has the operations that the server has, and its schemas describe the
//! answers.

use crate::harness::{Answer, Node, json, message, send};
use serde_json::{Value, json};

/// Returns why a value is not what a schema describes.
fn violation(document: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document.pointer(reference.strip_prefix('#').unwrap());
        return violation(document, target.unwrap(), value, at);
    }
    if let Some(options) = schema["anyOf"].as_array() {
        let mut found = options.iter().map(|option| violation(document, option, value, at));
        return match found.any(|found| found.is_none()) {
            true => None,
            false => Some(format!("{at}: fits none of several schemas")),
        };
    }
    let types = match &schema["type"] {
        Value::Array(types) => types.clone(),
        Value::Null => Vec::new(),
        one => vec![one.clone()],
    };
    let name = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = |kind: &Value| kind == name || (kind == "number" && name == "integer");
    if !types.is_empty() && !types.iter().any(fits) {
        return Some(format!("{at}: is {name}, not {}", schema["type"]));
    }
    if let Some(values) = schema["enum"].as_array()
        && !values.contains(value)
    {
        return Some(format!("{at}: {value} is not one of {values:?}"));
    }
    if let Some(items) = value.as_array() {
        let mut items = items.iter().enumerate();
        return items.find_map(|(index, item)| {
            violation(document, &schema["items"], item, &format!("{at}[{index}]"))
        });
    }
    let object = value.as_object()?;
    let required = schema["required"].as_array().into_iter().flatten();
    let mut missing = required.filter(|name| !object.contains_key(name.as_str().unwrap()));
    if let Some(missing) = missing.next() {
        return Some(format!("{at}: {missing} is missing"));
    }
    object.iter().find_map(|(name, member)| {
        let at = format!("{at}.{name}");
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => Some(format!("{at}: is not described")),
            (Value::Null, Value::Null | Value::Bool(true)) => None,
            (Value::Null, schema) | (schema, _) => violation(document, schema, member, &at),
        }
    })
}

/// Checks an answer against the document.
fn check(document: &Value, operation: &str, answer: &Answer) {
    let operations = document["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|path| path.as_object().unwrap().values());
    let described = operations.into_iter().find(|described| described["operationId"] == operation);
    let response =
        &described.unwrap_or_else(|| panic!("{operation}"))["responses"][answer.status.to_string()];
    assert!(response.is_object(), "{operation}: {} is not described", answer.status);
    if answer.body.is_empty() {
        return;
    }
    let media = answer.header("content-type").split(';').next().unwrap();
    let content = &response["content"][media];
    assert!(content.is_object(), "{operation} {}: {media} is not described", answer.status);
    if media.ends_with("json") && media != "application/x-ndjson" {
        let violation = violation(document, &content["schema"], &answer.json(), operation);
        assert_eq!(violation, None);
    }
}

#[tokio::test]
async fn answers_are_what_the_document_describes() {
    let node = Node::start().await;
    let document = node.get("/openapi.json").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    let (session, all) = ("/v1/sessions/chat", "/v1/sessions");
    let call = |method: &str, path: &str, body: Value| send(json(node.request(method, path), body));
    let new = json!({"id": "chat", "name": "a name", "cwd": "/p"});
    check(&document, "createSession", &call("POST", all, new.clone()).await);
    check(&document, "createSession", &call("POST", all, new).await);
    check(&document, "createSession", &call("POST", all, json!({"id": "../x"})).await);
    check(&document, "createSession", &call("POST", all, json!([])).await);
    check(
        &document,
        "appendEntries",
        &call("POST", &format!("{session}/entries"), message("one")).await,
    );
    check(
        &document,
        "appendEntries",
        &call("POST", &format!("{session}/entries"), json!([{}])).await,
    );
    check(
        &document,
        "moveLeaf",
        &call("PUT", &format!("{session}/leaf"), json!({"entry": null})).await,
    );
    let id = node.say(session, "two").await;
    check(
        &document,
        "labelEntry",
        &call("PUT", &format!("{session}/labels/{id}"), json!({"label": "x"})).await,
    );
    check(
        &document,
        "renameSession",
        &call("PUT", &format!("{session}/name"), json!({"name": "x"})).await,
    );
    check(&document, "forkSession", &call("POST", &format!("{session}/fork"), json!({})).await);
    check(
        &document,
        "cherryPick",
        &call("POST", &format!("{session}/cherry-pick"), json!({"first": id, "force": true})).await,
    );
    check(
        &document,
        "mergeBranch",
        &call("POST", &format!("{session}/merge"), json!({"from": id})).await,
    );
    check(
        &document,
        "compactSession",
        &call("POST", &format!("{session}/compaction"), json!({})).await,
    );
    check(
        &document,
        "replaceLogStart",
        &call(
            "POST",
            &format!("{session}/log/start"),
            json!({"expected": "e30=", "bytes": "e30="}),
        )
        .await,
    );
    for (operation, path) in [
        ("listSessions", "/v1/sessions?limit=1"),
        ("listSessions", "/v1/sessions?limit=x"),
        ("getSession", session),
        ("getSession", "/v1/sessions/none"),
        ("listEntries", "/v1/sessions/chat/entries?limit=1"),
        ("getEntry", &format!("{session}/entries/{id}")),
        ("getEntry", &format!("{session}/entries/none")),
        ("getTree", "/v1/sessions/chat/tree"),
        ("getContext", "/v1/sessions/chat/context"),
        ("getContext", "/v1/sessions/chat/context?view=anthropic"),
        ("getSessionUsage", "/v1/sessions/chat/usage"),
        ("exportSession", "/v1/sessions/chat/export"),
        ("exportSession", "/v1/sessions/chat/export?format=markdown"),
        ("exportSession", "/v1/sessions/chat/export?format=json"),
        ("exportSession", "/v1/sessions/chat/export?format=jsonl"),
        ("readLog", "/v1/sessions/chat/log"),
        ("listChanges", "/v1/changes?mark=0"),
        ("search", "/v1/search?q=one"),
        ("getUsage", "/v1/usage"),
        ("getHealth", "/healthz"),
        ("getReadiness", "/readyz"),
        ("getMetrics", "/metrics"),
        ("getDocument", "/openapi.json"),
        ("logIn", "/login?code=x"),
    ] {
        check(&document, operation, &node.get(path).await);
    }
    check(&document, "removeSession", &send(node.request("DELETE", session)).await);
    check(&document, "removeSession", &send(node.request("DELETE", session)).await);
}

#[tokio::test]
async fn examples_are_what_the_document_describes() {
    let document: Value = serde_json::from_str(&treering_server::Server::openapi()).unwrap();
    let mut checked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let responses = operation["responses"].as_object().unwrap().values();
            let contents = responses.map(|response| &response["content"]);
            for content in contents.chain([&operation["requestBody"]["content"]]) {
                for (media, described) in content.as_object().into_iter().flatten() {
                    if media == "application/json" && !described["example"].is_null() {
                        let at = format!("{method} {path}");
                        let found =
                            violation(&document, &described["schema"], &described["example"], &at);
                        assert_eq!(found, None);
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked > 15, "{checked}");
}

/// The router and the document are built from one table. Only the web page may have routes besides
/// those.
#[tokio::test]
async fn the_server_has_the_operations_of_the_document_and_no_others() {
    let node = Node::start().await;
    let document = node.get("/openapi.json").await.json();
    for (path, described) in document["paths"].as_object().unwrap() {
        let concrete = path.replace("{id}", "none").replace("{entry}", "none");
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
            // The body is not read: that of events does not end.
            let answer = node.request(method, &concrete).send().await.unwrap();
            let is_described = described[method.to_lowercase()].is_object();
            let status = answer.status().as_u16();
            assert_eq!(status != 405, is_described, "{method} {path}: {status}");
            if status == 404 {
                let text = String::from_utf8(answer.bytes().await.unwrap().to_vec()).unwrap();
                assert!(!text.contains("\"not_found\""), "{method} {path}: {text}");
            }
        }
    }
    for path in ["/v1", "/v1/", "/v2/sessions", "/metrics/", "/admin"] {
        assert_eq!(node.get(path).await.status, 404, "{path}");
    }
}

/// A connection refuses what is too long before it knows the call, so every call may be answered
/// like that.
#[tokio::test]
async fn every_operation_may_be_too_long() {
    let node = Node::start().await;
    let document = node.get("/openapi.json").await.json();
    let long = "x".repeat(50_000);
    let long = format!("GET /v1/sessions?cwd={long} HTTP/1.1\r\nHost: x\r\nx-a: {long}\r\n\r\n");
    let refused = node.raw(long.as_bytes()).await;
    assert!(refused.starts_with("HTTP/1.1 431 "), "{refused}");
    assert!(refused.ends_with("\r\n\r\n"), "no body: {refused}");
    let paths = document["paths"].as_object().unwrap().values();
    for operation in paths.flat_map(|path| path.as_object().unwrap().values()) {
        for status in ["400", "414", "431"] {
            let about = operation["responses"][status]["description"].as_str();
            let about = about.unwrap_or_else(|| panic!("{} {status}", operation["operationId"]));
            assert!(about.contains("no body"), "{about}");
        }
    }
}
