//! The benches on the command line: `campanile bench …`.

use crate::alert::{self, AlertOptions};
use crate::http::{self, Amount, HttpOptions};
use crate::measured::{Measured, csv, table};
use crate::plot::{self, Curve};
use clap::{Args, Subcommand, ValueEnum};
use records::Channel;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Load and measure.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// One alert to many: endpoints a second from its submission to the last acceptance by a carrier.
    #[command(after_help = "Examples:
  campanile bench alert --recipients 100000
  campanile bench alert --recipients 1024,8192,100000 --channels sms,mail --ack --out figures
  campanile bench alert --paper --out figures")]
    Alert(AlertArgs),
    /// Submission alone: alerts a second over HTTP, each listing its endpoints.
    #[command(after_help = "Examples:
  campanile bench http --endpoints 16 --threads 40 --seconds 10
  campanile bench http --paper --time-scale 10 --out figures")]
    Http(HttpArgs),
}

/// What all benches take.
#[derive(Debug, Args)]
struct Common {
    /// A table for people, or one JSON object a line
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Writes CSV and SVG here too
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where the server's folder is made: the disk that is measured [default: the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Measures a server that runs already, by its answers and reports alone
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// That server's token
    #[arg(long, env = "CAMPANILE_TOKEN", hide_env_values = true, value_name = "TOKEN", default_value = "")]
    token: String,
    /// When an append is done: always, interval:5ms, os
    #[arg(long, value_name = "WHEN", default_value = "always")]
    fsync: String,
    /// Reruns the published tables beside their figures
    #[arg(long, conflicts_with = "server")]
    paper: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    #[value(alias = "text")]
    Table,
    /// For programs
    Json,
}

/// `bench alert`.
#[derive(Debug, Args)]
pub struct AlertArgs {
    /// People; several numbers are several runs
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "100000")]
    recipients: Vec<u64>,
    /// Each has an address on each of these
    #[arg(long, value_name = "CHANNELS", value_delimiter = ',', default_value = "sms")]
    channels: Vec<Channel>,
    /// Everybody answers; the run ends with the last answer
    #[arg(long)]
    ack: bool,
    /// Share of the people whose text has their name in it
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    personal: f64,
    /// Carriers send no receipts
    #[arg(long)]
    no_receipts: bool,
    /// Sessions of each route
    #[arg(long, value_name = "N", default_value_t = 2)]
    sessions: u32,
    /// Submissions in flight on each session
    #[arg(long, value_name = "N", default_value_t = 500)]
    window: u32,
    /// The town's seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    common: Common,
}

/// `bench http`.
#[derive(Debug, Args)]
pub struct HttpArgs {
    /// Endpoints that each alert lists
    #[arg(long, value_name = "N", default_value_t = 16)]
    endpoints: u64,
    /// On which channel they are
    #[arg(long, value_name = "CHANNEL", default_value = "mail")]
    channel: Channel,
    /// Clients, each with one request in flight
    #[arg(long, value_name = "T", default_value_t = 40)]
    threads: u64,
    /// Requests of each client
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    count: Option<u64>,
    /// How long [default: 10]
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// Mean of the exponential gaps before a client's requests, ms
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    gap_ms: f64,
    /// Divides the published gaps
    #[arg(long, value_name = "X", default_value_t = 1.0, requires = "paper")]
    time_scale: f64,
    #[command(flatten)]
    common: Common,
}

impl Command {
    /// Runs the bench; `program` is the campanile whose server and simulators run.
    ///
    /// # Errors
    /// In words; also when a run was measured and something in it was not right.
    pub fn run(self, program: &Path) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
        runtime.block_on(async {
            match self {
                Command::Alert(args) => args.run(program).await,
                Command::Http(args) => args.run(program).await,
            }
        })
    }
}

impl AlertArgs {
    async fn run(self, program: &Path) -> Result<(), String> {
        let common = &self.common;
        if common.paper {
            let measured = alert::run_paper(program.to_owned(), common.folder.clone(), &common.fsync).await?;
            let curves = alert::paper_curves(&measured);
            let title = "One alert to the last mailbox, ours and published";
            let figure = Figure { title, axes: ["mail endpoints", "seconds"], curves };
            return common.show("alert-paper", &measured, alert::paper_rows(&measured), figure);
        }
        if !(0.0..=1.0).contains(&self.personal) {
            return Err("--personal: a share is from 0 to 1".to_owned());
        }
        let mut measured = Vec::new();
        for &recipients in &self.recipients {
            let options = AlertOptions {
                folder: common.folder.clone(),
                server: common.server.clone().map(|server| (server, common.token.clone())),
                channels: self.channels.clone(),
                ack: self.ack,
                personal: self.personal,
                receipts: !self.no_receipts,
                fsync: common.fsync.clone(),
                sessions: self.sessions,
                window: self.window,
                seed: self.seed,
                ..AlertOptions::new(program.to_owned(), recipients)
            };
            measured.push(alert::run(&options).await?);
        }
        let points = measured.iter().filter_map(|m| Some((m.number("endpoints")?, m.rate_per_s))).collect();
        let curves = vec![Curve { name: "endpoints/s".to_owned(), points }];
        let axes = ["endpoints", "endpoints/s to the last acceptance"];
        common.show("alert", &measured, alert::rows(&measured), Figure { title: "One alert", axes, curves })
    }
}

impl HttpArgs {
    async fn run(self, program: &Path) -> Result<(), String> {
        let common = &self.common;
        if common.paper {
            if !(self.time_scale >= 1.0 && self.time_scale.is_finite()) {
                return Err("--time-scale: a number from 1 on".to_owned());
            }
            let folder = common.folder.clone();
            let measured =
                http::run_paper(program.to_owned(), folder, &common.fsync, self.time_scale).await?;
            if self.time_scale > 1.0 && common.format == Format::Table {
                println!("The published gaps (mean 150 ms) are divided by {}.", self.time_scale);
            }
            let (title, curves) = ("Submission over HTTP, ours and published", http::curves(&measured));
            let figure = Figure { title, axes: ["threads", "requests/s"], curves };
            return common.show("http-paper", &measured, http::paper_rows(&measured), figure);
        }
        let seconds = self.seconds.unwrap_or(10.0);
        if !(seconds.is_finite() && seconds > 0.0 && self.gap_ms.is_finite() && self.gap_ms >= 0.0) {
            return Err("--seconds and --gap-ms: positive numbers".to_owned());
        }
        let options = HttpOptions {
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
        };
        let measured = vec![http::run(&options).await?];
        let points = measured.iter().filter_map(|m| Some((m.number("threads")?, m.rate_per_s))).collect();
        let curves = vec![Curve { name: format!("{} endpoints", self.endpoints), points }];
        let figure = Figure { title: "Submission over HTTP", axes: ["threads", "requests/s"], curves };
        common.show("http", &measured, http::rows(&measured), figure)
    }
}

struct Figure {
    title: &'static str,
    axes: [&'static str; 2],
    curves: Vec<Curve>,
}

impl Common {
    /// Prints, writes and draws; what was not right makes the command fail.
    fn show(
        &self,
        name: &str,
        measured: &[Measured],
        (head, rows): (Vec<&str>, Vec<Vec<String>>),
        figure: Figure,
    ) -> Result<(), String> {
        match self.format {
            Format::Table => print!("{}", table(&head, &rows)),
            Format::Json => {
                for one in measured {
                    println!("{}", serde_json::to_string(one).map_err(|error| error.to_string())?);
                }
            }
        }
        if let Some(folder) = &self.out {
            let said = |error: std::io::Error| format!("{}: {error}", folder.display());
            std::fs::create_dir_all(folder).map_err(said)?;
            std::fs::write(folder.join(format!("{name}.csv")), csv(&head, &rows)).map_err(said)?;
            plot::draw(&folder.join(format!("{name}.svg")), figure.title, figure.axes, &figure.curves)?;
        }
        match measured.iter().map(|one| one.errors).sum::<u64>() {
            0 => Ok(()),
            errors => Err(format!("{errors} answers or endpoints were not as they should be")),
        }
    }
}
