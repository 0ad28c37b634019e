//! Mends a message that was taken as it came, so that it can be written as CAP 1.2.

use crate::alert::{Alert, Area, Category, Info, MsgType, NamedValue, Resource, Scope, Status};
use crate::language;
use crate::rules;
use crate::time::Timestamp;

/// What stands where something is required that nobody said.
const NOT_STATED: &str = "not stated";
/// The type of a file of which nothing is known (RFC 2046, 4.5.1).
const TYPE_UNKNOWN: &str = "application/octet-stream";
/// Types of files by how their names end.
const TYPES: &[(&str, &str)] = &[
    ("gif", "image/gif"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("svg", "image/svg+xml"),
    ("tif", "image/tiff"),
    ("pdf", "application/pdf"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("txt", "text/plain"),
    ("xml", "application/xml"),
    ("cap", "application/cap+xml"),
    ("json", "application/json"),
    ("kml", "application/vnd.google-earth.kml+xml"),
    ("kmz", "application/vnd.google-earth.kmz"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("mp4", "video/mp4"),
];

/// The same message with what the schema or the standard's text wants: what is required and missing says that
/// it is not stated, what is empty or unreadable is left out. Identifier, sender, time, scope, references,
/// codes and words are those of the message, as far as they can be written.
pub(super) fn mended(alert: &Alert, received: Timestamp) -> Alert {
    let mut alert = alert.clone();
    name(&mut alert.identifier);
    name(&mut alert.sender);
    alert.sent.get_or_insert(received);
    alert.status.get_or_insert(Status::Test);
    mend_scope(&mut alert);
    alert.addresses.iter_mut().chain(&mut alert.incidents).for_each(|item| item.retain(|c| c != '"'));
    alert.addresses.retain(|item| is_said(item));
    alert.incidents.retain(|item| is_said(item));
    alert.codes.retain(|code| is_said(code));
    [&mut alert.source, &mut alert.restriction, &mut alert.note].into_iter().for_each(leave_out_empty);
    alert.references.retain(|one| one.sent.is_some() && is_said(&one.sender) && is_said(&one.identifier));
    for reference in &mut alert.references {
        name(&mut reference.sender);
        name(&mut reference.identifier);
    }
    // Without anything to refer to it is a word of its own; a Cancel says what it is in its infos.
    if alert.msg_type.is_none() || (alert.msg_type == Some(MsgType::Update) && alert.references.is_empty()) {
        alert.msg_type = Some(MsgType::Alert);
    }
    alert.infos.iter_mut().for_each(mend_info);
    alert
}

fn mend_scope(alert: &mut Alert) {
    if alert.scope.is_none() {
        alert.scope = Some(Scope::Restricted); // nobody said that it is public
    }
    if alert.scope == Some(Scope::Restricted) && !alert.restriction.as_deref().is_some_and(is_said) {
        alert.restriction = Some(NOT_STATED.to_owned());
    }
    if alert.scope == Some(Scope::Private) && alert.addresses.iter().all(|item| !is_said(item)) {
        alert.addresses = vec![alert.sender.clone()];
    }
}

fn mend_info(info: &mut Info) {
    if !language::is_tag(&info.language) {
        let tag = info.language.trim().replace('_', "-");
        info.language = if language::is_tag(&tag) { tag } else { "und".to_owned() };
    }
    if info.categories.is_empty() {
        info.categories.push(Category::Other);
    }
    if !is_said(&info.event) {
        info.event = info.headline.clone().filter(|line| is_said(line)).unwrap_or(NOT_STATED.to_owned());
    }
    info.event.retain(crate::read::is_allowed);
    let texts = [
        &mut info.audience,
        &mut info.sender_name,
        &mut info.headline,
        &mut info.description,
        &mut info.instruction,
        &mut info.web,
        &mut info.contact,
    ];
    texts.into_iter().for_each(leave_out_empty);
    if let Some(web) = &mut info.web {
        uri(web);
    }
    for values in [&mut info.event_codes, &mut info.parameters] {
        keep_whole(values);
    }
    info.resources.iter_mut().for_each(mend_resource);
    info.areas.iter_mut().for_each(mend_area);
}

fn mend_resource(resource: &mut Resource) {
    let rules = rules::of_resource(resource);
    let breaks = |child: &str| rules.iter().any(|breach| breach.child == child);
    if breaks("derefUri") {
        resource.deref_uri = None;
    }
    if breaks("digest") {
        resource.digest = None;
    }
    [&mut resource.uri, &mut resource.deref_uri, &mut resource.digest].into_iter().for_each(leave_out_empty);
    if let Some(address) = &mut resource.uri {
        uri(address);
    }
    if !is_said(&resource.mime_type) {
        resource.mime_type = mime_type(resource.uri.as_deref()).to_owned();
    }
    if !is_said(&resource.description) {
        resource.description = resource.uri.clone().unwrap_or_else(|| resource.mime_type.clone());
    }
}

fn mime_type(uri: Option<&str>) -> &'static str {
    let path = uri.and_then(|uri| uri.split(['?', '#']).next()).unwrap_or_default();
    let end = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map_or("", |(_, end)| end);
    TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(end)).map_or(TYPE_UNKNOWN, |(_, kind)| kind)
}

fn mend_area(area: &mut Area) {
    if !is_said(&area.description) {
        area.description = NOT_STATED.to_owned();
    }
    keep_whole(&mut area.geocodes);
    // From the ground: what has only a ceiling reaches down to it.
    if area.ceiling.is_some() && area.altitude.is_none() {
        area.altitude = Some(0.0);
    }
}

fn keep_whole(values: &mut Vec<NamedValue>) {
    values.retain(|value| is_said(&value.name) && is_said(&value.value));
}

/// Section 3.2.1: no spaces, commas, `<` and `&` in an identifier or sender.
fn name(text: &mut String) {
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, ',' | '<' | '&');
    *text = text.trim().chars().map(|c| if is_bad(c) { '-' } else { c }).collect();
    if text.is_empty() {
        *text = "not-stated".to_owned();
    }
}

/// A URI holds no white space (RFC 3986, 2).
fn uri(text: &mut String) {
    *text = text.split_whitespace().collect::<Vec<_>>().join("%20");
}

fn leave_out_empty(text: &mut Option<String>) {
    if text.as_deref().is_some_and(|text| !is_said(text)) {
        *text = None;
    }
}

fn is_said(text: &str) -> bool {
    !text.trim().is_empty()
}
