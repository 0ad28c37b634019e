//! Paced UDP over several threads: sends and receives at an exact rate, changes it while running, tells where
//! each lost packet went.
//!
//! - [`sender`]: threads that each keep a share of the rate, seen to by a manager; only to a receiver that
//!   agreed.
//! - [`receiver`]: threads that count what comes, how evenly, and what was lost where; it sees to its own
//!   buffers and sockets.
//! - [`control`]: a running sender steered from outside.
//! - [`push`]: a file to many sites, repaired.
//! - [`wire`]: what travels between the two.
//! - [`socket`]: what the kernel can do, probed; all `unsafe` is there.
//!
//! Threads, not tasks: a due time is kept to microseconds by whoever owns a core, and nothing else may run on
//! it meanwhile.

pub mod control;
mod error;
mod host;
pub mod payload;
pub mod push;
pub mod receiver;
pub mod sender;
pub mod socket;
mod wait;
pub mod wire;

pub use error::PacedUdpError;
