//! Compresses responses with gzip while they are sent.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::StreamExt;
use std::io::Write;

/// The smallest response that is compressed, in bytes.
const MIN_SIZE: u64 = 1024;

/// Compresses the body of a response, if the client accepts that and it is worthwhile.
pub(crate) fn compress(accepts: bool, response: Response<Body>) -> Response<Body> {
    if !is_compressible(response.headers(), response.status()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    parts.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    let size = http_body::Body::size_hint(&body).exact();
    if !accepts || size.is_some_and(|size| size < MIN_SIZE) {
        return Response::from_parts(parts, body);
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.remove(header::ACCEPT_RANGES);
    // The compressed bytes are another representation, so the entity tag must be weak.
    if let Some(tag) = parts.headers.get(header::ETAG).and_then(|tag| tag.to_str().ok())
        && !tag.starts_with("W/")
        && let Ok(weak) = HeaderValue::try_from(format!("W/{tag}"))
    {
        parts.headers.insert(header::ETAG, weak);
    }
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    let encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
    let chunks = body.into_data_stream();
    let stream = futures_util::stream::unfold((chunks, encoder), |(mut chunks, encoder)| async {
        let mut encoder = encoder?;
        loop {
            match chunks.next().await {
                Some(Ok(chunk)) => {
                    if let Err(error) = encoder.write_all(&chunk) {
                        return Some((Err(axum::Error::new(error)), (chunks, None)));
                    }
                    let ready = std::mem::take(encoder.get_mut());
                    if !ready.is_empty() {
                        return Some((Ok(Bytes::from(ready)), (chunks, Some(encoder))));
                    }
                }
                Some(Err(error)) => return Some((Err(error), (chunks, None))),
                None => {
                    let last = encoder.finish().map(Bytes::from).map_err(axum::Error::new);
                    return Some((last, (chunks, None)));
                }
            }
        }
    });
    Response::from_parts(parts, Body::from_stream(stream))
}

/// Returns whether a client accepts gzip.
pub(crate) fn is_accepted(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let is_refused = parts.any(|part| {
            part.strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()).is_some_and(|q| q <= 0.0)
        });
        (name.eq_ignore_ascii_case("gzip") || name == "*") && !is_refused
    })
}

fn is_compressible(headers: &HeaderMap, status: StatusCode) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_text = kind.is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.ends_with("json")
            || kind == "application/x-ndjson"
            || (kind.starts_with("text/") && kind != "text/event-stream")
    });
    is_text
        && status != StatusCode::PARTIAL_CONTENT
        && status != StatusCode::NOT_MODIFIED
        && !headers.contains_key(header::CONTENT_ENCODING)
}
