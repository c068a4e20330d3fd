//! Tests of every call of the API.

use crate::harness::{Node, json, message, send};
use serde_json::{Value, json};
use treering::SessionId;

#[tokio::test]
async fn sessions_are_created_listed_named_and_removed() {
    let node = Node::start().await;
    let new = json!({"id": "one", "cwd": "/project", "name": "first"});
    let created = node.call("POST", "/v1/sessions", new.clone()).await;
    assert_eq!((created.status, created.header("location")), (201, "/v1/sessions/one"));
    assert_eq!(created.json()["name"], "first");
    let again = node.call("POST", "/v1/sessions", new).await;
    assert_eq!((again.status, again.code().as_str()), (409, "session_exists"));
    for id in ["two", "three"] {
        node.session(id).await;
    }
    let page = node.get("/v1/sessions?limit=2").await.json();
    assert_eq!(page["sessions"].as_array().unwrap().len(), 2);
    let rest = node.get(&format!("/v1/sessions?cursor={}", page["next"].as_str().unwrap())).await;
    assert_eq!(rest.json()["sessions"].as_array().unwrap().len(), 1);
    assert!(rest.json()["next"].is_null());
    let listed = node.get("/v1/sessions?cwd=/project").await.json();
    assert_eq!(listed["sessions"][0]["id"], "one");
    for (project, count) in [("/project", 1), ("/proj", 0), ("/", 3)] {
        let listed = node.get(&format!("/v1/sessions?project={project}")).await.json();
        assert_eq!(listed["sessions"].as_array().unwrap().len(), count, "{project}");
    }

    let named = node.call("PUT", "/v1/sessions/one/name", json!({"name": "other"})).await;
    assert_eq!(named.json()["name"], "other");
    let session = node.get("/v1/sessions/one").await;
    assert_eq!(session.header("etag"), format!("\"{}\"", session.json()["length"]));
    let request = node.request("GET", "/v1/sessions/one");
    let same = send(request.header("if-none-match", session.header("etag"))).await;
    assert_eq!((same.status, same.body.len()), (304, 0));

    let removed = send(node.request("DELETE", "/v1/sessions/one")).await;
    assert_eq!(removed.status, 204);
    let gone = node.get("/v1/sessions/one").await;
    assert_eq!((gone.status, gone.code().as_str()), (404, "unknown_session"));
    let again = send(node.request("DELETE", "/v1/sessions/one")).await;
    assert_eq!(again.code(), "unknown_session");
}

#[tokio::test]
async fn entries_are_appended_and_read() {
    let node = Node::start().await;
    let session = node.session("chat").await;
    let first = node.say(&session, "one").await;
    let two = json!([
        {"type": "message", "message": {"role": "assistant", "content": [{"type": "text", "text": "two"}]}},
        {"type": "message", "id": "mine", "message": {"role": "user", "content": "three"}},
    ]);
    let appended = node.call("POST", &format!("{session}/entries"), two).await.json();
    assert_eq!(appended["leaf"], "mine");
    assert_eq!(appended["length"], node.get(&session).await.json()["length"]);

    let page = node.get(&format!("{session}/entries?limit=2")).await.json();
    assert_eq!(page["entries"][0]["id"], Value::from(first.as_str()));
    let rest =
        node.get(&format!("{session}/entries?after={}", page["next"].as_str().unwrap())).await;
    assert_eq!(rest.json()["entries"][0]["id"], "mine");
    let request = node.request("GET", &format!("{session}/entries"));
    let lines = send(request.header("accept", "application/x-ndjson")).await;
    assert_eq!(lines.header("content-type"), "application/x-ndjson");
    let lines = String::from_utf8(lines.body).unwrap();
    assert_eq!(lines.lines().count(), 3);
    let entry = node.get(&format!("{session}/entries/mine")).await.json();
    assert_eq!(entry["message"]["content"], "three");
    let unknown = node.get(&format!("{session}/entries/other")).await;
    assert_eq!(unknown.code(), "unknown_entry");

    let tree = node.get(&format!("{session}/tree")).await.json();
    assert_eq!(tree["leaf"], "mine");
    assert_eq!(tree["rows"].as_array().unwrap().len(), 3);
    assert!(tree["rows"][0]["preview"].as_str().unwrap().contains("one"));
    let context = node.get(&format!("{session}/context")).await.json();
    assert_eq!(context["messages"].as_array().unwrap().len(), 3);
    let early = node.get(&format!("{session}/context?leaf={first}&view=anthropic")).await.json();
    assert_eq!(early["request"]["messages"].as_array().unwrap().len(), 1);
    for view in ["treering", "agent", "openai-chat", "openai-responses"] {
        let context = node.get(&format!("{session}/context?view={view}")).await;
        assert_eq!(context.status, 200, "{view}");
    }
    let usage = node.get(&format!("{session}/usage")).await.json();
    assert_eq!(usage["entries"], 3);
    assert_eq!(node.get("/v1/usage").await.json()["sessions"], 1);
}

#[tokio::test]
async fn appends_that_cannot_be_are_refused() {
    let node = Node::start().await;
    let session = node.session("chat").await;
    let path = format!("{session}/entries");
    for (body, status, code) in [
        (json!([]), 400, "invalid_request"),
        (json!({"type": "message"}), 400, "invalid_request"),
        (json!([1]), 422, "invalid_entry"),
        (json!([{"no": "type"}]), 422, "invalid_entry"),
        (json!([{"type": "message"}]), 422, "invalid_entry"),
        (json!([{"type": "custom", "parentId": "nowhere"}]), 422, "invalid_entry"),
        (json!([{"type": "session", "id": "x"}]), 422, "invalid_entry"),
    ] {
        let refused = node.call("POST", &path, body.clone()).await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{body}");
    }
    let no_json = node.request("POST", &path).header("content-type", "text/plain").body("[]");
    assert_eq!(send(no_json).await.code(), "unsupported_media_type");
    let other = node.call("POST", "/v1/sessions/other/entries", message("hello")).await;
    assert_eq!(other.code(), "unknown_session");

    let first = node.say(&session, "one").await;
    let expecting = |leaf: &str| {
        json(node.request("POST", &path), message("next")).header("if-match", format!("\"{leaf}\""))
    };
    assert_eq!(send(expecting(&first)).await.status, 200);
    let moved = send(expecting(&first)).await;
    assert_eq!((moved.status, moved.code().as_str()), (412, "leaf_moved"));
    assert!(moved.json()["leaf"].is_string());

    let readonly = json!({"id": "cc", "dialect": "claude-code"});
    let refused = node.call("POST", "/v1/sessions", readonly).await;
    assert_eq!((refused.status, refused.code().as_str()), (422, "not_writable"));
}

#[tokio::test]
async fn the_leaf_moves_and_entries_get_labels() {
    let node = Node::start().await;
    let session = node.session("chat").await;
    let first = node.say(&session, "one").await;
    node.say(&session, "two").await;
    let moved = node.call("PUT", &format!("{session}/leaf"), json!({"entry": first})).await.json();
    assert_eq!(moved["leaf"], Value::from(first.as_str()));
    node.say(&session, "three").await;
    let context = node.get(&format!("{session}/context")).await.json();
    assert_eq!(context["messages"].as_array().unwrap().len(), 2);
    let labels = format!("{session}/labels/{first}");
    let label = json!({"label": "start"});
    let labeled = node.call("PUT", &labels, label.clone()).await.json();
    assert_eq!(node.call("PUT", &labels, label).await.json(), labeled);
    let tree = node.get(&format!("{session}/tree")).await.json();
    assert_eq!(tree["rows"][0]["label"], "start");
    let start = node.call("PUT", &format!("{session}/leaf"), json!({"entry": null})).await.json();
    assert!(start["leaf"].is_null());
    let unknown = node.call("PUT", &format!("{session}/leaf"), json!({"entry": "x"})).await;
    assert_eq!(unknown.code(), "unknown_entry");
}

#[tokio::test]
async fn branches_are_forked_picked_merged_and_compacted() {
    let node = Node::start().await;
    let session = node.session("chat").await;
    let first = node.say(&session, "one").await;
    let second = node.say(&session, "two").await;
    let fork = json!({"at": first, "id": "fork", "cwd": "/elsewhere"});
    let fork = node.call("POST", &format!("{session}/fork"), fork).await;
    assert_eq!((fork.status, fork.header("location")), (201, "/v1/sessions/fork"));
    assert_eq!(fork.json()["cwd"], "/elsewhere");
    let context = node.get("/v1/sessions/fork/context").await.json();
    assert_eq!(context["messages"].as_array().unwrap().len(), 1);

    node.call("PUT", &format!("{session}/leaf"), json!({"entry": first})).await;
    node.say(&session, "three").await;
    let pick = json!({"first": second, "dryRun": true});
    let planned = node.call("POST", &format!("{session}/cherry-pick"), pick).await.json();
    assert_eq!(
        (planned["entries"].as_array().unwrap().len(), planned["ids"].as_array().unwrap().len()),
        (1, 0)
    );
    let merge = json!({"from": second});
    let merged = node.call("POST", &format!("{session}/merge"), merge.clone()).await.json();
    assert_eq!((&merged["merged"], merged["copies"].as_array().unwrap().len()), (&json!(true), 1));
    let again = node.call("POST", &format!("{session}/merge"), merge).await.json();
    assert_eq!(again["merged"], false);
    let picked = node
        .call("POST", "/v1/sessions/fork/cherry-pick", json!({"first": second, "from": "chat"}))
        .await;
    assert_eq!(picked.json()["ids"].as_array().unwrap().len(), 1);

    let small = node.call("POST", &format!("{session}/compaction"), json!({})).await.json();
    assert_eq!((&small["compacted"], &small["reason"]), (&json!(false), &json!("too_small")));
    let long = "word ".repeat(2000);
    for _ in 0..4 {
        node.say(&session, &long).await;
    }
    let keep = json!({"keepRecentTokens": 100, "dryRun": true});
    let planned = node.call("POST", &format!("{session}/compaction"), keep).await.json();
    assert!(planned["conversation"].as_str().unwrap().contains("word"));
    let keep = json!({"keepRecentTokens": 100, "summary": "They said words."});
    let done = node.call("POST", &format!("{session}/compaction"), keep).await.json();
    assert_eq!(done["compacted"], true);
    let context = node.get(&format!("{session}/context")).await.json();
    assert!(context["messages"][0].to_string().contains("They said words."));
    for _ in 0..4 {
        node.say(&session, &long).await;
    }
    let extracted = node
        .call("POST", &format!("{session}/compaction"), json!({"keepRecentTokens": 100}))
        .await
        .json();
    assert_eq!(extracted["compacted"], true);
    assert!(!extracted["summary"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn the_log_is_read_and_appended_to() {
    let node = Node::start().await;
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"raw\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}\n";
    let line = "{\"type\":\"message\",\"id\":\"0000000a\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"hello\"}}\n";
    let lines = |method: &str, path: &str, body: &str| {
        let request = node.request(method, path).header("content-type", "application/x-ndjson");
        request.body(body.to_owned())
    };
    let created = send(lines("POST", "/v1/sessions?id=raw", header)).await;
    assert_eq!((created.status, &created.json()["length"]), (201, &json!(header.len())));
    for (body, code) in [("", "not_a_session"), ("{}", "not_a_session"), ("{}\n", "not_a_session")]
    {
        let refused = send(lines("POST", "/v1/sessions?id=raw2", body)).await;
        assert_eq!(refused.code(), code, "{body}");
    }
    let path = format!("/v1/sessions/raw/log?at={}", header.len());
    let appended = send(lines("POST", &path, line)).await.json();
    assert_eq!(appended, json!({"start": header.len(), "length": header.len() + line.len()}));
    let moved = send(lines("POST", &path, line)).await;
    assert_eq!((moved.status, moved.code().as_str()), (409, "moved"));
    assert_eq!(moved.json()["length"], header.len() + line.len());
    for body in ["", "no newline"] {
        let refused = send(lines("POST", &path, body)).await;
        assert_eq!(refused.code(), "invalid_request");
    }

    let log = node.get("/v1/sessions/raw/log").await;
    assert_eq!(log.body, [header, line].concat().into_bytes());
    let length = log.body.len();
    assert_eq!(log.header("x-treering-length"), length.to_string());
    let range =
        |range: String| send(node.request("GET", "/v1/sessions/raw/log").header("range", range));
    let part = range(format!("bytes={}-", header.len())).await;
    assert_eq!((part.status, part.body.as_slice()), (206, line.as_bytes()));
    let expected = format!("bytes {}-{}/{length}", header.len(), length - 1);
    assert_eq!(part.header("content-range"), expected);
    let none = range(format!("bytes={length}-")).await;
    assert_eq!((none.status, none.header("content-range")), (416, &*format!("bytes */{length}")));
    // A part is for a client that has the beginning of the same version.
    for (tag, status) in [(format!("\"{length}\""), 206), ("\"1\"".to_owned(), 200)] {
        let request = node.request("GET", "/v1/sessions/raw/log").header("range", "bytes=1-");
        assert_eq!(send(request.header("if-range", tag)).await.status, status);
    }
    let head = send(node.request("HEAD", "/v1/sessions/raw/log")).await;
    assert_eq!((head.status, head.header("x-treering-length")), (200, &*length.to_string()));

    use base64::Engine;
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let sample = |offset: usize, text: &str| {
        let path = format!("/v1/sessions/raw/log?at={length}");
        let request = lines("POST", &path, line);
        send(request.header("x-treering-end", format!("{offset}:{}", base64(text))))
    };
    assert_eq!(sample(header.len(), "something else").await.code(), "moved");
    assert_eq!(sample(header.len(), &line[..100]).await.status, 200);
    let start = json!({"expected": base64("{\"type\""), "bytes": base64("{\"type\"")});
    let replaced = node.call("POST", "/v1/sessions/raw/log/start", start).await;
    assert_eq!(replaced.json(), json!({"replaced": true}));
}

#[tokio::test]
async fn sessions_are_searched_and_exported() {
    let node = Node::start().await;
    let session = node.session("chat").await;
    node.session("other").await;
    let id = node
        .say(&session, "Where is the parser? key ghp_Zk3vQ9xW7nB2mL5tR8yU1pS6dF4gH0jKcVeA")
        .await;
    let found = node.get("/v1/search?q=parser").await.json();
    assert_eq!(found["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(found["sessions"][0]["hits"][0]["id"], Value::from(id));
    assert_eq!(node.get("/v1/search?q=%22unclosed").await.code(), "invalid_request");
    for (format, media) in [
        ("html", "text/html; charset=utf-8"),
        ("markdown", "text/markdown; charset=utf-8"),
        ("json", "application/json"),
        ("jsonl", "application/x-ndjson"),
    ] {
        let document = node.get(&format!("{session}/export?format={format}")).await;
        assert_eq!((document.status, document.header("content-type")), (200, media));
        assert!(String::from_utf8_lossy(&document.body).contains("parser"), "{format}");
        let redacted = node.get(&format!("{session}/export?format={format}&redact=true")).await;
        assert_eq!(redacted.status, 200);
        assert!(!String::from_utf8_lossy(&redacted.body).contains("Zk3vQ9xW7nB2"), "{format}");
    }
}

#[tokio::test]
async fn the_server_tells_about_itself() {
    let node = Node::start().await;
    for path in ["/healthz", "/readyz", "/openapi.json"] {
        let answer = send(node.client.get(node.url(path))).await;
        assert_eq!(answer.status, 200, "{path}");
    }
    let metrics = node.get("/metrics").await;
    assert!(String::from_utf8(metrics.body).unwrap().contains("treering_http_requests_total"));
    let mark = node.get("/v1/changes").await.json();
    assert_eq!(mark["sessions"], json!([]));
    node.session("chat").await;
    let changes = node.get(&format!("/v1/changes?mark={}", mark["mark"].as_str().unwrap())).await;
    assert_eq!(changes.json()["sessions"][0]["id"], "chat");
    let nothing = node.get("/v1/nothing").await;
    assert_eq!((nothing.status, nothing.code().as_str()), (404, "not_found"));
    let method = node.call("PATCH", "/v1/sessions", json!({})).await;
    assert_eq!((method.status, method.header("allow")), (405, "GET, POST, HEAD"));
}

#[tokio::test]
async fn large_answers_are_compressed_for_those_who_accept_it() {
    let node = Node::start().await;
    let session = node.session("chat").await;
    node.say(&session, &"all work and no play ".repeat(1000)).await;
    let path = format!("{session}/context");
    let plain = node.get(&path).await;
    assert_eq!(plain.header("content-encoding"), "");
    let packed = send(node.request("GET", &path).header("accept-encoding", "gzip")).await;
    assert_eq!(packed.header("content-encoding"), "gzip");
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*packed.body), &mut text)
        .unwrap();
    assert_eq!(text, plain.body);
    assert!(packed.body.len() < plain.body.len() / 10);
}

#[tokio::test]
async fn a_log_without_a_header_has_no_context_in_any_view() {
    let node = Node::start().await;
    node.store.create(&SessionId::new("empty").unwrap(), &mut b"".as_slice()).unwrap();
    for query in ["", "?view=treering", "?view=agent", "?view=anthropic", "?leaf="] {
        let answer = node.get(&format!("/v1/sessions/empty/context{query}")).await;
        assert_eq!((answer.status, answer.code().as_str()), (422, "not_a_session"), "{query}");
    }
    let session = node.session("begun").await;
    for query in ["", "?view=agent", "?leaf="] {
        assert_eq!(node.get(&format!("{session}/context{query}")).await.status, 200, "{query}");
    }
}

/// In a directory, the project of a session is part of the name of its file.
#[tokio::test]
async fn a_project_that_no_file_can_be_named_after_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::on(std::sync::Arc::new(treering::Catalog::new(dir.path()))).await;
    for cwd in ["a\0b".to_owned(), "x".repeat(4000)] {
        let refused = node.call("POST", "/v1/sessions", json!({"cwd": cwd})).await;
        assert_eq!(refused.code(), "not_applicable", "{refused:?}");
    }
}
