//! Writes one JSON document: the header, the leaf, and the entries in treering's format.

use crate::walk::ExportWalk;
use crate::{Export, Result};
use std::io::Write;
use treering::{EntryId, Session};
use treering_display::text::visible;

pub(crate) fn write(export: &Export, session: &Session, out: &mut impl Write) -> Result<()> {
    let walk = ExportWalk::new(session, &export.part)?;
    let header = session.header();
    out.write_all(b"{\"header\":")?;
    raw(out, header.raw())?;
    write!(out, ",\n\"dialect\":\"{}\",\"name\":", session.dialect())?;
    literal(out, session.name().as_deref())?;
    out.write_all(b",\n\"leaf\":")?;
    literal(out, walk.active.last().map(EntryId::as_str))?;
    out.write_all(b",\"path\":[")?;
    for (at, id) in walk.active.iter().enumerate() {
        out.write_all(if at > 0 { b"," } else { b"" })?;
        literal(out, Some(id.as_str()))?;
    }
    out.write_all(b"],\n\"labels\":{")?;
    let labeled = walk.items().filter_map(|item| Some((item.entry.id, item.entry.label_json?)));
    for (at, (id, label)) in labeled.enumerate() {
        out.write_all(if at > 0 { b"," } else { b"" })?;
        literal(out, Some(id))?;
        out.write_all(b":")?;
        raw(out, label)?;
    }
    out.write_all(b"},\n\"entries\":[")?;
    let mut reader = session.reader().with_images();
    for (at, item) in walk.items().enumerate() {
        out.write_all(if at > 0 { b",\n" } else { b"\n" })?;
        let entry = reader.entry(item.entry.id)?;
        match entry.is_damaged() {
            false => raw(out, entry.raw())?,
            true => {
                out.write_all(b"{\"type\":\"damaged\",\"id\":")?;
                literal(out, Some(item.entry.id))?;
                out.write_all(b",\"parentId\":")?;
                literal(out, item.entry.parent)?;
                out.write_all(b",\"text\":")?;
                literal(out, Some(&visible(&String::from_utf8_lossy(entry.raw()))))?;
                out.write_all(b"}")?;
            }
        }
    }
    Ok(out.write_all(b"\n]}\n")?)
}

fn literal(out: &mut impl Write, text: Option<&str>) -> Result<()> {
    Ok(serde_json::to_writer(out, &text).map_err(std::io::Error::from)?)
}

/// Writes JSON unchanged, except that bytes that are not UTF-8 are replaced, because the document
/// must be valid.
fn raw(out: &mut impl Write, json: &[u8]) -> Result<()> {
    Ok(out.write_all(String::from_utf8_lossy(json).as_bytes())?)
}
