//! `campanile bench diameter`.

use super::{Common, Figure, OutputFormat, judged};
use crate::deployment::Placement;
use crate::diameter::{self, DiameterOptions, Experiment, Pattern, StudyOptions};
use crate::measured::{csv, table};
use clap::Args;
use plot::{self, Scale};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The published counts are divided by so much in an experiment, unless it is said.
const STUDY_SCALE: f64 = 10.0;
/// The most requests a second that can be asked for.
const RATE_MAX: f64 = 10_000_000.0;

/// `bench diameter`.
#[derive(Debug, Args)]
pub struct DiameterArgs {
    /// Connections, each a peer of its own
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "50",
        value_parser = clap::value_parser!(u16).range(1..=20_000))]
    connections: Vec<u16>,
    /// Requests in flight on each connection; as many numbers as connections, or one for all
    #[arg(long, value_name = "W", value_delimiter = ',', default_value = "64",
        value_parser = clap::value_parser!(u16).range(1..=10_000))]
    window: Vec<u16>,
    /// Requests a second, due at fixed times whatever the server does; response times count from then
    #[arg(long, value_name = "R", value_delimiter = ',', conflicts_with_all = ["paper", "experiment"])]
    rate: Vec<f64>,
    /// Pattern of requests
    #[arg(long, value_enum, value_name = "PATTERN", default_value = "event")]
    pattern: Pattern,
    /// Number of accounts that requests are spread over
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "100000",
        value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    accounts: Vec<u32>,
    /// Threads of the load
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// Requests of a run
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    count: Option<u64>,
    /// Duration in seconds [default: 10]
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// Runs of each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=101))]
    rounds: u16,
    /// Transport of the clients
    #[arg(long, value_enum, value_name = "TRANSPORT", default_value = "tcp",
        conflicts_with_all = ["paper", "experiment"])]
    transport: diameter::Transport,
    /// Measure a bare server in turns with ours, by TCP
    #[arg(long)]
    floor: bool,
    /// Rerun an experiment of the published study
    #[arg(long, value_enum, value_name = "WHICH", value_delimiter = ',',
        conflicts_with_all = ["paper", "server", "count", "seconds", "floor"])]
    experiment: Vec<Experiment>,
    /// Divide the published counts by this [default: 1, of experiments 10]
    #[arg(long, value_name = "X")]
    time_scale: Option<f64>,
    /// Folder where an experiment looks for allocators first
    #[arg(long, value_name = "DIR", requires = "experiment")]
    libraries: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: Common,
}

impl DiameterArgs {
    pub(super) async fn run(self, program: &Path) -> Result<(), String> {
        if self.seconds.is_some_and(|seconds| !(seconds.is_finite() && seconds > 0.0)) {
            return Err("--seconds: a positive number".to_owned());
        }
        if self.rate.iter().any(|rate| !(*rate > 0.0 && *rate <= RATE_MAX)) {
            return Err(format!("--rate: above 0, at most {RATE_MAX}"));
        }
        if self.time_scale.is_some_and(|scale| !(scale >= 1.0 && scale.is_finite())) {
            return Err("--time-scale: a number from 1 on".to_owned());
        }
        if self.time_scale.is_some() && !self.common.paper && self.experiment.is_empty() {
            return Err("--time-scale goes with --paper or --experiment".to_owned());
        }
        if self.window.len() != 1 && self.window.len() != self.connections.len() {
            return Err("--window: as many numbers as --connections, or one".to_owned());
        }
        if self.floor && self.transport != diameter::Transport::Tcp {
            return Err("--floor: the bare server has TCP only".to_owned());
        }
        if self.common.server.is_some() && self.transport == diameter::Transport::Tls {
            return Err(
                "--transport tls: only a server that the bench starts, whose certificate it knows".to_owned()
            );
        }
        if self.common.paper {
            return self.run_paper(program).await;
        }
        if !self.experiment.is_empty() {
            return self.run_experiments(program).await;
        }
        let common = &self.common;
        let mut measured = Vec::new();
        for options in self.options(program) {
            measured.extend(diameter::run(&options).await?);
        }
        let axes = ["connections", "requests/s"];
        let curves = diameter::curves(&measured);
        let figure = Figure { title: "Credit control", axes, scale: Scale::Logarithmic, curves };
        common.show("diameter", &measured, diameter::rows(&measured), figure)
    }

    /// A run for each combination.
    fn options(&self, program: &Path) -> Vec<DiameterOptions> {
        let rates: Vec<Option<f64>> =
            if self.rate.is_empty() { vec![None] } else { self.rate.iter().copied().map(Some).collect() };
        let mut all = Vec::new();
        for &accounts in &self.accounts {
            for (place, &connections) in self.connections.iter().enumerate() {
                let window = *self.window.get(place).unwrap_or(&self.window[0]);
                for &rate in &rates {
                    let one = self.one(program, accounts, connections.into(), window.into());
                    all.push(DiameterOptions { rate, ..one });
                }
            }
        }
        all
    }

    fn one(&self, program: &Path, accounts: u32, connections: usize, window: usize) -> DiameterOptions {
        let common = &self.common;
        let time = || diameter::Amount::For(Duration::from_secs_f64(self.seconds.unwrap_or(10.0)));
        DiameterOptions {
            program: program.to_owned(),
            folder: common.folder.clone(),
            server: common.server.clone(),
            fsync: common.fsync.clone(),
            connections,
            window,
            pattern: self.pattern,
            accounts,
            threads: self.threads.into(),
            amount: self.count.map_or_else(time, diameter::Amount::Of),
            transport: self.transport,
            floor: self.floor,
            rounds: self.rounds.into(),
            rate: None,
            placement: Placement::default(),
            load_cpus: Vec::new(),
        }
    }

    async fn run_paper(&self, program: &Path) -> Result<(), String> {
        let (common, scale) = (&self.common, self.time_scale.unwrap_or(1.0));
        let options = self.one(program, self.accounts[0], 0, self.window[0].into());
        let paper = diameter::run_paper(&options, scale).await?;
        let (head, rows) = paper.rows();
        if common.format == OutputFormat::Table {
            if scale > 1.0 {
                println!("The published 3,000,000 requests are divided by {scale}.");
            }
            println!(
                "50 clients on so many processors of the server; published: parallel efficiency of the rate\n"
            );
            if paper.is_crowded() {
                println!(
                    "Where the load is on the same processors as the server, the rate is what both leave to each other.\n"
                );
            }
        }
        common.print(paper.measured(), (&head, &rows))?;
        if let Some(folder) = common.folder_out()? {
            common.write("diameter-paper.csv", &csv(&head, &rows))?;
            let (path, title) =
                (folder.join("diameter-paper.svg"), "Parallel efficiency, ours and published");
            let axes = ["processors of the server", "percent"];
            plot::draw(&path, title, axes, Scale::Linear, &paper.curves())?;
        }
        judged(paper.measured())
    }

    async fn run_experiments(&self, program: &Path) -> Result<(), String> {
        let common = &self.common;
        let server = DiameterOptions { rounds: 1, ..self.one(program, self.accounts[0], 0, 0) };
        let options = StudyOptions {
            server,
            time_scale: self.time_scale.unwrap_or(STUDY_SCALE),
            libraries: self.libraries.clone(),
            rounds: self.rounds.into(),
        };
        let mut measured = Vec::new();
        for &experiment in &self.experiment {
            let report = diameter::run_study(experiment, &options).await?;
            let (head, rows) = report.rows();
            if common.format == OutputFormat::Table {
                println!("{}\n{}\n", report.title(), report.notes().join("\n"));
                println!("{}", table(&head, &rows).trim_end());
                println!();
            } else {
                common.print(&report.measured(), (&head, &rows))?;
            }
            if let Some(folder) = common.folder_out()? {
                common.write(&format!("{}.csv", report.name()), &csv(&head, &rows))?;
                let path = folder.join(format!("{}.svg", report.name()));
                let places = report.places();
                plot::draw_bars(&path, report.title(), [&places, "times the first"], &report.bars())?;
            }
            measured.extend(report.measured());
        }
        judged(&measured)
    }
}
