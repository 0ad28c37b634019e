//! Config, wiring, command line: the only crate that knows everyone.

mod alert_documents;
pub mod cli;
pub mod config;
mod data_form;
pub mod demo;
mod descriptors;
mod keys;
mod live_settings;
mod message_funds;
mod metering;
mod parts_estimator;
mod rate_share;
mod reload;
mod retention;
mod running_routes;
pub mod serve;
pub mod server;
pub mod setup;
pub mod simulate;
mod storage;
mod write_trace;
