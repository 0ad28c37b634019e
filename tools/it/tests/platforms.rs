//! Platforms bind to us with libraries that nobody here wrote: jsmpp, Cloudhopper, smpplib, npm's smpp.

use crate::fixtures::{SOON, carrier, carrier_that, number};
use futures_util::future::join_all;
use it::{Esme, EsmeBy, Login, Server, eventually, free_port, smpp_client, smpp_door, sms_route};
use serde_json::Value;
use sim::smsc::{Injection, Smsc};

/// Our number that the platform hears.
const OURS: &str = "71700";

/// A server with an SMPP door for `platform`, and a carrier behind it.
struct Platform {
    carrier: Smsc,
    server: Server,
    port: u16,
}

impl Platform {
    async fn begin() -> Platform {
        Platform::behind(carrier().await, "").await
    }

    async fn behind(carrier: Smsc, client: &str) -> Platform {
        let port = free_port();
        let mut config = smpp_door(port);
        config += &smpp_client("platform", &format!("numbers = [\"{OURS}\"]\n{client}"));
        for by in EsmeBy::ALL {
            config += &smpp_client(&format!("{by:?}"), client);
        }
        config += &sms_route("carrier", carrier.address(), "");
        let server = Server::start(&config).await;
        Platform { carrier, server, port }
    }

    fn login(&self) -> Login {
        Login::new(self.port, "platform")
    }

    /// A client of its own for each library: what is told goes to any session of a client.
    fn login_of(&self, by: EsmeBy) -> Login {
        Login::new(self.port, &format!("{by:?}"))
    }

    /// Waits until a whole message is at the carrier, once.
    async fn arrived(&self, to: &str, text: &str) {
        eventually(&format!("{text:?} is at the carrier"), SOON, async || {
            match self.carrier.accepted(to, text) {
                1 => Ok(()),
                _ => Err(format!("{:?}", self.carrier.messages(10))),
            }
        })
        .await;
    }

    /// A person writes to our number.
    fn says(&self, person: &str, text: &str) {
        let injection = Injection {
            from: digits(person),
            to: OURS.to_owned(),
            text: text.to_owned(),
            account: None,
            long: None,
        };
        self.carrier.inject(&injection).unwrap();
    }
}

fn digits(number: &str) -> String {
    number.trim_start_matches('+').to_owned()
}

/// A test for each library.
macro_rules! with_each_library {
    ($($story:ident => $npm:ident, $jsmpp:ident, $cloudhopper:ident, $smpplib:ident;)*) => {$(
        #[tokio::test]
        async fn $npm() {
            $story(EsmeBy::Npm).await;
        }
        #[tokio::test]
        async fn $jsmpp() {
            $story(EsmeBy::Jsmpp).await;
        }
        #[tokio::test]
        async fn $cloudhopper() {
            $story(EsmeBy::Cloudhopper).await;
        }
        #[tokio::test]
        async fn $smpplib() {
            $story(EsmeBy::Smpplib).await;
        }
    )*};
}

with_each_library! {
    submits_and_is_told =>
        npms_esme_submits_gets_its_receipt_and_what_people_say,
        jsmpps_esme_submits_gets_its_receipt_and_what_people_say,
        cloudhoppers_esme_submits_gets_its_receipt_and_what_people_say,
        smpplibs_esme_submits_gets_its_receipt_and_what_people_say;
}

async fn submits_and_is_told(by: EsmeBy) {
    let world = Platform::begin().await;
    let esme = Esme::bind(by, &world.login()).await;
    let person = number(0);
    let id = esme.submit(OURS, &digits(&person), "Dinner is ready", &[("receipt", "1")]).await;
    world.arrived(&person, "Dinner is ready").await;
    let receipt = esme.until("receipt", 1).await.remove(0);
    assert_eq!(receipt["id"].as_str(), Some(id.as_str()), "{receipt}");
    assert_eq!(receipt["tlv_id"].as_str(), Some(id.as_str()), "{receipt}");
    assert_eq!((&receipt["stat"], &receipt["tlv_state"]), (&"DELIVRD".into(), &2.into()), "{receipt}");
    assert_eq!(
        (text(&receipt, "from"), text(&receipt, "to")),
        (digits(&person), OURS.to_owned()),
        "{receipt}"
    );

    let long = "Vi äter klockan sju 🍲 och sedan går vi ut. ".repeat(6);
    for said in ["On my way", "Kommer snart 🔔", long.trim()] {
        world.says(&person, said);
        let heard = eventually("it is heard", SOON, async || {
            let heard = esme.events("inbound");
            heard.iter().find(|heard| text(heard, "text") == said).cloned().ok_or(format!("{heard:?}"))
        })
        .await;
        assert_eq!((text(&heard, "from"), text(&heard, "to")), (digits(&person), OURS.to_owned()), "{heard}");
    }
    assert_eq!((esme.events("receipt").len(), esme.events("inbound").len()), (1, 3));
    esme.unbind().await;
}

#[track_caller]
fn text(event: &Value, field: &str) -> String {
    event[field].as_str().unwrap_or_else(|| panic!("no {field} in {event}")).to_owned()
}

#[tokio::test]
async fn every_library_binds_in_every_mode_and_is_refused_with_the_wrong_words() {
    let world = Platform::begin().await;
    let world = &world;
    let tries = EsmeBy::ALL.into_iter().flat_map(|by| {
        ["transceiver", "transmitter", "receiver"].map(move |mode| async move {
            Esme::bind(by, &world.login().mode(mode)).await.unbind().await;
        })
    });
    join_all(tries).await;
    let refusals = EsmeBy::ALL.map(async |by| {
        let wrong = Login { password: "Secret".to_owned(), ..world.login() };
        let unknown = Login::new(world.port, "somebody");
        for login in [wrong, unknown] {
            let refusal = Esme::try_bind(by, &login).await.err().unwrap_or_else(|| panic!("{by:?} is bound"));
            assert_eq!(refusal["status"], 0x0E, "{by:?} learns no names: {refusal}");
        }
    });
    join_all(refusals).await;
}

/// What a library makes of a long text, as it would for any SMSC: the carrier has it whole, and each of its
/// submissions has a receipt.
#[tokio::test]
async fn long_messages_and_emoji_arrive_whole_however_a_library_splits_them() {
    let world = Platform::begin().await;
    let gsm = "The river {has} left its bed, €5 for a boat. ".repeat(8).trim().to_owned();
    let ucs2 = "Η πλατεία είναι κλειστή 🔔 μείνετε σπίτι 🏠. ".repeat(5).trim().to_owned();
    // Whose splitting, of which kind, in which coding, in how many submissions.
    let cases = [
        (EsmeBy::Jsmpp, "sar", "0", 3),
        (EsmeBy::Jsmpp, "udh16", "8", 4),
        (EsmeBy::Jsmpp, "payload", "8", 1),
        (EsmeBy::Cloudhopper, "udh8", "0", 3),
        (EsmeBy::Cloudhopper, "udh8", "8", 4),
        (EsmeBy::Cloudhopper, "payload", "0", 1),
        (EsmeBy::Smpplib, "udh8", "0", 3),
        (EsmeBy::Smpplib, "udh8", "8", 4),
        (EsmeBy::Npm, "payload", "8", 1),
    ];
    let world = &world;
    let each = EsmeBy::ALL.map(async |by| {
        let esme = Esme::bind(by, &world.login_of(by)).await;
        let mut ids = Vec::new();
        for (place, (_, long, coding, parts)) in cases.iter().enumerate().filter(|(_, case)| case.0 == by) {
            let (to, text) = (number(10 + place as u64), if *coding == "8" { &ucs2 } else { &gsm });
            let fields = [
                ("from", OURS),
                ("to", to.trim_start_matches('+')),
                ("text", text),
                ("long", long),
                ("coding", coding),
                ("receipt", "1"),
            ];
            let answers = esme.answers("submit", &fields, *parts).await;
            assert_eq!(answers.len(), *parts, "{by:?} {long}");
            for answer in answers {
                assert_eq!(answer["status"], 0, "{by:?} {long}: {answer}");
                ids.push(text_of_id(&answer));
            }
            world.arrived(&to, text).await;
        }
        ids.sort();
        let mut receipted = eventually("each submission has a receipt", SOON, async || {
            let receipts = esme.events("receipt");
            if receipts.len() >= ids.len() {
                Ok(receipts)
            } else {
                Err(format!("{by:?} {ids:?} {receipts:?}"))
            }
        })
        .await;
        receipted.sort_by_key(text_of_id);
        assert_eq!(receipted.iter().map(text_of_id).collect::<Vec<_>>(), ids, "{by:?}");
        assert!(receipted.iter().all(|receipt| receipt["stat"] == "DELIVRD"), "{receipted:?}");
    });
    join_all(each).await;
    assert_eq!(world.carrier.stats().repeats, 0);
}

fn text_of_id(event: &Value) -> String {
    text(event, "id")
}

/// In SMPP's relative time (SMPP 3.4, section 7.1.1).
const IN_AN_HOUR: &str = "000000010000000R";
const IN_THREE_SECONDS: &str = "000000000003000R";
/// States (SMPP 3.4, section 5.2.28).
const ENROUTE: [u64; 2] = [0, 1];
const DELIVERED: u64 = 2;
const DELETED: u64 = 4;

#[tokio::test]
async fn what_waits_is_queried_replaced_and_taken_back() {
    let world = Platform::begin().await;
    let world = &world;
    let each = [EsmeBy::Jsmpp, EsmeBy::Cloudhopper, EsmeBy::Npm].map(async |by| {
        let esme = Esme::bind(by, &world.login_of(by)).await;
        let place = 30 + 2 * by as u64;
        let (gone, changed) = (number(place), number(place + 1));
        let (to_gone, to_changed) = (digits(&gone), digits(&changed));
        let state = async |id: &str| esme.ask("query", &[("id", id), ("from", OURS)]).await;

        let taken_back =
            esme.submit(OURS, &to_gone, "never", &[("receipt", "1"), ("schedule", IN_AN_HOUR)]).await;
        let answer = state(&taken_back).await;
        assert!(ENROUTE.iter().any(|code| answer["code"] == *code), "{by:?}: {answer}");
        let cancel = [("id", taken_back.as_str()), ("from", OURS), ("to", &to_gone)];
        assert_eq!(esme.ask("cancel", &cancel).await["status"], 0, "{by:?}");
        assert_eq!(state(&taken_back).await["code"], DELETED, "{by:?}");
        let again = esme.ask("cancel", &cancel).await;
        assert_ne!(again["status"], 0, "{by:?}: {again}");

        let replaced = esme
            .submit(OURS, &to_changed, "at seven", &[("receipt", "1"), ("schedule", IN_THREE_SECONDS)])
            .await;
        let replace = [("id", replaced.as_str()), ("from", OURS), ("text", "at eight")];
        assert_eq!(esme.ask("replace", &replace).await["status"], 0, "{by:?}");
        world.arrived(&changed, "at eight").await;
        let delivered = eventually("it is delivered", SOON, async || {
            let answer = state(&replaced).await;
            if answer["code"] == DELIVERED { Ok(answer) } else { Err(answer) }
        })
        .await;
        assert_eq!(delivered["status"], 0);
        assert_ne!(esme.ask("replace", &replace).await["status"], 0, "{by:?}: it has left");
        assert_eq!(world.carrier.accepted(&changed, "at seven"), 0, "{by:?}");
        assert_eq!(world.carrier.accepted(&gone, "never"), 0, "{by:?}");
        let nobodys = esme.ask("query", &[("id", "ffffffffffff"), ("from", OURS)]).await;
        assert_ne!(nobodys["status"], 0, "{by:?}: {nobodys}");
    });
    join_all(each).await;
}

#[tokio::test]
async fn a_message_to_several_and_one_by_data_sm_are_sent() {
    let world = Platform::begin().await;
    let numbers: Vec<String> = (40..43).map(number).collect();
    let to = numbers.iter().map(|number| digits(number)).collect::<Vec<_>>().join(",");
    for by in [EsmeBy::Jsmpp, EsmeBy::Npm] {
        let esme = Esme::bind(by, &world.login()).await;
        let words = format!("to all of you from {by:?}");
        let answer =
            esme.ask("multi", &[("from", OURS), ("to", &to), ("text", &words), ("receipt", "1")]).await;
        assert_eq!((&answer["status"], &answer["refused"]), (&0.into(), &0.into()), "{answer}");
        for number in &numbers {
            world.arrived(number, &words).await;
        }
        let receipts = esme.until("receipt", numbers.len()).await;
        assert_eq!(receipts.len(), numbers.len(), "{receipts:?}");

        let words = format!("by data_sm from {by:?}");
        let to = digits(&number(43));
        let answer =
            esme.ask("data", &[("from", OURS), ("to", &to), ("text", &words), ("receipt", "1")]).await;
        assert_eq!(answer["status"], 0, "{answer}");
        world.arrived(&number(43), &words).await;
        let receipts = esme.until("receipt", numbers.len() + 1).await;
        assert!(receipts.iter().any(|receipt| receipt["id"] == answer["id"]), "{answer} {receipts:?}");
    }
}

#[tokio::test]
async fn receipts_and_words_of_people_wait_until_a_receiver_binds_also_over_a_kill() {
    let mut world = Platform::begin().await;
    let transmitter = Esme::bind(EsmeBy::Smpplib, &world.login().mode("transmitter")).await;
    let mut ids = Vec::new();
    for place in 0..5 {
        ids.push(transmitter.submit(OURS, &digits(&number(place)), "hello", &[("receipt", "1")]).await);
    }
    transmitter.unbind().await;
    world.says(&number(0), "who is this?");
    eventually("the carrier has brought all", SOON, async || {
        let stats = world.carrier.stats();
        if stats.letters.confirmed == 6 { Ok(()) } else { Err(format!("{stats:?}")) }
    })
    .await;
    world.server.kill9();
    world.server.restart().await;
    let receiver = Esme::bind(EsmeBy::Jsmpp, &world.login().mode("receiver")).await;
    // What was not folded yet at the kill may be told again.
    ids.sort();
    eventually("each is told", SOON, async || {
        let mut receipted: Vec<String> = receiver.events("receipt").iter().map(text_of_id).collect();
        receipted.sort();
        receipted.dedup();
        if receipted == ids { Ok(()) } else { Err(format!("{receipted:?} of {ids:?}")) }
    })
    .await;
    assert_eq!(receiver.until("inbound", 1).await[0]["text"], "who is this?");
    // What was confirmed does not come again.
    receiver.unbind().await;
    let again = Esme::bind(EsmeBy::Npm, &world.login()).await;
    again.submit(OURS, &digits(&number(6)), "last", &[("receipt", "1")]).await;
    assert_eq!(again.until("receipt", 1).await.len(), 1);
    assert!(again.events("inbound").is_empty());
}

#[tokio::test]
async fn what_the_carrier_refuses_or_cannot_deliver_is_told_as_such() {
    let carrier = carrier_that(|options| {
        let prefix = |digits: &str| sim::smsc::Prefix { prefix: digits.to_owned(), ..Default::default() };
        options.prefixes = vec![
            sim::smsc::Prefix {
                states: Some(vec![sim::smsc::StateShare {
                    state: sim::smsc::ReceiptStage::Undeliverable,
                    share: 1.0,
                    error: 1,
                }]),
                ..prefix(&digits(&number(1)))
            },
            sim::smsc::Prefix {
                errors: Some(vec![sim::smsc::ErrorShare { status: "RINVDSTADR".to_owned(), share: 1.0 }]),
                ..prefix(&digits(&number(2)))
            },
        ];
    })
    .await;
    let world = Platform::behind(carrier, "").await;
    let esme = Esme::bind(EsmeBy::Cloudhopper, &world.login()).await;
    let mut expected = Vec::new();
    for (place, stat) in [(0, "DELIVRD"), (1, "UNDELIV"), (2, "REJECTD")] {
        let id = esme.submit(OURS, &digits(&number(place)), "hello", &[("receipt", "1")]).await;
        expected.push((id, stat.to_owned()));
    }
    let receipts = esme.until("receipt", 3).await;
    let mut told: Vec<_> =
        receipts.iter().map(|receipt| (text_of_id(receipt), text(receipt, "stat"))).collect();
    told.sort();
    expected.sort();
    assert_eq!(told, expected, "{receipts:?}");
}
