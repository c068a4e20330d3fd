//! The layout of the screen: update scrolls by it, view draws by it.

use super::columns::Columns;
use crate::split::Split;
use ratatui::layout::Rect;

/// The parts of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Areas {
    /// Head, preview and foot.
    pub split: Split,
    /// One line, or none: what the columns are.
    pub headings: Rect,
    /// The area of the list.
    pub list: Rect,
}

impl Areas {
    pub(crate) fn of(width: u16, height: u16, has_preview: bool) -> Self {
        let split = Split::of(width, height, has_preview);
        let list = split.list;
        let heading = u16::from(list.height > 3 && Columns::need_headings(list.width));
        let headings = Rect { height: heading, ..list };
        let list = Rect { y: list.y + heading, height: list.height - heading, ..list };
        Areas { split, headings, list }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_and_list_share_what_there_is() {
        for has_preview in [false, true] {
            for (width, height) in [(0, 0), (1, 1), (3, 2), (40, 10), (80, 24), (120, 40)] {
                let areas = Areas::of(width, height, has_preview);
                let sum = areas.headings.area() + areas.list.area();
                assert_eq!(sum, areas.split.list.area(), "{width}x{height}");
            }
        }
    }
}
