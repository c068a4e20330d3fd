//! The names of secrets: the words in them, and the strength of the evidence that each word gives.

use crate::value::Strength;
use memchr::memmem;

/// Words in the names of secrets, with their strength.
pub(crate) const WORDS: &[(&str, Strength)] = &[
    ("password", Strength::Password),
    ("passwd", Strength::Password),
    ("passwort", Strength::Password),
    ("passphrase", Strength::Password),
    ("pwd", Strength::Password),
    ("pass", Strength::Password),
    ("psk", Strength::Password),
    ("secret", Strength::Strong),
    ("apikey", Strength::Strong),
    ("api_key", Strength::Strong),
    ("api-key", Strength::Strong),
    ("api key", Strength::Strong),
    ("accesskey", Strength::Strong),
    ("access_key", Strength::Strong),
    ("access-key", Strength::Strong),
    ("privatekey", Strength::Strong),
    ("private_key", Strength::Strong),
    ("private-key", Strength::Strong),
    ("signing_key", Strength::Strong),
    ("signing-key", Strength::Strong),
    ("signingkey", Strength::Strong),
    ("encryption_key", Strength::Strong),
    ("encryption-key", Strength::Strong),
    ("encryptionkey", Strength::Strong),
    ("master_key", Strength::Strong),
    ("master-key", Strength::Strong),
    ("masterkey", Strength::Strong),
    ("account_key", Strength::Strong),
    ("accountkey", Strength::Strong),
    ("license_key", Strength::Strong),
    ("service_key", Strength::Strong),
    ("webhook_key", Strength::Strong),
    ("client-key-data", Strength::Strong),
    ("client_key_data", Strength::Strong),
    ("accesstoken", Strength::Strong),
    ("access_token", Strength::Strong),
    ("access-token", Strength::Strong),
    ("refreshtoken", Strength::Strong),
    ("refresh_token", Strength::Strong),
    ("refresh-token", Strength::Strong),
    ("authtoken", Strength::Strong),
    ("auth_token", Strength::Strong),
    ("auth-token", Strength::Strong),
    ("private_token", Strength::Strong),
    ("private-token", Strength::Strong),
    ("security_token", Strength::Strong),
    ("security-token", Strength::Strong),
    ("securitytoken", Strength::Strong),
    ("credential", Strength::Strong),
    ("mnemonic", Strength::Strong),
    ("seed_phrase", Strength::Strong),
    ("seed phrase", Strength::Strong),
    ("token", Strength::Weak),
    ("jwt", Strength::Weak),
    ("auth", Strength::Weak),
    ("key", Strength::Weak),
];

/// Vendors whose keys have no recognizable format: `algolia_key=…`.
pub(crate) const VENDORS: &[&str] = &[
    "adafruit",
    "adobe",
    "airtable",
    "algolia",
    "alibaba",
    "anthropic",
    "artifactory",
    "asana",
    "assemblyai",
    "azure",
    "beamer",
    "bitbucket",
    "bittrex",
    "cloudflare",
    "codecov",
    "cohere",
    "coinbase",
    "confluent",
    "contentful",
    "datadog",
    "deepgram",
    "discord",
    "droneci",
    "dropbox",
    "etsy",
    "facebook",
    "fastly",
    "finicity",
    "finnhub",
    "flickr",
    "freshbooks",
    "gitter",
    "gocardless",
    "heroku",
    "hetzner",
    "hubspot",
    "intercom",
    "jfrog",
    "kraken",
    "kucoin",
    "launchdarkly",
    "linear",
    "linkedin",
    "linode",
    "looker",
    "mailchimp",
    "mailgun",
    "mapbox",
    "mattermost",
    "meraki",
    "messagebird",
    "mistral",
    "netlify",
    "newrelic",
    "new_relic",
    "nytimes",
    "okta",
    "openai",
    "opsgenie",
    "pagerduty",
    "plaid",
    "postmark",
    "privateai",
    "rapidapi",
    "sendbird",
    "sendgrid",
    "sentry",
    "shodan",
    "snyk",
    "sonar",
    "splunk",
    "squarespace",
    "stripe",
    "sumo",
    "supabase",
    "telegram",
    "together",
    "travis",
    "trello",
    "twilio",
    "twitch",
    "twitter",
    "typeform",
    "vercel",
    "vultr",
    "wandb",
    "weather",
    "yandex",
    "zendesk",
];

/// The last words of names that are about a secret but do not hold one.
const HARMLESS: &[&str] = &[
    "file",
    "path",
    "name",
    "names",
    "id",
    "ids",
    "url",
    "uri",
    "length",
    "len",
    "count",
    "type",
    "field",
    "env",
    "var",
    "label",
    "hint",
    "policy",
    "expiry",
    "expires",
    "ttl",
    "arn",
    "version",
    "kind",
    "budget",
    "limit",
    "usage",
    "signature",
    "manager",
    "dir",
    "ref",
    "regex",
    "pattern",
    "prefix",
    "suffix",
    "format",
    "hash",
    "digest",
    "salt",
    "placeholder",
    "title",
    "text",
    "message",
    "error",
    "strength",
    "score",
    "input",
    "column",
    "rule",
    "rules",
    "schema",
    "provider",
    "store",
    "service",
    "class",
    "function",
    "index",
    "position",
    "pos",
    "start",
    "end",
    "header",
    "rotation",
    "list",
    "source",
    "description",
    "status",
    "state",
    "mode",
    "enabled",
    "required",
    "size",
    "bytes",
    "min",
    "max",
    "address",
    "host",
    "port",
    "user",
    "username",
    "email",
    "scope",
    "scopes",
    "audience",
    "issuer",
    "endpoint",
    "domain",
    "date",
    "time",
    "at",
    "color",
    "style",
    "icon",
    "element",
];

/// The maximum length of a name on one side of its word.
pub(crate) const MAX_NAME: usize = 64;

/// Returns the strength of the evidence that a name gives about its value; `None` if it is not the
/// name of a secret.
pub(crate) fn strength(name: &[u8]) -> Option<Strength> {
    if name.len() > 2 * MAX_NAME {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let mut found = None;
    for (word, strength) in WORDS {
        if let Some(at) = memmem::rfind(&lower, word.as_bytes())
            && is_whole(name, at + word.len())
            && starts_part(name, at, word)
        {
            found = found.max(Some(*strength));
        }
    }
    let found = found.filter(|_| !HARMLESS.iter().any(|end| ends_in(name, &lower, end)))?;
    let has_vendor =
        || VENDORS.iter().any(|vendor| memmem::find(&lower, vendor.as_bytes()).is_some());
    match found {
        Strength::Weak if has_vendor() => Some(Strength::Vendor),
        // These are not enough alone: `key=…`, `cache_key=…`.
        Strength::Weak if !is_weak_word(&lower) => None,
        strength => Some(strength),
    }
}

/// Returns whether a weak name is about tokens rather than keys of any kind.
fn is_weak_word(lower: &[u8]) -> bool {
    let is = |word: &str| memmem::find(lower, word.as_bytes()).is_some();
    is("token") || is("jwt") || matches!(lower, b"auth" | b"_auth")
}

/// Returns whether a word that is short enough to occur in others begins a part of the name.
fn starts_part(name: &[u8], at: usize, word: &str) -> bool {
    let before = at.checked_sub(1).and_then(|at| name.get(at));
    let is_start = before.is_none_or(|byte| !byte.is_ascii_alphanumeric())
        || name.get(at).is_some_and(u8::is_ascii_uppercase)
            && before.is_some_and(u8::is_ascii_lowercase);
    match word {
        // Alone it is an ordinary word of tests.
        "pass" => before.is_some() && is_start || matches!(name, b"dbpass" | b"DBPASS"),
        "psk" | "jwt" | "key" | "auth" => is_start,
        _ => true,
    }
}

/// Returns whether a word ends here: `passwordless` and `tokenizer` are other words.
fn is_whole(name: &[u8], end: usize) -> bool {
    match name.get(end..) {
        None | Some([]) | Some([b's' | b'S']) => true,
        Some([next, ..]) => {
            let before = end.checked_sub(1).and_then(|at| name.get(at));
            !next.is_ascii_lowercase()
                && (!next.is_ascii_uppercase() || before.is_some_and(u8::is_ascii_lowercase))
        }
    }
}

/// Returns whether the last word of a name is `end`.
fn ends_in(name: &[u8], lower: &[u8], end: &str) -> bool {
    let Some(start) =
        lower.len().checked_sub(end.len()).filter(|_| lower.ends_with(end.as_bytes()))
    else {
        return false;
    };
    let before = start.checked_sub(1).and_then(|at| name.get(at));
    before.is_none_or(|byte| !byte.is_ascii_alphanumeric())
        || name.get(start).is_some_and(u8::is_ascii_uppercase)
            && before.is_some_and(u8::is_ascii_lowercase)
}

/// Members whose value is the name of another member's value.
pub(crate) const NAMES: &[&[u8]] =
    &[b"name", b"key", b"Name", b"Key", b"variable", b"var", b"env", b"field", b"header"];

/// Members whose value has its name in another member.
pub(crate) const VALUES: &[&[u8]] = &[b"value", b"Value", b"val", b"secretValue"];
