use super::*;
use crate::message::{HeaderName, SipMessage};

fn get() -> Method {
    Method::Other("GET".to_owned())
}

fn answer_of(challenge: &str, cnonce: &str) -> DigestAnswer {
    answer_with("Circle of Life", challenge, cnonce)
}

fn answer_with(password: &str, challenge: &str, cnonce: &str) -> DigestAnswer {
    let challenge = DigestChallenge::parse(challenge).unwrap().unwrap();
    let credentials = DigestCredentials::new("Mufasa", password, None).unwrap();
    let method = get();
    let request = DigestRequest { method: &method, uri: "/dir/index.html", body: b"" };
    challenge.answer(&credentials, request, cnonce, 1)
}

#[test]
fn the_examples_of_rfc_7616_come_out() {
    let challenge = |algorithm: &str| {
        format!(
            "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm={algorithm}, \
             nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
        )
    };
    let cases = [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ];
    for (algorithm, response) in cases {
        let answer = answer_of(&challenge(algorithm), "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ");
        assert_eq!((answer.response.as_str(), answer.qop), (response, DigestQop::Auth));
        assert!(answer.verifies("Circle of Life", &get(), b""));
        assert!(!answer.verifies("Circle of Lice", &get(), b""));
    }
}

#[test]
fn a_challenge_without_a_protection_is_answered_as_rfc_2069_has_it() {
    // The example of RFC 2617 without its protection: its password has a capital O.
    let challenge = "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"";
    let answer = answer_with("Circle Of Life", challenge, "x");
    assert_eq!(answer.response, "670fd8c2df070c60b045671b8b24ff02");
}

#[test]
fn answers_are_read_as_they_are_written() {
    for algorithm in ["MD5", "MD5-sess", "SHA-256", "SHA-256-sess"] {
        for qop in ["", ", qop=\"auth\"", ", qop=\"auth-int\""] {
            let challenge = format!("Digest realm=\"a\\\"b\", nonce=\"n\", algorithm={algorithm}{qop}");
            let written = answer_of(&challenge, "c");
            let mut read = DigestAnswer::parse(&written.to_string()).unwrap();
            if qop.is_empty() {
                // Without a protection neither is written.
                (read.count, read.cnonce) = (1, "c".to_owned());
            }
            assert_eq!(read, written);
            assert!(read.verifies("Circle of Life", &get(), b""), "{algorithm} {qop}");
            assert_eq!(read.verifies("Circle of Life", &get(), b"other"), qop != ", qop=\"auth-int\"");
            let again = DigestChallenge::parse(&challenge).unwrap().unwrap();
            assert_eq!(DigestChallenge::parse(&again.to_string()).unwrap().unwrap(), again);
        }
    }
}

#[test]
fn challenges_of_unknown_schemes_and_hashes_are_passed_over() {
    for value in ["Basic realm=\"x\"", "Digest realm=\"x\", nonce=\"y\", algorithm=SHA-512-256", "Digest"] {
        assert_eq!(DigestChallenge::parse(value), Ok(None), "{value}");
    }
    assert!(DigestChallenge::parse("Digest realm=\"x\"").is_err());
}

fn response(status: u16, challenges: &[&str]) -> Vec<u8> {
    let mut text = format!("SIP/2.0 {status} No\r\n");
    for challenge in challenges {
        text.push_str(challenge);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    text.into_bytes()
}

fn takes(authenticator: &mut Authenticator, status: u16, challenges: &[&str]) -> bool {
    authenticator.take_challenges(&SipMessage::parse(&response(status, challenges)).unwrap())
}

fn headers(authenticator: &mut Authenticator) -> Vec<(HeaderName, String)> {
    let request = DigestRequest { method: &Method::Bye, uri: "sip:a@b", body: b"" };
    authenticator.headers(request, "c")
}

#[test]
fn a_realm_that_challenges_twice_ends_the_request_unless_its_nonce_was_stale() {
    let credentials = DigestCredentials::new("u", "p", None).unwrap();
    let mut authenticator = Authenticator::new(Some(credentials));
    assert!(headers(&mut authenticator).is_empty());
    assert!(takes(&mut authenticator, 407, &["Proxy-Authenticate: Digest realm=\"r\", nonce=\"1\""]));
    assert_eq!(headers(&mut authenticator)[0].0, HeaderName::ProxyAuthorization);
    assert!(takes(
        &mut authenticator,
        407,
        &["Proxy-Authenticate: Digest realm=\"r\", nonce=\"2\", stale=TRUE"]
    ));
    assert!(headers(&mut authenticator)[0].1.contains("nonce=\"2\""));
    assert!(!takes(&mut authenticator, 407, &["Proxy-Authenticate: Digest realm=\"r\", nonce=\"3\""]));
}

#[test]
fn a_server_that_is_stale_for_ever_ends_the_request() {
    let mut authenticator = Authenticator::new(Some(DigestCredentials::new("u", "p", None).unwrap()));
    let stale = ["WWW-Authenticate: Digest realm=\"r\", nonce=\"1\", stale=true"];
    let tries = (0..100).take_while(|_| takes(&mut authenticator, 401, &stale)).count();
    assert_eq!(tries, 4);
}

#[test]
fn the_topmost_challenge_of_a_realm_that_is_spoken_is_answered() {
    let mut authenticator = Authenticator::new(Some(DigestCredentials::new("u", "p", None).unwrap()));
    assert!(takes(
        &mut authenticator,
        401,
        &[
            "WWW-Authenticate: Digest realm=\"r\", nonce=\"1\", algorithm=SHA-512-256",
            "WWW-Authenticate: Digest realm=\"r\", nonce=\"2\", algorithm=SHA-256",
            "WWW-Authenticate: Digest realm=\"r\", nonce=\"3\", algorithm=MD5",
        ]
    ));
    let headers = headers(&mut authenticator);
    assert!(headers.len() == 1 && headers[0].1.contains("algorithm=SHA-256"), "{headers:?}");
}

#[test]
fn credentials_of_another_realm_are_not_given_away() {
    let credentials = DigestCredentials::new("u", "p", Some("ours")).unwrap();
    let mut authenticator = Authenticator::new(Some(credentials.clone()));
    assert!(!takes(&mut authenticator, 401, &["WWW-Authenticate: Digest realm=\"theirs\", nonce=\"1\""]));
    assert!(!format!("{credentials:?}").contains("\"p\""));
    assert!(DigestCredentials::new("u\r\n", "p", None).is_err());
}
