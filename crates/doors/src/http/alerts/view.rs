//! An alert as clients read it. The request's members are those that [`crate::http::alerts::body`] reads.

use crate::http::approvals;
use crate::http::request::time_text::{duration_text, rfc3339};
use channels::Part;
use records::{
    Alert, AlertRequest, AreaRequest, AudienceEntry, CallbackEvent, CallbackRequest, ChannelTexts, Choice,
    Mode, OnUnknown, OwnText, Priority, Strategy, Terminal, Texts,
};
use serde_json::{Map, Value, json};

/// Characters of a text that a list shows.
const SUMMARY_CHARS: usize = 80;

/// The whole alert.
pub(crate) fn alert(alert: &Alert) -> Value {
    let mut out = head(alert);
    out.insert("request".into(), request(&alert.request));
    Value::Object(out)
}

/// The members of an alert that a list shows.
pub(crate) fn summary(alert: &Alert) -> Value {
    let mut out = head(alert);
    out.insert("headline".into(), headline(&alert.request).into());
    out.insert("priority".into(), priority(alert.request.priority).into());
    out.insert("mode".into(), mode(alert.request.mode).into());
    out.insert("expires".into(), rfc3339(alert.request.expires).into());
    Value::Object(out)
}

/// First words of it.
pub(crate) fn headline(request: &AlertRequest) -> String {
    let any_language = request.texts.languages.values();
    let texts = std::iter::once(&request.texts.default).chain(any_language);
    let found = request
        .headline
        .as_deref()
        .or(request.text.as_deref())
        .or_else(|| texts.into_iter().find_map(ChannelTexts::first))
        .unwrap_or_default();
    engine::without_values(found).chars().take(SUMMARY_CHARS).collect()
}

fn head(alert: &Alert) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("id".into(), alert.id.to_string().into());
    out.insert("state".into(), alert.state.name().into());
    out.insert("created".into(), rfc3339(alert.created).into());
    out.insert("version".into(), alert.version.into());
    out.insert("token".into(), alert.token.as_str().into());
    out.insert("origin".into(), alert.origin.name().into());
    out.insert("note".into(), alert.note.as_str().into());
    out.insert("approval".into(), approvals::view::approval(alert));
    out.insert("ended_by".into(), approvals::view::ended_by(alert));
    out
}

/// The request alone, as it could be posted again.
pub(crate) fn request(request: &AlertRequest) -> Value {
    let mut out = Map::new();
    put_text(&mut out, "headline", request.headline.as_deref());
    put_text(&mut out, "text", request.text.as_deref());
    if request.texts != Texts::default() {
        out.insert("texts".into(), texts(&request.texts));
    }
    out.insert("audience".into(), request.audience.iter().map(entry).collect());
    out.insert("exclude".into(), request.exclude.iter().map(String::as_str).collect());
    out.insert("channels".into(), request.channels.iter().map(|channel| channels::name(*channel)).collect());
    out.insert("strategy".into(), strategy(request.strategy));
    out.insert("require_answer".into(), request.require_answer.into());
    out.insert(
        "choices".into(),
        request.choices.iter().map(|choice| self::choice(request, choice)).collect(),
    );
    if let Some(wanted) = &request.answer_rules.stop_when {
        out.insert("stop_when".into(), json!({"choice": wanted.choice, "people": wanted.people}));
    }
    out.insert("terminal".into(), terminal(request.terminal).into());
    put_text(&mut out, "not_before", request.not_before.map(rfc3339).as_deref());
    out.insert("expires".into(), rfc3339(request.expires).into());
    out.insert("priority".into(), priority(request.priority).into());
    out.insert("on_unknown".into(), on_unknown(request.on_unknown).into());
    if let Some(wanted) = &request.callback {
        out.insert("callback".into(), callback(wanted));
    }
    put_text(&mut out, "sender", request.sender.as_deref());
    out.insert("mode".into(), mode(request.mode).into());
    out.insert("participants_only".into(), request.participants_only.into());
    put_text(&mut out, "follows", request.follows.map(|id| id.to_string()).as_deref());
    out.insert("flash".into(), request.flash.into());
    out.insert("resources".into(), request.resources.iter().map(String::as_str).collect());
    let attachment = |one: &records::Attachment| json!({"id": one.blake3, "name": one.name, "type": one.media_type, "size": one.size});
    out.insert("attachments".into(), request.attachments.iter().map(attachment).collect());
    // An entry of the audience names a named area.
    if let Some(wanted) = request.area.as_ref().filter(|area| !area.is_empty()) {
        out.insert("area".into(), area(wanted));
    }
    Value::Object(out)
}

fn choice(request: &AlertRequest, choice: &Choice) -> Value {
    let mut out = json!({"key": choice.key, "label": choice.label});
    if request.answer_rules.needs_help.contains(&choice.key) {
        out["needs_help"] = true.into();
    }
    out
}

fn texts(texts: &Texts) -> Value {
    let mut out = channel_texts(&texts.default);
    for (tag, language) in &texts.languages {
        out.insert(tag.clone(), Value::Object(channel_texts(language)));
    }
    Value::Object(out)
}

fn channel_texts(texts: &ChannelTexts) -> Map<String, Value> {
    let mut out = Map::new();
    put_text(&mut out, "text", texts.text.as_deref());
    put_text(&mut out, "headline", texts.headline.as_deref());
    for (number, own) in &texts.own {
        let Some(channel) = channels::of(*number) else { continue };
        out.insert(channel.name().into(), own_text(own, channel.parts()));
    }
    out
}

/// A channel's own text, as it is read: a string where the channel has nothing but the text.
fn own_text(own: &OwnText, parts: &[Part]) -> Value {
    if parts == [Part::Text] {
        return own.text.as_deref().into();
    }
    let mut out = Map::new();
    for part in parts {
        put_text(&mut out, part.name(), part.of(own));
    }
    Value::Object(out)
}

fn entry(entry: &AudienceEntry) -> Value {
    if entry.strategy.is_none() && entry.expires.is_none() {
        return entry.to.as_str().into();
    }
    let mut out = Map::new();
    out.insert("to".into(), entry.to.as_str().into());
    if let Some(own) = entry.strategy {
        out.insert("strategy".into(), strategy(own));
    }
    put_text(&mut out, "expires", entry.expires.map(rfc3339).as_deref());
    Value::Object(out)
}

fn strategy(strategy: Strategy) -> Value {
    match strategy {
        Strategy::All => "all".into(),
        Strategy::FirstReachable => "first-reachable".into(),
        Strategy::EscalateAfter { seconds } => json!({"escalate_after": duration_text(seconds)}),
    }
}

/// A callback, as posted.
pub(crate) fn callback(callback: &CallbackRequest) -> Value {
    let events = callback.events.iter().map(|event| match event {
        CallbackEvent::Progress => "progress",
        CallbackEvent::Answer => "answer",
        CallbackEvent::Done => "done",
    });
    json!({
        "url": callback.url,
        "every": duration_text(callback.every_s),
        "format": if callback.xml { "xml" } else { "json" },
        "events": events.collect::<Vec<_>>(),
    })
}

fn area(area: &AreaRequest) -> Value {
    let ring = |ring: &Vec<(f64, f64)>| ring.iter().map(|(lat, lon)| json!([lat, lon])).collect::<Value>();
    let mut out = Map::new();
    out.insert("polygons".into(), area.polygons.iter().map(ring).collect());
    out.insert("circles".into(), area.circles.iter().map(|(lat, lon, km)| json!([lat, lon, km])).collect());
    out.insert("geocodes".into(), area.geocodes.iter().map(String::as_str).collect());
    put_text(&mut out, "geocode_attribute", area.geocode_attribute.as_deref());
    put_text(&mut out, "description", Some(area.description.as_str()).filter(|text| !text.is_empty()));
    Value::Object(out)
}

/// `emergency`, `urgent`, `routine`.
pub(crate) fn priority(priority: Priority) -> &'static str {
    match priority {
        Priority::Emergency => "emergency",
        Priority::Urgent => "urgent",
        Priority::Routine => "routine",
    }
}

fn terminal(terminal: Terminal) -> &'static str {
    match terminal {
        Terminal::Accepted => "accepted",
        Terminal::Delivered => "delivered",
        Terminal::Answered => "answered",
    }
}

fn on_unknown(rule: OnUnknown) -> &'static str {
    match rule {
        OnUnknown::Resend => "resend",
        OnUnknown::Hold => "hold",
    }
}

/// `live`, `drill`.
pub(crate) fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Live => "live",
        Mode::Drill => "drill",
    }
}

fn put_text(out: &mut Map<String, Value>, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        out.insert(name.into(), text.into());
    }
}
