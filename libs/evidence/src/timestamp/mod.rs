//! Time stamps (RFC 3161): requests to an authority, its answers, and tokens that are verified.

mod der;
mod request;
mod token;

pub use request::{REQUEST_TYPE, RESPONSE_TYPE, request, token_of_response};
pub use token::{Stamp, TOKEN_OCTETS_MAX, TimestampToken};
