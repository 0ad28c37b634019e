//! Diameter by the octet, as a client of a credit-control server: what no library would say too.

use crate::transport::{dial, listens_too};
use diameter::avp::{Address, Avp, AvpFlags, AvpName};
use diameter::check::check;
use diameter::dictionary::{application, avp, command, command_rule};
use diameter::frame::next_frame;
use diameter::header::{CommandFlags, HEADER_OCTETS, Header, MESSAGE_OCTETS_MAX};
use diameter::message::Message;
use diameter::write::Writer;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// What never takes so long unless it never comes.
const PATIENCE: Duration = Duration::from_secs(120);
/// The realm of all clients.
pub const CLIENT_REALM: &str = "client.test";
/// The server's Origin-Host, as [`diameter_door`] configures it.
pub const SERVER_HOST: &str = "ocs.charging.test";
/// And its realm.
pub const SERVER_REALM: &str = "charging.test";

/// CC-Request-Type (RFC 8506, section 8.3).
pub const INITIAL: u32 = 1;
/// CC-Request-Type.
pub const UPDATE: u32 = 2;
/// CC-Request-Type.
pub const TERMINATION: u32 = 3;
/// CC-Request-Type.
pub const EVENT: u32 = 4;

/// `[diameter]` on this port, with more keys.
pub fn diameter_door(port: u16, more: &str) -> String {
    format!(
        "[diameter]\nlisten = \"127.0.0.1:{port}\"\n{}origin_host = \"{SERVER_HOST}\"\norigin_realm = \"{SERVER_REALM}\"\n{more}\n",
        listens_too(port)
    )
}

/// A message that is being written; its length is right unless it is said otherwise.
#[derive(Debug, Clone)]
pub struct Draft {
    /// Its header; the length is filled in.
    pub header: Header,
    body: Vec<u8>,
}

impl Draft {
    /// A request without AVPs.
    pub fn request(command: u32, application: u32) -> Draft {
        let header = Header { flags: CommandFlags::REQUEST, command, application, ..Header::default() };
        Draft { header, body: Vec::new() }
    }

    /// With these AVPs at its end.
    #[must_use]
    pub fn with(mut self, write: impl FnOnce(&mut Writer<'_>)) -> Draft {
        let mut octets = Vec::new();
        let mut writer = Writer::message(&mut octets, &self.header);
        write(&mut writer);
        writer.finish();
        self.body.extend_from_slice(&octets[HEADER_OCTETS..]);
        self
    }

    /// With any octets at its end.
    #[must_use]
    pub fn with_octets(mut self, octets: &[u8]) -> Draft {
        self.body.extend_from_slice(octets);
        self
    }

    /// Without the AVPs of this name at its top.
    #[must_use]
    pub fn without(mut self, name: AvpName) -> Draft {
        let octets = self.octets();
        let message = Message::read(&octets).unwrap();
        let kept = message.avps().map(Result::unwrap).filter(|avp| avp.name != name);
        self.body = kept
            .flat_map(|avp| {
                let padding = avp.octets.len().wrapping_neg() & 3;
                [avp.octets, &[0; 3][..padding]].concat()
            })
            .collect();
        self
    }

    /// With the AVPs of this name replaced by one that has these data.
    #[must_use]
    pub fn replacing(self, name: AvpName, data: &[u8]) -> Draft {
        self.without(name).with(|writer| writer.octet_string(name, data))
    }

    /// With these header flags beside those that it has.
    #[must_use]
    pub fn flagged(mut self, flags: CommandFlags) -> Draft {
        self.header.flags = self.header.flags | flags;
        self
    }

    /// As it is sent.
    pub fn octets(&self) -> Vec<u8> {
        let length = (HEADER_OCTETS + self.body.len()) as u32;
        [&Header { length, ..self.header }.octets()[..], &self.body].concat()
    }
}

/// A message that was heard.
#[derive(Debug, Clone)]
pub struct ReceivedMessage {
    octets: Vec<u8>,
}

impl From<Vec<u8>> for ReceivedMessage {
    /// One whole message.
    fn from(octets: Vec<u8>) -> ReceivedMessage {
        ReceivedMessage { octets }
    }
}

impl ReceivedMessage {
    /// As it came.
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// To be read.
    pub fn message(&self) -> Message<'_> {
        Message::read(&self.octets).unwrap()
    }

    /// An AVP at its top.
    pub fn find(&self, name: AvpName) -> Option<Avp<'_>> {
        self.message().find(name)
    }

    /// An AVP within groups.
    pub fn within(&self, path: &[AvpName]) -> Option<Avp<'_>> {
        let (first, rest) = path.split_first()?;
        let mut found = self.find(*first)?;
        for name in rest {
            found = found.group().find_name(*name)?;
        }
        Some(found)
    }

    /// Its Result-Code.
    #[track_caller]
    pub fn code(&self) -> u32 {
        let found = self.find(avp::RESULT_CODE);
        found.unwrap_or_else(|| panic!("no Result-Code in {self:?}")).u32().unwrap()
    }

    /// What its Failed-AVP holds.
    pub fn failed(&self) -> Vec<Avp<'_>> {
        self.find(avp::FAILED_AVP)
            .map(|failed| failed.group().map(Result::unwrap).collect())
            .unwrap_or_default()
    }

    /// All AVPs of this name at its top, as they are.
    pub fn all(&self, name: AvpName) -> Vec<Avp<'_>> {
        self.message().avps().map(Result::unwrap).filter(|avp| avp.name == name).collect()
    }

    /// What remains the same in each answer to one request: all but the header's hop-by-hop id and
    /// Proxy-Info.
    pub fn lasting(&self) -> Vec<Vec<u8>> {
        let avps = self.message().avps().map(Result::unwrap);
        avps.filter(|avp| avp.name != avp::PROXY_INFO).map(|avp| avp.octets.to_vec()).collect()
    }

    /// What must hold of every answer (RFC 6733, sections 3 and 6.2).
    ///
    /// # Panics
    /// It does not.
    #[track_caller]
    pub fn assert_answers(&self, request: &[u8]) {
        let header = self.message().header;
        let word = |at: usize| u32::from_be_bytes(request[at..at + 4].try_into().unwrap());
        let asked = CommandFlags(request[4]);
        assert!(!header.flags.is_request() && !header.flags.is_retransmit(), "{header:?}");
        assert_eq!(header.flags.is_proxiable(), asked.is_proxiable(), "P is copied");
        assert_eq!(
            (header.hop_by_hop, header.end_to_end),
            (word(12), word(16)),
            "the identifiers are echoed"
        );
        assert_eq!((header.command, header.application), (word(4) & 0xFF_FFFF, word(8)), "the command is");
        let code = self.code();
        if (3_000..4_000).contains(&code) {
            assert!(header.flags.is_error(), "{code} has E");
        }
        if code < 3_000 || (4_000..5_000).contains(&code) {
            assert!(!header.flags.is_error(), "{code} has no E");
        }
        assert_eq!(self.find(avp::ORIGIN_HOST).unwrap().data, SERVER_HOST.as_bytes());
        assert_eq!(self.find(avp::ORIGIN_REALM).unwrap().data, SERVER_REALM.as_bytes());
        // Of a command that nobody knows there is no grammar.
        let is_known = command_rule(header.command, false).is_some();
        if let Err(fault) = check(&self.message())
            && is_known
        {
            panic!("the answer itself breaks its grammar: {fault}; {self:?}");
        }
    }
}

/// A connection to a credit-control server. It blocks.
#[derive(Debug)]
pub struct CreditClient {
    stream: TcpStream,
    heard: Vec<u8>,
    name: String,
    hop_by_hop: u32,
    end_to_end: u32,
    session: u32,
}

impl CreditClient {
    /// A connection on which nothing was said.
    ///
    /// # Errors
    /// Nobody listens.
    pub fn try_connect(port: u16, name: &str) -> io::Result<CreditClient> {
        CreditClient::over(dial(port)?, name)
    }

    /// A client over a connection that either side began, on which nothing was said.
    ///
    /// # Errors
    /// It ended.
    pub fn over(stream: TcpStream, name: &str) -> io::Result<CreditClient> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        // Unlike those of an earlier connection of this name (RFC 6733, section 3).
        let (end_to_end, session) = (rand::random(), rand::random());
        Ok(CreditClient {
            stream,
            heard: Vec::new(),
            name: name.to_owned(),
            hop_by_hop: 0,
            end_to_end,
            session,
        })
    }

    /// A connection on which nothing was said.
    pub fn connect(port: u16, name: &str) -> CreditClient {
        CreditClient::try_connect(port, name).unwrap()
    }

    /// A connection that is open: capabilities were exchanged. The server may still hold an earlier one of
    /// this name, if that was broken off just now: then it refuses, and is asked again.
    ///
    /// # Errors
    /// It ends, or is refused for another reason.
    pub fn try_open(port: u16, name: &str) -> io::Result<CreditClient> {
        CreditClient::try_open_by(port, name, &cer(name))
    }

    /// The same with another CER.
    ///
    /// # Errors
    /// It ends, or is refused for another reason.
    pub fn try_open_by(port: u16, name: &str, cer: &Draft) -> io::Result<CreditClient> {
        const ELECTION_LOST: u32 = 4003;
        let began = std::time::Instant::now();
        loop {
            let mut client = CreditClient::try_connect(port, name)?;
            let answer = client.try_ask(cer)?;
            match answer.code() {
                2001 => return Ok(client),
                ELECTION_LOST if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(10)),
                code => return Err(io::Error::other(format!("the CER was refused with {code}"))),
            }
        }
    }

    /// A connection that is open.
    pub fn open(port: u16, name: &str) -> CreditClient {
        CreditClient::try_open(port, name).unwrap()
    }

    /// A connection that is open, of a client at its start `state_id` (Origin-State-Id).
    pub fn open_at_start(port: u16, name: &str, state_id: u32) -> CreditClient {
        let cer = cer(name).with(|writer| writer.u32(avp::ORIGIN_STATE_ID, state_id));
        CreditClient::try_open_by(port, name, &cer).unwrap()
    }

    /// Its Origin-Host.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The socket.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// A Session-Id that was not used before.
    pub fn fresh_session(&mut self) -> String {
        self.session = self.session.wrapping_add(1);
        format!("{};{};{}", self.name, self.session, rand::random::<u32>())
    }

    /// With identifiers of its own.
    #[must_use]
    pub fn numbered(&mut self, mut draft: Draft) -> Draft {
        self.hop_by_hop = self.hop_by_hop.wrapping_add(1);
        self.end_to_end = self.end_to_end.wrapping_add(1);
        (draft.header.hop_by_hop, draft.header.end_to_end) = (self.hop_by_hop, self.end_to_end);
        draft
    }

    /// A CCR with all that the grammar asks for, and identifiers of its own.
    pub fn credit(&mut self, session: &str, kind: u32, number: u32) -> Draft {
        let name = self.name.clone();
        let draft = Draft::request(command::CREDIT_CONTROL, application::CREDIT_CONTROL);
        let draft = draft.flagged(CommandFlags::PROXIABLE).with(|writer| {
            writer.utf8(avp::SESSION_ID, session);
            writer.identity(avp::ORIGIN_HOST, &name);
            writer.identity(avp::ORIGIN_REALM, CLIENT_REALM);
            writer.identity(avp::DESTINATION_REALM, SERVER_REALM);
            writer.u32(avp::AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
            writer.utf8(avp::SERVICE_CONTEXT_ID, "32274@3gpp.org");
            writer.u32(avp::CC_REQUEST_TYPE, kind);
            writer.u32(avp::CC_REQUEST_NUMBER, number);
        });
        self.numbered(draft)
    }

    /// A direct debit of so many messages, in a session of its own.
    pub fn debit(&mut self, account: &str, units: u64) -> Draft {
        let session = self.fresh_session();
        self.credit(&session, EVENT, 0).with(|writer| {
            subscriber(writer, account);
            writer.u32(avp::REQUESTED_ACTION, 0);
            writer.group(avp::REQUESTED_SERVICE_UNIT, |unit| {
                unit.u64(avp::CC_SERVICE_SPECIFIC_UNITS, units);
            });
        })
    }

    /// Begins a session that asks for so many messages.
    pub fn initial(&mut self, session: &str, account: &str, units: u64) -> Draft {
        self.credit(session, INITIAL, 0).with(|writer| {
            subscriber(writer, account);
            requested(writer, units);
        })
    }

    /// Writes octets.
    ///
    /// # Errors
    /// The connection ended.
    pub fn try_send(&mut self, octets: &[u8]) -> io::Result<()> {
        self.stream.write_all(octets)
    }

    /// Writes octets.
    pub fn send(&mut self, octets: &[u8]) {
        self.try_send(octets).unwrap();
    }

    /// The next message, whatever it is.
    ///
    /// # Errors
    /// The connection ended, or nothing came for long.
    pub fn try_hear(&mut self) -> io::Result<ReceivedMessage> {
        let mut buffer = [0; 16 * 1024];
        loop {
            let frame = next_frame(&self.heard, MESSAGE_OCTETS_MAX).expect("what the server says is framed");
            if let Some(frame) = frame {
                let octets = frame.to_vec();
                self.heard.drain(..octets.len());
                return Ok(ReceivedMessage { octets });
            }
            let read = self.stream.read(&mut buffer)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.heard.extend_from_slice(&buffer[..read]);
        }
    }

    /// The next answer; what the server asks (DWR) is answered meanwhile.
    ///
    /// # Errors
    /// The connection ended, or nothing came for long.
    pub fn try_answer(&mut self) -> io::Result<ReceivedMessage> {
        loop {
            let heard = self.try_hear()?;
            let header = heard.message().header;
            if !header.flags.is_request() {
                return Ok(heard);
            }
            assert_eq!(header.command, command::DEVICE_WATCHDOG, "{heard:?}");
            let answer = answer_to(&heard, &self.name);
            self.try_send(&answer)?;
        }
    }

    /// The next request of the server's, but for DWR, which is answered meanwhile.
    #[track_caller]
    pub fn asked(&mut self) -> ReceivedMessage {
        loop {
            let heard = self.try_hear().unwrap();
            let header = heard.message().header;
            assert!(header.flags.is_request(), "{heard:?}");
            if header.command != command::DEVICE_WATCHDOG {
                return heard;
            }
            let answer = answer_to(&heard, &self.name);
            self.send(&answer);
        }
    }

    /// Answers what the server asked about a session.
    pub fn reply(&mut self, request: &ReceivedMessage, result_code: u32) {
        let mut octets = Vec::new();
        let mut writer = Writer::answer(&mut octets, &request.message().header);
        writer.octet_string(avp::SESSION_ID, request.find(avp::SESSION_ID).unwrap().data);
        writer.u32(avp::RESULT_CODE, result_code);
        writer.identity(avp::ORIGIN_HOST, &self.name);
        writer.identity(avp::ORIGIN_REALM, CLIENT_REALM);
        writer.finish();
        self.send(&octets);
    }

    /// The next answer.
    #[track_caller]
    pub fn answer(&mut self) -> ReceivedMessage {
        self.try_answer().unwrap()
    }

    /// Sends a request and hears its answer.
    ///
    /// # Errors
    /// The connection ended.
    pub fn try_ask(&mut self, request: &Draft) -> io::Result<ReceivedMessage> {
        self.try_send(&request.octets())?;
        self.try_answer()
    }

    /// Sends a request and hears its answer, of which holds what must of every one.
    #[track_caller]
    pub fn ask(&mut self, request: &Draft) -> ReceivedMessage {
        self.ask_octets(&request.octets())
    }

    /// The same with the octets of a request.
    #[track_caller]
    pub fn ask_octets(&mut self, request: &[u8]) -> ReceivedMessage {
        self.send(request);
        let answer = self.answer();
        answer.assert_answers(request);
        answer
    }

    /// Whether the server closes the connection, and what it said before.
    #[track_caller]
    pub fn is_closed(&mut self) -> Vec<ReceivedMessage> {
        let mut said = Vec::new();
        loop {
            match self.try_hear() {
                Ok(heard) => said.push(heard),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => panic!("it stays open"),
                Err(_) => return said,
            }
        }
    }

    /// A debit that succeeds.
    #[track_caller]
    pub fn works(&mut self, account: &str) {
        let request = self.debit(account, 1);
        assert_eq!(self.ask(&request).code(), 2001);
    }
}

/// A CER of a client of credit control.
pub fn cer(name: &str) -> Draft {
    bare_cer(name).with(|writer| writer.u32(avp::AUTH_APPLICATION_ID, application::CREDIT_CONTROL))
}

/// A CER without applications.
pub fn bare_cer(name: &str) -> Draft {
    let mut draft = Draft::request(command::CAPABILITIES_EXCHANGE, 0);
    (draft.header.hop_by_hop, draft.header.end_to_end) = (0xCE_0001, 0xCE_0002);
    draft.with(|writer| {
        writer.identity(avp::ORIGIN_HOST, name);
        writer.identity(avp::ORIGIN_REALM, CLIENT_REALM);
        writer.address(avp::HOST_IP_ADDRESS, Address::Ip(Ipv4Addr::LOCALHOST.into()));
        writer.u32(avp::VENDOR_ID, 0);
        writer.utf8(avp::PRODUCT_NAME, "campanile test");
    })
}

/// A CEA that lets in who introduces itself.
pub fn cea(request: &ReceivedMessage, name: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut writer = Writer::answer(&mut octets, &request.message().header);
    writer.u32(avp::RESULT_CODE, 2001);
    writer.identity(avp::ORIGIN_HOST, name);
    writer.identity(avp::ORIGIN_REALM, CLIENT_REALM);
    writer.address(avp::HOST_IP_ADDRESS, Address::Ip(Ipv4Addr::LOCALHOST.into()));
    writer.u32(avp::VENDOR_ID, 0);
    writer.utf8(avp::PRODUCT_NAME, "campanile test");
    writer.u32(avp::AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
    writer.finish();
    octets
}

/// DWR.
pub fn dwr(name: &str) -> Draft {
    Draft::request(command::DEVICE_WATCHDOG, 0).with(|writer| {
        writer.identity(avp::ORIGIN_HOST, name);
        writer.identity(avp::ORIGIN_REALM, CLIENT_REALM);
    })
}

/// DPR with this Disconnect-Cause.
pub fn dpr(name: &str, cause: u32) -> Draft {
    Draft::request(command::DISCONNECT_PEER, 0).with(|writer| {
        writer.identity(avp::ORIGIN_HOST, name);
        writer.identity(avp::ORIGIN_REALM, CLIENT_REALM);
        writer.u32(avp::DISCONNECT_CAUSE, cause);
    })
}

/// DWA or DPA to what the server asked.
pub fn answer_to(request: &ReceivedMessage, name: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut writer = Writer::answer(&mut octets, &request.message().header);
    writer.u32(avp::RESULT_CODE, 2001);
    writer.identity(avp::ORIGIN_HOST, name);
    writer.identity(avp::ORIGIN_REALM, CLIENT_REALM);
    writer.finish();
    octets
}

/// Subscription-Id of type END_USER_E164.
pub fn subscriber(writer: &mut Writer<'_>, number: &str) {
    writer.group(avp::SUBSCRIPTION_ID, |id| {
        id.u32(avp::SUBSCRIPTION_ID_TYPE, 0);
        id.utf8(avp::SUBSCRIPTION_ID_DATA, number);
    });
}

/// Requested-Service-Unit of so many messages.
pub fn requested(writer: &mut Writer<'_>, units: u64) {
    writer.group(avp::REQUESTED_SERVICE_UNIT, |unit| unit.u64(avp::CC_SERVICE_SPECIFIC_UNITS, units));
}

/// Used-Service-Unit of so many messages.
pub fn used(writer: &mut Writer<'_>, units: u64) {
    writer.group(avp::USED_SERVICE_UNIT, |unit| unit.u64(avp::CC_SERVICE_SPECIFIC_UNITS, units));
}

/// An AVP by the octet: its header says this length, whatever the data have.
pub fn avp_octets(name: AvpName, flags: AvpFlags, length: u32, data: &[u8]) -> Vec<u8> {
    let mut octets = name.code.to_be_bytes().to_vec();
    octets.extend_from_slice(&length.to_be_bytes());
    octets[4] = flags.0;
    if flags.is_vendor() {
        octets.extend_from_slice(&name.vendor.to_be_bytes());
    }
    octets.extend_from_slice(data);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}
