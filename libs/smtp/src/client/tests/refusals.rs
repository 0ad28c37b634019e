//! A no at every place a server can say it, and nonsense at some.

use super::*;

/// How the session goes on: the next transaction must get through after the refusal.
fn goes_on(s: &mut Scripted, expected_first: &str, replies: &str) {
    let written = s.submit(transaction(9, "z"));
    assert!(written.starts_with(expected_first), "{written:?}");
    s.receive(replies);
    s.receive("250 queued as Z\r\n");
    assert_eq!(s.verdicts(), [verdict(9, "accepted Z")]);
}

#[test]
fn a_refusal_at_any_command_of_a_group_is_that_transactions_verdict() {
    const NEXT: &str = "250 reset\r\n250 ok\r\n250 ok\r\n354 go\r\n";
    const NEXT_PLAIN: &str = "250 ok\r\n250 ok\r\n354 go\r\n";
    for (name, replies, expected, first, next) in [
        (
            "MAIL",
            "550 5.7.1 not you\r\n503 no\r\n503 no\r\n",
            "permanent smtp:550 5.7.1",
            "RSET\r\nMAIL",
            NEXT,
        ),
        (
            "MAIL for now",
            "451 4.3.0 later\r\n503 no\r\n503 no\r\n",
            "temporary smtp:451 4.3.0",
            "RSET\r\nMAIL",
            NEXT,
        ),
        (
            "RCPT",
            "250 ok\r\n550 5.1.1 no user\r\n503 no rcpt\r\n",
            "permanent smtp:550 5.1.1",
            "RSET\r\nMAIL",
            NEXT,
        ),
        (
            "RCPT, 554 to DATA",
            "250 ok\r\n550 5.1.1 no\r\n554 no\r\n",
            "permanent smtp:550 5.1.1",
            "RSET\r\nMAIL",
            NEXT,
        ),
        (
            "greylisted",
            "250 ok\r\n451 4.7.1 grey\r\n503 no\r\n",
            "temporary smtp:451 4.7.1",
            "RSET\r\nMAIL",
            NEXT,
        ),
        ("DATA", "250 ok\r\n250 ok\r\n451 no disk\r\n", "temporary smtp:451", "RSET\r\nMAIL", NEXT),
        (
            "end of data",
            "250 ok\r\n250 ok\r\n354 go\r\n554 5.6.0 spam\r\n",
            "permanent smtp:554 5.6.0",
            "MAIL",
            NEXT_PLAIN,
        ),
    ] {
        let mut s = Scripted::open(20, "\r\n250-PIPELINING");
        s.submit(transaction(1, "a"));
        s.receive(replies);
        assert_eq!(s.verdicts(), [verdict(1, expected)], "{name}");
        goes_on(&mut s, first, next);
    }
}

#[test]
fn a_refusal_in_lockstep_skips_the_rest_and_resets() {
    for (replies, expected) in [
        (&["550 no\r\n"][..], "permanent smtp:550"),
        (&["250 ok\r\n", "450 4.2.1 busy\r\n"], "temporary smtp:450 4.2.1"),
        (&["250 ok\r\n", "250 ok\r\n", "554 no\r\n"], "permanent smtp:554"),
    ] {
        let mut s = Scripted::open(20, "");
        s.submit(transaction(1, "a"));
        for reply in replies {
            s.receive(reply);
        }
        assert_eq!(s.verdicts(), [verdict(1, expected)]);
        assert_eq!(s.submit(transaction(2, "b")), "RSET\r\n");
        assert_eq!(s.receive("250 ok\r\n"), "MAIL FROM:<bounces@alerts.test>\r\n");
    }
}

#[test]
fn a_server_that_wants_data_for_nobody_gets_an_empty_message() {
    let mut s = Scripted::open(20, "\r\n250-PIPELINING");
    s.submit(transaction(1, "a"));
    let written = s.receive_and_submit("250 ok\r\n550 5.1.1 no user\r\n354 go on\r\n", transaction(2, "b"));
    assert!(written.starts_with(".\r\nMAIL FROM"), "{written:?}");
    assert_eq!(s.verdicts(), [verdict(1, "permanent smtp:550 5.1.1")]);
    // Whatever it says to the empty message changes nothing.
    s.receive("250 queued as NOBODY\r\n250 ok\r\n250 ok\r\n354 go\r\n");
    assert_eq!(s.verdicts(), []);
    s.receive("250 queued as B\r\n");
    assert_eq!(s.verdicts(), [verdict(2, "accepted B")]);
}

#[test]
fn a_server_that_closes_refuses_for_now_what_it_was_asked_last() {
    for (name, replies, expected) in [
        ("MAIL: nothing to do with the recipient", "421 4.3.2 too many mails\r\n", "not tried"),
        ("RCPT", "250 ok\r\n421 4.7.0 bye\r\n", "temporary smtp:421 4.7.0"),
        ("DATA", "250 ok\r\n250 ok\r\n421 bye\r\n", "temporary smtp:421"),
    ] {
        let mut s = Scripted::open(20, "\r\n250-PIPELINING");
        s.submit(transaction(1, "a"));
        s.receive(replies);
        assert_eq!(s.verdicts(), [verdict(1, expected)], "{name}");
        assert!(s.end().is_some_and(|end| end.is_err_and(|code| code.starts_with("smtp:421"))), "{name}");
    }
    let mut s = Scripted::open(20, "\r\n250-PIPELINING");
    s.submit(transaction(1, "a"));
    s.receive_and_submit("250 ok\r\n250 ok\r\n354 go\r\n", transaction(2, "b"));
    s.receive("421 bye\r\n");
    assert_eq!(s.verdicts(), [verdict(1, "temporary smtp:421"), verdict(2, "not tried")], "end of data");
    assert_eq!(s.client.poll_transmit(), b"");
}

#[test]
fn a_server_that_closes_carries_out_nothing_behind_it_though_it_was_written() {
    let mut s = Scripted::open(3, "\r\n250-PIPELINING\r\n250-CHUNKING");
    for (id, to) in [(1, "a"), (2, "b"), (3, "c")] {
        s.submit(transaction(id, to));
    }
    s.receive("250 ok\r\n250 ok\r\n250 queued as A\r\n250 ok\r\n421 4.3.2 enough\r\n");
    assert_eq!(s.verdicts(), [verdict(1, "accepted A"), verdict(2, "not tried"), verdict(3, "not tried")]);
}

#[test]
fn a_refusal_before_the_first_transaction_ends_the_session_with_the_servers_words() {
    for (replies, code, words) in [
        (&["554 5.7.1 go away\r\n"][..], "smtp:554 5.7.1", "the greeting"),
        (&["421 busy\r\n"], "smtp:421", "the greeting"),
        (&["220 mx\r\n", "421 no\r\n"], "smtp:421", "EHLO"),
        (&["220 mx\r\n", "550 no\r\n", "550 no\r\n"], "smtp:550", "HELO"),
        (&["220 mx\r\n", "250-mx\r\n250 AUTH PLAIN\r\n"], "smtp:protocol", "does not offer STARTTLS"),
        (&["220 mx\r\n", "250-mx\r\n250 STARTTLS\r\n", "454 4.7.0 no\r\n"], "smtp:454 4.7.0", "STARTTLS"),
        (&["HTTP/1.1 400 Bad Request\r\n"], "smtp:protocol", "HTTP/1.1"),
        (&["354 go\r\n"], "smtp:protocol", "does not fit"),
    ] {
        let mut s = Scripted::new(ClientOptions { tls: TlsMode::StartTls, ..options(20) });
        for reply in replies {
            s.receive(reply);
        }
        match s.events.last() {
            Some(SmtpClientEvent::Closed(Err(failure))) => {
                assert_eq!(failure.code, code);
                assert!(failure.text.contains(words), "{:?}", failure.text);
            }
            other => panic!("{replies:?} gave {other:?}"),
        }
    }
}

#[test]
fn a_wrong_password_ends_the_session() {
    let credentials = Some(("user".to_owned(), "wrong".to_owned()));
    let mut s = Scripted::new(ClientOptions { credentials, ..options(20) });
    s.receive("220 mx\r\n");
    s.receive("250-mx\r\n250 AUTH PLAIN\r\n");
    s.receive("535 5.7.8 bad credentials\r\n");
    assert_eq!(s.end(), Some(Err("smtp:535 5.7.8".to_owned())));
}

#[test]
fn replies_that_do_not_fit_end_the_session_and_what_was_written_is_unknown() {
    for (replies, expected) in [
        ("354 to mail?\r\n", "not tried"),
        ("250 ok\r\n250 ok\r\n250 to data?\r\n", "not tried"),
        ("250 ok\r\n250 ok\r\n354 go\r\n354 again?\r\n", "unknown"),
        ("250 ok\r\n250 ok\r\n354 go\r\nnonsense\r\n", "unknown"),
        ("250 ok\r\n250 ok\r\n354 go\r\n250 done\r\n250 more?\r\n", "accepted "),
    ] {
        let mut s = Scripted::open(20, "\r\n250-PIPELINING");
        s.submit(transaction(1, "a"));
        s.receive(replies);
        if let Some(rest) = replies.strip_prefix("250 ok\r\n250 ok\r\n354 go\r\n") {
            // What the server says of the end of data must come after it was written.
            s = Scripted::open(20, "\r\n250-PIPELINING");
            s.submit(transaction(1, "a"));
            s.receive("250 ok\r\n250 ok\r\n354 go\r\n");
            s.receive(rest);
        }
        assert_eq!(s.verdicts(), [verdict(1, expected)], "{replies:?}");
        assert_eq!(s.end(), Some(Err("smtp:protocol".to_owned())), "{replies:?}");
    }
}

#[test]
fn an_idle_session_that_is_closed_says_so() {
    let mut s = Scripted::open(20, "");
    s.receive("421 4.4.2 idle too long\r\n");
    assert_eq!(s.end(), Some(Err("smtp:421 4.4.2".to_owned())));
    let mut s = Scripted::open(20, "");
    s.client.handle_input(s.now, Input::Lost("connection reset by peer"));
    s.written();
    assert_eq!(s.end(), Some(Err("smtp:lost".to_owned())));
}

#[test]
fn only_the_mail_the_server_was_at_is_suspected_when_it_hangs_up() {
    let suspects = |s: &mut Scripted| {
        s.client.handle_input(s.now, Input::Lost("reset"));
        s.written();
        let events = std::mem::take(&mut s.events);
        let verdicts = events.into_iter().filter_map(|event| match event {
            SmtpClientEvent::Done { id, verdict: Verdict::NotTried { suspect, .. } } => Some((id, suspect)),
            _ => None,
        });
        verdicts.collect::<Vec<_>>()
    };
    let mut s = Scripted::open(20, "\r\n250-PIPELINING");
    s.submit(transaction(1, "a"));
    assert_eq!(suspects(&mut s), [(1, true)]);

    let mut s = Scripted::open(20, "\r\n250-PIPELINING");
    s.submit(transaction(1, "a"));
    s.receive_and_submit("250 ok\r\n250 ok\r\n354 go\r\n", transaction(2, "b"));
    assert_eq!(suspects(&mut s), [(2, false)], "the first is unknown");

    let mut s = Scripted::open(20, "\r\n250-PIPELINING");
    s.submit(transaction(1, "a"));
    s.receive("421 4.7.0 enough for one connection\r\n");
    assert_eq!(suspects(&mut s), [(1, false)]);
}
