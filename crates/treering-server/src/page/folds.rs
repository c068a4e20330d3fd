//! Leaves out folded parts of entries. A window of a branch has only their summaries: most of a
//! session's bytes are tool results that are hardly ever unfolded, and the browser would have to
//! parse and keep them all.

/// The size of the HTML in bytes below which folded parts stay in the window.
const KEPT: usize = 1024;

/// Removes long folded parts from the HTML of an entry. The page fetches the entry when the user
/// unfolds one.
///
/// Text is escaped in this HTML, so that every tag in it is one of the renderer's.
pub(crate) fn leave_out(html: &str) -> String {
    let mut out = String::with_capacity(html.len().min(8 * 1024));
    let mut rest = html;
    while let Some(part) = next_part(rest) {
        out.push_str(part.before);
        if part.is_open || part.body.len() < KEPT || part.body.contains("<details") {
            out.push_str(part.tag);
            out.push('>');
            out.push_str(part.summary);
            out.push_str(part.body);
        } else {
            out.push_str(part.tag);
            out.push_str(" data-later>");
            out.push_str(part.summary);
        }
        rest = part.after;
    }
    out.push_str(rest);
    out
}

/// An element `details` and the HTML around it.
struct DetailsElement<'a> {
    before: &'a str,
    /// The tag without its last bracket.
    tag: &'a str,
    is_open: bool,
    /// The part from the first child to the end of the summary.
    summary: &'a str,
    body: &'a str,
    /// The part from the end tag on.
    after: &'a str,
}

fn next_part(html: &str) -> Option<DetailsElement<'_>> {
    const SUMMARY: &str = "</summary>";
    let (before, rest) = html.split_at(html.find("<details ")?);
    let (tag, rest) = rest.split_once('>')?;
    let (summary, rest) = rest.split_at(rest.find(SUMMARY)? + SUMMARY.len());
    let (body, after) = rest.split_at(rest.find("</details>")?);
    Some(DetailsElement { before, tag, is_open: tag.ends_with(" open"), summary, body, after })
}

#[cfg(test)]
mod tests {
    use super::*;
    use treering::{Message, Session};
    use treering_export::viewer::EntryRenderer;

    #[test]
    fn long_folded_parts_are_left_out_and_the_rest_stays() {
        let long = "x".repeat(KEPT);
        let html = format!(
            "<p>a</p><details class=think><summary>Thinking</summary><p>{long}</p></details>\
             <details class=call open><summary>edit</summary><pre>{long}</pre></details>\
             <details class=res><summary>b</summary><pre>short</pre></details><p>c</p>"
        );
        assert_eq!(
            leave_out(&html),
            format!(
                "<p>a</p><details class=think data-later><summary>Thinking</summary></details>\
                 <details class=call open><summary>edit</summary><pre>{long}</pre></details>\
                 <details class=res><summary>b</summary><pre>short</pre></details><p>c</p>"
            )
        );
        for cut in
            ["", "<details ", "<details class=res>", "<details class=res><summary></summary>"]
        {
            assert_eq!(leave_out(cut), cut);
        }
    }

    #[test]
    fn text_that_looks_like_a_fold_is_text() {
        let session = Session::in_memory("/p");
        let text = format!("<details class=res><summary>a</summary>{}</details>", "x".repeat(KEPT));
        let id = session.append(Message::user(&text)).unwrap();
        let html = EntryRenderer::default().render(&session.entry(id.as_str()).unwrap()).html;
        assert_eq!(leave_out(&html), html);
    }
}
