//! Tests of faults in the storage: whatever a journal does, acknowledged entries are there, memory
//! and log agree, and the next append is intact.

use crate::support::{Leaf, assert_agrees, assert_own_line, cases, outline};
use proptest::prelude::*;
use std::sync::Arc;
use treering::session::Durability;
use treering::{CreateOptions, EntryId, Message, NewEntry, Session};
use treering_testkit::faulty::{Faulty, Rates};
use treering_testkit::rng::Rng;

fn open(journal: &Arc<Faulty>, durability: Durability) -> Session {
    let options = CreateOptions::new().durability(durability);
    Session::in_journal(Arc::clone(journal) as _, "/project", options).unwrap()
}

/// Returns a session whose header is safe.
fn begun(durability: Durability) -> (Arc<Faulty>, Session, EntryId) {
    let journal = Faulty::in_memory();
    let session = open(&journal, durability);
    let first = session.append(Message::user("begin")).unwrap();
    session.sync().unwrap();
    (journal, session, first)
}

/// Appends until `count` attempts were made; returns what was acknowledged.
fn work(session: &Session, rng: &mut Rng, count: usize) -> Vec<EntryId> {
    let mut acknowledged: Vec<EntryId> = Vec::new();
    for number in 0..count {
        let leaf = session.leaf();
        let text = "text ".repeat(rng.index(30));
        let result = match rng.below(6) {
            0 => session.append_all(&[
                Message::user(&text).into_entry(),
                Message::assistant("a", "m", &text).into_entry(),
            ]),
            1 if !acknowledged.is_empty() => {
                let target = rng.pick(&acknowledged).clone();
                session.branch(target.as_str()).map(|_| Vec::new())
            }
            2 => session
                .append(NewEntry::model_change("acme", &number.to_string()))
                .map(|id| vec![id]),
            _ => session.append(Message::user(&text)).map(|id| vec![id]),
        };
        match result {
            Ok(ids) => acknowledged.extend(ids),
            Err(_) => assert_eq!(session.leaf(), leaf, "a failure moves nothing"),
        }
    }
    acknowledged
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn appends_that_fail_in_any_way(seed: u64, rate in 0.05_f64..0.7) {
        let (journal, session, first) = begun(Durability::None);
        let mut rng = Rng::new(seed);
        journal.draw(seed, Rates { append: rate, sync: 0.0 });
        let acknowledged = work(&session, &mut rng, 40);
        journal.heal();
        let last = session.append(Message::user("last")).unwrap();
        let again = open(&journal, Durability::None);
        for id in acknowledged.iter().chain([&first, &last]) {
            prop_assert!(!again.entry(id.as_str()).unwrap().is_damaged(), "{id} was acknowledged");
        }
        assert_own_line(&journal.contents(), last.as_str());
        prop_assert_eq!(outline(&session), outline(&again), "memory and log agree");
        prop_assert_eq!(session.context().unwrap(), again.context().unwrap());
        assert_agrees(&again, &journal.contents(), Leaf::OfTheFile);
    }

    #[test]
    fn syncs_that_fail(seed: u64, rate in 0.05_f64..0.7) {
        let (journal, session, _) = begun(Durability::Each);
        let mut rng = Rng::new(seed);
        journal.draw(seed, Rates { append: 0.0, sync: rate });
        let acknowledged = work(&session, &mut rng, 40);
        journal.heal();
        let again = open(&journal, Durability::None);
        // Nothing else writes here, so what could not be made durable was removed.
        let there: Vec<EntryId> = again.tree().ids().skip(1).collect();
        let there: Vec<EntryId> = there
            .into_iter()
            .filter(|id| again.tree().kind(id.as_str()).unwrap() != treering::Kind::Leaf)
            .collect();
        prop_assert_eq!(there, acknowledged);
        prop_assert_eq!(outline(&session), outline(&again), "memory and log agree");
        prop_assert_eq!(journal.durable(), journal.contents().len() as u64);
    }

    #[test]
    fn power_failures(seed: u64, rounds in 1_usize..6) {
        let (journal, session, first) = begun(Durability::Each);
        drop(session);
        let mut rng = Rng::new(seed);
        let mut safe = vec![first];
        for _ in 0..rounds {
            // One writer waits for the disk, another does not; then the power fails.
            let careful = open(&journal, Durability::Each);
            safe.extend(work(&careful, &mut rng, 4));
            let hasty = open(&journal, Durability::None);
            work(&hasty, &mut rng, 4);
            drop((careful, hasty));
            journal.crash(&mut rng);

            let after = open(&journal, Durability::Each);
            for id in &safe {
                prop_assert!(!after.entry(id.as_str()).unwrap().is_damaged(), "{id} was on disk");
            }
            assert_agrees(&after, &journal.contents(), Leaf::OfTheFile);
            let next = after.append(Message::user("after the crash")).unwrap();
            assert_own_line(&journal.contents(), next.as_str());
            let again = open(&journal, Durability::None);
            prop_assert_eq!(again.leaf(), Some(next.clone()));
            prop_assert_eq!(outline(&after), outline(&again));
            safe.push(next);
        }
    }
}
