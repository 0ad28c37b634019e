//! The sections of the config, key by key. `default.toml` says the same for people.

use super::charging::Charging;
use super::diameter::Diameter;
use super::edge::Edge;
use super::platforms::{Keyword, Platform, Smpp};
use super::route::Route;
use super::topics::Topics;
use super::values::FsyncWords;
use bus::embedded::Fsync;
use engine::Settings;
use gateway::Secret;
use settings::{section, words};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::time::Duration;

/// Connections to PostgreSQL: one writes what is urgent, one what is bulk, the rest read.
const CONNECTIONS: u32 = 8;

section! {
    /// Everything.
    Config {
        /// The API, the answer page, metrics.
        http: Http = Http::default(),
        /// SQL.
        store: Store = Store::default(),
        /// Topics.
        bus: Bus = Bus::default(),
        /// This process among others that share the store and the bus.
        node: Node = Node::default(),
        /// The door that takes replies and bounces.
        smtp: Option<Smtp> = None,
        /// Ways out.
        route: Vec<Route> = Vec::new(),
        /// Rules with numbers.
        engine: Engine = Engine::default(),
        /// How people come in.
        recipients: Recipients = Recipients::default(),
        /// How long things are kept.
        retention: Retention = Retention::default(),
        /// How those we call know us.
        callback: Callback = Callback::default(),
        /// What the server says of itself.
        log: Log = Log::default(),
        /// Whom CAP messages reach.
        cap: Cap = Cap::default(),
        /// The SMPP server.
        smpp: Option<Smpp> = None,
        /// Who may call the platform's old way.
        platform: Vec<Platform> = Vec::new(),
        /// What people stop and start messages with.
        keyword: Vec<Keyword> = Vec::new(),
        /// The topic protocol.
        topics: Option<Topics> = None,
        /// Sites that alerts are pushed to as files.
        edge: Option<Edge> = None,
        /// The Diameter server.
        diameter: Option<Diameter> = None,
        /// Money.
        charging: Option<Charging> = None,
    }
}

section! {
    /// `[http]`
    Http {
        /// Address and port.
        listen: SocketAddr = loopback(8080),
        /// Certificate chain, PEM.
        tls_cert: Option<PathBuf> = None,
        /// Its key, PEM.
        tls_key: Option<PathBuf> = None,
        /// Where people reach this server: answer links begin with it.
        public_url: Option<String> = None,
        /// Octets of a body that is read whole, decompressed.
        body_octets_max: usize = doors::http::Limits::default().body_octets_max,
        /// Octets of one attachment.
        attachment_octets_max: u64 = doors::http::Limits::default().attachment_octets_max,
        /// Requests a second of one token; 0 is unlimited.
        requests_per_s: u32 = doors::http::Limits::default().requests_per_s,
        /// Requests of one token at once above the rate.
        burst: u32 = doors::http::Limits::default().burst,
        /// Connections at once.
        connections_max: usize = doors::http::Limits::default().connections_max,
    }
}

section! {
    /// `[store]`
    Store {
        /// `sqlite:FILE` or `postgres://USER:PASSWORD@HOST/DATABASE`: a secret.
        url: Secret = Secret::from("sqlite:campanile.db"),
        /// PostgreSQL: connections of this process.
        connections: u32 = CONNECTIONS,
        /// The folder of attachments; several processes share it.
        media: PathBuf = PathBuf::from("media"),
    }
}

section! {
    /// `[bus]`
    Bus {
        /// `file:FOLDER` or `nats://HOST:PORT,HOST:PORT`.
        url: String = "file:bus".to_owned(),
        /// When segments and outcomes are safe, in a folder.
        fsync: Fsync as FsyncWords = Fsync::Always,
        /// NATS: copies of each stream.
        replicas: u32 = 1,
        /// NATS: what names of streams begin with.
        prefix: String = "campanile".to_owned(),
        /// NATS: who we are.
        username: Option<String> = None,
        /// And its password.
        password: Option<Secret> = None,
        /// NATS: a token instead.
        token: Option<Secret> = None,
        /// NATS: a file of credentials instead.
        credentials: Option<PathBuf> = None,
        /// NATS: speak TLS.
        tls: bool = false,
        /// NATS: who may have signed the servers' certificates, PEM, beside the world's roots.
        ca_file: Option<PathBuf> = None,
    }
}

section! {
    /// `[node]`
    Node {
        /// What it is called; nothing: the machine's name.
        name: Option<String> = None,
        /// Where the others reach its HTTP door, `host:port`; nothing: where it listens.
        address: Option<String> = None,
        /// How long the others wait before they take over what a silent process had.
        lease: Duration = Duration::from_secs(10),
        /// It may lead: plan, dispatch, keep account.
        engine: bool = true,
        /// It opens the doors of its config; the HTTP door is open in any case.
        doors: bool = true,
        /// Routes it drives; `*`: all.
        gateways: Vec<String> = vec!["*".to_owned()],
    }
}

section! {
    /// `[smtp]`
    Smtp {
        /// Address and port.
        listen: SocketAddr = loopback(2525),
        /// Our addresses are `answers+TAG@domain` and `bounces+TAG@domain`.
        domain: Option<String> = None,
    }
}

section! {
    /// `[engine]`
    Engine {
        /// Waits before the second, third, … try after a temporary failure.
        retry_after: Vec<Duration> = Settings::default().retry_after_s.into_iter().map(seconds).collect(),
        /// With `first-reachable`: no receipt for so long means the next device.
        receipt_timeout: Duration = seconds(Settings::default().receipt_timeout_s),
        /// Endpoints of one alert.
        endpoints_max: u32 = Settings::default().endpoints_max,
        /// A finished alert stays in memory for so long.
        linger: Duration = seconds(Settings::default().linger_s),
        /// Carrier ids are kept so long: receipts that come later find nothing.
        carrier_ids: Duration = seconds(Settings::default().carrier_ids_s),
        /// A keyword is answered so often at most, to the same person.
        confirm_every: Duration = seconds(Settings::default().keywords.confirm_every_s),
    }
}

section! {
    /// `[recipients]`
    Recipients {
        /// National phone numbers are those of this country.
        region: Option<String> = None,
    }
}

section! {
    /// `[retention]`
    Retention {
        /// Finished alerts are kept so many days; nothing: for ever.
        days: Option<u32> = None,
        /// What goes is written here before.
        export_dir: Option<PathBuf> = None,
    }
}

section! {
    /// `[callback]`
    Callback {
        /// Signs callbacks after Standard Webhooks; nothing: one of its own, kept in the data folder.
        secret: Option<Secret> = None,
    }
}

section! {
    /// `[log]`
    Log {
        /// What is said: a level, or directives such as `info,gateway=debug`.
        filter: String = "info".to_owned(),
        /// In what form.
        format: LogFormat = LogFormat::Text,
    }
}

words! {
    /// How log lines look.
    LogFormat {
        /// For people.
        Text = "text",
        /// One object a line.
        Json = "json",
    }
}

section! {
    /// `[cap]`
    Cap {
        /// By their sender.
        sender: Vec<CapSender> = Vec::new(),
    }
}

section! {
    /// `[[cap.sender]]`
    CapSender {
        /// The message's `sender`, exactly.
        sender: String = String::new(),
        /// Entries of an audience, such as `area`.
        audience: Vec<String> = Vec::new(),
        /// The attribute of recipients that holds geocodes.
        geocode_attribute: Option<String> = None,
    }
}

pub(super) fn loopback(port: u16) -> SocketAddr {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port).into()
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds.into())
}
