//! Parses server-sent events from pieces of any size.
//!
//! The result does not depend on how the bytes are divided into pieces. Lines end with LF, CRLF or
//! CR. Bytes are decoded only when an event is complete, so a character may be divided between
//! pieces. An event larger than the limit is an error: memory never grows beyond it.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// The `event` field; empty if there was none.
    pub(crate) name: String,
    /// The `data` lines, joined by line feeds.
    pub(crate) data: String,
}

/// The error for an event that is larger than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// A parser of server-sent events.
#[derive(Debug)]
pub(crate) struct SseParser {
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_cr: bool,
    first_line: bool,
    limit: usize,
}

impl SseParser {
    /// Returns a parser for events of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        SseParser {
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            first_line: true,
            limit,
        }
    }

    /// Parses `bytes` and adds the events that they complete to `events`.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        events: &mut Vec<SseEvent>,
    ) -> Result<(), TooLarge> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line.len() + self.data.len() + part.len() > self.limit {
                return Err(TooLarge);
            }
            self.line.extend_from_slice(part);
            let Some((&ending, rest)) = rest.split_first() else { return Ok(()) };
            self.after_cr = ending == b'\r';
            bytes = rest;
            self.end_line(events);
        }
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<SseEvent>) {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.first_line) && line.starts_with("\u{feff}".as_bytes()) {
            line.drain(..3);
        }
        if line.is_empty() {
            self.dispatch(events);
        } else {
            self.field(&line);
        }
        line.clear();
        self.line = line;
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = value.to_vec(),
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            // Comments (an empty field), `id` and `retry` are ignored: only a reader that
            // reconnects needs them.
            _ => {}
        }
    }

    /// Ends an event at an empty line. An event without data is ignored.
    fn dispatch(&mut self, events: &mut Vec<SseEvent>) {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let name = text(std::mem::take(&mut self.name));
        let data = text(std::mem::take(&mut self.data));
        if std::mem::take(&mut self.has_data) {
            events.push(SseEvent { name, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse<'a>(
        pieces: impl IntoIterator<Item = &'a [u8]>,
        limit: usize,
    ) -> (Vec<SseEvent>, bool) {
        let (mut parser, mut events) = (SseParser::new(limit), Vec::new());
        let ok = pieces.into_iter().all(|piece| parser.feed(piece, &mut events).is_ok());
        (events, ok)
    }

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent { name: name.into(), data: data.into() }
    }

    #[test]
    fn fields_comments_and_line_endings() {
        let input = "\u{feff}event: a\r\ndata: 1\r\ndata:2\r\n\r\n: ping\n\ndata\n\nevent: lost\n\n\
                     id: 7\rretry: 1\rdata:  é\r\rdata: cut off";
        let (events, ok) = parse([input.as_bytes()], 1000);
        assert!(ok);
        assert_eq!(events, [event("a", "1\n2"), event("", ""), event("", " é")]);
    }

    #[test]
    fn an_event_has_a_limit_and_a_stream_has_none() {
        assert!(!parse([&b"data: 123456789"[..]], 10).1);
        assert!(!parse([&b"data: 1234\ndata: 5678\n"[..]], 10).1);
        let (events, ok) = parse(vec![&b"data: 12\n\n"[..]; 100], 10);
        assert!(ok && events.len() == 100);
        assert!(!parse(vec![&b"data:\n"[..]; 100], 20).1, "empty lines of data count as well");
    }

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let pieces: Vec<&'static str> = vec![
            "data: ", "data:", "event: x", "\n", "\r", "\r\n", "\n\n", ":", " ", "é🦀", "\u{feff}",
            "{}",
        ];
        let text = prop::sample::select(pieces).prop_map(|piece| piece.as_bytes().to_vec());
        let piece = prop_oneof![12 => text, 1 => Just(b"\xff".to_vec())];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_events(
            input in stream(),
            cuts in prop::collection::vec(1usize..8, 1..20),
        ) {
            let (mut pieces, mut rest, mut cut) = (Vec::new(), &input[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, after) = rest.split_at((*cut.next().unwrap()).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            let whole = parse([&input[..]], 1 << 20);
            prop_assert_eq!(&parse(pieces, 1 << 20), &whole);
            prop_assert_eq!(&parse(input.chunks(1), 1 << 20), &whole);
        }

        #[test]
        fn the_limit_does_not_depend_on_the_cut(input in stream(), limit in 1usize..30) {
            prop_assert_eq!(parse(input.chunks(1), limit).1, parse([&input[..]], limit).1);
        }
    }
}
