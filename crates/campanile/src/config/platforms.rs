//! `[smpp]`, `[[platform]]`, `[[keyword]]`: who hands messages in, and the words people say to them.

use super::Config;
use super::sections::loopback;
use super::values::{CharsetWords, ModeWords, VersionWords};
use doors::http::PlatformSettings;
use doors::smpp::{AllowedIp, Long, SmppClient as ClientSettings, SmppConfig};
use engine::{KeywordAction, Keywords, PartySettings};
use gateway::Secret;
use net::TlsServerSettings;
use records::{Lane, Mode, Party};
use settings::{section, words};
use smpp::pdu::Version;
use smpp::text::Charset;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

section! {
    /// `[smpp]`
    Smpp {
        /// Address and port in the clear; nothing (with listen_tls): TLS only.
        listen: SocketAddr = loopback(2775),
        /// Address and port with TLS.
        listen_tls: Option<SocketAddr> = None,
        /// Nothing is taken in the clear.
        tls_only: bool = false,
        /// Certificate chain, PEM.
        tls_cert: Option<PathBuf> = None,
        /// Its key, PEM.
        tls_key: Option<PathBuf> = None,
        /// What we call ourselves in the answer to a bind.
        system_id: String = SmppConfig::default().system_id,
        /// Connections at once on each address.
        connections_max: usize = SmppConfig::default().connections_max,
        /// From connection to bind.
        session_init: Duration = SmppConfig::default().session_init,
        /// Silence after which a client is asked whether it is there.
        enquire_link: Duration = SmppConfig::default().enquire_link,
        /// Time without any message after which a session is unbound; nothing: never.
        inactivity: Option<Duration> = None,
        /// From our request to the client's answer.
        response_timeout: Duration = SmppConfig::default().response,
        /// How long a client may leave unread what we say.
        write_stall: Duration = SmppConfig::default().write_stall,
        /// How long what is outstanding may take when a session ends.
        drain: Duration = SmppConfig::default().drain,
        /// Who may bind.
        client: Vec<SmppClient> = Vec::new(),
    }
}

section! {
    /// `[[smpp.client]]`
    SmppClient {
        /// Who it is.
        system_id: String = String::new(),
        /// And the proof.
        password: Secret = Secret::default(),
        /// Whose its messages are.
        account: String = records::Account::DEFAULT.to_owned(),
        /// Live or drill.
        mode: Mode as ModeWords = Mode::Live,
        /// Messages a second over all its sessions; 0 is unlimited.
        rate: f64 = 0.0,
        /// Requests of a session without an answer, each way.
        window: usize = ClientSettings::default().window,
        /// Connections at once.
        connections: u32 = ClientSettings::default().connections,
        /// From where; empty: from anywhere.
        allowed_ips: Vec<String> = Vec::new(),
        /// What it takes data_coding 0 to be.
        charset: Charset as CharsetWords = Charset::Gsm7,
        /// Our numbers that it hears.
        numbers: Vec<String> = Vec::new(),
        /// Routes that it hears; empty: all.
        routes: Vec<String> = Vec::new(),
        /// Senders it may show; empty: any.
        senders: Vec<String> = Vec::new(),
        /// Lane of its messages.
        lane: LaneChoice = LaneChoice::Routine,
        /// priority_flag from which a message is urgent.
        urgent_from: Option<u8> = ClientSettings::default().urgent_from,
        /// priority_flag from which a message is an emergency; nothing: none is.
        emergency_from: Option<u8> = None,
        /// The highest version it is spoken to in.
        version: Version as VersionWords = Version::V5_0,
        /// How long messages are tried that do not say.
        validity: Duration = Duration::from_secs(ClientSettings::default().validity_s as u64),
        /// How long messages from people are handed over.
        long: LongChoice = LongChoice::Payload,
    }
}

section! {
    /// `[[platform]]`
    Platform {
        /// Who it is.
        username: String = String::new(),
        /// And the proof.
        password: Secret = Secret::default(),
        /// Whose its messages are.
        account: String = records::Account::DEFAULT.to_owned(),
        /// Live or drill.
        mode: Mode as ModeWords = Mode::Live,
        /// Where messages from people go.
        callback: Option<String> = None,
        /// Our numbers that it hears.
        numbers: Vec<String> = Vec::new(),
        /// Routes that it hears; empty: all.
        routes: Vec<String> = Vec::new(),
        /// From where; empty: from anywhere.
        allowed_ips: Vec<String> = Vec::new(),
        /// Messages a second; 0 is unlimited.
        rate: f64 = 0.0,
        /// The sender of messages that name none; without it the route's own.
        sender: Option<String> = None,
        /// Where reports go of messages that ask for them and name no dlr-url.
        dlr_url: Option<String> = None,
    }
}

section! {
    /// `[[keyword]]`
    Keyword {
        /// What follows. Required.
        action: Option<ActionChoice> = None,
        /// What people type.
        words: Vec<String> = Vec::new(),
        /// Only when it is said to one of these numbers or names of ours.
        senders: Vec<String> = Vec::new(),
        /// The language of the words and the reply.
        language: Option<String> = None,
        /// What is said back.
        reply: Option<String> = None,
    }
}

words! {
    /// What a keyword does.
    ActionChoice {
        /// No more messages.
        Stop = "stop",
        /// Messages again.
        Start = "start",
        /// Only the reply.
        Help = "help",
    }
}

words! {
    /// A lane.
    LaneChoice {
        /// Read first.
        Emergency = "emergency",
        /// Read second.
        Urgent = "urgent",
        /// Read last.
        Routine = "routine",
    }
}

words! {
    /// How a message from a person is handed over that is longer than one part.
    LongChoice {
        /// Whole, in message_payload.
        Payload = "payload",
        /// In parts with user data headers.
        Udh = "udh",
    }
}

impl Smpp {
    /// As the door wants it.
    pub fn door(&self, data: &Path) -> SmppConfig {
        let tls = self.tls_cert.as_ref().zip(self.tls_key.as_ref());
        SmppConfig {
            listen: (!self.tls_only).then(|| self.listen.to_string()),
            tls_listen: self.listen_tls.map(|address| address.to_string()),
            tls: tls.map(|(cert, key)| TlsServerSettings {
                cert_file: data.join(cert),
                key_file: data.join(key),
            }),
            system_id: self.system_id.clone(),
            connections_max: self.connections_max,
            session_init: self.session_init,
            enquire_link: self.enquire_link,
            inactivity: self.inactivity,
            response: self.response_timeout,
            write_stall: self.write_stall,
            drain: self.drain,
        }
    }

    /// Its clients, as the door wants them.
    pub fn clients(&self) -> Vec<ClientSettings> {
        self.client.iter().map(SmppClient::door).collect()
    }
}

impl SmppClient {
    fn door(&self) -> ClientSettings {
        ClientSettings {
            system_id: self.system_id.clone(),
            password: self.password.reveal().into(),
            account: self.account.clone(),
            mode: self.mode,
            rate: self.rate,
            window: self.window,
            connections: self.connections,
            // What is none was a problem when the config was checked.
            allowed_ips: self.allowed_ips.iter().filter_map(|ip| ip.parse::<AllowedIp>().ok()).collect(),
            charset: self.charset,
            numbers: self.numbers.clone(),
            senders: self.senders.clone(),
            lane: self.lane.lane(),
            urgent_from: self.urgent_from,
            emergency_from: self.emergency_from,
            version: self.version,
            validity_s: u32::try_from(self.validity.as_secs()).unwrap_or(u32::MAX),
            long: match self.long {
                LongChoice::Payload => Long::Payload,
                LongChoice::Udh => Long::Udh,
            },
        }
    }
}

impl LaneChoice {
    fn lane(self) -> Lane {
        match self {
            LaneChoice::Emergency => Lane::Emergency,
            LaneChoice::Urgent => Lane::Urgent,
            LaneChoice::Routine => Lane::Routine,
        }
    }
}

impl Platform {
    fn door(&self) -> PlatformSettings {
        PlatformSettings {
            username: self.username.clone(),
            password: self.password.reveal().to_owned(),
            account: self.account.clone(),
            mode: self.mode,
            callback: self.callback.clone(),
            numbers: self.numbers.clone(),
            allowed_ips: self.allowed_ips.clone(),
            rate: self.rate,
            sender: self.sender.clone(),
            dlr_url: self.dlr_url.clone(),
        }
    }
}

impl Config {
    /// Who may call the platform's old way, as the HTTP door wants it.
    pub fn platforms(&self) -> Vec<PlatformSettings> {
        self.platform.iter().map(Platform::door).collect()
    }

    /// Whom messages from people are for, as the engine wants it.
    pub fn parties(&self) -> Vec<PartySettings> {
        let clients = self.smpp.iter().flat_map(|smpp| &smpp.client).map(|client| PartySettings {
            party: Party::Smpp(client.system_id.clone()),
            account: client.account.clone(),
            mode: client.mode,
            numbers: client.numbers.clone(),
            routes: client.routes.clone(),
            callback: None,
        });
        let platforms = self.platform.iter().map(|platform| PartySettings {
            party: Party::Platform(platform.username.clone()),
            account: platform.account.clone(),
            mode: platform.mode,
            numbers: platform.numbers.clone(),
            routes: platform.routes.clone(),
            callback: platform.callback.clone(),
        });
        clients.chain(platforms).collect()
    }

    /// Words people stop and start messages with: those of the config, or the usual ones.
    pub fn keywords(&self) -> Keywords {
        let confirm_every_s = u32::try_from(self.engine.confirm_every.as_secs()).unwrap_or(u32::MAX);
        if self.keyword.is_empty() {
            return Keywords { confirm_every_s, ..Keywords::default() };
        }
        let list = self.keyword.iter().filter_map(|keyword| {
            Some(engine::Keyword {
                action: match keyword.action? {
                    ActionChoice::Stop => KeywordAction::Stop,
                    ActionChoice::Start => KeywordAction::Start,
                    ActionChoice::Help => KeywordAction::Help,
                },
                words: keyword.words.clone(),
                senders: keyword.senders.clone(),
                language: keyword.language.clone(),
                reply: keyword.reply.clone(),
            })
        });
        Keywords { list: list.collect(), confirm_every_s }
    }
}
