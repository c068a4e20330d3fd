//! Plain data on its way to another language.

/// A value that every language has: what reports are made of.
///
/// The keys of a [`Data::Record`] are names of fields, and each binding writes them as its language does
/// ([`Naming`]). The keys of a [`Data::Map`] are data, and stay as they are.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Number(f64),
    /// A text.
    Text(String),
    /// A value as JSON: a message or an entry, as a session stores it.
    Json(Vec<u8>),
    /// Values in order.
    List(Vec<Data>),
    /// Values by keys that are data, in order.
    Map(Vec<(String, Data)>),
    /// Values by the names of their fields, written in snake case here.
    Record(Vec<(&'static str, Data)>),
}

/// The way in which the fields of records are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// `entry_count`
    Snake,
    /// `entryCount`
    Camel,
}

impl Naming {
    /// Returns the name of a field, given in snake case.
    pub fn of(self, field: &str) -> String {
        if self == Naming::Snake {
            return field.to_owned();
        }
        let mut name = String::with_capacity(field.len());
        let mut is_start = false;
        for character in field.chars() {
            match character {
                '_' => is_start = true,
                _ if is_start => {
                    name.extend(character.to_uppercase());
                    is_start = false;
                }
                _ => name.push(character),
            }
        }
        name
    }
}

impl Data {
    /// Returns the value as JSON. Numbers that JSON does not have become null.
    ///
    /// Reports are a few levels deep, whatever the session holds: parts of sessions are [`Data::Json`], which
    /// is copied and not walked through.
    pub fn to_json(&self, naming: Naming) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(naming, &mut out);
        out
    }

    fn write(&self, naming: Naming, out: &mut Vec<u8>) {
        match self {
            Data::Null => out.extend_from_slice(b"null"),
            Data::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Data::Integer(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Data::Number(value) => {
                let value = serde_json::Number::from_f64(*value);
                out.extend_from_slice(
                    value.map_or("null".to_owned(), |n| n.to_string()).as_bytes(),
                );
            }
            Data::Text(text) => write_text(text, out),
            Data::Json(json) => out.extend_from_slice(json),
            Data::List(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.write(naming, out);
                }
                out.push(b']');
            }
            Data::Map(items) => {
                write_object(items.iter().map(|(key, value)| (key.clone(), value)), naming, out);
            }
            Data::Record(items) => {
                write_object(items.iter().map(|(key, value)| (naming.of(key), value)), naming, out);
            }
        }
    }
}

fn write_object<'a>(
    items: impl Iterator<Item = (String, &'a Data)>,
    naming: Naming,
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    for (index, (key, value)) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_text(&key, out);
        out.push(b':');
        value.write(naming, out);
    }
    out.push(b'}');
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
}

/// A value that can be handed to another language.
pub trait ToData {
    /// Returns the value as plain data.
    fn to_data(&self) -> Data;
}

impl ToData for str {
    fn to_data(&self) -> Data {
        Data::Text(self.to_owned())
    }
}

impl ToData for String {
    fn to_data(&self) -> Data {
        Data::Text(self.clone())
    }
}

impl ToData for bool {
    fn to_data(&self) -> Data {
        Data::Bool(*self)
    }
}

impl ToData for f64 {
    fn to_data(&self) -> Data {
        Data::Number(*self)
    }
}

macro_rules! integers {
    ($($kind:ty),*) => {
        $(impl ToData for $kind {
            fn to_data(&self) -> Data {
                i128::try_from(*self).map_or(Data::Null, Data::Integer)
            }
        })*
    };
}
integers!(i64, u32, u64, usize);

impl<T: ToData + ?Sized> ToData for &T {
    fn to_data(&self) -> Data {
        (**self).to_data()
    }
}

impl<T: ToData> ToData for Option<T> {
    fn to_data(&self) -> Data {
        self.as_ref().map_or(Data::Null, ToData::to_data)
    }
}

impl<T: ToData> ToData for Vec<T> {
    fn to_data(&self) -> Data {
        self.as_slice().to_data()
    }
}

impl<T: ToData> ToData for [T] {
    fn to_data(&self) -> Data {
        Data::List(self.iter().map(ToData::to_data).collect())
    }
}

/// Returns a record of the fields of a value.
macro_rules! record {
    ($($name:ident: $value:expr),* $(,)?) => {
        $crate::Data::Record(vec![$((stringify!($name), $crate::ToData::to_data(&$value))),*])
    };
}
pub(crate) use record;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_fields_follow_the_language_and_keys_of_maps_stay() {
        let models = Data::Map(vec![("acme/big_one".into(), Data::Integer(3))]);
        let data =
            Data::Record(vec![("by_model", models), ("raw", Data::Json(b"{\"a_b\":1}".to_vec()))]);
        let snake = br#"{"by_model":{"acme/big_one":3},"raw":{"a_b":1}}"#;
        let camel = br#"{"byModel":{"acme/big_one":3},"raw":{"a_b":1}}"#;
        assert_eq!(data.to_json(Naming::Snake), snake);
        assert_eq!(data.to_json(Naming::Camel), camel);
    }

    #[test]
    fn texts_and_numbers_are_valid_json() {
        let list = Data::List(vec![
            Data::Text("a\"\n\u{1}é".into()),
            Data::Number(f64::NAN),
            Data::Number(0.5),
            Data::Integer(i128::from(u64::MAX)),
            Data::Bool(true),
        ]);
        let json = list.to_json(Naming::Snake);
        let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(value[0], "a\"\n\u{1}é");
        assert!(value[1].is_null());
        assert_eq!(value[3], u64::MAX);
    }
}
