//! Config, wiring, command line: the only crate that knows everyone.

mod alert_documents;
mod apply;
pub mod cli;
pub mod config;
mod data_form;
pub mod demo;
pub mod house;
mod keep;
mod keys;
mod lead;
mod metering;
mod money;
pub mod serve;
mod servers;
pub mod setup;
pub mod simulate;
mod stamps;
mod weigh;
