//! Magma's session proxy (`feg/gateway/services/session_proxy/credit_control/gy/gy_client.go`, February
//! 2026), over go-diameter: `createCreditControlMessage`. What it inserts stands in front of what it appends,
//! so the services come before the session's own AVPs, the last one first, and the sender's name comes last;
//! the MSISDN names the account; Requested-Service-Unit is empty where it is configured so.

use super::{M, NONE, OCS, REALM, Row, Told, ccr, ietf, number, octets, play, tgpp};
use ledger::KeyKind;

const GATEWAY: &str = "feg.magma.test";
const IMSI: &str = "001010000000002";
const MSISDN: &str = "46707654321";
const SESSION: &str = "feg.magma.test;12345;67890;IMSI001010000000002";
const INITIAL: u32 = 1;
const UPDATE: u32 = 2;
const TERMINATION: u32 = 3;
const MEGABYTE: u64 = 1_000_000;
/// Reporting-Reason: within Used-Service-Unit, and beside it.
const QUOTA_EXHAUSTED: u32 = 3;
const FINAL: u32 = 2;

/// One of `request.Credits`.
#[derive(Clone, Copy)]
struct Credit {
    rating_group: u32,
    /// Of all octets, half of them each way; none: the group is empty.
    requested: Option<u64>,
    used: u64,
    reason: u32,
}

fn units(total: u64) -> Vec<u8> {
    [octets(412, total / 2), octets(414, total - total / 2), octets(421, total)].concat()
}

/// `getMSCCAVP`.
fn service(request_type: u32, credit: &Credit) -> Vec<u8> {
    let mut members = number(432, credit.rating_group);
    if request_type != TERMINATION {
        members.extend(ietf(437, M, &credit.requested.map(units).unwrap_or_default()));
    }
    if request_type != INITIAL {
        let reason = tgpp(872, M, &credit.reason.to_be_bytes());
        let mut used = units(credit.used);
        if credit.reason == FINAL {
            members.extend(reason);
        } else {
            used.extend(reason);
        }
        members.extend(ietf(446, M, &used));
    }
    ietf(456, M, &members)
}

/// `getServiceInfoAvp`.
fn service_information() -> Vec<u8> {
    let ps = [
        tgpp(3, NONE, &0_u32.to_be_bytes()),
        tgpp(21, NONE, &[6]),
        tgpp(12, NONE, b"0"),
        tgpp(10, NONE, b"5"),
        tgpp(846, M, &[0, 1, 10, 0, 0, 5]),
        tgpp(1227, M, &[0, 1, 192, 168, 128, 11]),
        tgpp(1228, M, &[0, 1, 10, 0, 2, 1]),
        tgpp(847, M, &[0, 1, 10, 0, 2, 1]),
        tgpp(18, NONE, b"00101"),
        tgpp(9, NONE, b"00101"),
        ietf(30, M, b"oai.ipv4"),
        tgpp(22, NONE, &[130, 0, 241, 16, 0, 1, 0, 241, 16, 0, 0, 1, 1]),
        tgpp(2, NONE, b"1234"),
    ];
    tgpp(873, M, &tgpp(874, M, &ps.concat()))
}

fn subscription(kind: u32, data: &str) -> Vec<u8> {
    ietf(443, M, &[number(450, kind), ietf(444, M, data.as_bytes())].concat())
}

/// `createCreditControlMessage`, and what `SendRequest` appends.
fn request(request_type: u32, request_number: u32, credits: &[Credit]) -> Vec<u8> {
    let mut avps = vec![ietf(263, M, SESSION.as_bytes())];
    avps.extend(credits.iter().rev().map(|credit| service(request_type, credit)));
    let equipment = [ietf(459, NONE, &0_u32.to_be_bytes()), ietf(460, NONE, b"3534900698733190")].concat();
    avps.extend([
        service_information(),
        number(55, 4_000_000_000 + request_number),
        number(258, 4),
        number(416, request_type),
        ietf(461, M, b"32251@3gpp.org"),
        number(415, request_number),
        subscription(0, MSISDN),
        subscription(1, IMSI),
        ietf(458, NONE, &equipment),
        number(455, 1),
        ietf(264, M, GATEWAY.as_bytes()),
        ietf(296, M, b"magma.test"),
        number(278, 1_786_000_000),
        ietf(283, M, REALM.as_bytes()),
        ietf(293, M, OCS.as_bytes()),
    ]);
    ccr(0, 200 + request_number, &avps)
}

fn asks(rating_group: u32, requested: Option<u64>) -> Credit {
    Credit { rating_group, requested, used: 0, reason: QUOTA_EXHAUSTED }
}

fn uses(rating_group: u32, used: u64, reason: u32) -> Credit {
    Credit { used, reason, ..asks(rating_group, Some(MEGABYTE)) }
}

fn granted(rating_group: u32, octets: u64) -> Told {
    (Some(rating_group), 2001, Some(octets))
}

fn ended(rating_group: u32) -> Told {
    (Some(rating_group), 2001, None)
}

#[test]
fn a_session_of_magma_has_a_grant_for_each_rating_group_though_its_updates_overtake_each_other() {
    let row = |what, request, services, money| Row { what, request, result: 2001, services, money };
    let rows = [
        row(
            "INITIAL for two rating groups",
            request(INITIAL, 1, &[asks(1, Some(MEGABYTE)), asks(2, Some(MEGABYTE))]),
            vec![granted(2, MEGABYTE), granted(1, MEGABYTE)],
            (1_000, 10, 0),
        ),
        row(
            "the second UPDATE comes first",
            request(UPDATE, 3, &[uses(2, 300_000, QUOTA_EXHAUSTED)]),
            vec![granted(2, MEGABYTE)],
            (995, 10, 5),
        ),
        row(
            "the first UPDATE",
            request(UPDATE, 2, &[uses(1, MEGABYTE, QUOTA_EXHAUSTED)]),
            vec![granted(1, MEGABYTE)],
            (990, 10, 10),
        ),
        row(
            "TERMINATION",
            request(TERMINATION, 4, &[uses(1, 0, FINAL), uses(2, 700_000, FINAL)]),
            vec![ended(2), ended(1)],
            (990, 0, 10),
        ),
    ];
    play(GATEWAY, (KeyKind::E164, MSISDN), 1_000, &rows);
}

#[test]
fn a_session_of_magma_that_leaves_the_amount_open_is_granted_octets() {
    let row = |what, request, services, money| Row { what, request, result: 2001, services, money };
    let rows = [
        row(
            "INITIAL with an empty Requested-Service-Unit",
            request(INITIAL, 1, &[asks(1, None)]),
            vec![granted(1, 10 * MEGABYTE)],
            (1_000, 50, 0),
        ),
        row(
            "UPDATE likewise",
            request(UPDATE, 2, &[Credit { requested: None, ..uses(1, 10 * MEGABYTE, QUOTA_EXHAUSTED) }]),
            vec![granted(1, 10 * MEGABYTE)],
            (950, 50, 50),
        ),
        row("TERMINATION", request(TERMINATION, 3, &[uses(1, 1, FINAL)]), vec![ended(1)], (945, 0, 55)),
    ];
    play(GATEWAY, (KeyKind::E164, MSISDN), 1_000, &rows);
}
