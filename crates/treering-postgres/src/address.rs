//! Parses the address of a database:
//! `postgres://user@host1:port,host2:port/db?target_session_attrs=read-write`.

use crate::tls;
use rustls::ClientConfig;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// A parsed address.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    /// The settings that all hosts share.
    pub(crate) config: Config,
    pub(crate) hosts: Vec<HostAddress>,
    /// Whether a host that accepts no writes is skipped.
    pub(crate) needs_writes: bool,
    /// The TLS configuration; `None` if TLS is disabled.
    pub(crate) tls: Option<Arc<ClientConfig>>,
    /// The address for messages, without the password.
    pub(crate) name: String,
}

/// One host of an address.
#[derive(Debug, Clone)]
pub(crate) struct HostAddress {
    /// The host to connect to.
    pub(crate) host: Host,
    /// The name that its certificate must have.
    pub(crate) name: String,
    pub(crate) port: u16,
}

fn invalid(why: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("invalid address of a database: {why}"))
}

/// The parameters of an address that only this crate understands.
#[derive(Debug, Default, PartialEq, Eq)]
struct OwnParameters {
    roots: Option<PathBuf>,
    must_verify: bool,
}

/// Removes the parameters that only this crate understands from an address.
fn split_extras(text: &str) -> io::Result<(String, OwnParameters)> {
    let mut extras = OwnParameters::default();
    let Some((base, query)) = text.split_once('?') else { return Ok((text.to_owned(), extras)) };
    let mut kept = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslrootcert", value)) => extras.roots = Some(PathBuf::from(decode(value)?)),
            Some(("sslmode", "verify-full" | "verify-ca")) => extras.must_verify = true,
            _ => kept.push(pair),
        }
    }
    let separator = if kept.is_empty() { "" } else { "?" };
    Ok((format!("{base}{separator}{}", kept.join("&")), extras))
}

fn decode(text: &str) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(value.ok_or_else(|| invalid("a percent sign needs two hexadecimal digits"))?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| invalid("it is not UTF-8"))
}

impl Address {
    pub(crate) fn parse(text: &str) -> io::Result<Self> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(invalid("it must start with postgres://"));
        }
        let (plain, extras) = split_extras(text)?;
        // The parser's message does not repeat the address, which may contain a password.
        let mut config = Config::from_str(&plain).map_err(|error| invalid(cause(&error)))?;
        if extras.must_verify {
            config.ssl_mode(SslMode::Require);
        }
        let tls = match config.get_ssl_mode() {
            SslMode::Disable => None,
            SslMode::Prefer if extras.roots.is_none() => Some(tls::unverified()?),
            _ => Some(tls::verified(extras.roots.as_deref())?),
        };
        if config.get_application_name().is_none() {
            config.application_name("treering");
        }
        let hosts = hosts(&config)?;
        let needs_writes = match config.get_target_session_attrs() {
            TargetSessionAttrs::ReadWrite => true,
            TargetSessionAttrs::Any => hosts.len() > 1,
            _ => return Err(invalid("target_session_attrs must be any or read-write")),
        };
        let name = name(&config, &hosts);
        Ok(Address { config, hosts, needs_writes, tls, name })
    }
}

/// Returns the innermost cause of an error of the client library, which is the most specific.
pub(crate) fn cause(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text = inner.to_string();
        source = inner.source();
    }
    text
}

fn hosts(config: &Config) -> io::Result<Vec<HostAddress>> {
    let (names, addresses, ports) =
        (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let count = names.len().max(addresses.len());
    if count == 0 {
        return Err(invalid("it names no host"));
    }
    if !names.is_empty() && !addresses.is_empty() && names.len() != addresses.len() {
        return Err(invalid("host and hostaddr name different numbers of hosts"));
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(invalid("there must be one port, or one for each host"));
    }
    let mut hosts = Vec::with_capacity(count);
    for number in 0..count {
        let port = ports.get(number).or_else(|| ports.first()).copied().unwrap_or(5432);
        let address = addresses.get(number).map(|address| Host::Tcp(address.to_string()));
        let named = names.get(number);
        let Some(host) = address.or_else(|| named.cloned()) else { continue };
        let name = match named.unwrap_or(&host) {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        };
        hosts.push(HostAddress { host, name, port });
    }
    Ok(hosts)
}

fn name(config: &Config, hosts: &[HostAddress]) -> String {
    let mut name = "postgres://".to_owned();
    if let Some(user) = config.get_user() {
        let _ = write!(name, "{user}@");
    }
    for (number, host) in hosts.iter().enumerate() {
        let separator = if number > 0 { "," } else { "" };
        let _ = write!(name, "{separator}{}:{}", host.name, host.port);
    }
    if let Some(database) = config.get_dbname() {
        let _ = write!(name, "/{database}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_its_hosts_and_hides_its_password() {
        let text = "postgres://me:secret@one:5433,two/db?target_session_attrs=read-write";
        let address = Address::parse(text).unwrap();
        assert_eq!(address.name, "postgres://me@one:5433,two:5432/db");
        let text = "postgres://me:secret@one:5433,two:5434/db";
        let address = Address::parse(text).unwrap();
        assert_eq!(address.name, "postgres://me@one:5433,two:5434/db");
        assert!(address.needs_writes, "of several hosts the primary is meant");
        assert!(!Address::parse("postgres://me@one/db").unwrap().needs_writes);
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        let refused = [
            "mysql://me@one/db",
            "postgres:///db",
            "postgres://me@one/db?sslmode=maybe",
            "postgres://me@one/db?nonsense=1",
            "postgres://me@one/db?target_session_attrs=read-only",
            "postgres://me@one/db?sslrootcert=%2Fnowhere%2Froot.pem",
            "postgres://me@one/db?sslrootcert=%2",
        ];
        for text in refused {
            let error = Address::parse(text).expect_err(text);
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn the_mode_of_tls_is_kept() {
        let mode = |text: &str| {
            let address = Address::parse(text).unwrap();
            (address.config.get_ssl_mode(), address.tls.is_some())
        };
        assert_eq!(mode("postgres://me@one/db"), (SslMode::Prefer, true));
        assert_eq!(mode("postgres://me@one/db?sslmode=disable"), (SslMode::Disable, false));
        assert_eq!(mode("postgres://me@one/db?sslmode=require"), (SslMode::Require, true));
        assert_eq!(mode("postgres://me@one/db?sslmode=verify-full"), (SslMode::Require, true));
    }
}
