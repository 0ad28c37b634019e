//! `[[route]]`: one way out, and what its gateway and the engine are told of it.

use super::values::{
    BindingWords, BitRate, ChannelName, CharsetWords, ConcatWords, IdFormWords, InterfaceName, LanguageWords,
    ModeWords, StandingWords, TlsWords, VersionWords,
};
use cast::push::Interface;
use doors::topic::TopicsConfig;
use gateway::Secret;
use gateway::mail::{MailRoute, Tls};
use gateway::sms::SmsRoute;
use gateway::sms::config::{Binding, Numbering, Source as SmsSource, Standing};
use gateway::topic::TopicRoute;
use net::TlsClientSettings;
use records::{Channel, Mode};
use settings::section;
use smpp::pdu::Version;
use smpp::receipt::IdForm;
use smpp::text::national::Language;
use smpp::text::{Charset, Concat};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

section! {
    /// `[[route]]`. What is absent of a channel's own keys takes the channel's default.
    Route {
        /// Its name, unique.
        name: String = String::new(),
        /// What it carries. Required.
        channel: Option<Channel> as Option<ChannelName> = None,
        /// What may use it. Required.
        mode: Option<Mode> as Option<ModeWords> = None,
        /// Messages (SMS: parts) per second; 0 is unlimited.
        rate: f64 = 0.0,
        /// `host:port`.
        address: Option<String> = None,
        /// Answered by the simulator instead.
        sim: bool = false,
        /// Only addresses that begin with one of these.
        prefixes: Vec<String> = Vec::new(),
        /// Only messages shown as from one of these.
        senders: Vec<String> = Vec::new(),
        /// Only messages of these accounts.
        accounts: Vec<String> = Vec::new(),
        /// Share among equals.
        weight: u32 = 1,
        /// Minor units for a part.
        cost: i64 = 0,
        /// Lower goes first.
        priority: i32 = 0,
        /// Longest a message is worth trying.
        validity: Option<Duration> = None,
        /// The network tells what became of a message; SMS yes, mail no.
        receipts: Option<bool> = None,
        /// Connections.
        sessions: Option<u32> = None,
        /// Messages under way on each.
        window: Option<u32> = None,
        /// When connections are encrypted.
        tls: Option<Tls> as Option<TlsWords> = None,
        /// PEM certificates trusted beside the world's roots.
        ca_file: Option<PathBuf> = None,
        /// The name in the peer's certificate.
        server_name: Option<String> = None,
        /// SMS: who we are.
        system_id: Option<String> = None,
        /// The proof.
        password: Option<Secret> = None,
        /// SMS.
        system_type: Option<String> = None,
        /// SMS.
        version: Option<Version> as Option<VersionWords> = None,
        /// SMS: how sessions are bound.
        bind: Option<Binding> as Option<BindingWords> = None,
        /// SMS: when they are.
        binding: Option<Standing> as Option<StandingWords> = None,
        /// SMS, on demand: a session with nothing to do for so long unbinds.
        idle: Option<Duration> = None,
        /// SMS, on demand: a session that receives is bound this often.
        poll_every: Option<Duration> = None,
        /// SMS: where an SMSC may ask us to bind.
        outbind: Option<String> = None,
        /// SMS: what such an SMSC proves itself with.
        outbind_password: Option<Secret> = None,
        /// SMS: the sender shown where the alert names none.
        source: Option<Source> = None,
        /// SMS: how destinations are announced.
        dest: Option<Dest> = None,
        /// SMS.
        service_type: Option<String> = None,
        /// SMS: what the carrier takes data_coding 0 to be.
        charset: Option<Charset> as Option<CharsetWords> = None,
        /// SMS: languages whose tables of GSM 7-bit texts may use.
        languages: Option<Vec<Language>> as Option<Vec<LanguageWords>> = None,
        /// SMS: how long messages are cut.
        long: Option<Concat> as Option<ConcatWords> = None,
        /// SMS: how receipts write ids.
        receipt_ids: Option<IdForm> as Option<IdFormWords> = None,
        /// SMS: registered_delivery of every message.
        registered_delivery: Option<u8> = None,
        /// SMS: from a request to its response.
        response_timeout: Option<Duration> = None,
        /// SMS: silence after which the carrier is asked.
        enquire_link: Option<Duration> = None,
        /// SMS: from connecting to being bound.
        connect_timeout: Option<Duration> = None,
        /// SMS: how long what is under way may take at the end.
        drain: Option<Duration> = None,
        /// Mail: for AUTH.
        username: Option<String> = None,
        /// Mail: the author.
        from: Option<String> = None,
        /// Mail: our name in EHLO.
        hello: Option<String> = None,
        /// Edge: bits per second of a push, to the group or to each site.
        bandwidth: Option<f64> as Option<BitRate> = None,
        /// Edge: the multicast group that all sites hear.
        group: Option<SocketAddr> = None,
        /// Edge: the interface by which it is reached.
        interface: Option<Interface> as Option<InterfaceName> = None,
        /// Edge: routers that its datagrams may pass.
        hops: Option<u32> = None,
    }
}

section! {
    /// A sender.
    Source {
        /// Type of number.
        ton: u8 = 0,
        /// Numbering plan.
        npi: u8 = 0,
        /// Digits or a name.
        addr: String = String::new(),
    }
}

section! {
    /// How destinations are announced.
    Dest {
        /// Type of number.
        ton: u8 = 1,
        /// Numbering plan.
        npi: u8 = 1,
    }
}

/// Stands for the address of a route whose simulator has none yet.
pub(super) const SIMULATED_ADDRESS: &str = "127.0.0.1:1";

impl Route {
    /// What the engine must know of it. Nothing without a channel and a mode: such a config has problems.
    pub fn record(&self) -> Option<records::Route> {
        let channel = self.channel?;
        Some(records::Route {
            name: self.name.clone(),
            channel,
            mode: self.mode?,
            rate: self.rate,
            simulated: self.sim,
            prefixes: self.prefixes.clone(),
            senders: self.senders.clone(),
            accounts: self.accounts.clone(),
            weight: self.weight,
            cost: self.cost,
            priority: self.priority,
            validity_s: self.validity_s().unwrap_or(0),
            receipts: self.receipts.unwrap_or(matches!(channel, Channel::Sms | Channel::Edge)),
        })
    }

    /// What the SMS gateway is told; nothing for another channel. `address` is the simulator's, where the route has one.
    pub fn sms(&self, data: &Path, address: Option<&str>) -> Option<SmsRoute> {
        if self.channel != Some(Channel::Sms) {
            return None;
        }
        let usual = SmsRoute::default();
        let source = self.source.clone().map(|source| SmsSource {
            ton: source.ton,
            npi: source.npi,
            addr: source.addr,
        });
        let dest = self.dest.as_ref().map(|dest| Numbering { ton: dest.ton, npi: dest.npi });
        let encrypted = self.tls.is_some_and(|tls| tls != Tls::None);
        Some(SmsRoute {
            name: self.name.clone(),
            address: self.peer(address),
            system_id: self.system_id.clone().unwrap_or(usual.system_id),
            password: self.password.clone().unwrap_or(usual.password),
            system_type: self.system_type.clone().unwrap_or(usual.system_type),
            version: self.version.unwrap_or(usual.version),
            bind: self.bind.unwrap_or(usual.bind),
            standing: self.binding.unwrap_or(usual.standing),
            idle: self.idle.unwrap_or(usual.idle),
            poll_every: self.poll_every.unwrap_or(usual.poll_every),
            outbind: self.outbind.clone(),
            outbind_password: self.outbind_password.clone().unwrap_or(usual.outbind_password),
            sessions: self.sessions.unwrap_or(usual.sessions),
            window: self.window.unwrap_or(usual.window),
            rate: self.rate,
            source: source.unwrap_or(usual.source),
            dest: dest.unwrap_or(usual.dest),
            service_type: self.service_type.clone().unwrap_or(usual.service_type),
            charset: self.charset.unwrap_or(usual.charset),
            languages: self.languages.clone().unwrap_or(usual.languages),
            long: self.long.unwrap_or(usual.long),
            receipt_ids: self.receipt_ids.unwrap_or(usual.receipt_ids),
            validity_s: self.validity_s(),
            registered_delivery: self.registered_delivery,
            response_timeout: self.response_timeout.unwrap_or(usual.response_timeout),
            enquire_link: self.enquire_link.unwrap_or(usual.enquire_link),
            connect_timeout: self.connect_timeout.unwrap_or(usual.connect_timeout),
            drain: self.drain.unwrap_or(usual.drain),
            tls: encrypted.then(|| self.tls_settings(data)),
        })
    }

    /// What the mail gateway is told; nothing for another channel. `door` is the domain of the SMTP door.
    pub fn mail(&self, data: &Path, address: Option<&str>, door: Option<&str>) -> Option<MailRoute> {
        if self.channel != Some(Channel::Mail) {
            return None;
        }
        let usual = MailRoute::default();
        let tls = self.tls_settings(data);
        let many = |number: Option<u32>, usual| number.map_or(usual, |number| number as usize);
        Some(MailRoute {
            name: self.name.clone(),
            address: self.peer(address),
            tls: self.tls.unwrap_or(usual.tls),
            ca_file: tls.ca_file,
            server_name: tls.server_name,
            username: self.username.clone(),
            password: self.password.clone(),
            from: self.from.clone().unwrap_or_default(),
            sessions: many(self.sessions, usual.sessions),
            window: many(self.window, usual.window),
            rate: self.rate,
            domain: door.map(str::to_owned),
            hello: self.hello.clone(),
            drill: self.mode == Some(Mode::Drill),
            timeouts: usual.timeouts,
        })
    }

    /// What the topic gateway is told; nothing for another channel. `kept`: as the door keeps text topics.
    pub fn topic(&self, kept: &TopicsConfig) -> Option<TopicRoute> {
        (self.channel == Some(Channel::Topic)).then(|| TopicRoute {
            name: self.name.clone(),
            rate: self.rate,
            settings: kept.settings(),
            topic_octets_max: kept.topic_octets_max,
            message_octets_max: kept.message_octets_max,
        })
    }

    /// Keys that are set and belong to another channel.
    pub(super) fn strangers(&self) -> Vec<&'static str> {
        let sms = [
            ("system_id", self.system_id.is_some()),
            ("system_type", self.system_type.is_some()),
            ("version", self.version.is_some()),
            ("bind", self.bind.is_some()),
            ("binding", self.binding.is_some()),
            ("idle", self.idle.is_some()),
            ("poll_every", self.poll_every.is_some()),
            ("outbind", self.outbind.is_some()),
            ("outbind_password", self.outbind_password.is_some()),
            ("source", self.source.is_some()),
            ("dest", self.dest.is_some()),
            ("service_type", self.service_type.is_some()),
            ("charset", self.charset.is_some()),
            ("languages", self.languages.is_some()),
            ("long", self.long.is_some()),
            ("receipt_ids", self.receipt_ids.is_some()),
            ("registered_delivery", self.registered_delivery.is_some()),
            ("response_timeout", self.response_timeout.is_some()),
            ("enquire_link", self.enquire_link.is_some()),
            ("connect_timeout", self.connect_timeout.is_some()),
            ("drain", self.drain.is_some()),
        ];
        let mail = [
            ("username", self.username.is_some()),
            ("from", self.from.is_some()),
            ("hello", self.hello.is_some()),
        ];
        let edge = [
            ("bandwidth", self.bandwidth.is_some()),
            ("group", self.group.is_some()),
            ("interface", self.interface.is_some()),
            ("hops", self.hops.is_some()),
        ];
        // A text topic is in this house: there is nobody to connect to. Edge sites have their own addresses and keys.
        let carriers = [
            ("address", self.address.is_some()),
            ("sim", self.sim),
            ("password", self.password.is_some()),
            ("tls", self.tls.is_some()),
            ("ca_file", self.ca_file.is_some()),
            ("server_name", self.server_name.is_some()),
            ("window", self.window.is_some()),
        ];
        let sessions = [("sessions", self.sessions.is_some())];
        let others: Vec<(&'static str, bool)> = match self.channel {
            Some(Channel::Sms) => [&mail[..], &edge].concat(),
            Some(Channel::Mail) => [&sms[..], &edge].concat(),
            Some(Channel::Topic) => [&sms[..], &mail, &edge, &carriers, &sessions].concat(),
            Some(Channel::Edge) => [&sms[..], &mail, &carriers].concat(),
            None => Vec::new(),
        };
        others.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key).collect()
    }

    fn peer(&self, simulator: Option<&str>) -> String {
        simulator.map(str::to_owned).or_else(|| self.address.clone()).unwrap_or_default()
    }

    fn validity_s(&self) -> Option<u32> {
        self.validity.map(|validity| u32::try_from(validity.as_secs()).unwrap_or(u32::MAX))
    }

    fn tls_settings(&self, data: &Path) -> TlsClientSettings {
        TlsClientSettings {
            ca_file: self.ca_file.as_ref().map(|file| data.join(file)),
            server_name: self.server_name.clone(),
        }
    }
}
