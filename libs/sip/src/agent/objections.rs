//! Requests that are refused, or answered, without a call: by their form, method or extensions; forks of an
//! answered INVITE.

use super::config::SipResponse;
use super::core::{AgentCore, ClientOwner, Timer};
use super::drafts::{ALLOW, Echo, RequestDraft, SUPPORTED};
use super::event::{AgentEvent, RequestHandle};
use super::flow::SipFlow;
use crate::dialog::Dialog;
use crate::error::SipParseError;
use crate::limits::{HEAD_OCTETS_MAX, REQUEST_ANSWER_WITHIN};
use crate::message::{HeaderName, Method, ReasonValue, SipBody, SipMessage, check_encoding, head_end};
use crate::uri::Uri;

impl AgentCore {
    /// A request whose head can be read in part gets the status of its error; all else is dropped.
    pub(super) fn refuse_unreadable(&mut self, flow: SipFlow, octets: &[u8], error: &SipParseError) {
        self.counters.unreadable += 1;
        let Some(end) = head_end(octets).filter(|end| *end <= HEAD_OCTETS_MAX) else { return };
        let head = String::from_utf8_lossy(&octets[..end]);
        let Some((line, rest)) = head.trim_start_matches(['\r', '\n']).split_once('\n') else { return };
        let Some(method) = line.split(' ').next().filter(|_| !line.starts_with("SIP/")) else { return };
        if method == Method::Ack.as_str() {
            return;
        }
        // Perhaps it is the first line alone, or the length, that cannot be read.
        let again = format!("{method} sip:invalid SIP/2.0\r\n{rest}");
        let Ok(message) = SipMessage::parse_head(again.as_bytes()) else { return };
        if let Ok(echo) = Echo::of(&message, flow) {
            self.respond_once(&echo, error.status(), &[]);
        }
    }

    /// A response without a transaction.
    pub(super) fn respond_once(&mut self, echo: &Echo, status: u16, fields: &[(HeaderName, String)]) {
        self.counters.malformed += 1;
        let tag = self.identifiers.tag();
        let octets = echo.write(&SipResponse::new(status), &tag, None, fields);
        self.transmit(echo.flow, octets.into());
    }

    /// A 2xx that no call takes: ACK, so that it is not repeated, and BYE (RFC 3261 section 13.2.2.4).
    pub(super) fn end_fork(&mut self, id: u64, response: &SipMessage<'_>) {
        let Some(entry) = self.client(id) else { return };
        let (request, flow) = (entry.request.clone(), entry.flow);
        let Ok(invite) = SipMessage::parse(&request) else { return };
        let Ok(mut dialog) = Dialog::of_client(&invite, response) else { return };
        self.counters.forks_ended += 1;
        let route = dialog.route();
        let mut draft = RequestDraft::new(Method::Ack, route.uri);
        draft.routes = route.routes;
        dialog.local().clone_into(&mut draft.from);
        dialog.remote().clone_into(&mut draft.to);
        dialog.call_id().clone_into(&mut draft.call_id);
        draft.cseq = dialog.local_cseq();
        for name in [HeaderName::Authorization, HeaderName::ProxyAuthorization] {
            draft.fields.extend(invite.values(name).map(|value| (name, value.to_owned())));
        }
        self.acknowledge(id, dialog.remote_tag().to_owned(), &draft, flow);
        draft.method = Method::Bye;
        draft.cseq = dialog.next_cseq();
        let reason = ReasonValue::sip(200, "Call completed elsewhere");
        draft.fields = vec![(HeaderName::Reason, reason.to_string())];
        // Without room for it the peer hears no BYE, and finds the call dead by itself.
        let _ = self.request(&draft, flow, ClientOwner::Nobody);
    }

    /// 400, if enough can be read to send it.
    pub(super) fn refuse_malformed(
        &mut self,
        flow: SipFlow,
        request: &SipMessage<'_>,
        error: &SipParseError,
    ) {
        self.counters.malformed += 1;
        if request.method() == Some(&Method::Ack) {
            return;
        }
        let Some(octets) = super::malformed::response(request, error, flow) else { return };
        self.transmit(flow, octets.into());
    }

    /// The reason why a request is not looked at (RFC 3261 sections 8.2.1 to 8.2.3).
    pub(super) fn objection(
        &self,
        request: &SipMessage<'_>,
        method: &Method,
    ) -> Option<(SipResponse, Vec<(HeaderName, String)>)> {
        match Uri::parse(request.request_uri().unwrap_or_default()) {
            Err(error) => return Some((SipResponse::new(error.status()), Vec::new())),
            Ok(Uri::Other(_)) => return Some((SipResponse::new(416), Vec::new())),
            Ok(Uri::Sip(_) | Uri::Tel(_)) => {}
        }
        let unknown: Vec<&str> = request
            .list(HeaderName::Require)
            .filter(|option| !option.eq_ignore_ascii_case(SUPPORTED))
            .collect();
        let is_handed_over = self.config.hands_over.contains(method);
        if !unknown.is_empty() && !is_handed_over {
            return Some((SipResponse::new(420), vec![(HeaderName::Unsupported, unknown.join(", "))]));
        }
        let body = SipBody::of(request).filter(|_| matches!(method, Method::Invite | Method::Update));
        let is_description =
            |body: &SipBody| body.is("application/sdp") || body.part("application/sdp").is_some();
        if check_encoding(request).is_err() || body.is_some_and(|body| !is_description(&body)) {
            let accept = vec![(HeaderName::Accept, "application/sdp".to_owned())];
            return Some((SipResponse::new(415), accept));
        }
        None
    }

    pub(super) fn receive_outside(&mut self, id: u64, flow: SipFlow, octets: &[u8], method: &Method) {
        if self.config.hands_over.contains(method) {
            let request = RequestHandle(id);
            let by = self.now + REQUEST_ANSWER_WITHIN;
            self.deadlines.set(Timer::Request(request), Some(by));
            let (method, octets) = (method.clone(), octets.to_vec());
            self.events.push_back(AgentEvent::Request { request, method, flow, octets });
            return;
        }
        let status = match method {
            Method::Options => 200,
            // A request inside a dialog that has no To tag belongs to none.
            Method::Bye | Method::Update | Method::Info => 481,
            Method::Other(_) => 501,
            _ => 405,
        };
        let tag = self.identifiers.tag();
        let mut fields = vec![(HeaderName::Allow, ALLOW.to_owned())];
        if status == 200 {
            fields.push((HeaderName::Accept, "application/sdp".to_owned()));
            fields.push((HeaderName::Supported, SUPPORTED.to_owned()));
        }
        self.respond(id, &SipResponse::new(status), &tag, None, &fields);
    }
}
