//! `campanile bench udp`.

use super::{Common, Figure, OutputFormat, judged};
use crate::measured::{csv, table};
use crate::udp::{self, Call, Late, PaperOptions, Section, Threads, UdpOptions};
use clap::Args;
use pace::Profile;
use plot::{self, Scale};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Threads that can be asked for.
const THREADS_MAX: i64 = paced_udp::sender::THREADS_MAX as i64;
/// Packets that one call can take.
const BURST_MAX: i64 = paced_udp::socket::SEGMENTS_MAX as i64;

/// `bench udp`.
#[derive(Debug, Args)]
pub struct UdpArgs {
    /// Bits of payload a second: 100M, 10G; several are several runs. Or one that changes:
    /// steps:0s=10M,5s=10G
    #[arg(long, value_name = "RATE", default_value = "10G")]
    rate: String,
    /// Octets of a packet
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1472",
        value_parser = clap::value_parser!(u16).range(64..=65_507))]
    mss: Vec<u16>,
    /// Threads of the sender [default: started and parked as they are needed]
    #[arg(long, value_name = "N", value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..=THREADS_MAX))]
    threads: Vec<u16>,
    /// Rule for packets after a late one
    #[arg(long, value_enum, value_name = "RULE", default_value = "bounded")]
    rule: Late,
    /// Packets of a burst, at most [default: 100 us of the rate]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=BURST_MAX))]
    burst: Option<u32>,
    /// Cheapest system call for packets to use [default: the cheapest that this kernel has]
    #[arg(long, value_enum, value_name = "CALL")]
    call: Option<Call>,
    /// Sockets of the receiver, each with a thread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=16))]
    sockets: u16,
    /// Duration in seconds
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    seconds: f64,
    /// Runs, of which the middle one counts [of --paper: those of its table of pacing]
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=101))]
    rounds: u16,
    /// Measure iperf3 in turns with ours
    #[arg(long, conflicts_with_all = ["paper", "server"])]
    iperf3: bool,
    /// Output format: a table, or one JSON object a line
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
    /// Folder for CSV and SVG
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Send to a running receiver on this machine (`campanile udp receive`); stamps are not available then
    #[arg(long, value_name = "ADDRESS", value_parser = settings::socket_address)]
    server: Option<SocketAddr>,
    /// Rerun the published experiments, with their figures beside ours, and those that they left open
    #[arg(long, conflicts_with = "server")]
    paper: bool,
    /// Divide the ten seconds of each of their runs by this
    #[arg(long, value_name = "X", default_value_t = 1.0, requires = "paper")]
    time_scale: f64,
}

impl UdpArgs {
    pub(super) async fn run(self) -> Result<(), String> {
        if !(self.seconds.is_finite() && self.seconds > 0.0) {
            return Err("--seconds: a positive number".to_owned());
        }
        if !(self.time_scale >= 1.0 && self.time_scale.is_finite()) {
            return Err("--time-scale: a number from 1 on".to_owned());
        }
        if self.paper {
            return self.run_paper().await;
        }
        let mut measured = Vec::new();
        for options in self.options()? {
            measured.extend(udp::run(&options).await?);
        }
        let axes = ["threads", "Gbit/s received"];
        let curves = udp::curves(&measured);
        let figure = Figure { title: "Paced UDP", axes, scale: Scale::Linear, curves };
        self.common().show("udp", &measured, udp::rows(&measured), figure)
    }

    /// Prints and writes as all benches do; of what they start it has nothing.
    fn common(&self) -> Common {
        Common {
            format: self.format,
            out: self.out.clone(),
            folder: None,
            server: None,
            token: String::new(),
            fsync: String::new(),
            paper: self.paper,
        }
    }

    /// One that changes is one run: its steps have commas too.
    fn rates(&self) -> Result<Vec<String>, String> {
        let rates: Vec<String> = match self.rate.contains(':') {
            true => vec![self.rate.clone()],
            false => self.rate.split(',').map(|rate| rate.trim().to_owned()).collect(),
        };
        for rate in &rates {
            Profile::parse(rate, |path| Err(format!("{path}: a bench reads no trace")))
                .map_err(|error| format!("--rate {rate}: {error}"))?;
        }
        Ok(rates)
    }

    /// A run for each combination.
    fn options(&self) -> Result<Vec<UdpOptions>, String> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let needed = [Threads::Managed(1, processors)];
        let fixed: Vec<Threads> =
            self.threads.iter().map(|threads| Threads::Fixed((*threads).into())).collect();
        let threads = if fixed.is_empty() { &needed[..] } else { &fixed };
        let mut all = Vec::new();
        for rate in self.rates()? {
            for &mss in &self.mss {
                for &threads in threads {
                    all.push(UdpOptions {
                        server: self.server,
                        rate: rate.clone(),
                        mss,
                        threads,
                        late: self.rule,
                        burst: self.burst,
                        call: self.call,
                        sockets: self.sockets.into(),
                        seconds: self.seconds,
                        rounds: self.rounds.into(),
                        iperf: self.iperf3,
                    });
                }
            }
        }
        Ok(all)
    }

    async fn run_paper(&self) -> Result<(), String> {
        let common = self.common();
        let options = PaperOptions {
            sockets: self.sockets.into(),
            time_scale: self.time_scale,
            rounds: self.rounds.into(),
        };
        let paper = udp::run_paper(&options).await?;
        if common.format == OutputFormat::Table {
            if self.time_scale > 1.0 {
                println!("The ten seconds of each run are divided by {}.", self.time_scale);
            }
            paper.notes.iter().for_each(|note| println!("{note}"));
            for section in &paper.sections {
                println!("\n{}\n\n{}", section.title, table(&section.head, &section.rows).trim_end());
            }
        } else {
            common.print(&paper.measured, (&[], &[]))?;
        }
        for Section { name, title, head, rows, axes, curves } in &paper.sections {
            if let Some(folder) = common.folder_out()? {
                common.write(&format!("{name}.csv"), &csv(head, rows))?;
                plot::draw(&folder.join(format!("{name}.svg")), title, *axes, Section::SCALE, curves)?;
            }
        }
        judged(&paper.measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        udp: UdpArgs,
    }

    #[test]
    fn ranges_are_runs_and_a_rate_that_changes_is_one() {
        for (line, expected) in [
            ("udp", Ok(1)),
            ("udp --rate 1G,10G --mss 1472,8972 --threads 1,2,3", Ok(12)),
            ("udp --rate steps:0s=10M,5s=10G,8s=0", Ok(1)),
            ("udp --rate 10X", Err(())),
            ("udp --rate trace:there.csv", Err(())),
        ] {
            let args = Line::try_parse_from(line.split(' ')).unwrap().udp;
            assert_eq!(args.options().map(|all| all.len()).map_err(drop), expected, "{line}");
        }
    }
}
