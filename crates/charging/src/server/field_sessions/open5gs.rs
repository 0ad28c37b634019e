//! Open5GS's SMF (`src/smf/gy-path.c`, August 2026), over freeDiameter: `smf_gy_send_ccr`. Its first request
//! says that several services are not supported, and has one in the group for several, without a
//! Rating-Group; each report has seconds beside the octets that were granted.

use super::{M, NONE, OCS, REALM, Row, Told, ccr, ietf, number, octets, play, tgpp};
use ledger::KeyKind;

const SMF: &str = "smf.epc.mnc001.mcc001.3gppnetwork.org";
const IMSI: &str = "001010000000001";
const SESSION: &str = "smf.epc.mnc001.mcc001.3gppnetwork.org;1786000000;1;app_gy";
const INITIAL: u32 = 1;
const UPDATE: u32 = 2;
const TERMINATION: u32 = 3;
/// Reporting-Reason: within Used-Service-Unit, and beside it.
const QUOTA_EXHAUSTED: u32 = 3;
const FINAL: u32 = 2;
const VALIDITY_TIME: u32 = 4;

/// What a report says: seconds, octets up, octets down, and why it comes.
type Report = (u32, u64, u64, u32);

/// `fill_used_service_unit`: the reason stands first, in an UPDATE.
fn used_service_unit(request_type: u32, (seconds, up, down, reason): Report) -> Vec<u8> {
    let is_within = request_type == UPDATE && reason == QUOTA_EXHAUSTED;
    let reason = if is_within { tgpp(872, M, &reason.to_be_bytes()) } else { Vec::new() };
    ietf(446, M, &[reason, number(420, seconds), octets(412, up), octets(414, down)].concat())
}

/// `fill_qos_information`.
fn qos_information() -> Vec<u8> {
    let word = |code, value: u32| tgpp(code, NONE, &value.to_be_bytes());
    let priority = tgpp(1034, NONE, &[word(1046, 8), word(1047, 1), word(1048, 1)].concat());
    let rates = [word(1041, 1_000_000), word(1040, 1_000_000)].concat();
    tgpp(1016, M, &[tgpp(1028, M, &9_u32.to_be_bytes()), priority, rates].concat())
}

/// `fill_multiple_services_credit_control_ccr`.
fn service(request_type: u32, report: Option<Report>) -> Vec<u8> {
    let mut members = Vec::new();
    if request_type != TERMINATION {
        members.extend(ietf(437, M, &octets(421, 1_000_000)));
    }
    if let Some(report) = report {
        members.extend(used_service_unit(request_type, report));
        if matches!(report.3, FINAL | VALIDITY_TIME) {
            members.extend(tgpp(872, M, &report.3.to_be_bytes()));
        }
    }
    members.extend(qos_information());
    ietf(456, M, &members)
}

/// `fill_ps_information`, within Service-Information.
fn service_information(request_type: u32) -> Vec<u8> {
    let mut ps = tgpp(2, NONE, &1_u32.to_be_bytes());
    if request_type == INITIAL {
        ps.extend(tgpp(3, NONE, &0_u32.to_be_bytes()));
    }
    ps.extend(tgpp(1227, M, &[0, 1, 10, 45, 0, 2]));
    ps.extend(tgpp(1228, M, &[0, 1, 127, 0, 0, 3]));
    ps.extend(tgpp(847, M, &[0, 1, 127, 0, 0, 4]));
    ps.extend(ietf(30, M, b"internet"));
    ps.extend(tgpp(12, NONE, b"0"));
    ps.extend(tgpp(13, NONE, b"0800"));
    ps.extend(tgpp(18, NONE, b"00101"));
    ps.extend(tgpp(10, NONE, &[5]));
    ps.extend(tgpp(23, NONE, &[0x40, 0]));
    ps.extend(tgpp(22, NONE, &[130, 0, 241, 16, 0, 1, 0, 241, 16, 0, 0, 1, 1]));
    ps.extend(tgpp(21, NONE, &[6]));
    let equipment = [ietf(459, NONE, &0_u32.to_be_bytes()), ietf(460, NONE, b"3534900698733150")].concat();
    ps.extend(ietf(458, NONE, &equipment));
    tgpp(873, M, &tgpp(874, M, &ps))
}

fn subscription(kind: u32, data: &str) -> Vec<u8> {
    ietf(443, M, &[number(450, kind), ietf(444, M, data.as_bytes())].concat())
}

/// `smf_gy_send_ccr`.
fn request(request_type: u32, request_number: u32, flags: u8, report: Option<Report>) -> Vec<u8> {
    let mut avps = vec![
        ietf(263, M, SESSION.as_bytes()),
        ietf(264, M, SMF.as_bytes()),
        ietf(296, M, REALM.as_bytes()),
        ietf(283, M, REALM.as_bytes()),
        number(258, 4),
        ietf(461, M, b"32251@3gpp.org"),
        number(416, request_type),
        number(415, request_number),
    ];
    if request_type != INITIAL {
        avps.push(ietf(293, M, OCS.as_bytes()));
    }
    avps.push(number(55, 4_000_000_000 + request_number));
    avps.extend([subscription(1, IMSI), subscription(0, "46701234567")]);
    if request_type == TERMINATION {
        avps.push(number(295, 1));
    }
    avps.extend([number(436, 0), tgpp(2055, M, &1_u32.to_be_bytes())]);
    if request_type == INITIAL {
        avps.push(number(455, 0));
    }
    avps.extend([service(request_type, report), service_information(request_type)]);
    ccr(flags, 100 + request_number, &avps)
}

fn granted() -> Vec<Told> {
    vec![(None, 2001, Some(1_000_000))]
}

fn ended() -> Vec<Told> {
    vec![(None, 2001, None)]
}

#[test]
fn a_session_of_open5gs_is_charged_for_its_octets() {
    let exhausted = Some((61, 400_000, 600_000, QUOTA_EXHAUSTED));
    let row = |what, request, services, money| Row { what, request, result: 2001, services, money };
    let rows = [
        row("INITIAL", request(INITIAL, 0, 0, None), granted(), (1_000, 5, 0)),
        row("UPDATE, exhausted", request(UPDATE, 1, 0, exhausted), granted(), (995, 5, 5)),
        row("the same again, with T", request(UPDATE, 1, 0x10, exhausted), granted(), (995, 5, 5)),
        row(
            "UPDATE by Validity-Time",
            request(UPDATE, 2, 0, Some((1_800, 0, 0, VALIDITY_TIME))),
            granted(),
            (995, 5, 5),
        ),
        row("TERMINATION", request(TERMINATION, 3, 0, Some((10, 100, 200, FINAL))), ended(), (990, 0, 10)),
    ];
    play(SMF, (KeyKind::Imsi, IMSI), 1_000, &rows);
}

#[test]
fn a_session_of_open5gs_without_money_gets_nothing_more() {
    // A packet more than was granted is on its way when the grant is used up.
    let exhausted = Some((61, 400_000, 600_700, QUOTA_EXHAUSTED));
    let rows = [
        Row {
            what: "INITIAL, for all the money",
            request: request(INITIAL, 0, 0, None),
            result: 2001,
            services: granted(),
            money: (5, 5, 0),
        },
        Row {
            what: "UPDATE, exhausted",
            request: request(UPDATE, 1, 0, exhausted),
            result: 4012,
            services: vec![(None, 4012, None)],
            money: (0, 0, 5),
        },
        Row {
            what: "TERMINATION",
            request: request(TERMINATION, 2, 0, Some((1, 0, 0, FINAL))),
            result: 2001,
            services: ended(),
            money: (0, 0, 5),
        },
    ];
    play(SMF, (KeyKind::Imsi, IMSI), 5, &rows);
}
