//! Responses to requests that can be read in part alone.

use super::flow::SipFlow;
use crate::error::SipParseError;
use crate::message::{HeaderName, MessageWriter, SipMessage, Via};

/// The response to a request whose header fields are not as they must be: its Vias and whatever else is
/// there are repeated as they stand. `None` without a Via that can be read: nobody would know the response.
pub(super) fn response(request: &SipMessage<'_>, error: &SipParseError, source: SipFlow) -> Option<Vec<u8>> {
    let top = request.list(HeaderName::Via).next()?;
    Via::parse(top).ok()?;
    let phrase = format!("Bad Request: {error}");
    let phrase = (error.status() == 400).then_some(phrase.as_str());
    let mut writer = MessageWriter::response(error.status(), phrase);
    for (index, via) in request.list(HeaderName::Via).enumerate() {
        match index {
            0 => writer.header(HeaderName::Via, format!("{via};received={}", source.remote.ip())),
            _ => writer.header(HeaderName::Via, via),
        };
    }
    for name in [HeaderName::From, HeaderName::To, HeaderName::CallId, HeaderName::CSeq] {
        if let Some(value) = request.value(name) {
            writer.header(name, value);
        }
    }
    Some(writer.finish(None))
}
