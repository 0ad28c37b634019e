use super::*;
use records::{AlertNo, EndpointNo};

mod answers;
mod bounces;

/// Reads a mail to deliveries that all went to Anna.
fn read(mail: &InboundMail, at: Timestamp) -> Vec<MailReading> {
    let addresses = vec![Some("anna@people.test".to_owned()); mail.recipients.len()];
    super::read(mail, MailFacts { addresses: &addresses, at, ..MailFacts::default() })
}

fn recipient(kind: TagKind) -> InboundRecipient {
    let address = format!("{}+7.42@in.test", kind.mailbox());
    InboundRecipient::Tagged(TaggedRecipient { kind, alert: AlertNo(7), endpoint: EndpointNo(42), address })
}

const AT: Timestamp = Timestamp(5);

/// Reads a mail written with line feeds.
fn read_one(kind: TagKind, from: &str, text: &str) -> MailReading {
    let octets = text.replace('\n', "\r\n").into_bytes();
    let mut readings =
        read(&InboundMail { from: from.to_owned(), recipients: vec![recipient(kind)], octets }, AT);
    assert_eq!(readings.len(), 1);
    readings.remove(0)
}

macro_rules! sample {
    ($name:literal) => {
        ($name, include_str!(concat!("samples/", $name, ".eml")))
    };
}

#[test]
fn bounces_of_many_mail_systems_say_what_became_of_the_delivery() {
    use ReceiptState::{Buffered, Delivered, Expired, Failed};
    for ((name, text), state, words) in [
        (
            sample!("postfix_failed"),
            Failed,
            "5.1.1 550 5.1.1 <anna@people.test>: Recipient address rejected: User unknown in virtual mailbox table",
        ),
        (
            sample!("postfix_delayed"),
            Buffered,
            "4.4.1 connect to mail.people.test[192.0.2.7]:25: Connection timed out tried until Thu, 26 Nov 2026 20:31:06 +0000 (UTC)",
        ),
        (sample!("sendmail_expired"), Expired, "4.4.7"),
        (sample!("success"), Delivered, "2.0.0 250 2.1.5 Ok"),
        (sample!("relayed"), Buffered, "2.0.0"),
        (
            sample!("gmail"),
            Failed,
            "5.1.1 550-5.1.1 The email account that you tried to reach does not exist. Please try 550-5.1.1 double-checking \
             the recipient's email address for typos or 550 5.1.1 unnecessary spaces.",
        ),
        (
            sample!("exchange"),
            Failed,
            "5.2.2 554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException",
        ),
        (sample!("opensmtpd"), Failed, "5.3.0 exited abnormally"),
        (sample!("opensmtpd_delivered"), Delivered, "2.0.0"),
        (sample!("utf8"), Failed, "5.1.1 550 5.1.1 <åsa@exämple.test>: okänd mottagare"),
        (sample!("no_action"), Failed, "5.7.1 554 rejected by policy"),
        (sample!("one_group"), Failed, "5.4.1"),
        (sample!("exim_old"), Failed, "550 Unrouteable address"),
        (sample!("qmail"), Failed, "Sorry, no mailbox here by that name. (#5.1.1)"),
        (
            sample!("plain_warning"),
            Buffered,
            "Your mail to anna@people.test is delayed: 451 4.4.1 connection to host timed out",
        ),
        (sample!("plain_german"), Failed, "Unzustellbar: Sturm heute Nacht"),
    ] {
        let expected = Receipt {
            route: String::new(),
            keys: vec![mail_key(AlertNo(7), EndpointNo(42))],
            id: String::new(),
            state,
            text: words.to_owned(),
            at: AT,
        };
        assert_eq!(
            read_one(TagKind::Bounces, "", text),
            MailReading::Outcome(Outcome::Receipt(expected.clone())),
            "{name}"
        );
        if !["exim_old", "qmail", "plain_warning", "plain_german"].contains(&name) {
            let at_answers = read_one(TagKind::Answers, "", text);
            assert_eq!(
                at_answers,
                MailReading::Outcome(Outcome::Receipt(expected)),
                "{name}, returned to the author"
            );
        }
    }
}

#[test]
fn what_comes_to_the_bounce_address_and_is_no_bounce_is_ignored() {
    for ((name, text), from) in [
        (sample!("ignored_vacation"), ""),
        (sample!("ignored_no_sign"), ""),
        (sample!("ignored_no_sign"), "someone@people.test"),
        (sample!("ignored_read_receipt"), ""),
        (sample!("ignored_read_receipt"), "anna@people.test"),
        (sample!("ignored_abuse_report"), ""),
    ] {
        assert_eq!(
            read_one(TagKind::Bounces, from, text),
            MailReading::Ignored("no report"),
            "{name} from {from:?}"
        );
    }
}

#[test]
fn automatic_mail_is_no_answer() {
    let mail =
        |headers: &str| format!("From: Anna <anna@people.test>\nSubject: Re: x\n{headers}\n\nI am safe\n");
    for (headers, from, why) in [
        ("Auto-Submitted: auto-replied", "anna@people.test", "auto-submitted"),
        ("Auto-Submitted: Auto-Generated; owner-email=x@y.z", "anna@people.test", "auto-submitted"),
        ("auto-submitted:\n auto-replied (vacation)", "anna@people.test", "auto-submitted"),
        ("Precedence: bulk", "anna@people.test", "precedence"),
        ("Precedence: AUTO_REPLY", "anna@people.test", "precedence"),
        ("Precedence: junk", "anna@people.test", "precedence"),
        ("Precedence: list", "anna@people.test", "precedence"),
        ("X-Autoreply: yes", "anna@people.test", "written by a machine"),
        ("List-Id: <x.y.test>", "anna@people.test", "written by a machine"),
        ("X-Ok: x", "", "null sender"),
        ("X-Ok: x", "MAILER-DAEMON@people.test", "null sender"),
    ] {
        assert_eq!(
            read_one(TagKind::Answers, from, &mail(headers)),
            MailReading::Ignored(why),
            "{headers:?} from {from:?}"
        );
    }
    for subject in
        ["Automatic reply: Storm", "Autosvar: Storm", "Abwesenheitsnotiz: Storm", "=?utf-8?q?Fr=C3=A5nvaro?="]
    {
        let text = format!("From: anna@people.test\nSubject: {subject}\n\nI am away\n");
        assert_eq!(
            read_one(TagKind::Answers, "anna@people.test", &text),
            MailReading::Ignored("subject of a responder"),
            "{subject}"
        );
    }
    for (headers, why) in [
        ("X-Auto-Response-Suppress: All", "written by a machine"),
        ("X-Auto-Response-Suppress: DR, OOF, AutoReply", "written by a machine"),
        ("X-Autoresponder: vacation", "written by a machine"),
        ("X-AutoReply-From: x@y.z", "written by a machine"),
        ("Content-Type: message/disposition-notification", "report"),
        ("Content-Type: text/calendar; method=REPLY", "calendar"),
    ] {
        assert_eq!(
            read_one(TagKind::Answers, "anna@people.test", &mail(headers)),
            MailReading::Ignored(why),
            "{headers:?}"
        );
    }
}

#[test]
fn subjects_and_sentences_of_responders_are_no_answers_and_those_of_people_are() {
    for subject in [
        "Resposta automática: Fire",
        "Automatyczna odpowiedź: Fire",
        "Автоматический ответ: Fire",
        "自动答复: Fire",
        "自動応答: Fire",
        "자동 회신: Fire",
        "Otomatik yanıt: Fire",
        "[Auto-Reply] Fire",
        "Out of Office",
        "Read: Fire",
        "Läst: Fire",
        "Gelesen: Fire",
        "已读: Fire",
        "Ann Berg is away",
        "Accepted: Fire",
    ] {
        let text = format!("From: anna@people.test\nSubject: {subject}\n\n1\n");
        let reading = read_one(TagKind::Answers, "anna@people.test", &text);
        assert_eq!(reading, MailReading::Ignored("subject of a responder"), "{subject}");
    }
    let declared = "From: anna@people.test\nSubject: Re: Fire\n\n1\nThis is an automatic reply.\n";
    let reading = read_one(TagKind::Answers, "anna@people.test", declared);
    assert_eq!(reading, MailReading::Ignored("says that it is automatic"));
    for subject in ["Re: Fire", "Ready", "Absolutely safe", "Ooops", "Lunch"] {
        let text =
            format!("From: anna@people.test\nSubject: {subject}\n\nI am out of the office, and safe\n");
        let reading = read_one(TagKind::Answers, "anna@people.test", &text);
        assert!(matches!(reading, MailReading::Outcome(Outcome::Inbound(_))), "{subject}: {reading:?}");
    }
    let mail =
        |headers: &str| format!("From: Anna <anna@people.test>\nSubject: Re: x\n{headers}\n\nI am safe\n");
    for headers in [
        "X-Auto-Response-Suppress: None",
        "Auto-Submitted: no",
        "Auto-Submitted: NO (a person)",
        "Precedence: first-class",
        "Importance: high",
    ] {
        let reading = read_one(TagKind::Answers, "anna@people.test", &mail(headers));
        assert!(matches!(reading, MailReading::Outcome(Outcome::Inbound(_))), "{headers}: {reading:?}");
    }
}

#[test]
fn a_reply_is_the_answer_of_its_delivery() {
    let text = "From: \"Anna A.\" <Anna@People.test>\nTo: x@y.z\nSubject: Re: Storm\n\n1\n\nOn Sat, 21 Nov 2026 at 20:31, City <alerts@city.test> wrote:\n> Storm\n";
    assert_eq!(
        read_one(TagKind::Answers, "anna@people.test", text),
        MailReading::Outcome(Outcome::Inbound(Inbound {
            octets: None,
            channel: channels::MAIL,
            route: String::new(),
            from: "Anna@People.test".to_owned(),
            to: "answers+7.42@in.test".to_owned(),
            text: "1".to_owned(),
            of: Some((AlertNo(7), EndpointNo(42))),
            at: AT,
        }))
    );
}

#[test]
fn an_author_is_proven_by_the_tag_of_their_own_mail_or_by_a_relay_of_ours() {
    let passed = "Authentication-Results: mx.city.test; dmarc=pass header.from=people.test\n";
    let untagged = || InboundRecipient::Untagged("answers@in.test".to_owned());
    let relay = Some("mx.city.test");
    let anna = "From: anna@people.test\n";
    for (headers, to, address, authserv_id, is_proven) in [
        (anna, recipient(TagKind::Answers), Some("Anna@People.Test"), None, true),
        (anna, recipient(TagKind::Answers), Some("bo@people.test"), None, false),
        (anna, recipient(TagKind::Answers), None, None, false),
        (anna, recipient(TagKind::Answers), None, relay, false),
        (anna, untagged(), None, relay, false),
        (&format!("{passed}{anna}"), untagged(), None, relay, true),
        (&format!("{passed}{anna}"), untagged(), None, Some("mx.other.test"), false),
        (&format!("{passed}{anna}"), untagged(), None, None, false),
        (&format!("{passed}{anna}"), recipient(TagKind::Answers), Some("bo@people.test"), relay, true),
        (&format!("{passed}From: a@evil.test\n"), untagged(), None, relay, false),
    ] {
        let octets = format!("{headers}Subject: Re: x\n\nJOIN harbour\n").replace('\n', "\r\n").into_bytes();
        let is_tagged = matches!(to, InboundRecipient::Tagged(_));
        let mail = InboundMail { from: "anna@people.test".to_owned(), recipients: vec![to], octets };
        let addresses = [address.map(str::to_owned)];
        let facts = MailFacts { addresses: &addresses, authserv_id, at: AT };
        let inbound = match super::read(&mail, facts).remove(0) {
            MailReading::Outcome(Outcome::Inbound(inbound)) if is_proven => inbound,
            MailReading::Outcome(Outcome::Unproven(inbound)) if !is_proven => *inbound,
            other => panic!("{headers}, {address:?}, {authserv_id:?}: {other:?}"),
        };
        assert_eq!((inbound.text.as_str(), inbound.of.is_some()), ("JOIN harbour", is_tagged));
    }
}

#[test]
fn a_mail_without_a_tag_is_ignored_where_no_person_wrote_it() {
    let octets = sample!("postfix_failed").1.replace('\n', "\r\n").into_bytes();
    let recipients = vec![InboundRecipient::Untagged("answers@in.test".to_owned())];
    let bounce = InboundMail { from: String::new(), recipients: recipients.clone(), octets };
    assert_eq!(read(&bounce, AT), [MailReading::Ignored("no tag")]);
    let octets = b"From: anna@people.test\r\nAuto-Submitted: auto-replied\r\n\r\naway\r\n".to_vec();
    let away = InboundMail { from: "anna@people.test".to_owned(), recipients, octets };
    assert_eq!(read(&away, AT), [MailReading::Ignored("auto-submitted")]);
}

#[test]
fn each_recipient_of_a_mail_is_read_for_itself() {
    let (_, text) = sample!("qmail");
    let octets = text.replace('\n', "\r\n").into_bytes();
    let recipients = vec![recipient(TagKind::Answers), recipient(TagKind::Bounces)];
    let readings = read(&InboundMail { from: String::new(), recipients, octets }, AT);
    assert!(
        matches!(
            readings.as_slice(),
            [MailReading::Ignored("null sender"), MailReading::Outcome(Outcome::Receipt(_))]
        ),
        "{readings:?}"
    );
}

#[test]
fn what_cannot_be_read_or_would_cost_too_much_is_ignored() {
    let nested = "Content-Type: message/rfc822\n\n".repeat(NESTED_MAX + 1);
    assert_eq!(read_one(TagKind::Answers, "a@b.test", &nested), MailReading::Ignored("unreadable"));
    let parts = "Content-Type: multipart/mixed; boundary=b\n\n--b\n".repeat(NESTED_MAX + 1);
    assert_eq!(read_one(TagKind::Answers, "a@b.test", &parts), MailReading::Ignored("unreadable"));
    assert_eq!(read_one(TagKind::Bounces, "", ""), MailReading::Ignored("unreadable"));
}

#[test]
fn any_octets_at_all_are_read_without_a_panic() {
    let samples = [sample!("postfix_failed").1, sample!("qmail").1, sample!("ignored_read_receipt").1];
    let seed = 0x5eed_u64;
    let mut state = seed;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    for round in 0..600 {
        let mut octets = samples[round % samples.len()].replace('\n', "\r\n").into_bytes();
        for _ in 0..=random(20) {
            let (at, length) = (random(octets.len()), random(40));
            match random(3) {
                0 => octets[at] = random(256) as u8,
                1 => drop(octets.drain(at..(at + length).min(octets.len()))),
                _ => {
                    let piece = octets[at..(at + length).min(octets.len())].to_vec();
                    octets.splice(at..at, piece);
                }
            }
            if octets.is_empty() {
                break;
            }
        }
        for kind in TagKind::ALL {
            let mail = InboundMail {
                from: String::new(),
                recipients: vec![recipient(kind)],
                octets: octets.clone(),
            };
            assert_eq!(read(&mail, AT).len(), 1, "seed {seed}, round {round}");
        }
    }
}
