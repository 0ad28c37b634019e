//! Table of requests already answered, in eight octets each: 28 bits of the request's hash and 36 of the
//! position of its entry in the log. Seven of them and a mark fill one cache line. The mark says which
//! requests found no place there and stand in a later line, so looking costs one miss, also where a table is
//! full. Nothing is ever deleted: an entry is over when its position is below what was current one window
//! ago. A find is only a guess; who asks reads the log at that position, where the whole hash stands.
//!
//! A table that does not last is followed by a larger one. Hundreds of MiB that nobody has touched take the
//! system tenths of a second to give, so a thread of its own makes the next table ahead. Where a request
//! finds no place in [`LINES_MEANWHILE`] lines before, another of the same size bridges the time. What the
//! largest table has no room for pushes out the oldest, and what a request costs stays the same.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use super::background;

/// Entries in a line.
const WAYS: usize = 7;
/// How many lines from its own an entry may stand. Four requests that a client numbers in a row have one
/// line, so lines fill unevenly, and full ones grow together to rows: at about a third of a table somebody
/// finds no place.
const LINES_MAX: usize = 8;
/// The same while the next table is not there yet.
const LINES_MEANWHILE: usize = 64;
/// So many more tables of the same size bridge the time until it is there; then requests wait for it.
const TABLES_MEANWHILE: usize = 4;
/// How many lines from its own an entry may stand where no larger table follows and this one is
/// [`SATURATED`]: hardly any line has a place, and each looked at is a miss.
const LINES_SATURATED: usize = 1;
/// Positions are kept without what is above 64 GiB: a window has less log than that, and what looks young
/// though it is very old is found out when the log is read.
const POSITION_BITS: u32 = 36;
const POSITION_MASK: u64 = (1 << POSITION_BITS) - 1;

/// One cache line: seven entries and a mark. That has one bit for each 28th of the hashes, set where one of
/// them went on to the next line, and the position of the last that did.
type Line = [u64; WAYS + 1];
const LINE_WORDS: usize = WAYS + 1;
const MARK_BITS: u64 = 64 - POSITION_BITS as u64;

#[inline]
fn entry_of(hash: u64, position: u64) -> u64 {
    hash >> POSITION_BITS << POSITION_BITS | position & POSITION_MASK
}

/// The bit of a mark for this hash. The print is spread anew: hashes that have a line in common may differ in
/// few bits.
#[inline]
fn mark_of(hash: u64) -> u64 {
    let spread = (hash >> POSITION_BITS).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    1 << (u64::from(POSITION_BITS) + ((spread * MARK_BITS) >> 32))
}

/// Whether an entry of this position is more than `young` octets of log behind `newest`.
#[inline]
fn is_past(entry: u64, newest: u64, young: u64) -> bool {
    newest.wrapping_sub(entry) & POSITION_MASK > young
}

/// Whether the last that went on from this line did so before the window. What was decided may be taken back,
/// and then its positions are used again: so a mark can be ahead of what is newest. One that is further
/// behind than this is taken for one ahead, which only costs a look.
#[inline]
fn is_mark_past(line: &Line, floor: u64) -> bool {
    const BEHIND_MAX: u64 = 1 << (POSITION_BITS - 2);
    floor.wrapping_sub(1).wrapping_sub(line[WAYS]) & POSITION_MASK < BEHIND_MAX
}

/// Whether what has this bit of the mark may stand in the next line.
#[inline]
fn goes_on(line: &Line, mark: u64, floor: u64) -> bool {
    line[WAYS] & mark != 0 && !is_mark_past(line, floor)
}

/// The place of the oldest entry.
fn oldest(line: &mut Line, newest: u64) -> &mut u64 {
    let [first, rest @ .., _] = line;
    let age = |entry: u64| newest.wrapping_sub(entry) & POSITION_MASK;
    rest.iter_mut().fold(first, |oldest, entry| if age(*entry) > age(*oldest) { entry } else { oldest })
}

#[derive(Debug)]
struct Table {
    /// Zeros that the system gives when they are first touched, so that a table that is hardly used costs
    /// hardly any memory.
    words: Vec<u64>,
    /// The first word that begins a cache line.
    first: usize,
    mask: usize,
    /// How many lines from its own a new entry may stand.
    notifier: usize,
    /// The same of an old one.
    reach_of_old: usize,
    /// Entries written since the table was made.
    written: u64,
    /// The newest position in it.
    newest: u64,
}

impl Table {
    fn new(lines: usize) -> Table {
        let mut words = vec![0; (lines + 1) * LINE_WORDS];
        super::huge_pages::ask_for_large(&mut words);
        // Without the address there is only a slower table.
        let first = match words.as_ptr().align_offset(LINE_WORDS * 8) {
            first if first < LINE_WORDS => first,
            _ => 0,
        };
        Table {
            words,
            first,
            mask: lines - 1,
            notifier: LINES_MAX,
            reach_of_old: LINES_MAX,
            written: 0,
            newest: 0,
        }
    }

    /// A table whose memory the system has given already. A page takes a processor for milliseconds, and
    /// nothing else runs on it meanwhile: so after each the thread rests, unless somebody is in a hurry for
    /// the table.
    fn touched(lines: usize, hurry: &AtomicBool) -> Table {
        let mut table = Table::new(lines);
        for page in table.words.chunks_mut(LARGE_PAGE_WORDS) {
            let begun = Instant::now();
            // The value is hidden from the compiler, which would otherwise leave out zeros that are written
            // over zeros.
            page.iter_mut().step_by(PAGE_WORDS).for_each(|word| *word = std::hint::black_box(0));
            if !hurry.load(Ordering::Relaxed) {
                std::thread::sleep(begun.elapsed() * RESTS);
            }
        }
        table
    }

    fn lines(&self) -> usize {
        self.mask + 1
    }

    /// How many entries fill this part of it.
    fn part(&self, (part, of): (u64, u64)) -> u64 {
        (self.lines() * WAYS) as u64 * part / of
    }

    #[inline]
    fn line(&self, at: usize) -> &Line {
        let from = self.first + (at & self.mask) * LINE_WORDS;
        self.words[from..].first_chunk().expect("there is a line more than lines are used")
    }

    #[inline]
    fn line_mut(&mut self, at: usize) -> &mut Line {
        let from = self.first + (at & self.mask) * LINE_WORDS;
        self.words[from..].first_chunk_mut().expect("there is a line more than lines are used")
    }

    /// Reads the lines of these hashes, and then the next ones of those that have no place free: no branch
    /// depends on which.
    fn touch(&self, hashes: &[u64]) -> u64 {
        let line = |hash: u64, step: usize| self.line((hash as usize).wrapping_add(step));
        let sum = hashes.iter().fold(0, |sum, hash| sum ^ line(*hash, 0)[0]);
        if self.notifier == LINES_SATURATED {
            // Few stand elsewhere, and most lines are full.
            return sum;
        }
        let is_full = |hash: u64| usize::from(line(hash, 0)[WAYS - 1] != 0);
        hashes.iter().fold(sum, |sum, hash| sum ^ line(*hash, is_full(*hash))[0])
    }

    #[inline]
    fn find(&self, hash: u64, newest: u64, floor: u64, mut is_it: impl FnMut(u64) -> bool) -> Option<u64> {
        let mark = mark_of(hash);
        for step in 0..self.reach_of_old {
            let line = self.line((hash as usize).wrapping_add(step));
            // Nearly always no print is the same: one look at all of them, without a branch for each.
            let nearest = line[..WAYS].iter().fold(u64::MAX, |nearest, entry| nearest.min(entry ^ hash));
            if nearest <= POSITION_MASK
                && let Some(position) = Table::find_in(line, hash, newest, floor, &mut is_it)
            {
                return Some(position);
            }
            if !goes_on(line, mark, floor) {
                break;
            }
        }
        None
    }

    #[cold]
    fn find_in(
        line: &Line,
        hash: u64,
        newest: u64,
        floor: u64,
        is_it: &mut dyn FnMut(u64) -> bool,
    ) -> Option<u64> {
        let same = line[..WAYS].iter().filter(|entry| *entry ^ hash <= POSITION_MASK && **entry != 0);
        let positions = same.map(|entry| newest.wrapping_sub(newest.wrapping_sub(*entry) & POSITION_MASK));
        positions.filter(|position| *position >= floor).find(|position| is_it(*position))
    }

    /// Says whether a place was found that was free or over.
    #[inline]
    fn insert(&mut self, hash: u64, position: u64, floor: u64) -> bool {
        self.written += 1;
        self.newest = position;
        let (notifier, mark, young) = (self.notifier, mark_of(hash), position.saturating_sub(floor));
        for step in 0..notifier {
            let line = self.line_mut((hash as usize).wrapping_add(step));
            let is_over = |entry: u64| entry == 0 || is_past(entry, position, young);
            // All are looked at, without a branch for each: where the first free one is cannot be foreseen.
            let free = (0..WAYS).fold(0, |free, way| free | u32::from(is_over(line[way])) << way);
            if free != 0 {
                line[free.trailing_zeros() as usize] = entry_of(hash, position);
                return true;
            }
            if step + 1 < notifier {
                // Who went on longer than a window ago is not looked for any more.
                let marked = if is_mark_past(line, floor) { 0 } else { line[WAYS] };
                line[WAYS] = entry_of(marked | mark, position);
            }
        }
        false
    }

    /// Takes the place of the oldest entry in the hash's own line.
    fn insert_over(&mut self, hash: u64, position: u64) {
        let line = self.line_mut(hash as usize);
        *oldest(line, position) = entry_of(hash, position);
    }

    /// How many entries are live, by a sample of the lines.
    fn live(&self, floor: u64) -> u64 {
        let sample = self.lines().min(256);
        let is_live =
            |entry: u64| entry != 0 && !is_past(entry, self.newest, self.newest.saturating_sub(floor));
        let live =
            (0..sample).flat_map(|line| &self.line(line)[..WAYS]).filter(|entry| is_live(**entry)).count();
        live as u64 * self.lines() as u64 / sample as u64
    }
}

/// From this part on the next table is made.
const SOON: (u64, u64) = (1, 4);
/// From this part on lines overflow often, and a larger table is better.
const FULL: (u64, u64) = (7, 10);
/// After so large a part was written it is looked again how many entries are live.
const LOOK: (u64, u64) = (1, 64);
/// From this part on a table that no larger one follows hardly has a place for anybody.
const SATURATED: (u64, u64) = (7, 10);
/// From this part on the next one is awaited without rests.
const HURRY: (u64, u64) = (1, 2);
/// Words of the system's smallest page, 4 KiB, and of a large one, 2 MiB.
const PAGE_WORDS: usize = 512;
const LARGE_PAGE_WORDS: usize = 512 * PAGE_WORDS;
/// How many times as long as a page took its maker rests.
const RESTS: u32 = 3;

/// A larger table, while a thread makes it.
#[derive(Debug)]
struct Making {
    thread: JoinHandle<Table>,
    hurry: Arc<AtomicBool>,
}

impl Making {
    fn start(lines: usize) -> Option<Making> {
        let hurry = Arc::new(AtomicBool::new(false));
        let told = hurry.clone();
        let thread =
            background::spawn("ledger-table".to_owned(), move || Table::touched(lines, &told)).ok()?;
        Some(Making { thread, hurry })
    }

    /// The thread is not to rest any more.
    fn hurry(&self) {
        self.hurry.store(true, Ordering::Relaxed);
    }

    /// The table; waits for it if it must.
    fn table(self) -> Option<Table> {
        self.hurry();
        self.thread.join().ok()
    }
}

/// Requests of one window of time.
#[derive(Debug)]
pub struct Duplicates {
    /// Whose: for those who are told that some were forgotten.
    kind: &'static str,
    window_us: u64,
    lines_max: usize,
    /// New entries go there.
    newest: Table,
    /// It is looked how full that is when so many entries were written.
    look_at: u64,
    /// The one after it.
    next: Option<Making>,
    /// How many bridge the time until that is there.
    meanwhile: usize,
    /// The tables before it, the newest last: they are only looked into, until their newest entry is over.
    older: Vec<Table>,
    /// Where the log was at about each 64th of a window.
    past: VecDeque<(u64, u64)>,
    floor: u64,
    /// Entries that had to give way before their time.
    forgotten: u64,
    /// The same, as far as they are counted for whoever asks, and when that was said last.
    told: u64,
    told_at_us: u64,
}

/// Each table after the first has so many times the room, so that there are never many to look into.
const GROWTH: usize = 16;

impl Duplicates {
    /// `octets_first`: addresses for the first table, which become memory as far as they are used.
    /// `octets_max`: those of the newest one; the ones before it, which only a growing rate brings, add at
    /// most as much again.
    pub fn new(kind: &'static str, window_us: u64, octets_first: usize, octets_max: usize) -> Duplicates {
        let lines = |octets: usize| 1_usize << (octets / size_of::<Line>()).max(1).ilog2();
        let lines_max = lines(octets_max);
        let newest = Table::new(lines(octets_first).min(lines_max));
        Duplicates {
            kind,
            window_us,
            lines_max,
            look_at: newest.part(SOON),
            newest,
            next: None,
            meanwhile: 0,
            older: Vec::new(),
            past: VecDeque::new(),
            floor: 1,
            forgotten: 0,
            told: 0,
            told_at_us: 0,
        }
    }

    /// Moves the window. Below the floor nothing is found any more.
    pub fn advance(&mut self, now_us: u64, position: u64) {
        let step = self.window_us / 64;
        if self.past.back().is_none_or(|(at, _)| now_us >= at + step) {
            self.past.push_back((now_us, position));
            if self.forgotten > self.told {
                self.tell(now_us);
            }
        }
        while let Some(&(_, next)) = self.past.get(1).filter(|(at, _)| at + self.window_us <= now_us) {
            self.past.pop_front();
            self.floor = next.max(1);
        }
        while self.older.first().is_some_and(|table| table.newest < self.floor) {
            self.older.remove(0);
        }
    }

    /// Counts what was forgotten, and says it once in a window.
    #[cold]
    fn tell(&mut self, now_us: u64) {
        let new = self.forgotten - self.told;
        metrics::counter!("campanile_charging_forgotten_total", "of" => self.kind).increment(new);
        if self.told == 0 || now_us >= self.told_at_us + self.window_us {
            self.told_at_us = now_us;
            tracing::warn!(
                of = self.kind,
                entries = self.forgotten,
                window_s = self.window_us / 1_000_000,
                "more requests come in a window than there is room for: duplicates of the oldest are not known and are charged; fewer \
                 requests, or a shorter `event_window`, need less"
            );
        }
        self.told = self.forgotten;
    }

    /// From where on the log is needed to make this table again.
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// Reads where these hashes are looked for, so that the misses overlap.
    pub fn touch(&self, hashes: &[u64]) -> u64 {
        self.older.iter().chain([&self.newest]).fold(0, |sum, table| sum ^ table.touch(hashes))
    }

    /// The position of the request with this hash, if `is_it` says of the entry there that it is.
    #[inline]
    pub fn find(&self, hash: u64, mut is_it: impl FnMut(u64) -> bool) -> Option<u64> {
        let newest = self.newest.newest;
        let found = self.newest.find(hash, newest, self.floor, &mut is_it);
        if found.is_some() || self.older.is_empty() {
            return found;
        }
        self.older.iter().rev().find_map(|table| table.find(hash, newest, self.floor, &mut is_it))
    }

    /// Notes a request. Positions only grow.
    #[inline]
    pub fn insert(&mut self, hash: u64, position: u64) {
        if !self.newest.insert(hash, position, self.floor) {
            self.insert_crowded(hash, position);
        } else if self.newest.written > self.look_at {
            self.look();
        }
    }

    /// There was no place for it.
    #[cold]
    fn insert_crowded(&mut self, hash: u64, position: u64) {
        if let Some(lines) = self.larger() {
            self.next = self.next.take().or_else(|| Making::start(lines));
            if !self.is_next_awaited() {
                self.grow();
            } else if self.newest.notifier < LINES_MEANWHILE {
                self.newest.notifier = LINES_MEANWHILE;
                self.newest.reach_of_old = LINES_MEANWHILE;
            } else if self.meanwhile < TABLES_MEANWHILE {
                self.add_meanwhile();
            } else {
                self.grow();
            }
            if self.newest.insert(hash, position, self.floor) {
                return;
            }
        }
        if !self.grow() || !self.newest.insert(hash, position, self.floor) {
            self.newest.insert_over(hash, position);
            self.forgotten += 1;
        }
    }

    /// So many were written; some may be over.
    #[cold]
    fn look(&mut self) {
        self.look_at = self.newest.written + self.newest.part(LOOK).max(1);
        let live = self.newest.live(self.floor);
        let Some(lines) = self.larger() else {
            let is_saturated = live >= self.newest.part(SATURATED);
            self.newest.notifier = if is_saturated { LINES_SATURATED } else { LINES_MAX };
            return;
        };
        if live >= self.newest.part(SOON) && self.next.is_none() {
            self.next = Making::start(lines);
        }
        if live >= self.newest.part(HURRY) {
            self.next.iter().for_each(Making::hurry);
        }
        let is_crowded =
            self.newest.notifier > LINES_MAX || self.meanwhile > 0 || live >= self.newest.part(FULL);
        if is_crowded && self.next.is_some() && !self.is_next_awaited() {
            self.grow();
        }
    }

    fn is_next_awaited(&self) -> bool {
        self.next.as_ref().is_some_and(|next| !next.thread.is_finished())
    }

    /// Lines of a table that could follow.
    fn larger(&self) -> Option<usize> {
        let before = self.newest.lines();
        Some((before * GROWTH).min(self.lines_max)).filter(|lines| *lines > before)
    }

    /// Another one as large, since the next one takes its time: a system that is short of memory needs a
    /// second for hundreds of MiB.
    fn add_meanwhile(&mut self) {
        let next = Table { newest: self.newest.newest, ..Table::new(self.newest.lines()) };
        self.look_at = next.part(LOOK);
        self.older.push(std::mem::replace(&mut self.newest, next));
        self.meanwhile += 1;
    }

    fn grow(&mut self) -> bool {
        let Some(lines) = self.larger() else { return false };
        self.meanwhile = 0;
        let made = self.next.take().and_then(Making::table);
        let next = Table { newest: self.newest.newest, ..made.unwrap_or_else(|| Table::new(lines)) };
        self.look_at = next.part(SOON);
        self.older.push(std::mem::replace(&mut self.newest, next));
        true
    }

    /// Octets of memory.
    #[cfg(test)]
    pub fn octets(&self) -> usize {
        self.older.iter().chain([&self.newest]).map(|table| table.lines() * size_of::<Line>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::answered::AnsweredRequests;
    use super::super::hash::HashKey;
    use super::*;

    const SECOND: u64 = 1_000_000;
    const FIRST: usize = 1 << 20;

    fn hash(i: u64) -> u64 {
        HashKey([1, 2]).words([i, 0])[0]
    }

    #[test]
    fn what_is_in_the_window_is_found_and_what_is_over_is_not() {
        let mut seen = Duplicates::new("events", 60 * SECOND, FIRST, 16 << 20);
        let mut position = 64;
        for i in 0..100_000 {
            let now = i * SECOND / 10;
            seen.advance(now, position);
            seen.insert(hash(i), position);
            position += 70;
            let young = i.saturating_sub(590);
            assert!(seen.find(hash(young), |_| true).is_some(), "{young} of {i}");
            if i > 700 {
                assert_eq!(seen.find(hash(i - 700), |_| true), None);
            }
        }
        assert_eq!((seen.forgotten, seen.octets()), (0, FIRST));
    }

    #[test]
    fn the_table_grows_with_the_rate_and_forgets_nothing_below_its_bound() {
        let mut seen = Duplicates::new("events", 60 * SECOND, FIRST, 16 << 20);
        for i in 0..400_000_u64 {
            seen.advance(i, 64 + i * 70);
            seen.insert(hash(i), 64 + i * 70);
        }
        assert_eq!(seen.forgotten, 0);
        assert!((0..400_000).all(|i| seen.find(hash(i), |at| at == 64 + i * 70).is_some()));
        // A window later nothing is left, and neither is the memory of the smaller tables.
        for i in 0..3 {
            seen.advance(61 * SECOND * (i + 1), 64 + 400_000 * 70);
        }
        assert_eq!((0..400_000).filter(|i| seen.find(hash(*i), |_| true).is_some()).count(), 0);
        assert!(seen.octets() <= 16 << 20);
    }

    #[test]
    fn over_its_bound_it_forgets_the_oldest_and_counts_it() {
        let mut seen = Duplicates::new("events", 60 * SECOND, FIRST, 64 * 16);
        for i in 0..1_000_u64 {
            seen.advance(i, 64 + i * 70);
            seen.insert(hash(i), 64 + i * 70);
        }
        assert!(seen.forgotten > 0 && seen.octets() == 64 * 16);
        assert!((990..1_000).all(|i| seen.find(hash(i), |at| at == 64 + i * 70).is_some()));
    }

    #[test]
    fn what_went_on_to_another_line_is_found_also_when_later_ones_were_taken_back() {
        let mut seen = Duplicates::new("events", 60 * SECOND, FIRST, FIRST);
        // All of one line.
        let hash = |i: u64| hash(i) << 32 | 7;
        let at = |i: u64| 10_000 + i * 70;
        (0..20).for_each(|i| seen.insert(hash(i), at(i)));
        // Others are decided, and taken back; somebody else's stand at their positions.
        (20..40).for_each(|i| seen.insert(hash(i), at(i)));
        (50..60).for_each(|i| seen.insert(hash(i), at(i - 30)));
        assert!((0..20).all(|i| seen.find(hash(i), |found| found == at(i)).is_some()));
        assert!((50..60).all(|i| seen.find(hash(i), |found| found == at(i - 30)).is_some()));
        seen.advance(0, at(25));
        seen.advance(61 * SECOND, at(31));
        seen.advance(122 * SECOND, at(31));
        assert_eq!((0..60).filter(|i| seen.find(hash(*i), |_| true).is_some()).count(), 0);
    }

    /// How many lines are looked at for this hash.
    fn lines_looked(table: &Table, hash: u64, floor: u64) -> usize {
        let mark = mark_of(hash);
        let line = |step: usize| table.line((hash as usize).wrapping_add(step));
        1 + (0..table.reach_of_old - 1).take_while(|step| goes_on(line(*step), mark, floor)).count()
    }

    #[test]
    fn what_a_full_table_has_no_room_for_costs_no_more_than_what_it_has() {
        let mut seen = Duplicates::new("events", 60 * SECOND, FIRST, FIRST);
        let room = seen.newest.part((1, 1));
        let mut looked = Vec::new();
        for i in 0..room * 2 {
            seen.advance(i, 64 + i * 70);
            seen.insert(hash(i), 64 + i * 70);
            if i % (room / 4) == 0 && i > 0 {
                let new = room * 4..room * 4 + 10_000;
                looked.push(new.map(|new| lines_looked(&seen.newest, hash(new), seen.floor)).sum::<usize>());
            }
        }
        assert_eq!(seen.newest.notifier, LINES_SATURATED);
        // A quarter, half and three quarters full, and then over and over again.
        assert!(
            looked[..3].iter().all(|lines| *lines < 11_000)
                && looked[3..].iter().all(|lines| *lines < 13_000)
        );
        assert!((room * 19 / 10..room * 2).all(|i| seen.find(hash(i), |at| at == 64 + i * 70).is_some()));
        // When they are over there is room again.
        for i in 0..3 {
            seen.advance(61 * SECOND * (i + 1), 64 + room * 2 * 70);
        }
        let later = room * 2 + 1..room * 2 + 1 + room / 2;
        later.clone().for_each(|i| seen.insert(hash(i), 64 + i * 70));
        assert_eq!(seen.newest.notifier, LINES_MAX);
        assert!(later.clone().all(|i| seen.find(hash(i), |at| at == 64 + i * 70).is_some()));
        let lines = later.map(|i| lines_looked(&seen.newest, hash(i), seen.floor)).sum::<usize>();
        assert!((lines as u64) < room / 2 * 11 / 10, "marks of what is over are not followed: {lines}");
    }

    #[test]
    fn a_table_takes_more_until_the_next_one_is_there() {
        // Four that a client numbers in a row share a line, as the shard has those of a session.
        let key = HashKey([3, 4]);
        let sessions: Vec<_> = (0..50_u64).map(|session| key.words([session, 0])).collect();
        let mut seen = Duplicates::new("events", 60 * SECOND, 4 << 20, 16 << 20);
        // It never comes.
        let (_keep, never) = std::sync::mpsc::channel::<Table>();
        let thread = std::thread::spawn(move || never.recv().expect("it is not sent"));
        let hurry = Arc::new(AtomicBool::new(false));
        seen.next = Some(Making { thread, hurry: hurry.clone() });
        let mut numbers = [0_u32; 50];
        let requests = seen.newest.part((11, 20)) / 2;
        for i in 0..requests {
            let at = hash(i) as usize % sessions.len();
            let id = AnsweredRequests::id(sessions[at], numbers[at]);
            numbers[at] += 1;
            seen.advance(i, 64 + i * 70);
            seen.insert(hash(i), 64 + i * 70);
            seen.insert(id, 64 + i * 70);
        }
        assert_eq!((seen.newest.notifier, seen.octets(), seen.forgotten), (LINES_MEANWHILE, 4 << 20, 0));
        assert!(hurry.load(Ordering::Relaxed), "half of it is full");
        assert!((0..requests).all(|i| seen.find(hash(i), |at| at == 64 + i * 70).is_some()));
        // Nobody waits for it either where this one is full.
        let more = seen.newest.part((3, 1));
        for i in requests..more {
            seen.advance(i, 64 + i * 70);
            seen.insert(hash(i), 64 + i * 70);
        }
        assert!((2..=TABLES_MEANWHILE).contains(&seen.meanwhile), "{}", seen.meanwhile);
        assert_eq!((seen.octets(), seen.forgotten), (4 << 20 << 2, 0));
        assert!((0..more).all(|i| seen.find(hash(i), |at| at == 64 + i * 70).is_some()));
        // When it is there it is taken at once.
        seen.next = Making::start(seen.larger().expect("it is not the largest"));
        while seen.is_next_awaited() {
            std::thread::yield_now();
        }
        (more..more + more / 16).for_each(|i| seen.insert(hash(i), 64 + i * 70));
        assert_eq!((seen.meanwhile, seen.octets()), (0, (4 << 20 << 2) + (16 << 20)));
    }

    #[test]
    fn the_next_table_is_made_before_it_is_needed_and_taken_when_it_is_there() {
        let mut seen = Duplicates::new("events", 60 * SECOND, FIRST, 16 << 20);
        let mut i = 0_u64;
        let mut write_until = |seen: &mut Duplicates, is_so: fn(&Duplicates) -> bool| {
            while !is_so(seen) {
                seen.advance(i, 64 + i * 70);
                seen.insert(hash(i), 64 + i * 70);
                i += 1;
            }
            i
        };
        let room = seen.newest.part((1, 1));
        let begun = write_until(&mut seen, |seen| seen.next.is_some());
        assert!((room / 5..room / 3).contains(&begun), "{begun} of {room}");
        while seen.is_next_awaited() {
            std::thread::yield_now();
        }
        let grown = write_until(&mut seen, |seen| seen.next.is_none());
        assert!((room / 3..room * 3 / 4).contains(&grown), "{grown} of {room}");
        assert_eq!((seen.octets(), seen.forgotten), (FIRST + FIRST * GROWTH, 0));
        assert!((0..grown).all(|i| seen.find(hash(i), |at| at == 64 + i * 70).is_some()));
    }
}
