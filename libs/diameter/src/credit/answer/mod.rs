//! Credit-Control-Answers, and what a server asks by itself, written into the caller's buffer (RFC 8506,
//! sections 3.2 and 5.5).

use crate::avp::{Address, AvpName};
use crate::check::Origin;
use crate::credit::request::PoolReference;
use crate::credit::{
    CheckBalanceResult, CreditControlRequest, DebitingFailureHandling, FailureHandling, Money,
};
use crate::credit::{SessionFailover, Units};
use crate::dictionary::{application, avp, command};
use crate::header::{CommandFlags, Header};
use crate::message::Message;
use crate::write::Writer;
use std::io::Write;
use std::net::IpAddr;

/// Octets of the longest IP address as text.
const IP_TEXT_MAX: usize = 45;

/// A CCA. What is `None` or empty is left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct CreditControlAnswer<'a> {
    /// Result-Code; 3xxx is not for here, but for [`Fault`](crate::check::Fault).
    pub result_code: u32,
    /// CC-Session-Failover.
    pub failover: Option<SessionFailover>,
    /// Granted-Service-Unit.
    pub granted: Option<Grant>,
    /// Multiple-Services-Credit-Control, in order.
    pub services: &'a [ServiceGrant<'a>],
    /// Cost-Information.
    pub cost: Option<Cost<'a>>,
    /// Final-Unit-Indication.
    pub final_unit: Option<FinalUnit<'a>>,
    /// Check-Balance-Result.
    pub check_balance: Option<CheckBalanceResult>,
    /// Remaining-Balance of 3GPP; its currency must be known.
    pub remaining_balance: Option<Money>,
    /// Low-Balance-Indication of 3GPP.
    pub low_balance: Option<bool>,
    /// Credit-Control-Failure-Handling.
    pub failure_handling: Option<FailureHandling>,
    /// Direct-Debiting-Failure-Handling.
    pub debiting_failure_handling: Option<DebitingFailureHandling>,
    /// Validity-Time, in seconds.
    pub validity_s: Option<u32>,
    /// Origin-State-Id.
    pub origin_state_id: Option<u32>,
}

/// Granted-Service-Unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// How much.
    pub units: Units,
    /// Tariff-Time-Change, in seconds since 1970.
    pub tariff_time_change: Option<i64>,
}

/// Cost-Information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost<'a> {
    /// The cost.
    pub money: Money,
    /// Currency-Code, which must be there.
    pub currency: u32,
    /// Cost-Unit: what the cost is for, for people.
    pub unit: Option<&'a str>,
}

/// Multiple-Services-Credit-Control.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServiceGrant<'a> {
    /// Granted-Service-Unit.
    pub granted: Option<Grant>,
    /// Service-Identifier.
    pub service_identifiers: &'a [u32],
    /// Rating-Group.
    pub rating_group: Option<u32>,
    /// G-S-U-Pool-Reference.
    pub pools: &'a [PoolReference],
    /// Validity-Time, in seconds.
    pub validity_s: Option<u32>,
    /// Result-Code of this service.
    pub result_code: Option<u32>,
    /// Final-Unit-Indication.
    pub final_unit: Option<FinalUnit<'a>>,
    /// Time-Quota-Threshold of 3GPP, in seconds: when so much is left, the client asks again.
    pub time_quota_threshold_s: Option<u32>,
    /// Volume-Quota-Threshold of 3GPP, in octets.
    pub volume_quota_threshold_octets: Option<u32>,
    /// Unit-Quota-Threshold of 3GPP, in units.
    pub unit_quota_threshold: Option<u32>,
    /// Quota-Holding-Time of 3GPP, in seconds: after so long without use the units are given back.
    pub quota_holding_s: Option<u32>,
}

/// What the client does when the last units are used (section 5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalUnit<'a> {
    /// TERMINATE.
    Terminate,
    /// REDIRECT.
    Redirect(RedirectServer<'a>),
    /// RESTRICT_ACCESS.
    RestrictAccess {
        /// Restriction-Filter-Rule: IPFilterRules of what stays allowed.
        rules: &'a [&'a str],
        /// Filter-Id: filters that the client knows by name.
        filters: &'a [&'a str],
    },
    /// The same as a QoS-Final-Unit-Indication (section 8.68): for clients of RFC 8506 alone.
    Extended(ExtendedFinalUnit<'a>),
}

/// QoS-Final-Unit-Indication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendedFinalUnit<'a> {
    /// TERMINATE.
    Terminate,
    /// REDIRECT, with Redirect-Server-Extension.
    Redirect(RedirectServer<'a>),
    /// RESTRICT_ACCESS, with Filter-Id.
    RestrictAccess {
        /// Filters that the client knows by name.
        filters: &'a [&'a str],
    },
}

/// Where a subscriber without credit is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectServer<'a> {
    /// An address.
    Ip(IpAddr),
    /// A URL.
    Url(&'a str),
    /// A SIP URI.
    SipUri(&'a str),
}

/// Final-Unit-Action.
const TERMINATE: i32 = 0;
const REDIRECT: i32 = 1;
const RESTRICT_ACCESS: i32 = 2;

impl CreditControlAnswer<'_> {
    /// Appends the answer to a request and returns its octets. Session-Id, CC-Request-Type and -Number,
    /// CC-Sub-Session-Id and every Proxy-Info are the request's.
    pub fn write(&self, request: &CreditControlRequest<'_>, origin: &Origin<'_>, out: &mut Vec<u8>) -> usize {
        let mut writer = Writer::answer(out, &request.message().header);
        writer.utf8(avp::SESSION_ID, request.session_id);
        writer.u32(avp::RESULT_CODE, self.result_code);
        writer.identity(avp::ORIGIN_HOST, origin.host);
        writer.identity(avp::ORIGIN_REALM, origin.realm);
        writer.u32(avp::AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
        writer.i32(avp::CC_REQUEST_TYPE, request.kind.value());
        writer.u32(avp::CC_REQUEST_NUMBER, request.number);
        if let Some(sub_session) = request.sub_session() {
            writer.u64(avp::CC_SUB_SESSION_ID, sub_session);
        }
        self.write_body(&mut writer);
        for info in request.proxy_infos() {
            writer.copy(&info);
        }
        writer.finish()
    }

    fn write_body(&self, writer: &mut Writer<'_>) {
        if let Some(failover) = self.failover {
            writer.i32(avp::CC_SESSION_FAILOVER, failover.value());
        }
        optional_u32(writer, avp::ORIGIN_STATE_ID, self.origin_state_id);
        if let Some(grant) = &self.granted {
            grant.write(writer);
        }
        for service in self.services {
            service.write(writer);
        }
        if let Some(cost) = &self.cost {
            cost.write(writer);
        }
        if let Some(final_unit) = &self.final_unit {
            final_unit.write(writer);
        }
        if let Some(result) = self.check_balance {
            writer.i32(avp::CHECK_BALANCE_RESULT, result.value());
        }
        if let Some(handling) = self.failure_handling {
            writer.i32(avp::CREDIT_CONTROL_FAILURE_HANDLING, handling.value());
        }
        if let Some(handling) = self.debiting_failure_handling {
            writer.i32(avp::DIRECT_DEBITING_FAILURE_HANDLING, handling.value());
        }
        optional_u32(writer, avp::VALIDITY_TIME, self.validity_s);
        if let Some(low) = self.low_balance {
            writer.i32(avp::LOW_BALANCE_INDICATION, i32::from(low));
        }
        if let Some((balance, currency)) =
            self.remaining_balance.and_then(|money| Some((money, money.currency?)))
        {
            writer.group(avp::REMAINING_BALANCE, |group| {
                write_unit_value(group, &balance);
                group.u32(avp::CURRENCY_CODE, currency);
            });
        }
    }
}

fn optional_u32(writer: &mut Writer<'_>, name: AvpName, value: Option<u32>) {
    if let Some(value) = value {
        writer.u32(name, value);
    }
}

impl Grant {
    /// So much, and no change of tariff.
    pub const fn of(units: Units) -> Grant {
        Grant { units, tariff_time_change: None }
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.group(avp::GRANTED_SERVICE_UNIT, |group| {
            if let Some(at) = self.tariff_time_change {
                group.time(avp::TARIFF_TIME_CHANGE, at);
            }
            self.units.write_members(group);
        });
    }
}

impl Units {
    /// The members that the three groups of units share.
    pub(in crate::credit) fn write_members(&self, group: &mut Writer<'_>) {
        optional_u32(group, avp::CC_TIME, self.time_s);
        if let Some(money) = &self.money {
            group.group(avp::CC_MONEY, |group| {
                write_unit_value(group, money);
                optional_u32(group, avp::CURRENCY_CODE, money.currency);
            });
        }
        for (name, value) in [
            (avp::CC_TOTAL_OCTETS, self.total_octets),
            (avp::CC_INPUT_OCTETS, self.input_octets),
            (avp::CC_OUTPUT_OCTETS, self.output_octets),
            (avp::CC_SERVICE_SPECIFIC_UNITS, self.specific),
        ] {
            if let Some(value) = value {
                group.u64(name, value);
            }
        }
    }
}

fn write_unit_value(writer: &mut Writer<'_>, money: &Money) {
    writer.group(avp::UNIT_VALUE, |group| {
        group.i64(avp::VALUE_DIGITS, money.digits);
        if money.exponent != 0 {
            group.i32(avp::EXPONENT, money.exponent);
        }
    });
}

impl Cost<'_> {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.group(avp::COST_INFORMATION, |group| {
            write_unit_value(group, &self.money);
            group.u32(avp::CURRENCY_CODE, self.currency);
            if let Some(unit) = self.unit {
                group.utf8(avp::COST_UNIT, unit);
            }
        });
    }
}

impl ServiceGrant<'_> {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |group| {
            if let Some(grant) = &self.granted {
                grant.write(group);
            }
            for &identifier in self.service_identifiers {
                group.u32(avp::SERVICE_IDENTIFIER, identifier);
            }
            optional_u32(group, avp::RATING_GROUP, self.rating_group);
            for pool in self.pools {
                pool.write(group);
            }
            optional_u32(group, avp::VALIDITY_TIME, self.validity_s);
            optional_u32(group, avp::RESULT_CODE, self.result_code);
            if let Some(final_unit) = &self.final_unit {
                final_unit.write(group);
            }
            optional_u32(group, avp::TIME_QUOTA_THRESHOLD, self.time_quota_threshold_s);
            optional_u32(group, avp::VOLUME_QUOTA_THRESHOLD, self.volume_quota_threshold_octets);
            optional_u32(group, avp::UNIT_QUOTA_THRESHOLD, self.unit_quota_threshold);
            optional_u32(group, avp::QUOTA_HOLDING_TIME, self.quota_holding_s);
        });
    }
}

impl PoolReference {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.group(avp::G_S_U_POOL_REFERENCE, |group| {
            group.u32(avp::G_S_U_POOL_IDENTIFIER, self.pool);
            group.i32(avp::CC_UNIT_TYPE, self.unit.value());
            write_unit_value(group, &self.weight);
        });
    }
}

impl FinalUnit<'_> {
    /// Appends Final-Unit-Indication, or QoS-Final-Unit-Indication.
    pub fn write(&self, writer: &mut Writer<'_>) {
        if let FinalUnit::Extended(extended) = self {
            return extended.write(writer);
        }
        writer.group(avp::FINAL_UNIT_INDICATION, |group| match self {
            FinalUnit::Redirect(server) => {
                group.i32(avp::FINAL_UNIT_ACTION, REDIRECT);
                group.group(avp::REDIRECT_SERVER, |group| server.write(group));
            }
            FinalUnit::RestrictAccess { rules, filters } => {
                group.i32(avp::FINAL_UNIT_ACTION, RESTRICT_ACCESS);
                rules.iter().for_each(|rule| group.utf8(avp::RESTRICTION_FILTER_RULE, rule));
                filters.iter().for_each(|filter| group.utf8(avp::FILTER_ID, filter));
            }
            FinalUnit::Terminate | FinalUnit::Extended(_) => group.i32(avp::FINAL_UNIT_ACTION, TERMINATE),
        });
    }
}

impl ExtendedFinalUnit<'_> {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.group(avp::QOS_FINAL_UNIT_INDICATION, |group| match self {
            ExtendedFinalUnit::Terminate => group.i32(avp::FINAL_UNIT_ACTION, TERMINATE),
            ExtendedFinalUnit::Redirect(server) => {
                group.i32(avp::FINAL_UNIT_ACTION, REDIRECT);
                group.group(avp::REDIRECT_SERVER_EXTENSION, |group| match *server {
                    RedirectServer::Ip(ip) => group.address(avp::REDIRECT_ADDRESS_IPADDRESS, Address::Ip(ip)),
                    RedirectServer::Url(url) => group.utf8(avp::REDIRECT_ADDRESS_URL, url),
                    RedirectServer::SipUri(uri) => group.utf8(avp::REDIRECT_ADDRESS_SIP_URI, uri),
                });
            }
            ExtendedFinalUnit::RestrictAccess { filters } => {
                group.i32(avp::FINAL_UNIT_ACTION, RESTRICT_ACCESS);
                filters.iter().for_each(|filter| group.utf8(avp::FILTER_ID, filter));
            }
        });
    }
}

impl RedirectServer<'_> {
    /// The members of Redirect-Server: the type of the address, and the address as text (sections 8.38 and
    /// 8.39).
    fn write(&self, group: &mut Writer<'_>) {
        let mut put = |kind: i32, address: &[u8]| {
            group.i32(avp::REDIRECT_ADDRESS_TYPE, kind);
            group.octet_string(avp::REDIRECT_SERVER_ADDRESS, address);
        };
        match *self {
            RedirectServer::Ip(ip) => {
                let mut text = [0; IP_TEXT_MAX];
                let mut rest = &mut text[..];
                let written = write!(rest, "{ip}");
                debug_assert!(written.is_ok(), "every address fits");
                let octets = IP_TEXT_MAX - rest.len();
                put(i32::from(ip.is_ipv6()), &text[..octets]);
            }
            RedirectServer::Url(url) => put(2, url.as_bytes()),
            RedirectServer::SipUri(uri) => put(3, uri.as_bytes()),
        }
    }
}

/// Appends a stored answer once more, for a duplicate of its request: AVP for AVP, but for the identifiers of
/// the header and for Proxy-Info, which are the duplicate's (RFC 6733, section 6.2). Returns its octets; 0
/// when `stored` is no message.
pub fn repeat(stored: &[u8], duplicate: &Message<'_>, out: &mut Vec<u8>) -> usize {
    let Ok(answer) = Message::read(stored) else { return 0 };
    let header = Header {
        hop_by_hop: duplicate.header.hop_by_hop,
        end_to_end: duplicate.header.end_to_end,
        ..answer.header
    };
    let mut writer = Writer::message(out, &header);
    for avp in answer.avps().map_while(Result::ok).filter(|avp| avp.name != avp::PROXY_INFO) {
        writer.copy(&avp);
    }
    for info in duplicate.avps().map_while(Result::ok).filter(|avp| avp.name == avp::PROXY_INFO) {
        writer.copy(&info);
    }
    writer.finish()
}

/// What a server asks a client by itself about one session.
#[derive(Clone, Copy, Debug)]
pub struct ServerRequest<'a> {
    /// Session-Id.
    pub session_id: &'a str,
    /// Who asks.
    pub origin: Origin<'a>,
    /// Destination-Host: the session's Origin-Host.
    pub destination_host: &'a str,
    /// Destination-Realm: the session's Origin-Realm.
    pub destination_realm: &'a str,
    /// Origin-State-Id of ours.
    pub origin_state_id: Option<u32>,
    /// What of the session is to be authorized again; an abort is of all of it.
    pub part: SessionPart,
}

/// What of a session is meant (section 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionPart {
    /// All of it.
    All,
    /// One sub-session.
    SubSession(u64),
    /// The services of one credit pool.
    Pool(u32),
    /// One service of a rating group.
    Service {
        /// Service-Identifier.
        service_identifier: u32,
        /// Rating-Group.
        rating_group: u32,
    },
    /// One rating group.
    RatingGroup(u32),
}

impl ServerRequest<'_> {
    /// Appends a Re-Auth-Request: the client shall ask for units again (section 5.5). Returns its octets.
    pub fn write_re_auth(&self, hop_by_hop: u32, end_to_end: u32, out: &mut Vec<u8>) -> usize {
        let mut writer = self.begin(command::RE_AUTH, hop_by_hop, end_to_end, out);
        // AUTHORIZE_ONLY.
        writer.i32(avp::RE_AUTH_REQUEST_TYPE, 0);
        match self.part {
            SessionPart::All => {}
            SessionPart::SubSession(sub_session) => writer.u64(avp::CC_SUB_SESSION_ID, sub_session),
            SessionPart::Pool(pool) => writer.u32(avp::G_S_U_POOL_IDENTIFIER, pool),
            SessionPart::Service { service_identifier, rating_group } => {
                writer.u32(avp::SERVICE_IDENTIFIER, service_identifier);
                writer.u32(avp::RATING_GROUP, rating_group);
            }
            SessionPart::RatingGroup(rating_group) => writer.u32(avp::RATING_GROUP, rating_group),
        }
        writer.finish()
    }

    /// Appends an Abort-Session-Request: the client shall end the session. Returns its octets.
    pub fn write_abort(&self, hop_by_hop: u32, end_to_end: u32, out: &mut Vec<u8>) -> usize {
        self.begin(command::ABORT_SESSION, hop_by_hop, end_to_end, out).finish()
    }

    fn begin<'b>(&self, command: u32, hop_by_hop: u32, end_to_end: u32, out: &'b mut Vec<u8>) -> Writer<'b> {
        let application = application::CREDIT_CONTROL;
        let mut writer =
            Writer::request(out, command, application, CommandFlags::PROXIABLE, hop_by_hop, end_to_end);
        writer.utf8(avp::SESSION_ID, self.session_id);
        writer.identity(avp::ORIGIN_HOST, self.origin.host);
        writer.identity(avp::ORIGIN_REALM, self.origin.realm);
        writer.identity(avp::DESTINATION_REALM, self.destination_realm);
        writer.identity(avp::DESTINATION_HOST, self.destination_host);
        writer.u32(avp::AUTH_APPLICATION_ID, application);
        optional_u32(&mut writer, avp::ORIGIN_STATE_ID, self.origin_state_id);
        writer
    }
}

#[cfg(test)]
mod tests;
