//! Windows of a tree: the visible rows, as HTML.

use super::html::Html;
use super::trees::{PageTree, Selection};
use crate::call::{Call, json_answer};
use crate::operation::Answered;
use crate::problem::Problem;
use axum::http::StatusCode;
use std::collections::HashSet;
use std::sync::Arc;
use treering::Session;
use treering_display::preview_line::{PreviewKind, PreviewLine};
use treering_display::tree::{Filter, Fold, TreeRows};
use treering_export::viewer::EntryRenderer;

/// The number of rows of a window.
pub(crate) const ROWS: usize = 100;

/// The number of levels of indentation that are drawn; further ones are shown as a number.
const LEVELS: usize = 6;

/// The number of entries above a tool result in which its call is searched.
const CALL_DISTANCE: usize = 64;

/// A window of a tree.
#[derive(Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RowWindow {
    /// The number of rows of the whole tree, as far as they are known.
    pub(crate) total: usize,
    /// The number of entries of the whole tree.
    entries: usize,
    pub(crate) from: usize,
    /// The row of the requested entry, or of the nearest visible one above it.
    pub(crate) around: Option<usize>,
    /// Whether all answers were read. If not, rows may still disappear, and the window must be
    /// requested again.
    pub(crate) complete: bool,
    leaf: Option<String>,
    /// The length of the log.
    pub(crate) length: u64,
    pub(crate) html: String,
}

/// The part of a tree that a window shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TreeWindowStart {
    Row(usize),
    /// The rows around an entry; around the leaf if it is `None`.
    Around(Option<String>),
}

/// Returns the rows that a call selects.
pub(crate) fn selection(call: &Call) -> Selection {
    let text = |name: &str| call.text(name).unwrap_or_default().to_owned();
    let filter = Filter::from_name(&text("filter")).unwrap_or_default();
    Selection { filter, folds: text("folds"), query: text("q") }
}

pub(crate) async fn get(call: Call) -> Answered {
    let selection = selection(&call);
    let count = call.count("count").map_or(ROWS, |count| count as usize);
    let start = match call.count("from") {
        Some(from) => TreeWindowStart::Row(from as usize),
        None => TreeWindowStart::Around(call.text("around").map(str::to_owned)),
    };
    let tip = call.text("tip").map(str::to_owned);
    let (window, _) = call.rows(selection, start, count, tip).await?;
    json_answer(StatusCode::OK, &window)
}

impl Call {
    /// Builds a window of the tree of the path's session. Answers that are not known yet are read
    /// afterwards.
    pub(crate) async fn rows(
        &self,
        selection: Selection,
        start: TreeWindowStart,
        count: usize,
        tip: Option<String>,
    ) -> Result<(RowWindow, Arc<PageTree>), Problem> {
        let (node, space, id) =
            (Arc::clone(&self.node), self.space().to_owned(), self.session_id()?);
        let (window, tree, session) = self
            .read(move |session| {
                let tree = node.page_trees.tree(&space, &id, session);
                let window = window(session, &tree, &selection, (&start, count), tip.as_deref())?;
                Ok((window, tree, Arc::clone(session)))
            })
            .await?;
        if !window.complete && tree.begin_scan() {
            let (node, tree) = (Arc::clone(&self.node), Arc::clone(&tree));
            // The scan is for later windows; if it fails, they read their answers themselves.
            tokio::spawn(async move {
                let _ = node.work.run(move || tree.scan(&session)).await;
            });
        }
        Ok((window, tree))
    }
}

fn window(
    session: &Session,
    tree: &PageTree,
    selection: &Selection,
    (start, count): (&TreeWindowStart, usize),
    tip: Option<&str>,
) -> Result<RowWindow, Problem> {
    let complete = tree.read_quickly(session)?;
    let wanted = match start {
        TreeWindowStart::Around(Some(id)) => tree.node(id).or(tree.outline.leaf()),
        _ => tree.outline.leaf(),
    };
    let (rows, from, around) = loop {
        let rows = tree.layout(session, selection)?;
        let around = wanted.and_then(|node| rows.nearest(node));
        let from = match start {
            TreeWindowStart::Row(row) => (*row).min(rows.len()),
            // Windows begin at multiples of their size, so that those of a client do not overlap. A
            // larger window begins before the row.
            TreeWindowStart::Around(_) => {
                let at = around.unwrap_or_default();
                (at - at % ROWS).saturating_sub(count.saturating_sub(ROWS))
            }
        };
        let to = (from + count).min(rows.len());
        let nodes = rows.all().get(from..to).unwrap_or_default().iter().map(|row| row.node);
        // The rows of a window must not disappear, so their answers are read now.
        if !tree.read(session, nodes)? {
            break (rows, from, around);
        }
    };
    let tip = tip.and_then(|tip| tree.node(tip)).or(tree.outline.leaf());
    let shown: HashSet<u32> =
        tip.map(|tip| tree.path(tip).into_iter().collect()).unwrap_or_default();
    let html = draw(session, tree, &rows, (from, count), &shown)?;
    Ok(RowWindow {
        total: rows.len(),
        entries: tree.outline.len(),
        from,
        around,
        complete,
        leaf: session.leaf().map(|leaf| leaf.to_string()),
        length: tree.length,
        html: html.0,
    })
}

fn draw(
    session: &Session,
    tree: &PageTree,
    rows: &TreeRows,
    (from, count): (usize, usize),
    shown: &HashSet<u32>,
) -> Result<Html, Problem> {
    let mut html = Html::default();
    let mut reader = session.reader();
    let mut renderer = EntryRenderer::default();
    let to = (from + count).min(rows.len());
    for at in from..to {
        let Some(row) = rows.get(at) else { break };
        let entry = reader.entry(tree.outline.id(row.node))?;
        if let Some(call) = renderer.unknown_call(&entry) {
            let mut above = tree.outline.parent(row.node);
            for _ in 0..CALL_DISTANCE {
                let Some(node) = above else { break };
                if tree
                    .outline
                    .nodes()
                    .get(node as usize)
                    .is_some_and(|node| node.role == Some(treering::Role::Assistant))
                {
                    renderer.remember_calls(&reader.entry(tree.outline.id(node))?);
                    if renderer.knows_call(&call) {
                        break;
                    }
                }
                above = tree.outline.parent(node);
            }
        }
        let line = renderer.preview(&entry);
        draw_row(&mut html, (tree, rows, shown), at, &line, entry.time());
    }
    Ok(html)
}

fn draw_row(
    html: &mut Html,
    (tree, rows, shown): (&PageTree, &TreeRows, &HashSet<u32>),
    at: usize,
    line: &PreviewLine,
    time: Option<i64>,
) {
    let (Some(row), outline) = (rows.get(at), &tree.outline) else { return };
    let node = outline.nodes().get(row.node as usize);
    let letter = match line.kind.letter() {
        '?' => 'x',
        letter => letter,
    };
    let mut class = format!("row k-{letter}");
    if node.is_some_and(|node| node.is_active) {
        class.push_str(" on");
    }
    if shown.contains(&row.node) {
        class.push_str(" here");
    }
    if outline.leaf().and_then(|leaf| rows.nearest(leaf)) == Some(at) {
        class.push_str(" leaf");
    }
    html.raw("<div role=treeitem tabindex=-1").attr("class", &class);
    html.attr("data-id", outline.id(row.node)).attr("data-at", &at.to_string());
    html.attr("aria-level", &(row.level + 1).to_string());
    match row.fold {
        Fold::None => {}
        Fold::Open => drop(html.raw(" aria-expanded=true")),
        Fold::Closed => drop(html.raw(" aria-expanded=false")),
    }
    let when = time.map(|time| format!(" · {}", minute(time))).unwrap_or_default();
    html.attr("title", &format!("{}{when}", line.kind.name())).raw(">");
    let level = row.level as usize;
    let first = level.saturating_sub(LEVELS);
    if first > 0 {
        html.element("span", "more", &format!("+{first}"));
    }
    let gutter: Vec<char> = rows.plain_gutter(at, first, level).chars().collect();
    for cell in gutter.chunks(3) {
        html.raw(match cell.first() {
            Some('│') => "<span class=\"g bar\"></span>",
            Some('├') => "<span class=\"g tee\"></span>",
            Some('└') => "<span class=\"g end\"></span>",
            Some('┌') => "<span class=\"g top\"></span>",
            Some('╶') => "<span class=\"g dash\"></span>",
            _ => "<span class=g></span>",
        });
    }
    html.raw(match row.fold {
        Fold::None => "<span class=dot></span>",
        Fold::Open => "<span class=fold title=Fold>⊟</span>",
        Fold::Closed => "<span class=fold title=Unfold>⊞</span>",
    });
    if let Some(label) = outline.label(row.node) {
        html.element("span", "label", label);
    }
    if !is_plain(line.kind) {
        html.element("span", "kind", line.kind.name());
    }
    let text = if line.text.is_empty() { line.kind.name() } else { &line.text };
    html.element("span", "preview", text).raw("</div>");
}

/// Returns whether the preview of an entry of this kind needs no name before it.
fn is_plain(kind: PreviewKind) -> bool {
    matches!(
        kind,
        PreviewKind::User
            | PreviewKind::Answer
            | PreviewKind::SilentAnswer
            | PreviewKind::FailedAnswer
            | PreviewKind::ToolResult
            | PreviewKind::FailedToolResult
            | PreviewKind::Bash
    )
}

/// Returns a time to the minute.
pub(crate) fn minute(millis: i64) -> String {
    let time = treering::time::format(millis);
    format!("{} UTC", time.get(..16).unwrap_or_default().replace('T', " "))
}
