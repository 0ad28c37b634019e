//! One part on its way, and the submit_sm it becomes.

use std::sync::Arc;

use records::{AttemptResult, Body, Entry, Lane, NotTried, Segment, Timestamp};
use smpp::Tag;
use smpp::pdu::{Address, SubmitSm};
use smpp::session::{SendError, Session};
use smpp::time::SmppTime;
use std::time::Instant;

use super::carrier::Carrier;
use super::config::SmsRoute;
use super::encode::{Encoded, Prepared, Scratch, Unsendable, announced_source, digits, source_of};
use crate::dispatcher::Job;

/// One part on its way.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) job: Job<Prepared>,
    /// From 1.
    pub(super) part: u8,
    /// Ties the parts together.
    pub(super) reference: u16,
    /// How often the carrier wanted less speed.
    pub(super) tries: u8,
    /// The parts behind it are on their way already: it stands for itself only.
    pub(super) alone: bool,
    /// An entry's own message of several parts, made once for all of them.
    kept: Option<Arc<Encoded>>,
}

impl Sending {
    /// An entry's first part.
    pub(super) fn first(job: Job<Prepared>, reference: u16) -> Sending {
        Sending { job, part: 1, reference, tries: 0, alone: false, kept: None }
    }

    /// Anything, for who only counts.
    #[cfg(test)]
    pub(super) fn for_tests() -> Sending {
        let segment = records::Segment {
            alert: records::AlertNo(1),
            alert_id: records::AlertId(uuid::Uuid::nil()),
            account: String::new(),
            route: String::new(),
            lane: Lane::Routine,
            outcomes_from: 0,
            expires: Timestamp(i64::MAX),
            sender: None,
            flash: false,
            receipt: false,
            answer: false,
            choices: Vec::new(),
            emergency: false,
            bodies: Vec::new(),
            entries: Vec::new(),
        };
        let leased = crate::dispatcher::LeasedSegment::new(0, 0, Lane::Routine, segment, Prepared::default());
        Sending::first(Job { leased: Arc::new(leased), place: 0, units: 1 }, 0)
    }

    /// The part behind this one.
    pub(super) fn next(&self) -> Option<Sending> {
        if self.alone || self.part >= self.job.units {
            return None;
        }
        let (job, kept) = (self.job.clone(), self.kept.clone());
        Some(Sending { job, part: self.part + 1, reference: self.reference, tries: 0, alone: false, kept })
    }

    /// Makes of an own message of several parts what all of them need.
    fn keep(&mut self, carrier: &Carrier) -> Result<(), Unsendable> {
        if self.job.units > 1
            && self.kept.is_none()
            && let Some(own) = &self.job.entry().own
        {
            self.kept = Some(carrier.dispatcher.encoder().keep(&self.job.leased.segment, own)?);
        }
        Ok(())
    }
}

/// Characters of a time in a PDU (3.4 §7.1.1).
const TIME_OCTETS: usize = 16;

/// What a session puts messages together with, and when it is.
pub(super) struct SubmitComposer {
    pub(super) config: Arc<SmsRoute>,
    /// The wall clock's time when the session last looked.
    pub(super) at: Timestamp,
    scratch: Scratch,
    validity: Validity,
}

/// A validity period as it was last written: most messages of a turn have the same.
#[derive(Default)]
struct Validity {
    seconds: u64,
    octets: Option<[u8; TIME_OCTETS]>,
}

impl SubmitComposer {
    pub(super) fn new(config: Arc<SmsRoute>, at: Timestamp) -> SubmitComposer {
        SubmitComposer { config, at, scratch: Scratch::default(), validity: Validity::default() }
    }
}

impl Validity {
    /// How long the network should try, as it stands in the PDU; empty: as long as it likes.
    fn of(&mut self, most: Option<u32>, segment: &Segment, entry: &Entry, at: Timestamp) -> &[u8] {
        const MICROS: i64 = 1_000_000;
        if most == Some(0) {
            return b"";
        }
        let expires = entry.expires.map_or(segment.expires, |own| own.min(segment.expires));
        let left = (expires.us_since(at).max(MICROS) / MICROS) as u64;
        let seconds = most.map_or(left, |most| left.min(u64::from(most)));
        if self.octets.is_none() || seconds != self.seconds {
            self.seconds = seconds;
            self.octets = Some(SmppTime::relative(seconds).to_bytes());
        }
        self.octets.as_ref().map_or(b"", |octets| octets)
    }
}

/// Puts one part into the session.
pub(super) fn submit(
    carrier: &Carrier,
    pen: &mut SubmitComposer,
    session: &mut Session,
    sending: &mut Sending,
    token: u64,
    now: Instant,
) -> Result<Result<u32, SendError>, Unsendable> {
    let SubmitComposer { config, at, scratch, validity } = pen;
    sending.keep(carrier)?;
    let Sending { job, part, reference, kept, .. } = sending;
    let (leased, entry) = (&job.leased, job.entry());
    let (segment, prepared) = (&leased.segment, &leased.prepared);
    let digits = digits(&entry.address)?;
    let which = (*part, *reference);
    let wording =
        carrier.dispatcher.encoder().wording(segment, prepared, entry, kept.as_deref(), which, scratch)?;
    // A peer of 3.3 would take the parts for messages of their own.
    if !session.version().has_tlvs() && wording.tlvs.find(Tag::SAR_MSG_REF_NUM).is_some() {
        let text =
            "a message in parts needs version 3.4, or a user data header: the carrier speaks 3.3".to_owned();
        return Err(Unsendable { code: "sms:version", text });
    }
    let sender = prepared.sender.as_ref().unwrap_or(&config.source);
    let mut pdu = SubmitSm {
        service_type: config.service_type.as_bytes(),
        source: announced_source(sender),
        destination: Address { ton: config.dest.ton, npi: config.dest.npi, addr: digits },
        esm_class: wording.esm_class,
        priority_flag: u8::from(segment.emergency || leased.lane() == Lane::Emergency),
        validity_period: validity.of(config.validity_s, segment, entry, *at),
        registered_delivery: config.registered_delivery.unwrap_or(u8::from(segment.receipt)),
        data_coding: wording.data_coding,
        short_message: wording.short_message,
        tlvs: wording.tlvs,
        ..SubmitSm::default()
    };
    if let Some(Body::Short(short)) = segment.body(entry) {
        // A platform's message goes as it says, and by the route's ways where it says nothing.
        pdu.source = source_of(&short.source, sender);
        if let Some((ton, npi)) = short.dest {
            pdu.destination = Address { ton, npi, addr: digits };
        }
        if !short.service_type.is_empty() {
            pdu.service_type = short.service_type.as_bytes();
        }
        pdu.protocol_id = short.protocol_id;
        pdu.priority_flag = short.priority_flag.unwrap_or(pdu.priority_flag);
        pdu.registered_delivery = short.registered_delivery.unwrap_or(pdu.registered_delivery);
        pdu.replace_if_present_flag = u8::from(short.replace_if_present);
    }
    Ok(session.submit(&pdu, token, now))
}

/// Why an entry of which parts may be with the carrier goes no further.
pub(super) fn incomplete(sending: &Sending, why: NotTried) -> AttemptResult {
    let why = match why {
        NotTried::Paused => "the alert was paused",
        NotTried::Stopped => "the alert was stopped",
        NotTried::Expired => "its time ran out",
        NotTried::RouteDown => "the route went down",
        NotTried::Closing => "the gateway closed",
    };
    let text = format!("given up before part {} of {}: {why}", sending.part, sending.job.units);
    AttemptResult::Refused { permanent: false, code: "sms:incomplete".to_owned(), text }
}
