//! Tests of the list against its definition, for families of any shape.

use super::super::{PickerEvent, PickerState, Sort, update};
use super::{session, start};
use crate::testing::press;
use proptest::prelude::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use treering::catalog::SessionInfo;

/// Sessions with parents by path, by id, by nothing or by nonsense: themselves and cycles included.
fn family() -> impl Strategy<Value = Vec<SessionInfo>> {
    let one = (0..20_i64, 0..12_usize, 0..5_u8, any::<bool>(), any::<bool>());
    prop::collection::vec(one, 0..12).prop_map(|all| {
        let named = |(at, (minutes, parent, how, has_name, is_here)): (usize, _)| {
            let parent_session = match how {
                0 => None,
                1 => Some(format!("{parent}")),
                2 => Some(format!("/old/2026_{parent}.jsonl")),
                _ => Some(format!("/s/{parent}")),
            };
            let text = if has_name { "with a name" } else { "plain" };
            let mut info = session(&at.to_string(), minutes, text);
            info.parent_session = parent_session;
            info.name = has_name.then(|| "name".to_owned());
            info.cwd = if is_here { "/h/tea".into() } else { "/x".into() };
            info
        };
        all.into_iter().enumerate().map(named).collect()
    })
}

/// Returns the session that a parent's name means, said in the simplest way.
fn parent_of<'a>(info: &SessionInfo, all: &'a [SessionInfo]) -> Option<&'a SessionInfo> {
    let named = info.parent_session.as_deref()?;
    let id = named.rsplit(['/', '_']).next()?.trim_end_matches(".jsonl");
    all.iter().find(|other| other.id == id && other.id != info.id)
}

/// Everything above a session, nearest first, each once.
fn above<'a>(info: &SessionInfo, all: &'a [SessionInfo]) -> Vec<&'a SessionInfo> {
    let mut found: Vec<&SessionInfo> = Vec::new();
    let mut at = parent_of(info, all);
    while let Some(parent) = at.filter(|parent| !found.contains(parent)) {
        found.push(parent);
        at = parent_of(parent, all);
    }
    found
}

fn listed(state: &PickerState) -> Vec<(PathBuf, u32, Option<PathBuf>)> {
    let path = |row: usize| state.path(row).map(Path::to_owned);
    let rows = state.rows().all().iter().enumerate();
    rows.map(|(at, row)| {
        (path(at).unwrap(), row.level, row.parent.and_then(|parent| path(parent as usize)))
    })
    .collect()
}

fn picker(batches: impl IntoIterator<Item = Vec<SessionInfo>>) -> PickerState {
    let mut state = PickerState::new(start());
    for batch in batches {
        (state, _) = update(state, PickerEvent::Found(batch, None));
    }
    state
}

proptest! {
    #[test]
    fn every_session_is_listed_once_and_below_its_parent(all in family(), keys in 0..4_usize) {
        let keys = ["", "Ctrl+N", "Ctrl+A", "Ctrl+N Ctrl+A"][keys];
        let is_listed = |info: &SessionInfo| {
            (!keys.contains("Ctrl+N") || info.name.is_some())
                && (!keys.contains("Ctrl+A") || info.cwd == "/h/tea")
        };
        let (state, _) = press(picker([all.clone()]), keys);
        let rows = listed(&state);
        let mut paths: Vec<&PathBuf> = rows.iter().map(|(path, ..)| path).collect();
        let mut expected: Vec<&PathBuf> =
            all.iter().filter(|info| is_listed(info)).map(|info| &info.path).collect();
        paths.sort();
        expected.sort();
        prop_assert_eq!(paths, expected);
        let levels: HashMap<&PathBuf, u32> =
            rows.iter().map(|(path, level, _)| (path, *level)).collect();
        let mut opened = 0;
        for (path, level, parent) in &rows {
            let info = all.iter().find(|info| info.path == *path).unwrap();
            let ancestors = above(info, &all);
            let nearest = ancestors.iter().find(|parent| is_listed(parent)).map(|one| &one.path);
            let is_in_cycle = ancestors.iter().any(|one| one.path == *path);
            match parent {
                // A cycle is opened at one place.
                None if nearest.is_some() => {
                    prop_assert!(is_in_cycle || ancestors.iter().any(|one| above(one, &all).contains(one)));
                    opened += 1;
                }
                parent => prop_assert!(is_in_cycle || parent.as_ref() == nearest),
            }
            prop_assert_eq!(*level, parent.as_ref().map_or(0, |parent| levels[parent] + 1));
        }
        prop_assert!(opened <= all.len() / 2);
    }

    #[test]
    fn the_order_of_arrival_does_not_matter(
        all in family(),
        shuffled in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        sort in 0..3_usize,
    ) {
        let keys = "Ctrl+S ".repeat(sort);
        let at_once = press(picker([all.clone()]), &keys).0;
        let mut other = all.clone();
        if !other.is_empty() {
            let turn = shuffled.index(other.len());
            other.rotate_left(turn);
            other.reverse();
        }
        let late = other.split_off(if other.is_empty() { 0 } else { cut.index(other.len()) });
        // Some are found twice, first as they were.
        let stale = all.iter().take(3).cloned();
        let stale = stale.map(|mut info| {
            (info.modified, info.parent_session) = (0, None);
            info
        });
        let bit_by_bit = press(picker([stale.collect(), late, other]), &keys).0;
        prop_assert_eq!(listed(&bit_by_bit), listed(&at_once));
    }

    #[test]
    fn a_family_is_sorted_by_its_newest_member(all in family()) {
        let state = picker([all.clone()]);
        let modified = |path: &PathBuf| state.session(path).unwrap().modified;
        let mut threads: Vec<i64> = Vec::new();
        for (path, level, _) in listed(&state) {
            match threads.last_mut().filter(|_| level > 0) {
                Some(newest) => *newest = modified(&path).max(*newest),
                None => threads.push(modified(&path)),
            }
        }
        prop_assert!(threads.is_sorted_by(|a, b| a >= b), "{:?}", threads);
    }
}

#[test]
fn a_long_line_of_forks_is_no_deep_stack() {
    const COUNT: usize = 10_000;
    let chain = |at: usize| {
        let text = if at.is_multiple_of(100) { "mark" } else { "x" };
        let mut info = session(&at.to_string(), at as i64, text);
        info.parent_session = Some(format!("/s/{}", (at + 1) % COUNT));
        info
    };
    // A single cycle of all of them, opened at the oldest.
    let state = picker([(0..COUNT).map(chain).collect()]);
    assert_eq!(state.rows().len(), COUNT);
    assert_eq!(state.rows().all().last().map(|row| row.level), Some(COUNT as u32 - 1));
    assert_eq!(state.rows.gutter(COUNT - 1, 3), "…     └─ ");
    let (state, _) = press(state, "mark");
    assert_eq!(state.rows().all().last().map(|row| row.level), Some(COUNT as u32 / 100 - 1));
    assert_eq!(press(state, "Ctrl+S").0.sort(), Sort::Recent);
}
