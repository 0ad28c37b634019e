use super::*;

/// Mailboxes in tests: `box+NUMBER@in.test`.
struct Boxes;

impl RecipientPolicy for Boxes {
    type Recipient = u32;

    fn resolve(&self, address: &str) -> Option<u32> {
        address.strip_prefix("box+")?.strip_suffix("@in.test")?.parse().ok()
    }
}

const MAIL_OCTETS_MAX: usize = 1024 * 1024;
const RECIPIENTS_MAX: usize = 10;
const ERRORS_MAX: usize = 10;
const COMMANDS_MAX: usize = 10_000;
const COMMAND_WITHIN: Duration = Duration::from_secs(5 * 60);
const MAIL_WITHIN: Duration = Duration::from_secs(10 * 60);

struct Session {
    server: SmtpServer<Boxes>,
    now: Instant,
}

impl Session {
    fn new() -> Session {
        let now = Instant::now();
        let limits = SessionLimits { recipients_max: RECIPIENTS_MAX, ..SessionLimits::default() };
        let options =
            ServerOptions { hostname: "in.test".to_owned(), software: "Campanile", start_tls: true, limits };
        let mut session = Session { server: SmtpServer::new(options, Boxes, now), now };
        assert_eq!(session.written(), "220 in.test ESMTP Campanile\r\n");
        session
    }

    fn greeted() -> Session {
        let mut session = Session::new();
        assert!(session.receive("EHLO mx.test\r\n").contains("250-PIPELINING\r\n250-SIZE 1048576\r\n"));
        session
    }

    fn receive(&mut self, octets: &str) -> String {
        self.server.handle_input(self.now, octets.as_bytes());
        self.written()
    }

    fn written(&mut self) -> String {
        let mut output = Vec::new();
        self.server.poll_transmit(&mut output);
        String::from_utf8(output).unwrap()
    }

    fn mail(&mut self) -> Option<Mail<u32>> {
        match self.server.poll_event()? {
            SmtpServerEvent::Mail(mail) => Some(mail),
            SmtpServerEvent::StartTls => panic!("no mail, but STARTTLS"),
        }
    }
}

/// The codes of all replies, with their enhanced ones.
fn codes(replies: &str) -> Vec<&str> {
    replies
        .lines()
        .filter(|line| line.as_bytes().get(3) == Some(&b' '))
        .map(|line| line.split(' ').next().unwrap())
        .collect()
}

#[test]
fn a_mail_for_our_addresses_is_handed_over_and_answered_when_it_is_written_down() {
    let mut s = Session::greeted();
    let group = "MAIL FROM:<anna@people.test> SIZE=100\r\nRCPT TO:<box+7@in.test>\r\nRCPT TO:<box+8@in.test>\r\nDATA\r\n";
    assert_eq!(codes(&s.receive(group)), ["250", "250", "250", "354"]);
    assert_eq!(
        s.receive("Subject: x\r\n\r\n..yes\r\n.\r\nMAIL FROM:<>\r\n"),
        "",
        "the reply waits for the disk"
    );
    assert!(!s.server.wants_input() && s.server.poll_timeout().is_none());
    assert_eq!(
        s.mail(),
        Some(Mail {
            from: "anna@people.test".to_owned(),
            recipients: vec![7, 8],
            octets: b"Subject: x\r\n\r\n.yes\r\n".to_vec(),
        })
    );
    s.server.finish_mail(s.now, Disposition::Accepted);
    assert_eq!(codes(&s.written()), ["250", "250"], "what was pipelined behind it is read now");
    assert_eq!(codes(&s.receive("RCPT TO:<box+8@in.test>\r\nDATA\r\n")), ["250", "354"]);
    s.receive("x\r\n.\r\n");
    assert!(s.mail().is_some_and(|mail| mail.from.is_empty()));
    s.server.finish_mail(s.now, Disposition::LocalError);
    assert_eq!(codes(&s.written()), ["451"]);
    assert_eq!(s.receive("QUIT\r\n"), "221 2.0.0 goodbye\r\n");
    assert!(s.server.is_finished());
}

#[test]
fn an_address_that_is_unknown_here_is_refused() {
    for address in ["root@in.test", "box+7@elsewhere.test", "box+7@in.test@x.test", "box+7%x.test@relay.test"]
    {
        let mut s = Session::greeted();
        s.receive("MAIL FROM:<a@b.test>\r\n");
        assert_eq!(
            s.receive(&format!("RCPT TO:<{address}>\r\n")),
            "550 5.1.1 no such address here\r\n",
            "{address}"
        );
        assert_eq!(codes(&s.receive("DATA\r\n")), ["503"], "{address}");
    }
}

#[test]
fn commands_out_of_order_are_refused_and_the_session_goes_on() {
    let mut s = Session::new();
    assert_eq!(codes(&s.receive("MAIL FROM:<>\r\n")), ["503"]);
    assert_eq!(codes(&s.receive("HELO x\r\nRCPT TO:<box+1@in.test>\r\nDATA\r\n")), ["250", "503", "503"]);
    assert_eq!(
        codes(&s.receive("MAIL FROM:<>\r\nMAIL FROM:<>\r\nRSET\r\nMAIL FROM:<>\r\n")),
        ["250", "503", "250", "250"]
    );
    assert_eq!(codes(&s.receive("NOOP\r\nVRFY x\r\nXYZ\r\n")), ["250", "252", "500"]);
}

#[test]
fn every_limit_has_its_reply() {
    let mut s = Session::greeted();
    assert_eq!(
        codes(&s.receive("MAIL FROM:<> SIZE=1048577\r\nMAIL FROM:<> SIZE=1048576\r\n")),
        ["552", "250"]
    );
    let many = "RCPT TO:<box+1@in.test>\r\n".repeat(RECIPIENTS_MAX + 1);
    assert_eq!(codes(&s.receive(&many)).last(), Some(&"452"));
    s.receive("DATA\r\n");
    let line = format!("{}\r\n", "x".repeat(900));
    for _ in 0..=MAIL_OCTETS_MAX / line.len() {
        assert_eq!(s.receive(&line), "");
    }
    assert_eq!(codes(&s.receive(".\r\n")), ["552"]);
    assert_eq!(s.mail(), None);

    let mut s = Session::greeted();
    assert_eq!(codes(&s.receive(&format!("NOOP {}\r\n", "x".repeat(COMMAND_OCTETS_MAX)))), ["500"]);
    assert_eq!(s.receive(&"x".repeat(COMMAND_OCTETS_MAX + 1)), "500 5.5.2 line too long\r\n");
    assert!(s.server.is_finished(), "a line without end ends the session");

    let mut s = Session::greeted();
    let replies = s.receive(&"BAD\r\n".repeat(ERRORS_MAX + 5));
    assert_eq!(codes(&replies).len(), ERRORS_MAX + 1);
    assert!(replies.ends_with("421 4.7.0 too many errors\r\n") && s.server.is_finished());

    let mut s = Session::greeted();
    let replies = s.receive(&"NOOP\r\n".repeat(COMMANDS_MAX + 5));
    assert!(replies.ends_with("421 4.7.0 too many commands\r\n") && s.server.is_finished());
}

#[test]
fn a_client_that_is_silent_for_too_long_is_disconnected() {
    let mut s = Session::greeted();
    assert_eq!(s.server.poll_timeout(), Some(s.now + COMMAND_WITHIN));
    s.server.handle_timeout(s.now + COMMAND_WITHIN - Duration::from_millis(1));
    assert_eq!(s.written(), "");
    s.server.handle_timeout(s.now + COMMAND_WITHIN);
    assert!(s.written().starts_with("421 4.4.2") && s.server.is_finished());

    let mut s = Session::greeted();
    s.receive("MAIL FROM:<>\r\nRCPT TO:<box+1@in.test>\r\nDATA\r\n");
    s.now += MAIL_WITHIN - Duration::from_millis(1);
    s.receive("drop\r\n");
    assert_eq!(
        s.server.poll_timeout(),
        Some(s.now + Duration::from_millis(1)),
        "octets alone do not prolong a mail's time"
    );
}

#[test]
fn a_stop_is_announced_once() {
    let mut s = Session::greeted();
    s.server.stop();
    s.server.stop();
    assert_eq!(s.written(), "421 4.3.2 the service is stopping\r\n");
    assert_eq!(s.receive("NOOP\r\n"), "");
}

#[test]
fn after_starttls_the_client_begins_anew() {
    let mut s = Session::new();
    assert!(s.receive("EHLO x\r\n").contains("STARTTLS"));
    s.receive("MAIL FROM:<a@b.test>\r\nRCPT TO:<box+1@in.test>\r\n");
    assert_eq!(codes(&s.receive("STARTTLS\r\n")), ["220"]);
    assert_eq!(s.server.poll_event(), Some(SmtpServerEvent::StartTls));
    assert!(!s.server.wants_input() && s.server.poll_timeout().is_none());
    // What came in the clear meanwhile is not a word of the client's.
    assert_eq!(s.receive("MAIL FROM:<evil@x.test>\r\n"), "");
    s.server.start_tls(s.now);
    assert_eq!(codes(&s.receive("MAIL FROM:<a@b.test>\r\n")), ["503"], "first EHLO");
    assert!(!s.receive("EHLO x\r\n").contains("STARTTLS"));
    assert_eq!(codes(&s.receive("DATA\r\nSTARTTLS\r\n")), ["503", "503"]);
}

#[test]
fn octets_behind_starttls_end_the_session_and_without_a_certificate_there_is_none() {
    for behind in ["MAIL FROM:<evil@x.test>\r\n", "M", "\r\n"] {
        let mut s = Session::greeted();
        assert_eq!(
            s.receive(&format!("STARTTLS\r\n{behind}")),
            "503 5.5.1 nothing may stand behind STARTTLS\r\n"
        );
        assert!(s.server.is_finished() && s.server.poll_event().is_none(), "{behind:?}");
    }
    let mut s = Session::greeted();
    s.server.options.start_tls = false;
    assert!(!s.receive("EHLO x\r\n").contains("STARTTLS"));
    assert_eq!(codes(&s.receive("STARTTLS\r\nNOOP\r\n")), ["502", "250"]);
}

#[test]
fn a_cr_or_lf_that_stands_alone_ends_the_session() {
    let envelope = "MAIL FROM:<a@b.test>\r\nRCPT TO:<box+1@in.test>\r\nDATA\r\n";
    for (before, octets) in [
        ("", "NOOP\n"),
        ("", "NOOP\nNOOP\r\n"),
        ("", "NO\rOP\r\n"),
        ("", "NOOP\r\r\n"),
        (envelope, "a\n.\nMAIL FROM:<evil@x.test>\r\n"),
        (envelope, "a\r\n.\nMAIL FROM:<evil@x.test>\r\n.\r\n"),
        (envelope, "a\n.\r\nMAIL FROM:<evil@x.test>\r\n.\r\n"),
        (envelope, "a\r.\rb\r\n.\r\n"),
        (envelope, "a\r\r\n.\r\n"),
    ] {
        let mut s = Session::greeted();
        s.receive(before);
        assert_eq!(
            s.receive(octets),
            "500 5.5.2 a line ends with CR LF, and neither stands alone\r\n",
            "{octets:?}"
        );
        assert!(s.server.is_finished() && s.mail().is_none(), "{octets:?}");
    }
    let mut s = Session::greeted();
    assert_eq!(s.receive("NOOP\r"), "", "half of a line end");
    assert_eq!(codes(&s.receive("\nNOOP\r\n")), ["250", "250"]);
}

const LINES: [&str; 17] = [
    "EHLO x\r\n",
    "HELO x\r\n",
    "MAIL FROM:<a@b.test>\r\n",
    "MAIL FROM:<>\r\n",
    "RCPT TO:<box+1@in.test>\r\n",
    "RCPT TO:<box+1@in.test>\r\n",
    "RCPT TO:<x@y.test>\r\n",
    "DATA\r\n",
    "Subject: x\r\n",
    ".\r\n",
    "..x\r\n",
    "RSET\r\n",
    "QUIT\r\n",
    "\u{0}\u{ff}\r\n",
    "NO",
    "OP\r",
    "\n",
];

proptest::proptest! {
    /// Whatever a client says, in whatever pieces: mails have our recipients and are handed over one at a
    /// time, and a session that has ended says nothing more.
    #[test]
    fn no_client_can_confuse_the_server(lines in proptest::collection::vec(0..LINES.len(), 0..80)) {
        let mut s = Session::new();
        for line in lines {
            let finished = s.server.is_finished();
            let written = s.receive(LINES[line]);
            proptest::prop_assert!(!finished || written.is_empty());
            if let Some(mail) = s.mail() {
                proptest::prop_assert!((1..=RECIPIENTS_MAX).contains(&mail.recipients.len()));
                proptest::prop_assert!(mail.recipients.iter().all(|recipient| *recipient == 1));
                proptest::prop_assert!(s.mail().is_none() && !s.server.wants_input());
                s.server.finish_mail(s.now, Disposition::Accepted);
                proptest::prop_assert!(s.written().starts_with("250 "));
            }
        }
    }
}
