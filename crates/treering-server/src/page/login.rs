//! The login form for a token, and the logout.

use super::html::{Frame, Html, Section, html_answer};
use super::{LocalPath, place};
use crate::auth;
use crate::call::{Call, empty_answer};
use crate::operation::Answered;
use axum::http::{HeaderValue, StatusCode, header};

/// Returns the page with the form.
pub(crate) fn form(call: &Call, next: &LocalPath, refused: Option<&str>) -> Answered {
    let frame = Frame::new("Log in", Section::Outside, "", call);
    let mut page = Html::default();
    page.raw(" class=outside>\n<main class=card><p class=brand><span aria-hidden=true></span>treering</p><h1>Log in</h1>");
    page.raw("<p class=note>Use the link that <code>treering serve</code> printed, or a token: the one in its token file, or one of <code>treering token create</code>.</p>");
    page.raw("<form method=post action=\"/login/token\"><input type=hidden name=next")
        .attr("value", &next.0);
    page.raw("><label for=token>Token</label><input id=token name=token type=password autocomplete=current-password required autofocus spellcheck=false");
    if refused.is_some() {
        page.raw(" aria-invalid=true aria-describedby=refused");
    }
    page.raw(">");
    if let Some(refused) = refused {
        page.raw("<p id=refused class=bad role=alert>").text(refused).raw("</p>");
    }
    page.raw("<button class=primary>Log in</button></form></main>");
    let status = if refused.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
    Ok(frame.answer(status, &page))
}

/// Accepts a token, which becomes the cookie of the browser.
pub(crate) async fn post(mut call: Call) -> Answered {
    let body = call.bytes().await?;
    let (mut token, mut next) = (String::new(), LocalPath::default());
    for (name, value) in form_urlencoded::parse(&body) {
        match &*name {
            "token" => token = value.trim().to_owned(),
            "next" => next = place(&value),
            _ => {}
        }
    }
    match auth::log_in_with_token(&call.node, &token, call.peer).await? {
        Some(cookie) => {
            let mut response = empty_answer(StatusCode::SEE_OTHER);
            response.headers_mut().insert(header::SET_COOKIE, cookie);
            response.headers_mut().insert(header::LOCATION, next.location());
            Ok(response)
        }
        None => {
            call.node.metrics.refused("unknown_token");
            form(&call, &next, Some("The token is unknown, has expired, or was revoked."))
        }
    }
}

pub(crate) async fn log_out(call: Call) -> Answered {
    let mut response = html_answer(StatusCode::SEE_OTHER, Html::default());
    if let Some(cookie) = auth::log_out(&call.node) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/login"));
    Ok(response)
}
