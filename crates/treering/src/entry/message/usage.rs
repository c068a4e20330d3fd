//! The usage that a message records.

use super::super::view::number;
use crate::json;

/// Tokens that one request used, and their cost, as a message records them.
///
/// ```
/// use treering::entry::{TokenCost, TokenUsage};
/// let usage = TokenUsage::new(900, 100).cost(TokenCost::new(0.01, 0.02));
/// assert_eq!(usage.total_tokens(), 1000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TokenUsage {
    /// Tokens of the prompt that were neither read from a cache nor written to one.
    pub input: u64,
    /// Tokens of the answer, thinking included.
    pub output: u64,
    /// Tokens of the prompt that were read from a cache.
    pub cache_read: u64,
    /// Tokens of the prompt that were written to a cache.
    pub cache_write: u64,
    /// The cost; `None` if it is unknown.
    pub cost: Option<TokenCost>,
}

impl TokenUsage {
    /// Creates a usage of tokens that no cache was involved in, of unknown cost.
    pub fn new(input: u64, output: u64) -> Self {
        TokenUsage { input, output, ..TokenUsage::default() }
    }

    /// Sets the tokens of the prompt that were read from a cache.
    #[must_use]
    pub fn cache_read(self, cache_read: u64) -> Self {
        TokenUsage { cache_read, ..self }
    }

    /// Sets the tokens of the prompt that were written to a cache.
    #[must_use]
    pub fn cache_write(self, cache_write: u64) -> Self {
        TokenUsage { cache_write, ..self }
    }

    /// Sets the cost.
    #[must_use]
    pub fn cost(self, cost: TokenCost) -> Self {
        TokenUsage { cost: Some(cost), ..self }
    }
}

/// The cost of one request, in dollars.
///
/// ```
/// use treering::entry::TokenCost;
/// let cost = TokenCost::new(0.5, 0.25).cache_read(0.125);
/// assert_eq!(cost.total, 0.875);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TokenCost {
    /// The cost of [`TokenUsage::input`].
    pub input: f64,
    /// The cost of [`TokenUsage::output`].
    pub output: f64,
    /// The cost of [`TokenUsage::cache_read`].
    pub cache_read: f64,
    /// The cost of [`TokenUsage::cache_write`].
    pub cache_write: f64,
    /// The whole cost.
    pub total: f64,
}

impl TokenCost {
    /// Creates a cost of which no part is for a cache.
    pub fn new(input: f64, output: f64) -> Self {
        TokenCost { input, output, total: input + output, ..TokenCost::default() }
    }

    /// Sets the cost of reading from a cache, and changes the total accordingly.
    #[must_use]
    pub fn cache_read(self, cache_read: f64) -> Self {
        let total = self.total - self.cache_read + cache_read;
        TokenCost { cache_read, total, ..self }
    }

    /// Sets the cost of writing to a cache, and changes the total accordingly.
    #[must_use]
    pub fn cache_write(self, cache_write: f64) -> Self {
        let total = self.total - self.cache_write + cache_write;
        TokenCost { cache_write, total, ..self }
    }
}

impl TokenCost {
    /// Creates a cost of which only the total is known.
    pub fn of_total(total: f64) -> Self {
        TokenCost { total, ..TokenCost::default() }
    }

    fn parts(&self) -> [(&'static str, f64); 5] {
        [
            ("input", self.input),
            ("output", self.output),
            ("cacheRead", self.cache_read),
            ("cacheWrite", self.cache_write),
            ("total", self.total),
        ]
    }
}

impl TokenUsage {
    /// Returns the sum of all tokens.
    pub fn total_tokens(&self) -> u64 {
        let read = self.input.saturating_add(self.cache_read).saturating_add(self.cache_write);
        read.saturating_add(self.output)
    }

    /// Returns the `usage` of a message. It always has a complete `cost`, because pi adds costs up
    /// without checking whether they are present; an unknown cost is zero and marked as unknown.
    pub fn to_json(&self) -> Vec<u8> {
        let TokenUsage { input, output, cache_read, cache_write, cost } = self;
        let total = self.total_tokens();
        let mut out = format!(
            "{{\"input\":{input},\"output\":{output},\"cacheRead\":{cache_read},\
             \"cacheWrite\":{cache_write},\"totalTokens\":{total},\"cost\":{{"
        );
        for (at, (key, amount)) in cost.unwrap_or_default().parts().into_iter().enumerate() {
            // JSON has no infinity.
            let amount = if amount.is_finite() { amount } else { 0.0 };
            let comma = if at == 0 { "" } else { "," };
            out += &format!("{comma}\"{key}\":{amount}");
        }
        if cost.is_none() {
            out += ",\"unknown\":true";
        }
        (out + "}}").into_bytes()
    }

    /// Reads the `usage` of a message; missing numbers count as zero. Returns `None` if it is not
    /// an object.
    pub fn from_json(usage: &[u8]) -> Option<Self> {
        if !usage.starts_with(b"{") {
            return None;
        }
        let keys = ["input", "output", "cacheRead", "cacheWrite", "cost"];
        let [input, output, cache_read, cache_write, cost] = json::get_all(usage, keys);
        // A cast of a float saturates.
        let tokens = |raw: Option<&[u8]>| raw.and_then(number).unwrap_or_default() as u64;
        Some(TokenUsage {
            input: tokens(input),
            output: tokens(output),
            cache_read: tokens(cache_read),
            cache_write: tokens(cache_write),
            cost: cost.and_then(read_cost),
        })
    }
}

fn read_cost(cost: &[u8]) -> Option<TokenCost> {
    let keys = ["input", "output", "cacheRead", "cacheWrite", "total", "unknown"];
    let [input, output, cache_read, cache_write, total, unknown] = json::get_all(cost, keys);
    if unknown == Some(b"true") {
        return None;
    }
    let total = total.and_then(number)?;
    let amount = |raw: Option<&[u8]>| raw.and_then(number).unwrap_or_default();
    Some(TokenCost {
        input: amount(input),
        output: amount(output),
        cache_read: amount(cache_read),
        cache_write: amount(cache_write),
        total,
    })
}
