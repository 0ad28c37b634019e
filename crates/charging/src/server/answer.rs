//! Answers written from what was kept of the request and what the ledger said.

use super::answer_cache::AnswerCache;
use super::final_unit::{FinalUnits, Written};
use super::pool;
use super::request_template::Span;
use diameter::check::{All, Origin};
use diameter::credit::{RequestType, SessionFailover};
use diameter::dictionary::{application, avp};
use diameter::header::{CommandFlags, HEADER_OCTETS, Header};
use diameter::message::Message;
use diameter::result_code;
use diameter::write::Writer;
use ledger::request::{Answer, Kind, ServiceAnswer, Terms, Units, result};

/// Money is told with this exponent: minor units are hundredths.
const EXPONENT: i32 = -2;
/// Check-Balance-Result (RFC 8506, section 8.6).
const ENOUGH_CREDIT: u32 = 0;
const NO_CREDIT: u32 = 1;

/// What every answer of ours says of us.
pub(super) struct Identity {
    /// Origin-Host and Origin-Realm, written once.
    origin: Vec<u8>,
    /// And Auth-Application-Id.
    credit: Vec<u8>,
    host: String,
    realm: String,
    final_units: Written,
    /// Another server knows the sessions too, and goes on with them.
    has_others: bool,
}

impl Identity {
    /// The same where the ledger is that of other servers too.
    pub(super) fn among_others(self, has_others: bool) -> Identity {
        Identity { has_others, ..self }
    }

    pub(super) fn new(origin_host: &str, origin_realm: &str, final_units: &FinalUnits) -> Identity {
        let mut octets = Vec::new();
        let header = Header {
            length: 0,
            flags: Default::default(),
            command: 0,
            application: 0,
            hop_by_hop: 0,
            end_to_end: 0,
        };
        let mut writer = Writer::message(&mut octets, &header);
        writer.identity(avp::ORIGIN_HOST, origin_host);
        writer.identity(avp::ORIGIN_REALM, origin_realm);
        let origin = writer.octets();
        writer.u32(avp::AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
        writer.finish();
        let (origin, credit) = (octets[HEADER_OCTETS..origin].to_vec(), octets[HEADER_OCTETS..].to_vec());
        let (host, realm) = (origin_host.to_owned(), origin_realm.to_owned());
        Identity { origin, credit, host, realm, final_units: final_units.written(), has_others: false }
    }
}

impl Identity {
    /// Us, in answers about faults.
    pub(super) fn origin(&self) -> Origin<'_> {
        Origin { host: &self.host, realm: &self.realm }
    }
}

/// What of a request its answer needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) header: Header,
    pub(super) request_type: u32,
    pub(super) number: u32,
    pub(super) kind: Asked,
    /// The Session-Id, as an AVP with its padding.
    session: &'a [u8],
    /// Proxy-Info, in their order, likewise.
    proxies: &'a [u8],
    /// Of services with several Service-Identifiers each with the place of its service, four octets both.
    ids: &'a [u8],
    /// The request itself, where it does not say whose account it is: only its session's shard knows.
    pub(super) whole: &'a [u8],
}

/// How the answer is to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Asked {
    /// One service, its units beside everything else.
    Single = 0,
    /// Multiple-Services-Credit-Control.
    Multiple = 1,
    /// CHECK_BALANCE.
    Balance = 2,
    /// PRICE_ENQUIRY.
    Price = 3,
}

impl Asked {
    pub(super) fn of(kind: &Kind, is_multiple: bool) -> Asked {
        match kind {
            Kind::CheckBalance => Asked::Balance,
            Kind::PriceEnquiry => Asked::Price,
            _ if is_multiple => Asked::Multiple,
            _ => Asked::Single,
        }
    }
}

/// Octets in front of what varies: flags, kind, number of Service-Identifiers, identifiers, type, number,
/// lengths.
const FIXED: usize = 32;

/// What is kept of a request that was read, before it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keep {
    pub(super) request_type: u32,
    pub(super) number: u32,
    pub(super) kind: Asked,
    /// Where the Session-Id stands: the whole AVP.
    pub(super) session: Span,
    pub(super) has_proxies: bool,
    pub(super) has_several_ids: bool,
    /// It says whose account it is.
    pub(super) is_addressed: bool,
}

impl Keep {
    /// Appends what the answer will need.
    #[inline]
    pub(super) fn write(&self, message: &Message<'_>, out: &mut Vec<u8>) {
        let header = &message.header;
        let session = self.session.within(message);
        let session_octets = session.len().next_multiple_of(4);
        let mut fixed = [0; FIXED];
        fixed[0] = header.flags.0;
        fixed[1] = self.kind as u8;
        fixed[4..8].copy_from_slice(&header.hop_by_hop.to_le_bytes());
        fixed[8..12].copy_from_slice(&header.end_to_end.to_le_bytes());
        fixed[12..16].copy_from_slice(&self.request_type.to_le_bytes());
        fixed[16..20].copy_from_slice(&self.number.to_le_bytes());
        fixed[20..24].copy_from_slice(&(session_octets as u32).to_le_bytes());
        out.reserve(FIXED + session_octets + PADDING_MAX);
        let begin = out.len();
        out.extend_from_slice(&fixed);
        padded(out, session);
        if self.has_proxies || self.has_several_ids || !self.is_addressed {
            self.write_rare(message, begin, out);
        }
    }

    #[inline(never)]
    fn write_rare(&self, message: &Message<'_>, begin: usize, out: &mut Vec<u8>) {
        let before = out.len();
        if self.has_proxies {
            message
                .avps()
                .flatten()
                .filter(|found| found.name == avp::PROXY_INFO)
                .for_each(|found| padded(out, found.octets));
        }
        let proxies = out.len() - before;
        if !self.is_addressed {
            out.extend_from_slice(message.octets());
        }
        let whole = out.len() - before - proxies;
        out[begin + 24..begin + 28].copy_from_slice(&(proxies as u32).to_le_bytes());
        out[begin + 28..begin + 32].copy_from_slice(&(whole as u32).to_le_bytes());
        if self.has_several_ids {
            // No message has more AVPs than two octets can count.
            let count = write_ids(message, out);
            out[begin + 2..begin + 4].copy_from_slice(&count.to_le_bytes());
        }
    }
}

/// Octets of a Service-Identifier with the place of its service.
const ID_OCTETS: usize = 8;

/// Appends the Service-Identifiers of services that have several; how many.
fn write_ids(message: &Message<'_>, out: &mut Vec<u8>) -> u16 {
    let services = message.avps().flatten().filter(|avp| avp.name == avp::MULTIPLE_SERVICES_CREDIT_CONTROL);
    let mut count = 0;
    for (place, service) in (0_u32..).zip(services) {
        let ids = || All::within(&service, avp::SERVICE_IDENTIFIER).filter_map(|id| id.u32().ok());
        if ids().nth(1).is_none() {
            continue;
        }
        for id in ids() {
            out.extend_from_slice(&place.to_le_bytes());
            out.extend_from_slice(&id.to_le_bytes());
            count += 1;
        }
    }
    count
}

/// Octets that may follow on an AVP.
const PADDING_MAX: usize = 3;

#[inline]
fn padded(out: &mut Vec<u8>, octets: &[u8]) {
    let end = out.len() + octets.len().next_multiple_of(4);
    out.extend_from_slice(octets);
    // So many are written without asking how many are needed.
    out.extend_from_slice(&[0; PADDING_MAX]);
    out.truncate(end);
}

impl<'a> Context<'a> {
    /// Reads what [`Keep::write`] wrote at this offset.
    pub(super) fn read(octets: &'a [u8], offset: usize) -> Context<'a> {
        let fixed = &octets[offset..offset + FIXED];
        let word = |at: usize| u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let (session, proxies, whole) = (word(20) as usize, word(24) as usize, word(28) as usize);
        let (session, rest) = octets[offset + FIXED..].split_at(session);
        let (proxies, rest) = rest.split_at(proxies);
        let ids = usize::from(u16::from_le_bytes([fixed[2], fixed[3]])) * ID_OCTETS;
        let kind = [Asked::Single, Asked::Multiple, Asked::Balance, Asked::Price][usize::from(fixed[1] & 3)];
        Context {
            header: Header {
                length: 0,
                flags: CommandFlags(fixed[0]),
                command: diameter::dictionary::command::CREDIT_CONTROL,
                application: application::CREDIT_CONTROL,
                hop_by_hop: word(4),
                end_to_end: word(8),
            },
            request_type: word(12),
            number: word(16),
            kind,
            session,
            proxies,
            whole: &rest[..whole],
            ids: &rest[whole..whole + ids],
        }
    }

    /// The Service-Identifiers of the service in this place, if it has several.
    fn ids(&self, place: usize) -> impl Iterator<Item = u32> {
        let word = |octets: &[u8; 4]| u32::from_le_bytes(*octets);
        let (pairs, _) = self.ids.as_chunks::<ID_OCTETS>();
        pairs.iter().filter_map(move |pair| {
            let (of, id) = (pair.first_chunk().map(word)?, pair.last_chunk().map(word)?);
            (of as usize == place).then_some(id)
        })
    }
}

/// Octets of an AVP whose data are four octets, and of the header of one.
const WORD_OCTETS: usize = 12;
const AVP_HEADER_OCTETS: usize = 8;
/// Where in a message its flags stand.
const FLAGS_AT: usize = 4;

/// Appends a CCA; an end that was written before is copied.
#[inline]
pub(super) fn credit(
    out: &mut Vec<u8>,
    identity: &Identity,
    tails: &mut AnswerCache,
    context: &Context<'_>,
    answer: &Answer,
    services: &[ServiceAnswer],
) {
    if !context.proxies.is_empty() || !context.ids.is_empty() {
        return write(out, identity, context, answer, services);
    }
    let Some(tail) = tails.find(context, answer, services) else {
        return write_new(out, identity, tails, context, answer, services);
    };
    let length = HEADER_OCTETS + context.session.len() + tail.len();
    let flags = CommandFlags(context.header.flags.0 & CommandFlags::PROXIABLE.0);
    let header = Header { length: length as u32, flags, ..context.header };
    out.reserve(length);
    out.extend_from_slice(&header.octets());
    out.extend_from_slice(context.session);
    let begin = out.len();
    out.extend_from_slice(tail);
    // Result-Code, what is always the same, CC-Request-Type, CC-Request-Number.
    let number = begin + 2 * WORD_OCTETS + identity.credit.len() + AVP_HEADER_OCTETS;
    if let Some(octets) = out.get_mut(number..number + 4) {
        octets.copy_from_slice(&context.number.to_be_bytes());
    }
}

/// Appends a CCA whose end is kept for the next ones.
#[inline(never)]
fn write_new(
    out: &mut Vec<u8>,
    identity: &Identity,
    tails: &mut AnswerCache,
    context: &Context<'_>,
    answer: &Answer,
    services: &[ServiceAnswer],
) {
    let begin = out.len();
    write(out, identity, context, answer, services);
    let tail = begin + HEADER_OCTETS + context.session.len();
    // A refused CC-Request-Number is told a second time, in Failed-AVP.
    let is_number = |result: u32| result == result::INVALID_AVP_VALUE;
    if is_number(answer.result) || services.iter().any(|service| is_number(service.result)) {
        return;
    }
    // A protocol error has another grammar; what is too long was taken back.
    if let (Some(&flags), Some(tail)) = (out.get(begin + FLAGS_AT), out.get(tail..))
        && !CommandFlags(flags).is_error()
    {
        tails.keep(context, answer, services, tail);
    }
}

/// Appends a CCA, as it is written without what was written before.
fn write(
    out: &mut Vec<u8>,
    identity: &Identity,
    context: &Context<'_>,
    answer: &Answer,
    services: &[ServiceAnswer],
) {
    // Without Multiple-Services-Credit-Control there is one service, and its result is that of the whole,
    // also where it is named by Service-Identifier.
    let result = match services {
        [service] if context.kind != Asked::Multiple && answer.result == result::SUCCESS => service.result,
        _ => answer.result,
    };
    let mut writer = Writer::answer(out, &context.header);
    writer.written(context.session);
    writer.u32(avp::RESULT_CODE, result);
    if result == result_code::TOO_BUSY {
        // A protocol error: in the grammar of answer-message (RFC 6733, section 7.2).
        writer.error();
        writer.written(&identity.origin);
        writer.written(context.proxies);
        writer.finish();
        return;
    }
    writer.written(&identity.credit);
    writer.u32(avp::CC_REQUEST_TYPE, context.request_type);
    writer.u32(avp::CC_REQUEST_NUMBER, context.number);
    if identity.has_others && goes_on(context.request_type) && result == result::SUCCESS {
        // Without it a client takes it that the session stays with its server (RFC 8506, section 8.4).
        writer.i32(avp::CC_SESSION_FAILOVER, SessionFailover::Supported.value());
    }
    if result == result::INVALID_AVP_VALUE {
        // The reader refuses whatever else has such a value: what the ledger refuses is a number that is not
        // greater than the last one.
        writer.group(avp::FAILED_AVP, |failed| failed.u32(avp::CC_REQUEST_NUMBER, context.number));
    }
    match context.kind {
        Asked::Single => services.iter().for_each(|service| single(&mut writer, identity, service)),
        Asked::Multiple => {
            for (place, service) in services.iter().enumerate() {
                multiple(&mut writer, identity, service, context.ids(place));
            }
        }
        Asked::Balance => {
            if let Some(enough) = answer.enough_credit {
                writer.u32(avp::CHECK_BALANCE_RESULT, if enough { ENOUGH_CREDIT } else { NO_CREDIT });
            }
        }
        Asked::Price => {
            if result == result::SUCCESS {
                writer.group(avp::COST_INFORMATION, |cost| {
                    money(cost, answer.cost);
                    cost.u32(avp::CURRENCY_CODE, NO_CURRENCY);
                });
            }
        }
    }
    writer.written(context.proxies);
    writer.finish();
}

/// Whether a session goes on after such a request.
fn goes_on(request_type: u32) -> bool {
    [RequestType::Initial, RequestType::Update].iter().any(|kind| kind.value() as u32 == request_type)
}

/// ISO 4217: no currency. The ledger counts minor units and does not know of which.
const NO_CURRENCY: u32 = 999;

fn single(writer: &mut Writer<'_>, identity: &Identity, service: &ServiceAnswer) {
    if !service.granted.is_empty() {
        granted(writer, service);
    }
    if service.validity_s > 0 {
        writer.u32(avp::VALIDITY_TIME, service.validity_s);
    }
    if service.is_final {
        writer.written(identity.final_units.of(service.terms.final_action));
    }
}

fn multiple(
    writer: &mut Writer<'_>,
    identity: &Identity,
    service: &ServiceAnswer,
    ids: impl Iterator<Item = u32>,
) {
    writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |member| {
        if !service.granted.is_empty() {
            granted(member, service);
        }
        let mut ids = ids.peekable();
        if let Some(id) = service.service_id.filter(|_| ids.peek().is_none()) {
            member.u32(avp::SERVICE_IDENTIFIER, id);
        }
        ids.for_each(|id| member.u32(avp::SERVICE_IDENTIFIER, id));
        if let Some(group) = service.rating_group {
            member.u32(avp::RATING_GROUP, group);
        }
        pool::write(member, &service.granted, &service.terms.pool);
        if service.validity_s > 0 {
            member.u32(avp::VALIDITY_TIME, service.validity_s);
        }
        member.u32(avp::RESULT_CODE, service.result);
        if service.is_final {
            member.written(identity.final_units.of(service.terms.final_action));
        }
        if service.terms != Terms::default() && !service.granted.is_zero() {
            thresholds(member, service);
        }
    });
}

/// When the client asks again before its units are used up, and how long it keeps them unused (TS 32.299,
/// section 7.2). The last units have no threshold: there are no more to ask for.
fn thresholds(member: &mut Writer<'_>, service: &ServiceAnswer) {
    let (units, terms) = (&service.granted, &service.terms);
    let part = |count: u64| (u128::from(count) * u128::from(terms.threshold_percent) / 100) as u64;
    let each = [
        (Units::TIME, avp::TIME_QUOTA_THRESHOLD, u64::from(units.time_s)),
        (Units::OCTETS, avp::VOLUME_QUOTA_THRESHOLD, units.octets),
        (Units::SPECIFIC, avp::UNIT_QUOTA_THRESHOLD, units.specific),
    ];
    for (is, name, count) in each {
        if units.present & is != 0 && !service.is_final && part(count) > 0 {
            member.u32(name, u32::try_from(part(count)).unwrap_or(u32::MAX));
        }
    }
    if terms.holding_s > 0 {
        member.u32(avp::QUOTA_HOLDING_TIME, terms.holding_s);
    }
}

fn granted(writer: &mut Writer<'_>, service: &ServiceAnswer) {
    let units = &service.granted;
    writer.group(avp::GRANTED_SERVICE_UNIT, |unit| {
        if service.terms.tariff_change_s > 0 {
            unit.time(avp::TARIFF_TIME_CHANGE, service.terms.tariff_change_s.into());
        }
        if units.present & Units::TIME != 0 {
            unit.u32(avp::CC_TIME, units.time_s);
        }
        if units.present & Units::MONEY != 0 {
            unit.group(avp::CC_MONEY, |value| money(value, units.money));
        }
        if units.present & Units::OCTETS != 0 {
            unit.u64(avp::CC_TOTAL_OCTETS, units.octets);
        }
        if units.present & Units::SPECIFIC != 0 {
            unit.u64(avp::CC_SERVICE_SPECIFIC_UNITS, units.specific);
        }
    });
}

fn money(writer: &mut Writer<'_>, minor: i64) {
    writer.group(avp::UNIT_VALUE, |value| {
        value.i64(avp::VALUE_DIGITS, minor);
        value.i32(avp::EXPONENT, EXPONENT);
    });
}

#[cfg(test)]
mod tests;
