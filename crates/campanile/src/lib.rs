//! Config, wiring, command line: the only crate that knows everyone.

pub mod demo;
pub mod house;
mod keep;
mod keys;
mod metering;
pub mod setup;
pub mod simulate;
mod weigh;
