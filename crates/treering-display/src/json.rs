//! Formats JSON over several lines.

/// Returns JSON over several lines. Only white space is changed; a text that is not JSON is
/// returned unchanged. Deep nesting is indented up to a limit.
///
/// ```
/// use treering_display::json::pretty_json;
/// assert_eq!(pretty_json(r#"{"a":[]}"#), "{\n  \"a\": []\n}");
/// ```
pub fn pretty_json(text: &str) -> String {
    const MAX_INDENT: usize = 20;
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let line_break = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth.min(MAX_INDENT)));
    };
    let is_space = |c: &char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if in_string {
            out.push(character);
            in_string = escaped || character != '"';
            escaped = character == '\\' && !escaped;
            continue;
        }
        match character {
            '{' | '[' => {
                out.push(character);
                while characters.next_if(is_space).is_some() {}
                match characters.peek() {
                    Some('}' | ']') => out.extend(characters.next()),
                    _ => {
                        depth += 1;
                        line_break(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line_break(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                line_break(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ if is_space(&character) => {}
            _ => {
                in_string = character == '"';
                out.push(character);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_spread_over_lines_and_not_changed() {
        let raw = r#"{"a":[1e400, {}],"b" : "x\", {y}: z\\","c":[ ]}"#;
        let expected = "{\n  \"a\": [\n    1e400,\n    {}\n  ],\n  \"b\": \"x\\\", {y}: z\\\\\",\n  \"c\": []\n}";
        assert_eq!(pretty_json(raw), expected);
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(pretty_json(&deep).len() < 10_000_000);
    }
}
