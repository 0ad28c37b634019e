//! Reliable push of one file to many sites, over UDP at the rate asked, unicast and multicast.
//!
//! Data goes out as RaptorQ symbols over plain UDP; beside it each site has a control channel over QUIC, on which
//! both sides prove that they know the site's key before anything is sent. `planner` and `assembly` are the two
//! pure machines; everything else drives them.

mod assembly;
mod code;
mod layout;
mod manifest;
mod message;
mod packet;
mod planner;
mod proof;
mod report;
#[cfg(test)]
mod wire_tests;
