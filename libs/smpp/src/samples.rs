//! For tests: every PDU there is, from one pool of values; and a seeded random source.

use crate::limits::{self, Field};
use crate::pdu::{
    Address, AlertNotification, Bind, BindMode, BindResp, BroadcastSm, BroadcastSmResp, CancelBroadcastSm,
    CancelBroadcastSmResp, CancelSm, CancelSmResp, Command, DataSm, DataSmResp, DeliverSm, DeliverSmResp,
    Destination, DestinationBuf, EnquireLink, EnquireLinkResp, GenericNack, Header, Outbind, Pdu,
    QueryBroadcastSm, QueryBroadcastSmResp, QuerySm, QuerySmResp, Refused, RefusedBuf, ReplaceSm,
    ReplaceSmResp, SubmitMulti, SubmitMultiResp, SubmitSm, SubmitSmResp, Unbind, UnbindResp, Version, encode,
};
use crate::status::Status;
use crate::tlv::{Tag, TlvBuf};

/// Values to make PDUs of.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) system_id: Vec<u8>,
    pub(crate) password: Vec<u8>,
    pub(crate) system_type: Vec<u8>,
    pub(crate) address_range: Vec<u8>,
    pub(crate) service_type: Vec<u8>,
    pub(crate) source: Vec<u8>,
    pub(crate) destination: Vec<u8>,
    pub(crate) long_address: Vec<u8>,
    pub(crate) message_id: Vec<u8>,
    pub(crate) time: Vec<u8>,
    pub(crate) list_name: Vec<u8>,
    pub(crate) message: Vec<u8>,
    pub(crate) octets: [u8; 9],
    pub(crate) tlvs: TlvBuf,
    pub(crate) destinations: DestinationBuf,
    pub(crate) refused: RefusedBuf,
}

impl Default for Pool {
    fn default() -> Self {
        let mut tlvs = TlvBuf::new();
        tlvs.push_u16(Tag::USER_MESSAGE_REFERENCE, 0x0102);
        let mut pool = Pool {
            system_id: b"SMPP3TEST".to_vec(),
            password: b"secret08".to_vec(),
            system_type: b"SUBMIT1".to_vec(),
            address_range: b"^4179".to_vec(),
            service_type: b"CMT".to_vec(),
            source: b"Campanile".to_vec(),
            destination: b"41791234567".to_vec(),
            long_address: b"41791234567".to_vec(),
            message_id: b"0123456789abcdef".to_vec(),
            time: b"000000010000000R".to_vec(),
            list_name: b"firemen".to_vec(),
            message: b"Sirens test at noon".to_vec(),
            octets: [1, 1, 0, 0, 0, 1, 0, 0, 0],
            tlvs,
            destinations: DestinationBuf::new(),
            refused: RefusedBuf::new(),
        };
        pool.fill_lists(2);
        pool
    }
}

impl Pool {
    pub(crate) fn fill_lists(&mut self, count: u8) {
        for number in 0..count {
            let address = Address::new(self.octets[0], self.octets[1], &self.destination);
            let destination =
                if number % 2 == 0 { Destination::Sme(address) } else { Destination::List(&self.list_name) };
            self.destinations.push(destination).unwrap();
            let status = Status(u32::from(number) * 0x0101_0101);
            self.refused.push(Refused { destination: address, status }).unwrap();
        }
    }

    /// One of each PDU, every field set.
    pub(crate) fn pdus(&self) -> Vec<Pdu<'_>> {
        let mut pdus = self.session_pdus();
        pdus.extend(self.message_pdus());
        pdus.extend(self.other_pdus());
        pdus
    }

    fn address<'a>(&self, addr: &'a [u8]) -> Address<'a> {
        Address::new(self.octets[0], self.octets[1], addr)
    }

    fn session_pdus(&self) -> Vec<Pdu<'_>> {
        let tlvs = self.tlvs.as_tlvs();
        let mut pdus = vec![
            Pdu::Outbind(Outbind { system_id: &self.system_id, password: &self.password, tlvs }),
            Pdu::Unbind(Unbind { tlvs }),
            Pdu::UnbindResp(UnbindResp { tlvs }),
            Pdu::EnquireLink(EnquireLink { tlvs }),
            Pdu::EnquireLinkResp(EnquireLinkResp { tlvs }),
            Pdu::GenericNack(GenericNack { tlvs }),
        ];
        for mode in [BindMode::Transmitter, BindMode::Receiver, BindMode::Transceiver] {
            pdus.push(Pdu::Bind(Bind {
                mode,
                system_id: &self.system_id,
                password: &self.password,
                system_type: &self.system_type,
                interface_version: Version(self.octets[8]),
                addr_ton: self.octets[0],
                addr_npi: self.octets[1],
                address_range: &self.address_range,
                tlvs,
            }));
            pdus.push(Pdu::BindResp(BindResp { mode, system_id: &self.system_id, tlvs }));
        }
        pdus
    }

    fn message_pdus(&self) -> Vec<Pdu<'_>> {
        let tlvs = self.tlvs.as_tlvs();
        let message_id = &self.message_id[..];
        let [.., a, b, c, d, e, f, g] = self.octets;
        let (source, destination) = (self.address(&self.source), self.address(&self.destination));
        let submit = SubmitSm {
            service_type: &self.service_type,
            source,
            destination,
            esm_class: a,
            protocol_id: b,
            priority_flag: c,
            schedule_delivery_time: &self.time,
            validity_period: &self.time,
            registered_delivery: d,
            replace_if_present_flag: e,
            data_coding: f,
            sm_default_msg_id: g,
            short_message: &self.message,
            tlvs,
        };
        vec![
            Pdu::SubmitSm(submit),
            Pdu::SubmitSmResp(SubmitSmResp { message_id, tlvs }),
            Pdu::DeliverSm(DeliverSm {
                service_type: submit.service_type,
                source,
                destination,
                esm_class: a,
                protocol_id: b,
                priority_flag: c,
                schedule_delivery_time: b"",
                validity_period: b"",
                registered_delivery: d,
                replace_if_present_flag: e,
                data_coding: f,
                sm_default_msg_id: g,
                short_message: &self.message,
                tlvs,
            }),
            Pdu::DeliverSmResp(DeliverSmResp { message_id, tlvs }),
            Pdu::SubmitMulti(SubmitMulti {
                service_type: submit.service_type,
                source,
                destinations: self.destinations.as_destinations(),
                esm_class: a,
                protocol_id: b,
                priority_flag: c,
                schedule_delivery_time: &self.time,
                validity_period: &self.time,
                registered_delivery: d,
                replace_if_present_flag: e,
                data_coding: f,
                sm_default_msg_id: g,
                short_message: &self.message,
                tlvs,
            }),
            Pdu::SubmitMultiResp(SubmitMultiResp { message_id, refused: self.refused.as_list(), tlvs }),
            Pdu::DataSm(DataSm {
                service_type: submit.service_type,
                source: self.address(&self.long_address),
                destination: self.address(&self.long_address),
                esm_class: a,
                registered_delivery: d,
                data_coding: f,
                tlvs,
            }),
            Pdu::DataSmResp(DataSmResp { message_id, tlvs }),
        ]
    }

    fn other_pdus(&self) -> Vec<Pdu<'_>> {
        let tlvs = self.tlvs.as_tlvs();
        let (message_id, service_type) = (&self.message_id[..], &self.service_type[..]);
        let (source, destination) = (self.address(&self.source), self.address(&self.destination));
        let [.., c, d, e, f, g] = self.octets;
        let long = self.address(&self.long_address);
        vec![
            Pdu::QuerySm(QuerySm { message_id, source, tlvs }),
            Pdu::QuerySmResp(QuerySmResp {
                message_id,
                final_date: &self.time,
                message_state: c,
                error_code: d,
                tlvs,
            }),
            Pdu::CancelSm(CancelSm { service_type, message_id, source, destination, tlvs }),
            Pdu::CancelSmResp(CancelSmResp { tlvs }),
            Pdu::ReplaceSm(ReplaceSm {
                message_id,
                source,
                schedule_delivery_time: &self.time,
                validity_period: b"",
                registered_delivery: d,
                sm_default_msg_id: g,
                short_message: &self.message,
                tlvs,
            }),
            Pdu::ReplaceSmResp(ReplaceSmResp { tlvs }),
            Pdu::AlertNotification(AlertNotification { source: long, esme: long, tlvs }),
            Pdu::BroadcastSm(BroadcastSm {
                service_type,
                source,
                message_id,
                priority_flag: c,
                schedule_delivery_time: &self.time,
                validity_period: &self.time,
                replace_if_present_flag: e,
                data_coding: f,
                sm_default_msg_id: g,
                tlvs,
            }),
            Pdu::BroadcastSmResp(BroadcastSmResp { message_id, tlvs }),
            Pdu::QueryBroadcastSm(QueryBroadcastSm { message_id, source, tlvs }),
            Pdu::QueryBroadcastSmResp(QueryBroadcastSmResp { message_id, tlvs }),
            Pdu::CancelBroadcastSm(CancelBroadcastSm { service_type, message_id, source, tlvs }),
            Pdu::CancelBroadcastSmResp(CancelBroadcastSmResp { tlvs }),
        ]
    }

    /// The octets of one of each PDU, sequence 7.
    pub(crate) fn frames(&self) -> Vec<Vec<u8>> {
        let pdus = self.pdus();
        pdus.iter().map(|pdu| frame(pdu, 7)).collect()
    }
}

/// The octets of one PDU with status `ROK`.
pub(crate) fn frame<'a>(body: &impl crate::pdu::Body<'a>, sequence: u32) -> Vec<u8> {
    let mut out = Vec::new();
    encode(body, Status::ROK, sequence, &mut out).unwrap();
    out
}

/// A PDU of a command and a body as they are, right or wrong: status `ROK`, sequence 7.
pub(crate) fn raw(command: Command, body: &[u8]) -> Vec<u8> {
    let length = (body.len() + limits::HEADER_OCTETS) as u32;
    let header = Header { length, command, status: Status::ROK, sequence: 7 };
    [&header.to_bytes()[..], body].concat()
}

/// A request whose one string field can be set, and how that field is described.
pub(crate) type StringCase = (Field, fn(&[u8]) -> Vec<u8>);

pub(crate) const STRINGS: [StringCase; 20] = [
    (limits::SYSTEM_ID, |s| raw(Command::BIND_TRANSCEIVER, &[s, b"\0\0\0\x34\0\0\0"].concat())),
    (limits::PASSWORD, |s| raw(Command::BIND_RECEIVER, &[b"\0", s, b"\0\0\x34\0\0\0"].concat())),
    (limits::SYSTEM_TYPE, |s| raw(Command::BIND_TRANSMITTER, &[b"\0\0", s, b"\0\x34\0\0\0"].concat())),
    (limits::ADDRESS_RANGE, |s| raw(Command::BIND_TRANSMITTER, &[b"\0\0\0\x34\0\0", s, b"\0"].concat())),
    (limits::SYSTEM_ID, |s| raw(Command::OUTBIND, &[s, b"\0\0"].concat())),
    (limits::PASSWORD, |s| raw(Command::OUTBIND, &[b"\0", s, b"\0"].concat())),
    (limits::SERVICE_TYPE, |s| raw(Command::SUBMIT_SM, &[s, &[0; 17][..]].concat())),
    (limits::SOURCE_ADDR, |s| raw(Command::SUBMIT_SM, &[&[0; 3][..], s, &[0; 14]].concat())),
    (limits::DESTINATION_ADDR, |s| raw(Command::SUBMIT_SM, &[&[0; 6][..], s, &[0; 11]].concat())),
    (limits::SCHEDULE_DELIVERY_TIME, |s| raw(Command::SUBMIT_SM, &[&[0; 10][..], s, &[0; 7]].concat())),
    (limits::VALIDITY_PERIOD, |s| raw(Command::SUBMIT_SM, &[&[0; 11][..], s, &[0; 6]].concat())),
    (limits::SOURCE_ADDR, |s| raw(Command::DELIVER_SM, &[&[0; 3][..], s, &[0; 14]].concat())),
    (limits::LONG_SOURCE_ADDR, |s| raw(Command::DATA_SM, &[&[0; 3][..], s, &[0; 7]].concat())),
    (limits::LONG_DESTINATION_ADDR, |s| raw(Command::DATA_SM, &[&[0; 6][..], s, &[0; 4]].concat())),
    (limits::LONG_SOURCE_ADDR, |s| raw(Command::ALERT_NOTIFICATION, &[&[0; 2][..], s, &[0; 4]].concat())),
    (limits::MESSAGE_ID, |s| raw(Command::QUERY_SM, &[s, &[0; 4][..]].concat())),
    (limits::MESSAGE_ID, |s| raw(Command::CANCEL_SM, &[&[0][..], s, &[0; 7]].concat())),
    (limits::MESSAGE_ID, |s| raw(Command::REPLACE_SM, &[s, &[0; 9][..]].concat())),
    (limits::MESSAGE_ID, |s| raw(Command::BROADCAST_SM, &[&[0; 4][..], s, &[0; 7]].concat())),
    (limits::DL_NAME, |s| raw(Command::SUBMIT_MULTI, &[&[0; 4][..], &[1, 2], s, &[0; 11]].concat())),
];

/// SplitMix64: small, seeded, the same everywhere.
#[derive(Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number under `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}
