//! Reports of the usage of agents: tokens and cost by day, project, agent, model and session.
//!
//! [`UsageEvents`] counts each of the usage events of many sessions once, and computes the cost of
//! those without a cost in their file with [`Prices`]. A [`Report`] groups them, and [`Block`]s are
//! the five-hour windows that subscriptions are limited by. Every command, page and server that
//! shows usage over several sessions gets its numbers here.
//!
//! The crate reads no files, no environment and no clock.
//!
//! ```
//! use treering::Session;
//! use treering::usage::EventSeed;
//! use treering_usage::{GroupBy, Prices, UsageEvents, UsageSession, Zone};
//! let session = Session::in_memory("/project");
//! let seed = EventSeed::random();
//! let (info, events) = (session.info()?, session.usage_events(seed)?);
//! let sessions = [UsageSession { info: &info, events: &events }];
//! let counted = UsageEvents::count(seed, &sessions, &Prices::published());
//! let report = counted.report(GroupBy::Day, &Zone::utc());
//! assert!(report.rows.is_empty());
//! # Ok::<(), treering::Error>(())
//! ```

mod blocks;
mod count;
mod csv;
mod prices;
mod report;
mod zone;

pub use blocks::{BLOCK, Block, Pace};
pub use count::{PricedEvent, UnknownModel, UsageEvents, UsageSession};
pub use csv::csv_field;
pub use prices::{ModelPrice, PriceError, Prices};
pub use report::{GroupBy, Report, Row};
pub use zone::{UnknownZone, Zone};
