//! Index of an account's people: their records in the order of their ids, in blocks without gaps.

use records::{DecodeError, PersonFacts, Recipient, RecipientView};
use std::panic::resume_unwind;
use std::thread::{Scope, ScopedJoinHandle};

/// People of a block.
const BLOCK_PEOPLE: usize = 4_096;
/// Blocks that a thread looks through before its findings are taken.
const BLOCKS_AT_ONCE: usize = 4;
/// Threads that look at people at once.
const THREADS_MAX: usize = 4;

/// See the module.
pub struct PeopleIndex {
    blocks: Vec<Block>,
    octets: usize,
}

struct Block {
    first: String,
    records: Box<[u8]>,
    /// Where each record ends.
    ends: Box<[u32]>,
}

impl Block {
    fn records(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).map(|at| self.record(at))
    }

    fn record(&self, at: usize) -> &[u8] {
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.records[from..self.ends[at] as usize]
    }

    fn matching<M>(
        &self,
        find: &impl Fn(&RecipientView<'_>) -> Option<M>,
        into: &mut Vec<(Recipient, M)>,
    ) -> Result<(), DecodeError> {
        for record in self.records() {
            if let Some(found) = find(&RecipientView::of_own(record)?) {
                into.push((Recipient::decode(record)?, found));
            }
        }
        Ok(())
    }
}

/// People that one thread found.
type Found<M> = Result<Vec<(Recipient, M)>, DecodeError>;

impl PeopleIndex {
    /// The octets that it takes.
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// Calls `take` with everybody of whom `find` finds something, in the order of their ids, until it
    /// returns false. `find` is called by several threads at once.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn each_matching<M: Send>(
        &self,
        find: impl Fn(&RecipientView<'_>) -> Option<M> + Sync,
        mut take: impl FnMut(Recipient, M) -> bool,
    ) -> Result<(), DecodeError> {
        let mut rounds = self.blocks.chunks(threads() * BLOCKS_AT_ONCE);
        if self.blocks.len() <= BLOCKS_AT_ONCE {
            let found = rounds.next().map_or(Ok(Vec::new()), |blocks| looked_through(blocks, &find))?;
            found.into_iter().all(|(recipient, of)| take(recipient, of));
            return Ok(());
        }
        let find = &find;
        std::thread::scope(|scope| {
            let mut ahead = rounds.next().map(|blocks| begun(scope, blocks, find));
            while let Some(looking) = ahead {
                let found: Vec<Found<M>> = looking.into_iter().map(joined).collect();
                // While these are taken, the threads look through the next ones.
                ahead = rounds.next().map(|blocks| begun(scope, blocks, find));
                for found in found {
                    if !found?.into_iter().all(|(recipient, of)| take(recipient, of)) {
                        return Ok(());
                    }
                }
            }
            Ok(())
        })
    }

    /// Somebody by their id.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn person(&self, id: &str) -> Result<Option<Recipient>, DecodeError> {
        let behind = self.blocks.partition_point(|block| block.first.as_str() <= id);
        let Some(block) = behind.checked_sub(1).map(|at| &self.blocks[at]) else { return Ok(None) };
        let (mut low, mut high) = (0, block.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match RecipientView::of_own(block.record(middle))?.id().cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Recipient::decode(block.record(middle)).map(Some),
            }
        }
        Ok(None)
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX)
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// A thread for each part of the blocks.
fn begun<'scope, 'env, M: Send + 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    blocks: &'scope [Block],
    find: &'scope (impl Fn(&RecipientView<'_>) -> Option<M> + Sync),
) -> Vec<ScopedJoinHandle<'scope, Found<M>>> {
    let parts = blocks.chunks(BLOCKS_AT_ONCE);
    parts.map(|part| scope.spawn(move || looked_through(part, find))).collect()
}

fn looked_through<M>(blocks: &[Block], find: &impl Fn(&RecipientView<'_>) -> Option<M>) -> Found<M> {
    let mut found = Vec::new();
    blocks.iter().try_for_each(|block| block.matching(find, &mut found))?;
    Ok(found)
}

/// An index being filled.
pub(super) struct IndexBuilder {
    blocks: Vec<Block>,
    octets: usize,
    octets_max: usize,
    first: String,
    records: Vec<u8>,
    ends: Vec<u32>,
}

impl IndexBuilder {
    pub(super) fn new(octets_max: usize) -> IndexBuilder {
        let (blocks, octets, first) = (Vec::new(), 0, String::new());
        IndexBuilder { blocks, octets, octets_max, first, records: Vec::new(), ends: Vec::new() }
    }

    /// Adds the person with the next id, by their record.
    pub(super) fn add(&mut self, record: &[u8]) {
        if self.is_full() {
            return;
        }
        if self.ends.is_empty() {
            // One that cannot be read is told of when somebody looks at it.
            let view = RecipientView::of_own(record);
            self.first = view.map(|person| person.id().to_owned()).unwrap_or_default();
            // About as long as the block before it.
            self.records.reserve(self.blocks.last().map_or(0, |block| block.records.len()));
        }
        self.records.extend_from_slice(record);
        // A record is bounded far below a megabyte by the limits of its fields.
        self.ends.push(u32::try_from(self.records.len()).unwrap_or(u32::MAX));
        if self.ends.len() == BLOCK_PEOPLE {
            self.close();
        }
    }

    fn is_full(&self) -> bool {
        self.octets > self.octets_max
    }

    fn close(&mut self) {
        let records = std::mem::take(&mut self.records).into_boxed_slice();
        let ends = std::mem::take(&mut self.ends).into_boxed_slice();
        self.octets += records.len() + 4 * ends.len();
        self.blocks.push(Block { first: std::mem::take(&mut self.first), records, ends });
        if self.is_full() {
            self.blocks = Vec::new();
        }
    }

    /// The index; nothing: there were too many people.
    pub(super) fn finish(&mut self) -> Option<PeopleIndex> {
        if !self.ends.is_empty() {
            self.close();
        }
        let blocks = std::mem::take(&mut self.blocks);
        (!self.is_full()).then_some(PeopleIndex { blocks, octets: self.octets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(count: usize, octets_max: usize) -> Option<PeopleIndex> {
        let mut builder = IndexBuilder::new(octets_max);
        for n in 0..count {
            builder.add(&Recipient { id: format!("p{n:07}"), ..Recipient::default() }.encode());
        }
        builder.finish()
    }

    #[test]
    fn everybody_is_found_by_id_and_in_order() {
        let count = 9 * BLOCK_PEOPLE + 3;
        let index = index(count, usize::MAX).unwrap();
        for n in [0, 1, BLOCK_PEOPLE - 1, BLOCK_PEOPLE, count - 1] {
            let id = format!("p{n:07}");
            assert_eq!(index.person(&id).unwrap().unwrap().id, id);
        }
        for id in ["", "p", "p0000000x", "p9999999", "z"] {
            assert!(index.person(id).unwrap().is_none(), "{id}");
        }
        let mut ids = Vec::new();
        let even = |person: &RecipientView<'_>| person.id().ends_with(['0', '2', '4', '6', '8']).then_some(7);
        index
            .each_matching(even, |person, seven| {
                ids.push(person.id);
                seven == 7
            })
            .unwrap();
        let expected: Vec<String> = (0..count).step_by(2).map(|n| format!("p{n:07}")).collect();
        assert!(ids == expected, "{} of {}", ids.len(), expected.len());
    }

    #[test]
    fn who_has_had_enough_is_shown_no_more() {
        let index = index(3 * BLOCK_PEOPLE, usize::MAX).unwrap();
        let mut taken = 0;
        index
            .each_matching(
                |_| Some(()),
                |_, ()| {
                    taken += 1;
                    taken < 5
                },
            )
            .unwrap();
        assert_eq!(taken, 5);
    }

    #[test]
    fn too_many_people_make_no_index() {
        assert!(index(2 * BLOCK_PEOPLE, 1_000).is_none());
        assert!(index(10, 1_000).is_some());
    }
}
