//! The two machines against each other over a virtual wire.

use crate::client::{self, Input, SmtpClient, Timeouts, TlsMode, Transaction, Verdict};
use crate::content::push_canonical;
use crate::path::Path;
use crate::server::{self, Disposition, Mail, RecipientPolicy, SessionLimits, SmtpServer};
use proptest::prelude::*;
use std::time::Instant;

const MAIL_OCTETS_MAX: usize = 4_096;

struct Boxes;

impl RecipientPolicy for Boxes {
    type Recipient = String;

    fn resolve(&self, address: &str) -> Option<String> {
        let name = address.strip_suffix("@in.test")?;
        (!name.starts_with("unknown")).then(|| name.to_owned())
    }
}

fn pair(now: Instant, window: usize) -> (SmtpClient, SmtpServer<Boxes>) {
    let options = client::ClientOptions {
        hello: "out.test".to_owned(),
        tls: TlsMode::None,
        credentials: None,
        window,
        timeouts: Timeouts::default(),
    };
    let limits =
        SessionLimits { mail_octets_max: MAIL_OCTETS_MAX, errors_max: u32::MAX, ..SessionLimits::default() };
    let server =
        server::ServerOptions { hostname: "in.test".to_owned(), software: "test", start_tls: false, limits };
    (SmtpClient::new(options, now), SmtpServer::new(server, Boxes, now))
}

fn transaction(id: u64, to: &str, message: Vec<u8>) -> Transaction {
    Transaction {
        id,
        from: Path::parse("out@out.test").unwrap(),
        to: Path::parse(&format!("{to}@in.test")).unwrap(),
        envelope_id: String::new(),
        notify_success: false,
        message,
    }
}

/// Carries all transactions over a wire that takes `piece` octets at a time: verdicts in their order, and
/// mails.
fn carry(
    mut left: Vec<Transaction>,
    window: usize,
    piece: usize,
) -> (Vec<(u64, Verdict)>, Vec<Mail<String>>) {
    let now = Instant::now();
    let (mut client, mut server) = pair(now, window);
    let (mut verdicts, mut mails, mut wire) = (Vec::new(), Vec::new(), Vec::new());
    left.reverse();
    loop {
        server.poll_transmit(&mut wire);
        let taken = wire.len().min(piece);
        client.handle_input(now, Input::Octets(&wire[..taken]));
        wire.drain(..taken);
        while let Some(event) = client.poll_event() {
            match event {
                client::SmtpClientEvent::Done { id, verdict } => verdicts.push((id, verdict)),
                client::SmtpClientEvent::Closed(end) => {
                    assert_eq!(end, Ok(()));
                    return (verdicts, mails);
                }
                client::SmtpClientEvent::Ready(_) | client::SmtpClientEvent::StartTls => {}
            }
        }
        while client.room() > 0
            && let Some(transaction) = left.pop()
        {
            client.submit(now, transaction);
        }
        // A client that is told to quit before its session is open ends at once.
        if left.is_empty() && client.is_idle() {
            client.quit(now);
        }
        let octets = client.poll_transmit();
        let octets = octets[..octets.len().min(piece)].to_vec();
        client.handle_input(now, Input::Sent(octets.len()));
        server.handle_input(now, &octets);
        while let Some(server::SmtpServerEvent::Mail(mail)) = server.poll_event() {
            mails.push(mail);
            server.finish_mail(now, Disposition::Accepted);
        }
    }
}

proptest! {
    /// Any messages, in pieces of any size: each is taken once, as its canonical form, or refused with its
    /// reason.
    #[test]
    fn every_message_arrives_once_as_its_canonical_form(
        messages in prop::collection::vec(
            (any::<bool>(), prop::collection::vec(prop::sample::select(b"ab.\r\n".to_vec()), 0..200), 0_u8..20),
            1..8,
        ),
        window in 1_usize..4,
        piece in 1_usize..300,
    ) {
        let mut expected = Vec::new();
        let mut transactions = Vec::new();
        for (id, (is_known, message, size)) in messages.into_iter().enumerate() {
            let message = if size == 0 { vec![b'x'; MAIL_OCTETS_MAX + 1] } else { message };
            let mut canonical = Vec::new();
            push_canonical(&mut canonical, &message);
            if is_known && size > 0 {
                expected.push((id as u64, canonical));
            }
            let to = if is_known { format!("box{id}") } else { format!("unknown{id}") };
            transactions.push(transaction(id as u64, &to, message));
        }
        let submitted = transactions.len() as u64;
        let (mut verdicts, mails) = carry(transactions, window, piece);
        verdicts.sort_by_key(|(id, _)| *id);
        let ids: Vec<u64> = verdicts.iter().map(|(id, _)| *id).collect();
        prop_assert_eq!(ids, (0..submitted).collect::<Vec<_>>());
        for (id, verdict) in &verdicts {
            match verdict {
                Verdict::Accepted { .. } => prop_assert!(expected.iter().any(|(known, _)| known == id)),
                Verdict::Refused { permanent, code, .. } => {
                    prop_assert!(*permanent && (code == "smtp:550 5.1.1" || code == "local:too-large"));
                }
                other => prop_assert!(false, "{id}: {other:?}"),
            }
        }
        let names: Vec<_> = expected.into_iter().map(|(id, octets)| (format!("box{id}"), octets)).collect();
        let mails: Vec<_> = mails.into_iter().map(|mail| (mail.recipients.concat(), mail.octets)).collect();
        prop_assert_eq!(mails, names);
    }
}
