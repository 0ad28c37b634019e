//! SMTP (RFC 5321) without IO: the client machine and the server machine.
//!
//! The crate never opens a socket, never reads a clock and never sleeps. Octets and an instant go in; octets,
//! events and a deadline come out.
//!
//! - [`client`]: one [`SmtpClient`](client::SmtpClient) per connection, with pipelining (RFC 2920) and
//!   chunking (RFC 3030).
//! - [`server`]: one [`SmtpServer`](server::SmtpServer) per connection, for addresses of one's own; it relays
//!   nothing.
//! - [`path`], [`reply`], [`extensions`], [`content`]: the grammar that both share.
//!
//! # The five verbs
//!
//! Two machines, with two buffers as their wire:
//!
//! ```
//! use smtp::client::{self, Input, SmtpClient, Timeouts, TlsMode, Transaction, Verdict};
//! use smtp::path::Path;
//! use smtp::server::{self, Disposition, RecipientPolicy, SessionLimits, SmtpServer};
//! use std::time::Instant;
//!
//! /// Takes mail for everybody here.
//! struct Here;
//! impl RecipientPolicy for Here {
//!     type Recipient = String;
//!     fn resolve(&self, address: &str) -> Option<String> {
//!         address.strip_suffix("@here.example").map(str::to_owned)
//!     }
//! }
//!
//! let now = Instant::now();
//! let options = client::ClientOptions {
//!     hello: "there.example".to_owned(),
//!     tls: TlsMode::None,
//!     credentials: None,
//!     window: 20,
//!     timeouts: Timeouts::default(),
//! };
//! let mut client = SmtpClient::new(options, now);
//! let options = server::ServerOptions {
//!     hostname: "here.example".to_owned(),
//!     software: "example",
//!     start_tls: false,
//!     limits: SessionLimits::default(),
//! };
//! let mut server = SmtpServer::new(options, Here, now);
//! let mut transaction = Some(Transaction {
//!     id: 7,
//!     from: Path::parse("alice@there.example")?,
//!     to: Path::parse("bob@here.example")?,
//!     envelope_id: String::new(),
//!     notify_success: false,
//!     message: b"Subject: hello\r\n\r\nSirens at noon.\r\n".to_vec(),
//! });
//! let mut wire = Vec::new();
//! let verdict = loop {
//!     wire.clear();
//!     server.poll_transmit(&mut wire);
//!     client.handle_input(now, Input::Octets(&wire));
//!     if let Some(client::SmtpClientEvent::Done { id: 7, verdict }) = client.poll_event() {
//!         break verdict;
//!     }
//!     if client.room() > 0 && let Some(transaction) = transaction.take() {
//!         client.submit(now, transaction);
//!     }
//!     let octets = client.poll_transmit().to_vec();
//!     client.handle_input(now, Input::Sent(octets.len()));
//!     server.handle_input(now, &octets);
//!     if let Some(server::SmtpServerEvent::Mail(mail)) = server.poll_event() {
//!         assert_eq!(mail.recipients, ["bob"]);
//!         server.finish_mail(now, Disposition::Accepted);
//!     }
//! };
//! assert!(matches!(verdict, Verdict::Accepted { .. }));
//! # Ok::<(), smtp::path::PathError>(())
//! ```
//!
//! # Blame
//!
//! A [`ReplyError`](reply::ReplyError) is the server's fault and ends the client's session, a
//! [`CommandError`](server::CommandError) is the client's and has its reply, a [`PathError`](path::PathError)
//! is the caller's.
//!
//! # What is bounded
//!
//! Reply lines and their number, command lines, messages, recipients, errors and commands of a session,
//! transactions in flight, the time of everything. Output that waits closes the client's
//! [`room`](client::SmtpClient::room) and turns the server's
//! [`wants_input`](server::SmtpServer::wants_input) false.

pub mod client;
pub mod content;
pub mod extensions;
pub mod path;
pub mod reply;
pub mod server;
#[cfg(test)]
mod tests;
