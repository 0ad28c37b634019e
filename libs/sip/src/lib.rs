//! SIP (RFC 3261) and SDP (RFC 8866) without IO: a user agent of both sides over UDP, TCP and TLS.
//!
//! The crate never opens a socket, never reads a clock, resolves no name and never sleeps. Octets and an
//! instant go in; octets with their flow, events and a deadline come out. Sections in the documentation are
//! those of RFC 3261 where no other is named.
//!
//! - [`agent`]: one [`UserAgent`](agent::UserAgent) for any number of calls, registrations and questions.
//! - [`message`]: messages, read in place and written; header fields; streams cut into messages.
//! - [`transaction`]: the four machines, with the Accepted states of RFC 6026.
//! - [`dialog`]: tags, sequence numbers, route set, target.
//! - [`digest`]: challenges and answers, MD5 and SHA-256, both sides.
//! - [`sdp`]: session descriptions, offer and answer of telephone sound, keys of SRTP.
//! - [`Uri`], [`HostPort`]: `sip:`, `sips:` and `tel:`.
//! - [`limits`]: every bound by its name.
//!
//! What comes is read tolerantly: LF for CRLF, any case, compact forms, folded lines, blanks where they may
//! stand. What goes out is written strictly, and no value of a caller or peer can bring a line break into it.
//!
//! # A call
//!
//! ```
//! use sip::agent::{
//!     AgentEvent, CallEvent, OutgoingCall, SipAddresses, SipFlow, SipResponse, SipTransport, UserAgent,
//!     UserAgentConfig,
//! };
//! use sip::message::PartyAddress;
//! use sip::{HostPort, Uri};
//! use std::time::Instant;
//!
//! let now = Instant::now();
//! let agent = |seed, host: &str| {
//!     let udp = Some(HostPort::new(host, Some(5060)).unwrap());
//!     UserAgent::new(UserAgentConfig::new([seed; 32], SipAddresses { udp, ..SipAddresses::default() }), now)
//! };
//! let flow = |remote: &str| SipFlow { transport: SipTransport::Udp, remote: remote.parse().unwrap() };
//! let (mut alice, mut bob) = (agent(1, "192.0.2.1"), agent(2, "192.0.2.2"));
//!
//! let target = Uri::parse("sip:bob@192.0.2.2")?;
//! let from = PartyAddress::named("Alice", Uri::parse("sip:alice@192.0.2.1")?)?;
//! let call = alice.prepare(OutgoingCall::new(flow("192.0.2.2:5060"), target, from))?;
//! // Here the intent goes to disk, with `alice.call_id(call)`.
//! alice.release(call, now)?;
//! let mut answered = false;
//! while !answered {
//!     while let Some(transmit) = alice.poll_transmit() {
//!         bob.receive(flow("192.0.2.1:5060"), &transmit.octets, now);
//!     }
//!     while let Some(event) = bob.poll_event() {
//!         if let AgentEvent::IncomingCall { call, .. } = event {
//!             bob.answer(call, SipResponse::new(200), now)?;
//!         }
//!     }
//!     while let Some(transmit) = bob.poll_transmit() {
//!         alice.receive(flow("192.0.2.2:5060"), &transmit.octets, now);
//!     }
//!     while let Some(event) = alice.poll_event() {
//!         answered |= matches!(event, AgentEvent::Call { event: CallEvent::Answered { .. }, .. });
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Blame
//!
//! [`SipParseError`] and [`SdpParseError`](sdp::SdpParseError) are the peer's fault; [`SipValueError`] and
//! [`InviteRefusal`](agent::InviteRefusal) the caller's, and nothing was sent; a
//! [`SipRefusal`](agent::SipRefusal) says who refused a call.

pub mod agent;
pub mod dialog;
pub mod digest;
mod error;
mod identifiers;
pub mod limits;
pub mod message;
pub mod sdp;
mod text;
pub mod transaction;
mod uri;

pub use error::{SipParseError, SipValueError};
pub use text::Parameters;
pub use uri::{HostPort, SipUri, Uri, UriParameter};
