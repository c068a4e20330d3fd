//! The context that an agent itself would build from a path: the agent view.

use crate::error::Result;

/// The context as the agent's own context builder returns it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentContext {
    /// The messages in the agent's own format, oldest first; each is JSON.
    pub messages: Vec<Vec<u8>>,
    /// The other settings of the agent's context (thinking level, model, mode …), as names and JSON
    /// values.
    pub settings: Vec<(&'static str, Vec<u8>)>,
}

impl AgentContext {
    /// Returns the context as one JSON object: the messages, then the settings.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = [b"{\"messages\":[", &*self.messages.join(&b","[..]), b"]"].concat();
        for (name, value) in &self.settings {
            out.push(b',');
            crate::json::write_string(&mut out, name);
            out.push(b':');
            out.extend_from_slice(value);
        }
        out.push(b'}');
        out
    }
}

/// The records from a root to a leaf; the root has the index 0.
pub(crate) trait PathRecords {
    /// Returns the number of records.
    fn len(&self) -> usize;

    /// Returns the record as in the file; `None` if it is damaged.
    fn record(&mut self, at: usize) -> Result<Option<&[u8]>>;
}

/// Records in memory.
#[cfg(test)]
pub(crate) struct RecordsInMemory(pub Vec<Vec<u8>>);

#[cfg(test)]
impl PathRecords for RecordsInMemory {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn record(&mut self, at: usize) -> Result<Option<&[u8]>> {
        Ok(Some(&self.0[at]))
    }
}
