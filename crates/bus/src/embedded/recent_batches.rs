//! The newest batches of each log in memory, so that a reader that keeps up never touches the disk.
//! One bound holds for all logs together; the batch appended longest ago goes first, whoever's it is.

use super::frame::{RECORD_HEADER, record_header};
use super::lock::lock;
use crate::Record;
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};

/// In a cached batch the place of every so many-th record is remembered.
const STEP_RECORDS: usize = 64;

/// The batches of one log that are in memory: contiguous, up to the newest.
#[derive(Default)]
pub(super) struct RecentBatches {
    batches: Mutex<VecDeque<CachedBatch>>,
}

struct CachedBatch {
    first: u64,
    count: u32,
    /// As in the file, header included.
    octets: Bytes,
    /// Where its first record stands in them.
    skip: u16,
    /// Offsets of records 64, 128, …
    steps: Box<[u32]>,
}

impl CachedBatch {
    fn end(&self) -> u64 {
        self.first + u64::from(self.count)
    }

    /// Offset of a record's frame.
    fn offset(&self, index: u64) -> Option<usize> {
        let place = (index - self.first) as usize;
        let mut at = match place / STEP_RECORDS {
            0 => usize::from(self.skip),
            step => *self.steps.get(step - 1)? as usize,
        };
        for _ in 0..place % STEP_RECORDS {
            at += RECORD_HEADER + record_header(self.octets.get(at..)?)?.0;
        }
        Some(at)
    }
}

/// What a read still may take.
pub(super) struct Budget {
    /// Records.
    pub records: usize,
    /// Octets of payload.
    pub octets: usize,
    /// The index to stop before.
    pub end: u64,
}

impl Budget {
    /// There is room for a record of so many octets, or it is the first.
    pub fn allows(&self, out: &[Record], octets: usize) -> bool {
        out.is_empty() || (out.len() < self.records && octets <= self.octets)
    }

    /// Takes a record.
    pub fn take(&mut self, out: &mut Vec<Record>, record: Record) {
        self.octets = self.octets.saturating_sub(record.octets.len());
        out.push(record);
    }
}

impl RecentBatches {
    /// Records from `from` on; nothing at all if the first is not in memory.
    pub fn read(&self, from: u64, mut budget: Budget) -> Option<Vec<Record>> {
        let batches = lock(&self.batches);
        let mut at = place_of(&batches, from);
        if batches.get(at)?.first > from {
            return None;
        }
        let mut out = Vec::with_capacity(budget.records.min((budget.end - from) as usize).min(1024));
        let mut index = from;
        while index < budget.end
            && let Some(batch) = batches.get(at)
        {
            let mut offset = batch.offset(index)?;
            let end = batch.end().min(budget.end);
            while index < end {
                let (len, _) = record_header(batch.octets.get(offset..)?)?;
                if !budget.allows(&out, len) {
                    return Some(out);
                }
                offset += RECORD_HEADER;
                let octets = batch.octets.slice(offset..offset + len);
                offset += len;
                budget.take(&mut out, Record { index, octets });
                index += 1;
            }
            at += 1;
        }
        Some(out)
    }

    /// Shows a record; false if it is not in memory.
    pub fn show(&self, index: u64, show: &mut dyn FnMut(Option<&[u8]>)) -> bool {
        let batches = lock(&self.batches);
        let found = || {
            let batch = batches.get(place_of(&batches, index)).filter(|batch| batch.first <= index)?;
            let at = batch.offset(index)?;
            let (len, _) = record_header(batch.octets.get(at..)?)?;
            batch.octets.get(at + RECORD_HEADER..)?.get(..len)
        };
        let found = found();
        if found.is_some() {
            show(found);
        }
        found.is_some()
    }

    /// Adds the newest batch, whose first record stands behind `skip` octets.
    pub fn push(&self, first: u64, octets: Bytes, skip: usize, records: &[&[u8]]) {
        let mut at = skip;
        let mut steps = Vec::with_capacity(records.len().saturating_sub(1) / STEP_RECORDS);
        for (place, record) in records.iter().enumerate() {
            if place > 0 && place % STEP_RECORDS == 0 {
                steps.push(at as u32);
            }
            at += RECORD_HEADER + record.len();
        }
        let count = records.len() as u32;
        let batch = CachedBatch { first, count, octets, skip: skip as u16, steps: steps.into() };
        lock(&self.batches).push_back(batch);
    }

    /// Lets go of batches from an index on: they were taken back.
    pub fn drop_from(&self, first: u64) {
        let mut batches = lock(&self.batches);
        while batches.back().is_some_and(|batch| batch.first >= first) {
            batches.pop_back();
        }
    }

    /// The index behind the oldest batch.
    pub fn oldest_end(&self) -> Option<u64> {
        lock(&self.batches).front().map(CachedBatch::end)
    }

    /// Lets go of the oldest batch; says the index behind it and its octets.
    pub fn drop_oldest(&self) -> Option<(u64, usize)> {
        lock(&self.batches).pop_front().map(|batch| (batch.end(), batch.octets.len()))
    }
}

/// The place of the first batch that ends behind an index. Batches are mostly of one size: it is guessed from
/// the ends, and what is left of the way found by doubled steps. A plain binary search would touch memory all
/// over a long tail for every read.
fn place_of(batches: &VecDeque<CachedBatch>, index: u64) -> usize {
    let (Some(oldest), Some(newest)) = (batches.front(), batches.back()) else { return 0 };
    if index >= newest.end() {
        return batches.len();
    }
    let (into, all) = (index.saturating_sub(oldest.first), newest.end() - oldest.first);
    let guess = (u128::from(into) * batches.len() as u128 / u128::from(all.max(1))) as usize;
    let is_behind = |place: usize| batches.get(place).is_none_or(|batch| batch.end() > index);
    // It lies in `low..=high`.
    let (mut low, mut high, mut step) = (guess, guess, 1);
    while !is_behind(high) {
        low = high + 1;
        high = (high + step).min(batches.len());
        step *= 2;
    }
    step = 1;
    while low > 0 && is_behind(low - 1) {
        high = low - 1;
        low = low.saturating_sub(step);
        step *= 2;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        match is_behind(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    low
}

/// The bound over all tails.
pub(super) struct TailCache {
    order: Mutex<Order>,
    octets_max: usize,
}

#[derive(Default)]
struct Order {
    batches: VecDeque<(Weak<RecentBatches>, usize)>,
    octets: usize,
}

impl TailCache {
    /// Keeps at most so many octets.
    pub fn new(octets_max: usize) -> TailCache {
        TailCache { order: Mutex::default(), octets_max }
    }

    /// Adds a log's newest batch. Calls for one log come in the order of its batches.
    pub fn push(&self, tail: &Arc<RecentBatches>, first: u64, octets: Bytes, skip: usize, records: &[&[u8]]) {
        let size = octets.len();
        tail.push(first, octets, skip, records);
        let mut order = lock(&self.order);
        order.batches.push_back((Arc::downgrade(tail), size));
        order.octets += size;
        while order.octets > self.octets_max
            && let Some((oldest, size)) = order.batches.pop_front()
        {
            order.octets -= size;
            if let Some(oldest) = oldest.upgrade() {
                oldest.drop_oldest();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::{BATCH_HEADER, BatchPlace, encode_batch};
    use super::*;
    use bytes::BytesMut;

    fn batch(first: u64, records: &[&[u8]]) -> Bytes {
        let mut out = BytesMut::new();
        encode_batch(&mut out, BatchPlace { salt: 1, first, durable: 0 }, None, records);
        out.freeze()
    }

    fn all(end: u64) -> Budget {
        Budget { records: usize::MAX, octets: usize::MAX, end }
    }

    #[test]
    fn the_batch_of_an_index_is_found_however_their_sizes_are_spread() {
        for sizes in [vec![], vec![5], vec![1; 300], (1..60).collect::<Vec<_>>(), (1..60).rev().collect(), {
            let mut sizes = vec![1; 50];
            sizes.extend([1_000, 1, 1, 500]);
            sizes.extend(vec![1; 90]);
            sizes
        }] {
            let mut batches = VecDeque::new();
            let mut first = 7;
            for count in sizes {
                let (octets, steps) = (Bytes::new(), Box::default());
                batches.push_back(CachedBatch { first, count, octets, skip: 0, steps });
                first += u64::from(count);
            }
            for index in 0..first + 3 {
                let wanted = batches.partition_point(|batch| batch.end() <= index);
                assert_eq!(place_of(&batches, index), wanted, "{index}");
            }
        }
    }

    #[test]
    fn any_record_of_a_large_batch_is_found() {
        let cache = TailCache::new(1 << 20);
        let tail = Arc::new(RecentBatches::default());
        let texts: Vec<String> = (0..300).map(|n| "x".repeat(n % 7)).collect();
        let records: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        cache.push(&tail, 10, batch(10, &records), BATCH_HEADER, &records);
        cache.push(&tail, 310, batch(310, &[b"last"]), BATCH_HEADER, &[b"last"]);
        for from in 10..310 {
            let got = tail.read(from, all(311)).unwrap();
            assert_eq!(got.len() as u64, 311 - from);
            assert_eq!(got[0].octets, texts[(from - 10) as usize].as_bytes());
            assert_eq!(got.last().unwrap().octets, b"last"[..]);
        }
        assert!(tail.read(9, all(311)).is_none());
        assert!(tail.read(311, all(312)).is_none());
        assert_eq!(tail.read(12, all(15)).unwrap().len(), 3);
        assert_eq!(tail.read(12, Budget { records: 2, ..all(311) }).unwrap().len(), 2);
        assert_eq!(tail.read(12, Budget { octets: 6, ..all(311) }).unwrap().len(), 2);
    }

    #[test]
    fn one_bound_holds_over_all_logs_and_the_oldest_goes_first() {
        let record = [7u8; 100];
        let size = batch(0, &[&record]).len();
        let cache = TailCache::new(size * 3);
        let (a, b) = (Arc::new(RecentBatches::default()), Arc::new(RecentBatches::default()));
        for (tail, first) in [(&a, 0), (&b, 0), (&a, 1), (&b, 1)] {
            cache.push(tail, first, batch(first, &[&record]), BATCH_HEADER, &[&record]);
        }
        assert!(a.read(0, all(2)).is_none(), "the oldest is gone");
        assert!(a.read(1, all(2)).is_some());
        assert_eq!(b.read(0, all(2)).unwrap().len(), 2);
    }
}
