//! The harness of the tests that cross crates: the real program as a child process, and the world around it.
//!
//! - [`Server`]: `campanile serve` with a configuration and a data folder of its own; it can be killed and
//!   started again.
//! - [`Constellation`]: several of them over a JetStream cluster and a PostgreSQL that they share.
//! - [`Api`]: what a client says to it.
//! - [`Browser`]: what somebody who signed in says to it.
//! - [`ForeignSmsc`], [`Esme`], [`Kannel`], [`Kamailio`], [`OpenSmtpd`], [`CreditPeer`], [`Haproxy`],
//!   [`Mosquitto`], [`Slapd`]: peers that nobody here wrote, as children too.
//! - [`scim_checks`]: a tester of SCIM servers. [`OidcProvider`]: a provider of OpenID Connect.
//! - [`Synapse`], [`TelegramServer`]: networks of instant messages, likewise.
//! - [`Telnet`]: a person's terminal.
//! - [`PythonReceiver`], [`HttpCarrier`]: far ends by HTTP, as children too.
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
mod browser;
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
mod http_far_ends;
mod kamailio;
mod kannel;
mod mosquitto;
mod oidc_provider;
mod open_smtpd;
mod openapi_tools;
mod paging;
mod ports;
mod relay;
mod scim_tester;
mod sendsms;
mod server;
mod slapd;
mod synapse;
mod syscall_trace;
mod telegram_server;
mod telnet;
mod timestamp_authority;
pub mod transport;
mod wait;
pub mod wire;

pub use api::{Api, Reply};
pub use browser::{Browser, new_user};
pub use callbacks::{Call, Callbacks};
pub use caller::Caller;
pub use constellation::{Constellation, Plan};
pub use credit_peer::{CreditPeer, CreditPeerBy};
pub use esme::{Esme, EsmeBy, Login};
pub use foreign::ForeignProgram;
pub use foreign_smsc::{ForeignSmsc, ForeignSmscOptions, SmscBy};
pub use guest::Guest;
pub use haproxy::{Balanced, Haproxy, Naming};
pub use http_far_ends::{HttpCarrier, PythonReceiver, WEBHOOK_SECRET};
pub use kamailio::Kamailio;
pub use kannel::Kannel;
pub use mosquitto::{DeviceMessage, Mosquitto, MosquittoDevice};
pub use oidc_provider::{CLIENT as OIDC_CLIENT, CLIENT_SECRET as OIDC_CLIENT_SECRET, OidcProvider};
pub use open_smtpd::OpenSmtpd;
pub use openapi_tools::OpenApiTools;
pub use paging::{Hylafax, NetSnpp};
pub use ports::free_port;
pub use relay::Relay;
pub use scim_tester::scim_checks;
pub use sendsms::{SendSms, escaped};
pub use server::{Server, Setup, mail_route, platform, program, smpp_client, smpp_door, sms_route};
pub use slapd::{READER as SLAPD_READER, READER_PASSWORD as SLAPD_PASSWORD, Slapd};
pub use synapse::{MatrixUser, Synapse};
pub use syscall_trace::SyscallTrace;
pub use telegram_server::TelegramServer;
pub use telnet::Telnet;
pub use timestamp_authority::{TimestampAuthority, openssl};
pub use wait::{eventually, within};
