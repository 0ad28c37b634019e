//! Load and measure: each scenario prints its table beside the published one, and draws it.
//!
//! A scenario starts the production server and the simulated carriers as processes of their own, speaks to the server over
//! its API as any client does, checks every answer and every report against what the carriers counted, and measures.
//!
//! - [`alert`]: one alert to many.
//! - [`http`]: submission alone.
//! - [`smpp`]: client, server and gateway, and many carriers.
//! - `diameter`: credit control, beside a bare server that keeps nothing.
//! - `topics`: the topic protocol, beside a bare blocking server.
//! - `udp`: paced UDP from one process to another, beside iperf3.
//! - [`Command`]: all of it on the command line.

pub mod alert;
mod command;
mod diameter;
pub mod http;
mod measured;
mod published;
pub mod smpp;
mod statistics;
mod topics;
mod udp;
mod world;

pub use command::{AlertArgs, Command, DiameterArgs, HttpArgs, SmppArgs, TopicsArgs, UdpArgs};
pub use measured::{Cpu, Measured};
pub use smpp::PartArgs;
