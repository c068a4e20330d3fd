//! Exports sessions as documents.

use crate::call::{Call, answer, json_answer};
use crate::operation::Answered;
use crate::problem::{Code, Problem};
use crate::streaming::{PIECE, chunks};
use crate::types::Secrets;
use axum::http::{HeaderValue, StatusCode, header};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use treering::{Dialect, ForkOptions, Position, Session};
use treering_export::Export;
use treering_redact::{Options, Redactor};

/// The formats of documents.
pub(crate) const FORMATS: &[&str] = &["html", "markdown", "json", "jsonl"];

pub(crate) async fn get(call: Call) -> Answered {
    let format = call.text("format").unwrap_or("html").to_owned();
    let is_redacted = call.flag("redact");
    let media = match format.as_str() {
        "html" => "text/html; charset=utf-8",
        "markdown" => "text/markdown; charset=utf-8",
        "json" => crate::call::JSON,
        _ => crate::call::NDJSON,
    };
    let file = call.read(move |session| write(session, &format, is_redacted)).await?;
    let body = chunks(&call.node, file, |file, out| {
        let filled = out.len();
        out.resize(filled + PIECE, 0);
        let got = file.read(&mut out[filled..]).map_err(Problem::from)?;
        out.truncate(filled + got);
        Ok(got > 0)
    });
    let mut response = answer(StatusCode::OK, media, body);
    // The page contains data of sessions. In a browser it gets an origin of its own, so that it
    // could not call this server if something in it were a script.
    let policy = HeaderValue::from_static("sandbox allow-scripts allow-popups");
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

/// Writes the document to a file without a name, because it may be large and clients may be slow.
fn write(session: &Arc<Session>, format: &str, is_redacted: bool) -> Result<File, Problem> {
    let redacted = match is_redacted {
        true => Some(Arc::new(redactor()?.session(session)?)),
        false => None,
    };
    let session = redacted.as_ref().unwrap_or(session);
    let native;
    let session = match format {
        // The result is converted to treering's own format.
        "jsonl" if session.dialect() != Dialect::default() => {
            let options = ForkOptions::new().dialect(Dialect::default());
            let store: Arc<dyn treering::store::Store> =
                Arc::new(treering::store::MemoryStore::new());
            native = session.fork_into(&store, Position::Leaf, options)?;
            &native
        }
        _ => session,
    };
    let mut out = BufWriter::new(tempfile::tempfile()?);
    let export = Export::default();
    let written = match format {
        "html" => export.html(session, &mut out),
        "markdown" => export.markdown(session, &mut out),
        "json" => export.json(session, &mut out),
        _ => export.jsonl(session, &mut out),
    };
    written.map_err(|error| match error {
        treering_export::Error::Session(error) => Problem::from(error),
        error => Problem::new(Code::Internal, error.to_string()),
    })?;
    out.flush()?;
    let mut file = out.into_inner().map_err(|error| Problem::from(error.into_error()))?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// Returns the redactor that exports, forks and downloads use.
pub(crate) fn redactor() -> Result<Redactor, Problem> {
    let redactor = Redactor::new(&Options::default());
    redactor.map_err(|error| Problem::new(Code::Internal, error.to_string()))
}

/// Lists the secrets that redaction would replace.
pub(crate) async fn secrets(call: Call) -> Answered {
    let at = call.text("at").map(str::to_owned);
    let found = call.read(move |session| {
        let redactor = redactor()?;
        let redacted = redactor.session(session)?;
        let report = redactor.report();
        let Some(at) = &at else { return Ok(Secrets::from(&report)) };
        let tree = redacted.tree();
        let path: HashSet<String> = tree.path(at)?.iter().map(|id| id.to_string()).collect();
        Ok(Secrets::from(&report.only(|entry| path.contains(entry))))
    });
    json_answer(StatusCode::OK, &found.await?)
}
