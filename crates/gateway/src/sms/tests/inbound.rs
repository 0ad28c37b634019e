//! Messages from people.

use super::smsc::Delivery;
use super::*;
use records::{Inbound, InboundOctets};
use smpp::pdu::esm_class::UDHI;
use smpp::text::Charset;
use smpp::text::udh::concat8;

fn from_people(seen: &[Outcome]) -> Vec<Inbound> {
    seen.iter()
        .filter_map(|outcome| match outcome {
            Outcome::Inbound(inbound) => Some(inbound.clone()),
            _ => None,
        })
        .collect()
}

fn parts(text: &str, of: u8) -> Vec<Delivery> {
    let mut octets = Vec::new();
    Charset::Ucs2.encode(text, &mut octets).unwrap();
    let size = octets.len().div_ceil(usize::from(of));
    (1..)
        .zip(octets.chunks(size))
        .map(|(number, chunk)| Delivery {
            from: "46701234567".to_owned(),
            to: "72456".to_owned(),
            octets: [&concat8(9, of, number)[..], chunk].concat(),
            data_coding: 8,
            esm_class: UDHI,
        })
        .collect()
}

#[tokio::test]
async fn a_message_from_a_person_is_on_record_before_it_is_answered() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let topic = test_route.topic();
    smsc.probe(move |answers| assert!(from_people(&all_outcomes(&*topic)).len() >= answers));
    let running = run(SmsRoute { bind: Binding::Receiver, ..route(&smsc) }, &test_route);
    for text in ["1", "2", "I am safe"] {
        let (from, to) = ("46701234567".to_owned(), "72456".to_owned());
        smsc.deliver(Delivery { from, to, octets: text.as_bytes().to_vec(), ..Delivery::default() });
    }
    let inbound =
        test_route.until("heard", |seen| Some(from_people(seen)).filter(|heard| heard.len() == 3)).await;
    let said: Vec<_> = inbound
        .iter()
        .map(|inbound| (inbound.from.as_str(), inbound.to.as_str(), inbound.text.as_str()))
        .collect();
    assert_eq!(said, ["1", "2", "I am safe"].map(|text| ("+46701234567", "72456", text)));
    assert!(inbound.iter().all(|inbound| inbound.channel == channels::SMS && inbound.route == ROUTE));
    wait_for("answered", || smsc.delivered().len() == 3).await;
    running.stop().await;
}

#[tokio::test]
async fn a_long_message_is_put_together_over_a_restart_whatever_the_order_of_its_parts() {
    // A pair of surrogates is cut in two between the second and the third part.
    let text = "ab🗼cd🗼e";
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let parts = parts(text, 3);
    let running = run(route(&smsc), &test_route);
    smsc.deliver(parts[2].clone());
    smsc.deliver(parts[0].clone());
    wait_for("answered", || smsc.delivered().len() == 2).await;
    assert_eq!(from_people(&test_route.outcomes()), vec![]);
    running.stop().await;

    let running = run(route(&smsc), &test_route);
    smsc.deliver(parts[1].clone());
    let inbound = test_route.until("heard", |seen| from_people(seen).pop()).await;
    assert_eq!(inbound.text, text);
    wait_for("answered", || smsc.delivered().len() == 3).await;
    let kept = test_route.bus.retained(&format!("joins/{ROUTE}")).unwrap();
    wait_for("forgotten", || kept.all().is_empty()).await;
    running.stop().await;
}

#[tokio::test]
async fn a_message_with_a_broken_header_is_refused_and_others_are_heard() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let running = run(route(&smsc), &test_route);
    smsc.deliver(Delivery { octets: vec![200, 1, 2], esm_class: UDHI, ..Delivery::default() });
    smsc.deliver(Delivery { octets: b"2".to_vec(), ..Delivery::default() });
    test_route.until("heard", |seen| from_people(seen).pop()).await;
    wait_for("answered", || smsc.delivered().len() == 2).await;
    assert_eq!(smsc.delivered(), [smpp::Status::RX_R_APPN, smpp::Status::ROK]);
    running.stop().await;
}

#[tokio::test]
async fn what_is_no_text_or_has_a_header_of_its_own_comes_as_octets_too() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let running = run(route(&smsc), &test_route);
    let said = |data_coding, esm_class, octets: &[u8]| {
        smsc.deliver(Delivery { octets: octets.to_vec(), data_coding, esm_class, ..Delivery::default() });
    };
    said(0, 0, b"plain");
    said(4, 0, &[0, 1, 0xFF]);
    // A port; a Turkish text; a picture in two parts, each with its port.
    said(0, UDHI, &[&[6, 5, 4, 0x15, 0x8A, 0, 0][..], b"ring"].concat());
    said(0, UDHI, &[&[3, 0x24, 1, 1][..], &[0x1B, 0x67]].concat());
    for number in 1..=2 {
        said(0xF5, UDHI, &[11, 0, 3, 7, 2, number, 5, 4, 1, 2, 3, 4, number, number]);
    }
    let heard =
        test_route.until("heard", |seen| Some(from_people(seen)).filter(|heard| heard.len() == 5)).await;
    running.stop().await;
    let more = |data_coding, udh: &[u8], octets: &[u8]| {
        Some(InboundOctets { data_coding, udh: udh.to_vec(), octets: octets.to_vec() })
    };
    let octets: Vec<_> = heard.iter().map(|inbound| inbound.octets.as_deref().cloned()).collect();
    let expected = [
        None,
        more(4, &[], &[0, 1, 0xFF]),
        more(0, &[5, 4, 0x15, 0x8A, 0, 0], b"ring"),
        None,
        more(0xF5, &[5, 4, 1, 2, 3, 4], &[1, 1, 2, 2]),
    ];
    assert_eq!(octets, expected);
    let texts: Vec<&str> = heard.iter().map(|inbound| inbound.text.as_str()).collect();
    assert_eq!(texts, ["plain", "", "ring", "ğ", ""], "octets are no text");
}

#[tokio::test]
async fn every_alphabet_of_the_table_is_read_and_a_message_class_is_kept() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let running = run(route(&smsc), &test_route);
    let cases: [(u8, &[u8], &str, bool); 8] = [
        (1, b"plain\0", "plain", false),
        (3, b"Gr\xFC\xDFe", "Grüße", false),
        (5, b"\x82\xB1\x82\xF1", "こん", false),
        (6, b"\xBF\xE0\xD8\xD2\xD5\xE2", "Привет", false),
        (7, b"\xF9\xEC\xE5\xED", "שלום", false),
        (14, b"\xBE\xC8\xB3\xE7", "안녕", false),
        (0x12, b"@\0", "¡@", true),
        (0xF1, b"a", "a", true),
    ];
    for (data_coding, octets, ..) in cases {
        smsc.deliver(Delivery { octets: octets.to_vec(), data_coding, ..Delivery::default() });
    }
    let heard =
        test_route.until("heard", |seen| Some(from_people(seen)).filter(|heard| heard.len() == 8)).await;
    running.stop().await;
    for (inbound, (data_coding, _, text, has_class)) in heard.iter().zip(cases) {
        let kept = inbound.octets.as_ref().map(|octets| octets.data_coding);
        assert_eq!((inbound.text.as_str(), kept), (text, has_class.then_some(data_coding)));
    }
}

#[tokio::test]
async fn a_receipt_is_known_by_its_text_whatever_marks_it_and_in_whatever_coding() {
    use records::DlrState;
    use smpp::pdu::esm_class::RECEIPT;
    let text =
        "id:7A sub:001 dlvrd:000 submit date:2611210101 done date:2611210102 stat:REJECTD err:12B text:x";
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let running = run(route(&smsc), &test_route);
    let cases = [
        (text.as_bytes(), 0, RECEIPT),
        (&wide, 8, RECEIPT),
        (&wide, 0, RECEIPT),
        (text.as_bytes(), 0, UDHI),
        (text.as_bytes(), 0, 0),
        (&wide, 8, 0),
    ];
    for (octets, data_coding, esm_class) in cases {
        smsc.deliver(Delivery { octets: octets.to_vec(), data_coding, esm_class, ..Delivery::default() });
    }
    smsc.deliver(Delivery { octets: b"my id: stat:DELIVRD".to_vec(), ..Delivery::default() });
    let receipts = |seen: &[Outcome]| -> Vec<records::CarrierReceipt> {
        let receipt = |outcome: &Outcome| match outcome {
            Outcome::CarrierReceipt(of) => Some((**of).clone()),
            _ => None,
        };
        seen.iter().filter_map(receipt).collect()
    };
    test_route.until("heard", |seen| from_people(seen).pop()).await;
    let heard = receipts(&test_route.outcomes());
    running.stop().await;
    assert_eq!(heard.len(), cases.len());
    for (of, (.., esm_class)) in heard.iter().zip(cases) {
        assert_eq!((of.receipt.id.as_str(), of.report.state), ("7A", Some(DlrState::Rejected)));
        assert_eq!((&*of.report.error, of.report.done), ("12B", Some(Timestamp(1_795_222_920_000_000))));
        assert_eq!(of.receipt.keys, heard[0].receipt.keys);
        // Where nothing marks it, it may be a person's message.
        let person = of.otherwise.as_ref().map(|inbound| inbound.text.as_str());
        assert_eq!(person, (esm_class == 0).then_some(text));
    }
}
