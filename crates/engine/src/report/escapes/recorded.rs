//! The addresses that Debian's Kannel called are the addresses that we call, but for what [`DEVIATIONS`]
//! names; docs/platforms.md gives the reasons.

use super::{ReportValues, Values, expand};
use records::{DlrRequest, Timestamp};
use serde_json::Value;
use std::collections::BTreeMap;

const RECORDED: &str = include_str!("../../../../../tools/it/tests/data/kannel_callbacks.json");
/// 2026-11-21T00:00Z, the receipts' submit date.
const SUBMITTED: Timestamp = Timestamp(1_795_219_200_000_000);

/// Escapes whose value is another, or another each time.
const DEVIATIONS: &[&str] = &[
    // Moments and ids.
    "t", "T", "I", // Kannel's own parameters for SMPP, and its name on the carrier's side.
    "D", "o",
];

#[test]
fn what_people_say_is_told_as_kannel_tells_it() {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let cases = recorded["cases"]["inbound"].as_array().unwrap();
    assert!(cases.len() >= 8);
    for case in cases {
        let (coding, udh, text) = heard(case);
        let (person, ours) = (address(&case["source"]), address(&case["dest"]));
        let values = Values {
            text: text.into(),
            person: &person,
            ours: &ours,
            at: Some(SUBMITTED),
            id: "1",
            route: "carrier",
            service: "default",
            coding,
            udh: udh.into(),
            ..Values::default()
        };
        let ours = expand(case["pattern"].as_str().unwrap(), &values);
        assert_same(case, &case["targets"][0], &ours);
    }
}

/// As the gateway hands it over: text in UTF-8, or octets with their header.
fn heard(case: &Value) -> (u8, Vec<u8>, Vec<u8>) {
    let octets = octets(case["octets"].as_str().unwrap());
    match case["data_coding"].as_u64().unwrap() {
        4 => {
            let header = usize::from(octets[0]) + 1;
            (1, octets[..header].to_vec(), octets[header..].to_vec())
        }
        8 => {
            let units: Vec<u16> = octets.chunks(2).map(|two| u16::from_be_bytes([two[0], two[1]])).collect();
            (0, Vec::new(), String::from_utf16(&units).unwrap().into_bytes())
        }
        _ if case["name"] == "the GSM alphabet" => (0, Vec::new(), "@üß€".as_bytes().to_vec()),
        _ => (0, Vec::new(), octets),
    }
}

#[test]
fn reports_are_told_as_kannel_tells_them() {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let mut told = 0;
    for case in recorded["cases"]["reports"].as_array().unwrap() {
        let url = format!("http://127.0.0.1:PORT{}", case["dlr_url"].as_str().unwrap());
        for target in case["targets"].as_array().unwrap() {
            let Some(event) = event(target.as_str().unwrap()) else { continue };
            told += 1;
            let carrier_id = if event == DlrRequest::REFUSED { "" } else { "CARRIER-ID" };
            let values = Values {
                text: network_words(case, event).into_bytes().into(),
                person: case["to"].as_str().unwrap_or("+46701234567"),
                ours: "7001",
                at: Some(SUBMITTED.plus_s(60)),
                id: "1",
                route: "carrier",
                service: "tester",
                event: Some(event),
                report: ReportValues {
                    submitted: Some(SUBMITTED),
                    beginning: "Hello",
                    ..ReportValues::default()
                },
                url: &url,
                carrier_id,
                ..Values::default()
            };
            let address = expand(&url, &values);
            assert_same(case, target, address.strip_prefix("http://127.0.0.1:PORT").unwrap());
        }
    }
    assert!(told > 20, "{told}");
}

fn event(target: &str) -> Option<u8> {
    let rest = target.split("d=").nth(1)?;
    rest.split('&').next()?.parse().ok()
}

/// As the gateway and the engine have them on record.
fn network_words(case: &Value, event: u8) -> String {
    if event == DlrRequest::REFUSED {
        let is_no_route = case["to"].is_string();
        return if is_no_route { "no SMSC" } else { "smpp:0000000B Invalid Destination Address" }.to_owned();
    }
    let receipts = case["receipts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let place = if event == DlrRequest::BUFFERED { 0 } else { receipts.len().saturating_sub(1) };
    let Some(receipt) = receipts.get(place) else { return String::new() };
    match (receipt["stat"].as_str().unwrap(), receipt["err"].as_str().unwrap()) {
        (stat, "000") => stat.to_owned(),
        (stat, error) => format!("{stat} err:{error}"),
    }
}

/// Compares parameter by parameter.
fn assert_same(case: &Value, kannels: &Value, ours: &str) {
    let kannels = parameters(kannels.as_str().unwrap());
    let ours = parameters(ours);
    let names: Vec<_> = kannels.keys().collect();
    assert_eq!(names, ours.keys().collect::<Vec<_>>(), "{case}");
    for (name, value) in kannels {
        let letter = name.trim_start_matches(|digit: char| digit.is_ascii_digit());
        // Kannel counts what is delivered in receipts of every kind as its carrier does; ours says 000 of
        // what is not.
        let value = if letter == "A" { value.replace("dlvrd%3A001", "dlvrd%3A") } else { value };
        let own = if letter == "A" {
            ours[&name].replace("dlvrd%3A001", "dlvrd%3A").replace("dlvrd%3A000", "dlvrd%3A")
        } else {
            ours[&name].clone()
        };
        if !DEVIATIONS.contains(&letter) {
            assert_eq!(value, own, "{name} of {}", case["name"]);
        }
    }
}

fn parameters(target: &str) -> BTreeMap<String, String> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn address(parts: &Value) -> String {
    let plus = if parts[0] == 1 { "+" } else { "" };
    format!("{plus}{}", parts[2].as_str().unwrap())
}

fn octets(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|place| u8::from_str_radix(&hex[place * 2..place * 2 + 2], 16).unwrap()).collect()
}
