//! Writes a session as one HTML page with its tree, its conversation and search. The page loads
//! nothing.
//!
//! Every entry is rendered to a piece of HTML when it is read. The pieces are in `script` elements
//! that are plain text to a browser: nothing is parsed, laid out or loaded until the page's own
//! script shows an entry. A piece contains no `<` except those of our own tags, so it cannot end
//! its element. The content security policy allows one script and one style, by their hashes, so
//! that nothing in a session can run or load.

pub(crate) mod batch;
mod entry;
pub(crate) mod escape;
mod index;
mod markdown;
mod workers;

use crate::walk::{ExportWalk, WalkItem};
use crate::{Export, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use batch::{Batch, Visit};
use index::PageIndex;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::sync::LazyLock;
use treering::Session;
use treering_display::highlight::LANGUAGES;
use treering_display::preview_line::{Calls, PreviewKind};
use workers::WorkLimits;

/// The style of the page.
pub(crate) const STYLE: &str = concat!(
    include_str!("assets/theme.css"),
    include_str!("assets/page.css"),
    include_str!("assets/entry.css"),
);
/// The part of the script that colors code. It needs `LANGUAGES` and `make`.
pub(crate) const HIGHLIGHT: &str = include_str!("assets/highlight.js");

/// The script of the page.
static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    [
        "'use strict';(()=>{\nconst ROLES = ",
        &roles(),
        ";\n",
        include_str!("assets/session.js"),
        include_str!("assets/outline.js"),
        "const LANGUAGES = ",
        LANGUAGES,
        ";\n",
        HIGHLIGHT,
        include_str!("assets/tree.js"),
        include_str!("assets/conversation.js"),
        include_str!("assets/app.js"),
        "})();\n",
    ]
    .concat()
});
/// Returns the names of the kinds of entries by their letters, as a JSON object.
fn roles() -> String {
    let names = PreviewKind::ALL.map(|kind| format!("\"{}\":\"{}\"", kind.letter(), kind.name()));
    format!("{{{}}}", names.join(","))
}

const BODY: &str = include_str!("assets/body.html");

/// The separator of two pieces. A text cannot contain it, because its `<` would be escaped.
const SEPARATOR: &str = "<e>";
/// The approximate size of the elements in which pieces are collected, in bytes.
const BLOCK: usize = 128 * 1024;
const MAX_PIECES: usize = 256;

pub(crate) fn write(export: &Export, session: &Session, out: &mut impl Write) -> Result<()> {
    write_visiting(export, session, &|_| {}, out)
}

/// Writes a page, and calls `visit` with each entry while it is read.
pub(crate) fn write_visiting(
    export: &Export,
    session: &Session,
    visit: Visit<'_>,
    out: &mut impl Write,
) -> Result<()> {
    write_at(WorkLimits::for_this_machine(), export, session, visit, out)
}

fn write_at(
    limits: WorkLimits,
    export: &Export,
    session: &Session,
    visit: Visit<'_>,
    out: &mut impl Write,
) -> Result<()> {
    let walk = ExportWalk::new(session, &export.part)?;
    let title = crate::title(session, 120)?;
    head(&title, out)?;
    out.write_all(b"<div hidden>\n")?;
    let mut page = PageBuilder::default();
    let take = |items: &[WalkItem<'_>], batch: &Batch| page.add(items, batch, out);
    workers::each(&session.reader().with_images(), walk.display_items(), limits, visit, take)?;
    page.pieces.close(out)?;
    out.write_all(b"</div>\n<script type=\"application/json\" id=index>")?;
    out.write_all(
        page.index.finish(session, &title, &session.part_stats(&export.part)?).as_bytes(),
    )?;
    out.write_all(b"</script>\n<script>")?;
    out.write_all(SCRIPT.as_bytes())?;
    Ok(out.write_all(b"</script>\n</body>\n</html>\n")?)
}

/// Collects the rendered entries in order.
#[derive(Debug, Default)]
struct PageBuilder {
    index: PageIndex,
    calls: Calls,
    pieces: PieceBuffer,
}

impl PageBuilder {
    fn add(&mut self, items: &[WalkItem<'_>], batch: &Batch, out: &mut impl Write) -> Result<()> {
        let mut start = 0;
        for (item, made) in items.iter().zip(&batch.entries) {
            let (kind, preview_line) =
                (made.preview_line.kind, self.calls.settle(&made.preview_line));
            self.index.add(item, &made.numbers, kind, preview_line);
            made.write(&mut self.pieces.text, &batch.text, start, &self.calls);
            start = made.end;
            self.pieces.end(out)?;
        }
        Ok(())
    }
}

/// The hashes of the script and the style, which are computed once for all pages of a site.
static HASHES: LazyLock<(String, String)> = LazyLock::new(|| (hash(&SCRIPT), hash(STYLE)));

fn head(title: &str, out: &mut impl Write) -> Result<()> {
    let (script, style) = &*HASHES;
    let mut safe_title = String::new();
    escape::text(&mut safe_title, title);
    write!(
        out,
        "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; script-src '{script}'; \
         style-src '{style}'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=referrer content=no-referrer>\n\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
         <meta name=color-scheme content=\"light dark\">\n\
         <title>{safe_title}</title>\n<style>"
    )?;
    out.write_all(STYLE.as_bytes())?;
    out.write_all(b"</style>\n</head>\n")?;
    Ok(out.write_all(BODY.as_bytes())?)
}

/// Returns the hash of a script or a style in the form that policies use.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// The pieces of the element that is being written.
#[derive(Debug, Default)]
struct PieceBuffer {
    text: String,
    count: usize,
}

impl PieceBuffer {
    /// Ends a piece; writes the element once it is large enough.
    fn end(&mut self, out: &mut impl Write) -> Result<()> {
        self.count += 1;
        match self.text.len() >= BLOCK || self.count >= MAX_PIECES {
            true => self.close(out),
            false => Ok(()),
        }
    }

    fn close(&mut self, out: &mut impl Write) -> Result<()> {
        if self.count > 0 {
            write!(out, "<script type=\"text/plain\" data-n={}>", self.count)?;
            out.write_all(self.text.as_bytes())?;
            out.write_all(b"</script>\n")?;
        }
        self.count = 0;
        self.text.clear();
        // The memory of one huge entry is released.
        self.text.shrink_to(4 * BLOCK);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_written_as_policies_want_it() {
        // These are the results of `openssl dgst -sha256 -binary | base64`.
        assert_eq!(hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert_eq!(hash("abc"), "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }

    #[test]
    fn the_page_itself_has_nothing_that_the_policy_forbids() {
        assert!(
            !BODY.contains(" style=") && !BODY.contains(" on"),
            "inline styles and handlers do not work"
        );
        for asset in [STYLE, &SCRIPT, BODY] {
            assert!(!asset.contains("http://") && !asset.contains("https://"));
        }
        assert!(
            !SCRIPT.contains("</script") && !SCRIPT.contains("<!--") && !STYLE.contains("</style")
        );
    }
}
