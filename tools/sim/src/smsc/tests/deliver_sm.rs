//! Receipts, answers and messages of phones, as a scenario says them.

use super::super::*;
use super::client::{Client, QueuedDeliverSm, message};
use smpp::pdu::{BindMode, Command, SubmitSm, registered_delivery};
use smpp::status::Status;
use smpp::text::udh::UserData;
use smpp::tlv::Tlvs;
use std::time::{Duration, Instant};

async fn start(scenario: &str) -> Smsc {
    Smsc::start(Scenario::from_toml(scenario).unwrap()).await.unwrap()
}

#[tokio::test]
async fn receipts_tell_the_states_of_the_mix_and_each_prefix_has_its_own() {
    let smsc = start(
        r#"
        [receipts]
        delay = "0"
        states = [{ state = "EXPIRED", share = 1.0, error = 9 }]
        [[prefixes]]
        prefix = "4671"
        states = [{ state = "REJECTD", share = 1.0 }]
        "#,
    )
    .await;
    let mut client = Client::transceiver(&smsc).await;
    for (to, number, words) in [("46701", 3, "stat:EXPIRED err:009"), ("46711", 8, "stat:REJECTD err:000")] {
        let id = client.submit(to, "x").await.id;
        let letter = client.letter().await;
        assert_eq!(letter.receipted, Some((id, number)));
        assert!(letter.text.contains(words), "{}", letter.text);
        assert!(letter.text.contains("dlvrd:000"), "{}", letter.text);
    }
}

#[tokio::test]
async fn receipts_take_the_form_pdu_class_and_words_they_are_given() {
    let smsc = start(
        r#"
        ids = "decimal_then_padded"
        [receipts]
        delay = "0"
        pdu = "data_sm"
        esm_class = 0
        form = "text"
        template = "{to} {stat} {id}"
        "#,
    )
    .await;
    let mut client = Client::transceiver(&smsc).await;
    let id = client.submit("46701", "x").await.id;
    let letter = client.letter().await;
    assert_eq!((letter.command, letter.esm_class, letter.receipted), (Command::DATA_SM, 0, None));
    assert_eq!(letter.text, format!("46701 DELIVRD {id:0>20}"));
}

#[tokio::test]
async fn a_receipt_comes_again_later_or_never_or_with_word_of_the_way() {
    let smsc = start("[receipts]\ndelay = \"0\"\ntwice = 1.0\ntwice_after = \"80ms\"").await;
    let mut client = Client::transceiver(&smsc).await;
    let begin = Instant::now();
    client.submit("46701", "x").await;
    let (first, again) = (client.letter().await, client.letter().await);
    assert_eq!(first, again);
    assert!(begin.elapsed() >= Duration::from_millis(80));

    let smsc = start("[receipts]\ndelay = \"0\"\nlost = 1.0").await;
    let mut client = Client::transceiver(&smsc).await;
    client.submit("46701", "x").await;
    assert!(client.is_quiet_for(Duration::from_millis(60)).await);

    let smsc = start("[receipts]\ndelay = \"30ms\"").await;
    let mut client = Client::transceiver(&smsc).await;
    let flag = registered_delivery::FINAL | registered_delivery::INTERMEDIATE;
    client.ask(&SubmitSm { registered_delivery: flag, ..message("46701", "x") }).await;
    let states = [client.letter().await, client.letter().await].map(|l| l.receipted.map(|(_, state)| state));
    assert_eq!(states, [Some(1), Some(2)]);
}

#[tokio::test]
async fn a_receipt_before_its_answer_names_the_same_message() {
    let smsc = start("[receipts]\nearly = 1.0").await;
    let mut client = Client::transceiver(&smsc).await;
    client.send(&message("46701", "x")).await;
    let super::client::Got::DeliverSm(receipt) = client.next().await else { panic!("the receipt is first") };
    let super::client::Got::Answer(answer) = client.next().await else { panic!() };
    assert_eq!(receipt.receipted.map(|(id, _)| id), Some(answer.id));
}

#[tokio::test]
async fn receipts_go_over_the_bind_that_is_asked_for_or_another_account() {
    for (bind, expected) in [("same", [true, false]), ("other", [false, true])] {
        let smsc = start(&format!("[receipts]\ndelay = \"0\"\nbind = \"{bind}\"")).await;
        let (mut one, mut two) = (Client::transceiver(&smsc).await, Client::transceiver(&smsc).await);
        for _ in 0..5 {
            one.submit("46701", "x").await;
        }
        let [first, other] = if expected[0] { [&mut one, &mut two] } else { [&mut two, &mut one] };
        for _ in 0..5 {
            first.letter().await;
        }
        assert!(other.is_quiet_for(Duration::from_millis(30)).await, "{bind}");
    }
    // A transmitter receives nothing itself: "same" then means any.
    let smsc = start("[receipts]\ndelay = \"0\"\nbind = \"same\"").await;
    let mut transmitter = Client::bound(&smsc, "esme", BindMode::Transmitter).await;
    let mut receiver = Client::bound(&smsc, "esme", BindMode::Receiver).await;
    transmitter.submit("46701", "x").await;
    receiver.letter().await;

    let smsc = start("[receipts]\ndelay = \"0\"\naccount = \"reports\"").await;
    let mut submitter = Client::transceiver(&smsc).await;
    let mut reports = Client::bound(&smsc, "reports", BindMode::Receiver).await;
    submitter.submit("46701", "x").await;
    reports.letter().await;
    assert!(submitter.is_quiet_for(Duration::from_millis(30)).await);
}

#[tokio::test]
async fn letters_of_a_session_that_goes_are_brought_by_another() {
    let smsc = start("deliver_window = 1\n[receipts]\ndelay = \"0\"\nbind = \"same\"").await;
    let mut one = Client::transceiver(&smsc).await;
    for _ in 0..5 {
        one.send(&message("46701", "x")).await;
    }
    // One is on its way, four wait for this session alone; it reads none of them.
    super::stats_when(&smsc, |stats| stats.letters.receipts == 5 && stats.letters.sent == 1).await;
    drop(one);
    let mut other = Client::transceiver(&smsc).await;
    for _ in 0..5 {
        other.letter().await;
    }
    super::stats_when(&smsc, |stats| stats.letters.confirmed == 5 && stats.letters.waiting == 0).await;
}

#[tokio::test]
async fn phones_answer_keywords_and_expressions_in_their_time_and_share() {
    let smsc = start(
        r#"
        [receipts]
        on = "never"
        delay = "0"
        [[replies]]
        keyword = "stop"
        answer = "OK, no more"
        after = "0"
        [[replies]]
        regex = "(?i)answer (\\d) or (\\d)"
        answer = "$2"
        after = "60ms"
        [[replies]]
        answer = "perhaps"
        after = "0"
        share = 0.5
        "#,
    )
    .await;
    let mut client = Client::transceiver(&smsc).await;
    client.submit("46701740605", "Stop!").await;
    let letter = client.letter().await;
    assert_eq!(
        (letter.from.as_str(), letter.to.as_str(), letter.text.as_str()),
        ("46701740605", "71700", "OK, no more")
    );
    let begin = Instant::now();
    client.submit("46701740605", "Fire. Answer 1 or 2").await;
    assert_eq!(client.letter().await.text, "2");
    assert!(begin.elapsed() >= Duration::from_millis(60));
    for _ in 0..200 {
        client.submit("46701740605", "hello").await;
    }
    let replies = smsc.stats().letters.replies - 2;
    assert!((70..130).contains(&replies), "{replies}");
}

#[tokio::test]
async fn phones_write_at_their_rate_and_the_same_seed_writes_the_same() {
    let scenario = r##"
        seed = 3
        [inbound]
        rate = 400.0
        count = 30
        from = ["4670####"]
        to = ["71700", "+46731"]
        texts = ["hello {n}", "Åh {n}", "да {n}"]
    "##;
    let mut runs: Vec<Vec<QueuedDeliverSm>> = Vec::new();
    for _ in 0..2 {
        let smsc = start(scenario).await;
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(smsc.stats().letters.replies, 0, "nobody is bound to receive");
        let mut client = Client::bound(&smsc, "esme", BindMode::Receiver).await;
        let begin = Instant::now();
        let mut letters = Vec::new();
        for _ in 0..30 {
            letters.push(client.letter().await);
        }
        assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
        assert!(client.is_quiet_for(Duration::from_millis(60)).await, "30 were asked for");
        runs.push(letters);
    }
    assert_eq!(runs[0], runs[1]);
    assert!(runs[0].iter().zip(1..).all(|(letter, n)| letter.text.ends_with(&format!(" {n}"))));
}

#[tokio::test]
async fn long_messages_of_phones_come_in_parts_of_each_form() {
    let text = "Långt, länge: 0123456789 👍 ".repeat(12);
    for (long, shuffled) in [("udh8", false), ("udh16", true), ("sar", true), ("payload", false)] {
        let share = f64::from(u8::from(shuffled));
        let smsc = start(&format!(
            "[inbound]\nrate = 1000.0\ncount = 1\ntexts = [\"{text}\"]\nlong = \"{long}\"\nshuffled = {share:?}"
        ))
        .await;
        let mut client = Client::transceiver(&smsc).await;
        let mut parts: Vec<(u8, String)> = Vec::new();
        let mut order = Vec::new();
        loop {
            let letter = client.letter().await;
            let tlvs = Tlvs::parse(&letter.tlvs).unwrap();
            let has_udh = letter.esm_class & smpp::pdu::esm_class::UDHI != 0;
            let data = UserData::new(&letter.octets, has_udh, tlvs).unwrap();
            let (number, total) = data.concatenation.map_or((1, 1), |part| (part.number, part.total));
            parts.push((number, alphabet::read(letter.data_coding, data.text).into_owned()));
            order.push(number);
            if parts.len() == usize::from(total) {
                break;
            }
        }
        assert_eq!(order.is_sorted(), !shuffled, "{long}: {order:?}");
        assert_eq!(parts.len() == 1, long == "payload", "{long}");
        parts.sort_unstable();
        let joined: String = parts.into_iter().map(|(_, text)| text).collect();
        assert_eq!(joined, text, "{long}");
    }
}

#[tokio::test]
async fn a_message_can_be_put_in_by_hand() {
    let smsc = start("").await;
    let injection = Injection {
        from: "+46701740605".to_owned(),
        to: "71700".to_owned(),
        text: "x".repeat(400),
        account: None,
        long: Some(LongForm::Udh8),
    };
    assert!(smsc.inject(&injection).unwrap_err().contains("no account is bound"), "nobody is there");
    let mut client = Client::transceiver(&smsc).await;
    assert_eq!(smsc.inject(&injection), Ok(3));
    for number in 1..=3 {
        let letter = client.letter().await;
        assert_eq!((letter.from.as_str(), letter.octets[5]), ("46701740605", number));
    }
    assert_eq!(client.submit("46701", "x").await.status, Status::ROK);
}
