//! The world outside: SMSC, mailbox, a town of recipients: real listeners, real bytes.
//!
//! - [`town`]: people with devices, and what they do when a message comes.
//! - [`smsc`]: a carrier that speaks SMPP.
//! - [`mailbox`]: a mail server that keeps what it gets.
//! - [`pager`]: a paging carrier that speaks SNPP, and people with pagers.
//! - [`webhook`]: a device that takes alerts by HTTP.
//! - [`broker`]: an MQTT broker with devices that confirm and answer.
//! - [`im`]: a homeserver of Matrix and Telegram's bot API.
//! - [`credit`]: a credit-control server of others, and a client.
//! - [`SimCommand`]: all of it on the command line.

mod agenda;
mod behaviour;
pub mod broker;
pub mod chance;
mod clock;
mod command;
pub mod credit;
pub mod im;
pub mod mailbox;
mod page;
pub mod pager;
pub mod smsc;
mod tally;
pub mod town;
pub mod webhook;

pub use behaviour::Behaviour;
pub use command::{
    Credit, CreditArgs, ImArgs, MailArgs, MqttArgs, PagerArgs, SimCommand, SmscArgs, TownArgs, WebhookArgs,
};

use std::future::Future;
use std::io::{self, Write};
use std::net::SocketAddr;

/// Threads of a simulator in a process of its own.
const WORKERS: usize = 2;

/// Runs a listener until Ctrl-C, and says where it listens: one line `listening on ADDRESS`, and one `page on
/// http://ADDRESS/` where it has one.
fn run_until_told<T>(
    start: impl Future<Output = io::Result<(T, (SocketAddr, Option<SocketAddr>))>>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    runtime.block_on(async {
        let (running, (address, page)) = start.await?;
        let mut out = io::stdout().lock();
        writeln!(out, "listening on {address}")?;
        if let Some(page) = page {
            writeln!(out, "page on http://{page}/")?;
        }
        out.flush()?;
        drop(out);
        tokio::signal::ctrl_c().await?;
        drop(running);
        Ok(())
    })
}
