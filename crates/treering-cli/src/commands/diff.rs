//! `treering diff`

use super::log;
use crate::amounts::{cost, json_usage};
use crate::describe::{self, CallDetail};
use crate::error::Failure;
use crate::output::{Output, Style, json_string, json_string_or_null, json_strings};
use crate::session_arg::SessionArg;
use crate::short_ids::ShortIds;
use crate::text::{count, safe_line};
use crate::typed::TypedEntry;
use std::io::Write;
use treering::diff::Side;
use treering::usage::Usage;
use treering::{EntryId, Session};
use treering_display::preview_line::Calls;

/// Compare two branches from where they diverged
///
/// Shows the entries, the files read and modified, the estimated tokens and the cost of both.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// The end of one branch (an id or its beginning)
    a: TypedEntry,
    /// The end of the other; the leaf if not given
    b: Option<TypedEntry>,
    /// The session that contains B, such as a fork of SESSION; SESSION itself if not given
    #[arg(long, value_name = "SESSION")]
    pub(crate) with: Option<SessionArg>,
    /// Show messages in full instead of one line each; with --json, entries instead of ids
    #[arg(long)]
    full: bool,
    /// One JSON object: commonAncestor, and for a and b: leaf, entries, messages, readFiles,
    /// modifiedFiles, tokens, usage
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = args.file.open()?;
    let other = args.with.as_ref().map(SessionArg::open).transpose()?;
    let other = other.as_ref().unwrap_or(&session);
    let with = args.with.as_ref().unwrap_or(&args.file);
    let a = args.a.resolve(&session).map_err(|error| Failure::about(error, &args.file))?;
    let b = match &args.b {
        Some(b) => b.resolve(other).map_err(|error| Failure::about(error, with))?,
        None => other.leaf().ok_or_else(|| {
            Failure::with_hint("the leaf is before the first entry", "name the second branch, too")
        })?,
    };
    let diff = session.diff_with(&a, other, &b)?;
    let sides = [
        ComparedBranch { name: "A", leaf: a, side: &diff.a, session: &session },
        ComparedBranch { name: "B", leaf: b, side: &diff.b, session: other },
    ];
    if args.json {
        out.write_all(b"{\"commonAncestor\":")?;
        json_string_or_null(out, diff.common_ancestor.as_ref().map(EntryId::as_str))?;
        for shown in &sides {
            shown.write_json(args.full, out)?;
        }
        out.write_all(b"}\n")?;
        return Ok(());
    }
    let title = out.paint(Style::Heading, "common ancestor");
    match &diff.common_ancestor {
        Some(id) => {
            let tree = session.tree();
            writeln!(out, "{title}")?;
            let (entry, ids) = (session.entry(id.as_str())?, ShortIds::of(&tree));
            log::write(&entry, &tree, &ids, &mut Calls::default(), out)?;
        }
        None => writeln!(out, "{title}: none")?,
    }
    sides.iter().try_for_each(|shown| shown.write(args.full, out))
}

/// One of the branches.
struct ComparedBranch<'a> {
    name: &'static str,
    leaf: EntryId,
    side: &'a Side,
    session: &'a Session,
}

impl ComparedBranch<'_> {
    fn write(&self, full: bool, out: &mut Output) -> Result<(), Failure> {
        let (tree, side) = (self.session.tree(), self.side);
        let ids = ShortIds::of(&tree);
        let title = out.paint(Style::Heading, self.name);
        let leaf = out.paint(Style::Id, &ids.show(self.leaf.as_str()));
        let entries = count(side.entries.len(), "entry", "entries");
        let messages = count(side.messages, "message", "messages");
        let size =
            format!("{entries}, {messages}, about {} tokens{}", side.tokens, paid(&side.usage));
        writeln!(out, "\n{title} {leaf}: {size}")?;
        let lists = side.file_ops.lists();
        for (what, files) in [("read", &lists.read), ("modified", &lists.modified)] {
            if !files.is_empty() {
                let files: Vec<String> = files.iter().map(|file| safe_line(file)).collect();
                writeln!(out, "{}: {}", out.paint(Style::Dim, what), files.join(", "))?;
            }
        }
        let mut reader = self.session.reader();
        let mut calls = Calls::default();
        for id in &side.entries {
            let entry = reader.entry(id.as_str())?;
            log::write(&entry, &tree, &ids, &mut calls, out)?;
            if let (true, Some(message)) = (full, entry.message()) {
                describe::write_message(out, message, CallDetail::Whole)?;
                writeln!(out)?;
            }
        }
        Ok(())
    }

    fn write_json(&self, full: bool, out: &mut Output) -> Result<(), Failure> {
        let side = self.side;
        write!(out, ",\"{}\":{{\"leaf\":", self.name.to_lowercase())?;
        json_string(out, self.leaf.as_str())?;
        out.write_all(b",\"entries\":")?;
        match full {
            false => json_strings(out, &side.entries)?,
            true => self.write_entries(out)?,
        }
        let lists = side.file_ops.lists();
        write!(out, ",\"messages\":{},\"readFiles\":", side.messages)?;
        json_strings(out, &lists.read)?;
        out.write_all(b",\"modifiedFiles\":")?;
        json_strings(out, &lists.modified)?;
        // Rust writes finite numbers as JSON.
        write!(out, ",\"tokens\":{},\"usage\":", side.tokens)?;
        json_usage(out, &side.usage)?;
        out.write_all(b"}")?;
        Ok(())
    }

    fn write_entries(&self, out: &mut Output) -> Result<(), Failure> {
        let mut reader = self.session.reader();
        out.write_all(b"[")?;
        for (at, id) in self.side.entries.iter().enumerate() {
            if at > 0 {
                out.write_all(b",")?;
            }
            let entry = reader.entry(id.as_str())?;
            out.write_json(if entry.is_damaged() { b"null" } else { entry.raw() })?;
        }
        Ok(out.write_all(b"]")?)
    }
}

/// Returns the usage, if a model was used.
fn paid(usage: &Usage) -> String {
    match cost(usage) {
        known if known.is_empty() => known,
        known => format!(", {known}"),
    }
}
