//! Tools that a model may call during a turn.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The error of a tool. Its text becomes the result that the model sees.
pub type ToolError = Box<dyn std::error::Error + Send + Sync>;

/// The future of a tool.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// A tool call of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The id that the result refers to.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them. They are checked to be a JSON object before a tool runs.
    pub arguments: String,
}

impl ToolCall {
    /// Creates a call. `arguments` is JSON.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
    }
}

/// The result of a tool.
///
/// ```
/// use treering_agent::ToolOutput;
/// assert!(ToolOutput::error("there is no such file").is_error);
/// assert_eq!(ToolOutput::text("fn main() {}").text, "fn main() {}");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The text that the model sees.
    pub text: String,
    /// Images that the model sees, as media type and Base64 data.
    pub images: Vec<(String, String)>,
    /// JSON for user interfaces, which the model does not see.
    pub details: Option<String>,
    /// Whether the call failed.
    pub is_error: bool,
}

impl ToolOutput {
    /// Creates a successful result.
    pub fn text(text: impl Into<String>) -> Self {
        ToolOutput { text: text.into(), ..ToolOutput::default() }
    }

    /// Creates the result of a call that failed.
    pub fn error(text: impl Into<String>) -> Self {
        ToolOutput { text: text.into(), is_error: true, ..ToolOutput::default() }
    }

    /// Adds an image: its media type and its bytes in Base64.
    #[must_use]
    pub fn with_image(mut self, mime_type: impl Into<String>, data: impl Into<String>) -> Self {
        self.images.push((mime_type.into(), data.into()));
        self
    }

    /// Sets details for user interfaces, as JSON.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = Some(details.into());
        self
    }
}

/// A tool that a model may call. [`FnTool`] makes one from a closure.
///
/// The result is recorded and sent to the model as it is, in every later request. A tool limits its size
/// itself: a result that does not fit the model's window cannot be compacted in the turn that needs it.
///
/// ```
/// use treering_agent::{AgentTool, CancellationToken, ToolCall, ToolFuture, ToolOutput};
/// struct Echo;
/// impl AgentTool for Echo {
///     fn name(&self) -> &str {
///         "echo"
///     }
///     fn description(&self) -> &str {
///         "Returns its arguments."
///     }
///     fn parameters(&self) -> &str {
///         r#"{"type":"object"}"#
///     }
///     fn run<'a>(&'a self, call: ToolCall, _: &'a CancellationToken) -> ToolFuture<'a> {
///         Box::pin(async move { Ok(ToolOutput::text(call.arguments)) })
///     }
/// }
/// assert_eq!(Echo.name(), "echo");
/// ```
pub trait AgentTool: Send + Sync {
    /// Returns the name by which the model calls the tool.
    fn name(&self) -> &str;

    /// Returns the description for the model.
    fn description(&self) -> &str;

    /// Returns a JSON Schema of the arguments, as an object. A turn with a tool whose parameters are
    /// not a JSON object fails before anything is written.
    fn parameters(&self) -> &str;

    /// Returns whether calls of this tool may run concurrently with other such calls of the same
    /// answer. The results are recorded in the order of the calls in any case.
    fn is_parallel(&self) -> bool {
        false
    }

    /// Runs a call. The call is dropped when the user aborts the turn; `cancel` is canceled then, for
    /// work that runs elsewhere.
    fn run<'a>(&'a self, call: ToolCall, cancel: &'a CancellationToken) -> ToolFuture<'a>;
}

type Run = dyn Fn(ToolCall, CancellationToken) -> ToolFuture<'static> + Send + Sync;

/// A tool made from a closure.
///
/// ```
/// use treering_agent::{FnTool, ToolOutput};
/// let tool = FnTool::new(
///     "now",
///     "Returns the time.",
///     r#"{"type":"object","properties":{}}"#,
///     |_call, _cancel| async { Ok(ToolOutput::text("It is noon.")) },
/// );
/// ```
#[derive(Clone)]
pub struct FnTool {
    name: String,
    description: String,
    parameters: String,
    is_parallel: bool,
    run: Arc<Run>,
}

impl fmt::Debug for FnTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnTool").field("name", &self.name).finish_non_exhaustive()
    }
}

impl FnTool {
    /// Creates a tool. `parameters` is a JSON Schema of the arguments, as an object.
    pub fn new<F>(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: impl Into<String>,
        run: impl Fn(ToolCall, CancellationToken) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        FnTool {
            name: name.into(),
            description: description.into(),
            parameters: parameters.into(),
            is_parallel: false,
            run: Arc::new(move |call, cancel| Box::pin(run(call, cancel))),
        }
    }

    /// Allows calls of this tool to run concurrently with other such calls.
    #[must_use]
    pub fn parallel(mut self) -> Self {
        self.is_parallel = true;
        self
    }
}

impl AgentTool for FnTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> &str {
        &self.parameters
    }

    fn is_parallel(&self) -> bool {
        self.is_parallel
    }

    fn run<'a>(&'a self, call: ToolCall, cancel: &'a CancellationToken) -> ToolFuture<'a> {
        (self.run)(call, cancel.clone())
    }
}
