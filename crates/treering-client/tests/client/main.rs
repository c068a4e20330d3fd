//! The client against a scripted server.

mod histories;
mod http;
mod responder;
mod sync;
mod unreliable;
