//! Flows: transport and address of the other end (RFC 5626), and the octets for one.

use crate::uri::{HostPort, Uri};
use std::net::SocketAddr;
use std::sync::Arc;

/// The transports of SIP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SipTransport {
    /// Datagrams.
    Udp,
    /// A stream.
    Tcp,
    /// A stream by TLS.
    Tls,
}

impl SipTransport {
    /// The name as Via has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            SipTransport::Udp => "UDP",
            SipTransport::Tcp => "TCP",
            SipTransport::Tls => "TLS",
        }
    }

    /// Whether it loses nothing by itself.
    #[must_use]
    pub fn is_reliable(self) -> bool {
        self != SipTransport::Udp
    }

    /// 5060, or 5061 of TLS.
    #[must_use]
    pub fn port_default(self) -> u16 {
        if self == SipTransport::Tls { 5061 } else { 5060 }
    }
}

/// The other end of a datagram, or of a connection. The shell has at most one connection per flow: for one
/// without, it connects when octets are to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SipFlow {
    /// The transport.
    pub transport: SipTransport,
    /// Address and port of the other end.
    pub remote: SocketAddr,
}

impl SipFlow {
    /// The flow to a URI whose host is an address, by the transport of this one or the one that the URI
    /// names.
    pub(crate) fn towards(self, uri: &Uri) -> Option<SipFlow> {
        let uri = uri.as_sip()?;
        let transport = match uri.parameter("transport") {
            _ if uri.secure => SipTransport::Tls,
            Some(name) if name.eq_ignore_ascii_case("udp") => SipTransport::Udp,
            Some(name) if name.eq_ignore_ascii_case("tcp") && self.transport == SipTransport::Tls => {
                SipTransport::Tls
            }
            Some(name) if name.eq_ignore_ascii_case("tcp") => SipTransport::Tcp,
            Some(name) if name.eq_ignore_ascii_case("tls") => SipTransport::Tls,
            _ => self.transport,
        };
        let port = uri.host.port.unwrap_or(transport.port_default());
        Some(SipFlow { transport, remote: SocketAddr::new(uri.host.ip()?, port) })
    }
}

/// Octets to be sent: a whole message, or a keep-alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SipTransmit {
    /// To where.
    pub flow: SipFlow,
    /// One datagram, or a piece of a stream.
    pub octets: Arc<[u8]>,
}

/// The addresses that our messages name: where peers reach us by each transport.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SipAddresses {
    /// By UDP; nothing: not spoken.
    pub udp: Option<HostPort>,
    /// By TCP.
    pub tcp: Option<HostPort>,
    /// By TLS.
    pub tls: Option<HostPort>,
}

impl SipAddresses {
    pub(crate) fn of(&self, transport: SipTransport) -> Option<&HostPort> {
        match transport {
            SipTransport::Udp => self.udp.as_ref(),
            SipTransport::Tcp => self.tcp.as_ref(),
            SipTransport::Tls => self.tls.as_ref(),
        }
    }
}
