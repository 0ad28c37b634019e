//! Diameter (RFC 6733) and credit control (RFC 8506) without IO: AVPs, dictionary, checks and answers,
//! credit-control messages and the server's session machine.
//!
//! The crate never opens a socket, never reads a clock and never sleeps. Bytes and a moment go in; bytes,
//! states and a deadline come out.
//!
//! - [`frame`]: a byte stream cut into messages, the length judged before anything is allocated.
//! - [`message`], [`avp`]: a message and its AVPs, walked where they stand.
//! - [`write`](mod@write): messages appended to the caller's buffer.
//! - [`dictionary`]: names, types, flag rules and grammars, compiled from data files in the RFC's own ABNF.
//! - [`check`](mod@check): a message against its command's grammar; what is wrong, and the answer to it.
//! - [`credit`]: credit-control requests and answers, money, the machines of server and client.
//! - [`peer`]: a connection and a peer: capabilities, watchdog, election, disconnection, requests in flight.
//! - [`result_code`]: the codes and their classes.
//!
//! # From the stream to the answer
//!
//! ```
//! use diameter::check::Origin;
//! use diameter::credit::answer::{CreditControlAnswer, Grant};
//! use diameter::credit::write_request::RequestToSend;
//! use diameter::credit::{CreditControlRequest, RequestedAction, Subscription, SubscriptionKind, Units};
//! use diameter::{Message, dictionary::avp, frame::next_frame, result_code};
//!
//! // A client debits one message.
//! let client = Origin { host: "gw.client.example", realm: "client.example" };
//! let subscriptions = [Subscription { kind: SubscriptionKind::E164, data: "46701234567" }];
//! let request = RequestToSend {
//!     subscriptions: &subscriptions,
//!     ..RequestToSend::debit("gw.client.example;1;1", client, "ocs.example", Units::of_specific(1))
//! };
//! let mut wire = Vec::new();
//! request.write(7, 8, &mut wire);
//!
//! // The server cuts it out of the stream, and reads it in the walk that checks it.
//! let server = Origin { host: "ocs1.ocs.example", realm: "ocs.example" };
//! let mut answers = Vec::new();
//! while let Some(frame) = next_frame(&wire, 64 << 10)? {
//!     let message = Message::read(frame)?;
//!     match CreditControlRequest::read(&message) {
//!         Ok(request) => {
//!             assert_eq!(request.action, Some(RequestedAction::DirectDebiting));
//!             assert_eq!(request.subscriptions().next().map(|who| who.data), Some("46701234567"));
//!             let granted = request.requested.map(Grant::of);
//!             let answer = CreditControlAnswer { result_code: result_code::SUCCESS, granted, ..Default::default() };
//!             answer.write(&request, &server, &mut answers);
//!         }
//!         Err(fault) => fault.answer(&message, &server, None, &mut answers),
//!     }
//!     let octets = frame.len();
//!     wire.drain(..octets);
//! }
//!
//! let answer = Message::read(&answers)?;
//! assert_eq!((answer.header.hop_by_hop, answer.header.end_to_end), (7, 8));
//! assert_eq!(answer.find(avp::RESULT_CODE).and_then(|avp| avp.u32().ok()), Some(2001));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Speed
//!
//! Reading, checking and answering allocate nothing: what is read points into the input, the rule of an AVP
//! is found with two loads, where it stands is kept in one walk, and answers go straight into the output.
//! `examples/credit_rate.rs` says what an event costs.
//!
//! # Blame
//!
//! A [`FrameError`](frame::FrameError), [`MessageError`], [`AvpError`] or [`Fault`](check::Fault) is the
//! peer's fault and carries the Result-Code to answer with; after a `FrameError` alone the connection is to
//! be reset, since the framing is lost. What the caller writes is taken at its word, but for a message over
//! 16 MiB, which is not written ([`Writer::finish`]).
//!
//! # What is bounded
//!
//! The length of a message (the caller's maximum, judged by its first four octets), the groups in one another
//! ([`DEPTH_MAX`](avp::DEPTH_MAX)), the AVPs of a message ([`AVPS_MAX`](check::AVPS_MAX)), amounts (64 bits
//! of minor units). What is over a limit is answered, never a panic.

pub mod avp;
pub mod check;
pub mod credit;
pub mod dictionary;
pub mod frame;
pub mod header;
pub mod message;
#[cfg(test)]
mod mutated;
pub mod peer;
pub mod result_code;
#[cfg(test)]
mod samples;
pub mod write;

pub use avp::{Avp, AvpError, AvpFlags, AvpName, AvpProblem, Avps};
pub use header::{CommandFlags, Header};
pub use message::{Message, MessageError};
pub use write::Writer;
