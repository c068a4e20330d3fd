//! Turns with a model.

use crate::schema::api_object;

api_object! { request
    /// A message to the model.
    NewTurn {
        /// The message; at most 1 MiB, unless the server has another limit.
        text: String,
    }
}

api_object! { answer
    /// Whether a turn was stopped.
    TurnStopped {
        /// False if the model is not answering in this session, at this node.
        stopped: bool,
    }
}
