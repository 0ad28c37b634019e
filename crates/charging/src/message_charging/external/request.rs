//! A message's requests as octets, and what their answers grant.

use super::{External, now_s};
use crate::message_charging::ChargeId;
use crate::server::Asker;
use diameter::check::Origin;
use diameter::credit::request::UsedUnits;
use diameter::credit::write_request::{RequestToSend, SmsToCharge};
use diameter::credit::{RequestType, RequestedAction, Subscription, SubscriptionKind, Units};
use diameter::dictionary::avp;
use diameter::message::Message;
use diameter::result_code;
use records::{AlertNo, EndpointNo};

/// Service-Context-Id of short messages (TS 32.274), and of all else.
const SMS_CONTEXT: &str = "32274@3gpp.org";
const OTHER_CONTEXT: &str = "campanile@campanile";
/// Termination-Cause (RFC 6733, section 8.15): DIAMETER_LOGOUT, the service is over.
const LOGOUT: i32 = 1;

/// Which of a message's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestStage {
    /// INITIAL_REQUEST for so many parts.
    Begin { parts: u32, number: u32 },
    /// UPDATE_REQUEST for as many, of which none is used yet.
    Update { parts: u32, number: u32 },
    /// TERMINATION_REQUEST, and how many were used.
    End { used: u32, number: u32 },
    /// EVENT_REQUEST, DIRECT_DEBITING, of so many.
    Debit { parts: u32 },
}

/// What all of a message's requests say.
#[derive(Debug, Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) id: ChargeId,
    /// Who pays; empty where that is not remembered, and the server knows it from the session's beginning.
    pub(super) account: &'a str,
    /// To whom, where it is a telephone number.
    pub(super) phone: &'a str,
    pub(super) is_sms: bool,
}

impl External {
    /// RFC 6733, section 8.8: DiameterIdentity, high and low 32 bits, and what else tells it from others.
    pub(super) fn session_id(&self, id: ChargeId) -> String {
        let (host, installation) = (&self.0.settings.origin_host, self.0.installation);
        let ChargeId { alert, endpoint, attempt } = id;
        format!("{host};{};{};{}.{}.{attempt}", installation >> 32, installation as u32, alert.0, endpoint.0)
    }

    /// Whose Session-Id that is: nothing if of none of this house's messages.
    pub(super) fn message_of(&self, session: &str) -> Option<ChargeId> {
        let mut words = session.rsplit(';').next()?.splitn(3, '.');
        let id = ChargeId {
            alert: AlertNo(words.next()?.parse().ok()?),
            endpoint: EndpointNo(words.next()?.parse().ok()?),
            attempt: words.next()?.parse().ok()?,
        };
        (self.session_id(id) == session).then_some(id)
    }

    /// Writes a request to this server, whole but for its Hop-by-Hop Identifier.
    pub(super) fn write(
        &self,
        about: About<'_>,
        what: RequestStage,
        (server, end_to_end, is_retransmit): (&Asker, u32, bool),
    ) -> Vec<u8> {
        let settings = &self.0.settings;
        let suffix = if matches!(what, RequestStage::Debit { .. }) { ".late" } else { "" };
        let host = &settings.origin_host;
        let session = format!("{}{suffix}", self.session_id(about.id));
        let origin = Origin { host, realm: &settings.origin_realm };
        let subscription = [Subscription { kind: SubscriptionKind::Private, data: about.account }];
        let (kind, number, used) = match what {
            RequestStage::Begin { number, .. } => (RequestType::Initial, number, None),
            RequestStage::Update { number, .. } => (RequestType::Update, number, Some(0)),
            RequestStage::End { used, number } => (RequestType::Termination, number, Some(used)),
            RequestStage::Debit { .. } => (RequestType::Event, 0, None),
        };
        let parts = match what {
            RequestStage::Begin { parts, .. }
            | RequestStage::Update { parts, .. }
            | RequestStage::Debit { parts } => Some(parts),
            RequestStage::End { .. } => None,
        };
        let used = used.map(|used| {
            [UsedUnits {
                units: Units::of_specific(used.into()),
                tariff_usage: None,
                tariff_time_change: None,
                reporting_reason: None,
            }]
        });
        let request = RequestToSend {
            // From the second request of a session on.
            destination_host: matches!(what, RequestStage::Update { .. } | RequestStage::End { .. })
                .then_some(&server.host),
            // The connection is another's: this process's, which is one of several.
            route_record: self.0.is_shared.then_some(host.as_str()),
            service_context_id: if about.is_sms { SMS_CONTEXT } else { OTHER_CONTEXT },
            kind,
            number,
            action: matches!(what, RequestStage::Debit { .. }).then_some(RequestedAction::DirectDebiting),
            event_timestamp: i64::try_from(now_s()).ok(),
            subscriptions: if about.account.is_empty() { &[] } else { &subscription },
            termination_cause: matches!(what, RequestStage::End { .. }).then_some(LOGOUT),
            requested: parts.map(|parts| Units::of_specific(parts.into())),
            used: used.as_ref().map_or(&[], |used| &used[..]),
            sms: parts.filter(|_| !about.phone.is_empty()).map(|parts| SmsToCharge {
                originator: "",
                recipient: about.phone,
                parts,
            }),
            is_retransmit,
            ..RequestToSend::debit(&session, origin, &server.realm, Units::default())
        };
        let mut octets = Vec::new();
        request.write(0, end_to_end, &mut octets);
        octets
    }
}

/// Result-Code, 0 where there is none.
pub(super) fn result_code(answer: &Message<'_>) -> u32 {
    answer.find(avp::RESULT_CODE).and_then(|avp| avp.u32().ok()).unwrap_or(0)
}

/// Whether an answer grants what was asked for.
pub(super) fn is_good(octets: &[u8]) -> bool {
    Message::read(octets).is_ok_and(|message| result_code::is_success(result_code(&message)))
}

/// Whether the answer to an end says that its CC-Request-Number is another request's of the session: it is
/// the one to that request (a duplicate's, RFC 8506, section 8.2), or blames the number.
pub(super) fn is_number_taken(octets: &[u8]) -> bool {
    let Ok(message) = Message::read(octets) else { return false };
    let kind = message.find(avp::CC_REQUEST_TYPE).and_then(|avp| avp.u32().ok());
    let blamed =
        message.find(avp::FAILED_AVP).and_then(|failed| failed.group().find_name(avp::CC_REQUEST_NUMBER));
    let is_update = kind == u32::try_from(RequestType::Update.value()).ok();
    (is_update && result_code::is_success(result_code(&message))) || blamed.is_some()
}

/// Service-specific units that an answer grants; all that was asked for where it speaks of none.
pub(super) fn granted(answer: &Message<'_>, asked: u32) -> u64 {
    let Some(granted) = answer.find(avp::GRANTED_SERVICE_UNIT) else { return asked.into() };
    let units = granted.group().find_name(avp::CC_SERVICE_SPECIFIC_UNITS);
    units.and_then(|units| units.u64().ok()).unwrap_or(asked.into())
}

/// A telephone number without its `+`; nothing of any other address.
pub(super) fn phone(address: &str) -> &str {
    let digits = address.strip_prefix('+').unwrap_or(address);
    let is_phone = !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_digit());
    if is_phone { digits } else { "" }
}
