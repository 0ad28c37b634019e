//! Pattern of the requests: events, sessions as short as the grammar allows, or sessions in the form of a
//! mobile core.

use super::request::{GRANT_OCTETS, RATING_GROUPS, RequestKind};
use clap::ValueEnum;
use diameter::avp::{Address, AvpFlags};
use diameter::dictionary::avp;
use diameter::write::Writer;

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pattern {
    /// CCR EVENT: a direct debit of one unit
    Event,
    /// CCR INITIAL, UPDATE and TERMINATION with two services
    Session,
    /// The same with all that Open5GS's SMF writes, for two rating groups: quality of service, octets each
    /// way, seconds beside them, PS-Information
    Open5gs,
}

impl Pattern {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Pattern::Event => "event",
            Pattern::Session => "session",
            Pattern::Open5gs => "open5gs",
        }
    }

    /// The first request of each.
    pub(super) fn first(self) -> RequestKind {
        match self {
            Pattern::Event => RequestKind::Event,
            Pattern::Session | Pattern::Open5gs => RequestKind::Initial,
        }
    }

    /// What stands behind the subscriber in a request of a session.
    pub(super) fn services(self, writer: &mut Writer<'_>, kind: RequestKind) {
        match self {
            Pattern::Event | Pattern::Session => plain(writer, kind),
            Pattern::Open5gs => open5gs(writer, kind),
        }
    }
}

fn plain(writer: &mut Writer<'_>, kind: RequestKind) {
    writer.u32(avp::MULTIPLE_SERVICES_INDICATOR, 1);
    if kind == RequestKind::Terminate {
        writer.u32(avp::TERMINATION_CAUSE, 1);
    }
    for group in RATING_GROUPS {
        writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |service| {
            requested(service, kind);
            if kind != RequestKind::Initial {
                service.group(avp::USED_SERVICE_UNIT, |unit| unit.u64(avp::CC_TOTAL_OCTETS, GRANT_OCTETS));
            }
            service.u32(avp::RATING_GROUP, group);
        });
    }
}

fn requested(service: &mut Writer<'_>, kind: RequestKind) {
    if kind != RequestKind::Terminate {
        service.group(avp::REQUESTED_SERVICE_UNIT, |unit| unit.u64(avp::CC_TOTAL_OCTETS, GRANT_OCTETS));
    }
}

/// As `src/smf/gy-path.c` has it, but for two rating groups instead of none, and what says so.
fn open5gs(writer: &mut Writer<'_>, kind: RequestKind) {
    if kind == RequestKind::Terminate {
        writer.u32(avp::TERMINATION_CAUSE, 1);
    }
    writer.u32(avp::REQUESTED_ACTION, 0);
    writer.u32(avp::AOC_REQUEST_TYPE, 1);
    if kind == RequestKind::Initial {
        writer.u32(avp::MULTIPLE_SERVICES_INDICATOR, 1);
    }
    for group in RATING_GROUPS {
        writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |service| {
            requested(service, kind);
            if kind != RequestKind::Initial {
                used(service, kind);
            }
            service.u32(avp::RATING_GROUP, group);
            quality(service);
        });
    }
    writer.group(avp::SERVICE_INFORMATION, |service| {
        service.group(avp::PS_INFORMATION, |ps| ps_information(ps, kind));
    });
}

fn used(service: &mut Writer<'_>, kind: RequestKind) {
    const QUOTA_EXHAUSTED: u32 = 3;
    service.group(avp::USED_SERVICE_UNIT, |unit| {
        if kind == RequestKind::Update {
            unit.u32(avp::REPORTING_REASON, QUOTA_EXHAUSTED);
        }
        unit.u32(avp::CC_TIME, 61);
        unit.u64(avp::CC_INPUT_OCTETS, GRANT_OCTETS / 4);
        unit.u64(avp::CC_OUTPUT_OCTETS, GRANT_OCTETS - GRANT_OCTETS / 4);
    });
}

fn quality(service: &mut Writer<'_>) {
    service.group(avp::QOS_INFORMATION, |quality| {
        quality.u32(avp::QOS_CLASS_IDENTIFIER, 9);
        quality.group(avp::ALLOCATION_RETENTION_PRIORITY, |priority| {
            priority.u32(avp::PRIORITY_LEVEL, 8);
            priority.u32(avp::PRE_EMPTION_CAPABILITY, 1);
            priority.u32(avp::PRE_EMPTION_VULNERABILITY, 1);
        });
        quality.u32(avp::APN_AGGREGATE_MAX_BITRATE_UL, 1_000_000);
        quality.u32(avp::APN_AGGREGATE_MAX_BITRATE_DL, 1_000_000);
    });
}

fn ps_information(ps: &mut Writer<'_>, kind: RequestKind) {
    let plain = AvpFlags::default();
    ps.raw(avp::TGPP_CHARGING_ID, plain, &1_u32.to_be_bytes());
    if kind == RequestKind::Initial {
        ps.raw(avp::TGPP_PDP_TYPE, plain, &0_u32.to_be_bytes());
    }
    ps.address(avp::PDP_ADDRESS, Address::Ip([10, 45, 0, 2].into()));
    ps.address(avp::SGSN_ADDRESS, Address::Ip([127, 0, 0, 3].into()));
    ps.address(avp::GGSN_ADDRESS, Address::Ip([127, 0, 0, 4].into()));
    ps.utf8(avp::CALLED_STATION_ID, "internet");
    ps.raw(avp::TGPP_SELECTION_MODE, plain, b"0");
    ps.raw(avp::TGPP_SGSN_MCC_MNC, plain, b"00101");
    ps.raw(avp::TGPP_NSAPI, plain, &[5]);
    ps.raw(avp::TGPP_RAT_TYPE, plain, &[6]);
}
