use super::*;
use proptest::prelude::*;

const CUT: LengthLimits = LengthLimits { topic_octets_max: 140, message_octets_max: 140 };

fn limits(cut: LengthLimits) -> ConversationLimits {
    ConversationLimits {
        cut,
        idle: Some(Duration::from_secs(100)),
        request: Duration::from_secs(10),
        auth: None,
    }
}

/// A request with the octets its places stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum MachineOutput {
    Post(Vec<u8>, Vec<u8>),
    Read(Vec<u8>, Option<u64>),
    Count(Vec<u8>),
    List,
    Exit,
    Auth(Vec<u8>),
    Login(Vec<u8>, Option<Vec<u8>>),
    Code(Vec<u8>),
    Logout,
    Said(Vec<u8>),
    Enter,
    Garbage,
}

fn said(conversation: &Conversation, request: &TopicRequest) -> MachineOutput {
    let text = |place: &Range<usize>| conversation.text(place).to_vec();
    match request {
        TopicRequest::Post { topic, message } => MachineOutput::Post(text(topic), text(message)),
        TopicRequest::Read { topic, index } => MachineOutput::Read(text(topic), *index),
        TopicRequest::Count { topic } => MachineOutput::Count(text(topic)),
        TopicRequest::List => MachineOutput::List,
        TopicRequest::Exit => MachineOutput::Exit,
        TopicRequest::Auth { token } => MachineOutput::Auth(text(token)),
        TopicRequest::Login { id, secret } => MachineOutput::Login(text(id), secret.as_ref().map(text)),
        TopicRequest::Code { code } => MachineOutput::Code(text(code)),
        TopicRequest::Logout => MachineOutput::Logout,
        TopicRequest::Said { text: said } => MachineOutput::Said(text(said)),
        TopicRequest::Enter => MachineOutput::Enter,
        TopicRequest::Garbage => MachineOutput::Garbage,
    }
}

/// What comes of pieces; each request is answered with its number.
fn connection<'a>(
    cut: LengthLimits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<MachineOutput>, Vec<u8>) {
    let now = Instant::now();
    let mut conversation = Conversation::new(limits(cut), now);
    let mut all = Vec::new();
    let mut output = Vec::new();
    for piece in pieces {
        conversation.handle_input(now, piece);
        while let Some(request) = conversation.poll_event() {
            all.push(said(&conversation, &request));
            conversation.reply_number(all.len() as u64);
            let waiting = conversation.poll_transmit().len();
            output.extend_from_slice(conversation.poll_transmit());
            conversation.handle_sent(waiting);
        }
        let begun_max = cut.topic_octets_max + cut.message_octets_max + SLACK_OCTETS;
        assert!(conversation.waiting() <= begun_max + piece.len());
    }
    (all, output)
}

fn one(text: &[u8]) -> MachineOutput {
    let whole = [text, b"\0"].concat();
    let (mut all, _) = connection(CUT, [&whole[..]]);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn every_row_of_the_table_is_understood() {
    let post = |topic: &str, message: &str| MachineOutput::Post(topic.into(), message.into());
    let read = |topic: &str, index| MachineOutput::Read(topic.into(), index);
    for (text, expected) in [
        ("POST@news#hello", post("@news", "hello")),
        ("POST@#hello", post("@", "hello")),
        ("POST@news#a#b@c#", post("@news", "a#b@c#")),
        ("POST@news#@", post("@news", "@")),
        ("POST@two words#\u{e5}", post("@two words", "\u{e5}")),
        ("READ@news#0", read("@news", Some(0))),
        ("READ@news#0017", read("@news", Some(17))),
        ("READ@news#18446744073709551615", read("@news", Some(u64::MAX))),
        ("READ@news#18446744073709551616", read("@news", None)),
        ("READ@#99999999999999999999999999", read("@", None)),
        ("COUNT@news", MachineOutput::Count("@news".into())),
        ("COUNT@", MachineOutput::Count("@".into())),
        ("LIST", MachineOutput::List),
        ("EXIT", MachineOutput::Exit),
        ("AUTH@cmp_x", MachineOutput::Auth("cmp_x".into())),
        ("AUTH@", MachineOutput::Auth("".into())),
    ] {
        assert_eq!(one(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn what_is_in_no_row_is_garbage() {
    for text in [
        "x",
        " LIST",
        "LIST ",
        "LIST@",
        "LISTEN",
        "list",
        "EXITS",
        "POST",
        "POST@",
        "POST@a",
        "POST@a#",
        "POSTa#b",
        "POST#b",
        "POST@a@b#c",
        "POST @a#b",
        "READ@a",
        "READ@a#",
        "READ@a#x",
        "READ@a#1x",
        "READ@a#-1",
        "READ@a#+1",
        "READ@a#1#2",
        "READ@a#1 ",
        "READ@a@b#1",
        "COUNT",
        "COUNT@a#",
        "COUNT@a@b",
        "COUNTa",
        "AUTH",
        "AUTHx",
        "POST@a#b\n",
        "POST@a\n#b",
        "LIST\r",
        "\n",
        "\r\n",
        "LIST\nLIST",
    ] {
        // A terminator before fixes the framing.
        let (all, _) = connection(CUT, [&b"LIST\0"[..], text.as_bytes(), b"\0"]);
        assert_eq!(all[1..], [MachineOutput::Garbage], "{text:?}");
    }
    assert_eq!(one(&[0xFF; 16]), MachineOutput::Garbage);
}

#[test]
fn the_first_terminator_fixes_the_framing_of_requests_and_replies() {
    for (input, expected, output) in [
        (&b"LIST\0EXIT\0"[..], &[MachineOutput::List, MachineOutput::Exit][..], &b"1\x002\0"[..]),
        (b"LIST\nEXIT\n", &[MachineOutput::List, MachineOutput::Exit], b"1\n2\n"),
        (b"LIST\r\nEXIT\r\n", &[MachineOutput::List, MachineOutput::Exit], b"1\r\n2\r\n"),
        // Both line ends are understood afterwards; the answer stays as it was.
        (b"LIST\nEXIT\r\n", &[MachineOutput::List, MachineOutput::Exit], b"1\n2\n"),
        (b"LIST\r\nEXIT\n", &[MachineOutput::List, MachineOutput::Exit], b"1\r\n2\r\n"),
        // A bare terminator is nothing, and fixes it too.
        (b"\0\0LIST\0\0", &[MachineOutput::List], b"1\0"),
        (b"\nLIST\n\n", &[MachineOutput::List], b"1\n"),
        (b"\r\n\r\nLIST\r\n", &[MachineOutput::List], b"1\r\n"),
        (b"\0LIST\nLIST\0", &[MachineOutput::Garbage], b"1\0"),
        (
            b"LIST\nLI\0ST\nLI\rST\n",
            &[MachineOutput::List, MachineOutput::Garbage, MachineOutput::Garbage],
            b"1\n2\n3\n",
        ),
    ] {
        let (all, replies) = connection(CUT, [input]);
        assert_eq!((&all[..], &replies[..]), (expected, output), "{input:?}");
        let octets: Vec<&[u8]> = input.chunks(1).collect();
        assert_eq!(connection(CUT, octets), (all, replies), "octet by octet: {input:?}");
    }
}

#[test]
fn topics_and_messages_are_cut_at_a_character() {
    let cut = LengthLimits { topic_octets_max: 8, message_octets_max: 6 };
    let kept = |topic: &[u8], message: &[u8]| {
        let text = [b"POST", topic, b"#", message, b"\0"].concat();
        match connection(cut, [&text[..]]).0.remove(0) {
            MachineOutput::Post(topic, message) => (topic, message),
            other => panic!("{other:?}"),
        }
    };
    for (message, expected) in [
        (&b"123456"[..], &b"123456"[..]),
        (b"1234567", b"123456"),
        ("12345\u{e5}".as_bytes(), b"12345"),
        ("1234\u{e5}6".as_bytes(), "1234\u{e5}".as_bytes()),
        ("1234\u{20ac}".as_bytes(), b"1234"),
        ("12345\u{20ac}".as_bytes(), b"12345"),
        ("123\u{1f600}".as_bytes(), b"123"),
        ("12\u{1f600}7".as_bytes(), "12\u{1f600}".as_bytes()),
        // No UTF-8: cut where the limit is.
        (b"12345\xE5\xE5", b"12345\xE5"),
        (b"\x80\x80\x80\x80\x80\x80\x80\x80", b"\x80\x80\x80\x80\x80\x80"),
        (b"12\xE2\x82\xAC\x80\x80\x80", b"12\xE2\x82\xAC\x80"),
    ] {
        assert_eq!(kept(b"@", message).1, expected, "{message:?}");
    }
    assert_eq!(kept("@1234567\u{e5}".as_bytes(), b"x").0, b"@1234567");
    assert_eq!(kept("@123456\u{e5}".as_bytes(), b"x").0, b"@123456");
    let (all, _) = connection(cut, [&b"READ@123456789#7\0COUNT@12345678\0"[..]]);
    assert_eq!(
        all,
        [MachineOutput::Read(b"@1234567".to_vec(), Some(7)), MachineOutput::Count(b"@1234567".to_vec())]
    );
}

#[test]
fn a_request_of_any_length_takes_bounded_room() {
    let now = Instant::now();
    let mut conversation = Conversation::new(limits(CUT), now);
    let begins: [(&[u8], &[u8], MachineOutput); 5] = [
        (b"POST@", b"t", MachineOutput::Garbage),
        (b"POST@t#", b"m", MachineOutput::Post(b"@t".to_vec(), vec![b'm'; 140])),
        (b"READ@t#", b"0", MachineOutput::Read(b"@t".to_vec(), Some(0))),
        (b"READ@t#1", b"0", MachineOutput::Read(b"@t".to_vec(), None)),
        (b"no row", b"x", MachineOutput::Garbage),
    ];
    for (begin, more, expected) in begins {
        conversation.handle_input(now, begin);
        for _ in 0..64 {
            conversation.handle_input(now, &more.repeat(16 * 1024));
            assert_eq!(conversation.poll_event(), None);
            assert!(conversation.waiting() < 5_000 + 16 * 1024, "{}", conversation.waiting());
        }
        conversation.handle_input(now, b"\0");
        let request = conversation.poll_event().unwrap();
        assert_eq!(said(&conversation, &request), expected);
    }
}

#[test]
fn nothing_is_looked_at_while_too_much_waits_to_be_written() {
    let now = Instant::now();
    let mut conversation = Conversation::new(limits(CUT), now);
    conversation.handle_input(now, &b"LIST\0".repeat(100));
    let large = vec![b'x'; OUTPUT_OCTETS_MAX / 10];
    let mut answered = 0;
    while conversation.poll_event().is_some() {
        conversation.reply(&large);
        answered += 1;
    }
    assert_eq!(answered, 10);
    conversation.handle_sent(1);
    assert!(conversation.poll_event().is_none() || conversation.poll_transmit().len() < OUTPUT_OCTETS_MAX);
    let waiting = conversation.poll_transmit().len();
    conversation.handle_sent(waiting);
    assert_eq!(conversation.poll_event(), Some(TopicRequest::List));
}

#[test]
fn after_its_end_nothing_is_understood() {
    let now = Instant::now();
    let mut conversation = Conversation::new(limits(CUT), now);
    conversation.handle_input(now, b"EXIT\0LIST\0");
    assert_eq!(conversation.poll_event(), Some(TopicRequest::Exit));
    conversation.reply(b"EXIT");
    conversation.end();
    conversation.handle_input(now, b"LIST\0");
    assert_eq!(conversation.poll_event(), None);
    assert_eq!((conversation.poll_transmit(), conversation.is_finished()), (&b"EXIT\0"[..], true));
}

#[test]
fn who_is_silent_or_slow_or_nobody_is_done_with() {
    let begin = Instant::now();
    let at = |s: u64| begin + Duration::from_secs(s);
    let mut conversation = Conversation::new(limits(CUT), begin);
    assert_eq!(conversation.poll_timeout(), Some(at(100)), "silence");
    conversation.handle_input(at(50), b"LI");
    assert_eq!(conversation.poll_event(), None);
    assert_eq!(conversation.poll_timeout(), Some(at(60)), "a request that was begun");
    conversation.handle_input(at(55), b"S");
    assert_eq!((conversation.poll_event(), conversation.poll_timeout()), (None, Some(at(60))));
    conversation.handle_timeout(at(59));
    assert!(!conversation.is_finished());
    conversation.handle_input(at(59), b"T\0");
    assert_eq!((conversation.poll_event(), conversation.poll_event()), (Some(TopicRequest::List), None));
    assert_eq!(conversation.poll_timeout(), Some(at(159)));
    conversation.handle_timeout(at(159));
    assert!(conversation.is_finished());

    let mut stranger = Conversation::new(
        ConversationLimits { auth: Some(Duration::from_secs(5)), idle: None, ..limits(CUT) },
        begin,
    );
    assert_eq!(stranger.poll_timeout(), Some(at(5)));
    stranger.authenticated();
    assert_eq!(stranger.poll_timeout(), None);
}

#[test]
fn numbers_are_written_whole() {
    let mut conversation = Conversation::new(limits(CUT), Instant::now());
    for number in [0, 9, 10, 1_234_567, u64::MAX] {
        conversation.reply_number(number);
        assert_eq!(conversation.poll_transmit(), format!("{number}\0").as_bytes());
        let waiting = conversation.poll_transmit().len();
        conversation.handle_sent(waiting);
    }
}

/// Requests and what looks like them, terminators of all kinds between.
fn wire() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        4 => prop::sample::select(vec![
            &b"POST"[..], b"READ", b"COUNT", b"LIST", b"EXIT", b"AUTH", b"@", b"#", b"@a", b"#1", b"0000000", b"99999",
            b"\0", b"\0", b"\n", b"\r\n", b"\r", b"POST@a#b\0", b"READ@a#0\0", b"LIST\n",
        ]).prop_map(<[u8]>::to_vec),
        1 => "[a-z0-9\u{e5}\u{20ac}\u{1f600}]{0,12}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..6),
        1 => (any::<u8>(), 0..700usize).prop_map(|(octet, count)| vec![octet; count]),
    ];
    prop::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn any_cut_into_pieces_says_the_same(wire in wire(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let cut = LengthLimits { topic_octets_max: 9, message_octets_max: 7 };
        let whole = connection(cut, [&wire[..]]);
        let mut places: Vec<usize> = cuts.iter().map(|index| index.index(wire.len() + 1)).collect();
        places.extend([0, wire.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|ends| &wire[ends[0]..ends[1]]).collect();
        prop_assert_eq!(connection(cut, pieces), whole);
    }

    #[test]
    fn a_shortened_beginning_means_the_same(wire in wire(), at in any::<prop::sample::Index>(), is_line: bool) {
        // As in a conversation: the terminator of its framing is not inside.
        let terminator = if is_line { b'\n' } else { 0 };
        let text: Vec<u8> = wire.into_iter().filter(|octet| *octet != terminator).collect();
        let cut = LengthLimits { topic_octets_max: 9, message_octets_max: 7 };
        let meaning = |text: &[u8]| {
            let first: &[u8] = if is_line { b"\n" } else { b"\0" };
            connection(cut, [first, text, first]).0
        };
        let (begun, rest) = text.split_at(at.index(text.len() + 1));
        let short = request::shortened(begun, is_line, &cut);
        prop_assert!(short.len() <= TOKEN_OCTETS_MAX + 8, "{} octets", short.len());
        let again = [&short[..], rest].concat();
        let cut_tokens = |all: Vec<MachineOutput>| -> Vec<MachineOutput> {
            all.into_iter().map(|said| match said {
                // Both are too long to be a token.
                MachineOutput::Auth(token) => MachineOutput::Auth(token[..token.len().min(TOKEN_OCTETS_MAX + 1)].to_vec()),
                other => other,
            }).collect()
        };
        prop_assert_eq!(cut_tokens(meaning(&again)), cut_tokens(meaning(&text)));
    }
}

/// What comes of pieces where people can log in, and what is written back.
fn people<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    is_logged_in: bool,
) -> (Vec<MachineOutput>, Vec<u8>) {
    let now = Instant::now();
    let mut conversation = Conversation::new(limits(CUT), now).with_logins();
    if is_logged_in {
        conversation.set_logged_in(true);
    }
    let (mut all, mut output) = (Vec::new(), Vec::new());
    for piece in pieces {
        conversation.handle_input(now, piece);
        while let Some(request) = conversation.poll_event() {
            all.push(said(&conversation, &request));
        }
        let begun_max = CUT.topic_octets_max + CUT.message_octets_max + SLACK_OCTETS;
        assert!(conversation.waiting() <= begun_max + piece.len());
        let waiting = conversation.poll_transmit().len();
        output.extend_from_slice(conversation.poll_transmit());
        conversation.handle_sent(waiting);
    }
    (all, output)
}

fn login(id: &str, secret: Option<&str>) -> MachineOutput {
    MachineOutput::Login(id.into(), secret.map(Into::into))
}

fn typed(text: &str) -> MachineOutput {
    MachineOutput::Said(text.into())
}

#[test]
fn a_person_logs_in_on_a_line_of_their_own_framing_and_not_under_nul() {
    for (octets, expected) in [
        (&b"LOGIN ann\n"[..], vec![login("ann", None)]),
        (b"login  Ann \r\n", vec![login("Ann", None)]),
        (
            b"LOGIN ann 123456\nCODE 123456\n",
            vec![login("ann", Some("123456")), MachineOutput::Code("123456".into())],
        ),
        (b"LOGIN ann\r\0LOGIN bo\r\0", vec![login("ann", None), login("bo", None)]),
        (b"\xff\xfd\x03\xff\xfb\x18LOGIN ann\r\0", vec![login("ann", None)]),
        (b"LOGIN\nLOGIN a b c\nHELP\n", vec![MachineOutput::Garbage; 3]),
        (b"LOGIN ann\0LIST\0", vec![MachineOutput::Garbage, MachineOutput::List]),
        (b"LIST\0LOGIN ann\r\0", vec![MachineOutput::List, MachineOutput::Garbage]),
    ] {
        assert_eq!(people([octets], false).0, expected, "{octets:?}");
        assert_eq!(people(octets.chunks(1), false).0, expected, "{octets:?} in pieces");
    }
}

#[test]
fn who_is_logged_in_types_answers_and_requests_stay_requests() {
    for (octets, expected) in [
        (&b"\n1\n"[..], vec![MachineOutput::Enter, typed("1")]),
        (b" I am safe \r\n\r\n", vec![typed("I am safe"), MachineOutput::Enter]),
        (
            b"join harbour\nlogout\nexit\n",
            vec![typed("join harbour"), MachineOutput::Logout, MachineOutput::Exit],
        ),
        (
            b"LIST\nCOUNT@a\nPOST@a\n",
            vec![MachineOutput::List, MachineOutput::Count("@a".into()), MachineOutput::Garbage],
        ),
        (b"CODE 123456\n", vec![typed("CODE 123456")]),
        (b"LIST of things\n", vec![typed("LIST of things")]),
    ] {
        assert_eq!(people([octets], true).0, expected, "{octets:?}");
        assert_eq!(people(octets.chunks(1), true).0, expected, "{octets:?} in pieces");
    }
    let endless = [&vec![b'x'; 20_000][..], b"\n"].concat();
    assert_eq!(people(endless.chunks(700), true).0, [MachineOutput::Said(vec![b'x'; 4_000])]);
}

#[test]
fn options_of_telnet_are_refused_between_lines_and_within_them() {
    let octets = b"\xff\xfd\x01LOGIN an\xff\xfb\x1fn\r\0\xff\xfa\x1f\0P\0\x18\xff\xf01\xff\xf1\r\n";
    for pieces in [octets.chunks(octets.len()), octets.chunks(1), octets.chunks(3)] {
        let (all, output) = people(pieces, true);
        assert_eq!(all, [login("ann", None), typed("1")]);
        assert_eq!(output, b"\xff\xfc\x01\xff\xfe\x1f");
    }
}

#[test]
fn what_is_shown_stands_apart_in_the_framing_of_the_session() {
    for (first, expected) in [(&b"LIST\n"[..], "\nFire\nLeave\n"), (b"LIST\r\n", "\r\nFire\r\nLeave\r\n")] {
        let mut conversation = Conversation::new(limits(CUT), Instant::now()).with_logins();
        conversation.handle_input(Instant::now(), first);
        assert!(conversation.poll_event().is_some());
        conversation.show(&["Fire".to_owned(), "Leave".to_owned()]);
        assert_eq!(conversation.poll_transmit(), expected.as_bytes());
    }
}

#[test]
fn who_is_logged_in_may_be_silent_and_who_awaits_a_code_has_time_for_it() {
    let begin = Instant::now();
    let auth = Some(Duration::from_secs(5));
    let limits = ConversationLimits { auth, ..limits(CUT) };
    let mut conversation = Conversation::new(limits, begin).with_logins();
    assert_eq!(conversation.poll_timeout(), Some(begin + Duration::from_secs(5)));
    conversation.await_code(begin + Duration::from_secs(60));
    assert_eq!(conversation.poll_timeout(), Some(begin + Duration::from_secs(60)));
    conversation.authenticated();
    conversation.set_logged_in(true);
    assert_eq!(conversation.poll_timeout(), None);
}

proptest! {
    /// A connection on which nobody logs in is the same where people could.
    #[test]
    fn nothing_changes_for_who_never_says_login(
        requests in prop::collection::vec(
            prop_oneof![
                Just(b"POST@a#".to_vec()), Just(b"LIST".to_vec()), Just(b"CODE".to_vec()), Just(b"\r".to_vec()),
                Just(b"\0".to_vec()), Just(b"\n".to_vec()), Just(b"\r\0".to_vec()), Just(b"EXIT".to_vec()),
                prop::collection::vec(any::<u8>(), 0..12),
            ],
            1..12,
        ),
        size in 1..40usize,
    ) {
        let octets = [&b"x"[..], &requests.concat()].concat();
        prop_assume!(!octets.windows(5).any(|five| five.eq_ignore_ascii_case(b"LOGIN")));
        let pieces = || octets.chunks(size);
        prop_assert_eq!(people(pieces(), false).0, connection(CUT, pieces()).0);
    }
}
