//! SNPP (Simple Network Paging Protocol, RFC 1861) without IO, levels 1 to 3: no socket, no clock, no task.
//!
//! - [`reply`]: replies of a server, read piece by piece within limits.
//! - [`command`]: commands, written and read.
//! - [`message`]: the text of a page, and the lines behind DATA.
//! - [`tag`]: message tags of two-way pages, and the states that a server reports of them.
//! - [`client`]: the client machine. [`server`]: the server machine.
//!
//! Invariants worth naming:
//! - A page that was given to the client machine gets one verdict. It is unknown only where an octet of SEND
//!   was written and no reply to it came (RFC 1861 §4.3.4).
//! - No text can end a command or a message early: what is written has no controls, and dots are stuffed.
//! - A reply counts for the command before it alone: one that comes before its command was written ends the
//!   session.

pub mod client;
pub mod command;
pub mod message;
pub mod reply;
pub mod server;
pub mod tag;
#[cfg(test)]
mod tests;

/// TCP port of SNPP (RFC 1861; assigned by IANA).
pub const SNPP_PORT: u16 = 444;
