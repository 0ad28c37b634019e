//! Opening, closing, and what is written together.

use super::*;

const BODY: &str = "\r\n\r\n..dot\r\nbody\r\n.\r\n";

#[test]
fn with_pipelining_a_message_and_the_next_envelope_are_one_write() {
    let mut s = Scripted::open(20, "\r\n250-PIPELINING");
    assert_eq!(s.client.room(), 1);
    let first = s.submit(transaction(1, "a"));
    assert_eq!(first, "MAIL FROM:<bounces@alerts.test>\r\nRCPT TO:<a@people.test>\r\nDATA\r\n");
    assert_eq!(s.client.room(), 0, "DATA is the last of its group");
    let content_and_next = s.receive_and_submit("250 ok\r\n250 ok\r\n354 go\r\n", transaction(2, "b"));
    assert_eq!(s.client.room(), 0);
    assert_eq!(
        content_and_next,
        format!("Subject: 1{BODY}MAIL FROM:<bounces@alerts.test>\r\nRCPT TO:<b@people.test>\r\nDATA\r\n")
    );
    let last = s.receive("250 2.0.0 queued as AA1\r\n250 ok\r\n250 ok\r\n354 go\r\n");
    assert_eq!(last, format!("Subject: 2{BODY}"));
    assert_eq!(s.verdicts(), [verdict(1, "accepted AA1")]);
    assert_eq!(s.client.room(), 1);
    assert_eq!(s.receive("250 2.0.0 queued as AA2\r\n"), "");
    assert_eq!(s.verdicts(), [verdict(2, "accepted AA2")]);
    assert!(s.client.is_idle() && s.client.poll_timeout().is_none());
    s.client.quit(s.now);
    assert_eq!(s.written(), "QUIT\r\n");
    s.receive("221 bye\r\n");
    assert_eq!(s.end(), Some(Ok(())));
}

#[test]
fn without_pipelining_one_command_waits_for_the_reply_to_the_one_before() {
    let mut s = Scripted::open(20, "");
    assert_eq!(s.client.room(), 1);
    assert_eq!(s.submit(transaction(1, "a")), "MAIL FROM:<bounces@alerts.test>\r\n");
    assert_eq!(s.receive("250 ok\r\n"), "RCPT TO:<a@people.test>\r\n");
    assert_eq!(s.receive("251 will forward\r\n"), "DATA\r\n");
    assert_eq!(s.receive("354 go\r\n"), format!("Subject: 1{BODY}"));
    assert_eq!(s.receive("250 id=x-1\r\n"), "");
    assert_eq!(s.verdicts(), [verdict(1, "accepted x-1")]);
}

#[test]
fn with_chunking_the_whole_window_is_under_way() {
    let mut s = Scripted::open(3, "\r\n250-PIPELINING\r\n250-CHUNKING");
    assert_eq!(s.client.room(), 3);
    for (id, to) in [(1, "a"), (2, "b"), (3, "c")] {
        assert_eq!(
            s.submit(transaction(id, to)),
            format!(
                "MAIL FROM:<bounces@alerts.test>\r\nRCPT TO:<{to}@people.test>\r\nBDAT 26 LAST\r\nSubject: {id}\r\n\r\n.dot\r\nbody\r\nRSET\r\n"
            )
        );
    }
    assert_eq!(s.client.room(), 0);
    s.receive("250 ok\r\n550 5.1.1 no a\r\n503 no recipients\r\n250 reset\r\n");
    assert_eq!(s.verdicts(), [verdict(1, "permanent smtp:550 5.1.1")]);
    s.receive("250 ok\r\n250 ok\r\n250 queued as B\r\n250 reset\r\n250 ok\r\n250 ok\r\n452 4.3.1 full\r\n250 reset\r\n");
    assert_eq!(s.verdicts(), [verdict(2, "accepted B"), verdict(3, "temporary smtp:452 4.3.1")]);
    assert_eq!((s.client.room(), s.client.is_idle()), (3, true));
}

#[test]
fn a_window_of_one_never_chunks() {
    let mut s = Scripted::open(1, "\r\n250-PIPELINING\r\n250-CHUNKING");
    assert!(s.submit(transaction(1, "a")).ends_with("DATA\r\n"));
    assert_eq!(s.client.room(), 0);
}

#[test]
fn a_server_that_does_not_know_ehlo_is_greeted_the_old_way() {
    let mut s = Scripted::new(options(20));
    s.receive("220 old\r\n");
    assert_eq!(s.receive("502 what?\r\n"), "HELO alerts.test\r\n");
    s.receive("250 hello\r\n");
    assert_eq!(s.client.room(), 1, "it has no extensions");
}

#[test]
fn starttls_hands_the_connection_over_and_forgets_what_was_said_before() {
    let mut s = Scripted::new(ClientOptions { tls: TlsMode::StartTls, ..options(20) });
    s.receive("220 mx\r\n");
    assert_eq!(s.receive("250-mx\r\n250-PIPELINING\r\n250-SIZE 5\r\n250 STARTTLS\r\n"), "STARTTLS\r\n");
    assert_eq!(s.receive("220 go\r\n"), "");
    assert_eq!(s.events, [SmtpClientEvent::StartTls]);
    s.client.handle_input(s.now, Input::Secured);
    assert_eq!(s.written(), "EHLO alerts.test\r\n");
    s.receive("250 mx\r\n");
    assert_eq!(s.events[1], SmtpClientEvent::Ready(Extensions::default()));
}

#[test]
fn octets_injected_before_the_handshake_end_the_session() {
    let mut s = Scripted::new(ClientOptions { tls: TlsMode::StartTls, ..options(20) });
    s.receive("220 mx\r\n");
    s.receive("250-mx\r\n250 STARTTLS\r\n");
    s.receive("220 go\r\n250 injected\r\n");
    assert_eq!(s.end(), Some(Err("smtp:protocol".to_owned())));
    assert!(!s.events.contains(&SmtpClientEvent::StartTls));
}

#[test]
fn credentials_go_by_plain_or_by_login() {
    let with = |extensions: &str| {
        let credentials = Some(("user".to_owned(), "pässword".to_owned()));
        let mut s = Scripted::new(ClientOptions { credentials, ..options(20) });
        s.receive("220 mx\r\n");
        let written = s.receive(&format!("250-mx\r\n250 {extensions}\r\n"));
        (s, written)
    };
    let (mut s, written) = with("AUTH LOGIN PLAIN");
    assert_eq!(written, "AUTH PLAIN AHVzZXIAcMOkc3N3b3Jk\r\n");
    s.receive("235 2.7.0 welcome\r\n");
    assert!(matches!(s.events.as_slice(), [SmtpClientEvent::Ready(_)]));

    let (mut s, written) = with("AUTH LOGIN");
    assert_eq!(written, "AUTH LOGIN\r\n");
    assert_eq!(s.receive("334 VXNlcm5hbWU6\r\n"), "dXNlcg==\r\n");
    assert_eq!(s.receive("334 UGFzc3dvcmQ6\r\n"), "cMOkc3N3b3Jk\r\n");
    s.receive("235 welcome\r\n");
    assert!(matches!(s.events.as_slice(), [SmtpClientEvent::Ready(_)]));

    let (s, written) = with("AUTH CRAM-MD5");
    assert_eq!((written.as_str(), s.end()), ("", Some(Err("smtp:protocol".to_owned()))));
}

#[test]
fn silence_ends_the_session_after_the_time_the_standard_gives_each_command() {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let silent_after = |s: &mut Scripted, wait: Duration| {
        assert_eq!(s.client.poll_timeout(), Some(s.now + wait));
        s.client.handle_timeout(s.now + wait - Duration::from_millis(1));
        s.written();
        assert_eq!(s.end(), None);
        s.client.handle_timeout(s.now + wait);
        s.written();
        assert_eq!(s.end(), Some(Err("smtp:timeout".to_owned())));
        s.verdicts()
    };
    assert_eq!(silent_after(&mut Scripted::new(options(20)), minutes(5)), []);

    let mut s = Scripted::open(20, "");
    s.submit(transaction(1, "a"));
    assert_eq!(silent_after(&mut s, minutes(5)), [verdict(1, "not tried")]);

    let mut s = Scripted::open(20, "");
    s.submit(transaction(1, "a"));
    s.receive("250 ok\r\n");
    s.receive("250 ok\r\n");
    assert_eq!(silent_after(&mut s, minutes(2)), [verdict(1, "not tried")]);

    let mut s = Scripted::open(20, "\r\n250-PIPELINING");
    s.submit(transaction(1, "a"));
    s.now += minutes(1);
    s.receive_and_submit("250 ok\r\n250 ok\r\n354 go\r\n", transaction(2, "b"));
    assert_eq!(silent_after(&mut s, minutes(10)), [verdict(1, "unknown"), verdict(2, "not tried")]);
}

#[test]
fn a_session_that_is_told_to_end_finishes_what_it_has() {
    let mut s = Scripted::open(20, "\r\n250-PIPELINING");
    s.submit(transaction(1, "a"));
    s.client.quit(s.now);
    assert_eq!((s.client.room(), s.written().as_str()), (0, ""));
    s.receive("250 ok\r\n250 ok\r\n354 go\r\n");
    assert_eq!(s.receive("250 ok\r\n"), "QUIT\r\n");
    assert_eq!(s.verdicts(), [verdict(1, "accepted ")]);
    s.client.handle_input(s.now, Input::Lost("closed"));
    s.written();
    assert_eq!(s.end(), Some(Ok(())), "who closes after QUIT without a word is done too");
}

#[test]
fn a_transaction_without_room_comes_back() {
    let mut s = Scripted::new(options(20));
    s.submit(transaction(1, "a"));
    assert_eq!(s.verdicts(), [verdict(1, "not tried")]);
}

/// Lines of a server that has lost its mind, and of one that has not.
const LINES: [&str; 16] = [
    "250 ok\r\n",
    "250 ok\r\n250 ok\r\n354 go\r\n",
    "250-mx\r\n",
    "354 go\r\n",
    "550 5.1.1 no\r\n",
    "451 later\r\n",
    "503 no\r\n",
    "421 bye\r\n",
    "220 go\r\n",
    "334 x\r\n",
    "235 ok\r\n",
    "nonsense\r\n",
    "25",
    "0 ok\r\n",
    "250 queued as X\r\n",
    "",
];

proptest::proptest! {
    /// Whatever a server says, and wherever it stops: one verdict for each transaction, one end, nothing to
    /// write after it.
    #[test]
    fn every_transaction_gets_one_verdict_whatever_the_server_says(
        lines in proptest::collection::vec(0..LINES.len(), 0..60),
        chunking in proptest::bool::ANY,
        pipelining in proptest::bool::ANY,
        window in 1_usize..5,
    ) {
        let extensions = match (pipelining, chunking) {
            (false, _) => "",
            (true, false) => "\r\n250-PIPELINING",
            (true, true) => "\r\n250-PIPELINING\r\n250-CHUNKING",
        };
        let mut s = Scripted::open(window, extensions);
        let mut submitted = 0;
        for line in lines {
            while s.client.room() > 0 {
                s.submit(transaction(submitted, "a"));
                submitted += 1;
            }
            s.receive(LINES[line]);
        }
        s.client.handle_input(s.now, Input::Lost("over"));
        s.written();
        let ends = s.events.iter().filter(|event| matches!(event, SmtpClientEvent::Closed(_))).count();
        let mut ids: Vec<u64> = s.verdicts().into_iter().map(|(id, _)| id).collect();
        ids.sort_unstable();
        proptest::prop_assert_eq!(ids, (0..submitted).collect::<Vec<_>>());
        proptest::prop_assert_eq!((ends, s.client.poll_transmit()), (1, &b""[..]));
        proptest::prop_assert_eq!((s.client.room(), s.client.poll_timeout()), (0, None));
    }
}
