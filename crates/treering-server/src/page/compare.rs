//! The page that compares two branches below their common ancestor.

use super::html::{Frame, Html, Section, address};
use crate::call::Call;
use crate::operation::Answered;
use crate::problem::Problem;
use axum::http::StatusCode;
use treering::diff::Side;
use treering::{EntryId, Position, Session};
use treering_display::line::excerpt;
use treering_display::number::{cost, count, tokens};
use treering_export::viewer::{EntryRenderer, EntryView};

use super::trees::is_conversation;

/// The maximum number of entries of a branch that are shown.
const ENTRIES: usize = 60;

/// The maximum size of the HTML of a branch, in bytes.
const BYTES: usize = 128 * 1024;

/// The maximum number of branches to choose from.
const CHOICES: usize = 100;

struct BranchComparison {
    title: String,
    /// The last entry that both branches have, and its preview.
    common: Option<(String, String)>,
    sides: [ComparedBranch; 2],
    /// The ends of the session's branches with their previews, the latest first.
    ends: Vec<(String, String)>,
}

struct ComparedBranch {
    end: String,
    facts: Vec<String>,
    files: Vec<String>,
    entries: Vec<(String, EntryView)>,
    /// The number of entries that are not shown.
    hidden: usize,
}

pub(crate) async fn page(call: Call) -> Answered {
    let text = |name: &str| call.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
    let (a, b) = (text("a"), text("b"));
    let is_active = b.is_none();
    let branches = call.read(move |session| read(session, a.as_deref(), b.as_deref())).await?;
    let id = call.session_id()?;
    let entry = |entry: &str| address(&format!("/s/{id}"), &[("entry", entry)]);
    let frame = Frame::new("Two branches", Section::Session, "context.js", &call);
    let mut page = Html::default();
    page.raw(
        " class=\"reading wide\">\n<a class=skip href=\"#branches\">Skip to the branches</a>\n",
    );
    frame.bar(&mut page);
    page.raw("<main>\n<p class=back><a").attr("href", &entry(&branches.sides[0].end));
    page.raw(">← ").text(&branches.title).raw("</a></p>\n<h1>Two branches</h1>\n<p class=note>");
    match &branches.common {
        Some((common, preview)) => {
            page.raw("They diverged after: <a").attr("href", &entry(common)).raw(">");
            page.text(preview).raw("</a>");
        }
        None => drop(page.raw("They have no entry in common.")),
    }
    page.raw("</p>\n");
    choice(&mut page, &branches);
    page.raw("<div id=branches class=columns>");
    let other = if is_active { "Active branch" } else { "Other branch" };
    for (side, name) in branches.sides.iter().zip(["Chosen branch", other]) {
        page.raw("<section").attr("aria-label", name).raw("><h2><a");
        page.attr("href", &entry(&side.end)).raw(">").raw(name).raw("</a></h2><p class=note>");
        page.text(&side.facts.join(" · ")).raw("</p>");
        if !side.files.is_empty() {
            page.raw("<p class=files>");
            for file in &side.files {
                page.element("code", "", file).raw(" ");
            }
            page.raw("</p>");
        }
        if side.entries.is_empty() {
            page.raw("<p class=note>Nothing beyond the common part.</p>");
        }
        for (at, view) in &side.entries {
            let letter = if view.kind.letter() == '?' { 'x' } else { view.kind.letter() };
            page.raw("<article").attr("class", &format!("entry k-{letter}")).raw("><header>");
            page.element("span", "who", view.kind.name()).raw("<a class=time");
            page.attr("href", &entry(at)).raw(">go there</a></header><div class=body>");
            page.raw(&view.html).raw("</div></article>");
        }
        if side.hidden > 0 {
            let what = count(side.hidden, "more entry", "more entries");
            page.raw("<p class=note><a").attr("href", &entry(&side.end)).raw(">").text(&what);
            page.raw("</a></p>");
        }
        page.raw("</section>");
    }
    page.raw("</div>\n</main>");
    Ok(frame.answer(StatusCode::OK, &page))
}

/// Appends the selection of the other branch.
fn choice(page: &mut Html, branches: &BranchComparison) {
    let [chosen, other] = &branches.sides;
    page.raw("<form id=others><input type=hidden name=a").attr("value", &chosen.end);
    page.raw("><label for=other>Compare with</label><select id=other name=b>");
    for (id, preview) in &branches.ends {
        page.raw("<option").attr("value", id);
        page.raw(if *id == other.end { " selected>" } else { ">" }).text(preview).raw("</option>");
    }
    page.raw("</select><noscript><button>Show</button></noscript></form>\n");
}

fn read(session: &Session, a: Option<&str>, b: Option<&str>) -> Result<BranchComparison, Problem> {
    let tree = session.tree();
    let end = |id: Option<&str>| -> Result<Option<EntryId>, Problem> {
        match id {
            Some(id) => Ok(Some(tree.find(id)?)),
            None => Ok(session.leaf()),
        }
    };
    let (a, b) = (end(a)?, end(b)?);
    let position = |id: &Option<EntryId>| id.clone().map_or(Position::Start, Position::Entry);
    let diff = session.diff(position(&a), position(&b))?;
    let name = |id: Option<EntryId>| id.map(|id| id.to_string()).unwrap_or_default();
    let sides = [shown(session, diff.a, name(a))?, shown(session, diff.b, name(b))?];
    let mut reader = session.reader();
    // Labels and the like at the end of a branch do not describe it.
    let mut preview = |id: &str| -> Result<(String, String), Problem> {
        let mut described = id.to_owned();
        while !tree.kind(&described).is_ok_and(is_conversation)
            && let Some(parent) = tree.parent(&described)?
        {
            described = parent.to_string();
        }
        let line = EntryRenderer::default().preview(&reader.entry(&described)?);
        let text = if line.text.is_empty() { line.kind.name() } else { &line.text };
        Ok((id.to_owned(), excerpt(text, 80)))
    };
    let common = diff.common_ancestor.map(|id| preview(id.as_str())).transpose()?;
    let mut ends: Vec<String> =
        tree.leaves().iter().rev().take(CHOICES).map(ToString::to_string).collect();
    let other = &sides[1].end;
    if !other.is_empty() && !ends.contains(other) {
        ends.insert(0, other.clone());
    }
    let ends = ends.iter().map(|id| preview(id)).collect::<Result<_, _>>()?;
    Ok(BranchComparison { title: excerpt(&session.title()?, 80), common, sides, ends })
}

fn shown(session: &Session, side: Side, end: String) -> Result<ComparedBranch, Problem> {
    let mut facts = vec![count(side.messages, "message", "messages")];
    facts.push(format!("about {} tokens", tokens(side.tokens)));
    facts.extend(Some(cost(&side.usage)).filter(|cost| !cost.is_empty()));
    let changed = side.file_ops.written.iter().chain(&side.file_ops.edited);
    let mut files: Vec<String> = changed.cloned().collect();
    files.sort_unstable();
    files.dedup();
    files.truncate(40);
    let tree = session.tree();
    let mut reader = session.reader().with_images();
    let mut renderer = EntryRenderer::default();
    let (mut entries, mut bytes, mut hidden) = (Vec::new(), 0, 0);
    for id in &side.entries {
        if !tree.kind(id).is_ok_and(is_conversation) {
            continue;
        }
        if entries.len() >= ENTRIES || bytes >= BYTES {
            hidden += 1;
            continue;
        }
        let view = renderer.render(&reader.entry(id)?);
        bytes += view.html.len();
        entries.push((id.to_string(), view));
    }
    Ok(ComparedBranch { end, facts, files, entries, hidden })
}
