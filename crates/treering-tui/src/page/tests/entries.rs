//! Entries, contexts and comparisons.

use super::super::Page;
use super::super::diff::{DiffSide, side_by_side};
use super::{shown, tones};
use std::sync::Arc;
use treering::storage::MemoryJournal;
use treering::{CreateOptions, Session};

/// Returns an entry of every kind that has a page of its own.
fn session() -> Session {
    let lines = [
        r#""type":"message","id":"u1","parentId":null,"message":{"role":"user","content":"Make it *fast*."}"#,
        r##""type":"message","id":"a1","parentId":"u1","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Let me **look**."},{"type":"text","text":"I look:\n\n- first\n- then"},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"src/main.rs","offset":1,"limit":9}},{"type":"toolCall","id":"c2","name":"bash","arguments":{"command":"cargo test \\\n  --all"}},{"type":"toolCall","id":"c3","name":"edit","arguments":{"path":"src/main.rs","edits":[{"oldText":"a\nb\nc","newText":"a\nB\nc"}]}},{"type":"toolCall","id":"c4","name":"ask","arguments":{"question":"One\nor \"two\"?","choices":["a","b"],"deep":{"x":1},"count":2}}],"provider":"acme","model":"m-1","usage":{"input":7600,"output":120,"cacheRead":45900,"cost":{"total":0.021}},"stopReason":"toolUse"}"##,
        r#""type":"message","id":"r1","parentId":"a1","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"fn main() {}\n"},{"type":"image","mimeType":"image/png","data":"AAAAAAAAAAAAAAAA"}],"isError":false}"#,
        r#""type":"message","id":"r2","parentId":"r1","message":{"role":"toolResult","toolCallId":"c2","toolName":"bash","content":[{"type":"text","text":"\u001b[31merror\u001b[0m"}],"isError":true}"#,
        r#""type":"message","id":"x1","parentId":"r2","message":{"role":"bashExecution","command":"git status","output":"clean\n","exitCode":1,"cancelled":true}"#,
        r#""type":"message","id":"a2","parentId":"x1","message":{"role":"assistant","content":[{"type":"text","text":"half"}],"provider":"acme","model":"m-1","stopReason":"aborted","errorMessage":"Request was aborted"}"#,
        r###""type":"compaction","id":"k1","parentId":"a2","summary":"## Done\nall","firstKeptEntryId":"a2","tokensBefore":58210"###,
        r#""type":"branch_summary","id":"s1","parentId":"k1","fromId":"zz","summary":"Tried it.""#,
        r#""type":"context_edit","id":"e1","parentId":"s1","targetId":"a2","replacement":{"content":[{"type":"text","text":"whole"}]}"#,
        r#""type":"label","id":"l1","parentId":"e1","targetId":"u1","label":"start""#,
    ];
    let mut log = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"cwd\":\"/p\"}\n",
    );
    for line in lines {
        log.push_str(&format!("{{\"timestamp\":\"2026-01-05T09:00:00.000Z\",{line}}}\n"));
    }
    let journal = Arc::new(MemoryJournal::new(log.into_bytes()));
    Session::in_journal(journal, "/p", CreateOptions::new()).unwrap()
}

fn page(id: &str) -> Page {
    let session = session();
    Page::of_entry_in(&session, &session.entry(id).unwrap(), &Default::default())
}

#[test]
fn an_answer() {
    insta::assert_snapshot!(shown(&page("a1"), 60), @r#"
    assistant · a1 · 2026-01-05 09:00:00 UTC
    thinking
    Let me look.

    I look:

    • first
    • then

    → read src/main.rs:1-9

    → bash
      $ cargo test \
          --all

    → edit src/main.rs
        a
      - b
      + B
        c

    → ask
      question:
        One
        or "two"?
      choices: ["a","b"]
      deep: {"x":1}
      count: 2

    acme/m-1 · toolUse · 7.6k in · 120 out · 45.9k cached ·
    $0.02
    "#);
}

#[test]
fn a_label_ends_the_heading_of_its_entry() {
    assert_eq!(page("u1").lines[0].text(), "user · u1 · 2026-01-05 09:00:00 UTC [start]");
}

#[test]
fn results() {
    let pages = ["r1", "r2", "x1", "a2"].map(|id| shown(&page(id), 60));
    insta::assert_snapshot!(pages.join("\n\n"), @r"
    tool result · r1 · 2026-01-05 09:00:00 UTC
    [read: src/main.rs:1-9]
    fn main() {}
    [image/png, 12 B]

    tool result · r2 · 2026-01-05 09:00:00 UTC
    [bash: cargo test \] failed
    \x1b[31merror\x1b[0m

    bash · x1 · 2026-01-05 09:00:00 UTC
    $ git status
    clean
    exit code 1
    cancelled

    assistant · a2 · 2026-01-05 09:00:00 UTC
    half

    ended: aborted: Request was aborted

    acme/m-1 · aborted
    ");
    assert!(tones(&page("r1")).contains("Keyword:fn"), "{}", tones(&page("r1")));
}

#[test]
fn summaries_and_bookkeeping() {
    let pages = ["k1", "s1", "e1", "l1"].map(|id| shown(&page(id), 60));
    insta::assert_snapshot!(pages.join("\n\n"), @r#"
    compaction · k1 · 2026-01-05 09:00:00 UTC
    58.2k tokens became this summary · kept from a2 on
    ## Done

    all

    branch summary · s1 · 2026-01-05 09:00:00 UTC
    the abandoned branch ended at zz
    Tried it.

    context edit · e1 · 2026-01-05 09:00:00 UTC
    replaces a2

    {
      "timestamp": "2026-01-05T09:00:00.000Z",
      "type": "context_edit",
      "id": "e1",
      "parentId": "s1",
      "targetId": "a2",
      "replacement": {
        "content": [
          {
            "type": "text",
            "text": "whole"
          }
        ]
      }
    }

    label · l1 · 2026-01-05 09:00:00 UTC
    [start] on u1

    {
      "timestamp": "2026-01-05T09:00:00.000Z",
      "type": "label",
      "id": "l1",
      "parentId": "e1",
      "targetId": "u1",
      "label": "start"
    }
    "#);
}

#[test]
fn tones_of_an_edit() {
    let tones = tones(&page("a1"));
    for piece in ["Removed:  - b", "Added:  + B", "Dim:  $ ", "Dim:Let me ", "Tool:→ read"] {
        assert!(tones.contains(piece), "{piece} in {tones}");
    }
}

#[test]
fn a_context() {
    let session = session();
    let page = Page::of_context_at(&session, "l1").unwrap();
    insta::assert_snapshot!(shown(&page, 60), @r"
    3 messages, about 8 tokens
    acme/m-1 · thinking off

    compaction · k1 · replaces the messages before it
    ▕███     ▏ 38 % · about 3 tokens
    ## Done

    all

    assistant · a2 · edited
    ▕██      ▏ 25 % · about 2 tokens
    whole

    ended: aborted: Request was aborted

    branch summary · s1 · summarizes another branch
    ▕███     ▏ 38 % · about 3 tokens
    Tried it.
    ");
    let before = Page::of_context(&session.context_at("r1").unwrap());
    assert_eq!(before.lines[0].text(), "3 messages, about 1.3k tokens");
}

#[test]
fn two_texts_side_by_side() {
    let same: String = (0..9).map(|n| format!("line {n}\n")).collect();
    let side = |title: &str, text: String| DiffSide { title: title.to_owned(), text };
    let left =
        side("a1", format!("{same}the old words stay here\nonly left, which is long\n{same}end"));
    let right = side("b1", format!("{same}the new words stay here\n{same}end\nonly 日本 right"));
    insta::assert_snapshot!(shown(&side_by_side(&left, &right, 60), 60), @r"
    a1                           │ b1
    ─────────────────────────────┼─────────────────────────────
    ⋯ 6 lines are the same
      line 6                     │   line 6
      line 7                     │   line 7
      line 8                     │   line 8
    ~ the old words stay here    │ ~ the new words stay here
    - only left, which is long   │
      line 0                     │   line 0
      line 1                     │   line 1
      line 2                     │   line 2
    ⋯ 4 lines are the same
      line 7                     │   line 7
      line 8                     │   line 8
      end                        │   end
                                 │ + only 日本 right
    ");
    insta::assert_snapshot!(shown(&side_by_side(&left, &right, 40), 40), @r"
    - a1
    + b1
    ⋯
      line 6
      line 7
      line 8
    - the old words stay here
    - only left, which is long
    + the new words stay here
      line 0
      line 1
      line 2
    ⋯
      line 7
      line 8
      end
    + only 日本 right
    ");
    let tones = tones(&side_by_side(&left, &right, 60));
    for piece in ["Changed:~ |Plain:the |Removed:old|Plain: words", "Added:new"] {
        assert!(tones.contains(piece), "{piece} in {tones}");
    }
}

#[test]
fn entries_side_by_side() {
    let session = session();
    let side = |id: &str| DiffSide::of_entry(&session.entry(id).unwrap());
    let page = side_by_side(&side("u1"), &side("a2"), 60);
    assert!(page.lines[0].text().starts_with("u1 ") && page.lines[0].text().ends_with("a2"));
}

#[test]
fn huge_texts_are_compared_as_far_as_can_be() {
    let text = |mark: &str| {
        let lines = (0..60_000).map(|n| format!("{mark}{n}\n"));
        format!("first\n{}last", lines.collect::<String>())
    };
    let side = |mark: &str| DiffSide { title: mark.to_owned(), text: text(mark) };
    for width in [40, 100] {
        let page = side_by_side(&side("a"), &side("b"), width);
        assert!(page.lines.len() > 10_000, "{}", page.lines.len());
    }
}
