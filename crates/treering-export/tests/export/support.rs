//! Provides sessions to export, and exports as text.

use std::path::PathBuf;
use treering::Session;
use treering::session::Part;
use treering_export::Export;

/// Returns a session file beside the tests.
pub(crate) fn fixture(name: &str) -> Session {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/export/fixtures");
    Session::open(here.join(name)).unwrap()
}

/// Returns an export of a part.
pub(crate) fn of(part: Part) -> Export {
    Export::new().part(part)
}

pub(crate) fn branch(id: &str) -> Export {
    of(Part::Branch(id.into()))
}

pub(crate) fn subtree(id: &str) -> Export {
    of(Part::Subtree(id.into()))
}

pub(crate) fn html(export: &Export, session: &Session) -> String {
    let mut out = Vec::new();
    export.html(session, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn markdown(export: &Export, session: &Session) -> String {
    let mut out = Vec::new();
    export.markdown(session, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Returns the pieces of a page, one an entry.
pub(crate) fn pieces(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for block in page.split("<script type=\"text/plain\" data-n=").skip(1) {
        let (count, rest) = block.split_once('>').unwrap();
        let inner = rest.split("</script").next().unwrap();
        let mut parts: Vec<String> = inner.split("<e>").map(str::to_owned).collect();
        assert_eq!(parts.pop().as_deref(), Some(""));
        assert_eq!(parts.len().to_string(), count);
        found.extend(parts);
    }
    found
}

/// Returns the index of a page.
pub(crate) fn index(page: &str) -> serde_json::Value {
    let start = page.split("<script type=\"application/json\" id=index>").nth(1).unwrap();
    serde_json::from_str(start.split("</script").next().unwrap()).unwrap()
}
