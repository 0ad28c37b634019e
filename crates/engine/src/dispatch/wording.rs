//! Texts of an alert by channel and language: rendered once where nothing is personal, per person where it
//! is. A text is data with placeholders, never a program.

use super::device_texts::DeviceTexts;
use crate::api::Problem;
use channels::adapt::choices_line;
use channels::drill::Mark;
use placeholders::{Escape, Text};
use records::{AlertRequest, Body, ChannelNumber, Choice, Content, Mode, Recipient};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// Octets of all parts of a content for one person: it fits into a segment with room to spare.
const CONTENT_OCTETS_MAX: usize = 384 * 1024;
/// A text may name so many different placeholders.
pub const PLACEHOLDERS_MAX: usize = 32;

/// Placeholders that everybody has, whatever their attributes.
pub const BUILT_IN: [&str; 4] = ["name", "id", "language", "time_zone"];

/// All texts of one alert, compiled.
pub struct Wording {
    /// By channel, and in that by language: the default, then those of `languages`.
    variants: Vec<Vec<Option<Variant>>>,
    /// In order.
    languages: Vec<String>,
    drill: bool,
    octets: usize,
    /// How to answer, in texts of channels without a link.
    choices: String,
    /// The texts for devices that show less than their channel carries.
    pub(super) devices: DeviceTexts,
}

pub(super) enum Variant {
    /// The same for everyone: the text, and its renderings by the mark of a drill. Of a live alert there is
    /// one.
    Shared(Content, Box<[OnceLock<Arc<Body>>]>),
    /// Rendered for each.
    Personal(Box<PersonalTexts>),
    /// It was accepted by an earlier version, and cannot be read any more: no endpoint gets it.
    Unreadable(String),
}

/// The parts of one content, and the names of their placeholders.
pub(super) struct PersonalTexts {
    text: Text,
    subject: Option<Text>,
    html: Option<Text>,
    spoken: Option<Text>,
    names: Vec<String>,
    /// Those of them that have no default somewhere.
    needed: Vec<String>,
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
    /// Reads the texts of a new alert; a problem names the text that is wrong.
    pub fn new(request: &AlertRequest) -> Result<Wording, Vec<Problem>> {
        let (wording, problems) = Wording::read(request);
        if problems.is_empty() { Ok(wording) } else { Err(problems) }
    }

    /// Reads the texts of an alert on record. One that cannot be read, because an earlier version took more,
    /// fails the endpoints that would get it and nothing else.
    pub fn on_record(request: &AlertRequest) -> Wording {
        let (wording, problems) = Wording::read(request);
        for problem in problems {
            tracing::warn!(
                field = problem.field,
                reason = problem.reason,
                "a text of an alert on record cannot be read: who would get it gets nothing"
            );
        }
        wording
    }

    fn read(request: &AlertRequest) -> (Wording, Vec<Problem>) {
        let mut wording = Wording {
            variants: Vec::with_capacity(channels::COUNT),
            languages: request.texts.languages.keys().cloned().collect(),
            drill: request.mode == Mode::Drill,
            octets: 0,
            choices: choices_line(&choices_of(request)),
            devices: DeviceTexts::new(choices_of(request), request.priority),
        };
        let mut problems = Vec::new();
        for channel in channels::ALL {
            let languages = std::iter::once(None).chain(request.texts.languages.keys().map(Some));
            let mut row = Vec::with_capacity(wording.languages.len() + 1);
            for language in languages.map(|language| language.map(String::as_str)) {
                let content = channel.content(request, language);
                let variant = content.map(|content| wording.variant_of(*channel, language, content));
                row.push(variant.map(|variant| {
                    variant.unwrap_or_else(|problem| {
                        let reason = problem.reason.clone();
                        problems.push(problem);
                        Variant::Unreadable(reason)
                    })
                }));
            }
            wording.variants.push(row);
        }
        (wording, problems)
    }

    /// Names of placeholders that have no default in one of the texts: without a value a text has a gap.
    pub fn needed(&self) -> BTreeSet<&str> {
        let personal = self.variants.iter().flatten().flatten().filter_map(|variant| match variant {
            Variant::Personal(texts) => Some(texts),
            Variant::Shared(..) | Variant::Unreadable(_) => None,
        });
        personal.flat_map(|texts| texts.needed.iter().map(String::as_str)).collect()
    }

    /// The same of the text that an endpoint gets, in order.
    pub fn needed_by(&self, channel: ChannelNumber, language: Option<&str>) -> &[String] {
        match self.variant(channel, language) {
            Some((Variant::Personal(texts), _)) => &texts.needed,
            _ => &[],
        }
    }

    /// The field of the request whose text has this placeholder without a default.
    pub fn field_with(&self, request: &AlertRequest, name: &str) -> String {
        let has = |text: Option<&String>| {
            let text = text.map(|text| Text::parse(text));
            matches!(text, Some(Ok(text)) if text.needed().contains(name))
        };
        if has(request.text.as_ref()) {
            return "text".to_owned();
        }
        if has(request.headline.as_ref()) {
            return "headline".to_owned();
        }
        for (channel, row) in channels::ALL.iter().zip(&self.variants) {
            for (place, variant) in row.iter().enumerate() {
                if let Some(Variant::Personal(texts)) = variant
                    && texts.needed.iter().any(|needed| needed == name)
                {
                    return self.field_of(request, channel.number(), self.language_at(place));
                }
            }
        }
        "text".to_owned()
    }

    /// The field of the request that a channel's text in a language is taken from.
    pub fn field_of(&self, request: &AlertRequest, channel: ChannelNumber, language: Option<&str>) -> String {
        let texts = match language {
            Some(language) => request.texts.languages.get(language),
            None => Some(&request.texts.default),
        };
        if texts.is_some_and(|texts| texts.own(channel).is_some()) {
            return field_name(channels::name(channel), language);
        }
        match language {
            Some(language) => format!("texts.{language}"),
            None if request.text.is_some() => "text".to_owned(),
            None => field_name(channels::name(channel), None),
        }
    }

    /// Every text of a channel as somebody without values gets it, with its language.
    pub fn samples(&self, channel: ChannelNumber) -> Vec<(Option<String>, Body)> {
        let row = self.variants.get(usize::from(channel.0)).map_or(&[][..], Vec::as_slice);
        let places = row.iter().enumerate().filter(|(_, variant)| variant.is_some());
        let sample = |(place, _)| {
            let language = self.language_at(place);
            let rendering = self.render(channel, language, &[]).ok()?;
            Some((language.map(str::to_owned), rendering.body().clone()))
        };
        places.filter_map(sample).collect()
    }

    pub(super) fn language_at(&self, place: usize) -> Option<&str> {
        self.languages.get(place.checked_sub(1)?).map(String::as_str)
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
            Some((Variant::Personal(texts), _)) => {
                texts.names.iter().map(|name| (name.clone(), value(person, name))).collect()
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
        let Some((variant, written_in)) = self.variant(channel, language) else {
            return Err(format!("there is no text for channel {}", channels::name(channel)));
        };
        let mark = self.mark(language, written_in);
        match variant {
            Variant::Shared(content, rendered) => {
                let rendered = &rendered[mark.map_or(0, Mark::place)];
                let body =
                    rendered.get_or_init(|| Arc::new(finished(channel, content.clone(), mark, written_in)));
                Ok(Rendering::Shared(body.clone()))
            }
            Variant::Personal(texts) => {
                let mut content = texts.fill(values)?;
                content.text.push_str(self.choices_for(channel));
                Ok(Rendering::Own(Box::new(finished(channel, content, mark, written_in))))
            }
            Variant::Unreadable(reason) => Err(reason.clone()),
        }
    }

    /// The text of an endpoint for a page that asks in its own way: without the line that says how to answer.
    pub fn shown(
        &self,
        channel: ChannelNumber,
        language: Option<&str>,
        values: &[(String, String)],
    ) -> Option<String> {
        let rendering = self.render(channel, language, values).ok()?;
        let text = &rendering.body().content()?.text;
        Some(text.strip_suffix(&self.choices).unwrap_or(text).to_owned())
    }

    /// One of the renderings for a channel, to weigh it; personal ones with empty values.
    pub fn sample(&self, channel: ChannelNumber) -> Option<Body> {
        self.render(channel, None, &[]).ok().map(|rendering| rendering.body().clone())
    }

    /// The text for a channel in a language, and the language that it is written in, where that is known.
    fn variant(&self, channel: ChannelNumber, language: Option<&str>) -> Option<(&Variant, Option<&str>)> {
        let (variant, place) = self.placed(channel, language)?;
        Some((variant, self.language_at(place)))
    }

    /// The text for a channel in a language, and its place among those of the channel.
    pub(super) fn placed(&self, channel: ChannelNumber, language: Option<&str>) -> Option<(&Variant, usize)> {
        let row = self.variants.get(usize::from(channel.0))?;
        let place = |language: &str| {
            let at = self.languages.binary_search_by(|one| one.as_str().cmp(language)).ok()?;
            Some(at + 1)
        };
        let at = |place: usize| row.get(place)?.as_ref().map(|variant| (variant, place));
        // An alert may have texts in some languages and no default: the first one is better than silence.
        let found = language.and_then(place).and_then(at).or_else(|| at(0));
        found.or_else(|| (1..row.len()).find_map(at))
    }

    /// The mark of a drill for who reads `preferred` and gets a text in `written_in`.
    pub(super) fn mark(&self, preferred: Option<&str>, written_in: Option<&str>) -> Option<Mark> {
        let mark =
            || preferred.and_then(Mark::of).or_else(|| written_in.and_then(Mark::of)).unwrap_or_default();
        self.drill.then(mark)
    }

    fn variant_of(
        &mut self,
        channel: &dyn channels::Channel,
        language: Option<&str>,
        mut content: Content,
    ) -> Result<Variant, Problem> {
        self.octets += content.octets();
        let parts =
            [Some(&content.text), content.subject.as_ref(), content.html.as_ref(), content.spoken.as_ref()];
        if parts.into_iter().flatten().any(|text| Text::has_marks(text)) {
            let texts = PersonalTexts::read(&content);
            let texts =
                texts.map_err(|reason| Problem { field: field_name(channel.name(), language), reason })?;
            return Ok(Variant::Personal(Box::new(texts)));
        }
        content.text.push_str(self.choices_for(channel.number()));
        let marks = if self.drill { Mark::COUNT } else { 1 };
        Ok(Variant::Shared(content, (0..marks).map(|_| OnceLock::new()).collect()))
    }

    /// The line at the end of a channel's texts that says how to answer; empty: there is none.
    pub(super) fn choices_for(&self, channel: ChannelNumber) -> &str {
        if channels::traits(channel).choices_line { &self.choices } else { "" }
    }
}

impl PersonalTexts {
    fn read(content: &Content) -> Result<PersonalTexts, String> {
        let read = |text: &String| Text::parse(text).map_err(|error| error.to_string());
        let optional = |text: &Option<String>| text.as_ref().map(read).transpose();
        let mut texts = PersonalTexts {
            text: read(&content.text)?,
            subject: optional(&content.subject)?,
            html: optional(&content.html)?,
            spoken: optional(&content.spoken)?,
            names: Vec::new(),
            needed: Vec::new(),
        };
        let names: BTreeSet<String> = texts.parts().flat_map(Text::names).map(str::to_owned).collect();
        if names.len() > PLACEHOLDERS_MAX {
            return Err(format!("names {} placeholders, over the limit of {PLACEHOLDERS_MAX}", names.len()));
        }
        texts.names = names.into_iter().collect();
        let needed: BTreeSet<String> = texts.parts().flat_map(Text::needed).map(str::to_owned).collect();
        texts.needed = needed.into_iter().collect();
        Ok(texts)
    }

    fn parts(&self) -> impl Iterator<Item = &Text> {
        [Some(&self.text), self.subject.as_ref(), self.html.as_ref(), self.spoken.as_ref()]
            .into_iter()
            .flatten()
    }

    pub(super) fn fill(&self, values: &[(String, String)]) -> Result<Content, String> {
        let value_of =
            |name: &str| values.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str());
        let fill = |text: &Text, escape| match text.fill(escape, value_of) {
            Ok(filled) => Ok(filled.text),
            Err(error) => Err(error.to_string()),
        };
        let optional = |text: &Option<Text>, escape| text.as_ref().map(|text| fill(text, escape)).transpose();
        let content = Content {
            text: fill(&self.text, Escape::Plain)?,
            subject: optional(&self.subject, Escape::Plain)?,
            html: optional(&self.html, Escape::Html)?,
            spoken: optional(&self.spoken, Escape::Plain)?,
        };
        let octets = content.octets();
        if octets > CONTENT_OCTETS_MAX {
            return Err(format!(
                "with this person's values it has {octets} octets, over the limit of {CONTENT_OCTETS_MAX}"
            ));
        }
        Ok(content)
    }
}

/// A text for everyone at once, as in lists: `…` stands for each placeholder. What cannot be read stays as it
/// is.
pub fn without_values(text: &str) -> String {
    if !Text::has_marks(text) {
        return text.to_owned();
    }
    Text::parse(text).map_or_else(|_| text.to_owned(), |text| text.without_values())
}

/// A rendered text with the mark of a drill, and what follows from it.
fn finished(
    channel: ChannelNumber,
    mut content: Content,
    mark: Option<Mark>,
    written_in: Option<&str>,
) -> Body {
    if let Some(mark) = mark {
        mark.put_on(&mut content, channels::traits(channel).mark_last);
    }
    body(channel, content, written_in)
}

/// A rendered text, completed with what follows from it.
pub(super) fn body(channel: ChannelNumber, mut content: Content, written_in: Option<&str>) -> Body {
    if let Some(channel) = channels::of(channel) {
        channel.complete(&mut content);
    }
    match written_in {
        Some(language) => Body::Translated(language.into(), content),
        None => Body::Content(content),
    }
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

/// What a text says how to choose: it has no link to press.
fn choices_of(request: &AlertRequest) -> Vec<Choice> {
    if request.require_answer { request.choices.clone() } else { Vec::new() }
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
    fn a_program_is_refused_and_on_record_it_fails_its_endpoints_alone() {
        for text in [
            "{% for a in range(10000) %}{% for b in range(10000) %}x{% endfor %}{% endfor %}",
            "{% set a='a'*20000000 %}{{a|upper}}",
            "{{ 'a'*100000000 }}",
            "{{ 1/0 }}",
        ] {
            let mut request = request(text);
            request.texts.default.own.insert(channels::MAIL, OwnText::of_text("All out"));
            let problems = Wording::new(&request).err().unwrap();
            assert_eq!(problems[0].field, "texts.sms");
            assert!(problems[0].reason.contains("at character 1"), "{}", problems[0].reason);
            let wording = Wording::on_record(&request);
            assert!(wording.render(channels::SMS, None, &[]).is_err());
            assert_eq!(self::text(wording.render(channels::MAIL, None, &[]).unwrap()), "All out");
        }
    }

    #[test]
    fn labels_of_choices_are_no_placeholders() {
        let mut request = request("{{name}}, are you safe?");
        request.require_answer = true;
        request.choices = vec![Choice { key: "1".into(), label: "{{ward}} {% yes".into() }];
        let wording = Wording::new(&request).unwrap();
        let values = [("name".to_owned(), "Anna".to_owned())];
        let sms = text(wording.render(channels::SMS, None, &values).unwrap());
        assert_eq!(sms, "Anna, are you safe?\nReply 1 = {{ward}} {% yes");
    }

    #[test]
    fn a_text_names_the_placeholders_that_it_needs_and_shows_none_in_lists() {
        let wording = Wording::new(&request("{{name}} {{ward|default('all')}} {{floor}}")).unwrap();
        assert_eq!(wording.needed().into_iter().collect::<Vec<_>>(), ["floor", "name"]);
        assert_eq!(without_values("{{name}}, leave"), "…, leave");
        assert_eq!(without_values("50{% off"), "50{% off");
    }

    #[test]
    fn a_content_that_is_too_large_for_a_segment_is_no_content() {
        let mut request = request("{{name}}");
        let long = format!("{{{{name}}}}{}", "x".repeat(250_000));
        let own = OwnText { text: Some(long.clone()), html: Some(long), ..OwnText::default() };
        request.texts.default.own.insert(channels::MAIL, own);
        let wording = Wording::new(&request).unwrap();
        let error = wording.render(channels::MAIL, None, &[]).err().unwrap();
        assert!(error.contains("over the limit of 393216"), "{error}");
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
