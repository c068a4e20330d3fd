//! Test support for treering: generated sessions, a reference model, and storage that
//! fails on demand.
//!
//! - [`generate`]: realistic sessions of any size, and the shapes that break other readers. Same
//!   arguments, same bytes.
//! - [`mutate`]: the damage that crashes, editors and careless programs do to a file.
//! - [`model`]: a second implementation of the format's rules, written for clarity: slow, recursive where the
//!   definition is, and without code of the library.
//! - [`faulty`]: a journal that fails the way disks do, by script or by seed.
//! - [`test_dir`]: a directory for a test.
//! - [`postgres`]: PostgreSQL servers in temporary directories, with standbys.
//! - [`sim`]: a machine in memory that crashes, fails, and runs other programs between any two calls.
//! - [`story`]: the tests that every journal, session and store must pass.
//! - [`certificates`]: certificates for tests of TLS.
//! - [`corpus`]: sample sessions of agents, where they are available.
//! - [`canonical`]: the canonical form of JSON values, to compare them.
//! - [`rng`]: the random numbers of all of these.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test support: a panic is how a test says no"
)]

pub mod canonical;
pub mod certificates;
pub mod corpus;
pub mod faulty;
pub mod generate;
pub mod model;
pub mod mutate;
pub mod postgres;
pub mod rng;
pub mod sim;
pub mod story;
pub mod test_dir;
mod text;

/// The README's example compiles. It is tested here because this crate is not published: a package
/// must not include files of its own workspace.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
