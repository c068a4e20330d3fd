//! Writes fields of CSV.

/// Returns a text as a field of CSV, in quotes if necessary. A text that a spreadsheet would take
/// for a formula gets an apostrophe, because names of sessions and projects are not trusted.
///
/// ```
/// use treering_usage::csv_field;
/// assert_eq!(csv_field("plain"), "plain");
/// assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
/// assert_eq!(csv_field("=1+1"), "'=1+1");
/// assert_eq!(csv_field("@x,\n"), "\"'@x,\n\"");
/// ```
pub fn csv_field(text: &str) -> String {
    let text = match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    };
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}
