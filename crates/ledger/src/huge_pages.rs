//! Large tables that are read at random: with pages of 4 KiB nearly every look at them also misses the
//! processor's table of pages, and in a virtual machine that costs more than the look itself. So the system
//! is asked for large pages.

use rustix::mm::{Advice, madvise};

/// Smaller tables are not worth it.
const OCTETS_MIN: usize = 4 << 20;
/// What addresses must be multiples of.
const PAGE_OCTETS: usize = 4096;

/// Asks for large pages for a table, before it is first written. Where the system has none, nothing changes.
pub(super) fn ask_for_large<T>(table: &mut [T]) {
    let octets = size_of_val(table);
    if octets < OCTETS_MIN {
        return;
    }
    let begin = table.as_mut_ptr().addr();
    let first = begin.next_multiple_of(PAGE_OCTETS);
    let end = (begin + octets) / PAGE_OCTETS * PAGE_OCTETS;
    let start = table.as_mut_ptr().wrapping_byte_add(first - begin).cast();
    // SAFETY: the range lies within `table`, which is borrowed mutably here; MADV_HUGEPAGE only says which
    // pages may back it, and changes nothing of what is there (madvise(2)).
    #[allow(unsafe_code)]
    // An error is no loss: the pages stay small.
    let _ = unsafe { madvise(start, end - first, Advice::LinuxHugepage) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_what_it_holds() {
        let mut table: Vec<u64> = (0..2 * OCTETS_MIN as u64 / 8).collect();
        ask_for_large(&mut table);
        assert!(table.iter().enumerate().all(|(at, word)| at as u64 == *word));
        ask_for_large(&mut [0_u8; 10]);
        ask_for_large::<u64>(&mut []);
    }
}
