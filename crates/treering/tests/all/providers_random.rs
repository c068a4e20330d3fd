//! Random contexts and sample sessions as the requests of providers: each obeys the rules of its API, and everything that
//! it leaves out or changes is named in its repairs.

use crate::provider_rules::{Checked, check_anthropic, check_chat, check_responses};
use crate::support::{cases, entry, file, open};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use treering::context::ContextMessage;
use treering::provider::{CacheControl, ContextRepair, ProviderRequest, RequestOptions, Tool};
use treering::{Context, Session};

/// A place in a template that becomes the block's own mark. Eight marks are valid Base64.
const MARK: &str = "@@";

/// A block of a message: its type, and its JSON with a mark.
type Part = (&'static str, String);

fn part(kind: &'static str, json: &str) -> Part {
    (kind, json.to_owned())
}

fn texts() -> impl Strategy<Value = Part> {
    let fine = ["@@", "@@ \\n", "\\ud83d @@", "@@ \\ud83d\\ude00 \\\"", "@@\\u0000"];
    let signature = select(vec!["", r#","textSignature":"msg_1""#, r#","textSignature":"msg_@@""#]);
    let fine = (select(fine.to_vec()), signature)
        .prop_map(|(text, more)| ("text", format!(r#"{{"type":"text","text":"{text}"{more}}}"#)));
    let blank = select(vec![r#","text":"""#, r#","text":" \n""#, "", r#","text":5"#])
        .prop_map(|text| ("blank", format!(r#"{{"type":"text"{text}}}"#)));
    prop_oneof![3 => fine, 1 => blank]
}

fn images() -> impl Strategy<Value = Part> {
    let mime = select(vec!["image/png", "image/jpg", "image/bmp", "text/plain", ""]);
    let mut data = vec!["@@", "@@QQ==", "@@", "@@QQ", "@@Q", "@@=QQQ", "@@-_", "blob:@@", ""];
    data.extend(["iVBORw0KGgo@@A", "/9j/@@", "R0lGODlh@@"]);
    let data = select(data);
    (mime, data).prop_map(|(mime, data)| {
        ("image", format!(r#"{{"type":"image","data":"{data}","mimeType":"{mime}"}}"#))
    })
}

fn thoughts() -> impl Strategy<Value = Part> {
    let item = |more: &str| format!(r#"{{\"type\":\"reasoning\"{more}}}"#);
    let signatures = vec![
        "sig@@".to_owned(),
        String::new(),
        "reasoning_content".to_owned(),
        "gAAAA@@".to_owned(),
        "[{\\\"type\\\":\\\"reasoning.text\\\"}]".to_owned(),
        "sig \\ud800".to_owned(),
        item(r#",\"id\":\"rs_@@\",\"summary\":[]"#),
        item(r#",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"@@\""#),
        item(r#",\"id\":\"rs_@@\""#),
        item(r#",\"id\":5,\"summary\":[]"#),
        item(r#",\"summary\":[],\"encrypted_content\":\"@@\""#),
        "{\\\"type\\\":\\\"reasoning\\\"".to_owned(),
    ];
    let redacted = select(vec!["", r#","redacted":true"#]);
    (select(signatures), redacted).prop_map(|(signature, redacted)| {
        let thinking = format!(
            r#"{{"type":"thinking","thinking":"@@","thinkingSignature":"{signature}"{redacted}}}"#
        );
        ("thinking", thinking)
    })
}

fn call_ids() -> impl Strategy<Value = String> {
    let ids = ["1", "2", "1_2", "call|x", "call|y", "", "é", "\\ud800", "|"];
    let mut ids: Vec<String> = ids.iter().map(|id| format!("\"{id}\"")).collect();
    ids.extend([format!("\"{}\"", "long".repeat(30)), "5".to_owned(), "null".to_owned()]);
    select(ids)
}

fn calls() -> impl Strategy<Value = Part> {
    let names = ["run", "mcp.read it", "", "\\ud800", "名"].map(str::to_owned);
    let names: Vec<String> = names.into_iter().chain([("n").repeat(200)]).collect();
    let arguments = vec![
        r#"{"a":"@@"}"#,
        r#"{"a":1,"a":{"b":["@@\\"]}}"#,
        r#"{"k":"\udc00@@"}"#,
        r#"["@@"]"#,
        r#""@@""#,
        r#" { "@@" : null } "#,
    ];
    (call_ids(), select(names), select(arguments)).prop_map(|(id, name, arguments)| {
        let call =
            format!(r#"{{"type":"toolCall","id":{id},"name":"{name}","arguments":{arguments}}}"#);
        ("toolCall", call)
    })
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let others = select(vec![
        part("hologram", r#"{"type":"hologram","x":"@@"}"#),
        part("", r#"{"x":"@@"}"#),
        part("", r#""@@""#),
        part("", r#"["@@"]"#),
        part("", r#"{"type":5,"text":"@@"}"#),
    ]);
    let part = prop_oneof![4 => texts(), 2 => images(), 2 => thoughts(), 4 => calls(), 1 => others];
    prop::collection::vec(part, 0..5)
}

/// A message before its marks are numbered: its role, its JSON and its blocks.
#[derive(Debug, Clone)]
struct Draft {
    role: &'static str,
    fields: String,
    parts: Vec<Part>,
}

fn spoken() -> impl Strategy<Value = Draft> {
    let roles = [
        ("user", 3),
        ("assistant", 6),
        ("toolResult", 5),
        ("system", 1),
        ("developer", 1),
        ("custom", 1),
        ("hookMessage", 1),
        ("martian", 1),
    ];
    let roles = roles.into_iter().flat_map(|(role, weight)| std::iter::repeat_n(role, weight));
    let reasons = select(vec!["stop", "error", "aborted", "toolUse"]);
    (select(roles.collect::<Vec<_>>()), parts(), call_ids(), any::<bool>(), reasons).prop_map(
        |(role, parts, call, is_error, reason)| {
            let fields = format!(
                r#","customType":"x","toolCallId":{call},"toolName":"run","isError":{is_error},"stopReason":"{reason}","timestamp":5"#
            );
            Draft { role, fields, parts }
        },
    )
}

/// Messages whose content is no array of blocks, and those that have other fields.
fn others() -> impl Strategy<Value = Draft> {
    let draft = |role, kind, json: &str| Draft {
        role,
        fields: String::new(),
        parts: vec![(kind, json.to_owned())],
    };
    let content = |role, json: &str| draft(role, "content", &format!(r#","content":{json}"#));
    let mut all = Vec::new();
    for role in ["user", "assistant", "system", "developer", "custom", "hookMessage"] {
        all.extend([r#""@@""#, r#""@@ \ud800 \n""#].map(|json| content(role, json)));
        all.extend(
            [r#"{"a":"@@"}"#, "5", "null", "\"\"", "\" \""]
                .map(|json| draft(role, "none", &format!(r#","content":{json}"#))),
        );
    }
    for code in ["0", "null", "1", "-0", "1e400", r#""2""#, r#"{"a":"b"}"#, r#"["\ud800","\\"]"#] {
        for role in ["bashExecution", "pythonExecution"] {
            let fields =
                format!(r#","command":"@@","code":"@@","output":"\"@@\ud800","exitCode":{code}"#);
            all.push(draft(role, "content", &fields));
        }
    }
    let excluded = r#","command":"@@","code":"@@","output":"","excludeFromContext":true"#;
    all.extend(["bashExecution", "pythonExecution"].map(|role| draft(role, "excluded", excluded)));
    let file = |more: &str| format!(r#"{{"path":"@@","content":"@@"{more}}}"#);
    let image = r#","image":{"type":"image","data":"QUJD","mimeType":"image/png"}"#;
    for files in [file(""), format!("{},{}", file(""), file(image)), file(image)] {
        all.push(draft("fileMention", "content", &format!(r#","files":[{files}]"#)));
    }
    all.extend(
        ["branchSummary", "compactionSummary"]
            .map(|role| draft(role, "content", r#","summary":"@@ \udfff""#)),
    );
    select(all)
}

/// A block of a context, with the text that finds it in a request.
#[derive(Debug)]
struct Source {
    entry: String,
    role: &'static str,
    kind: &'static str,
    mark: String,
    json: String,
}

/// Returns the messages, and every block in them. The blocks of `content` are JSON, those of other
/// messages are members.
fn written(drafts: &[Draft]) -> (Vec<String>, Vec<Source>) {
    let (mut messages, mut sources) = (Vec::new(), Vec::new());
    for (at, Draft { role, fields, parts }) in drafts.iter().enumerate() {
        let mut content = Vec::new();
        for (kind, json) in parts {
            let mark = format!("x{:06}x", sources.len());
            let json = json.replace(MARK, &mark);
            content.push(json.clone());
            sources.push(Source { entry: format!("e{at}"), role, kind, mark, json });
        }
        let content = match fields.is_empty() {
            true => content.concat(),
            false => format!(r#","content":[{}]"#, content.join(",")),
        };
        messages.push(format!(r#"{{"role":"{role}"{fields}{content}}}"#));
    }
    (messages, sources)
}

fn context(messages: &[String]) -> Context {
    let line = |(at, message): (usize, &String)| {
        let parent = at.checked_sub(1).map(|at| format!("e{at}"));
        entry("message", &format!("e{at}"), parent.as_deref(), &format!(",\"message\":{message}"))
    };
    let lines: Vec<String> = messages.iter().enumerate().map(line).collect();
    open(file(&lines)).context().unwrap()
}

/// A request under examination, and the name of its API.
struct Built<'a> {
    api: &'static str,
    request: &'a ProviderRequest,
    body: &'a Value,
}

impl Built<'_> {
    fn has(&self, mark: &str) -> bool {
        self.request.json.contains(mark)
    }

    /// Returns how many repairs of an entry are of a kind.
    fn count(&self, entry: &str, is_of: impl Fn(&ContextRepair) -> bool) -> usize {
        let of_entry = self.request.repairs.iter().filter(|repair| repair.entry() == entry);
        of_entry.filter(|repair| is_of(repair)).count()
    }

    fn is_message_dropped(&self, source: &Source) -> bool {
        let is_drop = |repair: &ContextRepair| match repair {
            ContextRepair::RoleDropped { .. } => source.role == "martian",
            ContextRepair::ResultDropped { .. } => source.role == "toolResult",
            _ => false,
        };
        source.kind == "excluded" || self.count(&source.entry, is_drop) > 0
    }

    /// Checks that the blocks of one type that an entry lost are exactly those that repairs name.
    fn check_blocks(&self, sources: &[&Source], kind: &str) -> Checked {
        let of_kind = sources.iter().filter(|source| source.kind == kind);
        let missing = of_kind.filter(|source| !self.has(&source.mark)).count();
        let named = self.count(&sources[0].entry, |repair| match repair {
            ContextRepair::ThinkingDropped { .. } => kind == "thinking",
            ContextRepair::BlockDropped { block, .. } => block == kind,
            _ => false,
        });
        prop_assert_eq!(missing, named, "{}: {} blocks of {:?}", self.api, kind, sources);
        Ok(())
    }

    fn check_entry(&self, sources: &[&Source]) -> Checked {
        let first = sources[0];
        if self.is_message_dropped(first) {
            return sources.iter().try_for_each(|source| {
                prop_assert!(!self.has(&source.mark), "{} was left out", source.json);
                Ok(())
            });
        }
        for kind in ["thinking", "image", "toolCall", "hologram", ""] {
            self.check_blocks(sources, kind)?;
        }
        for source in sources.iter().filter(|source| matches!(source.kind, "text" | "content")) {
            prop_assert!(self.has(&source.mark), "{} lost {}", self.api, source.json);
        }
        let is_empty = self.count(&first.entry, |repair| {
            matches!(repair, ContextRepair::EmptyMessageDropped { .. })
        }) > 0;
        let dropped = self.request.repairs.iter().filter_map(|repair| match repair {
            ContextRepair::EmptyTextDropped { entry, blocks } if *entry == *first.entry => {
                Some(blocks)
            }
            _ => None,
        });
        let blank = sources.iter().filter(|source| source.kind == "blank").count();
        prop_assert!(is_empty || dropped.sum::<usize>() == blank, "{}: {:?}", self.api, sources);
        let is_none = sources.iter().all(|source| source.kind == "none");
        prop_assert!(is_empty || !is_none, "{}: {:?}", self.api, sources);
        let has_halves =
            sources.iter().any(|source| source.json.replace(r"\ud83d\ude00", "").contains("\\ud"));
        let replaced =
            self.count(&first.entry, |repair| matches!(repair, ContextRepair::TextReplaced { .. }));
        prop_assert!(!has_halves || replaced == 1, "{}: {:?}", self.api, sources);
        self.check_calls(sources)
    }

    /// Checks that every call has its id and its name, or that a repair names the other one.
    fn check_calls(&self, sources: &[&Source]) -> Checked {
        for source in
            sources.iter().filter(|source| source.kind == "toolCall" && source.role == "assistant")
        {
            let call = find(self.body, &source.mark).unwrap();
            let name = call["name"].as_str().unwrap();
            let id = ["call_id", "id"].iter().find_map(|key| call[key].as_str()).unwrap();
            let renamed = self.count(
                &source.entry,
                |repair| matches!(repair, ContextRepair::CallRenamed { to, .. } if to == id),
            );
            let kept = source.json.contains(&format!(r#""id":"{id}""#))
                || self.api == "responses" && source.json.contains(&format!(r#""id":"{id}|"#));
            prop_assert!(kept || renamed == 1, "{}: {call} of {}", self.api, source.json);
            let renamed = self.count(
                &source.entry,
                |repair| matches!(repair, ContextRepair::ToolRenamed { to, .. } if to == name),
            );
            let kept = source.json.contains(&format!(r#""name":"{name}""#));
            prop_assert!(kept || renamed > 0, "{}: {call} of {}", self.api, source.json);
            let wrapped = self.count(&source.entry, |repair| {
                matches!(repair, ContextRepair::ArgumentsWrapped { .. })
            });
            let is_object = source.json.contains(r#""arguments":{"#)
                || source.json.contains(r#""arguments": {"#);
            prop_assert!(is_object || wrapped > 0, "{}: {call} of {}", self.api, source.json);
        }
        Ok(())
    }
}

/// Returns the call whose arguments have a mark, with its id and its name.
fn find(value: &Value, mark: &str) -> Option<Value> {
    let values: Vec<&Value> = match value {
        Value::Object(members) => members.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => return None,
    };
    let is_call = matches!(value["type"].as_str(), Some("tool_use" | "function_call" | "function"));
    if is_call && value.to_string().contains(mark) {
        let name =
            [&value["name"], &value["function"]["name"]].into_iter().find(|name| name.is_string());
        return Some(json!({"id": value["id"], "call_id": value["call_id"], "name": name?}));
    }
    values.into_iter().find_map(|value| find(value, mark))
}

fn check(api: &'static str, request: &ProviderRequest, sources: &[Source]) -> Checked {
    let body: Value = serde_json::from_str(&request.json)
        .map_err(|error| TestCaseError::fail(format!("{api}: {error}: {}", request.json)))?;
    match api {
        "anthropic" => check_anthropic(&body)?,
        "chat" => check_chat(&body)?,
        _ => check_responses(&body)?,
    }
    let mut at = 0;
    while let Some(first) = sources.get(at) {
        let of_entry: Vec<&Source> =
            sources[at..].iter().take_while(|source| source.entry == first.entry).collect();
        at += of_entry.len();
        Built { api, request, body: &body }.check_entry(&of_entry)?;
    }
    Ok(())
}

fn requests(context: &Context, options: &RequestOptions) -> [(&'static str, ProviderRequest); 3] {
    [
        ("anthropic", context.to_anthropic(options)),
        ("chat", context.to_openai_chat(options)),
        ("responses", context.to_openai_responses(options)),
    ]
}

#[test]
fn every_branch_of_every_sample_session_is_acceptable_to_every_provider() {
    let tool = Tool::new("run", "Runs.", r#"{"type":"object"}"#).unwrap();
    let options = RequestOptions::new().with_tool(tool).with_cache(CacheControl::Ephemeral);
    // The parser of these checks refuses arguments that are nested 500 levels deep.
    let mut files = treering_testkit::corpus::files();
    files.retain(|path| !path.ends_with("deep-nesting-500.jsonl"));
    for path in files {
        let Ok(session) = Session::open(&path) else { continue };
        for leaf in session.tree().leaves() {
            for (api, request) in requests(&session.context_at(&leaf).unwrap(), &options) {
                let checked = check(api, &request, &[]);
                checked.unwrap_or_else(|error| panic!("{} at {leaf}: {error}", path.display()));
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn every_context_is_acceptable_to_every_provider_and_nothing_is_lost_silently(
        drafts in prop::collection::vec(prop_oneof![4 => spoken(), 1 => others()], 0..9)
    ) {
        let (messages, sources) = written(&drafts);
        let tool = Tool::new("run", "Runs.", r#"{"type":"object"}"#).unwrap();
        let options = RequestOptions::new().with_system("Help.").with_tool(tool);
        let options = options.with_cache(CacheControl::Ephemeral);
        for (api, request) in requests(&context(&messages), &options) {
            check(api, &request, &sources)?;
        }
    }

    #[test]
    fn bytes_that_are_no_messages_still_give_valid_requests(
        drafts in prop::collection::vec(prop_oneof![spoken(), others()], 1..6),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (messages, _) = written(&drafts);
        let mut context = Context::default();
        for (at, message) in messages.into_iter().enumerate() {
            let mut json = message.into_bytes();
            if let Some((place, byte)) = cuts.get(at) {
                let place = place.index(json.len());
                match byte % 3 {
                    0 => json.truncate(place),
                    1 => json[place] = *byte,
                    _ => drop(json.remove(place)),
                }
            }
            context.messages.push(ContextMessage::new(format!("e{at}"), json));
        }
        for (api, request) in requests(&context, &RequestOptions::new()) {
            check(api, &request, &[])?;
        }
    }
}
