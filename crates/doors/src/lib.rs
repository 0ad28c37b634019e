//! The ways in: HTTP API.

pub mod http;
pub mod smpp;
pub mod smtp;
pub mod topic;
