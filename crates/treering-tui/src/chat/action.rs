//! The actions of keys in the chat. Every other character is typed.

use crate::keys;

/// An action of a key in the chat.
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
            (Send, "send", "send the message; after a backslash: a new line", "Enter"),
            (Newline, "newline", "insert a new line", "Shift+Enter Alt+Enter Ctrl+J"),
            (Up, "up", "up; in the first row: the previous message", "Up"),
            (Down, "down", "down; in the last row: the next message", "Down"),
            (Left, "left", "a character to the left", "Left"),
            (Right, "right", "a character to the right", "Right"),
            (WordLeft, "word-left", "a word to the left", "Alt+Left Ctrl+Left Alt+B"),
            (WordRight, "word-right", "a word to the right", "Alt+Right Ctrl+Right Alt+F"),
            (LineStart, "line-start", "to the beginning of the line", "Ctrl+A Home"),
            (LineEnd, "line-end", "to the end of the line", "Ctrl+E End"),
            (Backspace, "backspace", "delete the character before", "Backspace"),
            (Delete, "delete", "delete the character after", "Delete"),
            (
                DeleteOrLeave,
                "delete-or-leave",
                "delete the character after; with no text: quit",
                "Ctrl+D",
            ),
            (KillBefore, "kill-before", "delete to the beginning of the line", "Ctrl+U"),
            (KillAfter, "kill-after", "delete to the end of the line", "Ctrl+K"),
            (KillWord, "kill-word", "delete the word before", "Ctrl+W Alt+Backspace"),
            (Yank, "yank", "insert the last deleted text", "Ctrl+Y"),
            (Draft, "draft", "save the text as a draft; restore the next draft", "Ctrl+S Alt+Up"),
            (Complete, "complete", "complete a command or its argument", "Tab"),
            (ScrollUp, "scroll-up", "scroll up", "Shift+Up"),
            (ScrollDown, "scroll-down", "scroll down", "Shift+Down"),
            (PageUp, "page-up", "a page up", "PgUp"),
            (PageDown, "page-down", "a page down", "PgDn"),
            (First, "first", "to the beginning of the conversation", "Ctrl+Home"),
            (Last, "last", "to the end of the conversation", "Ctrl+End"),
            (Unfold, "unfold", "expand or collapse tool output and thinking", "Ctrl+O"),
            (Back, "back", "stop the running task; close a list; twice: open the tree", "Esc"),
            (Clear, "clear", "clear the editor; twice: quit", "Ctrl+C"),
        ]
    };
}
