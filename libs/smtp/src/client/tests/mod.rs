//! The machine against scripted servers and against a small server over a virtual wire that is cut at every
//! octet.

mod cuts;
mod model;
mod refusals;
mod sessions;

use super::*;
use crate::path::Path;

/// A client's options without TLS and credentials.
fn options(window: usize) -> ClientOptions {
    ClientOptions {
        hello: "alerts.test".to_owned(),
        tls: TlsMode::None,
        credentials: None,
        window,
        timeouts: Timeouts::default(),
    }
}

fn transaction(id: u64, to: &str) -> Transaction {
    Transaction {
        id,
        from: Path::parse("bounces@alerts.test").unwrap(),
        to: Path::parse(&format!("{to}@people.test")).unwrap(),
        envelope_id: String::new(),
        notify_success: false,
        message: format!("Subject: {id}\r\n\r\n.dot\r\nbody\r\n").into_bytes(),
    }
}

/// A client and what it wrote, under a clock that stands still unless moved.
struct Scripted {
    client: SmtpClient,
    now: Instant,
    events: Vec<SmtpClientEvent>,
}

impl Scripted {
    fn new(options: ClientOptions) -> Scripted {
        let now = Instant::now();
        Scripted { client: SmtpClient::new(options, now), now, events: Vec::new() }
    }

    /// Opens a session with a server that offers these extensions.
    fn open(window: usize, extensions: &str) -> Scripted {
        let mut scripted = Scripted::new(options(window));
        assert_eq!(scripted.receive("220 mx\r\n"), "EHLO alerts.test\r\n");
        assert_eq!(scripted.receive(&format!("250-mx{extensions}\r\n250 HELP\r\n")), "");
        assert!(matches!(scripted.events.as_slice(), [SmtpClientEvent::Ready(_)]), "{:?}", scripted.events);
        scripted.events.clear();
        scripted
    }

    /// Gives the client octets of the server; returns what it writes thereupon.
    fn receive(&mut self, octets: &str) -> String {
        self.client.handle_input(self.now, Input::Octets(octets.as_bytes()));
        self.written()
    }

    /// Gives the client octets and then, before anything is written, a transaction; returns what is written
    /// thereupon.
    fn receive_and_submit(&mut self, octets: &str, transaction: Transaction) -> String {
        self.client.handle_input(self.now, Input::Octets(octets.as_bytes()));
        assert!(self.client.room() > 0, "no room after {octets:?}");
        self.submit(transaction)
    }

    /// Hands over a transaction; returns what is written thereupon.
    fn submit(&mut self, transaction: Transaction) -> String {
        self.client.submit(self.now, transaction);
        self.written()
    }

    fn written(&mut self) -> String {
        let octets = self.client.poll_transmit().to_vec();
        self.client.handle_input(self.now, Input::Sent(octets.len()));
        while let Some(event) = self.client.poll_event() {
            self.events.push(event);
        }
        String::from_utf8(octets).unwrap()
    }

    /// Verdicts so far, each as one word with its code.
    fn verdicts(&mut self) -> Vec<(u64, String)> {
        let events = std::mem::take(&mut self.events);
        let (done, rest) =
            events.into_iter().partition(|event| matches!(event, SmtpClientEvent::Done { .. }));
        self.events = rest;
        done.into_iter()
            .map(|event| match event {
                SmtpClientEvent::Done { id, verdict } => (id, in_short(&verdict)),
                _ => unreachable!(),
            })
            .collect()
    }

    /// The end of the session, as a code; nothing if it is open.
    fn end(&self) -> Option<Result<(), String>> {
        self.events.iter().find_map(|event| match event {
            SmtpClientEvent::Closed(end) => Some(end.clone().map_err(|failure| failure.code)),
            _ => None,
        })
    }
}

fn in_short(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepted { queue_id, .. } => format!("accepted {queue_id}"),
        Verdict::Refused { permanent, code, .. } => {
            format!("{} {code}", if *permanent { "permanent" } else { "temporary" })
        }
        Verdict::Unknown { .. } => "unknown".to_owned(),
        Verdict::NotTried { .. } => "not tried".to_owned(),
    }
}

fn verdict(id: u64, in_short: &str) -> (u64, String) {
    (id, in_short.to_owned())
}
