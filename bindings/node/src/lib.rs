//! The native part of the npm package `treering`.
//!
//! JavaScript calls an operation by its name, with its arguments as JSON, and gets JSON, bytes or a handle back:
//! one string crosses the border in each direction, and `JSON.parse` of V8 makes objects of it faster than calls of
//! Node-API for each member would. Every operation runs in the calling thread (`invoke`) or on the thread pool
//! (`invokeAsync`). The classes and types that programs use are written in TypeScript, in `lib/`.

mod args;
pub mod handles;
mod operations;
pub mod outcome;
mod prefetch;
pub mod shared;
pub mod task;
