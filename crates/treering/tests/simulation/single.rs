//! Tests of single faults that need a disk or a clock of their own.

use std::sync::Arc;
use std::time::{Duration, SystemTime};
use treering::session::{Creation, Durability};
use treering::{Catalog, CreateOptions, Message, Session};
use treering_testkit::sim::{Faults, World};

fn run<T: Send>(world: &Arc<World>, body: impl FnOnce() -> T + Send) -> T {
    let mut result = None;
    world.run(vec![Box::new(|| result = Some(body()))]);
    result.unwrap()
}

fn each() -> CreateOptions {
    CreateOptions::new().durability(Durability::Each)
}

fn in_sim() -> Catalog {
    Catalog::new("/sim/sessions")
}

fn world(faults: Faults) -> Arc<World> {
    let world = World::new(1, faults);
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_603_600);
    world.state().disk.put("/sim/file".as_ref(), b"", now);
    world
}

#[test]
fn an_append_is_not_acknowledged_if_the_directory_could_not_be_synced() {
    let world = world(Faults { dir_syncs: 1.0, ..Faults::default() });
    let error = run(&world, || {
        let session = in_sim().create("/p", each()).unwrap();
        session.append(Message::user("hello")).unwrap_err()
    });
    let message = error.to_string();
    assert!(message.contains("os error 5"), "{message}: the system's own words");
}

#[test]
fn new_directories_are_synced_with_the_session_in_them() {
    for seed in 0..50 {
        let world = World::new(seed, Faults::default());
        world.state().disk.put("/sim/file".as_ref(), b"", SystemTime::UNIX_EPOCH);
        let path = run(&world, || {
            let session = in_sim().create("/p", each()).unwrap();
            session.append(Message::user("hello")).unwrap();
            session.path().unwrap()
        });
        world.fail_power();
        let text = world.afterwards(|| Session::open(&path).unwrap().tree().len());
        assert_eq!(text, 1, "seed {seed}");
    }
}

#[test]
fn a_failed_sync_is_reported_in_the_words_of_the_system() {
    let world = world(Faults { syncs: 1.0, ..Faults::default() });
    let error = run(&world, || {
        let session = in_sim().create("/p", each()).unwrap();
        session.append(Message::user("hello")).unwrap_err()
    });
    let message = error.to_string();
    assert!(message.contains("os error 5") && !message.contains("uncategorized"), "{message}");
}

#[test]
fn a_clock_before_1970_is_only_wrong() {
    let world = world(Faults::default());
    world.set_clock(SystemTime::UNIX_EPOCH - Duration::from_secs(86_400));
    let (header, count) = run(&world, || {
        let session = in_sim().create("/p", CreateOptions::new()).unwrap();
        session.append(Message::user("hello")).unwrap();
        let fork = session.fork(session.leaf().unwrap().as_str(), Default::default()).unwrap();
        (session.header(), fork.tree().len())
    });
    assert_eq!((&*header.timestamp, count), ("1969-12-31T00:00:00.000Z", 1));
}

#[test]
fn the_name_of_a_new_file_and_its_header_tell_the_same_time() {
    let world = world(Faults { clock_jumps: 1.0, ..Faults::default() });
    run(&world, || {
        for _ in 0..20 {
            let options = CreateOptions::new().creation(Creation::AtOnce);
            let session = in_sim().create("/p", options).unwrap();
            let name = session.path().unwrap().file_name().unwrap().to_string_lossy().into_owned();
            let stamp = session.header().timestamp.replace([':', '.'], "-");
            assert_eq!(name, format!("{stamp}_{}.jsonl", session.id()));
        }
    });
}
