//! tau
