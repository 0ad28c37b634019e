//! Any octets of a client, cut anywhere: mails for addresses of the policy alone, one at a time, whole lines
//! out, nothing after the end, and no line end alone in a mail.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smtp::server::{Disposition, RecipientPolicy, ServerOptions, SessionLimits, SmtpServer, SmtpServerEvent};
use std::time::{Duration, Instant};

struct Boxes;

impl RecipientPolicy for Boxes {
    type Recipient = u8;

    fn resolve(&self, address: &str) -> Option<u8> {
        assert!(!address.contains(|c: char| c.is_control() || c == '<' || c == '>'));
        address.strip_suffix("@x").and_then(|name| name.parse().ok())
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&[choices, cut], rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let limits =
        SessionLimits { mail_octets_max: 100, recipients_max: 3, errors_max: 50, ..SessionLimits::default() };
    let options = ServerOptions { hostname: "x".to_owned(), software: "fuzz", start_tls: choices & 2 != 0, limits };
    let mut now = Instant::now();
    let mut server = SmtpServer::new(options, Boxes, now);
    if choices & 1 != 0 {
        // The transaction is begun, so that the fuzzer need not find out how.
        server.handle_input(now, b"EHLO y\r\nMAIL FROM:<>\r\nRCPT TO:<1@x>\r\nDATA\r\n");
    }
    let mut out = Vec::new();
    for piece in rest.chunks(1 + usize::from(cut)) {
        let was_finished = server.is_finished();
        now += Duration::from_secs(u64::from(choices >> 4));
        server.handle_timeout(now);
        if server.wants_input() || was_finished {
            server.handle_input(now, piece);
        }
        match server.poll_event() {
            Some(SmtpServerEvent::Mail(mail)) => {
                assert!((1..=3).contains(&mail.recipients.len()) && mail.octets.len() <= 100);
                let lines = String::from_utf8_lossy(&mail.octets).replace("\r\n", "");
                assert!(!lines.contains(['\r', '\n']));
                assert!(server.poll_event().is_none() && !server.wants_input());
                server.finish_mail(now, Disposition::Accepted);
            }
            Some(SmtpServerEvent::StartTls) => {
                assert!(choices & 2 != 0 && !server.wants_input());
                server.start_tls(now);
            }
            None => {}
        }
        let before = out.len();
        server.poll_transmit(&mut out);
        assert!(!was_finished || before == out.len(), "nothing follows the end");
    }
    assert!(out.is_empty() || out.ends_with(b"\r\n"), "output is whole lines");
});
