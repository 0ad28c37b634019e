use super::*;
use crate::digest::{DigestAlgorithm, DigestChallenge, DigestCredentials, DigestQop};
use crate::message::Method;

const PASSWORD: &str = "secret";

fn challenge(nonce: &str, stale: bool) -> DigestChallenge {
    DigestChallenge {
        realm: "trunk".to_owned(),
        nonce: nonce.to_owned(),
        opaque: Some("o".to_owned()),
        stale,
        algorithm: DigestAlgorithm::Sha256,
        qop: vec![DigestQop::Auth],
    }
}

fn with_password(password: &str) -> OutgoingCall {
    let credentials = DigestCredentials::new("town", password, None).unwrap();
    OutgoingCall { credentials: Some(credentials), ..order(1) }
}

fn demand(wire: &mut Wire, status: u16, challenge: DigestChallenge) {
    let (call, _) = wire.incoming(1);
    let response = SipResponse { challenges: vec![challenge], ..SipResponse::new(status) };
    wire.agents[1].reject(call, &response, wire.now).unwrap();
    wire.settle();
}

#[test]
fn a_challenge_of_proxy_or_server_is_answered_with_the_same_call_id_and_the_next_number() {
    for status in [401, 407] {
        let mut wire = Wire::new(2);
        wire.invite(with_password(PASSWORD));
        let before = wire.incoming(1).1;
        demand(&mut wire, status, challenge("n1", false));
        let (call, invite) = wire.incoming(1);
        let answer = &invite.answers[0];
        assert!(
            answer.verifies(PASSWORD, &Method::Invite, b"")
                && !answer.verifies("other", &Method::Invite, b"")
        );
        assert_eq!(
            (answer.nonce.as_str(), answer.count, answer.uri.as_str()),
            ("n1", 1, invite.target.as_str())
        );
        assert_eq!(invite.call_id, before.call_id);
        let invite = wire.last(0, "INVITE");
        assert_eq!(header(invite, HeaderName::CSeq).as_deref(), Some("2 INVITE"));
        wire.agents[1].answer(call, SipResponse::new(200), wire.now).unwrap();
        wire.settle();
        let ack = wire.last(0, "ACK");
        let name = if status == 407 { HeaderName::ProxyAuthorization } else { HeaderName::Authorization };
        assert!(header(ack, name).is_some(), "{ack}");
        assert_eq!(header(ack, HeaderName::CSeq).as_deref(), Some("2 ACK"));
    }
}

#[test]
fn a_stale_nonce_is_replaced_and_a_wrong_password_ends_the_call() {
    let mut wire = Wire::new(2);
    wire.invite(with_password("wrong"));
    demand(&mut wire, 407, challenge("n1", false));
    demand(&mut wire, 407, challenge("n2", true));
    assert_eq!(wire.incoming(1).1.answers[0].nonce, "n2");
    demand(&mut wire, 407, challenge("n3", false));
    let refused = refusal(&wire.take_calls(0));
    assert_eq!((refused.status, refused.is_challenged, refused.by), (407, true, RefusedBy::Peer));
    assert_eq!(wire.count(0, "INVITE"), 3);
    wire.assert_empty();
}

#[test]
fn a_challenge_without_credentials_ends_the_call() {
    let mut wire = Wire::new(2);
    wire.invite(order(1));
    demand(&mut wire, 401, challenge("n1", false));
    assert!(refusal(&wire.take_calls(0)).is_challenged);
    wire.assert_empty();
}

#[test]
fn a_cancelled_call_does_not_answer_its_challenge() {
    let mut wire = Wire::new(2);
    let call = wire.invite(with_password(PASSWORD));
    let (theirs, _) = wire.incoming(1);
    let response = SipResponse { challenges: vec![challenge("n", false)], ..SipResponse::new(407) };
    wire.agents[1].reject(theirs, &response, wire.now).unwrap();
    wire.agents[0].cancel(call, wire.now).unwrap();
    wire.settle();
    assert_eq!(refusal(&wire.take_calls(0)).by, RefusedBy::Cancelled);
    assert_eq!(wire.count(0, "INVITE"), 1);
}

#[test]
fn requests_inside_a_call_carry_the_credentials_with_the_next_count() {
    let mut wire = Wire::new(2);
    let ours = wire.invite(with_password(PASSWORD));
    demand(&mut wire, 407, challenge("n1", false));
    let (call, _) = wire.incoming(1);
    wire.agents[1].answer(call, SipResponse::new(200), wire.now).unwrap();
    wire.settle();
    wire.agents[0].bye(ours, vec![], wire.now).unwrap();
    wire.settle();
    let answer = header(wire.last(0, "BYE"), HeaderName::ProxyAuthorization).unwrap();
    let answer = crate::digest::DigestAnswer::parse(&answer).unwrap();
    assert!(answer.verifies(PASSWORD, &Method::Bye, b"") && answer.count == 2, "{answer}");
}
