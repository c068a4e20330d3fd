//! Builds the OpenAPI document from the operations.

use crate::api::OPERATIONS;
use crate::operation::{BEFORE_CALLS, Content, Operation, ParamLocation};
use crate::problem::Code;
use crate::schema::{Components, Schema};
use crate::types::ProblemBody;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Returns the document.
pub(crate) fn document() -> Value {
    let mut components = Components::default();
    let mut paths: Map<String, Value> = Map::new();
    for operation in OPERATIONS.iter() {
        let item = paths.entry(operation.path).or_insert_with(|| json!({}));
        let method = operation.method.as_str().to_ascii_lowercase();
        item[method] = describe(operation, &mut components);
    }
    let codes = Code::ALL.iter().map(|code| {
        format!("| `{}` | {} | {} |\n", code.name(), code.status().as_u16(), code.about())
    });
    let about = format!(
        "Session trees of AI agents over HTTP. Problems are `application/problem+json` with a stable `code`; a request that cannot be read as a call is answered with 400, 414 or 431 and no body.\n\n| code | status | meaning |\n|---|---|---|\n{}",
        codes.collect::<String>()
    );
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "treering",
            "version": "1.0.0",
            "summary": "Sessions of AI agents",
            "description": about,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components.0,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of `treering token create`, or the one that `treering serve` was started with. Each call names the scope that it needs: `read`, `write` or `admin`.",
                },
            },
        },
    })
}

fn describe(operation: &Operation, components: &mut Components) -> Value {
    let mut parameters = Vec::new();
    for param in &operation.params {
        let place = match param.place {
            ParamLocation::Path => "path",
            ParamLocation::Query => "query",
            ParamLocation::Header => "header",
        };
        let mut described = json!({
            "name": param.name,
            "in": place,
            "required": param.is_required,
            "description": param.about,
            "schema": param.schema(),
        });
        if !param.example.is_empty() {
            described["example"] = match param.example.parse::<i64>() {
                Ok(number) if described["schema"]["type"] == "integer" => number.into(),
                _ if described["schema"]["type"] == "boolean" => (param.example == "true").into(),
                _ => param.example.into(),
            };
        }
        parameters.push(described);
    }
    let mut description = operation.about.to_owned();
    if let Some(scope) = operation.scope {
        if !description.is_empty() {
            description.push_str("\n\n");
        }
        description.push_str(&format!("Needs a token of the scope `{scope}`."));
    }
    let mut described = json!({
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": description,
        "parameters": parameters,
        "responses": responses(operation, components),
    });
    if operation.scope.is_none() {
        described["security"] = json!([]);
    }
    if !operation.bodies.is_empty() {
        described["requestBody"] =
            json!({"required": true, "content": contents(&operation.bodies, components)});
    }
    described
}

fn contents(contents: &[Content], components: &mut Components) -> Value {
    let mut described = Map::new();
    for content in contents {
        let mut media = json!({"schema": (content.schema)(components)});
        if let Some(example) = content.example.as_ref().filter(|example| !example.is_null()) {
            media["example"] = example.clone();
        }
        described.insert(content.media.to_owned(), media);
    }
    described.into()
}

fn responses(operation: &Operation, components: &mut Components) -> Value {
    let mut responses = Map::new();
    for answer in &operation.answers {
        let mut described = json!({"description": answer.about});
        if !answer.contents.is_empty() {
            described["content"] = contents(&answer.contents, components);
        }
        for (name, about) in &answer.headers {
            described["headers"][*name] =
                json!({"description": about, "schema": {"type": "string"}});
        }
        responses.insert(answer.status.to_string(), described);
    }
    let mut problems: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in operation.all_problems() {
        problems.entry(code.status().as_u16()).or_default().push(code);
    }
    let schema = ProblemBody::schema(components);
    for (status, codes) in problems {
        let about: Vec<String> =
            codes.iter().map(|code| format!("`{}`: {}", code.name(), code.about())).collect();
        let mut described = json!({
            "description": about.join(" "),
            "content": {"application/problem+json": {"schema": schema}},
        });
        if matches!(status, 429 | 503) {
            described["headers"] = json!({
                "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}},
            });
        }
        responses.insert(status.to_string(), described);
    }
    for (status, about) in BEFORE_CALLS {
        let about = format!("{about} There is no body then, and the connection is closed.");
        match responses.get_mut(&status.to_string()) {
            Some(described) => {
                let problems = described["description"].as_str().unwrap_or_default();
                described["description"] = format!("{problems} {about}").into();
            }
            None => {
                responses.insert(status.to_string(), json!({"description": about}));
            }
        }
    }
    responses.into()
}
