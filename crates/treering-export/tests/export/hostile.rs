//! Tests that the content of a hostile session has no effect in any document.

use crate::support::{fixture, html, index, markdown, of, pieces};
use pulldown_cmark::{Event, Parser, Tag};
use treering::session::Part;

/// Every tag that a piece may hold, without its attributes.
const TAGS: &str = " p h3 h4 h5 ul ol li blockquote pre code em strong del ins s a img hr br table thead \
                    tbody tr th td div span details summary b i ";

#[test]
fn pieces_hold_harmless_tags_only() {
    let page = html(&of(Part::All), &fixture("hostile.jsonl"));
    let all = pieces(&page);
    assert_eq!(all.len(), index(&page)["ids"].as_array().unwrap().len());
    for piece in &all {
        for tag in piece.split('<').skip(1) {
            let (inside, _) = tag.split_once('>').unwrap_or_else(|| panic!("{tag}"));
            let name = inside.trim_start_matches('/').split(' ').next().unwrap();
            assert!(TAGS.contains(&format!(" {name} ")), "<{inside}>");
            let attributes = inside.strip_prefix(name).unwrap_or_default();
            assert_harmless(attributes);
        }
    }
}

/// Attributes in the order and the form in which they are written, and no others.
fn assert_harmless(attributes: &str) {
    let mut rest = attributes.trim_start();
    while !rest.is_empty() {
        let (name, value) = rest.split_once('=').unwrap_or((rest, ""));
        let name = name.trim_start_matches("open").trim();
        let known = [
            "", "class", "data-l", "rel", "target", "href", "loading", "src", "alt", "start", "id",
        ];
        assert!(known.contains(&name), "{attributes}");
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap(),
            None => value.split_once(' ').unwrap_or((value, "")),
        };
        match name {
            "href" => assert!(value.starts_with("http://ok.example/"), "{attributes}"),
            "src" => assert!(value.starts_with("data:image/png;base64,"), "{attributes}"),
            _ => {}
        }
        rest = after.trim_start();
    }
}

#[test]
fn nothing_ends_its_element() {
    let page = html(&of(Part::All), &fixture("hostile.jsonl"));
    // A browser reads one start and one end for each of our elements.
    let scripts = page.matches("<script").count();
    assert_eq!(scripts, page.matches("</script").count());
    assert_eq!(scripts, page.matches("<script type=\"text/plain\" data-n=").count() + 2);
    assert!(!page.contains("<!--") && page.matches("<!").count() == 1);
    assert_eq!(page.matches("<style").count(), 1);
    assert_eq!(index(&page)["ids"][0], "x\"><script>window.pwned=1</script>");
}

#[test]
fn nothing_stays_invisible() {
    let session = fixture("hostile.jsonl");
    let page = html(&of(Part::All), &session);
    let text = markdown(&of(Part::All).full(true).thinking(true), &session);
    for (what, document) in [("html", &page), ("md", &text)] {
        for (at, c) in document.char_indices() {
            let acts = (c.is_control() && c != '\n' && c != '\t')
                || matches!(c, '\u{200b}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
            assert!(!acts, "{what}: {c:?} at {at}");
        }
        assert!(document.contains("\\u{202e}") && document.contains("\\x1b"), "{what}");
    }
}

#[test]
fn markdown_stays_one_document() {
    let session = fixture("hostile.jsonl");
    let text = markdown(&of(Part::All).full(true).thinking(true), &session);
    let mut depth = 0_i32;
    for event in Parser::new(&text) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                // Only our own tags are left.
                for tag in html.split('<').skip(1) {
                    let name = tag.split(['>', ' ']).next().unwrap();
                    let ours = ["details", "/details", "summary", "/summary", "code", "/code"];
                    assert!(ours.contains(&name), "{html}");
                    depth += i32::from(name == "details") - i32::from(name == "/details");
                }
            }
            _ => {}
        }
    }
    assert_eq!(depth, 0);
    // The last message is a heading and a paragraph, not the inside of an open block.
    let events: Vec<Event<'_>> = Parser::new(&text).collect();
    let last = events
        .iter()
        .rposition(|event| matches!(event, Event::Start(Tag::Heading { .. })))
        .unwrap();
    assert!(
        matches!(&events[last + 1], Event::Text(text) if &**text == "User"),
        "{:?}",
        &events[last..]
    );
    assert!(text.ends_with("\n## User\n\nthe end\n"), "{}", &text[text.len() - 80..]);
}
