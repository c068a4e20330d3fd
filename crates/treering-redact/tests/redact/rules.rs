//! Tests of every rule: texts that it must find, and texts that it must not.

use crate::{hex, random, redactor, thorough, upper};
use treering_redact::{Options, PatternError, Redactor};

/// `text` with `{}` for the secret.
#[track_caller]
fn finds(kind: &str, text: &str, secret: &str) {
    let redacted = redactor().text(&text.replace("{}", secret)).into_owned();
    assert_eq!(redacted, text.replace("{}", &format!("[REDACTED:{kind}:1]")));
}

#[track_caller]
fn leaves(text: &str) {
    assert_eq!(redactor().text(text), text);
}

#[test]
fn tokens_by_their_shape() {
    let shapes = [
        ("aws-key", "AKIA", upper(1, 16)),
        ("aws-key", "ASIA", upper(2, 16)),
        ("github-token", "ghp_", random(3, 36)),
        ("github-token", "gho_", random(4, 36)),
        ("github-token", "ghs_", random(5, 40)),
        ("github-token", "github_pat_", format!("{}_{}", random(6, 22), random(7, 59))),
        ("gitlab-token", "glpat-", random(8, 20)),
        ("slack-token", "xoxb-", format!("123456789012-{}", random(9, 24))),
        ("slack-token", "xoxp-", format!("123456789012-{}", random(10, 32))),
        ("openai-key", "sk-", random(11, 48)),
        ("openai-key", "sk-proj-", format!("{}-{}_x", random(12, 60), random(13, 60))),
        ("anthropic-key", "sk-ant-", format!("api03-{}-{}", random(14, 40), random(15, 40))),
        ("openrouter-key", "sk-or-v1-", random(16, 64)),
        ("google-key", "AIza", random(17, 35)),
        ("google-token", "ya29.", random(18, 80)),
        ("google-secret", "GOCSPX-", random(19, 28)),
        ("stripe-key", "sk_live_", random(20, 24)),
        ("stripe-key", "rk_test_", random(21, 24)),
        ("npm-token", "npm_", random(22, 36)),
        ("pypi-token", "pypi-", format!("AgEIcHlwaS5vcmc{}", random(23, 80))),
        ("huggingface-token", "hf_", random(24, 34)),
        ("sendgrid-key", "SG.", format!("{}.{}", random(25, 22), random(26, 43))),
        ("groq-key", "gsk_", random(27, 52)),
        ("digitalocean-token", "dop_v1_", hex(28, 64)),
    ];
    for (kind, prefix, body) in shapes {
        let token = format!("{prefix}{body}");
        for text in ["{}", "a {} b", "'{}'", "x={}\n", "see {}.", "({})", "{},", "--flag={}&y"] {
            finds(kind, text, &token);
        }
        // Not in the middle of a word, and not if the word continues.
        leaves(&format!("x{token}"));
        leaves(&format!("{token}{}", "z9".repeat(2000)));
        // Too short.
        leaves(&token[..prefix.len() + 6]);
    }
    finds("azure-key", "AccountName=x;AccountKey={};End=y", &format!("{}==", random(30, 86)));
    let hook = format!("T{}/B{}/{}", upper(31, 8), upper(32, 8), random(33, 24));
    finds("slack-webhook", "https://hooks.slack.com/services/{} ok", &hook);
    let token = format!("eyJ{}.eyJ{}.{}", random(34, 30), random(35, 60), random(36, 43));
    finds("web-token", "cookie: {};", &token);
    finds("web-token", "cut off: {}", &token[..110]);
}

#[test]
fn words_that_begin_like_tokens() {
    for text in [
        "ghp_",
        "sk-learn",
        "task-sk-thing",
        "sk-some-long-hyphenated-words-in-a-file-name",
        "npm_config_registry",
        "npm_lifecycle_script",
        "hf_hub_download(repo_id=x)",
        "pypi-server",
        "AKIA is a prefix",
        "eyJhbGciOiJIUzI1NiJ9",
        "xoxb-your-token-here",
        "AIzaSy",
        "glpat-",
        "sk_live_",
        "the key AKIAAAAAAAAAAAAAAAAA",
        "SG.Foo",
    ] {
        leaves(text);
    }
}

#[test]
fn private_keys() {
    let body: Vec<String> = (0..10).map(|seed| random(seed, 64)).collect();
    for (kind, separator) in
        [("RSA ", "\n"), ("", "\n"), ("OPENSSH ", "\r\n"), ("EC ", "\\n"), ("", " ")]
    {
        let (begin, end) = (
            format!("-----BEGIN {kind}PRIVATE KEY-----"),
            format!("-----END {kind}PRIVATE KEY-----"),
        );
        let key = [begin.as_str(), &body.join(separator), &end].join(separator);
        finds("private-key", "before {} after", &key);
    }
    // One that was cut off.
    let key = format!("-----BEGIN PRIVATE KEY-----\n{}", body[..4].join("\n"));
    finds("private-key", "$ head -5 key.pem\n{}\n$ ls", &key);
    leaves(
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
    );
    leaves("it starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----");
    leaves("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----");
}

#[test]
fn headers_and_urls() {
    let token = random(40, 40);
    finds("authorization", "Authorization: Bearer {}", &token);
    finds("authorization", "-H 'authorization: bearer {}' url", &token);
    finds("authorization", "Authorization: Basic {}", "dXNlcjpwYXNzd29yZA==");
    finds("authorization", "{\"Authorization\": \"token {}\"}", &token);
    finds("authorization", "use Bearer {} here", &token);
    finds("url-password", "postgres://app:{}@db.example:5432/x", "s3cr3t");
    finds("url-password", "git clone https://me:{}@example.com/r.git", &token);
    for text in [
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "bearer of bad news everywhere",
        "Basic understanding of things",
        "Authorization: Basic auth",
        "https://example.com:8080/path@2",
        "http://user@example.com/",
        "postgres://app:$PASSWORD@db/x",
        "redis://u:{password}@h",
        "ssh://git@example.com:22/x",
        "see https://a.example/x?q=a:b@c",
    ] {
        leaves(text);
    }
}

#[test]
fn names_of_secrets() {
    let value = random(50, 24);
    for text in [
        "password={}",
        "PASSWORD={}",
        "DB_PASSWORD='{}'",
        "export SECRET_KEY=\"{}\"",
        "api_key: {}",
        "\"api_key\": \"{}\"",
        "\\\"apiKey\\\": \\\"{}\\\"",
        "clientSecret = '{}';",
        "--password {}",
        "--api-key={} --x",
        "aws_secret_access_key = {}",
        "?access_token={}&x=1",
        "secret: `{}`",
        "X-Api-Key: {}",
        "auth_token => '{}'",
        "MYSQL_PWD={} mysql",
        "token = \"{}\"",
        "passphrase := {}",
    ] {
        finds("named-secret", text, &value);
    }
    finds(
        "named-secret",
        "AWS_SECRET_ACCESS_KEY={}",
        &format!("{}/{}+{}", random(51, 12), random(52, 12), random(53, 14)),
    );
    finds("named-secret", "password=\"{}\"", "correct-horse-battery-staple");
    finds("named-secret", "password: {}", "Tr0ub4dor&3"[..9].trim_end_matches('&'));
    // Hexadecimal keys have names.
    finds("named-secret", "api_key={}", "0f3a9b1c2d4e5f60718293a4b5c6d7e8");
}

#[test]
fn values_that_are_no_secrets() {
    for text in [
        "password: required",
        "password = getPassword()",
        "const password = req.body.password1;",
        "token: string",
        "max_tokens=4096",
        "tokens: 12345678",
        "tokenizer=cl100k_base_v2_model_x9",
        "secret_name=my-secret-2024-prod",
        "api_key=$API_KEY",
        "api_key=${API_KEY_2}",
        "password=<your-password-1>",
        "api_key: process.env.API_KEY_1",
        "password_file=/run/secrets/db1",
        "secret=/run/secrets/db_1",
        "password == other_password_1",
        "token=da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "token: 019b8d62-7a80-71d1-a446-e1148a86bf77",
        "passwordless=true12345",
        "password=********",
        "secretary: Margaret123456",
        "access_key_id=abc1234567",
        "let token = Token::new(kind1, span2);",
        "commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "password: \"enter your password here 1\"",
        "key=da39a3ee5e6b4b0d3255",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "The token is short.",
        "password:\n  min: 8",
    ] {
        leaves(text);
    }
}

#[test]
fn personal_data_only_with_the_option() {
    let text = "mail bob.k+x@example.co.uk or <ann@example.com>; cd /home/bob/x /Users/ann/y C:\\Users\\Bob\\z";
    leaves(text);
    assert_eq!(
        thorough().text(text),
        "mail [REDACTED:email:1] or <[REDACTED:email:2]>; cd /home/user/x /Users/user2/y C:\\Users\\user3\\z"
    );
    for text in [
        "git@github.com:a/b",
        "icon@2x.png",
        "user@host",
        "@scope/package",
        "a @ b.com",
        "pkg@1.2.3",
        "/home/user/x",
        "https://example.com/home/start",
        "https://api.example.com/users/bob",
        "GET /users/bob",
        "/home/",
        "/Users/Shared/x",
        "ls /home",
        "~/x",
        "homes /homes/bob",
        "$HOME/x",
    ] {
        assert_eq!(thorough().text(text), text);
    }
    assert_eq!(thorough().text("-home-bob-projects-x"), "-home-user-projects-x");
    assert_eq!(thorough().text("file:///home/bob/x"), "file:///home/user/x");
}

#[test]
fn custom_patterns() {
    assert_eq!(thorough().text("see TICKET-1234, TICKET-12"), "see [REDACTED:ticket:1], TICKET-12");
    let with = |name: &str, pattern: &str| {
        let patterns = vec![(name.to_owned(), pattern.to_owned())];
        let mut options = Options::new();
        options.patterns = patterns;
        Redactor::new(&options)
    };
    let group = with("pin", r"PIN: (\d+)").unwrap();
    assert_eq!(group.text("PIN: 1234"), "PIN: [REDACTED:pin:1]");
    assert!(matches!(with("a", "(").unwrap_err(), PatternError::Invalid(name, _) if name == "a"));
    assert!(matches!(with("a", "(?:x{1000}){1000}").unwrap_err(), PatternError::Invalid(..)));
    assert!(matches!(with("a", "x*").unwrap_err(), PatternError::Empty(_)));
    for name in ["", "A", "a b", "a]", &"x".repeat(33)] {
        assert_eq!(with(name, "x").unwrap_err(), PatternError::Name(name.to_owned()));
    }
}

#[test]
fn a_second_redaction_changes_nothing() {
    let text = format!(
        "password={} ghp_{} postgres://a:{}@h a@example.com /home/bob Authorization: Bearer {} TICKET-1234",
        random(1, 20),
        random(2, 36),
        random(3, 12),
        random(4, 30)
    );
    let once = thorough().text(&text).into_owned();
    assert_eq!(once.matches("REDACTED").count(), 6, "{once}");
    assert_eq!(thorough().text(&once), once);
}
