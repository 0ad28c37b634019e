//! Doors take requests: HTTP API, Kannel's sendsms, SMPP server, inbound mail, topic protocol.

mod activity;
pub mod guessing;
pub mod http;
pub mod kannel;
mod message_intake;
pub mod smpp;
pub mod smtp;
pub mod topic;

pub use message_intake::MessageIntake;
