use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use super::text::civil;
use super::{Blocks, Export, Format, Page, Search, page};
use crate::log::{FIRST_POSITION, Log};
use crate::request::{Destination, MessageKey, ServiceContext};
use crate::shard::{Shard, Turn};
use crate::{Config, HashKey, KeyKind, Kind, PackedKey, Request, Service, Units, block};

const KEY: HashKey = HashKey([5, 6]);
const SECOND: u64 = 1_000_000;
/// 2026-02-28T23:59:58Z.
const START_US: u64 = 1_772_323_198 * SECOND;

/// A log with one request in each block, a second apart.
fn written(folder: &Path, requests: &[Request<'_>]) -> Shard {
    let mut shard = Shard::new(KEY, Arc::new(Config::default()));
    let mut log = Log::open(folder, 512, FIRST_POSITION).unwrap();
    for (at, request) in requests.iter().enumerate() {
        let position = log.next_position().unwrap();
        let now_us = START_US + at as u64 * SECOND;
        let (mut buffer, mut answers) = (Vec::new(), Vec::new());
        block::begin(&mut buffer);
        shard.begin_block(position, now_us);
        let mut turn = Turn { now_us, log: &mut buffer, services: &mut answers, past: &log.segments() };
        shard.apply(request, request.account.hash(KEY), &mut turn);
        block::seal(&mut buffer, position, log.synced(), now_us);
        log.append(&buffer).unwrap();
    }
    shard
}

fn request<'a>(kind: Kind, account_kind: KeyKind, account: &'a [u8]) -> Request<'a> {
    Request {
        kind,
        account: PackedKey::new(KEY, account_kind, account),
        account_octets: account,
        session: [0, 0],
        number: 0,
        context: ServiceContext::SMS,
        class: 1,
        destination: Destination::parse(b"+46709999999"),
        services: &[],
        opener: None,
    }
}

const THREE: &[Service] = &[Service {
    rating_group: Some(7),
    service_id: None,
    requested: Some(Units { present: 4, specific: 3, time_s: 0, octets: 0, money: 0 }),
    used: None,
    is_before_change: false,
}];

/// Two accounts, nine debits, a message of ours, an enquiry.
fn story(folder: &Path) -> Shard {
    let (first, second): (&[u8], &[u8]) = (b"46701111111", b"anna & bo, \"ltd\" <x>");
    let message = MessageKey { alert: 1, endpoint: 2 };
    let mut all = vec![
        request(Kind::Create { balance: 100, limit: 0 }, KeyKind::E164, first),
        request(Kind::Create { balance: 100, limit: 0 }, KeyKind::Name, second),
    ];
    for at in 0..9 {
        let account = if at % 3 == 0 {
            request(Kind::Debit, KeyKind::Name, second)
        } else {
            request(Kind::Debit, KeyKind::E164, first)
        };
        all.push(Request { session: KEY.octets(&[at]), services: THREE, ..account });
    }
    all.push(request(Kind::PriceEnquiry, KeyKind::E164, first));
    all.push(request(
        Kind::Hold { message, parts: 2, until_us: START_US * 2, since: 0 },
        KeyKind::Name,
        second,
    ));
    all.push(request(Kind::Settle { message, parts: 2 }, KeyKind::Name, second));
    written(folder, &all)
}

#[test]
fn records_of_an_account_come_in_pages() {
    let folder = tempfile::tempdir().unwrap();
    let shard = story(folder.path());
    let search = Search { account: Some(0), only_charges: true, ..Search::default() };
    let (mut from, mut sizes, mut charged) = (0, Vec::new(), 0);
    loop {
        let Page { records, next } =
            page(&Blocks::Folder(folder.path().into()), 3, &search, from, 4, &shard).unwrap();
        assert!(records.iter().all(|r| r.account_name == "46701111111" && r.shard == 3));
        sizes.push(records.len());
        charged += records.iter().map(|record| record.charged).sum::<i64>();
        match next {
            Some(next) => from = next,
            None => break,
        }
    }
    assert_eq!((sizes, charged), (vec![4, 2], 18));
}

#[test]
fn records_of_some_time_are_those_from_its_first_to_before_its_last_moment() {
    let folder = tempfile::tempdir().unwrap();
    let shard = story(folder.path());
    for (from, until) in [(0, 14), (2, 5), (4, 4), (7, 100), (13, 14)] {
        let search = Search {
            from_us: START_US + from * SECOND,
            until_us: START_US + until * SECOND,
            ..Search::default()
        };
        let times: Vec<u64> = page(&Blocks::Folder(folder.path().into()), 0, &search, 0, 100, &shard)
            .unwrap()
            .records
            .iter()
            .map(|record| (record.time_us - START_US) / SECOND)
            .collect();
        assert_eq!(times, (from..until.min(14)).collect::<Vec<u64>>());
    }
}

fn export(folder: &Path, into: &Path, shard: &Shard, format: Format, close: bool) -> Vec<String> {
    let export = Export {
        log: &Blocks::Folder(folder.into()),
        shard: 0,
        into,
        format,
        records_max: 4,
        node: "46700000001",
        names: shard,
    };
    let files = export.run(close).unwrap().files;
    files.iter().map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()).collect()
}

#[test]
fn an_export_goes_on_where_the_last_one_ended() {
    let (folder, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let shard = story(folder.path());
    let rows = |files: &[String]| files.iter().map(|text| text.lines().count() - 1).collect::<Vec<_>>();
    assert_eq!(rows(&export(folder.path(), into.path(), &shard, Format::Csv, false)), [4, 4]);
    assert_eq!(rows(&export(folder.path(), into.path(), &shard, Format::Csv, true)), [2]);
    assert!(export(folder.path(), into.path(), &shard, Format::Csv, true).is_empty());
}

#[test]
fn an_export_says_what_was_removed_before_it_came_by() {
    let (folder, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let shard = story(folder.path());
    let run = |into: &Path| {
        let log = &Blocks::Folder(folder.path().into());
        let (format, node) = (Format::Csv, "46700000001");
        Export { log, shard: 0, into, format, records_max: 4, node, names: &shard }.run(true).unwrap()
    };
    assert_eq!(run(into.path()).gone, None);
    let segments = crate::log::list(folder.path()).unwrap();
    assert!(segments.len() > 2, "several segments");
    std::fs::remove_file(&segments[0].1).unwrap();
    assert_eq!(run(into.path()).gone, None, "it was exported");
    let late = tempfile::tempdir().unwrap();
    let gone = run(late.path()).gone.unwrap();
    assert_eq!(gone.octets, segments[1].0 - FIRST_POSITION);
    assert!((START_US..START_US + 14 * SECOND).contains(&gone.before_us));
    assert_eq!(run(late.path()).gone, None, "it is said once");
}

#[test]
fn text_exports_carry_each_record_with_its_price_and_escape_names() {
    let (folder, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let shard = story(folder.path());
    let csv = export(folder.path(), into.path(), &shard, Format::Csv, true).concat();
    assert!(
        csv.contains("2026-03-01T00:00:00.000000Z,name,\"anna & bo, \"\"ltd\"\" <x>\",Debit,2001,"),
        "{csv}"
    );
    let json = export(folder.path(), into.path(), &shard, Format::Json, true).concat();
    let rows: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let charged: i64 = rows.iter().map(|row| row["charged"].as_i64().unwrap()).sum();
    assert_eq!((rows.len(), charged), (10, 29));
    assert_eq!((&rows[0]["units"], &rows[0]["destination"]), (&3.into(), &"46709999999".into()));
    let xml = export(folder.path(), into.path(), &shard, Format::Xml, true).concat();
    assert_eq!(xml.matches("<record ").count(), 10);
    assert!(xml.contains("account=\"anna &amp; bo, &quot;ltd&quot; &lt;x>\""), "{xml}");
}

#[test]
fn ber_is_what_the_standard_says_octet_by_octet() {
    let (folder, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let shard = story(folder.path());
    let export = Export {
        log: &Blocks::Folder(folder.path().into()),
        shard: 0,
        into: into.path(),
        format: Format::Ber,
        records_max: 100,
        node: "46700000001",
        names: &shard,
    };
    let files = export.run(true).unwrap().files;
    let octets = std::fs::read(&files[0]).unwrap();
    // The second record: sCSMORecord [93], recordType, node, originator, recipient, time.
    let (first, rest) = element(&octets);
    assert_eq!(first[..2], [0xbf, 0x5d]);
    let (second, _) = element(rest);
    let expected: &[&[u8]] = &[
        &[0x80, 1, 93],
        &[0x81, 7, 0x91, 0x64, 0x07, 0, 0, 0, 0xf1],
        &[0xa2, 9, 0x81, 7, 0x91, 0x64, 0x07, 0x11, 0x11, 0x11, 0xf1],
        &[0xa3, 11, 0x30, 9, 0x81, 7, 0x91, 0x64, 0x07, 0x99, 0x99, 0x99, 0xf9],
        &[0x85, 9, 0x26, 0x03, 0x01, 0x00, 0x00, 0x01, b'+', 0, 0],
    ];
    let body = &second[second.len() - content(second).len()..];
    assert_eq!(&body[..expected.concat().len()], expected.concat());
    let mut count = 0;
    let mut rest = &octets[..];
    while !rest.is_empty() {
        rest = element(rest).1;
        count += 1;
    }
    assert_eq!(count, 10);
}

/// The first element, and what follows it.
fn element(octets: &[u8]) -> (&[u8], &[u8]) {
    let inner = content(octets);
    let end = inner.as_ptr() as usize - octets.as_ptr() as usize + inner.len();
    octets.split_at(end)
}

/// The content of the first element, whose tag has two octets.
fn content(octets: &[u8]) -> &[u8] {
    match octets[2] {
        len @ 0..=0x7f => &octets[3..3 + usize::from(len)],
        0x81 => &octets[4..4 + usize::from(octets[3])],
        _ => &octets[5..5 + usize::from(u16::from_be_bytes([octets[3], octets[4]]))],
    }
}

#[test]
fn the_ber_is_read_by_openssl() {
    let (folder, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let shard = story(folder.path());
    let export = Export {
        log: &Blocks::Folder(folder.path().into()),
        shard: 0,
        into: into.path(),
        format: Format::Ber,
        records_max: 100,
        node: "46700000001",
        names: &shard,
    };
    let file = export.run(true).unwrap().files.remove(0);
    let read = Command::new("openssl").args(["asn1parse", "-inform", "DER", "-in"]).arg(&file).output();
    let read =
        read.unwrap_or_else(|error| panic!("cannot start openssl (run scripts/install-foreign): {error}"));
    let text = String::from_utf8_lossy(&read.stdout).into_owned();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    assert!(text.contains("cont [ 93 ]") && text.contains("UTF8STRING        :Debit"), "{text}");
    assert_eq!(text.matches("1.3.6.1.4.1.32473.1").count(), 10, "{text}");
}

#[test]
fn times_are_told_in_the_gregorian_calendar() {
    for (seconds, expected) in [
        (0, [1970, 1, 1, 0, 0, 0]),
        (951_782_400, [2000, 2, 29, 0, 0, 0]),
        (1_772_323_199, [2026, 2, 28, 23, 59, 59]),
        (4_107_542_400, [2100, 3, 1, 0, 0, 0]),
    ] {
        assert_eq!(civil(seconds * SECOND), expected);
    }
}
