//! Services of a session that share what is granted (RFC 8506, section 5.1.2).

use super::{ANN, Ocs};
use diameter::avp::{Avp, AvpName};
use diameter::dictionary::avp;
use diameter::write::Writer;
use it::credit::{INITIAL, ReceivedMessage, TERMINATION, UPDATE, subscriber};

const MB: u64 = 1_000_000;
/// CC-Unit-Type (section 8.32).
const TIME: u32 = 0;
const TOTAL_OCTETS: u32 = 2;

fn service(writer: &mut Writer<'_>, group: u32, amount: AvpName, unit: impl FnOnce(&mut Writer<'_>)) {
    writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |service| {
        service.group(amount, unit);
        service.u32(avp::RATING_GROUP, group);
    });
}

/// The pool's number, the unit's type, and digits and exponent of what a unit takes, as each service is told
/// them.
fn references(answer: &ReceivedMessage) -> Vec<(u32, u32, i64, i32)> {
    let inner = |group: &Avp<'_>, path: &[AvpName]| -> Vec<u8> {
        let (name, rest) = path.split_first().unwrap();
        let found = group.group().find_name(*name).unwrap();
        if rest.is_empty() {
            return found.data.to_vec();
        }
        rest.iter().fold(found, |found, name| found.group().find_name(*name).unwrap()).data.to_vec()
    };
    let number = |data: Vec<u8>| u32::from_be_bytes(data.try_into().unwrap());
    let services = answer.all(avp::MULTIPLE_SERVICES_CREDIT_CONTROL);
    let pools = services.iter().filter_map(|service| service.group().find_name(avp::G_S_U_POOL_REFERENCE));
    pools
        .map(|pool| {
            let digits = inner(&pool, &[avp::UNIT_VALUE, avp::VALUE_DIGITS]);
            let exponent = inner(&pool, &[avp::UNIT_VALUE, avp::EXPONENT]);
            (
                number(inner(&pool, &[avp::G_S_U_POOL_IDENTIFIER])),
                number(inner(&pool, &[avp::CC_UNIT_TYPE])),
                i64::from_be_bytes(digits.try_into().unwrap()),
                number(exponent) as i32,
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_service_was_granted_another_may_use_also_after_a_kill() {
    let mut ocs = Ocs::start("", "validity = \"10m\"\ncredit_pool = true").await;
    ocs.fund(ANN, 10).await;
    let mut client = ocs.client("pools.client.test");
    let session = client.fresh_session();
    let first = client.credit(&session, INITIAL, 0).with(|writer| {
        subscriber(writer, ANN);
        writer.u32(avp::MULTIPLE_SERVICES_INDICATOR, 1);
        service(writer, 1, avp::REQUESTED_SERVICE_UNIT, |unit| unit.u64(avp::CC_TOTAL_OCTETS, 5 * MB));
        service(writer, 2, avp::REQUESTED_SERVICE_UNIT, |unit| unit.u32(avp::CC_TIME, 300));
    });
    let answer = client.ask(&first);
    assert_eq!(references(&answer), [(1, TOTAL_OCTETS, 1, -6), (1, TIME, 16_666_667, -9)]);
    assert!(answer.find(avp::CC_SESSION_FAILOVER).is_none(), "nobody else knows the session");
    assert_eq!(ocs.money(ANN).await, (10, 10, 0));
    drop(client);
    ocs.kill_and_restart().await;
    let mut client = ocs.client("pools.client.test");
    // 5 MB and 300 s are 10 in the pool; 8 MB are 8 of them.
    let update = client.credit(&session, UPDATE, 1).with(|writer| {
        service(writer, 1, avp::USED_SERVICE_UNIT, |unit| unit.u64(avp::CC_TOTAL_OCTETS, 8 * MB));
    });
    let answer = client.ask(&update);
    assert_eq!((answer.code(), ocs.money(ANN).await), (2001, (2, 2, 8)));
    let end = client.credit(&session, TERMINATION, 2).with(|writer| {
        service(writer, 2, avp::USED_SERVICE_UNIT, |unit| unit.u32(avp::CC_TIME, 120));
    });
    assert_eq!(client.ask(&end).code(), 2001);
    assert_eq!(ocs.money(ANN).await, (0, 0, 10));
    let path = format!("/api/v1/accounts/e164:{ANN}/records");
    let records = ocs.server.api().get(&path).await.expect(200);
    let updates = records["items"].as_array().unwrap().iter().filter(|record| record["event"] == "Update");
    assert_eq!(updates.count(), 1, "what stayed in the pool is no record: {records:#}");
}
