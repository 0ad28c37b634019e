//! By what the clients connect.

/// Diameter in the clear in an SCTP user message (RFC 6733, section 11.5).
pub(super) const PAYLOAD_PROTOCOL: u32 = 46;

/// A transport that the server is measured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Transport {
    /// TCP, in the clear
    Tcp,
    /// TLS over TCP
    Tls,
    /// SCTP, where this kernel has it
    Sctp,
}

impl Transport {
    pub(super) fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Tls => "tls",
            Transport::Sctp => "sctp",
        }
    }
}
