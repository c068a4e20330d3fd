//! Common secrets in the form that they have in sessions: all of them are found.
//!
//! Every secret is put together when the test runs: no file holds anything that looks like a real one.

use crate::{hex, lower, random, redactor, upper};
use serde_json::{Value, json};
use std::sync::LazyLock;
use treering::storage::LineFilter;
use treering_redact::Redactor;

/// A text with `{}` where the secret stands, and the secret.
type Case = (String, String);

fn case(text: &str, secret: impl Into<String>) -> Case {
    (text.to_owned(), secret.into())
}

fn digits(seed: u64, length: usize) -> String {
    let letters = hex(seed, length);
    letters.bytes().map(|byte| char::from(b'0' + byte % 10)).collect()
}

fn uuid(seed: u64) -> String {
    let hex = hex(seed, 32);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Tokens that vendors hand out, by themselves.
fn tokens() -> Vec<String> {
    let mut seed = 100;
    let mut next = || {
        seed += 1;
        seed
    };
    let mut all = Vec::new();
    // Letters and digits.
    for (prefix, length) in [
        ("ghp_", 36),
        ("gho_", 36),
        ("ghu_", 36),
        ("ghs_", 36),
        ("ghr_", 36),
        ("github_pat_", 82),
        ("glpat-", 20),
        ("gldt-", 20),
        ("glrt-", 20),
        ("glptt-", 40),
        ("glcbt-", 26),
        ("glft-", 20),
        ("glimt-", 25),
        ("glagent-", 50),
        ("gloas-", 64),
        ("glsoat-", 20),
        ("glffct-", 20),
        ("GR1348941", 20),
        ("sk-", 48),
        ("sk-proj-", 120),
        ("sk-svcacct-", 120),
        ("sk-admin-", 120),
        ("sk-ant-api03-", 95),
        ("sk-ant-admin01-", 95),
        ("hf_", 34),
        ("api_org_", 34),
        ("gsk_", 52),
        ("xai-", 80),
        ("pplx-", 48),
        ("r8_", 37),
        ("fw_", 24),
        ("csk-", 48),
        ("nvapi-", 64),
        ("pa-", 43),
        ("tvly-", 32),
        ("jina_", 60),
        ("AIza", 35),
        ("ya29.", 120),
        ("1//0", 90),
        ("GOCSPX-", 28),
        ("sk_live_", 24),
        ("sk_test_", 24),
        ("rk_live_", 24),
        ("rk_prod_", 24),
        ("whsec_", 32),
        ("sq0atp-", 22),
        ("sq0csp-", 43),
        ("EAAA", 60),
        ("npm_", 36),
        ("pypi-AgEIcHlwaS5vcmc", 100),
        ("cio", 32),
        ("dckr_pat_", 27),
        ("AKCp", 69),
        ("cmVmd", 59),
        ("ATBB", 32),
        ("ico-", 32),
        ("pnu_", 36),
        ("apify_api_", 36),
        ("hvs.", 95),
        ("hvb.", 140),
        ("dp.pt.", 43),
        ("dp.st.", 43),
        ("HRKU-AA", 58),
        ("fo1_", 43),
        ("fm2_", 120),
        ("rnd_", 32),
        ("nfp_", 40),
        ("vcp_", 60),
        ("tk-us-", 48),
        ("sha256~", 43),
        ("sb_secret_", 31),
        ("pscale_tkn_", 43),
        ("pscale_pw_", 43),
        ("pscale_oauth_", 43),
        ("mdb_sa_sk_", 40),
        ("rpa_", 44),
        ("tskey-auth-", 40),
        ("tskey-api-", 40),
        ("EZAK", 54),
        ("EZTK", 54),
        ("duffel_live_", 43),
        ("xoxb-", 50),
        ("xoxp-", 60),
        ("xapp-", 60),
        ("xoxc-", 60),
        ("xoxe-", 146),
        ("EAAC", 140),
        ("IGQV", 120),
        ("sl.", 135),
        ("glc_", 64),
        ("NRAK-", 27),
        ("NRII-", 32),
        ("hcaik_", 58),
        ("phx_", 43),
        ("lin_api_", 40),
        ("ntn_", 46),
        ("secret_", 43),
        ("figd_", 43),
        ("tfp_", 59),
        ("CFPAT-", 43),
        ("fio-u-", 64),
        ("p8e-", 32),
        ("sm_aat_", 16),
        ("LTAI", 20),
        ("AKID", 32),
        ("AQVN", 36),
        ("ABSK", 128),
        ("FLWSECK-", 32),
    ] {
        all.push(format!("{prefix}{}", random(next(), length)));
    }
    // Hexadecimal digits.
    for (prefix, length) in [
        ("dop_v1_", 64),
        ("doo_v1_", 64),
        ("dor_v1_", 64),
        ("dapi", 32),
        ("sk-or-v1-", 64),
        ("sbp_", 40),
        ("sgp_", 40),
        ("rubygems_", 48),
        ("bkua_", 40),
        ("squ_", 40),
        ("sqp_", 40),
        ("pul-", 40),
        ("sk_", 48),
        ("fc-", 32),
        ("e2b_", 40),
        ("shippo_live_", 40),
        ("shpat_", 32),
        ("shpca_", 32),
        ("shppa_", 32),
        ("shpss_", 32),
        ("key-", 32),
        ("SK", 32),
        ("sntryu_", 64),
        ("s-s4t2ud-", 64),
        ("NRJS-", 19),
    ] {
        all.push(format!("{prefix}{}", hex(next(), length)));
    }
    for prefix in ["AKIA", "ASIA", "ABIA", "ACCA"] {
        all.push(format!("{prefix}{}", upper(next(), 16)));
    }
    for prefix in ["api-", "sdk-", "sk-lf-", "waka_", "access-production-", "pat-na1-", "xaat-"] {
        all.push(format!("{prefix}{}", uuid(next())));
    }
    all.push(format!("oy2{}", lower(next(), 43)));
    all.push(format!("napi_{}", lower(next(), 60)));
    all.push(format!("CLOJARS_{}", lower(next(), 60)));
    all.push(format!("rdme_{}", lower(next(), 70)));
    all.push(format!("API-{}", upper(next(), 26)));
    all.push(format!("AGE-SECRET-KEY-1{}", upper(next(), 58)));
    all.push(format!("PMAK-{}-{}", hex(next(), 24), hex(next(), 34)));
    all.push(format!("CCIPAT_{}_{}", random(next(), 22), hex(next(), 40)));
    all.push(format!("pat.{}.{}.{}", random(next(), 22), random(next(), 24), random(next(), 20)));
    all.push(format!(
        "A3-{}-{}-{}-{}-{}",
        upper(next(), 6),
        upper(next(), 11),
        upper(next(), 5),
        upper(next(), 5),
        upper(next(), 5)
    ));
    all.push(format!("lsv2_pt_{}_{}", hex(next(), 32), hex(next(), 10)));
    all.push(format!("pcsk_{}_{}", random(next(), 6), random(next(), 60)));
    all.push(format!("access_token$production${}${}", lower(next(), 16), hex(next(), 32)));
    all.push(format!("SG.{}.{}", random(next(), 22), random(next(), 43)));
    all.push(format!("xkeysib-{}-{}", hex(next(), 64), random(next(), 16)));
    all.push(format!("re_{}_{}", random(next(), 8), random(next(), 24)));
    all.push(format!("pat{}.{}", random(next(), 14), hex(next(), 64)));
    all.push(format!("glsa_{}_{}", random(next(), 32), hex(next(), 8)));
    all.push(format!("dt0c01.{}.{}", upper(next(), 24), upper(next(), 64)));
    all.push(format!("pk_{}_{}", digits(next(), 8), upper(next(), 32)));
    all.push(format!("v1.0-{}-{}", hex(next(), 24), hex(next(), 146)));
    all.push(format!("t1.{}.{}", random(next(), 60), random(next(), 86)));
    all.push(format!(
        "ATATT3{}={}",
        random(next(), 180),
        upper(next(), 8).replace(|c: char| !c.is_ascii_hexdigit(), "A")
    ));
    all.push(format!("{}:AA{}", digits(next(), 10), random(next(), 33)));
    all.push(format!("{}8Q~{}", random(next(), 3), random(next(), 34)));
    all.push(format!("{}-us12", hex(next(), 32)));
    all.push(format!("{}.atlasv1.{}", random(next(), 14), random(next(), 67)));
    all.push(format!("{}_{}_mmk", random(next(), 6), random(next(), 29)));
    all.push(format!("eyJ{}.eyJ{}.{}", random(next(), 33), random(next(), 90), random(next(), 43)));
    all
}

/// Secrets that the text around them gives away.
fn in_context() -> Vec<Case> {
    let (short, value, long) = (random(1, 9), random(2, 24), random(3, 40));
    let (key, base64) = (hex(4, 32), format!("{}==", random(5, 86)));
    let discord = format!("MTA{}.{}.{}", random(61, 23), random(62, 6), random(63, 38));
    let pair = "dXNlcjpodW50ZXIyMg==";
    vec![
        // Values with names.
        case("password={}", &*short),
        case("DB_PASS={}", &*short),
        case("PGPASSWORD={} psql -h db", &*short),
        case("export API_KEY=\"{}\"", &*value),
        case("$env:API_KEY = '{}'", &*value),
        case("os.environ[\"API_KEY\"] = \"{}\"", &*value),
        case("config['password'] = '{}';", &*short),
        case("password: str = \"{}\"", &*short),
        case("const PASSWORD: &str = \"{}\";", &*short),
        case("let clientSecret: string = '{}'", &*value),
        case("String password = \"{}\";", &*short),
        case(".password(\"{}\")", &*short),
        case("setPassword('{}')", &*short),
        case("<password>{}</password>", &*short),
        case("<add key=\"ClearTextPassword\" value=\"{}\" />", &*value),
        case("- name: DB_PASSWORD\n  value: {}\n", &*value),
        case("{\"name\":\"API_KEY\",\"value\":\"{}\"}", &*value),
        case("{\"key\": \"api_key\", \"value\": \"{}\", \"type\": \"text\"}", &*value),
        case("password=\"{}\"", "blue Kettle 42 river"),
        case("passphrase: '{}'", "correct horse battery staple"),
        case("DB_PASSWORD='{}'", "s3cret with spaces!"),
        case("export DB_PASSWORD={}\n", "VHnyrvWdFr"),
        case("wget --user bob --password={} https://a.example", "kDCSXqLoi"),
        case("the password is {}", "Xk9#mPq2vL"),
        case("ALGOLIA_ADMIN_KEY={}", &*key),
        case("datadog_app_key: {}", hex(6, 40)),
        case("MAILCHIMP_KEY = \"{}\"", &*key),
        case("HEROKU_API_KEY={}", uuid(7)),
        case("sentry.auth.token={}", hex(8, 64)),
        case(
            "aws_secret_access_key = {}",
            format!("{}/{}+{}", random(9, 12), random(10, 12), random(11, 14)),
        ),
        case("aws configure set aws_secret_access_key {}", &*long),
        case("npm config set //registry.example/:_authToken {}", uuid(12)),
        case("//registry.npmjs.example/:_authToken={}", uuid(13)),
        case("_auth={}", format!("{}==", random(14, 30))),
        case("{\"auths\": {\"r.example\": {\"auth\": \"{}\"}}}", format!("{}=", random(15, 35))),
        case("ENV API_KEY {}", &*value),
        case("client-key-data: {}", &*base64),
        case("    token: {}\n", &*long),
        case("kubectl create secret generic db --from-literal=password={}", &*short),
        case("--set auth.rootPassword={}", &*short),
        case("?api_key={}&page=2", &*value),
        case("token%3D{}%26page%3D2", &*value),
        case("{%22password%22:%22{}%22}", &*short),
        case("X-Api-Key: {}", &*value),
        case("PRIVATE-TOKEN: {}", &*value),
        case("x-auth-token: {}", &*value),
        case("wpa_passphrase={}", &*short),
        case("private_key_password: \"{}\"", &*short),
        case("secret_key_base: {}", hex(16, 128)),
        case("SECRET_KEY = '{}'", format!("django-insecure-{long}")),
        case("jwt_secret: \"{}\"", &*value),
        case("spring.datasource.password={}", &*short),
        case("mnemonic: \"{}\"", "ladder violin orbit cactus maple tunnel"),
        // Headers.
        case("Authorization: Bearer {}", &*long),
        case("authorization: Basic {}", pair),
        case("Proxy-Authorization: Basic {}", pair),
        case("-H 'Authorization: token {}'", &*long),
        case("headers: { Authorization: `Bearer {}` }", &*long),
        case("Authorization: Bot {}", &*discord),
        case("client.login('{}')", &*discord),
        case("DISCORD_TOKEN={}", &*discord),
        case("Authorization: SSWS {}", &*long),
        case("Cookie: theme=dark; sessionid={}", &*value),
        case("Set-Cookie: connect.sid={}; Path=/; HttpOnly", &*long),
        case("cookie: _gitlab_session={}", lower(17, 32)),
        case("curl -b 'auth_session={}' https://a.example", &*value),
        case("curl --cookie \"jwt={}\" https://a.example", &*long),
        // Commands.
        case("curl -u admin:{} https://a.example/x", &*short),
        case("curl -s --user 'admin:{}' https://a.example", &*short),
        case("curl -X POST \\\n  -u \"bob:{}\" \\\n  https://a.example", &*short),
        case("curl -uadmin:{} https://a.example", &*short),
        case("docker login -u bob -p {} r.example", &*short),
        case("helm registry login r.example -u bob -p '{}'", &*short),
        case("mysql -u root -p{} shop", &*short),
        case("mysqldump -h db -uroot -p'{}' shop > x.sql", &*short),
        case("sshpass -p {} ssh root@host", &*short),
        case("sshpass -p'{}' ssh root@host", &*short),
        case("redis-cli -h r -a {} ping", &*short),
        case("mongosh -u root -p {} --authenticationDatabase admin", &*short),
        case("ldapsearch -D cn=admin -w {} -b dc=x", &*short),
        case("smbclient //h/s -U bob%{}", &*short),
        case("unzip -P {} a.zip", &*short),
        case("openssl enc -aes-256-cbc -k {} -in a -out b", &*short),
        case("ssh-keygen -t ed25519 -N {} -f id", &*short),
        case("keytool -list -storepass {} -keystore a.jks", &*short),
        case("openssl rsa -passin pass:{} -in k.pem", &*short),
        case("echo {} | sudo -S apt update", &*short),
        case("echo 'root:{}' | chpasswd", &*short),
        case("echo \"{}\" | docker login -u bob --password-stdin", &*short),
        case("gpg --batch --passphrase {} -d x.gpg", &*short),
        case("sqlcmd -S db -U sa -P {}", &*short),
        case("machine api.example login bob password {}", &*short),
        // URLs and connection strings.
        case("postgres://app:{}@db.example:5432/x", &*short),
        case("postgresql+asyncpg://app:{}@db/x", &*short),
        case("mongodb+srv://app:{}@c.example/x", &*short),
        case("redis://:{}@r.example:6379/0", &*short),
        case("amqp://guest1:{}@mq/", &*short),
        case("https://bob:{}@git.example/r.git", &*short),
        case("https://{}@git.example/r.git", hex(18, 40)),
        case("https://a.example/?x=%20postgres://app:{}@db", &*short),
        case("Server=db;Database=x;User Id=sa;Password={};", &*short),
        case("Data Source=db;Uid=sa;Pwd={};", &*short),
        case("jdbc:mysql://db/x?user=a&password={}", &*short),
        case(
            "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};EndpointSuffix=y",
            &*base64,
        ),
        case(
            "Endpoint=sb://x.example/;SharedAccessKeyName=R;SharedAccessKey={}",
            format!("{}=", random(19, 43)),
        ),
        case(
            "https://x.blob.example/c?sv=2024-01-01&se=2026-01-01&sr=c&sp=r&sig={}",
            format!("{}%2F{}%3D", random(20, 20), random(21, 22)),
        ),
        case("https://b.s3.example/k?X-Amz-Credential=x&X-Amz-Signature={}", hex(22, 64)),
        case(
            "https://hooks.slack.com/services/{}",
            format!("T{}/B{}/{}", upper(23, 8), upper(24, 8), random(25, 24)),
        ),
        case(
            "https://discord.com/api/webhooks/{}",
            format!("{}/{}", digits(26, 18), random(27, 68)),
        ),
        case(
            "https://api.telegram.org/{}/getMe",
            format!("bot{}:AA{}", digits(28, 10), random(29, 33)),
        ),
        // Colors and escapes.
        case("\u{1b}[32mpassword\u{1b}[0m=\u{1b}[33m{}\u{1b}[0m", &*short),
        case("password: \u{1b}[36m\"{}\"\u{1b}[39m", &*short),
    ]
}

static REDACTOR: LazyLock<Redactor> = LazyLock::new(redactor);

/// The redacted text of a session's line, which must have been searched as thoroughly as a text by
/// itself.
fn redacted(text: &str) -> String {
    let line = json!({"type": "message", "id": "e1", "message": {"content": text}}).to_string();
    let after = REDACTOR.line(line.as_bytes()).into_owned();
    let after: Value = serde_json::from_slice(&after).expect("JSON");
    let after = after["message"]["content"].as_str().expect("a text").to_owned();
    assert_eq!(after, REDACTOR.text(text), "a line and a text differ");
    after
}

#[test]
fn all_secrets_of_the_corpus_are_found() {
    let mut cases = in_context();
    cases.extend(tokens().into_iter().map(|token| ("{}".to_owned(), token)));
    assert!(cases.len() >= 150, "{}", cases.len());
    let mut missed = Vec::new();
    for (text, secret) in &cases {
        let whole = text.replacen("{}", secret, 1);
        let after = redacted(&whole);
        let (before, rest) = text.split_once("{}").unwrap();
        let is_clean = !after.contains(secret.as_str()) && after.contains("[REDACTED:");
        if !is_clean || !after.starts_with(before) || !after.ends_with(rest) {
            missed.push(format!("{text}: {after}"));
        }
    }
    let count = cases.len();
    assert!(missed.is_empty(), "{} of {count} missed:\n{}", missed.len(), missed.join("\n"));
}

/// Wherever a tool prints a token: in color, in a URL, in a string of a program, in a sentence.
#[test]
fn tokens_are_found_after_colors_and_escapes() {
    let around = [
        "{}",
        "a {} b",
        "'{}'",
        "\"{}\"",
        "({})",
        "x={}\n",
        "see {}.",
        "{},",
        "\u{1b}[31m{}\u{1b}[0m",
        "\u{1b}[1;38;5;208m{}\u{1b}[m",
        "\u{1b}[K{}",
        "\u{1b}(B{}",
        "\\x1b[31m{}",
        "\\033[0;31m{}",
        "^[[32m{}",
        "[31m{}",
        "a%20{}%20b",
        "t%3D{}%26x",
        "\\x3d{}",
        "\\n{}\\n",
        "\t{}\r\n",
        "https://a.example/?t={}#x",
        "<b>{}</b>",
        "| {} |",
        "`{}`",
        "\u{e9}{}\u{e9}",
    ];
    for token in tokens() {
        for text in around {
            let whole = text.replace("{}", &token);
            let after = redacted(&whole);
            assert!(!after.contains(&token), "{text}: {after}");
        }
    }
}

/// `grep --color` marks what it found, which may be only the beginning of a token.
#[test]
fn colors_inside_of_a_token_hide_nothing() {
    let body = random(31, 36);
    let text = format!("\u{1b}[01;31m\u{1b}[Kghp_\u{1b}[m\u{1b}[K{body} ok");
    let after = redacted(&text);
    let expected = ("\u{1b}[01;31m\u{1b}[K[REDACTED:github-token:", "] ok");
    assert!(after.starts_with(expected.0) && after.ends_with(expected.1), "{after}");
}

#[test]
fn members_of_json_give_their_values_away() {
    let value = random(41, 24);
    let lines = [
        json!({"input": {"env": [{"name": "API_KEY", "value": value}]}}),
        json!({"input": {"env": [{"value": value, "other": {"a": [1, 2]}, "name": "DB_PASSWORD"}]}}),
        json!({"arguments": {"headers": {"Authorization": format!("Bearer {value}")}}}),
        json!({"arguments": {"headers": {"Cookie": format!("theme=dark; sid={value}")}}}),
        json!({"arguments": {"p\u{61}ssword": [value, "x"]}}),
        json!({"arguments": {"token": ["short", value]}}),
        json!({"arguments": {"password": value, "note": "\u{e9}"}}),
    ];
    for line in lines {
        let line = line.to_string();
        let after = String::from_utf8(REDACTOR.line(line.as_bytes()).into_owned()).unwrap();
        assert!(!after.contains(&value), "{after}");
        assert_eq!(after.matches("[REDACTED:").count(), 1, "{after}");
        let escaped = line.replace("password", "p\\u0061ssword").replace("token", "t\\u006fken");
        let after = String::from_utf8(REDACTOR.line(escaped.as_bytes()).into_owned()).unwrap();
        assert!(!after.contains(&value), "{after}");
    }
}
