//! Drives a protocol machine over TCP, TLS and SCTP: one runtime per core, accept, limits, timers, draining.
//!
//! - [`Cores`]: one single-threaded runtime per core, each on a thread of its own.
//! - [`connect`], [`Listener`]: sockets, always with `TCP_NODELAY`, plain or by TLS ([`TlsClient`],
//!   [`TlsServer`]).
//! - [`connect_sctp`], [`Listener::bind_sctp`], [`probe_sctp`]: SCTP, where the kernel has it.
//! - [`Machine`]: the five verbs every protocol machine has.
//! - [`AllowedIp`]: from where somebody may connect.
//! - [`OutboundPolicy`]: which hosts are called for somebody who is not the operator.
//! - [`Places`]: how many connections a door has, in all and by network.
//! - [`Balancers`], [`read_client`]: clients behind a balancer.
//! - [`Link`], [`drive`]: one task per connection reads all there is, feeds the machine, lets a [`Worker`]
//!   handle the events inline, and writes once. No task and no write per message: that is a factor of fifty.
//!
//! Invariants: a link holds one batch of output; while the system does not take it, nothing new is put in,
//! and what the machine has to say waits there, within its limits. A read goes through a buffer of the
//! thread, not of the connection.

mod allowed;
mod certificate_names;
mod cores;
mod drive;
mod link;
mod listen;
mod machine;
mod outbound;
mod places;
mod proxied;
mod sctp;
mod socket;
mod stream;
#[cfg(test)]
mod tests;
mod tls;

pub use allowed::AllowedIp;
pub use certificate_names::is_named;
pub use cores::Cores;
pub use drive::{DriveEnd, Worker, drive, hang_up};
pub use link::{Link, LinkProgress};
pub use listen::{DoorLimits, HANDSHAKE_MAX, Listener, ListenerLimits};
pub use machine::Machine;
pub use outbound::{OutboundPolicy, OutboundRefusal, OutboundTarget};
pub use places::{ConnectionPlace, DescriptorBudget, NoPlace, Places, network_of};
pub use proxied::{Balancers, read_client};
pub use sctp::{
    MessageFraming, NoSctp, SCTP_ADDRESSES_MAX, SctpStream, connect_sctp, dial_sctp, probe_sctp,
    sctp_addresses,
};
pub use stream::{ConnectError, Stream, connect};
pub use tls::{TlsClient, TlsClientSettings, TlsError, TlsIdentity, TlsServer, TlsServerSettings};
