//! Tests random sequences of operations against a simple account of the effect of each.
//!
//! After every step nothing that was in the file has changed, the leaf is where the account says, a
//! provider would take the context, and the file alone tells the same story.

use crate::navigate::{exact_with_summary, given};
use crate::support::handlers::Extension;
use crate::support::scripted::{Play, Scripted};
use crate::support::talk::{Home, answer, call, json_of, result, user};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use treering::provider::Pairing;
use treering::{Context, NewEntry, Session};
use treering_agent::{
    AgentError, AgentSession, CancellationToken, CompactOptions, Compaction, ForkPosition, Forked,
    MergeOptions, MergeOutcome, NavigateOptions, Navigation,
};

#[derive(Debug, Clone, Copy)]
enum When {
    Before,
    AtTheHandlers,
    AtTheSummary,
}

/// An event while a summary is being written.
#[derive(Debug, Clone, Copy)]
enum Meanwhile {
    Nothing,
    /// This session's leaf goes to an entry.
    Goes(u16),
    /// Another process moves the file's leaf to an entry.
    OthersGo(u16),
    /// This session appends a message.
    Says,
}

#[derive(Debug, Clone)]
enum Step {
    /// Some of: question, call, its result, answer.
    Say(u8),
    Navigate {
        to: u16,
        summarize: bool,
        label: bool,
        stop: Option<When>,
    },
    BranchHere {
        to: u16,
        summary: u8,
    },
    Pop {
        stop: Option<When>,
    },
    Compact {
        keep: u64,
        stop: Option<When>,
        meanwhile: Meanwhile,
    },
    Label {
        to: u16,
        clear: bool,
    },
    Fork {
        to: u16,
        before: bool,
    },
    Merge {
        from: u16,
        full: bool,
        stop: Option<When>,
    },
}

fn meanwhile() -> impl Strategy<Value = Meanwhile> {
    prop_oneof![
        2 => Just(Meanwhile::Nothing),
        2 => any::<u16>().prop_map(Meanwhile::Goes),
        2 => any::<u16>().prop_map(Meanwhile::OthersGo),
        1 => Just(Meanwhile::Says),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let stop = || {
        prop_oneof![
            4 => Just(None),
            1 => Just(Some(When::Before)),
            1 => Just(Some(When::AtTheHandlers)),
            1 => Just(Some(When::AtTheSummary)),
        ]
    };
    prop_oneof![
        5 => (1u8..16).prop_map(Step::Say),
        4 => (any::<u16>(), any::<bool>(), any::<bool>(), stop())
            .prop_map(|(to, summarize, label, stop)| Step::Navigate { to, summarize, label, stop }),
        2 => (any::<u16>(), 0u8..3).prop_map(|(to, summary)| Step::BranchHere { to, summary }),
        2 => stop().prop_map(|stop| Step::Pop { stop }),
        4 => (1u64..120, stop(), meanwhile())
            .prop_map(|(keep, stop, meanwhile)| Step::Compact { keep, stop, meanwhile }),
        1 => (any::<u16>(), any::<bool>()).prop_map(|(to, clear)| Step::Label { to, clear }),
        1 => (any::<u16>(), any::<bool>()).prop_map(|(to, before)| Step::Fork { to, before }),
        2 => (any::<u16>(), any::<bool>(), stop())
            .prop_map(|(from, full, stop)| Step::Merge { from, full, stop }),
    ]
}

/// An entry, as far as the account goes.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    id: String,
    parent: Option<String>,
    kind: String,
    role: String,
}

/// The account: lines in order, and where the leaf is.
#[derive(Debug, Clone, Default)]
struct Account {
    lines: Vec<Line>,
    leaf: Option<String>,
}

/// The entries that a step adds: kinds and parents in order; `None` as a parent is the line added
/// before.
type Added = Vec<(&'static str, Option<Option<String>>)>;

impl Account {
    fn line(&self, id: &str) -> &Line {
        self.lines.iter().find(|line| line.id == id).unwrap()
    }

    /// From the leaf to the root.
    fn path(&self, from: Option<&str>) -> Vec<String> {
        let mut path = Vec::new();
        let mut at = from.map(str::to_owned);
        while let Some(id) = at {
            at = self.line(&id).parent.clone();
            path.push(id);
        }
        path
    }

    fn pick(&self, number: u16) -> Option<String> {
        let count = self.lines.len();
        (count > 0).then(|| self.lines[number as usize % count].id.clone())
    }

    /// Whether something that a summary could be about is left behind.
    fn speaks(&self, to: &str) -> bool {
        let (old, new) = (self.path(self.leaf.as_deref()), self.path(Some(to)));
        let left = old.iter().filter(|id| !new.contains(id)).map(|id| self.line(id));
        left.into_iter().any(|line| match &*line.kind {
            "message" => line.role != "toolResult",
            "branch_summary" | "compaction" => true,
            _ => false,
        })
    }

    /// The position that going to an entry leads to.
    fn destination(&self, to: &str) -> Option<String> {
        match &*self.line(to).role {
            "user" => self.line(to).parent.clone(),
            _ => Some(to.to_owned()),
        }
    }

    fn previous_user_message(&self) -> Option<String> {
        let path = self.path(self.leaf.as_deref());
        path.into_iter().skip(1).find(|id| self.line(id).role == "user")
    }

    /// Returns the entries that a move adds.
    fn moves(&mut self, destination: Option<String>, summary: bool, label: bool) -> Added {
        let mut added: Added = Vec::new();
        if summary {
            added.push(("branch_summary", Some(destination.clone())));
        } else if label || self.leaf != destination {
            added.push(("leaf", Some(destination.clone())));
        }
        if label && summary {
            added.push(("label", None));
        } else if label {
            added.push(("label", Some(destination.clone())));
        }
        self.leaf = destination;
        added
    }

    /// Adds to the account the entries that only the session has, which must be `added`.
    fn take_in(&mut self, session: &Session, added: &Added) {
        let now = lines(session);
        assert_eq!(now[..self.lines.len()], self.lines[..], "what was there stays");
        let new = &now[self.lines.len()..];
        let kinds: Vec<&str> = new.iter().map(|line| &*line.kind).collect();
        let expected: Vec<&str> = added.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, expected);
        for (at, (line, (kind, parent))) in new.iter().zip(added).enumerate() {
            let before = || new.get(at.wrapping_sub(1)).map(|line| line.id.clone());
            let parent = parent.clone().unwrap_or_else(before);
            assert_eq!(line.parent, parent, "{kind}");
            if *kind != "leaf" {
                self.leaf = Some(line.id.clone());
            }
        }
        self.lines = now;
    }
}

fn lines(session: &Session) -> Vec<Line> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let line = |raw: Value| Line {
        id: text(&raw["id"]).unwrap(),
        parent: text(&raw["parentId"]),
        kind: text(&raw["type"]).unwrap(),
        role: text(&raw["message"]["role"]).unwrap_or_default(),
    };
    session.entries().map(|entry| line(json_of(&entry.unwrap()))).collect()
}

/// Every call is answered by what follows, and nothing else is.
fn assert_paired(context: &Context) {
    let mut open: BTreeSet<String> = BTreeSet::new();
    for message in context.to_llm(Pairing::Strict).messages {
        let message: Value = serde_json::from_slice(&message.json).unwrap();
        match message["role"].as_str().unwrap() {
            "toolResult" => {
                let id = message["toolCallId"].as_str().unwrap();
                assert!(open.remove(id), "a result without its call: {id}");
            }
            _ => {
                assert!(open.is_empty(), "calls without results: {open:?}");
                let blocks = message["content"].as_array().cloned().unwrap_or_default();
                let calls = blocks.iter().filter(|block| block["type"] == "toolCall");
                open = calls.map(|call| call["id"].as_str().unwrap().to_owned()).collect();
            }
        }
    }
    assert!(open.is_empty(), "calls without results: {open:?}");
}

struct World {
    _home: Home,
    agent: AgentSession,
    extension: Arc<Extension>,
    summarizer: Arc<Scripted>,
    account: Account,
    bytes: Vec<u8>,
    texts: usize,
}

impl World {
    fn new() -> World {
        let (home, session) = Home::new();
        let (extension, summarizer) = (Arc::new(Extension::default()), Scripted::plays([]));
        let agent = AgentSession::new(session)
            .with_summarizer(summarizer.clone())
            .with_hooks("extension", extension.clone());
        let (account, bytes) = (Account::default(), Vec::new());
        World { _home: home, agent, extension, summarizer, account, bytes, texts: 0 }
    }

    fn say(&mut self, which: u8) {
        self.texts += 1;
        let (text, id) = (format!("{} {}", self.texts, "x".repeat(60)), format!("t{}", self.texts));
        let all = [user(&text), call(&id, "read", "a.rs"), result(&id, &text), answer(&text)];
        let chosen = all.into_iter().enumerate().filter(|(at, _)| which & (1 << at) != 0);
        let entries: Vec<NewEntry> = chosen.map(|(_, entry)| entry).collect();
        self.agent.session().append_all(&entries).unwrap();
        let mut added: Added = vec![("message", None); entries.len()];
        added[0].1 = Some(self.account.leaf.clone());
        self.account.take_in(&self.agent.session(), &added);
    }

    /// Runs an operation, and stops it at the given moment if it gets that far.
    async fn run<T>(
        &self,
        stop: Option<When>,
        operation: impl AsyncFnOnce(CancellationToken) -> Result<T, AgentError>,
    ) -> Result<T, AgentError> {
        let cancel = CancellationToken::new();
        while self.extension.has_entered() || self.summarizer.has_arrived() {}
        match stop {
            Some(When::Before) => cancel.cancel(),
            Some(When::AtTheHandlers) => self.extension.hangs.store(true, Ordering::SeqCst),
            Some(When::AtTheSummary) => self.summarizer.play(Play::Wait("never")),
            None => {}
        }
        let moment = async {
            match stop {
                Some(When::AtTheHandlers) => self.extension.entered().await,
                Some(When::AtTheSummary) => self.summarizer.arrived().await,
                _ => std::future::pending().await,
            }
            cancel.cancel();
        };
        let mut work = Box::pin(operation(cancel.clone()));
        let done = tokio::select! {
            done = &mut work => done,
            () = moment => work.await,
        };
        self.extension.hangs.store(false, Ordering::SeqCst);
        self.summarizer.forget();
        done
    }

    async fn go(&mut self, step: Step) {
        let (agent, account) = (&self.agent, &self.account);
        match step {
            Step::Say(which) => self.say(which),
            Step::Navigate { to, summarize, label, stop } => {
                let Some(to) = account.pick(to) else { return };
                let label = label.then(|| "label".to_owned());
                let labels = label.is_some();
                let done = self.run(stop, async |cancel| {
                    let mut options = NavigateOptions::new().summarize(summarize).cancel(cancel);
                    options.label = label;
                    agent.navigate(&to, options).await
                });
                let done = done.await.unwrap();
                self.moved(done, &to, None, summarize, labels, stop);
            }
            Step::Pop { stop } => {
                let to = account.previous_user_message();
                let done = self.run(stop, async |cancel| {
                    agent.pop_previous(NavigateOptions::new().cancel(cancel)).await
                });
                match (done.await, to) {
                    (Ok(done), Some(to)) => self.moved(done, &to, None, true, false, stop),
                    (Err(AgentError::NothingToPop), None) => {}
                    other => panic!("{other:?}"),
                }
            }
            Step::BranchHere { to, summary } => {
                let Some(to) = account.pick(to) else { return };
                let summary = match summary {
                    0 => NavigateOptions::exact(),
                    1 => given("given"),
                    _ => exact_with_summary(None),
                };
                let (given, asks) = (summary.given_summary.is_some(), summary.summarize);
                let done = agent.navigate(&to, summary).await.unwrap();
                let summarizes = given || asks && account.speaks(&to);
                self.moved(done, &to, Some((to.clone(), summarizes)), asks, false, None);
            }
            Step::Compact { keep, stop: None, meanwhile } => {
                self.compact_while(keep, meanwhile).await;
            }
            Step::Compact { keep, stop, .. } => {
                let done = self.run(stop, async |cancel| {
                    let keep_recent_tokens = Some(keep);
                    let mut options = CompactOptions::new().cancel(cancel);
                    options.keep_recent_tokens = keep_recent_tokens;
                    agent.compact(options).await
                });
                let added = match done.await.unwrap() {
                    Compaction::Done(_) if stop.is_none() => {
                        vec![("compaction", Some(self.account.leaf.clone()))]
                    }
                    Compaction::Aborted if stop.is_some() => vec![],
                    Compaction::TooSmall => vec![],
                    Compaction::AlreadyCompacted => {
                        let leaf = self.account.leaf.as_ref().unwrap();
                        assert_eq!(self.account.line(leaf).kind, "compaction");
                        vec![]
                    }
                    other => panic!("{other:?}"),
                };
                self.account.take_in(&self.agent.session(), &added);
            }
            Step::Label { to, clear } => {
                let Some(to) = account.pick(to) else { return };
                agent.label(&to, (!clear).then_some("here")).unwrap();
                let added = vec![("label", Some(self.account.leaf.clone()))];
                self.account.take_in(&self.agent.session(), &added);
            }
            Step::Fork { to, before } => self.fork(to, before).await,
            Step::Merge { from, full, stop } => self.merge(from, full, stop).await,
        }
    }

    /// Compacts while the leaf may move: the compaction goes to the branch it was made for, and no
    /// leaf that has left that branch comes back.
    async fn compact_while(&mut self, keep: u64, meanwhile: Meanwhile) {
        while self.summarizer.has_arrived() {}
        let made_for = self.account.leaf.clone();
        self.summarizer.play(Play::Wait("late"));
        let options = CompactOptions::new().keep_recent_tokens(keep);
        let (agent, account) = (&self.agent, &self.account);
        let session = agent.session();
        let mut work = Box::pin(agent.compact(options));
        let early = tokio::select! {
            done = &mut work => Some(done),
            () = self.summarizer.arrived() => None,
        };
        let mut own = made_for.clone();
        let mut file = made_for.clone();
        if early.is_none() {
            match meanwhile {
                Meanwhile::Nothing => {}
                Meanwhile::Goes(to) => {
                    own = account.pick(to);
                    session.branch(own.as_deref().unwrap()).unwrap();
                    file = own.clone();
                }
                Meanwhile::OthersGo(to) => {
                    file = account.pick(to);
                    let others = Session::open(session.path().unwrap()).unwrap();
                    others.branch(file.as_deref().unwrap()).unwrap();
                }
                Meanwhile::Says => {
                    own = Some(session.append(user("meanwhile")).unwrap().to_string());
                    file = own.clone();
                }
            }
        }
        self.summarizer.go();
        let done = match early {
            Some(done) => done,
            None => work.await,
        };
        self.summarizer.forget();
        while self.summarizer.take_back_go() {}
        let before = self.account.lines.len();
        let now = lines(&session);
        assert_eq!(now[..before], self.account.lines[..], "what was there stays");
        self.account.lines = now;
        let path = |leaf: &Option<String>| self.account.path(leaf.as_deref());
        let stands = |leaf: &Option<String>, was: &Option<String>| {
            let (leaf, was) = (path(leaf), path(was));
            leaf.ends_with(&was)
        };
        let file_leaf = session.tree().file_leaf().map(|leaf| leaf.to_string());
        let own_leaf = session.leaf().map(|leaf| leaf.to_string());
        // Each leaf is where it went, or below it.
        assert!(stands(&file_leaf, &file), "{file_leaf:?} {file:?}");
        assert!(stands(&own_leaf, &own), "{own_leaf:?} {own:?}");
        if let Ok(Compaction::Done(compacted)) = &done {
            let id = Some(compacted.entry.id().to_string());
            assert!(stands(&id, &made_for), "the branch it was made for");
            for (leaf, went) in [(&file_leaf, &file), (&own_leaf, &own)] {
                // A compaction is the leaf where the leaf has not left the branch.
                assert_eq!(*leaf == id, stands(went, &made_for), "{leaf:?} {went:?}");
            }
        }
        self.account.leaf = own_leaf;
        if file_leaf != self.account.leaf {
            // The other process continues; its branch becomes this session's for the rest of the story.
            session.follow().unwrap();
            self.account.leaf = file_leaf;
        }
        assert!(done.is_ok(), "{done:?}");
    }

    fn moved(
        &mut self,
        done: Navigation,
        to: &str,
        here: Option<(String, bool)>,
        summarize: bool,
        label: bool,
        stop: Option<When>,
    ) {
        let is_there = self.account.leaf.as_deref() == Some(to);
        let (destination, summary) = match here {
            Some((here, summary)) => (Some(here), summary),
            None => (self.account.destination(to), summarize && self.account.speaks(to)),
        };
        let reaches = |when: When| !matches!(when, When::AtTheSummary) || summary;
        let added = match done {
            Navigation::AlreadyThere => {
                assert!(is_there);
                vec![]
            }
            Navigation::Aborted => {
                assert!(stop.is_some_and(reaches));
                vec![]
            }
            Navigation::Moved(moved) => {
                assert!(!is_there && !stop.is_some_and(reaches));
                assert_eq!(moved.summary.is_some(), summary);
                self.account.moves(destination, summary, label)
            }
            other => panic!("{other:?}"),
        };
        self.account.take_in(&self.agent.session(), &added);
    }

    /// Other tests check the content of a merge; this one, that it comes as one chain under the
    /// leaf, once.
    async fn merge(&mut self, from: u16, full: bool, stop: Option<When>) {
        let Some(from) = self.account.pick(from) else { return };
        // No handler is asked about a merge.
        let stop = stop.filter(|stop| !matches!(stop, When::AtTheHandlers));
        let agent = &self.agent;
        let merge = async |cancel| {
            let options = MergeOptions::new().full(full).cancel(cancel);
            agent.merge(&from, options).await
        };
        let done = self.run(stop, merge).await.unwrap();
        let now = lines(&agent.session());
        let (old, new) = now.split_at(self.account.lines.len());
        assert_eq!(old, self.account.lines, "what was there stays");
        match done {
            MergeOutcome::NothingNew => assert!(new.is_empty()),
            MergeOutcome::Aborted => assert!(stop.is_some() && new.is_empty()),
            MergeOutcome::Done(merged) => {
                let mut parent = self.account.leaf.clone();
                for line in new {
                    assert_eq!(line.parent, parent);
                    parent = Some(line.id.clone());
                }
                assert_eq!(parent.as_deref(), Some(merged.entry.id().as_str()));
                let kind = if full { "custom" } else { "branch_summary" };
                assert_eq!(new.last().unwrap().kind, kind);
                let again = self.run(None, merge).await.unwrap();
                assert!(matches!(again, MergeOutcome::NothingNew));
                self.account.leaf = parent;
            }
        }
        self.account.lines = now;
    }

    async fn fork(&mut self, to: u16, before: bool) {
        let Some(to) = self.account.pick(to) else { return };
        let position = if before { ForkPosition::Before } else { ForkPosition::At };
        let old = self.agent.session();
        match self.agent.fork(&to, position, &CancellationToken::new()).await {
            Err(AgentError::NotAUserMessage(_)) => {
                assert!(before && self.account.line(&to).role != "user");
                return;
            }
            Ok(Forked::Done { .. }) => {}
            other => panic!("{other:?}"),
        }
        let leaf = if before { self.account.destination(&to) } else { Some(to) };
        let new = self.agent.session();
        let messages = |context: Context| context.messages.into_iter().map(|message| message.json);
        let there: Vec<_> = messages(old.context_at(leaf.as_deref()).unwrap()).collect();
        let here: Vec<_> = messages(new.context().unwrap()).collect();
        assert_eq!(there, here);
        assert_eq!(std::fs::read(old.path().unwrap()).unwrap_or_default(), self.bytes);
        // From here on it is another file.
        self.bytes.clear();
        self.account.lines = lines(&new);
        self.account.leaf = new.leaf().map(|leaf| leaf.to_string());
    }

    fn check(&mut self) {
        let session = self.agent.session();
        assert_eq!(session.leaf().map(|leaf| leaf.to_string()), self.account.leaf);
        let context = self.agent.context().unwrap();
        assert_paired(&context);
        assert_eq!(self.agent.running(), None);
        let path = session.path().unwrap();
        if !path.exists() {
            return;
        }
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(&self.bytes), "bytes never change");
        self.bytes = bytes;
        let again = Session::open(&path).unwrap();
        assert_eq!(again.leaf(), session.leaf());
        assert_eq!(lines(&again), self.account.lines);
        assert_eq!(again.context().unwrap(), context);
        let parents = |session: &Session| -> HashMap<String, Vec<String>> {
            let tree = session.tree();
            let children = |id: &str| {
                tree.children(id).unwrap().iter().map(|child| child.to_string()).collect()
            };
            tree.ids().map(|id| (id.to_string(), children(id.as_str()))).collect()
        };
        assert_eq!(parents(&again), parents(&session));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]
    #[test]
    fn the_account_matches_the_session_after_random_operations(steps in prop::collection::vec(step(), 1..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new();
            world.say(15);
            world.check();
            for step in steps {
                world.go(step).await;
                world.check();
            }
        });
    }
}
