//! Dialogs (RFC 3261 section 12): tags, sequence numbers, route set, remote target.

#[cfg(test)]
mod tests;

use crate::error::SipParseError;
use crate::limits::{CSEQ_MAX, ROUTES_MAX};
use crate::message::{Essentials, HeaderName, NameAddr, SipMessage};
use crate::uri::Uri;

/// Request-URI and Route of a request inside a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialogRoute {
    /// The Request-URI.
    pub uri: String,
    /// The values of Route, topmost first.
    pub routes: Vec<String>,
    /// The URI of the first hop.
    pub first_hop: String,
}

/// One side's view of a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialog {
    call_id: String,
    /// From of our requests, with our tag.
    local: String,
    /// To of our requests, with the peer's tag.
    remote: String,
    local_tag: String,
    /// Empty of a peer of RFC 2543.
    remote_tag: String,
    local_cseq: u32,
    remote_cseq: Option<u32>,
    routes: Vec<String>,
    target: String,
}

impl Dialog {
    /// The client's side, by a response that makes a dialog (section 12.1.2). `request` is the INVITE. A
    /// response without Contact, which RFC 3261 forbids and some send, leaves the Request-URI as the target.
    ///
    /// # Errors
    /// A header field that does not have its form, or more than [`ROUTES_MAX`] routes.
    pub fn of_client(request: &SipMessage<'_>, response: &SipMessage<'_>) -> Result<Dialog, SipParseError> {
        let asked = request.essentials()?;
        let essentials = response.essentials()?;
        let mut routes = routes_of(response)?;
        routes.reverse();
        let target = match contact_of(response)? {
            Some(contact) => contact,
            None => request.request_uri().unwrap_or_default().to_owned(),
        };
        Ok(Dialog {
            call_id: essentials.call_id.to_owned(),
            local: request.value(HeaderName::From).unwrap_or_default().to_owned(),
            remote: response.value(HeaderName::To).unwrap_or_default().to_owned(),
            local_tag: tag_of(&asked.from),
            remote_tag: tag_of(&essentials.to),
            local_cseq: asked.cseq.number,
            remote_cseq: None,
            routes,
            target,
        })
    }

    /// The server's side, by the request that it answers with `local_tag` in To (section 12.1.1).
    ///
    /// # Errors
    /// No Contact, a header field that does not have its form, or more than [`ROUTES_MAX`] routes.
    pub fn of_server(request: &SipMessage<'_>, local_tag: &str) -> Result<Dialog, SipParseError> {
        let Essentials { from, call_id, cseq, .. } = request.essentials()?;
        let to = request.value(HeaderName::To).unwrap_or_default();
        Ok(Dialog {
            call_id: call_id.to_owned(),
            local: format!("{to};tag={local_tag}"),
            remote: request.value(HeaderName::From).unwrap_or_default().to_owned(),
            local_tag: local_tag.to_owned(),
            remote_tag: tag_of(&from),
            local_cseq: 0,
            remote_cseq: Some(cseq.number),
            routes: routes_of(request)?,
            target: contact_of(request)?.ok_or(SipParseError::Missing("Contact"))?,
        })
    }

    /// Call-ID.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Our tag.
    #[must_use]
    pub fn local_tag(&self) -> &str {
        &self.local_tag
    }

    /// The peer's tag.
    #[must_use]
    pub fn remote_tag(&self) -> &str {
        &self.remote_tag
    }

    /// From of our requests.
    #[must_use]
    pub fn local(&self) -> &str {
        &self.local
    }

    /// To of our requests.
    #[must_use]
    pub fn remote(&self) -> &str {
        &self.remote
    }

    /// The sequence number of our last request.
    #[must_use]
    pub fn local_cseq(&self) -> u32 {
        self.local_cseq
    }

    /// The sequence number of a new request of ours.
    pub fn next_cseq(&mut self) -> u32 {
        self.local_cseq = if self.local_cseq >= CSEQ_MAX { 1 } else { self.local_cseq + 1 };
        self.local_cseq
    }

    /// Takes the sequence number of a request of the peer, neither ACK nor CANCEL: whether it is in order
    /// (section 12.2.2); one that is not gets 500.
    pub fn take_remote_cseq(&mut self, number: u32) -> bool {
        let is_in_order = self.remote_cseq.is_none_or(|last| number > last);
        if is_in_order {
            self.remote_cseq = Some(number);
        }
        is_in_order
    }

    /// Takes a new remote target from a target refresh request, or the response to one (INVITE, UPDATE).
    /// One that cannot be read changes nothing.
    pub fn refresh_target(&mut self, message: &SipMessage<'_>) {
        if let Ok(Some(contact)) = contact_of(message) {
            self.target = contact;
        }
    }

    /// The addressing of a request (section 12.2.1.1): the target with the route set, or for a strict
    /// router its own URI, and the target last.
    #[must_use]
    pub fn route(&self) -> DialogRoute {
        let Some(first) = self.routes.first() else {
            let target = self.target.clone();
            return DialogRoute { first_hop: target.clone(), uri: target, routes: Vec::new() };
        };
        let first_hop =
            NameAddr::parse("Route", first).map(|address| address.uri.to_owned()).unwrap_or_default();
        let is_loose = Uri::parse(&first_hop).is_ok_and(|uri| uri.as_sip().is_some_and(|uri| uri.has("lr")));
        if is_loose {
            return DialogRoute { uri: self.target.clone(), routes: self.routes.clone(), first_hop };
        }
        let mut routes = self.routes[1..].to_vec();
        routes.push(format!("<{}>", self.target));
        DialogRoute { uri: request_uri_of(&first_hop), routes, first_hop }
    }
}

/// A strict router's URI without the parameters that a Request-URI must not have.
fn request_uri_of(uri: &str) -> String {
    match Uri::parse(uri) {
        Ok(Uri::Sip(uri)) => uri.for_request().to_string(),
        _ => uri.to_owned(),
    }
}

fn tag_of(address: &NameAddr<'_>) -> String {
    address.tag().unwrap_or_default().into_owned()
}

fn routes_of(message: &SipMessage<'_>) -> Result<Vec<String>, SipParseError> {
    let routes: Vec<String> = message.list(HeaderName::RecordRoute).map(str::to_owned).collect();
    if routes.len() > ROUTES_MAX {
        return Err(SipParseError::TooLong { part: "Record-Route", max: ROUTES_MAX });
    }
    for route in &routes {
        NameAddr::parse("Record-Route", route)?;
    }
    Ok(routes)
}

/// The URI of the first Contact; `None` if there is none.
fn contact_of(message: &SipMessage<'_>) -> Result<Option<String>, SipParseError> {
    let Some(value) = message.list(HeaderName::Contact).next() else { return Ok(None) };
    let contact = NameAddr::parse("Contact", value)?;
    match Uri::parse(contact.uri)? {
        Uri::Sip(uri) => Ok(Some(uri.for_request().to_string())),
        _ => Err(SipParseError::malformed("Contact", "no SIP URI")),
    }
}
