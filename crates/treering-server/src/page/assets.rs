//! The files of the web page, in the binary. Their addresses contain a hash of all of them, so that
//! browsers can cache them until they change.

use super::html::html_answer;
use crate::call::{Call, answer};
use crate::operation::Answered;
use crate::problem::{Code, Problem};
use axum::http::{HeaderValue, StatusCode, header};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;
use treering_export::viewer;

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// A file of the page.
struct Asset {
    name: &'static str,
    media: &'static str,
    bytes: Bytes,
}

macro_rules! module {
    ($name:literal) => {
        Asset {
            name: $name,
            media: JS,
            bytes: Bytes::from_static(include_bytes!(concat!("assets/", $name))),
        }
    };
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let style = [
        viewer::STYLE,
        include_str!("assets/page.css"),
        include_str!("assets/sessions.css"),
        include_str!("assets/session.css"),
    ];
    let highlight = [
        "import { make } from './dom.js';\nconst LANGUAGES = ",
        viewer::LANGUAGES,
        ";\n",
        viewer::HIGHLIGHT,
        "export { highlight };\n",
    ];
    vec![
        Asset { name: "style.css", media: CSS, bytes: style.concat().into() },
        Asset { name: "highlight.js", media: JS, bytes: highlight.concat().into() },
        Asset {
            name: "icon.svg",
            media: "image/svg+xml",
            bytes: Bytes::from_static(include_bytes!("assets/icon.svg")),
        },
        module!("dom.js"),
        module!("frame.js"),
        module!("live.js"),
        module!("sessions.js"),
        module!("session.js"),
        module!("tree.js"),
        module!("conversation.js"),
        module!("actions.js"),
        module!("copies.js"),
        module!("edit.js"),
        module!("chat.js"),
        module!("context.js"),
    ]
});

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for asset in ASSETS.iter() {
        hash.update(asset.name);
        hash.update(&asset.bytes);
    }
    treering::internal::hex(&hash.finalize()[..8])
});

/// Returns the address of a file.
pub(crate) fn path(name: &str) -> String {
    format!("/assets/{}/{name}", *VERSION)
}

/// Returns the modules that a page's module imports, so that the browser can fetch them early.
pub(crate) fn modules(script: &str) -> &'static [&'static str] {
    match script {
        "sessions.js" => &["dom.js", "frame.js", "live.js"],
        "session.js" => &[
            "dom.js",
            "frame.js",
            "live.js",
            "tree.js",
            "conversation.js",
            "actions.js",
            "copies.js",
            "edit.js",
            "chat.js",
            "highlight.js",
        ],
        "context.js" => &["dom.js", "frame.js", "highlight.js"],
        _ => &["dom.js"],
    }
}

pub(crate) async fn get(call: Call) -> Answered {
    let name = call.text("name").unwrap_or_default();
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return Err(Problem::new(Code::NotFound, "the page has no such file"));
    };
    let mut response = answer(StatusCode::OK, asset.media, asset.bytes.clone().into());
    // A page of another version of the server asks for its own files, which do not exist here: it
    // gets these, but must not cache them.
    if call.text("version") == Some(&**VERSION) {
        let keep = HeaderValue::from_static("public, max-age=31536000, immutable");
        response.headers_mut().insert(header::CACHE_CONTROL, keep);
    }
    Ok(response)
}

/// Answers the request for an icon, which browsers send on their own.
pub(crate) async fn no_icon(_: Call) -> Answered {
    Ok(html_answer(StatusCode::NOT_FOUND, Default::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_files_and_load_nothing_from_elsewhere() {
        let text = |name: &str| {
            let asset = ASSETS.iter().find(|asset| asset.name == name);
            String::from_utf8(asset.unwrap().bytes.to_vec()).unwrap()
        };
        for script in ["sessions.js", "session.js", "context.js"] {
            let all = [&[script], modules(script)].concat();
            for name in &all {
                let text = text(name);
                assert!(!text.contains("http://") && !text.contains("https://"), "{name}");
                for import in text.split("from './").skip(1) {
                    let import = import.split('\'').next().unwrap();
                    assert!(all.contains(&import), "{script}: {name} imports {import}");
                }
            }
        }
        assert!(!text("style.css").contains("url("));
        assert!(!text("style.css").contains("@import"));
    }
}
