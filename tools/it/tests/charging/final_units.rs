//! The last units, thresholds, and a tariff that changes while units are out.

use super::{ANN, Ocs};
use diameter::avp::AvpName;
use diameter::dictionary::avp;
use diameter::write::Writer;
use it::credit::{CreditClient, INITIAL, ReceivedMessage, TERMINATION, UPDATE, subscriber};
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};

const MB: u64 = 1_000_000;

/// A Multiple-Services-Credit-Control of rating group 1: what is asked for, and what was used before and
/// after a change of the tariff.
fn service(writer: &mut Writer<'_>, asked: Option<u64>, used: &[(Option<u32>, u64)]) {
    writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |service| {
        if let Some(asked) = asked {
            service.group(avp::REQUESTED_SERVICE_UNIT, |unit| unit.u64(avp::CC_TOTAL_OCTETS, asked));
        }
        for (side, octets) in used {
            service.group(avp::USED_SERVICE_UNIT, |unit| {
                if let Some(side) = side {
                    unit.u32(avp::TARIFF_CHANGE_USAGE, *side);
                }
                unit.u64(avp::CC_TOTAL_OCTETS, *octets);
            });
        }
        service.u32(avp::RATING_GROUP, 1);
    });
}

fn initial(client: &mut CreditClient, session: &str, asked: u64) -> ReceivedMessage {
    let request = client.credit(session, INITIAL, 0).with(|writer| {
        subscriber(writer, ANN);
        writer.u32(avp::MULTIPLE_SERVICES_INDICATOR, 1);
        service(writer, Some(asked), &[]);
    });
    client.ask(&request)
}

fn update(
    client: &mut CreditClient,
    session: &str,
    number: u32,
    asked: u64,
    used: &[(Option<u32>, u64)],
) -> ReceivedMessage {
    let request = client.credit(session, UPDATE, number).with(|writer| service(writer, Some(asked), used));
    client.ask(&request)
}

/// An AVP of the only service.
fn told<'h>(answer: &'h ReceivedMessage, path: &[AvpName]) -> Option<diameter::avp::Avp<'h>> {
    let whole = [&[avp::MULTIPLE_SERVICES_CREDIT_CONTROL], path].concat();
    answer.within(&whole)
}

fn granted(answer: &ReceivedMessage) -> Option<u64> {
    told(answer, &[avp::GRANTED_SERVICE_UNIT, avp::CC_TOTAL_OCTETS]).map(|avp| avp.u64().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_no_money_is_sent_where_there_is_some_and_goes_on_after_a_top_up() {
    let ocs = Ocs::start(
        "",
        "validity = \"10m\"\nquota_threshold = 20\nquota_holding_time = \"5m\"\n\
         [charging.final_unit]\naction = \"redirect\"\nredirect = \"https://topup.example/\"",
    )
    .await;
    ocs.fund(ANN, 15).await;
    let mut client = ocs.client("redirected.client.test");
    let session = client.fresh_session();
    let answer = initial(&mut client, &session, 10 * MB);
    assert_eq!(granted(&answer), Some(10 * MB));
    assert_eq!(told(&answer, &[avp::VOLUME_QUOTA_THRESHOLD]).unwrap().u32(), Ok(2_000_000));
    assert_eq!(told(&answer, &[avp::QUOTA_HOLDING_TIME]).unwrap().u32(), Ok(300));
    assert!(told(&answer, &[avp::FINAL_UNIT_INDICATION]).is_none());
    let last = update(&mut client, &session, 1, 10 * MB, &[(None, 10 * MB)]);
    let none = update(&mut client, &session, 2, 10 * MB, &[(None, 5 * MB)]);
    for (answer, units) in [(&last, 5 * MB), (&none, 0)] {
        assert_eq!(told(answer, &[avp::RESULT_CODE]).unwrap().u32(), Ok(2001));
        assert_eq!(granted(answer), Some(units));
        assert_eq!(told(answer, &[avp::VALIDITY_TIME]).unwrap().u32(), Ok(600));
        let indication = |name| told(answer, &[avp::FINAL_UNIT_INDICATION, name]).unwrap();
        assert_eq!(indication(avp::FINAL_UNIT_ACTION).u32(), Ok(1));
        let server = |name| told(answer, &[avp::FINAL_UNIT_INDICATION, avp::REDIRECT_SERVER, name]).unwrap();
        assert_eq!(server(avp::REDIRECT_ADDRESS_TYPE).u32(), Ok(2));
        assert_eq!(server(avp::REDIRECT_SERVER_ADDRESS).data, b"https://topup.example/");
        assert!(told(answer, &[avp::VOLUME_QUOTA_THRESHOLD]).is_none(), "there is no more to ask for");
    }
    assert_eq!(ocs.money(ANN).await, (0, 0, 15));
    ocs.act(ANN, "topup", &json!({"amount": 7})).await;
    let asked = client.asked();
    client.reply(&asked, 2002);
    let more = update(&mut client, &session, 3, 4 * MB, &[]);
    assert_eq!(granted(&more), Some(4 * MB));
    assert!(told(&more, &[avp::FINAL_UNIT_INDICATION]).is_none());
    let end = client.credit(&session, TERMINATION, 4).with(|writer| service(writer, None, &[(None, MB)]));
    assert_eq!(client.ask(&end).code(), 2001);
    assert_eq!(ocs.money(ANN).await, (6, 0, 16));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn access_is_restricted_to_what_the_config_allows() {
    let restricted = |more: &str| {
        format!("[charging.final_unit]\naction = \"restrict\"\nfilters = [\"topup-only\"]\n{more}")
    };
    let rule = "permit out ip from 10.0.0.1 to any";
    for (config, indication, rules) in [
        (restricted(&format!("rules = [\"{rule}\"]")), avp::FINAL_UNIT_INDICATION, Some(rule)),
        (restricted("extended = true"), avp::QOS_FINAL_UNIT_INDICATION, None),
    ] {
        let ocs = Ocs::start("", &config).await;
        ocs.fund(ANN, 2).await;
        let mut client = ocs.client("restricted.client.test");
        let session = client.fresh_session();
        let answer = initial(&mut client, &session, 5 * MB);
        assert_eq!(granted(&answer), Some(2 * MB));
        assert_eq!(told(&answer, &[indication, avp::FINAL_UNIT_ACTION]).unwrap().u32(), Ok(2));
        assert_eq!(told(&answer, &[indication, avp::FILTER_ID]).unwrap().data, b"topup-only");
        let said = told(&answer, &[indication, avp::RESTRICTION_FILTER_RULE]).map(|rule| rule.data);
        assert_eq!(said, rules.map(str::as_bytes));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_the_tariff_is_told_with_the_grant_and_both_sides_are_priced_apart() {
    // Another price holds from a minute of the day on that comes within the validity, whenever the story is
    // told.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let change = (now / 60 + 90) * 60;
    let clock = |at: u64| format!("{:02}:{:02}", at / 3_600 % 24, at / 60 % 60);
    let half_a_day = 12 * 3_600;
    let (from, until) = (clock(change), clock(change + half_a_day));
    let config = format!(
        "validity = \"3h\"\n\
         [[charging.tariff]]\nhours = \"{until}-{from}\"\noctets = {{price = 1, per = 1000000}}\n\
         [[charging.tariff]]\nhours = \"{from}-{until}\"\noctets = {{price = 10, per = 1000000}}\n"
    );
    let ocs = Ocs::start("", &config).await;
    ocs.fund(ANN, 100).await;
    let mut client = ocs.client("tariffs.client.test");
    let session = client.fresh_session();
    let answer = initial(&mut client, &session, 5 * MB);
    assert_eq!(granted(&answer), Some(5 * MB));
    let told_change = told(&answer, &[avp::GRANTED_SERVICE_UNIT, avp::TARIFF_TIME_CHANGE]).unwrap();
    assert_eq!(told_change.time(), Ok(change as i64));
    assert_eq!(ocs.money(ANN).await, (100, 50, 0), "it can be paid whenever it is used");
    // Three before the change, says the client; the rest is of the price of now, whatever it is called.
    let answer = update(&mut client, &session, 1, MB, &[(Some(0), 3 * MB), (Some(2), MB)]);
    assert_eq!(answer.all(avp::MULTIPLE_SERVICES_CREDIT_CONTROL).len(), 1);
    assert_eq!((granted(&answer), ocs.money(ANN).await), (Some(MB), (96, 10, 4)));
    let path = format!("/api/v1/accounts/e164:{ANN}/records");
    let records = ocs.server.api().get(&path).await.expect(200);
    let records = records["items"].as_array().unwrap().iter().filter(|record| record["event"] == "Update");
    let charged: Vec<_> = records.map(|record| record["charged"].as_i64().unwrap()).collect();
    assert_eq!(charged, [3, 1], "each side has a record");
}
