//! Filters and sorts the sessions of a list.

use std::cmp::Reverse;
use treering::catalog::SessionInfo;

/// The order of a list. The newest come first, the largest, the dearest; names as in a dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Sort {
    Modified,
    Created,
    Size,
    Messages,
    Name,
    Cost,
}

/// Sorts sessions that are already sorted by time; equal ones keep that order.
pub(super) fn sort(sessions: &mut [&SessionInfo], by: Sort) {
    match by {
        Sort::Modified => {}
        Sort::Created => sessions.sort_by_key(|session| Reverse(session.created)),
        Sort::Size => sessions.sort_by_key(|session| Reverse(session.size)),
        Sort::Messages => sessions.sort_by_key(|session| Reverse(session.message_count)),
        Sort::Name => sessions.sort_by_cached_key(|session| {
            let name = session.name.as_ref().map(|name| name.to_lowercase());
            (name.is_none(), name)
        }),
        Sort::Cost => sessions.sort_by(|a, b| {
            let cost = |session: &SessionInfo| session.cost.unwrap_or(-1.0);
            cost(b).total_cmp(&cost(a))
        }),
    }
}
