//! Diameter over SCTP (RFC 6733, section 2.1): where it listens, and how output is cut into user messages.

use super::ServerError;
use diameter::avp::Avps;
use diameter::dictionary::avp;
use diameter::frame::next_frame;
use diameter::header::{HEADER_OCTETS, MESSAGE_OCTETS_MAX};
use net::{Listener, ListenerLimits, MessageFraming, probe_sctp};
use std::net::SocketAddr;

/// Diameter in the clear in a DATA chunk (RFC 6733, section 11.5).
pub const PAYLOAD_PROTOCOL: u32 = 46;

/// One Diameter message is one user message.
pub const MESSAGES: MessageFraming = MessageFraming { payload_protocol: PAYLOAD_PROTOCOL, length, stream };

/// Octets of the first message; 0 where there is no whole one.
fn length(octets: &[u8]) -> usize {
    next_frame(octets, MESSAGE_OCTETS_MAX).ok().flatten().map_or(0, <[u8]>::len)
}

/// Where a Session-Id stands: it is the first AVP of what has one.
const SESSION_AT: usize = HEADER_OCTETS;

/// The stream of a message: of a session always the same one, so that its messages stay in order and those of
/// others do not wait for one that is lost (RFC 6733, section 2.1.1). What is of the peer itself,
/// capabilities, watchdog and goodbye, goes on stream 0, which no session has where there are others.
fn stream(message: &[u8], streams: u16) -> u16 {
    let others = u32::from(streams.saturating_sub(1));
    let Some(Ok(first)) = message.get(SESSION_AT..).and_then(|avps| Avps::new(avps).next()) else { return 0 };
    if first.name != avp::SESSION_ID || others == 0 {
        return 0;
    }
    // FNV-1a: good enough to spread the numbers at the end of it.
    let mix = |hash: u32, octet: &u8| (hash ^ u32::from(*octet)).wrapping_mul(0x0100_0193);
    let hash = first.data.iter().fold(0x811c_9dc5, mix);
    1 + ((u64::from(hash) * u64::from(others)) >> 32) as u16
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
    use diameter::header::CommandFlags;
    use diameter::write::Writer;
    use std::collections::BTreeSet;

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

    fn message(command: u32, write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let mut octets = Vec::new();
        let mut writer = Writer::request(&mut octets, command, 0, CommandFlags::default(), 1, 2);
        write(&mut writer);
        writer.finish();
        octets
    }

    #[test]
    fn a_session_has_one_stream_and_the_peer_itself_has_stream_0() {
        let of = |n: u32| message(272, |writer| writer.utf8(avp::SESSION_ID, &format!("ocs.example;1;{n}")));
        let mut seen = BTreeSet::new();
        for n in 0..10_000 {
            let chosen = stream(&of(n), 32);
            assert_eq!(stream(&of(n), 32), chosen);
            seen.insert(chosen);
        }
        assert_eq!(seen, (1..32).collect(), "all streams are used but 0");
        assert_eq!((stream(&of(1), 1), stream(&of(1), 2)), (0, 1), "no more than the peer takes");
        for command in [257, 280, 282] {
            let octets = message(command, |writer| writer.identity(avp::ORIGIN_HOST, "ocs.example"));
            assert_eq!(stream(&octets, 32), 0, "{command}");
        }
        assert_eq!((stream(&[], 32), stream(&of(1)[..27], 32)), (0, 0));
    }
}
