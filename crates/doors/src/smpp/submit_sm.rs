//! Submit draft: the fields of submit_sm, data_sm and submit_multi, written as an intake record.

use super::address::{DestinationNumber, sender};
use super::config::{SmppClient, VALIDITY_S_MAX};
use super::message_control::MessageControl;
use super::message_text::split_message;
use super::record::{DlrRequestForm, MessageClientForm, MessageForm, Octets, ShortAddressForm, ShortForm};
use super::times::moment;
use records::{DlrRequest, Timestamp};
use smpp::pdu::{Address, DataSm, SubmitMulti, SubmitSm, esm_class, registered_delivery};
use smpp::{Status, Tag, Tlvs};

/// In [`DlrRequest::values`]: the address as the platform wrote it, where it cannot be derived from the
/// number.
pub(super) const AS_WRITTEN: char = 'd';
/// The platform's `user_message_reference`, which the receipt repeats (SMPP 3.4, 5.3.2.17).
pub(super) const USER_REFERENCE: char = 'u';
/// Which destination of a submit_multi it is, from 0: the receipt bears the id of the first.
pub(super) const PLACE: char = 'm';

/// One message of a platform, where the PDU has it.
#[derive(Clone, Copy)]
pub(super) struct SubmitSmDraft<'a> {
    pub(super) service_type: &'a [u8],
    pub(super) source: Address<'a>,
    pub(super) destination: Address<'a>,
    pub(super) esm_class: u8,
    pub(super) protocol_id: u8,
    pub(super) priority_flag: u8,
    pub(super) schedule: &'a [u8],
    pub(super) validity: &'a [u8],
    pub(super) registered_delivery: u8,
    pub(super) replace_if_present: bool,
    pub(super) data_coding: u8,
    pub(super) default_message: u8,
    pub(super) message: &'a [u8],
    pub(super) tlvs: Tlvs<'a>,
    /// Which destination of a submit_multi.
    pub(super) place: u8,
}

impl<'a> SubmitSmDraft<'a> {
    pub(super) fn of_submit(pdu: &SubmitSm<'a>) -> SubmitSmDraft<'a> {
        SubmitSmDraft {
            service_type: pdu.service_type,
            source: pdu.source,
            destination: pdu.destination,
            esm_class: pdu.esm_class,
            protocol_id: pdu.protocol_id,
            priority_flag: pdu.priority_flag,
            schedule: pdu.schedule_delivery_time,
            validity: pdu.validity_period,
            registered_delivery: pdu.registered_delivery,
            replace_if_present: pdu.replace_if_present_flag != 0,
            data_coding: pdu.data_coding,
            default_message: pdu.sm_default_msg_id,
            message: pdu.message(),
            tlvs: pdu.tlvs,
            place: 0,
        }
    }

    pub(super) fn of_data(pdu: &DataSm<'a>) -> SubmitSmDraft<'a> {
        SubmitSmDraft {
            service_type: pdu.service_type,
            source: pdu.source,
            destination: pdu.destination,
            esm_class: pdu.esm_class,
            protocol_id: 0,
            priority_flag: 0,
            schedule: b"",
            validity: b"",
            registered_delivery: pdu.registered_delivery,
            replace_if_present: false,
            data_coding: pdu.data_coding,
            default_message: 0,
            message: pdu.message(),
            tlvs: pdu.tlvs,
            place: 0,
        }
    }

    /// The message to one of a submit_multi's destinations.
    pub(super) fn of_multi(pdu: &SubmitMulti<'a>, destination: Address<'a>, place: u8) -> SubmitSmDraft<'a> {
        SubmitSmDraft {
            service_type: pdu.service_type,
            source: pdu.source,
            destination,
            esm_class: pdu.esm_class,
            protocol_id: pdu.protocol_id,
            priority_flag: pdu.priority_flag,
            schedule: pdu.schedule_delivery_time,
            validity: pdu.validity_period,
            registered_delivery: pdu.registered_delivery,
            replace_if_present: false,
            data_coding: pdu.data_coding,
            default_message: pdu.sm_default_msg_id,
            message: pdu.message(),
            tlvs: pdu.tlvs,
            place,
        }
    }
}

/// Encoder of intake records, with the settings that a batch's messages share.
pub(super) struct IntakeEncoder<'a> {
    pub(super) client: &'a SmppClient,
    pub(super) intake: &'a dyn MessageControl,
    pub(super) at: Timestamp,
    pub(super) scratch: &'a mut Scratch,
}

/// Kept from message to message for its memory.
#[derive(Default)]
pub(super) struct Scratch {
    text: String,
    tlvs: Vec<u8>,
}

impl IntakeEncoder<'_> {
    /// Appends a message's record to `out`.
    ///
    /// # Errors
    /// The status for the platform; `out` is as it was.
    pub(super) fn write(&mut self, draft: &SubmitSmDraft<'_>, out: &mut Vec<u8>) -> Result<(), Status> {
        let IntakeEncoder { client, at, .. } = *self;
        let source = sender(draft.source, &client.senders)?;
        let number = DestinationNumber::of(draft.destination)?;
        let (not_before, expires) = times(draft, client, at)?;
        let class = class(draft)?;
        let service_type = service_type(draft.service_type)?;
        if self.intake.routable(client.mode, number.as_str(), source, &client.account, None).is_err() {
            return Err(Status::RINVDSTADR);
        }
        let Scratch { text, tlvs } = &mut *self.scratch;
        let has_udh = draft.esm_class & esm_class::UDHI != 0;
        let content =
            split_message(draft.message, has_udh, draft.data_coding, draft.tlvs, client.charset, text)?;
        let values = ReceiptValues::of(draft, number.was_written_otherwise);
        let mask = mask(draft.registered_delivery);
        let form = MessageForm {
            account: &client.account,
            party: MessageClientForm::Smpp(&client.system_id),
            at,
            lane: client.lanes.lane(draft.priority_flag),
            mode: client.mode,
            to: number.as_str(),
            short: ShortForm {
                source: ShortAddressForm { ton_npi: given_numbering(draft.source), addr: source },
                dest: Some((draft.destination.ton, draft.destination.npi)),
                text: content.text,
                udh: Octets(content.udh),
                service_type,
                esm_class: class,
                protocol_id: draft.protocol_id,
                priority_flag: (draft.priority_flag > 0).then_some(draft.priority_flag),
                replace_if_present: draft.replace_if_present,
                registered_delivery: (mask != 0).then_some(for_carrier(draft.registered_delivery)),
                tlvs: Octets(passed_on(draft.tlvs, tlvs)),
            },
            not_before,
            expires,
            route: None,
            tell: DlrRequestForm { mask, url: None, values: &values.list() },
        };
        form.encode_into(out);
        Ok(())
    }
}

/// The earliest time of sending, and the end of the validity.
fn times(
    draft: &SubmitSmDraft<'_>,
    client: &SmppClient,
    at: Timestamp,
) -> Result<(Option<Timestamp>, Timestamp), Status> {
    if draft.schedule.is_empty() && draft.validity.is_empty() && draft.tlvs.is_empty() {
        return Ok((None, at.plus_s(i64::from(client.validity_s))));
    }
    let longest = at.plus_s(i64::from(VALIDITY_S_MAX));
    let not_before = match draft.schedule {
        b"" => None,
        text => {
            let moment = moment(text, at).ok_or(Status::RINVSCHED)?;
            if moment >= longest {
                return Err(Status::RINVSCHED);
            }
            // A time in the past is now.
            Some(moment).filter(|moment| *moment > at)
        }
    };
    let live_s = draft.tlvs.find_u32(Tag::QOS_TIME_TO_LIVE).filter(|seconds| *seconds > 0);
    let expires = match (draft.validity, live_s) {
        (b"", None) => not_before.unwrap_or(at).plus_s(i64::from(client.validity_s)),
        (b"", Some(seconds)) => at.plus_s(i64::from(seconds)),
        (text, _) => moment(text, at).ok_or(Status::RINVEXPIRY)?,
    };
    if expires <= not_before.unwrap_or(at) {
        return Err(Status::RINVEXPIRY);
    }
    Ok((not_before, expires.min(longest)))
}

/// The bits of `esm_class` that are passed on.
fn class(draft: &SubmitSmDraft<'_>) -> Result<u8, Status> {
    let kind = draft.esm_class & esm_class::TYPE_MASK;
    // Receipts are not for platforms to send.
    if matches!(kind, esm_class::RECEIPT | esm_class::INTERMEDIATE) {
        return Err(Status::RINVESMCLASS);
    }
    // There are no messages of ours to choose from.
    if draft.default_message != 0 {
        return Err(Status::RINVDFTMSGID);
    }
    Ok(draft.esm_class & !esm_class::UDHI)
}

fn service_type(written: &[u8]) -> Result<&str, Status> {
    let text = std::str::from_utf8(written).map_err(|_| Status::RINVSERTYP)?;
    if text.bytes().all(|octet| octet.is_ascii_graphic()) { Ok(text) } else { Err(Status::RINVSERTYP) }
}

fn given_numbering(address: Address<'_>) -> Option<(u8, u8)> {
    ((address.ton, address.npi) != (0, 0)).then_some((address.ton, address.npi))
}

/// The events that the platform requests (SMPP 3.4, 5.2.17; 5.0, 4.7.21).
fn mask(flag: u8) -> u8 {
    let last = match flag & registered_delivery::RECEIPT_MASK {
        registered_delivery::FINAL => DlrRequest::DELIVERED | DlrRequest::FAILED | DlrRequest::REFUSED,
        registered_delivery::FAILURE => DlrRequest::FAILED | DlrRequest::REFUSED,
        registered_delivery::SUCCESS => DlrRequest::DELIVERED,
        _ => 0,
    };
    let between = if flag & registered_delivery::INTERMEDIATE != 0 { DlrRequest::BUFFERED } else { 0 };
    last | between
}

/// The carrier is requested to send every final receipt; the platform gets those that it requested.
pub(super) fn for_carrier(flag: u8) -> u8 {
    (flag & !registered_delivery::RECEIPT_MASK) | registered_delivery::FINAL
}

/// The optional parameters but the message itself.
fn passed_on<'a>(tlvs: Tlvs<'a>, scratch: &'a mut Vec<u8>) -> &'a [u8] {
    if tlvs.is_empty() || tlvs.find(Tag::MESSAGE_PAYLOAD).is_none() {
        return tlvs.as_bytes();
    }
    scratch.clear();
    for tlv in tlvs.iter().filter(|tlv| tlv.tag != Tag::MESSAGE_PAYLOAD) {
        scratch.extend_from_slice(&tlv.tag.0.to_be_bytes());
        // A TLV's length has two octets.
        scratch.extend_from_slice(&(tlv.value.len() as u16).to_be_bytes());
        scratch.extend_from_slice(tlv.value);
    }
    scratch
}

/// Values of the request that the receipt repeats.
#[derive(Default)]
struct ReceiptValues {
    list: Vec<(char, String)>,
}

impl ReceiptValues {
    fn of(draft: &SubmitSmDraft<'_>, written_otherwise: bool) -> ReceiptValues {
        // Most have none, and an empty vector costs nothing.
        let mut list = Vec::new();
        if written_otherwise {
            list.push((AS_WRITTEN, String::from_utf8_lossy(draft.destination.addr).into_owned()));
        }
        if !draft.tlvs.is_empty()
            && let Some(reference) = draft.tlvs.find_u16(Tag::USER_MESSAGE_REFERENCE)
        {
            list.push((USER_REFERENCE, reference.to_string()));
        }
        if draft.place > 0 {
            list.push((PLACE, draft.place.to_string()));
        }
        ReceiptValues { list }
    }

    fn list(&self) -> Vec<(char, &str)> {
        self.list.iter().map(|(deliver_sm, value)| (*deliver_sm, value.as_str())).collect()
    }
}
