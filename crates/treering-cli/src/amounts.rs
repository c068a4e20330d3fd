//! Tokens and money, for users and for programs.

use std::io::{self, Write};
use treering::usage::Usage;

pub(crate) use treering_display::number::{cost, dollars, tokens};

/// Appends a usage as a JSON object. Unknown values are `null`. `costComputed` says whether a part
/// of the cost comes from a list of prices, `unpriced` is the number of requests whose cost is
/// unknown.
pub(crate) fn json_usage(out: &mut impl Write, usage: &Usage) -> io::Result<()> {
    let Usage { requests, input, output, cache_read, cache_write, .. } = usage;
    let (cost, unknown) = (usage.total_cost(), usage.unknown());
    write!(
        out,
        "{{\"requests\":{requests},\"input\":{input},\"output\":{output},\
         \"cacheRead\":{cache_read},\"cacheWrite\":{cache_write},\"totalTokens\":{},\"cost\":",
        usage.total()
    )?;
    match *requests > 0 && *requests == unknown {
        true => out.write_all(b"null")?,
        false => write!(out, "{cost}")?,
    }
    let is_computed = usage.computed_requests > 0;
    write!(out, ",\"costComputed\":{is_computed},\"unpriced\":{unknown}}}")
}
