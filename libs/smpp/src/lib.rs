//! SMPP 3.3, 3.4 and 5.0 without IO: PDUs and TLVs, text coding and splitting, the session machine with its
//! window.
//!
//! The crate never opens a socket, never reads a clock and never sleeps. Bytes and a moment go in; bytes,
//! events and a deadline come out. Both roles are here: the ESME, which binds and submits, and the SMSC,
//! which is bound to and delivers.
//!
//! - [`session`]: the machine, one [`Session`](session::Session) per connection, with a bounded window either
//!   way.
//! - [`pdu`]: every PDU as a struct that points into the octets it was read from, and is written into the
//!   caller's buffer.
//! - [`tlv`], [`status`], [`limits`]: the specification's tables.
//! - [`frame`]: a byte stream cut into PDUs, the length judged before anything is allocated.
//! - [`text`]: GSM 7-bit, Latin-1, UCS-2, 8-bit; splitting into parts and joining them.
//! - [`receipt`]: delivery receipts read and written, and how to find the message they are about.
//!
//! # The five verbs
//!
//! Two machines, with two buffers as their wire:
//!
//! ```
//! use smpp::pdu::{Address, Bind, SubmitSm};
//! use smpp::session::{Config, Event, Role, Session};
//! use smpp::Status;
//! use std::time::Instant;
//!
//! let now = Instant::now();
//! let mut client = Session::new(Role::Esme, Config::default(), now);
//! let mut server = Session::new(Role::Smsc, Config::default(), now);
//! let mut wire = Vec::new();
//! let mut accepted = None;
//!
//! client.bind(&Bind { system_id: b"alice", password: b"secret", ..Bind::default() }, now)?;
//! while accepted.is_none() {
//!     client.handle_timeout(now); // in life: when `client.poll_timeout()` is due
//!     wire.clear();
//!     client.poll_transmit(&mut wire);
//!     server.handle_input(&wire, now);
//!     while let Some(event) = server.poll_event() {
//!         match event {
//!             Event::Bind { bind } if bind.password == b"secret" => server.accept_bind(b"carrier", now)?,
//!             Event::Bind { .. } => server.refuse_bind(Status::RINVPASWD, now)?,
//!             Event::Submit { sequence, pdu } => {
//!                 assert_eq!(pdu.short_message, b"hello");
//!                 server.respond(sequence, Status::ROK, b"1A2B", now)?;
//!             }
//!             _ => {}
//!         }
//!     }
//!     wire.clear();
//!     server.poll_transmit(&mut wire);
//!     client.handle_input(&wire, now);
//!     while let Some(event) = client.poll_event() {
//!         match event {
//!             Event::Bound { .. } => {
//!                 let destination = Address::international(b"41791234567");
//!                 let message = SubmitSm { destination, short_message: b"hello", ..SubmitSm::default() };
//!                 client.submit(&message, 42, now)?;
//!             }
//!             Event::Response(response) if response.token == 42 => accepted = Some(response.message_id.to_vec()),
//!             _ => {}
//!         }
//!     }
//! }
//! assert_eq!(accepted.as_deref(), Some(&b"1A2B"[..]));
//! # Ok::<(), smpp::session::SendError>(())
//! ```
//!
//! # Speed
//!
//! Reading and writing a message allocates nothing: what is read points into the input, responses go straight
//! into the output, and a slot of the window is found by the number's low bits. `examples/session_rate.rs`
//! says what a message costs either side.
//!
//! # Blame
//!
//! A [`DecodeError`] is the peer's fault and carries the status to answer with; the session answers by
//! itself. An [`EncodeError`] or [`SendError`](session::SendError) is the caller's: nothing was written.
//!
//! # What is bounded
//!
//! Requests in flight ([`Config::window`](session::Config)), the peer's unanswered ones (`peer_window`, over
//! it `RTHROTTLED`), the input (one PDU of at most `pdu_octets_max` between calls), the output
//! (`output_octets_max`, then [`wants_input`](session::Session::wants_input) turns false and requests are
//! refused), the time of everything.

pub mod error;
pub mod frame;
pub mod limits;
#[cfg(test)]
mod mutated;
pub mod pdu;
pub mod receipt;
#[cfg(test)]
mod samples;
pub mod session;
pub mod status;
pub mod text;
pub mod time;
pub mod tlv;
mod wire;

pub use error::{DecodeError, EncodeError, ParameterProblem};
pub use status::Status;
pub use tlv::{Tag, Tlv, TlvBuf, Tlvs};
pub use wire::BodyWriter;
