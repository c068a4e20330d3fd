//! Reads and appends bytes of the raw log. This is the journal of remote sessions.

use crate::call::{Call, OCTETS, answer, empty_answer, json_answer, tagged};
use crate::operation::Answered;
use crate::problem::{Code, Problem};
use crate::streaming::{PIECE, chunks};
use crate::types::{LogAppended, NewStart, StartReplaced};
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use treering::storage::{End, Journal, JournalError};

pub(crate) const LENGTH: HeaderName = HeaderName::from_static("x-treering-length");

pub(crate) async fn get(call: Call) -> Answered {
    let (store, id) = (call.store()?, call.session_id()?);
    let range = call.text("Range").and_then(parse_range);
    let if_range = call.headers.get(header::IF_RANGE);
    let if_range = if_range.map(|tag| String::from_utf8_lossy(tag.as_bytes()).into_owned());
    let opened = call.node.work.run(move || {
        let journal = store.open(&id)?;
        let length = journal.len()?;
        // A part of another version is of no use to the client.
        let range = range.filter(|_| if_range.is_none_or(|tag| tag == format!("\"{length}\"")));
        // A small part is read at once.
        let part = range.map_or(Some(0..length), |range| range.of(length));
        let first = match &part {
            Some(part) => {
                let mut first =
                    vec![0; part.end.saturating_sub(part.start).min(PIECE as u64) as usize];
                let got = read_full(&*journal, part.start, &mut first)?;
                first.truncate(got);
                first
            }
            None => Vec::new(),
        };
        Ok::<_, Problem>((journal, length, range, part, first))
    });
    let (journal, length, range, part, first) = opened.await??;
    let with_length = |mut response: Response<Body>| {
        response.headers_mut().insert(LENGTH, length.into());
        response.headers_mut().insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        tagged(response, length)
    };
    let Some(part) = part else {
        let problem =
            Problem::new(Code::RangeNotSatisfiable, format!("the log has {length} bytes"));
        let problem = problem.with("length", length).header(LENGTH, length);
        let range = HeaderValue::try_from(format!("bytes */{length}"));
        return Err(match range {
            Ok(range) => problem.header(header::CONTENT_RANGE, range),
            Err(_) => problem,
        });
    };
    if range.is_none() && call.has_tag(&length.to_string()) {
        return Ok(with_length(empty_answer(StatusCode::NOT_MODIFIED)));
    }
    let size = part.end - part.start;
    let body = match first.len() as u64 == size {
        true => Body::from(first),
        false => stream(&call, journal, part.clone()),
    };
    let status = if range.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let mut response = with_length(answer(status, OCTETS, body));
    response.headers_mut().insert(header::CONTENT_LENGTH, size.into());
    if range.is_some()
        && let Ok(value) =
            HeaderValue::try_from(format!("bytes {}-{}/{length}", part.start, part.end - 1))
    {
        response.headers_mut().insert(header::CONTENT_RANGE, value);
    }
    Ok(response)
}

fn stream(call: &Call, journal: Arc<dyn Journal>, part: Range<u64>) -> Body {
    chunks(&call.node, (journal, part), |(journal, part), out| {
        let want = (part.end - part.start).min(PIECE as u64) as usize;
        let filled = out.len();
        out.resize(filled + want, 0);
        let got = read_full(&**journal, part.start, &mut out[filled..])?;
        if got < want {
            return Err(Problem::new(Code::Internal, "the log became shorter while it was read"));
        }
        part.start += got as u64;
        Ok(part.start < part.end)
    })
}

fn read_full(journal: &dyn Journal, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match journal.read_at(offset + filled as u64, &mut buffer[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

/// A range of bytes in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WantedRange {
    /// The bytes from one offset to another, or to the end.
    From(u64, Option<u64>),
    /// The last bytes.
    Last(u64),
}

/// Parses a header with one range. Other headers are ignored, as the standard requires.
fn parse_range(value: &str) -> Option<WantedRange> {
    let number = |text: &str| {
        let is_number =
            (1..=18).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u64>().ok()).flatten()
    };
    let (first, last) = value.trim().strip_prefix("bytes=")?.split_once('-')?;
    match (first, last) {
        ("", last) => Some(WantedRange::Last(number(last)?)),
        (first, "") => Some(WantedRange::From(number(first)?, None)),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(WantedRange::From(first, Some(last)))
        }
    }
}

impl WantedRange {
    /// Returns the range in a log of this length; `None` if the log does not have it.
    fn of(self, length: u64) -> Option<Range<u64>> {
        let part = match self {
            WantedRange::From(first, last) => {
                first..last.map_or(length, |last| last.saturating_add(1).min(length))
            }
            WantedRange::Last(count) => length.saturating_sub(count)..length,
        };
        (part.start < part.end).then_some(part)
    }
}

pub(crate) async fn append(mut call: Call) -> Answered {
    let at = call.count("at").unwrap_or_default();
    let sample = call.text("X-Treering-End").map(parse_sample).transpose()?;
    let lines = call.bytes().await?;
    if !lines.ends_with(b"\n") {
        return Err(Problem::invalid("the body must be whole lines, at least one"));
    }
    let (store, id) = (call.store()?, call.session_id()?);
    let done = call.node.work.run(move || {
        let journal = store.open(&id)?;
        let end = match &sample {
            Some((offset, start)) => End::new(at, *offset, start),
            None => End::from(at),
        };
        let appended = journal.append(&end, &lines);
        // A client that learns that the log has grown checks whether an earlier attempt succeeded,
        // so what it finds must be durable as well.
        if matches!(appended, Ok(_) | Err(JournalError::Moved(_))) {
            journal.sync()?;
        }
        let appended = appended?;
        Ok::<_, Problem>((appended.start, appended.start + lines.len() as u64))
    });
    let (start, length) = done.await??;
    call.node.feeds.wake(call.space());
    Ok(tagged(json_answer(StatusCode::OK, &LogAppended { start, length })?, length))
}

/// Parses `OFFSET:BASE64`: the offset of the last line, and its first bytes.
fn parse_sample(value: &str) -> Result<(u64, Vec<u8>), Problem> {
    let parsed = value
        .split_once(':')
        .and_then(|(offset, start)| Some((offset.parse().ok()?, STANDARD.decode(start).ok()?)));
    parsed.ok_or_else(|| Problem::invalid("X-Treering-End must be OFFSET:BASE64"))
}

pub(crate) async fn replace_start(mut call: Call) -> Answered {
    let new: NewStart = call.json().await?;
    let decode = |text: &str| {
        STANDARD.decode(text).map_err(|error| Problem::invalid(format!("not base64: {error}")))
    };
    let (expected, bytes) = (decode(&new.expected.0)?, decode(&new.bytes.0)?);
    if expected.len() != bytes.len() || bytes.is_empty() {
        return Err(Problem::invalid(
            "expected and bytes must have the same length, and must not be empty",
        ));
    }
    let (store, id) = (call.store()?, call.session_id()?);
    let done = call
        .node
        .work
        .run(move || Ok::<_, Problem>(store.open(&id)?.replace_start(&expected, &bytes)?));
    let replaced = done.await??;
    json_answer(StatusCode::OK, &StartReplaced { replaced })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_has_them() {
        let part = |value: &str| parse_range(value).map(|range| range.of(10));
        assert_eq!(part("bytes=0-3"), Some(Some(0..4)));
        assert_eq!(part("bytes=4-"), Some(Some(4..10)));
        assert_eq!(part("bytes=4-100"), Some(Some(4..10)));
        assert_eq!(part("bytes=-3"), Some(Some(7..10)));
        assert_eq!(part("bytes=-30"), Some(Some(0..10)));
        assert_eq!(part("bytes=10-"), Some(None));
        assert_eq!(part("bytes=-0"), Some(None));
        for ignored in ["bytes=3-1", "bytes=a-b", "lines=1-2", "bytes=0-1,4-5", "bytes=-", ""] {
            assert_eq!(part(ignored), None, "{ignored}");
        }
    }
}
