//! The page of the context at an entry: the messages for the model, with their sizes.

use super::html::{Frame, Html, Section, address};
use crate::call::Call;
use crate::handlers::reading::VIEWS;
use crate::operation::Answered;
use crate::problem::Problem;
use axum::http::StatusCode;
use treering::compaction::{conversation_text, estimate_tokens};
use treering::entry::MessageView;
use treering::{Position, Session};
use treering_display::line::excerpt;
use treering_display::number::{count, tokens};
use treering_display::text::prefix;

/// The maximum number of messages that are shown; earlier ones are only counted.
const MESSAGES: usize = 300;

/// The maximum length of a message's text, in bytes.
const TEXT: usize = 16 * 1024;

struct ShownContext {
    title: String,
    model: Option<String>,
    thinking: String,
    total: usize,
    messages: Vec<ShownMessage>,
}

struct ShownMessage {
    entry: String,
    role: String,
    tokens: u64,
    text: String,
    is_cut: bool,
    is_edited: bool,
}

pub(crate) async fn page(call: Call) -> Answered {
    let entry = call.text("entry").filter(|entry| !entry.is_empty()).map(str::to_owned);
    let at = entry.clone();
    let shown = call.read(move |session| read(session, at.as_deref())).await?;
    let id = call.session_id()?;
    let back = address(&format!("/s/{id}"), &[("entry", entry.as_deref().unwrap_or_default())]);
    let frame = Frame::new("What the model sees", Section::Session, "context.js", &call);
    let mut page = Html::default();
    page.raw(" class=reading").attr("data-session", id.as_str());
    page.attr("data-entry", entry.as_deref().unwrap_or_default());
    page.raw(">\n<a class=skip href=\"#messages\">Skip to the messages</a>\n");
    frame.bar(&mut page);
    page.raw("<main>\n<p class=back><a").attr("href", &back).raw(">← ").text(&shown.title);
    page.raw("</a></p>\n<h1>What the model sees");
    page.raw(if entry.is_some() { " at this entry" } else { " now" }).raw("</h1>\n<dl id=facts>");
    let sum: u64 = shown.messages.iter().map(|message| message.tokens).sum();
    let mut fact = |name: &str, value: &str| {
        page.raw("<div>").element("dt", "", name).element("dd", "", value).raw("</div>");
    };
    fact("messages", &shown.total.to_string());
    fact(
        "tokens, estimated",
        &format!("{}{}", tokens(sum), if shown.total > shown.messages.len() { "+" } else { "" }),
    );
    if let Some(model) = &shown.model {
        fact("model", model);
    }
    if !shown.thinking.is_empty() {
        fact("thinking", &shown.thinking);
    }
    page.raw("</dl>\n<div id=shape role=toolbar aria-label=\"Copy the context\"><label for=view>Shape</label><select id=view>");
    for view in VIEWS {
        page.raw("<option").attr("value", view).raw(">").raw(view_name(view)).raw("</option>");
    }
    let raw = address(
        &format!("/v1/sessions/{id}/context"),
        &[("leaf", entry.as_deref().unwrap_or_default())],
    );
    page.raw("</select><button id=copy type=button>Copy</button><a id=raw").attr("href", &raw);
    page.raw(">Open</a><span id=copied role=status></span></div>\n");
    let hidden = shown.total - shown.messages.len();
    if hidden > 0 {
        let what = count(hidden, "earlier message", "earlier messages");
        page.element("p", "note", &format!("{what} are not shown; the copy has all of them."));
    }
    page.raw("<ol id=messages class=messages>");
    let most = shown.messages.iter().map(|message| message.tokens).max().unwrap_or(1).max(1);
    for message in &shown.messages {
        draw(&mut page, id.as_str(), message, most);
    }
    page.raw("</ol>\n</main>");
    Ok(frame.answer(StatusCode::OK, &page))
}

fn read(session: &Session, entry: Option<&str>) -> Result<ShownContext, Problem> {
    let position = match entry {
        Some(entry) => Position::Entry(session.tree().find(entry)?),
        None => Position::Leaf,
    };
    let projection = session.projection_at(position)?;
    let total = projection.selected().count();
    let model = projection.model.as_ref().and_then(|model| model.full_name());
    let thinking = projection.thinking_level.clone();
    let edits = session.projection_at(match entry {
        Some(entry) => Position::Entry(entry.into()),
        None => Position::Leaf,
    })?;
    let mut messages = Vec::new();
    for message in projection.without_images().only_last(MESSAGES) {
        let message = message?;
        let tokens = estimate_tokens(&message.json);
        let role = MessageView::new(&message.json).role().name().unwrap_or("message").to_owned();
        let is_edited = edits.is_edited(&message.entry);
        let entry = message.entry.to_string();
        let mut text = conversation_text(&[message]);
        let is_cut = text.len() > TEXT;
        if is_cut {
            text.truncate(prefix(&text, TEXT).len());
        }
        messages.push(ShownMessage { entry, role, tokens, text, is_cut, is_edited });
    }
    // Entries without a message, such as labels, are selected but do not count.
    let total = if total > MESSAGES { total } else { messages.len() };
    let title = excerpt(&session.title()?, 80);
    Ok(ShownContext { title, model, thinking, total, messages })
}

/// Returns the name of a view for users.
fn view_name(view: &str) -> &str {
    match view {
        "treering" => "Messages of the session",
        "agent" => "As the agent itself builds it",
        "anthropic" => "Anthropic Messages",
        "openai-chat" => "OpenAI Chat Completions",
        "openai-responses" => "OpenAI Responses",
        other => other,
    }
}

/// Returns the name of a role for users.
fn role_name(role: &str) -> &str {
    match role {
        "toolResult" => "tool result",
        "bashExecution" => "bash",
        "branchSummary" | "compactionSummary" => "summary",
        other => other,
    }
}

fn draw(page: &mut Html, id: &str, message: &ShownMessage, most: u64) {
    let share = (message.tokens * 20).div_ceil(most).min(20);
    page.raw("<li><details");
    page.raw(if message.text.len() < 1200 { " open><summary>" } else { "><summary>" });
    page.element("span", "who", role_name(&message.role));
    if message.is_edited {
        page.raw("<span class=label>edited</span>");
    }
    page.element("span", "first", &excerpt(after_role(&message.text), 120));
    page.raw("<span").attr("class", &format!("weight w{share}")).raw("></span>");
    page.element("span", "tokens", &tokens(message.tokens));
    page.raw("<span class=hidden> tokens</span></summary><pre>");
    page.text(after_role(&message.text));
    page.raw(if message.is_cut { "\n⋯" } else { "" }).raw("</pre><p><a");
    page.attr("href", &address(&format!("/s/{id}"), &[("entry", &message.entry)]));
    page.raw(">Go to the entry</a></p></details></li>");
}

/// Returns the text of a message without the name of its role, which is shown beside it.
fn after_role(text: &str) -> &str {
    match text.split_once("]: ") {
        Some((role, rest)) if role.starts_with('[') && role.len() < 40 => rest,
        _ => text,
    }
}
