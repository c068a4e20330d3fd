//! Responses that are produced piece by piece, as fast as the client reads them. No worker thread
//! waits for a client: each piece is a separate job.

use crate::node::Node;
use crate::problem::Problem;
use axum::body::Body;
use bytes::Bytes;
use std::sync::Arc;

/// The size of a piece.
pub(crate) const PIECE: usize = 256 * 1024;

/// Returns a body that `add` produces: each call adds something to a piece, until it returns false.
pub(crate) fn chunks<S: Send + 'static>(
    node: &Arc<Node>,
    source: S,
    add: impl FnMut(&mut S, &mut Vec<u8>) -> Result<bool, Problem> + Send + 'static,
) -> Body {
    let state = Some((Arc::clone(node), source, add));
    Body::from_stream(futures_util::stream::unfold(state, |state| async {
        let (node, mut source, mut add) = state?;
        let job = node.work.run(move || {
            let mut piece = Vec::with_capacity(PIECE / 4);
            loop {
                match add(&mut source, &mut piece) {
                    Ok(true) if piece.len() < PIECE => {}
                    Ok(true) => return Ok((piece, Some((source, add)))),
                    Ok(false) => return Ok((piece, None)),
                    Err(problem) => return Err(problem),
                }
            }
        });
        match job.await.and_then(|done| done) {
            Ok((piece, rest)) => {
                let rest = rest.map(|(source, add)| (node, source, add));
                Some((Ok(Bytes::from(piece)), rest))
            }
            // The status was already sent: the connection is closed in the middle of the body, so
            // that the client cannot take it for complete.
            Err(problem) => {
                node.metrics.refused("broken_answer");
                Some((Err(std::io::Error::other(problem.detail)), None))
            }
        }
    }))
}
