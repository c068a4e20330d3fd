//! Where the entries of a tree stand on the screen. Pure: depths in, flags and gutters out.
//!
//! A conversation is mostly one long run, so depth must not cost columns: a run stays flat, and only
//! the entries below a fork are indented. Entries that are not shown hand their children to the
//! nearest one above them that is.

/// Where an entry stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    pub visible: bool,
    /// The last of its siblings.
    last: bool,
    /// It has more than one child.
    forks: bool,
}

/// A laid-out tree.
#[derive(Debug)]
pub(crate) struct Layout {
    /// One for every entry, in the order of the walk.
    pub places: Vec<Place>,
    several_roots: bool,
}

impl Layout {
    /// Lays out a tree given in pre-order: the depth of every entry, and whether it is to be seen.
    pub(crate) fn of(entries: impl Iterator<Item = (usize, bool)>) -> Self {
        let mut places = Vec::new();
        let mut depths = Vec::new();
        let mut shown = Depths::default();
        for (depth, visible) in entries {
            places.push(Place { visible, ..Place::default() });
            depths.push(shown.enter(depth, visible));
        }
        // Backwards, an entry comes after all that is below it: by then its children are counted.
        let mut counts: Vec<u32> = vec![0; 2];
        for (place, depth) in places.iter_mut().zip(&depths).rev() {
            let depth = *depth as usize;
            if !place.visible {
                continue;
            }
            counts.resize(counts.len().max(depth + 2), 0);
            place.forks = std::mem::take(&mut counts[depth + 1]) > 1;
            counts[depth] += 1;
            place.last = counts[depth] == 1;
        }
        Layout { places, several_roots: counts[0] > 1 }
    }

    /// Returns the pen that draws this layout.
    pub(crate) fn pen(&self) -> Pen {
        Pen {
            shown: Depths::default(),
            runs: Vec::new(),
            bars: Vec::new(),
            root: self.several_roots,
        }
    }
}

/// From depth in the tree to depth among the visible entries.
#[derive(Debug, Default)]
struct Depths(Vec<u32>);

impl Depths {
    /// Returns the visible depth of an entry; what is below it comes one deeper if it is visible.
    fn enter(&mut self, depth: usize, visible: bool) -> u32 {
        let mine = match depth.checked_sub(1) {
            Some(above) => self.0.get(above).copied().unwrap_or(0),
            None => 0,
        };
        self.0.truncate(depth);
        self.0.push(mine + u32::from(visible));
        mine
    }
}

/// Draws the gutter before each entry, top to bottom.
#[derive(Debug)]
pub(crate) struct Pen {
    shown: Depths,
    /// For the visible entries above: how many bars what is below them has, and whether they fork.
    runs: Vec<(u32, bool)>,
    /// For each level of indentation: whether a sibling is still to come.
    bars: Vec<bool>,
    /// Several roots hang on one invisible fork.
    root: bool,
}

/// At most this many levels are drawn; the outermost are counted instead.
pub(crate) const MAX_LEVELS: usize = 16;

impl Pen {
    /// Returns the gutter of the next visible entry; every entry must be passed in, seen or not.
    pub(crate) fn draw(&mut self, depth: usize, place: Place) -> Option<String> {
        let shown = self.shown.enter(depth, place.visible) as usize;
        if !place.visible {
            return None;
        }
        self.runs.truncate(shown);
        let (level, among_siblings) = self.runs.last().copied().unwrap_or((0, self.root));
        self.bars.truncate(level as usize);
        let mut gutter = self.gutter();
        if among_siblings {
            gutter.push_str(if place.last { "└─ " } else { "├─ " });
            self.bars.push(!place.last);
        }
        self.runs.push((level + u32::from(among_siblings), place.forks));
        Some(gutter)
    }

    fn gutter(&self) -> String {
        let skipped = self.bars.len().saturating_sub(MAX_LEVELS);
        let mut gutter = String::new();
        if skipped > 0 {
            gutter = format!("+{skipped} ");
        }
        for bar in &self.bars[skipped..] {
            gutter.push_str(if *bar { "│  " } else { "   " });
        }
        gutter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws entries given as `depth name`; those in brackets are hidden.
    fn draw(tree: &[(usize, &str)]) -> String {
        let entries = || tree.iter().map(|(depth, name)| (*depth, !name.starts_with('[')));
        let layout = Layout::of(entries());
        let mut pen = layout.pen();
        let mut out = String::new();
        for ((depth, name), place) in tree.iter().zip(&layout.places) {
            if let Some(gutter) = pen.draw(*depth, *place) {
                out.push_str(&format!("{gutter}{name}\n"));
            }
        }
        out
    }

    #[test]
    fn runs_are_flat_and_forks_are_indented() {
        let tree = [(0, "a"), (1, "b"), (2, "c"), (3, "d"), (3, "e"), (4, "f"), (2, "g"), (3, "h")];
        assert_eq!(
            draw(&tree),
            "a\n\
             b\n\
             ├─ c\n\
             │  ├─ d\n\
             │  └─ e\n\
             │     f\n\
             └─ g\n   h\n"
        );
    }

    #[test]
    fn several_roots_are_siblings() {
        assert_eq!(draw(&[(0, "a"), (1, "b"), (0, "c")]), "├─ a\n│  b\n└─ c\n");
    }

    #[test]
    fn hidden_entries_hand_on_their_children() {
        let tree = [(0, "a"), (1, "[x]"), (2, "b"), (1, "c"), (1, "[y]")];
        assert_eq!(draw(&tree), "a\n├─ b\n└─ c\n");
        assert_eq!(draw(&[(0, "[x]"), (1, "[y]"), (2, "a"), (3, "b"), (0, "[z]")]), "a\nb\n");
        assert_eq!(draw(&[(0, "[x]"), (0, "[y]")]), "");
    }

    #[test]
    fn many_levels_do_not_fill_the_screen() {
        let mut tree = Vec::new();
        for depth in 0..100 {
            tree.extend([(depth, "side"), (depth, "main")]);
        }
        // A sibling must not come between an entry and its children.
        let tree: Vec<_> = tree.into_iter().collect();
        let drawn = draw(&tree);
        let longest = drawn.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest < 3 * (MAX_LEVELS + 1) + 12, "{longest}");
        assert!(drawn.lines().last().unwrap().starts_with("+83 "), "{drawn}");
    }

    #[test]
    fn a_million_deep_is_no_problem() {
        let layout = Layout::of((0..1_000_000).map(|depth| (depth, depth % 3 != 0)));
        let mut pen = layout.pen();
        for (depth, place) in layout.places.iter().enumerate() {
            assert!(pen.draw(depth, *place).is_none_or(|gutter| gutter.is_empty()));
        }
    }
}
