//! Capture of messages, for a file, for the page and for tests.

use super::{Shared, Smsc, alphabet, joined};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use smpp::pdu::{Address, Command, Destination, Header, Pdu, decode, esm_class};
use smpp::status::Status;
use smpp::tlv::{Tag, Tlvs};

/// One thing that came: a PDU, or a connection's beginning or end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaptureRecord {
    /// When, microseconds since 1970.
    pub at_us: u64,
    /// The connection, from 0 in the order of their coming.
    pub session: u64,
    /// Its other end.
    pub peer: String,
    /// Who is bound; empty: nobody yet.
    pub system_id: String,
    /// `pdu`, `connected` or `closed`.
    pub event: String,
    /// The command's name, or its number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// Its sequence number.
    #[serde(default)]
    pub sequence: u32,
    /// Its status, where it is no request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Its fields by their names in the specification; what is not text is in hexadecimal. Passwords are left
    /// out.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
    /// The message, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The whole PDU, in hexadecimal; of binds nothing, for their passwords.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub octets: String,
    /// What it was answered with; nothing: it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answered>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The command's name.
    pub command: String,
    /// The status's name, or its number.
    pub status: String,
    /// The message's id, where it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message_id: String,
    /// Written so long after the request came, microseconds.
    pub after_us: u64,
}

impl CaptureRecord {
    /// A record of an event without a PDU.
    pub(super) fn event(event: &str, at_us: u64, session: u64, peer: &str, system_id: &str) -> Self {
        CaptureRecord {
            at_us,
            session,
            peer: peer.to_owned(),
            system_id: system_id.to_owned(),
            event: event.to_owned(),
            command: String::new(),
            sequence: 0,
            status: None,
            fields: Map::new(),
            text: None,
            error: None,
            octets: String::new(),
            answer: None,
        }
    }

    /// Reads a PDU into an event's record.
    pub(super) fn with_pdu(mut self, octets: &[u8]) -> Self {
        let Some(header) = Header::parse(octets) else { return self };
        self.command = header.command.to_string();
        self.sequence = header.sequence;
        self.status = (header.command.is_response() || !header.status.is_ok()).then(|| named(header.status));
        if !matches!(
            header.command,
            Command::BIND_RECEIVER | Command::BIND_TRANSMITTER | Command::BIND_TRANSCEIVER
        ) {
            self.octets = hex(octets);
        }
        match decode(octets) {
            Ok((_, pdu)) => (self.fields, self.text) = fields(&pdu),
            Err((_, error)) => self.error = Some(error.to_string()),
        }
        self
    }
}

impl Answered {
    /// Reads an answer.
    pub(super) fn new(octets: &[u8], after_us: u64) -> Option<Self> {
        let header = Header::parse(octets)?;
        let message_id = match decode(octets) {
            Ok((_, Pdu::SubmitSmResp(answer))) => answer.message_id,
            Ok((_, Pdu::DataSmResp(answer))) => answer.message_id,
            Ok((_, Pdu::SubmitMultiResp(answer))) => answer.message_id,
            Ok((_, Pdu::BroadcastSmResp(answer))) => answer.message_id,
            _ => b"",
        };
        Some(Answered {
            command: header.command.to_string(),
            status: named(header.status),
            message_id: String::from_utf8_lossy(message_id).into_owned(),
            after_us,
        })
    }
}

impl Smsc {
    /// The last captured lines, the newest last; `capture_keep` says how many there are.
    pub fn captured(&self, limit: usize) -> Vec<CaptureRecord> {
        self.shared.ledger.records(limit)
    }
}

impl Shared {
    /// Captures a connection's beginning or end.
    pub(super) fn record_event(&self, event: &str, session: u64, peer: &str, system_id: &str) {
        let scene = self.scene();
        if scene.captures {
            let record = CaptureRecord::event(event, self.clock.now_us(), session, peer, system_id);
            self.ledger.record(record, scene.options.capture_keep);
        }
    }
}

/// By name, or as a number.
pub(super) fn named(status: Status) -> String {
    status.name().map_or_else(|| format!("0x{:X}", status.0), |name| format!("ESME_{name}"))
}

fn fields(pdu: &Pdu<'_>) -> (Map<String, Value>, Option<String>) {
    let mut map = CaptureFields(Map::new());
    let mut text = None;
    match pdu {
        Pdu::Bind(bind) => {
            map.text("system_id", bind.system_id).text("system_type", bind.system_type);
            map.text("address_range", bind.address_range)
                .number("interface_version", bind.interface_version.0);
            map.number("addr_ton", bind.addr_ton).number("addr_npi", bind.addr_npi).tlvs(bind.tlvs);
        }
        Pdu::SubmitSm(pdu) => {
            map.text("service_type", pdu.service_type).address("source", pdu.source);
            map.address("destination", pdu.destination).number("esm_class", pdu.esm_class);
            map.number("protocol_id", pdu.protocol_id).number("priority_flag", pdu.priority_flag);
            map.text("schedule_delivery_time", pdu.schedule_delivery_time);
            map.text("validity_period", pdu.validity_period);
            map.number("registered_delivery", pdu.registered_delivery);
            map.number("replace_if_present_flag", pdu.replace_if_present_flag);
            map.number("data_coding", pdu.data_coding).number("sm_default_msg_id", pdu.sm_default_msg_id);
            map.octets("short_message", pdu.short_message).tlvs(pdu.tlvs);
            text = Some(words(pdu.data_coding, pdu.message(), pdu.has_udh()));
        }
        Pdu::DataSm(pdu) => {
            map.text("service_type", pdu.service_type).address("source", pdu.source);
            map.address("destination", pdu.destination).number("esm_class", pdu.esm_class);
            map.number("registered_delivery", pdu.registered_delivery).number("data_coding", pdu.data_coding);
            map.tlvs(pdu.tlvs);
            text = Some(words(pdu.data_coding, pdu.message(), pdu.has_udh()));
        }
        Pdu::SubmitMulti(pdu) => {
            map.text("service_type", pdu.service_type).address("source", pdu.source);
            let destinations = pdu.destinations.iter().map(|destination| match destination {
                Destination::Sme(address) => shown(address),
                Destination::List(name) => json!({ "dl_name": String::from_utf8_lossy(name) }),
            });
            map.0.insert("destinations".to_owned(), destinations.collect());
            map.number("esm_class", pdu.esm_class).number("registered_delivery", pdu.registered_delivery);
            map.number("data_coding", pdu.data_coding)
                .octets("short_message", pdu.short_message)
                .tlvs(pdu.tlvs);
            let has_udh = pdu.esm_class & esm_class::UDHI != 0;
            text = Some(words(pdu.data_coding, pdu.message(), has_udh));
        }
        Pdu::BroadcastSm(pdu) => {
            map.text("service_type", pdu.service_type).address("source", pdu.source);
            map.text("message_id", pdu.message_id).number("priority_flag", pdu.priority_flag);
            map.number("data_coding", pdu.data_coding).tlvs(pdu.tlvs);
            let payload = pdu.tlvs.find(Tag::MESSAGE_PAYLOAD).unwrap_or_default();
            text = Some(words(pdu.data_coding, payload, false));
        }
        other => asked(other, &mut map, &mut text),
    }
    (map.0, text)
}

/// What asks for a message, and answers.
fn asked(pdu: &Pdu<'_>, map: &mut CaptureFields, text: &mut Option<String>) {
    match pdu {
        Pdu::QuerySm(pdu) => {
            map.text("message_id", pdu.message_id).address("source", pdu.source);
        }
        Pdu::CancelSm(pdu) => {
            map.text("service_type", pdu.service_type).text("message_id", pdu.message_id);
            map.address("source", pdu.source).address("destination", pdu.destination);
        }
        Pdu::ReplaceSm(pdu) => {
            map.text("message_id", pdu.message_id).address("source", pdu.source);
            map.text("validity_period", pdu.validity_period);
            map.number("registered_delivery", pdu.registered_delivery);
            map.octets("short_message", pdu.short_message).tlvs(pdu.tlvs);
            *text = Some(alphabet::read(0, pdu.short_message).into_owned());
        }
        Pdu::QueryBroadcastSm(pdu) => {
            map.text("message_id", pdu.message_id).address("source", pdu.source);
        }
        Pdu::CancelBroadcastSm(pdu) => {
            map.text("message_id", pdu.message_id).address("source", pdu.source);
        }
        Pdu::DeliverSmResp(pdu) => {
            map.tlvs(pdu.tlvs);
        }
        Pdu::DataSmResp(pdu) => {
            map.text("message_id", pdu.message_id).tlvs(pdu.tlvs);
        }
        _ => {}
    }
}

struct CaptureFields(Map<String, Value>);

impl CaptureFields {
    fn text(&mut self, name: &str, octets: &[u8]) -> &mut Self {
        self.put(name, String::from_utf8_lossy(octets).into_owned().into())
    }

    fn octets(&mut self, name: &str, octets: &[u8]) -> &mut Self {
        self.put(name, hex(octets).into())
    }

    fn number(&mut self, name: &str, number: u8) -> &mut Self {
        self.put(name, number.into())
    }

    fn address(&mut self, name: &str, address: Address<'_>) -> &mut Self {
        self.put(name, shown(address))
    }

    fn tlvs(&mut self, tlvs: Tlvs<'_>) -> &mut Self {
        let all = tlvs.iter().map(|tlv| {
            let name = tlv.tag.name().map_or_else(|| format!("0x{:04X}", tlv.tag.0), str::to_owned);
            (name, Value::from(hex(tlv.value)))
        });
        let all: Map<String, Value> = all.collect();
        if all.is_empty() { self } else { self.put("tlvs", all.into()) }
    }

    fn put(&mut self, name: &str, value: Value) -> &mut Self {
        self.0.insert(name.to_owned(), value);
        self
    }
}

fn shown(address: Address<'_>) -> Value {
    json!({ "ton": address.ton, "npi": address.npi, "addr": String::from_utf8_lossy(address.addr) })
}

/// A message without its header, in words.
fn words(data_coding: u8, octets: &[u8], has_udh: bool) -> String {
    let (_, text) = joined::split(octets, has_udh, Tlvs::NONE);
    alphabet::read(data_coding, text).into_owned()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
