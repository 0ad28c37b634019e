//! The simulators on the command line: `campanile sim …`.

mod client;
mod webhook;

use crate::chance::Delay;
use crate::town::{Form, Habits, Town};
use crate::{broker, credit, im, mailbox, pager, smsc, town};
use clap::{Args, Subcommand};
use client::ClientArgs;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
pub use webhook::WebhookArgs;

/// Simulators, for drills and development.
#[derive(Debug, Subcommand)]
pub enum SimCommand {
    /// A carrier that speaks SMPP: listens until Ctrl-C.
    #[command(after_help = "Examples:
  campanile sim smsc --listen 127.0.0.1:2776 --page 127.0.0.1:8081
  campanile sim smsc --rate 5 --latency 20ms..200ms --people
  campanile sim smsc --print-scenario > rough-night.toml
  campanile sim smsc --scenario rough-night.toml --capture came.ndjson")]
    Smsc(Box<SmscArgs>),
    /// A mail server that stores its mails: listens until Ctrl-C.
    #[command(after_help = "Examples:
  campanile sim mail --listen 127.0.0.1:2525 --page 127.0.0.1:8082
  campanile sim mail --people --door 127.0.0.1:2526 --folder mail")]
    Mail(Box<MailArgs>),
    /// A paging carrier that speaks SNPP: listens until Ctrl-C.
    #[command(after_help = "Examples:
  campanile sim pager --listen 127.0.0.1:4444 --page 127.0.0.1:8083
  campanile sim pager --people --deliver-after 1s..20s")]
    Pager(Box<PagerArgs>),
    /// A homeserver of Matrix and Telegram's bot API, both behind one address: listens until Ctrl-C.
    #[command(after_help = "Examples:
  campanile sim im --listen 127.0.0.1:8008 --page 127.0.0.1:8083
  campanile sim im --rate 5 --people")]
    Im(Box<ImArgs>),
    /// An MQTT broker with devices that confirm and answer: listens until Ctrl-C.
    #[command(after_help = "Examples:
  campanile sim mqtt --listen 127.0.0.1:1883 --page 127.0.0.1:8083
  campanile sim mqtt --devices 'alerts/#' --people --latency 5ms..50ms")]
    Mqtt(Box<MqttArgs>),
    /// An external credit-control server, at which messages can be paid: listens until Ctrl-C. Or a client of
    /// one.
    #[command(after_help = "Examples:
  campanile sim credit --listen 127.0.0.1:3869
  campanile sim credit --balance 1000 --latency 20ms..200ms --refused 0.05 --refused-with 4012
  campanile sim credit --lost 0.01 --origin-host ocs.example --origin-realm example
  campanile sim credit --connect 127.0.0.1:3868 --sessions 1000 --at-once 50 --script 'I5 U3/5 = T2'")]
    Credit(Box<CreditArgs>),
    /// A device that takes alerts by HTTP: listens until Ctrl-C.
    #[command(after_help = "Examples:
  campanile sim webhook --listen 127.0.0.1:8090 --page 127.0.0.1:8091
  campanile sim webhook --secret whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw --delivered 1 --answering 0.3")]
    Webhook(Box<WebhookArgs>),
    /// A generated town of recipients, as a file to import.
    #[command(after_help = "Examples:
  campanile sim town --recipients 100000 --out town.ndjson
  campanile sim town --recipients 2000 --form csv | head
  campanile sim town --recipients 2000 --expected")]
    Town(TownArgs),
}

/// `sim smsc`.
#[derive(Debug, Args)]
pub struct SmscArgs {
    /// Listening address (port 0: any free one) [default: 127.0.0.1:2776]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Address of the control page and JSON API; a port alone is one of loopback
    #[arg(long, value_name = "ADDRESS")]
    page: Option<String>,
    /// A TOML file with the scenario; options beside it override it
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Messages a second above which it throttles
    #[arg(long, value_name = "N")]
    rate: Option<f64>,
    /// Latency of answers: 5ms, 1ms..20ms, "exp 50ms"
    #[arg(long, value_name = "DELAY")]
    latency: Option<Delay>,
    /// Delay from acceptance to receipt
    #[arg(long, value_name = "DELAY")]
    receipt_delay: Option<Delay>,
    /// Password that a bind must have
    #[arg(long, value_name = "WORD")]
    password: Option<String>,
    /// File to append one JSON line to for each PDU received, with its answer
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    /// A second listener, with TLS and a self-signed certificate
    #[arg(long, value_name = "ADDRESS")]
    tls: Option<String>,
    /// Connect to an ESME and request a bind (outbind); repeat for more
    #[arg(long, value_name = "ADDRESS")]
    outbind: Vec<String>,
    /// Print a scenario file with every key, its default and its meaning, and exit
    #[arg(long)]
    print_scenario: bool,
    /// Answer at once, send nothing back, count only
    #[arg(long)]
    sink: bool,
    #[command(flatten)]
    people: People,
}

/// `sim mail`.
#[derive(Debug, Args)]
pub struct MailArgs {
    /// Listening address (port 0: any free one) [default: 127.0.0.1:2525]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Address of the page with counts and mails
    #[arg(long, value_name = "ADDRESS")]
    page: Option<String>,
    /// A TOML file with the scenario; options beside it override it
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Latency of the answer to a mail: 5ms, 1ms..20ms, "exp 50ms"
    #[arg(long, value_name = "DELAY")]
    latency: Option<Delay>,
    /// SMTP server for answers and bounces
    #[arg(long, value_name = "ADDRESS")]
    door: Option<String>,
    /// Folder to store all mail in (Maildir)
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Offer STARTTLS with a self-signed certificate
    #[arg(long)]
    starttls: bool,
    /// Accept everything at once, count only
    #[arg(long)]
    sink: bool,
    #[command(flatten)]
    people: People,
}

/// `sim mqtt`.
#[derive(Debug, Args)]
pub struct MqttArgs {
    /// Listening address (port 0: any free one) [default: 127.0.0.1:1883]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Address of the page with counts and messages
    #[arg(long, value_name = "ADDRESS")]
    page: Option<String>,
    /// A TOML file with the scenario; options beside it override it
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Topics on which a simulated device listens, confirms and answers, as a filter [default: #]
    #[arg(long, value_name = "FILTER")]
    devices: Option<String>,
    /// No simulated devices: messages go to clients that subscribe alone
    #[arg(long, conflicts_with = "devices")]
    no_devices: bool,
    /// Latency of acknowledgements: 5ms, 1ms..20ms, "exp 50ms"
    #[arg(long, value_name = "DELAY")]
    latency: Option<Delay>,
    /// Accept everything at once, count only
    #[arg(long)]
    sink: bool,
    #[command(flatten)]
    people: People,
}

/// `sim im`.
#[derive(Debug, Args)]
pub struct ImArgs {
    /// Listening address (port 0: any free one) [default: 127.0.0.1:8008]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Address of the page with counts and messages
    #[arg(long, value_name = "ADDRESS")]
    page: Option<String>,
    /// A TOML file with the scenario; options beside it override it
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Messages a second above which it asks to wait (429)
    #[arg(long, value_name = "N")]
    rate: Option<f64>,
    /// Latency of the answer to a message: 5ms, 1ms..20ms, "exp 50ms"
    #[arg(long, value_name = "DELAY")]
    latency: Option<Delay>,
    /// Accept everything at once, send no receipts, count only
    #[arg(long)]
    sink: bool,
    #[command(flatten)]
    people: People,
}

/// `sim pager`.
#[derive(Debug, Args)]
pub struct PagerArgs {
    /// Listening address (port 0: any free one) [default: 127.0.0.1:4444]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Address of the page with counts and pages
    #[arg(long, value_name = "ADDRESS")]
    page: Option<String>,
    /// A TOML file with the scenario; options beside it override it
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Level of SNPP, 1 to 3 [default: 3]
    #[arg(long, value_name = "LEVEL")]
    level: Option<u8>,
    /// Latency of the reply to SEND: 5ms, 1ms..20ms, "exp 50ms"
    #[arg(long, value_name = "DELAY")]
    latency: Option<Delay>,
    /// Delay from SEND until the pager has the page
    #[arg(long, value_name = "DELAY")]
    deliver_after: Option<Delay>,
    /// Accept everything at once, count only
    #[arg(long)]
    sink: bool,
    #[command(flatten)]
    people: People,
}

/// `sim credit`.
#[derive(Debug, Args)]
pub struct CreditArgs {
    /// Listening address (port 0: any free one) [default: 127.0.0.1:3869]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Its DiameterIdentity [default: ocs.sim.example]
    #[arg(long, value_name = "NAME")]
    origin_host: Option<String>,
    /// Its realm [default: sim.example]
    #[arg(long, value_name = "NAME")]
    origin_realm: Option<String>,
    /// Units of each subscriber at the beginning [default: 1000000]
    #[arg(long, value_name = "UNITS")]
    balance: Option<u64>,
    /// Latency of answers: 5ms, 1ms..20ms, "exp 50ms"
    #[arg(long, value_name = "DELAY")]
    latency: Option<Delay>,
    /// Share of requests to refuse
    #[arg(long, value_name = "SHARE")]
    refused: Option<f64>,
    /// Result-Code of refused requests [default: 3004]
    #[arg(long, value_name = "CODE")]
    refused_with: Option<u32>,
    /// Share of answers to lose, after the request was carried out
    #[arg(long, value_name = "SHARE")]
    lost: Option<f64>,
    /// Seed of the random choices [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Who is behind the addresses.
#[derive(Debug, Args)]
struct People {
    /// Simulate the people of the town with this seed: they answer, refuse, opt out
    #[arg(long)]
    people: bool,
    /// Seed of the town
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A TOML file that describes the town whose people are simulated
    #[arg(long, value_name = "FILE", conflicts_with = "people")]
    town: Option<PathBuf>,
}

/// `sim town`.
#[derive(Debug, Args)]
pub struct TownArgs {
    /// Number of people [default: 2000]
    #[arg(long, value_name = "N")]
    recipients: Option<u64>,
    /// The same seed makes the same town [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// A TOML file that describes the town; options beside it override it
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Format: ndjson has everything; csv omits switched-off and opted-out devices
    #[arg(long, value_name = "FORM", value_parser = ["ndjson", "csv"], default_value = "ndjson")]
    form: String,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the groups of the people, in the form of the API, instead of the people
    #[arg(long, conflicts_with = "expected")]
    groups: bool,
    /// Write the expected result of an alert to all of them, instead of the people
    #[arg(long)]
    expected: bool,
}

impl SimCommand {
    /// Does it; listeners run until Ctrl-C.
    ///
    /// # Errors
    /// In words, with the file or field.
    pub fn run(self) -> Result<(), String> {
        match self {
            SimCommand::Smsc(args) if args.print_scenario => {
                let printed = io::stdout().write_all(smsc::SmscOptions::manual().as_bytes());
                // Whoever read along has seen enough.
                printed.or_else(|error| match error.kind() {
                    io::ErrorKind::BrokenPipe => Ok(()),
                    _ => Err(format!("sim smsc: {error}")),
                })
            }
            SimCommand::Smsc(args) => {
                smsc::run(args.options()?).map_err(|error| format!("sim smsc: {error}"))
            }
            SimCommand::Mail(args) => {
                mailbox::run(args.options()?).map_err(|error| format!("sim mail: {error}"))
            }
            SimCommand::Mqtt(args) => {
                broker::run(args.options()?).map_err(|error| format!("sim mqtt: {error}"))
            }
            SimCommand::Im(args) => im::run(args.options()?).map_err(|error| format!("sim im: {error}")),
            SimCommand::Pager(args) => {
                pager::run(args.options()?).map_err(|error| format!("sim pager: {error}"))
            }
            SimCommand::Credit(args) => match args.options()? {
                Credit::Server(options) => credit::run(options),
                Credit::Client(options) => credit::client::run(options),
            }
            .map_err(|error| format!("sim credit: {error}")),
            SimCommand::Webhook(args) => {
                crate::webhook::run(args.options()?).map_err(|error| format!("sim webhook: {error}"))
            }
            SimCommand::Town(args) => args.write(),
        }
    }
}

impl SmscArgs {
    /// What is asked for.
    ///
    /// # Errors
    /// The file that cannot be read, or the field that cannot be.
    pub fn options(self) -> Result<smsc::SmscOptions, String> {
        let mut options = match &self.scenario {
            Some(path) => smsc::SmscOptions::read(path)?,
            None if self.sink => {
                smsc::SmscOptions { listen: "127.0.0.1:2776".to_owned(), ..smsc::SmscOptions::sink() }
            }
            None => smsc::SmscOptions { listen: "127.0.0.1:2776".to_owned(), ..smsc::SmscOptions::default() },
        };
        put(&mut options.listen, self.listen);
        put(&mut options.rate, self.rate);
        put(&mut options.latency, self.latency);
        put(&mut options.receipts.delay, self.receipt_delay);
        options.control = self.page.or(options.control);
        options.password = self.password.or(options.password);
        options.capture = self.capture.or(options.capture);
        if let Some(listen) = self.tls {
            options.tls.get_or_insert_default().listen = listen;
        }
        options.outbind.extend(self.outbind);
        options.people = self.people.habits()?.or(options.people);
        options.check()?;
        Ok(options)
    }
}

impl MailArgs {
    /// What is asked for.
    ///
    /// # Errors
    /// The file that cannot be read, or the field that cannot be.
    pub fn options(self) -> Result<mailbox::MailboxOptions, String> {
        let mut options = match &self.scenario {
            Some(path) => named(path, read(path).and_then(|text| mailbox::MailboxOptions::from_toml(&text)))?,
            None if self.sink => mailbox::MailboxOptions {
                listen: "127.0.0.1:2525".to_owned(),
                ..mailbox::MailboxOptions::sink()
            },
            None => mailbox::MailboxOptions {
                listen: "127.0.0.1:2525".to_owned(),
                ..mailbox::MailboxOptions::default()
            },
        };
        put(&mut options.listen, self.listen);
        put(&mut options.latency, self.latency);
        options.control = self.page.or(options.control);
        options.door = self.door.or(options.door);
        options.folder = self.folder.or(options.folder);
        options.starttls |= self.starttls;
        options.people = self.people.habits()?.or(options.people);
        options.check()?;
        Ok(options)
    }
}

impl MqttArgs {
    /// What is asked for.
    ///
    /// # Errors
    /// The file that cannot be read, or the field that cannot be.
    pub fn options(self) -> Result<broker::BrokerOptions, String> {
        let listen = "127.0.0.1:1883".to_owned();
        let mut options = match &self.scenario {
            Some(path) => named(path, read(path).and_then(|text| broker::BrokerOptions::from_toml(&text)))?,
            None if self.sink => broker::BrokerOptions { listen, ..broker::BrokerOptions::sink() },
            None => broker::BrokerOptions {
                listen,
                devices: Some("#".to_owned()),
                ..broker::BrokerOptions::default()
            },
        };
        put(&mut options.listen, self.listen);
        put(&mut options.latency, self.latency);
        options.control = self.page.or(options.control);
        options.devices = self.devices.or(options.devices).filter(|_| !self.no_devices);
        options.people = self.people.habits()?.or(options.people);
        options.check()?;
        Ok(options)
    }
}

impl ImArgs {
    /// What is asked for.
    ///
    /// # Errors
    /// The file that cannot be read, or the field that cannot be.
    pub fn options(self) -> Result<im::ImOptions, String> {
        let mut options = match &self.scenario {
            Some(path) => named(path, read(path).and_then(|text| im::ImOptions::from_toml(&text)))?,
            None => {
                let usual = if self.sink { im::ImOptions::sink() } else { im::ImOptions::default() };
                im::ImOptions { listen: "127.0.0.1:8008".to_owned(), ..usual }
            }
        };
        put(&mut options.listen, self.listen);
        put(&mut options.rate, self.rate);
        put(&mut options.latency, self.latency);
        options.control = self.page.or(options.control);
        options.people = self.people.habits()?.or(options.people);
        options.check()?;
        Ok(options)
    }
}

impl PagerArgs {
    /// What is asked for.
    ///
    /// # Errors
    /// The file that cannot be read, or the field that cannot be.
    pub fn options(self) -> Result<pager::PagingOptions, String> {
        let mut options = match &self.scenario {
            Some(path) => named(path, read(path).and_then(|text| pager::PagingOptions::from_toml(&text)))?,
            None if self.sink => pager::PagingOptions::sink(),
            None => pager::PagingOptions::default(),
        };
        if self.scenario.is_none() {
            options.listen = "127.0.0.1:4444".to_owned();
        }
        put(&mut options.listen, self.listen);
        put(&mut options.level, self.level);
        put(&mut options.latency, self.latency);
        put(&mut options.deliver_after, self.deliver_after);
        options.control = self.page.or(options.control);
        options.people = self.people.habits()?.or(options.people);
        options.check()?;
        Ok(options)
    }
}

/// Which side of credit control.
#[derive(Debug)]
pub enum Credit {
    /// Who charges.
    Server(credit::CreditServerOptions),
    /// Who asks.
    Client(credit::client::CreditClientOptions),
}

impl CreditArgs {
    /// What is asked for.
    ///
    /// # Errors
    /// The field that cannot be.
    pub fn options(self) -> Result<Credit, String> {
        let (host, realm) = (self.origin_host.clone(), self.origin_realm.clone());
        if let Some(client) = self.client.options(host, realm)? {
            return Ok(Credit::Client(client));
        }
        let mut options = credit::CreditServerOptions {
            listen: "127.0.0.1:3869".to_owned(),
            ..credit::CreditServerOptions::default()
        };
        put(&mut options.listen, self.listen);
        put(&mut options.origin_host, self.origin_host);
        put(&mut options.origin_realm, self.origin_realm);
        put(&mut options.balance, self.balance);
        put(&mut options.latency, self.latency);
        put(&mut options.refused, self.refused);
        put(&mut options.refused_with, self.refused_with);
        put(&mut options.lost, self.lost);
        put(&mut options.seed, self.seed);
        options.check()?;
        Ok(Credit::Server(options))
    }
}

impl People {
    fn habits(&self) -> Result<Option<Habits>, String> {
        match &self.town {
            Some(path) => Ok(Some(named(path, read(path).and_then(|text| Town::from_toml(&text)))?.habits())),
            None => Ok(self.people.then(|| Habits { seed: self.seed, ..Habits::default() })),
        }
    }
}

impl TownArgs {
    fn write(self) -> Result<(), String> {
        let mut town = match &self.scenario {
            Some(path) => named(path, read(path).and_then(|text| Town::from_toml(&text)))?,
            None => Town::default(),
        };
        put(&mut town.recipients, self.recipients);
        put(&mut town.seed, self.seed);
        town.check()?;
        let written = match &self.out {
            Some(path) => {
                let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
                self.write_to(&town, BufWriter::with_capacity(1 << 20, file))
            }
            None => self.write_to(&town, BufWriter::with_capacity(1 << 16, io::stdout().lock())),
        };
        match written {
            // Whoever read along has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(|error| format!("sim town: {error}")),
        }
    }

    fn write_to(&self, town: &Town, mut out: impl Write) -> io::Result<()> {
        let form = if self.form == "csv" { Form::Csv } else { Form::Ndjson };
        if self.expected {
            serde_json::to_writer_pretty(&mut out, &town.expected(form))?;
            writeln!(out)?;
        } else if self.groups {
            for group in Town::groups() {
                serde_json::to_writer(&mut out, &group)?;
                writeln!(out)?;
            }
        } else {
            match form {
                Form::Csv => town::write_csv(town, &mut out)?,
                Form::Ndjson => town::write_ndjson(town, &mut out)?,
            };
        }
        out.flush()
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

fn named<T>(path: &Path, result: Result<T, String>) -> Result<T, String> {
    result.map_err(|why| format!("{}: {why}", path.display()))
}

fn put<T>(place: &mut T, given: Option<T>) {
    if let Some(value) = given {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(subcommand)]
        command: SimCommand,
    }

    fn command(line: &str) -> SimCommand {
        Line::try_parse_from(line.split(' ')).unwrap().command
    }

    #[test]
    fn options_go_before_the_scenario_file_and_what_is_not_given_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scenario.toml");
        std::fs::write(&path, "rate = 5.0\nlatency = \"1s\"\n[receipts]\ntwice = 0.5\n").unwrap();
        let line =
            format!("sim smsc --scenario {} --rate 7 --receipt-delay 5ms --people --seed 9", path.display());
        let SimCommand::Smsc(args) = command(&line) else { panic!() };
        let options = args.options().unwrap();
        assert_eq!(
            (options.rate, options.latency.to_string().as_str(), options.receipts.twice),
            (7.0, "1s", 0.5)
        );
        assert_eq!(options.receipts.delay.to_string(), "5ms");
        assert_eq!(options.people.unwrap().seed, 9);

        std::fs::write(&path, "seed = 4\nrecipients = 10\n[habits.mail]\nanswering = 1.0\nunknown = 0.0\n")
            .unwrap();
        let line = format!("sim mail --town {} --door 127.0.0.1:1 --page 127.0.0.1:0", path.display());
        let SimCommand::Mail(args) = command(&line) else { panic!() };
        assert!(args.options().unwrap_err().starts_with(path.to_str().unwrap()), "shares above 1");
        std::fs::write(&path, "seed = 4\n[habits.mail]\nanswering = 0.9\n").unwrap();
        let SimCommand::Mail(args) = command(&line) else { panic!() };
        let options = args.options().unwrap();
        assert_eq!(
            (options.listen.as_str(), options.people.map(|p| (p.seed, p.mail.answering))),
            ("127.0.0.1:2525", Some((4, 0.9)))
        );
    }

    #[test]
    fn the_printed_scenario_runs_and_options_stand_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scenario.toml");
        std::fs::write(&path, smsc::Scenario::manual()).unwrap();
        let more = "--tls 127.0.0.1:0 --outbind a:1 --outbind b:2 --page 8099";
        let line = format!("sim smsc --scenario {} {more}", path.display());
        let SimCommand::Smsc(args) = command(&line) else { panic!() };
        let options = args.options().unwrap();
        assert_eq!(options.tls.map(|tls| tls.listen).as_deref(), Some("127.0.0.1:0"));
        assert_eq!(
            (options.outbind.as_slice(), options.control.as_deref()),
            (&["a:1".to_owned(), "b:2".to_owned()][..], Some("8099"))
        );
        std::fs::write(&path, "\n\nlatencyy = \"1s\"").unwrap();
        let SimCommand::Smsc(args) = command(&line) else { panic!() };
        let error = args.options().unwrap_err();
        let expected =
            format!("{}: line 3, column 1: latencyy is unknown; did you mean latency?", path.display());
        assert_eq!(error, expected);
        command("sim smsc --print-scenario").run().unwrap();
    }

    #[test]
    fn a_credit_control_server_is_as_its_options_say() {
        let SimCommand::Credit(args) = command("sim credit --balance 7 --lost 0.5 --refused-with 4012")
        else {
            panic!()
        };
        let Credit::Server(options) = args.options().unwrap() else { panic!() };
        assert_eq!((options.balance, options.lost, options.refused_with), (7, 0.5, 4012));
        let SimCommand::Credit(args) = command("sim credit --lost 2") else { panic!() };
        assert_eq!(args.options().unwrap_err(), "lost: 2 is not a share from 0 to 1");
    }

    #[test]
    fn a_credit_control_client_is_as_its_options_say() {
        let line =
            "sim credit --connect h:1 --sessions 9 --subscribers 3 --script I5,T5 --origin-host smf.example";
        let SimCommand::Credit(args) = command(line) else { panic!() };
        let Credit::Client(options) = args.options().unwrap() else { panic!() };
        assert_eq!((options.connect.as_str(), options.sessions, options.subscribers), ("h:1", 9, 3));
        assert_eq!((options.script, options.origin_host.as_str()), ("I5 T5".parse().unwrap(), "smf.example"));
        let SimCommand::Credit(args) = command("sim credit --connect h:1 --at-once 0") else { panic!() };
        assert!(args.options().unwrap_err().starts_with("at_once: "));
        for wrong in ["--connect h:1 --balance 5", "--script I5", "--connect h:1 --script T5"] {
            let line = format!("sim credit {wrong}");
            assert!(Line::try_parse_from(line.split(' ')).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_town_is_written_to_a_file_in_each_form() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        for (more, lines, first) in [
            ("--form csv", 31, "id,name"),
            ("", 30, "{\"id\":\"p0000000\""),
            ("--groups", Town::groups().len(), "{\"id\":\"staff\""),
        ] {
            let line = format!("sim town --recipients 30 --out {} {more}", out.display());
            command(line.trim()).run().unwrap();
            let text = std::fs::read_to_string(&out).unwrap();
            assert_eq!(text.lines().count(), lines);
            assert!(text.starts_with(first), "{text}");
        }
        command(&format!("sim town --recipients 30 --expected --out {}", out.display())).run().unwrap();
        let expected: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
        assert_eq!(expected["recipients"], 30);
    }
}
