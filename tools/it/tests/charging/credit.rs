//! Credit control (RFC 8506): what each request does to the money, and what is said of it.

use super::{ANN, Ocs};
use diameter::avp::AvpName;
use diameter::dictionary::avp;
use diameter::write::Writer;
use it::credit::{
    CreditClient, EVENT, INITIAL, ReceivedMessage, TERMINATION, UPDATE, requested, subscriber, used,
};
use serde_json::json;

const BOB: &str = "46701740606";
const VALIDITY: &str = "validity = \"10m\"";

/// The messages that were granted.
fn granted(answer: &ReceivedMessage) -> Option<u64> {
    answer.within(&[avp::GRANTED_SERVICE_UNIT, avp::CC_SERVICE_SPECIFIC_UNITS]).map(|avp| avp.u64().unwrap())
}

/// Final-Unit-Action.
fn final_action(answer: &ReceivedMessage) -> Option<u32> {
    answer.within(&[avp::FINAL_UNIT_INDICATION, avp::FINAL_UNIT_ACTION]).map(|avp| avp.u32().unwrap())
}

/// CC-Request-Type and CC-Request-Number are repeated.
#[track_caller]
fn assert_repeats(answer: &ReceivedMessage, kind: u32, number: u32) {
    let said = |name: AvpName| answer.find(name).unwrap().u32().unwrap();
    assert_eq!((said(avp::CC_REQUEST_TYPE), said(avp::CC_REQUEST_NUMBER)), (kind, number));
    assert_eq!(said(avp::AUTH_APPLICATION_ID), 4);
}

fn action(client: &mut CreditClient, action: u32, write: impl FnOnce(&mut Writer<'_>)) -> ReceivedMessage {
    let session = client.fresh_session();
    let request = client.credit(&session, EVENT, 0).with(|writer| {
        writer.u32(avp::REQUESTED_ACTION, action);
        write(writer);
    });
    let answer = client.ask(&request);
    assert_repeats(&answer, EVENT, 0);
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_four_actions_of_an_event_do_what_they_say() {
    let prices = "[[charging.tariff]]\nprefix = \"+468\"\nunit = {price = 25, per = 1}\n";
    let ocs = Ocs::start("", prices).await;
    ocs.fund(ANN, 100).await;
    let mut client = ocs.client("events.client.test");
    let both = |units: u64| {
        move |writer: &mut Writer<'_>| {
            subscriber(writer, ANN);
            requested(writer, units);
        }
    };
    let debit = action(&mut client, 0, both(30));
    assert_eq!((debit.code(), granted(&debit)), (2001, Some(30)));
    assert_eq!(ocs.money(ANN).await, (70, 0, 30));
    let refund = action(&mut client, 1, both(5));
    assert_eq!(refund.code(), 2001);
    assert_eq!(ocs.money(ANN).await, (75, 0, 25));
    for (units, result) in [(75, 0), (76, 1)] {
        let check = action(&mut client, 2, both(units));
        assert_eq!(check.code(), 2001);
        assert_eq!(check.find(avp::CHECK_BALANCE_RESULT).unwrap().u32(), Ok(result), "{units}");
        assert_eq!(granted(&check), None);
    }
    // To Stockholm it costs more.
    for (number, price) in [("+46701740607", 2), ("+4689000000", 50)] {
        let price_of = action(&mut client, 3, |writer| {
            subscriber(writer, ANN);
            requested(writer, 2);
            writer.group(avp::SERVICE_INFORMATION, |service| {
                service.group(avp::SMS_INFORMATION, |sms| {
                    sms.group(avp::RECIPIENT_INFO, |info| {
                        info.group(avp::RECIPIENT_ADDRESS, |address| {
                            address.u32(avp::ADDRESS_TYPE, 1);
                            address.utf8(avp::ADDRESS_DATA, number);
                        });
                    });
                });
            });
        });
        assert_eq!(price_of.code(), 2001);
        let value = |name| price_of.within(&[avp::COST_INFORMATION, avp::UNIT_VALUE, name]).unwrap();
        assert_eq!(value(avp::VALUE_DIGITS).i64(), Ok(price), "{number}");
        assert_eq!(value(avp::EXPONENT).i32(), Ok(-2));
    }
    assert_eq!(ocs.money(ANN).await, (75, 0, 25), "asking costs nothing");
    let too_much = action(&mut client, 0, both(76));
    assert_eq!((too_much.code(), granted(&too_much)), (4012, None));
    // Also where the one service has a name.
    let named = action(&mut client, 0, |writer| {
        both(76)(writer);
        writer.u32(avp::SERVICE_IDENTIFIER, 1);
    });
    assert_eq!((named.code(), granted(&named)), (4012, None));
    let unknown = action(&mut client, 0, |writer| subscriber(writer, BOB));
    assert_eq!(unknown.code(), 5030);
    ocs.act(ANN, "block", &json!({})).await;
    assert_eq!(action(&mut client, 0, both(1)).code(), 4010);
    ocs.act(ANN, "unblock", &json!({})).await;
    let one = action(&mut client, 0, |writer| subscriber(writer, ANN));
    assert_eq!(one.code(), 2001, "without units it is one");
    assert_eq!(ocs.money(ANN).await, (74, 0, 26));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_reserves_settles_and_ends() {
    let ocs = Ocs::start("", VALIDITY).await;
    ocs.fund(ANN, 100).await;
    let mut client = ocs.client("session.client.test");
    let session = client.fresh_session();
    let initial = client.initial(&session, ANN, 10);
    let answer = client.ask(&initial);
    assert_repeats(&answer, INITIAL, 0);
    assert_eq!((answer.code(), granted(&answer), final_action(&answer)), (2001, Some(10), None));
    assert_eq!(answer.find(avp::VALIDITY_TIME).unwrap().u32(), Ok(600));
    assert_eq!(ocs.money(ANN).await, (100, 10, 0));
    // Only the first needs to say whose it is.
    let update = client.credit(&session, UPDATE, 1).with(|writer| {
        requested(writer, 20);
        used(writer, 7);
    });
    let answer = client.ask(&update);
    assert_repeats(&answer, UPDATE, 1);
    assert_eq!((answer.code(), granted(&answer)), (2001, Some(20)));
    assert_eq!(ocs.money(ANN).await, (93, 20, 7));
    let end = client.credit(&session, TERMINATION, 2).with(|writer| {
        writer.u32(avp::TERMINATION_CAUSE, 1);
        used(writer, 3);
        used(writer, 2);
    });
    let answer = client.ask(&end);
    assert_repeats(&answer, TERMINATION, 2);
    assert_eq!((answer.code(), granted(&answer)), (2001, None));
    assert_eq!(ocs.money(ANN).await, (88, 0, 12));
    let late = client.credit(&session, UPDATE, 3).with(|writer| requested(writer, 1));
    assert_eq!(client.ask(&late).code(), 5002, "it is over");
    assert_eq!(ocs.money(ANN).await, (88, 0, 12));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_goes_on_with_a_session_need_not_say_again_whose_it_is() {
    // On each of several shards; that of no account at all is one of them.
    let ocs = Ocs::start("", "validity = \"10m\"\nshards = 4").await;
    let mut client = ocs.client("shards.client.test");
    for number in 0..12 {
        let subscriber = format!("{}", 46_701_740_660_u64 + number);
        ocs.fund(&subscriber, 10).await;
        let session = client.fresh_session();
        let initial = client.initial(&session, &subscriber, 5);
        assert_eq!(client.ask(&initial).code(), 2001);
        let update = client.credit(&session, UPDATE, 1).with(|writer| used(writer, 2));
        let end = client.credit(&session, TERMINATION, 2).with(|writer| used(writer, 1));
        for request in [&update, &end, &update] {
            assert_eq!(client.ask(request).code(), 2001, "{subscriber}");
        }
        assert_eq!(ocs.money(&subscriber).await, (7, 0, 3));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn updates_come_in_any_order_and_each_number_counts_once() {
    let ocs = Ocs::start("", VALIDITY).await;
    ocs.fund(ANN, 100).await;
    let mut client = ocs.client("numbers.client.test");
    let session = client.fresh_session();
    let initial = client.initial(&session, ANN, 1);
    assert_eq!(client.ask(&initial).code(), 2001);
    for (number, units, code) in [(5, 1, 2001), (3, 1, 2001), (3, 2, 5004), (0, 1, 5004), (6, 1, 2001)] {
        let update = client.credit(&session, UPDATE, number).with(|writer| {
            requested(writer, 1);
            used(writer, units);
        });
        let answer = client.ask(&update);
        assert_eq!(answer.code(), code, "{number}");
        let failed: Vec<_> = answer.failed().iter().map(|avp| (avp.name, avp.u32())).collect();
        let expected = if code == 5004 { vec![(avp::CC_REQUEST_NUMBER, Ok(number))] } else { Vec::new() };
        assert_eq!(failed, expected, "{number}");
    }
    assert_eq!(ocs.money(ANN).await, (97, 1, 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_that_runs_out_is_said_in_the_last_grant_and_a_top_up_goes_on() {
    let ocs = Ocs::start("", VALIDITY).await;
    ocs.fund(ANN, 10).await;
    let mut client = ocs.client("final.client.test");
    let session = client.fresh_session();
    let initial = client.initial(&session, ANN, 25);
    let answer = client.ask(&initial);
    assert_eq!((answer.code(), granted(&answer), final_action(&answer)), (2001, Some(10), Some(0)));
    assert_eq!(ocs.money(ANN).await, (10, 10, 0));
    let update = client.credit(&session, UPDATE, 1).with(|writer| {
        requested(writer, 25);
        used(writer, 14);
    });
    // More was used than was granted: what is there is taken, and nothing goes below zero.
    let answer = client.ask(&update);
    assert_eq!((answer.code(), granted(&answer)), (4012, None));
    assert_eq!(ocs.money(ANN).await, (0, 0, 10));
    ocs.act(ANN, "topup", &json!({"amount": 50})).await;
    let asked = client.asked();
    client.reply(&asked, 2002);
    let update = client.credit(&session, UPDATE, 2).with(|writer| requested(writer, 25));
    let answer = client.ask(&update);
    assert_eq!((answer.code(), granted(&answer), final_action(&answer)), (2001, Some(25), None));
    assert_eq!(ocs.money(ANN).await, (50, 25, 10));
    let blocked = client.credit(&session, UPDATE, 3).with(|writer| {
        requested(writer, 5);
        used(writer, 25);
    });
    ocs.act(ANN, "block", &json!({})).await;
    let asked = client.asked();
    client.reply(&asked, 2001);
    assert_eq!(client.ask(&blocked).code(), 4010);
    assert_eq!(ocs.money(ANN).await, (25, 0, 35), "what was used is due all the same");
}

/// Rating-Group, Result-Code and granted octets of each Multiple-Services-Credit-Control.
fn services(answer: &ReceivedMessage) -> Vec<(u32, u32, Option<u64>, bool)> {
    let groups = answer.all(avp::MULTIPLE_SERVICES_CREDIT_CONTROL);
    let each = groups.iter().map(|group| {
        let number = |name| group.group().find_name(name).unwrap().u32().unwrap();
        let granted = group.group().find_name(avp::GRANTED_SERVICE_UNIT);
        let octets = granted.and_then(|unit| unit.group().find_name(avp::CC_TOTAL_OCTETS));
        let is_final = group.group().find_name(avp::FINAL_UNIT_INDICATION).is_some();
        (
            number(avp::RATING_GROUP),
            number(avp::RESULT_CODE),
            octets.map(|octets| octets.u64().unwrap()),
            is_final,
        )
    });
    each.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_rating_group_has_a_result_of_its_own() {
    const MB: u64 = 1_000_000;
    let ocs = Ocs::start("", VALIDITY).await;
    ocs.fund(ANN, 30).await;
    let mut client = ocs.client("services.client.test");
    let session = client.fresh_session();
    let service = |writer: &mut Writer<'_>, group: u32, asked: Option<u64>, used: Option<u64>| {
        writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |service| {
            if let Some(asked) = asked {
                service.group(avp::REQUESTED_SERVICE_UNIT, |unit| unit.u64(avp::CC_TOTAL_OCTETS, asked));
            }
            if let Some(used) = used {
                service.group(avp::USED_SERVICE_UNIT, |unit| unit.u64(avp::CC_TOTAL_OCTETS, used));
            }
            service.u32(avp::RATING_GROUP, group);
        });
    };
    let initial = client.credit(&session, INITIAL, 0).with(|writer| {
        subscriber(writer, ANN);
        writer.u32(avp::MULTIPLE_SERVICES_INDICATOR, 1);
        for (group, asked) in [(1, 10 * MB), (2, 15 * MB), (3, 10 * MB), (4, 1)] {
            service(writer, group, Some(asked), None);
        }
    });
    let answer = client.ask(&initial);
    assert_eq!(answer.code(), 2001);
    let expected = [
        (1, 2001, Some(10 * MB), false),
        (2, 2001, Some(15 * MB), false),
        (3, 2001, Some(5 * MB), true),
        (4, 4012, None, false),
    ];
    assert_eq!(services(&answer), expected);
    assert_eq!(ocs.money(ANN).await, (30, 30, 0));
    let update = client.credit(&session, UPDATE, 1).with(|writer| {
        service(writer, 2, None, Some(MB));
        service(writer, 1, Some(20 * MB), Some(2 * MB));
    });
    let answer = client.ask(&update);
    assert_eq!(answer.code(), 2001);
    // The second has only what the first gave back.
    assert_eq!(services(&answer), [(2, 2001, None, false), (1, 2001, Some(20 * MB), false)]);
    assert_eq!(ocs.money(ANN).await, (27, 25, 3));
    let end = client.credit(&session, TERMINATION, 2).with(|writer| service(writer, 1, None, Some(20 * MB)));
    assert_eq!(client.ask(&end).code(), 2001);
    assert_eq!(ocs.money(ANN).await, (7, 0, 23));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_is_found_by_each_kind_of_name_wherever_it_stands() {
    let ocs = Ocs::start("", "").await;
    let mut client = ocs.client("names.client.test");
    let names = [
        ("e164", "46701740610"),
        ("imsi", "240990000000001"),
        ("sip", "sip:ann@town.test"),
        ("nai", "ann@town.test"),
        ("private", "ann"),
    ];
    for (kind, (id, name)) in names.into_iter().enumerate() {
        let account = format!("{id}:{name}");
        ocs.fund(&account, 10).await;
        let debit = action(&mut client, 0, |writer| {
            writer.group(avp::SUBSCRIPTION_ID, |id| {
                id.u32(avp::SUBSCRIPTION_ID_TYPE, kind as u32);
                id.utf8(avp::SUBSCRIPTION_ID_DATA, name);
            });
        });
        assert_eq!(debit.code(), 2001, "{account}");
        assert_eq!(ocs.money(&account).await, (9, 0, 1));
    }
    let extended = action(&mut client, 0, |writer| {
        writer.group(avp::SUBSCRIPTION_ID_EXTENSION, |id| {
            id.utf8(avp::SUBSCRIPTION_ID_IMSI, "240990000000001")
        });
    });
    assert_eq!(extended.code(), 2001);
    let inside = action(&mut client, 0, |writer| {
        writer.group(avp::SERVICE_INFORMATION, |service| {
            service.group(avp::SUBSCRIPTION_ID, |id| {
                id.u32(avp::SUBSCRIPTION_ID_TYPE, 1);
                id.utf8(avp::SUBSCRIPTION_ID_DATA, "240990000000001");
            });
        });
    });
    assert_eq!(inside.code(), 2001);
    assert_eq!(ocs.money("imsi:240990000000001").await, (7, 0, 3));
    // Times roll over in 2036.
    let later = action(&mut client, 0, |writer| {
        writer.time(avp::EVENT_TIMESTAMP, 4_102_444_800);
        writer.group(avp::SUBSCRIPTION_ID, |id| {
            id.u32(avp::SUBSCRIPTION_ID_TYPE, 4);
            id.utf8(avp::SUBSCRIPTION_ID_DATA, "ann");
        });
    });
    assert_eq!(later.code(), 2001);
}
