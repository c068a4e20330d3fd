//! Tests of the layout against its definition, on trees of all shapes.

use super::{Connector, Fold, Outline, TreeRow, TreeRows};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use treering::storage::MemoryJournal;
use treering::{CreateOptions, Session};
use treering_testkit::generate::small;

fn session(bytes: &[u8]) -> Session {
    let journal = Arc::new(MemoryJournal::new(bytes.to_vec()));
    Session::in_journal(journal, "/project", CreateOptions::new()).unwrap()
}

/// Returns the gutter and the id of each row, one per line.
fn picture(outline: &Outline, rows: &TreeRows) -> String {
    let row = |(at, row): (usize, &TreeRow)| {
        format!("{}{}\n", rows.gutter(at, 0, usize::MAX), outline.id(row.node))
    };
    rows.all().iter().enumerate().map(row).collect()
}

fn outline_of(links: &[(&str, &str)], leaf: &str) -> Outline {
    let mut log = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"cwd\":\"/p\"}\n",
    );
    for (minute, (id, parent)) in links.iter().enumerate() {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        log.push_str(&format!(
            "{{\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-01-05T09:{minute:02}:00.000Z\",\
             \"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"x\"}}}}\n"
        ));
    }
    Outline::new(&session(log.as_bytes()).tree(), Some(leaf))
}

#[test]
fn the_active_path_is_a_column_and_branches_hang_on_it() {
    let links = [("a", ""), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "c"), ("f", "e"), ("k", "f")];
    let links = [&links[..], &[("g", "b"), ("h", "g"), ("i", "h")]].concat();
    let outline = outline_of(&links, "f");
    let rows = TreeRows::lay_out(&outline, |_| true, |_| false);
    assert_eq!(
        picture(&outline, &rows),
        "a\n\
         b\n\
         ├⊟ g\n\
         │  h\n\
         │  i\n\
         c\n\
         ├─ d\n\
         e\n\
         f\n\
         k\n"
    );
    let place = |id| (0..).find(|node| outline.id(*node) == id).unwrap();
    let (c, g) = (place("c"), place("g"));
    let rows = TreeRows::lay_out(&outline, |_| true, |node| node == g);
    assert_eq!(picture(&outline, &rows), "a\nb\n├⊞ g\nc\n├─ d\ne\nf\nk\n");
    // Without the branch point its children hang on the entry above it.
    let rows = TreeRows::lay_out(&outline, |node| node != c, |_| false);
    assert_eq!(picture(&outline, &rows), "a\nb\n├⊟ g\n│  h\n│  i\n├─ d\ne\nf\nk\n");
    // A branch stays a branch if the entry that continues its parent is hidden.
    let is_seen = |node: u32| ["b", "g", "h"].contains(&outline.id(node));
    let rows = TreeRows::lay_out(&outline, is_seen, |_| false);
    assert_eq!(picture(&outline, &rows), "b\n└⊟ g\n   h\n");
}

#[test]
fn branches_off_one_line_take_one_level_however_many_they_are() {
    let mut links = vec![("r".to_owned(), String::new())];
    for at in 0..18 {
        let above = links.last().unwrap().0.clone();
        links.push((format!("side{at}"), above.clone()));
        links.push((format!("main{at}"), above));
    }
    let links: Vec<_> = links.iter().map(|(id, parent)| (id.as_str(), parent.as_str())).collect();
    let rows = TreeRows::lay_out(&outline_of(&links, "main17"), |_| true, |_| false);
    assert_eq!(rows.all().iter().map(|row| row.level).max(), Some(1));
    assert_eq!(rows.all().iter().filter(|row| row.level == 1).count(), 18);
}

#[test]
fn other_roots_come_before_the_active_one() {
    let outline = outline_of(&[("a", ""), ("b", ""), ("c", "b"), ("d", "")], "c");
    let rows = TreeRows::lay_out(&outline, |_| true, |_| false);
    assert_eq!(picture(&outline, &rows), "┌─ a\n├─ d\nb\nc\n");
    let rows = TreeRows::lay_out(&outline, |_| false, |_| false);
    assert!(rows.is_empty() && rows.nearest(0).is_none());
}

#[test]
fn a_part_of_a_gutter_is_that_part_of_the_whole() {
    let outline = Outline::of(&session(&small(3, 300)));
    let rows = TreeRows::lay_out(&outline, |_| true, |_| false);
    for at in 0..rows.len() {
        let whole: Vec<char> = rows.gutter(at, 0, usize::MAX).chars().collect();
        assert_eq!(whole.len(), rows.get(at).unwrap().level as usize * 3);
        for (from, to) in [(0, 1), (1, 3), (2, 2), (4, 99)] {
            let part: Vec<char> = rows.gutter(at, from, to).chars().collect();
            let (from, to) = ((from * 3).min(whole.len()), (to * 3).min(whole.len()));
            assert_eq!(part, whole[from..to.max(from)], "{at}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Every visible entry appears once, under its nearest visible ancestor, with the active path
    /// unindented.
    #[test]
    fn the_layout_equals_its_definition(
        seed in any::<u64>(),
        count in 0_usize..80,
        seen in any::<u128>(),
        folds in any::<u128>(),
        leaf in any::<prop::sample::Index>(),
    ) {
        let session = session(&small(seed, count));
        let tree = session.tree();
        let ids: Vec<_> = tree.ids().collect();
        let leaf = (!ids.is_empty()).then(|| leaf.get(&ids).clone());
        let outline = Outline::new(&tree, leaf.as_ref().map(|leaf| leaf.as_str()));
        prop_assert_eq!(outline.len(), tree.len());
        let is_seen = |node: u32| seen >> (node % 128) & 1 == 1;
        let rows = TreeRows::lay_out(&outline, is_seen, |_| false);

        let shown: Vec<&str> = rows.all().iter().map(|row| outline.id(row.node)).collect();
        let places: HashMap<&str, usize> = shown.iter().zip(0..).map(|(id, at)| (*id, at)).collect();
        prop_assert_eq!(places.len(), shown.len());
        prop_assert_eq!(shown.len(), (0..outline.len() as u32).filter(|node| is_seen(*node)).count());

        let path = leaf.map(|leaf| tree.path(leaf.as_str()).unwrap()).unwrap_or_default();
        let parent = |id: &str| tree.parent(id).unwrap().map(|id| id.to_string());
        let walked: Vec<&str> = tree.walk().map(|item| item.id).collect();
        // The child that continues each entry: the active one, else the last of the largest.
        let mut sizes: HashMap<String, usize> = HashMap::new();
        for id in walked.iter().rev() {
            let size = *sizes.entry((*id).to_owned()).and_modify(|size| *size += 1).or_insert(1);
            if let Some(above) = parent(id) {
                *sizes.entry(above).or_insert(0) += size;
            }
        }
        let mut next: HashMap<Option<String>, &str> = HashMap::new();
        for id in &walked {
            let known = next.entry(parent(id)).or_insert(id);
            if sizes[*id] >= sizes[*known] {
                *known = id;
            }
        }
        for id in &path {
            next.insert(parent(id.as_str()), id.as_str());
        }
        let deepest = (usize::BITS - tree.len().leading_zeros()) as usize;
        for (at, id) in shown.iter().enumerate() {
            let mut above = parent(id);
            let mut is_side = next[&above] != *id;
            while let Some(hidden) = above.clone().filter(|id| !places.contains_key(id.as_str())) {
                above = parent(&hidden);
                is_side |= next[&above] != hidden;
            }
            let above = above.map(|id| places[id.as_str()]);
            prop_assert_eq!(rows.parent(at), above);
            let row = rows.get(at).unwrap();
            prop_assert_eq!(row.connector != Connector::Straight, is_side);
            let base = above.map_or(0, |above| rows.get(above).unwrap().level);
            prop_assert_eq!(row.level, base + u32::from(is_side));
            prop_assert!(row.level as usize <= deepest + 1);
            // Side branches come before the continuation.
            let later = (at + 1..shown.len()).any(|other| rows.parent(other) == above);
            prop_assert_eq!(row.connector == Connector::Tee, is_side && later);
            prop_assert!(is_side || !later);
            if path.iter().any(|on| on.as_str() == *id) {
                prop_assert_eq!((row.level, row.connector), (0, Connector::Straight));
            }
        }

        // Entries below a closed row are hidden, all others are visible.
        let is_folded = |node: u32| folds >> (node % 128) & 1 == 1;
        let folded = TreeRows::lay_out(&outline, is_seen, is_folded);
        let mut expected = Vec::new();
        let mut hidden = vec![false; rows.len()];
        for (at, row) in rows.all().iter().enumerate() {
            hidden[at] = rows.parent(at).is_some_and(|above| {
                let closes = rows.get(above).unwrap();
                hidden[above] || (closes.fold == Fold::Open && is_folded(closes.node))
            });
            if !hidden[at] {
                expected.push(row.node);
            }
        }
        let nodes: Vec<u32> = folded.all().iter().map(|row| row.node).collect();
        prop_assert_eq!(nodes, expected);
        for node in 0..outline.len() as u32 {
            let mut above = Some(node);
            let place = |node: u32| folded.all().iter().position(|row| row.node == node);
            while let Some(hidden) = above.filter(|node| place(*node).is_none()) {
                above = outline.parent(hidden);
            }
            if let Some(above) = above {
                prop_assert_eq!(folded.nearest(node), place(above));
            }
        }
    }
}

#[test]
fn long_chains_and_wide_stars_are_no_problem() {
    use treering_testkit::generate::{chain, star};
    for make in [chain, star] {
        let mut log = Vec::new();
        make(&mut log, 1, 50_000).unwrap();
        let outline = Outline::of(&session(&log));
        let rows = TreeRows::lay_out(&outline, |node| node % 3 != 0, |node| node % 7 == 0);
        for at in 0..rows.len() {
            rows.gutter(at, 0, 40);
        }
        assert!(!rows.is_empty());
    }
}
