//! Messages for tests, and octets that are no messages.

use crate::avp::AvpName;
use crate::dictionary::{application, avp, command};
use crate::header::CommandFlags;
use crate::write::Writer;

/// A vendor whose AVPs nobody knows.
pub const STRANGER: u32 = 4_242;

/// What a request for one message's price looks like.
pub fn event() -> Vec<u8> {
    event_with(|_| {})
}

/// [`event`] with more AVPs at its end.
pub fn event_with(more: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    request(command::CREDIT_CONTROL, |writer| {
        event_head(writer);
        more(writer);
    })
}

/// The AVPs of [`event`].
pub fn event_head(writer: &mut Writer<'_>) {
    event_head_with(writer, Some(application::CREDIT_CONTROL));
}

/// The AVPs of [`event`] with another Auth-Application-Id, or with none.
pub fn event_head_with(writer: &mut Writer<'_>, application: Option<u32>) {
    writer.utf8(avp::SESSION_ID, "client.example;1876543210;523;sms");
    writer.identity(avp::ORIGIN_HOST, "client.example");
    writer.identity(avp::ORIGIN_REALM, "example");
    writer.identity(avp::DESTINATION_REALM, "home.example");
    if let Some(application) = application {
        writer.u32(avp::AUTH_APPLICATION_ID, application);
    }
    writer.utf8(avp::SERVICE_CONTEXT_ID, "32274@3gpp.org");
    writer.i32(avp::CC_REQUEST_TYPE, 4);
    writer.u32(avp::CC_REQUEST_NUMBER, 0);
    writer.time(avp::EVENT_TIMESTAMP, 1_763_845_888);
    writer.group(avp::SUBSCRIPTION_ID, |group| {
        group.i32(avp::SUBSCRIPTION_ID_TYPE, 0);
        group.utf8(avp::SUBSCRIPTION_ID_DATA, "46701234567");
    });
    writer.group(avp::REQUESTED_SERVICE_UNIT, |group| group.u64(avp::CC_SERVICE_SPECIFIC_UNITS, 1));
    writer.i32(avp::REQUESTED_ACTION, 0);
}

/// A request with these AVPs.
pub fn request(command: u32, avps: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer =
        Writer::request(&mut out, command, application::CREDIT_CONTROL, CommandFlags::PROXIABLE, 11, 22);
    avps(&mut writer);
    writer.finish();
    out
}

/// So many groups in one another, each announcing all behind it.
pub fn nested(name: AvpName, groups: u32) -> Vec<u8> {
    let header =
        |i: u32| [name.code.to_be_bytes(), (0x4000_0000 | ((groups - i) * 8)).to_be_bytes()].concat();
    (0..groups).flat_map(header).collect()
}
