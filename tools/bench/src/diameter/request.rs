//! Credit-control requests encoded once: what differs from one to the next is written over it.

use super::pattern::Pattern;
use diameter::dictionary::{application, avp, command};
use diameter::header::CommandFlags;
use diameter::message::Message;
use diameter::write::Writer;
use std::ops::Range;

/// Digits of what tells one Session-Id of a connection from another.
const SESSION_DIGITS: usize = 12;
/// Digits of an account's number behind its prefix.
const ACCOUNT_DIGITS: usize = 8;
/// The realm of all clients.
const REALM: &str = "client.test";
/// Octets of what is granted to and used by each service of a session.
pub(super) const GRANT_OCTETS: u64 = 1_000_000;
/// Rating groups of a session.
pub(super) const RATING_GROUPS: [u32; 2] = [1, 2];

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// A direct debit of one unit.
    Event,
    /// Opens a session of two services.
    Initial,
    /// Reports what was used, asks for more.
    Update,
    /// Reports the rest.
    Terminate,
}

impl RequestKind {
    /// CC-Request-Type.
    pub(super) fn request_type(self) -> u32 {
        match self {
            RequestKind::Initial => 1,
            RequestKind::Update => 2,
            RequestKind::Terminate => 3,
            RequestKind::Event => 4,
        }
    }

    /// CC-Request-Number.
    pub(super) fn number(self) -> u32 {
        match self {
            RequestKind::Event | RequestKind::Initial => 0,
            RequestKind::Update => 1,
            RequestKind::Terminate => 2,
        }
    }

    /// What follows on its answer, in the same session.
    pub(super) fn next(self) -> Option<RequestKind> {
        match self {
            RequestKind::Event | RequestKind::Terminate => None,
            RequestKind::Initial => Some(RequestKind::Update),
            RequestKind::Update => Some(RequestKind::Terminate),
        }
    }

    /// Minor units that this request moves for good, by the price without a tariff.
    pub(super) fn charged(self) -> u64 {
        match self {
            RequestKind::Event => 1,
            RequestKind::Initial => 0,
            RequestKind::Update | RequestKind::Terminate => RATING_GROUPS.len() as u64,
        }
    }
}

/// One kind of request of one connection.
pub(super) struct RequestTemplate {
    octets: Vec<u8>,
    session: Range<usize>,
    session_digits: usize,
    account_digits: usize,
}

/// The name of the client with this number.
pub(super) fn client_name(client: usize) -> String {
    format!("client-{client:05}.{REALM}")
}

/// The E.164 number of an account.
pub(super) fn account_number(account: u32) -> String {
    format!("467{account:0ACCOUNT_DIGITS$}")
}

impl RequestTemplate {
    /// Encodes it. `run` tells this run's sessions from those of every other.
    pub(super) fn new(pattern: Pattern, kind: RequestKind, client: usize, run: u64) -> RequestTemplate {
        let name = client_name(client);
        let session = format!("{name};{run};{:0SESSION_DIGITS$}", 0);
        let mut octets = Vec::new();
        let mut writer = Writer::request(
            &mut octets,
            command::CREDIT_CONTROL,
            application::CREDIT_CONTROL,
            CommandFlags::PROXIABLE,
            0,
            0,
        );
        writer.utf8(avp::SESSION_ID, &session);
        writer.identity(avp::ORIGIN_HOST, &name);
        writer.identity(avp::ORIGIN_REALM, REALM);
        writer.identity(avp::DESTINATION_REALM, "bench.example");
        writer.u32(avp::AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
        writer.utf8(
            avp::SERVICE_CONTEXT_ID,
            if kind == RequestKind::Event { "32274@3gpp.org" } else { "32251@3gpp.org" },
        );
        writer.u32(avp::CC_REQUEST_TYPE, kind.request_type());
        writer.u32(avp::CC_REQUEST_NUMBER, kind.number());
        writer.time(avp::EVENT_TIMESTAMP, 1_790_000_000);
        writer.group(avp::SUBSCRIPTION_ID, |id| {
            id.u32(avp::SUBSCRIPTION_ID_TYPE, 0);
            id.utf8(avp::SUBSCRIPTION_ID_DATA, &account_number(0));
        });
        if kind == RequestKind::Event {
            writer.u32(avp::REQUESTED_ACTION, 0);
            writer.group(avp::REQUESTED_SERVICE_UNIT, |unit| unit.u64(avp::CC_SERVICE_SPECIFIC_UNITS, 1));
            writer.u32(avp::SERVICE_IDENTIFIER, 1);
        } else {
            pattern.services(&mut writer, kind);
        }
        writer.finish();
        RequestTemplate::around(octets)
    }

    /// Finds what is written over.
    fn around(octets: Vec<u8>) -> RequestTemplate {
        let mut template = RequestTemplate { session: 0..0, session_digits: 0, account_digits: 0, octets };
        if let Ok(message) = Message::read(&template.octets) {
            let begin = |avp: &diameter::avp::Avp<'_>| {
                message.position(avp) as usize + avp.octets.len() - avp.data.len()
            };
            if let Some(session) = message.find(avp::SESSION_ID) {
                let end = begin(&session) + session.data.len();
                template.session = begin(&session)..end;
                template.session_digits = end - SESSION_DIGITS;
            }
            let id = message.find(avp::SUBSCRIPTION_ID);
            let data = id
                .and_then(|id| id.group().flatten().find(|member| member.name == avp::SUBSCRIPTION_ID_DATA));
            if let Some(data) = data {
                template.account_digits = begin(&data) + data.data.len() - ACCOUNT_DIGITS;
            }
        }
        template
    }

    /// Appends the request of this session and account.
    pub(super) fn write(
        &mut self,
        session: u64,
        account: u32,
        hop_by_hop: u32,
        end_to_end: u32,
        output: &mut Vec<u8>,
    ) {
        digits(&mut self.octets[self.session_digits..][..SESSION_DIGITS], session);
        digits(&mut self.octets[self.account_digits..][..ACCOUNT_DIGITS], u64::from(account));
        self.octets[12..16].copy_from_slice(&hop_by_hop.to_be_bytes());
        self.octets[16..20].copy_from_slice(&end_to_end.to_be_bytes());
        output.extend_from_slice(&self.octets);
    }

    /// The Session-Id of this session.
    pub(super) fn session_id(&mut self, session: u64) -> &[u8] {
        digits(&mut self.octets[self.session_digits..][..SESSION_DIGITS], session);
        &self.octets[self.session.clone()]
    }

    /// Octets of the request.
    pub(super) fn octets(&self) -> usize {
        self.octets.len()
    }
}

/// A number in decimal digits, with zeros in front.
pub(super) fn digits(place: &mut [u8], mut number: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// An answer is the one to this request: result, session, type and number, and a grant where there must be
/// one.
pub(super) fn is_good(answer: &Message<'_>, kind: RequestKind, session_id: &[u8]) -> bool {
    let (mut result, mut session, mut request_type, mut number, mut granted) = (0, false, 0, u32::MAX, 0);
    for avp in answer.avps() {
        let Ok(avp) = avp else { return false };
        match avp.name {
            avp::SESSION_ID => session = avp.data == session_id,
            avp::RESULT_CODE => result = avp.u32().unwrap_or(0),
            avp::CC_REQUEST_TYPE => request_type = avp.u32().unwrap_or(0),
            avp::CC_REQUEST_NUMBER => number = avp.u32().unwrap_or(u32::MAX),
            avp::GRANTED_SERVICE_UNIT => {
                granted += u64::from(unit(avp.group(), avp::CC_SERVICE_SPECIFIC_UNITS) == Some(1));
            }
            avp::MULTIPLE_SERVICES_CREDIT_CONTROL => granted += u64::from(is_granted(avp.group(), kind)),
            _ => {}
        }
    }
    let wanted = match kind {
        RequestKind::Event => 1,
        _ => RATING_GROUPS.len() as u64,
    };
    result == 2001
        && session
        && request_type == kind.request_type()
        && number == kind.number()
        && granted == wanted
}

/// A service was answered with success, and with its grant where one was asked for.
fn is_granted(members: diameter::avp::Avps<'_>, kind: RequestKind) -> bool {
    let (mut is_success, mut octets) = (false, None);
    for member in members.flatten() {
        match member.name {
            avp::RESULT_CODE => is_success = member.u32() == Ok(2001),
            avp::GRANTED_SERVICE_UNIT => octets = unit(member.group(), avp::CC_TOTAL_OCTETS),
            _ => {}
        }
    }
    is_success && (kind == RequestKind::Terminate || octets == Some(GRANT_OCTETS))
}

fn unit(mut members: diameter::avp::Avps<'_>, name: diameter::avp::AvpName) -> Option<u64> {
    members
        .find_map(|member| member.ok().filter(|member| member.name == name))
        .and_then(|unit| unit.u64().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use diameter::credit::CreditControlRequest;

    #[test]
    fn a_request_holds_what_was_written_over_it() {
        let [event, sessions] = [Pattern::Event, Pattern::Session];
        let of_open5gs = Pattern::Open5gs;
        for (pattern, kind) in [
            (event, RequestKind::Event),
            (sessions, RequestKind::Initial),
            (sessions, RequestKind::Update),
            (sessions, RequestKind::Terminate),
            (of_open5gs, RequestKind::Initial),
            (of_open5gs, RequestKind::Update),
            (of_open5gs, RequestKind::Terminate),
        ] {
            let mut template = RequestTemplate::new(pattern, kind, 7, 99);
            let mut output = Vec::new();
            template.write(123_456, 42, 5, 6, &mut output);
            assert_eq!(output.len(), template.octets());
            let message = Message::read(&output).unwrap();
            assert!(CreditControlRequest::read(&message).is_ok(), "{pattern:?} {kind:?}");
            assert_eq!((message.header.hop_by_hop, message.header.end_to_end), (5, 6));
            let session = message.find(avp::SESSION_ID).unwrap();
            assert_eq!(session.data, b"client-00007.client.test;99;000000123456");
            assert_eq!(session.data, template.session_id(123_456));
            let id = message.find(avp::SUBSCRIPTION_ID).unwrap();
            let data = id.group().flatten().find(|member| member.name == avp::SUBSCRIPTION_ID_DATA).unwrap();
            assert_eq!(data.utf8(), Ok("46700000042"));
        }
    }

    #[test]
    fn an_answer_is_good_only_if_result_session_and_grant_are() {
        let mut template = RequestTemplate::new(Pattern::Event, RequestKind::Event, 1, 1);
        let session = template.session_id(9).to_vec();
        let answer = |result: u32, session: &[u8], units: u64| {
            let mut octets = Vec::new();
            let header = Message::read(&template.octets).unwrap().header;
            let mut writer = Writer::answer(&mut octets, &header);
            writer.octet_string(avp::SESSION_ID, session);
            writer.u32(avp::RESULT_CODE, result);
            writer.u32(avp::CC_REQUEST_TYPE, 4);
            writer.u32(avp::CC_REQUEST_NUMBER, 0);
            writer.group(avp::GRANTED_SERVICE_UNIT, |unit| unit.u64(avp::CC_SERVICE_SPECIFIC_UNITS, units));
            writer.finish();
            is_good(&Message::read(&octets).unwrap(), RequestKind::Event, &session_of(9))
        };
        fn session_of(session: u64) -> Vec<u8> {
            RequestTemplate::new(Pattern::Event, RequestKind::Event, 1, 1).session_id(session).to_vec()
        }
        assert!(answer(2001, &session, 1));
        assert!(!answer(4012, &session, 1));
        assert!(!answer(2001, b"another", 1));
        assert!(!answer(2001, &session, 0));
    }
}
