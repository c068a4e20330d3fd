//! Reads the numbers of a usage record, which may be invalid, and adds them without overflow.
//!
//! Costs are decimal fractions of a dollar in the file. They are kept as whole picodollars, so that
//! sums do not depend on their order and lose nothing that a price list could express.

use crate::dialect::Price;
use crate::entry::{TokenCost, TokenUsage, number};
use crate::json;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// The tokens and the cost of one request, or of many.
///
/// ```
/// use treering::usage::Usage;
/// let one = Usage::default().requests(1).input(10).output(5);
/// let two = one + one;
/// assert_eq!((two.requests, two.total()), (2, 30));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Usage {
    /// The number of requests to a model.
    pub requests: u64,
    /// Input tokens that were neither read from a cache nor written to one.
    pub input: u64,
    /// Output tokens, including thinking.
    pub output: u64,
    /// Input tokens that were read from a cache.
    pub cache_read: u64,
    /// Input tokens that were written to a cache.
    pub cache_write: u64,
    /// The part of [`cache_write`](Self::cache_write) that the cache keeps for an hour. It has a price of
    /// its own.
    pub cache_write_1h: u64,
    /// The cost of the requests whose cost is known.
    pub cost: Cost,
    /// The number of requests without a cost in the file: their cost is unknown, not zero.
    pub unpriced: u64,
    /// The cost that a price list gives for requests without a cost in the file.
    pub computed: Cost,
    /// The number of requests without a cost in the file whose cost was computed.
    pub computed_requests: u64,
}

impl Usage {
    /// Sets the number of requests.
    #[must_use]
    pub fn requests(self, requests: u64) -> Self {
        Usage { requests, ..self }
    }

    /// Sets the input tokens that were neither read from a cache nor written to one.
    #[must_use]
    pub fn input(self, input: u64) -> Self {
        Usage { input, ..self }
    }

    /// Sets the output tokens.
    #[must_use]
    pub fn output(self, output: u64) -> Self {
        Usage { output, ..self }
    }

    /// Sets the input tokens that were read from a cache.
    #[must_use]
    pub fn cache_read(self, cache_read: u64) -> Self {
        Usage { cache_read, ..self }
    }

    /// Sets the input tokens that were written to a cache.
    #[must_use]
    pub fn cache_write(self, cache_write: u64) -> Self {
        Usage { cache_write, ..self }
    }

    /// Sets the part of the tokens written to a cache that the cache keeps for an hour.
    #[must_use]
    pub fn cache_write_1h(self, cache_write_1h: u64) -> Self {
        Usage { cache_write_1h, ..self }
    }

    /// Sets the cost of the requests whose cost is known.
    #[must_use]
    pub fn cost(self, cost: Cost) -> Self {
        Usage { cost, ..self }
    }

    /// Sets the number of requests of unknown cost.
    #[must_use]
    pub fn unpriced(self, unpriced: u64) -> Self {
        Usage { unpriced, ..self }
    }
}

impl Usage {
    pub(super) const NONE: Usage = Usage {
        requests: 0,
        input: 0,
        output: 0,
        cache_read: 0,
        cache_write: 0,
        cache_write_1h: 0,
        cost: Cost(0),
        unpriced: 0,
        computed: Cost(0),
        computed_requests: 0,
    };

    /// Returns one request of unknown cost, whose tokens are still to be counted.
    pub const fn of_request() -> Usage {
        Usage { requests: 1, unpriced: 1, ..Usage::NONE }
    }

    /// Returns the `usage` of an entry, as [`TokenUsage::to_json`] writes it. The cost counts as
    /// known if it is known for all requests.
    pub fn to_json(&self) -> Vec<u8> {
        TokenUsage::from(*self).to_json()
    }

    /// Returns the sum of all tokens.
    pub fn total(&self) -> u64 {
        let read = self.input.saturating_add(self.cache_read).saturating_add(self.cache_write);
        read.saturating_add(self.output)
    }

    /// Returns whether no tokens and no requests were counted.
    pub fn is_empty(&self) -> bool {
        *self == Usage::default()
    }

    /// Returns the number of requests whose cost is neither in the file nor computed.
    pub fn unknown(&self) -> u64 {
        self.unpriced.saturating_sub(self.computed_requests)
    }

    /// Returns the cost in the file and the computed cost together.
    pub fn total_cost(&self) -> Cost {
        Cost(self.cost.0.saturating_add(self.computed.0))
    }

    /// Returns the same usage with the cost that a price list gives for it, if the file states none.
    #[must_use]
    pub fn priced(self, cost: Option<Cost>) -> Usage {
        match cost {
            Some(computed) if self.unpriced > 0 => {
                Usage { computed, computed_requests: self.unpriced, ..self }
            }
            _ => self,
        }
    }

    fn with(
        self,
        other: Usage,
        number: fn(u64, u64) -> u64,
        money: fn(u128, u128) -> u128,
    ) -> Usage {
        Usage {
            requests: number(self.requests, other.requests),
            input: number(self.input, other.input),
            output: number(self.output, other.output),
            cache_read: number(self.cache_read, other.cache_read),
            cache_write: number(self.cache_write, other.cache_write),
            cache_write_1h: number(self.cache_write_1h, other.cache_write_1h),
            cost: Cost(money(self.cost.0, other.cost.0)),
            unpriced: number(self.unpriced, other.unpriced),
            computed: Cost(money(self.computed.0, other.computed.0)),
            computed_requests: number(self.computed_requests, other.computed_requests),
        }
    }

    /// Combines two reports of the same event. Counts only grow while an answer is written, so the
    /// larger ones are right. The cost is known if either report has it.
    pub(super) fn same_event(self, other: Usage) -> Usage {
        let unpriced = self.unpriced.min(other.unpriced);
        Usage { unpriced, ..self.with(other, u64::max, u128::max) }
    }

    /// Subtracts `other`, which was added before.
    pub(super) fn without(self, other: Usage) -> Usage {
        self.with(other, u64::saturating_sub, u128::saturating_sub)
    }
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> TokenUsage {
        TokenUsage {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cost: (usage.unpriced == 0).then(|| TokenCost::of_total(usage.cost.dollars())),
        }
    }
}

impl Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        self.with(other, u64::saturating_add, u128::saturating_add)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        *self = *self + other;
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Usage>>(all: I) -> Usage {
        all.fold(Usage::default(), Add::add)
    }
}

/// An amount of money in dollars, exact to a picodollar (10⁻¹² dollars).
///
/// ```
/// # use treering::usage::Cost;
/// assert_eq!(Cost::from_dollars(0.1).unwrap().to_string(), "0.1");
/// assert_eq!(Cost::from_dollars(-1.0), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cost(u128);

/// The number of picodollars in a dollar.
const PARTS: u128 = 1_000_000_000_000;

impl Cost {
    /// Returns an amount; `None` if it is negative or not a number.
    pub fn from_dollars(dollars: f64) -> Option<Cost> {
        let is_amount = dollars.is_finite() && dollars >= 0.0;
        // A cast of a float saturates.
        is_amount.then(|| Cost((dollars * PARTS as f64).round() as u128))
    }

    /// Returns an amount given in picodollars.
    pub const fn from_picodollars(picodollars: u128) -> Cost {
        Cost(picodollars)
    }

    /// Returns the amount in picodollars.
    pub const fn picodollars(self) -> u128 {
        self.0
    }

    /// Returns the amount as a number, for arithmetic that need not be exact.
    pub fn dollars(self) -> f64 {
        self.0 as f64 / PARTS as f64
    }
}

/// Writes the amount as an exact decimal number.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:012}", self.0 / PARTS, self.0 % PARTS);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The largest number of tokens that is accepted: beyond it JSON numbers are not exact, and no
/// request has that many tokens.
const MAX_TOKENS: u64 = 1 << 53;

/// Returns a number of tokens; 0 for an invalid one.
fn tokens(literal: Option<&[u8]>) -> u64 {
    // The number is nearly always a few digits, which need no general parser.
    let digits = |literal: &&[u8]| literal.len() < 16 && literal.iter().all(u8::is_ascii_digit);
    if let Some(digits) = literal.filter(digits) {
        return digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
    }
    let number = literal.and_then(number).filter(|number| number.is_finite());
    // A cast of a negative float gives 0.
    number.map(|number| number as u64).filter(|tokens| *tokens <= MAX_TOKENS).unwrap_or_default()
}

/// Returns a usage object as one request; `None` if it is not an object, or nothing was used.
pub(super) fn usage(object: &[u8], price: Price) -> Option<Usage> {
    request(json::get_all(object, KEYS), price)
}

/// Returns the same for the object at `start`, and the end of the object; `None` if there is no
/// complete object.
pub(super) fn usage_at(bytes: &[u8], start: usize, price: Price) -> Option<(Option<Usage>, usize)> {
    let (values, end) = json::get_all_at(bytes, start, KEYS);
    end.map(|end| (request(values, price), end))
}

const KEYS: [&str; 6] = ["input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost"];

fn request(values: [Option<&[u8]>; 6], price: Price) -> Option<Usage> {
    let [input, output, cache_read, cache_write, total, cost] = values;
    let cost = match price {
        Price::InEntry => cost.and_then(self::cost),
        Price::Dollars(dollars) => Cost::from_dollars(dollars),
        Price::Unstated => None,
    };
    let mut usage = Usage {
        requests: 1,
        input: tokens(input),
        output: tokens(output),
        cache_read: tokens(cache_read),
        cache_write: tokens(cache_write),
        cost: cost.unwrap_or_default(),
        unpriced: u64::from(cost.is_none()),
        ..Usage::NONE
    };
    if usage.total() == 0 {
        // There is only a total: nearly all tokens are input.
        usage.input = tokens(total);
    }
    (usage.total() > 0 || usage.cost > Cost::default()).then_some(usage)
}

/// Returns the usage of a request whose token counts were read from its record; `None` if nothing was used.
pub(super) fn of_counts(counts: [u64; 4], price: Price) -> Option<Usage> {
    let [input, output, cache_read, cache_write] =
        counts.map(|count| if count <= MAX_TOKENS { count } else { 0 });
    let cost = match price {
        Price::Dollars(dollars) => Cost::from_dollars(dollars),
        Price::InEntry | Price::Unstated => None,
    };
    let usage = Usage {
        requests: 1,
        input,
        output,
        cache_read,
        cache_write,
        cost: cost.unwrap_or_default(),
        unpriced: u64::from(cost.is_none()),
        ..Usage::NONE
    };
    (usage.total() > 0 || usage.cost > Cost::default()).then_some(usage)
}

/// Returns the total of a cost, or the sum of its parts if it has no total; `None` if it has
/// neither.
fn cost(literal: &[u8]) -> Option<Cost> {
    let amount = |literal: &[u8]| Cost::from_dollars(number(literal)?);
    if !literal.starts_with(b"{") {
        return amount(literal);
    }
    let keys = ["total", "unknown", "input", "output", "cacheRead", "cacheWrite"];
    let [total, unknown, parts @ ..] = json::get_all(literal, keys);
    if unknown == Some(b"true") {
        return None;
    }
    let total = total.and_then(amount);
    if total.is_some_and(|total| total > Cost::default()) {
        return total;
    }
    let parts = parts.map(|part| part.and_then(amount));
    let add = |sum: Cost, part: &Cost| Cost(sum.0.saturating_add(part.0));
    let known = total.is_some() || parts.iter().any(Option::is_some);
    known.then(|| parts.iter().flatten().fold(Cost::default(), add))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(object: &str) -> Option<(u64, u64, u64, u64, Option<String>)> {
        let usage = usage(object.as_bytes(), Price::InEntry)?;
        let cost = (usage.unpriced == 0).then(|| usage.cost.to_string());
        Some((usage.input, usage.output, usage.cache_read, usage.cache_write, cost))
    }

    #[test]
    fn numbers_are_believed_only_if_they_can_be_true() {
        let all = r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0.5,"total":1.25}}"#;
        let some = |cost: &str| Some(cost.to_owned());
        let cases = [
            (all, Some((1, 2, 3, 4, some("1.25")))),
            (r#"{"input":1}"#, Some((1, 0, 0, 0, None))),
            (r#"{"input":1234,"output":12e2}"#, Some((1234, 1200, 0, 0, None))),
            (
                r#"{"input":123456789012345,"output":1234567890123456}"#,
                Some((123_456_789_012_345, 1_234_567_890_123_456, 0, 0, None)),
            ),
            (r#"{"input":12345678901234567,"output":1}"#, Some((0, 1, 0, 0, None))),
            (r#"{"input":1,"cost":{"total":0}}"#, Some((1, 0, 0, 0, some("0")))),
            (r#"{"input":1,"cost":{}}"#, Some((1, 0, 0, 0, None))),
            (r#"{"input":1,"cost":{"total":0,"unknown":true}}"#, Some((1, 0, 0, 0, None))),
            (r#"{"input":1,"cost":null}"#, Some((1, 0, 0, 0, None))),
            (r#"{"input":1,"cost":0.1}"#, Some((1, 0, 0, 0, some("0.1")))),
            (r#"{"input":1,"cost":{"input":0.1,"output":0.2}}"#, Some((1, 0, 0, 0, some("0.3")))),
            (r#"{"input":1,"cost":{"total":0,"output":0.2}}"#, Some((1, 0, 0, 0, some("0.2")))),
            (r#"{"input":1,"cost":{"total":-1}}"#, Some((1, 0, 0, 0, None))),
            (r#"{"input":1,"cost":{"total":1e400}}"#, Some((1, 0, 0, 0, None))),
            (r#"{"input":1,"cost":{"total":"1"}}"#, Some((1, 0, 0, 0, None))),
            (r#"{"input":1,"input":2}"#, Some((2, 0, 0, 0, None))),
            (r#"{"input":2.9,"output":1e2}"#, Some((2, 100, 0, 0, None))),
            (r#"{"totalTokens":7}"#, Some((7, 0, 0, 0, None))),
            (r#"{"input":-1,"output":1e400,"cacheRead":1e17,"cacheWrite":"9"}"#, None),
            (r#"{"input":0,"output":0,"cost":{"total":0}}"#, None),
            (r#"{"cost":{"total":0.5}}"#, Some((0, 0, 0, 0, some("0.5")))),
            ("{}", None),
            ("null", None),
            ("[1]", None),
        ];
        for (object, expected) in cases {
            assert_eq!(read(object), expected, "{object}");
        }
    }

    #[test]
    fn no_sum_overflows_and_none_depends_on_its_order() {
        let huge = Usage { input: u64::MAX, output: 1, cost: Cost(u128::MAX), ..Usage::default() };
        assert_eq!((huge + huge).input, u64::MAX);
        assert_eq!(huge.total(), u64::MAX);
        assert_eq!((huge + huge).cost, huge.cost);
        assert_eq!(Cost::from_dollars(1e300), Some(Cost(u128::MAX)));
        let amounts = [0.1, 0.2, 1e-9, 123_456.789, 0.000_000_012_5];
        let sum = |amounts: &mut dyn Iterator<Item = f64>| {
            amounts.fold(0, |sum, amount| sum + Cost::from_dollars(amount).unwrap().0)
        };
        let (there, back) = (sum(&mut amounts.into_iter()), sum(&mut amounts.into_iter().rev()));
        assert_eq!((Cost(there), there), (Cost(back), 123_457_089_000_013_500 * 1000 / 1000));
    }

    #[test]
    fn the_price_may_stand_elsewhere() {
        let object = br#"{"input":1,"cost":{"total":0}}"#;
        let unpriced = |price| usage(object, price).map(|usage| usage.unpriced);
        assert_eq!(unpriced(Price::InEntry), Some(0));
        assert_eq!(unpriced(Price::Unstated), Some(1));
        assert_eq!(unpriced(Price::Dollars(f64::NAN)), Some(1));
        let paid = usage(object, Price::Dollars(0.5)).unwrap();
        assert_eq!((paid.cost.dollars(), paid.unpriced), (0.5, 0));
    }

    #[test]
    fn of_two_accounts_of_an_event_the_larger_counts_whichever_comes_first() {
        let early = usage(br#"{"input":3,"output":1}"#, Price::InEntry).unwrap();
        let late = usage(br#"{"input":3,"output":9,"cost":2}"#, Price::InEntry).unwrap();
        let both = early.same_event(late);
        assert_eq!(both, late.same_event(early));
        assert_eq!((both.requests, both.output, both.unpriced), (1, 9, 0));
    }
}
