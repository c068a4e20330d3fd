//! Random histories on two sides, synchronized in any order, with transfers that are cut off anywhere.

use crate::unreliable::Unreliable;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use treering::internal::records::{LineContent, LogFormat};
use treering::storage::MemoryJournal;
use treering::store::{MemoryStore, Store};
use treering::{CreateOptions, Dialect, Message, OpenOptions, Session, SessionId};
use treering_client::sync::{Direction, Syncer};

#[derive(Debug, Clone)]
enum Step {
    /// Appends to a side, at its leaf.
    Append(bool),
    /// Moves the leaf of a side to one of its entries.
    Move(bool, prop::sample::Index),
    Name(bool, u8),
    /// Synchronizes; a side stops answering after some calls.
    Sync(Direction, Option<(bool, i64)>),
    /// Deletes the record.
    Forget,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let direction = prop::sample::select(vec![Direction::Push, Direction::Pull, Direction::Both]);
    let step = prop_oneof![
        4 => any::<bool>().prop_map(Step::Append),
        2 => (any::<bool>(), any::<prop::sample::Index>()).prop_map(|(side, at)| Step::Move(side, at)),
        1 => (any::<bool>(), any::<u8>()).prop_map(|(side, name)| Step::Name(side, name)),
        4 => (direction, prop::option::of((any::<bool>(), 0_i64..60)))
            .prop_map(|(direction, cut)| Step::Sync(direction, cut)),
        1 => Just(Step::Forget),
    ];
    prop::collection::vec(step, 1..24)
}

fn id() -> SessionId {
    SessionId::new("s").unwrap()
}

fn bytes(store: &Arc<dyn Store>) -> Vec<u8> {
    let Ok(journal) = store.open(&id()) else { return Vec::new() };
    let mut bytes = vec![0; journal.len().unwrap() as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += journal.read_at(filled as u64, &mut bytes[filled..]).unwrap();
    }
    bytes
}

/// The lines of a log that both sides must have.
fn shared(log: &[u8]) -> BTreeSet<Vec<u8>> {
    let journal = MemoryJournal::new(log.to_vec());
    let format = LogFormat::of(&journal).unwrap();
    let lines = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let is_shared = |line: &&[u8]| match format.line(line) {
        LineContent::Entry(record) => !record.is_kept_leaf,
        // The title is compared by itself.
        LineContent::Header => true,
        LineContent::Other => false,
    };
    lines.filter(is_shared).map(<[u8]>::to_vec).collect()
}

fn synced(stores: &[Arc<dyn Store>; 2], cut: Option<(bool, i64)>, state: &Path) -> Syncer {
    let side = |number: usize| match cut {
        Some((is_second, calls)) if usize::from(is_second) == number => {
            Arc::new(Unreliable::new(Arc::clone(&stores[number]), calls)) as Arc<dyn Store>
        }
        _ => Arc::clone(&stores[number]),
    };
    Syncer::new(side(0), side(1)).with_record(state)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn both_sides_get_everything_and_nothing_is_overwritten(
        dialect in prop::sample::select(Dialect::ALL.into_iter().filter(|dialect| dialect.is_writable()).collect::<Vec<_>>()),
        steps in steps(),
    ) {
        let state = tempfile::tempdir().unwrap();
        let memory = || Arc::new(MemoryStore::new()) as Arc<dyn Store>;
        let stores = [memory(), memory()];
        let options = CreateOptions::new().id(id()).dialect(dialect);
        let session = Session::create_in(&stores[0], "/p", options).unwrap();
        session.append(Message::user("start")).unwrap();
        let slot = if dialect == Dialect::Omp { 256 } else { 0 };
        let mut number = 0;
        for step in steps {
            let before = [bytes(&stores[0]), bytes(&stores[1])];
            let open = |side: bool| Session::open_in(&stores[usize::from(side)], &id(), OpenOptions::new()).ok();
            number += 1;
            match &step {
                Step::Append(side) => {
                    if let Some(session) = open(*side) {
                        session.append(Message::user(&*format!("entry {number}"))).unwrap();
                    }
                }
                Step::Move(side, at) => {
                    if let Some(session) = open(*side) {
                        let ids: Vec<_> = session.tree().ids().collect();
                        session.branch(at.get(&ids)).unwrap();
                    }
                }
                Step::Name(side, name) => {
                    if let Some(session) = open(*side) {
                        session.set_name(&format!("name {name}")).unwrap();
                    }
                }
                Step::Sync(direction, cut) => {
                    // What is cut off fails, and that is all.
                    let _ = synced(&stores, *cut, state.path()).sessions(&[id()], *direction, |_| {});
                }
                Step::Forget => {
                    for file in std::fs::read_dir(state.path()).unwrap() {
                        std::fs::remove_file(file.unwrap().path()).unwrap();
                    }
                }
            }
            for (store, before) in stores.iter().zip(&before) {
                let now = bytes(store);
                prop_assert!(now.len() >= before.len() && now.get(slot..before.len()) == before.get(slot..), "{step:?} changed bytes");
            }
        }
        let leaves = stores.each_ref().map(|store| {
            Session::open_in(store, &id(), OpenOptions::new()).ok().map(|session| session.leaf())
        });
        let entries = |store: &Arc<dyn Store>| shared(&bytes(store));
        let all: BTreeSet<_> = entries(&stores[0]).union(&if bytes(&stores[1]).is_empty() { BTreeSet::new() } else { entries(&stores[1]) }).cloned().collect();
        let report = synced(&stores, None, state.path()).sessions(&[id()], Direction::Both, |_| {}).unwrap();
        prop_assert!(report.is_complete(), "{report:?}");
        prop_assert_eq!(&entries(&stores[0]), &all);
        prop_assert_eq!(&entries(&stores[1]), &all);
        prop_assert_eq!(&bytes(&stores[0])[..slot], &bytes(&stores[1])[..slot]);
        if report.merged > 0 && leaves.iter().all(Option::is_some) {
            for (store, leaf) in stores.iter().zip(&leaves) {
                let now = Session::open_in(store, &id(), OpenOptions::new()).unwrap().leaf();
                if report.sent > 0 && report.received > 0 {
                    prop_assert_eq!(Some(&now), leaf.as_ref());
                }
            }
        }
        // Again, with the record and without it.
        for keeps_record in [true, false] {
            let before = [bytes(&stores[0]), bytes(&stores[1])];
            let fresh = tempfile::tempdir().unwrap();
            let state = if keeps_record { state.path() } else { fresh.path() };
            let report = synced(&stores, None, state).sessions(&[id()], Direction::Both, |_| {}).unwrap();
            prop_assert_eq!((report.unchanged, report.sent, report.received), (1, 0, 0));
            prop_assert_eq!([bytes(&stores[0]), bytes(&stores[1])], before);
        }
        for store in &stores {
            let session = Session::open_in(store, &id(), OpenOptions::new()).unwrap();
            prop_assert_eq!(session.findings().unwrap(), []);
        }
    }
}
