//! Writes CAP 1.2 that breaks no rule, or names the element that would.

mod check;
mod mend;
#[cfg(test)]
mod mend_tests;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::alert::{Alert, Area, Info, LANGUAGE_DEFAULT, NamedValue, Resource};
use crate::problem::Rule;
use crate::time::Timestamp;

const NAMESPACE: &str = "urn:oasis:names:tc:emergency:cap:1.2";

/// Why an alert cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteError {
    /// The element that would break a rule, as in [`CapProblem::path`](crate::CapProblem::path).
    pub path: String,
    /// The kind of rule.
    pub rule: Rule,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.path, self.message, self.rule)
    }
}

impl std::error::Error for WriteError {}

/// Writes an alert as CAP 1.2 in UTF-8, elements in the schema's order. Times are cut to whole seconds
/// (section 3.3.2).
///
/// # Errors
/// The first element that would break a rule of the schema or of the standard's text.
pub fn write(alert: &Alert) -> Result<Vec<u8>, WriteError> {
    check::alert(alert)?;
    Ok(written(alert))
}

fn written(alert: &Alert) -> Vec<u8> {
    let mut xml = Xml { text: String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"), depth: 0 };
    xml.alert(alert);
    xml.text.into_bytes()
}

/// Writes a message as it came, mended where the schema wants it: an empty parameter is left out, a file
/// without a type gets that of its name, what is required and missing is "not stated". `received` stands for
/// the time of a message that names none. Identifier, sender, time, scope, codes and words stay.
///
/// # Errors
/// The first element that breaks a rule though it was mended. A Cancel that refers to nothing is written.
pub fn write_mended(alert: &Alert, received: Timestamp) -> Result<Vec<u8>, WriteError> {
    let alert = mend::mended(alert, received);
    let unreferenced = alert.references.is_empty();
    check::alert(&alert).or_else(|error| {
        // The schema lets it pass, and the rest was checked before or is below.
        let is_bare_cancel = unreferenced && error.path == "alert/references";
        if is_bare_cancel { check::infos(&alert) } else { Err(error) }
    })?;
    Ok(written(&alert))
}

struct Xml {
    text: String,
    depth: usize,
}

impl Xml {
    fn alert(&mut self, alert: &Alert) {
        self.text.push_str(&format!("<alert xmlns=\"{NAMESPACE}\">\n"));
        self.depth = 1;
        self.element("identifier", &alert.identifier);
        self.element("sender", &alert.sender);
        self.shown("sent", alert.sent);
        self.shown("status", alert.status);
        self.shown("msgType", alert.msg_type);
        self.optional("source", &alert.source);
        self.shown("scope", alert.scope);
        self.optional("restriction", &alert.restriction);
        self.list("addresses", &alert.addresses);
        alert.codes.iter().for_each(|code| self.element("code", code));
        self.optional("note", &alert.note);
        if !alert.references.is_empty() {
            // `check` has made sure that each has its time.
            let triple = |r: &crate::alert::Reference| {
                format!(
                    "{},{},{}",
                    r.sender,
                    r.identifier,
                    r.sent.map(|sent| sent.to_string()).unwrap_or_default()
                )
            };
            self.element("references", &alert.references.iter().map(triple).collect::<Vec<_>>().join(" "));
        }
        self.list("incidents", &alert.incidents);
        alert.infos.iter().for_each(|info| self.parent("info", |xml| xml.info(info)));
        self.text.push_str("</alert>\n");
    }

    fn info(&mut self, info: &Info) {
        if info.language != LANGUAGE_DEFAULT {
            self.element("language", &info.language);
        }
        info.categories.iter().for_each(|category| self.element("category", category.as_str()));
        self.element("event", &info.event);
        info.response_types.iter().for_each(|response| self.element("responseType", response.as_str()));
        self.element("urgency", info.urgency.as_str());
        self.element("severity", info.severity.as_str());
        self.element("certainty", info.certainty.as_str());
        self.optional("audience", &info.audience);
        self.named("eventCode", &info.event_codes);
        self.shown("effective", info.effective);
        self.shown("onset", info.onset);
        self.shown("expires", info.expires);
        self.optional("senderName", &info.sender_name);
        self.optional("headline", &info.headline);
        self.optional("description", &info.description);
        self.optional("instruction", &info.instruction);
        self.optional("web", &info.web);
        self.optional("contact", &info.contact);
        self.named("parameter", &info.parameters);
        info.resources.iter().for_each(|resource| self.parent("resource", |xml| xml.resource(resource)));
        info.areas.iter().for_each(|area| self.parent("area", |xml| xml.area(area)));
    }

    fn resource(&mut self, resource: &Resource) {
        self.element("resourceDesc", &resource.description);
        self.element("mimeType", &resource.mime_type);
        self.shown("size", resource.size);
        self.optional("uri", &resource.uri);
        self.optional("derefUri", &resource.deref_uri);
        self.optional("digest", &resource.digest);
    }

    fn area(&mut self, area: &Area) {
        self.element("areaDesc", &area.description);
        for polygon in &area.polygons {
            let pairs: Vec<String> = polygon.iter().map(|(lat, lon)| format!("{lat},{lon}")).collect();
            self.element("polygon", &pairs.join(" "));
        }
        for circle in &area.circles {
            self.element("circle", &format!("{},{} {}", circle.center.0, circle.center.1, circle.km));
        }
        self.named("geocode", &area.geocodes);
        self.shown("altitude", area.altitude);
        self.shown("ceiling", area.ceiling);
    }

    fn named(&mut self, name: &str, values: &[NamedValue]) {
        for value in values {
            self.parent(name, |xml| {
                xml.element("valueName", &value.name);
                xml.element("value", &value.value);
            });
        }
    }

    /// Names separated by spaces, in quotes where they hold some.
    fn list(&mut self, name: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        let quote = |item: &String| match item.contains(char::is_whitespace) {
            true => format!("\"{item}\""),
            false => item.clone(),
        };
        self.element(name, &items.iter().map(quote).collect::<Vec<_>>().join(" "));
    }

    fn shown(&mut self, name: &str, value: Option<impl fmt::Display>) {
        if let Some(value) = value {
            self.element(name, &value.to_string());
        }
    }

    fn optional(&mut self, name: &str, text: &Option<String>) {
        if let Some(text) = text {
            self.element(name, text);
        }
    }

    fn parent(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.indent();
        self.text.push_str(&format!("<{name}>\n"));
        self.depth += 1;
        content(self);
        self.depth -= 1;
        self.indent();
        self.text.push_str(&format!("</{name}>\n"));
    }

    fn element(&mut self, name: &str, text: &str) {
        self.indent();
        self.text.push_str(&format!("<{name}>"));
        for c in text.chars() {
            match c {
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '&' => self.text.push_str("&amp;"),
                // A bare one would be read as a line feed.
                '\r' => self.text.push_str("&#13;"),
                _ => self.text.push(c),
            }
        }
        self.text.push_str(&format!("</{name}>\n"));
    }

    fn indent(&mut self) {
        (0..self.depth).for_each(|_| self.text.push_str("  "));
    }
}
