//! All tests that cross crates: the real program, real sockets, peers that others wrote.
#![allow(clippy::unwrap_used)]

mod accounts;
mod answers;
mod bad_input;
mod bench;
mod cap_messages;
mod carriers;
mod charging;
mod command_line;
mod crash;
mod crash_more;
mod deploy;
mod disk_full;
mod drills;
mod edge;
mod following;
mod foreign;
mod foreign_mail;
mod foreign_smsc;
mod gateway;
mod hostile_platforms;
mod kannel;
mod orders_of_devices;
mod own_money;
mod people;
mod platform_kills;
mod platforms;
mod pushes;
mod rate;
mod relay;
mod several;
mod steering;
mod submitting;
mod topics;
mod udp;
mod world;
