//! Writes the repaired log: healthy lines are copied byte for byte and in order, the others are edited or
//! left out.

use super::plan::RepairEdits;
use super::survey::{self, LinePart, PartKind, SurveyedLine};
use crate::dialect::versions;
use crate::header::VERSION;
use crate::json::{self, with_head_member};
use crate::load::{BOM, Loaded};
use crate::log::{Journal, scan};
use crate::tree::{NONE, Node, Shape};
use std::borrow::Cow;
use std::io::{self, Write};

/// Receives the pieces that cannot be part of a log: the number of the line, and the bytes.
pub(super) type Rejects<'a> = &'a mut dyn FnMut(u64, &[u8]) -> io::Result<()>;

/// Writes the repaired log.
pub(super) fn log(
    journal: &dyn Journal,
    loaded: &Loaded,
    plan: &RepairEdits,
    out: &mut dyn Write,
    rejects: Rejects<'_>,
) -> io::Result<()> {
    let mut first = [0; BOM.len()];
    scan::read_full(journal, 0, &mut first)?;
    if first == BOM {
        out.write_all(BOM)?;
    }
    if plan.moves_header {
        move_header(journal, loaded, plan, out)?;
    }
    survey::lines(journal, loaded, |line| write_line(line, loaded, plan, out, rejects))
}

/// Writes the header, and before it the side records that are before it: after it, they would be
/// read as entries.
fn move_header(
    journal: &dyn Journal,
    loaded: &Loaded,
    plan: &RepairEdits,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut header = Vec::new();
    survey::lines(journal, loaded, |line| {
        for part in line.parts {
            let record = &line.bytes[part.span.clone()];
            match part.what {
                PartKind::Side if is_before_header(line, part, loaded) => {
                    out.write_all(record)?;
                    out.write_all(b"\n")?;
                }
                PartKind::Header(_) => {
                    header = edited(loaded, plan, part.what, record).into_owned()
                }
                _ => {}
            }
        }
        Ok(())
    })?;
    out.write_all(&header)?;
    out.write_all(b"\n")
}

fn is_before_header(line: &SurveyedLine<'_>, part: &LinePart, loaded: &Loaded) -> bool {
    line.offset + (part.span.start as u64) < loaded.header_span.start
}

fn write_line(
    line: &SurveyedLine<'_>,
    loaded: &Loaded,
    plan: &RepairEdits,
    out: &mut dyn Write,
    rejects: Rejects<'_>,
) -> io::Result<()> {
    // A healthy line keeps its white space and its line end.
    let is_plain = match line.parts {
        [] => true,
        [part] => part.what.is_sound(),
        _ => false,
    };
    for part in line.parts {
        let record = &line.bytes[part.span.clone()];
        if !part.what.is_sound() {
            rejects(line.number, record)?;
            continue;
        }
        let is_moved = plan.moves_header
            && (matches!(part.what, PartKind::Header(_))
                || part.what == PartKind::Side && is_before_header(line, part, loaded));
        if is_moved || part.what.row().is_some_and(|row| !plan.keep[row.index()]) {
            continue;
        }
        let record = edited(loaded, plan, part.what, record);
        match is_plain {
            true => {
                out.write_all(&line.bytes[..part.span.start])?;
                out.write_all(&record)?;
                out.write_all(&line.bytes[part.span.end..])?;
                if line.terminated {
                    out.write_all(b"\n")?;
                }
            }
            false => {
                out.write_all(&record)?;
                out.write_all(b"\n")?;
            }
        }
    }
    if line.parts.is_empty() {
        out.write_all(line.bytes)?;
        if line.terminated {
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// Returns a record of the repaired log; borrowed if it is unchanged.
pub(super) fn edited<'a>(
    loaded: &Loaded,
    plan: &RepairEdits,
    what: PartKind,
    record: &'a [u8],
) -> Cow<'a, [u8]> {
    let mut record = Cow::Borrowed(record);
    if matches!(what, PartKind::Header(_)) && plan.upgrades {
        let version = VERSION.to_string();
        record = Cow::Owned(with_head_member(&record, "version", version.as_bytes()));
    }
    if let (PartKind::Header(_), true, Some(header)) = (what, plan.names_header, &loaded.header) {
        record = Cow::Owned(with_head_member(&record, "id", &json::quoted(header.id.as_str())));
    }
    let Some(row) = what.row() else { return record };
    let (tree, keys) = (&loaded.tree, &loaded.facts().keys);
    if plan.upgrades {
        let shape = loaded.shape.unwrap_or(Shape::Tree);
        let version = loaded.header.as_ref().map_or(VERSION, |header| header.version);
        // The result borrows from `record`, which it replaces.
        let upgraded = versions::upgraded(tree, row, shape, version, &record).into_owned();
        record = Cow::Owned(upgraded);
    } else if tree.node(row).has(Node::DERIVED) && !super::plan::is_mere_list(loaded) {
        let id = json::quoted(tree.id_text(row));
        record = Cow::Owned(with_head_member(&record, keys.id, &id));
    }
    if let Some(id) = plan.renamed.get(&row) {
        record = Cow::Owned(with_head_member(&record, keys.id, &json::quoted(id.as_str())));
    }
    if plan.relinked.binary_search(&row).is_ok() {
        let parent = match plan.parents[row.index()] {
            NONE => b"null".to_vec(),
            parent => match plan.renamed.get(&parent) {
                Some(id) => json::quoted(id.as_str()),
                None => tree.id_literal(parent),
            },
        };
        record = Cow::Owned(with_head_member(&record, keys.parent, &parent));
    }
    record
}
