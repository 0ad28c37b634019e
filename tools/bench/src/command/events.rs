//! `campanile bench events`.

use super::{Common, Figure};
use crate::events::{self, EventsOptions};
use clap::Args;
use plot::{Curve, Scale};
use std::path::Path;
use std::time::Duration;

/// `bench events`.
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// Streams that are open; several numbers are several runs
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "500", value_parser = clap::value_parser!(u16).range(1..=700))]
    streams: Vec<u16>,
    /// People of the alert
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    recipients: u64,
    /// Duration of the alert in seconds
    #[arg(long, value_name = "S", default_value_t = 20.0)]
    seconds: f64,
    #[command(flatten)]
    pub(super) common: Common,
}

impl EventsArgs {
    pub(super) async fn run(self, program: &Path) -> Result<(), String> {
        let common = &self.common;
        if !self.seconds.is_finite() || self.seconds <= 0.0 {
            return Err("--seconds: a positive number".to_owned());
        }
        if common.paper || common.server.is_some() {
            return Err(
                "events: nothing is published, and it reads the CPU time of a server of its own; leave out \
                        --paper and --server"
                    .to_owned(),
            );
        }
        let mut measured = Vec::new();
        for streams in &self.streams {
            let options = EventsOptions {
                program: program.to_owned(),
                folder: common.folder.clone(),
                streams: usize::from(*streams),
                recipients: self.recipients,
                time: Duration::from_secs_f64(self.seconds),
                fsync: common.fsync.clone(),
            };
            measured.push(events::run(&options).await?);
        }
        let points =
            measured.iter().filter_map(|m| Some((m.number("streams")?, m.number("cpu_share_of_a_core")?)));
        let curves = vec![Curve { name: "of a core".to_owned(), points: points.collect() }];
        let axes = ["streams", "share of a core"];
        let figure = Figure { title: "What open streams cost", axes, scale: Scale::Linear, curves };
        common.show("events", &measured, events::rows(&measured), figure)
    }
}
