//! Tests of sizes and shapes that break recursive and quadratic readers. They test that it works;
//! benchmarks measure the speed.

use crate::support::{HEADER, assert_tail_agrees, file, join, open, user};
use std::io::Write;
use treering::{Message, Session};
use treering_testkit::generate::{self, Plan};

const CHAIN: u64 = 200_000;
const CHILDREN: u64 = 50_000;

#[test]
fn a_chain_of_very_many_entries() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.jsonl");
    let stats = generate::chain(&mut std::fs::File::create(&path).unwrap(), 1, CHAIN).unwrap();
    let session = Session::open(&path).unwrap();
    let tree = session.tree();
    assert_eq!(tree.len() as u64, CHAIN);
    assert_eq!(session.leaf().unwrap(), &*stats.leaf);
    assert_eq!(tree.depth(&stats.leaf).unwrap() as u64, CHAIN - 1);
    assert_eq!(tree.path(&stats.leaf).unwrap().len() as u64, CHAIN);
    assert_eq!(tree.walk().last().unwrap().depth as u64, CHAIN - 1);
    assert_eq!(tree.leaves().len(), 1);
    assert_eq!(tree.common_ancestor(&stats.leaf, &stats.middle).unwrap().unwrap(), &*stats.middle);
    assert_eq!(session.context().unwrap().messages.len() as u64, CHAIN);
    let kept = session.abandoned_entries(&stats.leaf, &stats.middle).unwrap().entries;
    assert_eq!(kept.len() as u64, CHAIN / 2 - 1);
    session.branch(&stats.middle).unwrap();
    session.append(Message::user("from the middle")).unwrap();
    assert_eq!(session.context().unwrap().messages.len() as u64, CHAIN / 2 + 2);
    let fork = session.fork(&stats.middle, Default::default()).unwrap();
    assert_eq!(fork.tree().len() as u64, CHAIN / 2 + 1);
}

#[test]
fn very_many_children_of_one_parent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.jsonl");
    let stats = generate::star(&mut std::fs::File::create(&path).unwrap(), 1, CHILDREN).unwrap();
    let session = Session::open(&path).unwrap();
    let tree = session.tree();
    let root = tree.roots().remove(0);
    assert_eq!(tree.children(root.as_str()).unwrap().len() as u64, CHILDREN - 1);
    assert_eq!(tree.walk().filter(|item| item.depth == 1).count() as u64, CHILDREN - 1);
    assert_eq!(tree.leaves().len() as u64, CHILDREN - 1);
    assert_eq!(join(tree.branch_points()), root.to_string());
    assert_eq!(session.context().unwrap().messages.len(), 2);
    for id in stats.sample.iter().take(100) {
        session.branch_in_memory(id).unwrap();
        session.append(Message::user("under it")).unwrap();
    }
    assert_eq!(session.tree().len() as u64, CHILDREN + 100);
}

#[test]
fn chains_that_run_backwards_and_one_great_cycle() {
    const COUNT: usize = 30_000;
    let id = |number: usize| format!("{number:08x}");
    let backwards: Vec<String> =
        (0..COUNT).rev().map(|n| user(&id(n), n.checked_sub(1).map(id).as_deref())).collect();
    let session = open(file(&backwards));
    assert_eq!(session.tree().depth(id(COUNT - 1)).unwrap(), COUNT - 1);
    assert_eq!(session.leaf().unwrap(), &*id(0));

    let cycle: Vec<String> =
        (0..COUNT).map(|n| user(&id(n), Some(&id((n + COUNT - 1) % COUNT)))).collect();
    let session = open(file(&cycle));
    assert_eq!(session.tree().depth(id(COUNT - 1)).unwrap(), COUNT - 1);
    assert_eq!(session.findings().unwrap().len(), 1);
}

#[test]
fn very_many_orphans_among_others() {
    const COUNT: usize = 30_000;
    let mut lines = Vec::new();
    for number in 0..COUNT {
        lines.push(user(&format!("o{number}"), Some(&format!("missing{number}"))));
        lines.push(user(&format!("c{number}"), Some(&format!("o{number}"))));
    }
    let session = open(file(&lines));
    assert_eq!(session.tree().roots().len(), COUNT);
    assert_eq!(session.tree().len(), 2 * COUNT);
    session.append(Message::user("more")).unwrap();
}

#[test]
fn a_file_of_nothing_but_rubbish_after_its_header() {
    let mut text = format!("{HEADER}\n");
    for number in 0..100_000 {
        text.push_str(if number % 2 == 0 { "{\n" } else { "42\n" });
    }
    let session = open(&text);
    assert_eq!(session.tree().len(), 0);
    let findings = session.findings().unwrap().len();
    assert!((1..100_000).contains(&findings), "reported, but not without end: {findings}");
}

#[test]
fn a_header_of_two_megabytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.jsonl");
    let header =
        HEADER.replace("\"cwd\"", &format!("\"notes\":\"{}\",\"cwd\"", "x".repeat(2 << 20)));
    std::fs::write(&path, file(&[user("a", None)]).replace(HEADER, &header)).unwrap();
    let session = Session::open(&path).unwrap();
    assert_eq!((session.cwd().as_str(), session.tree().len()), ("/project", 1));
    assert_eq!(treering::catalog::info(&path).unwrap().id, "s1", "it is listed as well");
    assert_tail_agrees(&path);
}

#[test]
fn a_line_of_128_megabytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.jsonl");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    writeln!(out, "{HEADER}\n{}", user("a", None)).unwrap();
    let line = user("b", Some("a"));
    let (before, after) = line.split_once("\"content\":\"b").unwrap();
    write!(out, "{before}\"content\":\"").unwrap();
    let megabyte = "y".repeat(1 << 20);
    for _ in 0..128 {
        out.write_all(megabyte.as_bytes()).unwrap();
    }
    writeln!(out, "{after}\n{}", user("c", Some("b"))).unwrap();
    drop(out);
    let session = Session::open(&path).unwrap();
    assert_eq!(crate::support::path(&session, "c"), "a b c");
    assert!(!session.entry("b").unwrap().is_damaged());
    let sizes: Vec<usize> =
        session.context().unwrap().messages.iter().map(|m| m.json.len()).collect();
    assert!(sizes[1] > 128 << 20 && sizes.len() == 3);
    session.append(Message::user("d")).unwrap();
    assert_eq!(Session::open(&path).unwrap().tree().len(), 4);
}

#[test]
fn a_generated_session_of_some_megabytes() {
    let (bytes, stats) = generate::session_bytes(&Plan::bytes(9, 8_000_000));
    let session = open(&bytes);
    assert_eq!(session.tree().len() as u64, stats.entries);
    assert_eq!(session.leaf().unwrap(), &*stats.leaf);
    assert_eq!(session.tree().path(&stats.leaf).unwrap().len(), stats.depth);
    assert_eq!(session.findings().unwrap(), []);
    for id in stats.sample.iter().step_by(50) {
        assert!(
            !session.context_at(id).unwrap().messages.is_empty()
                || session.tree().depth(id).unwrap() < 4
        );
    }
}
