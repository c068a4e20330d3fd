//! The names of members in the records of all agents, for programs that read a line without knowing
//! which agent wrote it.

use super::{Dialect, Facts};

/// The names of members in an agent's records that treering's own format does not have. Those of
/// the agent's `Facts` (`keys`, `first_kept`) need not be repeated.
#[derive(Debug)]
pub(crate) struct MemberNames {
    /// Members that hold ids, references, names of models and times.
    pub structural: &'static [&'static str],
    /// Members that hold data of a user or a tool.
    pub data: &'static [&'static str],
    /// The types of records whose id is the session's.
    pub headers: &'static [&'static str],
}

impl MemberNames {
    pub(crate) const NONE: MemberNames = MemberNames { structural: &[], data: &[], headers: &[] };
}

/// Returns the names that one agent or another uses for the id of a record.
pub fn ids() -> Vec<&'static str> {
    collect(|facts| vec![facts.keys.id])
}

/// Returns the names of members that hold ids, references, names of models and times.
pub fn structural() -> Vec<&'static str> {
    collect(|facts| {
        let keys = [facts.keys.id, facts.keys.parent, facts.first_kept];
        [&keys, facts.members.structural].concat()
    })
}

/// Returns the names of members that hold data of a user or a tool.
pub fn data() -> Vec<&'static str> {
    collect(|facts| facts.members.data.to_vec())
}

/// Returns the types of records whose id is the session's.
pub fn headers() -> Vec<&'static str> {
    collect(|facts| facts.members.headers.to_vec())
}

/// Returns the names in the facts of all dialects, each once.
fn collect(names: impl Fn(&'static Facts) -> Vec<&'static str>) -> Vec<&'static str> {
    let mut all: Vec<_> =
        Dialect::ALL.into_iter().flat_map(|dialect| names(dialect.facts())).collect();
    // A key that never occurs begins with a control character.
    all.retain(|name| !name.starts_with('\0'));
    all.sort_unstable();
    all.dedup();
    all
}
