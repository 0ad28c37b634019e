//! Map from a carrier's id to its delivery: in memory, backed by a topic, forgotten by age. Never in SQL: an
//! index on random keys costs ten times the row.

use records::{
    AlertNo, CarrierReceipt, DecodeError, EndpointNo, FORM, Outcome, Timestamp, behind_form, decode_outcomes,
    encode_outcomes,
};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Ids are forgotten by spans of so many seconds.
const SPAN_S: i64 = 6 * 3600;
/// Receipts that came before their submission's answer wait so long …
const EARLY_S: i64 = 60;
/// … and at most so many of them.
pub const EARLY_MAX: usize = 100_000;
/// A part's number takes the high octet of the packed endpoint: an alert has at most 2^24 endpoints.
const PART_SHIFT: u32 = 24;
/// One id on the topic: key, alert, endpoint and part.
const OCTETS: usize = 16;
/// A record, for errors.
const NOUN: &str = "record of the topic carrier-ids";
/// Ids in one record: far from the largest that any bus takes.
const RECORD_IDS_MAX: usize = 16_384;
/// Early receipts in one record.
const RECORD_EARLY_MAX: usize = 1_024;

/// The map. Deliveries are packed into eight octets: alert numbers above 2^32 are refused when they are given
/// out.
#[derive(Default)]
pub struct CarrierIds {
    spans: VecDeque<(i64, Span)>,
    unsaved: Vec<u8>,
    early: FxHashMap<u64, (CarrierReceipt, Timestamp)>,
    early_order: VecDeque<(u64, Timestamp)>,
    /// Early ones that the topic lacks: the place from which outcomes are read again may be behind them.
    early_unsaved: Vec<(CarrierReceipt, Timestamp)>,
    /// Receipts that belong to nothing we know.
    pub unmatched: u64,
}

/// The ids noted in one span of time: key to packed delivery.
type Span = FxHashMap<u64, (u32, u32)>;

/// A record of the topic.
struct Saved<'a> {
    /// When it was made.
    at: Timestamp,
    /// Ids follow; else receipts that waited for theirs.
    has_ids: bool,
    rest: &'a [u8],
}

impl<'a> Saved<'a> {
    /// Nothing: it is too short.
    fn read(record: &'a [u8]) -> Result<Option<Saved<'a>>, DecodeError> {
        let Some((at, rest)) = behind_form(NOUN, record)?.split_first_chunk::<8>() else { return Ok(None) };
        let at = i64::from_le_bytes(*at);
        Ok(Some(Saved { at: Timestamp(if at < 0 { !at } else { at }), has_ids: at >= 0, rest }))
    }
}

/// A part of a delivery.
pub type PartOf = (AlertNo, EndpointNo, u8);

impl CarrierIds {
    /// Notes an id; answers with the receipt that waited for it.
    pub fn add(&mut self, key: u64, of: PartOf, now: Timestamp) -> Option<CarrierReceipt> {
        let packed = pack(of);
        self.span(now).insert(key, packed);
        self.unsaved.extend_from_slice(&key.to_le_bytes());
        self.unsaved.extend_from_slice(&packed.0.to_le_bytes());
        self.unsaved.extend_from_slice(&packed.1.to_le_bytes());
        if self.early.is_empty() { None } else { self.early.remove(&key).map(|(receipt, _)| receipt) }
    }

    /// Whom a receipt is about.
    pub fn find(&self, keys: &[u64]) -> Option<PartOf> {
        keys.iter().find_map(|key| {
            self.spans.iter().rev().find_map(|(_, map)| map.get(key)).map(|packed| unpack(*packed))
        })
    }

    /// Keeps a receipt that nobody is known for yet.
    pub fn wait(&mut self, receipt: CarrierReceipt, now: Timestamp) {
        self.forget_early(now);
        if self.early_order.len() >= EARLY_MAX {
            self.unmatched += 1;
            return;
        }
        self.early_unsaved.push((receipt.clone(), now));
        self.await_id(&receipt, now);
    }

    fn await_id(&mut self, of: &CarrierReceipt, now: Timestamp) {
        for &key in &of.receipt.keys {
            self.early.insert(key, (of.clone(), now));
            self.early_order.push_back((key, now));
        }
    }

    fn forget_early(&mut self, now: Timestamp) {
        while self.early_order.front().is_some_and(|(_, since)| now.us_since(*since) > EARLY_S * 1_000_000) {
            let Some((key, since)) = self.early_order.pop_front() else { return };
            if self.early.get(&key).is_some_and(|(_, at)| *at == since) {
                self.early.remove(&key);
                self.unmatched += 1;
            }
        }
    }

    /// What the topic lacks, as records: behind the form's octet the moment, then ids; or the moment's
    /// complement, then receipts that wait for theirs.
    pub fn take_unsaved(&mut self, now: Timestamp) -> Vec<Vec<u8>> {
        let unsaved = std::mem::take(&mut self.unsaved);
        let slices = unsaved.chunks(RECORD_IDS_MAX * OCTETS);
        let ids = slices.map(|ids| [&[FORM][..], &now.0.to_le_bytes(), ids].concat());
        let mut early = std::mem::take(&mut self.early_unsaved);
        early.retain(|(of, _)| of.receipt.keys.iter().any(|key| self.early.contains_key(key)));
        let early = early.chunks(RECORD_EARLY_MAX).map(|early| {
            let receipts: Vec<Outcome> =
                early.iter().map(|(of, _)| Outcome::CarrierReceipt(Box::new(of.clone()))).collect();
            [&[FORM][..], &(!early[0].1.0).to_le_bytes(), &encode_outcomes(&receipts)].concat()
        });
        ids.chain(early).collect()
    }

    /// When a record of the topic was made; nothing if it is too short to say so.
    ///
    /// # Errors
    /// A record of a newer version.
    pub fn moment(record: &[u8]) -> Result<Option<Timestamp>, DecodeError> {
        Ok(Saved::read(record)?.map(|saved| saved.at))
    }

    /// Reads a record of the topic back. Receipts wait on, whether their id is known or not: if the outcome
    /// with the id was not folded, it is read again.
    pub fn load(&mut self, record: &[u8], now: Timestamp) {
        let Ok(Some(Saved { at, has_ids, rest })) = Saved::read(record) else { return };
        if has_ids {
            self.load_ids(at, rest);
        } else if now.us_since(at) <= EARLY_S * 1_000_000 {
            for outcome in decode_outcomes(rest).unwrap_or_default() {
                match outcome {
                    Outcome::Receipt(receipt) => self.await_id(&receipt.into(), now),
                    Outcome::CarrierReceipt(of) => self.await_id(&of, now),
                    _ => {}
                }
            }
        }
    }

    fn load_ids(&mut self, at: Timestamp, rest: &[u8]) {
        let map = self.span(at);
        for id in rest.as_chunks::<OCTETS>().0 {
            let [k0, k1, k2, k3, k4, k5, k6, k7, a0, a1, a2, a3, e0, e1, e2, e3] = *id;
            let key = u64::from_le_bytes([k0, k1, k2, k3, k4, k5, k6, k7]);
            let of = (u32::from_le_bytes([a0, a1, a2, a3]), u32::from_le_bytes([e0, e1, e2, e3]));
            map.insert(key, of);
        }
    }

    /// Forgets ids noted before `before`.
    pub fn forget(&mut self, before: Timestamp) {
        while self.spans.front().is_some_and(|(span, _)| (span + 1) * SPAN_S * 1_000_000 < before.0) {
            self.spans.pop_front();
        }
    }

    /// How many ids are known.
    pub fn len(&self) -> usize {
        self.spans.iter().map(|(_, map)| map.len()).sum()
    }

    fn span(&mut self, at: Timestamp) -> &mut Span {
        let span = at.0.div_euclid(SPAN_S * 1_000_000);
        // A wall clock stepped back writes into the newest span: order is kept, and age is only rounded up.
        if self.spans.back().is_none_or(|(newest, _)| *newest < span) {
            self.spans.push_back((span, Span::default()));
        }
        let last = self.spans.len() - 1;
        &mut self.spans[last].1
    }
}

fn pack((alert, endpoint, part): PartOf) -> (u32, u32) {
    (alert.0 as u32, endpoint.0 | u32::from(part) << PART_SHIFT)
}

fn unpack((alert, endpoint): (u32, u32)) -> PartOf {
    (
        AlertNo(u64::from(alert)),
        EndpointNo(endpoint & ((1 << PART_SHIFT) - 1)),
        (endpoint >> PART_SHIFT) as u8,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::{Receipt, ReceiptState};

    const OF: PartOf = (AlertNo(7), EndpointNo(4_999_999), 3);

    fn receipt(keys: &[u64]) -> CarrierReceipt {
        CarrierReceipt::from(Receipt {
            route: "r".into(),
            keys: keys.to_vec(),
            id: String::new(),
            state: ReceiptState::Delivered,
            text: String::new(),
            at: Timestamp(0),
        })
    }

    #[test]
    fn an_id_is_found_by_any_of_its_keys_also_after_a_start() {
        let mut ids = CarrierIds::default();
        ids.add(11, OF, Timestamp(5));
        ids.add(12, OF, Timestamp(5));
        let records = ids.take_unsaved(Timestamp(6));
        assert!(ids.take_unsaved(Timestamp(6)).is_empty());
        let mut again = CarrierIds::default();
        assert_eq!(CarrierIds::moment(&records[0]), Ok(Some(Timestamp(6))));
        let newer = [&[FORM + 1][..], &records[0][1..]].concat();
        let refused = CarrierIds::moment(&newer).unwrap_err().to_string();
        assert!(refused.contains("carrier-ids") && refused.contains("newer version"), "{refused}");
        again.load(&records[0], Timestamp(6));
        for ids in [ids, again] {
            assert_eq!(ids.find(&[99, 12]), Some(OF));
            assert_eq!(ids.find(&[99]), None);
        }
    }

    #[test]
    fn many_ids_are_saved_in_several_records() {
        let mut ids = CarrierIds::default();
        for key in 1..=RECORD_IDS_MAX as u64 + 1 {
            ids.add(key, OF, Timestamp(5));
        }
        let records = ids.take_unsaved(Timestamp(6));
        assert_eq!(
            records.iter().map(Vec::len).collect::<Vec<_>>(),
            [1 + 8 + RECORD_IDS_MAX * OCTETS, 1 + 8 + OCTETS]
        );
        let mut again = CarrierIds::default();
        records.iter().for_each(|record| again.load(record, Timestamp(6)));
        assert_eq!(again.len(), RECORD_IDS_MAX + 1);
    }

    #[test]
    fn a_receipt_before_its_response_waits_for_it() {
        let mut ids = CarrierIds::default();
        ids.wait(receipt(&[11]), Timestamp(0));
        assert_eq!(ids.add(11, OF, Timestamp(1)), Some(receipt(&[11])));
        assert_eq!(ids.add(11, OF, Timestamp(1)), None);
    }

    #[test]
    fn a_receipt_before_its_response_waits_for_it_also_after_a_start() {
        let mut ids = CarrierIds::default();
        (0..RECORD_EARLY_MAX as u64 + 2).for_each(|key| ids.wait(receipt(&[key]), Timestamp(5)));
        ids.add(1, OF, Timestamp(6));
        let records = ids.take_unsaved(Timestamp(7));
        assert_eq!(records.len(), 3, "the ids, and two of receipts");
        assert!(ids.take_unsaved(Timestamp(8)).is_empty(), "once");
        let mut again = CarrierIds::default();
        records.iter().for_each(|record| again.load(record, Timestamp(9)));
        assert_eq!(again.add(2, OF, Timestamp(10)), Some(receipt(&[2])));
        assert_eq!(again.add(1, OF, Timestamp(10)), None, "its id came before");
        assert!(again.take_unsaved(Timestamp(11)).len() == 1, "the topic has the receipts");
        let mut late = CarrierIds::default();
        let at = Timestamp(5).plus_s(EARLY_S + 1);
        records.iter().for_each(|record| late.load(record, at));
        assert_eq!((late.add(2, OF, at), late.find(&[1])), (None, Some(OF)), "it waits no longer");
    }

    #[test]
    fn early_receipts_of_an_earlier_version_are_read() {
        let old = Outcome::Receipt(receipt(&[11]).receipt);
        let record = [&[FORM][..], &(!5i64).to_le_bytes(), &encode_outcomes(&[old])].concat();
        let mut ids = CarrierIds::default();
        ids.load(&record, Timestamp(6));
        assert_eq!(ids.add(11, OF, Timestamp(7)), Some(receipt(&[11])));
    }

    #[test]
    fn early_receipts_are_bounded_in_number_and_age() {
        let mut ids = CarrierIds::default();
        for key in 0..EARLY_MAX as u64 + 5 {
            ids.wait(receipt(&[key]), Timestamp(0));
        }
        assert_eq!(ids.unmatched, 5);
        ids.wait(receipt(&[u64::MAX]), Timestamp((EARLY_S + 1) * 1_000_000));
        assert_eq!(ids.early.len(), 1);
    }

    #[test]
    fn ids_are_forgotten_by_age() {
        let mut ids = CarrierIds::default();
        ids.add(1, OF, Timestamp(0));
        ids.add(2, OF, Timestamp(4 * SPAN_S * 1_000_000));
        ids.forget(Timestamp(3 * SPAN_S * 1_000_000));
        assert_eq!((ids.find(&[1]), ids.find(&[2])), (None, Some(OF)));
        assert_eq!(ids.len(), 1);
    }
}
