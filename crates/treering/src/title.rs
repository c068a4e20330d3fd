//! Determines the title of a session, which lists, trees, exports and searches show.
//!
//! The title is the session's name, if the user or the agent has set one (a title, a summary).
//! Otherwise it is the first text of the user, which may be a slash command with a request. Texts
//! that agents put into user messages (instructions, reminders, the output of commands) and
//! requests to subagents count only if there is no other text. If there is no user message at all,
//! as in a session that continues another one, the title is the user's request according to a
//! summary.

use crate::dialect::inserted_text;
use crate::entry::{Role, content_text};
use crate::error::Result;
use crate::json;
use crate::session::Session;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{Node, Row};

impl Session {
    /// Returns the title of the session: its name, or else the first text of the user. It is empty
    /// if there is neither.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("<system-reminder>be brief</system-reminder>"))?;
    /// session.append(Message::user("fix the parser"))?;
    /// assert_eq!(session.title()?, "fix the parser");
    /// session.set_name("The parser")?;
    /// assert_eq!(session.title()?, "The parser");
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn title(&self) -> Result<String> {
        match self.name().filter(|name| !name.trim().is_empty()) {
            Some(name) => Ok(name),
            None => first_message(&self.view()),
        }
    }
}

/// Returns whether a session has only one text, which its agent put there.
pub(crate) fn is_unused(view: &Snapshot) -> Result<bool> {
    let mut rows = view.tree().live();
    let (first, None) = (rows.next(), rows.next()) else { return Ok(false) };
    let Some(row) = first else { return Ok(true) };
    if view.tree().node(row).role() != Some(Role::User) {
        return Ok(false);
    }
    let mut bodies = Bodies::few();
    let body = bodies.whole(view, row)?;
    Ok(content(body.as_deref()).is_none_or(|content| inserted_text::user_text(content).is_empty()))
}

/// Returns the first text of the user, or the user's request according to a summary; empty if there
/// is neither.
pub(crate) fn first_message(view: &Snapshot) -> Result<String> {
    let mut bodies = Bodies::few();
    let (mut first_text, mut wanted) = (None, None);
    for row in view.tree().live() {
        let node = view.tree().node(row);
        if node.role() == Some(Role::CompactionSummary) && wanted.is_none() {
            wanted = request(view, bodies.whole(view, row)?.as_deref());
        }
        if node.role() != Some(Role::User) {
            continue;
        }
        let is_inserted = node.has(Node::SIDECHAIN) || is_inserted(view, &mut bodies, row)?;
        if is_inserted && first_text.is_some() {
            continue;
        }
        let body = bodies.whole(view, row)?;
        let Some(content) = content(body.as_deref()) else { continue };
        let text = if is_inserted { String::new() } else { inserted_text::user_text(content) };
        if !text.is_empty() {
            return Ok(text);
        }
        let command = inserted_text::command(content);
        if let Some(command) =
            command.as_ref().filter(|command| !is_inserted && command.is_request())
        {
            return Ok(command.to_line());
        }
        let text = || command.map_or_else(|| content_text(content), |command| command.to_line());
        first_text = first_text.or_else(|| Some(text()).filter(|text| !text.is_empty()));
    }
    Ok(first_text.or(wanted).unwrap_or_default())
}

/// Returns the user's request according to the summary in a message: the first paragraph below its
/// heading, or of the whole summary.
fn request(view: &Snapshot, body: Option<&[u8]>) -> Option<String> {
    let summary = json::string(json::get(json::get(body?, "message")?, "summary")?)?;
    let heading = view.codec().facts().request_heading;
    let below = heading.and_then(|heading| Some(summary.split_once(heading)?.1));
    let paragraph = below.unwrap_or(&summary).trim_start().split("\n\n").next();
    paragraph.map(|text| text.trim_end().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the content of the message in a body.
fn content(body: Option<&[u8]>) -> Option<&[u8]> {
    json::get(json::get(body?, "message")?, "content")
}

fn is_inserted(view: &Snapshot, bodies: &mut Bodies, row: Row) -> Result<bool> {
    let record = bodies.record(view, row)?;
    Ok(record.is_some_and(|record| view.codec().is_inserted(record)))
}
