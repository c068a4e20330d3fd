//! Tests with hostile content.

use super::super::writer::MAX_LINES;
use super::super::{Page, PageView, StyledLine};
use super::shown;
use treering::storage::MemoryJournal;
use treering::{CreateOptions, Session};
use treering_display::text::safe_line;

fn is_harmless(page: &Page) -> bool {
    let lines =
        page.lines.iter().chain(&page.wrapped(40).lines).map(StyledLine::text).collect::<Vec<_>>();
    lines.iter().all(|line| *line == safe_line(line))
}

#[test]
fn nothing_in_markdown_acts_on_a_terminal() {
    let evil = "a\u{1b}[2J\u{202e}b\u{9b}c\u{200b}\r";
    for markdown in [
        "X",
        "# X",
        "**X**",
        "`X`",
        "- X",
        "> X",
        "```X\nX\n```",
        "    X",
        "[X](X)",
        "![X](X)",
        "<X>",
        "<b X>",
        "|X|X|\n|-|-|\n|X|X|",
        "~~X~~",
        "1. X",
        "- [x] X",
        "<div>\nX\n</div>",
        "```diff\n+X\n```",
        "```js\n'X' // X\n```",
    ] {
        let page = Page::of_markdown(&markdown.replace('X', evil));
        assert!(is_harmless(&page), "{markdown}: {}", page.text());
    }
}

#[test]
fn nothing_in_an_entry_acts_on_a_terminal() {
    let evil = r"\u001b[2J\u202eb\u009b\u200b\r";
    let call = |arguments: &str| {
        format!(
            r#"{{"role":"assistant","model":"X","provider":"X","stopReason":"X","errorMessage":"X","content":[{{"type":"thinking","thinking":"X"}},{{"type":"image","mimeType":"X","data":"X"}},{{"type":"X"}},{{"type":"toolCall","id":"X","name":"X","arguments":{arguments}}}]}}"#
        )
    };
    let messages = [
        call(r#"{"X":"X","b":{"X":["X"]}}"#),
        call(r#"{"path":"X","oldText":"X\na","newText":"X\nb"}"#),
        call(r#"{"input":"*** Begin Patch X"}"#),
        r#"{"role":"bashExecution","command":"X","output":"X","exitCode":"X"}"#.to_owned(),
        r#"{"role":"toolResult","toolName":"X","toolCallId":"X","content":[{"type":"text","text":"X"}]}"#.to_owned(),
        r#"{"role":"X","content":"X"}"#.to_owned(),
    ];
    for message in messages {
        let message = message.replace('X', evil);
        let log = format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"cwd\":\"/p\"}}\n\
             {{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"message\":{message}}}\n"
        );
        let journal = std::sync::Arc::new(MemoryJournal::new(log.into_bytes()));
        let session = Session::in_journal(journal, "/p", CreateOptions::new()).unwrap();
        let page = Page::of_entry(&session.entry("a").unwrap(), &Default::default());
        assert!(is_harmless(&page), "{}", page.text());
        assert!(is_harmless(&Page::of_context_at(&session, "a").unwrap()));
    }
}

#[test]
fn ends_of_lines_are_ends_of_lines_wherever_they_come_from() {
    for (markdown, expected) in [
        ("a\r\nb", "a\nb"),
        ("```rs\r\nfn a\r\n// b\r\n```", "── rs\n  fn a\n  // b"),
        ("<div>\r\nx\r\n</div>", "<div>\nx\n</div>"),
        ("```rs\nx\rfn\n```", "── rs\n  x\\rfn"),
    ] {
        assert_eq!(shown(&Page::of_markdown(markdown), 40), expected, "{markdown:?}");
    }
}

#[test]
fn pages_are_bounded() {
    for text in [
        "x\n".repeat(3 * MAX_LINES),
        "- x\n".repeat(3 * MAX_LINES),
        "x".repeat(10 << 20),
        "```rs\n".to_owned() + &"fn a\n".repeat(3 * MAX_LINES),
        "|a|\n|-|\n".to_owned() + &"|b|\n".repeat(2 * MAX_LINES),
    ] {
        let page = Page::of_markdown(&text);
        assert!(page.lines.len() <= MAX_LINES + 1, "{}", page.lines.len());
        assert_eq!(
            page.lines.last().map(StyledLine::text).as_deref(),
            Some("… the rest is not shown")
        );
    }
}

#[test]
fn odd_nesting_is_harmless_and_shows_its_text() {
    for text in [
        "> ".repeat(5_000) + "word",
        "- ".repeat(5_000) + "word",
        "*".repeat(20_000) + "word" + &"*".repeat(20_000),
        "[".repeat(20_000) + "word" + &"](x)".repeat(20_000),
        "![".repeat(2_000) + "word" + &"](x)".repeat(2_000),
        "> ".repeat(14) + "|word|\n" + &"> ".repeat(14) + "|-|\n",
        "|".repeat(30_000) + "word\n" + &"|-".repeat(30_000) + "\n",
        "1. ".repeat(5_000) + "```\nword",
        "word\n".to_owned() + &"\u{301}".repeat(50_000),
        "word ".to_owned() + &"`".repeat(50_000),
        "word\n".to_owned() + &"|a|b\n-|-\n".repeat(2_000),
    ] {
        let page = Page::of_markdown(&text);
        let beginning: String = text.chars().take(12).collect();
        for width in [2, 3, 40] {
            let seen: String = page.wrapped(width).lines.iter().map(StyledLine::text).collect();
            let letters: String = seen.chars().filter(|c| "word".contains(*c)).collect();
            assert!(letters.contains("word"), "{beginning} at {width}: {seen:.200}");
        }
        shown(&page, 40);
    }
}

#[test]
fn a_long_line_is_searched_in_pieces() {
    let mut reader = PageView::new(Page::of_markdown(&"word ".repeat(80_000)));
    reader.resize(40, 10);
    assert!(reader.rows.len() < 1_000);
}
