//! The amounts of service that a request asks for or reports: a client's next request has others at the same
//! places, and only they are read again.

use super::request_template::Span;
use diameter::avp::Avp;
use diameter::check::All;
use diameter::credit::{CreditControlRequest, RequestType};
use diameter::dictionary::avp;
use diameter::message::Message;
use ledger::Service;

/// What an amount is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Time,
    Octets,
    Specific,
    /// Input and output beside their total: they are passed over.
    Passed,
}

/// One amount.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amount {
    /// Its place among the services of the request.
    service: u32,
    /// Of what was used; else of what is asked for.
    is_used: bool,
    unit: Unit,
    /// Its data: four or eight octets.
    pub(super) place: Span,
    /// What the request had that was learnt.
    value: u64,
}

impl Amount {
    #[inline]
    fn read(&self, message: &Message<'_>) -> u64 {
        let data = self.place.within(message);
        match (data.first_chunk(), data.first_chunk()) {
            (Some(data), _) => u64::from_be_bytes(*data),
            (None, Some(data)) => u32::from_be_bytes(*data).into(),
            (None, None) => 0,
        }
    }
}

/// The amounts of a request that was read, of which another may have others. What is added up or converted is
/// not among them: its sum may not fit.
pub(super) fn find(request: &CreditControlRequest<'_>) -> Vec<Amount> {
    let mut amounts = Vec::new();
    let found = request.found();
    let mut count = 0;
    for (number, service) in found.all(avp::MULTIPLE_SERVICES_CREDIT_CONTROL).enumerate() {
        let within = |name| All::within(&service, name);
        only(request, within(avp::REQUESTED_SERVICE_UNIT), number as u32, false, &mut amounts);
        only(request, within(avp::USED_SERVICE_UNIT), number as u32, true, &mut amounts);
        count += 1;
    }
    if count == 0 {
        only(request, found.all(avp::REQUESTED_SERVICE_UNIT), 0, false, &mut amounts);
        if request.kind != RequestType::Event {
            only(request, found.all(avp::USED_SERVICE_UNIT), 0, true, &mut amounts);
        }
    }
    amounts
}

/// Those of a group, if it is the only one of its name.
fn only(
    request: &CreditControlRequest<'_>,
    mut groups: All<'_>,
    service: u32,
    is_used: bool,
    amounts: &mut Vec<Amount>,
) {
    let (Some(group), None) = (groups.next(), groups.next()) else { return };
    let has_total = group.group().find_name(avp::CC_TOTAL_OCTETS).is_some();
    for member in group.group().map_while(Result::ok) {
        let unit = match member.name {
            avp::CC_TIME => Unit::Time,
            avp::CC_TOTAL_OCTETS => Unit::Octets,
            avp::CC_SERVICE_SPECIFIC_UNITS => Unit::Specific,
            avp::CC_INPUT_OCTETS | avp::CC_OUTPUT_OCTETS if has_total => Unit::Passed,
            _ => continue,
        };
        amounts.push(amount(request, &member, service, is_used, unit));
    }
}

fn amount(
    request: &CreditControlRequest<'_>,
    member: &Avp<'_>,
    service: u32,
    is_used: bool,
    unit: Unit,
) -> Amount {
    let message = request.message();
    let amount = Amount { service, is_used, unit, place: Span::of(&message, member.data), value: 0 };
    Amount { value: amount.read(&message), ..amount }
}

/// The services of a request of the shape: those that are known where all amounts are, else a copy with its
/// own.
#[inline]
pub(super) fn services<'r>(
    amounts: &[Amount],
    message: &Message<'_>,
    known: &'r [Service],
    room: &'r mut Vec<Service>,
) -> &'r [Service] {
    if amounts.iter().all(|amount| amount.unit == Unit::Passed || amount.read(message) == amount.value) {
        return known;
    }
    room.clear();
    room.extend_from_slice(known);
    for amount in amounts {
        let Some(service) = room.get_mut(amount.service as usize) else { continue };
        let units = if amount.is_used { &mut service.used } else { &mut service.requested };
        let Some(units) = units else { continue };
        let value = amount.read(message);
        match amount.unit {
            // Four octets: the shape says so.
            Unit::Time => units.time_s = value as u32,
            Unit::Octets => units.octets = value,
            Unit::Specific => units.specific = value,
            Unit::Passed => {}
        }
    }
    room
}
