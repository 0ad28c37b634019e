//! Everything that must hold before the first octet is written.

use super::WriteError;
use crate::alert::{Alert, Area, Info, NamedValue, Point, Resource};
use crate::problem::Rule;
use crate::read::is_allowed;
use crate::rules::{self, Breach};

type Checked = Result<(), WriteError>;

pub(super) fn alert(alert: &Alert) -> Checked {
    let path = "alert";
    required(path, "identifier", &alert.identifier)?;
    required(path, "sender", &alert.sender)?;
    present(path, "sent", alert.sent.is_some())?;
    present(path, "status", alert.status.is_some())?;
    present(path, "msgType", alert.msg_type.is_some())?;
    present(path, "scope", alert.scope.is_some())?;
    for (child, text) in
        [("source", &alert.source), ("restriction", &alert.restriction), ("note", &alert.note)]
    {
        optional(path, child, text)?;
    }
    alert.codes.iter().try_for_each(|code| required(path, "code", code))?;
    list(path, "addresses", &alert.addresses)?;
    list(path, "incidents", &alert.incidents)?;
    for reference in &alert.references {
        for part in [&reference.sender, &reference.identifier] {
            required(path, "references", part)?;
            if part.contains(|c: char| c.is_whitespace() || c == ',') {
                let message = format!("{part:?} holds a space or a comma");
                return Err(error(path, "references", Rule::References, message));
            }
        }
    }
    breaches(path, rules::of_header(alert))?;
    infos(alert)
}

/// The infos alone.
pub(super) fn infos(alert: &Alert) -> Checked {
    for (index, info) in alert.infos.iter().enumerate() {
        self::info(&format!("alert/info[{}]", index + 1), info, alert)?;
    }
    Ok(())
}

fn info(path: &str, info: &Info, alert: &Alert) -> Checked {
    present(path, "category", !info.categories.is_empty())?;
    required(path, "event", &info.event)?;
    let texts = [
        ("audience", &info.audience),
        ("senderName", &info.sender_name),
        ("headline", &info.headline),
        ("description", &info.description),
        ("instruction", &info.instruction),
        ("web", &info.web),
        ("contact", &info.contact),
    ];
    texts.into_iter().try_for_each(|(child, text)| optional(path, child, text))?;
    if info.web.as_ref().is_some_and(|web| web.contains(char::is_whitespace)) {
        return Err(error(path, "web", Rule::Value, "is no URI: it holds white space"));
    }
    named(path, "eventCode", &info.event_codes)?;
    named(path, "parameter", &info.parameters)?;
    breaches(path, rules::of_info(info, alert.sent))?;
    for (index, resource) in info.resources.iter().enumerate() {
        self::resource(&format!("{path}/resource[{}]", index + 1), resource)?;
    }
    for (index, area) in info.areas.iter().enumerate() {
        self::area(&format!("{path}/area[{}]", index + 1), area)?;
    }
    Ok(())
}

fn resource(path: &str, resource: &Resource) -> Checked {
    required(path, "resourceDesc", &resource.description)?;
    required(path, "mimeType", &resource.mime_type)?;
    for (child, text) in
        [("uri", &resource.uri), ("derefUri", &resource.deref_uri), ("digest", &resource.digest)]
    {
        optional(path, child, text)?;
    }
    if resource.uri.as_ref().is_some_and(|uri| uri.contains(char::is_whitespace)) {
        return Err(error(path, "uri", Rule::Value, "is no URI: it holds white space"));
    }
    breaches(path, rules::of_resource(resource))
}

fn area(path: &str, area: &Area) -> Checked {
    required(path, "areaDesc", &area.description)?;
    for (index, ring) in area.polygons.iter().enumerate() {
        polygon(path, &format!("polygon[{}]", index + 1), ring)?;
    }
    for (index, circle) in area.circles.iter().enumerate() {
        let child = format!("circle[{}]", index + 1);
        point(path, &child, circle.center)?;
        if !(circle.km.is_finite() && circle.km >= 0.0) {
            return Err(error(path, &child, Rule::Shape, format!("has a radius of {} km", circle.km)));
        }
    }
    named(path, "geocode", &area.geocodes)?;
    for (child, feet) in [("altitude", area.altitude), ("ceiling", area.ceiling)] {
        if feet.is_some_and(|feet| !feet.is_finite()) {
            return Err(error(path, child, Rule::Value, "is no number"));
        }
    }
    breaches(path, rules::of_area(area))
}

fn polygon(path: &str, child: &str, ring: &[Point]) -> Checked {
    ring.iter().try_for_each(|&vertex| point(path, child, vertex))?;
    if ring.len() < 4 {
        let message = format!("has {} vertices, fewer than 4", ring.len());
        return Err(error(path, child, Rule::Shape, message));
    }
    if ring.first() != ring.last() {
        return Err(error(path, child, Rule::OpenRing, "does not end where it begins"));
    }
    Ok(())
}

fn point(path: &str, child: &str, (lat, lon): Point) -> Checked {
    if (-90.0..=90.0).contains(&lat) && (-180.0..=180.0).contains(&lon) {
        return Ok(());
    }
    Err(error(path, child, Rule::Shape, format!("{lat},{lon} is not on the earth")))
}

fn named(path: &str, child: &str, values: &[NamedValue]) -> Checked {
    for (index, value) in values.iter().enumerate() {
        let path = format!("{path}/{child}[{}]", index + 1);
        required(&path, "valueName", &value.name)?;
        required(&path, "value", &value.value)?;
    }
    Ok(())
}

fn list(path: &str, child: &str, items: &[String]) -> Checked {
    for item in items {
        required(path, child, item)?;
        if item.contains('"') {
            return Err(error(path, child, Rule::Characters, format!("{item:?} holds a quote")));
        }
    }
    Ok(())
}

fn required(path: &str, child: &str, text: &str) -> Checked {
    if text.trim().is_empty() {
        return Err(error(path, child, Rule::Missing, "is required and not there"));
    }
    characters(path, child, text)
}

fn optional(path: &str, child: &str, text: &Option<String>) -> Checked {
    match text {
        Some(text) if text.trim().is_empty() => {
            Err(error(path, child, Rule::Empty, "is empty: leave it out"))
        }
        Some(text) => characters(path, child, text),
        None => Ok(()),
    }
}

fn characters(path: &str, child: &str, text: &str) -> Checked {
    match text.chars().find(|&c| !is_allowed(c)) {
        Some(c) => Err(error(path, child, Rule::Characters, format!("holds {c:?}, which XML forbids"))),
        None => Ok(()),
    }
}

fn present(path: &str, child: &str, is_there: bool) -> Checked {
    if is_there { Ok(()) } else { Err(error(path, child, Rule::Missing, "is required and not there")) }
}

fn breaches(path: &str, breaches: Vec<Breach>) -> Checked {
    match breaches.into_iter().find(|breach| !breach.is_advice) {
        Some(breach) => Err(error(path, breach.child, breach.rule, breach.message)),
        None => Ok(()),
    }
}

fn error(path: &str, child: &str, rule: Rule, message: impl Into<String>) -> WriteError {
    WriteError { path: format!("{path}/{child}"), rule, message: message.into() }
}
