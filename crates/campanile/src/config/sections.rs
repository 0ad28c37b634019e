//! Sections of the configuration. Their doc comments are the manual: `default.toml` and docs/configuration.md
//! are made of them.

use super::approval::Approval;
use super::charging::Charging;
use super::diameter::Diameter;
use super::directory::Directory;
use super::edge::Edge;
use super::map::Map;
use super::oidc::Oidc;
use super::optout::Optout;
use super::outbound::Outbound;
use super::platforms::{Keyword, Platform, Smpp};
use super::route::Route;
use super::services::{Organisation, Send, Services};
use super::timestamp::Timestamp;
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
    /// Campanile's configuration, with every key there is.
    ///
    /// A line that begins with "# " is a comment. A line that begins with "#" and no blank is an example:
    /// remove the sign to use it. Uncommented keys show the defaults, which apply where a configuration does
    /// not set them, unless the comment names another default.
    ///
    /// - Unknown keys are errors. `campanile check` reports every problem with its line. - Relative paths are
    /// below the data folder (`campanile serve --data DIR`). - Durations are a whole number and a unit:
    /// "500ms", "30s", "5m", "2h", "7d"; at most 3,650 days. - Any key can be set by an environment variable,
    /// also into lists by their index:   CAMPANILE__HTTP__LISTEN=0.0.0.0:8080, CAMPANILE__ROUTE__0__RATE=5.
    /// It overrides the file. - SIGHUP or POST /api/v1/reload reads the file again; a file with problems
    /// changes nothing and the   problems are reported.
    Config {
        /// The API, the answer page, metrics.
        http: Http = Http::default(),
        /// SQL.
        store: Store = Store::default(),
        /// Topics.
        bus: Bus = Bus::default(),
        /// This process among others that share the store and the bus.
        #[manual(commented)]
        node: Node = Node::default(),
        /// The SMTP server for replies and bounces.
        smtp: Option<Smtp> = None,
        /// Routes.
        route: Vec<Route> = Vec::new(),
        /// The engine's limits and times.
        engine: Engine = Engine::default(),
        /// Import of recipients.
        recipients: Recipients = Recipients::default(),
        /// How long records are kept.
        retention: Retention = Retention::default(),
        /// Signing of callbacks.
        callback: Callback = Callback::default(),
        /// Whom the server calls for clients.
        outbound: Outbound = Outbound::default(),
        /// The authority that time-stamps evidence of alerts.
        timestamp: Option<Timestamp> = None,
        /// The server's log.
        log: Log = Log::default(),
        /// Audiences of CAP messages.
        cap: Cap = Cap::default(),
        /// The SMPP server.
        smpp: Option<Smpp> = None,
        /// Clients of `/cgi-bin/sendsms`.
        platform: Vec<Platform> = Vec::new(),
        /// Words that stop and start messages.
        keyword: Vec<Keyword> = Vec::new(),
        /// Reach of a stop.
        optout: Optout = Optout::default(),
        /// Who runs this server.
        organisation: Organisation = Organisation::default(),
        /// The map of the operators' own.
        map: Map = Map::default(),
        /// The provider of OpenID Connect at which people sign in.
        oidc: Option<Oidc> = None,
        /// Which alerts other people have to approve.
        approval: Vec<Approval> = Vec::new(),
        /// What people do from their devices.
        services: Services = Services::default(),
        /// Alerts that were prepared to be sent from a device.
        send: Vec<Send> = Vec::new(),
        /// Directories that people are imported from.
        directory: Vec<Directory> = Vec::new(),
        /// The topic protocol.
        topics: Option<Topics> = None,
        /// Sites that alerts are pushed to as files.
        edge: Option<Edge> = None,
        /// The Diameter server.
        diameter: Option<Diameter> = None,
        /// Charging.
        charging: Option<Charging> = None,
    }
}

section! {
    /// The HTTP server: the API, the answer page behind links in messages, the report page, metrics.
    Http {
        /// Listening address.
        listen: SocketAddr = loopback(8080),
        /// Certificate chain (PEM); set with `tls_key`. The server then speaks TLS only.
        #[manual(example = "tls/chain.pem")]
        tls_cert: Option<PathBuf> = None,
        /// Private key of the certificate (PEM); set with `tls_cert`.
        #[manual(example = "tls/key.pem")]
        tls_key: Option<PathBuf> = None,
        /// URL by which recipients reach this server, `http://…` or `https://…`. Answer links begin with it;
        /// without it messages have no links.
        #[manual(example = "https://alerts.example")]
        public_url: Option<String> = None,
        /// Octets of a request body after decompression; at least 1. Imports are streams and have no such
        /// limit.
        body_octets_max: usize = doors::http::HttpLimits::default().body_octets_max,
        /// Octets of one attachment (POST /api/v1/attachments); at least 1.
        attachment_octets_max: u64 = doors::http::HttpLimits::default().attachment_octets_max,
        /// Octets of all attachments of one account together, those that still arrive included; at least 1.
        attachments_total_max: u64 = doors::http::HttpLimits::default().attachments_total_max,
        /// Time after which an attachment is deleted that no alert names; 1m or more. One that an alert names
        /// is kept as `[retention] attachments` says.
        attachments_unnamed_kept: Duration = doors::http::HttpLimits::default().attachments_unnamed_kept,
        /// Octets that stay free for alerts on the disk of the attachments: an attachment that would leave
        /// less is refused (507); 0: none.
        attachments_disk_reserve: u64 = doors::http::HttpLimits::default().attachments_disk_reserve,
        /// Requests per second of one token; 0 is unlimited.
        requests_per_s: u32 = doors::http::HttpLimits::default().requests_per_s,
        /// Requests of one token at once; at least 1 unless `requests_per_s` is 0.
        burst: u32 = doors::http::HttpLimits::default().burst,
        /// Connections at once; at least 1. One more takes the place of a connection without a whole request,
        /// or that does not read its answer; if there is none, it is closed.
        connections_max: usize = doors::http::HttpLimits::default().connections_max,
        /// Connections at once of one address (IPv6: of one network of 64 bits); at least 1. One more takes
        /// the place of that address's own oldest connection without a whole request, or that does not read.
        connections_per_address_max: usize = doors::http::HttpLimits::default().connections_per_address_max,
        /// Load balancers, as addresses or networks, whose connections begin with a PROXY header of version 2
        /// (haproxy: `send-proxy-v2`): the client's address is in it. Without the header they are closed.
        #[manual(example = ["10.0.0.0/24"])]
        proxy_from: Vec<String> = Vec::new(),
        /// Reverse proxies, as addresses or networks, that add the client's address to `X-Forwarded-For`.
        #[manual(example = ["10.0.0.5"])]
        trusted_proxies: Vec<String> = Vec::new(),
        /// Time until the head of a request is whole, and after which an idle connection is closed; 1s to 1h.
        /// A body ends after 30s of silence, after 10m, or if it brings less than 1,000 octets a second after
        /// its first minute.
        head_timeout: Duration = doors::http::HttpLimits::default().head_timeout,
        /// Time that a client may leave its answers unread; 1s to 1h. Then its connection is closed.
        write_stall: Duration = doors::http::HttpLimits::default().write_stall,
    }
}

section! {
    /// The database of recipients, groups, alerts and deliveries: a file of this process, or PostgreSQL (13
    /// or later) that several processes share. PostgreSQL goes with NATS, SQLite with a folder ([bus](#bus)):
    /// the other two pairs are refused.
    Store {
        /// `sqlite:FILE`, or `postgres://USER:PASSWORD@HOST/DATABASE` (`?sslmode=require`, `verify-ca`,
        /// `verify-full`; `sslrootcert=FILE`).
        #[manual(example = "postgres://campanile:secret@db.example/campanile?sslmode=verify-full&sslrootcert=/etc/campanile/db.pem")]
        url: Secret = Secret::from("sqlite:campanile.db"),
        /// PostgreSQL: connections of this process, 3 to 100.
        connections: u32 = CONNECTIONS,
        /// Folder of attachments, which `[http] attachments_total_max` bounds; each is kept as `[retention]
        /// attachments` says. Several processes need a folder that all of them share.
        media: PathBuf = PathBuf::from("media"),
    }
}

section! {
    /// The log of segments and outcomes: a folder of this process, or NATS JetStream (2.12 or later) that
    /// several processes share. With NATS the servers' own `sync_interval` decides when a record is on disk:
    /// [Scaling](scaling.md).
    Bus {
        /// `file:FOLDER`, or `nats://HOST:PORT,HOST:PORT,…` (`tls://` for TLS).
        #[manual(example = "nats://nats-1.example:4222,nats-2.example:4222,nats-3.example:4222")]
        url: String = "file:bus".to_owned(),
        /// In a folder, when an append is acknowledged: `"always"` after each sync to disk, many appends
        /// together; `"interval:5ms"` (any duration above 0) and `"os"` are weaker: a power cut may lose the
        /// last records. Accepting an alert is always synced.
        /// [Guarantees of each](operating.md#what-is-safe-when-fsync).
        fsync: Fsync as FsyncWords = Fsync::Always,
        /// NATS: copies of each stream: 1, 3 or 5.
        #[manual(commented, example = 3)]
        replicas: u32 = 1,
        /// NATS: prefix of the streams' names; one database has one prefix. Letters, digits, `-`, `_`, at
        /// most 40.
        #[manual(commented)]
        prefix: String = "campanile".to_owned(),
        /// NATS: user name; set with `password`. `username`, `token` and `credentials` exclude each other.
        #[manual(example = "campanile")]
        username: Option<String> = None,
        /// NATS: password of `username`.
        #[manual(example = "secret")]
        password: Option<Secret> = None,
        /// NATS: token.
        #[manual(example = "secret")]
        token: Option<Secret> = None,
        /// NATS: file of credentials.
        #[manual(example = "nats.creds")]
        credentials: Option<PathBuf> = None,
        /// NATS: connect by TLS.
        #[manual(commented, example = true)]
        tls: bool = false,
        /// NATS: certificates (PEM) that are trusted beside the public roots.
        #[manual(example = "tls/nats.pem")]
        ca_file: Option<PathBuf> = None,
    }
}

section! {
    /// This process among several that share one PostgreSQL and one NATS; refused without them.
    Node {
        /// Name of the process, in logs and to the others. Letters, digits, `-`, `_`, at most 40.
        #[manual(default = "the machine's name", example = "node-1")]
        name: Option<String> = None,
        /// `HOST:PORT` by which the others reach the HTTP server of this process.
        #[manual(default = "the address of `[http] listen`", example = "10.0.0.1:8080")]
        address: Option<String> = None,
        /// Time without a renewed lease after which the other processes take over the work of this one; 2s to
        /// 2m.
        lease: Duration = Duration::from_secs(10),
        /// Whether the process may become the leader, which plans, dispatches and records.
        engine: bool = true,
        /// Whether the process opens the SMPP, SMTP and topic servers of this file; the HTTP server is always
        /// open.
        doors: bool = true,
        /// Names of the routes that the process sends on; `"*"`: all.
        gateways: Vec<String> = vec!["*".to_owned()],
    }
}

section! {
    /// The SMTP server for replies to mails (answers) and bounces. Off without this section.
    Smtp {
        /// Listening address. The MX record of `domain` points here.
        listen: SocketAddr = loopback(2525),
        /// Mails are sent with Reply-To `answers+TAG@domain` and return to `bounces+TAG@domain`. At most 190
        /// octets.
        #[manual(required, example = "reply.city.example")]
        domain: Option<String> = None,
        /// authserv-id by which your relay notes whose mails are authentic (`Authentication-Results`, RFC
        /// 8601); set with `authserv_from`. A mail whose author's domain it notes as `dmarc=pass` is believed
        /// to be its author's, and `answers@domain` without a tag is taken from it. The relay must remove
        /// such headers with its id from mails that come to it.
        #[manual(example = "mx.city.example")]
        authserv_id: Option<String> = None,
        /// Addresses and networks of that relay: nobody else's notes are believed.
        #[manual(example = ["10.0.0.25"])]
        authserv_from: Vec<String> = Vec::new(),
        /// Certificate chain (PEM); set with `tls_key`. The server then offers STARTTLS.
        #[manual(example = "tls/chain.pem")]
        tls_cert: Option<PathBuf> = None,
        /// Private key of the certificate (PEM); set with `tls_cert`.
        #[manual(example = "tls/key.pem")]
        tls_key: Option<PathBuf> = None,
        /// Connections at once; at least 1. One more takes the place of the oldest connection of the address
        /// that has most, unless a mail of that is being stored.
        connections_max: usize = doors::smtp::CONNECTIONS_MAX,
        /// Connections at once of one address (IPv6: of one network of 64 bits); at least 1. One more takes
        /// the place of that address's own oldest.
        connections_per_address_max: usize = doors::smtp::CONNECTIONS_PER_ADDRESS_MAX,
        /// Load balancers, as addresses or networks, whose connections begin with a PROXY header of version 2
        /// (haproxy: `send-proxy-v2`): the client's address is in it. Without the header they are closed.
        #[manual(example = ["10.0.0.0/24"])]
        proxy_from: Vec<String> = Vec::new(),
        /// Time until a command is whole; 1s to 1h (RFC 5321 asks for 5m).
        command_timeout: Duration = smtp_default().command,
        /// Time until a mail is whole, from DATA on; 1s to 1h.
        mail_timeout: Duration = smtp_default().mail,
        /// Time that a client may leave replies unread; 1s to 1h. Then its connection is closed.
        write_stall: Duration = smtp_default().write_stall,
    }
}

/// What `[smtp]` says of times unless it says otherwise.
fn smtp_default() -> doors::smtp::SmtpConfig {
    doors::smtp::SmtpConfig::new(String::new(), String::new())
}

section! {
    /// Limits and times of the engine.
    Engine {
        /// Delays before the second, third, … try after a temporary failure; after the last one the delivery
        /// fails. At most 50, each at least 1s.
        retry_after: Vec<Duration> = Settings::default().retry_after_s.into_iter().map(seconds).collect(),
        /// With strategy `first-reachable`: time without a receipt after which the next device is tried; at
        /// least 1s.
        receipt_timeout: Duration = seconds(Settings::default().receipt_timeout_s),
        /// Endpoints of one alert; at least 1.
        endpoints_max: u32 = Settings::default().endpoints_max,
        /// Time that a finished alert stays in memory, so that late receipts and answers need no read from
        /// the database.
        linger: Duration = seconds(Settings::default().linger_s),
        /// Time that message ids of carriers are stored; receipts after it match no message. At least 1m.
        carrier_ids: Duration = seconds(Settings::default().carrier_ids_s),
        /// Least time between two replies to a [keyword](#keyword) of the same person.
        confirm_every: Duration = seconds(Settings::default().keywords.confirm_every_s),
    }
}

section! {
    /// Import of recipients.
    Recipients {
        /// Country (ISO 3166-1) of national phone numbers: those of recipients, and those of people that
        /// networks and platforms write without a country code. Without it recipients' numbers must begin
        /// with + or 00.
        #[manual(example = "SE")]
        region: Option<String> = None,
    }
}

section! {
    /// How long records are kept. It is looked every ten minutes for what is past its time.
    Retention {
        /// Days after which an ended alert is deleted with its deliveries; at least 1.
        #[manual(default = "for ever", example = 365)]
        days: Option<u32> = None,
        /// Folder to which alerts are exported before they are deleted: for each alert ID.csv with its
        /// deliveries, then ID.json with its report. Needs `days`.
        #[manual(example = "exports")]
        export_dir: Option<PathBuf> = None,
        /// Days after the end of an alert, and of its time to answer, after which the texts of its answers
        /// are removed; choices and counts stay. 0 to 36500; 0: as long as the alert.
        answers: u32 = 0,
        /// Days after which entries of the audit trail are dropped; a signed entry stands for them. 0 to
        /// 36500; 0: never.
        audit: u32 = 0,
        /// Days after which files in `export_dir` are removed, from when they were written. 0 to 36500; 0:
        /// never. Needs `export_dir`.
        exports: u32 = 0,
        /// Days after which an attachment that an alert names is removed, from when the alert was submitted.
        /// 41 to 36500, since an alert lasts up to 40 days; 0: never.
        attachments: u32 = 41,
    }
}

section! {
    /// Callbacks, signed after Standard Webhooks.
    Callback {
        /// Signing secret: `whsec_` and base64 of 24 to 64 octets.
        #[manual(
            default = "a secret that the server makes and keeps in the data folder",
            example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        )]
        secret: Option<Secret> = None,
    }
}

section! {
    /// The server's log on its standard error. CAMPANILE_LOG and CAMPANILE_LOG_FORMAT override it.
    Log {
        /// A level (`error`, `warn`, `info`, `debug`, `trace`), or directives: `"info,gateway=debug"`.
        filter: String = "info".to_owned(),
        /// `"text"`, or `"json"`: one object a line.
        format: LogFormat = LogFormat::Text,
    }
}

words! {
    /// The form of log lines.
    LogFormat {
        /// For people.
        Text = "text",
        /// One object a line.
        Json = "json",
    }
}

section! {
    /// CAP messages submitted by API.
    Cap {
        /// Audiences by sender.
        sender: Vec<CapSender> = Vec::new(),
    }
}

section! {
    /// The audience of CAP messages of a sender, unless their URL has `?audience=`.
    CapSender {
        /// The message's `sender`, exactly; each sender has one section.
        #[manual(required, example = "w-nws.webmaster@noaa.gov")]
        sender: String = String::new(),
        /// Entries of an audience: `area`, `all`, `group:NAME`, `recipient:ID`, `CHANNEL:ADDRESS`.
        #[manual(required, example = ["area"])]
        audience: Vec<String> = Vec::new(),
        /// Attribute of recipients that holds their geocodes (several with `;`).
        #[manual(example = "ugc")]
        geocode_attribute: Option<String> = None,
    }
}

pub(super) fn loopback(port: u16) -> SocketAddr {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port).into()
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds.into())
}
