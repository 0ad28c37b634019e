//! Short seeded form of the fuzz targets: no octets of a peer break a decoder, and what is accepted comes
//! back as it was. PDUs and sessions have theirs beside them.

use crate::receipt::{IdForm, Receipt, receipt_keys};
use crate::samples::{Pool, Random};
use crate::text::join::{Joined, Joiner};
use crate::text::national::{Language, Shift};
use crate::text::udh::{Concatenation, UserData, concat8, concat16, locking_shift, single_shift};
use crate::text::{Charset, Concat, PARTS_MAX, parts, split};
use crate::time::SmppTime;
use crate::tlv::{Tag, TlvBuf, Tlvs};
use std::time::{Duration, Instant};

/// Rounds of each test.
const ROUNDS: usize = 20_000;

/// Changes some octets: another value, one more, one less, an end.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(5) {
            0 => bytes.insert(at, random.next() as u8),
            1 => bytes.truncate(at),
            _ if at == bytes.len() => {}
            2 => drop(bytes.remove(at)),
            3 => bytes[at] = random.next() as u8,
            _ => bytes[at] = [0, 1, 0x1B, 0x7F, 0x80, 0xFF][random.below(6)],
        }
    }
}

#[test]
fn tlvs_survive_mutated_input_and_come_back_as_they_were() {
    let mut random = Random(0x5EED_0010);
    let mut accepted = 0;
    for round in 0..ROUNDS {
        let mut buf = TlvBuf::new();
        for _ in 0..random.below(5) {
            let tag = Tag::ALL[random.below(Tag::ALL.len())];
            buf.push(tag, &vec![random.next() as u8; random.below(12)]).unwrap();
        }
        let mut bytes = buf.as_tlvs().as_bytes().to_vec();
        mutate(&mut bytes, &mut random);
        let Ok(tlvs) = Tlvs::parse(&bytes) else { continue };
        accepted += 1;
        let mut again = TlvBuf::new();
        for tlv in tlvs.iter() {
            again.push(tlv.tag, tlv.value).unwrap();
        }
        assert_eq!(again.as_tlvs().as_bytes(), bytes, "round {round}");
        let fits = |tag: &Tag| tlvs.find_all(*tag).all(|value| tag.octets_allowed().contains(&value.len()));
        assert_eq!(tlvs.check().is_ok(), Tag::ALL.iter().all(fits), "round {round}");
    }
    assert!(accepted > ROUNDS / 10, "{accepted}");
}

#[test]
fn what_is_taken_of_a_carriers_parameters_is_taken_again_as_it_is() {
    // The reserved tag 0 with whole parameters inside its value, and an octet behind it.
    let found = [0, 0, 0, 7, 0, 1, 0, 0, 0, 0, 0, 1];
    assert!(Tlvs::parse_whole(&found).is_empty());
    let mut random = Random(0x5EED_0012);
    for round in 0..ROUNDS {
        let mut bytes = vec![0; random.below(5)];
        for _ in 0..random.below(4) {
            bytes.extend_from_slice(&[0, random.below(4) as u8, 0, random.below(4) as u8]);
            bytes.extend(std::iter::repeat_n(random.below(2) as u8, random.below(5)));
        }
        if !bytes.is_empty() {
            mutate(&mut bytes, &mut random);
        }
        let once = Tlvs::parse_whole(&bytes);
        assert_eq!(Tlvs::parse_whole(once.as_bytes()), once, "round {round}: {bytes:?}");
    }
}

#[test]
fn times_survive_mutated_input_and_come_back_as_they_were() {
    let mut random = Random(0x5EED_0011);
    let mut accepted = 0;
    for round in 0..ROUNDS {
        let mut bytes =
            [b"260102150405708-", b"000000010000000R", b"991231235959948+"][random.below(3)].to_vec();
        for _ in 0..random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] = b"0123456789R+-"[random.below(13)];
        }
        if random.chance(10) {
            mutate(&mut bytes, &mut random);
        }
        if let Some(time) = SmppTime::parse(&bytes) {
            accepted += 1;
            // Minus no quarters is plus no quarters.
            let expected = if &bytes[13..] == b"00-" { [&bytes[..15], b"+"].concat() } else { bytes.clone() };
            assert_eq!(time.to_bytes(), &expected[..], "round {round}");
            assert_eq!(SmppTime::parse(&expected), Some(time), "round {round}");
        }
    }
    assert!(accepted > ROUNDS / 10, "{accepted}");
}

#[test]
fn receipts_survive_mutated_input() {
    let mut random = Random(0x5EED_0012);
    let text = b"id:1A2B3C sub:001 dlvrd:001 submit date:2601021504 done date:260102150530 stat:DELIVRD err:000 text:hi";
    let mut known = 0;
    for _ in 0..ROUNDS {
        let mut bytes = text.to_vec();
        mutate(&mut bytes, &mut random);
        let (words, tail) = bytes.split_at(random.below(bytes.len() + 1));
        let receipt = Receipt::parse(words, Tlvs::parse(tail).unwrap_or_default());
        for id in receipt.ids() {
            known += 1;
            for form in [IdForm::AsIs, IdForm::HexToDecimal, IdForm::DecimalToHex, IdForm::Auto] {
                assert!(!receipt_keys(id, form).as_slice().is_empty());
            }
        }
        let mut again = Vec::new();
        receipt.write_text(&mut again);
        assert!(again.starts_with(b"id:"));
    }
    assert!(known > ROUNDS / 2, "{known}");
}

#[test]
fn texts_survive_mutated_input_and_are_cut_as_they_are_counted() {
    let mut random = Random(0x5EED_0013);
    let charsets = [Charset::Gsm7, Charset::Ascii, Charset::Latin1, Charset::Ucs2, Charset::Binary];
    for round in 0..ROUNDS / 10 {
        let mut bytes = "Sirens {test} at noon: 5 € 😀 ışık नमस्ते ".repeat(1 + random.below(8)).into_bytes();
        mutate(&mut bytes, &mut random);
        let text = String::from_utf8_lossy(&bytes);
        for charset in charsets {
            let _ = charset.decode(&bytes);
            let mut octets = Vec::new();
            charset.encode_lossy(&text, &mut octets);
            for concat in [Concat::Udh8, Concat::Udh16, Concat::Sar] {
                let count = parts(&text, charset, concat);
                assert!(count <= PARTS_MAX);
                assert_eq!(split(&octets, charset, concat, 1).unwrap().len(), count, "round {round}");
            }
        }
        let language = Language::ALL[random.below(Language::ALL.len())];
        for shift in [
            Shift { locking: Some(language), single: None },
            Shift { locking: None, single: Some(language) },
            Shift { locking: Some(language), single: Some(language) },
        ] {
            let shown = shift.decode(&bytes);
            assert!(shown.chars().count() <= bytes.len());
        }
    }
}

#[test]
fn headers_and_joining_survive_mutated_input_within_their_limits() {
    const SETS_MAX: usize = 8;
    let mut random = Random(0x5EED_0014);
    let mut now = Instant::now();
    let mut joiner: Joiner<Vec<u8>> = Joiner::new(Duration::from_secs(1), SETS_MAX, 1_000);
    let (mut complete, mut given_up, mut bad) = (0, 0, 0);
    for round in 0..ROUNDS {
        let (reference, total) = (random.below(4) as u8, 1 + random.below(3) as u8);
        let number = 1 + random.below(usize::from(total)) as u8;
        let mut bytes = match random.below(3) {
            0 => concat8(reference, total, number).to_vec(),
            1 => concat16(u16::from(reference), total, number).to_vec(),
            _ => [&[6][..], &single_shift(reference), &locking_shift(total)].concat(),
        };
        bytes.extend_from_slice(b"some text");
        mutate(&mut bytes, &mut random);
        now += Duration::from_millis(random.below(100) as u64);
        joiner.handle_timeout(now);
        match UserData::new(&bytes, true, Tlvs::NONE) {
            Err(_) => bad += 1,
            Ok(data) => {
                let _ =
                    (data.udh.ports(), Shift::of(data.udh).decode(data.text), data.udh.elements().count());
                let Some(place) = data.concatenation else { continue };
                let Concatenation { total, number, .. } = place;
                assert!(number > 0 && number <= total, "round {round}");
                let source = [random.below(3) as u8];
                if let Joined::Complete(parts) = joiner.insert(&source, b"1", place, data.text.to_vec(), now)
                {
                    assert_eq!(parts.len(), usize::from(total), "round {round}");
                    complete += 1;
                }
            }
        }
        given_up += std::iter::from_fn(|| joiner.poll_incomplete()).count();
        assert!(joiner.waiting() <= SETS_MAX, "round {round}");
    }
    assert!(complete > 1_000 && given_up > 100 && bad > 100, "{complete} {given_up} {bad}");
}

#[test]
fn frames_survive_mutated_input() {
    let mut random = Random(0x5EED_0015);
    let frames = Pool::default().frames();
    for _ in 0..ROUNDS {
        let mut bytes = frames[random.below(frames.len())].clone();
        mutate(&mut bytes, &mut random);
        match crate::frame::split(&bytes, 1_000) {
            Ok(crate::frame::Split::Pdu(pdu)) => assert!(bytes.starts_with(pdu) && pdu.len() >= 16),
            Ok(crate::frame::Split::Need(octets)) => assert!(octets > bytes.len() && octets <= 1_000),
            Err(error) => assert_eq!(error.status, crate::Status::RINVCMDLEN),
        }
    }
}
