//! Documents that want to hurt, and documents that were hurt.

use crate::*;

const SMALL: &[u8] = include_bytes!("../../../testdata/kde-ireland-smallcraft.xml");
const HEBREW: &[u8] = include_bytes!("../../../testdata/kde-israel-he.xml");

fn code(octets: &[u8]) -> &'static str {
    read(octets).expect_err("refused").code()
}

fn alert(content: &str) -> String {
    format!(
        "<alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"><identifier>1</identifier>{content}</alert>"
    )
}

#[test]
fn declarations_and_entities_are_refused() {
    let laughs = "<?xml version='1.0'?><!DOCTYPE lolz [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>\
                  <!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;'>]><alert><identifier>&c;</identifier></alert>";
    let external =
        "<!DOCTYPE alert [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><alert><note>&x;</note></alert>";
    let subset = "<!DOCTYPE alert SYSTEM 'http://127.0.0.1/x.dtd'><alert/>";
    for document in [laughs, external, subset, "<!DOCTYPE alert><alert/>"] {
        assert_eq!(code(document.as_bytes()), "doctype", "{document}");
    }
    for entity in ["&x;", "&nbsp;", "&laquo;"] {
        assert_eq!(code(alert(&format!("<note>{entity}</note>")).as_bytes()), "entity", "{entity}");
    }
    let error = read(alert("<note>\n\n&nbsp;</note>").as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "line 3: entity \"nbsp\" is not known; write the character itself or its number");
}

#[test]
fn documents_beyond_a_limit_are_refused() {
    let deep = format!("{}{}", "<a>".repeat(10_000), "</a>".repeat(10_000));
    assert_eq!(code(deep.as_bytes()), "too-deep");
    assert_eq!(code(alert(&format!("<info>{deep}</info>")).as_bytes()), "too-deep");
    assert_eq!(code(&vec![b' '; 3 * 1024 * 1024]), "too-large");
    assert_eq!(code(alert(&"<x/>".repeat(ELEMENTS_MAX)).as_bytes()), "too-many-elements");
    let info = |area: String| alert(&format!("<info><area>{area}</area></info>"));
    assert_eq!(code(info("<circle>1,1 1</circle>".repeat(SHAPES_MAX + 1)).as_bytes()), "too-many-shapes");
    let ring = format!("<polygon>{}</polygon>", "1,1 ".repeat(50_001));
    assert_eq!(code(info(ring.repeat(4)).as_bytes()), "too-many-vertices");
}

#[test]
fn what_is_no_alert_is_refused() {
    for (document, expected) in [
        ("", "nothing-recognized"),
        ("   \n", "nothing-recognized"),
        ("<html><body>503</body></html>", "nothing-recognized"),
        ("<alert/>", "nothing-recognized"),
        ("<alert><colour>red</colour></alert>", "nothing-recognized"),
        ("<alert xmlns='urn:x'><identifier>1</identifier></alert>", "nothing-recognized"),
        ("<alerts></alerts>", "nothing-recognized"),
        ("{\"alert\": 1}", "malformed"),
        ("<alert><identifier>1</identifier>", "malformed"),
        ("<alert><identifier>1</alert></identifier>", "malformed"),
        ("<alert><identifier>1</identifier></alert>x", "malformed"),
        ("<alert><identifier>1</identifier></alert><alert/>", "malformed"),
        ("<alert><identifier>A & B</identifier></alert>", "malformed"),
        ("<alert><identifier>1</identifier><note>&#xFFFFFFFF;</note></alert>", "malformed"),
        ("<alert", "malformed"),
    ] {
        assert_eq!(code(document.as_bytes()), expected, "{document}");
    }
    assert_eq!(code(b"<alert><identifier>\xFF</identifier></alert>"), "encoding");
    assert_eq!(code(b"<?xml version='1.0' encoding='EBCDIC'?><alert/>"), "encoding");
}

#[test]
fn a_document_cut_at_any_octet_is_refused_without_a_panic() {
    let whole = SMALL.trim_ascii_end();
    assert!(read(whole).is_ok());
    for end in 0..whole.len() {
        assert!(read(&whole[..end]).is_err(), "cut at octet {end}");
    }
}

/// Flips, inserts, removes, repeats and swaps pieces: nothing may panic, and what is read can be judged by
/// the writer.
#[test]
fn damaged_documents_do_no_harm() {
    let mut seed = 20_250_414_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below.max(1)
    };
    let dictionary: &[&[u8]] = &[
        b"<",
        b">",
        b"&",
        b"&#0;",
        b"<![CDATA[",
        b"]]>",
        b"<!--",
        b"-->",
        b"<info>",
        b"</info>",
        b"<polygon>1,1 2,2</polygon>",
        b"\xFF",
        b"\0",
        b" xmlns='x'",
        b"<circle>0,0 1e308</circle>",
        b"99999999999999999999",
        b"<!DOCTYPE a>",
        b"-",
        b"2025-01-01T00:00:00Z",
        b"xmlns:a=\"&b;\"",
    ];
    for round in 0..3_000 {
        let mut document = if round % 2 == 0 { SMALL.to_vec() } else { HEBREW.to_vec() };
        for _ in 0..=random(4) {
            let at = random(document.len());
            let end = (at + random(40)).min(document.len());
            match random(5) {
                0 => document[at] ^= 1 << random(8),
                1 => drop(document.drain(at..end)),
                2 => drop(document.splice(at..at, dictionary[random(dictionary.len())].iter().copied())),
                3 => drop(document.splice(at..end, dictionary[random(dictionary.len())].iter().copied())),
                _ => {
                    let piece = document[at..end].to_vec();
                    let to = random(document.len());
                    drop(document.splice(to..to, piece));
                }
            }
        }
        let outcome = std::panic::catch_unwind(|| {
            let Ok(reading) = read(&document) else { return };
            assert!(reading.problems.len() <= PROBLEMS_MAX);
            if let Ok(written) = write(&reading.alert) {
                let again = read(&written).expect("what was written is read").alert;
                assert_eq!(again, reading.alert);
            }
        });
        assert!(outcome.is_ok(), "round {round}: {}", String::from_utf8_lossy(&document));
    }
}
