use super::*;
use crate::merkle::{Tree, TreeBuilder};
use proptest::prelude::*;
use serde_json::json;

fn key() -> SigningKey {
    SigningKey::from_seed(&[7; KEY_OCTETS]).unwrap()
}

fn content(n: usize) -> String {
    let address = format!("+4670{n:07}");
    canonical::canonical(&json!({"address": address, "channel": "sms", "kind": "intent", "text": "å\n"}))
        .unwrap()
}

/// An export of so many lines, its header first.
fn export(size: usize) -> Vec<String> {
    let leaf = |n: usize| Leaf::Content { salt: [n as u8; SALT_OCTETS], content: content(n) };
    let leaves: Vec<Leaf> = (0..size).map(leaf).collect();
    let mut builder = TreeBuilder::default();
    leaves.iter().for_each(|leaf| builder.push(leaf.hash()));
    let tree = Tree::new(leaves.iter().map(Leaf::hash).collect());
    let statement = Statement {
        account: "default".to_owned(),
        alert: "a".to_owned(),
        made: "2026-11-28T03:00:00Z".to_owned(),
        root: builder.root(),
        size: builder.size(),
        version: 1,
    };
    let header = statement.sign(&key()).to_text();
    let lines = leaves.into_iter().enumerate().map(|(index, leaf)| {
        let proof = tree.proof(index).unwrap();
        Line { index: index as u64, leaf, proof }.to_text()
    });
    std::iter::once(header).chain(lines).collect()
}

fn check(lines: &[impl AsRef<str>], only: Option<u64>) -> Result<CheckedExport, EvidenceError> {
    let mut checker = Checker::new(lines[0].as_ref(), &key().public(), only)?;
    lines[1..].iter().try_for_each(|line| checker.line(line.as_ref()))?;
    checker.end()
}

#[test]
fn an_export_holds_as_it_was_made() {
    for size in [1, 2, 3, 20, 61] {
        let checked = check(&export(size), None).unwrap();
        assert_eq!((checked.checked, checked.erased), (size as u64, 0));
        assert_eq!(checked.header.statement.size, size as u64);
    }
}

#[test]
fn a_line_holds_alone_with_the_header() {
    let lines = export(20);
    for index in 0..20_usize {
        let alone = [&lines[0], &lines[index + 1]];
        assert_eq!(check(&alone, Some(index as u64)).unwrap().checked, 1);
        assert!(matches!(check(&alone, Some(99)), Err(EvidenceError::Missing { from: 99, size: 20 })));
    }
    let alone = [&lines[0], &lines[6]];
    assert_eq!(check(&alone, None), Err(EvidenceError::Order { line: 1, expected: 0, found: 5 }));
}

#[test]
fn lines_that_are_missing_repeated_or_exchanged_are_named() {
    let lines = export(20);
    assert_eq!(check(&lines[..20], None), Err(EvidenceError::Missing { from: 19, size: 20 }));
    let mut repeated = lines.clone();
    repeated.insert(3, lines[3].clone());
    assert_eq!(check(&repeated, None), Err(EvidenceError::Order { line: 4, expected: 3, found: 2 }));
    let mut exchanged = lines;
    exchanged.swap(3, 4);
    assert_eq!(check(&exchanged, None), Err(EvidenceError::Order { line: 3, expected: 2, found: 3 }));
}

#[test]
fn an_erased_line_holds_by_its_hash() {
    let mut lines = export(20);
    let mut erased = Line::parse(&lines[8]).unwrap();
    erased.leaf = Leaf::Erased(erased.leaf.hash());
    lines[8] = erased.to_text();
    assert!(!lines[8].contains("4670"));
    let checked = check(&lines, None).unwrap();
    assert_eq!((checked.checked, checked.erased), (20, 1));
}

#[test]
fn a_header_of_another_key_or_format_is_named() {
    let lines = export(1);
    let other = SigningKey::from_seed(&[8; KEY_OCTETS]).unwrap().public();
    let given = other.id();
    let signed = key().public().id();
    assert_eq!(Checker::new(&lines[0], &other, None).unwrap_err(), EvidenceError::OtherKey { signed, given });
    let newer = lines[0].replace(FORMAT, "campanile-evidence-9");
    let error = Checker::new(&newer, &key().public(), None).unwrap_err().to_string();
    assert!(error.contains("campanile-evidence-9") && error.contains(FORMAT), "{error}");
}

#[test]
fn what_nobody_verifies_is_refused() {
    for (text, reason) in [
        ("{}", "the line has no index"),
        ("[]", "the line is no object"),
        (r#"{"index":0,"proof":[],"salt":"00"}"#, "the line has no content"),
        (r#"{"content":{},"index":0,"proof":[],"salt":"00"}"#, "salt is no salt"),
        (r#"{"content":7,"index":0,"proof":[],"salt":"00"}"#, "content is no object"),
        (r#"{"content":{},"hash":"00","index":0,"proof":[]}"#, "hash is no hash"),
        (r#"{"content":{},"index":-1,"proof":[]}"#, "index of the line is no number from 0 on"),
        (r#"{"index":0,"proof":["x"]}"#, "proof has what is no hash"),
        (r#"{"index":0,"proof":{}}"#, "proof is no list"),
    ] {
        assert_eq!(Line::parse(text).unwrap_err(), reason, "{text}");
    }
    let hash = "0".repeat(64);
    let more = format!(r#"{{"hash":"{hash}","index":0,"note":"","proof":[]}}"#);
    assert_eq!(Line::parse(&more).unwrap_err(), "the line has \"note\", which nobody verifies");
    let long =
        format!(r#"{{"hash":"{hash}","index":0,"proof":[{}]}}"#, vec![format!("\"{hash}\""); 65].join(","));
    assert_eq!(Line::parse(&long).unwrap_err(), "proof has more than 64 hashes");
    let large = " ".repeat(LINE_OCTETS_MAX + 1);
    assert!(Line::parse(&large).unwrap_err().contains("longer"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(512)))]

    #[test]
    fn any_changed_octet_of_an_export_fails(
        size in 1_usize..40, line in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(),
        mask in 1_u8..128,
    ) {
        let mut lines = export(size);
        let line = line.index(lines.len());
        let mut octets = lines[line].clone().into_bytes();
        let place = place.index(octets.len());
        octets[place] ^= mask;
        // What is no UTF-8 any more is no line.
        if let Ok(text) = String::from_utf8(octets) {
            lines[line] = text;
            prop_assert!(check(&lines, None).is_err(), "line {line}, octet {place} ^ {mask}");
        }
    }
}
