//! An alert as a client writes it: JSON in, [`AlertRequest`] out, or every problem with its field.

use crate::http::alerts::texts;
use crate::http::attachments;
use crate::http::problem::{Fields, HttpProblem, ProblemKind};
use crate::http::request::fields::{Object, list, nearest, noted, number, text};
use crate::http::request::json::JsonNode;
use channels::{Defaults, NoChannel};
use records::{
    AlertId, AlertRequest, AnswerRules, AreaRequest, AudienceEntry, CallbackEvent, CallbackRequest,
    ChannelNumber, Choice, Mode, OnUnknown, Priority, StopWhen, Strategy, Terminal, Timestamp,
};

/// Entries of an audience, and of an exclusion list.
pub(crate) const AUDIENCE_MAX: usize = 100_000;
/// Characters of one entry of an audience.
pub(crate) const ENTRY_CHARS_MAX: usize = 512;
/// Characters of one text.
pub(crate) const TEXT_CHARS_MAX: usize = 100_000;
/// Characters of a headline or subject.
pub(crate) const HEADLINE_CHARS_MAX: usize = 1_000;
/// Choices of one alert.
pub(crate) const CHOICES_MAX: usize = 32;
/// Characters of a choice's key.
pub(crate) const CHOICE_KEY_CHARS_MAX: usize = 16;
/// Characters of a choice's label.
pub(crate) const CHOICE_LABEL_CHARS_MAX: usize = 200;
/// People whose answers end an alert at most.
pub(crate) const STOP_PEOPLE_MAX: f64 = 5_000_000.0;
/// Characters of a sender.
pub(crate) const SENDER_CHARS_MAX: usize = 254;
/// Characters of an alert's id.
const UUID_CHARS: usize = 36;
/// Links to pictures and documents.
pub(crate) const RESOURCES_MAX: usize = 32;
/// Characters of a link.
pub(crate) const URL_CHARS_MAX: usize = 2_000;
/// An alert may end at most so long from now, seconds: 40 days, the engine's limit.
pub(crate) const EXPIRES_S_MAX: i64 = 40 * 86_400;
/// An alert without an end has one after so long, seconds: 24 hours.
pub(crate) const EXPIRES_S_DEFAULT: i64 = 86_400;
/// Seconds between progress reports without an `every`.
pub(crate) const CALLBACK_EVERY_S_DEFAULT: u32 = 30;
/// Polygons, circles and geocodes of an area.
pub(crate) const AREA_PARTS_MAX: usize = 10_000;
/// Points of one polygon.
pub(crate) const POLYGON_POINTS_MAX: usize = 100_000;
/// Kilometres from one side of the earth to the other.
pub(crate) const RADIUS_KM_MAX: f64 = 20_100.0;

/// Members of a body.
pub(crate) const MEMBERS: [&str; 24] = [
    "headline",
    "text",
    "texts",
    "audience",
    "exclude",
    "channels",
    "strategy",
    "require_answer",
    "choices",
    "stop_when",
    "terminal",
    "not_before",
    "expires",
    "priority",
    "on_unknown",
    "callback",
    "sender",
    "mode",
    "flash",
    "resources",
    "attachments",
    "area",
    "participants_only",
    "follows",
];

const PRIORITIES: [(&str, Priority); 3] =
    [("emergency", Priority::Emergency), ("urgent", Priority::Urgent), ("routine", Priority::Routine)];
const TERMINALS: [(&str, Terminal); 3] =
    [("accepted", Terminal::Accepted), ("delivered", Terminal::Delivered), ("answered", Terminal::Answered)];
const ON_UNKNOWN: [(&str, OnUnknown); 2] = [("resend", OnUnknown::Resend), ("hold", OnUnknown::Hold)];
const MODES: [(&str, Mode); 2] = [("live", Mode::Live), ("drill", Mode::Drill)];
const EVENTS: [(&str, CallbackEvent); 3] =
    [("progress", CallbackEvent::Progress), ("answer", CallbackEvent::Answer), ("done", CallbackEvent::Done)];

/// Reads a body. Absent members get their defaults; times are compared with `now`.
pub(crate) fn parse(
    body: JsonNode,
    now: Timestamp,
    defaults: &Defaults,
) -> Result<AlertRequest, HttpProblem> {
    let (request, fields) = parse_part(body, now, defaults);
    match request {
        Some(request) if fields.is_empty() => Ok(request),
        _ => Err(HttpProblem::fields(ProblemKind::InvalidFields, fields)),
    }
}

/// Reads a body that may lack members: what there is, with defaults for the rest, and every problem; nothing
/// where it is no object.
pub(crate) fn parse_part(
    body: JsonNode,
    now: Timestamp,
    defaults: &Defaults,
) -> (Option<AlertRequest>, Fields) {
    let mut fields = Fields::default();
    let request = Object::open(body, "", &MEMBERS, &mut fields)
        .map(|mut object| read(&mut object, now, defaults, &mut fields));
    (request, fields)
}

fn read(object: &mut Object, now: Timestamp, defaults: &Defaults, fields: &mut Fields) -> AlertRequest {
    let headline = object.text("headline", HEADLINE_CHARS_MAX, fields);
    let text = object.text("text", TEXT_CHARS_MAX, fields);
    let texts_node = object.take("texts");
    if text.is_none()
        && texts_node.is_none()
        && !fields.listed().iter().any(|problem| problem.field == "text")
    {
        fields.push("text", "is needed, unless texts is there");
    }
    let texts = texts_node.and_then(|node| texts::parse(node, fields)).unwrap_or_default();
    let priority = object.word("priority", &PRIORITIES, fields).unwrap_or(Priority::Routine);
    let on_unknown = object.word("on_unknown", &ON_UNKNOWN, fields).unwrap_or(match priority {
        Priority::Emergency => OnUnknown::Resend,
        Priority::Urgent | Priority::Routine => OnUnknown::Hold,
    });
    let area = object.take("area").and_then(|node| area(node, fields));
    let audience = audience(object, area.is_some(), (now, defaults), fields);
    let answer_fields = answer_fields(object, fields);
    let (not_before, expires) = span(object, now, fields);
    AlertRequest {
        headline,
        text,
        texts,
        audience,
        exclude: exclude(object, area.is_some(), defaults, fields),
        channels: channels(object, fields),
        strategy: answer_fields.strategy,
        require_answer: answer_fields.require_answer,
        choices: answer_fields.choices,
        terminal: answer_fields.terminal,
        not_before,
        expires,
        priority,
        on_unknown,
        callback: object.take("callback").and_then(|node| callback(node, "callback", fields)),
        sender: sender(object, fields),
        mode: object.word("mode", &MODES, fields).unwrap_or(Mode::Live),
        participants_only: object.flag("participants_only", fields).unwrap_or(false),
        answer_rules: answer_fields.rules,
        follows: follows(object, fields),
        flash: object.flag("flash", fields).unwrap_or(false),
        resources: resources(object, fields),
        attachments: attachments::named(object, fields),
        area,
    }
}

/// The members about answers: strategy, choices and terminal state depend on each other.
struct AnswerFields {
    strategy: Strategy,
    require_answer: bool,
    choices: Vec<Choice>,
    rules: AnswerRules,
    terminal: Terminal,
}

fn answer_fields(object: &mut Object, fields: &mut Fields) -> AnswerFields {
    let strategy =
        object.take("strategy").and_then(|node| strategy(node, "strategy", fields)).unwrap_or(Strategy::All);
    let (choices, needs_help) = choices(object, fields);
    let terminal = object.word("terminal", &TERMINALS, fields).unwrap_or(Terminal::Accepted);
    let escalates = matches!(strategy, Strategy::EscalateAfter { .. });
    let given = object.flag("require_answer", fields);
    // An alert with choices, with an escalation or with terminal state `answered` requires an answer, unless
    // it sets the flag itself.
    let require_answer = given.unwrap_or(!choices.is_empty() || escalates || terminal == Terminal::Answered);
    if given == Some(false) {
        if terminal == Terminal::Answered {
            fields.push("terminal", "is answered, but require_answer is false");
        }
        if escalates {
            fields.push("strategy", "escalates to recipients without an answer, but require_answer is false");
        }
    }
    let stop_when = stop_when(object, &choices, fields);
    let rules = AnswerRules { needs_help, stop_when };
    AnswerFields { strategy, require_answer, choices, rules, terminal }
}

fn span(object: &mut Object, now: Timestamp, fields: &mut Fields) -> (Option<Timestamp>, Timestamp) {
    let not_before = object.time("not_before", fields);
    let expires = object.time("expires", fields);
    let start = not_before.unwrap_or(now).max(now);
    if let Some(end) = expires {
        check_end(end, "expires", now, fields);
        if end > now && end <= start && not_before.is_some() {
            fields.push("expires", "is not after not_before");
        }
    } else if start > now.plus_s(EXPIRES_S_MAX) {
        fields.push("not_before", "is more than 40 days from now");
    }
    (not_before, expires.unwrap_or(start.plus_s(EXPIRES_S_DEFAULT)))
}

fn check_end(end: Timestamp, at: &str, now: Timestamp, fields: &mut Fields) {
    if end <= now {
        fields.push(at, "is in the past");
    } else if end > now.plus_s(EXPIRES_S_MAX) {
        fields.push(at, "is more than 40 days from now");
    }
}

fn audience(
    object: &mut Object,
    has_area: bool,
    (now, defaults): (Timestamp, &Defaults),
    fields: &mut Fields,
) -> Vec<AudienceEntry> {
    let Some(node) = object.take("audience") else {
        fields.push("audience", "is needed");
        return Vec::new();
    };
    // One entry alone need not be a list.
    let node = if matches!(node, JsonNode::Text(_)) { JsonNode::List(vec![node]) } else { node };
    let Some(items) = list(node, "audience", AUDIENCE_MAX, fields) else { return Vec::new() };
    if items.is_empty() {
        fields.push("audience", "names nobody");
    }
    let mut entries = Vec::with_capacity(items.len());
    for (index, node) in items.into_iter().enumerate() {
        let at = || format!("audience[{index}]");
        let entry = match node {
            JsonNode::Object(_) => constrained_entry(node, &at(), now, fields),
            node => text_entry(node, at, fields),
        };
        let Some(mut entry) = entry else { continue };
        if let Some(to) = noted(whom(&entry.to, has_area, defaults), at, fields) {
            entry.to = to.unwrap_or(entry.to);
            entries.push(entry);
        }
    }
    entries
}

fn text_entry(node: JsonNode, at: impl Fn() -> String, fields: &mut Fields) -> Option<AudienceEntry> {
    let to = match node {
        // The usual case needs no name of the field: there may be 100,000 of them.
        JsonNode::Text(to) if !to.is_empty() && to.len() <= ENTRY_CHARS_MAX && !to.contains('\0') => to,
        node => text(node, &at(), ENTRY_CHARS_MAX, fields)?,
    };
    Some(AudienceEntry { to, strategy: None, expires: None })
}

fn constrained_entry(node: JsonNode, at: &str, now: Timestamp, fields: &mut Fields) -> Option<AudienceEntry> {
    let mut object = Object::open(node, at, &["to", "strategy", "expires"], fields)?;
    let to = object.needed_text("to", ENTRY_CHARS_MAX, fields);
    let path = object.path("strategy");
    let strategy = object.take("strategy").and_then(|node| strategy(node, &path, fields));
    let expires = object.time("expires", fields);
    if let Some(end) = expires {
        check_end(end, &object.path("expires"), now, fields);
    }
    Some(AudienceEntry { to: to?, strategy, expires })
}

fn sender(object: &mut Object, fields: &mut Fields) -> Option<String> {
    let sender = object.text("sender", SENDER_CHARS_MAX, fields)?;
    if sender.contains(char::is_control) {
        fields.push("sender", "has a control character, such as a line end: what is shown has none");
        return None;
    }
    Some(sender)
}

/// The check of an audience's entry, for audiences in the config: an area comes with the alert.
///
/// # Errors
/// The problem, in the text that a client would get.
pub fn check_audience(entry: &str, defaults: &Defaults) -> Result<(), String> {
    whom(entry, true, defaults).map(|_| ())
}

/// Checks the form of an entry; the engine checks whether its group or person exists. Returns the stored form
/// of an address, if it differs.
pub(crate) fn whom(to: &str, has_area: bool, defaults: &Defaults) -> Result<Option<String>, String> {
    if to == "all" || (to == "area" && has_area) {
        return Ok(None);
    }
    if to == "area" {
        return Err("is \"area\", but the alert has no area".to_owned());
    }
    let Some((kind, rest)) = to.split_once(':') else {
        let near = nearest(to, &["all", "area"]).map(|near| format!("did you mean {near}? "));
        return Err(format!(
            "{to:?} is not an audience; {}write all, area, area:ID, group:G, group:G/channel, recipient:R, alert:ID/received or CHANNEL:ADDRESS",
            near.unwrap_or_default()
        ));
    };
    if rest.is_empty() {
        return Err(format!("{to:?} names nobody after the colon"));
    }
    match kind {
        // The engine looks it up when the alert is accepted.
        "recipient" | "area" => Ok(None),
        "alert" => match rest.split_once('/') {
            Some((id, which)) if id.parse::<AlertId>().is_ok() && names_earlier(which) => Ok(None),
            _ => Err(format!(
                "{to:?} names nobody: write alert:ID/received for whoever got an earlier alert, or \
                 alert:ID/not_answered, /not_reached or /answer=KEY"
            )),
        },
        // A group's name may hold a slash of its own: only a channel that is not built yet is refused here.
        "group" => match rest.rsplit_once('/').map(|(_, channel)| channels::named(channel)) {
            Some(Err(not_built @ NoChannel::NotBuilt(_))) => Err(not_built.to_string()),
            _ => Ok(None),
        },
        channel => {
            if matches!(channels::before_colon(channel), Err(NoChannel::Unknown(_))) {
                return Err(unknown_kind(channel));
            }
            let (channel, kept) = channels::endpoint(channel, rest, defaults)?;
            let entry = channels::entry(channel, &kept);
            Ok((entry != to).then_some(entry))
        }
    }
}

/// Which people of an earlier alert.
fn names_earlier(which: &str) -> bool {
    let answer = which.strip_prefix("answer=");
    matches!(which, "received" | "not_answered" | "not_reached") || answer.is_some_and(|key| !key.is_empty())
}

/// Said of what stands before the colon of an audience's entry, with what was probably meant.
fn unknown_kind(kind: &str) -> String {
    let known: Vec<&str> =
        ["alert", "area", "group", "recipient"].into_iter().chain(channels::words_before_colon()).collect();
    let near = channels::meant(kind).map(|channel| channel.name()).or_else(|| nearest(kind, &known));
    let near = near.map(|near| format!("; did you mean {near}:…?")).unwrap_or_default();
    let kind: String = kind.chars().take(40).collect();
    format!("{kind:?} is unknown before a colon: {} are known{near}", known.join(", "))
}

fn exclude(object: &mut Object, has_area: bool, defaults: &Defaults, fields: &mut Fields) -> Vec<String> {
    let mut entries = object.texts("exclude", AUDIENCE_MAX, ENTRY_CHARS_MAX, fields);
    // To exclude a site that is gone is no mistake that should hold an alert up.
    let defaults = &defaults.with_any_name();
    for (index, entry) in entries.iter_mut().enumerate() {
        if let Some(Some(kept)) =
            noted(whom(entry, has_area, defaults), || format!("exclude[{index}]"), fields)
        {
            *entry = kept;
        }
    }
    entries
}

fn channels(object: &mut Object, fields: &mut Fields) -> Vec<ChannelNumber> {
    let mut wanted = Vec::new();
    // More names than this cannot be channels that exist, each once.
    let names = object.texts("channels", channels::COUNT.max(16), 64, fields);
    for (index, name) in names.iter().enumerate() {
        match noted(channels::number(name), || format!("channels[{index}]"), fields) {
            Some(channel) if !wanted.contains(&channel) => wanted.push(channel),
            _ => {}
        }
    }
    wanted
}

fn strategy(node: JsonNode, at: &str, fields: &mut Fields) -> Option<Strategy> {
    match node {
        JsonNode::Text(word) if word == "all" => Some(Strategy::All),
        JsonNode::Text(word) if word == "first-reachable" => Some(Strategy::FirstReachable),
        JsonNode::Object(_) => {
            let mut object = Object::open(node, at, &["escalate_after"], fields)?;
            let path = object.path("escalate_after");
            let seconds = match object.take("escalate_after") {
                None => {
                    fields.push(path, "is needed");
                    None
                }
                Some(node) => text(node, &path, 64, fields).and_then(|words| {
                    noted(crate::http::request::time_text::parse_duration_s(&words), || path, fields)
                }),
            };
            seconds.map(|seconds| Strategy::EscalateAfter { seconds })
        }
        JsonNode::Text(word) => {
            let word: String = word.chars().take(64).collect();
            fields.push(
                at,
                format!("is {word:?}; must be all, first-reachable or {{\"escalate_after\": \"5m\"}}"),
            );
            None
        }
        other => {
            fields.push(at, format!("is {}; a string or an object is needed", other.kind()));
            None
        }
    }
}

/// When enough people have answered.
fn stop_when(object: &mut Object, choices: &[Choice], fields: &mut Fields) -> Option<StopWhen> {
    let path = object.path("stop_when");
    let mut wanted = Object::open(object.take("stop_when")?, &path, &["choice", "people"], fields)?;
    let choice = wanted.needed_text("choice", CHOICE_KEY_CHARS_MAX, fields)?;
    let at = wanted.path("people");
    let Some(people) = wanted.take("people") else {
        fields.push(at, "is needed: how many people");
        return None;
    };
    let people = number(&people, &at, 1.0, STOP_PEOPLE_MAX, fields)?;
    if people.fract() != 0.0 {
        fields.push(at, "is no whole number");
        return None;
    }
    if !choices.iter().any(|known| known.key == choice) {
        let reason = format!("is {choice:?}, which is the key of no choice of the alert");
        fields.push(wanted.path("choice"), reason);
        return None;
    }
    Some(StopWhen { choice, people: people as u32 })
}

/// Choices, and the keys of those by which people call for help.
fn choices(object: &mut Object, fields: &mut Fields) -> (Vec<Choice>, Vec<String>) {
    let (mut choices, mut needs_help) = (Vec::<Choice>::new(), Vec::new());
    for (index, node) in
        object.list("choices", CHOICES_MAX, fields).unwrap_or_default().into_iter().enumerate()
    {
        let at = format!("choices[{index}]");
        let Some(mut choice) = Object::open(node, &at, &["key", "label", "needs_help"], fields) else {
            continue;
        };
        let key = choice.needed_text("key", CHOICE_KEY_CHARS_MAX, fields);
        let label = choice.needed_text("label", CHOICE_LABEL_CHARS_MAX, fields);
        let is_for_help = choice.flag("needs_help", fields).unwrap_or(false);
        let (Some(key), Some(label)) = (key, label) else { continue };
        if key.trim() != key || key.chars().any(char::is_control) {
            fields.push(format!("{at}.key"), "begins or ends with a space, or has a control character");
        } else if choices.iter().any(|other| other.key.to_lowercase() == key.to_lowercase()) {
            fields.push(format!("{at}.key"), format!("is {key:?}, which an earlier choice has"));
        }
        needs_help.extend(is_for_help.then(|| key.clone()));
        choices.push(Choice { key, label });
    }
    (choices, needs_help)
}

/// The earlier alert that this one goes on with; the engine looks it up.
fn follows(object: &mut Object, fields: &mut Fields) -> Option<AlertId> {
    let id = object.text("follows", UUID_CHARS, fields)?;
    noted(id.parse::<AlertId>(), || "follows".to_owned(), fields)
}

/// Reads a callback; also the body of an observer.
pub(crate) fn callback(node: JsonNode, at: &str, fields: &mut Fields) -> Option<CallbackRequest> {
    let mut object = Object::open(node, at, &["url", "every", "format", "events"], fields)?;
    let url = object.needed_text("url", URL_CHARS_MAX, fields);
    if let Some(url) = &url {
        noted(check_url(url), || object.path("url"), fields);
    }
    let every_s = object.duration_s("every", fields).unwrap_or(CALLBACK_EVERY_S_DEFAULT);
    let xml = object.word("format", &[("json", false), ("xml", true)], fields).unwrap_or(false);
    let mut events = Vec::new();
    for (index, word) in object.texts("events", 16, 64, fields).into_iter().enumerate() {
        match EVENTS.iter().find(|(name, _)| *name == word) {
            Some((_, event)) if !events.contains(event) => events.push(*event),
            Some(_) => {}
            None => fields.push(
                format!("{}[{index}]", object.path("events")),
                format!("is {word:?}; must be one of progress, answer, done"),
            ),
        }
    }
    Some(CallbackRequest { url: url?, every_s, xml, events })
}

/// An address that can be called by HTTP.
fn check_url(url: &str) -> Result<(), String> {
    let parsed: axum::http::Uri = url.parse().map_err(|_| format!("{url:?} is not a URL"))?;
    match (parsed.scheme_str(), parsed.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(()),
        _ => Err(format!("{url:?} is not an http or https URL")),
    }
}

fn resources(object: &mut Object, fields: &mut Fields) -> Vec<String> {
    let links = object.texts("resources", RESOURCES_MAX, URL_CHARS_MAX, fields);
    for (index, link) in links.iter().enumerate() {
        noted(check_url(link), || format!("resources[{index}]"), fields);
    }
    links
}

fn area(node: JsonNode, fields: &mut Fields) -> Option<AreaRequest> {
    const KNOWN: [&str; 5] = ["polygons", "circles", "geocodes", "geocode_attribute", "description"];
    let mut object = Object::open(node, "area", &KNOWN, fields)?;
    let mut polygons = Vec::new();
    for (index, ring) in
        object.list("polygons", AREA_PARTS_MAX, fields).unwrap_or_default().into_iter().enumerate()
    {
        let at = format!("area.polygons[{index}]");
        let points = list(ring, &at, POLYGON_POINTS_MAX, fields).unwrap_or_default();
        let ring: Vec<(f64, f64)> = points
            .into_iter()
            .filter_map(|node| {
                numbers::<2>(node, &at, &[(-90.0, 90.0), (-180.0, 180.0)], fields)
                    .map(|[lat, lon]| (lat, lon))
            })
            .collect();
        if ring.len() < 4 || ring.first() != ring.last() {
            fields.push(at, "is not a ring: at least 4 points [lat, lon], the last like the first");
        }
        polygons.push(ring);
    }
    let mut circles = Vec::new();
    for (index, node) in
        object.list("circles", AREA_PARTS_MAX, fields).unwrap_or_default().into_iter().enumerate()
    {
        let at = format!("area.circles[{index}]");
        let bounds = [(-90.0, 90.0), (-180.0, 180.0), (0.0, RADIUS_KM_MAX)];
        circles.extend(numbers::<3>(node, &at, &bounds, fields).map(|[lat, lon, km]| (lat, lon, km)));
    }
    let geocodes = object.texts("geocodes", AREA_PARTS_MAX, 200, fields);
    let geocode_attribute = object.text("geocode_attribute", 200, fields);
    if !geocodes.is_empty() && geocode_attribute.is_none() {
        fields.push("area.geocode_attribute", "is needed with geocodes");
    }
    if polygons.is_empty() && circles.is_empty() && geocodes.is_empty() {
        fields.push("area", "has no polygon, circle or geocode");
    }
    let description = object.text("description", HEADLINE_CHARS_MAX, fields).unwrap_or_default();
    Some(AreaRequest { polygons, circles, geocodes, geocode_attribute, description, named: Vec::new() })
}

fn numbers<const N: usize>(
    node: JsonNode,
    at: &str,
    bounds: &[(f64, f64); N],
    fields: &mut Fields,
) -> Option<[f64; N]> {
    let items = list(node, at, N, fields)?;
    if items.len() != N {
        fields.push(at, format!("has {} numbers; {N} are needed", items.len()));
        return None;
    }
    let mut out = [0.0; N];
    for ((slot, item), (min, max)) in out.iter_mut().zip(&items).zip(bounds) {
        *slot = number(item, at, *min, *max, fields)?;
    }
    Some(out)
}

#[cfg(test)]
mod tests;
