//! Tests of replies as people's mail programs send them.

use super::super::answer::{ANSWER_OCTETS_MAX, own_words};
use super::*;

/// Program, what it sends, what the person wrote.
const REPLIES: &[(&str, &str, &str)] = &[
    ("nothing quoted", "1\n", "1"),
    ("gmail, Japanese", "2\n\n2026年11月25日(水) 21:45 City <alerts@city.test>:\n\n> 1 = I am safe\n", "2"),
    ("gmail, Chinese", "2\n\nCity <alerts@city.test> 于2026年11月25日周三 21:45写道：\n\n> 1 = 安全\n", "2"),
    (
        "gmail, Korean",
        "2\n\n2026년 11월 25일 (수) 오후 9:45, City <alerts@city.test>님이 작성:\n\n1 = 안전\n",
        "2",
    ),
    (
        "gmail, Russian",
        "2\n\nср, 25 нояб. 2026 г. в 21:45, City <alerts@city.test>:\n\n> 1 = Все хорошо\n",
        "2",
    ),
    (
        "gmail, Hebrew",
        "2\n\n\u{200f}בתאריך יום ד׳, 25 בנוב׳ 2026 ב-21:45 מאת \u{202a}City\u{202c}\u{200f} <\u{202a}alerts@city.test\u{202c}\u{200f}>:\u{200f}\n\n> 1\n",
        "2",
    ),
    (
        "outlook, Danish",
        "2\n\nFra: City <alerts@city.test>\nSendt: 25. november 2026 21:45\nTil: Ann\nEmne: Fire\n\n1 = I am safe\n",
        "2",
    ),
    (
        "outlook, Chinese",
        "2\n\n发件人：City <alerts@city.test>\n发送时间：2026年11月25日 21:45\n收件人：Ann\n主题：Fire\n\n1\n",
        "2",
    ),
    ("outlook, Japanese", "2\n\n差出人: City\n送信日時: 2026年11月25日\n宛先: Ann\n件名: Fire\n\n1\n", "2"),
    ("outlook, Russian", "2\n\nОт: City\nОтправлено: 25 ноября 2026 г.\nКому: Ann\nТема: Fire\n\n1\n", "2"),
    ("outlook, Turkish", "2\n\nKimden: City\nGönderildi: 25 Kasım 2026\nKime: Ann\nKonu: Fire\n\n1\n", "2"),
    ("a date and marks", "2\n\n2026-11-25 21:45 City of Example:\n> 1 = I am safe\n", "2"),
    ("qq", "2\n\n------------------ 原始邮件 ------------------\n发件人: City\n1\n", "2"),
    ("a rule", "2\n\n----------------------------------------\n1 = I am safe\n", "2"),
    ("several lines", "I am safe.\n\n\nAt home with the kids.\n", "I am safe.\n\nAt home with the kids."),
    (
        "gmail",
        "Yes\n\nOn Sat, Nov 21, 2026 at 8:31 PM City of X <alerts@city.test> wrote:\n\n> Storm tonight\n>\n> Answer\n",
        "Yes",
    ),
    (
        "gmail, broken",
        "Yes\n\nOn Sat, Nov 21, 2026 at 8:31 PM City of X with a long name\n<alerts@city.test> wrote:\n\n> Storm\n",
        "Yes",
    ),
    (
        "gmail, no gap",
        "Yes\nOn Sat, Nov 21, 2026 at 8:31 PM City of X <alerts@city.test> wrote:\n> Storm\n",
        "Yes",
    ),
    (
        "words that begin alike",
        "On my way, 2 minutes\nOn Sat, Nov 21, 2026 at 8:31 PM City\n<alerts@city.test> wrote:\n> Storm\n",
        "On my way, 2 minutes",
    ),
    (
        "gmail, Swedish",
        "Jag är hemma\n\nDen lör 21 nov. 2026 kl 20:31 skrev City of X <alerts@city.test>:\n\n> Storm i natt\n",
        "Jag är hemma",
    ),
    (
        "gmail, Swedish, older",
        "2\n\nlör 21 nov. 2026 kl. 20:31 skrev City of X <alerts@city.test>:\n> Storm\n",
        "2",
    ),
    ("thunderbird, Swedish", "Ja\n\nDen 2026-11-21 kl. 20:31, skrev City of X:\n> Storm\n", "Ja"),
    (
        "gmail, German",
        "Bin sicher\n\nAm Sa., 21. Nov. 2026 um 20:31 Uhr schrieb City of X <\nalerts@city.test>:\n\n> Sturm\n",
        "Bin sicher",
    ),
    ("thunderbird, German", "1\n\nAm 21.11.26 um 20:31 schrieb City of X:\n> Sturm\n", "1"),
    (
        "gmail, French",
        "Oui\n\nLe sam. 21 nov. 2026 à 20:31, City of X <alerts@city.test> a écrit :\n\n> Tempête\n",
        "Oui",
    ),
    (
        "gmail, Spanish",
        "Sí\n\nEl sáb, 21 nov 2026 a las 20:31, City of X (<alerts@city.test>) escribió:\n\n> Tormenta\n",
        "Sí",
    ),
    (
        "gmail, Danish",
        "Ja\n\nDen lør. 21. nov. 2026 kl. 20.31 skrev City of X <alerts@city.test>:\n\n> Storm\n",
        "Ja",
    ),
    (
        "gmail, Dutch",
        "Ja\n\nOp za 21 nov 2026 om 20:31 schreef City of X <alerts@city.test>:\n\n> Storm\n",
        "Ja",
    ),
    (
        "gmail, Finnish",
        "Kyllä\n\nla 21. marrask. 2026 klo 20.31 City of X (alerts@city.test) kirjoitti:\n\n> Myrsky\n",
        "Kyllä",
    ),
    (
        "apple mail",
        "Safe\n\n> On 21 Nov 2026, at 20:31, City of X <alerts@city.test> wrote:\n> \n> Storm tonight\n",
        "Safe",
    ),
    (
        "iphone",
        "1\n\nSent from my iPhone\n\n> On 21 Nov 2026, at 20:31, City of X <alerts@city.test> wrote:\n> \n> Storm\n",
        "1",
    ),
    (
        "iphone, Swedish",
        "1\n\nSkickat från min iPhone\n\n> 21 nov. 2026 kl. 20:31 skrev City of X <alerts@city.test>:\n> \n> Storm\n",
        "1",
    ),
    (
        "iphone, German",
        "1\n\nVon meinem iPhone gesendet\n\n> Am 21.11.2026 um 20:31 schrieb City of X <alerts@city.test>:\n",
        "1",
    ),
    (
        "outlook",
        "I am safe\n\n________________________________\nFrom: City of X <alerts@city.test>\nSent: Saturday, November 21, 2026 8:31 PM\nTo: Anna\nSubject: Storm\n\nStorm tonight\n",
        "I am safe",
    ),
    (
        "outlook, no rule",
        "I am safe\n\nFrom: City of X <alerts@city.test>\nSent: Saturday, November 21, 2026 8:31 PM\nTo: Anna\nSubject: Storm\n\nStorm tonight\n",
        "I am safe",
    ),
    (
        "outlook, stars",
        "Safe\n\n*From:* City of X <alerts@city.test>\n*Sent:* Saturday, November 21, 2026 8:31 PM\n*To:* Anna\n*Subject:* Storm\n",
        "Safe",
    ),
    (
        "outlook, old",
        "Safe\n\n-----Original Message-----\nFrom: City of X [mailto:alerts@city.test]\nSent: x\n\nStorm\n",
        "Safe",
    ),
    (
        "outlook, Swedish",
        "Jag mår bra\n\nMed vänlig hälsning\nAnna\n\nFrån: City of X <alerts@city.test>\nSkickat: den 21 november 2026 20:31\nTill: Anna\nÄmne: Storm\n\nStorm i natt\n",
        "Jag mår bra\n\nMed vänlig hälsning\nAnna",
    ),
    ("outlook, Swedish, old", "Ja\n\n-----Ursprungligt meddelande-----\nFrån: City\n", "Ja"),
    (
        "outlook, German",
        "Alles gut\n\nVon: City of X <alerts@city.test>\nGesendet: Samstag, 21. November 2026 20:31\nAn: Anna\nBetreff: Sturm\n\nSturm\n",
        "Alles gut",
    ),
    ("outlook, German, old", "Ja\n\n-----Ursprüngliche Nachricht-----\nVon: City\n", "Ja"),
    (
        "outlook for phones",
        "2\n\nGet Outlook for Android<https://aka.ms/x>\n________________________________\nFrom: City\n",
        "2",
    ),
    ("signature", "Yes, all fine\n-- \nAnna Andersson\nPhone 070\n", "Yes, all fine"),
    ("signature, blank eaten", "Yes\n--\nAnna\n", "Yes"),
    (
        "below the quotation",
        "On Sat, Nov 21, 2026 at 8:31 PM City <alerts@city.test> wrote:\n> Storm tonight\n> Answer\n\nI need help\n",
        "I need help",
    ),
    ("between the lines", "> Are you safe?\nYes\n> Do you need help?\nNo\n", "Yes\nNo"),
    ("name in front", "Yes\n\nCity of X wrote:\n> Storm\n", "Yes"),
    (
        "html turned to text",
        "Yes\n\nOn 2026-11-21 20:31, City of X <alerts@city.test> wrote:\n\nStorm tonight\nMore\n",
        "Yes",
    ),
    ("nothing but a quotation", "On 2026-11-21, City <a@b.test> wrote:\n> Storm\n", ""),
    ("empty", "", ""),
    (
        "a sentence with a colon",
        "My neighbour wrote 3 times:\nhe needs help\n",
        "My neighbour wrote 3 times:\nhe needs help",
    ),
    ("from as a word", "From: the cellar\nwe need help\n", "From: the cellar\nwe need help"),
    ("dashes as a list", "- one\n- two\n", "- one\n- two"),
    ("a byte order mark", "\u{feff}1\n", "1"),
];

#[test]
fn what_was_quoted_and_signed_is_taken_off() {
    for (program, text, expected) in REPLIES {
        assert_eq!(own_words(text), *expected, "{program}");
        assert_eq!(own_words(&text.replace('\n', "\r\n")), *expected, "{program}, CRLF");
    }
}

fn answer_of(headers: &str, body: &str) -> String {
    let text = format!("From: anna@people.test\nSubject: Re: Storm\nMIME-Version: 1.0\n{headers}\n\n{body}");
    match read_one(TagKind::Answers, "anna@people.test", &text) {
        MailReading::Outcome(Outcome::Inbound(inbound)) => inbound.text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn html_alone_is_cut_where_its_program_begins_to_quote() {
    for (program, html, expected) in [
        (
            "gmail",
            "<div dir=\"ltr\">Yes, <b>safe</b></div><br><div class=\"gmail_quote\"><div class=\"gmail_attr\">On Sat x wrote:</div><blockquote>Storm</blockquote></div>",
            "Yes, safe",
        ),
        (
            "outlook web",
            "<div>2</div><div id=\"appendonsend\"></div><hr><div id=\"divRplyFwdMsg\"><b>From:</b> City</div><div>Storm</div>",
            "2",
        ),
        (
            "outlook",
            "<p>I am safe</p><div style='border:none;border-top:solid #E1E1E1 1.0pt'><p><b>From:</b> City</p></div><p>Storm</p>",
            "I am safe",
        ),
        ("apple mail", "<div>1</div><br><blockquote type=\"cite\">Storm</blockquote>", "1"),
        (
            "thunderbird",
            "<p>Ja</p><div class=\"moz-cite-prefix\">Am 21.11.26 um 20:31 schrieb City:</div><blockquote>Sturm</blockquote>",
            "Ja",
        ),
        ("nothing quoted", "<p>I need<br>help</p>", "I need\nhelp"),
    ] {
        assert_eq!(answer_of("Content-Type: text/html; charset=utf-8", html), expected, "{program}");
    }
}

#[test]
fn the_plain_part_goes_before_the_html() {
    let body = "--b\nContent-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\nJag =E4r h=E4r\n\n--b\nContent-Type: text/html\n\n<p>other</p>\n--b--\n";
    assert_eq!(answer_of("Content-Type: multipart/alternative; boundary=b", body), "Jag är här");
    let base64 = "SmFnIMOkciBow6RyCg==\n";
    assert_eq!(
        answer_of("Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64", base64),
        "Jag är här"
    );
}

#[test]
fn a_long_answer_is_cut_at_a_character() {
    let text = answer_of(
        "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit",
        &"å".repeat(ANSWER_OCTETS_MAX),
    );
    assert_eq!(text.len(), ANSWER_OCTETS_MAX);
}

#[test]
fn a_mail_without_a_text_is_answered_by_a_subject_of_its_own() {
    for (subject, expected) in
        [("2", "2"), ("I am safe", "I am safe"), ("Re: 2", ""), ("SV: Brand", ""), ("回复：2", "")]
    {
        let text = format!("From: anna@people.test\nSubject: {subject}\n\n\n");
        let reading = read_one(TagKind::Answers, "anna@people.test", &text);
        let MailReading::Outcome(Outcome::Inbound(inbound)) = reading else {
            panic!("{subject}: {reading:?}")
        };
        assert_eq!(inbound.text, expected, "{subject}");
    }
}
