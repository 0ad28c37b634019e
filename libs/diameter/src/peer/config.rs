//! Configuration of a connection: our identity, and its limits.

use super::watchdog::TW_DEFAULT;
use super::window::WINDOW_MAX;
use crate::check::Strictness;
use std::net::IpAddr;
use std::time::Duration;

/// Default of [`ConnectionConfig::message_octets_max`].
pub const MESSAGE_OCTETS_MAX_DEFAULT: u32 = 1 << 20;
/// Default of [`ConnectionConfig::output_octets_max`].
pub const OUTPUT_OCTETS_MAX: usize = 4 << 20;
/// Default of [`ConnectionConfig::owed_max`].
pub const OWED_MAX: usize = 20_000;
/// Default of [`ConnectionConfig::window`].
pub const WINDOW_DEFAULT: usize = 1_000;
const _: () = assert!(WINDOW_DEFAULT <= WINDOW_MAX);

/// An application that a node supports, as CER and CEA advertise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Application {
    /// Its id, such as 4 for credit control.
    pub id: u32,
    /// Whether it goes into Acct-Application-Id instead of Auth-Application-Id.
    pub is_accounting: bool,
    /// The vendor, for who advertises it in Vendor-Specific-Application-Id; 0 for none.
    pub vendor: u32,
}

impl Application {
    /// An application that is advertised by Auth-Application-Id.
    #[must_use]
    pub const fn auth(id: u32) -> Self {
        Application { id, is_accounting: false, vendor: 0 }
    }
}

/// Who we are: what our CER and CEA say (RFC 6733 section 5.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Our DiameterIdentity: one per node, the key of elections.
    pub origin_host: String,
    /// Our realm.
    pub origin_realm: String,
    /// Addresses besides the connection's own, for SCTP.
    pub host_addresses: Vec<IpAddr>,
    /// The IANA's number of the vendor of this software; 0 says nothing.
    pub vendor_id: u32,
    /// The software's name.
    pub product_name: String,
    /// Its version, as a number.
    pub firmware_revision: Option<u32>,
    /// Grows with each restart that loses sessions (section 8.16).
    pub origin_state_id: Option<u32>,
    /// What we support. The id 0xffffffff makes us a relay.
    pub applications: Vec<Application>,
    /// Vendors whose AVPs we know.
    pub supported_vendors: Vec<u32>,
}

impl Identity {
    /// A node of one application.
    #[must_use]
    pub fn new(origin_host: &str, origin_realm: &str, application: Application) -> Self {
        Identity {
            origin_host: origin_host.into(),
            origin_realm: origin_realm.into(),
            host_addresses: Vec::new(),
            vendor_id: 0,
            product_name: "campanile".into(),
            firmware_revision: None,
            origin_state_id: None,
            applications: vec![application],
            supported_vendors: Vec::new(),
        }
    }
}

/// Limits and timers of a connection, and our identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionConfig {
    /// Who we are.
    pub identity: Identity,
    /// How closely the peer's messages of the base protocol are held to the standard.
    pub strictness: Strictness,
    /// Greatest message to accept, in octets.
    pub message_octets_max: u32,
    /// Octets waiting for [`poll_transmit`](super::Connection::poll_transmit) at which requests are refused
    /// and [`wants_input`](super::Connection::wants_input) turns false. What one input call answers comes on
    /// top.
    pub output_octets_max: usize,
    /// The peer's requests without our caller's answer: one over it is answered with DIAMETER_TOO_BUSY. RFC
    /// 6733 keeps that for requests with a Destination-Host; said of overload in general it sends clients
    /// elsewhere, which is what is meant.
    pub owed_max: usize,
    /// Our requests without an answer, 1 to [`WINDOW_MAX`].
    pub window: usize,
    /// From the connection to the end of the capabilities exchange.
    pub capabilities: Duration,
    /// `Twinit` of the watchdog, at least 6 s.
    pub tw: Duration,
    /// `Tc`, between attempts to connect.
    pub tc: Duration,
    /// How long what is outstanding may take at a disconnection, either side's.
    pub drain: Duration,
    /// From a DPR to its DPA, and from a DPA to the end of the connection: longer than the peer may drain in
    /// between.
    pub disconnect: Duration,
    /// How long output may wait for the caller, which means that the peer does not read.
    pub write_stall: Duration,
}

impl ConnectionConfig {
    /// The defaults.
    #[must_use]
    pub fn new(identity: Identity) -> Self {
        ConnectionConfig {
            identity,
            strictness: Strictness::Strict,
            message_octets_max: MESSAGE_OCTETS_MAX_DEFAULT,
            output_octets_max: OUTPUT_OCTETS_MAX,
            owed_max: OWED_MAX,
            window: WINDOW_DEFAULT,
            capabilities: Duration::from_secs(10),
            tw: TW_DEFAULT,
            tc: Duration::from_secs(30),
            drain: Duration::from_secs(5),
            disconnect: Duration::from_secs(10),
            write_stall: Duration::from_secs(30),
        }
    }
}
