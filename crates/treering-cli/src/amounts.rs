//! Tokens and money, for people and for programs.

use std::io::{self, Write};
use treering::usage::Usage;

pub(crate) use treering_display::number::{cost, tokens};

/// Appends a usage as a JSON object. Unknown values are `null`.
pub(crate) fn json_usage(out: &mut impl Write, usage: &Usage) -> io::Result<()> {
    let Usage { requests, input, output, cache_read, cache_write, cost, unpriced, .. } = usage;
    write!(
        out,
        "{{\"requests\":{requests},\"input\":{input},\"output\":{output},\
         \"cacheRead\":{cache_read},\"cacheWrite\":{cache_write},\"totalTokens\":{},\"cost\":",
        usage.total()
    )?;
    match *requests > 0 && requests == unpriced {
        true => out.write_all(b"null")?,
        false => write!(out, "{cost}")?,
    }
    write!(out, ",\"unpriced\":{unpriced}}}")
}
