//! Any octets from the peer, cut anywhere: no panic, whole PDUs out, bounded buffers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smpp::Status;
use smpp::frame::{Split, split};
use smpp::pdu::{Bind, SubmitSm};
use smpp::session::{Config, Event, Role, Session};
use std::time::{Duration, Instant};

fuzz_target!(|bytes: &[u8]| {
    let Some((&choices, rest)) = bytes.split_first() else {
        return;
    };
    let role = if choices & 1 == 0 { Role::Smsc } else { Role::Esme };
    let mut now = Instant::now();
    let mut session = Session::new(role, Config::default(), now);
    let _ = session.bind(&Bind::default(), now);
    let mut out = Vec::new();
    for piece in rest.chunks(1 + usize::from(choices >> 1)) {
        now += Duration::from_millis(50);
        session.handle_timeout(now);
        session.handle_input(piece, now);
        while let Some(event) = session.poll_event() {
            match event {
                Event::Bind { .. } => session.accept_bind(b"fuzz", now).expect("a bind waits"),
                Event::Submit { sequence, .. }
                | Event::Deliver { sequence, .. }
                | Event::Data { sequence, .. } => {
                    let _ = session.respond(sequence, Status::ROK, b"1", now);
                }
                _ => {}
            }
        }
        let _ = session.submit(&SubmitSm::default(), 1, now);
        out.clear();
        session.poll_transmit(&mut out);
        let mut left = &out[..];
        while let Ok(Split::Pdu(pdu)) = split(left, usize::MAX) {
            left = &left[pdu.len()..];
        }
        assert!(left.is_empty(), "output is whole PDUs");
    }
});
