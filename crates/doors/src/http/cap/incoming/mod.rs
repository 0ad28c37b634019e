//! Incoming CAP message becomes an alert to submit, earlier ones to stop, and a list of everything odd on the
//! way.

use crate::http::alerts::body::{
    EXPIRES_S_DEFAULT, EXPIRES_S_MAX, HEADLINE_CHARS_MAX, RESOURCES_MAX, TEXT_CHARS_MAX, URL_CHARS_MAX,
};
use crate::http::alerts::texts::{LANGUAGES_MAX, is_language};
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use cap::{Alert, Certainty, Info, MsgType, Severity, Status, Urgency};
use records::{
    AlertRequest, AreaRequest, AudienceEntry, ChannelTexts, Mode, OnUnknown, Priority, Strategy, Terminal,
    Texts, Timestamp,
};
use serde::Serialize;

/// The audience of one sender's messages; a `[[cap.sender]]` of the config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapSender {
    /// The message's `sender`, exactly.
    pub sender: String,
    /// Entries of an audience, such as `area`.
    pub audience: Vec<String>,
    /// The attribute of recipients that holds geocodes.
    pub geocode_attribute: Option<String>,
}

/// An irregularity in a message, as reported to the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Oddity {
    /// The element.
    pub path: String,
    /// Stable name of the rule.
    pub rule: &'static str,
    /// The text.
    pub message: String,
}

impl Oddity {
    pub(crate) fn new(path: &str, rule: &'static str, message: impl Into<String>) -> Oddity {
        Oddity { path: path.to_owned(), rule, message: message.into() }
    }
}

/// The actions that a message requires.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CapIntent {
    /// To submit; nothing where a cancellation has no words of its own.
    pub request: Option<AlertRequest>,
    /// Earlier messages to stop, by sender and identifier.
    pub stops: Vec<(String, String)>,
    /// Irregularities beyond those that the reader found.
    pub oddities: Vec<Oddity>,
}

/// Reads a message's meaning. The entries of `audience` were checked before.
pub(crate) fn intent(
    alert: &Alert,
    audience: Vec<String>,
    geocode_attribute: Option<&str>,
    now: Timestamp,
) -> HttpResult<CapIntent> {
    let mut oddities = Vec::new();
    let (mode, participants_only) = mode(alert.status, &mut oddities)?;
    let stops = stops(alert, &mut oddities)?;
    if alert.infos.is_empty() {
        if alert.msg_type == Some(MsgType::Cancel) && !stops.is_empty() {
            return Ok(CapIntent { request: None, stops, oddities });
        }
        return Err(refused("alert/info", "is missing: the message has no content"));
    }
    let (not_before, expires) = span(&alert.infos, now, &mut oddities)?;
    let area = area(&alert.infos, geocode_attribute, &mut oddities);
    if audience.iter().any(|entry| entry == "area") && area.is_none() {
        return Err(refused(
            "alert/info/area",
            "has no polygon or circle, and no geocode that recipients have",
        ));
    }
    let first = &alert.infos[0];
    let priority =
        alert.infos.iter().map(priority).min_by_key(|priority| rank(*priority)).unwrap_or(Priority::Routine);
    let texts = texts(&alert.infos, &mut oddities);
    let main = texts.languages.get(&first.language.to_lowercase()).cloned().unwrap_or_default();
    let request = AlertRequest {
        headline: main.headline.clone(),
        text: main.text.clone(),
        texts: Texts { default: main, ..texts },
        audience: audience
            .into_iter()
            .map(|to| AudienceEntry { to, strategy: None, expires: None })
            .collect(),
        exclude: Vec::new(),
        channels: Vec::new(),
        strategy: Strategy::All,
        require_answer: false,
        choices: Vec::new(),
        terminal: Terminal::Accepted,
        not_before,
        expires,
        priority,
        on_unknown: if priority == Priority::Emergency { OnUnknown::Resend } else { OnUnknown::Hold },
        callback: None,
        sender: None,
        mode,
        participants_only,
        flash: false,
        resources: resources(&alert.infos),
        attachments: Vec::new(),
        area,
    };
    Ok(CapIntent { request: Some(request), stops, oddities })
}

fn refused(path: &str, reason: impl Into<String>) -> HttpProblem {
    HttpProblem::field(ProblemKind::InvalidFields, path, reason)
}

/// CAP 1.2, section 3.2.1: only an `Actual` message is for all recipients.
fn mode(status: Option<Status>, oddities: &mut Vec<Oddity>) -> HttpResult<(Mode, bool)> {
    match status {
        Some(Status::Actual) => Ok((Mode::Live, false)),
        Some(Status::Exercise) => Ok((Mode::Drill, true)),
        Some(Status::System | Status::Test) => Ok((Mode::Drill, false)),
        Some(Status::Draft) => Err(refused("alert/status", "is Draft: a draft is never sent")),
        None => {
            oddities.push(Oddity::new(
                "alert/status",
                "assumed",
                "is unknown, so the message is treated as a test: mode drill",
            ));
            Ok((Mode::Drill, false))
        }
    }
}

fn stops(alert: &Alert, oddities: &mut Vec<Oddity>) -> HttpResult<Vec<(String, String)>> {
    // Some issuers refer to the message itself; that must not stop it.
    let others = alert
        .references
        .iter()
        .filter(|one| one.sender != alert.sender || one.identifier != alert.identifier);
    let earlier = || others.map(|one| (one.sender.clone(), one.identifier.clone())).collect();
    match alert.msg_type {
        Some(MsgType::Alert) => Ok(Vec::new()),
        Some(MsgType::Update | MsgType::Cancel) => {
            if alert.references.is_empty() {
                oddities.push(Oddity::new(
                    "alert/references",
                    "assumed",
                    "is missing: no earlier alert is stopped",
                ));
            }
            Ok(earlier())
        }
        Some(kind @ (MsgType::Ack | MsgType::Error)) => Err(refused(
            "alert/msgType",
            format!("is {kind}, a message between systems: it has no recipients"),
        )),
        None => {
            oddities.push(Oddity::new(
                "alert/msgType",
                "assumed",
                "is unknown, so the message is treated as a first alert",
            ));
            Ok(Vec::new())
        }
    }
}

/// From the latest end back; from the earliest begin on, if that is still to come.
fn span(
    infos: &[Info],
    now: Timestamp,
    oddities: &mut Vec<Oddity>,
) -> HttpResult<(Option<Timestamp>, Timestamp)> {
    let end = infos.iter().filter_map(|info| info.expires).map(|time| Timestamp(time.utc_micros())).max();
    if end.is_some_and(|end| end <= now) {
        return Err(refused("alert/info/expires", "is in the past"));
    }
    let begins: Option<Vec<Timestamp>> =
        infos.iter().map(|info| info.effective.map(|time| Timestamp(time.utc_micros()))).collect();
    let begin = begins.and_then(|begins| begins.into_iter().min()).filter(|begin| *begin > now);
    let latest = now.plus_s(EXPIRES_S_MAX);
    if begin.is_some_and(|begin| begin >= latest || end.is_some_and(|end| begin >= end)) {
        return Err(refused("alert/info/effective", "is after expires, or more than 40 days from now"));
    }
    let end = end.unwrap_or_else(|| {
        oddities.push(Oddity::new(
            "alert/info/expires",
            "assumed",
            "is missing, so the alert ends 24 hours after its start",
        ));
        begin.unwrap_or(now).plus_s(EXPIRES_S_DEFAULT)
    });
    if end > latest {
        oddities.push(Oddity::new(
            "alert/info/expires",
            "cut",
            "is more than 40 days from now; nothing is tried after that",
        ));
    }
    Ok((begin, end.min(latest)))
}

/// The bounds of a wireless emergency alert's "imminent threat" (47 CFR 10.400 (b)) make an emergency.
fn priority(info: &Info) -> Priority {
    let soon = matches!(info.urgency, Urgency::Immediate | Urgency::Expected);
    let bad = matches!(info.severity, Severity::Extreme | Severity::Severe);
    let sure = matches!(info.certainty, Certainty::Observed | Certainty::Likely);
    match (soon, bad, sure) {
        (true, true, true) => Priority::Emergency,
        (_, true, _) if info.urgency != Urgency::Past => Priority::Urgent,
        (true, _, _) if info.urgency == Urgency::Immediate && info.severity == Severity::Moderate => {
            Priority::Urgent
        }
        _ => Priority::Routine,
    }
}

fn rank(priority: Priority) -> u8 {
    match priority {
        Priority::Emergency => 0,
        Priority::Urgent => 1,
        Priority::Routine => 2,
    }
}

/// The texts by language. Infos of one language are parts of one event: they are joined.
fn texts(infos: &[Info], oddities: &mut Vec<Oddity>) -> Texts {
    let mut texts = Texts::default();
    for (index, info) in infos.iter().enumerate() {
        let path = format!("alert/info[{}]", index + 1);
        let mut tag = info.language.to_lowercase();
        if !is_language(&tag) {
            oddities.push(Oddity::new(
                &format!("{path}/language"),
                "assumed",
                "is not a language tag; the language of the first info is used",
            ));
            tag = infos[0].language.to_lowercase();
        }
        if texts.languages.len() >= LANGUAGES_MAX && !texts.languages.contains_key(&tag) {
            oddities.push(Oddity::new(
                &path,
                "cut",
                format!("is over the limit of {LANGUAGES_MAX} languages"),
            ));
            continue;
        }
        let language_texts = texts.languages.entry(tag).or_default();
        add_info(language_texts, info);
        if cut(language_texts) {
            oddities.push(Oddity::new(&path, "cut", format!("is longer than {TEXT_CHARS_MAX} characters")));
        }
    }
    add_primaries(infos, &mut texts);
    texts.languages.values_mut().for_each(make_literal);
    texts
}

/// An issuer's braces are braces: CAP has no placeholders.
fn make_literal(language_texts: &mut ChannelTexts) {
    let own = language_texts.own.values_mut().map(|own| &mut own.text);
    for text in [&mut language_texts.headline, &mut language_texts.text].into_iter().chain(own).flatten() {
        *text = engine::literal_text(text);
    }
}

/// Recipients with the language `he` get the text issued in `he-IL`: issuers name regions, people rarely do.
fn add_primaries(infos: &[Info], texts: &mut Texts) {
    for tag in infos.iter().map(|info| info.language.to_lowercase()) {
        let Some((primary, _)) = tag.split_once('-') else { continue };
        if texts.languages.len() < LANGUAGES_MAX
            && !texts.languages.contains_key(primary)
            && let Some(language_texts) = texts.languages.get(&tag).cloned()
        {
            texts.languages.insert(primary.to_owned(), language_texts);
        }
    }
}

fn add_info(language_texts: &mut ChannelTexts, info: &Info) {
    let event = Some(info.event.as_str()).filter(|event| !event.is_empty());
    let headline = info.headline.as_deref().or(event);
    let parts = [info.description.as_deref(), info.instruction.as_deref()];
    let body: Vec<&str> =
        parts.into_iter().flatten().map(str::trim).filter(|part| !part.is_empty()).collect();
    let body = if body.is_empty() { headline.unwrap_or_default().to_owned() } else { body.join("\n\n") };
    // The issuer's own text for phones (CMAMtext, CMAMlongtext) is better than one made from the other
    // fields.
    let named = |name: &str| info.parameters.iter().find(|one| one.name.eq_ignore_ascii_case(name));
    let short = named("CMAMtext").or_else(|| named("CMAMlongtext")).map(|one| one.value.as_str());
    join(&mut language_texts.headline, headline, " / ");
    join(&mut language_texts.text, Some(&body), "\n\n");
    join(&mut language_texts.own.entry(channels::SMS).or_default().text, short.or(headline), "\n");
}

/// Adds a part that is not there yet.
fn join(text: &mut Option<String>, part: Option<&str>, between: &str) {
    let Some(part) = part.map(str::trim).filter(|part| !part.is_empty()) else { return };
    match text {
        Some(text) if text.contains(part) => {}
        Some(text) => {
            text.push_str(between);
            text.push_str(part);
        }
        None => *text = Some(part.to_owned()),
    }
}

/// Cuts the texts to an alert's limits; true if something was lost.
fn cut(language_texts: &mut ChannelTexts) -> bool {
    let general =
        [(&mut language_texts.headline, HEADLINE_CHARS_MAX), (&mut language_texts.text, TEXT_CHARS_MAX)];
    let own = language_texts.own.values_mut().map(|own| (&mut own.text, TEXT_CHARS_MAX));
    let mut lost = false;
    for (text, limit) in general.into_iter().chain(own) {
        if let Some(text) = text
            && let Some((at, _)) = text.char_indices().nth(limit)
        {
            text.truncate(at);
            lost = true;
        }
    }
    lost
}

fn resources(infos: &[Info]) -> Vec<String> {
    let mut links: Vec<String> = Vec::new();
    let all = infos.iter().flat_map(|info| {
        info.web.iter().map(String::as_str).chain(info.resources.iter().filter_map(|one| one.uri.as_deref()))
    });
    for link in all {
        let fits =
            link.len() <= URL_CHARS_MAX && (link.starts_with("https://") || link.starts_with("http://"));
        if fits && links.len() < RESOURCES_MAX && !links.iter().any(|known| known == link) {
            links.push(link.to_owned());
        }
    }
    links
}

/// All areas of all infos together; nothing if they are empty.
fn area(infos: &[Info], geocode_attribute: Option<&str>, oddities: &mut Vec<Oddity>) -> Option<AreaRequest> {
    let mut area = AreaRequest::default();
    let mut codes: Vec<(&str, &str)> = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    for part in infos.iter().flat_map(|info| &info.areas) {
        area.polygons.extend(
            part.polygons.iter().filter(|ring| !area.polygons.contains(ring)).cloned().collect::<Vec<_>>(),
        );
        for circle in &part.circles {
            let circle = (circle.center.0, circle.center.1, circle.km);
            if !area.circles.contains(&circle) {
                area.circles.push(circle);
            }
        }
        codes.extend(part.geocodes.iter().map(|code| (code.name.as_str(), code.value.as_str())));
        if !part.description.is_empty() && !words.contains(&part.description.as_str()) {
            words.push(&part.description);
        }
    }
    match geocode_attribute {
        Some(attribute) => {
            // An attribute called like a domain of codes (UGC, SAME) holds codes of that domain alone.
            let domain = codes.iter().any(|(name, _)| name.eq_ignore_ascii_case(attribute));
            codes.retain(|(name, _)| !domain || name.eq_ignore_ascii_case(attribute));
            codes.sort_unstable_by_key(|(_, value)| *value);
            codes.dedup_by_key(|(_, value)| *value);
            area.geocodes = codes.into_iter().map(|(_, value)| value.to_owned()).collect();
            area.geocode_attribute = Some(attribute.to_owned());
        }
        None if !codes.is_empty() => {
            let message = "is not used: no attribute of recipients is configured to hold geocodes";
            oddities.push(Oddity::new("alert/info/area/geocode", "unused", message));
        }
        None => {}
    }
    area.description = words.join("; ").chars().take(HEADLINE_CHARS_MAX).collect();
    let holds = !area.polygons.is_empty() || !area.circles.is_empty() || !area.geocodes.is_empty();
    holds.then_some(area)
}

#[cfg(test)]
mod tests;
