//! Collects tool calls that arrive in pieces; shared by all HTTP clients.

use super::Sink;
use super::error::ModelError;
use crate::chat::ChatRequest;
use crate::tool::ToolCall;
use serde_json::Value;

/// The maximum number of calls in one answer.
const MAX_CALLS: usize = 128;

/// The tool calls of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The calls in the order in which they began, with the indices of their blocks.
    calls: Vec<(usize, ToolCall)>,
    /// Whether the server reported that the model wants to call tools.
    pub(super) is_wanted: bool,
}

impl Calls {
    /// Returns the number of calls.
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Adds a piece to the call with this index, or begins a call. Some servers give all calls the same
    /// index, so a piece with another id and a name begins a call as well.
    pub(super) fn push(
        &mut self,
        index: usize,
        id: Option<&str>,
        name: Option<&str>,
        arguments: Option<&str>,
        sink: &mut Sink,
    ) -> Result<(), ModelError> {
        if !sink.takes_calls {
            return Err(ModelError::ToolCall);
        }
        let (id, name) = (id.unwrap_or_default(), name.unwrap_or_default());
        let is_other =
            |call: &ToolCall| ![id, name, &call.id, &call.name].contains(&"") && call.id != id;
        let same = self.calls.iter().rposition(|(other, _)| *other == index);
        let at = match same.filter(|at| !is_other(&self.calls[*at].1)) {
            Some(at) => at,
            None if self.calls.len() >= MAX_CALLS => return Err(ModelError::Length),
            None => {
                self.calls.push((index, ToolCall::new("", "", "")));
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at].1;
        // Some servers repeat the id and the name with every piece.
        if !id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if !name.is_empty() {
            name.clone_into(&mut call.name);
        }
        if let Some(piece) = arguments {
            sink.count(piece)?;
            call.arguments.push_str(piece);
        }
        Ok(())
    }

    /// Returns the calls.
    ///
    /// # Errors
    ///
    /// Fails with [`ModelError::ToolCall`] if there are calls although the request offered no
    /// tools.
    pub(super) fn finish(mut self, request: &ChatRequest) -> Result<Vec<ToolCall>, ModelError> {
        if request.tools.is_empty() && self.is_wanted {
            return Err(ModelError::ToolCall);
        }
        let whole = |mut call: ToolCall| {
            // A call without arguments may arrive without any piece of them.
            if call.arguments.trim().is_empty() {
                call.arguments = "{}".to_owned();
            }
            call
        };
        self.calls.sort_by_key(|(index, _)| *index);
        Ok(self.calls.into_iter().map(|(_, call)| whole(call)).collect())
    }
}

/// Fails if an answer has neither text nor tool calls.
pub(super) fn check_empty(text: &str, calls: &[ToolCall]) -> Result<(), ModelError> {
    match text.is_empty() && calls.is_empty() {
        true => Err(ModelError::Empty),
        false => Ok(()),
    }
}

/// Adds the members of a provider's request to the body.
pub(super) fn add_members(body: &mut Value, request: &str) -> Result<(), ModelError> {
    let members: serde_json::Map<String, Value> = serde_json::from_str(request)
        .map_err(|error| ModelError::Protocol(format!("the request is not JSON: {error}")))?;
    if let Some(body) = body.as_object_mut() {
        body.extend(members);
    }
    Ok(())
}
