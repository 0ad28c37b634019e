//! What is said, by channel and language: rendered once where nothing is personal, per person where it is.

use crate::api::Problem;
use minijinja::{Environment, UndefinedBehavior};
use records::{AlertRequest, Body, Channel, ChannelTexts, Choice, Mode, Recipient};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A template may use so much fuel (about one unit an instruction): enough for a long text, too little to hold a core.
const TEMPLATE_FUEL: u64 = 50_000;
/// A text may name so many different placeholders.
pub const PLACEHOLDERS_MAX: usize = 32;
/// Put before every text of a drill (CAP: "marked as an exercise in every text").
const DRILL_MARK: &str = "[EXERCISE] ";

/// All texts of one alert, compiled.
pub struct Wording {
    templates: Environment<'static>,
    variants: BTreeMap<(Channel, Option<String>), Variant>,
    languages: Vec<String>,
}

enum Variant {
    /// The same for everyone.
    Shared(Arc<Body>),
    /// Rendered for each.
    Personal(Parts),
}

/// Names of the templates of one rendering, and the placeholders in them.
struct Parts {
    text: String,
    subject: Option<String>,
    html: Option<String>,
    placeholders: Vec<String>,
}

/// The texts of one variant before they are compiled.
struct Source {
    text: String,
    subject: Option<String>,
    html: Option<String>,
}

/// A rendering for one endpoint.
pub enum Rendering {
    /// Shared with all of the same channel and language.
    Shared(Arc<Body>),
    /// This endpoint's own.
    Own(Box<Body>),
}

impl Wording {
    /// Compiles an alert's texts; a problem names the text that is wrong.
    pub fn new(request: &AlertRequest) -> Result<Wording, Vec<Problem>> {
        let mut wording = Wording {
            templates: environment(),
            variants: BTreeMap::new(),
            languages: request.texts.languages.keys().cloned().collect(),
        };
        let mut problems = Vec::new();
        let languages = std::iter::once(None).chain(request.texts.languages.keys().cloned().map(Some));
        for language in languages {
            for channel in Channel::ALL {
                let Some(source) = source(request, channel, language.as_deref()) else { continue };
                if let Err(problem) = wording.add(channel, language.clone(), source) {
                    problems.push(problem);
                }
            }
        }
        if problems.is_empty() { Ok(wording) } else { Err(problems) }
    }

    /// The language of this alert's texts that suits somebody who prefers `preferred`: RFC 4647, 3.4 lookup, and where that finds nothing the
    /// first text in the same language for another region, which is better understood than the default. Nothing is the default.
    pub fn language_for(&self, preferred: Option<&str>) -> Option<&str> {
        let mut range = preferred?.to_ascii_lowercase();
        loop {
            if let Some(found) = self.languages.iter().find(|language| **language == range) {
                return Some(found);
            }
            // A single letter or digit before the cut belongs to what follows it.
            let Some(cut) = range.rfind('-') else { break };
            range.truncate(cut);
            if range.len() >= 2 && range.as_bytes()[range.len() - 2] == b'-' {
                range.truncate(range.len() - 2);
            }
        }
        let primary = |language: &String| language.split('-').next() == Some(range.as_str());
        self.languages.iter().find(|language| primary(language)).map(String::as_str)
    }

    /// Values a personal text needs of this person; empty where the text is shared.
    pub fn values_for(
        &self,
        channel: Channel,
        language: Option<&str>,
        person: &Recipient,
    ) -> Vec<(String, String)> {
        match self.variant(channel, language) {
            Some(Variant::Personal(parts)) => {
                parts.placeholders.iter().map(|name| (name.clone(), value(person, name))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What an endpoint is told; nothing if there is no text for its channel.
    pub fn render(
        &self,
        channel: Channel,
        language: Option<&str>,
        values: &[(String, String)],
    ) -> Result<Rendering, String> {
        match self.variant(channel, language) {
            Some(Variant::Shared(body)) => Ok(Rendering::Shared(body.clone())),
            Some(Variant::Personal(parts)) => {
                self.personal(channel, parts, values).map(|body| Rendering::Own(Box::new(body)))
            }
            None => Err(format!("there is no text for channel {channel}")),
        }
    }

    /// What an endpoint was told, for a page that asks in its own way: without the line that says how to answer.
    pub fn told(
        &self,
        request: &AlertRequest,
        channel: Channel,
        language: Option<&str>,
        values: &[(String, String)],
    ) -> Option<String> {
        let body = match self.render(channel, language, values).ok()? {
            Rendering::Shared(body) => (*body).clone(),
            Rendering::Own(body) => *body,
        };
        // Nothing is rendered to a platform's own message.
        let (Body::Sms { text } | Body::Mail { text, .. } | Body::Topic { text } | Body::Edge { text }) =
            body
        else {
            return None;
        };
        let how = choices_line(request);
        Some(text.strip_suffix(&how).map(str::to_owned).unwrap_or(text))
    }

    /// One of the renderings for a channel, to weigh it; personal ones with empty values.
    pub fn sample(&self, channel: Channel) -> Option<Body> {
        match self.render(channel, None, &[]) {
            Ok(Rendering::Shared(body)) => Some((*body).clone()),
            Ok(Rendering::Own(body)) => Some(*body),
            Err(_) => None,
        }
    }

    fn variant(&self, channel: Channel, language: Option<&str>) -> Option<&Variant> {
        let own = language.and_then(|language| self.variants.get(&(channel, Some(language.to_owned()))));
        own.or_else(|| self.variants.get(&(channel, None))).or_else(|| {
            // An alert may have texts in some languages and no default: the first one is better than silence.
            self.languages.iter().find_map(|language| self.variants.get(&(channel, Some(language.clone()))))
        })
    }

    fn add(&mut self, channel: Channel, language: Option<String>, source: Source) -> Result<(), Problem> {
        let field = field_name(channel, language.as_deref());
        let is_template = |text: &str| text.contains("{{") || text.contains("{%") || text.contains("{#");
        let texts = [Some(&source.text), source.subject.as_ref(), source.html.as_ref()];
        if !texts.into_iter().flatten().any(|text| is_template(text)) {
            let body = body(channel, source.text, source.subject, source.html);
            self.variants.insert((channel, language), Variant::Shared(Arc::new(body)));
            return Ok(());
        }
        let parts = self.compile(&field, source)?;
        self.variants.insert((channel, language), Variant::Personal(parts));
        Ok(())
    }

    fn compile(&mut self, field: &str, source: Source) -> Result<Parts, Problem> {
        let problem = |error: minijinja::Error| Problem {
            field: field.to_owned(),
            reason: format!("the template cannot be read: {error}; placeholders look like {{{{name}}}}"),
        };
        let mut add = |part: &str, text: String| -> Result<String, minijinja::Error> {
            let suffix = if part == "html" { ".html" } else { "" };
            let name = format!("{field}.{part}{suffix}");
            self.templates.add_template_owned(name.clone(), text)?;
            Ok(name)
        };
        let text = add("text", source.text).map_err(problem)?;
        let subject = source.subject.map(|text| add("subject", text)).transpose().map_err(problem)?;
        let html = source.html.map(|text| add("html", text)).transpose().map_err(problem)?;
        let names = [Some(&text), subject.as_ref(), html.as_ref()];
        let mut placeholders: Vec<String> = Vec::new();
        for name in names.into_iter().flatten() {
            let template = self.templates.get_template(name).map_err(problem)?;
            placeholders.extend(template.undeclared_variables(false));
        }
        placeholders.sort_unstable();
        placeholders.dedup();
        if placeholders.len() > PLACEHOLDERS_MAX {
            let reason =
                format!("names {} placeholders, over the limit of {PLACEHOLDERS_MAX}", placeholders.len());
            return Err(Problem { field: field.to_owned(), reason });
        }
        Ok(Parts { text, subject, html, placeholders })
    }

    fn personal(&self, channel: Channel, parts: &Parts, values: &[(String, String)]) -> Result<Body, String> {
        let context: BTreeMap<String, minijinja::Value> =
            values.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let context = minijinja::Value::from(context);
        let render = |name: &String| {
            let template = self.templates.get_template(name).map_err(|error| error.to_string())?;
            template.render(context.clone()).map_err(|error| error.to_string())
        };
        let text = render(&parts.text)?;
        let subject = parts.subject.as_ref().map(render).transpose()?;
        let html = parts.html.as_ref().map(render).transpose()?;
        Ok(body(channel, text, subject, html))
    }
}

fn environment() -> Environment<'static> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Lenient);
    templates.set_fuel(Some(TEMPLATE_FUEL));
    templates
}

fn body(channel: Channel, text: String, subject: Option<String>, html: Option<String>) -> Body {
    match channel {
        Channel::Sms => Body::Sms { text },
        Channel::Mail => Body::Mail { subject: subject.unwrap_or_else(|| first_words(&text)), text, html },
        Channel::Topic => Body::Topic { text },
        Channel::Edge => Body::Edge { text },
    }
}

fn field_name(channel: Channel, language: Option<&str>) -> String {
    match language {
        Some(language) => format!("texts.{language}.{channel}"),
        None => format!("texts.{channel}"),
    }
}

/// What a placeholder stands for.
fn value(person: &Recipient, name: &str) -> String {
    match name {
        "name" => person.name.clone(),
        "id" => person.id.clone(),
        "language" => person.language.clone().unwrap_or_default(),
        "time_zone" => person.time_zone.clone().unwrap_or_default(),
        other => person.attributes.get(other).cloned().unwrap_or_default(),
    }
}

fn source(request: &AlertRequest, channel: Channel, language: Option<&str>) -> Option<Source> {
    let own: &ChannelTexts = match language {
        Some(language) => request.texts.languages.get(language)?,
        None => &request.texts.default,
    };
    // Within a language only that language's words: the alert's general text is in the default one.
    let general = if language.is_none() { request.text.as_ref() } else { None };
    let mark = if request.mode == Mode::Drill { DRILL_MARK } else { "" };
    match channel {
        Channel::Sms => {
            let text = own.sms.as_ref().or(own.text.as_ref()).or(general)?;
            Some(Source { text: format!("{mark}{text}{}", choices_line(request)), subject: None, html: None })
        }
        Channel::Mail => {
            let mail = own.mail.clone().unwrap_or_default();
            let text = mail.text.as_ref().or(own.text.as_ref()).or(general).or(own.sms.as_ref())?;
            let headline = own.headline.as_ref().or(request.headline.as_ref());
            let subject = mail.subject.as_ref().or(headline).map(|subject| format!("{mark}{subject}"));
            let html = mail.html.map(|html| format!("{mark}{html}"));
            let resources: String = request.resources.iter().map(|link| format!("\n{link}")).collect();
            Some(Source { text: format!("{mark}{text}{resources}"), subject, html })
        }
        Channel::Topic | Channel::Edge => {
            let text = own.text.as_ref().or(general).or(own.sms.as_ref())?;
            Some(Source { text: format!("{mark}{text}"), subject: None, html: None })
        }
    }
}

/// How to answer a short message: it has no link to press.
fn choices_line(request: &AlertRequest) -> String {
    if !request.require_answer || request.choices.is_empty() {
        return String::new();
    }
    let list: Vec<String> =
        request.choices.iter().map(|Choice { key, label }| format!("{key} = {label}")).collect();
    format!("\nReply {}", list.join(", "))
}

/// A subject for a text that has none: its first line, at most 78 characters (RFC 5322, 2.1.1).
fn first_words(text: &str) -> String {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim().chars().take(78).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;

    fn person(language: Option<&str>) -> Recipient {
        let mut person =
            Recipient { name: "Anna".into(), language: language.map(str::to_owned), ..Recipient::default() };
        person.attributes.insert("ward".into(), "7".into());
        person
    }

    fn text(rendering: Rendering) -> String {
        let body = match rendering {
            Rendering::Shared(body) => (*body).clone(),
            Rendering::Own(body) => *body,
        };
        match body {
            Body::Sms { text } | Body::Mail { text, .. } | Body::Topic { text } | Body::Edge { text } => text,
            Body::Short(_) => panic!("nothing is rendered to it"),
        }
    }

    #[test]
    fn a_text_without_placeholders_is_rendered_once_for_all() {
        let wording = Wording::new(&request("All out now")).unwrap();
        let (a, b) = (wording.render(Channel::Sms, None, &[]), wording.render(Channel::Sms, None, &[]));
        let (Ok(Rendering::Shared(a)), Ok(Rendering::Shared(b))) = (a, b) else { panic!("not shared") };
        assert!(Arc::ptr_eq(&a, &b));
    }

    #[test]
    fn a_placeholder_is_filled_from_the_person() {
        let wording = Wording::new(&request("{{name}}, leave ward {{ward}}{{nothing}}.")).unwrap();
        let values = wording.values_for(Channel::Sms, None, &person(None));
        assert_eq!(text(wording.render(Channel::Sms, None, &values).unwrap()), "Anna, leave ward 7.");
    }

    #[test]
    fn a_broken_template_is_refused_by_the_name_of_its_text() {
        let problems = Wording::new(&request("Dear {{name")).err().unwrap();
        assert_eq!(problems[0].field, "texts.sms");
    }

    #[test]
    fn a_template_that_runs_away_is_stopped() {
        let wording = Wording::new(&request(
            "{% for a in range(10000) %}{% for b in range(10000) %}x{% endfor %}{% endfor %}",
        ))
        .unwrap();
        assert!(wording.render(Channel::Sms, None, &[]).is_err());
    }

    #[test]
    fn html_is_escaped_for_the_person_and_plain_text_is_not() {
        let mut request = request("Hi {{name}}");
        request.texts.default.mail =
            Some(records::MailText { subject: None, text: None, html: Some("<p>Hi {{name}}</p>".into()) });
        let wording = Wording::new(&request).unwrap();
        let values = vec![("name".to_owned(), "<b>".to_owned())];
        let Ok(Rendering::Own(body)) = wording.render(Channel::Mail, None, &values) else {
            panic!("not personal")
        };
        let Body::Mail { text, html, .. } = *body else { panic!("no mail") };
        assert_eq!((text.as_str(), html.as_deref()), ("Hi <b>", Some("<p>Hi &lt;b&gt;</p>")));
    }

    #[test]
    fn the_language_is_looked_up_from_the_most_to_the_least_specific() {
        let mut request = request("default");
        for language in ["sv", "zh-hant", "pt"] {
            let texts = ChannelTexts { text: Some(language.to_owned()), ..ChannelTexts::default() };
            request.texts.languages.insert(language.to_owned(), texts);
        }
        let wording = Wording::new(&request).unwrap();
        let table = [
            (None, None),
            (Some("sv"), Some("sv")),
            (Some("sv-FI"), Some("sv")),
            (Some("zh-Hant-HK"), Some("zh-hant")),
            (Some("zh-Hant-x-y"), Some("zh-hant")),
            (Some("zh"), Some("zh-hant")),
            (Some("zh-Hans"), Some("zh-hant")),
            (Some("pt-BR"), Some("pt")),
            (Some("de"), None),
        ];
        for (preferred, found) in table {
            assert_eq!(wording.language_for(preferred), found, "{preferred:?}");
        }
    }

    #[test]
    fn a_drill_is_marked_in_every_text_and_choices_stand_in_the_short_message() {
        let mut request = request("Test of the sirens");
        request.mode = Mode::Drill;
        request.require_answer = true;
        request.choices = vec![Choice { key: "1".into(), label: "I am safe".into() }];
        let wording = Wording::new(&request).unwrap();
        let sms = text(wording.render(Channel::Sms, None, &[]).unwrap());
        assert_eq!(sms, "[EXERCISE] Test of the sirens\nReply 1 = I am safe");
        let Ok(Rendering::Shared(body)) = wording.render(Channel::Mail, None, &[]) else {
            panic!("not shared")
        };
        let Body::Mail { subject, .. } = &*body else { panic!("no mail") };
        assert_eq!(subject, "[EXERCISE] Test of the sirens");
    }
}
