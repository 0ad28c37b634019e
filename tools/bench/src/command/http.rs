//! `campanile bench http`.

use super::{Common, Figure, OutputFormat, judged};
use crate::http::{self, Amount, HttpOptions};
use crate::measured::{Measured, csv};
use clap::Args;
use plot::{self, Curve, Scale};
use records::ChannelNumber;
use std::path::Path;
use std::time::Duration;

/// `bench http`.
#[derive(Debug, Args)]
pub struct HttpArgs {
    /// Endpoints that each alert lists
    #[arg(long, value_name = "N", default_value_t = 16)]
    endpoints: u64,
    /// Channel of the endpoints
    #[arg(long, value_name = "CHANNEL", default_value = "mail", value_parser = channels::number)]
    channel: ChannelNumber,
    /// Clients, each with one request in flight
    #[arg(long, value_name = "T", default_value_t = 40)]
    threads: u64,
    /// Requests of each client
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    count: Option<u64>,
    /// Duration in seconds [default: 10]
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// Mean of the exponential gaps before a client's requests, ms
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    gap_ms: f64,
    /// Divide the published gaps by this
    #[arg(long, value_name = "X", default_value_t = 1.0, requires = "paper")]
    time_scale: f64,
    /// Print the published table of message sizes only
    #[arg(long, conflicts_with_all = ["paper", "server", "count", "seconds"])]
    sizes: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

impl HttpArgs {
    pub(super) async fn run(self, program: &Path) -> Result<(), String> {
        let common = &self.common;
        let seconds = self.seconds.unwrap_or(10.0);
        if !(seconds.is_finite() && seconds > 0.0 && self.gap_ms.is_finite() && self.gap_ms >= 0.0) {
            return Err("--seconds and --gap-ms: positive numbers".to_owned());
        }
        let options = self.options(program, seconds);
        if common.paper {
            return self.run_paper(&options).await;
        }
        if self.sizes {
            let measured = http::run_sizes(&options).await?;
            self.show_sizes(&measured)?;
            return judged(&measured);
        }
        let measured = vec![http::run(&options).await?];
        let points = measured.iter().filter_map(|m| Some((m.number("threads")?, m.rate_per_s))).collect();
        let curves = vec![Curve { name: format!("{} endpoints", self.endpoints), points }];
        let figure = Figure {
            title: "Submission over HTTP",
            axes: ["threads", "requests/s"],
            scale: Scale::Logarithmic,
            curves,
        };
        common.show("http", &measured, http::rows(&measured), figure)
    }

    fn options(&self, program: &Path, seconds: f64) -> HttpOptions {
        let common = &self.common;
        HttpOptions {
            program: program.to_owned(),
            folder: common.folder.clone(),
            server: common.server.clone().map(|server| (server, common.token.clone())),
            endpoints: self.endpoints,
            channel: self.channel,
            threads: self.threads,
            amount: self.count.map_or(Amount::For(Duration::from_secs_f64(seconds)), Amount::Each),
            gap: Duration::from_secs_f64(self.gap_ms / 1e3),
            fsync: common.fsync.clone(),
            seed: 1,
        }
    }

    async fn run_paper(&self, options: &HttpOptions) -> Result<(), String> {
        let common = &self.common;
        if !(self.time_scale >= 1.0 && self.time_scale.is_finite()) {
            return Err("--time-scale: a number from 1 on".to_owned());
        }
        let paper = http::run_paper(options, self.time_scale).await?;
        let (head, rows) = http::paper_rows(&paper.submissions);
        if common.format == OutputFormat::Table {
            if self.time_scale > 1.0 {
                println!("The published gaps (mean 150 ms) are divided by {}.", self.time_scale);
            }
            println!("Submission alone (published: table 2)\n");
        }
        common.print(&paper.submissions, (&head, &rows))?;
        if let Some(folder) = common.folder_out()? {
            common.write("http-paper.csv", &csv(&head, &rows))?;
            let (title, curves) =
                ("Submission over HTTP, ours and published", http::curves(&paper.submissions));
            let axes = ["threads", "requests/s"];
            plot::draw(&folder.join("http-paper.svg"), title, axes, Scale::Logarithmic, &curves)?;
        }
        if common.format == OutputFormat::Table {
            println!();
        }
        self.show_sizes(&paper.sizes)?;
        judged(&[paper.submissions, paper.sizes].concat())
    }

    /// Prints, writes and draws the table of message sizes.
    fn show_sizes(&self, measured: &[Measured]) -> Result<(), String> {
        let common = &self.common;
        let (head, rows) = http::sizes_rows(measured);
        if common.format == OutputFormat::Table {
            println!(
                "Octets of a submission's body: endpoints listed, compressed, as a group \
                 (published: table 1, listed)\n"
            );
        }
        common.print(measured, (&head, &rows))?;
        if let Some(folder) = common.folder_out()? {
            common.write("http-paper-sizes.csv", &csv(&head, &rows))?;
            let (title, curves) = ("Size of a submission, ours and published", http::sizes_curves(measured));
            let axes = ["endpoints", "octets"];
            plot::draw(&folder.join("http-paper-sizes.svg"), title, axes, Scale::Logarithmic, &curves)?;
        }
        Ok(())
    }
}
