//! The index page: sessions by project and day.

use super::manifest::PageRecord;
use crate::html::escape;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;
use treering::catalog::SessionInfo;
use treering_display::number;

/// The script of the index page.
pub(super) const SCRIPT: &str = include_str!("site.js");

const STYLE: &str = include_str!("site.css");

/// A session in the index.
pub(super) struct Item<'a> {
    /// The file name of its page.
    pub name: &'a str,
    pub info: &'a SessionInfo,
    pub page: &'a PageRecord,
}

/// Returns the page.
pub(super) fn page(items: &[Item<'_>]) -> String {
    let mut projects: BTreeMap<&str, Vec<&Item<'_>>> = BTreeMap::new();
    for item in items {
        projects.entry(&item.page.project).or_default().push(item);
    }
    let mut page = format!(
        "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\n\
         <title>Sessions</title>\n<style>{STYLE}</style>\n\
         <header><h1>Sessions</h1><input id=q type=search aria-label=\"Search\" placeholder=\"Search {} sessions\" autofocus><p id=n role=status></p></header>\n<main>\n",
        items.len()
    );
    for (project, mut of_project) in projects {
        of_project.sort_by_key(|item| (Reverse(item.info.modified), item.name));
        page.push_str("<section><h2>");
        escape::text(&mut page, if project.is_empty() { "(no project)" } else { project });
        page.push_str("</h2>\n");
        let mut day = String::new();
        for item in of_project {
            let time = treering::time::format(item.info.modified);
            let date = time.get(..10).unwrap_or_default();
            if date != day {
                let close = if day.is_empty() { "" } else { "</ul>\n" };
                let _ = writeln!(page, "{close}<h3>{date}</h3><ul>");
                day = date.to_owned();
            }
            write_item(&mut page, item, time.get(11..16).unwrap_or_default());
        }
        page.push_str("</ul></section>\n");
    }
    page.push_str("</main>\n<script src=site.js></script>\n");
    page
}

fn write_item(page: &mut String, item: &Item<'_>, time: &str) {
    let _ = write!(page, "<li data-n={}><a href=\"sessions/", item.page.number);
    escape::attribute(page, item.name);
    page.push_str("\">");
    escape::text(page, &item.page.title);
    let (agent, messages) = (item.info.agent.name(), item.info.message_count);
    let _ = write!(page, "</a> <small>{time} UTC · {agent} · {messages} messages");
    if let Some(tokens) = item.info.tokens {
        let _ = write!(page, " · {} tokens", number::tokens(tokens));
    }
    if let Some(cost) = item.info.cost.filter(|cost| cost.is_finite()) {
        let _ = write!(page, " · ${cost:.2}");
    }
    page.push_str("</small>\n");
}
