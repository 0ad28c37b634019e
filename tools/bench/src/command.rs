//! The benches on the command line: `campanile bench …`.

mod credit;
mod events;
mod http;
mod sign_in;
#[cfg(test)]
mod tests;
mod udp;

pub use credit::DiameterArgs;
pub use events::EventsArgs;
pub use http::HttpArgs;
pub use sign_in::SignInArgs;
pub use udp::UdpArgs;

use crate::alert::{self, AlertOptions};
use crate::measured::{Measured, csv, table};
use crate::smpp::{self, Amount as Messages, CarriersOptions, PartArgs, Peer, Side, SmppOptions};
use crate::topics::{self, TopicsOptions};
use clap::{Args, Subcommand, ValueEnum};
use plot::{self, Curve, Scale};
use records::ChannelNumber;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Load and measure.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// One alert to many: endpoints a second from its submission to the last acceptance by a carrier.
    #[command(after_help = "Examples:
  campanile bench alert --recipients 100000
  campanile bench alert --recipients 1024,8192,100000 --channels sms,mail --ack --out figures
  campanile bench alert --recipients 10000 --channels webhook
  campanile bench alert --paper --out figures")]
    Alert(AlertArgs),
    /// Submission alone: alerts a second over HTTP, each listing its endpoints.
    #[command(after_help = "Examples:
  campanile bench http --endpoints 16 --threads 40 --seconds 10
  campanile bench http --sizes
  campanile bench http --paper --time-scale 10 --out figures")]
    Http(HttpArgs),
    /// Streams of browsers while an alert is sent: events, their size, and the CPU time that they cost the
    /// server.
    #[command(
        after_help = "The alert is sent twice, first without a stream: the difference of the server's CPU time is theirs. Each stream has to
end with the counts of the report. Each run has a server of its own.

Examples:
  campanile bench events
  campanile bench events --streams 10,100,500 --recipients 100000 --seconds 20 --out figures"
    )]
    Events(EventsArgs),
    /// People who sign in: sign-ins a second, and how long /healthz takes meanwhile.
    #[command(
        after_help = "Users sign in by name and password at fixed times, whether or not those before are answered; the time of an answer is
counted from when it was due. Meanwhile somebody looks at /healthz each 10 ms. Each run has a server of its own.

Examples:
  campanile bench sign-in
  campanile bench sign-in --rate 10,25,50,100 --users 200 --seconds 20 --out figures"
    )]
    SignIn(SignInArgs),
    /// SMPP client, server and gateway: messages a second, and CPU time of each.
    #[command(
        after_help = "The client runs against a bare sink in a process of its own, the server is fed by a bare generator; every
message is a distinct one, every response is matched in its window. Ranges make several runs.
CPU seconds per million are the figures to compare.

Examples:
  campanile bench smpp --side client --window 1,10,100,500 --connections 1,4,50 --seconds 3 --out figures
  campanile bench smpp --side server --window 500 --count 2000000 --fsync os
  campanile bench smpp --side gateway --connections 20,256 --count 200000 --fsync os,always
  campanile bench smpp --carriers 1,5,50,500 --rate 5 --seconds 60 --out figures
  campanile bench smpp --paper --out figures"
    )]
    Smpp(Box<SmppArgs>),
    /// The topic protocol: requests a second of posters and readers, every reply checked.
    #[command(
        after_help = "Readers read among the newest 10,000 messages of a topic; posters check that indexes rise. Ranges make several runs.
With --floor a bare blocking server (a thread per connection, a parser by hand) is measured in turns with ours.

Examples:
  campanile bench topics --posters 1,3 --readers 1,3 --floor --rounds 5
  campanile bench topics --posters 3 --readers 3 --depth 64 --durability memory,os
  campanile bench topics --posters 64,256 --readers 0 --durability disk --folder /var/tmp
  campanile bench topics --posters 2 --readers 2 --connections 10000
  campanile bench topics --paper --time-scale 10 --out figures"
    )]
    Topics(Box<TopicsArgs>),
    /// Credit control: requests a second over Diameter, with every answer checked, and every account's
    /// balance afterwards.
    #[command(
        after_help = "Events debit one unit; sessions open, update and end with two services each. Ranges make several runs. Each run begins with
events that open its accounts, which are not measured. With --floor a bare server without state is measured in turns with ours.
Each answer releases the next request (closed loop). With --rate requests are due at fixed times (open loop), and the
time of an answer is counted from the due time of its request.
Experiments are those of the published study, with its counts divided by 10 unless --time-scale is given.

Examples:
  campanile bench diameter --connections 50 --window 64 --seconds 10
  campanile bench diameter --rate 50000,100000,200000 --seconds 10
  campanile bench diameter --pattern session --accounts 100000
  campanile bench diameter --pattern open5gs --count 30000   (10,000 sessions)
  campanile bench diameter --connections 1,50 --window 3200,64 --floor --rounds 5
  campanile bench diameter --paper --rounds 3 --out figures
  campanile bench diameter --experiment allocator,queue --time-scale 100 --rounds 3 --out figures"
    )]
    Diameter(Box<DiameterArgs>),
    /// Paced UDP: packets a second and the evenness of their gaps, by the stamps of the receiver's kernel.
    #[command(
        after_help = "One process sends, another receives, over loopback. CPU seconds per million: `server` in JSON is the sender's, `load` the
receiver's; times are those from one to the other. A gap counts as near if it differs by at most 20 % from the ideal one; the worst
millisecond is a multiple of the rate asked for. Ranges make several runs.
With --iperf3 Debian's iperf3 is measured in turns with ours: its rate, loss and CPU as it reports them (in whole seconds), its gaps in
a second run to a socket of ours. With --paper iperf3 is measured too where it is on the PATH.

Examples:
  campanile bench udp --rate 100M,1G,10G --threads 1 --rounds 5 --iperf3
  campanile bench udp --rate 10G --mss 1024,1472,8972 --threads 1,2,3,4 --out figures
  campanile bench udp --rate 1G --threads 1 --burst 1 --rule capped
  campanile bench udp --rate steps:0s=10M,5s=10G,10s=10M --seconds 15
  campanile bench udp --paper --time-scale 5 --out figures"
    )]
    Udp(Box<UdpArgs>),
    /// A process that a bench starts for itself
    #[command(hide = true)]
    Part(PartArgs),
}

/// Options of all benches.
#[derive(Debug, Args)]
struct Common {
    /// Output format: a table, or one JSON object a line
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
    /// Folder for CSV and SVG
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Folder on the disk to measure; the server's data folder is made in it [default: the system's temporary
    /// folder]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Measure this running server, by its answers and reports alone
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// That server's token
    #[arg(long, env = "CAMPANILE_TOKEN", hide_env_values = true, value_name = "TOKEN", default_value = "")]
    token: String,
    /// [bus] fsync of the server: always, interval:5ms, os
    #[arg(long, value_name = "WHEN", default_value = "always")]
    fsync: String,
    /// Rerun the published tables, with their figures beside ours
    #[arg(long, conflicts_with = "server")]
    paper: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    /// For people
    #[value(alias = "text")]
    Table,
    /// For programs
    Json,
}

/// `bench alert`.
#[derive(Debug, Args)]
pub struct AlertArgs {
    /// Number of people; several numbers are several runs
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "100000")]
    recipients: Vec<u64>,
    /// Channels; each person has an address on each
    #[arg(long, value_name = "CHANNELS", value_delimiter = ',', default_value = "sms", value_parser = channels::number)]
    channels: Vec<ChannelNumber>,
    /// Everybody answers, and the run ends with the last answer
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

/// `bench smpp`.
#[derive(Debug, Args)]
pub struct SmppArgs {
    /// Side to measure
    #[arg(long, value_enum, value_name = "SIDE", required_unless_present_any = ["paper", "carriers"])]
    side: Option<Side>,
    /// Requests in flight on each connection
    #[arg(long, value_name = "W", value_delimiter = ',', default_value = "500",
        value_parser = clap::value_parser!(u16).range(1..=10_000))]
    window: Vec<u16>,
    /// Connections; for the gateway those of HTTP [default: 1, gateway: 20]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1_000))]
    connections: Vec<u16>,
    /// Messages of a run
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..=smpp::COUNT_MAX))]
    count: Option<u64>,
    /// Duration in seconds [default: 10, of carriers 60]
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// Number of routes in one process, each at its limit with work queued
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with_all = ["side", "server", "count"])]
    carriers: Vec<usize>,
    /// The limit of each carrier, messages a second
    #[arg(long, value_name = "R", default_value_t = 5.0)]
    rate: f64,
    /// system_id, or user of sendsms, at a running server
    #[arg(long, value_name = "NAME", default_value = "bench", requires = "server")]
    system_id: String,
    /// Password of the system_id or user
    #[arg(
        long,
        value_name = "WORD",
        default_value = "bench",
        requires = "server",
        hide_default_value = true
    )]
    password: String,
    #[command(flatten)]
    common: Common,
}

/// `bench topics`.
#[derive(Debug, Args)]
pub struct TopicsArgs {
    /// Threads that post
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1",
        value_parser = clap::value_parser!(u16).range(0..=1_000))]
    posters: Vec<u16>,
    /// Threads that read; as many numbers as posters, or one for all
    #[arg(long, value_name = "M", value_delimiter = ',', default_value = "1",
        value_parser = clap::value_parser!(u16).range(0..=1_000))]
    readers: Vec<u16>,
    /// Requests in flight on each connection
    #[arg(long, value_name = "D", value_delimiter = ',', default_value = "1",
        value_parser = clap::value_parser!(u16).range(1..=1_000))]
    depth: Vec<u16>,
    /// Number of topics that requests are spread over
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=8))]
    topics: u8,
    /// Connections, spread over the threads [default: one each]
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=60_000))]
    connections: u32,
    /// Durability of a message when it is answered: memory, os, disk
    #[arg(long, value_name = "HOW", value_delimiter = ',', default_value = "memory")]
    durability: Vec<String>,
    /// Duration in seconds
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    seconds: f64,
    /// Runs, of which the middle one counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=101))]
    rounds: u16,
    /// Measure a bare blocking server in turns with ours
    #[arg(long)]
    floor: bool,
    /// Divide the ten seconds of the published attempts by this
    #[arg(long, value_name = "X", default_value_t = 1.0, requires = "paper")]
    time_scale: f64,
    #[command(flatten)]
    common: Common,
}

impl BenchCommand {
    /// Whether it starts campanile's server or simulators.
    pub fn needs_campanile(&self) -> bool {
        let common = match self {
            BenchCommand::Alert(args) => &args.common,
            BenchCommand::Http(args) => &args.common,
            BenchCommand::Events(args) => &args.common,
            BenchCommand::SignIn(args) => &args.common,
            BenchCommand::Smpp(args) => &args.common,
            BenchCommand::Topics(args) => &args.common,
            BenchCommand::Diameter(args) => &args.common,
            BenchCommand::Udp(_) | BenchCommand::Part(_) => return false,
        };
        common.server.is_none()
    }

    /// Runs the bench; `program` is the campanile whose server and simulators run.
    ///
    /// # Errors
    /// In words; also when a run was measured and something in it was not right.
    pub fn run(self, program: &Path) -> Result<(), String> {
        if let BenchCommand::Part(part) = self {
            return part.run();
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
        runtime.block_on(async {
            match self {
                BenchCommand::Alert(args) => args.run(program).await,
                BenchCommand::Http(args) => args.run(program).await,
                BenchCommand::Events(args) => args.run(program).await,
                BenchCommand::SignIn(args) => args.run(program).await,
                BenchCommand::Smpp(args) => args.run(program).await,
                BenchCommand::Topics(args) => args.run(program).await,
                BenchCommand::Diameter(args) => args.run(program).await,
                BenchCommand::Udp(args) => args.run().await,
                // Above.
                BenchCommand::Part(_) => Ok(()),
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
            let figure =
                Figure { title, axes: ["mail endpoints", "seconds"], scale: Scale::Logarithmic, curves };
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
        common.show(
            "alert",
            &measured,
            alert::rows(&measured),
            Figure { title: "One alert", axes, scale: Scale::Logarithmic, curves },
        )
    }
}

impl SmppArgs {
    async fn run(self, program: &Path) -> Result<(), String> {
        if self.common.paper {
            return self.run_paper(program).await;
        }
        if self.seconds.is_some_and(|seconds| !(seconds.is_finite() && seconds > 0.0)) {
            return Err("--seconds: a positive number".to_owned());
        }
        if !self.carriers.is_empty() {
            return self.run_carriers(program).await;
        }
        let mut measured = Vec::new();
        for options in self.options(program)? {
            measured.extend(smpp::run(&options).await?);
        }
        let curves = smpp::curves(&measured);
        let figure =
            Figure { title: "SMPP", axes: ["window", "messages/s"], scale: Scale::Logarithmic, curves };
        self.common.show("smpp", &measured, smpp::rows(&measured), figure)
    }

    /// A run for each combination.
    fn options(&self, program: &Path) -> Result<Vec<SmppOptions>, String> {
        let common = &self.common;
        let side = self.side.ok_or("--side: client, server or gateway")?;
        let time = || Messages::For(Duration::from_secs_f64(self.seconds.unwrap_or(10.0)));
        let usual = if side == Side::Gateway { &[20][..] } else { &[1][..] };
        let connections = if self.connections.is_empty() { usual } else { &self.connections };
        let mut all = Vec::new();
        for fsync in common.fsync.split(',') {
            for connections in connections.iter().copied() {
                for window in self.window.iter().copied() {
                    all.push(SmppOptions {
                        folder: common.folder.clone(),
                        window: window.into(),
                        connections: connections.into(),
                        amount: self.count.map_or_else(time, Messages::Of),
                        fsync: fsync.to_owned(),
                        server: common.server.clone().map(|address| Peer {
                            address,
                            system_id: self.system_id.clone(),
                            password: self.password.clone(),
                        }),
                        ..SmppOptions::new(program.to_owned(), side)
                    });
                }
            }
        }
        Ok(all)
    }

    async fn run_carriers(&self, program: &Path) -> Result<(), String> {
        let common = &self.common;
        let mut measured = Vec::new();
        for &routes in &self.carriers {
            let options = CarriersOptions {
                program: program.to_owned(),
                folder: common.folder.clone(),
                fsync: common.fsync.clone(),
                routes,
                rate: self.rate,
                time: Duration::from_secs_f64(self.seconds.unwrap_or(60.0)),
            };
            measured.push(smpp::run_carriers(&options).await?);
        }
        let curves = smpp::carriers_curves(&measured);
        let axes = ["route, from the slowest on", "messages/s, and the most in any second"];
        let figure = Figure { title: "Carriers at their limits", axes, scale: Scale::Linear, curves };
        common.show("smpp-carriers", &measured, smpp::carriers_rows(&measured), figure)
    }

    async fn run_paper(&self, program: &Path) -> Result<(), String> {
        let common = &self.common;
        let paper = smpp::run_paper(program.to_owned(), common.folder.clone(), &common.fsync).await?;
        let measured = paper.measured();
        let (generation, carriers) = (paper.generation_rows(), paper.carriers_rows());
        if common.format == OutputFormat::Table {
            println!("Time between the submissions of 500 messages (published: table 3)\n");
            print!("{}", table(&generation.0, &generation.1));
            println!(
                "\nMessages in each second to five carriers at 5/s each, 250 in all (published: table 7)\n"
            );
            print!("{}", table(&carriers.0, &carriers.1));
        } else {
            common.print(&measured, (&generation.0, &generation.1))?;
        }
        if let Some(folder) = common.folder_out()? {
            common.write("smpp-paper-generation.csv", &csv(&generation.0, &generation.1))?;
            common.write("smpp-paper-carriers.csv", &csv(&carriers.0, &carriers.1))?;
            let (path, bars) = (folder.join("smpp-paper-generation.svg"), paper.cycle_bars());
            let title = "Time between submissions (published: mean 8.7 ms)";
            plot::draw_bars(&path, title, ["microseconds", "submissions"], &bars)?;
            let (path, bars) = (folder.join("smpp-paper-carriers.svg"), paper.per_second_bars());
            let title = "Five carriers at 5/s: messages in a second";
            plot::draw_bars(&path, title, ["messages in a second", "seconds of all runs"], &bars)?;
        }
        judged(&measured)
    }
}

impl TopicsArgs {
    async fn run(self, program: &Path) -> Result<(), String> {
        let common = &self.common;
        if !(self.seconds.is_finite() && self.seconds > 0.0) {
            return Err("--seconds: a positive number".to_owned());
        }
        let all = self.options(program)?;
        if common.paper {
            return self.run_paper(all).await;
        }
        let mut measured = Vec::new();
        for options in all {
            measured.extend(topics::run(&options).await?);
        }
        let curves = topics::curves(&measured);
        let axes = ["connections", "requests/s"];
        let figure = Figure { title: "Topics", axes, scale: Scale::Logarithmic, curves };
        common.show("topics", &measured, topics::rows(&measured), figure)
    }

    /// A run for each combination.
    fn options(&self, program: &Path) -> Result<Vec<TopicsOptions>, String> {
        let common = &self.common;
        if self.readers.len() != 1 && self.readers.len() != self.posters.len() {
            return Err("--readers: as many numbers as --posters, or one".to_owned());
        }
        let mut all = Vec::new();
        for durability in &self.durability {
            if !["memory", "os", "disk"].contains(&durability.as_str()) {
                return Err(format!("--durability: {durability:?} is none of memory, os, disk"));
            }
            for (place, posters) in self.posters.iter().enumerate() {
                let readers = self.readers.get(place).unwrap_or(&self.readers[0]);
                if posters + readers == 0 {
                    return Err("--posters, --readers: at least one poster or reader is needed".to_owned());
                }
                for depth in &self.depth {
                    let token = (!common.token.is_empty()).then(|| common.token.clone());
                    all.push(TopicsOptions {
                        program: program.to_owned(),
                        folder: common.folder.clone(),
                        server: common.server.clone().map(|server| (server, token)),
                        fsync: common.fsync.clone(),
                        posters: (*posters).into(),
                        readers: (*readers).into(),
                        topics: self.topics.into(),
                        depth: (*depth).into(),
                        connections: self.connections as usize,
                        durability: durability.clone(),
                        time: Duration::from_secs_f64(self.seconds),
                        rounds: self.rounds.into(),
                        floor: self.floor,
                    });
                }
            }
        }
        Ok(all)
    }

    async fn run_paper(&self, all: Vec<TopicsOptions>) -> Result<(), String> {
        let common = &self.common;
        if !(self.time_scale >= 1.0 && self.time_scale.is_finite()) {
            return Err("--time-scale: a number from 1 on".to_owned());
        }
        let options = all.first().ok_or("--durability: memory, os or disk")?;
        let paper = topics::run_paper(options, self.time_scale).await?;
        let (attempts, statistics) = (paper.attempts_rows(), paper.statistics_rows());
        if common.format == OutputFormat::Table {
            if self.time_scale > 1.0 {
                println!("The published attempts (10 s) are divided by {}.", self.time_scale);
            }
            println!("Requests/s of one thread in each attempt (published: table 3.1)\n");
            print!("{}", table(&attempts.0, &attempts.1));
            println!("\nTheir mean, variance and standard deviation (published: table 3.2)\n");
            print!("{}", table(&statistics.0, &statistics.1));
        } else {
            common.print(paper.measured(), (&attempts.0, &attempts.1))?;
        }
        if let Some(folder) = common.folder_out()? {
            common.write("topics-paper-attempts.csv", &csv(&attempts.0, &attempts.1))?;
            common.write("topics-paper-statistics.csv", &csv(&statistics.0, &statistics.1))?;
            let title = "Posters and readers, ours and published";
            let axes = ["experiment: 1+1, 1+2, 1+3, 2+1, … 3+3", "requests/s of one thread"];
            plot::draw_bars(&folder.join("topics-paper.svg"), title, axes, &paper.bars())?;
        }
        judged(paper.measured())
    }
}

struct Figure {
    title: &'static str,
    axes: [&'static str; 2],
    scale: Scale,
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
        self.print(measured, (&head, &rows))?;
        if let Some(folder) = self.folder_out()? {
            self.write(&format!("{name}.csv"), &csv(&head, &rows))?;
            plot::draw(
                &folder.join(format!("{name}.svg")),
                figure.title,
                figure.axes,
                figure.scale,
                &figure.curves,
            )?;
        }
        judged(measured)
    }

    fn print(&self, measured: &[Measured], (head, rows): (&[&str], &[Vec<String>])) -> Result<(), String> {
        match self.format {
            OutputFormat::Table => print!("{}", table(head, rows)),
            OutputFormat::Json => {
                for one in measured {
                    println!("{}", serde_json::to_string(one).map_err(|error| error.to_string())?);
                }
            }
        }
        Ok(())
    }

    /// Where files go; made if it is not there.
    fn folder_out(&self) -> Result<Option<&Path>, String> {
        let Some(folder) = self.out.as_deref() else { return Ok(None) };
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Some(folder))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let Some(folder) = &self.out else { return Ok(()) };
        std::fs::write(folder.join(name), text).map_err(|error| format!("{}: {error}", folder.display()))
    }
}

/// What was not right makes the command fail.
fn judged(measured: &[Measured]) -> Result<(), String> {
    match measured.iter().map(|one| one.errors).sum::<u64>() {
        0 => Ok(()),
        errors => Err(format!("{errors} answers, messages or endpoints were not as they should be")),
    }
}
