//! Processes of the bench's own: what a measurement is made against, with CPU time of its own.

use super::door::Door;
use super::fleet::ROUTES_MAX;
use super::front;
use super::rig::PLATFORM;
use super::route::fsync;
use super::sink::Sink;
use clap::{Args, ValueEnum};
use net::Cores;
use serde::Serialize;
use sim::smsc::{Smsc, SmscOptions};
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// `bench part`.
#[derive(Debug, Args)]
pub struct PartArgs {
    /// Which
    #[arg(value_enum)]
    kind: ServerKind,
    /// Carriers, or sockets
    #[arg(long, default_value_t = 1)]
    count: usize,
    /// Messages that each carrier remembers
    #[arg(long, default_value_t = 0)]
    keep: usize,
    /// Where the door's bus is made
    #[arg(long, default_value = "bus")]
    folder: PathBuf,
    /// When an append to it is done
    #[arg(long, default_value = "always")]
    fsync: String,
    /// What the experiment or the sender does, as JSON
    #[arg(long, default_value = "")]
    job: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ServerKind {
    /// A bare SMSC
    Sink,
    /// The session machine as a server
    Front,
    /// The SMPP door over a bus
    Door,
    /// Simulated SMSCs
    Carriers,
    /// A bare blocking server of topics
    Floor,
    /// A bare credit-control server
    CreditFloor,
    /// An experiment of the credit-control study
    Study,
    /// A receiver of paced UDP
    UdpReceiver,
    /// A sender of paced UDP
    UdpSender,
}

impl PartArgs {
    /// Says where it listens, then one line of JSON for each line of its input, and ends with it.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn run(self) -> Result<(), String> {
        match self.kind {
            ServerKind::Sink => {
                let sink = Sink::start().map_err(|error| format!("the sink: {error}"))?;
                connection(&[sink.address().to_string()], || Ok(sink.totals()))
            }
            ServerKind::Front => run_front(),
            ServerKind::Door => self.run_door(),
            ServerKind::Carriers => self.run_carriers(),
            ServerKind::Floor => {
                let address = crate::topics::start_floor().map_err(|error| format!("the floor: {error}"))?;
                connection(&[address.to_string()], || Ok(()))
            }
            ServerKind::Study => {
                println!("{}", crate::diameter::run_job(&self.job)?);
                Ok(())
            }
            ServerKind::UdpReceiver => crate::udp::run_receiver(self.count),
            ServerKind::UdpSender => crate::udp::run_sender(&self.job),
            ServerKind::CreditFloor => {
                let address =
                    crate::diameter::start_floor().map_err(|error| format!("the floor: {error}"))?;
                connection(&[address.to_string()], || Ok(()))
            }
        }
    }

    fn run_door(&self) -> Result<(), String> {
        let options = bus::embedded::Options { fsync: fsync(&self.fsync)?, ..Default::default() };
        let bus = bus::embedded::open(&self.folder, options).map_err(|error| error.to_string())?;
        let cores = Cores::one_per_core().map_err(|error| format!("no threads for connections: {error}"))?;
        let runtime = runtime()?;
        let door = runtime.block_on(Door::start(bus, Arc::new(cores), PLATFORM))?;
        connection(&[door.address().to_string()], || door.totals())
    }

    fn run_carriers(&self) -> Result<(), String> {
        if !(1..=ROUTES_MAX).contains(&self.count) {
            return Err(format!("--count: {} is not between 1 and {ROUTES_MAX}", self.count));
        }
        let runtime = runtime()?;
        let options = SmscOptions { keep: self.keep, ..SmscOptions::sink() };
        let carriers = runtime.block_on(async {
            let mut carriers = Vec::with_capacity(self.count);
            for _ in 0..self.count {
                carriers.push(Smsc::start(options.clone()).await.map_err(|error| error.to_string())?);
            }
            Ok::<_, String>(carriers)
        })?;
        let addresses: Vec<String> = carriers.iter().map(|carrier| carrier.address().to_string()).collect();
        connection(&addresses, || {
            let moments = |carrier: &Smsc| -> Vec<u64> {
                carrier.messages(self.keep).iter().map(|message| message.at_us).collect()
            };
            Ok(carriers.iter().map(moments).collect::<Vec<_>>())
        })
    }
}

fn run_front() -> Result<(), String> {
    let runtime = runtime()?;
    let cores = Cores::one_per_core().map_err(|error| format!("no threads for connections: {error}"))?;
    let (address, _serving) =
        runtime.block_on(front::start(cores)).map_err(|error| format!("the front: {error}"))?;
    connection(&[address.to_string()], || Ok(()))
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.map_err(|error| format!("no runtime: {error}"))
}

fn connection<T: Serialize>(
    addresses: &[String],
    totals: impl Fn() -> Result<T, String>,
) -> Result<(), String> {
    let describe = |error: std::io::Error| format!("the parent process is gone: {error}");
    let mut output = std::io::stdout().lock();
    writeln!(output, "listening on {}", addresses.join(",")).map_err(describe)?;
    output.flush().map_err(describe)?;
    for line in std::io::stdin().lock().lines() {
        line.map_err(describe)?;
        let totals = serde_json::to_string(&totals()?).map_err(|error| error.to_string())?;
        writeln!(output, "{totals}").map_err(describe)?;
        output.flush().map_err(describe)?;
    }
    Ok(())
}
