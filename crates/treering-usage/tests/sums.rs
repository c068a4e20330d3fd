//! Tests that all reports add up to the total of the ledger, with and without a cache.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use treering::Session;
use treering::usage::{Ledger, Usage};
use treering_index::{Places, SessionIndex, UsageContents};
use treering_usage::{GroupBy, Prices, UsageEvents, UsageSession, Zone};

/// A session: what it begins with, and its own answers.
#[derive(Debug, Clone)]
struct Plan {
    /// The session whose first records it copies, and how many.
    copied: Option<(prop::sample::Index, usize)>,
    answers: Vec<Answer>,
    agent: Agent,
    project: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agent {
    Pi,
    Claude,
    Codex,
}

#[derive(Debug, Clone)]
struct Answer {
    hours: u32,
    model: u8,
    tokens: [u16; 4],
    /// In millionths of a dollar.
    cost: Option<u32>,
    is_named: bool,
    /// The number of records that report it.
    records: u8,
}

fn answer() -> impl Strategy<Value = Answer> {
    let cost = prop::option::of(0..2_000_000_u32);
    (0..2000_u32, 0..4_u8, any::<[u16; 4]>(), cost, any::<bool>(), 1..4_u8).prop_map(
        |(hours, model, tokens, cost, is_named, records)| Answer {
            hours,
            model,
            tokens,
            cost,
            is_named,
            records,
        },
    )
}

fn plan() -> impl Strategy<Value = Plan> {
    let agent = prop_oneof![Just(Agent::Pi), Just(Agent::Claude), Just(Agent::Codex)];
    let copied = prop::option::of((any::<prop::sample::Index>(), 1..8_usize));
    (copied, prop::collection::vec(answer(), 0..6), agent, 0..3_u8)
        .prop_map(|(copied, answers, agent, project)| Plan { copied, answers, agent, project })
}

fn time(hours: u32, record: u8) -> String {
    treering::time::format(1_767_225_600_000 + i64::from(hours) * 3_600_000 + i64::from(record))
}

/// Returns the records of an answer; `number` is of that answer alone.
fn records(agent: Agent, number: usize, answer: &Answer, total: &mut [u64; 2]) -> Vec<String> {
    let Answer { hours, model, tokens, cost, is_named, records } = answer;
    let [input, output, read, write] = tokens;
    match agent {
        Agent::Pi => {
            let cost = match cost {
                Some(cost) => format!("{{\"total\":{}}}", f64::from(*cost) / 1e6),
                None => "null".to_owned(),
            };
            let name =
                if *is_named { format!(",\"responseId\":\"r{number}\"") } else { String::new() };
            let model = ["claude-sonnet-4-5", "m2", "m3", "m4"][usize::from(*model)];
            vec![format!(
                "{{\"type\":\"message\",\"id\":\"a{number}\",\"parentId\":null,\"timestamp\":\"{}\",\"message\":{{\"role\":\"assistant\",\"content\":[],\"provider\":\"anthropic\",\"model\":\"{model}\",\"usage\":{{\"input\":{input},\"output\":{output},\"cacheRead\":{read},\"cacheWrite\":{write},\"cost\":{cost}}}{name}}}}}",
                time(*hours, 0)
            )]
        }
        Agent::Claude => {
            let model =
                ["claude-opus-4-5", "claude-haiku-4-5-20251001", "x", "y"][usize::from(*model)];
            let record = |record: u8| {
                let output = u32::from(*output) * u32::from(record + 1) / u32::from(*records);
                format!(
                    "{{\"type\":\"assistant\",\"uuid\":\"u{number}-{record}\",\"parentUuid\":null,\"isSidechain\":false,\"sessionId\":\"s\",\"cwd\":\"/p\",\"timestamp\":\"{}\",\"requestId\":\"q{number}\",\"message\":{{\"id\":\"m{number}\",\"role\":\"assistant\",\"model\":\"{model}\",\"content\":[],\"usage\":{{\"input_tokens\":{input},\"output_tokens\":{output},\"cache_read_input_tokens\":{read},\"cache_creation_input_tokens\":{write},\"cache_creation\":{{\"ephemeral_1h_input_tokens\":{}}}}}}}}}",
                    time(*hours, record),
                    write / 2
                )
            };
            (0..*records).map(record).collect()
        }
        Agent::Codex => {
            let model = ["gpt-5", "gpt-5-codex", "x", "y"][usize::from(*model)];
            let input = u64::from(*input) + u64::from(*read);
            *total = [total[0] + input, total[1] + u64::from(*output)];
            let count = format!(
                "{{\"timestamp\":\"{}\",\"type\":\"event_msg\",\"payload\":{{\"type\":\"token_count\",\"info\":{{\"total_token_usage\":{{\"input_tokens\":{},\"cached_input_tokens\":0,\"output_tokens\":{},\"total_tokens\":{}}},\"last_token_usage\":{{\"input_tokens\":{input},\"cached_input_tokens\":{read},\"output_tokens\":{output},\"total_tokens\":{}}}}}}}}}",
                time(*hours, 1),
                total[0],
                total[1],
                total[0] + total[1],
                input + u64::from(*output)
            );
            let turn = format!(
                "{{\"timestamp\":\"{}\",\"type\":\"turn_context\",\"payload\":{{\"model\":\"{model}\"}}}}",
                time(*hours, 0)
            );
            std::iter::once(turn).chain((0..*records).map(|_| count.clone())).collect()
        }
    }
}

fn header(agent: Agent, at: usize, parent: Option<usize>, project: u8) -> String {
    let time = time(0, at as u8);
    match agent {
        Agent::Pi => format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"s{at}\",\"timestamp\":\"{time}\",\"cwd\":\"/p{project}\"}}"
        ),
        Agent::Claude => format!(
            "{{\"type\":\"user\",\"uuid\":\"h{at}\",\"parentUuid\":null,\"isSidechain\":false,\"sessionId\":\"s{at}\",\"cwd\":\"/p{project}\",\"timestamp\":\"{time}\",\"message\":{{\"role\":\"user\",\"content\":\"hello\"}}}}"
        ),
        Agent::Codex => {
            let forked = parent.map(|parent| format!(",\"forked_from_id\":\"s{parent}\""));
            format!(
                "{{\"timestamp\":\"{time}\",\"type\":\"session_meta\",\"payload\":{{\"id\":\"s{at}\",\"timestamp\":\"{time}\",\"cwd\":\"/p{project}\",\"originator\":\"codex\",\"cli_version\":\"1\"{}}}}}",
                forked.unwrap_or_default()
            )
        }
    }
}

/// Writes the sessions. A copy is of a session of the same agent, from its beginning.
fn write(dir: &Path, plans: &[Plan]) {
    let mut written: Vec<(Agent, Vec<Vec<String>>, [u64; 2])> = Vec::new();
    let mut number = 0;
    for (at, plan) in plans.iter().enumerate() {
        let same = |other: &usize| written[*other].0 == plan.agent;
        let others: Vec<usize> = (0..at).filter(same).collect();
        let copied = plan.copied.as_ref().filter(|_| !others.is_empty());
        let parent = copied.map(|(index, _)| others[index.index(others.len())]);
        let mut answers: Vec<Vec<String>> = Vec::new();
        let mut total = [0, 0];
        if let (Some(parent), Some((_, count))) = (parent, copied) {
            // A fork of Codex continues the totals of what it copied, which only a whole copy contains.
            let count = if plan.agent == Agent::Codex { usize::MAX } else { *count };
            answers.extend(written[parent].1.iter().take(count).cloned());
            total = written[parent].2;
        }
        for answer in &plan.answers {
            number += 1;
            answers.push(records(plan.agent, number, answer, &mut total));
        }
        let mut text = header(plan.agent, at, parent, plan.project) + "\n";
        answers.iter().flatten().for_each(|line| writeln!(text, "{line}").unwrap());
        let path = dir.join(format!("s{at}.jsonl"));
        std::fs::write(&path, text).unwrap();
        // Old enough to be remembered.
        let time = UNIX_EPOCH + Duration::from_secs(1_767_000_000);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        written.push((plan.agent, answers, total));
    }
}

fn sessions(found: &UsageContents) -> Vec<UsageSession<'_>> {
    let session = |info| Some(UsageSession { info, events: found.events.get(&info.path)? });
    found.contents.sessions.iter().filter_map(session).collect()
}

/// Returns the rows of every report by name, with their sums.
fn reports(found: &UsageContents) -> BTreeMap<(usize, String), (Usage, usize)> {
    const ALL: [GroupBy; 7] = [
        GroupBy::Day,
        GroupBy::Week,
        GroupBy::Month,
        GroupBy::Project,
        GroupBy::Agent,
        GroupBy::Model,
        GroupBy::Session,
    ];
    let counted = UsageEvents::count(found.seed, &sessions(found), &Prices::published());
    let mut rows = BTreeMap::new();
    for (at, by) in ALL.into_iter().enumerate() {
        let report = counted.report(by, &Zone::utc());
        let sum: Usage = report.rows.iter().map(|row| row.usage).sum();
        assert_eq!((sum, report.total.usage), (counted.usage(), counted.usage()), "{by:?}");
        for row in report.rows {
            let models: Usage = row.models.iter().map(|(_, usage)| *usage).sum();
            assert_eq!(models, row.usage, "{by:?}");
            rows.insert((at, row.name), (row.usage, row.sessions));
        }
    }
    let blocks: Usage = counted.blocks().iter().map(|block| block.row.usage).sum();
    assert_eq!(blocks, counted.usage());
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn all_reports_have_the_sum_of_the_ledger_and_the_cache_changes_nothing(
        plans in prop::collection::vec(plan(), 1..7),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let files = dir.path().join("sessions");
        std::fs::create_dir(&files).unwrap();
        write(&files, &plans);
        let cache = dir.path().join("cache").join("index");
        let places = Places::default().only([files]);
        let plain = SessionIndex::new(places).with_cache(None);
        let cached = plain.clone().with_cache(Some(cache));
        let found = plain.read_usage(|_| {});
        let rows = reports(&found);
        let (first, second) = (cached.read_usage(|_| {}), cached.read_usage(|_| {}));
        prop_assert_eq!(second.contents.read, 0, "everything is in the cache");
        prop_assert_eq!(&rows, &reports(&first));
        prop_assert_eq!(&rows, &reports(&second));

        let mut ledger = Ledger::default().with_prices(Arc::new(Prices::published()));
        let mut infos = found.contents.sessions.clone();
        infos.sort_by_key(|info| info.created);
        for info in &infos {
            let session = Session::open(&info.path).unwrap();
            ledger.add(&session).unwrap();
            let alone = session.stats().unwrap().usage;
            let events = &found.events[&info.path];
            prop_assert_eq!(events.usage(), alone, "{:?}", info.path);
            prop_assert_eq!(info.tokens.unwrap_or_default(), alone.total());
        }
        let stats = ledger.stats();
        let counted =
            UsageEvents::count(found.seed, &sessions(&found), &Prices::published());
        prop_assert_eq!(counted.usage(), stats.usage);
        let models = counted.report(GroupBy::Model, &Zone::utc()).rows;
        let models: BTreeMap<String, Usage> =
            models.into_iter().map(|row| (row.name, row.usage)).collect();
        prop_assert_eq!(models, stats.by_model);
    }
}
