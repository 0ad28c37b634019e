//! The harness of the tests that cross crates: the real program as a child process, and the world around it.
//!
//! - [`Server`]: `campanile serve` with a configuration and a data folder of its own; it can be killed and started again.
//! - [`Api`]: what a client says to it.
//! - [`NpmSmsc`], [`OpenSmtpd`]: peers that nobody here wrote, as children too.
//! - [`Callbacks`]: somebody who is told. [`Witness`]: somebody who sees the program write.
//! - `sim`'s SMSC and mailbox run in the tests' process, so they outlive a server that is killed.
//!
//! Whatever a test starts has its own ports and its own folder, and ends with the test.
// Everything here is for tests: what is not as expected ends the test with its words.
#![allow(clippy::unwrap_used)]

mod api;
mod callbacks;
mod npm_smsc;
mod open_smtpd;
mod ports;
mod server;
mod wait;
mod witness;

pub use api::{Api, Reply};
pub use callbacks::{Call, Callbacks};
pub use npm_smsc::{NpmSmsc, NpmSmscOptions};
pub use open_smtpd::OpenSmtpd;
pub use ports::free_port;
pub use server::{Server, Setup, mail_route, program, sms_route};
pub use wait::{eventually, within};
pub use witness::Witness;
