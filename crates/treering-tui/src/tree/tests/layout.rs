//! The layout against its definition, on trees of all shapes.

use super::super::{Fold, Joint, Outline, Rows};
use super::session;
use proptest::prelude::*;
use std::collections::HashMap;
use treering_testkit::generate::small;

/// Returns a gutter and an id for each row, for people.
fn picture(outline: &Outline, rows: &Rows) -> String {
    let row = |(at, row): (usize, &super::super::Row)| {
        format!("{}{}\n", rows.gutter(at, 0, usize::MAX), outline.id(row.node))
    };
    rows.all().iter().enumerate().map(row).collect()
}

fn outline_of(links: &[(&str, &str)], leaf: &str) -> Outline {
    let mut log = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"cwd\":\"/p\"}\n",
    );
    for (minute, (id, parent)) in links.iter().enumerate() {
        log.push_str(&super::line(id, parent, minute, &super::message("user", "\"x\"")));
    }
    Outline::new(&session(log.as_bytes()).tree(), Some(leaf))
}

#[test]
fn runs_are_flat_and_branches_are_indented() {
    let links = [("a", ""), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "c"), ("f", "e"), ("k", "f")];
    let links = [&links[..], &[("g", "b"), ("h", "g"), ("i", "h")]].concat();
    let outline = outline_of(&links, "f");
    let rows = Rows::lay_out(&outline, |_| true, |_| false);
    assert_eq!(
        picture(&outline, &rows),
        "a\n\
         b\n\
         ├⊟ c\n\
         │  ├⊟ e\n\
         │  │     f\n\
         │  │     k\n\
         │  └─ d\n\
         └⊟ g\n      h\n      i\n"
    );
    let c = (0..).find(|node| outline.id(*node) == "c").unwrap();
    let rows = Rows::lay_out(&outline, |_| true, |node| node == c);
    assert_eq!(picture(&outline, &rows), "a\nb\n├⊞ c\n└⊟ g\n      h\n      i\n");
    // Without the branch point its children hang on the entry above it.
    let rows = Rows::lay_out(&outline, |node| node != c, |_| false);
    assert_eq!(
        picture(&outline, &rows),
        "a\nb\n├⊟ e\n│     f\n│     k\n├─ d\n└⊟ g\n      h\n      i\n"
    );
}

#[test]
fn several_roots_are_siblings_and_the_active_one_is_the_first() {
    let outline = outline_of(&[("a", ""), ("b", ""), ("c", "b"), ("d", "")], "c");
    let rows = Rows::lay_out(&outline, |_| true, |_| false);
    assert_eq!(picture(&outline, &rows), "├⊟ b\n│     c\n├─ a\n└─ d\n");
    let rows = Rows::lay_out(&outline, |_| false, |_| false);
    assert!(rows.is_empty() && rows.nearest(0).is_none());
}

#[test]
fn a_part_of_a_gutter_is_that_part_of_the_whole() {
    let outline = Outline::of(&session(&small(3, 300)));
    let rows = Rows::lay_out(&outline, |_| true, |_| false);
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

    /// Every visible entry once, under its nearest visible ancestor, the active branch first.
    #[test]
    fn the_layout_is_what_it_is_said_to_be(
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
        let rows = Rows::lay_out(&outline, is_seen, |_| false);

        let shown: Vec<&str> = rows.all().iter().map(|row| outline.id(row.node)).collect();
        let places: HashMap<&str, usize> = shown.iter().zip(0..).map(|(id, at)| (*id, at)).collect();
        prop_assert_eq!(places.len(), shown.len());
        prop_assert_eq!(shown.len(), (0..outline.len() as u32).filter(|node| is_seen(*node)).count());

        let path = leaf.map(|leaf| tree.path(leaf.as_str()).unwrap()).unwrap_or_default();
        let mut first_child: HashMap<Option<usize>, usize> = HashMap::new();
        let mut active_child: HashMap<Option<usize>, usize> = HashMap::new();
        for (at, id) in shown.iter().enumerate() {
            let mut above = tree.parent(id).unwrap();
            while let Some(id) = above.clone().filter(|id| !places.contains_key(id.as_str())) {
                above = tree.parent(id.as_str()).unwrap();
            }
            let above = above.map(|id| places[id.as_str()]);
            prop_assert_eq!(rows.parent(at), above);
            first_child.entry(above).or_insert(at);
            if path.iter().any(|on| on.as_str() == *id) {
                active_child.entry(above).or_insert(at);
            }
            // A child is indented by nothing, or by one level where it is one of several or the
            // first after that.
            let row = rows.get(at).unwrap();
            let siblings = (0..shown.len()).filter(|other| rows.parent(*other) == above).count();
            prop_assert_eq!(row.joint != Joint::Run, siblings > 1);
            let base = above.map_or(0, |above| rows.get(above).unwrap().level);
            let is_after = above.is_some_and(|above| rows.get(above).unwrap().joint != Joint::Run);
            prop_assert_eq!(row.level, base + u32::from(siblings > 1 || is_after));
            let later = (at + 1..shown.len()).any(|other| rows.parent(other) == above);
            prop_assert_eq!(row.joint == Joint::Tee, siblings > 1 && later);
        }
        for (above, active) in active_child {
            prop_assert_eq!(first_child[&above], active);
        }

        // With folds: what is below a closed row is gone, everything else is there.
        let is_folded = |node: u32| folds >> (node % 128) & 1 == 1;
        let folded = Rows::lay_out(&outline, is_seen, is_folded);
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
        let rows = Rows::lay_out(&outline, |node| node % 3 != 0, |node| node % 7 == 0);
        for at in 0..rows.len() {
            rows.gutter(at, 0, 40);
        }
        assert!(!rows.is_empty());
    }
}
