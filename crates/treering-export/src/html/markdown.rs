//! Renders Markdown as HTML with a fixed set of harmless elements.
//!
//! Nothing has to be sanitized afterwards: every tag in the output is one of the constants here.
//! HTML in the text is shown as text, links lead only to http, https and mail addresses, and images
//! must be embedded in the text.

use super::escape;
use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// The maximum length of a text that is rendered as Markdown; longer ones are shown as plain text.
const MAX_MARKDOWN: usize = 512 * 1024;
/// The deepest nesting that is rendered. Browsers limit the depth of a page.
const MAX_DEPTH: usize = 24;

/// Appends a text that is written in Markdown.
pub(crate) fn render(out: &mut String, text: &str) {
    if text.len() > MAX_MARKDOWN {
        out.push_str("<div class=plain>");
        escape::text(out, text);
        out.push_str("</div>");
        return;
    }
    if is_plain(text) {
        out.push_str("<p>");
        escape::text(out, text.trim());
        out.push_str("</p>\n");
        return;
    }
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut prose = MarkdownRenderer {
        out,
        open: Vec::new(),
        too_deep: 0,
        image: None,
        in_head: false,
        columns: Vec::new(),
        column: 0,
    };
    for event in Parser::new_ext(text, options) {
        prose.event(event);
    }
    while let Some(end) = prose.open.pop() {
        prose.out.push_str(end);
    }
}

/// Returns whether a text is one line without any markup, so that it does not need to be parsed.
fn is_plain(text: &str) -> bool {
    let text = text.trim();
    let first = text.as_bytes().first().copied().unwrap_or(b'#');
    first.is_ascii_alphabetic()
        && !text.bytes().any(|byte| {
            matches!(byte, b'\n' | b'*' | b'_' | b'`' | b'[' | b'<' | b'~' | b'\\' | b'&' | b'|')
        })
}

struct MarkdownRenderer<'a> {
    out: &'a mut String,
    /// The ends of the elements that are open.
    open: Vec<&'static str>,
    /// The number of open elements that are too deep to be shown.
    too_deep: usize,
    /// The open image. Its text is collected, not shown.
    image: Option<Image>,
    in_head: bool,
    columns: Vec<Alignment>,
    column: usize,
}

/// An image whose end was not reached yet.
struct Image {
    address: String,
    alt: String,
    /// The number of elements around it that are too deep to be shown.
    too_deep: usize,
}

impl MarkdownRenderer<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => {
                match &mut self.image {
                    Some(image) => image.alt.push_str(&code),
                    None => {
                        self.out.push_str("<code>");
                        escape::text(self.out, &code);
                        self.out.push_str("</code>");
                    }
                }
            }
            Event::SoftBreak => self.text("\n"),
            Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>\n"),
            Event::TaskListMarker(done) => self.out.push_str(if done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(name) => self.text(&name),
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.image {
            Some(image) => image.alt.push_str(text),
            None => escape::text(self.out, text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        if let Tag::Image { dest_url, .. } = &tag {
            let address = dest_url.to_string();
            self.image = Some(Image { address, alt: String::new(), too_deep: self.too_deep });
            return;
        }
        if self.image.is_some() || self.open.len() >= MAX_DEPTH || self.too_deep > 0 {
            self.too_deep += 1;
            return;
        }
        let end = match tag {
            Tag::Heading { level, .. } => match level as usize {
                1 => self.element("<h3>", "</h3>\n"),
                2 => self.element("<h4>", "</h4>\n"),
                _ => self.element("<h5>", "</h5>\n"),
            },
            Tag::BlockQuote(_) => self.element("<blockquote>", "</blockquote>\n"),
            Tag::CodeBlock(kind) => {
                let info = match &kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split([' ', ',', '{']).next().unwrap_or_default()
                    }
                    CodeBlockKind::Indented => "",
                };
                code_start(self.out, info);
                "</code></pre>\n"
            }
            Tag::HtmlBlock => self.element("<p>", "</p>\n"),
            Tag::List(None) => self.element("<ul>", "</ul>\n"),
            Tag::List(Some(first)) => {
                self.out.push_str("<ol");
                if first != 1 {
                    self.out.push_str(&format!(" start={first}"));
                }
                self.element(">", "</ol>\n")
            }
            Tag::Item => self.element("<li>", "</li>\n"),
            Tag::Table(columns) => {
                self.columns = columns;
                self.element("<div class=tw><table>", "</tbody></table></div>\n")
            }
            Tag::TableHead => {
                (self.in_head, self.column) = (true, 0);
                self.element("<thead><tr>", "</tr></thead><tbody>")
            }
            Tag::TableRow => {
                self.column = 0;
                self.element("<tr>", "</tr>\n")
            }
            Tag::TableCell => {
                let align = self.columns.get(self.column);
                self.column += 1;
                self.out.push_str(if self.in_head { "<th" } else { "<td" });
                self.out.push_str(match align {
                    Some(Alignment::Right) => " class=r>",
                    Some(Alignment::Center) => " class=m>",
                    _ => ">",
                });
                if self.in_head { "</th>" } else { "</td>" }
            }
            Tag::Emphasis => self.element("<em>", "</em>"),
            Tag::Strong => self.element("<strong>", "</strong>"),
            Tag::Strikethrough => self.element("<del>", "</del>"),
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            _ => self.element("<p>", "</p>\n"),
        };
        self.open.push(end);
    }

    fn element(&mut self, start: &str, end: &'static str) -> &'static str {
        self.out.push_str(start);
        end
    }

    fn link(&mut self, address: &str) -> &'static str {
        if !is_safe_address(address) {
            return self.element("<span class=nolink>", "</span>");
        }
        self.out.push_str("<a rel=\"noopener noreferrer\" target=_blank href=\"");
        escape::address(self.out, address);
        self.element("\">", "</a>")
    }

    fn end(&mut self, tag: TagEnd) {
        if tag == TagEnd::Image
            && let Some(image) = self.image.take()
        {
            self.too_deep = image.too_deep;
            return self.show_image(&image.address, &image.alt);
        }
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        if tag == TagEnd::TableHead {
            self.in_head = false;
        }
        if let Some(end) = self.open.pop() {
            self.out.push_str(end);
        }
    }

    fn show_image(&mut self, address: &str, alt: &str) {
        let carried = address.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        if let Some((mime, data)) = carried
            && image(self.out, mime, data, alt)
        {
            return;
        }
        self.out.push_str("<span class=nolink>image: ");
        escape::text(self.out, if alt.is_empty() { "not shown" } else { alt });
        self.out.push_str("</span>");
    }
}

/// Appends the beginning of a code block in a language.
pub(crate) fn code_start(out: &mut String, language: &str) {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'#' | b'-');
    match !language.is_empty() && language.len() <= 20 && language.bytes().all(is_name) {
        true => {
            out.push_str("<pre><code data-l=\"");
            out.push_str(&language.to_ascii_lowercase());
            out.push_str("\">");
        }
        false => out.push_str("<pre><code>"),
    }
}

/// Appends an image of a type that cannot contain scripts, and returns whether it was appended.
pub(crate) fn image(out: &mut String, mime: &str, data: &str, alt: &str) -> bool {
    let is_picture = matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp");
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    if !is_picture || data.is_empty() || !data.bytes().all(is_base64) {
        return false;
    }
    out.push_str("<img loading=lazy src=\"data:");
    out.push_str(mime);
    out.push_str(";base64,");
    out.push_str(data);
    out.push_str("\" alt=\"");
    escape::attribute(out, alt);
    out.push_str("\">");
    true
}

fn is_safe_address(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https" | "mailto"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(markdown: &str) -> String {
        let mut out = String::new();
        render(&mut out, markdown);
        out.trim_end().to_owned()
    }

    #[test]
    fn markdown_becomes_html() {
        assert_eq!(html("plain words, no markup"), "<p>plain words, no markup</p>");
        assert_eq!(html("# A *b*"), "<h3>A <em>b</em></h3>");
        assert_eq!(
            html("- a\n- b"),
            "<ul>\n<li>a</li>\n<li>b</li>\n</ul>".replace("<ul>\n", "<ul>")
        );
        assert_eq!(html("3. a"), "<ol start=3><li>a</li>\n</ol>");
        assert_eq!(
            html("```Rust,ignore\na < b\n```"),
            "<pre><code data-l=\"rust\">a &lt; b\n</code></pre>"
        );
        assert_eq!(
            html("|a|b|\n|-|-:|\n|1|2|"),
            "<div class=tw><table><thead><tr><th>a</th><th class=r>b</th></tr></thead><tbody><tr><td>1</td><td class=r>2</td></tr>\n</tbody></table></div>"
        );
    }

    #[test]
    fn html_in_markdown_is_text() {
        for hostile in [
            "<script>x()</script>",
            "a <img src=x onerror=x()> b",
            "<!-- a",
            "<svg/onload=x()>",
            "<style>*{}</style>",
            "</p></div>",
            "<?x",
            "<![CDATA[x",
        ] {
            let html = html(hostile);
            let tags: Vec<&str> = html.split('<').skip(1).collect();
            assert!(
                tags.iter().all(|tag| tag.starts_with("p>") || tag.starts_with("/p>")),
                "{html}"
            );
        }
    }

    #[test]
    fn links_lead_nowhere_dangerous() {
        assert_eq!(
            html("[a](https://x.y/\"z)"),
            "<p><a rel=\"noopener noreferrer\" target=_blank href=\"https://x.y/%22z\">a</a></p>"
        );
        for address in [
            "javascript:x()",
            "JaVaScRiPt:x()",
            "data:text/html,x",
            "vbscript:x",
            "file:///x",
            "java&#115;cript:x()",
            "//x.y",
            "x",
        ] {
            assert!(!html(&format!("[a]({address})")).contains("href"), "{address}");
        }
        assert!(!html("<javascript:x()>").contains("href"));
    }

    #[test]
    fn only_pictures_that_are_carried_along_are_shown() {
        assert_eq!(
            html("![a \"b\"](data:image/png;base64,AAAA)"),
            "<p><img loading=lazy src=\"data:image/png;base64,AAAA\" alt=\"a &quot;b&quot;\"></p>"
        );
        for address in [
            "https://x.y/z.png",
            "data:image/svg+xml;base64,AAAA",
            "data:image/png,x",
            "x.png",
            "data:image/png;base64,A\"A",
        ] {
            assert!(!html(&format!("![a]({address})")).contains("<img"), "{address}");
        }
        assert_eq!(
            html("![a [b](https://x)](y) c"),
            "<p><span class=nolink>image: a b</span> c</p>"
        );
    }

    #[test]
    fn depth_and_length_are_bounded() {
        let deep = html(&("> ".repeat(5_000) + "x"));
        assert!(deep.matches("<blockquote>").count() <= MAX_DEPTH && deep.contains('x'));
        assert!(html(&"- ".repeat(5_000)).len() < 100_000);
        assert!(html(&"*a ".repeat(300_000)).starts_with("<div class=plain>"));
        assert_eq!(deep.matches("<blockquote>").count(), deep.matches("</blockquote>").count());
    }
}
