use super::super::hash::HashKey;
use super::super::request::{Terms, Units, Weights};
use super::*;

#[test]
fn a_part_is_known_as_one_whatever_else_it_says() {
    let part = ServiceEntry { result: SUCCESS, is_part: true, ..ServiceEntry::default() };
    let used = ServiceEntry { used: Units::specific(3), cost: 3, ..part };
    let entry = Entry { result: SUCCESS, services: vec![part, used], ..Entry::default() };
    let (mut encoded, mut decoded) = (Vec::new(), Entry::default());
    entry.encode(&mut encoded);
    assert_eq!(decoded.decode(&encoded), Some(encoded.len()));
    assert_eq!(decoded, entry);
}

#[test]
fn the_longest_entry_has_room_and_comes_back() {
    let units =
        Units { present: 15, time_s: u32::MAX, octets: u64::MAX, specific: u64::MAX, money: i64::MIN };
    let service = ServiceEntry {
        rating_group: Some(u32::MAX),
        service_id: Some(u32::MAX),
        result: u32::MAX,
        used: units,
        granted: units,
        cost: i64::MIN,
        reserved: -1,
        shortfall: -1,
        tariff: u16::MAX,
        validity_s: u32::MAX,
        is_final: true,
        terms: Terms {
            final_action: 2,
            threshold_percent: 100,
            holding_s: u32::MAX,
            tariff_change_s: u32::MAX,
            pool: Weights { time: u64::MAX, octets: u64::MAX, specific: u64::MAX },
        },
        is_part: true,
        bundled: u64::MAX,
        bundle_reserved: u64::MAX,
    };
    let key = PackedKey::from_bytes([0xff; 16]);
    let octets = vec![7; super::super::key::KEY_OCTETS_MAX];
    let context = ServiceContext(u32::MAX);
    let name = "x".repeat(255);
    let client = Client::new(HashKey([1, 2]), &name, &name, &name, Some(u32::MAX));
    for services in [0, 1, SERVICES_MAX] {
        let entry = Entry {
            deed: EntryKind::BundleExpired,
            time_us: u64::MAX,
            result: u32::MAX,
            session: [u64::MAX; 2],
            number: u32::MAX,
            account: Some(u32::MAX),
            opened: Some(Opened { key, octets: octets.clone(), balance: i64::MIN, limit: i64::MAX }),
            context,
            class: u8::MAX,
            destination: Destination { digits: u64::MAX, len: 16 },
            moved: Move { posted: i64::MIN, pending: i64::MIN, limit: i64::MIN, debt: i64::MIN },
            cost: i64::MIN,
            enough_credit: Some(false),
            message: Some(MessageKey { alert: u64::MAX, endpoint: u32::MAX }),
            parts: u32::MAX,
            until_us: u64::MAX,
            since: u64::MAX,
            bundle: Some(BundleEntry { units: u64::MAX, context, expires_s: u32::MAX }),
            is_blocked: true,
            refund_of: Some([u64::MAX; 2]),
            services: vec![service; services],
            session_id: vec![7; 1_024],
            client: Some(u32::MAX),
            new_client: Some(Arc::new(client.clone())),
        };
        let (mut encoded, mut decoded) = (Vec::new(), Entry::default());
        entry.encode(&mut encoded);
        assert_eq!(decoded.decode(&encoded), Some(encoded.len()));
        assert_eq!(decoded, entry);
    }
}

#[test]
fn an_entry_of_0_2_0_with_the_hash_of_an_end_to_end_identifier_is_read() {
    let entry = Entry {
        deed: EntryKind::Debit,
        time_us: 7,
        result: SUCCESS,
        session: [1, 2],
        number: 3,
        account: Some(4),
        ..Entry::default()
    };
    let mut octets = Vec::new();
    entry.encode(&mut octets);
    // Length and deed; the fields that are there, in one octet; time; session; and then it stood.
    const FIELDS_AT: usize = HEAD_OCTETS;
    const ORIGIN_AT: usize = FIELDS_AT + 1 + 8 + 16;
    octets.splice(ORIGIN_AT..ORIGIN_AT, [0xAB; 16]);
    octets[0] += 16;
    octets[FIELDS_AT] |= field::ORIGIN as u8;
    let mut decoded = Entry::default();
    assert_eq!(decoded.decode(&octets), Some(octets.len()));
    assert_eq!(decoded, entry);
}
