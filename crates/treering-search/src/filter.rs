//! The conditions of a query that are not about text: role, tool, agent, project, and time.
//!
//! Of several roles, tools, agents or models one must match; all other conditions must match.

use crate::file_filter::FileFilter;
use crate::term::{BadPattern, Term};
use regex::{Regex, RegexBuilder};
use treering::store::ListQuery;
use treering::{Dialect, Kind, Role};

#[derive(Debug, Clone, Default)]
pub(crate) struct Filters {
    pub roles: Vec<Speaker>,
    pub tools: Vec<ToolName>,
    pub agents: Vec<Dialect>,
    pub projects: Vec<Term>,
    pub models: Vec<Term>,
    pub since: Vec<Since>,
    pub before: Vec<Since>,
    pub labels: Vec<Term>,
    pub files: Vec<FileFilter>,
}

impl Filters {
    pub(crate) fn is_empty(&self) -> bool {
        !self.choose_entries() && !self.choose_sessions()
    }

    /// Returns whether there are conditions on entries.
    pub(crate) fn choose_entries(&self) -> bool {
        !self.roles.is_empty() || !self.tools.is_empty()
    }

    fn choose_sessions(&self) -> bool {
        let Filters { agents, projects, models, since, before, labels, files, .. } = self;
        !(agents.is_empty()
            && projects.is_empty()
            && models.is_empty()
            && since.is_empty()
            && before.is_empty()
            && labels.is_empty()
            && files.is_empty())
    }

    pub(crate) fn fits_role(&self, kind: Kind, role: Option<Role>) -> bool {
        self.roles.is_empty() || self.roles.iter().any(|wanted| wanted.is(kind, role))
    }

    pub(crate) fn fits_tool(&self, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|wanted| wanted.0.is_match(tool))
    }

    pub(crate) fn fits_agent(&self, agent: Dialect) -> bool {
        self.agents.is_empty() || self.agents.contains(&agent)
    }

    /// Returns whether the time of a session's last message matches. All times are in Unix
    /// milliseconds.
    pub(crate) fn fits_time(&self, modified: i64, now: i64) -> bool {
        self.since(now).is_none_or(|since| modified >= since)
            && self.before.iter().all(|before| modified < before.at(now))
    }

    /// Returns whether the time of the last message is needed to decide whether a session matches.
    pub(crate) fn asks_for_time(&self) -> bool {
        !self.since.is_empty() || !self.before.is_empty()
    }

    /// Returns the time after which a session must have been modified, in Unix milliseconds.
    pub(crate) fn since(&self, now: i64) -> Option<i64> {
        self.since.iter().map(|since| since.at(now)).max()
    }

    /// Returns the conditions that a store can check before a session is read.
    pub(crate) fn list_query(&self, now: i64) -> ListQuery {
        let mut query = ListQuery::new();
        if let Some(since) = self.since(now) {
            query = query.since(since);
        }
        if let Some(until) = self.before.iter().map(|before| before.at(now)).min() {
            query = query.until(until);
        }
        match *self.agents {
            [agent] => query.agent(agent),
            _ => query,
        }
    }

    #[cfg(test)]
    pub(crate) fn shown(&self) -> String {
        let mut all = Vec::new();
        all.extend(self.roles.iter().map(|role| format!("role:{}", role.name())));
        all.extend(self.tools.iter().map(|tool| format!("tool:{}", tool.0)));
        all.extend(self.agents.iter().map(|agent| format!("agent:{agent}")));
        all.extend(self.projects.iter().map(|term| format!("project:{}", term.source())));
        all.extend(self.models.iter().map(|term| format!("model:{}", term.source())));
        all.extend(self.before.iter().map(|time| format!("before:{time:?}")));
        all.extend(self.since.iter().map(|since| format!("since:{since:?}")));
        all.extend(self.labels.iter().map(|term| format!("label:{}", term.source())));
        all.extend(self.files.iter().map(|file| format!("file:{}", file.text())));
        all.join(" ")
    }
}

/// The role or type of an entry, with the names of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    User,
    Assistant,
    Tool,
    Bash,
    System,
    Custom,
    Summary,
    Label,
    Name,
}

const SPEAKERS: [Speaker; 9] = [
    Speaker::User,
    Speaker::Assistant,
    Speaker::Tool,
    Speaker::Bash,
    Speaker::System,
    Speaker::Custom,
    Speaker::Summary,
    Speaker::Label,
    Speaker::Name,
];

impl Speaker {
    fn name(self) -> &'static str {
        match self {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
            Speaker::Tool => "tool",
            Speaker::Bash => "bash",
            Speaker::System => "system",
            Speaker::Custom => "custom",
            Speaker::Summary => "summary",
            Speaker::Label => "label",
            Speaker::Name => "name",
        }
    }

    fn is(self, kind: Kind, role: Option<Role>) -> bool {
        match self {
            Speaker::User => role == Some(Role::User),
            Speaker::Assistant => role == Some(Role::Assistant),
            Speaker::Tool => role == Some(Role::ToolResult),
            Speaker::Bash => role == Some(Role::BashExecution),
            Speaker::System => role == Some(Role::System),
            Speaker::Custom => {
                role == Some(Role::Custom) || matches!(kind, Kind::CustomMessage | Kind::Custom)
            }
            Speaker::Summary => {
                matches!(kind, Kind::Compaction | Kind::BranchSummary)
                    || matches!(role, Some(Role::BranchSummary | Role::CompactionSummary))
            }
            Speaker::Label => kind == Kind::Label,
            Speaker::Name => kind == Kind::SessionInfo,
        }
    }
}

/// Returns the role that `role:` names.
pub(crate) fn role_of(name: &str) -> Result<Speaker, String> {
    let lower = name.to_lowercase();
    let lower = if lower == "toolresult" { "tool" } else { &lower };
    SPEAKERS.into_iter().find(|speaker| speaker.name() == lower).ok_or_else(|| {
        let names = SPEAKERS.map(Speaker::name).join(", ");
        format!("no role is named {name:?}; there are {names}")
    })
}

/// The complete name of a tool, ignoring case; `*` matches anything.
#[derive(Debug, Clone)]
pub(crate) struct ToolName(Regex);

impl ToolName {
    pub(crate) fn new(name: &str) -> Result<Self, BadPattern> {
        let pattern = regex::escape(name).replace(r"\*", ".*");
        let regex = RegexBuilder::new(&format!("^(?:{pattern})$")).case_insensitive(true).build();
        let regex = regex.map_err(|error| BadPattern { at: None, message: error.to_string() })?;
        Ok(ToolName(regex))
    }
}

/// Returns the agent with a name or an alias, ignoring case: `claude` is Claude Code.
///
/// # Errors
///
/// Returns a message for users if no agent has that name.
pub fn agent(name: &str) -> Result<Dialect, String> {
    let name = name.to_lowercase();
    let is_alias = |dialect: &Dialect| dialect.aliases().contains(&name.as_str());
    match Dialect::ALL.into_iter().find(is_alias) {
        Some(dialect) => Ok(dialect),
        None => name.parse().map_err(|_: treering::dialect::UnknownDialect| {
            let names = Dialect::ALL.map(Dialect::name).join(", ");
            format!("no agent is named {name:?}; there are {names}")
        }),
    }
}

/// A point in time, as users write it: a date, or an age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// A time, in Unix milliseconds.
    At(i64),
    /// An age, in milliseconds.
    Ago(i64),
    /// The beginning of a day, this many days before today. Days begin at midnight UTC, as dates
    /// do.
    DaysBack(i64),
}

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

impl Since {
    /// Parses `12h`, `7d`, `2w`, `3mo`, `1y`, `today`, `yesterday` or a date such as `2026-01-31`.
    ///
    /// # Errors
    ///
    /// Returns a message for users if the text is none of these.
    pub fn parse(text: &str) -> Result<Self, String> {
        let since = match text {
            "today" => Some(Since::DaysBack(0)),
            "yesterday" => Some(Since::DaysBack(1)),
            _ => treering::time::parse(text).map(Since::At).or_else(|| age(text).map(Since::Ago)),
        };
        since.ok_or_else(|| {
            format!("{text:?} is not a time: write 2026-01-31, 2026-01-31T09:00:00Z, today, yesterday, or an age such as 90min, 12h, 7d, 2w, 3mo, 1y")
        })
    }

    /// Returns the point in time in Unix milliseconds, relative to `now`.
    pub fn at(self, now: i64) -> i64 {
        match self {
            Since::At(time) => time,
            Since::Ago(age) => now.saturating_sub(age),
            Since::DaysBack(days) => {
                let today = now.saturating_sub(now.rem_euclid(DAY));
                today.saturating_sub(days.saturating_mul(DAY))
            }
        }
    }
}

fn age(text: &str) -> Option<i64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    let unit = match unit {
        "m" | "min" => HOUR / 60,
        "h" => HOUR,
        "d" => DAY,
        "w" => 7 * DAY,
        "mo" | "mon" => 30 * DAY,
        "y" => 365 * DAY,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_every_form() {
        let at = |text: &str| Since::parse(text).map(|time| time.at(1_000 * DAY));
        assert_eq!(at("2026-01-05"), Ok(1_767_571_200_000));
        assert_eq!(at("2026-01-05T09:00:00Z"), Ok(1_767_603_600_000));
        assert_eq!(at("2026-01-05T09:00"), Ok(1_767_603_600_000));
        assert_eq!(at("2d"), Ok(998 * DAY));
        let later = |text: &str| Since::parse(text).map(|time| time.at(1_000 * DAY + HOUR));
        assert_eq!((later("today"), later("yesterday")), (Ok(1_000 * DAY), Ok(999 * DAY)));
        assert_eq!(at("1y"), Ok(635 * DAY));
        assert_eq!((at("90m"), at("90min")), (Ok(1_000 * DAY - HOUR * 3 / 2), at("90m")));
        assert_eq!((at("3mo"), at("3mon")), (Ok(910 * DAY), Ok(910 * DAY)));
        for bad in ["", "d", "7", "7x", "99999999999999999999d", "-1d", "2026-13-01"] {
            assert!(at(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn tools_are_named_whole() {
        let fits = |name: &str, tool: &str| ToolName::new(name).unwrap().0.is_match(tool);
        assert!(fits("bash", "Bash") && !fits("bash", "bash2"));
        assert!(fits("mcp__*", "mcp__web__fetch") && !fits("a.b", "axb"));
    }
}
