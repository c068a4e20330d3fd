//! The session picker as a whole: keys in tables, layouts against the definition, screens.

mod keys;
mod layout;
mod screens;

use super::{PickerEvent, PickerOptions, PickerState, Scope, update};
use treering::catalog::SessionInfo;
use treering::{Dialect, SessionId};
use treering_index::Project;

/// The time of all tests, in Unix milliseconds.
const NOW: i64 = 1_767_603_620_000;
const MINUTE: i64 = 60_000;

/// Returns a session of the project `/h/tea` that was used `minutes` ago. Its file is `/s/ID`.
fn session(id: &str, minutes: i64, first_message: &str) -> SessionInfo {
    let mut info = SessionInfo::new(format!("/s/{id}"), Dialect::Pi, SessionId::of_file(id));
    info.cwd = "/h/tea".to_owned();
    info.created = Some(NOW - 2 * minutes * MINUTE);
    info.modified = NOW - minutes * MINUTE;
    info.message_count = minutes as usize;
    info.entry_count = minutes as usize + 2;
    info.branch_count = 1;
    info.tokens = Some(1200);
    info.first_message = first_message.to_owned();
    info.size = 1000 * minutes as u64;
    info
}

/// Two threads and two single sessions. `d` is of another project, `b` and `e` have names.
fn sample() -> Vec<SessionInfo> {
    let below = |parent: &str, mut info: SessionInfo| {
        info.parent_session = Some(parent.into());
        info
    };
    let named = |name: &str, mut info: SessionInfo| {
        info.name = Some(name.into());
        info
    };
    let mut other = session("d", 30, "Grind the beans");
    other.cwd = "/h/coffee".into();
    other.agent = Dialect::Codex;
    vec![
        session("a", 300, "Boil the water"),
        below("/s/a", named("Kettle", session("b", 200, "Which kettle is the best one?"))),
        below("b", session("c", 5, "Try the blue kettle")),
        other,
        below("a", named("Water again", session("e", 60, "Is it warm?"))),
        session("f", 3000, ""),
    ]
}

fn start() -> PickerOptions {
    PickerOptions {
        project: Project::new("/h/tea"),
        scope: Scope::All,
        home: Some("/h".into()),
        open: Some("/s/e".into()),
        has_trash: true,
        now: NOW,
        recent_queries: Vec::new(),
    }
}

/// A picker that knows these sessions, and that there are no others.
fn knowing(sessions: Vec<SessionInfo>) -> PickerState {
    let (state, _) = update(PickerState::new(start()), PickerEvent::Found(sessions, None));
    update(state, PickerEvent::Complete).0
}

/// The ids of the rows, by their level, the selected one in brackets.
fn shown(state: &PickerState) -> String {
    let selected = state.selected();
    let rows = state.rows().all().iter().zip(0..).map(|(row, at)| {
        let path = state.path(at).unwrap();
        let id = path.file_name().unwrap().to_str().unwrap();
        let level = ".".repeat(row.level as usize);
        if selected == Some(path) { format!("{level}[{id}]") } else { format!("{level}{id}") }
    });
    rows.collect::<Vec<_>>().join(" ")
}
