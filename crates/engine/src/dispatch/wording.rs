//! Texts of an alert by channel and language: rendered once where nothing is personal, per person where it
//! is.

use crate::api::Problem;
use channels::drill::Mark;
use minijinja::{Environment, UndefinedBehavior};
use records::{AlertRequest, Body, ChannelNumber, Choice, Content, Mode, Recipient};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// A template may use so much fuel (about one unit an instruction): enough for a long text, too little to
/// hold a core.
const TEMPLATE_FUEL: u64 = 50_000;
/// A text may name so many different placeholders.
pub const PLACEHOLDERS_MAX: usize = 32;

/// All texts of one alert, compiled.
pub struct Wording {
    templates: Environment<'static>,
    /// By channel, and in that by language: the default, then those of `languages`.
    variants: Vec<Vec<Option<Variant>>>,
    /// In order.
    languages: Vec<String>,
    drill: bool,
    octets: usize,
}

enum Variant {
    /// The same for everyone: the text, and its renderings by the mark of a drill. Of a live alert there is
    /// one.
    Shared(Content, Box<[OnceLock<Arc<Body>>]>),
    /// Rendered for each.
    Personal(TemplateNames),
}

/// Names of the templates of one rendering, and the placeholders in them.
struct TemplateNames {
    text: String,
    subject: Option<String>,
    html: Option<String>,
    spoken: Option<String>,
    placeholders: Vec<String>,
}

/// A rendering for one endpoint.
pub enum Rendering {
    /// Shared with all of the same channel and language.
    Shared(Arc<Body>),
    /// This endpoint's own.
    Own(Box<Body>),
}

impl Rendering {
    /// The message.
    pub fn body(&self) -> &Body {
        match self {
            Rendering::Shared(body) => body,
            Rendering::Own(body) => body,
        }
    }
}

impl Wording {
    /// Compiles an alert's texts; a problem names the text that is wrong.
    pub fn new(request: &AlertRequest) -> Result<Wording, Vec<Problem>> {
        let mut wording = Wording {
            templates: environment(),
            variants: Vec::with_capacity(channels::COUNT),
            languages: request.texts.languages.keys().cloned().collect(),
            drill: request.mode == Mode::Drill,
            octets: 0,
        };
        let mut problems = Vec::new();
        for channel in channels::ALL {
            let languages = std::iter::once(None).chain(request.texts.languages.keys().map(Some));
            let mut row = Vec::with_capacity(wording.languages.len() + 1);
            for language in languages.map(|language| language.map(String::as_str)) {
                let content = channel.content(request, language).map(|mut content| {
                    if channel.traits().choices_line {
                        content.text.push_str(&choices_line(request));
                    }
                    content
                });
                let variant = content.map(|content| wording.variant_of(*channel, language, content));
                row.push(variant.transpose().unwrap_or_else(|problem| {
                    problems.push(problem);
                    None
                }));
            }
            wording.variants.push(row);
        }
        if problems.is_empty() { Ok(wording) } else { Err(problems) }
    }

    /// There is no text for any channel.
    pub fn is_empty(&self) -> bool {
        self.variants.iter().flatten().all(Option::is_none)
    }

    /// Octets of the texts as they were given.
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// The language of this alert's texts that suits somebody who prefers `preferred`: RFC 4647, 3.4 lookup,
    /// and where that finds nothing the first text in the same language for another region, which is better
    /// understood than the default. Nothing is the default. In a drill who gets the default text is also told
    /// the language of their mark, if there is a mark in it.
    pub fn language_for(&self, preferred: Option<&str>) -> Option<&str> {
        let preferred = preferred?;
        let own_mark = || Mark::of(preferred).filter(|_| self.drill).map(Mark::language);
        self.text_language_for(preferred).or_else(own_mark)
    }

    fn text_language_for(&self, preferred: &str) -> Option<&str> {
        if self.languages.is_empty() {
            return None;
        }
        let mut range = preferred.to_ascii_lowercase();
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
        channel: ChannelNumber,
        language: Option<&str>,
        person: &Recipient,
    ) -> Vec<(String, String)> {
        match self.variant(channel, language) {
            Some((Variant::Personal(parts), _)) => {
                parts.placeholders.iter().map(|name| (name.clone(), value(person, name))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The message of an endpoint; fails if there is no text for its channel. `language` is one that
    /// [`Wording::language_for`] gave.
    pub fn render(
        &self,
        channel: ChannelNumber,
        language: Option<&str>,
        values: &[(String, String)],
    ) -> Result<Rendering, String> {
        let Some((variant, mark)) = self.variant(channel, language) else {
            return Err(format!("there is no text for channel {}", channels::name(channel)));
        };
        match variant {
            Variant::Shared(content, rendered) => {
                let rendered = &rendered[mark.map_or(0, Mark::place)];
                let body = rendered.get_or_init(|| Arc::new(finished(channel, content.clone(), mark)));
                Ok(Rendering::Shared(body.clone()))
            }
            Variant::Personal(parts) => {
                let content = self.personal(parts, values)?;
                Ok(Rendering::Own(Box::new(finished(channel, content, mark))))
            }
        }
    }

    /// The text of an endpoint for a page that asks in its own way: without the line that says how to answer.
    pub fn shown(
        &self,
        request: &AlertRequest,
        channel: ChannelNumber,
        language: Option<&str>,
        values: &[(String, String)],
    ) -> Option<String> {
        let rendering = self.render(channel, language, values).ok()?;
        let text = &rendering.body().content()?.text;
        let how = choices_line(request);
        Some(text.strip_suffix(&how).unwrap_or(text).to_owned())
    }

    /// One of the renderings for a channel, to weigh it; personal ones with empty values.
    pub fn sample(&self, channel: ChannelNumber) -> Option<Body> {
        self.render(channel, None, &[]).ok().map(|rendering| rendering.body().clone())
    }

    /// The text for a channel in a language, and the mark it gets in a drill.
    fn variant(&self, channel: ChannelNumber, language: Option<&str>) -> Option<(&Variant, Option<Mark>)> {
        let row = self.variants.get(usize::from(channel.0))?;
        let place = |language: &str| {
            let at = self.languages.binary_search_by(|one| one.as_str().cmp(language)).ok()?;
            Some(at + 1)
        };
        let at = |place: usize| row.get(place)?.as_ref().map(|variant| (variant, place));
        // An alert may have texts in some languages and no default: the first one is better than silence.
        let found = language.and_then(place).and_then(at).or_else(|| at(0));
        let (variant, place) = found.or_else(|| (1..row.len()).find_map(at))?;
        let of_text = || place.checked_sub(1).and_then(|place| Mark::of(&self.languages[place]));
        let mark = || language.and_then(Mark::of).or_else(of_text).unwrap_or_default();
        Some((variant, self.drill.then(mark)))
    }

    fn variant_of(
        &mut self,
        channel: &dyn channels::Channel,
        language: Option<&str>,
        content: Content,
    ) -> Result<Variant, Problem> {
        self.octets += content.octets();
        let is_template = |text: &str| text.contains("{{") || text.contains("{%") || text.contains("{#");
        let others = [&content.subject, &content.html, &content.spoken];
        if is_template(&content.text) || others.into_iter().flatten().any(|text| is_template(text)) {
            return self.compile(&field_name(channel.name(), language), content).map(Variant::Personal);
        }
        let marks = if self.drill { Mark::COUNT } else { 1 };
        Ok(Variant::Shared(content, (0..marks).map(|_| OnceLock::new()).collect()))
    }

    fn compile(&mut self, field: &str, content: Content) -> Result<TemplateNames, Problem> {
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
        let text = add("text", content.text).map_err(problem)?;
        let subject = content.subject.map(|text| add("subject", text)).transpose().map_err(problem)?;
        let html = content.html.map(|text| add("html", text)).transpose().map_err(problem)?;
        let spoken = content.spoken.map(|text| add("spoken", text)).transpose().map_err(problem)?;
        let names = [Some(&text), subject.as_ref(), html.as_ref(), spoken.as_ref()];
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
        Ok(TemplateNames { text, subject, html, spoken, placeholders })
    }

    fn personal(&self, parts: &TemplateNames, values: &[(String, String)]) -> Result<Content, String> {
        let context: BTreeMap<String, minijinja::Value> =
            values.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let context = minijinja::Value::from(context);
        let render = |name: &String| {
            let template = self.templates.get_template(name).map_err(|error| error.to_string())?;
            template.render(context.clone()).map_err(|error| error.to_string())
        };
        Ok(Content {
            text: render(&parts.text)?,
            subject: parts.subject.as_ref().map(render).transpose()?,
            html: parts.html.as_ref().map(render).transpose()?,
            spoken: parts.spoken.as_ref().map(render).transpose()?,
        })
    }
}

fn environment() -> Environment<'static> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Lenient);
    templates.set_fuel(Some(TEMPLATE_FUEL));
    templates
}

/// A rendered text with the mark of a drill, and what follows from it.
fn finished(channel: ChannelNumber, mut content: Content, mark: Option<Mark>) -> Body {
    if let Some(mark) = mark {
        mark.put_on(&mut content, channels::traits(channel).mark_last);
    }
    if let Some(channel) = channels::of(channel) {
        channel.complete(&mut content);
    }
    Body::Content(content)
}

fn field_name(channel: &str, language: Option<&str>) -> String {
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

/// The line of a text that says how to answer it: it has no link to press.
fn choices_line(request: &AlertRequest) -> String {
    if !request.require_answer || request.choices.is_empty() {
        return String::new();
    }
    let list: Vec<String> =
        request.choices.iter().map(|Choice { key, label }| format!("{key} = {label}")).collect();
    format!("\nReply {}", list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;
    use records::{ChannelTexts, OwnText};

    fn person(language: Option<&str>) -> Recipient {
        let mut person =
            Recipient { name: "Anna".into(), language: language.map(str::to_owned), ..Recipient::default() };
        person.attributes.insert("ward".into(), "7".into());
        person
    }

    fn text(rendering: Rendering) -> String {
        rendering.body().content().expect("it is rendered").text.clone()
    }

    #[test]
    fn a_text_without_placeholders_is_rendered_once_for_all() {
        let wording = Wording::new(&request("All out now")).unwrap();
        let (a, b) = (wording.render(channels::SMS, None, &[]), wording.render(channels::SMS, None, &[]));
        let (Ok(Rendering::Shared(a)), Ok(Rendering::Shared(b))) = (a, b) else { panic!("not shared") };
        assert!(Arc::ptr_eq(&a, &b));
    }

    #[test]
    fn a_placeholder_is_filled_from_the_person() {
        let wording = Wording::new(&request("{{name}}, leave ward {{ward}}{{nothing}}.")).unwrap();
        let values = wording.values_for(channels::SMS, None, &person(None));
        assert_eq!(text(wording.render(channels::SMS, None, &values).unwrap()), "Anna, leave ward 7.");
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
        assert!(wording.render(channels::SMS, None, &[]).is_err());
    }

    #[test]
    fn html_is_escaped_for_the_person_and_plain_text_is_not() {
        let mut request = request("Hi {{name}}");
        let own = OwnText { html: Some("<p>Hi {{name}}</p>".into()), ..OwnText::default() };
        request.texts.default.own.insert(channels::MAIL, own);
        let wording = Wording::new(&request).unwrap();
        let values = vec![("name".to_owned(), "<b>".to_owned())];
        let Ok(Rendering::Own(body)) = wording.render(channels::MAIL, None, &values) else {
            panic!("not personal")
        };
        let Content { text, html, .. } = body.content().unwrap();
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
        let sms = text(wording.render(channels::SMS, None, &[]).unwrap());
        assert_eq!(sms, "[EXERCISE] Test of the sirens\nReply 1 = I am safe");
        let mail = wording.render(channels::MAIL, None, &[]).unwrap();
        let mail = mail.body().content().unwrap();
        assert_eq!(mail.subject.as_deref(), Some("[EXERCISE] Test of the sirens"));
        assert_eq!(mail.text, "[EXERCISE] Test of the sirens\n[EXERCISE]");
    }

    #[test]
    fn every_text_of_a_drill_is_marked_in_the_persons_language() {
        let mut request = request("Test of the sirens");
        request.mode = Mode::Drill;
        for (language, text) in [("sv", "Prov"), ("rm", "Emprova")] {
            let texts = ChannelTexts { text: Some(text.into()), ..ChannelTexts::default() };
            request.texts.languages.insert(language.into(), texts);
        }
        let wording = Wording::new(&request).unwrap();
        for channel in channels::numbers() {
            for (preferred, expected) in [
                (None, "[EXERCISE] Test of the sirens"),
                (Some("sv-FI"), "[ÖVNING] Prov"),
                // The default text, in whichever language it is: the person understands the mark.
                (Some("de-CH"), "[ÜBUNG] Test of the sirens"),
                (Some("rm"), "[EXERCISE] Emprova"),
                (Some("tlh"), "[EXERCISE] Test of the sirens"),
            ] {
                let language = wording.language_for(preferred);
                let text = text(wording.render(channel, language, &[]).unwrap());
                assert!(text.starts_with(expected), "{} {preferred:?}: {text}", channels::name(channel));
            }
        }
        let (a, b) =
            (wording.render(channels::SMS, Some("de"), &[]), wording.render(channels::SMS, Some("de"), &[]));
        let (Ok(Rendering::Shared(a)), Ok(Rendering::Shared(b))) = (a, b) else { panic!("not shared") };
        assert!(Arc::ptr_eq(&a, &b), "a marked text is made once");
    }

    #[test]
    fn a_personal_text_of_a_drill_is_marked_and_who_has_no_language_gets_the_mark_of_the_text() {
        let mut request = request("Hi {{name}}");
        request.mode = Mode::Drill;
        request.text = None;
        let texts = ChannelTexts { text: Some("Hej {{name}}".into()), ..ChannelTexts::default() };
        request.texts.languages.insert("sv".into(), texts);
        let wording = Wording::new(&request).unwrap();
        let values = [("name".to_owned(), "Anna".to_owned())];
        assert_eq!(text(wording.render(channels::SMS, None, &values).unwrap()), "[ÖVNING] Hej Anna");
        let mail = text(wording.render(channels::MAIL, wording.language_for(Some("de")), &values).unwrap());
        assert_eq!(mail, "[ÜBUNG] Hej Anna\n[ÜBUNG]");
    }

    #[test]
    fn every_channel_may_have_a_text_of_its_own() {
        let mut request = request("for all");
        for channel in channels::numbers() {
            request
                .texts
                .default
                .own
                .insert(channel, OwnText::of_text(format!("for {}", channels::name(channel))));
        }
        let wording = Wording::new(&request).unwrap();
        for channel in channels::numbers() {
            let text = text(wording.render(channel, None, &[]).unwrap());
            assert_eq!(text, format!("for {}", channels::name(channel)));
        }
    }
}
