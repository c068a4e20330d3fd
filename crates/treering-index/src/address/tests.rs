use super::*;
use proptest::prelude::*;
use treering::{Dialect, SessionId};

fn session(number: i64, id: &str, name: Option<&str>, cwd: &str) -> SessionInfo {
    let (path, id) = (format!("/s/{number}.jsonl"), SessionId::of_file(id));
    let mut info = SessionInfo::new(path, Dialect::Pi, id);
    info.cwd = cwd.into();
    info.name = name.map(str::to_owned);
    info.modified = -number;
    info.branch_count = 1;
    info
}

/// Newest first; one to four are the project's.
fn index() -> Vec<SessionInfo> {
    vec![
        session(0, "ff00", Some("Tea"), "/other"),
        session(1, "aa11", Some("Fix the parser"), "/p"),
        session(2, "aa22", Some("tea"), "/p/sub"),
        session(3, "bb33", None, "/p"),
        session(4, "cc44", Some("Fix the lexer"), "/p"),
        session(5, "aa55", Some("Boats"), "/other"),
        session(6, "Boats", Some("A name like an id"), "/other"),
        session(7, "dd77", Some("twin"), "/other"),
        session(8, "dd88", Some("twin"), "/other"),
        session(9, "", None, "/other"),
    ]
}

#[test]
fn a_table_of_addresses() {
    let (all, project) = (index(), Project::new("/p"));
    let table = [
        ("@latest", 1),
        ("@1", 1),
        ("@2", 2),
        ("@04", 4),
        ("@all", 0),
        ("@all/latest", 0),
        ("@all/6", 5),
        ("bb33", 3),
        ("b", 3),
        ("aa2", 2),
        ("aa5", 5),
        ("ff", 0),
        // In the project before elsewhere, exactly before nearly.
        ("tea", 2),
        ("Tea", 2),
        ("TEA", 2),
        ("fix the p", 1),
        ("Fix The Lexer", 4),
        ("Boats", 6),
        ("boats", 5),
        ("dd88", 8),
    ];
    for (text, expected) in table {
        let found = resolve(text, &all, &project).map(|session| -session.modified);
        assert_eq!(found, Ok(expected), "{text}");
    }
}

#[test]
fn several_are_a_question() {
    let (all, project) = (index(), Project::new("/p"));
    for (text, expected) in [("aa", vec![1, 2]), ("fix", vec![1, 4]), ("twin", vec![7, 8])] {
        let Err(AddressError::Ambiguous { count, candidates, .. }) = resolve(text, &all, &project)
        else {
            panic!("{text} must be ambiguous");
        };
        let numbers: Vec<i64> = candidates.iter().map(|session| -session.modified).collect();
        assert_eq!((count, numbers), (expected.len(), expected), "{text}");
    }
    let many: Vec<_> = (0..50).map(|n| session(n, "same", None, "/p")).collect();
    let error = resolve("same", &many, &project).unwrap_err();
    assert_eq!(error.to_string(), "\"same\" matches 50 sessions");
    assert!(
        matches!(error, AddressError::Ambiguous { candidates, .. } if candidates.len() == LISTED)
    );
}

#[test]
fn a_position_beyond_the_list_is_an_error() {
    let (all, project) = (index(), Project::new("/p"));
    let why = |text| resolve(text, &all, &project).unwrap_err().to_string();
    assert_eq!(why("@5"), "there is no \"@5\": this project has 4 sessions");
    assert_eq!(why("@0"), "there is no \"@0\": this project has 4 sessions");
    assert_eq!(why("@all/11"), "there is no \"@all/11\": this machine has 10 sessions");
    assert!(why("@99999999999999999999999999").ends_with("4 sessions"));
    let nobody = Project::new("/nobody");
    let error = resolve("@latest", &all, &nobody).unwrap_err();
    assert_eq!(error.to_string(), "there is no \"@latest\": this project has no sessions");
}

#[test]
fn near_ones_are_suggested() {
    let (all, project) = (index(), Project::new("/p"));
    let near = |text: &str| match resolve(text, &all, &project) {
        Err(AddressError::Unknown { near, .. }) => near,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(near("tee"), ["Tea", "tea"]);
    assert_eq!(near("parser"), ["Fix the parser"]);
    assert_eq!(near("bb34"), ["bb33"]);
    assert_eq!(near("nothing like it"), [] as [&str; 0]);
    assert_eq!(near(""), [] as [&str; 0]);
    assert_eq!(near("@lates"), [] as [&str; 0]);
}

#[test]
fn short_ids_are_unambiguous() {
    let ids = ["0123456789a", "0123456789b", "short", "ünïcödeünï1", "ünïcödeünï2", "short"];
    let all: Vec<_> = ids.iter().map(|id| session(0, id, None, "")).collect();
    let short = short_ids(&all);
    assert_eq!(short["0123456789a"], "0123456789a");
    assert_eq!(short["short"], "short");
    let longer = [session(0, "01234567-8", None, ""), session(0, "11234567-8", None, "")];
    assert_eq!(short_ids(&longer)["11234567-8"], "11234567");
}

proptest! {
    #[test]
    fn distance_is_what_the_definition_says(a in "[abc]{0,6}", b in "[abc]{0,6}") {
        fn slow(a: &[char], b: &[char]) -> usize {
            match (a, b) {
                ([], rest) | (rest, []) => rest.len(),
                ([x, a @ ..], [y, b @ ..]) if x == y => slow(a, b),
                ([_, a2 @ ..], [_, b2 @ ..]) => 1 + slow(a2, b2).min(slow(a, b2)).min(slow(a2, b)),
            }
        }
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        prop_assert_eq!(distance(&a, &b), slow(&a, &b));
    }
}

#[test]
fn every_candidate_names_its_session() {
    let (all, project) = (index(), Project::new("/p"));
    for text in ["", "a", "aa", "t", "FIX", "d", "@", "@all/", "Boats", "zz"] {
        for Candidate { text: word, session } in candidates(text, &all, &project, 50) {
            assert_eq!(resolve(&word, &all, &project), Ok(session), "{text}: {word}");
        }
    }
    let words = |text| {
        let found = candidates(text, &all, &project, 3).into_iter();
        found.map(|candidate| candidate.text).collect::<Vec<_>>()
    };
    assert_eq!(words("fix"), ["Fix the parser", "Fix the lexer"]);
    assert_eq!(words("twin"), [""; 0], "two sessions have this name");
    assert_eq!(words("@"), ["@latest", "@2", "@3"]);
}
