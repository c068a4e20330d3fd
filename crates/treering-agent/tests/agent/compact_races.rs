//! Changes of a branch while its summary is being written.

use crate::compact::{done, keep_a_turn, talk};
use crate::support::handlers::seen;
use crate::support::scripted::{Play, Scripted};
use crate::support::talk::{Home, answer, lines, user};
use std::sync::Arc;
use treering::compaction::CompactionSettings;
use treering::{EntryId, Error, NewEntry, Position, Session};
use treering_agent::{
    AgentError, AgentSession, AgentSettings, CancellationToken, Compacted, Compaction, Event,
};

struct Race {
    home: Home,
    ids: Vec<EntryId>,
    agent: AgentSession,
    summarizer: Arc<Scripted>,
}

fn race() -> Race {
    let (home, session) = Home::new();
    let ids = talk(&session, 1..=3);
    let summarizer = Scripted::plays([Play::Wait("Late.")]);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    Race { home, ids, agent, summarizer }
}

impl Race {
    /// Compacts, and does `meanwhile` while the summary is being written.
    async fn compact<T>(
        &self,
        meanwhile: impl FnOnce(&Session) -> T,
    ) -> (Result<Compaction, AgentError>, T) {
        let meanwhile = async {
            self.summarizer.arrived().await;
            let done = meanwhile(&self.agent.session());
            self.summarizer.go();
            done
        };
        tokio::join!(self.agent.compact(keep_a_turn()), meanwhile)
    }

    /// The file's leaf is where others put it, and this session continues from the compaction.
    fn stays(&self, leaf: &EntryId, compacted: &Compacted) {
        assert_eq!(self.home.reopened().leaf().as_ref(), Some(leaf));
        assert_eq!(self.agent.session().leaf().as_ref(), Some(compacted.entry.id()));
        assert!(!compacted.is_active);
    }

    /// The context of the session is that of the file.
    fn agrees(&self) {
        let again = self.home.reopened();
        assert_eq!(again.leaf(), self.agent.session().leaf());
        assert_eq!(again.context().unwrap(), self.agent.context().unwrap());
    }

    fn others(&self) -> Session {
        self.home.reopened()
    }
}

fn texts(agent: &AgentSession) -> Vec<String> {
    let short = |line: String| line.trim_end_matches(['.', ' ']).to_owned();
    lines(&agent.context().unwrap()).into_iter().map(short).collect()
}

const KEPT: [&str; 3] = ["compactionSummary: Late", "user: question 3", "assistant: answer 3"];

#[tokio::test]
async fn own_entries_that_came_meanwhile_stay_in_the_context() {
    let race = race();
    let (compaction, more) = race
        .compact(|session| {
            session.append(user("more")).unwrap();
            session.label(race.ids[0].as_str(), Some("start")).unwrap()
        })
        .await;
    let compacted = done(compaction);
    assert_eq!(compacted.entry.parent(), Some(&more));
    assert_eq!(texts(&race.agent), [&KEPT[..], &["user: more"]].concat());
    race.agrees();
}

#[tokio::test]
async fn entries_of_others_that_came_meanwhile_stay_in_the_context() {
    let race = race();
    let (compaction, theirs) = race
        .compact(|_| {
            let others = race.others();
            others.append(user("theirs")).unwrap();
            others.append(answer("done")).unwrap()
        })
        .await;
    let compacted = done(compaction);
    assert_eq!(compacted.entry.parent(), Some(&theirs));
    assert_eq!(texts(&race.agent), [&KEPT[..], &["user: theirs", "assistant: done"]].concat());
    race.agrees();
}

#[tokio::test]
async fn branches_of_others_are_left_alone() {
    let race = race();
    let (compaction, theirs) = race
        .compact(|_| {
            let others = race.others();
            others.branch(race.ids[1].as_str()).unwrap();
            others.append(user("theirs")).unwrap()
        })
        .await;
    let compacted = done(compaction);
    assert_eq!(compacted.entry.parent(), Some(&race.ids[5]));
    assert_eq!(texts(&race.agent), KEPT);
    let tree = race.agent.session().tree();
    assert_eq!(tree.path(theirs.as_str()).unwrap().len(), 3);
    race.stays(&theirs, &compacted);
    // A pointer alone does not take us along, and is not taken back, either.
    let race = self::race();
    let (compaction, to) =
        race.compact(|_| race.others().branch(&race.ids[1]).unwrap().unwrap()).await;
    let compacted = done(compaction);
    assert_eq!(compacted.entry.parent(), Some(&race.ids[5]));
    race.stays(&to, &compacted);
    // The next message here makes this branch the active one again.
    let next = race.agent.session().append(user("next")).unwrap();
    assert_eq!(race.home.reopened().leaf(), Some(next));
    race.agrees();
}

#[tokio::test]
async fn others_that_went_before_the_first_entry_stay_there() {
    let race = race();
    let (compaction, _) = race.compact(|_| race.others().branch(Position::Start).unwrap()).await;
    assert_eq!(done(compaction).entry.parent(), Some(&race.ids[5]));
    assert_eq!(race.home.reopened().leaf(), None);
    assert_eq!(texts(&race.agent), KEPT);
}

#[tokio::test]
async fn an_automatic_compaction_takes_no_leaf_along() {
    let race = race();
    let compaction = CompactionSettings::new().keep_recent_tokens(1);
    let settings = AgentSettings::new().compaction(compaction).context_window(1);
    race.agent.set_settings(settings);
    let cancel = CancellationToken::new();
    let meanwhile = async {
        race.summarizer.arrived().await;
        let to = race.others().branch(&race.ids[1]).unwrap().unwrap();
        race.summarizer.go();
        to
    };
    let (compaction, to) = tokio::join!(race.agent.compact_if_needed(&cancel), meanwhile);
    let Ok(Some(Compaction::Done(compacted))) = compaction else { panic!("{compaction:?}") };
    assert_eq!(compacted.entry.parent(), Some(&race.ids[5]));
    race.stays(&to, &compacted);
}

#[tokio::test]
async fn entries_of_both_writers_during_a_compaction_stay() {
    let race = race();
    let (compaction, (own, theirs)) = race
        .compact(|session| {
            let others = race.others();
            let own = session.append(user("own")).unwrap();
            (own, others.append(user("theirs")).unwrap())
        })
        .await;
    let compacted = done(compaction);
    assert_eq!(compacted.entry.parent(), Some(&own), "where this session is");
    assert_eq!(texts(&race.agent), [&KEPT[..], &["user: own"]].concat());
    race.stays(&theirs, &compacted);
}

#[tokio::test]
async fn what_others_compacted_is_theirs() {
    let race = race();
    let (compaction, theirs) = race
        .compact(|_| {
            let others = race.others();
            others.append(NewEntry::compaction("theirs", Some(&race.ids[2]), 9)).unwrap()
        })
        .await;
    let compacted = done(compaction);
    assert_eq!(compacted.entry.parent(), Some(&race.ids[5]), "beside it, not upon it");
    assert_eq!(texts(&race.agent), KEPT);
    race.stays(&theirs, &compacted);
}

#[tokio::test]
async fn a_leaf_that_moved_during_a_compaction_stays() {
    type Away = fn(&Session, &[EntryId]);
    let ways: [Away; 4] = [
        |session, ids| drop(session.branch(ids[1].as_str()).unwrap()),
        |session, ids| {
            session.branch(ids[3].as_str()).unwrap();
            session.append(user("elsewhere")).unwrap();
        },
        |session, _| drop(session.branch(Position::Start).unwrap()),
        |session, ids| drop(session.append(NewEntry::compaction("x", Some(&ids[2]), 9)).unwrap()),
    ];
    for (at, away) in ways.into_iter().enumerate() {
        let race = race();
        let mut events = race.agent.subscribe();
        let (compaction, (leaf, context)) = race
            .compact(|session| {
                away(session, &race.ids);
                (session.leaf(), session.context().unwrap())
            })
            .await;
        // The summary is kept where it belongs.
        let compacted = done(compaction);
        assert_eq!(compacted.entry.parent(), Some(&race.ids[5]), "{at}");
        assert!(!compacted.is_active);
        assert_eq!(race.agent.session().leaf(), leaf, "{at}");
        assert_eq!(race.agent.context().unwrap(), context, "{at}");
        race.agrees();
        assert!(matches!(seen(&mut events).pop(), Some(Event::SessionCompact(_))));
    }
}

#[tokio::test]
async fn a_damaged_end_of_the_file_is_no_other_branch() {
    let (home, session) = Home::new();
    let ids = talk(&session, 1..=3);
    drop(session);
    let mut bytes = home.bytes();
    let parent = ids[5].as_str();
    bytes.extend_from_slice(
        format!("{{\"type\":\"message\",\"id\":\"deadbeef\",\"parentId\":\"{parent}\",\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"message\":{{\"role\":\"user\",\"con\n").as_bytes(),
    );
    std::fs::write(&home.path, bytes).unwrap();
    let session = home.reopened();
    assert_eq!(session.leaf().as_ref(), Some(&ids[5]));
    let agent = AgentSession::new(session).with_summarizer(Scripted::plays([]));
    let compacted = done(agent.compact(keep_a_turn()).await);
    assert_eq!(compacted.entry.parent(), Some(&ids[5]));
    assert_eq!(home.reopened().leaf().as_ref(), Some(compacted.entry.id()));
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_is_gone_is_an_error() {
    let race = race();
    let (compaction, ()) = race.compact(|_| std::fs::remove_file(&race.home.path).unwrap()).await;
    assert!(matches!(compaction, Err(AgentError::Session(Error::Deleted(_)))), "{compaction:?}");
    assert_eq!((race.home.files(), race.agent.running()), (0, None));
}
