//! A Credit-Control-Request, read in place (RFC 8506, section 3.1).

use super::{
    EXTENSIONS, Money, RequestType, RequestedAction, Rounding, Subscription, SubscriptionKind,
    TariffChangeUsage,
};
use crate::avp::{Avp, AvpError, AvpName};
use crate::check::{All, Fault, Found, Strictness};
use crate::credit::{UnitType, Units};
use crate::dictionary::{application, avp, command};
use crate::message::Message;
use crate::result_code;

/// A CCR that is sound: checked against its grammar, its money convertible, none of its amounts negative.
///
/// What every request needs is read into fields; the rest is read when it is asked for, from where the walk
/// found it.
#[derive(Clone, Copy, Debug)]
pub struct CreditControlRequest<'a> {
    found: Found<'a>,
    /// Session-Id.
    pub session_id: &'a str,
    /// Origin-Host.
    pub origin_host: &'a str,
    /// CC-Request-Type.
    pub kind: RequestType,
    /// CC-Request-Number.
    pub number: u32,
    /// Requested-Action; present in every [`Event`](RequestType::Event).
    pub action: Option<RequestedAction>,
    /// Requested-Service-Unit at the top; empty where the server is to decide.
    pub requested: Option<Units>,
}

impl<'a> CreditControlRequest<'a> {
    /// Checks and reads a message in one walk.
    ///
    /// # Errors
    /// Whatever is wrong with it: besides what [`check`](crate::check::check) finds, another command (3001)
    /// or application (3007), an event without Requested-Action (5005), more than one service from a client
    /// that says it cannot have several (5007), an empty Session-Id (5004), an amount that is negative or too
    /// great (5004).
    pub fn read(message: &Message<'a>) -> Result<CreditControlRequest<'a>, Fault> {
        CreditControlRequest::read_as(message, Strictness::Strict)
    }

    /// The same, held to the standard so closely.
    ///
    /// # Errors
    /// As [`CreditControlRequest::read`].
    pub fn read_as(message: &Message<'a>, strictness: Strictness) -> Result<CreditControlRequest<'a>, Fault> {
        let header = &message.header;
        if header.command != command::CREDIT_CONTROL || !header.flags.is_request() {
            return Err(Fault::new(result_code::COMMAND_UNSUPPORTED));
        }
        if header.application != application::CREDIT_CONTROL {
            return Err(Fault::new(result_code::APPLICATION_UNSUPPORTED));
        }
        let mut found = Found::nothing_yet(message)?;
        found.walk_avps(strictness)?;
        let refuse = |avp: &Avp<'a>| Fault::of(result_code::INVALID_AVP_VALUE, message, avp);
        let application = found.find(avp::AUTH_APPLICATION_ID).or_else(|| application_of_vendor(message));
        found.complete_but(application.map(|_| avp::AUTH_APPLICATION_ID))?;
        // Section 3.1: it MUST be 4.
        if let Some(application) = application.filter(|is| is.u32() != Ok(application::CREDIT_CONTROL)) {
            return Err(refuse(&application));
        }
        let kind = required(&found, avp::CC_REQUEST_TYPE)?;
        let kind = kind.i32().ok().and_then(RequestType::from_value).ok_or_else(|| refuse(&kind))?;
        let number = required(&found, avp::CC_REQUEST_NUMBER)?;
        let requested = match found.find(avp::REQUESTED_SERVICE_UNIT) {
            Some(group) => Some(units(message, &group)?.units),
            None => None,
        };
        let request = CreditControlRequest {
            session_id: text(&found, avp::SESSION_ID)?,
            origin_host: text(&found, avp::ORIGIN_HOST)?,
            kind,
            number: number.u32().map_err(|_| refuse(&number))?,
            action: read(&found, avp::REQUESTED_ACTION, Avp::i32).and_then(RequestedAction::from_value),
            requested,
            found,
        };
        request.consistent()?;
        Ok(request)
    }

    /// What the grammar cannot say.
    #[inline]
    fn consistent(&self) -> Result<(), Fault> {
        // Section 8.41: the action of an event.
        if self.kind == RequestType::Event && self.action.is_none() {
            return Err(Fault::missing(avp::REQUESTED_ACTION));
        }
        // Section 8.40: who says MULTIPLE_SERVICES_NOT_SUPPORTED cannot have several. One in the group for
        // several is one: Open5GS has it so.
        if let (Some(indicator), Some(second)) = (
            self.found.find(avp::MULTIPLE_SERVICES_INDICATOR),
            self.found.all(avp::MULTIPLE_SERVICES_CREDIT_CONTROL).nth(1),
        ) && !self.has_multiple_services()
        {
            return Err(Fault::contradiction(&self.found.message(), &indicator, &second));
        }
        // RFC 6733, section 8.8: it begins with the sender's identity, and tells one session from all others.
        if let Some(session) = self.found.find(avp::SESSION_ID).filter(|session| session.data.is_empty()) {
            return Err(Fault::of(result_code::INVALID_AVP_VALUE, &self.found.message(), &session));
        }
        Ok(())
    }

    /// The message.
    pub fn message(&self) -> Message<'a> {
        self.found.message()
    }

    /// The message with the positions of its AVPs, for what this struct does not read.
    pub fn found(&self) -> &Found<'a> {
        &self.found
    }

    /// `T`: perhaps sent before.
    pub fn is_retransmit(&self) -> bool {
        self.found.message().header.flags.is_retransmit()
    }

    /// Origin-Realm.
    pub fn origin_realm(&self) -> &'a str {
        read(&self.found, avp::ORIGIN_REALM, Avp::utf8).unwrap_or_default()
    }

    /// Destination-Realm.
    pub fn destination_realm(&self) -> &'a str {
        read(&self.found, avp::DESTINATION_REALM, Avp::utf8).unwrap_or_default()
    }

    /// Destination-Host.
    pub fn destination_host(&self) -> Option<&'a str> {
        read(&self.found, avp::DESTINATION_HOST, Avp::utf8)
    }

    /// Service-Context-Id, such as `32274@3gpp.org`.
    pub fn service_context_id(&self) -> &'a str {
        read(&self.found, avp::SERVICE_CONTEXT_ID, Avp::utf8).unwrap_or_default()
    }

    /// CC-Sub-Session-Id.
    pub fn sub_session(&self) -> Option<u64> {
        read(&self.found, avp::CC_SUB_SESSION_ID, Avp::u64)
    }

    /// Event-Timestamp, in seconds since 1970.
    pub fn event_timestamp(&self) -> Option<i64> {
        read(&self.found, avp::EVENT_TIMESTAMP, Avp::time)
    }

    /// Origin-State-Id: a greater value than before means that the client started anew; 0 means nothing.
    pub fn origin_state_id(&self) -> Option<u32> {
        read(&self.found, avp::ORIGIN_STATE_ID, Avp::u32)
    }

    /// Service-Identifier at the top.
    pub fn service_identifier(&self) -> Option<u32> {
        read(&self.found, avp::SERVICE_IDENTIFIER, Avp::u32)
    }

    /// Multiple-Services-Indicator: the client can handle several services in one session.
    pub fn has_multiple_services(&self) -> bool {
        read(&self.found, avp::MULTIPLE_SERVICES_INDICATOR, Avp::i32) == Some(1)
    }

    /// Termination-Cause.
    pub fn termination_cause(&self) -> Option<i32> {
        read(&self.found, avp::TERMINATION_CAUSE, Avp::i32)
    }

    /// Who is charged, in the request's order: Subscription-Id at the top, then Subscription-Id-Extension,
    /// then what 3GPP puts into Service-Information.
    pub fn subscriptions(&self) -> impl Iterator<Item = Subscription<'a>> + use<'a> {
        let service = self.found.find(avp::SERVICE_INFORMATION);
        let inner = service.map(|group| All::within(&group, avp::SUBSCRIPTION_ID)).into_iter().flatten();
        let plain =
            self.found.all(avp::SUBSCRIPTION_ID).chain(inner).filter_map(|group| subscription(&group));
        // At the top the extensions come second, wherever they stand.
        let extended = self.found.all(avp::SUBSCRIPTION_ID_EXTENSION).filter_map(|group| extension(&group));
        plain.chain(extended)
    }

    /// Used-Service-Unit at the top.
    pub fn used(&self) -> impl Iterator<Item = Result<UsedUnits, Fault>> + use<'a> {
        let message = self.found.message();
        self.found.all(avp::USED_SERVICE_UNIT).map(move |group| units(&message, &group))
    }

    /// Multiple-Services-Credit-Control, in order.
    pub fn services(&self) -> impl Iterator<Item = Result<ServiceControl<'a>, Fault>> + use<'a> {
        let message = self.found.message();
        self.found
            .all(avp::MULTIPLE_SERVICES_CREDIT_CONTROL)
            .map(move |group| ServiceControl::read(message, group))
    }

    /// Proxy-Info, which the answer repeats in order.
    pub fn proxy_infos(&self) -> All<'a> {
        self.found.all(avp::PROXY_INFO)
    }

    /// Route-Record: who the request came through; our own identity among them is a loop (3005).
    pub fn route_records(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.found.all(avp::ROUTE_RECORD).filter_map(|avp| avp.utf8().ok())
    }

    /// SMS-Information of 3GPP.
    pub fn sms(&self) -> Option<SmsInformation<'a>> {
        let service = self.found.find(avp::SERVICE_INFORMATION)?;
        let group = service.group().find_name(avp::SMS_INFORMATION)?;
        Some(SmsInformation { group })
    }
}

/// Auth-Application-Id within Vendor-Specific-Application-Id, where clients of IMS have it (Kamailio's
/// `ims_charging`) and no other.
#[cold]
fn application_of_vendor<'a>(message: &Message<'a>) -> Option<Avp<'a>> {
    let group = message.find(avp::VENDOR_SPECIFIC_APPLICATION_ID)?;
    group.group().find_name(avp::AUTH_APPLICATION_ID)
}

#[inline]
fn required<'a>(found: &Found<'a>, name: AvpName) -> Result<Avp<'a>, Fault> {
    found.find(name).ok_or(Fault::missing(name))
}

/// What was checked can be read: an error cannot come here.
#[inline]
fn read<'a, T>(
    found: &Found<'a>,
    name: AvpName,
    value: impl FnOnce(&Avp<'a>) -> Result<T, AvpError>,
) -> Option<T> {
    found.find(name).and_then(|avp| value(&avp).ok())
}

#[inline]
fn text<'a>(found: &Found<'a>, name: AvpName) -> Result<&'a str, Fault> {
    required(found, name)?.utf8().map_err(|_| Fault::missing(name))
}

fn subscription<'a>(group: &Avp<'a>) -> Option<Subscription<'a>> {
    let (mut kind, mut data) = (None, None);
    for member in group.group().map_while(Result::ok) {
        match member.name {
            avp::SUBSCRIPTION_ID_TYPE => kind = member.i32().ok().and_then(SubscriptionKind::from_value),
            avp::SUBSCRIPTION_ID_DATA => data = member.utf8().ok(),
            _ => {}
        }
    }
    Some(Subscription { kind: kind?, data: data? })
}

fn extension<'a>(group: &Avp<'a>) -> Option<Subscription<'a>> {
    group.group().map_while(Result::ok).find_map(|member| {
        let (_, kind) = EXTENSIONS.iter().find(|(name, _)| *name == member.name)?;
        Some(Subscription { kind: *kind, data: member.utf8().ok()? })
    })
}

/// Used-Service-Unit, and with fewer members Requested- and Granted-Service-Unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsedUnits {
    /// How much.
    pub units: Units,
    /// Tariff-Change-Usage: on which side of the change of tariff.
    pub tariff_usage: Option<TariffChangeUsage>,
    /// Tariff-Time-Change: when the tariff changes, in seconds since 1970; only where units are granted.
    pub tariff_time_change: Option<i64>,
    /// Reporting-Reason of 3GPP.
    pub reporting_reason: Option<i32>,
}

/// Reads a group of units.
///
/// # Errors
/// Money that is negative or too great.
fn units<'a>(message: &Message<'a>, group: &Avp<'a>) -> Result<UsedUnits, Fault> {
    let mut read = UsedUnits::default();
    for member in group.group().map_while(Result::ok) {
        match member.name {
            avp::CC_TIME => read.units.time_s = member.u32().ok(),
            avp::CC_MONEY => read.units.money = Some(money(message, &member)?),
            avp::CC_TOTAL_OCTETS => read.units.total_octets = member.u64().ok(),
            avp::CC_INPUT_OCTETS => read.units.input_octets = member.u64().ok(),
            avp::CC_OUTPUT_OCTETS => read.units.output_octets = member.u64().ok(),
            avp::CC_SERVICE_SPECIFIC_UNITS => read.units.specific = member.u64().ok(),
            avp::TARIFF_TIME_CHANGE => read.tariff_time_change = member.time().ok(),
            avp::TARIFF_CHANGE_USAGE => {
                read.tariff_usage = member.i32().ok().and_then(TariffChangeUsage::from_value);
            }
            avp::REPORTING_REASON => read.reporting_reason = member.i32().ok(),
            _ => {}
        }
    }
    Ok(read)
}

/// CC-Money that a ledger can hold.
///
/// # Errors
/// 5004 with the AVP to blame: digits below zero, or a product that 64 bits of minor units do not hold.
fn money<'a>(message: &Message<'a>, group: &Avp<'a>) -> Result<Money, Fault> {
    let currency = group.group().find_name(avp::CURRENCY_CODE).and_then(|avp| avp.u32().ok());
    let value = group.group().find_name(avp::UNIT_VALUE).unwrap_or(*group);
    let (money, digits, exponent) = unit_value(&value, currency);
    if money.digits < 0 {
        return Err(Fault::of(result_code::INVALID_AVP_VALUE, message, &digits.unwrap_or(value)));
    }
    match money.minor_units(Rounding::AwayFromZero) {
        Ok(_) => Ok(money),
        Err(error) => {
            let guilty = if error.name == avp::EXPONENT { exponent } else { digits };
            Err(Fault::of(result_code::INVALID_AVP_VALUE, message, &guilty.unwrap_or(value)))
        }
    }
}

/// Unit-Value with the AVPs it is made of.
fn unit_value<'a>(value: &Avp<'a>, currency: Option<u32>) -> (Money, Option<Avp<'a>>, Option<Avp<'a>>) {
    let digits = value.group().find_name(avp::VALUE_DIGITS);
    let exponent = value.group().find_name(avp::EXPONENT);
    let money = Money {
        digits: digits.and_then(|avp| avp.i64().ok()).unwrap_or(0),
        exponent: exponent.and_then(|avp| avp.i32().ok()).unwrap_or(0),
        currency,
    };
    (money, digits, exponent)
}

/// Multiple-Services-Credit-Control: one service, or all of one rating group (section 8.16).
#[derive(Clone, Copy, Debug)]
pub struct ServiceControl<'a> {
    message: Message<'a>,
    group: Avp<'a>,
    /// Rating-Group.
    pub rating_group: Option<u32>,
    /// The first Service-Identifier.
    pub service_identifier: Option<u32>,
    /// Requested-Service-Unit; empty where the server is to decide.
    pub requested: Option<Units>,
    /// Granted-Service-Unit, in an answer.
    pub granted: Option<UsedUnits>,
    /// Result-Code, in an answer.
    pub result_code: Option<u32>,
    /// Validity-Time in seconds, in an answer.
    pub validity_s: Option<u32>,
    /// Reporting-Reason of 3GPP: why units are reported now.
    pub reporting_reason: Option<i32>,
    /// Used-Service-Unit is there.
    pub has_used: bool,
}

impl<'a> ServiceControl<'a> {
    /// Reads one group of a message that was checked.
    ///
    /// # Errors
    /// Money that is negative or too great.
    pub fn read(message: Message<'a>, group: Avp<'a>) -> Result<ServiceControl<'a>, Fault> {
        let mut service = ServiceControl {
            message,
            group,
            rating_group: None,
            service_identifier: None,
            requested: None,
            granted: None,
            result_code: None,
            validity_s: None,
            reporting_reason: None,
            has_used: false,
        };
        for member in group.group().map_while(Result::ok) {
            match member.name {
                avp::RATING_GROUP => service.rating_group = member.u32().ok(),
                avp::SERVICE_IDENTIFIER => {
                    service.service_identifier = service.service_identifier.or(member.u32().ok())
                }
                avp::REQUESTED_SERVICE_UNIT => service.requested = Some(units(&message, &member)?.units),
                avp::GRANTED_SERVICE_UNIT => service.granted = Some(units(&message, &member)?),
                avp::RESULT_CODE => service.result_code = member.u32().ok(),
                avp::VALIDITY_TIME => service.validity_s = member.u32().ok(),
                avp::REPORTING_REASON => service.reporting_reason = member.i32().ok(),
                avp::USED_SERVICE_UNIT => service.has_used = true,
                _ => {}
            }
        }
        Ok(service)
    }

    /// The group as it stands in the message.
    pub fn avp(&self) -> Avp<'a> {
        self.group
    }

    /// Every Service-Identifier.
    pub fn service_identifiers(&self) -> impl Iterator<Item = u32> + use<'a> {
        All::within(&self.group, avp::SERVICE_IDENTIFIER).filter_map(|avp| avp.u32().ok())
    }

    /// Every Used-Service-Unit.
    pub fn used(&self) -> impl Iterator<Item = Result<UsedUnits, Fault>> + use<'a> {
        let message = self.message;
        All::within(&self.group, avp::USED_SERVICE_UNIT).map(move |group| units(&message, &group))
    }

    /// Every G-S-U-Pool-Reference.
    pub fn pools(&self) -> impl Iterator<Item = PoolReference> + use<'a> {
        All::within(&self.group, avp::G_S_U_POOL_REFERENCE).filter_map(|group| pool(&group))
    }
}

/// G-S-U-Pool-Reference: units that count against credit which several services share (section 8.30).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolReference {
    /// G-S-U-Pool-Identifier.
    pub pool: u32,
    /// CC-Unit-Type.
    pub unit: UnitType,
    /// How much of the pool one unit takes; without a currency.
    pub weight: Money,
}

fn pool(group: &Avp<'_>) -> Option<PoolReference> {
    let member = |name| group.group().find_name(name);
    let (weight, ..) = unit_value(&member(avp::UNIT_VALUE)?, None);
    Some(PoolReference {
        pool: member(avp::G_S_U_POOL_IDENTIFIER)?.u32().ok()?,
        unit: UnitType::from_value(member(avp::CC_UNIT_TYPE)?.i32().ok()?)?,
        weight,
    })
}

/// SMS-Information (TS 32.299, section 7.2.181).
#[derive(Clone, Copy, Debug)]
pub struct SmsInformation<'a> {
    group: Avp<'a>,
}

impl<'a> SmsInformation<'a> {
    /// The address that the message came from.
    pub fn originator(&self) -> Option<&'a str> {
        let received = self.group.group().find_name(avp::ORIGINATOR_RECEIVED_ADDRESS)?;
        received.group().find_name(avp::ADDRESS_DATA)?.utf8().ok()
    }

    /// The addresses that it goes to.
    pub fn recipients(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        All::within(&self.group, avp::RECIPIENT_INFO)
            .flat_map(|info| All::within(&info, avp::RECIPIENT_ADDRESS))
            .filter_map(|address| address.group().find_name(avp::ADDRESS_DATA)?.utf8().ok())
    }

    /// Number-Of-Messages-Sent: how many parts it has.
    pub fn parts(&self) -> Option<u32> {
        self.group.group().find_name(avp::NUMBER_OF_MESSAGES_SENT)?.u32().ok()
    }

    /// Data-Coding-Scheme.
    pub fn data_coding(&self) -> Option<i32> {
        self.group.group().find_name(avp::DATA_CODING_SCHEME)?.i32().ok()
    }

    /// The group itself.
    pub fn avp(&self) -> Avp<'a> {
        self.group
    }
}

#[cfg(test)]
mod tests;
