//! Tests of Markdown on pages.

use super::super::Page;
use super::{shown, tones};

const TEXT: &str = "\
# The *goal*
Some **strong** words and `code` in a paragraph that is long enough to be broken.
Second line, [a link](https://example.org/x) and <https://example.org>.

- one
- two, which is a long item that goes on and on, and on to the next line
  - nested
    1. numbered
    2. again
- [x] done
- [ ] not done

> Quoted words that are long enough to be broken into two lines, or three.
>
> - an item in a quote that is long enough to be broken as well, I hope

```rust
fn main() {
    let long = \"a text that is too long for the line\"; // and a comment
}
```

| name | count | what |
|:-----|------:|:----:|
| a | 1 | x |
| a longer name | 12345 | a text that does not fit into its column at all |

---
![a picture](x.png) <b>html</b> ~~gone~~
";

#[test]
fn markdown_on_a_screen() {
    insta::assert_snapshot!(shown(&Page::of_markdown(TEXT), 60), @r#"
    # The goal

    Some strong words and `code` in a paragraph that is long
    enough to be broken.
    Second line, a link (https://example.org/x) and
    https://example.org.

    • one
    • two, which is a long item that goes on and on, and on to
      the next line
      • nested
        1. numbered
        2. again
    • [x] done
    • [ ] not done

    │ Quoted words that are long enough to be broken into two
    │ lines, or three.
    │
    │ • an item in a quote that is long enough to be broken as
    │   well, I hope

    ── rust
      fn main() {
          let long = "a text that is too long for the line"; //
          and a comment
      }

    name          │ count │                 what
    ──────────────┼───────┼─────────────────────────────────────
    a             │     1 │                  x
    a longer name │ 12345 │  a text that does not fit into its
                  │       │            column at all

    ────────────────────────────────────────────────────────────

    [image: a picture] <b>html</b> ~~gone~~
    "#);
}

#[test]
fn markdown_on_a_small_screen() {
    insta::assert_snapshot!(shown(&Page::of_markdown(TEXT), 24), @r#"
    # The goal

    Some strong words and
    `code` in a paragraph
    that is long enough to
    be broken.
    Second line, a link
    (https://example.org/x)
    and https://example.org.

    • one
    • two, which is a long
      item that goes on and
      on, and on to the next
      line
      • nested
        1. numbered
        2. again
    • [x] done
    • [ ] not done

    │ Quoted words that are
    │ long enough to be
    │ broken into two lines,
    │ or three.
    │
    │ • an item in a quote
    │   that is long enough
    │   to be broken as
    │   well, I hope

    ── rust
      fn main() {
          let long = "a text
           that is too long
          for the line"; //
          and a comment
      }

    name   │ count │  what
    ───────┼───────┼────────
    a      │     1 │    x
    a      │ 12345 │ a text
    longer │       │  that
    name   │       │  does
           │       │ not fit
           │       │  into
           │       │   its
           │       │ column
           │       │ at all

    ────────────────────────

    [image: a picture]
    <b>html</b> ~~gone~~
    "#);
}

#[test]
fn tones_of_markdown() {
    for (markdown, expected) in [
        ("a **b** *c*", "Plain:a |Strong:b|Emphasis:c"),
        ("# a `b`", "Heading:# |Heading:a |Dim:`|Code:b|Dim:`"),
        ("[a](b)", "Link:a|Dim: (b)"),
        ("<https://x.y>", "Link:https://x.y"),
        ("<m@x.y>", "Link:m@x.y"),
        ("> a", "Quote:│ |Plain:a"),
        ("~~a~~", "Struck:~~|Struck:a|Struck:~~"),
        ("[![a](b)](c)", "Dim:[image: a]|Dim: (c)"),
        ("```rs\nlet a = 1;\n```", "Dim:── rs|Keyword:let|Plain: a = |Number:1|Plain:;"),
        ("```diff\n-a\n+b\n```", "Dim:── diff|Removed:-a|Added:+b"),
        ("***a** b*", "Strong:a|Emphasis: b"),
    ] {
        assert_eq!(tones(&Page::of_markdown(markdown)), expected, "{markdown}");
    }
}

#[test]
fn text_keeps_its_line_breaks() {
    for (markdown, expected) in [
        ("one\ntwo", "one\ntwo"),
        ("one\n\n\n\ntwo", "one\n\ntwo"),
        ("- a\n\n  b\n- c", "• a\n\n  b\n\n• c"),
        ("- a\n  ```\n  x\n  ```\n- b", "• a\n    x\n\n• b"),
        ("- ```\n  x\n  y\n  ```", "•   x\n    y"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("-\n- b", "•\n• b"),
        ("> > a\n\nb", "│ │ a\n\nb"),
        ("<div>\n  x\n</div>\n\ny", "<div>\n  x\n</div>\n\ny"),
        ("| a |\n|---|\n| b |\n\nc", "a\n─\nb\n\nc"),
        ("    code\n      more", "  code\n    more"),
        ("", ""),
        ("\n\n", ""),
        ("```\nopen", "  open"),
        ("a\\\nb", "a\nb"),
    ] {
        assert_eq!(shown(&Page::of_markdown(markdown), 40), expected, "{markdown:?}");
    }
}
