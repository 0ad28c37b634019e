//! The client against scripted servers.

use super::*;
use crate::command::ReplyType;
use crate::tag::TagState;
use proptest::prelude::*;

fn page(two_way: bool) -> OutgoingPage {
    let choices = vec![("01".to_owned(), b"I am safe".to_vec()), ("02".to_owned(), b"I need help".to_vec())];
    let reply = ReplyType::MultipleChoice;
    let level_3 = TwoWay { expires_h: Some(24), no_queue: false, ack_read: true, reply, choices };
    OutgoingPage {
        id: 7,
        pager: "SHIRLEY".to_owned(),
        text: b"Leave by the north gate".to_vec(),
        two_way: two_way.then_some(level_3),
        ..OutgoingPage::default()
    }
}

fn client(now: Instant) -> SnppClient {
    SnppClient::new(SnppClientOptions::default(), now)
}

/// Writes all that waits: each command as a line.
fn written(client: &mut SnppClient, now: Instant) -> String {
    let text = String::from_utf8(client.poll_transmit().to_vec()).unwrap();
    client.handle_input(now, SnppInput::Sent(text.len()));
    text.trim_end().to_owned()
}

fn said(client: &mut SnppClient, now: Instant, line: &str) {
    client.handle_input(now, SnppInput::Octets(format!("{line}\r\n").as_bytes()));
}

fn events(client: &mut SnppClient) -> Vec<SnppClientEvent> {
    std::iter::from_fn(|| client.poll_event()).collect()
}

/// Runs a page: commands that were written, and events. The script has the greeting, then a reply for each
/// command; when it is over the connection is lost.
fn run(page: OutgoingPage, script: &[&str]) -> (Vec<String>, Vec<SnppClientEvent>) {
    let now = Instant::now();
    let (mut client, mut commands, mut seen) = (client(now), Vec::new(), Vec::new());
    let mut page = Some(page);
    for line in script {
        said(&mut client, now, line);
        if client.is_idle()
            && let Some(page) = page.take()
        {
            client.submit(now, page);
        }
        let command = written(&mut client, now);
        if !command.is_empty() {
            commands.push(command);
        }
        seen.extend(events(&mut client));
    }
    client.handle_input(now, SnppInput::Lost("cut"));
    seen.extend(events(&mut client));
    (commands, seen)
}

fn verdict(events: &[SnppClientEvent]) -> &PageVerdict {
    let mut verdicts = events.iter().filter_map(|event| match event {
        SnppClientEvent::Done { id: 7, verdict } => Some(verdict),
        _ => None,
    });
    let first = verdicts.next().unwrap_or_else(|| panic!("no verdict: {events:?}"));
    assert!(verdicts.next().is_none(), "one verdict: {events:?}");
    first
}

#[test]
fn a_page_of_level_one_has_three_commands() {
    let (commands, events) =
        run(page(false), &["220 ready", "250 Pager ID Accepted", "250 Message OK", "250 Message Sent OK"]);
    assert_eq!(commands, ["PAGE SHIRLEY", "MESS Leave by the north gate", "SEND"]);
    let PageVerdict::Accepted { receipt, without } = verdict(&events) else { panic!("{events:?}") };
    assert_eq!((receipt.words.as_str(), &receipt.tag), ("250 Message Sent OK", &None));
    assert!(without.is_empty());
}

#[test]
fn lines_go_by_data_and_by_mess_where_the_server_has_no_data() {
    let mut lines = page(false);
    lines.text = b"one\n.two".to_vec();
    let (commands, events) =
        run(lines.clone(), &["220 x", "250 x", "354 Begin Input", "250 DATA Accepted", "250 sent"]);
    assert_eq!(commands, ["PAGE SHIRLEY", "DATA", "one\r\n..two\r\n.", "SEND"]);
    assert!(matches!(verdict(&events), PageVerdict::Accepted { .. }));
    let (commands, events) =
        run(lines, &["220 x", "250 x", "500 Command Not Implemented", "250 ok", "250 sent"]);
    assert_eq!(commands, ["PAGE SHIRLEY", "DATA", "MESS one .two", "SEND"]);
    assert!(matches!(verdict(&events), PageVerdict::Accepted { .. }));
}

#[test]
fn a_two_way_page_has_the_order_of_the_standards_example() {
    let script = [
        "220 SNPP (V3) Gateway Ready",
        "250 Two-Way Mode Enabled",
        "250 24 hours",
        "850 Unit online",
        "250 Read Acknowledgment Requested",
        "250 Message OK",
        "250 Multichoice Responses Enabled",
        "250 MCR Code Accepted",
        "250 MCR Code Accepted",
        "860 00321 1234 Message Delivered",
    ];
    let (commands, events) = run(page(true), &script);
    let expected = [
        "2WAY",
        "EXPT 24",
        "PAGE SHIRLEY",
        "ACKR 1",
        "MESS Leave by the north gate",
        "RTYP MULTICHOICE",
        "MCRE 01 I am safe",
        "MCRE 02 I need help",
        "SEND",
    ];
    assert_eq!(commands, expected);
    let PageVerdict::Accepted { receipt, without } = verdict(&events) else { panic!("{events:?}") };
    assert_eq!((receipt.state.clone(), without.len()), (Some(TagState::AwaitingRead), 0));
    assert_eq!(receipt.tag, MessageTag::new("00321", "1234"));
}

#[test]
fn a_page_goes_without_what_the_server_does_not_have() {
    // Net::SNPP::Server has neither EXPTag nor ACKRead nor RTYPe.
    let script = [
        "220 x",
        "250 x",
        "500 no",
        "250 x",
        "500 no",
        "250 x",
        "500 no",
        "250 x",
        "502 dup",
        "960 1 2 queued",
    ];
    let (_, events) = run(page(true), &script);
    let PageVerdict::Accepted { receipt, without } = verdict(&events) else { panic!("{events:?}") };
    assert_eq!(receipt.state, Some(TagState::Queued));
    assert_eq!(without, &["EXPT", "ACKR", "RTYP", "MCRE"]);
}

#[test]
fn a_server_or_a_pager_without_two_way_gets_the_page_by_level_two() {
    let one_way = ["RESE", "PAGE SHIRLEY", "MESS Leave by the north gate", "SEND"];
    let scripts: [&[&str]; 2] = [
        &["220 x", "500 no", "250 reset", "250 x", "250 x", "250 sent"],
        &[
            "220 x",
            "250 x",
            "250 x",
            "550 Error, Pager Not 2WAY Capable",
            "250 reset",
            "250 x",
            "250 x",
            "250 s",
        ],
    ];
    for script in scripts {
        let (commands, events) = run(page(true), script);
        assert!(commands.ends_with(&one_way.map(str::to_owned)), "{commands:?}");
        let PageVerdict::Accepted { without, receipt } = verdict(&events) else { panic!("{events:?}") };
        assert_eq!((without.as_slice(), receipt.code), (&["2WAY"][..], 250));
    }
}

#[test]
fn refusals_have_their_class_and_are_followed_by_a_reset() {
    for (script, permanent, code) in [
        (&["220 x", "550 Error, Invalid Pager ID", "250 reset"][..], true, "snpp:550"),
        (&["220 x", "552 Max Recipients Exceeded", "250 reset"], true, "snpp:552"),
        (&["220 x", "554 Error, failed", "250 reset"], false, "snpp:554"),
        (&["220 x", "250 x", "503 Message Already Entered", "250 reset"], false, "snpp:503"),
        (&["220 x", "250 x", "250 x", "550 Failed, Illegal Pager ID", "250 reset"], true, "snpp:550"),
        (&["220 x", "250 x", "250 x", "554 Message Failed", "250 reset"], false, "snpp:554"),
        (&["220 x", "250 x", "250 x", "750 gone", "250 reset"], false, "snpp:750"),
        (&["220 x", "421 Gateway Service Unavailable"], false, "snpp:421"),
        (&["220 x", "250 x", "250 x", "421 Gateway Service Unavailable"], false, "snpp:421"),
    ] {
        let (commands, events) = run(page(false), script);
        let PageVerdict::Refused { permanent: was, code: got, text } = verdict(&events) else {
            panic!("{events:?}")
        };
        assert_eq!((*was, got.as_str()), (permanent, code), "{script:?}");
        assert!(text.contains(&code[5..]), "{text}");
        assert_eq!(commands.last().is_some_and(|last| last == "RESE"), code != "snpp:421", "{commands:?}");
    }
}

#[test]
fn a_two_way_unit_that_is_not_online_is_refused_for_now() {
    let script = ["220 x", "250 x", "250 x", "750 Two-Way Unit NOT Online; Transaction Denied", "250 reset"];
    let (_, events) = run(page(true), &script);
    assert!(
        matches!(verdict(&events), PageVerdict::Refused { permanent: false, code, .. } if code == "snpp:750")
    );
}

#[test]
fn only_a_page_whose_send_was_written_is_unknown() {
    for length in 1..=4 {
        let script = &["220 x", "250 x", "250 x", "250 x"][..length.min(3)];
        let (commands, events) = run(page(false), script);
        let sent = commands.last().is_some_and(|last| last == "SEND");
        match verdict(&events) {
            PageVerdict::Unknown { text } => assert!(sent && text == "cut"),
            PageVerdict::NotTried { .. } => assert!(!sent),
            other => panic!("{other:?}"),
        }
        let Some(SnppClientEvent::Closed(Err(failure))) = events.last() else { panic!("{events:?}") };
        assert_eq!(failure.code, "snpp:lost");
    }
    // SEND waits to be written: nothing of it is known to the server.
    let now = Instant::now();
    let mut client = client(now);
    said(&mut client, now, "220 x");
    client.submit(now, page(false));
    for _ in 0..2 {
        written(&mut client, now);
        said(&mut client, now, "250 x");
    }
    assert_eq!(client.poll_transmit(), b"SEND\r\n");
    client.handle_input(now, SnppInput::Lost("cut"));
    assert!(matches!(verdict(&events(&mut client)), PageVerdict::NotTried { .. }));
}

#[test]
fn replies_that_come_before_their_command_was_written_count_for_nothing() {
    let now = Instant::now();
    let mut client = client(now);
    said(&mut client, now, "220 x");
    client.submit(now, page(false));
    written(&mut client, now);
    said(&mut client, now, "250 x\r\n250 x\r\n250 sent");
    let events = events(&mut client);
    assert!(matches!(verdict(&events), PageVerdict::NotTried { .. }), "{events:?}");
    let Some(SnppClientEvent::Closed(Err(failure))) = events.last() else { panic!("{events:?}") };
    assert_eq!(failure.code, "snpp:protocol");
}

#[test]
fn hostile_servers_end_the_session_with_words() {
    for (script, code) in [
        (&["SSH-2.0-OpenSSH_9.2"][..], "snpp:protocol"),
        (&["550 go away"], "snpp:550"),
        (&["421 SERVER DOWN, Goodbye"], "snpp:421"),
        (&["220 x", "250 x", "250 x", "354 go on"], "snpp:protocol"),
        (&["220 x", "250 x", "250 x", "250 sent", "250 and again"], "snpp:protocol"),
        (&["220 x", "250 x", "250 x", "250 sent", "421 Timeout, Goodbye"], "snpp:421"),
    ] {
        let (_, events) = run(page(false), script);
        let Some(SnppClientEvent::Closed(Err(failure))) = events.last() else { panic!("{events:?}") };
        assert_eq!(failure.code, code, "{script:?}");
        if script.len() == 4 {
            assert!(matches!(verdict(&events), PageVerdict::Unknown { .. }), "{events:?}");
        }
    }
}

#[test]
fn several_pages_and_questions_go_one_after_another_until_quit() {
    let now = Instant::now();
    let mut client = client(now);
    said(&mut client, now, "220 x");
    assert_eq!(events(&mut client), [SnppClientEvent::Ready]);
    for id in 0..3 {
        client.submit(now, OutgoingPage { id, ..page(false) });
        client.submit(now, OutgoingPage { id: 99, ..page(false) });
        for _ in 0..3 {
            assert!(!written(&mut client, now).is_empty());
            said(&mut client, now, "250 x");
        }
        let events = events(&mut client);
        assert!(matches!(
            &events[0],
            SnppClientEvent::Done { id: 99, verdict: PageVerdict::NotTried { .. } }
        ));
        assert_eq!(events[1], SnppClientEvent::SendWritten { id });
        assert!(matches!(&events[2], SnppClientEvent::Done { verdict: PageVerdict::Accepted { .. }, .. }));
    }
    let tag = MessageTag::new("00321", "1234").unwrap();
    client.query(now, 5, &tag);
    assert_eq!(written(&mut client, now), "MSTA 00321 1234");
    said(&mut client, now, "888 2 950925143501+7 02 MCR Reply Received");
    let [SnppClientEvent::Status { id: 5, reply: Some(StatusReply::Known(status)) }] =
        &events(&mut client)[..]
    else {
        panic!()
    };
    assert_eq!(status.state, TagState::Choice("02".to_owned()));
    client.kill(now, &tag);
    client.quit(now);
    assert_eq!(written(&mut client, now), "KTAG 00321 1234");
    said(&mut client, now, "500 no");
    assert_eq!(written(&mut client, now), "QUIT");
    said(&mut client, now, "221 OK, Goodbye");
    assert_eq!(events(&mut client), [SnppClientEvent::Closed(Ok(()))]);
    assert_eq!(client.poll_timeout(), None);
}

#[test]
fn a_login_is_written_before_anything_else_and_never_shown() {
    let now = Instant::now();
    let login = Some(("city".to_owned(), Some("s3cret".to_owned())));
    let options = SnppClientOptions { login, ..SnppClientOptions::default() };
    let mut client = SnppClient::new(options, now);
    assert!(!format!("{client:?}").contains("s3cret"));
    said(&mut client, now, "220 x");
    assert_eq!(written(&mut client, now), "LOGI city s3cret");
    said(&mut client, now, "550 Error, Invalid LoginID or Password");
    let [SnppClientEvent::Closed(Err(failure))] = &events(&mut client)[..] else { panic!() };
    assert_eq!(failure.code, "snpp:550");
    assert!(!failure.text.contains("s3cret"));
}

#[test]
fn a_reset_session_is_logged_in_again() {
    let now = Instant::now();
    let options =
        SnppClientOptions { login: Some(("city".to_owned(), None)), ..SnppClientOptions::default() };
    let mut client = SnppClient::new(options, now);
    said(&mut client, now, "220 x");
    assert_eq!(written(&mut client, now), "LOGI city");
    said(&mut client, now, "250 in");
    client.submit(now, page(false));
    for (command, reply) in [("PAGE SHIRLEY", "550 no"), ("RESE", "220 fresh"), ("LOGI city", "250 in")] {
        assert_eq!(written(&mut client, now), command);
        assert!(!client.is_idle());
        said(&mut client, now, reply);
    }
    assert!(client.is_idle());
    client.submit(now, page(true));
    assert_eq!(written(&mut client, now), "2WAY");
    for (command, reply) in
        [("RESE", "500 no"), ("LOGI city", "220 fresh"), ("PAGE SHIRLEY", "250 in"), ("", "421 gone")]
    {
        said(&mut client, now, reply);
        assert_eq!(written(&mut client, now), command);
    }
    let ready = events(&mut client).iter().filter(|event| **event == SnppClientEvent::Ready).count();
    assert_eq!(ready, 1);
}

#[test]
fn a_reply_that_is_late_ends_the_session_and_send_has_more_time() {
    let begin = Instant::now();
    let timeouts = SnppTimeouts::default();
    let mut client = client(begin);
    assert_eq!(client.poll_timeout(), Some(begin + timeouts.greeting));
    said(&mut client, begin, "220 x");
    assert_eq!(client.poll_timeout(), None);
    client.submit(begin, page(false));
    assert_eq!(client.poll_timeout(), Some(begin + timeouts.command));
    for _ in 0..2 {
        written(&mut client, begin);
        said(&mut client, begin, "250 x");
    }
    written(&mut client, begin);
    let due = begin + timeouts.send;
    assert_eq!(client.poll_timeout(), Some(due));
    client.handle_timeout(due - Duration::from_millis(1));
    assert!(!events(&mut client).iter().any(|event| matches!(event, SnppClientEvent::Closed(_))));
    client.handle_timeout(due);
    assert!(matches!(verdict(&events(&mut client)), PageVerdict::Unknown { text } if text.contains("SEND")));
}

#[test]
fn a_page_that_no_server_could_take_is_refused_by_the_client() {
    let now = Instant::now();
    for change in [
        (|page: &mut OutgoingPage| page.pager = "a b".to_owned()) as fn(&mut OutgoingPage),
        |page| page.pager.clear(),
        |page| page.text = b"a\r\nSEND".to_vec(),
        |page| page.text = b" \n ".to_vec(),
        |page| page.text = vec![b'x'; 2_000],
        |page| page.level = Some(12),
    ] {
        let mut client = client(now);
        said(&mut client, now, "220 x");
        let mut page = page(false);
        change(&mut page);
        client.submit(now, page);
        let events = events(&mut client);
        let PageVerdict::Refused { permanent: true, code, .. } = verdict(&events) else {
            panic!("{events:?}")
        };
        assert_eq!(code, "local:page");
        assert!(client.poll_transmit().is_empty() && client.is_idle());
    }
}

proptest! {
    /// Any replies, cut anywhere: one verdict, one end, accepted only by a reply to SEND, and nothing to
    /// write behind the end.
    #[test]
    fn any_server_gets_one_verdict_for_a_page(
        lines in prop::collection::vec(
            prop_oneof![
                4 => Just("250 ok\r\n".to_owned()),
                1 => Just("354 go\r\n".to_owned()),
                1 => Just("500 no\r\n".to_owned()),
                1 => Just("550 no\r\n".to_owned()),
                1 => Just("960 1 2 queued\r\n".to_owned()),
                1 => "[2-9][0-9][0-9][- ][a-z0-9 ]{0,12}\r\n",
            ],
            0..20,
        ),
        two_way in any::<bool>(),
        piece in 1_usize..9,
        writes in 1_usize..9,
    ) {
        let now = Instant::now();
        let mut client = client(now);
        said(&mut client, now, "220 x");
        client.submit(now, page(two_way));
        let (mut seen, mut sent) = (Vec::new(), Vec::new());
        for line in lines {
            for piece in line.as_bytes().chunks(piece) {
                while !client.poll_transmit().is_empty() {
                    let length = client.poll_transmit().len().min(writes);
                    sent.extend_from_slice(&client.poll_transmit()[..length]);
                    client.handle_input(now, SnppInput::Sent(length));
                }
                client.handle_input(now, SnppInput::Octets(piece));
            }
            seen.extend(events(&mut client));
        }
        client.handle_input(now, SnppInput::Lost("over"));
        seen.extend(events(&mut client));
        let has_sent = sent.windows(4).any(|word| word == b"SEND");
        match verdict(&seen) {
            PageVerdict::Accepted { .. } | PageVerdict::Unknown { .. } => prop_assert!(has_sent),
            _ => {}
        }
        let ends = seen.iter().filter(|event| matches!(event, SnppClientEvent::Closed(_))).count();
        prop_assert_eq!(ends, 1);
        prop_assert!(client.poll_transmit().is_empty() && client.poll_timeout().is_none());
    }
}
