use super::cipher::{AesCm, LABEL_RTP, derive};
use super::*;
use crate::packet::RtpPacket;
use crate::tests::Draw;
use proptest::prelude::*;

const B3_KEY: &str = "E1F97A0D3E018BE0D64FA32C06DE4139";
const B3_SALT: &str = "0EC675AD498AFEEBB6960B3AABE6";

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn master(suite: SrtpSuite, key: &str, salt: &str) -> SrtpMasterKey {
    SrtpMasterKey::new(suite, &octets(&format!("{key}{salt}"))).unwrap()
}

fn b3() -> SrtpMasterKey {
    master(SrtpSuite::Aes128Sha1Tag80, B3_KEY, B3_SALT)
}

fn derived(master: &SrtpMasterKey, label: u8, count: usize) -> Vec<u8> {
    let mut out = vec![0; count];
    derive(master, &AesCm::new(master.key()), label, &mut out);
    out
}

fn packet(ssrc: u32, sequence: u16, payload: &[u8]) -> Vec<u8> {
    let packet = RtpPacket {
        payload_type: 8,
        marker: false,
        sequence,
        timestamp: 160,
        ssrc,
        csrcs: &[1, 2, 3, 4],
        extension: None,
        payload,
        padding: 0,
    };
    let mut out = vec![0; packet.octets()];
    packet.write(&mut out).unwrap();
    out
}

fn protected(sender: &mut SrtpSender, packet: &[u8]) -> Vec<u8> {
    let mut buffer = [0; 300];
    buffer[..packet.len()].copy_from_slice(packet);
    let octets = sender.protect(&mut buffer, packet.len()).unwrap();
    buffer[..octets].to_vec()
}

#[test]
fn the_key_stream_is_that_of_rfc_3711_appendix_b_2() {
    let cipher = AesCm::new(&octets("2B7E151628AED2A6ABF7158809CF4F3C"));
    let block: [u8; 16] = octets("F0F1F2F3F4F5F6F7F8F9FAFBFCFD0000").try_into().unwrap();
    let mut stream = vec![0; 0xFF02 * 16];
    cipher.apply(block, &mut stream);
    for (at, expected) in [
        (0, "E03EAD0935C95E80E166B16DD92B4EB4"),
        (1, "D23513162B02D0F72A43A2FE4A5F97AB"),
        (2, "41E95B3BB0A2E8DD477901E4FCA894C0"),
        (0xFEFF, "EC8CDF7398607CB0F2D21675EA9EA1E4"),
        (0xFF00, "362B7C3C6773516318A077D7FC5073AE"),
        (0xFF01, "6A2CC3787889374FBEB4C81B17BA6C44"),
    ] {
        assert_eq!(stream[at * 16..at * 16 + 16], octets(expected), "block {at:#x}");
    }
}

#[test]
fn keys_are_derived_as_in_rfc_3711_appendix_b_3() {
    let master = b3();
    assert_eq!(derived(&master, LABEL_RTP, 16), octets("C61E7A93744F39EE10734AFE3FF7A087"));
    assert_eq!(derived(&master, LABEL_RTP + 2, 14), octets("30CBBC08863D8C85D49DB34A9AE1"));
    let auth = "CEBE321F6FF7716B6FD4AB49AF256A15 6D38BAA48F0A0ACF3C34E2359E6CDBCE
        E049646C43D9327AD175578EF7227098 6371C10C9A369AC2F94A8C5FBCDDDC25
        6D6E919A48B610EF17C2041E47403576 6B68642C59BBFC2F34DB60DBDFB2";
    assert_eq!(derived(&master, LABEL_RTP + 1, 94), octets(auth));
}

#[test]
fn keys_of_256_bits_are_derived_as_in_rfc_6188_section_7_2() {
    let key = "f0f04914b513f2763a1b1fa130f10e2998f6f6e43e4309d1e622a0e332b9f1b6";
    let master = master(SrtpSuite::Aes256Sha1Tag80, key, "3b04803de51ee7c96423ab5b78d2");
    let cipher = "5ba1064e30ec51613cad926c5a28ef731ec7fb397f70a960653caf06554cd8c4";
    assert_eq!(derived(&master, LABEL_RTP, 32), octets(cipher));
    assert_eq!(derived(&master, LABEL_RTP + 2, 14), octets("fa31791685ca444a9e07c6c64e93"));
    assert_eq!(derived(&master, LABEL_RTP + 1, 20), octets("fd9c32d39ed5fbb5a9dc96b30818454d1313dc05"));
}

/// Values that libsrtp's tests publish for the same key.
#[test]
fn packets_are_those_that_other_implementations_make() {
    let mut sender = SrtpSender::new(&b3());
    let plain = octets("800f1234decafbadcafebabeabababababababababababababababab");
    let expected = "800f1234decafbadcafebabe4e55dc4ce79978d88ca4d215949d2402b78d6acc99ea179b8dbb";
    assert_eq!(protected(&mut sender, &plain), octets(expected));
    let plain = octets("81c8000bcafebabeabababababababababababababababab");
    let expected = "81c8000bcafebabe7128035be487b9bdbef89041f977a5a880000001993e08cd54d6c1230798";
    let mut buffer = [0; 64];
    for index in 0..2 {
        buffer[..24].copy_from_slice(&plain);
        assert_eq!(sender.protect_rtcp(&mut buffer, 24), Ok(38), "index {index}");
    }
    assert_eq!(buffer[..38], octets(expected));
}

#[test]
fn a_packet_is_taken_once_and_one_that_was_changed_never() {
    for suite in SrtpSuite::ALL {
        let key = SrtpMasterKey::new(suite, &vec![7; suite.key_and_salt_octets()]).unwrap();
        let (mut sender, mut receiver) = (SrtpSender::new(&key), SrtpReceiver::new(&key));
        let plain = packet(9, 100, b"the sound of a voice");
        let wire = protected(&mut sender, &plain);
        assert_eq!(wire.len(), plain.len() + suite.tag_octets());
        assert_eq!((&wire[..16], &wire[16..20] == b"the "), (&plain[..16], false));
        for at in 0..wire.len() {
            let mut changed = wire.clone();
            changed[at] ^= 1;
            assert!(receiver.unprotect(&mut changed).is_err(), "{suite:?}, octet {at}");
        }
        let mut copy = wire.clone();
        assert_eq!(receiver.unprotect(&mut copy), Ok(plain.len()));
        assert_eq!(copy[..plain.len()], plain);
        assert_eq!(receiver.unprotect(&mut wire.clone()), Err(SrtpError::Replayed));
        assert!(receiver.unprotect(&mut wire[..3].to_vec()).is_err());
    }
}

#[test]
fn another_key_reads_nothing() {
    let other = SrtpMasterKey::new(SrtpSuite::Aes128Sha1Tag80, &[1; 30]).unwrap();
    let mut wire = protected(&mut SrtpSender::new(&b3()), &packet(9, 100, b"sound"));
    assert_eq!(SrtpReceiver::new(&other).unprotect(&mut wire), Err(SrtpError::Authentication));
}

#[test]
fn sequence_numbers_that_wrap_are_counted_on_both_sides_though_packets_are_lost_and_overtake() {
    for seed in cases::seeds(20) {
        let mut draw = Draw(seed);
        let (mut sender, mut receiver) = (SrtpSender::new(&b3()), SrtpReceiver::new(&b3()));
        // Below half, as a sender under SRTP begins: a first packet that is lost may not hide a wrap.
        let first = (draw.next() as u16) >> 1;
        let mut held: Option<(Vec<u8>, Vec<u8>)> = None;
        for at in 0..3_000_u32 {
            // Runs of loss make it wrap several times.
            let sequence = (u32::from(first) + at * 97) as u16;
            let plain = packet(9, sequence, &at.to_be_bytes());
            let mut wire = protected(&mut sender, &plain);
            match draw.below(10) {
                0 => continue,
                1 if held.is_none() => held = Some((plain, wire)),
                _ => {
                    let octets = receiver
                        .unprotect(&mut wire)
                        .unwrap_or_else(|error| panic!("seed {seed}, {at}: {error}"));
                    assert_eq!(wire[..octets], plain);
                    // Overtaken by one or more packets, 97 numbers each: the window has 128.
                    if let Some((_, mut wire)) = held.take() {
                        let result = receiver.unprotect(&mut wire);
                        assert!(
                            matches!(result, Ok(_) | Err(SrtpError::Replayed)),
                            "seed {seed}, {at}: {result:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn sources_are_apart_and_bounded() {
    let mut receiver = SrtpReceiver::new(&b3());
    for ssrc in 0..SRTP_SOURCES_MAX as u32 {
        let mut sender = SrtpSender::new(&b3());
        assert!(receiver.unprotect(&mut protected(&mut sender, &packet(ssrc, 5, b"x"))).is_ok());
        assert!(receiver.unprotect(&mut protected(&mut sender, &packet(ssrc, 6, b"x"))).is_ok());
    }
    let mut wire = protected(&mut SrtpSender::new(&b3()), &packet(99, 5, b"x"));
    assert_eq!(receiver.unprotect(&mut wire), Err(SrtpError::TooManySources));
}

#[test]
fn reports_are_encrypted_verified_and_taken_once() {
    let (mut sender, mut receiver) = (SrtpSender::new(&b3()), SrtpReceiver::new(&b3()));
    let plain = octets("80c90001000000098000000000000000");
    for index in 0..3_u32 {
        let mut buffer = [0; 64];
        buffer[..16].copy_from_slice(&plain);
        let octets = sender.protect_rtcp(&mut buffer, 16).unwrap();
        assert_eq!(octets, 16 + SRTCP_TRAILER_OCTETS);
        assert_eq!(buffer[16..20], (0x8000_0000 | index).to_be_bytes());
        let mut wire = buffer[..octets].to_vec();
        let mut changed = wire.clone();
        changed[12] ^= 1;
        assert_eq!(receiver.unprotect_rtcp(&mut changed), Err(SrtpError::Authentication));
        let mut replayed = wire.clone();
        assert_eq!(receiver.unprotect_rtcp(&mut wire), Ok(16));
        assert_eq!(wire[..16], plain);
        assert_eq!(receiver.unprotect_rtcp(&mut replayed), Err(SrtpError::Replayed));
    }
    assert_eq!(receiver.unprotect_rtcp(&mut [0; 21]), Err(SrtpError::Short));
}

#[test]
fn a_buffer_without_room_for_the_tag_is_refused_and_nothing_is_sent() {
    let mut sender = SrtpSender::new(&b3());
    let plain = packet(9, 1, b"x");
    let mut buffer = [0; 40];
    buffer[..plain.len()].copy_from_slice(&plain);
    let room = plain.len() + 9;
    assert_eq!(sender.protect(&mut buffer[..room], plain.len()), Err(SrtpError::BufferTooSmall));
    assert_eq!(buffer[..plain.len()], plain);
    assert_eq!(sender.protect_rtcp(&mut buffer[..30], 28), Err(SrtpError::BufferTooSmall));
    assert_eq!(
        sender.protect(&mut buffer, 3),
        Err(SrtpError::Packet(RtpPacketError::Short { field: "header" }))
    );
}

#[test]
fn keys_are_shown_in_sdp_and_nowhere_else() {
    // RFC 4568 section 9.1 has the form; the key is that of appendix B.3.
    let crypto = SdesCrypto { tag: 1, key: b3() };
    let text = "1 AES_CM_128_HMAC_SHA1_80 inline:4fl6DT4Bi+DWT6MsBt5BOQ7Gda1Jiv7rtpYLOqvm";
    assert_eq!(crypto.to_string(), text);
    for attribute in [text.to_owned(), format!("{text}|2^31"), format!("{text}|1048576 WSH=64 -NEW")] {
        assert_eq!(SdesCrypto::parse(&attribute), Ok(crypto.clone()), "{attribute}");
    }
    let shown = format!("{crypto:?}");
    assert!(shown.contains("Aes128Sha1Tag80") && !shown.contains("225"), "{shown}");
}

#[test]
fn an_attribute_is_refused_by_the_part_that_cannot_be_taken() {
    let key = "4fl6DT4Bi+DWT6MsBt5BOQ7Gda1Jiv7rtpYLOqvm";
    for (attribute, error) in [
        (String::new(), SdesError::Tag),
        (format!("+1 AES_CM_128_HMAC_SHA1_80 inline:{key}"), SdesError::Tag),
        (format!("1234567890 AES_CM_128_HMAC_SHA1_80 inline:{key}"), SdesError::Tag),
        (format!("1 F8_128_HMAC_SHA1_80 inline:{key}"), SdesError::Suite),
        ("1 AES_CM_128_HMAC_SHA1_80".to_owned(), SdesError::Method),
        (format!("1 AES_CM_128_HMAC_SHA1_80 uri:{key}"), SdesError::Method),
        (format!("1 AES_CM_128_HMAC_SHA1_80 inline:{key};inline:{key}"), SdesError::Method),
        (format!("1 AES_256_CM_HMAC_SHA1_80 inline:{key}"), SdesError::Key),
        (format!("1 AES_CM_128_HMAC_SHA1_80 inline:{}", "A".repeat(4_000)), SdesError::Key),
        ("1 AES_CM_128_HMAC_SHA1_80 inline:???".to_owned(), SdesError::Key),
        (format!("1 AES_CM_128_HMAC_SHA1_80 inline:{key}|2^49"), SdesError::Lifetime),
        (format!("1 AES_CM_128_HMAC_SHA1_80 inline:{key}|2^31|1:4"), SdesError::KeyIdentifier),
        (format!("1 AES_CM_128_HMAC_SHA1_80 inline:{key} UNENCRYPTED_SRTP"), SdesError::Parameter),
        (format!("1 AES_CM_128_HMAC_SHA1_80 inline:{key} KDR=1"), SdesError::Parameter),
    ] {
        assert_eq!(SdesCrypto::parse(&attribute), Err(error), "{attribute}");
    }
}

proptest! {
    #[test]
    fn any_attribute_is_read_as_it_was_written(
        tag in 0..999_999_999_u32,
        suite in 0..4_usize,
        octets in proptest::array::uniform32(any::<u8>()),
    ) {
        let suite = SrtpSuite::ALL[suite];
        let material = [octets, octets].concat();
        let key = SrtpMasterKey::new(suite, &material[..suite.key_and_salt_octets()]).unwrap();
        let crypto = SdesCrypto { tag, key };
        prop_assert_eq!(SdesCrypto::parse(&crypto.to_string()), Ok(crypto));
    }

    #[test]
    fn any_packet_is_read_as_it_was_and_any_octets_are_refused(
        payload in proptest::collection::vec(any::<u8>(), 0..200),
        sequence in any::<u16>(),
        mut other in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let (mut sender, mut receiver) = (SrtpSender::new(&b3()), SrtpReceiver::new(&b3()));
        let plain = packet(3, sequence, &payload);
        let mut wire = protected(&mut sender, &plain);
        prop_assert_eq!(receiver.unprotect(&mut wire), Ok(plain.len()));
        prop_assert_eq!(&wire[..plain.len()], &plain[..]);
        prop_assert!(receiver.unprotect(&mut other).is_err());
        prop_assert!(receiver.unprotect_rtcp(&mut other).is_err());
    }
}
