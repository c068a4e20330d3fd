//! Tests of tokens, and that spaces are separated even for a query without a condition.

use crate::{contents, create, id, server, store};
use treering::Error;
use treering::store::{ListQuery, Store};
use treering_postgres::Scope;

#[test]
fn spaces_do_not_see_each_other() {
    let Some(ours) = store("space-a") else { return };
    let theirs = ours.in_space("space-b").expect("a space");
    create(&ours, "same", b"{\"ours\":1}\n");
    create(&theirs, "same", b"{\"theirs\":1}\n");
    create(&theirs, "secret", b"{\"theirs\":2}\n");
    assert_eq!(contents(&*ours.open(&id("same")).expect("open")), b"{\"ours\":1}\n");
    assert_eq!(contents(&*theirs.open(&id("same")).expect("open")), b"{\"theirs\":1}\n");
    assert!(matches!(ours.open(&id("secret")), Err(Error::UnknownSession(_))));
    assert!(matches!(ours.remove(&id("secret")), Err(Error::UnknownSession(_))));
    assert!(ours.list(&ListQuery::new()).expect("list").sessions.is_empty());
    // Ids that no session can have.
    for text in ["a\0b", "../x", "' OR 1=1 --", ""] {
        let wrong = treering::SessionId::of_file(text);
        assert!(matches!(ours.open(&wrong), Err(Error::UnknownSession(_))), "{text:?}");
        assert!(matches!(ours.remove(&wrong), Err(Error::UnknownSession(_))), "{text:?}");
        let created = ours.create(&wrong, &mut &b"{}\n"[..]);
        assert!(matches!(created, Err(Error::InvalidSessionId(_))), "{text:?}");
    }
    for name in ["", "a\nb", &"x".repeat(201)] {
        assert!(ours.in_space(name).is_err(), "{name:?}");
    }

    // A query without any condition, as the role of the store, through the table and its partitions.
    let server = server().expect("a server");
    let counted = |space: &str| {
        let partitions = (0..16).map(|n| format!("+ (SELECT count(*) FROM treering.lines_{n})"));
        let sql = format!(
            "SET treering.space = '{space}'; SELECT (SELECT count(*) FROM treering.sessions), \
             (SELECT count(*) FROM treering.lines), (SELECT count(*) FROM treering.facts), 0 {}",
            partitions.collect::<String>()
        );
        server.sql_as("treering", "shared", &sql).expect("psql")
    };
    assert_eq!(counted("space-a"), "1|1|1|1");
    assert_eq!(counted("space-b"), "2|2|2|2");
    assert_eq!(counted(""), "0|0|0|0");
    let forged = "SET treering.space = 'space-a'; INSERT INTO treering.lines VALUES ('space-b', 'same', 99, 'x')";
    let refused = server.sql_as("treering", "shared", forged).expect_err("another space");
    assert!(refused.contains("row-level security"), "{refused}");
}

#[test]
fn tokens_are_found_until_they_expire_or_are_revoked() {
    let Some(store) = store("tokens") else { return };
    let hash = |byte: u8| [byte; 32];
    store.create_token(&hash(1), "laptop", "team", Scope::Write, None).expect("create");
    store.create_token(&hash(2), "old", "team", Scope::Read, Some(1_000_000)).expect("create");
    let later = Some(4_000_000_000_000);
    store.create_token(&hash(3), "robot", "other", Scope::Admin, later).expect("create");
    assert!(store.create_token(&hash(4), "", "team", Scope::Read, None).is_err());
    assert!(store.create_token(&hash(4), "x", "", Scope::Read, None).is_err());
    let found = store.find_token(&hash(1)).expect("find").expect("a token");
    assert_eq!((&*found.name, &*found.space, found.scope), ("laptop", "team", Scope::Write));
    assert_eq!(found.expires, None);
    assert!(store.find_token(&hash(2)).expect("find").is_none(), "it has expired");
    let robot = store.find_token(&hash(3)).expect("find").expect("a token");
    assert_eq!((robot.expires, robot.scope), (later, Scope::Admin));
    assert!(store.find_token(&hash(9)).expect("find").is_none());
    assert_eq!(store.revoke_token("laptop").expect("revoke"), 1);
    assert_eq!(store.revoke_token("laptop").expect("revoke"), 0);
    assert!(store.find_token(&hash(1)).expect("find").is_none());
    let all = store.tokens().expect("tokens");
    assert_eq!(all.len(), 3);
    assert!(all.iter().any(|token| token.name == "laptop" && token.revoked.is_some()));
    assert_eq!("admin".parse::<Scope>().expect("a scope"), Scope::Admin);
    assert!("root".parse::<Scope>().is_err());
}
