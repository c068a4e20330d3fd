//! The canonical form of a JSON value: keys in order, no white space, strings escaped only where
//! necessary, numbers unchanged.

/// Returns the canonical form of a value; `None` if the bytes are not one JSON value. It is recursive,
/// so it is for samples, not for hostile input.
pub fn json(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let end = value(bytes, 0, &mut out)?;
    (space(bytes, end) == bytes.len()).then_some(out)
}

fn space(bytes: &[u8], at: usize) -> usize {
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    at + bytes[at.min(bytes.len())..].iter().take_while(blank).count()
}

fn value(bytes: &[u8], at: usize, out: &mut Vec<u8>) -> Option<usize> {
    let at = space(bytes, at);
    match bytes.get(at)? {
        b'{' => object(bytes, at + 1, out),
        b'[' => array(bytes, at + 1, out),
        b'"' => string(bytes, at, out),
        _ => {
            let word =
                |byte: &&u8| !matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
            let length = bytes[at..].iter().take_while(word).count();
            out.extend_from_slice(&bytes[at..at + length]);
            (length > 0).then_some(at + length)
        }
    }
}

fn array(bytes: &[u8], start: usize, out: &mut Vec<u8>) -> Option<usize> {
    out.push(b'[');
    let mut at = space(bytes, start);
    let mut first = true;
    while bytes.get(at)? != &b']' {
        if !first {
            at = (bytes.get(at)? == &b',').then_some(at + 1)?;
            out.push(b',');
        }
        first = false;
        at = space(bytes, value(bytes, at, out)?);
    }
    out.push(b']');
    Some(at + 1)
}

fn object(bytes: &[u8], start: usize, out: &mut Vec<u8>) -> Option<usize> {
    let mut members: Vec<(String, Vec<u8>, Vec<u8>)> = Vec::new();
    let mut at = space(bytes, start);
    while bytes.get(at)? != &b'}' {
        if !members.is_empty() {
            at = space(bytes, (bytes.get(at)? == &b',').then_some(at + 1)?);
        }
        let (mut key, mut member) = (Vec::new(), Vec::new());
        at = space(bytes, string(bytes, at, &mut key)?);
        at = (bytes.get(at)? == &b':').then_some(at + 1)?;
        at = space(bytes, value(bytes, at, &mut member)?);
        let name = serde_json::from_slice(&key).ok()?;
        members.retain(|(other, _, _)| *other != name);
        members.push((name, key, member));
    }
    // By code point, which is the order of UTF-8.
    members.sort();
    out.push(b'{');
    for (at, (_, key, member)) in members.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b"," } else { b"" });
        out.extend_from_slice(key);
        out.push(b':');
        out.extend_from_slice(member);
    }
    out.push(b'}');
    Some(at + 1)
}

fn string(bytes: &[u8], at: usize, out: &mut Vec<u8>) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut end = at + 1;
    while bytes.get(end)? != &b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    let text: String = serde_json::from_slice(&bytes[at..=end]).ok()?;
    serde_json::to_writer(&mut *out, &text).ok()?;
    Some(end + 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_value_has_one_spelling() {
        let spelled =
            super::json(b" { \"b\" : [ 1.50, \"\\u00e9\\/\" , {} ] , \"a\":0.0 } ").unwrap();
        assert_eq!(String::from_utf8(spelled).unwrap(), "{\"a\":0.0,\"b\":[1.50,\"é/\",{}]}");
        assert_eq!(super::json(b"{\"a\":1"), None);
        assert_eq!(super::json(b"[1 2]"), None);
    }
}
