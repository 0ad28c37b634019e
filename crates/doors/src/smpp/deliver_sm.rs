//! Encoder of a client's event as deliver_sm.

use super::address::announced;
use super::config::LongMessageForm;
use super::ids::IdText;
use super::submit_sm::{AS_WRITTEN, PLACE, USER_REFERENCE};
use super::times::receipt_date;
use records::{
    ClientEvent, ClientInbound, ClientReceipt, DlrRequest, DlrState, InboundOctets, MessageId, MessageStatus,
    ShortAddress, Timestamp,
};
use smpp::pdu::{Address, DeliverSm, esm_class};
use smpp::receipt::{MessageState, NetworkError, Receipt};
use smpp::text::{Charset, Coding, Concat, choose, split};
use smpp::{EncodeError, Tag, TlvBuf};

/// Octets of `short_message`.
const SHORT_OCTETS_MAX: usize = 254;
/// `network_error_code`: the network is GSM.
const NETWORK_GSM: u8 = 3;
/// Octets of a receipt's error code: three by the specification; carriers write more, and letters.
const ERROR_OCTETS_MAX: usize = 16;
/// Octets of an address.
const ADDRESS_OCTETS_MAX: usize = 20;

/// The form in which a session gets its deliver_sm.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeliverStyle {
    pub(super) charset: Charset,
    /// The client reads TLVs: it uses 3.4 or later.
    pub(super) tlvs: bool,
    pub(super) long: LongMessageForm,
}

/// One or several deliver_sm.
pub(super) struct DeliverSmParts {
    source: DeliverAddress,
    destination: DeliverAddress,
    esm_class: u8,
    data_coding: u8,
    parts: Vec<DeliverSmPart>,
}

struct DeliverAddress {
    ton: u8,
    npi: u8,
    addr: String,
}

#[derive(Default)]
struct DeliverSmPart {
    udhi: bool,
    short_message: Vec<u8>,
    tlvs: TlvBuf,
}

impl DeliverSmParts {
    /// Encodes an event for a session. `reference` ties the parts of a long message together.
    ///
    /// # Errors
    /// The event cannot be encoded.
    pub(super) fn of(
        event: &ClientEvent,
        style: DeliverStyle,
        reference: u16,
    ) -> Result<DeliverSmParts, EncodeError> {
        match event {
            ClientEvent::Status(status_event) => receipt(status_event, &Words::of(status_event), style),
            ClientEvent::Receipt(of) => receipt(&of.status, &Words::of_carrier(of), style),
            ClientEvent::Inbound(inbound) => message(inbound, style, reference),
        }
    }

    pub(super) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// The PDU of one part.
    pub(super) fn pdu(&self, part: usize) -> Option<DeliverSm<'_>> {
        let part = self.parts.get(part)?;
        Some(DeliverSm {
            source: self.source.address(),
            destination: self.destination.address(),
            esm_class: self.esm_class | if part.udhi { esm_class::UDHI } else { 0 },
            data_coding: self.data_coding,
            short_message: &part.short_message,
            tlvs: part.tlvs.as_tlvs(),
            ..DeliverSm::default()
        })
    }
}

impl DeliverAddress {
    fn new((ton, npi): (u8, u8), addr: &str) -> DeliverAddress {
        let addr: String = addr.chars().filter(char::is_ascii).take(ADDRESS_OCTETS_MAX).collect();
        DeliverAddress { ton, npi, addr }
    }

    fn of(address: &str) -> DeliverAddress {
        let (ton, npi, addr) = announced(address);
        DeliverAddress::new((ton, npi), addr)
    }

    /// As the client gave it.
    fn given(address: &ShortAddress) -> DeliverAddress {
        DeliverAddress::new(address.ton_npi.unwrap_or((0, 0)), &address.addr)
    }

    fn address(&self) -> Address<'_> {
        Address::new(self.ton, self.npi, self.addr.as_bytes())
    }
}

fn value(tell: &DlrRequest, deliver_sm: char) -> Option<&str> {
    tell.values.iter().find(|(of, _)| *of == deliver_sm).map(|(_, value)| &**value)
}

/// The phone, as the client gave it.
fn phone(status_event: &MessageStatus) -> DeliverAddress {
    let written = value(&status_event.tell, AS_WRITTEN);
    let addr = written.unwrap_or_else(|| status_event.to.strip_prefix('+').unwrap_or(&status_event.to));
    match status_event.dest {
        Some(numbering) => DeliverAddress::new(numbering, addr),
        None => DeliverAddress::of(&status_event.to),
    }
}

pub(super) fn state(state: DlrState) -> MessageState {
    match state {
        DlrState::Enroute => MessageState::Enroute,
        DlrState::Delivered => MessageState::Delivered,
        DlrState::Expired => MessageState::Expired,
        DlrState::Deleted => MessageState::Deleted,
        DlrState::Undeliverable => MessageState::Undeliverable,
        DlrState::Accepted => MessageState::Accepted,
        DlrState::Unknown => MessageState::Unknown,
        DlrState::Rejected => MessageState::Rejected,
    }
}

/// Error and time of a receipt.
struct Words {
    /// `err:`.
    error: Vec<u8>,
    network_error: Option<NetworkError>,
    done: Timestamp,
}

impl Words {
    /// The code is the first small number among the network's words.
    fn of(status_event: &MessageStatus) -> Words {
        let is_delivered = status_event.state == DlrState::Delivered;
        let code = if is_delivered { 0 } else { network_code(&status_event.text) };
        Words {
            error: format!("{code:03}").into_bytes(),
            network_error: (code > 0).then_some(NetworkError { network: NETWORK_GSM, code }),
            done: status_event.at,
        }
    }

    /// As the carrier's receipt had them.
    fn of_carrier(of: &ClientReceipt) -> Words {
        let error: Vec<u8> = of.error.bytes().take(ERROR_OCTETS_MAX).collect();
        let code = of.error.parse::<u16>().ok().filter(|code| *code > 0);
        let network_error = match of.network_error {
            Some((network, code)) => Some(NetworkError { network, code }),
            None => code.map(|code| NetworkError { network: NETWORK_GSM, code }),
        };
        Words {
            error: if error.is_empty() { b"000".to_vec() } else { error },
            network_error,
            done: of.done.unwrap_or(of.status.at),
        }
    }
}

/// A receipt (SMPP 3.4, appendix B), or an intermediate notification.
fn receipt(
    status_event: &MessageStatus,
    words: &Words,
    style: DeliverStyle,
) -> Result<DeliverSmParts, EncodeError> {
    let place: u64 = value(&status_event.tell, PLACE).and_then(|place| place.parse().ok()).unwrap_or(0);
    let id = IdText::new(MessageId(status_event.id.0.saturating_sub(place)), !style.tlvs);
    let (submitted, done) = (receipt_date(status_event.submitted), receipt_date(words.done));
    let final_state = status_event.event & (DlrRequest::BUFFERED | DlrRequest::ACCEPTED) == 0;
    let mut beginning = Vec::new();
    style.charset.encode_lossy(&status_event.beginning, &mut beginning);
    let receipt = Receipt {
        tlv_id: id.as_bytes(),
        text_id: id.as_bytes(),
        state: Some(state(status_event.state)),
        error: &words.error,
        network_error: words.network_error,
        submitted: Some(1),
        submit_date: &submitted,
        done_date: &done,
        text: &beginning,
        ..Receipt::default()
    };
    let mut part = DeliverSmPart::default();
    receipt.write_text(&mut part.short_message);
    if style.tlvs {
        receipt.write_tlvs(&mut part.tlvs)?;
        if let Some(reference) =
            value(&status_event.tell, USER_REFERENCE).and_then(|value| value.parse().ok())
        {
            part.tlvs.push_u16(Tag::USER_MESSAGE_REFERENCE, reference);
        }
    }
    Ok(DeliverSmParts {
        source: phone(status_event),
        destination: DeliverAddress::given(&status_event.source),
        esm_class: if final_state { esm_class::RECEIPT } else { esm_class::INTERMEDIATE },
        data_coding: 0,
        parts: vec![part],
    })
}

/// The first number of at most three digits among the network's words; 0 without one.
fn network_code(words: &str) -> u16 {
    let numbers = words.split(|c: char| !c.is_ascii_alphanumeric());
    let is_code = |word: &&str| (1..=3).contains(&word.len()) && word.bytes().all(|o| o.is_ascii_digit());
    numbers.into_iter().find(is_code).and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn message(
    inbound: &ClientInbound,
    style: DeliverStyle,
    reference: u16,
) -> Result<DeliverSmParts, EncodeError> {
    let (data_coding, parts) = match &inbound.octets {
        Some(octets) => (octets.data_coding, vec![raw(octets, style)?]),
        None => text(&inbound.text, style, reference)?,
    };
    Ok(DeliverSmParts {
        source: DeliverAddress::of(&inbound.from),
        destination: DeliverAddress::of(&inbound.to),
        esm_class: 0,
        data_coding,
        parts,
    })
}

/// Octets go through as they came.
fn raw(octets: &InboundOctets, style: DeliverStyle) -> Result<DeliverSmPart, EncodeError> {
    let mut part = DeliverSmPart { udhi: !octets.udh.is_empty(), ..DeliverSmPart::default() };
    if let (true, Ok(length)) = (part.udhi, u8::try_from(octets.udh.len())) {
        part.short_message.push(length);
        part.short_message.extend_from_slice(&octets.udh);
    }
    part.short_message.extend_from_slice(&octets.octets);
    into_payload(&mut part, style)?;
    Ok(part)
}

/// Moves a text that is too long into `message_payload`, if the client reads that.
fn into_payload(part: &mut DeliverSmPart, style: DeliverStyle) -> Result<(), EncodeError> {
    if part.short_message.len() > SHORT_OCTETS_MAX && style.tlvs {
        part.tlvs.push(Tag::MESSAGE_PAYLOAD, &part.short_message)?;
        part.short_message.clear();
    }
    Ok(())
}

fn text(text: &str, style: DeliverStyle, reference: u16) -> Result<(u8, Vec<DeliverSmPart>), EncodeError> {
    let Coding { charset, data_coding } = choose(text, style.charset);
    let mut octets = Vec::with_capacity(text.len());
    charset.encode_lossy(text, &mut octets);
    if style.long == LongMessageForm::Payload && style.tlvs {
        let mut part = DeliverSmPart { short_message: octets, ..DeliverSmPart::default() };
        into_payload(&mut part, style)?;
        return Ok((data_coding, vec![part]));
    }
    // A message from a person has at most 255 parts; a longer one was made elsewhere, and loses its end.
    let limit = octets.len().min(smpp::text::PARTS_MAX * (SHORT_OCTETS_MAX / 2));
    let split = split(&octets[..limit], charset, Concat::Udh8, reference).or_else(|_| {
        let whole = octets.len().min(SHORT_OCTETS_MAX / 2);
        split(&octets[..whole], charset, Concat::Udh8, reference)
    });
    let mut parts = Vec::new();
    for piece in split.into_iter().flatten() {
        let mut part = DeliverSmPart { udhi: piece.esm_class() != 0, ..DeliverSmPart::default() };
        piece.write_short_message(&mut part.short_message);
        parts.push(part);
    }
    Ok((data_coding, parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use smpp::text::udh::UserData;

    const STYLE: DeliverStyle =
        DeliverStyle { charset: Charset::Gsm7, tlvs: true, long: LongMessageForm::Payload };

    fn status_event() -> MessageStatus {
        MessageStatus {
            id: MessageId(0x1234_5678_9ABC_DEF2),
            event: DlrRequest::DELIVERED,
            state: DlrState::Delivered,
            source: ShortAddress { ton_npi: Some((5, 0)), addr: "Town".into() },
            to: "+46701234567".into(),
            dest: Some((1, 1)),
            text: "000 fine".into(),
            carrier_id: "77".into(),
            route: "carrier".into(),
            beginning: "Räk vid kajen".into(),
            submitted: Timestamp(1_795_304_976_500_000),
            at: Timestamp(1_795_305_036_500_000),
            tell: DlrRequest::default(),
        }
    }

    fn said(deliver_sm: &DeliverSmParts) -> String {
        let pdu = deliver_sm.pdu(0).unwrap();
        pdu.short_message.iter().map(|&octet| char::from(octet)).collect()
    }

    #[test]
    fn a_receipt_says_what_appendix_b_wants_and_the_parameters() {
        let deliver_sm =
            DeliverSmParts::of(&ClientEvent::Status(Box::new(status_event())), STYLE, 0).unwrap();
        let text = said(&deliver_sm);
        let expected = "id:123456789abcdef2 sub:001 dlvrd:001 submit date:2611212349 done date:2611212350 stat:DELIVRD err:000 text:R\u{7b}k vid kajen";
        assert_eq!(text, expected);
        let pdu = deliver_sm.pdu(0).unwrap();
        assert_eq!((pdu.esm_class, pdu.data_coding), (esm_class::RECEIPT, 0));
        assert_eq!(pdu.source, Address::new(1, 1, b"46701234567"));
        assert_eq!(pdu.destination, Address::new(5, 0, b"Town"));
        let read = Receipt::of_deliver(&pdu).unwrap();
        assert_eq!((read.tlv_id, read.state), (&b"123456789abcdef2"[..], Some(MessageState::Delivered)));
        assert_eq!(read.network_error, None);
    }

    #[test]
    fn a_receipt_to_3_3_has_a_short_id_and_no_parameters() {
        let deliver_sm = DeliverSmParts::of(
            &ClientEvent::Status(Box::new(status_event())),
            DeliverStyle { tlvs: false, ..STYLE },
            0,
        )
        .unwrap();
        assert!(said(&deliver_sm).starts_with("id:9abcdef2 sub:001"), "{}", said(&deliver_sm));
        assert!(deliver_sm.pdu(0).unwrap().tlvs.is_empty());
    }

    #[test]
    fn a_receipt_gives_back_what_only_the_request_knew() {
        let values = [(AS_WRITTEN, "0046701234567"), (USER_REFERENCE, "513"), (PLACE, "2")];
        let values = values.map(|(deliver_sm, value)| (deliver_sm, value.into())).to_vec();
        let tell = DlrRequest { values, ..DlrRequest::default() };
        let status_event = MessageStatus { dest: Some((0, 0)), tell, ..status_event() };
        let deliver_sm = DeliverSmParts::of(&ClientEvent::Status(Box::new(status_event)), STYLE, 0).unwrap();
        let pdu = deliver_sm.pdu(0).unwrap();
        assert_eq!(pdu.source, Address::new(0, 0, b"0046701234567"));
        assert_eq!(pdu.tlvs.find_u16(Tag::USER_MESSAGE_REFERENCE), Some(513));
        assert!(said(&deliver_sm).starts_with("id:123456789abcdef0 "), "the id that was answered");
    }

    #[test]
    fn states_have_their_words_and_the_networks_code() {
        let cases = [
            (DlrState::Undeliverable, DlrRequest::FAILED, "UNDELIV err:011", esm_class::RECEIPT, Some(11)),
            (DlrState::Expired, DlrRequest::FAILED, "EXPIRED err:011", esm_class::RECEIPT, Some(11)),
            (DlrState::Rejected, DlrRequest::REFUSED, "REJECTD err:011", esm_class::RECEIPT, Some(11)),
            (DlrState::Delivered, DlrRequest::DELIVERED, "DELIVRD err:000", esm_class::RECEIPT, None),
            (DlrState::Enroute, DlrRequest::BUFFERED, "ENROUTE err:011", esm_class::INTERMEDIATE, Some(11)),
        ];
        for (state, event, words, class, code) in cases {
            let status_event =
                MessageStatus { state, event, text: "UNDELIV err:011 0x0000000B".into(), ..status_event() };
            let deliver_sm =
                DeliverSmParts::of(&ClientEvent::Status(Box::new(status_event)), STYLE, 0).unwrap();
            assert!(said(&deliver_sm).contains(&format!("stat:{words} text:")), "{}", said(&deliver_sm));
            let pdu = deliver_sm.pdu(0).unwrap();
            assert_eq!(pdu.esm_class, class);
            assert_eq!(Receipt::of_deliver(&pdu).unwrap().network_error.map(|error| error.code), code);
        }
    }

    #[test]
    fn a_carriers_receipt_is_passed_on_with_its_own_error_and_time() {
        let done = Some(Timestamp(1_795_300_000_000_000));
        let cases = [
            ("045", None, done, "done date:2611212226 stat:REJECTD err:045 ", Some((3, 45))),
            ("1F", Some((8, 7)), None, "done date:2611212350 stat:REJECTD err:1F ", Some((8, 7))),
            ("0000", None, None, "done date:2611212350 stat:REJECTD err:0000 ", None),
            ("", None, done, "done date:2611212226 stat:REJECTD err:000 ", None),
        ];
        for (error, network_error, done, words, expected) in cases {
            let status = MessageStatus {
                state: DlrState::Rejected,
                event: DlrRequest::FAILED,
                text: "REJECTD err:999".into(),
                ..status_event()
            };
            let of = ClientReceipt { status, error: error.into(), network_error, done };
            let deliver_sm = DeliverSmParts::of(&ClientEvent::Receipt(Box::new(of)), STYLE, 0).unwrap();
            assert!(said(&deliver_sm).contains(words), "{}", said(&deliver_sm));
            let pdu = deliver_sm.pdu(0).unwrap();
            let read = Receipt::of_deliver(&pdu).unwrap();
            let network_error = read.network_error.map(|error| (error.network, error.code));
            assert_eq!((read.state, network_error), (Some(MessageState::Rejected), expected), "{error}");
        }
    }

    fn inbound(text: &str) -> ClientEvent {
        ClientEvent::Inbound(Box::new(ClientInbound {
            from: "+46701234567".into(),
            to: "71456".into(),
            route: "carrier".into(),
            text: text.into(),
            octets: None,
            at: Timestamp(5),
        }))
    }

    #[test]
    fn a_message_from_a_person_is_gsm_or_ucs2() {
        for (text, data_coding, octets) in
            [("Ja @", 0, &b"Ja \x00"[..]), ("да", 8, &[0x04, 0x34, 0x04, 0x30]), ("", 0, b"")]
        {
            let deliver_sm = DeliverSmParts::of(&inbound(text), STYLE, 0).unwrap();
            let pdu = deliver_sm.pdu(0).unwrap();
            assert_eq!((pdu.data_coding, pdu.message(), pdu.esm_class), (data_coding, octets, 0), "{text}");
            assert_eq!(pdu.source, Address::new(1, 1, b"46701234567"));
            assert_eq!(pdu.destination, Address::new(0, 1, b"71456"));
        }
    }

    #[test]
    fn a_long_message_is_a_payload_or_parts() {
        let long = "Hälsningar från kajen. ".repeat(20);
        let deliver_sm = DeliverSmParts::of(&inbound(&long), STYLE, 7).unwrap();
        assert_eq!(deliver_sm.parts(), 1);
        let pdu = deliver_sm.pdu(0).unwrap();
        assert!(pdu.short_message.is_empty());
        assert_eq!(Charset::Gsm7.decode(pdu.message()), long);
        for style in
            [DeliverStyle { tlvs: false, ..STYLE }, DeliverStyle { long: LongMessageForm::Udh, ..STYLE }]
        {
            let deliver_sm = DeliverSmParts::of(&inbound(&long), style, 7).unwrap();
            let mut text = Vec::new();
            for part in 0..deliver_sm.parts() {
                let pdu = deliver_sm.pdu(part).unwrap();
                let data = UserData::of_deliver(&pdu).unwrap();
                let place = data.concatenation.unwrap();
                assert_eq!((place.reference, usize::from(place.number)), (7, part + 1));
                assert_eq!(usize::from(place.total), deliver_sm.parts());
                text.extend_from_slice(data.text);
            }
            assert_eq!(Charset::Gsm7.decode(&text), long);
        }
    }

    #[test]
    fn octets_go_through_as_they_came() {
        let octets = InboundOctets { data_coding: 4, udh: vec![5, 4, 0, 1, 0, 2], octets: vec![0, 255] };
        let ClientEvent::Inbound(mut said) = inbound("") else { panic!() };
        said.octets = Some(Box::new(octets));
        let deliver_sm = DeliverSmParts::of(&ClientEvent::Inbound(said), STYLE, 0).unwrap();
        let pdu = deliver_sm.pdu(0).unwrap();
        assert_eq!((pdu.data_coding, pdu.esm_class), (4, esm_class::UDHI));
        assert_eq!(pdu.short_message, [6, 5, 4, 0, 1, 0, 2, 0, 255]);
    }
}
