//! The list of sessions, newest first, with forks below their origin, and the results of searches.

use super::html::{Frame, Html, Section, address, html_answer};
use super::trees::parse;
use crate::auth::unix_millis;
use crate::call::Call;
use crate::handlers::search::find;
use crate::operation::Answered;
use crate::problem::Problem;
use axum::http::StatusCode;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use treering::catalog::SessionInfo;
use treering::store::{Cursor, ListQuery};
use treering::{Dialect, store};
use treering_display::line::excerpt;
use treering_display::number::{age, count, size, tokens};
use treering_display::text::safe_line;
use treering_search::Hit;

/// The number of sessions on a page.
const SESSIONS: usize = 60;

/// The number of sessions with hits on a page.
const FOUND: usize = 25;

/// The age of the last message in milliseconds below which a session counts as live.
const LIVE: i64 = 20_000;

/// The days of the filter, and their names.
const DAYS: [(&str, &str); 4] =
    [("", "Any time"), ("1", "Today"), ("7", "7 days"), ("30", "30 days")];

/// The choices of the user.
#[derive(Debug, Default)]
struct ListChoices {
    query: String,
    agent: String,
    project: String,
    days: String,
    order: String,
    cursor: String,
}

/// A session of the list.
struct ListedSession {
    info: SessionInfo,
    /// The number of sessions above it in its thread.
    depth: usize,
    hits: Vec<Hit>,
    hit_count: usize,
}

/// A page of the list.
struct SessionListPage {
    sessions: Vec<ListedSession>,
    next: Option<String>,
}

impl ListChoices {
    fn of(call: &Call) -> Self {
        let text = |name: &str| call.text(name).unwrap_or_default().trim().to_owned();
        ListChoices {
            query: text("q"),
            agent: text("agent"),
            project: text("project"),
            days: text("days"),
            order: text("order"),
            cursor: text("cursor"),
        }
    }

    /// Returns the address of the list with another value of a choice.
    fn with(&self, path: &str, name: &str, value: &str) -> String {
        let own =
            |key: &str, own: &str| if key == name { value.to_owned() } else { own.to_owned() };
        let cursor = if name == "cursor" { value } else { "" };
        address(
            path,
            &[
                ("q", &own("q", &self.query)),
                ("agent", &own("agent", &self.agent)),
                ("project", &own("project", &self.project)),
                ("days", &own("days", &self.days)),
                ("order", &own("order", &self.order)),
                ("cursor", cursor),
            ],
        )
    }

    fn list_query(&self, now: i64) -> Result<ListQuery, Problem> {
        let mut query = ListQuery::new().limit(SESSIONS);
        if !self.project.is_empty() {
            query = query.cwd(&self.project);
        }
        if let Ok(agent) = self.agent.parse::<Dialect>() {
            query = query.agent(agent);
        }
        if let Ok(days) = self.days.parse::<u32>() {
            query = query.since(now - i64::from(days) * 86_400_000);
        }
        if !self.cursor.is_empty() {
            let cursor = Cursor::new(&self.cursor);
            if cursor.position().is_none() {
                return Err(Problem::invalid("the cursor was not issued by this server"));
            }
            query = query.after(cursor);
        }
        Ok(query)
    }

    /// Reads a page of the list.
    async fn read(&self, call: &Call, now: i64) -> Result<SessionListPage, Problem> {
        let (store, list) = (call.store()?, self.list_query(now)?);
        if !self.query.is_empty() {
            let query = parse(&self.query)?;
            let found = call.node.work.run(move || find(&store, &query, list, FOUND));
            let (sessions, next) = found.await??;
            let sessions = sessions.into_iter().map(|(info, found)| ListedSession {
                info,
                depth: 0,
                hits: found.hits,
                hit_count: found.total,
            });
            return Ok(SessionListPage {
                sessions: sessions.collect(),
                next: next.map(|next| next.to_string()),
            });
        }
        let page: store::Page = call.node.work.run(move || store.list(&list)).await??;
        let next = page.next.map(|next| next.to_string());
        let sessions = match self.order.as_str() {
            "recent" => page.sessions.into_iter().map(|info| (info, 0)).collect(),
            _ => threads(page.sessions),
        };
        let listed = |(info, depth)| ListedSession { info, depth, hits: Vec::new(), hit_count: 0 };
        Ok(SessionListPage { sessions: sessions.into_iter().map(listed).collect(), next })
    }
}

/// Groups forks below their origin. A thread has the position of its newest session.
fn threads(sessions: Vec<SessionInfo>) -> Vec<(SessionInfo, usize)> {
    let mut places: HashMap<String, usize> = HashMap::new();
    for (at, info) in sessions.iter().enumerate() {
        places.entry(info.id.to_string()).or_insert(at);
        places.entry(info.path.to_string_lossy().into_owned()).or_insert(at);
    }
    let parents: Vec<Option<usize>> = sessions
        .iter()
        .enumerate()
        .map(|(at, info)| {
            let named = info.parent_session.as_deref()?;
            let stem = Path::new(named).file_stem()?.to_str()?;
            let id = stem.rsplit('_').next().unwrap_or(stem);
            let parent = [named, stem, id].into_iter().find_map(|name| places.get(name));
            parent.copied().filter(|parent| *parent != at)
        })
        .collect();
    // Finds the origin of each session. Headers may name each other in a cycle: a walk ends after as
    // many steps as there are sessions.
    let origin = |mut at: usize| {
        for _ in 0..sessions.len() {
            match parents.get(at).copied().flatten() {
                Some(parent) => at = parent,
                None => return Some(at),
            }
        }
        None
    };
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut order = Vec::new();
    let mut is_placed = vec![false; sessions.len()];
    for at in 0..sessions.len() {
        let top = origin(at).unwrap_or(at);
        if origin(at).is_some()
            && let Some(parent) = parents.get(at).copied().flatten()
        {
            children.entry(parent).or_default().push(at);
        }
        if let Some(slot) = is_placed.get_mut(top).filter(|slot| !**slot) {
            *slot = true;
            order.push(top);
        }
    }
    let mut slots: Vec<Option<SessionInfo>> = sessions.into_iter().map(Some).collect();
    let mut listed = Vec::with_capacity(slots.len());
    let mut waiting: Vec<(usize, usize)> = order.into_iter().rev().map(|at| (at, 0)).collect();
    while let Some((at, depth)) = waiting.pop() {
        listed.extend(slots.get_mut(at).and_then(Option::take).map(|info| (info, depth)));
        let below = children.remove(&at).unwrap_or_default();
        waiting.extend(below.into_iter().rev().map(|child| (child, depth + 1)));
    }
    listed
}

/// Returns only the rows, for the page's script.
pub(crate) async fn rows(call: Call) -> Answered {
    let (choices, now) = (ListChoices::of(&call), unix_millis());
    let list = choices.read(&call, now).await?;
    let mut page = Html::default();
    draw_list(&mut page, &choices, &list, now);
    Ok(html_answer(StatusCode::OK, page))
}

pub(crate) async fn page(call: Call) -> Answered {
    let (choices, now) = (ListChoices::of(&call), unix_millis());
    let (list, refused) = match choices.read(&call, now).await {
        Ok(list) => (list, None),
        Err(problem) if problem.code.status() == StatusCode::BAD_REQUEST => {
            (SessionListPage { sessions: Vec::new(), next: None }, Some(problem.detail))
        }
        Err(problem) => return Err(problem),
    };
    let frame = Frame::new("Sessions", Section::Sessions, "sessions.js", &call);
    let mut page = Html::default();
    page.raw(" class=list>\n<a class=skip href=\"#sessions\">Skip to the sessions</a>\n");
    frame.bar(&mut page);
    page.raw("<main>\n<h1 class=hidden>Sessions</h1>\n<form id=choices role=search action=\"/\"><div class=find><input id=search name=q type=search aria-label=\"Search all sessions\" placeholder=\"Search all sessions: words, &quot;phrases&quot;, role:user, tool:bash, file:src/main.rs\" autocomplete=off spellcheck=false");
    if refused.is_some() {
        page.raw(" aria-invalid=true aria-describedby=refused");
    }
    page.attr("value", &choices.query).raw("><kbd aria-hidden=true>/</kbd></div>");
    select(&mut page, "agent", "Agent", &choices.agent, &agents());
    select(&mut page, "project", "Project", &choices.project, &projects(&list, &choices));
    let days: Vec<(String, String)> =
        DAYS.iter().map(|(value, name)| ((*value).to_owned(), (*name).to_owned())).collect();
    select(&mut page, "days", "Time", &choices.days, &days);
    let orders = [("", "Threads"), ("recent", "Newest")];
    let orders: Vec<(String, String)> =
        orders.iter().map(|(value, name)| ((*value).to_owned(), (*name).to_owned())).collect();
    select(&mut page, "order", "Order", &choices.order, &orders);
    page.raw("<noscript><button>Show</button></noscript></form>\n");
    if let Some(refused) = &refused {
        page.raw("<p id=refused class=bad role=alert>").text(refused).raw("</p>\n");
    }
    page.raw("<div id=sessions tabindex=-1>");
    draw_list(&mut page, &choices, &list, now);
    page.raw("</div>\n</main>\n").raw(KEYS);
    Ok(frame.answer(StatusCode::OK, &page))
}

const KEYS: &str = "<dialog id=keys aria-labelledby=keys-title>\n<h2 id=keys-title>Keys</h2>\n<dl>\
<dt><kbd>/</kbd></dt><dd>search all sessions</dd>\
<dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next and previous session</dd>\
<dt><kbd>Enter</kbd></dt><dd>open it</dd>\
<dt><kbd>u</kbd></dt><dd>usage</dd>\
<dt><kbd>t</kbd></dt><dd>light or dark</dd>\
<dt><kbd>Esc</kbd></dt><dd>clear the search, close</dd>\
</dl>\n<form method=dialog><button>Close</button></form>\n</dialog>";

fn agents() -> Vec<(String, String)> {
    let mut all = vec![(String::new(), "All agents".to_owned())];
    all.extend(Dialect::ALL.iter().map(|agent| (agent.name().to_owned(), agent.name().to_owned())));
    all
}

/// Returns the projects of the listed sessions.
fn projects(list: &SessionListPage, choices: &ListChoices) -> Vec<(String, String)> {
    let mut known: BTreeSet<&str> =
        list.sessions.iter().map(|listed| listed.info.cwd.as_str()).collect();
    known.insert(&choices.project);
    known.remove("");
    let mut all = vec![(String::new(), "All projects".to_owned())];
    all.extend(known.into_iter().map(|cwd| (cwd.to_owned(), project(cwd))));
    all
}

/// Returns the last parts of a project's directory.
fn project(cwd: &str) -> String {
    let parts: Vec<&str> = cwd.split('/').filter(|part| !part.is_empty()).collect();
    let last = parts.get(parts.len().saturating_sub(2)..).unwrap_or_default().join("/");
    safe_line(if last.is_empty() { cwd } else { &last })
}

fn select(page: &mut Html, name: &str, label: &str, chosen: &str, options: &[(String, String)]) {
    page.raw("<select").attr("name", name).attr("aria-label", label).raw(">");
    for (value, text) in options {
        page.raw("<option").attr("value", value);
        page.raw(if value == chosen { " selected>" } else { ">" }).text(text).raw("</option>");
    }
    page.raw("</select>");
}

fn draw_list(page: &mut Html, choices: &ListChoices, list: &SessionListPage, now: i64) {
    if list.sessions.is_empty() {
        let is_all = choices.with("/", "order", "") == "/";
        page.element(
            "p",
            "empty",
            match is_all {
                true => {
                    "There are no sessions yet. They appear here as soon as an agent writes one."
                }
                false => "No sessions match.",
            },
        );
    } else {
        page.raw("<ol class=sessions>");
        for listed in &list.sessions {
            draw_session(page, choices, listed, now);
        }
        page.raw("</ol>");
    }
    if let Some(next) = &list.next {
        page.raw("<p class=next><a rel=next").attr("href", &choices.with("/", "cursor", next));
        page.attr("data-more", &choices.with("/sessions", "cursor", next));
        page.raw(if choices.query.is_empty() {
            ">Older sessions</a></p>"
        } else {
            ">Search older sessions</a></p>"
        });
    }
}

fn draw_session(page: &mut Html, choices: &ListChoices, listed: &ListedSession, now: i64) {
    let info = &listed.info;
    let is_live = now - info.modified < LIVE;
    let title = excerpt(info.title(), 200);
    let untitled = if info.message_count > 0 { "Untitled" } else { "No messages yet" };
    let title = if title.is_empty() { untitled.to_owned() } else { title };
    let class = format!("s d{}{}", listed.depth.min(4), if is_live { " live" } else { "" });
    page.raw("<li").attr("class", &class).attr("data-id", info.id.as_str());
    page.attr("data-size", &info.size.to_string()).raw("><a class=title");
    page.attr("href", &format!("/s/{}", info.id)).raw(">");
    page.raw("<span class=pulse aria-hidden=true></span>").text(&title).raw("</a>");
    page.raw("<span class=facts>").element("span", "agent", info.agent.name());
    if !info.cwd.is_empty() {
        page.raw("<a class=project").attr("href", &choices.with("/", "project", &info.cwd));
        page.attr("title", &safe_line(&info.cwd)).raw(">").text(&project(&info.cwd)).raw("</a>");
    }
    page.element("span", "", &count(info.message_count, "message", "messages"));
    if info.branch_count > 1 {
        page.element("span", "branches", &count(info.branch_count, "branch", "branches"));
    }
    if let Some(used) = info.tokens.filter(|used| *used > 0) {
        page.element("span", "", &format!("{} tokens", tokens(used)));
    }
    if let Some(cost) = info.cost.filter(|cost| *cost > 0.0 && cost.is_finite()) {
        page.element("span", "cost", &format!("${cost:.2}"));
    }
    page.element("span", "", &size(info.size)).raw("</span>");
    page.time("age", info.modified, &age(now - info.modified));
    if is_live {
        page.raw("<span class=hidden>, being written</span>");
    }
    if !listed.hits.is_empty() {
        draw_hits(page, choices, listed);
    }
    page.raw("</li>");
}

fn draw_hits(page: &mut Html, choices: &ListChoices, listed: &ListedSession) {
    let path = format!("/s/{}", listed.info.id);
    page.raw("<ol class=hits>");
    for hit in &listed.hits {
        let entry = hit.entry.as_ref().map(ToString::to_string).unwrap_or_default();
        page.raw("<li><a")
            .attr("href", &address(&path, &[("entry", &entry), ("q", &choices.query)]));
        page.raw(">").element("span", "role", &hit.name).raw("<span class=text>");
        page.raw(if hit.snippet.cut_before { "…" } else { "" });
        for (text, is_match) in hit.snippet.pieces() {
            match is_match {
                true => page.element("mark", "", text),
                false => page.text(text),
            };
        }
        page.raw(if hit.snippet.cut_after { "…" } else { "" }).raw("</span>");
        if hit.state.name() != "active" {
            page.element("span", "state", hit.state.name());
        }
        page.raw("</a></li>");
    }
    page.raw("</ol>");
    let more = listed.hit_count.saturating_sub(listed.hits.len());
    if more > 0 {
        page.raw("<a class=more").attr("href", &address(&path, &[("q", &choices.query)])).raw(">");
        page.text(&count(more, "more hit", "more hits")).raw("</a>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use treering::SessionId;

    fn info(id: &str, parent: Option<&str>) -> SessionInfo {
        let path = format!("/sessions/2026_{id}.jsonl");
        let mut info = SessionInfo::new(path, Dialect::default(), SessionId::new(id).unwrap());
        info.parent_session = parent.map(str::to_owned);
        info
    }

    fn listed(sessions: Vec<SessionInfo>) -> Vec<(String, usize)> {
        threads(sessions).into_iter().map(|(info, depth)| (info.id.to_string(), depth)).collect()
    }

    #[test]
    fn forks_are_under_their_origin_and_none_is_lost() {
        let of = |id: &str, depth| (id.to_owned(), depth);
        let sessions = vec![
            info("fork", Some("/elsewhere/2026_origin.jsonl")),
            info("other", None),
            info("origin", None),
            info("second", Some("fork")),
            info("orphan", Some("gone")),
        ];
        let expected =
            [of("origin", 0), of("fork", 1), of("second", 2), of("other", 0), of("orphan", 0)];
        assert_eq!(listed(sessions), expected);
        let cycle = vec![info("a", Some("b")), info("b", Some("a")), info("c", Some("c"))];
        assert_eq!(listed(cycle), [of("a", 0), of("b", 0), of("c", 0)]);
    }
}
