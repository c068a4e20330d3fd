//! `treering token`

use crate::clock;
use crate::error::Failure;
use crate::output::{Output, json_string};
use crate::stores::StoreChoice;
use crate::text::{pad, safe_line, time};
use clap::builder::NonEmptyStringValueParser;
use std::io::Write;
use treering_postgres::{PostgresStore, Scope, Token};
use treering_search::Since;
use treering_server::{TokenHash, new_token};

/// Create, list and revoke access tokens of a database
///
/// --store names the database. A server without a database accepts the token in its --token-file.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Create a token and print it; it cannot be shown again
    Create {
        /// The scope: read, write or admin
        #[arg(long, value_parser = scope)]
        scope: Scope,
        /// The space whose sessions it gives access to
        #[arg(long, default_value = "default", value_parser = NonEmptyStringValueParser::new())]
        space: String,
        /// Its name, for lists and logs; generated if not given
        #[arg(long, value_parser = NonEmptyStringValueParser::new())]
        name: Option<String>,
        /// Expires after this time: 12h, 30d, 4w, 3mo
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires: Option<i64>,
    },
    /// List all tokens, without their secrets
    List {
        /// One JSON object per line: name, space, scope, created, expires, revoked
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token; servers refuse it within seconds
    Revoke {
        /// The name of the token
        name: String,
    },
}

fn scope(text: &str) -> Result<Scope, String> {
    text.parse().map_err(|_| "choose read, write or admin".to_owned())
}

/// Parses the time for which a token is valid, in milliseconds. A date, or an age of zero, would create a
/// token that has expired.
fn lifetime(text: &str) -> Result<i64, String> {
    match Since::parse(text) {
        Ok(Since::Ago(age)) if age > 0 => Ok(age),
        _ => Err("expected a time from now on, such as 12h, 30d, 4w or 3mo".to_owned()),
    }
}

pub(crate) fn run(args: &Args, store: &StoreChoice, out: &mut Output) -> Result<(), Failure> {
    let Some(database) = store.database()? else {
        let what = "tokens are stored in a database, and no database was named".to_owned();
        let hint = "give --store postgres://USER@HOST/DATABASE; a server without a database accepts the token of its --token-file";
        return Err(Failure::Usage { what, hint: hint.to_owned() });
    };
    match &args.action {
        Action::Create { scope, space, name, expires } => {
            create(&database, *scope, space, name.as_deref(), *expires, out)
        }
        Action::List { json } => list(&database.tokens()?, *json, out),
        Action::Revoke { name } => match database.revoke_token(name)? {
            0 => {
                let what = format!("there is no token {} to revoke", safe_line(name));
                Err(Failure::with_hint(what, "`treering token list` lists them"))
            }
            _ => Ok(writeln!(out, "revoked {}", safe_line(name))?),
        },
    }
}

fn create(
    database: &PostgresStore,
    scope: Scope,
    space: &str,
    name: Option<&str>,
    expires: Option<i64>,
    out: &mut Output,
) -> Result<(), Failure> {
    let cannot = |error| Failure::message(format!("cannot make a token: {error}"));
    let token = new_token().map_err(cannot)?;
    let hash = TokenHash::of(&token).0;
    let made_up = || format!("{scope}-{}", treering::internal::hex(&hash[..3]));
    let name = name.map_or_else(made_up, str::to_owned);
    if database.tokens()?.iter().any(|known| known.name == name && known.revoked.is_none()) {
        let what = format!("token {} already exists", safe_line(&name));
        return Err(Failure::with_hint(what, "choose another name, or revoke it first"));
    }
    let expires = expires.map(|lifetime| clock::now().saturating_add(lifetime));
    database.create_token(&hash, &name, space, scope, expires)?;
    Ok(writeln!(out, "{token}")?)
}

fn list(tokens: &[Token], json: bool, out: &mut Output) -> Result<(), Failure> {
    let width = |text: fn(&Token) -> &str| {
        tokens.iter().map(|token| text(token).chars().count()).max().unwrap_or(0)
    };
    let (name, space) = (width(|token| &token.name), width(|token| &token.space));
    for token in tokens {
        if json {
            out.write_all(b"{\"name\":")?;
            json_string(out, &token.name)?;
            out.write_all(b",\"space\":")?;
            json_string(out, &token.space)?;
            let or_null = |time: Option<i64>| {
                time.map_or("null".to_owned(), |time| {
                    format!("\"{}\"", treering::time::format(time))
                })
            };
            let (created, expires) = (or_null(Some(token.created)), or_null(token.expires));
            let revoked = or_null(token.revoked);
            writeln!(
                out,
                ",\"scope\":\"{}\",\"created\":{created},\"expires\":{expires},\"revoked\":{revoked}}}",
                token.scope
            )?;
            continue;
        }
        let state = match (token.revoked, token.expires) {
            (Some(at), _) => format!("revoked {}", time(Some(at))),
            (None, Some(at)) if at <= clock::now() => format!("expired {}", time(Some(at))),
            (None, Some(at)) => format!("expires {}", time(Some(at))),
            (None, None) => String::new(),
        };
        let line = format!(
            "{}  {}  {}  created {}  {state}",
            pad(&safe_line(&token.name), name),
            pad(&safe_line(&token.space), space),
            pad(token.scope.name(), 5),
            time(Some(token.created)),
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
