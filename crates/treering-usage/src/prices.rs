//! Prices of models: a table that ships with treering, and the user's own.
//!
//! A price applies to a model's exact name, with or without a date at its end, at its own provider,
//! and at the time of the request. Otherwise the cost is unknown, and is never guessed.

use serde::Deserialize;
use std::collections::HashMap;
use treering::usage::{Cost, PriceList, Usage};

const PUBLISHED: &str = include_str!("prices.toml");

/// The prices of a model, in dollars for a million tokens, as a configuration states them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// The price of input that is neither read from a cache nor written to one.
    pub input: f64,
    /// The price of output, including thinking.
    pub output: f64,
    /// The price of input that is read from a cache; the price of input if `None`.
    pub cache_read: Option<f64>,
    /// The price of input that is written to a cache for some minutes; the price of input if
    /// `None`.
    pub cache_write: Option<f64>,
    /// The price of input that is written to a cache for an hour; the price of other writes if
    /// `None`.
    pub cache_write_1h: Option<f64>,
}

/// An error in a price.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PriceError {
    /// A price is negative or not a number.
    #[error("a price of {0:?} is negative or no number")]
    Invalid(String),
    /// A table does not have the right form.
    #[error("the table of prices: {0}")]
    Table(String),
}

/// A list of prices.
///
/// ```
/// use treering::usage::{PriceList, Usage};
/// use treering_usage::Prices;
/// let usage = Usage::of_request().input(1_000_000);
/// let cost = Prices::published().cost("anthropic/claude-haiku-4-5-20251001", None, &usage);
/// assert_eq!(cost.unwrap().to_string(), "1");
/// assert_eq!(Prices::published().cost("anthropic/claude-unheard-of", None, &usage), None);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Prices {
    /// The prices of each model, as `provider/model`, in the order of time.
    models: HashMap<String, Vec<Period>>,
    source: String,
    date: String,
}

/// The prices of a model for a period of time.
#[derive(Debug, Clone)]
struct Period {
    from: i64,
    until: i64,
    rates: Rates,
    /// The number of tokens of a prompt above which other rates apply, and these rates.
    above: Option<(u64, Rates)>,
    /// The factor of the fast mode, in millionths.
    fast: Option<u128>,
}

/// Prices in picodollars for one token.
#[derive(Debug, Clone, Copy)]
struct Rates {
    input: u128,
    output: u128,
    cache_read: u128,
    cache_write: u128,
    cache_write_1h: u128,
}

impl Rates {
    fn cost(&self, usage: &Usage) -> u128 {
        let short = usage.cache_write.saturating_sub(usage.cache_write_1h);
        let parts = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (short, self.cache_write),
            (usage.cache_write_1h.min(usage.cache_write), self.cache_write_1h),
        ];
        parts.into_iter().fold(0, |sum: u128, (tokens, rate)| {
            sum.saturating_add(u128::from(tokens).saturating_mul(rate))
        })
    }
}

/// The form of the table in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    source: String,
    date: String,
    price: Vec<PriceRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRow {
    provider: String,
    models: Vec<String>,
    from: Option<String>,
    until: Option<String>,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    cache_write_1h: Option<f64>,
    fast: Option<f64>,
    above: Option<LongContextPrices>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LongContextPrices {
    tokens: u64,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    cache_write_1h: Option<f64>,
}

impl ModelPrice {
    fn rates(&self) -> Option<Rates> {
        let ModelPrice { input, output, cache_read, cache_write, cache_write_1h } = *self;
        let cache_write = cache_write.unwrap_or(input);
        Some(Rates {
            input: millionths(input)?,
            output: millionths(output)?,
            cache_read: millionths(cache_read.unwrap_or(input))?,
            cache_write: millionths(cache_write)?,
            cache_write_1h: millionths(cache_write_1h.unwrap_or(cache_write))?,
        })
    }
}

/// Returns a number in millionths; `None` if it is negative, not a number, or too large.
fn millionths(number: f64) -> Option<u128> {
    (0.0..1e9).contains(&number).then(|| (number * 1e6).round() as u128)
}

impl Prices {
    /// Returns the published prices that ship with treering.
    pub fn published() -> Self {
        // A test reads the table, so this cannot fail.
        Prices::parse(PUBLISHED).unwrap_or_default()
    }

    /// Reads a table of prices.
    fn parse(text: &str) -> Result<Self, PriceError> {
        let table: Table =
            toml::from_str(text).map_err(|error| PriceError::Table(error.message().to_owned()))?;
        let mut prices = Prices { models: HashMap::new(), source: table.source, date: table.date };
        for row in table.price {
            let invalid = || PriceError::Invalid(row.models.join(", "));
            let period = row.period().ok_or_else(invalid)?;
            for model in &row.models {
                let name = format!("{}/{model}", row.provider);
                prices.models.entry(name).or_default().push(period.clone());
            }
        }
        Ok(prices)
    }

    /// Replaces the prices of a model, or adds them. The name is `provider/model`, or `model` for that model
    /// at every provider.
    ///
    /// # Errors
    ///
    /// Fails with [`PriceError::Invalid`] if a price is negative or not a number.
    pub fn set(&mut self, model: &str, price: &ModelPrice) -> Result<(), PriceError> {
        let rates = price.rates().ok_or_else(|| PriceError::Invalid(model.to_owned()))?;
        let (from, until) = (i64::MIN, i64::MAX);
        let period = Period { from, until, rates, above: None, fast: None };
        self.models.insert(model.to_owned(), vec![period]);
        Ok(())
    }

    /// Returns the source of the prices.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the day on which the prices were collected.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// Returns the prices of a model: those that the user set for this name first, then those of
    /// the table.
    fn periods(&self, model: &str) -> Option<&[Period]> {
        let bare = model.split_once('/').map_or(model, |(_, name)| name);
        let names = [model, bare, undated(model), undated(bare)];
        names.into_iter().find_map(|name| self.models.get(name)).map(Vec::as_slice)
    }
}

impl PriceRow {
    fn period(&self) -> Option<Period> {
        let day = |text: &Option<String>, otherwise| match text {
            Some(day) => treering::time::parse(day),
            None => Some(otherwise),
        };
        let PriceRow { input, output, cache_read, cache_write, cache_write_1h, .. } = *self;
        let rates =
            ModelPrice { input, output, cache_read, cache_write, cache_write_1h }.rates()?;
        let above = match &self.above {
            Some(above) => {
                let LongContextPrices {
                    tokens,
                    input,
                    output,
                    cache_read,
                    cache_write,
                    cache_write_1h,
                } = *above;
                let price = ModelPrice { input, output, cache_read, cache_write, cache_write_1h };
                Some((tokens, price.rates()?))
            }
            None => None,
        };
        let fast = match self.fast {
            Some(factor) => Some(millionths(factor)?),
            None => None,
        };
        let (from, until) = (day(&self.from, i64::MIN)?, day(&self.until, i64::MAX)?);
        Some(Period { from, until, rates, above, fast })
    }
}

/// Returns a model's name without a date at its end: `-20250929` or `-2025-09-29`.
fn undated(model: &str) -> &str {
    for shape in ["-dddddddd", "-dddd-dd-dd"] {
        let Some(at) = model.len().checked_sub(shape.len()) else { continue };
        let Some((name, end)) = model.split_at_checked(at) else { continue };
        let fits = |(byte, shape): (u8, u8)| match shape {
            b'd' => byte.is_ascii_digit(),
            other => byte == other,
        };
        if !name.is_empty() && end.bytes().zip(shape.bytes()).all(fits) {
            return name;
        }
    }
    model
}

impl PriceList for Prices {
    fn cost(&self, model: &str, time: Option<i64>, usage: &Usage) -> Option<Cost> {
        let (periods, is_fast) = match (self.periods(model), model.strip_suffix("-fast")) {
            (Some(periods), _) => (periods, false),
            (None, Some(model)) => (self.periods(model)?, true),
            (None, None) => return None,
        };
        // Without a time, the current price counts.
        let time = time.unwrap_or(i64::MAX - 1);
        let period = periods.iter().find(|period| (period.from..period.until).contains(&time))?;
        let prompt = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        let rates = match &period.above {
            Some((tokens, rates)) if prompt > *tokens => rates,
            _ => &period.rates,
        };
        let cost = rates.cost(usage);
        let cost = match is_fast {
            true => cost.saturating_mul(period.fast?) / 1_000_000,
            false => cost,
        };
        Some(Cost::from_picodollars(cost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(prices: &Prices, model: &str, time: &str, usage: Usage) -> Option<String> {
        prices.cost(model, treering::time::parse(time), &usage).map(|cost| cost.to_string())
    }

    fn usage() -> Usage {
        let usage = Usage::of_request().input(1000).output(100).cache_read(10_000);
        usage.cache_write(2000).cache_write_1h(500)
    }

    #[test]
    fn the_table_is_valid_and_names_its_source() {
        let prices = Prices::parse(PUBLISHED).unwrap();
        assert!(prices.models.len() > 100);
        assert!(!prices.source().is_empty());
        assert!(treering::time::parse(prices.date()).is_some());
        for (model, periods) in &prices.models {
            let is_exception = prices.models.contains_key(undated(model));
            assert!(undated(model) == model || is_exception, "{model}: named without its date");
            assert!(model.contains('/'), "{model}");
            for pair in periods.windows(2) {
                assert_eq!(pair[0].until, pair[1].from, "{model}: periods follow each other");
            }
            assert_eq!(periods.last().unwrap().until, i64::MAX, "{model}");
            for period in periods {
                assert!(period.rates.input <= period.rates.output, "{model}");
                assert!(period.rates.cache_write <= period.rates.cache_write_1h, "{model}");
            }
        }
    }

    #[test]
    fn every_kind_of_token_has_its_price() {
        let prices = Prices::published();
        // 1000 × 3 + 100 × 15 + 10,000 × 0.3 + 1500 × 3.75 + 500 × 6 millionths of a dollar.
        let expected = Some("0.016125".to_owned());
        for model in ["anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5-20250929"] {
            assert_eq!(cost(&prices, model, "2025-12-01", usage()), expected, "{model}");
        }
        let codex = cost(&prices, "openai/gpt-5-codex", "2025-12-01", usage());
        assert_eq!(codex.as_deref(), Some("0.006"));
    }

    #[test]
    fn a_long_prompt_costs_more_as_a_whole_and_only_while_that_was_so() {
        let prices = Prices::published();
        let prompt = |tokens| Usage::of_request().cache_read(tokens);
        let of = |time, tokens| cost(&prices, "anthropic/claude-opus-4-6", time, prompt(tokens));
        assert_eq!(of("2026-03-12", 200_000).as_deref(), Some("0.1"));
        assert_eq!(of("2026-03-12", 200_001).as_deref(), Some("0.200001"));
        assert_eq!(of("2026-03-13", 200_001).as_deref(), Some("0.1000005"));
    }

    #[test]
    fn a_version_with_a_price_of_its_own_has_it_and_a_price_counts_from_its_day() {
        let prices = Prices::published();
        let of = |model: &str, time| cost(&prices, model, time, Usage::of_request().input(1000));
        assert_eq!(of("openai/gpt-4o-2024-05-13", "2024-06-01").as_deref(), Some("0.005"));
        assert_eq!(of("openai/gpt-4o-2024-08-06", "2024-09-01").as_deref(), Some("0.0025"));
        assert_eq!(of("deepseek/deepseek-chat", "2025-09-28"), None);
        assert_eq!(of("deepseek/deepseek-chat", "2025-09-29").as_deref(), Some("0.00028"));
    }

    #[test]
    fn the_fast_mode_has_a_factor_where_it_is_known() {
        let prices = Prices::published();
        let of = |model: &str| cost(&prices, model, "2026-11-01", usage());
        assert_eq!(of("anthropic/claude-opus-5-fast").as_deref(), Some("0.05375"));
        assert_eq!(of("anthropic/claude-opus-5").as_deref(), Some("0.026875"));
        assert_eq!(of("anthropic/claude-haiku-4-5-fast"), None);
    }

    #[test]
    fn other_providers_and_similar_names_are_not_guessed() {
        let prices = Prices::published();
        let unknown = [
            "",
            "claude-sonnet-4-5",
            "acme/claude-sonnet-4-5",
            "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
            "anthropic/claude-sonnet",
            "anthropic/claude-sonnet-4-5-preview",
            "anthropic/claude-sonnet-4-5-2025",
            "openai/gpt-5-codex-extra",
            "-20250929",
        ];
        for model in unknown {
            assert_eq!(cost(&prices, model, "2026-01-01", usage()), None, "{model}");
        }
    }

    #[test]
    fn the_users_prices_come_first() {
        let mut prices = Prices::published();
        let price = ModelPrice {
            input: 1.0,
            output: 2.0,
            cache_read: None,
            cache_write: None,
            cache_write_1h: None,
        };
        prices.set("anthropic/claude-sonnet-4-5", &price).unwrap();
        prices.set("local-model", &price).unwrap();
        let expected = Some("0.0132".to_owned());
        for model in ["anthropic/claude-sonnet-4-5-20250929", "acme/local-model", "local-model"] {
            assert_eq!(cost(&prices, model, "2026-01-01", usage()), expected, "{model}");
        }
        let bad = ModelPrice { output: -1.0, ..price.clone() };
        assert_eq!(prices.set("x", &bad), Err(PriceError::Invalid("x".to_owned())));
        let bad = ModelPrice { output: f64::NAN, ..price };
        assert!(prices.set("x", &bad).is_err());
    }

    #[test]
    fn no_number_of_tokens_overflows() {
        let huge = Usage::of_request().input(u64::MAX).output(u64::MAX).cache_read(u64::MAX);
        let huge = huge.cache_write(1).cache_write_1h(u64::MAX);
        assert!(Prices::published().cost("openai/gpt-5", None, &huge).is_some());
    }
}
