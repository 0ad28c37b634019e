//! Incoming CAP message becomes an alert to submit, earlier ones to stop, and a list of everything odd on the
//! way.

use crate::http::alerts::body::{
    EXPIRES_S_DEFAULT, EXPIRES_S_MAX, HEADLINE_CHARS_MAX, RESOURCES_MAX, TEXT_CHARS_MAX, URL_CHARS_MAX,
};
use crate::http::alerts::texts::{LANGUAGES_MAX, is_language};
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use cap::{Alert, Certainty, Info, MsgType, Reference, Severity, Status, Urgency};
use records::{
    AlertRequest, AreaRequest, AudienceEntry, ChannelTexts, Mode, OnUnknown, OwnText, Priority, Strategy,
    Terminal, Texts, Timestamp,
};
use serde::Serialize;

/// The audience entry of who is in a message's areas.
const AREA: &str = "area";
/// Parts of one message with areas of their own: each is an alert, for which everybody is asked.
const PARTS_MAX: usize = 250;
/// The part of a message that goes to who is named otherwise than by area.
const OTHERS_KEY: &str = "others";

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
    /// To submit, each to its own people; none where a message ends others and says nothing that holds.
    pub parts: Vec<PartIntent>,
    /// Earlier messages to end.
    pub ends: Vec<Reference>,
    /// Irregularities beyond those that the reader found.
    pub oddities: Vec<Oddity>,
}

/// Infos of a message that are told together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PartIntent {
    /// Tells the part from the others of its message, whatever the time.
    pub key: String,
    /// To submit.
    pub request: AlertRequest,
    /// Places of its infos in the message.
    pub infos: Vec<usize>,
    /// Its end as the message has it.
    pub until: Timestamp,
}

/// To whom a message goes.
#[derive(Debug, Clone, Default)]
pub(crate) struct CapAudience {
    /// Entries that were checked.
    pub entries: Vec<String>,
    /// The attribute of recipients that holds geocodes.
    pub geocode_attribute: Option<String>,
}

/// Reads the meaning of a message that tells something; [`cancel`](super::cancel) is for a `Cancel`.
pub(crate) fn intent(alert: &Alert, audience: &CapAudience, now: Timestamp) -> HttpResult<CapIntent> {
    let mut oddities = Vec::new();
    let mode = mode(alert.status, &mut oddities)?;
    let ends = ends(alert, &mut oddities)?;
    if alert.infos.is_empty() {
        return Err(refused("alert/info", "is missing: the message has no content"));
    }
    let current = current(alert, now, &mut oddities);
    if current.is_empty() {
        return match ends.is_empty() {
            true => Err(refused("alert/info/expires", "is in the past")),
            false => Ok(CapIntent { parts: Vec::new(), ends, oddities }),
        };
    }
    let mut maker = RequestMaker { alert, mode, now, oddities };
    let mut parts = Vec::new();
    for (key, infos, entries, exclude) in split(alert, audience, &current, &mut maker.oddities)? {
        let (request, until) = maker.request(&infos, entries, exclude, audience)?;
        parts.push(PartIntent { key, request, infos, until });
    }
    Ok(CapIntent { parts, ends, oddities: maker.oddities })
}

/// Places of the infos that hold still or will.
pub(super) fn current(alert: &Alert, now: Timestamp, oddities: &mut Vec<Oddity>) -> Vec<usize> {
    let is_over = |info: &Info| info.expires.is_some_and(|end| Timestamp(end.utc_micros()) <= now);
    let (over, current): (Vec<usize>, Vec<usize>) =
        (0..alert.infos.len()).partition(|&place| is_over(&alert.infos[place]));
    if !current.is_empty() {
        for place in over {
            let path = format!("alert/info[{}]/expires", place + 1);
            oddities.push(Oddity::new(&path, "expired", "is in the past: this info is not told"));
        }
    }
    current
}

/// A part's key, its infos, its audience, and whom that leaves out.
type Split = (String, Vec<usize>, Vec<String>, Vec<String>);

/// Who is in an area hears the infos for it; everybody else that the audience names hears them all.
fn split(
    alert: &Alert,
    audience: &CapAudience,
    current: &[usize],
    oddities: &mut Vec<Oddity>,
) -> HttpResult<Vec<Split>> {
    let parts = cap::parts(alert);
    let (by_area, others): (Vec<String>, Vec<String>) =
        audience.entries.iter().cloned().partition(|entry| entry == AREA);
    if by_area.is_empty() || parts.len() < 2 {
        return Ok(vec![(String::new(), current.to_vec(), audience.entries.clone(), Vec::new())]);
    }
    if parts.len() > PARTS_MAX {
        let reason =
            format!("has {} infos for areas of their own; at most {PARTS_MAX} are taken", parts.len());
        return Err(refused("alert/info", reason));
    }
    for place in cap::infos_nowhere(alert, &parts) {
        let message =
            "has no polygon, circle or geocode: nobody is found by it, so that it is not told by area";
        oddities.push(Oddity::new(&format!("alert/info[{}]/area", place + 1), "unused", message));
    }
    let mut splits = Vec::new();
    for part in parts {
        let infos: Vec<usize> = part.infos.into_iter().filter(|place| current.contains(place)).collect();
        if !infos.is_empty() {
            splits.push((part.key, infos, by_area.clone(), Vec::new()));
        }
    }
    if !others.is_empty() {
        splits.push((OTHERS_KEY.to_owned(), current.to_vec(), others, by_area));
    }
    Ok(splits)
}

struct RequestMaker<'a> {
    alert: &'a Alert,
    mode: (Mode, bool),
    now: Timestamp,
    oddities: Vec<Oddity>,
}

impl RequestMaker<'_> {
    fn request(
        &mut self,
        places: &[usize],
        audience: Vec<String>,
        exclude: Vec<String>,
        whom: &CapAudience,
    ) -> HttpResult<(AlertRequest, Timestamp)> {
        let infos: Vec<&Info> = places.iter().map(|&place| &self.alert.infos[place]).collect();
        let (not_before, expires) = span(&infos, self.now, &mut self.oddities)?;
        let area = area(&infos, whom.geocode_attribute.as_deref(), &mut self.oddities);
        if audience.iter().chain(&exclude).any(|entry| entry == AREA) && area.is_none() {
            let reason = "has no polygon or circle, and no geocode that recipients have";
            return Err(refused("alert/info/area", reason));
        }
        let priority = priority_of(&infos);
        let texts = texts(self.alert, places, &mut self.oddities);
        let mut request = blank(texts, priority, expires);
        request.audience = entries(audience);
        request.exclude = exclude;
        request.not_before = not_before;
        (request.mode, request.participants_only) = self.mode;
        request.resources = resources(&infos);
        request.area = area;
        let ends = infos.iter().map(|info| info.expires.map(|end| Timestamp(end.utc_micros())));
        let until = ends.max().flatten().unwrap_or(expires).max(expires);
        Ok((request, until))
    }
}

pub(super) fn entries(audience: Vec<String>) -> Vec<AudienceEntry> {
    audience.into_iter().map(|to| AudienceEntry { to, strategy: None, expires: None }).collect()
}

/// A request with these texts, to nobody yet.
pub(super) fn blank(texts: Texts, priority: Priority, expires: Timestamp) -> AlertRequest {
    AlertRequest {
        headline: texts.default.headline.clone(),
        text: texts.default.text.clone(),
        texts,
        audience: Vec::new(),
        exclude: Vec::new(),
        channels: Vec::new(),
        strategy: Strategy::All,
        require_answer: false,
        choices: Vec::new(),
        terminal: Terminal::Accepted,
        not_before: None,
        expires,
        priority,
        on_unknown: if priority == Priority::Emergency { OnUnknown::Resend } else { OnUnknown::Hold },
        callback: None,
        sender: None,
        mode: Mode::Live,
        participants_only: false,
        answer_rules: records::AnswerRules::default(),
        follows: None,
        flash: false,
        resources: Vec::new(),
        attachments: Vec::new(),
        area: None,
    }
}

pub(super) fn refused(path: &str, reason: impl Into<String>) -> HttpProblem {
    HttpProblem::field(ProblemKind::InvalidFields, path, reason)
}

/// CAP 1.2, section 3.2.1: only an `Actual` message is for all recipients.
pub(super) fn mode(status: Option<Status>, oddities: &mut Vec<Oddity>) -> HttpResult<(Mode, bool)> {
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

/// The messages that this one ends: those it refers to but itself, and where it refers to nothing an earlier
/// one of the same identifier.
pub(super) fn ends(alert: &Alert, oddities: &mut Vec<Oddity>) -> HttpResult<Vec<Reference>> {
    match alert.msg_type {
        Some(MsgType::Alert) => Ok(Vec::new()),
        Some(MsgType::Update | MsgType::Cancel) => {
            if alert.references.is_empty() {
                let message = "is missing: an earlier alert of this identifier is stopped, if there is one";
                oddities.push(Oddity::new("alert/references", "assumed", message));
                let (sender, identifier) = (alert.sender.clone(), alert.identifier.clone());
                return Ok(vec![Reference { sender, identifier, sent: None }]);
            }
            // Some issuers refer to the message itself; that must not stop it.
            let is_itself = |one: &&Reference| {
                one.sender == alert.sender
                    && one.identifier == alert.identifier
                    && (one.sent.is_none() || seconds(one.sent) == seconds(alert.sent))
            };
            Ok(alert.references.iter().filter(|one| !is_itself(one)).cloned().collect())
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

/// References leave out fractions of a second (section 3.3.2).
pub(super) fn seconds(time: Option<cap::Timestamp>) -> Option<i64> {
    time.map(|time| time.utc_micros().div_euclid(1_000_000))
}

/// From the latest end back; from the earliest begin on, if that is still to come.
fn span(
    infos: &[&Info],
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

fn priority_of(infos: &[&Info]) -> Priority {
    let all = infos.iter().map(|info| priority(info));
    all.min_by_key(|priority| rank(*priority)).unwrap_or(Priority::Routine)
}

pub(super) fn rank(priority: Priority) -> u8 {
    match priority {
        Priority::Emergency => 0,
        Priority::Urgent => 1,
        Priority::Routine => 2,
    }
}

/// The texts of some infos by language. Infos of one language are parts of one event: they are joined.
pub(super) fn texts(alert: &Alert, places: &[usize], oddities: &mut Vec<Oddity>) -> Texts {
    let mut infos: Vec<Info> = places.iter().map(|&place| alert.infos[place].clone()).collect();
    let first = infos.first().map(|info| info.language.to_lowercase()).unwrap_or_default();
    for (info, place) in infos.iter_mut().zip(places) {
        if !is_language(&info.language.to_lowercase()) {
            oddities.push(Oddity::new(
                &format!("alert/info[{}]/language", place + 1),
                "assumed",
                "is not a language tag; the language of the first info is used",
            ));
            info.language.clone_from(&first);
        }
    }
    let shown: Vec<&Info> = infos.iter().collect();
    let part = Alert { infos: infos.clone(), ..alert.clone() };
    let mut texts = Texts::default();
    for told in cap::told(alert, &shown, cap::parts(&part).len() > 1) {
        let place = infos.iter().position(|info| info.language.eq_ignore_ascii_case(&told.language));
        let path = format!("alert/info[{}]", place.map_or(1, |at| places[at] + 1));
        if texts.languages.len() >= LANGUAGES_MAX {
            let message = format!("is over the limit of {LANGUAGES_MAX} languages");
            oddities.push(Oddity::new(&path, "cut", message));
            continue;
        }
        let mut own =
            ChannelTexts { headline: Some(told.headline), text: Some(told.text), ..Default::default() };
        own.own.insert(channels::SMS, OwnText::of_text(told.short));
        if cut(&mut own) {
            oddities.push(Oddity::new(&path, "cut", format!("is longer than {TEXT_CHARS_MAX} characters")));
        }
        make_literal(&mut own);
        texts.languages.insert(told.language, own);
    }
    add_primaries(&infos, &mut texts);
    texts.default = texts.languages.get(&first).cloned().unwrap_or_default();
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

fn resources(infos: &[&Info]) -> Vec<String> {
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
fn area(infos: &[&Info], geocode_attribute: Option<&str>, oddities: &mut Vec<Oddity>) -> Option<AreaRequest> {
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
            area.geocodes =
                codes.into_iter().flat_map(|(name, value)| cap::code_patterns(name, value)).collect();
            area.geocodes.sort_unstable();
            area.geocodes.dedup();
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
