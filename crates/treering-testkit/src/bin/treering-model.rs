//! Runs the reference model for tests in other languages.
//!
//! Reads the paths of session files from standard input, one on a line, and writes one line of JSON for each: the
//! entries, the tree, labels, the name, the leaf, and the context at every entry.

use serde_json::{Value, json};
use std::io::{self, BufRead, Write};
use treering_testkit::model::Model;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for path in io::stdin().lock().lines() {
        let answer = match Model::read(&std::fs::read(path?)?) {
            Ok(model) => describe(&model),
            Err(_) => json!({ "error": "not a session" }),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn describe(model: &Model) -> Value {
    let ids = model.ids();
    let at_each = |value: &dyn Fn(&str) -> Value| -> Value {
        ids.iter().map(|id| (id.clone(), value(id))).collect::<serde_json::Map<_, _>>().into()
    };
    let context = |id: &str| {
        let context = model.context(Some(id));
        let messages: Vec<Value> = context
            .messages
            .into_iter()
            .map(|message| json!({ "entry": message.entry, "message": message.value }))
            .collect();
        let (thinking_level, model) = (context.thinking_level, context.model);
        json!({ "messages": messages, "thinkingLevel": thinking_level, "model": model })
    };
    let walk: Vec<String> = model.walk().into_iter().map(|item| item.id).collect();
    let labels: Vec<(String, String)> =
        model.labels().into_iter().map(|(id, label, _)| (id, label)).collect();
    json!({
        "ids": ids,
        "leaf": model.leaf(),
        "name": model.name(),
        "leaves": model.leaves(),
        "branchPoints": model.branch_points(),
        "walk": walk,
        "labels": labels,
        "parents": at_each(&|id| model.parent(id).into()),
        "children": at_each(&|id| model.children(id).into()),
        "paths": at_each(&|id| model.path(id).into()),
        "contexts": at_each(&context),
    })
}
