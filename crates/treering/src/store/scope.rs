//! The permissions of tokens for servers.

use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The permission that a token of a server has. Each scope includes the ones before it.
///
/// ```
/// use treering::store::Scope;
/// let scope: Scope = "write".parse()?;
/// assert!(scope >= Scope::Read && scope < Scope::Admin);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The token may read sessions.
    Read,
    /// The token may create, change and remove sessions.
    Write,
    /// The token may do everything, including metrics and the management of tokens.
    Admin,
}

impl Scope {
    /// Returns `read`, `write` or `admin`.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scope {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let all = [Scope::Read, Scope::Write, Scope::Admin];
        let known = all.into_iter().find(|scope| scope.name() == name);
        known.ok_or_else(|| {
            Error::InvalidOption(format!("{name:?} is not a scope: read, write or admin"))
        })
    }
}
