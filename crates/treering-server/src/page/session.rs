//! The page of a session: its tree and one of its branches, side by side.

use super::conversation::Anchor;
use super::html::{Frame, Html, Section, address, can_write};
use super::rows::{ROWS, TreeWindowStart, selection};
use super::trees::Selection;
use crate::call::Call;
use crate::operation::Answered;
use crate::problem::Code;
use axum::http::StatusCode;
use treering::Dialect;
use treering_display::line::excerpt;
use treering_display::number::{count, size};
use treering_display::text::visible;
use treering_display::tree::Filter;

/// The filters, with their names on the page.
const FILTERS: [(Filter, &str); 5] = [
    (Filter::Default, "Default"),
    (Filter::NoTools, "No tools"),
    (Filter::UserOnly, "User"),
    (Filter::LabeledOnly, "Labeled"),
    (Filter::All, "All"),
];

/// The facts about a session that the head of its page shows.
struct SessionHead {
    title: String,
    name: String,
    agent: &'static str,
    cwd: String,
    facts: Vec<(String, &'static str)>,
    parent: Option<String>,
    /// The reason why the session cannot be written.
    read_only: Option<String>,
}

pub(crate) async fn page(call: Call) -> Answered {
    let text = |name: &str| call.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
    let (entry, tip, selection) = (text("entry"), text("tip"), selection(&call));
    let everything = selection.filter == Filter::All;
    let anchor = entry.clone().map_or(Anchor::End, Anchor::Around);
    let branch = call.branch(tip, anchor, everything).await?;
    let shown = entry.clone().or_else(|| branch.last.clone());
    let start = TreeWindowStart::Around(shown.clone());
    let rows = call.rows(selection.clone(), start.clone(), 2 * ROWS, branch.tip.clone()).await;
    let (rows, refused_query) = match rows {
        Ok((rows, _)) => (rows, None),
        // An invalid query is reported beside the tree.
        Err(problem) if problem.code == Code::InvalidRequest => {
            let all = Selection { query: String::new(), ..selection.clone() };
            (call.rows(all, start, 2 * ROWS, branch.tip.clone()).await?.0, Some(problem.detail))
        }
        Err(problem) => return Err(problem),
    };
    let about = call.read(|session| Ok(SessionHead::of(session)?)).await?;
    let id = call.session_id()?;

    let frame = Frame::new(&about.title, Section::Session, "session.js", &call);
    let mut page = Html::default();
    page.raw(" class=session").attr("data-session", id.as_str());
    page.attr("data-length", &rows.length.to_string());
    page.attr("data-entry", entry.as_deref().unwrap_or_default());
    page.attr("data-tip", branch.tip.as_deref().unwrap_or_default());
    page.attr("data-filter", selection.filter.name()).attr("data-folds", &selection.folds);
    page.attr("data-name", &about.name).attr("data-agent", about.agent);
    page.attr("data-dialects", &writable_dialects());
    let refused = match (&about.read_only, can_write(&call)) {
        (_, false) => Some("the token may only read"),
        (Some(_), true) => Some("sessions of this agent are read-only; fork it to continue"),
        (None, true) => None,
    };
    page.attr("data-read-only", refused.unwrap_or_default());
    page.attr("data-can-write", if can_write(&call) { "yes" } else { "" });
    page.raw(">\n<a class=skip href=\"#conversation\">Skip to the conversation</a>\n");
    frame.bar(&mut page);

    page.raw("<aside id=side aria-label=\"Tree of entries\">\n<header><form class=find role=search><input id=search name=q type=search placeholder=\"Search this session\" aria-label=\"Search this session\" autocomplete=off spellcheck=false");
    page.attr("value", &selection.query).raw("><kbd aria-hidden=true>/</kbd></form>");
    page.raw("<div id=filters role=radiogroup aria-label=\"Which entries the tree shows\">");
    for (filter, name) in FILTERS {
        let is_chosen = filter == selection.filter;
        page.raw("<button type=button role=radio").attr("data-filter", filter.name());
        page.raw(if is_chosen {
            " aria-checked=true>"
        } else {
            " aria-checked=false tabindex=-1>"
        });
        page.raw(name).raw("</button>");
    }
    page.raw("</div></header>\n<div id=tree role=tree aria-label=Entries");
    page.attr("data-total", &rows.total.to_string()).attr("data-from", &rows.from.to_string());
    if let Some(around) = rows.around {
        page.attr("data-around", &around.to_string());
    }
    page.raw(if rows.complete { " data-complete" } else { "" });
    page.raw("><div id=rows><div class=window>").raw(&rows.html);
    page.raw("</div></div></div>\n<footer id=count role=status>");
    page.text(refused_query.as_deref().unwrap_or_default());
    page.raw("</footer>\n</aside>\n<div id=shade></div>\n");

    page.raw("<main id=conversation tabindex=-1>\n<header id=top>");
    page.element("h1", "", &about.title).raw("<p id=about>");
    page.element("span", "agent", about.agent);
    if !about.cwd.is_empty() {
        page.raw("<a").attr("href", &address("/", &[("project", &about.cwd)])).raw(">");
        page.element("code", "", &visible(&about.cwd)).raw("</a>");
    }
    if let Some(parent) = &about.parent {
        page.raw("<span class=note>fork of ").text(&excerpt(parent, 80)).raw("</span>");
    }
    page.raw("</p><dl id=facts>");
    for (value, name) in &about.facts {
        page.raw("<div>").element("dt", "", name).element("dd", "", value).raw("</div>");
    }
    page.raw("</dl></header>\n");
    actions(&mut page, id.as_str(), shown.as_deref().unwrap_or_default());
    page.raw("<div id=path");
    page.attr("data-first", branch.first.as_deref().unwrap_or_default());
    page.attr("data-last", branch.last.as_deref().unwrap_or_default());
    page.raw(if branch.has_before { " data-before" } else { "" });
    page.raw(if branch.has_after { " data-after" } else { "" });
    page.raw(if branch.is_active { " data-active" } else { "" });
    page.raw(">\n").raw(&branch.html).raw("</div>\n");
    if branch.html.is_empty() {
        page.raw("<p class=note>No messages here.</p>\n");
    }
    page.raw("<p id=end class=note></p><noscript><p class=note>Without scripts the page shows this part of the session only, and does not follow it.</p></noscript>\n");
    composer(&mut page, &call, about.read_only.is_none());
    page.raw("</main>\n");
    page.raw(KEYS);
    Ok(frame.answer(StatusCode::OK, &page))
}

/// Appends the field for messages to the model, or the reason why there is none.
fn composer(page: &mut Html, call: &Call, is_writable: bool) {
    page.raw("<section id=talk aria-label=\"Talk to the model\">");
    let model = call.node.chat.as_ref().map(|chat| chat.model.model());
    match model {
        _ if !can_write(call) => {
            page.raw("<p class=note>The token may only read: talking to a model needs one with the scope to write.</p>");
        }
        _ if !is_writable => {
            page.raw("<p class=note>Sessions of this agent are read-only: fork it to talk to a model.</p>");
        }
        None => {
            page.raw("<p class=note>To talk to a model here, configure one as for <code>treering chat</code> (an API key such as <code>ANTHROPIC_API_KEY</code>, or <code>[summarizer]</code> in the configuration) and start the server again.</p>");
        }
        Some(model) => {
            page.raw("<div id=draft hidden").attr("data-model", model);
            page.raw("></div><form id=composer><label for=say>Message to ").text(model);
            page.raw("</label><textarea id=say rows=2 spellcheck=true");
            page.attr("maxlength", &call.node.limits.question.to_string());
            page.raw("></textarea><p><span id=turn role=status></span><button type=button id=stop hidden>Stop</button><button id=send class=primary>Send</button></p></form>");
        }
    }
    page.raw("</section>\n");
}

/// Returns the names of the dialects that a fork can be written in, separated by spaces.
fn writable_dialects() -> String {
    let dialects = Dialect::ALL.into_iter().filter(|dialect| dialect.is_writable());
    dialects.map(Dialect::name).collect::<Vec<_>>().join(" ")
}

/// Appends the action bar. The page's script applies the actions to the selected entry.
fn actions(page: &mut Html, id: &str, entry: &str) {
    page.raw("<div id=actions role=toolbar aria-label=\"What can be done\"><button id=menu type=button aria-label=\"Show the tree\" aria-expanded=false aria-controls=side><span></span></button>");
    for (verb, name, title) in [
        ("go", "Go here", "Continue the session from the chosen entry"),
        ("label", "Label", "Label the chosen entry"),
        ("fork", "Fork", "Start a new session that ends at the chosen entry"),
        ("pick", "Pick", "Cherry-pick: copy the chosen entry to the leaf of the session"),
        ("merge", "Merge", "Copy the work of the chosen branch to the leaf of the session"),
        ("compact", "Compact", "Replace the beginning of the context with a summary"),
        (
            "edit",
            "Edit context",
            "Leave the chosen entry out of the context, or replace its text in it",
        ),
        ("export", "Export", "Download the session, with its secrets or without them"),
        ("rename", "Rename", "Name the session"),
        ("remove", "Delete", "Move the session to the trash"),
    ] {
        page.raw("<button type=button").attr("data-verb", verb).attr("title", title);
        page.raw(">").raw(name).raw("</button>");
    }
    let context = address(&format!("/s/{id}/context"), &[("entry", entry)]);
    page.raw("<a id=to-context").attr("href", &context);
    page.raw(" title=\"What the model sees here (c)\">Context</a>");
    let compare = address(&format!("/s/{id}/compare"), &[("a", entry)]);
    page.raw("<a id=to-compare").attr("href", &compare);
    page.raw(" title=\"Compare the chosen branch with the active one\">Compare</a>");
    page.raw("</div>\n<p id=moved role=status hidden></p>\n");
}

const KEYS: &str = "<dialog id=keys aria-labelledby=keys-title>\n<h2 id=keys-title>Keys</h2>\n<dl>\
<dt><kbd>/</kbd></dt><dd>search this session</dd>\
<dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next and previous message</dd>\
<dt><kbd>[</kbd> <kbd>]</kbd></dt><dd>previous and next branch here</dd>\
<dt><kbd>g</kbd> <kbd>G</kbd></dt><dd>beginning and end of the branch</dd>\
<dt><kbd>f</kbd></dt><dd>next filter</dd>\
<dt><kbd>e</kbd></dt><dd>unfold or fold everything in sight</dd>\
<dt><kbd>y</kbd></dt><dd>copy the chosen entry as text</dd>\
<dt><kbd>c</kbd></dt><dd>what the model sees here</dd>\
<dt><kbd>i</kbd></dt><dd>write to the model</dd>\
<dt><kbd>s</kbd></dt><dd>all sessions</dd>\
<dt><kbd>t</kbd></dt><dd>light or dark</dd>\
<dt><kbd>↑</kbd> <kbd>↓</kbd></dt><dd>in the tree: move</dd>\
<dt><kbd>←</kbd> <kbd>→</kbd></dt><dd>in the tree: fold, unfold</dd>\
<dt><kbd>Enter</kbd></dt><dd>in the tree: show that branch</dd>\
<dt><kbd>Esc</kbd></dt><dd>clear the search, close, stop the model</dd>\
</dl>\n<form method=dialog><button>Close</button></form>\n</dialog>\n<dialog id=ask aria-labelledby=ask-title></dialog>";

impl SessionHead {
    fn of(session: &treering::Session) -> treering::Result<Self> {
        let info = session.info()?;
        let title = excerpt(&session.title()?, 160);
        let mut facts = vec![(info.message_count.to_string(), "messages")];
        if info.branch_count > 1 {
            facts.push((info.branch_count.to_string(), "branches"));
        }
        if info.compaction_count > 0 {
            facts.push((info.compaction_count.to_string(), "compactions"));
        }
        facts.push((size(session.log_length()), "size"));
        if info.finding_count > 0 {
            facts.push((count(info.finding_count, "finding", "findings"), "when read"));
        }
        Ok(SessionHead {
            title: if title.is_empty() { "Session".to_owned() } else { title },
            name: session.name().unwrap_or_default(),
            agent: session.dialect().name(),
            cwd: session.cwd(),
            facts,
            parent: info.parent_session,
            read_only: session.check_writable().err().map(|error| error.to_string()),
        })
    }
}
