//! Words that mark a text as prose, and not as a phrase that a user chose as a password.

/// Words of English sentences and of messages of programs.
#[rustfmt::skip]
pub(crate) const PROSE: &[&str] = &[
    "a", "an", "and", "any", "are", "as", "at", "be", "but", "by", "can", "cannot", "could",
    "do", "does", "for", "from", "has", "have", "if", "in", "into", "is", "it", "its", "must",
    "no", "not", "of", "on", "only", "or", "our", "per", "set", "should", "so", "than", "that",
    "the", "their", "then", "there", "these", "this", "to", "too", "use", "used", "was", "we",
    "were", "when", "where", "which", "will", "with", "without", "you", "your", "my", "please",
    "enter", "choose", "type", "new", "old", "current", "confirm", "forgot", "forgotten",
    "reset", "repeat", "again", "required", "invalid", "incorrect", "wrong", "missing", "empty",
    "optional", "strong", "weak", "minimum", "maximum", "min", "max", "least", "most",
    "characters", "character", "chars", "long", "short", "length", "password", "passwords",
    "passphrase", "secret", "secrets", "token", "tokens", "key", "keys", "api", "user",
    "username", "name", "login", "account", "field", "value", "string", "number", "true",
    "false", "null", "none", "error", "failed", "match", "mismatch", "matches", "hash",
    "hashed", "encrypted", "plain", "text", "file", "path", "default", "example", "via", "de",
    "der", "die", "das", "und", "ein", "eine", "neues", "kennwort", "passwort", "le", "la",
    "les", "el", "los", "contraseña", "passe", "mot", "oublié", "vergessen", "eingeben",
    "something", "generate", "generated", "random", "shared", "access", "private", "public",
    "client", "service", "server", "database", "connection", "manager", "store", "vault",
    "rotate", "rotation", "policy", "select", "from", "where", "and", "create", "alter", "drop",
    "update", "delete", "change", "show", "hide", "see", "get", "let", "return", "const", "var",
    "function", "import", "export", "class", "def", "self", "fn", "pub", "mut", "=>", "->",
    "==", "=", "+", "||", "&&", "?", ":", "{", "}", "|",
];
