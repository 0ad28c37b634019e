use super::super::{request, token_of_response};
use super::*;

/// Answers of `openssl ts` to requests for `DATA`, by authorities below `root.der`.
const ANSWERS: [(&str, &[u8]); 5] = [
    ("RSA, SHA-256", include_bytes!("../../../testdata/rsa-sha256.tsr")),
    ("RSA, SHA-512", include_bytes!("../../../testdata/rsa-sha512.tsr")),
    ("P-256, SHA-256", include_bytes!("../../../testdata/ec-sha256.tsr")),
    ("P-384, SHA-384", include_bytes!("../../../testdata/ec384-sha384.tsr")),
    ("named by SHA-1", include_bytes!("../../../testdata/rsa-v1.tsr")),
];
const REFUSED: &[u8] = include_bytes!("../../../testdata/refused.tsr");
const ROOT: &[u8] = include_bytes!("../../../testdata/root.der");
const ANOTHER_ROOT: &[u8] = include_bytes!("../../../testdata/another-root.der");
const DATA: &[u8] = b"what was signed";

fn root(der: &'static [u8]) -> [CertificateDer<'static>; 1] {
    [CertificateDer::from(der)]
}

#[test]
fn tokens_of_openssl_hold_for_their_data_and_below_their_root() {
    for (name, answer) in ANSWERS {
        let octets = token_of_response(answer).unwrap();
        let token = TimestampToken::parse(&octets).unwrap();
        let stamp =
            token.check_authority(DATA, &root(ROOT)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(stamp.at.starts_with("20") && stamp.at.ends_with('Z'), "{name}: {}", stamp.at);
        assert!(stamp.nonce.is_some(), "{name}");
        assert_eq!(token.check(DATA), Ok(stamp), "{name}");
        let other = token.check(b"what was signes").unwrap_err().to_string();
        assert!(other.contains("of something else"), "{name}: {other}");
        let unknown = token.check_authority(DATA, &root(ANOTHER_ROOT)).unwrap_err().to_string();
        assert!(unknown.contains("none of these roots"), "{name}: {unknown}");
    }
}

#[test]
fn a_token_with_a_changed_octet_holds_no_more() {
    let octets = token_of_response(ANSWERS[2].1).unwrap();
    let token = TimestampToken::parse(&octets).unwrap();
    // What is signed, and the signature itself.
    for part in [token.info, token.signer.attributes.whole, token.signer.signature] {
        let start = part.as_ptr() as usize - octets.as_ptr() as usize;
        for at in start..start + part.len() {
            let mut changed = octets.clone();
            changed[at] ^= 1;
            let holds = TimestampToken::parse(&changed)
                .is_ok_and(|token| token.check_authority(DATA, &root(ROOT)).is_ok());
            assert!(!holds, "octet {at}");
        }
    }
}

#[test]
fn an_answer_that_is_none_or_a_refusal_gives_no_token() {
    assert!(token_of_response(REFUSED).unwrap_err().contains("refused"));
    let answer = ANSWERS[0].1;
    for octets in [&[][..], &answer[..answer.len() - 1], &[answer, &[0][..]].concat(), b"<html>"] {
        assert!(token_of_response(octets).is_err());
    }
    let long = vec![0; TOKEN_OCTETS_MAX + 1];
    assert!(token_of_response(&long).is_err());
    assert!(TimestampToken::parse(ROOT).is_err());
}

#[test]
fn a_request_is_what_openssl_reads() {
    let octets = request(DATA, 0x1234);
    // SEQUENCE, version 1, SEQUENCE of algorithm and imprint, nonce, certReq.
    assert_eq!(octets[..5], [0x30, 0x3d, 0x02, 0x01, 0x01]);
    assert_eq!(octets[octets.len() - 7..], [0x02, 0x02, 0x12, 0x34, 0x01, 0x01, 0xff]);
    let hash = Sha256::digest(DATA);
    assert!(octets.windows(hash.len()).any(|window| window == hash.as_slice()));
}

#[test]
fn times_are_read_with_and_without_fractions() {
    let read = |text: &str| time(text.as_bytes());
    assert_eq!(read("20261128030405Z"), Some(("2026-11-28T03:04:05Z".to_owned(), 1_795_835_045)));
    assert_eq!(read("20261128030405.25Z").unwrap().0, "2026-11-28T03:04:05.25Z");
    for text in ["2026112803040Z", "20261128030405", "20261328030405Z", "2026112803040xZ", "å0261128030405Z"]
    {
        assert_eq!(read(text), None, "{text}");
    }
}
