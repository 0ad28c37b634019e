//! Any octets from the peer, cut anywhere, to either role in any version: no panic, whole PDUs out, bounded
//! buffers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smpp::Status;
use smpp::frame::{Split, split};
use smpp::pdu::{Bind, BindResp, DeliverSm, SubmitSm, Version, encode};
use smpp::session::{Config, Event, Role, Session};
use std::time::{Duration, Instant};

fuzz_target!(|bytes: &[u8]| {
    let Some((&[choices, cut], rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let role = if choices & 1 == 0 { Role::Smsc } else { Role::Esme };
    let version = [Version::V3_3, Version::V3_4, Version::V5_0, Version(0)][usize::from(choices >> 1 & 3)];
    let mut now = Instant::now();
    let mut session = Session::new(role, Config { version, window: 4, peer_window: 4, ..Config::default() }, now);
    if choices & 8 != 0 {
        bind(&mut session, version, now);
    }
    session.set_congestion(Some(choices));
    let mut out = Vec::new();
    for piece in rest.chunks(1 + usize::from(cut)) {
        now += Duration::from_millis(50);
        session.handle_timeout(now);
        session.handle_input(piece, now);
        serve(&mut session, now, choices & 16 != 0);
        let _ = session.submit(&SubmitSm::default(), 1, now);
        let _ = session.deliver(&DeliverSm::default(), 1, now);
        assert!(session.unanswered() <= 4 && session.in_flight() <= 4);
        out.clear();
        session.poll_transmit(&mut out);
        let mut left = &out[..];
        while let Ok(Split::Pdu(pdu)) = split(left, usize::MAX) {
            left = &left[pdu.len()..];
        }
        assert!(left.is_empty(), "output is whole PDUs");
    }
    session.handle_eof(now);
    serve(&mut session, now, false);
    assert_eq!((session.in_flight(), session.unanswered()), (0, 0));
});

/// The session is bound, so that the fuzzer need not find out how.
fn bind(session: &mut Session, version: Version, now: Instant) {
    let mut bytes = Vec::new();
    let bind = Bind { interface_version: version, ..Bind::default() };
    if let Ok(sequence) = session.bind(&bind, now) {
        encode(&BindResp::default(), Status::ROK, sequence, &mut bytes).expect("an empty one fits");
    } else {
        encode(&bind, Status::ROK, 1, &mut bytes).expect("an empty one fits");
    }
    session.handle_input(&bytes, now);
    serve(session, now, true);
}

fn serve(session: &mut Session, now: Instant, answers: bool) {
    let mut requests = Vec::new();
    let mut bind = false;
    while let Some(event) = session.poll_event() {
        match event {
            Event::Bind { .. } => bind = true,
            Event::Submit { sequence, .. }
            | Event::Deliver { sequence, .. }
            | Event::Data { sequence, .. }
            | Event::Request { sequence, .. } => requests.push(sequence),
            _ => {}
        }
    }
    if bind {
        let _ = session.accept_bind(b"fuzz", now);
    }
    for sequence in requests.into_iter().filter(|_| answers) {
        if session.respond(sequence, Status::ROK, b"1", now).is_err() {
            let _ = session.respond(sequence, Status::RQUERYFAIL, b"", now);
        }
    }
}
