//! Answers about faults (RFC 6733, sections 6.2, 7.2 and 7.5).

use super::{FailedAvp, Fault, is_sound};
use crate::avp::{AVP_HEADER_OCTETS, Avp, AvpName, Avps, DEPTH_MAX};
use crate::dictionary::{self, Grammar, avp};
use crate::header::{CommandFlags, HEADER_OCTETS, Header};
use crate::message::Message;
use crate::result_code;
use crate::write::Writer;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// Origin-Host.
    pub host: &'a str,
    /// Origin-Realm.
    pub realm: &'a str,
}

/// What an answer repeats from its request, where its grammar requires it.
const ECHOED: &[AvpName] = &[
    avp::AUTH_APPLICATION_ID,
    avp::CC_REQUEST_TYPE,
    avp::CC_REQUEST_NUMBER,
    avp::ACCOUNTING_RECORD_TYPE,
    avp::ACCOUNTING_RECORD_NUMBER,
];

impl Fault {
    /// Appends the answer to a request. `text` becomes Error-Message, for people.
    ///
    /// A protocol error (3xxx) carries `E` and is an answer-message. Any other is in the grammar of the
    /// command's own answer where that can be met from the request, else an answer-message too. Session-Id is
    /// there whenever the request had one that can be read; Proxy-Info is repeated in order.
    pub fn answer(&self, request: &Message<'_>, origin: &Origin<'_>, text: Option<&str>, out: &mut Vec<u8>) {
        let own = dictionary::command_rule(request.header.command, false).map(|rule| rule.grammar());
        let session = request.find(avp::SESSION_ID).filter(|session| session.utf8().is_ok());
        let own = own
            .filter(|grammar| !result_code::is_protocol(self.result_code) && self.can_meet(grammar, request));
        let mut writer = Writer::answer(out, &request.header);
        if own.is_none() {
            writer.error();
        }
        if let Some(session) = session {
            writer.octet_string(avp::SESSION_ID, session.data);
        }
        writer.u32(avp::RESULT_CODE, self.result_code);
        writer.identity(avp::ORIGIN_HOST, origin.host);
        writer.identity(avp::ORIGIN_REALM, origin.realm);
        for &name in ECHOED.iter().filter(|&&name| own.is_some_and(|grammar| requires(grammar, name))) {
            if let Some(echoed) = request.find(name) {
                writer.octet_string(name, echoed.data);
            }
        }
        if let Some(text) = text {
            writer.utf8(avp::ERROR_MESSAGE, text);
        }
        self.failed(request, &mut writer);
        for proxy in request.avps().map_while(Result::ok).filter(is_proxy_info) {
            writer.copy(&proxy);
        }
        writer.finish();
    }

    /// Whether an answer in the command's own grammar can be made from what the request holds.
    fn can_meet(&self, grammar: &'static Grammar, request: &Message<'_>) -> bool {
        let mut slots = grammar.required;
        while slots != 0 {
            let Some(rule) = grammar.member(slots.trailing_zeros()) else { return false };
            slots &= slots - 1;
            let name = rule.name;
            if [avp::RESULT_CODE, avp::ORIGIN_HOST, avp::ORIGIN_REALM].contains(&name) {
                continue;
            }
            if !ECHOED.contains(&name) && name != avp::SESSION_ID {
                return false;
            }
            let Some(echoed) = request.find(name) else { return false };
            let is_the_failed = match self.failed {
                FailedAvp::Copy { position } | FailedAvp::Header { position, .. } => {
                    position == request.position(&echoed)
                }
                FailedAvp::Nothing | FailedAvp::Missing { .. } | FailedAvp::Pair { .. } => false,
            };
            if is_the_failed || !is_sound(request, &echoed) {
                return false;
            }
        }
        true
    }

    /// Failed-AVP: the AVP inside the groups that it stands in (section 7.5).
    fn failed(&self, request: &Message<'_>, writer: &mut Writer<'_>) {
        match self.failed {
            FailedAvp::Nothing => {}
            FailedAvp::Copy { position } => {
                writer.group(avp::FAILED_AVP, |writer| copy(request, position, writer))
            }
            FailedAvp::Pair { first, second } => writer.group(avp::FAILED_AVP, |writer| {
                copy(request, first, writer);
                copy(request, second, writer);
            }),
            FailedAvp::Header { position, name, flags } => {
                let parents = Parents::of(request, position);
                writer.group(avp::FAILED_AVP, |writer| {
                    parents.around(writer, &mut |writer| writer.raw(name, flags, zeros(name)));
                });
            }
            FailedAvp::Missing { name, group } => {
                let mut parents = Parents::of(request, group);
                if let Some(group) = request.avp_at(group).filter(|_| group != 0) {
                    parents.push(group);
                }
                writer.group(avp::FAILED_AVP, |writer| {
                    parents.around(writer, &mut |writer| writer.octet_string(name, zeros(name)));
                });
            }
        }
    }
}

/// The AVP at a position, inside its groups.
fn copy(request: &Message<'_>, position: u32, writer: &mut Writer<'_>) {
    if let Some(guilty) = request.avp_at(position) {
        Parents::of(request, position).around(writer, &mut |writer| writer.copy(&guilty));
    }
}

/// A Proxy-Info that a proxy can have written: of one that lacks its host or its state nobody can make use.
fn is_proxy_info(avp: &Avp<'_>) -> bool {
    let holds = |name| avp.group().find_name(name).is_some();
    avp.name == avp::PROXY_INFO && holds(avp::PROXY_HOST) && holds(avp::PROXY_STATE)
}

fn requires(grammar: &'static Grammar, name: AvpName) -> bool {
    dictionary::lookup_numbered(name).is_some_and(|(number, _)| match grammar.slot(number) {
        dictionary::NO_SLOT => false,
        slot => grammar.required >> slot & 1 == 1,
    })
}

/// The shortest data of an AVP's type, in zeros.
fn zeros(name: AvpName) -> &'static [u8] {
    let octets = dictionary::lookup(name).map_or(0, |rule| rule.kind.octets_min());
    &[0; 8][..octets.min(8)]
}

/// The groups that an AVP stands in, outermost first.
struct Parents<'a> {
    groups: [Option<Avp<'a>>; DEPTH_MAX as usize],
    count: usize,
}

impl<'a> Parents<'a> {
    /// Of what begins at `position`; for 0 there are none.
    fn of(message: &Message<'a>, position: u32) -> Parents<'a> {
        let mut parents = Parents { groups: [None; DEPTH_MAX as usize], count: 0 };
        let mut avps = message.avps();
        while let Some(Ok(avp)) = avps.next() {
            let begin = message.position(&avp);
            if position <= begin {
                break;
            }
            if (position as usize) < begin as usize + avp.octets.len() {
                parents.push(avp);
                avps = avp.group();
            }
        }
        parents
    }

    fn push(&mut self, group: Avp<'a>) {
        if let Some(place) = self.groups.get_mut(self.count) {
            *place = Some(group);
            self.count += 1;
        }
    }

    fn around(&self, writer: &mut Writer<'_>, inner: &mut dyn FnMut(&mut Writer<'_>)) {
        write_around(&self.groups[..self.count], writer, inner);
    }
}

/// At most `DEPTH_MAX` deep.
fn write_around(groups: &[Option<Avp<'_>>], writer: &mut Writer<'_>, inner: &mut dyn FnMut(&mut Writer<'_>)) {
    match groups {
        [Some(group), rest @ ..] => {
            writer.group_with(group.name, group.flags, |writer| write_around(rest, writer, inner));
        }
        _ => inner(writer),
    }
}

/// Appends the answer to what is no message: another version (5011), or a length with which the framing is
/// lost (5015). Nothing is written for what is shorter than a header, or no request.
pub fn answer_broken_frame(octets: &[u8], result_code: u32, origin: &Origin<'_>, out: &mut Vec<u8>) {
    let Some(header) = octets.first_chunk::<HEADER_OCTETS>() else { return };
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let header = Header {
        length: 0,
        flags: CommandFlags(header[4]),
        command: word(4) & 0xFF_FFFF,
        application: word(8),
        hop_by_hop: word(12),
        end_to_end: word(16),
    };
    if !header.flags.is_request() {
        return;
    }
    let mut writer = Writer::answer(out, &header);
    writer.error();
    // Session-Id comes first where there is one (section 8.8).
    let first = octets.get(HEADER_OCTETS..).filter(|rest| rest.len() >= AVP_HEADER_OCTETS).map(Avps::new);
    if let Some(Ok(session)) = first.and_then(|mut avps| avps.next())
        && session.name == avp::SESSION_ID
        && session.utf8().is_ok()
    {
        writer.octet_string(avp::SESSION_ID, session.data);
    }
    writer.u32(avp::RESULT_CODE, result_code);
    writer.identity(avp::ORIGIN_HOST, origin.host);
    writer.identity(avp::ORIGIN_REALM, origin.realm);
    writer.finish();
}
