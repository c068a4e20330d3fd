//! Writes a part of a session as a session file in the format that pi and treering share.

use crate::{Error, Export, Result};
use std::io::Write;
use treering::convert::ConvertOptions;
use treering::{Dialect, Session};

pub(crate) fn write(export: &Export, session: &Session, out: &mut impl Write) -> Result<()> {
    if session.dialect() == Dialect::default() {
        return Ok(session.write_part(&export.part, out)?);
    }
    // A session of another agent is converted first; entries keep their ids.
    let directory = tempfile::tempdir()?;
    let converted = directory.path().join("converted.jsonl");
    let source = session.path().ok_or_else(|| Error::Write(std::io::ErrorKind::NotFound.into()))?;
    treering::convert::convert(source, &converted, Dialect::default(), &ConvertOptions::default())?;
    Ok(Session::open(&converted)?.write_part(&export.part, out)?)
}
