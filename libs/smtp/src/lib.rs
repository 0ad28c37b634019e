//! SMTP (RFC 5321) without IO: the client machine and the server machine.
//!
//! The crate never opens a socket, never reads a clock and never sleeps. Octets and an instant go in; octets, events and a
//! deadline come out.
//!
//! - [`client`]: one [`Client`](client::Client) per connection, with pipelining (RFC 2920) and chunking (RFC 3030).
//! - [`server`]: one [`Server`](server::Server) per connection, for who takes mail for addresses of their own.

pub mod client;
pub mod server;
