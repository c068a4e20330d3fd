//! The web page: the sessions of a space as lists, trees and conversations in a browser.
//!
//! Its pages are operations like those of the API, with the same tokens, scopes and checks, but
//! they are not part of the documented API and may change with every version. A page is complete
//! when it arrives; small modules (`assets/`) then fetch further parts of it, follow events, and
//! call the API. Entries are rendered by `treering_export::viewer`, and trees are laid out by
//! `treering_display::tree`.
//!
//! `html` builds pages, `assets` has the files, `login` has the login form, `sessions` is the list
//! and the search, `trees` keeps the outlines of open trees, `rows` and `conversation` build
//! windows of a tree and of a branch, `folds` leaves long folded parts out of the latter, `session`
//! puts both on a page, `context` and `compare` are pages about a branch, `download` forks to a
//! file, `usage` and `charts` are the page of costs.

mod assets;
mod charts;
mod compare;
mod context;
mod conversation;
mod download;
mod folds;
mod html;
mod login;
mod rows;
mod session;
mod sessions;
mod trees;
mod usage;

pub(crate) use login::form as login_form;
pub(crate) use trees::PageTrees;
pub(crate) use usage::UsageCache;

use crate::call::Call;
use crate::operation::{Answered, Operation, Param, Run, Values};
use crate::problem::{Code, Problem};
use crate::types;
use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use html::{Frame, Html, Section};
use std::future::Future;
use std::pin::Pin;
use std::sync::LazyLock;
use treering::store::Scope;

macro_rules! run {
    ($handler:path) => {{
        fn run(call: Call) -> Pin<Box<dyn Future<Output = Answered> + Send>> {
            Box::pin($handler(call))
        }
        run as Run
    }};
}

const fn text(name: &'static str, most: usize) -> Param {
    Param::query(name, Values::Text(0, most), "", "")
}

const ID: Param = Param::path("id", Values::Session, "", "");
const ENTRY: Param = text("entry", 512);
const TIP: Param = text("tip", 512);
const QUERY: Param = text("q", 1024);
const FILTER: Param = text("filter", 32);
const FOLDS: Param = text("folds", 16_384);

/// The operations of the page.
pub(crate) static PAGES: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let read = Some(Scope::Read);
    let list = [
        QUERY,
        text("agent", 64),
        text("project", 4096),
        text("days", 8),
        text("order", 16),
        text("cursor", 512),
    ];
    let usage = [text("by", 16), text("days", 8), text("measure", 16)];
    let page = |path, id, run| Operation::page(Method::GET, path, id, read, run);
    vec![
        page("/", "pageSessions", run!(sessions::page)).params(&list),
        page("/sessions", "pageSessionRows", run!(sessions::rows)).params(&list),
        page("/usage", "pageUsage", run!(usage::page)).params(&usage),
        page("/usage.csv", "pageUsageTable", run!(usage::csv)).params(&usage),
        page("/s/{id}", "pageSession", run!(session::page))
            .params(&[ID, ENTRY, TIP, QUERY, FILTER, FOLDS]),
        page("/s/{id}/rows", "pageRows", run!(rows::get)).params(&[
            ID,
            QUERY,
            FILTER,
            FOLDS,
            TIP,
            text("around", 512),
            Param::query("from", Values::Integer(0, i64::from(u32::MAX)), "", ""),
            Param::query("count", Values::Integer(1, 500), "", ""),
        ]),
        page("/s/{id}/branch", "pageBranch", run!(conversation::get)).params(&[
            ID,
            TIP,
            FILTER,
            text("around", 512),
            text("before", 512),
            text("after", 512),
        ]),
        page("/s/{id}/entry", "pageEntry", run!(conversation::entry)).params(&[ID, ENTRY]),
        page("/s/{id}/context", "pageContext", run!(context::page)).params(&[ID, ENTRY]),
        page("/s/{id}/compare", "pageCompare", run!(compare::page)).params(&[
            ID,
            text("a", 512),
            text("b", 512),
        ]),
        page("/s/{id}/download", "pageDownload", run!(download::get)).params(&[
            ID,
            ENTRY,
            Param::query("dialect", Values::Text(1, 64), "", ""),
            Param::query("redact", Values::Boolean, "", ""),
        ]),
        Operation::page(Method::POST, "/login/token", "pageLogIn", None, run!(login::post))
            .body::<types::Text>("application/x-www-form-urlencoded", serde_json::Value::Null),
        Operation::page(Method::POST, "/logout", "pageLogOut", None, run!(login::log_out)),
        Operation::page(
            Method::GET,
            "/assets/{version}/{name}",
            "pageAsset",
            None,
            run!(assets::get),
        )
        .params(&[
            Param::path("version", Values::Text(1, 64), "", ""),
            Param::path("name", Values::Text(1, 64), "", ""),
        ]),
        Operation::page(Method::GET, "/favicon.ico", "pageIcon", None, run!(assets::no_icon)),
    ]
});

/// A path on this server to go to after the login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocalPath(String);

impl Default for LocalPath {
    fn default() -> Self {
        LocalPath("/".to_owned())
    }
}

impl LocalPath {
    pub(crate) fn location(&self) -> HeaderValue {
        HeaderValue::try_from(&self.0).unwrap_or(HeaderValue::from_static("/"))
    }
}

/// Returns the path that a text names, or the first page if the text names another server.
pub(crate) fn place(text: &str) -> LocalPath {
    let is_here = text.starts_with('/')
        && !text.starts_with("//")
        && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_here { LocalPath(text.to_owned()) } else { LocalPath::default() }
}

/// The recipient of a refusal.
#[derive(Debug)]
pub(crate) struct Reader {
    place: LocalPath,
    theme: Option<&'static str>,
    /// Whether a script sent the request, which cannot show a page.
    is_script: bool,
}

impl Reader {
    /// Returns the recipient of a refusal, if the request comes from a browser page.
    pub(crate) fn of(operation: Option<&Operation>, parts: &Parts) -> Option<Self> {
        let accepts = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let is_page = match operation {
            Some(operation) => operation.is_page,
            None => accepts.is_some_and(|accepts| accepts.contains("text/html")),
        };
        is_page.then(|| Reader {
            place: place(parts.uri.path_and_query().map_or("/", |path| path.as_str())),
            theme: html::theme(&parts.headers),
            is_script: parts.headers.contains_key("x-treering-part"),
        })
    }
}

/// Returns the response to a refused request of a page: a redirect to the login, or an error page.
pub(crate) fn refusal(reader: &Reader, problem: Problem) -> Response<Body> {
    if reader.is_script {
        return problem.into_response();
    }
    if problem.code == Code::Unauthorized {
        let mut response = crate::call::empty_answer(StatusCode::SEE_OTHER);
        let login = html::address("/login", &[("next", &reader.place.0)]);
        let login = HeaderValue::try_from(login).unwrap_or(HeaderValue::from_static("/login"));
        response.headers_mut().insert(header::LOCATION, login);
        return response;
    }
    let title = match problem.code {
        Code::NotFound => "There is no such page",
        code => code.title(),
    };
    let frame = Frame { title, section: Section::Outside, script: "", theme: reader.theme };
    let mut page = Html::default();
    page.raw(" class=outside>\n<main class=card><p class=brand><span aria-hidden=true></span>treering</p>");
    page.element("h1", "", title);
    match problem.reason {
        "foreign_origin" => {
            page.raw("<p class=note>A link on another site led here, so the browser did not send your login.</p><p><a");
            page.attr("href", &reader.place.0).raw(">Open the page</a></p>");
        }
        _ if problem.code == Code::NotFound => {
            page.raw("<p class=note>This server has no page at this address.</p><p><a href=\"/\">All sessions</a></p>");
        }
        _ => {
            page.element("p", "note", &problem.detail);
            page.raw("<p><a href=\"/\">All sessions</a></p>");
        }
    }
    page.raw("</main>");
    let mut response = frame.answer(problem.code.status(), &page);
    for (name, value) in problem.into_response().headers() {
        if matches!(*name, header::RETRY_AFTER | header::ALLOW) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_leads_only_to_this_server() {
        for (text, expected) in [
            ("/s/one?entry=2", "/s/one?entry=2"),
            ("//evil.example", "/"),
            ("https://evil.example", "/"),
            ("/\\evil.example", "/"),
            ("/a\r\nset-cookie: b", "/"),
            ("", "/"),
        ] {
            assert_eq!(place(text).0, expected, "{text:?}");
        }
    }
}
