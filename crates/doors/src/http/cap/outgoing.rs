//! Our alerts as CAP 1.2.

use crate::http::alerts::view::headline;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use cap::{
    Category, Certainty, Circle, Info, MsgType, NamedValue, Reference, Resource, ResponseType, Scope,
    Severity, Status, Urgency,
};
use records::{
    Alert, AlertId, AlertRequest, AreaRequest, Attachment, ChannelTexts, Mode, Origin, Priority, Timestamp,
};

/// The name of geocodes whose domain is unknown.
const GEOCODE_NAME: &str = "geocode";

/// The alert as a CAP 1.2 document: one that came as CAP as the message that came, mended where the schema
/// wants it, any other made of its request. `earlier`: the alerts that [`follows`] names.
pub(crate) fn document(alert: &Alert, earlier: &[Alert]) -> HttpResult<Vec<u8>> {
    if let Origin::Cap(original) = &alert.origin
        && let Ok(reading) = cap::read(original.as_bytes())
        && let Some(received) = time(alert.created)
    {
        return cap::write_mended(&reading.alert, received).map_err(unwritable);
    }
    cap::write(&made(alert, earlier)).map_err(unwritable)
}

/// The Cancel of an alert of our own that its operator withdrew then: a message with an identifier of its own
/// that refers to the alert as it went out (section 3.2.1, msgType and references).
pub(crate) fn withdrawal(alert: &Alert, at: Timestamp) -> HttpResult<Vec<u8>> {
    let mut message = made(alert, &[]);
    message.references = vec![reference(alert)];
    message.identifier = format!("{}-cancel", alert.id);
    message.sent = time(at);
    message.msg_type = Some(MsgType::Cancel);
    let note = message.note.take().map(|note| format!("{note}; withdrawn by its sender"));
    message.note = note.or_else(|| Some("withdrawn by its sender".to_owned()));
    for info in &mut message.infos {
        info.urgency = Urgency::Past;
        info.response_types = Vec::new();
    }
    cap::write(&message).map_err(unwritable)
}

fn unwritable(error: cap::WriteError) -> HttpProblem {
    HttpProblem::new(ProblemKind::WrongState, format!("this alert cannot be written as CAP 1.2: {error}"))
}

/// [`document`] for other parts of the server.
///
/// # Errors
/// In words: the alert cannot be written as CAP 1.2.
pub fn cap_document(alert: &Alert) -> Result<Vec<u8>, String> {
    document(alert, &[]).map_err(|problem| problem.detail().to_owned())
}

/// The alerts that this one follows: those whose people its audience names.
pub(crate) fn follows(alert: &Alert) -> Vec<AlertId> {
    let named = alert.request.audience.iter().filter_map(|entry| entry.to.strip_prefix("alert:"));
    named.filter_map(|rest| rest.split('/').next()?.parse().ok()).collect()
}

/// The CAP message of an alert, if it is public; alerts that did not come as CAP never are.
pub(crate) fn public(alert: &Alert) -> Option<cap::Alert> {
    let Origin::Cap(original) = &alert.origin else { return None };
    let message = cap::read(original.as_bytes()).ok()?.alert;
    (message.scope == Some(Scope::Public) && message.status == Some(Status::Actual)).then_some(message)
}

fn made(alert: &Alert, earlier: &[Alert]) -> cap::Alert {
    let request = &alert.request;
    let drill = request.mode == Mode::Drill;
    let mut infos: Vec<Info> =
        request.texts.languages.iter().map(|(tag, texts)| info(alert, Some(tag), texts)).collect();
    if infos.is_empty() || request.text.is_some() {
        infos.insert(0, info(alert, None, &request.texts.default));
    }
    // Section 3.2.1: a word after another one updates it, also the word that it is over; a Cancel is for who
    // withdraws what was said in error.
    let references: Vec<Reference> = earlier.iter().map(reference).collect();
    if !references.is_empty() {
        infos.iter_mut().filter(|info| says_over(info)).for_each(|info| {
            info.response_types = vec![ResponseType::AllClear];
            info.urgency = Urgency::Past;
        });
    }
    cap::Alert {
        identifier: alert.id.to_string(),
        sender: sender(request, &alert.account),
        sent: time(alert.created),
        status: Some(if drill { Status::Exercise } else { Status::Actual }),
        msg_type: Some(if references.is_empty() { MsgType::Alert } else { MsgType::Update }),
        references,
        scope: Some(Scope::Restricted),
        restriction: Some("the audience that the sender named".to_owned()),
        note: drill.then(|| "the recipients that the sender named".to_owned()),
        infos,
        ..cap::Alert::default()
    }
}

/// The key of an earlier alert as it went out.
fn reference(earlier: &Alert) -> Reference {
    let own = || Reference {
        sender: sender(&earlier.request, &earlier.account),
        identifier: earlier.id.to_string(),
        sent: time(earlier.created),
    };
    let Origin::Cap(original) = &earlier.origin else { return own() };
    let Ok(reading) = cap::read(original.as_bytes()) else { return own() };
    let cap::Alert { sender, identifier, sent, .. } = reading.alert;
    Reference { sender, identifier, sent: sent.or_else(|| time(earlier.created)) }
}

fn says_over(info: &Info) -> bool {
    let words = cap::Words::of(&info.language);
    info.headline.as_deref().is_some_and(|headline| words.say_over(headline))
}

/// Section 3.2.1: without spaces, commas, `<` and `&`.
fn sender(request: &AlertRequest, account: &str) -> String {
    let wanted = request.sender.as_deref().filter(|name| !name.is_empty()).unwrap_or(account);
    wanted
        .chars()
        .map(|c| if c.is_whitespace() || c.is_control() || matches!(c, ',' | '<' | '&') { '-' } else { c })
        .collect()
}

fn time(at: Timestamp) -> Option<cap::Timestamp> {
    cap::Timestamp::new(at.0, 0)
}

fn info(alert: &Alert, language: Option<&str>, texts: &ChannelTexts) -> Info {
    let request = &alert.request;
    let fallback = headline(request);
    let own_subject = || texts.own.values().find_map(|own| own.subject.as_deref());
    // The text of short messages, the first channel, only where no other channel has one.
    let own_text = || texts.own.values().rev().find_map(|own| own.text.as_deref());
    let line = texts.headline.as_deref().or_else(own_subject);
    let line = line.or(request.headline.as_deref()).unwrap_or(&fallback);
    let own = texts.text.as_deref().or_else(own_text);
    let (urgency, severity, certainty) = match request.priority {
        Priority::Emergency => (Urgency::Immediate, Severity::Severe, Certainty::Observed),
        Priority::Urgent => (Urgency::Expected, Severity::Moderate, Certainty::Likely),
        Priority::Routine => (Urgency::Unknown, Severity::Unknown, Certainty::Unknown),
    };
    Info {
        language: language.unwrap_or(cap::LANGUAGE_DEFAULT).to_owned(),
        categories: vec![Category::Other],
        event: clean(&engine::without_values(line)),
        urgency,
        severity,
        certainty,
        effective: request.not_before.and_then(time),
        expires: time(request.expires),
        sender_name: request.sender.as_deref().map(clean),
        headline: Some(clean(&engine::without_values(line))),
        // The document is for everyone: it has nobody's values.
        description: own.or(request.text.as_deref()).map(|text| clean(&engine::without_values(text))),
        web: request.resources.first().cloned(),
        resources: request.attachments.iter().map(resource).collect(),
        areas: request.area.iter().map(area).collect(),
        ..Info::default()
    }
}

/// Where it is, seen from the document in an archive; elsewhere its name.
fn resource(one: &Attachment) -> Resource {
    Resource {
        description: clean(&one.name),
        mime_type: one.media_type.clone(),
        size: Some(one.size),
        uri: Some(format!("attachments/{}", escaped(&one.name))),
        deref_uri: None,
        digest: None,
    }
}

/// As a segment of a URI (RFC 3986, 3.3).
fn escaped(name: &str) -> String {
    let octet = |octet: u8| match octet {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(octet).to_string(),
        _ => format!("%{octet:02X}"),
    };
    name.bytes().map(octet).collect()
}

/// XML 1.0 has no way to write control characters.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

fn area(area: &AreaRequest) -> cap::Area {
    let name = area.geocode_attribute.as_deref().unwrap_or(GEOCODE_NAME);
    let described = if area.description.is_empty() { "the alert's area" } else { area.description.as_str() };
    cap::Area {
        description: clean(described),
        polygons: area.polygons.clone(),
        circles: area.circles.iter().map(|(lat, lon, km)| Circle { center: (*lat, *lon), km: *km }).collect(),
        geocodes: area
            .geocodes
            .iter()
            .map(|code| NamedValue { name: name.to_owned(), value: code.clone() })
            .collect(),
        ..cap::Area::default()
    }
}
