//! Bounds of this crate. A message over one of them is refused with an error that names it.

use std::time::Duration;

/// Octets of a start line with all header fields and the empty line behind them.
pub const HEAD_OCTETS_MAX: usize = 32 * 1024;
/// Octets of the start line.
pub const START_LINE_OCTETS_MAX: usize = 8 * 1024;
/// Header fields of one message.
pub const HEADER_FIELDS_MAX: usize = 256;
/// Octets of one header field's value, its folded lines together.
pub const HEADER_VALUE_OCTETS_MAX: usize = 8 * 1024;
/// Octets of a message body.
pub const BODY_OCTETS_MAX: usize = 64 * 1024;
/// Values of one list, over all header fields of its name.
pub const LIST_VALUES_MAX: usize = 128;
/// Parameters behind one value.
pub const PARAMETERS_MAX: usize = 64;
/// Octets of a URI.
pub const URI_OCTETS_MAX: usize = 4 * 1024;
/// Route header fields of one request.
pub const ROUTES_MAX: usize = 32;
/// Largest sequence number of CSeq (RFC 3261 section 8.1.1.5).
pub const CSEQ_MAX: u32 = (1 << 31) - 1;

/// Octets of a session description.
pub const SDP_OCTETS_MAX: usize = 32 * 1024;
/// Media descriptions of one session description.
pub const SDP_MEDIA_MAX: usize = 32;
/// Attributes of a session, or of one medium.
pub const SDP_ATTRIBUTES_MAX: usize = 256;
/// Formats of one medium.
pub const SDP_FORMATS_MAX: usize = 64;

/// Octets of a user name, password or realm of digest.
pub const CREDENTIAL_OCTETS_MAX: usize = 256;
/// Challenges read from one response; more are passed over.
pub const CHALLENGES_MAX: usize = 8;

/// Calls that a user agent owns at once, unless its configuration says otherwise.
pub const CALLS_MAX: usize = 4_000;
/// Transactions of one side that a user agent owns at once, unless its configuration says otherwise.
pub const TRANSACTIONS_MAX: usize = 16_000;
/// Connections whose octets a user agent assembles at once.
pub const STREAMS_MAX: usize = 1_024;
/// Answers of one request's forks that are acknowledged; further ones are passed over.
pub const FORKS_MAX: usize = 16;
/// Times that one request is sent with credentials: a proxy's and the server's challenge, each once stale.
pub const CHALLENGED_TRIES_MAX: u8 = 4;
/// Times that a re-INVITE is sent again after 491 (Request Pending).
pub const GLARE_TRIES_MAX: u8 = 4;
/// Extra header fields that a caller may add to one message.
pub const EXTRA_HEADERS_MAX: usize = 32;

/// Shortest session interval that RFC 4028 allows (section 4).
pub const SESSION_INTERVAL_MIN: Duration = Duration::from_secs(90);
/// Time without a pong after which a connection counts as dead (RFC 5626 section 4.4.1).
pub const PONG_WITHIN: Duration = Duration::from_secs(10);
/// Time in which a caller must respond to a request that [`crate::agent::AgentEvent::Request`] handed over.
pub const REQUEST_ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// Time in which a call of ours must be answered, unless its order says otherwise: CANCEL follows.
pub const ANSWER_WITHIN_DEFAULT: Duration = Duration::from_secs(180);
/// Time that a call of a peer rings at the longest: 480 follows.
pub const RING_MAX: Duration = Duration::from_secs(300);
