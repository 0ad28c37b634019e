//! All tests that cross crates: the real program, real sockets, peers that others wrote.
#![allow(clippy::unwrap_used)]

mod peers;
