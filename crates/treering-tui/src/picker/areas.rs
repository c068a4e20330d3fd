//! What stands where on the screen: update scrolls by it, view draws by it.

use super::columns::Columns;
use ratatui::layout::Rect;

/// The parts of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Areas {
    /// One line: what is searched for, and what is listed.
    pub head: Rect,
    /// One line, or none: what the columns are.
    pub headings: Rect,
    pub list: Rect,
    /// Empty if there is none.
    pub preview: Rect,
    /// One line: what can be done, or what was.
    pub foot: Rect,
}

/// From here on list and preview stand side by side.
const WIDE: u16 = 100;
/// From here on they stand one above the other; on less the preview has the screen to itself.
const TALL: u16 = 16;
/// Columns to the left of what is read in the preview, where it stands beside the list.
const EDGE: u16 = 3;

impl Areas {
    pub(crate) fn of(width: u16, height: u16, has_preview: bool) -> Self {
        let head = Rect::new(0, 0, width, height.min(1));
        let foot_height = u16::from(height > 2);
        let foot = Rect::new(0, height - foot_height, width, foot_height);
        let body = Rect::new(0, head.height, width, height - head.height - foot_height);
        let (list, preview) = match has_preview {
            false => (body, Rect { height: 0, ..body }),
            true if width >= WIDE => {
                let left = width / 2;
                let right = Rect { x: left, width: width - left, ..body };
                (Rect { width: left, ..body }, right)
            }
            true if height >= TALL => {
                let upper = body.height / 2;
                let lower = Rect { y: body.y + upper, height: body.height - upper, ..body };
                (Rect { height: upper, ..body }, lower)
            }
            true => (Rect { height: 0, ..body }, body),
        };
        let heading = u16::from(list.height > 3 && Columns::need_headings(list.width));
        let headings = Rect { height: heading, ..list };
        let list = Rect { y: list.y + heading, height: list.height - heading, ..list };
        Areas { head, headings, list, preview, foot }
    }

    /// Where the preview's page is read: beside its edge, below its title.
    pub(crate) fn page(&self) -> Rect {
        let edge = if self.preview.x > 0 { EDGE.min(self.preview.width) } else { 0 };
        let title = self.preview.height.min(1);
        Rect {
            x: self.preview.x + edge,
            y: self.preview.y + title,
            width: self.preview.width - edge,
            height: self.preview.height - title,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_screen_is_divided_without_remainder() {
        for has_preview in [false, true] {
            for (width, height) in [(0, 0), (1, 1), (3, 2), (40, 10), (80, 24), (120, 40)] {
                let areas = Areas::of(width, height, has_preview);
                let parts = [areas.head, areas.headings, areas.list, areas.preview, areas.foot];
                let sum: u32 = parts.iter().map(|part| part.area()).sum();
                assert_eq!(sum, u32::from(width) * u32::from(height), "{width}x{height}");
            }
        }
    }
}
