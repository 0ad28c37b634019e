//! TimeStampReq and TimeStampResp (RFC 3161, sections 2.4.1 and 2.4.2).

use super::der::{self, DerReader, INTEGER, OCTET_STRING, SEQUENCE};
use super::token::{SHA256, TOKEN_OCTETS_MAX};
use sha2::{Digest, Sha256};

/// Media type of a request (section 3.4).
pub const REQUEST_TYPE: &str = "application/timestamp-query";
/// Media type of an answer.
pub const RESPONSE_TYPE: &str = "application/timestamp-reply";
/// granted, grantedWithMods.
const GRANTED_MAX: &[u8] = &[1];

/// The request for a time stamp of these octets, with the authority's certificate in the token.
pub fn request(data: &[u8], nonce: u64) -> Vec<u8> {
    let imprint = der::value(OCTET_STRING, &[&Sha256::digest(data)]);
    let imprint = der::value(SEQUENCE, &[&der::algorithm(SHA256), &imprint]);
    der::value(SEQUENCE, &[&der::unsigned(1), &imprint, &der::unsigned(nonce), &der::truth()])
}

/// The token in an authority's answer.
///
/// # Errors
/// In words: it refused, or what it sent is no answer.
pub fn token_of_response(response: &[u8]) -> Result<Vec<u8>, String> {
    if response.len() > TOKEN_OCTETS_MAX {
        return Err(format!("the answer is longer than {TOKEN_OCTETS_MAX} octets"));
    }
    let mut outer = DerReader::new(response);
    let mut fields = outer.within(SEQUENCE)?;
    outer.end()?;
    let mut status = fields.within(SEQUENCE)?;
    let granted = status.value(INTEGER)?.content;
    if granted.len() != 1 || granted > GRANTED_MAX {
        return Err(format!("the authority refused: its status is {granted:?}"));
    }
    let token = fields.value(SEQUENCE)?;
    fields.end()?;
    Ok(token.whole.to_vec())
}
