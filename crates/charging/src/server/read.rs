//! From a request to what the ledger is asked.

use super::amounts;
use super::answer::{Asked, Keep};
use super::request_template::{Common, RequestTemplates, Span, Spans};
use diameter::check::{Fault, Origin, Strictness};
use diameter::credit::request::UsedUnits;
use diameter::credit::{
    self, CreditControlRequest, RequestType, RequestedAction, Rounding, Subscription, SubscriptionKind,
    TariffChangeUsage,
};
use diameter::dictionary::{application, avp};
use diameter::message::Message;
use diameter::result_code;
use ledger::client::{Client, Opener};
use ledger::hash::Beginning;
use ledger::key::KEY_OCTETS_MAX;
use ledger::request::{Destination, ServiceContext};
use ledger::{Hash128, HashKey, KeyKind, Kind, NewRequest, Service, Units};
use std::sync::Arc;

/// Services of one request.
const SERVICES_MAX: usize = 256;
/// The longest Session-Id, octets.
const SESSION_OCTETS_MAX: usize = 1_024;

/// A request that can be handled.
#[derive(Debug)]
pub(super) struct Credit<'r> {
    pub(super) context: Keep,
    request: NewRequest<'r>,
}

impl<'r> Credit<'r> {
    /// As the ledger takes it.
    #[inline]
    pub(super) fn for_ledger(&self, tag: u64) -> NewRequest<'r> {
        NewRequest { tag, ..self.request }
    }
}

/// What a request is.
#[derive(Debug)]
pub(super) enum Reading<'r> {
    Credit(Credit<'r>),
    Wrong(Fault),
}

/// Reads the requests of one connection.
pub(super) struct RequestReader {
    key: HashKey,
    origin_host: String,
    origin_realm: String,
    strictness: Strictness,
    services: Vec<Service>,
    /// The last Origin-Host, and its hash: nearly always the next one's too.
    host: String,
    host_hash: Hash128,
    /// The last Service-Context-Id, and what it means, likewise.
    context: (String, ServiceContext),
    shapes: RequestTemplates,
    /// What its Session-Ids have in common.
    beginning: Beginning,
    /// The peer at the other end, and its Origin-State-Id.
    via: String,
    state_id: Option<u32>,
    /// Who asked last.
    client: Arc<Client>,
}

impl RequestReader {
    pub(super) fn new(key: HashKey, us: &Origin<'_>, strictness: Strictness) -> RequestReader {
        RequestReader {
            key,
            origin_host: us.host.to_owned(),
            origin_realm: us.realm.to_owned(),
            strictness,
            services: Vec::new(),
            host: String::new(),
            host_hash: key.octets(&[]),
            context: Default::default(),
            shapes: RequestTemplates::default(),
            beginning: Beginning::new(key),
            via: String::new(),
            state_id: None,
            client: Arc::new(Client::new(key, "", "", "", None)),
        }
    }

    /// The peer at the other end is this one, at this start of its.
    pub(super) fn meet(&mut self, origin_host: &str, state_id: Option<u32>) {
        self.via = origin_host.to_owned();
        self.state_id = state_id;
        // What was learnt of its requests names the client as it was.
        self.shapes = RequestTemplates::default();
    }

    #[cfg(test)]
    pub(super) fn shapes(&self) -> &RequestTemplates {
        &self.shapes
    }

    #[inline]
    pub(super) fn read<'r>(&'r mut self, message: &Message<'r>) -> Reading<'r> {
        if let Some(found) = self.shapes.find(message) {
            return Reading::Credit(self.read_like(found, message));
        }
        self.read_whole(message)
    }

    /// A request of a shape: only what differs is read.
    #[inline]
    fn read_like<'r>(&'r mut self, found: usize, message: &Message<'r>) -> Credit<'r> {
        let RequestReader { shapes, beginning, services, .. } = self;
        let common = shapes.common(found);
        let places = &common.places;
        // Four octets: the shape says so.
        let number = places.number.within(message).first_chunk().map_or(0, |data| u32::from_be_bytes(*data));
        Credit {
            context: Keep { number, ..common.context },
            request: NewRequest {
                kind: common.kind,
                account_kind: common.account_kind,
                account: places.account.map_or(&[][..], |account| account.within(message)),
                session: session(beginning, places.session.within(message), common.host_hash),
                number,
                context: common.service_context,
                class: 0,
                destination: places.to.map(|to| Destination::parse(to.within(message))).unwrap_or_default(),
                services: amounts::services(&common.amounts, message, &common.services, services),
                opener: common.opener.as_ref().map(|(client, is_multiple)| Opener {
                    session_id: places.session.within(message),
                    client,
                    is_multiple: *is_multiple,
                }),
                tag: 0,
            },
        }
    }

    #[inline(never)]
    fn read_whole<'r>(&'r mut self, message: &Message<'r>) -> Reading<'r> {
        if message.header.application != application::CREDIT_CONTROL {
            return Reading::Wrong(Fault::new(result_code::APPLICATION_UNSUPPORTED));
        }
        match self.credit(message) {
            Ok(credit) => Reading::Credit(credit),
            Err(fault) => Reading::Wrong(fault),
        }
    }

    fn credit<'r>(&'r mut self, message: &Message<'r>) -> Result<Credit<'r>, Fault> {
        let request = CreditControlRequest::read_as(message, self.strictness)?;
        self.check_destination(&request)?;
        if request.session_id.len() > SESSION_OCTETS_MAX {
            return Err(refused(&request, avp::SESSION_ID));
        }
        let kind = kind(&request);
        let (account, is_known) = account(&request)?;
        let Services { are_multiple: is_multiple, have_several_ids } = self.read_services(&request)?;
        let is_initial = request.kind == RequestType::Initial;
        self.see(&request, is_initial);
        let has_destination = is_initial || request.kind == RequestType::Event;
        let sms = if has_destination { request.sms() } else { None };
        let to = sms.and_then(|sms| sms.recipients().next());
        let place = |octets: &[u8]| Span::of(message, octets);
        let found = |name| request.found().find(name);
        let session_avp = found(avp::SESSION_ID).map(|found| place(found.octets)).unwrap_or_default();
        let number_avp = found(avp::CC_REQUEST_NUMBER).map(|found| place(found.data)).unwrap_or_default();
        let context = Keep {
            request_type: request.kind.value() as u32,
            number: request.number,
            kind: Asked::of(&kind, is_multiple),
            session: session_avp,
            has_proxies: request.proxy_infos().next().is_some(),
            has_several_ids: have_several_ids,
            is_addressed: is_known,
        };
        if self.shapes.is_due(message) {
            let places = Spans {
                session: place(request.session_id.as_bytes()),
                number: number_avp,
                account: is_known.then(|| place(account.1)),
                to: to.map(|to| place(to.as_bytes())),
            };
            let common = Common {
                context,
                kind,
                account_kind: account.0,
                host_hash: self.host_hash,
                service_context: self.context.1,
                services: self.services.clone(),
                amounts: amounts::find(&request),
                opener: is_initial.then(|| (Arc::clone(&self.client), is_multiple)),
                places,
            };
            self.shapes.learn(message, common);
        }
        Ok(Credit {
            context,
            request: NewRequest {
                kind,
                account_kind: account.0,
                account: account.1,
                session: session(&mut self.beginning, request.session_id.as_bytes(), self.host_hash),
                number: request.number,
                context: self.context.1,
                class: 0,
                destination: to.map(|to| Destination::parse(to.as_bytes())).unwrap_or_default(),
                services: &self.services,
                opener: is_initial.then_some(Opener {
                    session_id: request.session_id.as_bytes(),
                    client: &self.client,
                    is_multiple,
                }),
                tag: 0,
            },
        })
    }

    /// Notes who asks, and for which service: nearly always the same as before.
    fn see(&mut self, request: &CreditControlRequest<'_>, is_initial: bool) {
        if request.origin_host != self.host {
            self.host.clear();
            self.host.push_str(request.origin_host);
            self.host_hash = self.key.octets(self.host.as_bytes());
        }
        let context = request.service_context_id();
        if context != self.context.0 {
            self.context = (context.to_owned(), ServiceContext::parse(context));
        }
        if is_initial {
            self.see_client(request);
        }
    }

    /// Notes who begins a session: nearly always who began the last one.
    fn see_client(&mut self, request: &CreditControlRequest<'_>) {
        let (host, realm) = (request.origin_host, request.origin_realm());
        let is_direct = host.eq_ignore_ascii_case(&self.via);
        let state_id = request.origin_state_id().or(self.state_id.filter(|_| is_direct));
        let last = &*self.client;
        if (&*last.host, &*last.realm, &*last.via, last.state_id) != (host, realm, &self.via, state_id) {
            self.client = Arc::new(Client::new(self.key, host, realm, &self.via, state_id));
        }
    }

    /// It is for us (RFC 6733, sections 6.1.4 and 6.1.6), and did not come round in a circle (section 6.1.3).
    fn check_destination(&self, request: &CreditControlRequest<'_>) -> Result<(), Fault> {
        let is_ours = |host: &str| host.eq_ignore_ascii_case(&self.origin_host);
        if request.route_records().any(is_ours) {
            return Err(Fault::new(result_code::LOOP_DETECTED));
        }
        let is = |octets: &[u8], name: &str| octets.eq_ignore_ascii_case(name.as_bytes());
        if data(request, avp::DESTINATION_HOST).is_some_and(|host| !is(host, &self.origin_host)) {
            return Err(Fault::new(result_code::UNABLE_TO_DELIVER));
        }
        if !data(request, avp::DESTINATION_REALM).is_some_and(|realm| is(realm, &self.origin_realm)) {
            return Err(Fault::new(result_code::REALM_NOT_SERVED));
        }
        Ok(())
    }

    fn read_services(&mut self, request: &CreditControlRequest<'_>) -> Result<Services, Fault> {
        self.services.clear();
        let mut have_several_ids = false;
        for service in request.services() {
            let service = service?;
            if self.services.len() >= SERVICES_MAX {
                let (message, group) = (request.message(), service.avp());
                return Err(Fault::of(result_code::AVP_OCCURS_TOO_MANY_TIMES, &message, &group));
            }
            // Several are one service, known by the lowest of them in whatever order they come.
            let key = (service.rating_group, service.service_identifiers().min());
            have_several_ids |= service.service_identifiers().nth(1).is_some();
            let is_twin = self
                .services
                .iter()
                .any(|other| !other.is_before_change && (other.rating_group, other.service_id) == key);
            if is_twin && request.kind != RequestType::Event {
                // One service of a session has one reservation.
                return Err(Fault::of(result_code::INVALID_AVP_VALUE, &request.message(), &service.avp()));
            }
            let requested = service.requested.map(|asked| units(request, &asked)).transpose()?;
            let used = if service.has_used { sum(request, service.used())? } else { Used::default() };
            self.push_service(key, requested, used);
        }
        if !self.services.is_empty() {
            return Ok(Services { are_multiple: true, have_several_ids });
        }
        let requested = request.requested.map(|asked| units(request, &asked)).transpose()?;
        let is_event = request.kind == RequestType::Event;
        let used = if is_event { Used::default() } else { sum(request, request.used())? };
        if requested.is_some() || used.rest.or(used.before).is_some() || is_event {
            self.push_service((None, request.service_identifier()), requested, used);
        }
        Ok(Services { are_multiple: false, have_several_ids })
    }

    fn push_service(
        &mut self,
        (rating_group, service_id): (Option<u32>, Option<u32>),
        requested: Option<Units>,
        used: Used,
    ) {
        if used.before.is_some() {
            let (requested, used) = (None, used.before);
            self.services.push(Service { rating_group, service_id, requested, used, is_before_change: true });
        }
        let (used, is_before_change) = (used.rest, false);
        self.services.push(Service { rating_group, service_id, requested, used, is_before_change });
    }
}

/// How the services of a request stand there.
struct Services {
    /// In Multiple-Services-Credit-Control.
    are_multiple: bool,
    /// One of them has several Service-Identifiers, and its answer names them all.
    have_several_ids: bool,
}

/// A Session-Id is its client's: another's of the same words is another session.
#[inline]
fn session(beginning: &mut Beginning, id: &[u8], [low, high]: Hash128) -> Hash128 {
    let [one, other] = beginning.hash(id);
    [one ^ low, other ^ high]
}

fn kind(request: &CreditControlRequest<'_>) -> Kind {
    match (request.kind, request.action) {
        (RequestType::Initial, _) => Kind::Initial,
        (RequestType::Update, _) => Kind::Update,
        (RequestType::Termination, _) => Kind::Terminate,
        (RequestType::Event, Some(RequestedAction::RefundAccount)) => Kind::Refund { of: None },
        (RequestType::Event, Some(RequestedAction::CheckBalance)) => Kind::CheckBalance,
        (RequestType::Event, Some(RequestedAction::PriceEnquiry)) => Kind::PriceEnquiry,
        // Without an action an event was refused.
        (RequestType::Event, Some(RequestedAction::DirectDebiting) | None) => Kind::Debit,
    }
}

/// Whose account it is. Who goes on with a session need not say it again: false then.
fn account<'a>(request: &CreditControlRequest<'a>) -> Result<((KeyKind, &'a [u8]), bool), Fault> {
    let Some(Subscription { kind, data }) = request.subscriptions().next() else {
        return match request.kind {
            RequestType::Update | RequestType::Termination => Ok(((KeyKind::Private, b""), false)),
            RequestType::Initial | RequestType::Event => Err(Fault::missing(avp::SUBSCRIPTION_ID)),
        };
    };
    if data.len() > KEY_OCTETS_MAX || data.is_empty() {
        return Err(refused(request, avp::SUBSCRIPTION_ID));
    }
    let kind = match kind {
        SubscriptionKind::E164 => KeyKind::E164,
        SubscriptionKind::Imsi => KeyKind::Imsi,
        SubscriptionKind::SipUri => KeyKind::Sip,
        SubscriptionKind::Nai => KeyKind::Nai,
        SubscriptionKind::Private => KeyKind::Private,
    };
    Ok(((kind, data.as_bytes()), true))
}

/// The octets of the first AVP of this name: text was checked, and is compared without a second look at its
/// encoding.
#[inline]
fn data<'a>(request: &CreditControlRequest<'a>, name: diameter::avp::AvpName) -> Option<&'a [u8]> {
    request.found().find(name).map(|avp| avp.data)
}

/// 5004 with the first AVP of this name.
fn refused(request: &CreditControlRequest<'_>, name: diameter::avp::AvpName) -> Fault {
    match request.found().find(name) {
        Some(avp) => Fault::of(result_code::INVALID_AVP_VALUE, &request.message(), &avp),
        None => Fault::new(result_code::INVALID_AVP_VALUE),
    }
}

/// What was used of a service.
#[derive(Clone, Copy, Default)]
struct Used {
    /// Before the tariff changed.
    before: Option<Units>,
    /// Whenever else.
    rest: Option<Units>,
}

/// Several Used-Service-Units are one, but for the change of the tariff.
fn sum(
    request: &CreditControlRequest<'_>,
    all: impl Iterator<Item = Result<UsedUnits, Fault>>,
) -> Result<Used, Fault> {
    let mut used = Used::default();
    for one in all {
        let one = one?;
        let is_before = one.tariff_usage == Some(TariffChangeUsage::Before);
        let sum = if is_before { &mut used.before } else { &mut used.rest };
        let one = units(request, &one.units)?;
        *sum = Some(match *sum {
            None => one,
            Some(before) => before.plus(&one).ok_or_else(|| refused(request, avp::USED_SERVICE_UNIT))?,
        });
    }
    Ok(used)
}

fn units(request: &CreditControlRequest<'_>, said: &credit::Units) -> Result<Units, Fault> {
    let mut units = Units::default();
    if let Some(time_s) = said.time_s {
        (units.time_s, units.present) = (time_s, units.present | Units::TIME);
    }
    if let Some(specific) = said.specific {
        (units.specific, units.present) = (specific, units.present | Units::SPECIFIC);
    }
    if let Some(money) = said.money {
        // What costs something is not free: a part of a minor unit is a whole one.
        let minor = money.minor_units(Rounding::AwayFromZero).map_err(|_| refused(request, avp::CC_MONEY))?;
        (units.money, units.present) = (minor, units.present | Units::MONEY);
    }
    let parts = || match (said.input_octets, said.output_octets) {
        (None, None) => Some(None),
        (input, output) => input.unwrap_or(0).checked_add(output.unwrap_or(0)).map(Some),
    };
    let octets = match said.total_octets {
        Some(total) => Some(total),
        None => parts().ok_or_else(|| refused(request, avp::USED_SERVICE_UNIT))?,
    };
    if let Some(octets) = octets {
        (units.octets, units.present) = (octets, units.present | Units::OCTETS);
    }
    Ok(units)
}
