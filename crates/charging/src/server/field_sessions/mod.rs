//! Sessions of mobile cores in the field, message by message: each request is built by hand after the public
//! sources of its core, AVP for AVP in their order and with their flags.

mod magma;
mod open5gs;

use super::ServerConfig;
use super::measure::Bench;
use diameter::check::Strictness;
use diameter::credit::request::ServiceControl;
use diameter::dictionary::avp;
use diameter::message::Message;
use ledger::config::DefaultAccount;
use ledger::tariff::Tariffs;
use ledger::tariff_spec::{Price, TariffSpec};
use ledger::{Config, KeyKind};

const OCS: &str = "ocs.epc.mnc001.mcc001.3gppnetwork.org";
const REALM: &str = "epc.mnc001.mcc001.3gppnetwork.org";
const SECOND_US: u64 = 1_000_000;
const BEGIN_US: u64 = 1_790_000_000 * SECOND_US;

/// Flags of an AVP: `M`, and none.
const M: u8 = 0x40;
const NONE: u8 = 0;

/// An AVP of the IETF.
fn ietf(code: u32, flags: u8, data: &[u8]) -> Vec<u8> {
    written(code, flags, &[], data)
}

/// An AVP of 3GPP.
fn tgpp(code: u32, flags: u8, data: &[u8]) -> Vec<u8> {
    written(code, flags | 0x80, &10_415_u32.to_be_bytes(), data)
}

fn written(code: u32, flags: u8, vendor: &[u8], data: &[u8]) -> Vec<u8> {
    let octets = 8 + vendor.len() + data.len();
    let mut avp = code.to_be_bytes().to_vec();
    avp.push(flags);
    avp.extend_from_slice(&(octets as u32).to_be_bytes()[1..]);
    avp.extend_from_slice(vendor);
    avp.extend_from_slice(data);
    avp.resize(octets.next_multiple_of(4), 0);
    avp
}

fn number(code: u32, value: u32) -> Vec<u8> {
    ietf(code, M, &value.to_be_bytes())
}

fn octets(code: u32, value: u64) -> Vec<u8> {
    ietf(code, M, &value.to_be_bytes())
}

/// A Credit-Control-Request with the flags R and P, and whatever more.
fn ccr(more: u8, identifier: u32, avps: &[Vec<u8>]) -> Vec<u8> {
    let body = avps.concat();
    let mut message = ((20 + body.len() as u32) | (1 << 24)).to_be_bytes().to_vec();
    message.extend_from_slice(&(0xc000_0000 | (u32::from(more) << 24) | 272).to_be_bytes());
    for word in [4, identifier, identifier ^ 0x5a00_0000] {
        message.extend_from_slice(&u32::to_be_bytes(word));
    }
    message.extend_from_slice(&body);
    message
}

/// What is answered about a service: its Rating-Group, its Result-Code, the octets that are granted.
type Told = (Option<u32>, u32, Option<u64>);

/// One request of a session, and what comes of it.
struct Row {
    what: &'static str,
    request: Vec<u8>,
    result: u32,
    services: Vec<Told>,
    /// Of the account: balance, reserved, used.
    money: (i64, i64, i64),
}

/// Plays a session: 5 minor units for each begun megabyte of 32251, an account begins with `balance`.
fn play(peer: &str, account: (KeyKind, &str), balance: i64, rows: &[Row]) {
    let price = Some(Price { price: 5, per: 1_000_000 });
    let context = Some("32251@3gpp.org".to_owned());
    let tariff = TariffSpec { context, octets: price, ..TariffSpec::default() }.read().unwrap();
    let config = Config {
        default_account: Some(DefaultAccount { balance, limit: 0 }),
        tariffs: Tariffs::new(vec![tariff], None).unwrap(),
        ..Config::default()
    };
    let server = ServerConfig {
        origin_host: OCS.to_owned(),
        origin_realm: REALM.to_owned(),
        ..ServerConfig::default()
    };
    let mut bench = Bench::open(&server, peer, config);
    for (at, row) in (1..).zip(rows) {
        bench.receive(&row.request);
        bench.apply(BEGIN_US + at * SECOND_US);
        bench.answer();
        let mut output = Vec::new();
        bench.transmit(&mut output);
        let answer = Message::read(&output).unwrap_or_else(|error| panic!("{}: {error:?}", row.what));
        let result = answer.find(avp::RESULT_CODE).unwrap().u32().unwrap();
        assert_eq!(result, row.result, "{}: Failed-AVP {:?}", row.what, answer.find(avp::FAILED_AVP));
        let services: Vec<Told> = services(answer).collect();
        assert_eq!(services, row.services, "{}", row.what);
        assert_eq!(bench.money(account.0, account.1.as_bytes()), Some(row.money), "{}", row.what);
    }
}

/// An INITIAL for one service, with these AVPs in its group and at the end.
fn initial(service: &[Vec<u8>], more: &[Vec<u8>]) -> Vec<u8> {
    let mut avps = vec![
        ietf(263, M, b"gw.test;1;1"),
        ietf(264, M, b"gw.test"),
        ietf(296, M, b"test"),
        ietf(283, M, REALM.as_bytes()),
        number(258, 4),
        ietf(461, M, b"32251@3gpp.org"),
        number(416, 1),
        number(415, 0),
        ietf(443, M, &[number(450, 0), ietf(444, M, b"+46701234567")].concat()),
        ietf(456, M, &service.concat()),
    ];
    avps.extend_from_slice(more);
    ccr(0, 1, &avps)
}

/// The answer to one request.
fn ask(strictness: Strictness, request: &[u8]) -> Vec<u8> {
    let server = ServerConfig {
        origin_host: OCS.to_owned(),
        origin_realm: REALM.to_owned(),
        strictness,
        ..ServerConfig::default()
    };
    let default_account = Some(DefaultAccount { balance: 100, limit: 0 });
    let mut bench = Bench::open(&server, "gw.test", Config { default_account, ..Config::default() });
    bench.receive(request);
    bench.apply(BEGIN_US);
    bench.answer();
    let mut output = Vec::new();
    bench.transmit(&mut output);
    output
}

#[test]
fn an_answer_names_all_services_that_a_grant_is_for() {
    for ids in [&[7][..], &[8, 7], &[9, 7, 8, 7]] {
        let mut group: Vec<Vec<u8>> = ids.iter().map(|id| number(439, *id)).collect();
        group.extend([number(432, 1), ietf(437, M, &octets(421, 1_000_000))]);
        let answer = ask(Strictness::Strict, &initial(&group, &[]));
        let answer = Message::read(&answer).unwrap();
        let group = answer.find(avp::MULTIPLE_SERVICES_CREDIT_CONTROL).unwrap();
        let told = ServiceControl::read(answer, group).unwrap();
        assert_eq!(told.service_identifiers().collect::<Vec<_>>(), ids);
        assert_eq!((told.rating_group, told.result_code), (Some(1), Some(2001)));
    }
}

#[test]
fn what_a_new_release_of_3gpp_adds_is_passed_over_where_the_config_says_so() {
    let group = [number(432, 1), ietf(437, M, &octets(421, 1_000_000))];
    let new = [tgpp(873, M, &tgpp(874, M, &tgpp(65_000, M, &[1, 2, 3, 4])))];
    for (strictness, result) in [(Strictness::Strict, 5001), (Strictness::Lenient, 2001)] {
        let answer = ask(strictness, &initial(&group, &new));
        let code = Message::read(&answer).unwrap().find(avp::RESULT_CODE).unwrap().u32();
        assert_eq!(code, Ok(result), "{strictness:?}");
    }
}

fn services(answer: Message<'_>) -> impl Iterator<Item = Told> {
    let groups = answer.avps().flatten().filter(|avp| avp.name == avp::MULTIPLE_SERVICES_CREDIT_CONTROL);
    groups.map(move |group| {
        let service = ServiceControl::read(answer, group).unwrap();
        let granted = service.granted.and_then(|granted| granted.units.total_octets);
        (service.rating_group, service.result_code.unwrap_or(0), granted)
    })
}
