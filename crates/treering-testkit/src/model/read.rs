//! Reads the entries of a file, line by line.

use super::json::{self, Object};
use super::{Entry, Model, NotASession};
use serde_json::Value;
use std::ops::Range;

/// The number of lines in which a header is searched.
const HEADER_WITHIN: usize = 64;

/// The longest id, quotes not counted.
const LONGEST_ID: usize = 32 * 1024;

/// The version whose shape the model's values have.
const VERSION: u64 = 3;

/// The way entries are linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Tree,
    Chain,
}

/// The pieces of a line. Usually there is one.
enum Piece {
    Header(Object),
    Entry(Object),
    /// An incomplete object, with the members that could be read.
    Damaged(Option<Object>),
}

/// Reads a whole file.
pub(super) fn read(bytes: &[u8]) -> Result<Model, NotASession> {
    let mut reader = Reader { model: Model::default(), shape: None };
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    let terminated = lines.len() - 1;
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    for (at, line) in lines.into_iter().enumerate() {
        let line = match line.strip_prefix(b"\xEF\xBB\xBF") {
            Some(rest) if at == 0 => rest,
            _ => line,
        };
        reader.line(line, at + 1, at < terminated)?;
    }
    if reader.model.header.is_none() && !bytes.is_empty() {
        return Err(NotASession);
    }
    Ok(reader.model)
}

struct Reader {
    model: Model,
    shape: Option<Shape>,
}

impl Reader {
    fn line(&mut self, line: &[u8], number: usize, terminated: bool) -> Result<(), NotASession> {
        let pieces = pieces(line);
        let last = pieces.len();
        for (at, piece) in pieces.into_iter().enumerate() {
            match piece {
                Piece::Header(object) => {
                    if self.model.header.is_none() && number > HEADER_WITHIN {
                        return Err(NotASession);
                    }
                    self.header(&object);
                }
                Piece::Entry(object) => {
                    let has_id =
                        object.get("id").is_some_and(|(span, _)| name(line, span).is_some());
                    if self.model.header.is_none() && !has_id {
                        continue; // A title or the like.
                    }
                    self.entry(line, &object, number, false);
                }
                // Torn at the very end of the file: a write that was cut short and never
                // acknowledged. A piece that another entry is glued to was torn earlier.
                Piece::Damaged(_) if !terminated && at + 1 == last => {}
                Piece::Damaged(Some(object)) if has_head(line, &object) => {
                    self.entry(line, &object, number, true);
                }
                Piece::Damaged(_) => {}
            }
        }
        Ok(())
    }

    /// The first header counts.
    fn header(&mut self, object: &Object) {
        let is_text = |key: &str| matches!(object.get(key), Some((_, Value::String(_))));
        let is_versioned =
            object.get("version").and_then(|(_, value)| value.as_f64()).is_some_and(|v| v >= 1.0);
        let may_lack_id = object.get("id").is_none() && is_text("cwd") && is_versioned;
        if !is_text("id") && !may_lack_id {
            return;
        }
        if self.model.header.is_some() {
            return;
        }
        let version = object.get("version").and_then(|(_, value)| value.as_f64()).unwrap_or(0.0);
        self.model.version = version.clamp(0.0, 1e9) as u64;
        if self.model.version >= 2 {
            self.shape = Some(Shape::Tree);
        }
        self.model.header = Some(object.value());
    }

    fn entry(&mut self, line: &[u8], object: &Object, number: usize, damaged: bool) {
        let field = |key: &str| object.get(key).and_then(|(span, _)| name(line, span));
        let id = field("id");
        let count = |key: &str| object.members.iter().filter(|(name, _, _)| name == key).count();
        let repeats = ["type", "id", "timestamp"].into_iter().any(|key| count(key) > 1);
        self.model.repeats_its_head |= repeats;
        let shape = match self.shape {
            Some(shape) => shape,
            // If the header has no version, the first entry decides.
            None if self.model.header.is_none() => Shape::Tree,
            None if self.model.version == 0 && id.is_some() => {
                self.model.version = VERSION;
                Shape::Tree
            }
            None => {
                self.model.version = 1;
                Shape::Chain
            }
        };
        self.shape = Some(shape);
        let entries = &mut self.model.entries;
        let id = id.filter(|_| shape == Shape::Tree);
        let derived = id.is_none();
        let parent = match shape {
            Shape::Tree => field("parentId"),
            Shape::Chain => entries.last().map(|entry| entry.id.clone()),
        };
        let kind = object.get("type").and_then(|(_, value)| value.as_str()).unwrap_or_default();
        let value = (!damaged).then(|| {
            let mut value = object.value();
            upgrade(&mut value, shape, self.model.version, kind, entries);
            value
        });
        entries.push(Entry {
            id: id.unwrap_or_else(|| format!("?{number}:{}", object.start)),
            derived,
            parent,
            kind: kind.to_owned(),
            time: object.get("timestamp").and_then(|(_, value)| time(value)),
            value,
            line: number,
        });
    }
}

/// Splits a line into its pieces.
fn pieces(line: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let first = json::skip_space(line, 0);
    let mut at = first;
    while at < line.len() {
        let object = json::object(line, at).filter(|object| object.end.is_some());
        let (piece, end) = match object {
            Some(object) if kind_of(&object) == Some("session") => {
                let end = object.end;
                (Piece::Header(object), end)
            }
            // After the first, only an object with an id and a parent is an entry.
            Some(object) if at == first || has_head(line, &object) => {
                let end = object.end;
                (Piece::Entry(object), end)
            }
            _ => {
                let glued = (at + 1..line.len()).find(|&from| are_entries(line, from));
                let end = glued.unwrap_or(line.len());
                // A piece glued to a fragment is not part of it.
                (Piece::Damaged(json::object(&line[..end], at)), Some(end))
            }
        };
        pieces.push(piece);
        at = json::skip_space(line, end.unwrap_or(line.len()));
    }
    pieces
}

/// Returns whether a line, from `at` to its end, is nothing but complete entries.
fn are_entries(line: &[u8], at: usize) -> bool {
    let Some(object) = json::object(line, at) else { return false };
    let Some(end) = object.end else { return false };
    let complete = has_head(line, &object);
    let next = json::skip_space(line, end);
    complete && (next >= line.len() || are_entries(line, next))
}

/// Returns whether an object, or the part of it that could be read, has a type, an id and a
/// parent.
fn has_head(line: &[u8], object: &Object) -> bool {
    kind_of(object).is_some_and(|kind| kind != "session")
        && object.get("id").is_some_and(|(span, _)| name(line, span).is_some())
        && object.get("parentId").is_some()
}

fn kind_of(object: &Object) -> Option<&str> {
    object.get("type").and_then(|(_, value)| value.as_str())
}

/// Returns an id: a string that is not empty, or a number's digits. One that no text can hold is
/// known by its bytes, written with escapes.
fn name(line: &[u8], span: &Range<usize>) -> Option<String> {
    let literal = line.get(span.clone()).filter(|literal| literal.len() <= LONGEST_ID + 2)?;
    match literal.first()? {
        b'"' => {
            let inner = &literal[1..literal.len() - 1];
            let text: Option<String> = serde_json::from_slice(literal).ok();
            let text = text.unwrap_or_else(|| inner.escape_ascii().to_string());
            (!text.is_empty()).then_some(text)
        }
        b'-' | b'0'..=b'9' => std::str::from_utf8(literal).ok().map(str::to_owned),
        _ => None,
    }
}

/// Returns the Unix milliseconds of an ISO timestamp or a number.
pub(super) fn time(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => {
            if let Ok(instant) = text.parse::<jiff::Timestamp>() {
                return Some(instant.as_millisecond());
            }
            let date: jiff::civil::Date = text.parse().ok()?;
            Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond())
        }
        Value::Number(number) => {
            number.as_f64().filter(|millis| millis.abs() < 8.64e15).map(|millis| millis as i64)
        }
        _ => None,
    }
}

/// Converts an entry of an older version to the current one.
fn upgrade(value: &mut Value, shape: Shape, version: u64, kind: &str, before: &[Entry]) {
    if shape == Shape::Chain && kind == "compaction" {
        let index = value["firstKeptEntryIndex"].as_f64().filter(|index| *index >= 1.0);
        let kept = index.and_then(|index| before.get(index as usize - 1));
        if let Some(kept) = kept {
            value["firstKeptEntryId"] = Value::from(kept.id.as_str());
        }
    }
    if version < VERSION && kind == "message" && value["message"]["role"] == "hookMessage" {
        value["message"]["role"] = Value::from("custom");
    }
}
