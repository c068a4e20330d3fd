//! Messages and stop reasons for serde, with the feature `serde`.
//!
//! A message is serialized as a JSON object. Half a surrogate pair, which serde cannot represent,
//! becomes U+FFFD, and the order of members may change; [`Message::as_json`] returns the exact
//! bytes.

use super::{
    AssistantMessage, BashExecutionMessage, Message, StopReason, SystemMessage, ToolResultMessage,
    UserMessage,
};
use crate::json;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: Value =
            serde_json::from_str(&json::to_unicode(self.as_json())).map_err(S::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Message::from_json(value.to_string()).map_err(D::Error::custom)
    }
}

/// Serializes builders as the messages that they build.
macro_rules! serializes_message {
    ($($builder:ty),*) => {$(
        impl Serialize for $builder {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.clone().build().serialize(serializer)
            }
        }
    )*};
}

serializes_message!(
    UserMessage,
    SystemMessage,
    AssistantMessage,
    ToolResultMessage,
    BashExecutionMessage
);

impl Serialize for StopReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for StopReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(StopReason::of(&std::borrow::Cow::<str>::deserialize(deserializer)?))
    }
}
