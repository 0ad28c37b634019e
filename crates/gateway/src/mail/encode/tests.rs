use super::*;
use mail_parser::{HeaderValue, Message, MessageParser, MimeHeaders};
use proptest::prelude::*;
use records::{AlertId, AlertNo, Choice, EndpointNo, Lane};
use std::sync::Arc;

fn letterhead() -> Letterhead {
    Letterhead {
        from_name: Some("City of X".to_owned()),
        from: Path::parse("alerts@city.test").unwrap(),
        message_domain: "city.test".to_owned(),
        door_domain: Some("in.city.test".to_owned()),
        drill: false,
        tags: Tags::new(b"a secret of sixteen octets"),
    }
}

fn segment(body: Body) -> Segment {
    Segment {
        alert: AlertNo(26),
        alert_id: "0190a5b2-7c1d-7e3f-8a4b-5c6d7e8f9a0b".parse::<AlertId>().unwrap(),
        account: "a".to_owned(),
        route: "relay".to_owned(),
        lane: Lane::Routine,
        outcomes_from: 0,
        expires: Timestamp(i64::MAX),
        sender: None,
        flash: false,
        receipt: false,
        answer: false,
        choices: Vec::new(),
        emergency: false,
        bodies: vec![Arc::new(body)],
        entries: vec![entry(43, "anna@people.test")],
    }
}

fn entry(endpoint: u32, address: &str) -> Entry {
    Entry {
        expires: None,
        endpoint: EndpointNo(endpoint),
        attempt: 1,
        address: address.to_owned(),
        body: 0,
        own: None,
        link: None,
    }
}

fn mail(subject: &str, text: &str, html: Option<&str>) -> Body {
    let html = html.map(str::to_owned);
    Body::Content(Content { subject: Some(subject.to_owned()), html, ..Content::of_text(text) })
}

/// 2026-11-21T20:31:00Z.
const NOW: Timestamp = Timestamp(1_795_293_060_000_000);

fn compose(letterhead: Letterhead, segment: Segment) -> Transaction {
    let prepared = letterhead.prepare(&segment);
    letterhead.compose(&segment, &prepared, &segment.entries[0], 7, NOW).unwrap()
}

fn parse(transaction: &Transaction) -> Message<'_> {
    MessageParser::new().parse(&transaction.message).unwrap()
}

fn header(message: &Message<'_>, name: &'static str) -> Option<String> {
    match message.header(name)? {
        HeaderValue::Text(text) => Some(text.to_string()),
        other => Some(format!("{other:?}")),
    }
}

#[test]
fn a_mail_has_the_headers_and_the_envelope_of_its_delivery() {
    let transaction = compose(letterhead(), segment(mail("Storm tonight", "Stay in.\nClose windows.", None)));
    let tags = letterhead().tags;
    assert_eq!((transaction.id, transaction.to.as_str()), (7, "anna@people.test"));
    assert_eq!(
        transaction.from.as_str(),
        tags.address(Purpose::Bounces, AlertNo(26), EndpointNo(43), "in.city.test")
    );
    assert_eq!(tags.read(Purpose::Bounces, &transaction.envelope_id), Some((AlertNo(26), EndpointNo(43))));
    let message = parse(&transaction);
    assert_eq!(message.message_id(), Some("0190a5b2-7c1d-7e3f-8a4b-5c6d7e8f9a0b.43@city.test"));
    assert_eq!(message.subject(), Some("Storm tonight"));
    assert_eq!(
        message.from().and_then(|from| from.first()).map(|from| (from.name(), from.address())),
        Some((Some("City of X"), Some("alerts@city.test")))
    );
    assert_eq!(message.to().and_then(|to| to.first()).and_then(|to| to.address()), Some("anna@people.test"));
    let reply_to = tags.address(Purpose::Answers, AlertNo(26), EndpointNo(43), "in.city.test");
    assert_eq!(
        message.reply_to().and_then(|to| to.first()).and_then(|to| to.address()),
        Some(reply_to.as_str())
    );
    assert_eq!(message.date().map(|date| date.to_rfc3339()), Some("2026-11-21T20:31:00Z".to_owned()));
    assert_eq!(header(&message, "Auto-Submitted").as_deref(), Some("auto-generated"));
    assert_eq!(header(&message, "Importance"), None);
    assert_eq!(header(&message, "X-Campanile-Drill"), None);
    assert_eq!(message.body_text(0).unwrap().trim_end(), "Stay in.\r\nClose windows.");
    assert_eq!(message.text_body_count(), 1);
    assert!(message.html_bodies().all(|part| !part.is_text_html()), "no HTML where none was given");
}

#[test]
fn the_message_id_is_the_same_for_every_attempt_and_another_for_every_endpoint() {
    let (letterhead, segment) = (letterhead(), segment(mail("s", "t", None)));
    let prepared = letterhead.prepare(&segment);
    let id = |endpoint, attempt, now| {
        let entry = Entry { attempt, ..entry(endpoint, "anna@people.test") };
        parse(&letterhead.compose(&segment, &prepared, &entry, 1, now).unwrap())
            .message_id()
            .unwrap()
            .to_owned()
    };
    assert_eq!(id(43, 1, NOW), id(43, 2, NOW.plus_s(600)));
    assert_ne!(id(43, 1, NOW), id(44, 1, NOW));
}

#[test]
fn without_a_door_replies_and_bounces_go_to_the_author() {
    let transaction =
        compose(Letterhead { door_domain: None, ..letterhead() }, segment(mail("s", "t", None)));
    assert_eq!(transaction.from.as_str(), "alerts@city.test");
    assert!(parse(&transaction).reply_to().is_none());
}

#[test]
fn an_emergency_and_an_exercise_say_so() {
    let segment = Segment {
        emergency: true,
        receipt: true,
        sender: Some("Sirén, Örebro".to_owned()),
        ..segment(mail("s", "t", None))
    };
    let transaction = compose(Letterhead { drill: true, ..letterhead() }, segment);
    assert!(transaction.notify_success);
    let message = parse(&transaction);
    for (name, value) in [("Importance", "high"), ("Priority", "urgent"), ("X-Campanile-Drill", "yes")] {
        assert_eq!(header(&message, name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(
        message.from().and_then(|from| from.first()).and_then(|from| from.name()),
        Some("Sirén, Örebro")
    );
}

#[test]
fn a_link_of_ones_own_and_the_choices_stand_in_text_and_html() {
    let html = "<html><body><p>Läget? a=b</p></body></html>";
    let link = format!("https://city.test/a/{}?x=1&y=<2>", "t".repeat(150));
    let mut segment = segment(mail("s", "Läget? a=b", Some(html)));
    segment.answer = true;
    segment.choices = vec![Choice { key: "1".into(), label: "I am safe".into() }];
    let letterhead = letterhead();
    segment.entries[0].link = Some(link.clone());
    let prepared = letterhead.prepare(&segment);
    for endpoint in [43, 44] {
        let link = format!("{link}{endpoint}");
        let entry = Entry { link: Some(link.clone()), ..entry(endpoint, "anna@people.test") };
        let transaction = letterhead.compose(&segment, &prepared, &entry, 1, NOW).unwrap();
        let message = parse(&transaction);
        let text = message.body_text(0).unwrap().replace("\r\n", "\n");
        assert_eq!(
            text,
            format!(
                "Läget? a=b\n\n1 = I am safe\n\nPlease answer here:\n{link}\nOr reply to this mail with 1.\n"
            )
        );
        let html = message.body_html(0).unwrap().replace("\r\n", "\n");
        let escaped = link.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        assert!(html.contains(&format!("<p><a href=\"{escaped}\">Please answer here</a></p>")), "{html}");
        assert!(
            html.starts_with("<html><body><p>Läget? a=b</p><hr>") && html.ends_with("</body></html>"),
            "{html}"
        );
        let part = message.part(1).unwrap();
        assert!(
            part.content_type()
                .is_some_and(|kind| kind.ctype() == "text" && kind.attribute("charset") == Some("utf-8"))
        );
    }
}

#[test]
fn who_has_no_link_or_is_not_asked_gets_none() {
    let ask = |answer: bool, link: Option<&str>, door: bool| {
        let mut segment = segment(mail("s", "Läget?", Some("<p>Läget?</p>")));
        segment.answer = answer;
        segment.entries[0].link = link.map(str::to_owned);
        let door_domain = door.then(|| "in.city.test".to_owned());
        let transaction = compose(Letterhead { door_domain, ..letterhead() }, segment);
        let message = parse(&transaction);
        (message.body_text(0).unwrap().into_owned(), message.body_html(0).unwrap().into_owned())
    };
    let (text, html) = ask(false, Some("https://x.test"), true);
    assert_eq!((text.trim_end(), html.trim_end()), ("Läget?", "<p>Läget?</p>"));
    let (text, html) = ask(true, None, false);
    assert_eq!((text.trim_end(), html.trim_end()), ("Läget?", "<p>Läget?</p>"));
    let (text, html) = ask(true, None, true);
    for said in [text, html] {
        assert!(said.contains("Please answer by replying to this mail."), "{said}");
    }
}

#[test]
fn the_answer_section_speaks_the_language_of_the_text() {
    for (language, asked) in [
        ("sv-FI", "Eller besvara det här mejlet med 1 eller 2."),
        ("de", "Oder antworten Sie auf diese E-Mail mit 1 oder 2."),
        ("tlh", "Or reply to this mail with 1 or 2."),
    ] {
        let content = Content { html: Some("<p>x</p>".into()), ..Content::of_text("x") };
        let mut segment = segment(Body::Translated(language.into(), content));
        segment.answer = true;
        segment.choices =
            ["1", "2"].map(|key| Choice { key: key.into(), label: format!("label {key}") }).into();
        segment.entries[0].link = Some("https://city.test/a/t".to_owned());
        let transaction = compose(letterhead(), segment);
        let message = parse(&transaction);
        for said in [message.body_text(0).unwrap(), message.body_html(0).unwrap()] {
            assert!(said.contains(asked), "{language}: {said}");
        }
    }
}

#[test]
fn a_text_of_ones_own_goes_before_the_shared_one() {
    let mut segment = segment(mail("shared", "shared", None));
    segment.entries[0].own = Some(Box::new(mail("own", "Dear Anna", None)));
    let transaction = compose(letterhead(), segment);
    assert_eq!(parse(&transaction).subject(), Some("own"));
}

#[test]
fn an_entry_that_cannot_be_a_mail_is_refused_with_its_reason() {
    let code = |segment: Segment| {
        let (letterhead, entry) = (letterhead(), &segment.entries[0]);
        let prepared = letterhead.prepare(&segment);
        letterhead.compose(&segment, &prepared, entry, 1, NOW).map(|_| ()).map_err(|e| e.code)
    };
    let with = |change: &dyn Fn(&mut Segment)| {
        let mut segment = segment(mail("s", "t", None));
        change(&mut segment);
        code(segment)
    };
    assert_eq!(with(&|_| {}), Ok(()));
    assert_eq!(with(&|s| s.entries[0].address = "nobody".to_owned()), Err("local:address"));
    assert_eq!(
        with(&|s| s.entries[0].address = "a@b.test\r\nRCPT TO:<c@d.test>".to_owned()),
        Err("local:address")
    );
    assert_eq!(with(&|s| s.entries[0].body = 9), Err("local:body"));
    assert_eq!(code(segment(Body::Short(Box::default()))), Err("local:body"));
    assert_eq!(
        code(segment(mail("s", &"å".repeat(800_000), Some(&"å".repeat(800_000))))),
        Err("local:too-large")
    );
}

/// Lines of the header, unfolded: name and value.
fn header_lines(message: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8(message.to_vec()).unwrap();
    let (head, _) = text.split_once("\r\n\r\n").unwrap();
    let unfolded = head.replace("\r\n ", " ").replace("\r\n\t", " ");
    unfolded
        .split("\r\n")
        .map(|line| line.split_once(": ").unwrap())
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .collect()
}

const HEADERS: [&str; 10] = [
    "To",
    "Date",
    "Message-ID",
    "Reply-To",
    "From",
    "Subject",
    "Auto-Submitted",
    "X-Auto-Response-Suppress",
    "MIME-Version",
    "Content-Type",
];

proptest! {
    /// Whatever is typed as subject, sender, text, choice or link: the headers are ours, the lines are short
    /// and end with CRLF, and nothing but what was typed is read.
    #[test]
    fn nothing_typed_can_add_a_header_or_a_line(
        subject in "[ -~\r\n\t\u{0}-\u{3}åü€𝄞:=?]{0,120}",
        sender in "[ -~\r\n\t\u{0}-\u{3}åü€<>\"@:,;]{1,80}",
        text in "[ -~\r\n\t\u{0}-\u{3}åü€.=]{0,300}",
        label in "[ -~\r\n\t\u{0}-\u{3}<>&]{0,40}",
        link in proptest::option::of("https://x/[!-~]{0,200}"),
        html in proptest::option::of("[ -~\r\n\u{0}-\u{3}åü<>/]{0,200}"),
    ) {
        let mut segment = segment(mail(&subject, &text, html.as_deref()));
        segment.sender = Some(sender);
        segment.answer = link.is_some();
        segment.choices = vec![Choice { key: "1".into(), label }];
        segment.entries[0].link = link.clone();
        let transaction = compose(letterhead(), segment);
        let names: Vec<String> = header_lines(&transaction.message).into_iter().map(|(name, _)| name).collect();
        let expected: Vec<&str> = HEADERS.into_iter().chain(["Content-Transfer-Encoding"]).collect();
        prop_assert!(names.iter().map(String::as_str).eq(expected.iter().copied()) || names == HEADERS, "{:?}", names);
        for line in transaction.message.split(|&octet| octet == b'\n') {
            prop_assert!(line.len() <= 998, "a line of {} octets", line.len());
        }
        let message = parse(&transaction);
        prop_assert_eq!(message.to().map(|to| to.iter().count()), Some(1));
        if let Some(link) = link {
            prop_assert!(message.body_text(0).unwrap().contains(&format!("\n{link}")), "{:?}", message.body_text(0));
        }
    }
}

#[test]
fn a_preview_is_what_the_reader_of_the_mail_sees() {
    let read = |text: &str| text.replace("\r\n", "\n").trim_end().to_owned();
    for (answer, link) in
        [(false, None), (true, None), (true, Some("https://alerts.test/a/Ab_c?x=1&y=2")), (false, Some("x"))]
    {
        let body = mail("Fire", "Leave now – quick", Some("<html><body><p>Leave</p></body></html>"));
        let mut segment = segment(body);
        segment.answer = answer;
        segment.choices = vec![Choice { key: "1".to_owned(), label: "I am <safe>".to_owned() }];
        segment.entries[0].link = link.map(str::to_owned);
        let sent = compose(letterhead(), segment.clone()).message;
        let sent = MessageParser::new().parse(&sent).unwrap();
        let (body, choices) = (&*segment.bodies[0], &segment.choices[..]);
        let shown = preview(true, &PreviewSource { body, link, answer, choices, flash: false });
        assert_eq!(read(&shown.text), read(&sent.body_text(0).unwrap()), "{answer} {link:?}");
        assert_eq!(read(&shown.html.unwrap()), read(&sent.body_html(0).unwrap()), "{answer} {link:?}");
    }
}
