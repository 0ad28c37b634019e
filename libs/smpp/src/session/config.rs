//! Configuration of a session.

use crate::limits::PDU_OCTETS_MAX;
use crate::pdu::Version;
use crate::status::Status;
use std::time::Duration;

/// The widest window: requests in flight in one direction of one session.
pub const WINDOW_MAX: usize = 10_000;
/// Default of [`Config::window`].
pub const WINDOW_DEFAULT: usize = 10;
/// Default of [`Config::peer_window`]: a carrier that delivers receipts in a wide window should not be
/// refused for it.
pub const PEER_WINDOW_DEFAULT: usize = 1_000;
/// Default of [`Config::output_octets_max`].
pub const OUTPUT_OCTETS_MAX: usize = 1 << 20;

/// Which end of the session we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The client: binds and submits.
    Esme,
    /// The server: is bound to and delivers.
    Smsc,
}

/// Limits and timers of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The highest version we speak; the session uses the lower one of the two peers'.
    pub version: Version,
    /// What an SMSC speaks that does not say so in its bind_resp. By the specification (`None`) that is 3.3;
    /// many an SMSC leaves it out and does read TLVs.
    pub assumed_version: Option<Version>,
    /// Our requests in flight, 1 to [`WINDOW_MAX`].
    pub window: usize,
    /// The peer's requests that our caller has not answered, 1 to [`WINDOW_MAX`]; what is over gets
    /// `flood_status` at once.
    pub peer_window: usize,
    /// `RTHROTTLED` or `RMSGQFUL`.
    pub flood_status: Status,
    /// Greatest `command_length` to accept, in octets.
    pub pdu_octets_max: usize,
    /// Octets waiting for [`Session::poll_transmit`](super::Session::poll_transmit) at which new requests are
    /// refused and [`Session::wants_input`](super::Session::wants_input) turns false.
    pub output_octets_max: usize,
    /// SMSC: from connection to a successful bind. ESME: from connection, or from a refused bind, to our next
    /// bind.
    pub session_init: Duration,
    /// From a request to its response.
    pub response: Duration,
    /// Silence of the peer after which it is asked whether it is there.
    pub enquire_link: Option<Duration>,
    /// Time without any message (enquire_link is none) after which we unbind.
    pub inactivity: Option<Duration>,
    /// How long what is outstanding may take at an unbind, either side's.
    pub drain: Duration,
    /// How long output may wait for the caller, which means that the peer does not read.
    pub write_stall: Duration,
    /// How long a response after its deadline is still known to its request.
    pub late_keep: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            version: Version::V3_4,
            assumed_version: None,
            window: WINDOW_DEFAULT,
            peer_window: PEER_WINDOW_DEFAULT,
            flood_status: Status::RTHROTTLED,
            pdu_octets_max: PDU_OCTETS_MAX,
            output_octets_max: OUTPUT_OCTETS_MAX,
            session_init: Duration::from_secs(10),
            response: Duration::from_secs(30),
            enquire_link: Some(Duration::from_secs(30)),
            inactivity: None,
            drain: Duration::from_secs(5),
            write_stall: Duration::from_secs(30),
            late_keep: Duration::from_secs(600),
        }
    }
}
