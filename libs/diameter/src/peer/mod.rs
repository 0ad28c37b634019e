//! Peers: capabilities, watchdog, election, disconnection, requests in flight.
//!
//! - [`Connection`]: one transport connection, of either side, from its establishment to its end: the bytes.
//! - [`Peer`]: one peer identity: which of two connections stays, when to connect and when not to.
//! - [`states`], [`watchdog`]: the tables of RFC 6733 section 5.6 and RFC 3539 appendix A, pure: what the two
//!   above run on.
//!
//! # A server
//!
//! A connection that a peer began is a [`Connection::listening`]. When it [`Asked`](Event::Asked), who the
//! peer is is known for the first time: refuse it with 3010 if it is nobody we know, else lead it to the
//! [`Peer`] of its Origin-Host ([`Peer::key`]), which orders to accept it, or to refuse it because that
//! Origin-Host is connected already. A server that never connects by itself may do the latter with a set of
//! names.
//!
//! ```
//! use diameter::dictionary::avp;
//! use diameter::header::CommandFlags;
//! use diameter::peer::{
//!     Application, Connection, ConnectionConfig, Event, Identity, Incoming, Outgoing, Start,
//! };
//! use diameter::{Writer, result_code};
//! use std::sync::Arc;
//! use std::time::{Duration, Instant};
//!
//! let now = Instant::now();
//! let node = |host| Arc::new(ConnectionConfig::new(Identity::new(host, "example", Application::auth(4))));
//! let start = |seed| Start { local: [127, 0, 0, 1].into(), is_secured: false, watchdog: None, seed };
//! let mut client = Connection::connecting(node("client.example"), start(1), None, now);
//! let mut server = Connection::listening(node("server.example"), start(2), now);
//! let mut answer = None;
//!
//! let mut wire = Vec::new();
//! while answer.is_none() {
//!     client.handle_timeout(now); // in life: when `client.poll_timeout()` is due
//!     wire.clear();
//!     client.poll_transmit(&mut wire);
//!     server.handle_input(&wire, now, &mut |incoming, answers| {
//!         if let Incoming::Request(request) = incoming {
//!             answers.answer(|out| {
//!                 let mut writer = Writer::answer(out, &request.header);
//!                 writer.u32(avp::RESULT_CODE, result_code::SUCCESS);
//!                 writer.finish();
//!             });
//!         }
//!     });
//!     while let Some(event) = server.poll_event() {
//!         if let Event::Asked(peer) = event {
//!             assert_eq!(peer.origin_host, "client.example");
//!             server.accept(now);
//!         }
//!     }
//!     wire.clear();
//!     server.poll_transmit(&mut wire);
//!     client.handle_input(&wire, now, &mut |incoming, _| {
//!         if let Incoming::Answer { message, pending } = incoming {
//!             assert_eq!(pending.token, 42);
//!             answer = message.find(avp::RESULT_CODE).map(|code| code.u32());
//!         }
//!     });
//!     while let Some(event) = client.poll_event() {
//!         if let Event::Opened(_) = event {
//!             let (timeout, end_to_end) = (Duration::from_secs(10), 7); // of `EndToEnd::take`
//!             let outgoing = Outgoing { token: 42, command: 272, timeout, end_to_end };
//!             client.request(outgoing, now, |out, hop_by_hop| {
//!                 Writer::request(out, 272, 4, CommandFlags::PROXIABLE, hop_by_hop, end_to_end).finish();
//!             })?;
//!         }
//!     }
//! }
//! # Ok::<(), diameter::peer::SendError>(())
//! ```
//!
//! # What is bounded
//!
//! Requests in flight ([`ConnectionConfig::window`]); the peer's unanswered ones
//! ([`ConnectionConfig::owed_max`], over it 3004); the output ([`ConnectionConfig::output_octets_max`], over
//! it [`Connection::wants_input`] turns false); the input kept (one message of at most
//! [`ConnectionConfig::message_octets_max`], as far as it came); what is kept of a peer's capabilities
//! ([`ADVERTISED_MAX`]); the time of everything.

mod capabilities;
mod config;
mod connection;
mod event;
mod identifiers;
mod identity;
mod random;
pub mod states;
pub mod watchdog;
mod window;

#[cfg(test)]
mod tests;

pub use capabilities::{ADVERTISED_MAX, Capabilities};
pub use config::{
    Application, ConnectionConfig, Identity, MESSAGE_OCTETS_MAX_DEFAULT, OUTPUT_OCTETS_MAX, OWED_MAX,
    WINDOW_DEFAULT,
};
pub use connection::{Connection, Outgoing, Start, TRANSMIT_OCTETS_MAX};
pub use event::{Answers, Cause, Counters, End, Event, Incoming, NoAnswer, SendError, Unanswered};
pub use identifiers::EndToEnd;
pub use identity::{ALREADY_CONNECTED, Order, Peer};
pub use random::Random;
pub use window::{Pending, WINDOW_MAX};
