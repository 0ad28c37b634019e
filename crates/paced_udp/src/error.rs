//! Errors that end sending or receiving, in words that say what to do.

use crate::wire::StreamRefusal;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// What ended it.
#[derive(Debug)]
pub enum PacedUdpError {
    /// An option is out of its bounds; names it.
    Option { name: &'static str, why: String },
    /// Nobody that knows the key answered there.
    NoAnswer { peer: SocketAddr, within: Duration },
    /// It answered, and said no.
    Refused { peer: SocketAddr, why: StreamRefusal },
    /// It was told to send to another machine without a key.
    NeedsKey { peer: SocketAddr },
    /// It answered at first, and then no more.
    Silent { peer: SocketAddr, since: Duration },
    /// A file, a socket, a thread.
    Io { what: String, error: io::Error },
}

impl PacedUdpError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> PacedUdpError {
        let what = what.into();
        move |error| PacedUdpError::Io { what, error }
    }
}

impl fmt::Display for PacedUdpError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PacedUdpError::Option { name, why } => write!(out, "{name}: {why}"),
            PacedUdpError::NoAnswer { peer, within } => write!(
                out,
                "nobody answered at {peer} within {} s: start `campanile udp receive` there, with the same key; nothing was sent",
                within.as_secs()
            ),
            PacedUdpError::Refused { peer, why } => write!(out, "{peer} refused: {why}"),
            PacedUdpError::NeedsKey { peer } => write!(
                out,
                "{peer} is not on this machine: give both sides the same --key-file. Without a key this could flood a machine that did not ask for it"
            ),
            PacedUdpError::Silent { peer, since } => write!(
                out,
                "{peer} has sent no report for {:.1} s; stopped, since it may be gone. Start `campanile udp receive` there, then this again",
                since.as_secs_f64()
            ),
            PacedUdpError::Io { what, error } => write!(out, "{what}: {error}"),
        }
    }
}

impl std::error::Error for PacedUdpError {}
