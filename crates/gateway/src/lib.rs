//! The ways out: one folder a channel, each with the same rooms.

pub mod mail;
