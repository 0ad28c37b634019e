//! Merge of what an import staged with the people there are, both in the order of ids.

use crate::StoreError;
use crate::import_jobs::{AbsentPeople, ImportCounts};
use crate::spool::{Merge, SpoolPair};
use records::Recipient;
use std::cmp::Ordering;
use std::collections::VecDeque;

/// People read at a time.
pub(crate) const PAGE_ROWS: usize = 4_096;

/// The next page of people in the order of ids after one.
pub(crate) type NextPage<'a> = Box<dyn FnMut(&str) -> Result<Vec<Recipient>, StoreError> + 'a>;

/// Gives the rows that an import has to write, in the order of ids.
pub(crate) struct ImportMerge<'a> {
    file: Merge,
    /// The next of the file that was not given.
    head: Option<SpoolPair>,
    people: PeoplePages<'a>,
    absent: Option<AbsentPeople>,
    counts: ImportCounts,
}

/// The people there are, a page at a time: no snapshot is held while an import is written.
struct PeoplePages<'a> {
    next_page: NextPage<'a>,
    page: VecDeque<Recipient>,
    after: String,
    is_over: bool,
}

impl PeoplePages<'_> {
    fn first(&mut self) -> Result<Option<&Recipient>, StoreError> {
        if self.page.is_empty() && !self.is_over {
            self.page = (self.next_page)(&self.after)?.into();
            self.is_over = self.page.len() < PAGE_ROWS;
            if let Some(last) = self.page.back() {
                self.after.clone_from(&last.id);
            }
        }
        Ok(self.page.front())
    }
}

impl<'a> ImportMerge<'a> {
    pub(crate) fn new(
        mut file: Merge,
        next_page: NextPage<'a>,
        absent: Option<AbsentPeople>,
    ) -> Result<ImportMerge<'a>, StoreError> {
        let head = file.next()?;
        let people = PeoplePages { next_page, page: VecDeque::new(), after: String::new(), is_over: false };
        Ok(ImportMerge { file, head, people, absent, counts: ImportCounts::default() })
    }

    /// What was found so far.
    pub(crate) fn counts(&self) -> ImportCounts {
        self.counts
    }

    /// The next row: its id, and its body, which is empty where somebody goes.
    pub(crate) fn next(&mut self) -> Result<Option<SpoolPair>, StoreError> {
        loop {
            let Some(person) = self.people.first()? else {
                let Some(row) = self.head.take() else { return Ok(None) };
                self.head = self.file.next()?;
                self.counts.new += 1;
                return Ok(Some(row));
            };
            let order = match &self.head {
                Some((id, _)) => id.as_slice().cmp(person.id.as_bytes()),
                None => Ordering::Greater,
            };
            match order {
                Ordering::Less => {
                    let row = self.head.take();
                    self.head = self.file.next()?;
                    self.counts.new += 1;
                    return Ok(row);
                }
                Ordering::Equal => {
                    let person = self.people.page.pop_front();
                    let row = self.head.take();
                    self.head = self.file.next()?;
                    if let (Some(person), Some(row)) = (person, row)
                        && person != Recipient::decode(&row.1)?
                    {
                        self.counts.changed += 1;
                        return Ok(Some(row));
                    }
                    self.counts.unchanged += 1;
                }
                Ordering::Greater => {
                    let Some(person) = self.people.page.pop_front() else { continue };
                    if self.absent.as_ref().is_some_and(|absent| absent.has(&person)) {
                        self.counts.gone += 1;
                        return Ok(Some((person.id.into_bytes(), Vec::new())));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::person;
    use crate::spool::Spool;

    #[test]
    fn new_changed_unchanged_and_absent_people_are_told_apart_over_pages() {
        let folder = tempfile::tempdir().unwrap();
        let mut there: Vec<Recipient> = (0..10_000).map(|n| person(&format!("{n:05}"), "there")).collect();
        there[7].attributes.insert("directory".to_owned(), "ad".to_owned());
        let mut spool = Spool::new(folder.path().join("spool"));
        for (id, name) in [("00003x", "new"), ("00004", "changed"), ("00005", "there"), ("99999", "new")] {
            spool.push(id.as_bytes(), &person(id, name).encode()).unwrap();
        }
        let page = move |after: &str| {
            let from = there.partition_point(|person| person.id.as_str() <= after);
            Ok(there[from..].iter().take(PAGE_ROWS).cloned().collect())
        };
        let absent = AbsentPeople { attribute: "directory".to_owned(), value: "ad".to_owned() };
        let mut merge = ImportMerge::new(spool.merge().unwrap(), Box::new(page), Some(absent)).unwrap();
        let mut rows = Vec::new();
        while let Some((id, body)) = merge.next().unwrap() {
            rows.push((String::from_utf8(id).unwrap(), body.is_empty()));
        }
        let rows: Vec<(&str, bool)> = rows.iter().map(|(id, gone)| (id.as_str(), *gone)).collect();
        assert_eq!(rows, [("00003x", false), ("00004", false), ("00007", true), ("99999", false)]);
        assert_eq!(merge.counts(), ImportCounts { new: 2, changed: 1, unchanged: 1, gone: 1 });
    }
}
