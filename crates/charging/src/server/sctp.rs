//! Diameter over SCTP (RFC 6733, section 2.1): where it listens, and how output is cut into user messages.

use super::ServerError;
use diameter::frame::next_frame;
use diameter::header::MESSAGE_OCTETS_MAX;
use net::{Listener, ListenerLimits, MessageFraming, probe_sctp};
use std::net::SocketAddr;

/// Diameter in the clear in a DATA chunk (RFC 6733, section 11.5).
pub const PAYLOAD_PROTOCOL: u32 = 46;

/// One Diameter message is one user message.
pub const MESSAGES: MessageFraming = MessageFraming { payload_protocol: PAYLOAD_PROTOCOL, length };

/// Octets of the first message; 0 where there is no whole one.
fn length(octets: &[u8]) -> usize {
    next_frame(octets, MESSAGE_OCTETS_MAX).ok().flatten().map_or(0, <[u8]>::len)
}

/// Listens on all of `addresses`. None where this kernel has no SCTP and others can still come `otherwise`:
/// that is said, and no more.
pub(super) fn bind(
    addresses: &[SocketAddr],
    admission: ListenerLimits,
    otherwise: bool,
) -> Result<Option<Listener>, ServerError> {
    let failed = |why: String| ServerError { field: "listen_sctp", why };
    match probe_sctp() {
        Ok(()) => {}
        Err(none) if otherwise => {
            tracing::warn!("[diameter] listen_sctp: {none}. Peers are served by TCP and TLS only.");
            return Ok(None);
        }
        Err(none) => return Err(failed(none.to_string())),
    }
    let listener = Listener::bind_sctp(addresses, admission, MESSAGES);
    listener.map(Some).map_err(|error| failed(format!("cannot listen on {addresses:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_cut_where_a_message_ends() {
        let message = |octets: u8| {
            let mut message = vec![0; usize::from(octets)];
            (message[0], message[3]) = (1, octets);
            message
        };
        assert_eq!(length(&[message(20), message(24)].concat()), 20);
        assert_eq!(length(&message(24)), 24);
        // Not a whole message, or none: all that is there goes at once.
        assert_eq!(length(&message(24)[..23]), 0);
        assert_eq!(length(&[0; 20]), 0);
        assert_eq!(length(&[]), 0);
    }
}
