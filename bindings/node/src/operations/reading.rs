//! Operations that read a session.

use crate::args::{Args, wrong};
use crate::outcome::{Answer, Outcome};
use serde_json::Value;
use std::collections::HashMap;
use treering::context::{Context, Model};
use treering::provider::{CacheControl, Pairing, RequestOptions, Tool};
use treering::session::Resolved;
use treering::{EntryId, Kind, Position, Session, SessionId};
use treering_bindings::{Data, Failure, ToData};

/// Runs an operation; `None` if this module does not have it.
pub(super) fn invoke(session: &Session, operation: &str, args: &Args) -> Option<Answer> {
    Some(match operation {
        "facts" => Ok(facts(session)),
        "start" => Ok(start(session)),
        "contextBytes" => context_bytes(session, args),
        "header" => Ok(Outcome::Json(session.header().raw().to_vec())),
        "title" => session.title().map(Outcome::of).map_err(Failure::from),
        "info" => session.info().map(Outcome::of).map_err(Failure::from),
        "resolve" => resolve(session, args),
        "tree" => Ok(tree(session, args)),
        "bookkeeping" => bookkeeping(session, args),
        "children" | "parent" | "depth" | "commonAncestor" | "isAncestor" | "roots" | "leaves"
        | "branchPoints" | "labels" => structure(session, operation, args),
        "lastEntry" => Ok(Outcome::of(session.tree().ids().next_back().map(|id| id.to_string()))),
        "systemMessage" => system_message(session, args),
        "selected" => selected(session, args),
        "context" => context(session, args),
        "agentContext" => agent_context(session, args),
        "llmContext" => llm_context(session, args),
        "providerRequest" => provider_request(session, args),
        "contextTokens" => args
            .position_or_leaf("at", session)
            .and_then(|at| Ok(Outcome::of(session.context_tokens_at(at)?))),
        _ => return None,
    })
}

fn facts(session: &Session) -> Outcome {
    let path = session.path().map(|path| path.display().to_string());
    Outcome::record(vec![
        ("id", session.id().as_str().to_data()),
        ("path", path.to_data()),
        ("cwd", session.cwd().to_data()),
        ("dialect", session.dialect().name().to_data()),
        ("name", session.name().to_data()),
        ("leaf", session.leaf().map(|id| id.to_string()).to_data()),
        ("entry_count", session.tree().len().to_data()),
        ("log_length", session.log_length().to_data()),
        ("is_written", session.is_written().to_data()),
        ("is_writable", session.check_writable().is_ok().to_data()),
    ])
}

fn start(session: &Session) -> Outcome {
    let path = session.path().map(|path| path.display().to_string());
    start_of(&session.id(), path, session.leaf(), session.tree().ids().next_back())
}

/// Returns what a session manager needs to begin.
pub(super) fn start_of(
    id: &SessionId,
    path: Option<String>,
    leaf: Option<EntryId>,
    last_entry: Option<EntryId>,
) -> Outcome {
    Outcome::record(vec![
        ("id", id.as_str().to_data()),
        ("path", path.to_data()),
        ("leaf", leaf.map(|id| id.to_string()).to_data()),
        ("last_entry", last_entry.map(|id| id.to_string()).to_data()),
    ])
}

/// Returns the context as the bytes of its JSON, of which JavaScript makes no objects.
fn context_bytes(session: &Session, args: &Args) -> Answer {
    match context(session, args)? {
        Outcome::Json(json) => Ok(Outcome::Bytes(json)),
        other => Ok(other),
    }
}

fn resolve(session: &Session, args: &Args) -> Answer {
    let text = args.needs_text("text")?;
    Ok(match session.resolve(text) {
        Resolved::Unknown => Outcome::Json(b"null".to_vec()),
        found => Outcome::of(found.found(text)?.as_str()),
    })
}

/// Returns the tree as columns, one value for each entry in the order of the log: JavaScript makes nodes of them.
fn tree(session: &Session, args: &Args) -> Outcome {
    let tree = session.tree();
    let rows: HashMap<EntryId, usize> = tree.ids().zip(0..).collect();
    let row = |id: &str| rows.get(id).map_or(-1, |&row| row as i64);
    let count = rows.len();
    let mut columns = Columns::new(count);
    let conversation = tree.conversation();
    let walk =
        if args.flag("bookkeeping").unwrap_or(false) { tree.walk() } else { conversation.walk() };
    for item in walk {
        columns.order.push(row(item.id));
        columns.ids.push(item.id.to_data());
        columns.parents.push(item.parent.map_or(-1, row));
        columns.kinds.push(item.kind.name().unwrap_or("other").to_data());
        columns.roles.push(item.role.and_then(treering::Role::name).to_data());
        columns.labels.push(item.label.to_data());
        columns.label_times.push(item.label_time.to_data());
    }
    columns.into_outcome()
}

#[derive(Default)]
struct Columns {
    order: Vec<i64>,
    ids: Vec<Data>,
    parents: Vec<i64>,
    kinds: Vec<Data>,
    roles: Vec<Data>,
    labels: Vec<Data>,
    label_times: Vec<Data>,
}

impl Columns {
    fn new(count: usize) -> Self {
        Columns {
            order: Vec::with_capacity(count),
            ids: Vec::with_capacity(count),
            ..Columns::default()
        }
    }

    fn into_outcome(self) -> Outcome {
        Outcome::record(vec![
            ("order", self.order.to_data()),
            ("ids", Data::List(self.ids)),
            ("parents", self.parents.to_data()),
            ("kinds", Data::List(self.kinds)),
            ("roles", Data::List(self.roles)),
            ("labels", Data::List(self.labels)),
            ("label_times", Data::List(self.label_times)),
        ])
    }
}

/// Returns the records of where the leaf was moved: all of them, or those among some ids.
fn bookkeeping(session: &Session, args: &Args) -> Answer {
    let tree = session.tree();
    let is_move = |id: &EntryId| matches!(tree.kind(id), Ok(Kind::Leaf));
    let records: Vec<EntryId> = match args.value("ids") {
        None => tree.ids().filter(is_move).collect(),
        Some(_) => args.texts("ids")?.into_iter().map(EntryId::from).filter(is_move).collect(),
    };
    Ok(Outcome::of(records.iter().map(|id| id.as_str().to_data()).collect::<Vec<_>>()))
}

fn structure(session: &Session, operation: &str, args: &Args) -> Answer {
    let tree = session.tree();
    let ids =
        |ids: Vec<EntryId>| Outcome::of(ids.iter().map(|id| id.to_string()).collect::<Vec<_>>());
    let id = |id: Option<EntryId>| Outcome::of(id.map(|id| id.to_string()));
    let all = args.flag("bookkeeping")?;
    let conversation = tree.conversation();
    Ok(match operation {
        "children" if all => ids(tree.children(args.needs_text("id")?)?),
        "children" => ids(conversation.children(args.needs_text("id")?)?),
        "parent" if all => id(tree.parent(args.needs_text("id")?)?),
        "parent" => id(conversation.parent(args.needs_text("id")?)?),
        "depth" => Outcome::of(tree.depth(args.needs_text("id")?)?),
        "commonAncestor" => id(tree.common_ancestor(args.needs_text("a")?, args.needs_text("b")?)?),
        "isAncestor" => {
            Outcome::of(tree.is_ancestor(args.needs_text("ancestor")?, args.needs_text("id")?)?)
        }
        "roots" if all => ids(tree.roots()),
        "roots" => ids(conversation.roots()),
        "leaves" if all => ids(tree.leaves()),
        "leaves" => ids(conversation.leaves()),
        "branchPoints" if all => ids(tree.branch_points()),
        "branchPoints" => ids(conversation.branch_points()),
        _ => {
            let label = |(id, label, time): (EntryId, &str, Option<i64>)| {
                Data::Record(vec![
                    ("id", id.as_str().to_data()),
                    ("label", label.to_data()),
                    ("time", time.to_data()),
                ])
            };
            Outcome::of(Data::List(tree.labels().into_iter().map(label).collect()))
        }
    })
}

fn system_message(session: &Session, args: &Args) -> Answer {
    let message = session.system_message_at(args.position_or_leaf("at", session)?)?;
    Ok(Outcome::Json(message.unwrap_or_else(|| b"null".to_vec())))
}

/// Returns the entries that a context is made of, as ids.
fn selected(session: &Session, args: &Args) -> Answer {
    let projection = session.projection_at(args.position_or_leaf("at", session)?)?;
    let entries: Vec<String> = projection.selected().map(|id| id.to_string()).collect();
    let edited: Vec<String> =
        entries.iter().filter(|id| projection.is_edited(id)).cloned().collect();
    Ok(Outcome::record(vec![
        ("entries", entries.to_data()),
        ("edited", edited.to_data()),
        ("thinking_level", projection.thinking_level.to_data()),
        ("model", projection.model.as_ref().map(|model| Data::Json(model.to_json())).to_data()),
    ]))
}

fn context_at(session: &Session, args: &Args) -> Result<Context, Failure> {
    let at: Position = args.position_or_leaf("at", session)?;
    Ok(session.context_at(at)?)
}

fn context(session: &Session, args: &Args) -> Answer {
    let projection = session.projection_at(args.position_or_leaf("at", session)?)?;
    let projection =
        if args.flag("withoutImages")? { projection.without_images() } else { projection };
    let projection = match args.number("last")? {
        Some(count) => projection.only_last(usize::try_from(count).unwrap_or(usize::MAX)),
        None => projection,
    };
    Ok(Outcome::Json(Context::collect(projection)?.to_json()))
}

fn agent_context(session: &Session, args: &Args) -> Answer {
    let at = args.position_or_leaf("at", session)?;
    let context = session.agent_context_at(at)?;
    Ok(Outcome::Json(context.map_or(b"null".to_vec(), |context| context.to_json())))
}

fn llm_context(session: &Session, args: &Args) -> Answer {
    let pairing = if args.flag("raw")? { Pairing::Raw } else { Pairing::Strict };
    let context = context_at(session, args)?.to_llm(pairing);
    Ok(Outcome::record(vec![
        ("messages", context.messages.to_data()),
        ("repairs", context.repairs.to_data()),
    ]))
}

fn provider_request(session: &Session, args: &Args) -> Answer {
    let context = context_at(session, args)?;
    let mut options = RequestOptions::new();
    if let Some(model) = args.value("model") {
        let text = |name: &str| model.get(name).and_then(Value::as_str).map(str::to_owned);
        options = options.with_model(Model::from_parts(text("provider"), text("modelId")));
    }
    for tool in args.value("tools").and_then(Value::as_array).into_iter().flatten() {
        let text =
            |name: &str| tool.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let schema = tool.get("inputSchema").map_or("{}".to_owned(), Value::to_string);
        options = options.with_tool(Tool::new(text("name"), text("description"), schema)?);
    }
    match args.text("cache")? {
        None | Some("none") => {}
        Some("ephemeral") => options = options.with_cache(CacheControl::Ephemeral),
        Some(_) => return Err(wrong("cache", "none or ephemeral")),
    }
    let request = match args.needs_text("provider")? {
        "anthropic" => context.to_anthropic(&options),
        "openai-chat" => context.to_openai_chat(&options),
        "openai-responses" => context.to_openai_responses(&options),
        _ => return Err(wrong("provider", "anthropic, openai-chat or openai-responses")),
    };
    Ok(Outcome::record(vec![
        ("request", Data::Json(request.json.into_bytes())),
        ("repairs", request.repairs.to_data()),
    ]))
}
