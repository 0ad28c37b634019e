//! Keys of a route of channel `sms`, and its settings made of them.

use super::SmsRoute;
use super::config::{Binding, Numbering, SessionPolicy, Source as SmsSource};
use super::http::{SmsInbound, SmsProtocol, SmsReceipt, SmsRequest, SmsResponse};
use crate::mail::TlsMode;
use crate::route_keys::RouteKeys;
use crate::surroundings::Surroundings;
use crate::tls_words::TlsWords;
use net::TlsClientSettings;
use settings::{Node, Problems, Schema, Secret, ValueFormat, section, words};
use smpp::pdu::Version;
use smpp::receipt::IdForm;
use smpp::text::national::Language;
use smpp::text::{Charset, Concat};
use std::path::PathBuf;
use std::time::Duration;

section! {
    /// A carrier's SMSC, by SMPP, or with `protocol = "http"` a carrier's HTTP API
    /// ([Short messages by HTTP](sms-http.md)), for which `connections`, `source`, `response_timeout`,
    /// `connect_timeout`, `ca_file`, `request`, `response`, `receipt` and `inbound` hold. Times are above 0;
    /// `idle`, `poll_every`, `response_timeout`, `enquire_link`, `connect_timeout` and `drain` at most 1h.
    SmsKeys {
        /// `"smpp"`, or `"http"`: one request a message.
        protocol: SmsProtocol = SmsProtocol::Smpp,
        /// Sessions at a time, 1 to 100; of each kind with `bind = "transmitter+receiver"`.
        sessions: u32 = SmsRoute::default().sessions,
        /// Submissions without a response on each session, 1 to 10,000; sessions x window at most 100,000.
        window: u32 = SmsRoute::default().window,
        /// `system_id` of a bind: ASCII, at most 15 octets.
        #[manual(example = "campanile")]
        system_id: String = SmsRoute::default().system_id,
        /// Password of `system_id`: ASCII, at most 64 octets. SMPP has 8; a longer one, as some carriers hand
        /// out, is sent as it is.
        #[manual(example = "secret")]
        password: Secret = SmsRoute::default().password,
        /// `system_type` of a bind; at most 12 octets.
        system_type: String = SmsRoute::default().system_type,
        /// Highest version of SMPP in use.
        version: Version as VersionWords = SmsRoute::default().version,
        /// Kind of the sessions.
        bind: Binding as BindingWords = SmsRoute::default().bind,
        /// `"standing"`, or `"on-demand"`: sessions are bound when there is something to send, drained and
        /// unbound when there is nothing.
        binding: SessionPolicy as StandingWords = SmsRoute::default().standing,
        /// On demand: time without work after which a session is unbound.
        idle: Duration = SmsRoute::default().idle,
        /// On demand: time between binds of a session that receives, for messages that wait at the carrier.
        poll_every: Duration = SmsRoute::default().poll_every,
        /// Listening address, `host:port`, where an SMSC may connect and request a bind (outbind); this
        /// server then opens no receive-only sessions itself.
        #[manual(example = "127.0.0.1:2776")]
        outbind: Option<String> = SmsRoute::default().outbind,
        /// Password of such an SMSC; empty: none is required.
        outbind_password: Secret = SmsRoute::default().outbind_password,
        /// Sender of messages whose alert names no valid sender; at most 20 octets. Empty: the carrier's
        /// choice.
        #[manual(inline, example = {ton = 5, npi = 0, addr = "CITY"})]
        source: Source = Source::default(),
        /// Type and numbering plan of destinations.
        #[manual(inline)]
        dest: Dest = Dest::default(),
        /// `service_type` of every message; at most 5 octets.
        service_type: String = SmsRoute::default().service_type,
        /// Alphabet that the carrier uses for `data_coding` 0.
        charset: Charset as CharsetWords = SmsRoute::default().charset,
        /// Languages whose national GSM 7-bit tables (TS 23.038) encode texts that the default alphabet
        /// cannot; only with `charset = "gsm7"`. Such a text has up to 155 letters in a message instead of
        /// the 70 of UCS-2. Texts that no table can encode (emoji) and flash messages are sent in UCS-2. Set
        /// a language only where the carrier and its phones support the tables: other phones show wrong
        /// letters.
        #[manual(example = ["turkish", "hindi"])]
        languages: Vec<Language> as Vec<LanguageWords> = SmsRoute::default().languages,
        /// Method of splitting long messages: `"udh8"`, `"udh16"`, `"sar"`, `"payload"`; the last two in
        /// versions 3.4 and 5.0.
        long: Concat as ConcatWords = SmsRoute::default().long,
        /// Form of message ids in receipts: `"auto"`, `"as-is"`, `"hex"` (receipts hexadecimal where
        /// responses are decimal), `"dec"` (the reverse).
        receipt_ids: IdForm as IdFormWords = SmsRoute::default().receipt_ids,
        /// `registered_delivery` of every message.
        #[manual(default = "a receipt where the alert needs one", example = 1)]
        registered_delivery: Option<u8> = SmsRoute::default().registered_delivery,
        /// Time from a request to its response; then the outcome of the message is unknown.
        response_timeout: Duration = SmsRoute::default().response_timeout,
        /// Silence after which the route sends an `enquire_link`.
        enquire_link: Duration = SmsRoute::default().enquire_link,
        /// Time from connecting to being bound.
        connect_timeout: Duration = SmsRoute::default().connect_timeout,
        /// Time for outstanding messages when the route stops.
        drain: Duration = SmsRoute::default().drain,
        /// Sessions by TLS.
        #[manual(example = true)]
        tls: bool as TlsSwitch = false,
        /// Certificates (PEM) that are trusted beside the public roots.
        #[manual(example = "tls/carrier.pem")]
        ca_file: Option<PathBuf> = None,
        /// Name in the carrier's certificate.
        #[manual(default = "the host of `address`", example = "smsc.example")]
        server_name: Option<String> = None,
        /// By HTTP: requests under way at a time, 1 to 1,000; as many connections are kept open.
        connections: usize = 16,
        /// By HTTP: the request of a message. `url`, values of `headers` and `body` are templates (Jinja)
        /// with the names `to` (`+46…`), `to_digits`, `from`, `text`, `id` (the same however often the
        /// message is tried), `parts`, `flash`, `mode`, `validity_s` (seconds that are left), `receipt_url`
        /// and `inbound_url` (empty without `http.public_url`). Values are escaped for the place where they
        /// stand: percent-encoded in the URL and in a form, as texts of JSON or XML by `Content-Type`.
        #[manual(
            inline,
            default = "none; needed with `protocol = \"http\"`",
            example = {method = "POST", url = "https://sms.carrier.example/v1/messages", headers = ["Authorization: Bearer secret"], body = "{\"to\": \"{{ to }}\", \"from\": \"{{ from }}\", \"text\": \"{{ text }}\"}"}
        )]
        request: Option<SmsRequest> = None,
        /// By HTTP: the meaning of the carrier's response. A path is a JSON pointer (`/messages/0/id`), the
        /// name of a member or of a form's field (`id`), or `word:2`, the second word of a plain text.
        /// Without `state` the HTTP status decides: 2xx is accepted; 3xx, 401 to 404, 407, 408, 425, 429 and
        /// 5xx are refused for now, but 502, 504 and no response, which are unknown; all others are refused
        /// for good. 429 and 503 slow the route down.
        #[manual(
            inline,
            default = "the HTTP status decides",
            example = {id = "/messages/0/id", state = "/messages/0/status", text = "/messages/0/error", accepted = ["queued"], refused = ["invalid_number"], temporary = ["busy"]}
        )]
        response: SmsResponse = SmsResponse::default(),
        /// By HTTP: receipts that the carrier posts to `receipt_url`, as JSON or a form. Values of `state`
        /// are compared without regard to case; those in no list mean that the message is on its way.
        #[manual(
            inline,
            default = "as its keys say",
            example = {items = "/results", id = "messageId", state = "status", text = "error", delivered = ["delivered"], failed = ["failed"], expired = ["expired"]}
        )]
        receipt: SmsReceipt = SmsReceipt::default(),
        /// By HTTP: messages from people that the carrier posts to `inbound_url`, as JSON or a form: answers,
        /// STOP, words for platforms.
        #[manual(
            inline,
            default = "as its keys say",
            example = {items = "/results", from = "msisdn", to = "to", text = "message"}
        )]
        inbound: SmsInbound = SmsInbound::default(),
    }
}

section! {
    /// A sender.
    Source {
        /// Type of number.
        ton: u8 = SmsRoute::default().source.ton,
        /// Numbering plan.
        npi: u8 = SmsRoute::default().source.npi,
        /// Digits or a name.
        addr: String = SmsRoute::default().source.addr,
    }
}

section! {
    /// The kind of destinations.
    Dest {
        /// Type of number.
        ton: u8 = SmsRoute::default().dest.ton,
        /// Numbering plan.
        npi: u8 = SmsRoute::default().dest.npi,
    }
}

words! {
    /// Kinds of sessions.
    BindingWords for Binding {
        /// One connection both ways.
        Transceiver = "transceiver",
        /// Two connections, one each way.
        TransmitterReceiver = "transmitter+receiver",
        /// Submits only.
        Transmitter = "transmitter",
        /// Receives only.
        Receiver = "receiver",
    }
}

words! {
    /// When sessions are bound.
    StandingWords for SessionPolicy {
        /// Always.
        Standing = "standing",
        /// While there is something to send.
        OnDemand = "on-demand",
    }
}

words! {
    /// Versions of SMPP.
    VersionWords for Version { V3_3 = "3.3", V3_4 = "3.4", V5_0 = "5.0" }
}

words! {
    /// Alphabets of `data_coding` 0.
    CharsetWords for Charset { Gsm7 = "gsm7", Latin1 = "latin1", Ascii = "ascii", Ucs2 = "ucs2" }
}

words! {
    /// How long messages are split.
    ConcatWords for Concat { Udh8 = "udh8", Udh16 = "udh16", Sar = "sar", Payload = "payload" }
}

words! {
    /// How receipts write the ids of submissions.
    IdFormWords for IdForm {
        /// Each of the others in turn.
        Auto = "auto",
        /// As the response to the submission writes them.
        AsIs = "as-is",
        /// Receipts are hexadecimal where responses are decimal.
        DecimalToHex = "hex",
        /// Receipts are decimal where responses are hexadecimal.
        HexToDecimal = "dec",
    }
}

words! {
    /// Languages with national tables of GSM 7-bit (TS 23.038).
    LanguageWords for Language {
        Turkish = "turkish",
        Spanish = "spanish",
        Portuguese = "portuguese",
        Bengali = "bengali",
        Gujarati = "gujarati",
        Hindi = "hindi",
        Kannada = "kannada",
        Malayalam = "malayalam",
        Oriya = "oriya",
        Punjabi = "punjabi",
        Tamil = "tamil",
        Telugu = "telugu",
        Urdu = "urdu",
    }
}

/// TLS or none. The words of a relay's `tls` are read too: every one but `"none"` is TLS.
#[derive(Debug)]
pub enum TlsSwitch {}

impl ValueFormat for TlsSwitch {
    type Value = bool;

    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<bool> {
        TlsWords::read(node, path, problems).map(|tls| tls != TlsMode::None)
    }

    fn write(value: &bool) -> Option<String> {
        bool::write(value)
    }

    fn schema() -> Schema {
        bool::schema()
    }
}

impl SmsKeys {
    /// Settings of a route with these keys.
    pub(super) fn route(&self, common: &RouteKeys, around: &Surroundings) -> SmsRoute {
        SmsRoute {
            name: common.name.clone(),
            address: common.peer(),
            system_id: self.system_id.clone(),
            password: self.password.clone(),
            system_type: self.system_type.clone(),
            version: self.version,
            bind: self.bind,
            standing: self.binding,
            idle: self.idle,
            poll_every: self.poll_every,
            outbind: self.outbind.clone(),
            outbind_password: self.outbind_password.clone(),
            sessions: self.sessions,
            window: self.window,
            rate: common.rate,
            source: SmsSource { ton: self.source.ton, npi: self.source.npi, addr: self.source.addr.clone() },
            dest: Numbering { ton: self.dest.ton, npi: self.dest.npi },
            service_type: self.service_type.clone(),
            charset: self.charset,
            languages: self.languages.clone(),
            long: self.long,
            receipt_ids: self.receipt_ids,
            validity_s: common.validity_s(),
            registered_delivery: self.registered_delivery,
            response_timeout: self.response_timeout,
            enquire_link: self.enquire_link,
            connect_timeout: self.connect_timeout,
            drain: self.drain,
            tls: self.tls.then(|| TlsClientSettings {
                ca_file: self.ca_file.as_ref().map(|file| around.below(file)),
                server_name: self.server_name.clone(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_the_name_it_is_known_by() {
        let schema = LanguageWords::schema();
        let words: Vec<&str> = schema.words().unwrap().iter().map(|word| word.word).collect();
        assert_eq!(words, Language::ALL.map(|language| format!("{language:?}").to_lowercase()));
    }
}
