//! The harness of the tests that cross crates: the real program as a child process, and the world around it.
//!
//! - [`Server`]: `campanile serve` with a configuration and a data folder of its own; it can be killed and
//!   started again.
//! - [`Constellation`]: several of them over a JetStream cluster and a PostgreSQL that they share.
//! - [`Api`]: what a client says to it.
//! - [`ForeignSmsc`], [`Esme`], [`Kannel`], [`Kamailio`], [`OpenSmtpd`], [`CreditPeer`], [`Haproxy`]: peers
//!   that nobody here wrote, as children too.
//! - [`OpenApiTools`]: generators of clients, and a tester, over the description of the API.
//! - [`wire`]: SMPP by the octet, for what no library would say. [`credit`]: Diameter, likewise.
//! - [`Guest`]: a small machine under emulation, with a kernel of its own.
//! - [`Caller`]: TCP by the octet, from a loopback address of its own.
//! - [`Relay`]: a network between two of them that can be cut.
//! - [`Callbacks`]: somebody who is told. [`SyscallTrace`]: somebody who sees the program write.
//! - `sim`'s SMSC and mailbox run in the tests' process, so they outlive a server that is killed.
//!
//! Whatever a test starts has its own ports and its own folder, and ends with the test.
// Everything here is for tests: what is not as expected ends the test with its words.
#![allow(clippy::unwrap_used)]

mod api;
mod callbacks;
mod caller;
mod constellation;
pub mod credit;
mod credit_peer;
mod esme;
mod foreign;
mod foreign_smsc;
mod guest;
mod haproxy;
mod kamailio;
mod kannel;
mod open_smtpd;
mod openapi_tools;
mod ports;
mod relay;
mod sendsms;
mod server;
mod syscall_trace;
pub mod transport;
mod wait;
pub mod wire;

pub use api::{Api, Reply};
pub use callbacks::{Call, Callbacks};
pub use caller::Caller;
pub use constellation::{Constellation, Plan};
pub use credit_peer::{CreditPeer, CreditPeerBy};
pub use esme::{Esme, EsmeBy, Login};
pub use foreign::ForeignProgram;
pub use foreign_smsc::{ForeignSmsc, ForeignSmscOptions, SmscBy};
pub use guest::Guest;
pub use haproxy::{Balanced, Haproxy, Naming};
pub use kamailio::Kamailio;
pub use kannel::Kannel;
pub use open_smtpd::OpenSmtpd;
pub use openapi_tools::OpenApiTools;
pub use ports::free_port;
pub use relay::Relay;
pub use sendsms::{SendSms, escaped};
pub use server::{Server, Setup, mail_route, platform, program, smpp_client, smpp_door, sms_route};
pub use syscall_trace::SyscallTrace;
pub use wait::{eventually, within};
