//! Building of messages: requests with Via and Contact of ours, responses with the header fields of their
//! request.

use super::config::SipResponse;
use super::flow::{SipFlow, SipTransport};
use crate::digest::{Authenticator, DigestRequest};
use crate::error::SipParseError;
use crate::message::{ExtraHeader, HeaderName, MessageWriter, Method, SipBody, SipMessage};
use crate::uri::HostPort;
use std::net::SocketAddr;

/// Methods that a user agent understands.
pub(super) const ALLOW: &str = "INVITE, ACK, BYE, CANCEL, OPTIONS, UPDATE, INFO";
/// Extensions that a user agent understands.
pub(super) const SUPPORTED: &str = "timer";
const MAX_FORWARDS: u8 = 70;

/// A request to be written.
#[derive(Debug, Clone)]
pub(super) struct RequestDraft {
    pub method: Method,
    pub uri: String,
    pub routes: Vec<String>,
    pub from: String,
    pub to: String,
    pub call_id: String,
    pub cseq: u32,
    pub contact: Option<String>,
    pub fields: Vec<(HeaderName, String)>,
    pub headers: Vec<ExtraHeader>,
    pub body: Option<SipBody>,
}

impl RequestDraft {
    pub(super) fn new(method: Method, uri: String) -> RequestDraft {
        RequestDraft {
            method,
            uri,
            routes: Vec::new(),
            from: String::new(),
            to: String::new(),
            call_id: String::new(),
            cseq: 1,
            contact: None,
            fields: Vec::new(),
            headers: Vec::new(),
            body: None,
        }
    }

    /// Adds the answers to challenges that are known.
    pub(super) fn authorize(&mut self, authenticator: &mut Authenticator, cnonce: &str) {
        let body = self.body.as_ref().map_or(&[][..], SipBody::octets);
        let request = DigestRequest { method: &self.method, uri: &self.uri, body };
        self.fields.extend(authenticator.headers(request, cnonce));
    }

    pub(super) fn write(&self, via: &str, product: &str) -> Vec<u8> {
        let mut writer = MessageWriter::request(&self.method, &self.uri);
        writer.header(HeaderName::Via, via).header(HeaderName::MaxForwards, MAX_FORWARDS);
        for route in &self.routes {
            writer.header(HeaderName::Route, route);
        }
        writer.header(HeaderName::From, &self.from).header(HeaderName::To, &self.to);
        writer.header(HeaderName::CallId, &self.call_id);
        writer.header(HeaderName::CSeq, format!("{} {}", self.cseq, self.method));
        if let Some(contact) = &self.contact {
            writer.header(HeaderName::Contact, contact);
        }
        for (name, value) in &self.fields {
            writer.header(*name, value);
        }
        writer.extra(&self.headers);
        if self.method != Method::Ack {
            writer.header(HeaderName::UserAgent, product);
        }
        writer.finish(self.body.as_ref())
    }
}

/// The text of Via.
pub(super) fn via(transport: SipTransport, sent_by: &HostPort, branch: &str) -> String {
    format!("SIP/2.0/{} {sent_by};branch={branch};rport", transport.as_str())
}

/// The text of Contact.
pub(super) fn contact(transport: SipTransport, user: &str, sent_by: &HostPort) -> String {
    let user = crate::text::percent_encode(user, b"-_.!~*'()&=+$,;?/");
    let at = if user.is_empty() { "" } else { "@" };
    match transport {
        SipTransport::Udp => format!("<sip:{user}{at}{sent_by}>"),
        SipTransport::Tcp => format!("<sip:{user}{at}{sent_by};transport=tcp>"),
        SipTransport::Tls => format!("<sip:{user}{at}{sent_by};transport=tls>"),
    }
}

/// ACK or CANCEL of an INVITE of ours (RFC 3261 sections 17.1.1.3 and 9.1): its Request-URI, topmost Via,
/// From, Call-ID, number and Route. `to` is the response's of ACK, the INVITE's of CANCEL.
pub(super) fn companion(
    invite: &SipMessage<'_>,
    method: &Method,
    to: &str,
    extra: &[(HeaderName, String)],
) -> Vec<u8> {
    let mut writer = MessageWriter::request(method, invite.request_uri().unwrap_or_default());
    let value = |name| invite.value(name).unwrap_or_default();
    let via = invite.list(HeaderName::Via).next().unwrap_or_default();
    writer.header(HeaderName::Via, via).header(HeaderName::MaxForwards, MAX_FORWARDS);
    for route in invite.values(HeaderName::Route) {
        writer.header(HeaderName::Route, route);
    }
    writer.header(HeaderName::From, value(HeaderName::From)).header(HeaderName::To, to);
    writer.header(HeaderName::CallId, value(HeaderName::CallId));
    let number = value(HeaderName::CSeq).split([' ', '\t']).next().unwrap_or_default();
    writer.header(HeaderName::CSeq, format!("{number} {method}"));
    for name in [HeaderName::Authorization, HeaderName::ProxyAuthorization] {
        for answer in invite.values(name) {
            writer.header(name, answer);
        }
    }
    for (name, value) in extra {
        writer.header(*name, value);
    }
    writer.finish(None)
}

/// The parts of a request that its responses repeat (RFC 3261 section 8.2.6).
#[derive(Debug, Clone)]
pub(super) struct Echo {
    vias: Vec<String>,
    from: String,
    to: String,
    has_to_tag: bool,
    call_id: String,
    cseq: String,
    record_routes: Vec<String>,
    /// To where responses go (section 18.2.2, RFC 3581).
    pub flow: SipFlow,
}

impl Echo {
    /// The topmost Via gets `received` and `rport` where they are due.
    pub(super) fn of(request: &SipMessage<'_>, source: SipFlow) -> Result<Echo, SipParseError> {
        let essentials = request.essentials()?;
        let via = &essentials.via;
        let has_rport = via.parameters.has("rport");
        let mut vias: Vec<String> = request.list(HeaderName::Via).map(str::to_owned).collect();
        if has_rport || via.sent_by.ip() != Some(source.remote.ip()) {
            let mut top = format!("SIP/2.0/{} {}", via.transport, via.sent_by);
            for (name, value) in via.parameters.iter() {
                let is_ours = name.eq_ignore_ascii_case("rport") || name.eq_ignore_ascii_case("received");
                match value {
                    _ if is_ours => {}
                    Some(value) => top.push_str(&format!(";{name}={value}")),
                    None => top.push_str(&format!(";{name}")),
                }
            }
            top.push_str(&format!(";received={}", source.remote.ip()));
            if has_rport {
                top.push_str(&format!(";rport={}", source.remote.port()));
            }
            vias[0] = top;
        }
        let mut flow = source;
        if source.transport == SipTransport::Udp && !has_rport {
            let port = via.sent_by.port.unwrap_or(source.transport.port_default());
            flow.remote = SocketAddr::new(source.remote.ip(), port);
        }
        Ok(Echo {
            vias,
            from: request.value(HeaderName::From).unwrap_or_default().to_owned(),
            to: request.value(HeaderName::To).unwrap_or_default().to_owned(),
            has_to_tag: essentials.to.tag().is_some(),
            call_id: essentials.call_id.to_owned(),
            cseq: request.value(HeaderName::CSeq).unwrap_or_default().to_owned(),
            record_routes: request.list(HeaderName::RecordRoute).map(str::to_owned).collect(),
            flow,
        })
    }

    /// Writes a response. `contact` makes or refreshes a dialog, and goes with Record-Route.
    pub(super) fn write(
        &self,
        response: &SipResponse,
        tag: &str,
        contact: Option<&str>,
        fields: &[(HeaderName, String)],
    ) -> Vec<u8> {
        let mut writer = MessageWriter::response(response.status, response.phrase.as_deref());
        for via in &self.vias {
            writer.header(HeaderName::Via, via);
        }
        writer.header(HeaderName::From, &self.from);
        match self.has_to_tag || response.status == 100 || tag.is_empty() {
            true => writer.header(HeaderName::To, &self.to),
            false => writer.header(HeaderName::To, format!("{};tag={tag}", self.to)),
        };
        writer.header(HeaderName::CallId, &self.call_id).header(HeaderName::CSeq, &self.cseq);
        if let Some(contact) = contact {
            for route in &self.record_routes {
                writer.header(HeaderName::RecordRoute, route);
            }
            writer.header(HeaderName::Contact, contact);
        }
        for contact in &response.contacts {
            writer.header(HeaderName::Contact, contact);
        }
        for reason in &response.reasons {
            writer.header(HeaderName::Reason, reason);
        }
        if let Some(seconds) = response.retry_after {
            writer.header(HeaderName::RetryAfter, seconds);
        }
        let name =
            if response.status == 407 { HeaderName::ProxyAuthenticate } else { HeaderName::WwwAuthenticate };
        for challenge in &response.challenges {
            writer.header(name, challenge);
        }
        for (name, value) in fields {
            writer.header(*name, value);
        }
        writer.extra(&response.headers);
        writer.finish(response.body.as_ref())
    }
}
