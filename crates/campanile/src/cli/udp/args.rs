//! Arguments of `campanile udp`.

use super::super::args::FormatArgs;
use clap::{Args, Subcommand, ValueEnum};
use paced_udp::push::Interface;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Paced traffic.
#[derive(Debug, Subcommand)]
pub(crate) enum Udp {
    /// Sends at a rate, to a receiver that has accepted
    ///
    /// It sends nothing until `campanile udp receive` on the other machine has answered a keyed hello (on one
    /// machine no key is needed), and stops when the receiver is silent for 2 s. In a terminal + and - change
    /// the rate and q ends it.
    #[command(after_help = "Rates: bits of packets a second: 10G, 100M, 1.5G, 64k; or over time:
  steps:0s=10M,5s=10G    ramp:10M..10G/30s    sine:1G+-500M/10s    poisson:1G    trace:FILE (seconds,bits_per_s)

Examples:
  campanile udp send 127.0.0.1:4810 --rate 1G --seconds 10
  campanile udp send 192.0.2.7:4810 --rate 100M --key-file key --control /run/user/1000/udp
  campanile udp send 127.0.0.1:4810 --rate steps:0s=10M,5s=10G,10s=100M --seconds 20 --out figures
  campanile udp send 127.0.0.1:4810 --rate 200M --file siren.wav --format json")]
    Send(Box<Send>),
    /// Receives paced traffic, counts it and reports to each sender; or stores pushed files in a folder
    #[command(after_help = "Examples:
  campanile udp receive
  campanile udp receive --listen 0.0.0.0:4810 --key-file key --format json
  campanile udp receive --streams 1 --file siren.wav
  campanile udp receive --into /srv/incoming --listen 0.0.0.0:4810 --key-file key")]
    Receive(Box<Receive>),
    /// Pushes a file to many sites: whole, verified, with a receipt from each
    ///
    /// Each site runs `campanile udp receive --into FOLDER`. Losses are repaired (RaptorQ); an interrupted
    /// site resumes. Exit code 0 when every site has the file.
    #[command(after_help = "Examples:
  campanile udp push tones.tar --to 192.0.2.7:4810 --rate 20M --key-file key --deadline 600
  campanile udp push tones.tar --to north=192.0.2.7:4810,south=192.0.2.8:4810 --group 239.1.2.3:4811 --rate 200M --key-file key")]
    Push(Box<Push>),
    /// Changes a running sender
    #[command(subcommand)]
    Set(Set),
    /// Shows the state of a running sender
    #[command(after_help = "Examples:\n  campanile udp show --control /run/user/1000/udp")]
    Show(Show),
}

/// Settings of a sender that can be changed.
#[derive(Debug, Subcommand)]
pub(crate) enum Set {
    /// Its rate, from now on; 0 is a pause
    #[command(after_help = "Examples:\n  campanile udp set rate 5G --control /run/user/1000/udp")]
    Rate(SetRate),
}

#[derive(Debug, Args)]
pub(crate) struct SetRate {
    /// Bits a second
    pub rate: String,
    /// The sender's --control
    #[arg(long, value_name = "PATH")]
    pub control: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The sender's --control
    #[arg(long, value_name = "PATH")]
    pub control: PathBuf,
}

/// Rule for late packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleName {
    /// Catch up at most --debt, never closer than half an interval; count the packets given up
    Bounded,
    /// Catch up every missed packet
    CatchUp,
    /// Never above the rate
    Capped,
}

/// Highest rung of the system calls for packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RungName {
    /// One call a packet
    Send,
    /// One call for several
    Sendmmsg,
    /// One call and one pass through the kernel for several
    Gso,
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// Address of the receiver
    #[arg(value_name = "ADDRESS", value_parser = settings::socket_address)]
    pub to: SocketAddr,
    /// Bits of packets a second, constant or over time: see below
    #[arg(long, default_value = "100M")]
    pub rate: String,
    /// Octets of a packet's payload, 40 of them header [default: what the path carries, at most 1472]
    #[arg(long, value_name = "OCTETS")]
    pub mss: Option<u16>,
    /// Duration [default: until it is stopped, or the file has ended]
    #[arg(long, value_name = "S")]
    pub seconds: Option<f64>,
    /// Fixed number of threads; or FIRST..MOST, for a number that adapts [default: 1 to the number of
    /// processors]
    #[arg(long, value_name = "N")]
    pub threads: Option<String>,
    /// Rule for late packets
    #[arg(long, value_enum, default_value_t = RuleName::Bounded)]
    pub rule: RuleName,
    /// Milliseconds that the bounded rule catches up
    #[arg(long, default_value_t = 2.0, value_name = "MS")]
    pub debt: f64,
    /// Packets that leave together, at most [default: 100 us worth]
    #[arg(long, value_name = "N")]
    pub burst: Option<u32>,
    /// Highest rung of the system calls for packets [default: the best that the kernel supports]
    #[arg(long, value_enum, value_name = "RUNG")]
    pub rung: Option<RungName>,
    /// A file to send once
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Highest rate, also of `campanile udp set`
    #[arg(long, value_name = "RATE", env = "CAMPANILE_UDP_CEILING")]
    pub ceiling: Option<String>,
    /// A socket for control: see `campanile udp set`
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    #[command(flatten)]
    pub shared: SharedArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Receive {
    /// Listening address
    #[arg(long, default_value = "127.0.0.1:4810", value_name = "ADDRESS", value_parser = settings::socket_address)]
    pub listen: SocketAddr,
    /// Fixed number of sockets, each with a thread, over which the kernel spreads packets; or FIRST..MOST,
    /// for a number that adapts [default: 1 to the number of processors]
    #[arg(long, value_name = "N")]
    pub sockets: Option<String>,
    /// MiB of a socket's buffer; or FIRST..MOST, within which it grows when packets find no room
    #[arg(long, default_value = "32..256", value_name = "MIB")]
    pub buffer: String,
    /// Do not let the kernel join packets (GRO) [default: joined where it saves time]
    #[arg(long)]
    pub no_gro: bool,
    /// File to write, for a sender's --file; replaced if it exists
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Store pushed files in this folder, instead of counting packets
    #[arg(long, value_name = "DIR", conflicts_with_all = ["file", "streams", "sockets"])]
    pub into: Option<PathBuf>,
    #[command(flatten)]
    pub pushed: Pushed,
    /// End after so many streams [default: go on]
    #[arg(long, value_name = "N")]
    pub streams: Option<usize>,
    #[command(flatten)]
    pub shared: SharedArgs,
}

/// Handling of pushed files.
#[derive(Debug, Args)]
pub(crate) struct Pushed {
    /// With --into: end after one file
    #[arg(long, requires = "into")]
    pub once: bool,
    /// With --into: accept archives of alerts only, and unpack each into a folder of its own before it counts
    /// as received
    #[arg(long, requires = "into")]
    pub unpack: bool,
    /// With --into: replace a file of the same name
    #[arg(long, requires = "into")]
    pub overwrite: bool,
    /// With --into: largest file, in MiB
    #[arg(long, default_value_t = 16_384, value_name = "MIB")]
    pub size_max: u64,
    /// With --into: free space to leave on the disk, in MiB
    #[arg(long, default_value_t = 64, value_name = "MIB")]
    pub keep_free: u64,
    /// With --into: accept only files signed by this public key; repeat for more [default: of every sender
    /// that has the key]
    #[arg(long, value_name = "HEX")]
    pub signer: Vec<String>,
    /// With --into: interface on which groups are joined: its name, or its IPv4 address
    #[arg(long, value_name = "NAME")]
    pub interface: Option<Interface>,
}

#[derive(Debug, Args)]
pub(crate) struct Push {
    /// The file
    pub file: PathBuf,
    /// The sites: ADDRESS or NAME=ADDRESS, separated by commas
    #[arg(long, value_name = "SITE", value_delimiter = ',', required = true)]
    pub to: Vec<String>,
    /// Bits a second: to the group, or to each site
    #[arg(long, default_value = "20M")]
    pub rate: String,
    /// One stream for all sites, to this multicast group
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = settings::socket_address)]
    pub group: Option<SocketAddr>,
    /// Interface by which the group is reached: its name, or its IPv4 address
    #[arg(long, value_name = "NAME")]
    pub interface: Option<Interface>,
    /// Routers that the group's packets may pass
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub hops: u32,
    /// End the push after so many seconds; sites without the file by then fail
    #[arg(long, value_name = "S")]
    pub deadline: Option<u64>,
    /// Give up a site that does not answer for so many seconds
    #[arg(long, default_value_t = 30, value_name = "S")]
    pub give_up: u64,
    /// Name of the file at the sites [default: its own]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// File with a signing key of 64 hexadecimal digits; its public key is printed [default: a key for this
    /// push alone]
    #[arg(long, value_name = "FILE")]
    pub signing_key: Option<PathBuf>,
    /// A file with the key that the sites have, at least 16 characters; not needed on one machine
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    #[command(flatten)]
    pub format: FormatArgs,
}

/// What both take.
#[derive(Debug, Args)]
pub(crate) struct SharedArgs {
    /// A file with the key that both sides have, at least 16 characters; not needed on one machine
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Folder for CSV, SVG and a page for the browser
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub format: FormatArgs,
}

impl Send {
    /// How long, if that is bounded.
    pub fn lasts(&self) -> Result<Option<Duration>, String> {
        let bounded = |seconds: f64| {
            Duration::try_from_secs_f64(seconds).map_err(|error| format!("--seconds {seconds}: {error}"))
        };
        self.seconds.map(bounded).transpose()
    }
}
