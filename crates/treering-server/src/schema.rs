//! JSON Schemas of the types in requests and responses of the API, derived from the types
//! themselves.

use serde_json::{Map, Value, json};

/// The schemas that a document refers to, by name.
#[derive(Debug, Default)]
pub(crate) struct Components(pub(crate) Map<String, Value>);

/// A type whose JSON has a schema.
pub(crate) trait Schema {
    /// Returns the schema, or a reference to it in `components`.
    fn schema(components: &mut Components) -> Value;

    /// Returns whether a member of this type may be missing in a request.
    fn is_optional() -> bool {
        false
    }
}

impl Schema for String {
    fn schema(_: &mut Components) -> Value {
        json!({"type": "string"})
    }
}

impl Schema for bool {
    fn schema(_: &mut Components) -> Value {
        json!({"type": "boolean"})
    }
}

impl Schema for u64 {
    fn schema(_: &mut Components) -> Value {
        json!({"type": "integer", "minimum": 0})
    }
}

impl Schema for usize {
    fn schema(components: &mut Components) -> Value {
        u64::schema(components)
    }
}

impl Schema for f64 {
    fn schema(_: &mut Components) -> Value {
        json!({"type": "number"})
    }
}

impl<T: Schema> Schema for Vec<T> {
    fn schema(components: &mut Components) -> Value {
        json!({"type": "array", "items": T::schema(components)})
    }
}

impl<T: Schema> Schema for Option<T> {
    fn schema(components: &mut Components) -> Value {
        let mut schema = T::schema(components);
        match schema.get_mut("type") {
            Some(kind) => {
                *kind = json!([kind.take(), "null"]);
                if let Some(Value::Array(values)) = schema.get_mut("enum") {
                    values.push(Value::Null);
                }
                schema
            }
            None => json!({"anyOf": [schema, {"type": "null"}]}),
        }
    }

    fn is_optional() -> bool {
        true
    }
}

impl<T: Schema> Schema for std::collections::BTreeMap<String, T> {
    fn schema(components: &mut Components) -> Value {
        json!({"type": "object", "additionalProperties": T::schema(components)})
    }
}

/// Returns the name of a member: `first_message` is `firstMessage`.
pub(crate) fn member_name(field: &str) -> String {
    let mut name = String::with_capacity(field.len());
    let mut is_start = false;
    for letter in field.trim_start_matches("r#").chars() {
        match letter {
            '_' => is_start = true,
            _ if is_start => {
                name.extend(letter.to_uppercase());
                is_start = false;
            }
            _ => name.push(letter),
        }
    }
    name
}

/// A member of an object.
pub(crate) struct Member {
    pub(crate) field: &'static str,
    pub(crate) about: &'static str,
    pub(crate) schema: Value,
    pub(crate) is_optional: bool,
}

/// Adds an object's schema to the components. Returns the reference to it.
pub(crate) fn object(
    components: &mut Components,
    name: &str,
    about: &str,
    is_request: bool,
    members: fn(&mut Components) -> Vec<Member>,
) -> Value {
    if !components.0.contains_key(name) {
        components.0.insert(name.to_owned(), Value::Null);
        let mut properties = Map::new();
        let mut required = Vec::new();
        for Member { field, about, mut schema, is_optional } in members(components) {
            let member = member_name(field);
            if let Value::Object(object) = &mut schema
                && !about.is_empty()
            {
                object.insert("description".to_owned(), about.trim().into());
            }
            if !(is_request && is_optional) {
                required.push(Value::from(member.clone()));
            }
            properties.insert(member, schema);
        }
        let mut schema = json!({
            "type": "object",
            "description": about.trim(),
            "properties": properties,
            "additionalProperties": false,
        });
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        components.0.insert(name.to_owned(), schema);
    }
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Defines an object of the API: the type and its schema from the same lines. An `answer` has all
/// of its members, those without a value as `null`; a `request` may omit the optional ones.
macro_rules! api_object {
    (answer $(#[doc = $about:literal])* $name:ident { $($fields:tt)* }) => {
        api_object! { @define false (Serialize) () $(#[doc = $about])* $name { $($fields)* } }
    };
    (request $(#[doc = $about:literal])* $name:ident { $($fields:tt)* }) => {
        api_object! { @define true (Deserialize) (deny_unknown_fields,) $(#[doc = $about])* $name { $($fields)* } }
    };
    (@define $request:literal ($derive:ident) ($($serde:tt)*) $(#[doc = $about:literal])* $name:ident {
        $($(#[doc = $doc:literal])* $field:ident: $type:ty,)*
    }) => {
        $(#[doc = $about])*
        #[derive(Debug, serde::$derive)]
        #[serde($($serde)* rename_all = "camelCase")]
        pub(crate) struct $name {
            $($(#[doc = $doc])* pub(crate) $field: $type,)*
        }

        impl crate::schema::Schema for $name {
            fn schema(components: &mut crate::schema::Components) -> serde_json::Value {
                crate::schema::object(
                    components,
                    stringify!($name),
                    concat!($($about),*),
                    $request,
                    |components| {
                        let _ = &components;
                        vec![$(crate::schema::Member {
                            field: stringify!($field),
                            about: concat!($($doc),*),
                            schema: <$type as crate::schema::Schema>::schema(components),
                            is_optional: <$type as crate::schema::Schema>::is_optional(),
                        },)*]
                    },
                )
            }
        }
    };
}

pub(crate) use api_object;

#[cfg(test)]
mod tests {
    use super::*;

    api_object! { request
        /// An example.
        Example {
            /// The first
            /// member.
            first_member: Option<u64>,
            other: Vec<String>,
        }
    }

    #[test]
    fn a_type_and_its_schema_agree() {
        let mut components = Components::default();
        let reference = Example::schema(&mut components);
        assert_eq!(reference, json!({"$ref": "#/components/schemas/Example"}));
        let expected = json!({
            "type": "object",
            "description": "An example.",
            "properties": {
                "firstMember": {
                    "type": ["integer", "null"],
                    "minimum": 0,
                    "description": "The first member.",
                },
                "other": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["other"],
            "additionalProperties": false,
        });
        assert_eq!(components.0["Example"], expected);
        let example: Example = serde_json::from_value(json!({"other": ["a"]})).unwrap();
        assert_eq!((example.first_member, example.other), (None, vec!["a".to_owned()]));
        let unknown = serde_json::from_value::<Example>(json!({"other": [], "more": 1}));
        assert!(unknown.is_err());
    }
}
