//! Tests of the web page: its responses, access to it, and that no content of a session becomes
//! markup.

use crate::harness::{ADMIN, Answer, Node, TIMEOUT, limits, send};
use serde_json::json;
use std::sync::Arc;
use treering::store::MemoryStore;
use treering_server::{Grant, Scope};

const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}\"'";

fn browser() -> reqwest::Client {
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    client.build().unwrap()
}

/// Gets a page as a browser that logged in with a token does.
async fn get(node: &Node, token: &str, path: &str) -> Answer {
    let request = browser().get(node.url(path)).header("accept", "text/html");
    send(request.header("cookie", format!("a=b; treering_session={token}"))).await
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

/// Creates a session with two branches, whose texts are hostile. Returns its entries.
async fn hostile(node: &Node) -> Vec<String> {
    let created = json!({"id": "chat", "cwd": format!("/{HOSTILE}")});
    assert_eq!(node.call("POST", "/v1/sessions", created).await.status, 201);
    let session = "/v1/sessions/chat".to_owned();
    let named = node.call("PUT", &format!("{session}/name"), json!({"name": HOSTILE})).await;
    assert_eq!(named.status, 200);
    let mut ids = vec![node.say(&session, HOSTILE).await];
    for _ in 0..2 {
        let entry = json!([{"type": "message", "parentId": ids[0], "message": {"role": "user", "content": HOSTILE}}]);
        let appended = node.call("POST", &format!("{session}/entries"), entry).await;
        ids.push(appended.json()["ids"][0].as_str().unwrap().to_owned());
    }
    let answer = json!([{"type": "message", "message": {
        "role": "assistant", "provider": HOSTILE, "model": HOSTILE, "stopReason": "stop",
        "content": [{"type": "text", "text": HOSTILE}],
        "usage": {"input": 10, "output": 5, "cost": {"total": 0.25}},
    }}]);
    let appended = node.call("POST", &format!("{session}/entries"), answer).await;
    ids.push(appended.json()["ids"][0].as_str().unwrap().to_owned());
    let label = format!("{session}/labels/{}", ids[1]);
    assert_eq!(node.call("PUT", &label, json!({"label": HOSTILE})).await.status, 200);
    ids
}

/// The paths of all pages about the hostile session.
fn pages(ids: &[String]) -> Vec<String> {
    let last = &ids[3];
    vec![
        "/".to_owned(),
        "/?q=script".to_owned(),
        "/?q=%3Cscript%3E&project=%3Cscript%3E&agent=%22%3E".to_owned(),
        "/sessions?order=recent".to_owned(),
        "/usage".to_owned(),
        "/usage?by=session&measure=tokens&days=".to_owned(),
        "/usage?by=project&days=7".to_owned(),
        "/s/chat".to_owned(),
        format!("/s/chat?entry={}&filter=all", ids[1]),
        "/s/chat?q=%22%3E%3Cscript%3E".to_owned(),
        format!("/s/chat/entry?entry={last}"),
        format!("/s/chat/context?entry={last}"),
        format!("/s/chat/compare?a={}&b={last}", ids[1]),
    ]
}

#[tokio::test]
async fn pages_are_complete_strict_and_inert() {
    let node = Node::start().await;
    let ids = hostile(&node).await;
    for path in pages(&ids) {
        let answer = get(&node, ADMIN, &path).await;
        assert_eq!(answer.status, 200, "{path}: {}", text(&answer));
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8", "{path}");
        let policy = answer.header("content-security-policy");
        for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        let page = text(&answer);
        assert!(!page.contains("<script>") && !page.contains("<img"), "{path}: {page}");
        assert!(!page.contains("\u{202e}"), "{path}");
        assert!(!page.contains(" style=") && !page.contains(" onclick="), "{path}");
        for link in page.split(" src=\"").skip(1).chain(page.split("<link ").skip(1)) {
            assert!(!link.starts_with("http"), "{path}: {link:.40}");
        }
    }
}

#[tokio::test]
async fn parts_of_pages_are_json_with_inert_html() {
    let node = Node::start().await;
    let ids = hostile(&node).await;
    let rows = get(&node, ADMIN, "/s/chat/rows?filter=all&count=3").await.json();
    assert_eq!((rows["total"].as_u64(), rows["from"].as_u64()), (Some(6), Some(0)));
    assert_eq!(rows["html"].as_str().unwrap().matches("role=treeitem").count(), 3);
    let rows = get(&node, ADMIN, &format!("/s/chat/rows?around={}", ids[2])).await.json();
    assert_eq!((rows["total"].as_u64(), rows["complete"].as_bool()), (Some(4), Some(true)));
    let branch = get(&node, ADMIN, &format!("/s/chat/branch?around={}", ids[1])).await.json();
    assert_eq!(branch["last"].as_str(), Some(ids[1].as_str()));
    assert_eq!(branch["isActive"], json!(false));
    let html = branch["html"].as_str().unwrap();
    assert!(html.contains("<span>1/2</span>"), "{html}");
    for html in [html, rows["html"].as_str().unwrap()] {
        assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
    }
    let after = get(&node, ADMIN, &format!("/s/chat/branch?tip={}&after={}", ids[2], ids[0])).await;
    assert_eq!(after.json()["first"].as_str(), Some(ids[2].as_str()));
    let folded = get(&node, ADMIN, &format!("/s/chat/rows?folds={}&q=script", ids[1])).await;
    assert_eq!(folded.json()["total"].as_u64(), Some(4));
}

#[tokio::test]
async fn browsers_without_a_login_are_led_to_it() {
    let node = Node::start().await;
    let ids = hostile(&node).await;
    node.grant("stranger", "elsewhere", Scope::Admin, None);
    let paths = pages(&ids).into_iter().chain(["/s/chat/rows".into(), "/s/chat/branch".into()]);
    for path in paths.chain([format!("/s/chat/download?entry={}", ids[0])]) {
        let answer = send(browser().get(node.url(&path))).await;
        assert_eq!(answer.status, 303, "{path}");
        assert!(answer.header("location").starts_with("/login?next=%2F"), "{path}");
        let answer = get(&node, "wrong", &path).await;
        assert_eq!(answer.status, 303, "{path}");
        let answer = get(&node, "stranger", &path).await;
        assert_eq!(answer.status, 403, "{path}");
        assert!(text(&answer).contains("<h1>"), "{path}");
        // The page's script gets a problem, which it can read.
        let request = browser().get(node.url(&path)).header("x-treering-part", "1");
        let answer = send(request).await;
        assert_eq!((answer.status, answer.code().as_str()), (401, "unauthorized"), "{path}");
    }
}

#[tokio::test]
async fn a_token_becomes_the_cookie_of_a_browser() {
    let node = Node::start().await;
    node.grant("reader", "main", Scope::Read, None);
    node.grant("old", "main", Scope::Read, Some(1));
    let form = send(browser().get(node.url("/login?next=/s/chat"))).await;
    assert_eq!(form.status, 200);
    assert!(text(&form).contains("value=\"/s/chat\""));
    let post = |body: &str| {
        let request = browser().post(node.url("/login/token")).body(body.to_owned());
        send(request.header("content-type", "application/x-www-form-urlencoded"))
    };
    for body in ["token=wrong", "token=old", "token=", "token=a%0d%0ab", ""] {
        let refused = post(body).await;
        assert_eq!(refused.status, 403, "{body}");
        assert_eq!(refused.header("set-cookie"), "", "{body}");
    }
    assert_eq!(node.refusals("unknown_token").await, 5);
    let entered = post("token=reader&next=//evil.example").await;
    assert_eq!((entered.status, entered.header("location")), (303, "/"));
    let cookie = entered.header("set-cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert_eq!(get(&node, "reader", "/").await.status, 200);
    assert!(node.tokens.revoke("reader"));
    assert_eq!(get(&node, "reader", "/").await.status, 303);
    let left = send(browser().post(node.url("/logout"))).await;
    assert_eq!((left.status, left.header("location")), (303, "/login"));
    assert!(left.header("set-cookie").contains("Max-Age=0"));
}

#[tokio::test]
async fn wrong_tokens_and_codes_of_a_login_are_limited() {
    for path in ["/login/token", "/login?code=wrong"] {
        let mut few = limits();
        few.refused_rate = 1;
        let node = Node::with(Arc::new(MemoryStore::new()), few, |server| server).await;
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        let mut statuses = Vec::new();
        while !statuses.contains(&429) && tokio::time::Instant::now() < deadline {
            let request = match path {
                "/login/token" => browser()
                    .post(node.url(path))
                    .header("content-type", "application/x-www-form-urlencoded")
                    .body("token=wrong"),
                _ => browser().get(node.url(path)),
            };
            statuses.push(send(request).await.status);
        }
        assert!(statuses.contains(&403) && statuses.contains(&429), "{path}: {statuses:?}");
    }
}

#[tokio::test]
async fn pages_of_other_origins_cannot_log_in_or_look() {
    let node = Node::start().await;
    let post = browser().post(node.url("/login/token")).body("token=x");
    let post = post.header("content-type", "application/x-www-form-urlencoded");
    let refused = send(post.header("origin", "http://evil.example")).await;
    assert_eq!(refused.status, 403);
    let request = browser().get(node.url("/")).header("sec-fetch-site", "cross-site");
    let refused = send(request.header("cookie", format!("treering_session={ADMIN}"))).await;
    assert_eq!(refused.status, 403);
    assert!(text(&refused).contains("A link on another site led here"), "{}", text(&refused));
}

#[tokio::test]
async fn pages_for_readers_and_of_read_only_sessions_explain_it() {
    let node = Node::start().await;
    hostile(&node).await;
    node.grant("reader", "main", Scope::Read, None);
    let page = text(&get(&node, "reader", "/s/chat").await);
    assert!(page.contains("data-read-only=\"the token may only read\""), "{page:.600}");
    let page = text(&get(&node, ADMIN, "/s/chat").await);
    assert!(page.contains("data-read-only=\"\"") && page.contains("data-can-write=\"yes\""));
    // A fork can be written for the agents whose files treering writes.
    let (_, rest) = page.split_once("data-dialects=\"").unwrap();
    let dialects: Vec<&str> = rest.split('"').next().unwrap().split(' ').collect();
    let writable = treering::Dialect::ALL.into_iter().filter(|dialect| dialect.is_writable());
    assert_eq!(dialects, writable.map(treering::Dialect::name).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_link_of_the_server_leads_to_the_page() {
    let mut path = String::new();
    let grant = Grant {
        name: "browser".to_owned(),
        space: "main".to_owned(),
        scope: Scope::Write,
        expires: None,
    };
    let node = Node::with(Arc::new(MemoryStore::new()), limits(), |server| {
        let server = server.loopback(grant);
        path = server.login_path().unwrap();
        server
    });
    let node = node.await;
    let entered = send(browser().get(node.url(&path))).await;
    assert_eq!((entered.status, entered.header("location")), (303, "/"));
    let cookie = entered.header("set-cookie").split(['=', ';']).nth(1).unwrap().to_owned();
    let page = get(&node, &cookie, "/").await;
    assert_eq!(page.status, 200);
    assert!(text(&page).contains("There are no sessions yet"));
}

#[tokio::test]
async fn invalid_requests_get_an_error_page() {
    let node = Node::start().await;
    hostile(&node).await;
    for (path, status) in [
        ("/s/none", 404),
        ("/s/chat?entry=none", 404),
        ("/s/chat/branch?tip=none", 404),
        ("/s/chat/context?entry=none", 404),
        ("/s/chat/compare?a=none", 404),
        ("/s/chat/download?dialect=none", 400),
        ("/s/chat/rows?q=re%3A(", 400),
        ("/s/..%2f", 400),
        ("/?unknown=1", 400),
        ("/nowhere", 404),
    ] {
        let answer = get(&node, ADMIN, path).await;
        assert_eq!(answer.status, status, "{path}");
        assert!(text(&answer).contains("<h1>"), "{path}");
        assert!(!answer.header("content-security-policy").contains("unsafe"));
    }
    // The error of a query that cannot be parsed is shown beside its field.
    for (path, part) in [("/?q=re%3A(", "id=refused"), ("/s/chat?q=re%3A(", "the query, at")] {
        let answer = get(&node, ADMIN, path).await;
        assert_eq!(answer.status, 200);
        assert!(text(&answer).contains(part), "{path}");
    }
    // Programs get problems as they did.
    let answer = send(browser().get(node.url("/nowhere"))).await;
    assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"));
}

#[tokio::test]
async fn files_of_the_page_are_kept_by_browsers() {
    let node = Node::start().await;
    let page = text(&get(&node, ADMIN, "/").await);
    let style = page.split("href=\"/assets/").nth(1).unwrap().split('"').next().unwrap();
    let answer = send(browser().get(node.url(&format!("/assets/{style}")))).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/css; charset=utf-8"));
    assert!(answer.header("cache-control").contains("immutable"));
    let other = send(browser().get(node.url("/assets/other/style.css"))).await;
    assert_eq!(other.status, 200);
    assert!(!other.header("cache-control").contains("immutable"));
    let none = send(browser().get(node.url("/assets/other/none.js"))).await;
    assert_eq!(none.status, 404);
}

#[tokio::test]
async fn usage_is_a_table_too() {
    let node = Node::start().await;
    hostile(&node).await;
    let answer = get(&node, ADMIN, "/usage.csv?by=project&days=").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/csv; charset=utf-8"));
    let text = text(&answer);
    let mut lines = text.lines();
    let head = "project,sessions,requests,input,output,cache_read,cache_write,total,cost,unpriced";
    assert_eq!(lines.next(), Some(head));
    assert!(lines.next().unwrap().ends_with(",1,1,10,5,0,0,15,0.25,0"), "{text}");
    let page = get(&node, ADMIN, "/usage?by=agent&days=").await;
    assert!(self::text(&page).contains("<title>pi: $0.25</title>"), "{}", self::text(&page));
}

#[tokio::test]
async fn a_fork_can_be_downloaded_in_any_dialect() {
    let node = Node::start().await;
    let ids = hostile(&node).await;
    for dialect in ["pi", "tau", "omp"] {
        let path = format!("/s/chat/download?entry={}&dialect={dialect}", ids[1]);
        let answer = get(&node, ADMIN, &path).await;
        assert_eq!(answer.status, 200, "{dialect}");
        assert!(answer.header("content-disposition").starts_with("attachment; filename="));
        let created = send(
            node.request("POST", &format!("/v1/sessions?id=from-{dialect}"))
                .header("content-type", "application/x-ndjson")
                .body(answer.body),
        );
        let created = created.await;
        assert_eq!((created.status, &created.json()["agent"]), (201, &json!(dialect)));
    }
}
