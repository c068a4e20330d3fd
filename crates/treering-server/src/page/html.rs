//! Builds HTML from markup of the server and text, which is always escaped.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use std::fmt::Write as _;
use treering_export::viewer::{escape_attribute, escape_text};

use super::assets;
use crate::call::{Call, answer};
use treering::store::Scope;

/// The content security policy of every page: only its own files are allowed.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// HTML under construction.
#[derive(Debug, Default, Clone)]
pub(crate) struct Html(pub(crate) String);

impl Html {
    /// Appends markup of the server.
    pub(crate) fn raw(&mut self, markup: &str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Appends text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        escape_text(&mut self.0, text);
        self
    }

    /// Appends an attribute.
    pub(crate) fn attr(&mut self, name: &str, value: &str) -> &mut Self {
        let _ = write!(self.0, " {name}=\"");
        escape_attribute(&mut self.0, value);
        self.0.push('"');
        self
    }

    /// Appends an element with only text in it.
    pub(crate) fn element(&mut self, tag: &str, class: &str, text: &str) -> &mut Self {
        let _ = write!(self.0, "<{tag}");
        if !class.is_empty() {
            self.attr("class", class);
        }
        self.raw(">").text(text);
        let _ = write!(self.0, "</{tag}>");
        self
    }

    /// Appends a time, which the page's script shows in the user's time zone.
    pub(crate) fn time(&mut self, class: &str, millis: i64, shown: &str) -> &mut Self {
        self.raw("<time").attr("class", class);
        self.attr("datetime", &treering::time::format(millis)).raw(">").text(shown);
        self.raw("</time>")
    }
}

/// Returns the address of a page with the parameters that have a value.
pub(crate) fn address(path: &str, params: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in params.iter().filter(|(_, value)| !value.is_empty()) {
        query.append_pair(name, value);
    }
    match query.finish() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// The sections of the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Sessions,
    Session,
    Usage,
    /// A page before the login, or an error page.
    Outside,
}

/// The frame of a page: its head, the bar at the top, its scripts.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) title: &'a str,
    pub(crate) section: Section,
    /// The module that enhances the page; empty for none.
    pub(crate) script: &'a str,
    pub(crate) theme: Option<&'static str>,
}

impl<'a> Frame<'a> {
    pub(crate) fn new(title: &'a str, section: Section, script: &'a str, call: &Call) -> Self {
        Frame { title, section, script, theme: theme(&call.headers) }
    }

    /// Returns the whole page. `body` begins with the attributes of its element, if it has any.
    pub(crate) fn answer(&self, status: StatusCode, body: &Html) -> Response<Body> {
        let mut page = Html::default();
        page.raw("<!doctype html>\n<html lang=en");
        if let Some(theme) = self.theme {
            page.attr("data-theme", theme);
        }
        page.raw(">\n<head>\n<meta charset=utf-8>\n<meta name=viewport content=\"width=device-width, initial-scale=1\">\n<meta name=color-scheme content=\"light dark\">\n<title>");
        page.text(self.title).raw(" · treering</title>\n<link rel=stylesheet");
        page.attr("href", &assets::path("style.css"))
            .raw(">\n<link rel=icon type=\"image/svg+xml\"");
        page.attr("href", &assets::path("icon.svg")).raw(">\n");
        if !self.script.is_empty() {
            for module in assets::modules(self.script) {
                page.raw("<link rel=modulepreload").attr("href", &assets::path(module)).raw(">\n");
            }
            page.raw("<script type=module").attr("src", &assets::path(self.script));
            page.raw("></script>\n");
        }
        page.raw("</head>\n<body").raw(&body.0).raw("\n</body>\n</html>\n");
        html_answer(status, page)
    }

    /// Appends the bar at the top of the page.
    pub(crate) fn bar(&self, page: &mut Html) {
        page.raw("<header id=bar><a class=brand href=\"/\"><span aria-hidden=true></span>treering</a><nav aria-label=Pages>");
        for (section, link, name) in
            [(Section::Sessions, "/", "Sessions"), (Section::Usage, "/usage", "Usage")]
        {
            page.raw("<a").attr("href", link);
            page.raw(if section == self.section { " aria-current=page>" } else { ">" });
            page.raw(name).raw("</a>");
        }
        page.raw("</nav>");
        if self.script == "session.js" {
            // The heading scrolls out of view; screen readers have it, and the title of the
            // document.
            page.raw("<span id=where aria-hidden=true>").text(self.title).raw("</span>");
        }
        page.raw("<span id=status role=status></span>");
        page.raw("<button id=theme class=icon type=button title=\"Light or dark (t)\" aria-label=\"Light or dark\">◐</button>");
        page.raw(
            "<button id=help class=icon type=button title=\"Keys (?)\" aria-label=Keys>?</button>",
        );
        page.raw("<form method=post action=\"/logout\"><button class=plain>Log out</button></form></header>\n");
    }
}

/// Returns a response with a page or a part of one.
pub(crate) fn html_answer(status: StatusCode, page: Html) -> Response<Body> {
    let mut response = answer(status, "text/html; charset=utf-8", page.0.into());
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, POLICY);
    // With `no-referrer`, forms would have the origin `null`, which is refused.
    let referrer = HeaderValue::from_static("same-origin");
    response.headers_mut().insert(header::REFERRER_POLICY, referrer);
    response
}

/// Returns the theme that the user chose.
pub(crate) fn theme(headers: &HeaderMap) -> Option<&'static str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).map(str::trim);
    pairs.find_map(|pair| match pair {
        "treering_theme=dark" => Some("dark"),
        "treering_theme=light" => Some("light"),
        _ => None,
    })
}

/// Returns whether the user may change sessions.
pub(crate) fn can_write(call: &Call) -> bool {
    call.grant.as_ref().is_some_and(|grant| grant.scope >= Scope::Write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_cannot_become_markup() {
        let mut html = Html::default();
        html.raw("<a").attr("title", "\"><script>").raw(">").text("<script>&").raw("</a>");
        assert_eq!(html.0, "<a title=\"&quot;&gt;&lt;script&gt;\">&lt;script&gt;&amp;</a>");
    }

    #[test]
    fn addresses_have_only_what_was_chosen() {
        assert_eq!(address("/", &[("q", ""), ("agent", "")]), "/");
        assert_eq!(address("/", &[("q", "a b&c"), ("agent", "pi")]), "/?q=a+b%26c&agent=pi");
    }
}
