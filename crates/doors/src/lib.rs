//! Doors take requests: HTTP API, Kannel's sendsms, SMPP server, inbound mail, topic protocol.

mod activity;
pub mod failed_sign_ins;
mod gatekeeper;
pub mod guessing;
pub mod http;
pub mod kannel;
mod live_tokens;
mod message_intake;
pub mod smpp;
pub mod smtp;
pub mod topic;

pub use gatekeeper::Gatekeeper;
pub use live_tokens::{LiveTokens, TokenHold};
pub use message_intake::MessageIntake;
