//! A list and, if wanted, a preview of what is selected in it: what stands where on the screen. Update
//! scrolls by it, view draws by it.

use crate::draw::{DrawContext, LineCursor};
use crate::theme::Tone;
use ratatui::layout::Rect;

/// The parts of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SplitAreas {
    /// One line: what is shown, and the search.
    pub head: Rect,
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
/// The separator, where they stand side by side.
const EDGE: &str = " │ ";

impl SplitAreas {
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
        SplitAreas { head, list, preview, foot }
    }

    /// Returns all between head and foot.
    pub(crate) fn body(&self) -> Rect {
        self.list.union(self.preview)
    }

    /// Returns where the preview's page is read: beside its edge, below its title.
    pub(crate) fn page(&self) -> Rect {
        let area = self.preview;
        let edge = if area.x > 0 { area.width.min(EDGE.chars().count() as u16) } else { 0 };
        let title = area.height.min(1);
        Rect {
            x: area.x + edge,
            y: area.y + title,
            width: area.width - edge,
            height: area.height - title,
        }
    }

    /// Draws the edge and the title of the preview.
    pub(crate) fn draw_edges(&self, draw: &mut DrawContext<'_>, title: &str) {
        let (area, page) = (self.preview, self.page());
        if area.is_empty() {
            return;
        }
        if area.x > 0 {
            for y in area.y..area.bottom() {
                draw.put(&mut LineCursor::new(area, y), Tone::Dim, EDGE);
            }
        }
        let mut cursor = LineCursor::new(Rect { x: page.x, width: page.width, ..area }, area.y);
        draw.put(&mut cursor, Tone::Dim, &format!("── {title} "));
        draw.put(&mut cursor, Tone::Dim, &"─".repeat(usize::from(page.width)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_screen_is_divided_without_remainder() {
        for has_preview in [false, true] {
            for (width, height) in [(0, 0), (1, 1), (3, 2), (40, 10), (80, 24), (120, 40)] {
                let SplitAreas { head, list, preview, foot } =
                    SplitAreas::of(width, height, has_preview);
                let sum: u32 = [head, list, preview, foot].iter().map(|part| part.area()).sum();
                assert_eq!(sum, u32::from(width) * u32::from(height), "{width}x{height}");
            }
        }
    }
}
