//! The areas of the screen, shared by update and view.

use super::columns::Columns;
use crate::split::SplitAreas;
use ratatui::layout::Rect;

/// The parts of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PickerAreas {
    /// The head, the preview and the footer.
    pub split: SplitAreas,
    /// The line of column headings, or an empty area.
    pub headings: Rect,
    /// The area of the list.
    pub list: Rect,
}

impl PickerAreas {
    pub(crate) fn of(width: u16, height: u16, has_preview: bool) -> Self {
        let split = SplitAreas::of(width, height, has_preview);
        let list = split.list;
        let heading = u16::from(list.height > 3 && Columns::need_headings(list.width));
        let headings = Rect { height: heading, ..list };
        let list = Rect { y: list.y + heading, height: list.height - heading, ..list };
        PickerAreas { split, headings, list }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_and_list_share_what_there_is() {
        for has_preview in [false, true] {
            for (width, height) in [(0, 0), (1, 1), (3, 2), (40, 10), (80, 24), (120, 40)] {
                let areas = PickerAreas::of(width, height, has_preview);
                let sum = areas.headings.area() + areas.list.area();
                assert_eq!(sum, areas.split.list.area(), "{width}x{height}");
            }
        }
    }
}
