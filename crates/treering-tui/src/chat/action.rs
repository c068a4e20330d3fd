//! What keys do in the chat. Any other character is typed.

use crate::keys;

/// What a key may do in the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the table says what each does")]
pub enum ChatAction {
    Send,
    Newline,
    Up,
    Down,
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Backspace,
    Delete,
    DeleteOrLeave,
    KillBefore,
    KillAfter,
    KillWord,
    Yank,
    Draft,
    Complete,
    ScrollUp,
    ScrollDown,
    PageUp,
    PageDown,
    First,
    Last,
    Unfold,
    Back,
    Clear,
}

impl keys::Action for ChatAction {
    const ALL: &'static [(Self, &'static str, &'static str, &'static str)] = {
        use ChatAction::*;
        &[
            (Send, "send", "send; after a backslash, a new line", "Enter"),
            (Newline, "newline", "a new line", "Shift+Enter Alt+Enter Ctrl+J"),
            (Up, "up", "a row up; in the first, what was said before", "Up"),
            (Down, "down", "a row down; in the last, what was said after", "Down"),
            (Left, "left", "a character to the left", "Left"),
            (Right, "right", "a character to the right", "Right"),
            (WordLeft, "word-left", "a word to the left", "Alt+Left Ctrl+Left Alt+B"),
            (WordRight, "word-right", "a word to the right", "Alt+Right Ctrl+Right Alt+F"),
            (LineStart, "line-start", "to the beginning of the line", "Ctrl+A Home"),
            (LineEnd, "line-end", "to the end of the line", "Ctrl+E End"),
            (Backspace, "backspace", "delete the character before", "Backspace"),
            (Delete, "delete", "delete the character after", "Delete"),
            (DeleteOrLeave, "delete-or-leave", "the same; with no text, leave", "Ctrl+D"),
            (KillBefore, "kill-before", "delete to the beginning of the line", "Ctrl+U"),
            (KillAfter, "kill-after", "delete to the end of the line", "Ctrl+K"),
            (KillWord, "kill-word", "delete the word before", "Ctrl+W Alt+Backspace"),
            (Yank, "yank", "bring back what was deleted", "Ctrl+Y"),
            (Draft, "draft", "put the text aside; bring back the next draft", "Ctrl+S Alt+Up"),
            (Complete, "complete", "complete a command or its argument", "Tab"),
            (ScrollUp, "scroll-up", "look further up", "Shift+Up"),
            (ScrollDown, "scroll-down", "look further down", "Shift+Down"),
            (PageUp, "page-up", "a page up", "PgUp"),
            (PageDown, "page-down", "a page down", "PgDn"),
            (First, "first", "to the beginning of the conversation", "Ctrl+Home"),
            (Last, "last", "to its end", "Ctrl+End"),
            (Unfold, "unfold", "show results and thoughts in full, or folded", "Ctrl+O"),
            (Back, "back", "stop what is running; close a list; twice: the tree", "Esc"),
            (Clear, "clear", "delete the text; twice: leave", "Ctrl+C"),
        ]
    };
}
