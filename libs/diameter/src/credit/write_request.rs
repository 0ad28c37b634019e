//! A Credit-Control-Request as a client writes it.

use super::request::UsedUnits;
use super::{RequestType, RequestedAction, Subscription, Units};
use crate::check::Origin;
use crate::dictionary::{application, avp, command};
use crate::header::CommandFlags;
use crate::write::Writer;

/// A CCR to send. What is `None` or empty is left out.
#[derive(Clone, Copy, Debug)]
pub struct RequestToSend<'a> {
    /// Session-Id.
    pub session_id: &'a str,
    /// Who asks.
    pub origin: Origin<'a>,
    /// Destination-Realm.
    pub destination_realm: &'a str,
    /// Destination-Host: from the second request of a session on.
    pub destination_host: Option<&'a str>,
    /// Route-Record: the client, where the request goes by a connection of another identity (RFC 6733,
    /// section 6.1.9).
    pub route_record: Option<&'a str>,
    /// Service-Context-Id.
    pub service_context_id: &'a str,
    /// CC-Request-Type.
    pub kind: RequestType,
    /// CC-Request-Number: 0 first, one more each time.
    pub number: u32,
    /// Requested-Action: for every event.
    pub action: Option<RequestedAction>,
    /// Origin-State-Id.
    pub origin_state_id: Option<u32>,
    /// Event-Timestamp, in seconds since 1970.
    pub event_timestamp: Option<i64>,
    /// Subscription-Id.
    pub subscriptions: &'a [Subscription<'a>],
    /// Termination-Cause: with a termination.
    pub termination_cause: Option<i32>,
    /// Requested-Service-Unit; an empty one lets the server decide.
    pub requested: Option<Units>,
    /// Used-Service-Unit.
    pub used: &'a [UsedUnits],
    /// Multiple-Services-Indicator: MULTIPLE_SERVICES_SUPPORTED.
    pub has_multiple_services: bool,
    /// Multiple-Services-Credit-Control.
    pub services: &'a [ServiceToRequest<'a>],
    /// Service-Information with SMS-Information.
    pub sms: Option<SmsToCharge<'a>>,
    /// `T`: perhaps sent before.
    pub is_retransmit: bool,
}

/// Multiple-Services-Credit-Control in a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServiceToRequest<'a> {
    /// Requested-Service-Unit.
    pub requested: Option<Units>,
    /// Used-Service-Unit.
    pub used: &'a [UsedUnits],
    /// Service-Identifier.
    pub service_identifiers: &'a [u32],
    /// Rating-Group.
    pub rating_group: Option<u32>,
    /// Reporting-Reason of 3GPP.
    pub reporting_reason: Option<i32>,
}

/// SMS-Information of 3GPP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmsToCharge<'a> {
    /// The number that the message comes from; empty: nothing is said of it.
    pub originator: &'a str,
    /// The number that it goes to.
    pub recipient: &'a str,
    /// How many parts it has.
    pub parts: u32,
}

/// Address-Type: MSISDN.
const MSISDN: i32 = 1;

impl<'a> RequestToSend<'a> {
    /// A direct debit of some units, with no more than the grammar asks for.
    pub const fn debit(
        session_id: &'a str,
        origin: Origin<'a>,
        destination_realm: &'a str,
        units: Units,
    ) -> Self {
        RequestToSend {
            session_id,
            origin,
            destination_realm,
            destination_host: None,
            route_record: None,
            service_context_id: "32274@3gpp.org",
            kind: RequestType::Event,
            number: 0,
            action: Some(RequestedAction::DirectDebiting),
            origin_state_id: None,
            event_timestamp: None,
            subscriptions: &[],
            termination_cause: None,
            requested: Some(units),
            used: &[],
            has_multiple_services: false,
            services: &[],
            sms: None,
            is_retransmit: false,
        }
    }

    /// Appends the request and returns its octets.
    pub fn write(&self, hop_by_hop: u32, end_to_end: u32, out: &mut Vec<u8>) -> usize {
        let again = if self.is_retransmit { CommandFlags::RETRANSMIT } else { CommandFlags(0) };
        let flags = CommandFlags::PROXIABLE.with(again);
        let mut writer = Writer::request(
            out,
            command::CREDIT_CONTROL,
            application::CREDIT_CONTROL,
            flags,
            hop_by_hop,
            end_to_end,
        );
        self.write_head(&mut writer);
        self.write_body(&mut writer);
        writer.finish()
    }

    fn write_head(&self, writer: &mut Writer<'_>) {
        writer.utf8(avp::SESSION_ID, self.session_id);
        writer.identity(avp::ORIGIN_HOST, self.origin.host);
        writer.identity(avp::ORIGIN_REALM, self.origin.realm);
        writer.identity(avp::DESTINATION_REALM, self.destination_realm);
        writer.u32(avp::AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
        writer.utf8(avp::SERVICE_CONTEXT_ID, self.service_context_id);
        writer.i32(avp::CC_REQUEST_TYPE, self.kind.value());
        writer.u32(avp::CC_REQUEST_NUMBER, self.number);
        if let Some(host) = self.destination_host {
            writer.identity(avp::DESTINATION_HOST, host);
        }
        if let Some(state) = self.origin_state_id {
            writer.u32(avp::ORIGIN_STATE_ID, state);
        }
        if let Some(at) = self.event_timestamp {
            writer.time(avp::EVENT_TIMESTAMP, at);
        }
    }

    fn write_body(&self, writer: &mut Writer<'_>) {
        for subscription in self.subscriptions {
            writer.group(avp::SUBSCRIPTION_ID, |group| {
                group.i32(avp::SUBSCRIPTION_ID_TYPE, subscription.kind.value());
                group.utf8(avp::SUBSCRIPTION_ID_DATA, subscription.data);
            });
        }
        if let Some(cause) = self.termination_cause {
            writer.i32(avp::TERMINATION_CAUSE, cause);
        }
        write_units(writer, self.requested.as_ref(), self.used);
        if let Some(action) = self.action {
            writer.i32(avp::REQUESTED_ACTION, action.value());
        }
        if self.has_multiple_services {
            writer.i32(avp::MULTIPLE_SERVICES_INDICATOR, 1);
        }
        for service in self.services {
            writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |group| service.write(group));
        }
        if let Some(sms) = &self.sms {
            writer.group(avp::SERVICE_INFORMATION, |group| sms.write(group));
        }
        if let Some(client) = self.route_record {
            writer.identity(avp::ROUTE_RECORD, client);
        }
    }
}

fn write_units(writer: &mut Writer<'_>, requested: Option<&Units>, used: &[UsedUnits]) {
    if let Some(units) = requested {
        writer.group(avp::REQUESTED_SERVICE_UNIT, |group| units.write_members(group));
    }
    for used in used {
        writer.group(avp::USED_SERVICE_UNIT, |group| {
            if let Some(usage) = used.tariff_usage {
                group.i32(avp::TARIFF_CHANGE_USAGE, usage.value());
            }
            if let Some(reason) = used.reporting_reason {
                group.i32(avp::REPORTING_REASON, reason);
            }
            used.units.write_members(group);
        });
    }
}

impl ServiceToRequest<'_> {
    fn write(&self, group: &mut Writer<'_>) {
        write_units(group, self.requested.as_ref(), self.used);
        for &identifier in self.service_identifiers {
            group.u32(avp::SERVICE_IDENTIFIER, identifier);
        }
        if let Some(rating_group) = self.rating_group {
            group.u32(avp::RATING_GROUP, rating_group);
        }
        if let Some(reason) = self.reporting_reason {
            group.i32(avp::REPORTING_REASON, reason);
        }
    }
}

impl SmsToCharge<'_> {
    fn write(&self, group: &mut Writer<'_>) {
        let address = |group: &mut Writer<'_>, data: &str| {
            group.i32(avp::ADDRESS_TYPE, MSISDN);
            group.utf8(avp::ADDRESS_DATA, data);
        };
        group.group(avp::SMS_INFORMATION, |sms| {
            sms.u32(avp::NUMBER_OF_MESSAGES_SENT, self.parts);
            sms.group(avp::RECIPIENT_INFO, |info| {
                info.group(avp::RECIPIENT_ADDRESS, |group| address(group, self.recipient));
            });
            if !self.originator.is_empty() {
                sms.group(avp::ORIGINATOR_RECEIVED_ADDRESS, |group| address(group, self.originator));
            }
        });
    }
}
