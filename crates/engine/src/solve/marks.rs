//! Marks of a solve: each person of an audience with the entries that name them and what becomes of them, in
//! about 40 octets each.

use records::{ChannelNumber, Reason};
use rustc_hash::FxHashMap;

/// Ids that nobody has, kept by name.
pub const UNKNOWN_MAX: usize = 100;

/// What becomes of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersonMark {
    at: u32,
    len: u16,
    /// It is an address that nobody is known behind.
    pub is_address: bool,
    /// Why nothing goes to them; [`Reason::None`]: they are reached; [`Reason::QuietHours`]: they are, later.
    pub reason: Reason,
    /// The place of the entries that name them, in [`Marks::entries`].
    set: u32,
}

impl PersonMark {
    /// Something goes to them, now or after their quiet hours.
    pub fn is_reached(&self) -> bool {
        matches!(self.reason, Reason::None | Reason::QuietHours)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Marks {
    ids: String,
    marks: Vec<PersonMark>,
    sets: Vec<Box<[u32]>>,
    by_set: FxHashMap<Box<[u32]>, u32>,
    /// By id or address, once somebody is found who may be there already.
    places: Option<FxHashMap<String, usize>>,
    unknown: Vec<String>,
    unknown_count: u64,
}

impl Marks {
    /// Adds a person.
    pub(super) fn add(&mut self, id: &str, entries: Vec<u32>, reason: Reason) {
        self.push(id, entries, reason, false);
    }

    /// Adds an address that nobody is known behind.
    pub(super) fn add_address(
        &mut self,
        (channel, address): (ChannelNumber, &str),
        entry: Option<u32>,
        reason: Reason,
    ) {
        let shown = channels::entry(channel, address);
        self.push(&shown, entry.into_iter().collect(), reason, true);
    }

    /// Adds the device of an earlier alert; its person may be there already, and is reached if one device is.
    pub(super) fn add_told(
        &mut self,
        id: &str,
        (channel, address): (ChannelNumber, &str),
        entry: u32,
        reason: Reason,
    ) {
        let is_address = id.is_empty();
        let key = if is_address { channels::entry(channel, address) } else { id.to_owned() };
        if self.places.is_none() {
            let all = (0..self.marks.len()).map(|at| (self.id(&self.marks[at]).to_owned(), at));
            self.places = Some(all.collect());
        }
        match self.places.as_ref().and_then(|places| places.get(&key)).copied() {
            Some(at) => {
                let mut entries = self.entries(&self.marks[at]).to_vec();
                if !entries.contains(&entry) {
                    entries.push(entry);
                    entries.sort_unstable();
                }
                let set = self.set(entries);
                let mark = &mut self.marks[at];
                mark.set = set;
                if !mark.is_reached() {
                    mark.reason = reason;
                }
            }
            None => {
                self.push(&key, vec![entry], reason, is_address);
                let at = self.marks.len() - 1;
                if let Some(places) = &mut self.places {
                    places.insert(key, at);
                }
            }
        }
    }

    /// Notes an id that nobody has; it is nobody's mark.
    pub(super) fn add_unknown(&mut self, id: &str, entry: Option<u32>) {
        self.unknown_count += 1;
        if entry.is_some() && self.unknown.len() < UNKNOWN_MAX {
            self.unknown.push(id.to_owned());
        }
    }

    fn push(&mut self, id: &str, entries: Vec<u32>, reason: Reason, is_address: bool) {
        let (at, len) = (u32::try_from(self.ids.len()), u16::try_from(id.len()));
        // Ids and addresses are limited far below 64 KiB, and people in number.
        let (Ok(at), Ok(len)) = (at, len) else { return };
        self.ids.push_str(id);
        let set = self.set(entries);
        self.marks.push(PersonMark { at, len, is_address, reason, set });
    }

    fn set(&mut self, entries: Vec<u32>) -> u32 {
        let entries = entries.into_boxed_slice();
        if let Some(known) = self.by_set.get(&entries) {
            return *known;
        }
        let place = self.sets.len() as u32;
        self.sets.push(entries.clone());
        self.by_set.insert(entries, place);
        place
    }

    /// Everybody, in the order in which they were found.
    pub fn all(&self) -> &[PersonMark] {
        &self.marks
    }

    /// Whose mark it is: an id, or an address as an entry of an audience.
    pub fn id(&self, mark: &PersonMark) -> &str {
        let at = mark.at as usize;
        self.ids.get(at..at + usize::from(mark.len)).unwrap_or_default()
    }

    /// The places of the entries that name somebody, in order.
    pub fn entries(&self, mark: &PersonMark) -> &[u32] {
        self.sets.get(mark.set as usize).map_or(&[], |entries| entries)
    }

    /// Each set of entries, with the number of people whom these entries name and no other.
    pub fn sets(&self) -> impl Iterator<Item = (&[u32], u64)> {
        let mut counts = vec![0_u64; self.sets.len()];
        self.marks.iter().for_each(|mark| counts[mark.set as usize] += 1);
        self.sets.iter().map(|entries| &**entries).zip(counts)
    }

    /// Ids that the audience names and nobody has; of many the first.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// How many ids nobody has, those among the members of groups too.
    pub fn unknown_count(&self) -> u64 {
        self.unknown_count
    }

    /// About the octets that it takes.
    pub fn octets(&self) -> usize {
        let sets: usize = self.sets.iter().map(|entries| 2 * (entries.len() * 4 + 16)).sum();
        self.ids.capacity() + self.marks.capacity() * size_of::<PersonMark>() + sets
    }

    /// Gives back what was needed while it grew.
    pub fn shrink(&mut self) {
        self.places = None;
        self.ids.shrink_to_fit();
        self.marks.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_counted_by_the_entries_that_name_them() {
        let mut marks = Marks::default();
        marks.add("ann", vec![0, 2], Reason::None);
        marks.add("bo", vec![0], Reason::NoDevice);
        marks.add("cy", vec![0, 2], Reason::QuietHours);
        marks.add_address((channels::SMS, "+46701"), Some(1), Reason::None);
        let sets: Vec<_> = marks.sets().map(|(entries, people)| (entries.to_vec(), people)).collect();
        assert_eq!(sets, [(vec![0, 2], 2), (vec![0], 1), (vec![1], 1)]);
        let ids: Vec<_> = marks.all().iter().map(|mark| (marks.id(mark), mark.is_reached())).collect();
        assert_eq!(ids, [("ann", true), ("bo", false), ("cy", true), ("sms:+46701", true)]);
    }

    #[test]
    fn somebody_whom_an_earlier_alert_reached_is_there_once() {
        let mut marks = Marks::default();
        marks.add("ann", vec![0], Reason::NoDevice);
        for (id, address, reason) in [
            ("ann", "+1", Reason::OptedOut),
            ("ann", "+2", Reason::None),
            ("bo", "+3", Reason::None),
            ("", "+4", Reason::None),
        ] {
            marks.add_told(id, (channels::SMS, address), 1, reason);
        }
        marks.add_told("ann", (channels::SMS, "+5"), 1, Reason::OptedOut);
        let all: Vec<_> =
            marks.all().iter().map(|mark| (marks.id(mark), marks.entries(mark), mark.reason)).collect();
        assert_eq!(
            all,
            [("ann", &[0, 1][..], Reason::None), ("bo", &[1], Reason::None), ("sms:+4", &[1], Reason::None)]
        );
    }
}
