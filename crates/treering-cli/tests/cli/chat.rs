//! `treering chat -p`: a question, an answer, and both in a session.

use crate::support::{Ran, TestDir};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// An OpenAI-compatible server that gives one of these answers for each connection, and reports the
/// requests.
struct Server {
    url: String,
    asked: Receiver<Value>,
}

impl Server {
    fn start(answers: &[Option<&str>]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, asked) = channel();
        let answers: Vec<Option<String>> =
            answers.iter().map(|answer| answer.map(str::to_owned)).collect();
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = tell.send(request(&mut stream));
                // A client may leave in the middle.
                let _ = stream.write_all(response(answer.as_deref()).as_bytes());
            }
        });
        Server { url, asked }
    }

    /// Returns the messages that were sent to the model, in order.
    fn asked(&self) -> Vec<String> {
        let body = self.asked.recv_timeout(Duration::from_secs(120)).expect("a request");
        let messages = body["messages"].as_array().unwrap();
        messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    }
}

fn request(stream: &mut TcpStream) -> Value {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn response(answer: Option<&str>) -> String {
    let Some(answer) = answer else {
        let body = r#"{"error":{"message":"no such model"}}"#;
        let length = body.len();
        return format!(
            "HTTP/1.1 404 X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
    };
    let chunk = |value: Value| format!("data: {value}\n\n");
    let mut body = String::new();
    for word in answer.split_inclusive(' ') {
        body += &chunk(json!({ "model": "real", "choices": [{ "delta": { "content": word } }] }));
    }
    body += &chunk(json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5 } }));
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}data: [DONE]\n\n"
    )
}

/// Runs with a model at an address, and no configuration of the person who runs the test.
fn talk(test_dir: &TestDir, url: &str, args: &[&str], input: Option<&[u8]>) -> Ran {
    let mut command = test_dir.command(args);
    command.env("TREERING_CONFIG", test_dir.file("none.toml")).env("TREERING_SUMMARIZER", "openai");
    command.env("TREERING_MODEL", "m1").env("OPENAI_BASE_URL", url).env_remove("OPENAI_API_KEY");
    command.env("no_proxy", "127.0.0.1").stdin(if input.is_some() {
        Stdio::piped()
    } else {
        Stdio::null()
    });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    if let Some(input) = input {
        child.stdin.take().unwrap().write_all(input).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_question_is_answered_and_kept() {
    let test_dir = TestDir::empty();
    let server = Server::start(&[Some("A color."), Some("Red.")]);
    let ran =
        talk(&test_dir, &server.url, &["chat", "--new", "c.jsonl", "-p", "What is red?"], None);
    assert_eq!(ran.ok(), "A color.\n");
    assert_eq!(server.asked(), ["What is red?"]);
    let ran = talk(&test_dir, &server.url, &["chat", "c.jsonl", "-p", "Name one."], None);
    assert_eq!(ran.ok(), "Red.\n");
    assert_eq!(server.asked(), ["What is red?", "A color.", "Name one."]);
    let log = test_dir.run(&["log", "c.jsonl"]).ok();
    assert!(log.contains("What is red?") && log.contains("Red."), "{log}");
}

#[test]
fn what_is_piped_is_added_to_the_prompt() {
    let test_dir = TestDir::empty();
    let server = Server::start(&[Some("Short."), Some("Yes.")]);
    let args = ["chat", "--new", "c.jsonl", "-p", "Sum it up:"];
    talk(&test_dir, &server.url, &args, Some(b"a long text\n")).ok();
    assert_eq!(server.asked(), ["Sum it up:\n\na long text"]);
    talk(&test_dir, &server.url, &["chat", "--new", "d.jsonl"], Some(b"Are you there?\n")).ok();
    assert_eq!(server.asked(), ["Are you there?"]);
}

#[test]
fn a_new_session_goes_to_its_own_place_and_is_listed() {
    let test_dir = TestDir::empty();
    let server = Server::start(&[Some("Hello.")]);
    let ran = talk(&test_dir, &server.url, &["chat", "-p", "Hi", "--json", "--model", "m2"], None);
    let answer = ran.json().remove(0);
    assert_eq!((&answer["text"], &answer["model"]), (&json!("Hello."), &json!("m2")));
    assert_eq!(answer["usage"]["totalTokens"], 15);
    let file = answer["session"].as_str().unwrap();
    assert!(std::path::Path::new(file).starts_with(test_dir.file("home")), "{file}");
    let shown = test_dir.run(&["show", file, answer["entry"].as_str().unwrap(), "--json"]).json();
    assert_eq!(shown[0]["message"]["stopReason"], "stop");
    let list = test_dir.run(&["ls", "--all"]).ok();
    assert!(list.contains("Hi"), "{list}");
}

#[test]
fn a_model_that_refuses_is_reported_and_the_question_kept() {
    let test_dir = TestDir::empty();
    let server = Server::start(&[None]);
    let error =
        talk(&test_dir, &server.url, &["chat", "--new", "c.jsonl", "-p", "Hello"], None).failed();
    assert!(error.contains("404") && error.contains("c.jsonl"), "{error}");
    let context = test_dir.run(&["context", "c.jsonl"]).ok();
    assert!(context.contains("Hello"), "{context}");
}

#[test]
fn without_a_model_a_terminal_or_a_prompt_it_says_what_to_do() {
    let test_dir = TestDir::empty();
    let mut command = test_dir.command(&["chat", "-p", "Hello"]);
    command.env("TREERING_CONFIG", test_dir.file("none.toml")).stdin(Stdio::null());
    let output = command.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("OPENAI_BASE_URL") && error.contains("treering help"), "{error}");
    assert!(!test_dir.file("home").exists(), "nothing is left behind");

    let ran = talk(&test_dir, "http://127.0.0.1:9", &["chat"], None);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("chat -p PROMPT"), "{}", ran.stderr);
    let ran = talk(&test_dir, "http://127.0.0.1:9", &["chat", "-p", " "], None);
    assert!(ran.misused().contains("the prompt is empty"));
}
