//! CER and CEA: read, judged and written (RFC 6733 section 5.3).

use super::config::{Application, Identity};
use crate::avp::{Address, Avp, AvpError};
use crate::check::{Fault, Origin, Strictness, check_as};
use crate::dictionary::{application, avp};
use crate::message::Message;
use crate::result_code;
use crate::write::Writer;
use std::net::IpAddr;

/// Application ids, vendors and addresses that are kept of a peer; what is over is looked at and forgotten.
pub const ADVERTISED_MAX: usize = 256;
/// Inband-Security-Id: none (section 6.10).
const NO_INBAND_SECURITY: u32 = 0;

/// What a peer said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Its name.
    pub origin_host: String,
    /// Its realm.
    pub origin_realm: String,
    /// Its addresses.
    pub host_addresses: Vec<IpAddr>,
    /// The vendor of its software.
    pub vendor_id: u32,
    /// Its software's name.
    pub product_name: String,
    /// Its software's version.
    pub firmware_revision: Option<u32>,
    /// Grows with each of its restarts.
    pub origin_state_id: Option<u32>,
    /// The applications it supports, each once, in the order it said them.
    pub applications: Vec<u32>,
    /// Those of them, or of ours where it is a relay, that both support.
    pub common: Vec<u32>,
    /// It forwards any application.
    pub is_relay: bool,
}

/// Why a CER is not accepted: what its CEA says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CerRefusal {
    pub(super) result_code: u32,
    /// The data of Failed-AVP; empty for none.
    pub(super) failed_avp: Vec<u8>,
    /// For Error-Message.
    pub(super) text: &'static str,
}

impl CerRefusal {
    /// A refusal that no AVP is to blame for.
    pub(super) fn new(result_code: u32, text: &'static str) -> Self {
        CerRefusal { result_code, failed_avp: Vec::new(), text }
    }

    /// A refusal for what is wrong with the CER: its Failed-AVP is that of the fault's own answer.
    fn of(fault: &Fault, cer: &Message<'_>) -> Self {
        let mut out = Vec::new();
        fault.answer(cer, &Origin { host: "-", realm: "-" }, None, &mut out);
        let answer = Message::read(&out).ok();
        let failed_avp =
            answer.and_then(|answer| answer.find(avp::FAILED_AVP)).map(|failed| failed.data.to_vec());
        let text = match fault.result_code {
            result_code::MISSING_AVP => "the AVP in Failed-AVP is missing",
            result_code::NO_COMMON_APPLICATION => "no application in common",
            result_code::NO_COMMON_SECURITY => {
                "no security in common: TLS begins before the first message here"
            }
            _ => "the CER does not keep to its grammar",
        };
        CerRefusal { result_code: fault.result_code, failed_avp: failed_avp.unwrap_or_default(), text }
    }
}

/// What is gathered while walking.
#[derive(Default)]
struct AvpWalk<'m> {
    origin_host: Option<&'m str>,
    origin_realm: Option<&'m str>,
    has_address: bool,
    host_addresses: Vec<IpAddr>,
    vendor_id: Option<u32>,
    product_name: Option<&'m str>,
    firmware_revision: Option<u32>,
    origin_state_id: Option<u32>,
    applications: Vec<u32>,
    common: Vec<u32>,
    is_relay: bool,
    /// Inband-Security-Id was there, and whether one of them was acceptable.
    security: Option<bool>,
}

impl<'m> AvpWalk<'m> {
    fn take(&mut self, avp: &Avp<'m>, ours: &Identity) -> Result<(), AvpError> {
        match avp.name {
            avp::ORIGIN_HOST => self.origin_host = Some(avp.identity()?),
            avp::ORIGIN_REALM => self.origin_realm = Some(avp.identity()?),
            avp::HOST_IP_ADDRESS => {
                self.has_address = true;
                if let Address::Ip(ip) = avp.address()? {
                    keep(&mut self.host_addresses, ip);
                }
            }
            avp::VENDOR_ID => self.vendor_id = Some(avp.u32()?),
            avp::PRODUCT_NAME => self.product_name = Some(avp.utf8()?),
            avp::FIRMWARE_REVISION => self.firmware_revision = Some(avp.u32()?),
            avp::ORIGIN_STATE_ID => self.origin_state_id = Some(avp.u32()?),
            avp::AUTH_APPLICATION_ID | avp::ACCT_APPLICATION_ID => self.advertise(avp.u32()?, ours),
            // The Vendor-Id in it is not used to find what is common (section 5.3).
            avp::VENDOR_SPECIFIC_APPLICATION_ID => {
                for member in avp.group() {
                    let member = member?;
                    if matches!(member.name, avp::AUTH_APPLICATION_ID | avp::ACCT_APPLICATION_ID) {
                        self.advertise(member.u32()?, ours);
                    }
                }
            }
            avp::INBAND_SECURITY_ID => {
                let is_none = avp.u32()? == NO_INBAND_SECURITY;
                self.security = Some(self.security.unwrap_or(false) || is_none);
            }
            _ => {}
        }
        Ok(())
    }

    fn advertise(&mut self, id: u32, ours: &Identity) {
        keep(&mut self.applications, id);
        self.is_relay |= id == application::RELAY;
        let is_ours = |other: &Application| other.id == id || other.id == application::RELAY;
        if ours.applications.iter().any(is_ours) {
            keep(&mut self.common, id);
        }
    }

    fn finish(self, ours: &Identity) -> Result<(Capabilities, Option<bool>), Fault> {
        // The order of the grammar: the first one missing is named.
        let origin_host = self.origin_host.ok_or(Fault::missing(avp::ORIGIN_HOST))?;
        let origin_realm = self.origin_realm.ok_or(Fault::missing(avp::ORIGIN_REALM))?;
        if !self.has_address {
            return Err(Fault::missing(avp::HOST_IP_ADDRESS));
        }
        let vendor_id = self.vendor_id.ok_or(Fault::missing(avp::VENDOR_ID))?;
        let product_name = self.product_name.ok_or(Fault::missing(avp::PRODUCT_NAME))?;
        let mut common = self.common;
        if self.is_relay {
            ours.applications.iter().for_each(|application| keep(&mut common, application.id));
        }
        let capabilities = Capabilities {
            origin_host: origin_host.into(),
            origin_realm: origin_realm.into(),
            host_addresses: self.host_addresses,
            vendor_id,
            product_name: product_name.into(),
            firmware_revision: self.firmware_revision,
            origin_state_id: self.origin_state_id,
            applications: self.applications,
            common,
            is_relay: self.is_relay,
        };
        Ok((capabilities, self.security))
    }
}

fn keep<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.len() < ADVERTISED_MAX && !list.contains(&item) {
        list.push(item);
    }
}

/// Judges a CER.
pub(super) fn judge(
    cer: &Message<'_>,
    (ours, strictness): (&Identity, Strictness),
    is_secured: bool,
) -> Result<Capabilities, CerRefusal> {
    match check_as(cer, strictness) {
        Err(fault) if !is_about_bits(&fault) => Err(fault),
        _ => read(cer, ours, is_secured),
    }
    .map_err(|fault| CerRefusal::of(&fault, cer))
}

/// Only the flags of an AVP are wrong. In the messages of the base protocol that is let pass: what they say
/// is clear, and a peer would not get in, or would be taken for dead, for a bit.
pub(super) fn is_about_bits(fault: &Fault) -> bool {
    matches!(fault.result_code, result_code::INVALID_AVP_BITS | result_code::INVALID_AVP_BIT_COMBO)
}

/// Reads a CER, or a CEA that succeeded. `is_secured` says that the connection is TLS already: what the peer
/// says of security inside the connection then means nothing.
///
/// # Errors
/// 5005 what is missing, 5004 and 5014 what cannot be read, 5010 no common application, 5017 no common
/// security.
pub(super) fn read(message: &Message<'_>, ours: &Identity, is_secured: bool) -> Result<Capabilities, Fault> {
    let mut walk = AvpWalk::default();
    for avp in message.avps() {
        let avp = avp.map_err(|error| Fault::unreadable(error, 0))?;
        walk.take(&avp, ours).map_err(|error| Fault::unreadable(error, message.position(&avp)))?;
    }
    let (capabilities, security) = walk.finish(ours)?;
    if capabilities.common.is_empty() {
        return Err(Fault::new(result_code::NO_COMMON_APPLICATION));
    }
    if security == Some(false) && !is_secured {
        return Err(Fault::new(result_code::NO_COMMON_SECURITY));
    }
    Ok(capabilities)
}

/// Origin-Host and Origin-Realm.
pub(super) fn write_origin(writer: &mut Writer<'_>, ours: &Identity) {
    writer.identity(avp::ORIGIN_HOST, &ours.origin_host);
    writer.identity(avp::ORIGIN_REALM, &ours.origin_realm);
}

/// What CER and CEA have in common, from Origin-Host on. `refusal` stands where the CEA's grammar has
/// Error-Message.
pub(super) fn write(writer: &mut Writer<'_>, ours: &Identity, local: IpAddr, refusal: Option<&CerRefusal>) {
    write_origin(writer, ours);
    writer.address(avp::HOST_IP_ADDRESS, Address::Ip(local));
    for ip in ours.host_addresses.iter().filter(|ip| **ip != local) {
        writer.address(avp::HOST_IP_ADDRESS, Address::Ip(*ip));
    }
    writer.u32(avp::VENDOR_ID, ours.vendor_id);
    writer.utf8(avp::PRODUCT_NAME, &ours.product_name);
    if let Some(origin_state_id) = ours.origin_state_id {
        writer.u32(avp::ORIGIN_STATE_ID, origin_state_id);
    }
    if let Some(refusal) = refusal {
        writer.utf8(avp::ERROR_MESSAGE, refusal.text);
        if !refusal.failed_avp.is_empty() {
            writer.octet_string(avp::FAILED_AVP, &refusal.failed_avp);
        }
    }
    for vendor in &ours.supported_vendors {
        writer.u32(avp::SUPPORTED_VENDOR_ID, *vendor);
    }
    for application in &ours.applications {
        write_application(writer, application);
    }
    if let Some(firmware_revision) = ours.firmware_revision {
        writer.u32(avp::FIRMWARE_REVISION, firmware_revision);
    }
}

fn write_application(writer: &mut Writer<'_>, application: &Application) {
    let name = if application.is_accounting { avp::ACCT_APPLICATION_ID } else { avp::AUTH_APPLICATION_ID };
    if application.vendor == 0 {
        return writer.u32(name, application.id);
    }
    writer.group(avp::VENDOR_SPECIFIC_APPLICATION_ID, |group| {
        group.u32(avp::VENDOR_ID, application.vendor);
        group.u32(name, application.id);
    });
}
