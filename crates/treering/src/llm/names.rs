//! Gives tool calls the ids and the names that providers accept.

use super::ContextRepair;
use super::request::{ContentPart, Speaker, Tool, Turn, Turns};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

impl Turns<'_> {
    /// Gives every tool call a unique id of at most `longest` characters from `A-Z a-z 0-9 _ -`,
    /// and its result the same id. After strict pairing, a result belongs to the nearest call above
    /// it.
    pub(super) fn rename_calls(&mut self, longest: usize) {
        let all = self.turns.iter().flat_map(Turn::call_ids);
        let fine = all.filter(|id| is_safe_id(id, longest));
        let mut taken: HashSet<String> = fine.map(str::to_owned).collect();
        let mut seen: HashSet<String> = HashSet::new();
        // The new ids of calls without results so far, by the id that the results name.
        let mut waiting: HashMap<String, VecDeque<String>> = HashMap::new();
        for turn in &mut self.turns {
            for part in &mut turn.parts {
                let ContentPart::Call { id, .. } = part else { continue };
                let mut name = id.to_string();
                if !is_safe_id(id, longest) || !seen.insert(name.clone()) {
                    name = unused_id(id, longest, &taken);
                    taken.insert(name.clone());
                    let (from, to) = (id.to_string(), name.clone());
                    let entry = turn.entry.clone();
                    self.repairs.push(ContextRepair::CallRenamed { entry, from, to });
                }
                waiting.entry(id.to_string()).or_default().push_back(name.clone());
                *id = Cow::Owned(name);
            }
            if let Speaker::Tool { call, .. } = &mut turn.speaker
                && let Some(name) = waiting.get_mut(&**call).and_then(VecDeque::pop_front)
            {
                *call = Cow::Owned(name);
            }
        }
    }

    /// Gives every called tool a name of at most `longest` characters from `A-Z a-z 0-9 _ -`, unless
    /// the request defines a tool of this name.
    pub(super) fn rename_tools(&mut self, longest: usize, tools: &[Tool]) {
        for turn in &mut self.turns {
            for part in &mut turn.parts {
                let ContentPart::Call { name, .. } = part else { continue };
                if is_safe_id(name, longest) || tools.iter().any(|tool| tool.name == *name) {
                    continue;
                }
                let to = match safe_id(name, longest) {
                    to if to.is_empty() => "unnamed".to_owned(),
                    to => to,
                };
                let (entry, from) = (turn.entry.clone(), name.to_string());
                self.repairs.push(ContextRepair::ToolRenamed { entry, from, to: to.clone() });
                *name = Cow::Owned(to);
            }
        }
    }
}

impl Turn<'_> {
    fn call_ids(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            ContentPart::Call { id, .. } => Some(&**id),
            _ => None,
        })
    }
}

fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Returns whether all providers accept the text as an id or a name of this length.
fn is_safe_id(id: &str, longest: usize) -> bool {
    !id.is_empty() && id.len() <= longest && id.chars().all(is_safe)
}

/// Returns the text with `_` for every character that an id cannot have.
fn safe_id(id: &str, longest: usize) -> String {
    id.chars().map(|c| if is_safe(c) { c } else { '_' }).take(longest).collect()
}

fn unused_id(id: &str, longest: usize, taken: &HashSet<String>) -> String {
    let safe = safe_id(id, longest);
    let base = if safe.is_empty() { "call".to_owned() } else { safe };
    let mut name = base.clone();
    let mut count = 1_u32;
    while taken.contains(&name) {
        count += 1;
        let suffix = format!("_{count}");
        name = base.chars().take(longest - suffix.len()).collect::<String>() + &suffix;
    }
    name
}
