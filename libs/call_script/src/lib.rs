//! Telephone calls of an alert without IO: no socket, no clock, no sound. Events and instants in, actions,
//! reports and a deadline out.
//!
//! - [`script`]: an answered call to a person, from its first second to its end.
//! - [`endings`]: the end of a call attempt, classified: the person's, the route's, or neither's.
//! - [`cycles`]: calls in a cycle, cycles, and the wait before the next call.
//! - [`inbound`]: a call from a person: running alerts, and an author who sends a template.
//!
//! Prompts are opaque: a number of the caller's own, and a length. Sound is made, kept and sent elsewhere; so
//! are SIP and RTP.
//!
//! Invariants worth naming:
//! - A call ends within the bound of its script, whatever events come or do not come.
//! - Nothing is played, and nothing is reported, behind the end of a call.
//! - An answer is reported once. Every outgoing call has one report; only an answer and do-not-call may come
//!   together.
//! - A suspected machine is a hint: a key takes it back at any moment.
//! - An author's alert is sent only by key 1 behind the whole text read back.

pub mod cycles;
pub mod endings;
pub mod inbound;
mod key;
mod pin;
mod prompt;
pub mod script;

pub use key::PhoneKey;
pub use pin::{PIN_DIGITS_MAX, PIN_DIGITS_MIN, PIN_TRIES_MAX, PIN_WAIT};
pub use prompt::{PLAY_GRACE, Prompt};
