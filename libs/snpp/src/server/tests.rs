//! The server against scripted clients.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

/// Pagers whose ids tell what they do.
#[derive(Default)]
struct Terminal {
    tags: HashMap<String, (String, TagStatus)>,
}

impl PagingTerminal for Terminal {
    fn login(&mut self, id: &str, password: Option<&str>) -> bool {
        id == "city" && password == Some("word")
    }

    fn pager(&mut self, pager: &str, pin: Option<&str>, _two_way: bool) -> PagerAnswer {
        match (pager, pin) {
            ("offline", _) => PagerAnswer::Offline,
            ("oneway", _) => PagerAnswer::OneWayOnly,
            ("broken", _) => PagerAnswer::Failed,
            ("locked", pin) if pin != Some("1234") => PagerAnswer::Unknown,
            ("nobody", _) => PagerAnswer::Unknown,
            _ => PagerAnswer::Accepted,
        }
    }

    fn status(&mut self, tag: &MessageTag) -> Option<TagStatus> {
        let (pass_code, status) = self.tags.get(tag.tag())?;
        (pass_code == tag.pass_code()).then(|| status.clone())
    }

    fn kill(&mut self, tag: &MessageTag) -> bool {
        self.status(tag).is_some() && self.tags.remove(tag.tag()).is_some()
    }
}

/// Says lines, and takes pages with this answer: the replies, and the pages.
fn talk(options: SnppServerOptions, answer: &SendAnswer, lines: &[&str]) -> (Vec<String>, Vec<ReceivedPage>) {
    let now = Instant::now();
    let mut server = SnppServer::new(options, Terminal::default(), now);
    let status = TagStatus {
        sequence: 2,
        at: "950925143501+7".to_owned(),
        state: TagState::Choice("01".to_owned()),
        words: String::new(),
    };
    server.terminal().tags.insert("5".to_owned(), ("77".to_owned(), status));
    let (mut out, mut pages) = (Vec::new(), Vec::new());
    for line in lines {
        server.handle_input(now, format!("{line}\r\n").as_bytes());
        while let Some(SnppServerEvent::Send(page)) = server.poll_event() {
            assert!(!server.wants_input());
            pages.push(page);
            server.finish_send(now, answer.clone());
        }
    }
    server.poll_transmit(&mut out);
    let text = String::from_utf8(out).unwrap();
    (text.lines().skip(1).map(str::to_owned).collect(), pages)
}

fn codes(replies: &[String]) -> Vec<&str> {
    replies.iter().map(|reply| &reply[..3]).collect()
}

#[test]
fn the_standards_examples_are_taken() {
    let (replies, pages) = talk(
        SnppServerOptions::default(),
        &SendAnswer::Sent,
        &[
            "COVE 2",
            "PAGE 5551212 FOOBAR",
            "HOLD 9401152300 -0600",
            "HOLD 940115230000 -0600",
            "PAGE 5552323 XYZZY",
            "SUBJ Seattle Meeting",
            "DATA",
            "Please meet me tomorrow at",
            "..the Seattle office",
            ".",
            "SEND",
            "QUIT",
        ],
    );
    assert_eq!(
        codes(&replies),
        ["250", "250", "550", "250", "250", "250", "354", "250", "250", "221"],
        "{replies:?}"
    );
    let page = &pages[0];
    assert_eq!(page.text, b"Please meet me tomorrow at\n.the Seattle office");
    assert_eq!(page.pagers[0].options.coverage.as_deref(), Some("2"));
    assert_eq!(page.pagers[1].options.coverage, None, "options are those of the next pager alone");
    assert_eq!(page.pagers[1].options.hold.as_ref().unwrap().1.as_deref(), Some("-0600"));
}

#[test]
fn a_two_way_transaction_has_one_pager_and_a_tag() {
    let tag = MessageTag::new("00321", "1234").unwrap();
    let (replies, pages) = talk(
        SnppServerOptions::default(),
        &SendAnswer::TwoWay(tag, TagState::AwaitingReply),
        &[
            "2WAY",
            "2WAY",
            "NOQUEUE",
            "PAGER SHIRLEY",
            "PAGER SHIRLEY",
            "NOQUEUE",
            "ACKRead 1",
            "MESS Have you seen it?",
            "RTYPE MULTICHOICE",
            "MCRESP 01 In the West Pasture",
            "MCRESP 01 again",
            "EXPT 3",
            "MSTA 5 77",
            "MSTA 5 78",
            "SEND",
            "MCRE 02 late",
            "KTAG 5 77",
            "KTAG 5 77",
        ],
    );
    let expected = [
        "250", "550", "250", "850", "503", "550", "250", "250", "250", "250", "502", "250", "888", "550",
        "861", "550", "250", "550",
    ];
    assert_eq!(codes(&replies), expected, "{replies:?}");
    assert_eq!(replies[12], "888 2 950925143501+7 01 MCR Reply Received");
    assert_eq!(replies[14], "861 00321 1234 Delivered, Awaiting Reply (MCR)");
    let two_way = pages[0].two_way.as_ref().unwrap();
    assert_eq!((two_way.expires_h, two_way.no_queue, two_way.ack_read), (Some(3), true, true));
    assert_eq!(two_way.choices, [("01".to_owned(), b"In the West Pasture".to_vec())]);
}

#[test]
fn every_answer_of_the_terminal_has_the_standards_code() {
    let run =
        |lines: &[&str]| codes(&talk(SnppServerOptions::default(), &SendAnswer::Sent, lines).0).join(" ");
    assert_eq!(run(&["PAGE offline", "PAGE oneway", "PAGE broken", "PAGE nobody"]), "250 250 554 550");
    assert_eq!(run(&["PAGE locked", "PAGE locked 1234"]), "550 250");
    assert_eq!(run(&["2WAY", "PAGE offline"]), "250 950");
    assert_eq!(run(&["2WAY", "NOQU", "PAGE offline"]), "250 250 750");
    assert_eq!(run(&["2WAY", "PAGE oneway"]), "250 550");
    assert_eq!(run(&["PING x", "PING offline", "PING oneway", "PING nobody"]), "821 920 550 550");
    assert_eq!(
        run(&["SEND", "PAGE 1", "SEND", "MESS x", "MESS y", "DATA", "SEND"]),
        "503 250 503 250 503 503 250"
    );
    assert_eq!(run(&["DATA", ".", "RESE", "HELP"]), "354 550 250 214 214 214 250");
    for (answer, code) in [
        (SendAnswer::Refused("Failed, Illegal Pager ID".to_owned()), "550"),
        (SendAnswer::Failed, "554"),
        (SendAnswer::Unavailable, "421"),
    ] {
        let (replies, _) = talk(SnppServerOptions::default(), &answer, &["PAGE 1", "MESS x", "SEND", "RESE"]);
        assert_eq!(replies[2].get(..3), Some(code));
        assert_eq!(replies.len(), if code == "421" { 3 } else { 4 }, "nothing follows 421");
    }
}

#[test]
fn a_lower_level_has_none_of_the_commands_above_it() {
    let run = |level| {
        let options = SnppServerOptions { level, ..SnppServerOptions::default() };
        codes(&talk(options, &SendAnswer::Sent, &["DATA", ".", "LEVE 1", "2WAY", "MSTA 5 77"]).0).join(" ")
    };
    assert_eq!(run(1), "500 500 500 500 500");
    assert_eq!(run(2), "354 550 250 500 500");
    assert_eq!(run(3), "354 550 250 250 888");
}

#[test]
fn nothing_but_help_is_done_before_a_login() {
    let options = SnppServerOptions { needs_login: true, ..SnppServerOptions::default() };
    let lines = ["PAGE 1", "LOGI city wrong", "PAGE 1", "LOGI city word", "PAGE 1"];
    let (replies, _) = talk(options, &SendAnswer::Sent, &lines);
    assert_eq!(codes(&replies), ["550", "550", "550", "250", "250"]);
}

#[test]
fn hostile_clients_are_sent_away() {
    let now = Instant::now();
    let options = || SnppServerOptions { errors_max: 3, commands_max: 50, ..SnppServerOptions::default() };
    for (input, reply) in [
        (vec![b'x'; COMMAND_OCTETS_MAX + 2], "421 Line"),
        (b"GET / HTTP/1.1\r\n".repeat(5), "421 Too Many"),
        (b"RESE\r\n".repeat(60), "421 Too Many"),
        ([&b"DATA\r\n"[..], &b"x\r\n".repeat(60)].concat(), "421 Too Many"),
        (b"PAGE 1\r\nMESS x\r\nQUIT\r\nSEND\r\n".to_vec(), "221"),
    ] {
        let mut server = SnppServer::new(options(), Terminal::default(), now);
        server.handle_input(now, &input);
        let mut out = Vec::new();
        server.poll_transmit(&mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().last().unwrap().starts_with(reply), "{text}");
        assert!(server.is_finished() && server.poll_event().is_none() && server.poll_timeout().is_none());
    }
    let mut server = SnppServer::new(options(), Terminal::default(), now);
    server.handle_timeout(now + options().line_within);
    assert!(server.is_finished());
}

proptest! {
    /// Any octets of a client, cut anywhere: the same replies, whole lines, whole pages, nothing after the
    /// end.
    #[test]
    fn any_octets_get_the_same_replies_however_they_are_cut(
        lines in prop::collection::vec(
            prop_oneof![
                Just("PAGE 1".to_owned()), Just("MESS x".to_owned()), Just("SEND".to_owned()), Just("DATA".to_owned()),
                Just(".".to_owned()), Just("2WAY".to_owned()), "[A-Z]{4} [ -~]{0,20}", "[ -~]{0,20}",
            ],
            0..30,
        ),
        piece in 1_usize..40,
    ) {
        let input = lines.iter().map(|line| format!("{line}\r\n")).collect::<String>();
        let run = |piece: usize| {
            let now = Instant::now();
            let mut server = SnppServer::new(SnppServerOptions::default(), Terminal::default(), now);
            let (mut out, mut pages) = (Vec::new(), 0);
            for piece in input.as_bytes().chunks(piece) {
                server.handle_input(now, piece);
                while let Some(SnppServerEvent::Send(page)) = server.poll_event() {
                    assert!(!page.pagers.is_empty() && !page.text.trim_ascii().is_empty());
                    pages += 1;
                    server.finish_send(now, SendAnswer::Sent);
                }
            }
            server.poll_transmit(&mut out);
            (out, pages)
        };
        let whole = run(input.len().max(1));
        prop_assert!(whole.0.ends_with(b"\r\n"));
        prop_assert_eq!(whole, run(piece));
    }
}
