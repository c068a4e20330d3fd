//! The prices with which costs are computed: those that ship with treering, and those of the
//! configuration.

use crate::config::Config;
use crate::error::Failure;
use treering_usage::Prices;

/// Returns the current prices.
pub(crate) fn current() -> Result<Prices, Failure> {
    let mut prices = Prices::published();
    for (model, price) in &Config::current().prices {
        prices.set(model, price).map_err(|error| {
            Failure::with_hint(
                format!("the configuration, [prices.{model:?}]: {error}"),
                "give dollars for a million tokens, such as input = 3.0",
            )
        })?;
    }
    Ok(prices)
}
