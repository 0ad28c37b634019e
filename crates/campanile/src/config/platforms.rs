//! `[smpp]`, `[[platform]]`, `[[keyword]]`: who hands messages in, and the words people say to them.

use super::Config;
use super::door_keys::door_limits;
use super::sections::loopback;
use doors::kannel::PlatformSettings;
use doors::smpp::{AllowedIp, ClientLanes, LongMessageForm, SmppClient as ClientSettings, SmppConfig};
use engine::{KeywordAction, Keywords, MessageClientSettings};
use gateway::Secret;
use gateway::route_keys::ModeWords;
use gateway::sms::{CharsetWords, VersionWords};
use net::TlsServerSettings;
use records::{Lane, MessageClient, Mode};
use settings::{section, words};
use smpp::pdu::Version;
use smpp::text::Charset;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

section! {
    /// The SMPP server: platforms bind to it. Off without this section. [Platforms](platforms.md) describes
    /// how their messages are handled.
    Smpp {
        /// Listening address, without TLS.
        listen: SocketAddr = loopback(2775),
        /// Listening address, with TLS (3550 by custom); needs `tls_cert` and `tls_key`.
        #[manual(example = "127.0.0.1:3550")]
        listen_tls: Option<SocketAddr> = None,
        /// Nothing is accepted without TLS: `listen` is not opened.
        tls_only: bool = false,
        /// Certificate chain (PEM); set with `tls_key`.
        #[manual(example = "tls/chain.pem")]
        tls_cert: Option<PathBuf> = None,
        /// Private key of the certificate (PEM); set with `tls_cert`.
        #[manual(example = "tls/key.pem")]
        tls_key: Option<PathBuf> = None,
        /// `system_id` of this server in the response to a bind; at most 15 octets.
        system_id: String = SmppConfig::default().system_id,
        /// Connections at once; at least 1. Half of them at most may be unbound, a quarter from one network:
        /// the oldest unbound one makes room.
        connections_max: usize = doors::smpp::CONNECTIONS_MAX,
        /// Connections at once of one address (IPv6: of one network of 64 bits); at least 1. One more takes
        /// the place of that address's own oldest connection that is not bound, or does not read.
        connections_per_address_max: usize = doors::smpp::CONNECTIONS_PER_ADDRESS_MAX,
        /// Load balancers, as addresses or networks, whose connections begin with a PROXY header of version 2
        /// (haproxy: `send-proxy-v2`): the client's address is in it. Without the header they are closed.
        #[manual(example = ["10.0.0.0/24"])]
        proxy_from: Vec<String> = Vec::new(),
        /// Time from connection to bind.
        session_init: Duration = SmppConfig::default().session_init,
        /// Silence after which the server sends an `enquire_link` to a client.
        enquire_link: Duration = SmppConfig::default().enquire_link,
        /// Time without any message after which a session is unbound.
        #[manual(default = "never", example = "1h")]
        inactivity: Option<Duration> = None,
        /// Time from a `deliver_sm` to its response; then it is sent again.
        response_timeout: Duration = SmppConfig::default().response,
        /// Time that a client may leave PDUs unread.
        write_stall: Duration = SmppConfig::default().write_stall,
        /// Time for outstanding requests when a session ends.
        drain: Duration = SmppConfig::default().drain,
        /// The clients.
        client: Vec<SmppClient> = Vec::new(),
    }
}

section! {
    /// A client that may bind; at most 10,000.
    SmppClient {
        /// Its `system_id`: ASCII, at most 15 octets.
        #[manual(required, example = "platform-a")]
        system_id: String = String::new(),
        /// Its password: ASCII, at most 64 octets. SMPP has 8: some clients send no more.
        #[manual(required, example = "secret")]
        password: Secret = Secret::default(),
        /// Account of its messages.
        account: String = records::Account::DEFAULT.to_owned(),
        /// Routes that its messages may use: `"live"` or `"drill"`.
        mode: Mode as ModeWords = Mode::Live,
        /// Messages per second over all its sessions; beyond it the response is `RTHROTTLED`. 0 is unlimited.
        rate: f64 = 0.0,
        /// Requests of a session without a response, each way; beyond it the response is `RTHROTTLED`.
        window: usize = ClientSettings::default().window,
        /// Sessions at once; beyond it the response is `RALYBND`.
        connections: u32 = ClientSettings::default().connections,
        /// Addresses and networks from which it may connect; none: any.
        #[manual(example = ["127.0.0.1", "10.0.0.0/8"])]
        allowed_ips: Vec<String> = Vec::new(),
        /// Alphabet of `data_coding` 0.
        charset: Charset as CharsetWords = Charset::Gsm7,
        /// Own numbers, or prefixes of them: the client gets the messages that people send to these. None:
        /// messages to numbers that no other client names.
        #[manual(example = ["+4670000"])]
        numbers: Vec<String> = Vec::new(),
        /// Names of routes: the client gets messages from people that came by these. None: all.
        routes: Vec<String> = Vec::new(),
        /// Senders that its messages may show; a trailing `*` matches anything. None: any.
        #[manual(example = ["CITY*"])]
        senders: Vec<String> = Vec::new(),
        /// Lane of its messages.
        lane: LaneChoice = LaneChoice::Routine,
        /// `priority_flag` from which a message is urgent.
        urgent_from: Option<u8> = ClientLanes::default().urgent_from,
        /// `priority_flag` from which a message is an emergency.
        #[manual(default = "none is", example = 3)]
        emergency_from: Option<u8> = None,
        /// Highest version of SMPP in a session.
        version: Version as VersionWords = Version::V5_0,
        /// Time that a message without `validity_period` is tried; at most 30d.
        validity: Duration = Duration::from_secs(ClientSettings::default().validity_s as u64),
        /// Form of delivery of messages from people that are longer than one part: `"payload"`
        /// (message_payload) or `"udh"` (in parts).
        long: LongChoice = LongChoice::Payload,
    }
}

section! {
    /// A client of `/cgi-bin/sendsms` on the HTTP server, an interface compatible with Kannel's smsbox; at
    /// most 10,000. [Platforms](platforms.md) describes it.
    Platform {
        /// Its user name.
        #[manual(required, example = "a")]
        username: String = String::new(),
        /// Its password.
        #[manual(required, example = "secret")]
        password: Secret = Secret::default(),
        /// Account of its messages.
        account: String = records::Account::DEFAULT.to_owned(),
        /// Routes that its messages may use: `"live"` or `"drill"`.
        mode: Mode as ModeWords = Mode::Live,
        /// URL to which messages from people are sent by GET; escapes as in Kannel's get-url.
        #[manual(example = "http://platform.example/in?from=%p&text=%b")]
        callback: Option<String> = None,
        /// A text in the answer to `callback` (`text/plain`, at most 1,530 characters) goes back to the
        /// person as a message, as with Kannel.
        replies: bool = true,
        /// Own numbers, or prefixes of them: the client gets the messages that people send to these. None:
        /// messages to numbers that no other client names.
        numbers: Vec<String> = Vec::new(),
        /// Names of routes: the client gets messages from people that came by these. None: all.
        routes: Vec<String> = Vec::new(),
        /// Addresses and networks from which it may connect; none: any.
        allowed_ips: Vec<String> = Vec::new(),
        /// Messages per second; 0 is unlimited.
        rate: f64 = 0.0,
        /// Sender of messages that name none.
        #[manual(default = "the route's", example = "CITY")]
        sender: Option<String> = None,
        /// URL for reports of messages that request them without a dlr-url.
        #[manual(example = "http://platform.example/dlr?id=%I&what=%d")]
        dlr_url: Option<String> = None,
    }
}

section! {
    /// Words by which people stop messages, start them again, or request help, and the replies to them. The
    /// whole message must be the word; case, accents, width, punctuation and thanks around it do not count.
    /// [Reserved words](platforms.md#stop-start-help) (STOP, STOP ALL, UNSUBSCRIBE, CANCEL, ARRET and others;
    /// START, UNSTOP) apply beside them: a STOP without a keyword of its own gets the reply of the first one
    /// of action `"stop"`, that of its language before others.
    Keyword {
        /// `"stop"`, `"start"`, `"help"` or `"text"` (the reply only), `"url"` (what `url` answers), or a
        /// [service](services.md) that the words ask for beside its own: `"status"`, `"groups"`, `"join"`,
        /// `"leave"`, `"subscribe"`, `"unsubscribe"`, `"lang"`, `"quiet"`, `"page"`, `"send"`.
        #[manual(required, example = "stop")]
        action: Option<ActionChoice> = None,
        /// The words: 1 to 100, each at most 50 characters.
        #[manual(required, example = ["STOP", "STOPP"])]
        words: Vec<String> = Vec::new(),
        /// Own numbers or names to which the word must be sent; it then applies to that sender alone. None:
        /// sent to any sender, it applies to all.
        senders: Vec<String> = Vec::new(),
        /// Language of the words and the reply.
        #[manual(example = "sv")]
        language: Option<String> = None,
        /// Reply, sent once in `engine.confirm_every`.
        #[manual(example = "Du får inga fler meddelanden från oss. Svara START för att få dem igen.")]
        reply: Option<String> = None,
        /// URL that is fetched with action `"url"`, with escapes as in a platform's `callback`; the text it
        /// answers is the reply. For short messages.
        #[manual(example = "http://intranet.example/on-call?from=%p&text=%b")]
        url: Option<String> = None,
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
        /// The reply, whatever the word.
        Text = "text",
        /// What a URL answers.
        Url = "url",
        /// What is known of whoever asks.
        Status = "status",
        /// The groups that can be joined.
        Groups = "groups",
        /// Into a group.
        Join = "join",
        /// Out of a group.
        Leave = "leave",
        /// Alerts about something.
        Subscribe = "subscribe",
        /// No more alerts about something.
        Unsubscribe = "unsubscribe",
        /// The language of texts.
        Lang = "lang",
        /// Quiet hours.
        Quiet = "quiet",
        /// The link to their own page.
        Page = "page",
        /// An alert that was prepared.
        Send = "send",
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
            limits: door_limits(self.connections_max, self.connections_per_address_max, &self.proxy_from),
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
            lanes: ClientLanes {
                usual: self.lane.lane(),
                urgent_from: self.urgent_from,
                emergency_from: self.emergency_from,
            },
            version: self.version,
            validity_s: u32::try_from(self.validity.as_secs()).unwrap_or(u32::MAX),
            long: match self.long {
                LongChoice::Payload => LongMessageForm::Payload,
                LongChoice::Udh => LongMessageForm::Udh,
            },
        }
    }
}

impl LaneChoice {
    pub(super) fn lane(self) -> Lane {
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
    pub fn parties(&self) -> Vec<MessageClientSettings> {
        let clients = self.smpp.iter().flat_map(|smpp| &smpp.client).map(|client| MessageClientSettings {
            client: MessageClient::Smpp(client.system_id.clone()),
            account: client.account.clone(),
            mode: client.mode,
            numbers: client.numbers.clone(),
            routes: client.routes.clone(),
            callback: None,
            replies: false,
        });
        let platforms = self.platform.iter().map(|platform| MessageClientSettings {
            client: MessageClient::Platform(platform.username.clone()),
            account: platform.account.clone(),
            mode: platform.mode,
            numbers: platform.numbers.clone(),
            routes: platform.routes.clone(),
            callback: platform.callback.clone(),
            replies: platform.replies,
        });
        clients.chain(platforms).collect()
    }

    /// Words people stop and start messages with, beside the reserved ones.
    pub fn keywords(&self) -> Keywords {
        let confirm_every_s = u32::try_from(self.engine.confirm_every.as_secs()).unwrap_or(u32::MAX);
        let list = self.keyword.iter().filter_map(|keyword| {
            Some(engine::Keyword {
                action: match keyword.action? {
                    ActionChoice::Stop => KeywordAction::Stop,
                    ActionChoice::Start => KeywordAction::Start,
                    ActionChoice::Help => KeywordAction::Help,
                    ActionChoice::Text => KeywordAction::Text,
                    ActionChoice::Url => KeywordAction::Url,
                    _ => return None,
                },
                words: keyword.words.clone(),
                senders: keyword.senders.clone(),
                language: keyword.language.clone(),
                reply: keyword.reply.clone(),
                url: keyword.url.clone(),
            })
        });
        let services = Arc::new(self.service_rules());
        Keywords { list: list.collect(), confirm_every_s, opt_out: self.opt_out_rules(), services }
    }
}
