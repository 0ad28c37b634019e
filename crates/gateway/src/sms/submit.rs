//! One part on its way, and the submit_sm it becomes.

use std::sync::Arc;

use records::{AttemptResult, Body, Lane, NotTried};
use smpp::pdu::{Address, SubmitSm};
use smpp::session::{SendError, Session};
use smpp::time::SmppTime;
use std::time::Instant;

use super::carrier::Carrier;
use super::config::SmsRoute;
use super::encode::{Encoded, Prepared, Scratch, Unsendable, digits, source_of};
use crate::feed::Job;

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
            self.kept = Some(carrier.feed.craft().keep(&self.job.held.segment, own)?);
        }
        Ok(())
    }
}

/// Puts one part into the session.
pub(super) fn submit(
    carrier: &Carrier,
    config: &SmsRoute,
    session: &mut Session,
    sending: &mut Sending,
    token: u64,
    now: Instant,
    scratch: &mut Scratch,
) -> Result<Result<u32, SendError>, Unsendable> {
    sending.keep(carrier)?;
    let Sending { job, part, reference, kept, .. } = sending;
    let (held, entry) = (&job.held, job.entry());
    let (segment, prepared) = (&held.segment, &held.prepared);
    let digits = digits(&entry.address)?;
    let which = (*part, *reference);
    let wording = carrier.feed.craft().wording(segment, prepared, entry, kept.as_deref(), which, scratch)?;
    let validity =
        carrier.validity(config.validity_s, segment, entry).map(|s| SmppTime::relative(s).to_bytes());
    let sender = prepared.sender.as_ref().unwrap_or(&config.source);
    let mut pdu = SubmitSm {
        service_type: config.service_type.as_bytes(),
        source: Address { ton: sender.ton, npi: sender.npi, addr: sender.addr.as_bytes() },
        destination: Address { ton: config.dest.ton, npi: config.dest.npi, addr: digits },
        esm_class: wording.esm_class,
        priority_flag: u8::from(segment.emergency || held.lane() == Lane::Emergency),
        validity_period: validity.as_ref().map_or(b"", |validity| validity),
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
