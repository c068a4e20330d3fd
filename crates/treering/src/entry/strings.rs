//! Finds all texts inside a JSON value of any form.

use crate::json;
use std::borrow::Cow;

/// Returns the strings in a JSON value at any depth, decoded, in order, without the keys of
/// objects. For JSON that is incomplete or invalid, these are the complete strings.
///
/// ```
/// let arguments = br#"{"command":"ls \u00e9","env":[{"HOME":"/root"}],"n":1}"#;
/// let texts: Vec<_> = treering::entry::strings(arguments).collect();
/// assert_eq!(texts, ["ls é", "/root"]);
/// ```
pub fn strings(json: &[u8]) -> impl Iterator<Item = Cow<'_, str>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + memchr::memchr(b'"', json.get(at..)?)?;
            // After a broken string, it is unknown which bytes are inside a string.
            let end = json::skip_string(json, start)?;
            at = end;
            if json.get(json::skip_space(json, end)) != Some(&b':') {
                return json::string(json.get(start..end)?);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::strings;

    #[test]
    fn values_at_any_depth_and_no_keys() {
        let texts = |json: &str| -> Vec<String> {
            strings(json.as_bytes()).map(|text| text.into_owned()).collect()
        };
        assert_eq!(texts(r#""a""#), ["a"]);
        assert_eq!(texts(r#"{"k" : "v","l":{"m":["x",{"y":"z:"}]},"n":null}"#), ["v", "x", "z:"]);
        assert_eq!(texts(r#"["\"quoted\"","\ud83d\ude00"]"#), ["\"quoted\"", "😀"]);
        assert_eq!(texts(r#"{"text":"whole","torn":"no en"#), ["whole"]);
        assert_eq!(texts(&"[".repeat(100_000)), Vec::<String>::new());
    }
}
