//! The page of usage: cost and tokens by day, project, agent, model or session, as a chart, a table and CSV.

use super::charts::{self, Bar};
use super::html::{Frame, Html, Section, address};
use crate::auth::unix_millis;
use crate::call::{Call, answer};
use crate::operation::Answered;
use crate::problem::Problem;
use axum::http::{HeaderValue, StatusCode, header};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use treering::catalog::SessionInfo;
use treering::store::{ListQuery, Store};
use treering::usage::{EventSeed, SessionEvents, Usage};
use treering::{OpenOptions, Session, SessionId};
use treering_display::line::excerpt;
use treering_display::number::{cost, count, tokens};
use treering_usage::{GroupBy, Prices, Report, UsageEvents, UsageSession, Zone, csv_field};

/// The time after which no further session is read for a response; the rest is read for the next
/// one.
const TIME_LIMIT: Duration = Duration::from_secs(4);

/// The maximum number of rows of a chart, except for days.
const BARS: usize = 25;

/// The ways to group usage.
const GROUPS: [(&str, &str, GroupBy); 5] = [
    ("day", "Day", GroupBy::Day),
    ("project", "Project", GroupBy::Project),
    ("agent", "Agent", GroupBy::Agent),
    ("model", "Model", GroupBy::Model),
    ("session", "Session", GroupBy::Session),
];

/// The periods of time, in days.
const SPANS: [(&str, &str); 4] =
    [("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("", "All time")];

/// A cache of the usage events of sessions, by space and id, valid while the log has the same
/// length.
#[derive(Debug)]
pub(crate) struct UsageCache {
    seed: EventSeed,
    sessions: Mutex<HashMap<(String, SessionId), CachedUsage>>,
}

#[derive(Debug, Clone)]
struct CachedUsage {
    size: u64,
    events: Arc<SessionEvents>,
}

impl Default for UsageCache {
    fn default() -> Self {
        UsageCache { seed: EventSeed::random(), sessions: Mutex::default() }
    }
}

/// The sessions that were counted, and the number of those that were not.
struct CountedSessions {
    sessions: Vec<(SessionInfo, Arc<SessionEvents>)>,
    missing: usize,
}

impl UsageCache {
    /// Returns the events of all sessions, and reads unknown ones for a limited time.
    pub(crate) fn read_all(
        &self,
        space: &str,
        store: &Arc<dyn Store>,
    ) -> Result<treering_mcp::UsageRead, Problem> {
        let CountedSessions { sessions, missing } = self.read(space, store, 0)?;
        Ok(treering_mcp::UsageRead { seed: self.seed, sessions, missing })
    }

    /// Returns the events of all sessions since a time, and reads unknown ones for a limited time.
    fn read(
        &self,
        space: &str,
        store: &Arc<dyn Store>,
        since: i64,
    ) -> Result<CountedSessions, Problem> {
        let start = Instant::now();
        let mut query = ListQuery::new().limit(1000).since(since);
        let mut counted = CountedSessions { sessions: Vec::new(), missing: 0 };
        loop {
            let page = store.list(&query)?;
            for info in page.sessions {
                let key = (space.to_owned(), info.id.clone());
                let known = self.lock().get(&key).filter(|known| known.size == info.size).cloned();
                let events = match known {
                    Some(known) => known.events,
                    None if start.elapsed() > TIME_LIMIT => {
                        counted.missing += 1;
                        continue;
                    }
                    None => match self.open(store, &info)? {
                        Some(events) => events,
                        None => continue,
                    },
                };
                self.lock()
                    .insert(key, CachedUsage { size: info.size, events: Arc::clone(&events) });
                counted.sessions.push((info, events));
            }
            match page.next {
                Some(next) => query = ListQuery::new().limit(1000).since(since).after(next),
                None => return Ok(counted),
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(String, SessionId), CachedUsage>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a session; `None` if it was removed meanwhile, or cannot be read.
    fn open(
        &self,
        store: &Arc<dyn Store>,
        info: &SessionInfo,
    ) -> Result<Option<Arc<SessionEvents>>, Problem> {
        match Session::open_in(store, &info.id, OpenOptions::new()) {
            Ok(session) => Ok(session.usage_events(self.seed).ok().map(Arc::new)),
            Err(error) if error.is_retryable() => Err(error.into()),
            Err(_) => Ok(None),
        }
    }
}

/// The choices of the user.
#[derive(Debug, Clone)]
struct UsageChoices {
    by: &'static str,
    group: GroupBy,
    days: Option<u32>,
    is_tokens: bool,
}

impl UsageChoices {
    fn of(call: &Call) -> Self {
        let wanted = call.text("by").unwrap_or("day");
        let group = GROUPS.iter().find(|(name, ..)| *name == wanted).unwrap_or(&GROUPS[0]);
        let days = match call.text("days") {
            None => Some(30),
            Some(days) => days.parse().ok(),
        };
        let is_tokens = call.text("measure") == Some("tokens");
        UsageChoices { by: group.0, group: group.2, days, is_tokens }
    }

    fn link(&self, path: &str, by: &str, days: &str, measure: &str) -> String {
        let link = address(path, &[("by", by), ("measure", measure)]);
        let separator = if link.contains('?') { '&' } else { '?' };
        format!("{link}{separator}days={days}")
    }

    fn days(&self) -> String {
        self.days.map(|days| days.to_string()).unwrap_or_default()
    }

    fn measure(&self) -> &'static str {
        if self.is_tokens { "tokens" } else { "" }
    }

    fn value(&self, usage: &Usage) -> f64 {
        if self.is_tokens { usage.total() as f64 } else { usage.cost.dollars() }
    }

    fn words(&self, usage: &Usage) -> String {
        match self.is_tokens {
            true => tokens(usage.total()),
            false => Some(cost(usage)).filter(|cost| !cost.is_empty()).unwrap_or("$0".to_owned()),
        }
    }
}

/// A row of the page, which does not borrow the events.
struct UsageRow {
    name: String,
    link: Option<String>,
    usage: Usage,
    sessions: usize,
}

struct UsagePage {
    rows: Vec<UsageRow>,
    total: Usage,
    sessions: usize,
    missing: usize,
    prices: String,
}

async fn read(call: &Call, choices: &UsageChoices) -> Result<UsagePage, Problem> {
    let (node, store, space) = (Arc::clone(&call.node), call.store()?, call.space().to_owned());
    let choices = choices.clone();
    let page = call.node.work.run(move || {
        let (now, zone) = (unix_millis(), Zone::local());
        let since = choices.days.map_or(0, |days| now - i64::from(days) * 86_400_000);
        let counted = node.known_usage.read(&space, &store, since)?;
        let sessions: Vec<UsageSession<'_>> =
            counted.sessions.iter().map(|(info, events)| UsageSession { info, events }).collect();
        let prices = Prices::published();
        let events = UsageEvents::count(node.known_usage.seed, &sessions, &prices);
        let events = events.within(since..);
        let report = events.report(choices.group, &zone);
        let rows = rows(&choices, &report, &events, (now, &zone));
        Ok::<_, Problem>(UsagePage {
            rows,
            total: report.total.usage,
            sessions: report.total.sessions,
            missing: counted.missing,
            prices: prices.date().to_owned(),
        })
    });
    page.await?
}

fn rows(
    choices: &UsageChoices,
    report: &Report<'_>,
    events: &UsageEvents<'_>,
    (now, zone): (i64, &Zone),
) -> Vec<UsageRow> {
    let mut rows: Vec<UsageRow> = Vec::new();
    // Days without usage must be visible.
    if let (GroupBy::Day, Some(days)) = (choices.group, choices.days) {
        let known: HashMap<&str, usize> =
            report.rows.iter().enumerate().map(|(at, row)| (row.name.as_str(), at)).collect();
        for back in (0..=i64::from(days)).rev() {
            let name = zone.day(now - back * 86_400_000);
            if rows.last().is_some_and(|last| last.name == name) {
                continue;
            }
            let row = known.get(name.as_str()).and_then(|at| report.rows.get(*at));
            let usage = row.map(|row| row.usage).unwrap_or_default();
            rows.push(UsageRow {
                name,
                link: None,
                usage,
                sessions: row.map_or(0, |row| row.sessions),
            });
        }
        return rows;
    }
    for row in &report.rows {
        let info = row.session.and_then(|at| events.session(at));
        let (name, link) = match (choices.group, info) {
            (GroupBy::Session, Some(info)) => {
                let title = excerpt(info.title(), 80);
                let title = if title.is_empty() { info.id.to_string() } else { title };
                (title, Some(format!("/s/{}", info.id)))
            }
            (GroupBy::Project, _) if !row.name.is_empty() => {
                (row.name.clone(), Some(address("/", &[("project", &row.name)])))
            }
            (GroupBy::Agent, _) => (row.name.clone(), Some(address("/", &[("agent", &row.name)]))),
            _ => (row.name.clone(), None),
        };
        let name = if name.is_empty() { "unknown".to_owned() } else { name };
        rows.push(UsageRow { name, link, usage: row.usage, sessions: row.sessions });
    }
    if choices.group != GroupBy::Day {
        rows.sort_by(|a, b| choices.value(&b.usage).total_cmp(&choices.value(&a.usage)));
    }
    rows
}

pub(crate) async fn page(call: Call) -> Answered {
    let choices = UsageChoices::of(&call);
    let shown = read(&call, &choices).await?;
    let frame = Frame::new("Usage", Section::Usage, "context.js", &call);
    let mut page = Html::default();
    page.raw(" class=\"reading usage\">\n<a class=skip href=\"#chart\">Skip to the chart</a>\n");
    frame.bar(&mut page);
    page.raw("<main>\n<h1>Usage</h1>\n<div class=tabs><nav aria-label=\"Grouped by\">");
    for (name, title, _) in GROUPS {
        let link = choices.link("/usage", name, &choices.days(), choices.measure());
        tab(&mut page, &link, title, name == choices.by);
    }
    page.raw("</nav><nav aria-label=Time>");
    for (days, title) in SPANS {
        let link = choices.link("/usage", choices.by, days, choices.measure());
        tab(&mut page, &link, title, days == choices.days());
    }
    page.raw("</nav><nav aria-label=Measure>");
    for (measure, title) in [("", "Cost"), ("tokens", "Tokens")] {
        let link = choices.link("/usage", choices.by, &choices.days(), measure);
        tab(&mut page, &link, title, measure == choices.measure());
    }
    page.raw("</nav></div>\n<dl id=facts>");
    for (name, value) in [
        ("cost", Some(cost(&shown.total)).filter(|cost| !cost.is_empty()).unwrap_or("$0".into())),
        ("tokens", tokens(shown.total.total())),
        ("requests", shown.total.requests.to_string()),
        ("sessions", shown.sessions.to_string()),
    ] {
        page.raw("<div>").element("dt", "", name).element("dd", "", &value).raw("</div>");
    }
    page.raw("</dl>\n");
    if shown.missing > 0 {
        let missing = count(shown.missing, "session was", "sessions were");
        page.raw("<p class=note role=status>").text(&missing);
        page.raw(" not counted yet: <a")
            .attr("href", &choices.link("/usage", choices.by, &choices.days(), choices.measure()));
        page.raw(">count more</a>.</p>\n");
    }
    let what = if choices.is_tokens { "Tokens" } else { "Cost" };
    let title = format!("{what} by {}", choices.by);
    let most = if choices.group == GroupBy::Day { usize::MAX } else { BARS };
    let bars: Vec<Bar> = shown
        .rows
        .iter()
        .take(most)
        .map(|row| Bar {
            name: row.name.clone(),
            value: choices.value(&row.usage),
            words: choices.words(&row.usage),
        })
        .collect();
    page.raw("<figure id=chart tabindex=-1><figcaption>").text(&title).raw("</figcaption>");
    match choices.group {
        GroupBy::Day => charts::columns(&mut page, &title, &bars),
        _ => charts::bars(&mut page, &title, &bars),
    }
    page.raw("</figure>\n");
    table(&mut page, &choices, &shown);
    page.raw("<p class=note><a")
        .attr("href", &choices.link("/usage.csv", choices.by, &choices.days(), ""));
    page.raw(" download>CSV</a> · Costs that a session does not name are computed from prices of ");
    page.text(&shown.prices).raw("; each request counts once, also across forks. ~ marks computed sums, +? those that lack requests without a known price.</p>\n</main>");
    Ok(frame.answer(StatusCode::OK, &page))
}

fn tab(page: &mut Html, link: &str, name: &str, is_chosen: bool) {
    page.raw("<a").attr("href", link);
    page.raw(if is_chosen { " aria-current=true>" } else { ">" }).raw(name).raw("</a>");
}

fn table(page: &mut Html, choices: &UsageChoices, shown: &UsagePage) {
    page.raw("<div class=tw><table><thead><tr>");
    page.raw("<th scope=col>").text(choices.by);
    for name in ["sessions", "requests", "input", "output", "cached", "total", "cost"] {
        page.raw("</th><th scope=col class=r>").raw(name);
    }
    page.raw("</th></tr></thead><tbody>");
    let is_day = choices.group == GroupBy::Day;
    let order: Vec<&UsageRow> = match is_day {
        true => shown.rows.iter().rev().filter(|row| row.usage.requests > 0).collect(),
        false => shown.rows.iter().collect(),
    };
    for row in order {
        page.raw("<tr><th scope=row>");
        match &row.link {
            Some(link) => page.raw("<a").attr("href", link).raw(">").text(&row.name).raw("</a>"),
            None => page.text(&row.name),
        };
        page.raw("</th>");
        let usage = &row.usage;
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        let numbers = [
            row.sessions.to_string(),
            usage.requests.to_string(),
            tokens(usage.input),
            tokens(usage.output),
            tokens(cached),
            tokens(usage.total()),
            cost(usage),
        ];
        for number in numbers {
            page.element("td", "r", &number);
        }
        page.raw("</tr>");
    }
    page.raw("</tbody></table></div>\n");
    if shown.total.requests == 0 {
        page.raw("<p class=note>No usage in this time.</p>\n");
    }
}

/// Returns the table as CSV.
pub(crate) async fn csv(call: Call) -> Answered {
    let choices = UsageChoices::of(&call);
    let shown = read(&call, &choices).await?;
    let mut text = format!(
        "{},sessions,requests,input,output,cache_read,cache_write,total,cost,unpriced\r\n",
        choices.by
    );
    for row in shown.rows.iter().filter(|row| row.usage.requests > 0) {
        let usage = &row.usage;
        let numbers = [
            row.sessions as u64,
            usage.requests,
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
            usage.total(),
        ];
        text.push_str(&csv_field(&row.name));
        for number in numbers {
            text.push_str(&format!(",{number}"));
        }
        text.push_str(&format!(",{},{}\r\n", usage.cost.dollars(), usage.unpriced));
    }
    let mut response = answer(StatusCode::OK, "text/csv; charset=utf-8", text.into());
    let name = format!("attachment; filename=\"usage-by-{}.csv\"", choices.by);
    if let Ok(name) = HeaderValue::try_from(name) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}
