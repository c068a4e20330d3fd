//! Compares treering's reading of sample sessions with that of the agents that wrote them.
//!
//! `treering-corpus DIR`: every `NAME.jsonl` below DIR that has a `NAME.expect.json` beside it. Prints
//! a table; ends with 1 if anything differs.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use treering::findings::Problem;
use treering::{Dialect, Role, Session};
use treering_testkit::canonical;

fn main() -> ExitCode {
    let Some(root) = std::env::args_os().nth(1) else {
        eprintln!("usage: treering-corpus DIR");
        return ExitCode::from(2);
    };
    let mut files = samples(Path::new(&root));
    files.sort();
    if files.is_empty() {
        eprintln!("SKIPPED: no samples in {}", Path::new(&root).display());
        return ExitCode::SUCCESS;
    }
    println!("{:<38} {:<11} {:>7}  {:>9}  result", "file", "agent", "entries", "contexts");
    let mut failed = 0;
    for path in &files {
        let name = path.strip_prefix(&root).unwrap_or(path).display().to_string();
        let mut sample = Sample::default();
        if let Err(error) = sample.check(path) {
            sample.differs("open", &error.to_string(), "a session");
        }
        let verdict = if sample.differences.is_empty() { "same" } else { "DIFFERS" };
        let contexts = format!("{}/{}", sample.same_contexts, sample.contexts);
        println!("{name:<38} {:<11} {:>7}  {contexts:>9}  {verdict}", sample.agent, sample.entries);
        for difference in &sample.differences {
            println!("    {difference}");
        }
        failed += usize::from(!sample.differences.is_empty());
    }
    println!("{} files, {failed} differ", files.len());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns files with an expectation beside them.
fn samples(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(samples(&path));
        } else if path.extension().is_some_and(|extension| extension == "jsonl")
            && path.with_extension("expect.json").exists()
        {
            found.push(path);
        }
    }
    found
}

#[derive(Default)]
struct Sample {
    agent: String,
    entries: usize,
    contexts: usize,
    same_contexts: usize,
    differences: Vec<String>,
}

impl Sample {
    fn differs(&mut self, what: &str, ours: &str, theirs: &str) {
        let short = |text: &str| text.chars().take(120).collect::<String>();
        self.differences.push(format!("{what}: {} instead of {}", short(ours), short(theirs)));
    }

    fn same<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, ours: &T, theirs: &T) {
        if ours != theirs {
            self.differs(what, &format!("{ours:?}"), &format!("{theirs:?}"));
        }
    }

    fn check(&mut self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let expected: Value =
            serde_json::from_slice(&std::fs::read(path.with_extension("expect.json"))?)?;
        let session = Session::open(path)?;
        let tree = session.tree();
        (self.agent, self.entries) = (session.dialect().to_string(), tree.len());
        let dialect = expected["dialect"].as_str().unwrap_or_default();
        let is_pi = dialect.starts_with("pi") && session.dialect() == Dialect::Pi;
        if !is_pi {
            self.same("agent", &self.agent.clone().as_str(), &dialect);
        }
        match session.dialect() {
            Dialect::ClaudeCode => self.claude(&session, &expected),
            Dialect::Codex => self.codex(&session, &expected),
            _ => self.tree(&session, &expected),
        }
    }

    /// The agents whose own code wrote the expectations.
    fn tree(
        &mut self,
        session: &Session,
        expected: &Value,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let tree = session.tree();
        // Ids that the file does not hold were made up by its reader: they are compared by
        // position.
        let by_place: Vec<String> = tree.ids().map(|id| id.to_string()).collect();
        let in_file = expected["ids"].is_null();
        let their_ids: Vec<String> = match in_file {
            true => by_place.clone(),
            false => strings(&expected["tree"]["preorder"]),
        };
        let ours = |theirs: &str| -> String {
            let place = their_ids.iter().position(|id| id == theirs);
            place.and_then(|place| by_place.get(place)).cloned().unwrap_or(theirs.to_owned())
        };
        self.same("entries", &tree.len(), &(expected["entries"].as_u64().unwrap_or(0) as usize));
        let leaf = session.leaf().map(|leaf| leaf.to_string());
        self.same("leaf", &leaf, &expected["leaf"].as_str().map(&ours));
        let name = expected["name"].as_str().map(str::to_owned);
        if !(expected["name"].is_null() && session.dialect() == Dialect::Chimera) {
            self.same("name", &session.name(), &name);
        }
        let labels: Value = tree
            .ids()
            .filter_map(|id| Some((id.to_string(), tree.label(id.as_str())?.into())))
            .collect::<serde_json::Map<String, Value>>()
            .into();
        self.same("labels", &labels, &expected["labels"]);
        if in_file && expected["tree"].is_object() {
            let order: Vec<String> = tree.walk().map(|item| item.id.to_owned()).collect();
            self.same("tree", &order, &strings(&expected["tree"]["preorder"]));
        }
        for (leaf, context) in expected["contexts"].as_object().into_iter().flatten() {
            self.contexts += 1;
            let before = self.differences.len();
            self.context(session, &ours(leaf), context, &ours)?;
            self.same_contexts += usize::from(self.differences.len() == before);
        }
        Ok(())
    }

    fn context(
        &mut self,
        session: &Session,
        leaf: &str,
        expected: &Value,
        ours: &dyn Fn(&str) -> String,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let path: Vec<String> =
            session.tree().path(leaf)?.iter().map(|id| id.to_string()).collect();
        let theirs: Vec<String> =
            strings(&expected["ids_on_path"]).iter().map(|id| ours(id)).collect();
        self.same(&format!("path to {leaf}"), &path, &theirs);
        let (messages, settings) = match session.agent_context_at(leaf)? {
            Some(context) => {
                let json = context.to_json();
                (context.messages, json)
            }
            None => {
                let context = session.context_at(leaf)?;
                let json = context.to_json();
                (context.messages.into_iter().map(|message| message.json).collect(), json)
            }
        };
        let list = [b"[", &*messages.join(&b","[..]), b"]"].concat();
        let canonical = canonical::json(&list).ok_or("a context that is not JSON")?;
        let digest: String =
            Sha256::digest(&canonical).iter().map(|byte| format!("{byte:02x}")).collect();
        let theirs = expected["messages_sha256"].as_str().unwrap_or_default();
        self.same(&format!("context at {leaf}"), &digest.as_str(), &theirs);
        let settings: Value = serde_json::from_slice(&settings)?;
        for key in ["thinkingLevel", "model", "mode", "models", "serviceTier", "injectedTtsrRules"]
        {
            if let Some(theirs) = expected.get(key) {
                self.same(&format!("{key} at {leaf}"), &settings[key], theirs);
            }
        }
        Ok(())
    }

    /// The expectations that were counted from the file by rules.
    fn claude(
        &mut self,
        session: &Session,
        expected: &Value,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let tree = session.tree();
        let records = expected["chain_records"].as_u64().unwrap_or(0) as usize;
        self.same("chain records", &tree.len(), &records);
        let sidechains = tree.walk().filter(|item| item.sidechain).count() as u64;
        let theirs = expected["sidechain_records"].as_u64().unwrap_or(0);
        self.same("sidechain records", &sidechains, &theirs);
        self.same("title", &session.name(), &expected["title"].as_str().map(str::to_owned));
        let damaged: Vec<Value> = session
            .findings()?
            .iter()
            .filter(|finding| matches!(finding.problem, Problem::Damaged | Problem::TornTail))
            .filter_map(|finding| finding.line.map(Value::from))
            .collect();
        self.same("damaged lines", &Value::from(damaged), &expected["damaged_lines"]);
        let leaf = session.leaf().map(|leaf| leaf.to_string());
        if let Some(possible) = expected["leaf_not_certain"].as_array() {
            let is_possible =
                leaf.as_deref().is_some_and(|leaf| possible.iter().any(|id| id == leaf));
            self.same("leaf", &is_possible, &true);
            return Ok(());
        }
        self.same("leaf", &leaf, &expected["leaf"].as_str().map(str::to_owned));
        self.contexts = 1;
        let path = leaf.map_or(Ok(Vec::new()), |leaf| tree.path(&leaf))?;
        // The path holds what the file's own parents give, and what parallel calls left beside it.
        let theirs = strings(&expected["path"]);
        let on_it = path.iter().filter(|id| theirs.iter().any(|theirs| theirs == id.as_str()));
        let on_it: Vec<String> = on_it.map(|id| id.to_string()).collect();
        self.same("path", &on_it, &theirs);
        for id in path.iter().filter(|id| !theirs.iter().any(|theirs| theirs == id.as_str())) {
            let role = tree.role(id.as_str())?;
            let is_part = matches!(role, None | Some(Role::ToolResult | Role::Assistant));
            self.same("more on the path", &is_part, &true);
        }
        self.same_contexts = usize::from(self.differences.is_empty());
        Ok(())
    }

    fn codex(
        &mut self,
        session: &Session,
        expected: &Value,
    ) -> Result<(), Box<dyn std::error::Error>> {
        self.same(
            "session",
            &session.id().as_str(),
            &expected["session"]["id"].as_str().unwrap_or(""),
        );
        self.same(
            "cwd",
            &session.cwd().as_str(),
            &expected["session"]["cwd"].as_str().unwrap_or(""),
        );
        let (mut roles, mut compactions) = (serde_json::Map::new(), Vec::new());
        for entry in session.entries() {
            let entry = entry?;
            let record: Value = serde_json::from_slice(entry.record())?;
            let item = if record["payload"].is_object() { &record["payload"] } else { &record };
            if item["type"] == "message" {
                let role = item["role"].as_str().unwrap_or_default().to_owned();
                let count = roles.get(&role).and_then(Value::as_u64).unwrap_or(0);
                roles.insert(role, (count + 1).into());
            }
            if entry.kind() == treering::Kind::Compaction {
                compactions.push(entry.id().to_string());
            }
        }
        self.same("messages by role", &Value::from(roles), &expected["messages_by_role"]);
        let lines = expected["compacted_lines"].as_array().map_or(0, Vec::len);
        self.same("compactions", &compactions.len(), &lines);
        Ok(())
    }
}

fn strings(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}
