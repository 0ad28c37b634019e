use super::*;
use std::net::IpAddr;

fn read(octets: &[u8]) -> Vec<Result<Avp<'_>, AvpError>> {
    Avps::new(octets).collect()
}

fn avp(octets: &[u8]) -> Avp<'_> {
    read(octets).remove(0).unwrap()
}

/// An AVP with code 1 around some data.
fn around(data: &[u8]) -> Vec<u8> {
    let length = (data.len() + 8) as u32;
    let mut octets = [&1u32.to_be_bytes()[..], &length.to_be_bytes(), data].concat();
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

#[test]
fn avps_are_walked_past_padding_and_vendors() {
    let octets = [
        &[0, 0, 1, 7, 0x40, 0, 0, 9, b'a', 0xFF, 0xFF, 0xFF][..],
        &[0, 0, 3, 105, 0xC0, 0, 0, 12, 0, 0, 40, 175],
        &[0, 0, 1, 22, 0, 0, 0, 12, 0, 0, 0, 9],
    ]
    .concat();
    let avps: Vec<_> = Avps::new(&octets).map(Result::unwrap).collect();
    assert_eq!(avps.len(), 3);
    assert_eq!((avps[0].name, avps[0].data, avps[0].octets.len()), (AvpName::ietf(263), &b"a"[..], 9));
    assert_eq!(avps[1].name, AvpName { code: 873, vendor: 10415 });
    assert!(avps[1].flags.is_vendor() && avps[1].flags.is_mandatory() && avps[1].data.is_empty());
    assert_eq!(avps[2].u32(), Ok(9));
    assert!(!avps[2].flags.is_mandatory());
}

#[test]
fn lengths_that_cannot_be_are_refused_and_end_the_walk() {
    for (what, octets) in [
        ("zero", &[0, 0, 1, 7, 0x40, 0, 0, 0, 0, 0, 0, 0][..]),
        ("below the header", &[0, 0, 1, 7, 0x40, 0, 0, 7, 0, 0, 0, 0]),
        ("below the header with a vendor", &[0, 0, 1, 7, 0x80, 0, 0, 11, 0, 0, 0, 0]),
        ("past the end", &[0, 0, 1, 7, 0x40, 0, 0, 13, 0, 0, 0, 0]),
        ("far past the end", &[0, 0, 1, 7, 0x40, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]),
        ("padding past the end", &[0, 0, 1, 7, 0x40, 0, 0, 9, 0]),
    ] {
        let found = read(octets);
        assert_eq!(found.len(), 1, "{what}");
        let error = found[0].unwrap_err();
        assert_eq!((error.name.code, error.flags), (263, AvpFlags(octets[4])), "{what}");
        assert!(matches!(error.problem, AvpProblem::Length { .. }), "{what}: {error}");
        assert_eq!(error.result_code(), 5014, "{what}");
    }
}

#[test]
fn a_header_that_is_cut_off_is_named_as_far_as_it_goes() {
    let header = [0, 0, 1, 7, 0xC0, 0, 0, 12, 0, 0, 40, 175];
    for end in 1..12 {
        let error = read(&header[..end])[0].unwrap_err();
        assert_eq!(error.problem, AvpProblem::Header, "{end}");
        assert_eq!(
            error.name.code,
            if end < 4 { 0x107 & (0xFFFF_FFFF << (8 * (4 - end))) } else { 263 },
            "{end}"
        );
        assert_eq!(error.name.vendor, if end < 11 { 0 } else { 10240 }, "{end}");
    }
}

#[test]
fn values_are_read_as_their_type_and_refused_in_another_size() {
    assert_eq!(avp(&around(&[0xFF, 0xFF, 0xFF, 0xFE])).u32(), Ok(0xFFFF_FFFE));
    assert_eq!(avp(&around(&[0xFF, 0xFF, 0xFF, 0xFE])).i32(), Ok(-2));
    assert_eq!(avp(&around(&[0xFF; 8])).u64(), Ok(u64::MAX));
    assert_eq!(avp(&around(&[0xFF; 8])).i64(), Ok(-1));
    for octets in [0, 3, 5, 7, 9] {
        let octets = around(&vec![0; octets]);
        let avp = avp(&octets);
        let problem = AvpProblem::Size { octets: avp.data.len() as u32 };
        assert_eq!(avp.u32().unwrap_err().problem, problem);
        assert_eq!(avp.u64().unwrap_err().problem, problem);
        assert_eq!(avp.i32().unwrap_err().result_code(), 5014);
        assert_eq!(avp.i64().unwrap_err().result_code(), 5014);
        assert!(avp.time().is_err());
    }
}

#[test]
fn text_is_validated() {
    assert_eq!(avp(&around("sjövägen".as_bytes())).utf8(), Ok("sjövägen"));
    for octets in [&b"\xC3"[..], b"\xED\xA0\x80", b"\xF4\x90\x80\x80", b"\xC0\xAF", b"\xFF"] {
        assert_eq!(avp(&around(octets)).utf8().unwrap_err().result_code(), 5004, "{octets:?}");
    }
    assert_eq!(avp(&around(b"ocs.example")).identity(), Ok("ocs.example"));
    for octets in [&b""[..], b"a b", b"a\n", b"a\0", "é".as_bytes()] {
        assert_eq!(avp(&around(octets)).identity().unwrap_err().result_code(), 5004, "{octets:?}");
    }
}

#[test]
fn text_is_judged_octet_for_octet_wherever_it_stands() {
    for length in 1..=26 {
        for at in 0..length {
            for octet in 0..=255u8 {
                let mut text = vec![b'a'; length];
                text[at] = octet;
                let octets = around(&text);
                let avp = avp(&octets);
                let place = (length, at, octet);
                assert_eq!(avp.check_utf8().is_ok(), std::str::from_utf8(&text).is_ok(), "{place:?}");
                assert_eq!(avp.check_identity().is_ok(), octet.is_ascii_graphic(), "{place:?}");
                assert_eq!(avp.identity().is_ok(), octet.is_ascii_graphic(), "{place:?}");
            }
        }
    }
    assert!(avp(&around("åäöåäöåäö".as_bytes())).check_utf8().is_ok());
    // Two wrong octets must not hide each other.
    for pair in [[0x00, 0xFF], [0xFF, 0x00], [0x7F, 0x7F], [0x20, 0x80], [0x80, 0x20], [0x00, 0x00]] {
        assert!(avp(&around(&[&b"abc"[..], &pair, b"abcd"].concat())).check_identity().is_err(), "{pair:?}");
    }
}

#[test]
fn addresses_have_the_size_of_their_family() {
    let ip = |text: &str| Ok(Address::Ip(text.parse::<IpAddr>().unwrap()));
    assert_eq!(avp(&around(&[0, 1, 127, 0, 0, 1])).address(), ip("127.0.0.1"));
    assert_eq!(avp(&around(&[&[0, 2][..], &[0; 15], &[1]].concat())).address(), ip("::1"));
    let e164 = avp(&around(b"\x00\x0846701")).address().map(|address| format!("{address:?}"));
    assert_eq!(e164, Ok(format!("{:?}", Address::Other { family: 8, octets: b"46701" })));
    for data in [&[][..], &[0], &[0, 1], &[0, 1, 1, 2, 3], &[0, 1, 1, 2, 3, 4, 5], &[0, 2, 1, 2, 3, 4]] {
        assert_eq!(avp(&around(data)).address().unwrap_err().result_code(), 5014, "{data:?}");
    }
}

#[test]
fn time_rolls_over_in_2036() {
    for (octets, unix_s) in [
        ([0x80, 0, 0, 0], -61_505_152),            // 1968-01-20T03:14:08Z
        ([0x83, 0xAA, 0x7E, 0x80], 0),             // 1970-01-01T00:00:00Z
        ([0xFF, 0xFF, 0xFF, 0xFF], 2_085_978_495), // 2036-02-07T06:28:15Z
        ([0, 0, 0, 0], 2_085_978_496),             // one second later
        ([0x7F, 0xFF, 0xFF, 0xFF], 4_233_462_143), // 2104-02-26T09:42:23Z
        ([0xEC, 0xCC, 0xA5, 0x80], 1_763_845_888), // 2025-11-22T21:11:28Z
    ] {
        assert_eq!(avp(&around(&octets)).time(), Ok(unix_s), "{octets:?}");
        assert_eq!(time_octets(unix_s), octets, "{unix_s}");
    }
    assert_eq!(time_octets(i64::MIN), [0x80, 0, 0, 0], "the nearest a Time can say");
    assert_eq!(time_octets(i64::MAX), [0x7F, 0xFF, 0xFF, 0xFF]);
}

#[test]
fn groups_are_opened_in_place_down_to_the_limit() {
    let mut octets = around(&[]);
    for _ in 0..DEPTH_MAX {
        octets = around(&octets);
    }
    let mut avps = Avps::new(&octets);
    for depth in 0..DEPTH_MAX {
        let avp = avps.next().unwrap().unwrap();
        assert_eq!(avp.depth, depth);
        assert!(avps.next().is_none());
        avps = avp.group();
    }
    let innermost = avps.next().unwrap().unwrap();
    let mut beyond = innermost.group();
    assert_eq!(beyond.next().unwrap().unwrap_err().problem, AvpProblem::TooDeep);
    assert!(beyond.next().is_none());
}

#[test]
fn a_thousand_and_sixty_thousand_nested_groups_end_at_the_limit() {
    for groups in [1_000u32, 60_000] {
        // Each header announces all that is behind it.
        let octets: Vec<u8> = (0..groups)
            .flat_map(|i| [297u32.to_be_bytes(), (0x4000_0000 | ((groups - i) * 8)).to_be_bytes()].concat())
            .collect();
        let (mut avps, mut opened) = (Avps::new(&octets), 0);
        let error = loop {
            match avps.next().unwrap() {
                Ok(avp) => avps = avp.group(),
                Err(error) => break error,
            }
            opened += 1;
        };
        assert_eq!((opened, error.problem), (u32::from(DEPTH_MAX) + 1, AvpProblem::TooDeep));
        assert_eq!(error.result_code(), 5012);
    }
}
