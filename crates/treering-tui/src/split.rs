//! The areas of a list and an optional preview, shared by update and view.

use crate::draw::{DrawContext, LineCursor};
use crate::theme::Tone;
use ratatui::layout::Rect;

/// The parts of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SplitAreas {
    /// The title bar with the search.
    pub head: Rect,
    pub list: Rect,
    /// The preview; empty if it is hidden.
    pub preview: Rect,
    /// The footer with keys or a notice.
    pub foot: Rect,
}

/// The smallest width at which list and preview are side by side.
const WIDE: u16 = 100;
/// The smallest height at which they are one above the other; on a smaller screen the preview takes
/// all of it.
const TALL: u16 = 16;
/// The separator of list and preview.
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

    /// Returns the area between title bar and footer.
    pub(crate) fn body(&self) -> Rect {
        self.list.union(self.preview)
    }

    /// Returns the area of the preview's page, without separator and title.
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
