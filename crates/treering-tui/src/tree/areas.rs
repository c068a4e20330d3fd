//! What stands where on the screen: update scrolls by it, view draws by it.

use super::preview::Shown;
use ratatui::layout::Rect;

/// The parts of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Areas {
    /// One line: what is shown, and the search.
    pub head: Rect,
    pub tree: Rect,
    /// Empty if there is none.
    pub preview: Rect,
    /// One line: what can be done, or what was.
    pub foot: Rect,
}

/// From here on tree and preview stand side by side.
const WIDE: u16 = 100;
/// From here on they stand one above the other; on less the preview has the screen to itself.
const TALL: u16 = 16;

impl Areas {
    pub(crate) fn of(width: u16, height: u16, shown: Shown) -> Self {
        let head = Rect::new(0, 0, width, height.min(1));
        let foot_height = u16::from(height > 2);
        let foot = Rect::new(0, height - foot_height, width, foot_height);
        let body = Rect::new(0, head.height, width, height - head.height - foot_height);
        let (tree, preview) = match shown {
            Shown::Nothing => (body, Rect { height: 0, ..body }),
            _ if width >= WIDE => {
                let left = width / 2;
                let right = Rect { x: left, width: width - left, ..body };
                (Rect { width: left, ..body }, right)
            }
            _ if height >= TALL => {
                let upper = body.height / 2;
                let lower = Rect { y: body.y + upper, height: body.height - upper, ..body };
                (Rect { height: upper, ..body }, lower)
            }
            _ => (Rect { height: 0, ..body }, body),
        };
        Areas { head, tree, preview, foot }
    }

    /// Where the lines of the preview's page stand: below its title, beside its border.
    pub(crate) fn page(&self) -> Rect {
        let area = self.preview;
        let border = if area.x > 0 { area.width.min(2) } else { 0 };
        let title = area.height.min(1);
        Rect {
            x: area.x + border,
            y: area.y + title,
            width: area.width - border,
            height: area.height - title,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_screen_is_divided_without_remainder() {
        for shown in [Shown::Nothing, Shown::Entry, Shown::Context] {
            for (width, height) in [(0, 0), (1, 1), (3, 2), (40, 10), (80, 24), (120, 40)] {
                let areas = Areas::of(width, height, shown);
                let parts = [areas.head, areas.tree, areas.preview, areas.foot];
                let sum: u32 = parts.iter().map(|part| part.area()).sum();
                assert_eq!(sum, u32::from(width) * u32::from(height), "{width}x{height} {shown:?}");
            }
        }
    }
}
