//! Platforms' messages: what they said goes out, and each ends when it says.

use super::*;
use records::{Short, ShortAddress, ShortText};

fn own(entry: &mut Entry, short: Short) {
    entry.own = Some(Box::new(Body::Short(Box::new(short))));
}

#[tokio::test]
async fn a_platforms_message_goes_out_as_it_said() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let mut segment = segment(1, Lane::Routine, 0, 3, "");
    segment.bodies.clear();
    own(
        &mut segment.entries[0],
        Short {
            source: ShortAddress { ton_npi: Some((5, 0)), addr: "Weather".into() },
            dest: Some((2, 8)),
            text: ShortText::Octets { data_coding: 8, octets: [0, 65][..].into() },
            udh: [0, 3, 1, 2, 1][..].into(),
            service_type: "WAP".into(),
            esm_class: 3,
            protocol_id: 0x41,
            priority_flag: Some(2),
            replace_if_present: true,
            registered_delivery: Some(0x12),
            tlvs: [0x02, 0x04, 0, 2, 1, 2][..].into(),
        },
    );
    own(
        &mut segment.entries[1],
        Short { text: ShortText::Text { text: "plain".into(), class: None }, ..Short::default() },
    );
    own(
        &mut segment.entries[2],
        Short {
            text: ShortText::Octets { data_coding: 0, octets: vec![b'x'; 400].into() },
            ..Short::default()
        },
    );
    test_route.append(&segment).await;
    let source = super::super::config::Source { ton: 3, npi: 0, addr: "72456".to_owned() };
    let running = run(SmsRoute { source, service_type: "CMT".to_owned(), ..route(&smsc) }, &test_route);
    let ended = test_route.until_ended(3).await;
    assert_eq!(ended.values().map(Vec::len).collect::<Vec<_>>(), [1, 1, 3]);
    assert!(ended.values().flatten().all(is_accepted), "{ended:?}");
    running.stop().await;
    let submitted = smsc.submitted();
    let first = &submitted[0];
    assert_eq!((first.source, first.from.as_str(), first.dest), ((5, 0), "Weather", (2, 8)));
    assert_eq!((first.octets.as_slice(), first.data_coding), (&[5, 0, 3, 1, 2, 1, 0, 65][..], 8));
    assert_eq!((first.esm_class, first.protocol_id, first.priority, first.replace), (0x43, 0x41, 2, 1));
    assert_eq!((first.registered, first.service_type.as_str()), (0x12, "WAP"));
    assert_eq!(first.tlvs, [0x02, 0x04, 0, 2, 1, 2]);
    let plain = &submitted[1];
    assert_eq!((plain.source, plain.from.as_str(), plain.dest), ((3, 0), "72456", (1, 1)));
    assert_eq!(
        (plain.octets.as_slice(), plain.service_type.as_str(), plain.registered),
        (&b"plain"[..], "CMT", 1)
    );
}

#[tokio::test]
async fn a_message_that_ends_before_the_others_is_not_written_after_and_asks_for_no_longer() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let mut segment = segment(1, Lane::Routine, 0, 4, "hello");
    segment.entries[0].expires = Some(wall().plus_s(-1));
    segment.entries[2].expires = Some(wall().plus_s(-1));
    segment.entries[3].expires = Some(wall().plus_s(100));
    test_route.append(&segment).await;
    let running = run(route(&smsc), &test_route);
    let ended = test_route.until_ended(4).await;
    test_route.until_acknowledged().await;
    running.stop().await;
    let expired: Vec<u32> = ended
        .iter()
        .filter(|(_, results)| not_tried(&results[0]) == Some(NotTried::Expired))
        .map(|(endpoint, _)| *endpoint)
        .collect();
    assert_eq!(expired, [0, 2]);
    let validity: Vec<String> = smsc.submitted().into_iter().map(|submitted| submitted.validity).collect();
    assert_eq!(validity.len(), 2);
    let minutes =
        |text: &str| text[8..10].parse::<u32>().unwrap() * 60 + text[10..12].parse::<u32>().unwrap();
    assert!((90..=100).contains(&minutes(&validity[1])), "{validity:?}");
    assert_ne!(validity[0], validity[1]);
}
