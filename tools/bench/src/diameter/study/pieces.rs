//! Small works: an allocation, and a copy.

use std::hint::black_box;

/// Octets of the study's array.
const ARRAY_OCTETS: usize = 400;

/// Allocates an array, writes into it, reads it back, frees it.
pub(super) fn allocation() -> impl FnMut(u64) -> bool {
    |number| {
        let mut array: Vec<u8> = Vec::with_capacity(ARRAY_OCTETS);
        array.push(number as u8);
        black_box(&mut array);
        array.first() == Some(&(number as u8))
    }
}

/// Copies a message as a block, or octet by octet; `black_box` keeps the compiler from making the loop a
/// block again.
pub(super) fn copy(by_octet: bool, octets: usize) -> impl FnMut(u64) -> bool {
    let mut from: Vec<u8> = (0..octets).map(|place| place as u8).collect();
    let mut to = vec![0; octets];
    move |number| {
        if let Some(first) = from.first_mut() {
            *first = number as u8;
        }
        if by_octet {
            to.iter_mut().zip(&from).for_each(|(to, from)| *to = black_box(*from));
        } else {
            to.copy_from_slice(black_box(&from));
        }
        black_box(&mut to);
        // The ends, not all: a whole comparison would cost more than the copy. All of it is compared now and
        // then.
        to.first() == from.first()
            && to.last() == from.last()
            && (!number.is_multiple_of(4_096) || to == from)
    }
}
