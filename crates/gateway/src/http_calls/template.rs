//! Templates of the configuration: the body of a request, a URL, a header, filled in for one message.
//!
//! Values are escaped for the place where they stand, so that no text of an alert or a person becomes a part
//! of the syntax around it.

use minijinja::value::{Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, Output, State, UndefinedBehavior, escape_formatter};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Octets of a template.
const TEMPLATE_OCTETS_MAX: usize = 64 * 1024;
/// Octets of what a template makes.
pub(crate) const FILLED_OCTETS_MAX: usize = 512 * 1024;
/// Steps of one filling: a template is a few dozen, a loop over all choices some hundred.
const STEPS_MAX: u64 = 100_000;
/// The name of the one template of an environment.
const NAME: &str = "template";

/// The syntax around a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escaping {
    /// A text is escaped for a JSON string, without the quotes around it; other values are written as JSON.
    Json,
    /// Percent-encoded (RFC 3986, 2.1): for URLs and forms.
    Percent,
    /// Escaped for XML.
    Xml,
    /// Not at all, but for control characters, which are spaces: for header lines.
    Line,
    /// Not at all: for plain text.
    Plain,
}

impl Escaping {
    /// For a body of this media type.
    pub(crate) fn of_media_type(media_type: &str) -> Escaping {
        match media_type {
            "application/x-www-form-urlencoded" => Escaping::Percent,
            "application/json" => Escaping::Json,
            other if other.ends_with("+json") => Escaping::Json,
            "text/xml" | "application/xml" => Escaping::Xml,
            other if other.ends_with("+xml") => Escaping::Xml,
            _ => Escaping::Plain,
        }
    }
}

/// Values by their names.
pub(crate) type TemplateValues = BTreeMap<&'static str, Value>;

/// A template that was read.
pub(crate) struct Template {
    environment: Environment<'static>,
}

impl Template {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it, in words, with the line.
    pub(crate) fn new(source: &str, escaping: Escaping) -> Result<Template, String> {
        if source.len() > TEMPLATE_OCTETS_MAX {
            return Err(format!("{} octets are over the limit of {TEMPLATE_OCTETS_MAX}", source.len()));
        }
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(STEPS_MAX));
        environment.set_auto_escape_callback(move |_| match escaping {
            Escaping::Json => AutoEscape::Json,
            Escaping::Xml => AutoEscape::Html,
            Escaping::Percent | Escaping::Line | Escaping::Plain => AutoEscape::None,
        });
        environment.set_formatter(move |out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value| {
            write_value(out, state, value, escaping)
        });
        environment.add_template_owned(NAME, source.to_owned()).map_err(|error| words(&error))?;
        Ok(Template { environment })
    }

    /// The text for these values.
    ///
    /// # Errors
    /// A name that nobody knows, too many steps, too long a text.
    pub(crate) fn fill(&self, values: &TemplateValues) -> Result<String, String> {
        let template = self.environment.get_template(NAME).map_err(|error| words(&error))?;
        let filled = template.render(Value::from(values)).map_err(|error| words(&error))?;
        match filled.len() <= FILLED_OCTETS_MAX {
            true => Ok(filled),
            false => Err(format!("makes {} octets, the limit is {FILLED_OCTETS_MAX}", filled.len())),
        }
    }
}

/// The error with its line; the values that were filled in are not in it.
fn words(error: &Error) -> String {
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    let line = error.line().map(|line| format!(" (line {line})")).unwrap_or_default();
    format!("{}{detail}{line}", error.kind())
}

fn write_value(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
    escaping: Escaping,
) -> Result<(), Error> {
    // Somebody said so: a filter such as tojson, or safe.
    if value.is_safe() {
        return escape_formatter(out, state, value);
    }
    let written = match (escaping, value.kind()) {
        (_, ValueKind::None) if escaping != Escaping::Json => Ok(()),
        (Escaping::Json, ValueKind::String) => {
            let quoted = serde_json::Value::from(value.as_str().unwrap_or_default()).to_string();
            out.write_str(&quoted[1..quoted.len() - 1])
        }
        (Escaping::Percent, _) => write_percent(out, &value.to_string()),
        (Escaping::Line, _) => {
            let text = value.to_string();
            out.write_str(&text.replace(|c: char| c.is_control(), " "))
        }
        _ => return escape_formatter(out, state, value),
    };
    written.map_err(Error::from)
}

/// All but RFC 3986's unreserved characters.
fn write_percent(out: &mut Output<'_>, text: &str) -> std::fmt::Result {
    for octet in text.bytes() {
        match octet {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.write_char(char::from(octet))?;
            }
            other => write!(out, "%{other:02X}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(text: &str) -> TemplateValues {
        let choice = BTreeMap::from([("key", Value::from("1")), ("label", Value::from(text))]);
        BTreeMap::from([
            ("text", Value::from(text)),
            ("parts", Value::from(2)),
            ("link", Value::from(())),
            ("choices", Value::from(vec![Value::from(choice)])),
        ])
    }

    fn filled(source: &str, escaping: Escaping, text: &str) -> String {
        Template::new(source, escaping).unwrap().fill(&values(text)).unwrap()
    }

    #[test]
    fn a_value_is_escaped_for_the_place_where_it_stands() {
        let hostile = "a\"}\n&<b> \u{e5}%";
        for (escaping, source, expected) in [
            (
                Escaping::Json,
                "{\"t\":\"! {{ text }}\",\"n\":{{ parts }},\"l\":{{ link }}}",
                r#"{"t":"! a\"}\n&<b> å%","n":2,"l":null}"#,
            ),
            (Escaping::Json, "{{ choices }}", "[{\"key\":\"1\",\"label\":\"a\\\"}\\n&<b> \u{e5}%\"}]"),
            (Escaping::Percent, "t={{ text }}&l={{ link }}", "t=a%22%7D%0A%26%3Cb%3E%20%C3%A5%25&l="),
            (Escaping::Line, "Note {{ text }}", "Note a\"} &<b> \u{e5}%"),
            (Escaping::Plain, "{{ text }}", hostile),
            (Escaping::Plain, "{% if link %}x{% endif %}{% for c in choices %}{{ c.key }}{% endfor %}", "1"),
        ] {
            assert_eq!(filled(source, escaping, hostile), expected, "{escaping:?} {source}");
        }
        let xml = filled("<t>{{ text }}</t>", Escaping::Xml, hostile);
        assert!(!xml.contains("<b>") && xml.contains("&amp;"), "{xml}");
    }

    #[test]
    fn a_template_that_cannot_be_filled_says_its_line_and_not_the_text() {
        assert!(Template::new("{{ text ", Escaping::Plain).err().unwrap().contains("line 1"));
        for source in [
            "\n{{ nobody }}",
            "{% for a in range(100000) %}{% for b in range(100) %}{% endfor %}{% endfor %}",
        ] {
            let template = Template::new(source, Escaping::Plain).unwrap();
            let error = template.fill(&values("secret")).unwrap_err();
            assert!(error.contains("line") && !error.contains("secret"), "{error}");
        }
        assert!(Template::new(&"x".repeat(TEMPLATE_OCTETS_MAX + 1), Escaping::Plain).is_err());
        let long = Template::new("{% for a in range(9) %}{{ text }}{% endfor %}", Escaping::Plain).unwrap();
        assert!(long.fill(&values(&"x".repeat(100_000))).unwrap_err().contains("the limit is"));
    }

    proptest! {
        #[test]
        fn whatever_a_person_is_called_the_body_stays_json_and_the_form_a_form(text in "\\PC*|[\\x00-\\x7f]*") {
            let json = filled("{\"a\": \"{{ text }}\", \"b\": {{ choices }}}", Escaping::Json, &text);
            let read: serde_json::Value = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(read["a"].as_str(), Some(text.as_str()));
            prop_assert_eq!(read["b"][0]["label"].as_str(), Some(text.as_str()));
            let form = filled("a={{ text }}&b=2", Escaping::Percent, &text);
            prop_assert!(form.bytes().all(|octet| octet.is_ascii_graphic()));
            prop_assert_eq!(form.matches('&').count(), 1);
            let line = filled("{{ text }}", Escaping::Line, &text);
            prop_assert!(!line.contains(['\r', '\n', '\0']));
        }
    }
}
