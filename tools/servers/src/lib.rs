//! Servers of others that tests run against, each in a temporary folder and on free loopback ports, ended
//! when dropped. One that cannot be started fails the test: nothing is skipped.
//!
//! A server that stands in a `static` is never dropped: it ends with its test process all the same
//! ([`child`]), and its folder is removed by whichever test process next makes one ([`folder`]).

pub mod child;
pub mod folder;
pub mod foreign;
pub mod nats;
pub mod ports;
pub mod postgres;
