//! The areas of the screen, shared by update and view.

use super::state::ChatState;
use ratatui::layout::Rect;

/// The columns of the mark before the editor.
pub(crate) const MARK: u16 = 2;

/// The parts of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChatAreas {
    pub transcript: Rect,
    pub status: Rect,
    pub editor: Rect,
    pub foot: Rect,
}

/// The largest number of rows of a list of completions.
const MAX_HINTS: usize = 10;

impl ChatState {
    /// Returns the height of the footer: one line, or the list of completions.
    fn foot_rows(&self) -> u16 {
        let hints = if self.notice.is_none() { self.hints() } else { None };
        let rows = hints.map_or(1, |hints| hints.candidates.len().min(MAX_HINTS));
        u16::try_from(rows).unwrap_or(1)
    }

    pub(crate) fn areas(&self) -> ChatAreas {
        let (width, height) = self.size;
        let rows = u16::try_from(self.editor.rows().len()).unwrap_or(u16::MAX);
        // The rows of the editor are assigned first.
        let editor = rows.clamp(1, (height / 3).max(1)).min(height);
        let status = u16::from(height > editor);
        let free = height.saturating_sub(editor + status + 1);
        let foot = self.foot_rows().min(height / 3).max(1).min(free);
        let transcript = height - editor - status - foot;
        let area = |y, height| Rect { x: 0, y, width, height };
        ChatAreas {
            transcript: area(0, transcript),
            status: area(transcript, status),
            editor: area(transcript + status, editor),
            foot: area(transcript + status + editor, foot),
        }
    }
}
