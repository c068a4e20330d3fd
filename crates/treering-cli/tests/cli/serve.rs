//! Tests of the server as a program: start, answers, end.

use crate::support::{Lines, TestDir};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

/// A running server.
struct Served {
    child: Child,
    address: String,
    token: String,
}

impl Served {
    fn start(test_dir: &TestDir, args: &[&str]) -> Self {
        let mut all = vec!["serve", "--listen", "127.0.0.1:0", "--token-file", "state/token"];
        all.extend(args);
        let mut command = test_dir.command(&all);
        command.env("TREERING_SESSIONS", test_dir.path().join("sessions"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let line = Lines::of(child.stdout.take().unwrap()).next();
        let address = line.strip_prefix("listening on http://").expect("an address").to_owned();
        let token = test_dir.read("state/token").trim().to_owned();
        Served { child, address, token }
    }

    /// Returns the status and the body of an answer.
    fn get(&self, path: &str, token: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    #[cfg(unix)]
    fn terminate(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(
            std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success()
        );
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It has ended already if the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
#[test]
fn the_sessions_of_this_machine_are_served() {
    let test_dir = TestDir::empty();
    test_dir.run(&["append", "sessions/chat.jsonl", "--user", "hello"]).ok();
    let served = Served::start(&test_dir, &[]);
    assert_eq!(served.get("/healthz", "").0, 200);
    let (status, body) = served.get("/v1/sessions", &served.token);
    assert_eq!(status, 200, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["sessions"][0]["firstMessage"], "hello", "{body}");
    // Another program continues to write.
    test_dir.run(&["append", "sessions/chat.jsonl", "--user", "and on"]).ok();
    let id = body["sessions"][0]["id"].as_str().unwrap();
    let (status, context) = served.get(&format!("/v1/sessions/{id}/context"), &served.token);
    assert!(status == 200 && context.contains("and on"), "{context}");
    assert_eq!(served.terminate(), Some(0));
}

#[cfg(unix)]
#[test]
fn a_directory_is_served_and_the_server_ends_well() {
    let test_dir = TestDir::empty();
    std::fs::create_dir(test_dir.path().join("store")).unwrap();
    test_dir.run(&["append", "nightly", "--user", "hello", "--store", "store"]).ok();
    let served = Served::start(&test_dir, &["--store", "store"]);
    let (status, body) = served.get("/v1/sessions", &served.token);
    assert_eq!(status, 200, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["sessions"][0]["id"], "nightly");
    assert_eq!(served.get("/v1/sessions", "tr_not-the-token").0, 401);
    // The token is for the user alone.
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(test_dir.path().join("state/token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
    assert_eq!(served.terminate(), Some(0));
}

/// With `--drain`, a load balancer sees that the node is about to stop before connections fail.
#[cfg(unix)]
#[test]
fn readiness_ends_before_connections_are_refused() {
    let test_dir = TestDir::empty();
    let mut served = Served::start(&test_dir, &["--drain", "1000"]);
    assert_eq!(served.get("/readyz", "").0, 200);
    let id = served.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    while served.get("/readyz", "").0 != 503 {}
    assert_eq!(served.get("/v1/sessions", &served.token).0, 200);
    assert!(served.child.try_wait().unwrap().is_none());
    let wrong = test_dir.run(&["serve", "--drain=-1"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("--drain"), "{}", wrong.stderr);
}

#[test]
fn an_address_or_a_token_file_that_cannot_be_used_is_explained() {
    let test_dir = TestDir::empty();
    std::fs::write(test_dir.path().join("short"), "secret").unwrap();
    let failed =
        test_dir.run(&["serve", "--listen", "127.0.0.1:0", "--token-file", "short"]).failed();
    assert!(failed.contains("holds no token") && !failed.contains("secret"), "{failed}");
    let failed = test_dir.run(&["serve", "--listen", "nonsense", "--token-file", "token"]);
    assert_eq!(failed.code, 2);
    assert!(failed.stderr.contains("cannot listen on nonsense"), "{}", failed.stderr);
}

#[test]
fn commands_for_databases_need_one() {
    let test_dir = TestDir::empty();
    let wrong = test_dir.run(&["token", "list"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("--store postgres://"), "{}", wrong.stderr);
    for action in ["init", "check"] {
        let wrong = test_dir.run(&["store", action, "https://user:secret@host/db"]);
        assert_eq!(wrong.code, 2);
        assert!(wrong.stderr.contains("not the address of a database"), "{}", wrong.stderr);
        assert!(!wrong.stderr.contains("secret"), "{}", wrong.stderr);
    }
}
