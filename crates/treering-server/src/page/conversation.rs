//! Windows of a branch: a part of its conversation, as HTML.

use super::folds::leave_out;
use super::html::{Html, address, html_answer};
use super::trees::{PageTree, is_conversation};
use crate::call::{Call, json_answer};
use crate::operation::Answered;
use crate::problem::{Code, Problem};
use axum::http::StatusCode;
use std::sync::Arc;
use treering::session::Reader;
use treering::{Kind, Position, Role, Session, SessionId};
use treering_display::number::size;
use treering_display::tree::Filter;
use treering_export::viewer::{EntryRenderer, EntryView};

/// The maximum number of entries of a window.
const ENTRIES: usize = 24;

/// The size of the HTML in bytes at which a window ends early.
const BYTES: usize = 96 * 1024;

/// The size of the HTML in bytes from which an entry is sent only on request.
const LARGE: usize = 32 * 1024;

/// The number of entries above a tool result in which its call is searched.
const CALL_DISTANCE: usize = 64;

/// A window of a branch.
#[derive(Debug, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BranchWindow {
    /// The entry at the end of the branch.
    pub(crate) tip: Option<String>,
    /// The first entry of the window, and the last one.
    pub(crate) first: Option<String>,
    pub(crate) last: Option<String>,
    /// Whether the branch has entries before the window, and after it.
    pub(crate) has_before: bool,
    pub(crate) has_after: bool,
    /// Whether the leaf of the session is on this branch.
    pub(crate) is_active: bool,
    pub(crate) html: String,
}

/// The part of a branch that a window shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Anchor {
    Around(String),
    Before(String),
    After(String),
    End,
}

pub(crate) async fn get(call: Call) -> Answered {
    let text = |name: &str| call.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
    let anchor = match (text("around"), text("before"), text("after")) {
        (Some(id), _, _) => Anchor::Around(id),
        (_, Some(id), _) => Anchor::Before(id),
        (_, _, Some(id)) => Anchor::After(id),
        _ => Anchor::End,
    };
    let everything = text("filter").as_deref() == Some(Filter::All.name());
    let window = call.branch(text("tip"), anchor, everything).await?;
    json_answer(StatusCode::OK, &window)
}

/// Returns the content of an entry that was too large for its window.
pub(crate) async fn entry(call: Call) -> Answered {
    let id = call.text("entry").unwrap_or_default().to_owned();
    let html = call.read(move |session| {
        let tree = session.tree();
        let mut reader = session.reader().with_images();
        let entry = reader.entry(tree.find(&id)?)?;
        Ok(EntryRenderer::default().render(&entry).html)
    });
    Ok(html_answer(StatusCode::OK, Html(html.await?)))
}

impl Call {
    /// Builds a window of a branch of the path's session: the branch that ends at `tip`, or else
    /// the branch of the anchor, or else the active one.
    pub(crate) async fn branch(
        &self,
        tip: Option<String>,
        anchor: Anchor,
        everything: bool,
    ) -> Result<BranchWindow, Problem> {
        let (node, space, id) =
            (Arc::clone(&self.node), self.space().to_owned(), self.session_id()?);
        self.read(move |session| {
            let tree = node.page_trees.tree(&space, &id, session);
            let branch = Branch::new(session, &tree, &id, tip.as_deref(), &anchor, everything)?;
            branch.window(&anchor)
        })
        .await
    }
}

/// A branch, from its root to its tip.
struct Branch<'a> {
    session: &'a Session,
    tree: &'a PageTree,
    id: &'a SessionId,
    tip: Option<u32>,
    path: Vec<u32>,
    /// The entries that are shown, as indices in the path.
    shown: Vec<usize>,
    /// The first entry that the model sees after the summary of a compaction.
    begin: Option<u32>,
}

impl<'a> Branch<'a> {
    fn new(
        session: &'a Session,
        tree: &'a PageTree,
        id: &'a SessionId,
        tip: Option<&str>,
        anchor: &Anchor,
        everything: bool,
    ) -> Result<Self, Problem> {
        let find = |id: &str| {
            let unknown = || Problem::new(Code::UnknownEntry, format!("there is no entry {id:?}"));
            tree.node(id).ok_or_else(unknown)
        };
        let tip = match (tip, anchor) {
            (Some(tip), _) => Some(tree.tip(find(tip)?)),
            (None, Anchor::Around(id)) => {
                let node = find(id)?;
                Some(tree.tip(node))
            }
            _ => tree.outline.leaf().map(|leaf| tree.tip(leaf)).or_else(|| {
                // If there is no leaf, the branch of the first root is shown.
                (!tree.outline.is_empty()).then(|| tree.tip(0))
            }),
        };
        let path = tip.map(|tip| tree.path(tip)).unwrap_or_default();
        let is_shown = |node: u32| {
            let kind = tree.outline.nodes().get(node as usize).map(|node| node.kind);
            everything || kind.is_some_and(is_conversation)
        };
        let shown = (0..path.len()).filter(|at| path.get(*at).is_some_and(|n| is_shown(*n)));
        let shown = shown.collect();
        let begin = begin(session, tree, &path)?;
        Ok(Branch { session, tree, id, tip, path, shown, begin })
    }

    fn node(&self, index: usize) -> Option<u32> {
        self.shown.get(index).and_then(|at| self.path.get(*at)).copied()
    }

    /// Returns the index of an entry among those that are shown, or of the next one that is shown.
    fn index(&self, id: &str) -> Result<usize, Problem> {
        let unknown = || Problem::new(Code::UnknownEntry, format!("{id:?} is not on the branch"));
        let at = self.path.iter().position(|node| self.tree.outline.id(*node) == id);
        let at = at.ok_or_else(unknown)?;
        Ok(self.shown.partition_point(|shown| *shown < at).min(self.shown.len().saturating_sub(1)))
    }

    fn window(&self, anchor: &Anchor) -> Result<BranchWindow, Problem> {
        let mut views = RenderedEntries::new(self);
        let (from, to) = match anchor {
            Anchor::End => (views.backwards(self.shown.len(), ENTRIES, BYTES)?, self.shown.len()),
            Anchor::Before(id) => {
                let at = self.index(id)?;
                (views.backwards(at, ENTRIES, BYTES)?, at)
            }
            Anchor::After(id) => {
                let at = self.index(id)? + 1;
                (at, views.forwards(at, ENTRIES, BYTES)?)
            }
            Anchor::Around(id) => {
                let at = self.index(id)?;
                let to = views.forwards(at, ENTRIES / 2, BYTES / 2)?;
                (views.backwards(at, ENTRIES / 2, BYTES / 2)?, to)
            }
        };
        let mut html = Html::default();
        let mut model = None;
        for (index, view) in &views.made {
            self.article(&mut html, *index, view, &mut model)?;
        }
        let name = |node: Option<u32>| node.map(|node| self.tree.outline.id(node).to_owned());
        let leaf = self.tree.outline.leaf();
        Ok(BranchWindow {
            tip: name(self.tip),
            first: name(self.node(from)).filter(|_| from < to),
            last: name(to.checked_sub(1).and_then(|last| self.node(last))).filter(|_| from < to),
            has_before: from > 0,
            has_after: to < self.shown.len(),
            is_active: leaf.is_some_and(|leaf| self.path.contains(&leaf)),
            html: html.0,
        })
    }

    /// Returns whether an entry is an answer or a tool result.
    fn is_work(&self, index: usize) -> bool {
        let node = self.node(index).and_then(|node| self.tree.outline.nodes().get(node as usize));
        node.is_some_and(|node| matches!(node.role, Some(Role::Assistant | Role::ToolResult)))
    }

    fn article(
        &self,
        html: &mut Html,
        index: usize,
        view: &EntryView,
        model: &mut Option<String>,
    ) -> Result<(), Problem> {
        let Some(node) = self.node(index) else { return Ok(()) };
        let (outline, id) = (&self.tree.outline, self.tree.outline.id(node));
        let label = outline.label(node);
        let ways = self.ways(index)?;
        let letter = match view.kind.letter() {
            '?' => 'x',
            letter => letter,
        };
        if self.begin == Some(node) && index > 0 {
            html.raw("<p class=begin><span>The model’s context begins here, with the summary of the earlier messages</span></p>");
        }
        let continues = index > 0
            && self.is_work(index)
            && self.is_work(index - 1)
            && ways.is_none()
            && label.is_none();
        let class = format!("entry k-{letter}{}", if continues { " cont" } else { "" });
        html.raw("<article tabindex=-1").attr("class", &class).attr("id", &format!("entry-{id}"));
        html.attr("data-id", id).raw("><header>").element("span", "who", view.kind.name());
        if view.model.is_some() && *model != view.model {
            html.element("span", "model", view.model.as_deref().unwrap_or_default());
            model.clone_from(&view.model);
        }
        if let Some(label) = label {
            html.element("span", "label", label);
        }
        if let Some(ways) = ways {
            self.draw_ways(html, &ways);
        }
        if !view.usage.is_empty() {
            html.element("span", "used", &view.usage.join(" · "));
        }
        let here = address(&format!("/s/{}", self.id), &[("entry", id)]);
        html.raw("<a class=time title=\"Link to this entry\"").attr("href", &here).raw(">");
        match view.time {
            Some(time) => {
                let text = treering::time::format(time);
                html.time("clock", time, text.get(11..16).unwrap_or_default());
            }
            None => drop(html.raw("link")),
        }
        html.raw("</a></header>");
        if view.html.len() > LARGE {
            let auto = if view.has_image { " data-auto" } else { "" };
            html.raw("<div class=\"body later\"").raw(auto).raw("><p>").text(&view.preview);
            html.raw("</p><button class=plain type=button>Show all of it (");
            html.text(&size(view.html.len() as u64)).raw(")</button></div></article>\n");
        } else {
            html.raw("<div class=body>").raw(&view.html).raw("</div></article>\n");
        }
        Ok(())
    }

    /// Returns the branches at the branch point just before an entry: their first entries, oldest
    /// first, and which of them is on the path.
    fn ways(&self, index: usize) -> Result<Option<(Vec<String>, usize)>, Problem> {
        let Some(&end) = self.shown.get(index) else { return Ok(None) };
        let start = index.checked_sub(1).and_then(|before| self.shown.get(before));
        let start = start.map_or(0, |before| before + 1);
        for at in (start..=end).rev() {
            let Some(&node) = self.path.get(at) else { continue };
            let tree = self.session.tree();
            let siblings = match self.tree.outline.parent(node) {
                Some(parent) => tree.children(self.tree.outline.id(parent))?,
                None => tree.roots(),
            };
            if siblings.len() < 2 {
                continue;
            }
            let leads = |id: &treering::EntryId| {
                self.tree.node(id.as_str()).is_some_and(|node| self.tree.leads(node))
            };
            let ways: Vec<String> =
                siblings.iter().filter(|id| leads(id)).map(ToString::to_string).collect();
            let own = ways.iter().position(|id| id == self.tree.outline.id(node));
            if let Some(own) = own.filter(|_| ways.len() > 1) {
                return Ok(Some((ways, own)));
            }
        }
        Ok(None)
    }

    fn draw_ways(&self, html: &mut Html, (ways, own): &(Vec<String>, usize)) {
        let link = |step: usize| {
            let way = ways.get((own + step) % ways.len()).map_or("", String::as_str);
            address(&format!("/s/{}", self.id), &[("entry", way)])
        };
        html.raw("<span class=ways><a aria-label=\"Previous branch\"");
        html.attr("href", &link(ways.len() - 1)).raw(">‹</a><span>");
        html.text(&format!("{}/{}", own + 1, ways.len()))
            .raw("</span><a aria-label=\"Next branch\"");
        html.attr("href", &link(1)).raw(">›</a></span>");
    }
}

/// Returns the first entry that the model sees after the summary of a compaction; `None` if it sees
/// all entries.
fn begin(session: &Session, tree: &PageTree, path: &[u32]) -> Result<Option<u32>, Problem> {
    let is_compaction = |node: &&u32| {
        tree.outline.nodes().get(**node as usize).is_some_and(|node| node.kind == Kind::Compaction)
    };
    if !path.iter().any(|node| is_compaction(&node)) {
        return Ok(None);
    }
    let Some(tip) = path.last() else { return Ok(None) };
    let projection = session.projection_at(Position::Entry(tree.outline.id(*tip).into()))?;
    let mut selected = projection.selected().filter_map(|id| tree.node(id.as_str()));
    Ok(selected.find(|node| {
        tree.outline.nodes().get(*node as usize).is_some_and(|node| {
            node.kind != Kind::Compaction
                && node.role != Some(Role::System)
                && is_conversation(node.kind)
        })
    }))
}

/// The rendered entries of a window, by their index in the branch.
struct RenderedEntries<'a> {
    branch: &'a Branch<'a>,
    reader: Reader,
    renderer: EntryRenderer,
    made: std::collections::BTreeMap<usize, EntryView>,
}

impl<'a> RenderedEntries<'a> {
    fn new(branch: &'a Branch<'a>) -> Self {
        let (reader, renderer) = (branch.session.reader().with_images(), EntryRenderer::default());
        RenderedEntries { branch, reader, renderer, made: std::collections::BTreeMap::new() }
    }

    /// Renders entries before `to`, backwards. Returns the first of them.
    fn backwards(&mut self, to: usize, count: usize, bytes: usize) -> Result<usize, Problem> {
        let (mut at, mut size) = (to, 0);
        while at > 0 && to - at < count && size < bytes {
            at -= 1;
            size += self.make(at)?;
        }
        Ok(at)
    }

    /// Renders entries from `from` on. Returns the end of them.
    fn forwards(&mut self, from: usize, count: usize, bytes: usize) -> Result<usize, Problem> {
        let (mut at, mut size) = (from, 0);
        while at < self.branch.shown.len() && at - from < count && size < bytes {
            size += self.make(at)?;
            at += 1;
        }
        Ok(at)
    }

    /// Renders an entry. Returns the number of bytes that it adds to the window.
    fn make(&mut self, index: usize) -> Result<usize, Problem> {
        let Some(&place) = self.branch.shown.get(index) else { return Ok(0) };
        let tree = self.branch.tree;
        let id = |place: usize| self.branch.path.get(place).map(|node| tree.outline.id(*node));
        let Some(own) = id(place) else { return Ok(0) };
        let entry = self.reader.entry(own)?;
        if let Some(call) = self.renderer.unknown_call(&entry) {
            for above in (place.saturating_sub(CALL_DISTANCE)..place).rev() {
                let Some(above) = id(above) else { break };
                self.renderer.remember_calls(&self.reader.entry(above)?);
                if self.renderer.knows_call(&call) {
                    break;
                }
            }
        }
        let mut view = self.renderer.render(&entry);
        view.html = leave_out(&view.html);
        let size = if view.html.len() > LARGE { 1024 } else { view.html.len() };
        self.made.insert(index, view);
        Ok(size + 512)
    }
}
