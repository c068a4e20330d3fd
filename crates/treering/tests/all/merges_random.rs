//! Tests of random picks and merges against sets of ids: a branch has the entries on its path,
//! those that were copied to it, and those that each merged leaf had.

use crate::support::{cases, outline, result, user, written};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use treering::merge::{Merge, MergeSummary, PickPlan, Repeated, Selection};
use treering::provider::{ContextRepair, Pairing};
use treering::storage::MemoryJournal;
use treering::{CreateOptions, EntryId, Kind, NewEntry, Session};
use treering_testkit::rng::Rng;

struct World {
    session: Session,
    rng: Rng,
    calls: usize,
    /// All entries as they were when they were written.
    bytes: HashMap<EntryId, Vec<u8>>,
    /// The entries that can be reached from each entry.
    known: HashMap<String, BTreeSet<String>>,
    /// The copies among them, by their originals.
    copied: HashMap<String, BTreeSet<String>>,
    merged: HashMap<String, String>,
    origins: HashMap<String, String>,
}

impl World {
    fn new(seed: u64) -> Self {
        World {
            session: Session::in_memory("/project"),
            rng: Rng::new(seed),
            calls: 0,
            bytes: HashMap::new(),
            known: HashMap::new(),
            copied: HashMap::new(),
            merged: HashMap::new(),
            origins: HashMap::new(),
        }
    }

    fn some(&mut self) -> String {
        let ids: Vec<EntryId> = self.session.tree().ids().collect();
        self.rng.pick(&ids).to_string()
    }

    fn append(&mut self, line: &str) {
        self.session.append(NewEntry::from_json(line.as_bytes()).unwrap()).unwrap();
        self.learn();
    }

    /// Reads what is new.
    fn learn(&mut self) {
        for entry in self.session.entries() {
            let entry = entry.unwrap();
            let raw = entry.raw().to_vec();
            if let Some(before) = self.bytes.insert(entry.id().clone(), raw) {
                assert_eq!(before, entry.raw(), "{} has changed", entry.id());
                continue;
            }
            let id = entry.id().to_string();
            let mut known =
                entry.parent().map(|up| self.known[up.as_str()].clone()).unwrap_or_default();
            let mut copied =
                entry.parent().map(|up| self.copied[up.as_str()].clone()).unwrap_or_default();
            known.insert(id.clone());
            if let Some(origin) = entry.copied_from() {
                copied.insert(origin.entry.to_string());
                self.origins.insert(id.clone(), origin.entry.to_string());
            }
            if let Some(from) = entry.merged_from() {
                known.extend(self.known[&*from].iter().cloned());
                copied.extend(self.copied[&*from].iter().cloned());
                self.merged.insert(id.clone(), from.into_owned());
            }
            self.known.insert(id.clone(), known);
            self.copied.insert(id, copied);
        }
    }

    fn expected(&self, other: &str) -> Vec<String> {
        let none = BTreeSet::new();
        let here = self.session.leaf();
        let known = here.as_ref().map_or(&none, |leaf| &self.known[leaf.as_str()]);
        let copied = here.as_ref().map_or(&none, |leaf| &self.copied[leaf.as_str()]);
        let path = self.session.tree().path(other).unwrap().into_iter().map(|id| id.to_string());
        path.filter(|id| {
            let origin = self.origins.get(id).unwrap_or(id);
            let is_known = known.contains(origin) || copied.contains(origin);
            let brings_nothing = self.merged.get(id).is_some_and(|from| known.contains(from));
            !known.contains(id) && !is_known && !brings_nothing
        })
        .collect()
    }

    /// Returns the repairs that concern `copies`, and the number of others.
    fn repairs(&self, copies: &HashSet<String>) -> (Vec<ContextRepair>, usize) {
        let repairs = self.session.context().unwrap().to_llm(Pairing::Strict).repairs;
        let (ours, others): (Vec<_>, Vec<_>) =
            repairs.into_iter().partition(|repair| copies.contains(repair.entry().as_str()));
        (ours, others.len())
    }

    fn check_copies(&self, plan: &PickPlan, copies: &[EntryId], repairs_before: usize) {
        assert_eq!(copies.len(), plan.entries.len());
        for (copy, original) in copies.iter().zip(&plan.entries) {
            let copy = self.session.entry(copy.as_str()).unwrap();
            let original = self.session.entry(original.as_str()).unwrap();
            assert_eq!(copy.get("message"), original.get("message"));
            assert_eq!(copy.get("summary"), original.get("summary"));
        }
        let ids: HashSet<String> = copies.iter().map(|id| id.to_string()).collect();
        let (ours, others) = self.repairs(&ids);
        let mut open: Vec<&str> = plan.unanswered.iter().map(|(_, call)| call.as_str()).collect();
        let mut made_up: Vec<&str> = ours
            .iter()
            .map(|repair| match repair {
                ContextRepair::ResultAdded { call, .. } => call.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        open.sort_unstable();
        made_up.sort_unstable();
        assert_eq!(made_up, open, "calls and results come together");
        assert!(others <= repairs_before, "what was there is no worse than before");
    }

    fn step(&mut self) {
        if self.session.tree().is_empty() {
            return self.append(&user("first", None).replace(r#","parentId":null"#, ""));
        }
        match self.rng.below(12) {
            0..=2 => {
                let line = r#"{"type":"message","message":{"role":"user","content":"hi"}}"#;
                self.append(line);
            }
            3 | 4 => self.turn(),
            5 | 6 => {
                let id = self.some();
                self.session.branch(&id).unwrap();
                self.learn();
            }
            7 => self.append(r#"{"type":"custom","customType":"note"}"#),
            8 | 9 => self.pick(),
            _ => self.merge(),
        }
    }

    /// A message with calls, and results for some of them.
    fn turn(&mut self) {
        let count = 1 + self.rng.index(3);
        let names: Vec<String> = (0..count).map(|at| format!("t{}", self.calls + at)).collect();
        self.calls += count;
        let refs: Vec<&str> = names.iter().map(String::as_str).collect();
        let strip = |line: String| {
            line.replace(r#""id":"new","parentId":null,"#, "").replace("\"new\"", "\"said\"")
        };
        self.append(&strip(crate::support::calls("new", None, &refs)));
        for name in &names {
            if self.rng.chance(0.85) {
                self.append(&strip(result("new", None, name)));
            }
            if self.rng.chance(0.1) {
                self.append(r#"{"type":"custom","customType":"note"}"#);
            }
        }
    }

    fn pick(&mut self) {
        let to = self.some();
        let path = self.session.tree().path(&to).unwrap();
        let from = self.rng.pick(&path).to_string();
        let selection =
            if self.rng.chance(0.5) { Selection::entry(&to) } else { Selection::range(&from, &to) };
        let Ok(plan) = self.session.plan_pick(&self.session, &selection, Repeated::Skipped) else {
            return;
        };
        let before = self.repairs(&HashSet::new()).1;
        let copies = self.session.apply_pick(&plan).unwrap();
        self.learn();
        self.check_copies(&plan, &copies, before);
        let again = self.session.plan_pick(&self.session, &selection, Repeated::Skipped).unwrap();
        assert!(again.is_empty(), "picked twice: {again:?}");
    }

    fn merge(&mut self) {
        let other = self.some();
        let expected = self.expected(&other);
        let plan = match self.session.plan_merge(&other, 0).unwrap() {
            Merge::Ready(plan) => plan,
            Merge::NothingNew => {
                let tree = self.session.tree();
                let is_message = |id: &String| {
                    matches!(tree.kind(id).unwrap(), Kind::Message | Kind::BranchSummary)
                };
                return assert!(!expected.iter().any(is_message), "{expected:?}");
            }
        };
        let entries: Vec<String> = plan.entries.iter().map(|id| id.to_string()).collect();
        assert_eq!(entries, expected);
        if self.rng.chance(0.5) {
            let copies = self.session.plan_merge_copies(&plan).unwrap();
            let before = self.repairs(&HashSet::new()).1;
            let merged = self.session.apply_merge(&plan).unwrap();
            self.learn();
            self.check_copies(&copies, &merged.copies, before);
        } else {
            let summary = MergeSummary::new("done");
            self.session.apply_merge_summary(&plan, summary).unwrap();
            self.learn();
        }
        assert!(matches!(self.session.plan_merge(&other, 0).unwrap(), Merge::NothingNew));
    }

    fn reopened(&self) -> Session {
        let journal = Arc::new(MemoryJournal::new(written(&self.session)));
        Session::in_journal(journal, "/project", CreateOptions::new()).unwrap()
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn picks_and_merges_bring_what_is_new_and_lose_nothing(seed in any::<u64>()) {
        let mut world = World::new(seed);
        for _ in 0..30 {
            world.step();
        }
        let again = world.reopened();
        prop_assert_eq!(outline(&again), outline(&world.session));
        prop_assert_eq!(again.leaf(), world.session.leaf());
        prop_assert_eq!(again.context().unwrap(), world.session.context().unwrap());
        for other in world.session.tree().conversation().leaves() {
            let plan = |session: &Session| match session.plan_merge(other.as_str(), 0).unwrap() {
                Merge::Ready(plan) => plan.entries,
                Merge::NothingNew => Vec::new(),
            };
            prop_assert_eq!(plan(&again), plan(&world.session));
        }
    }
}
