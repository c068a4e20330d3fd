//! An operation of the API: its path, scope, parameters, responses, and its handler. The router and
//! the OpenAPI document are built from the same operations, so that neither has one that the other
//! lacks, and the scope in the document is the one that is enforced.

use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::schema::{Components, Schema};
use axum::body::Body;
use axum::http::{Method, Response};
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;
use treering::store::Scope;

/// The response to a call, or the problem.
pub(crate) type Answered = Result<Response<Body>, Problem>;

/// The handler of an operation.
pub(crate) type Run = fn(Call) -> Pin<Box<dyn Future<Output = Answered> + Send>>;

/// A function that returns the schema of a type.
pub(crate) type SchemaOf = fn(&mut Components) -> Value;

/// The responses of a connection before the call is known: their statuses and their reasons. They
/// have no body, and the connection is closed after them.
pub(crate) const BEFORE_CALLS: [(u16, &str); 3] = [
    (400, "The request is not HTTP."),
    (414, "The path and the query are too long."),
    (431, "The path, the query and the headers are together larger than the server accepts."),
];

/// An operation of the API.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// The `operationId`, which is also the name in metrics and logs.
    pub(crate) id: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) about: &'static str,
    /// The scope that a token needs; `None` if the call needs no token.
    pub(crate) scope: Option<Scope>,
    pub(crate) params: Vec<Param>,
    pub(crate) bodies: Vec<Content>,
    pub(crate) answers: Vec<Answer>,
    /// The problems that are specific to this operation.
    pub(crate) problems: Vec<Code>,
    /// Whether the response is a stream that ends when the client or the server ends it.
    pub(crate) is_stream: bool,
    /// Whether users see its responses, and its refusals, in a browser.
    pub(crate) is_page: bool,
    pub(crate) run: Run,
}

/// A body of a request or a response.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) media: &'static str,
    pub(crate) schema: SchemaOf,
    pub(crate) example: Option<Value>,
}

/// A response with a status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) about: &'static str,
    pub(crate) contents: Vec<Content>,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
}

/// The part of the request that a parameter is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParamLocation {
    Path,
    Query,
    Header,
}

/// The values that a parameter may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    /// The id of a session.
    Session,
    /// A text with a minimum and a maximum length.
    Text(usize, usize),
    /// A whole number within a range.
    Integer(i64, i64),
    /// `true` or `false`.
    Boolean,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// The id of an event: an offset, and the number of an entry on its line.
    Event,
    /// An entity tag in quotes, or `*`.
    Tag,
    /// A range of bytes; an invalid one is ignored.
    Range,
}

/// A parameter of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Param {
    pub(crate) name: &'static str,
    pub(crate) place: ParamLocation,
    pub(crate) values: Values,
    pub(crate) is_required: bool,
    pub(crate) about: &'static str,
    pub(crate) example: &'static str,
}

impl Operation {
    pub(crate) fn new(
        (method, path): (Method, &'static str),
        (id, tag): (&'static str, &'static str),
        scope: Option<Scope>,
        (summary, about): (&'static str, &'static str),
        run: Run,
    ) -> Self {
        Operation {
            method,
            path,
            id,
            tag,
            summary,
            about,
            scope,
            params: Vec::new(),
            bodies: Vec::new(),
            answers: Vec::new(),
            problems: Vec::new(),
            is_stream: false,
            is_page: false,
            run,
        }
    }

    pub(crate) fn param(mut self, param: Param) -> Self {
        self.params.push(param);
        self
    }

    pub(crate) fn params(mut self, params: &[Param]) -> Self {
        self.params.extend_from_slice(params);
        self
    }

    pub(crate) fn body<T: Schema>(mut self, media: &'static str, example: Value) -> Self {
        self.bodies.push(Content { media, schema: T::schema, example: Some(example) });
        self
    }

    /// Adds a response without a body.
    pub(crate) fn answer(mut self, status: u16, about: &'static str) -> Self {
        self.answers.push(Answer { status, about, contents: Vec::new(), headers: Vec::new() });
        self
    }

    /// Adds a body to the last response.
    pub(crate) fn with<T: Schema>(mut self, media: &'static str, example: Value) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            let example = Some(example).filter(|example| !example.is_null());
            answer.contents.push(Content { media, schema: T::schema, example });
        }
        self
    }

    /// Adds a header to the last response.
    pub(crate) fn header(mut self, name: &'static str, about: &'static str) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.headers.push((name, about));
        }
        self
    }

    pub(crate) fn problems(mut self, codes: &[Code]) -> Self {
        self.problems.extend_from_slice(codes);
        self
    }

    pub(crate) fn stream(mut self) -> Self {
        self.is_stream = true;
        self
    }

    /// Creates an operation of the web page. It is not part of the documented API.
    pub(crate) fn page(
        method: Method,
        path: &'static str,
        id: &'static str,
        scope: Option<Scope>,
        run: Run,
    ) -> Self {
        let operation = Operation::new((method, path), (id, "Page"), scope, ("", ""), run);
        Operation { is_page: true, ..operation }
    }

    /// Returns all problems with which the operation may respond, in order of their statuses.
    pub(crate) fn all_problems(&self) -> Vec<Code> {
        let mut codes = self.problems.clone();
        codes.extend([Code::Forbidden, Code::MisdirectedRequest, Code::Internal]);
        codes.extend([Code::Overloaded, Code::ShuttingDown]);
        if self.scope.is_some() {
            codes.extend([Code::Unauthorized, Code::TooManyRequests, Code::StoreUnavailable]);
        }
        if !self.params.is_empty() || !self.bodies.is_empty() || self.scope.is_some() {
            codes.push(Code::InvalidRequest);
        }
        if !self.bodies.is_empty() {
            let body = [Code::BodyTooLarge, Code::UnsupportedMediaType, Code::RequestTimeout];
            codes.extend(body);
        }
        codes.sort_by_key(|code| (code.status().as_u16(), *code));
        codes.dedup();
        codes
    }
}

impl Param {
    const fn new(
        name: &'static str,
        place: ParamLocation,
        values: Values,
        about: &'static str,
        example: &'static str,
    ) -> Self {
        let is_required = matches!(place, ParamLocation::Path);
        Param { name, place, values, is_required, about, example }
    }

    pub(crate) const fn path(
        name: &'static str,
        values: Values,
        about: &'static str,
        example: &'static str,
    ) -> Self {
        Param::new(name, ParamLocation::Path, values, about, example)
    }

    pub(crate) const fn query(
        name: &'static str,
        values: Values,
        about: &'static str,
        example: &'static str,
    ) -> Self {
        Param::new(name, ParamLocation::Query, values, about, example)
    }

    pub(crate) const fn header(
        name: &'static str,
        values: Values,
        about: &'static str,
        example: &'static str,
    ) -> Self {
        Param::new(name, ParamLocation::Header, values, about, example)
    }

    pub(crate) const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// Checks a value that a client sent.
    pub(crate) fn check(&self, value: &str) -> Result<(), Problem> {
        let is_valid = match self.values {
            Values::Session => treering::SessionId::new(value).is_ok(),
            Values::Text(min, max) => {
                // The document counts characters, and a text of single-byte characters satisfies
                // both limits.
                let length = value.chars().count();
                (min..=max).contains(&length)
            }
            Values::Integer(min, max) => {
                let digits = value.strip_prefix('-').unwrap_or(value);
                digits.bytes().all(|byte| byte.is_ascii_digit())
                    && value.parse().is_ok_and(|number: i64| (min..=max).contains(&number))
            }
            Values::Boolean => matches!(value, "true" | "false"),
            Values::OneOf(names) => names.contains(&value),
            Values::Event => value.parse::<treering::session::LogPosition>().is_ok(),
            Values::Tag => value == "*" || tag(value).is_some(),
            Values::Range => true,
        };
        match is_valid {
            true => Ok(()),
            false => Err(Problem::invalid(format!("{:?} is not a valid {}", value, self.name))),
        }
    }

    pub(crate) fn schema(&self) -> Value {
        use serde_json::json;
        match self.values {
            Values::Session => session_id_schema(),
            Values::Text(min, max) => json!({"type": "string", "minLength": min, "maxLength": max}),
            Values::Integer(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
            Values::Boolean => json!({"type": "boolean"}),
            Values::OneOf(names) => json!({"type": "string", "enum": names}),
            Values::Event => json!({"type": "string", "pattern": r"^[0-9]{1,18}(\.[0-9]{1,9})?$"}),
            Values::Tag => json!({"type": "string", "pattern": r#"^(\*|"[^"]{0,512}")$"#}),
            Values::Range => json!({"type": "string"}),
        }
    }
}

pub(crate) fn session_id_schema() -> Value {
    serde_json::json!({
        "type": "string",
        "pattern": "^[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$",
        "maxLength": treering::SessionId::MAX_LEN,
    })
}

/// Returns the text of an entity tag.
pub(crate) fn tag(value: &str) -> Option<&str> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    (inner.chars().count() <= 512 && !inner.contains('"')).then_some(inner)
}
