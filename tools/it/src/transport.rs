//! By what the clients of credit control connect: TCP, or SCTP where the stories are told inside the guest,
//! whose kernel has it.

use std::io;
use std::net::{Ipv4Addr, TcpStream};

/// Set to `sctp` inside the guest.
pub const TRANSPORT: &str = "CAMPANILE_IT_TRANSPORT";
/// Diameter in the clear in an SCTP user message (RFC 6733, section 11.5).
pub const PAYLOAD_PROTOCOL: u32 = 46;

/// Whether the clients connect by SCTP.
///
/// # Panics
/// It is set to something else.
pub fn by_sctp() -> bool {
    match std::env::var(TRANSPORT).as_deref() {
        Err(_) | Ok("tcp") => false,
        Ok("sctp") => true,
        Ok(other) => panic!("{TRANSPORT} is {other:?}: tcp and sctp are known"),
    }
}

/// A connection to this port of loopback. An association's descriptor is read and written like TCP's.
pub(crate) fn dial(port: u16) -> io::Result<TcpStream> {
    if by_sctp() {
        return Ok(net::dial_sctp(&[(Ipv4Addr::LOCALHOST, port).into()], &[], PAYLOAD_PROTOCOL)?.into());
    }
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// What `[diameter]` needs beside `listen`.
pub(crate) fn listens_too(port: u16) -> String {
    if by_sctp() { format!("listen_sctp = [\"127.0.0.1:{port}\"]\n") } else { String::new() }
}
