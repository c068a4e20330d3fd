//! Tests of the HTML page.

use crate::support::{branch, fixture, html, index, of, pieces, subtree};
use serde_json::json;
use treering::session::Part;
use treering::{Message, Session};

#[test]
fn an_entry_is_a_piece_and_a_row() {
    let session = fixture("rich.jsonl");
    let page = html(&of(Part::All), &session);
    let (pieces, index) = (pieces(&page), index(&page));
    let count = session.tree().len();
    assert_eq!(pieces.len(), count);
    assert_eq!(index["ids"].as_array().unwrap().len(), count);
    assert_eq!(index["kinds"].as_str().unwrap().len(), count);
    assert_eq!(index["title"], "Make the nightly import fast again");
    assert_eq!(index["cwd"], "/home/me/billing");
    let row =
        |id: &str| index["ids"].as_array().unwrap().iter().position(|other| other == id).unwrap();
    assert_eq!(index["labels"][row("a6").to_string()], "fast import");
    assert_eq!(index["leaf"], row("a10"));
    let parent = |id: &str| row(id) - index["up"][row(id)].as_u64().unwrap() as usize;
    assert_eq!(parent("s1"), row("a3"));
    assert_eq!(parent("u3"), row("a3"));
    assert_eq!(index["previews"][row("r1")], "[read: src/import.rs:1-60]");
    assert_eq!(index["facts"], json!(["18 messages", "7 tool calls", "471k tokens", "$0.25"]));
}

#[test]
fn pieces_of_the_rich_session() {
    let session = fixture("rich.jsonl");
    let page = html(&of(Part::All), &session);
    let index = index(&page);
    let all = pieces(&page);
    let piece = |id: &str| {
        let at = index["ids"].as_array().unwrap().iter().position(|other| other == id).unwrap();
        all[at].clone()
    };
    insta::assert_snapshot!("edit", piece("a4"));
    insta::assert_snapshot!("failed", piece("b2"));
    insta::assert_snapshot!("user", piece("u1"));
    assert!(piece("r6").contains("<img loading=lazy src=\"data:image/png;base64,iVBOR"));
    assert!(piece("a1").starts_with("<details class=think><summary>Thinking</summary>"));
    assert!(piece("a9").contains("<p class=bad>aborted: Request was aborted</p>"));
    assert!(piece("r3").starts_with("<details class=res><summary>"), "long results are folded");
    assert!(piece("r2").starts_with("<details class=res open>"), "short ones are not");
}

#[test]
fn a_selection_is_all_there_is() {
    let session = fixture("rich.jsonl");
    let ids = |page: &str| index(page)["ids"].clone();
    assert_eq!(
        ids(&html(&branch("u2"), &session)),
        json!(["m0", "u1", "a1", "r1", "r2", "a2", "r3", "u2"])
    );
    let page = html(&subtree("u3"), &session);
    assert_eq!(ids(&page), json!(["u3", "b1", "b2", "b3"]));
    assert!(!page.contains("nightly import takes"), "nothing else is in the file");
    assert_eq!(index(&page)["leaf"], -1);
}

#[test]
fn an_empty_session_is_a_page_too() {
    let session = Session::in_memory("/project");
    let page = html(&of(Part::All), &session);
    assert_eq!(pieces(&page), Vec::<String>::new());
    assert_eq!(index(&page)["title"], "Session");
}

#[test]
fn many_entries_are_many_blocks() {
    let session = Session::in_memory("/project");
    let entries: Vec<_> =
        (0..2000).map(|n| Message::user(format!("message {n}")).into_entry()).collect();
    session.append_all(&entries).unwrap();
    let page = html(&of(Part::All), &session);
    let pieces = pieces(&page);
    assert_eq!(pieces.len(), 2000);
    assert_eq!(pieces[1999], "<p>message 1999</p>\n");
    assert!(page.matches("<script type=\"text/plain\"").count() > 2);
}

#[test]
fn the_policy_names_the_script_and_the_style() {
    use sha2::{Digest, Sha256};
    let page = html(&of(Part::All), &Session::in_memory("/project"));
    let policy = page.split("content=\"").nth(1).unwrap().split('"').next().unwrap();
    for (start, end, directive) in
        [("<script>", "</script>", "script-src"), ("<style>", "</style>", "style-src")]
    {
        let source = page.split(start).nth(1).unwrap().split(end).next().unwrap();
        let digest = Sha256::digest(source.as_bytes());
        let hash = policy
            .split(&format!("{directive} 'sha256-"))
            .nth(1)
            .unwrap()
            .split('\'')
            .next()
            .unwrap();
        assert_eq!(decode(hash), digest.as_slice(), "{directive}");
    }
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
}

fn decode(base64: &str) -> Vec<u8> {
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: String = base64
        .trim_end_matches('=')
        .chars()
        .map(|letter| format!("{:06b}", letters.find(letter).unwrap()))
        .collect();
    bits.as_bytes()
        .chunks_exact(8)
        .map(|byte| u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap())
        .collect()
}
