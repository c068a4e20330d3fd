//! Records: the columns of a row, or of an entry of an index.

use super::damaged;
use super::pages::Pages;
use super::schema::Table;
use std::borrow::Cow;
use std::io;

/// A value in a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    /// A whole number, also in a column of type REAL.
    Integer(i64),
    Real(f64),
    /// A text, in which bytes that are not UTF-8 are replaced.
    Text(Cow<'a, str>),
    Blob(Cow<'a, [u8]>),
}

/// Returns the number at the start of some bytes, and the bytes after it. Each byte has seven bits
/// of the number, the ninth has eight.
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (at, byte) in bytes.iter().take(9).enumerate() {
        if at == 8 {
            return Some((number << 8 | u64::from(*byte), &bytes[9..]));
        }
        number = number << 7 | u64::from(byte & 0x7F);
        if byte & 0x80 == 0 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

/// The bytes of a record, the first of which are on the page of its cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Payload<'a> {
    pub pages: &'a Pages,
    pub local: &'a [u8],
    pub len: usize,
    /// The number of the first page with the other bytes.
    pub overflow: u32,
}

/// A column of a record: the code of its type, and the range of its value.
#[derive(Debug, Clone, Copy)]
struct Column {
    code: u64,
    start: usize,
    len: usize,
}

impl<'a> Payload<'a> {
    /// Returns the first bytes of the record.
    fn bytes(&self, len: usize) -> io::Result<Cow<'a, [u8]>> {
        if len > self.len {
            return Err(damaged("a row is cut off"));
        }
        if let Some(bytes) = self.local.get(..len) {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut bytes = self.local.to_vec();
        self.pages.overflow(self.overflow, &mut bytes, len)?;
        Ok(Cow::Owned(bytes))
    }

    fn columns(&self) -> io::Result<Vec<Column>> {
        let cut = || damaged("a row is cut off");
        let (header_len, _) = varint(self.local).ok_or_else(cut)?;
        let header_len = usize::try_from(header_len).map_err(|_| cut())?;
        let header = self.bytes(header_len)?;
        let (_, mut rest) = varint(&header).ok_or_else(cut)?;
        let (mut columns, mut start) = (Vec::new(), header_len);
        while !rest.is_empty() {
            let (code, after) = varint(rest).ok_or_else(cut)?;
            let len = match code {
                0 | 8 | 9 => 0,
                1..=4 => code,
                5 => 6,
                6 | 7 => 8,
                10 | 11 => return Err(damaged("a value has an unknown type")),
                _ => (code - 12) / 2,
            };
            let len = usize::try_from(len).ok().filter(|len| *len <= self.len - start);
            let len = len.ok_or_else(cut)?;
            columns.push(Column { code, start, len });
            (start, rest) = (start + len, after);
        }
        Ok(columns)
    }

    fn read(&self, column: Column) -> io::Result<Value<'a>> {
        let Column { code, start, len } = column;
        let end = start + len;
        let bytes = match self.local.get(start..end) {
            Some(bytes) => Cow::Borrowed(bytes),
            None => {
                let mut bytes = self.bytes(end)?.into_owned();
                bytes.drain(..start);
                Cow::Owned(bytes)
            }
        };
        Ok(match code {
            0 => Value::Null,
            8 => Value::Integer(0),
            9 => Value::Integer(1),
            7 => Value::Real(f64::from_bits(integer(&bytes).cast_unsigned())),
            1..=6 => Value::Integer(integer(&bytes)),
            code if code % 2 == 0 => Value::Blob(bytes),
            _ => Value::Text(match bytes {
                Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
                Cow::Owned(bytes) => Cow::Owned(match String::from_utf8(bytes) {
                    Ok(text) => text,
                    Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
                }),
            }),
        })
    }

    /// Returns the value of a column; null if the record does not have the column.
    pub(super) fn value(&self, column: usize) -> io::Result<Value<'a>> {
        match self.columns()?.get(column) {
            Some(column) => self.read(*column),
            None => Ok(Value::Null),
        }
    }

    /// Returns the last column, which is the row id in an entry of an index.
    pub(super) fn last_integer(&self) -> io::Result<Option<i64>> {
        match self.columns()?.last() {
            Some(column) => match self.read(*column)? {
                Value::Integer(id) => Ok(Some(id)),
                _ => Ok(None),
            },
            None => Ok(None),
        }
    }
}

/// Returns a number in two's complement, of any length.
fn integer(bytes: &[u8]) -> i64 {
    let negative = bytes.first().is_some_and(|first| *first >= 0x80);
    let start = if negative { -1 } else { 0 };
    bytes.iter().fold(start, |number, byte| number << 8 | i64::from(*byte))
}

/// A row of a table.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    table: &'a Table,
    id: i64,
    payload: Payload<'a>,
    columns: Vec<Column>,
}

impl<'a> Row<'a> {
    pub(super) fn new(table: &'a Table, id: i64, payload: Payload<'a>) -> io::Result<Self> {
        Ok(Row { table, id, columns: payload.columns()?, payload })
    }

    /// Returns the id of the row.
    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    /// Returns the bytes of the row that are on its own page, to detect changes.
    pub(crate) fn start(&self) -> &'a [u8] {
        self.payload.local
    }

    /// Returns the value of a column; null if the table or the row does not have it.
    pub(crate) fn value(&self, column: &str) -> io::Result<Value<'a>> {
        let Some(at) = self.table.columns.iter().position(|name| name == column) else {
            return Ok(Value::Null);
        };
        if self.table.id_column == Some(at) {
            return Ok(Value::Integer(self.id));
        }
        match self.columns.get(at) {
            Some(column) => self.payload.read(*column),
            None => Ok(Value::Null),
        }
    }

    /// Returns the text in a column.
    pub(crate) fn text(&self, column: &str) -> io::Result<Option<Cow<'a, str>>> {
        Ok(match self.value(column)? {
            Value::Text(text) => Some(text),
            _ => None,
        })
    }

    /// Returns the number in a column.
    pub(crate) fn integer(&self, column: &str) -> io::Result<Option<i64>> {
        Ok(match self.value(column)? {
            Value::Integer(number) => Some(number),
            Value::Real(number) => Some(number as i64),
            _ => None,
        })
    }
}
