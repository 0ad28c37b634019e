//! Preview of an alert: each text as dispatch would render it and as a route would write it, for a person or
//! with examples in place of values. Nothing is stored or sent.

use crate::api::{EngineError, Parts, Problem};
use crate::dispatch::{BUILT_IN, Wording};
use crate::run::{Engine, routes_of, store_error};
use channels::drill::Mark;
use records::{
    AlertNo, AlertRequest, ChannelNumber, Content, DeviceProfile, EndpointNo, MessagePreview, Mode,
    PreviewSource, Recipient, Route,
};

/// Texts of one preview; of more their number is told.
pub const PREVIEWS_MAX: usize = 200;

/// What is to be shown.
#[derive(Debug, Clone)]
pub struct PreviewRequest {
    /// Whose.
    pub account: String,
    /// It may lack members.
    pub request: AlertRequest,
    /// Whose devices and values; nothing: examples.
    pub recipient: Option<Recipient>,
    /// Devices to show it on, beside those that show all that their channel carries.
    pub profiles: Vec<(ChannelNumber, DeviceProfile)>,
}

/// An alert's texts.
#[derive(Debug, Clone, Default)]
pub struct AlertPreview {
    /// By channel, language and profile.
    pub texts: Vec<PreviewedText>,
    /// Texts beyond [`PREVIEWS_MAX`].
    pub more: u64,
    /// As a voice would say it, by language; nothing is the default.
    pub spoken: Vec<(Option<String>, String)>,
    /// Placeholders for which nobody of the account has a value.
    pub missing: Vec<String>,
    /// What is wrong with the texts.
    pub problems: Vec<Problem>,
}

/// A text as it goes out.
#[derive(Debug, Clone)]
pub struct PreviewedText {
    /// By which channel.
    pub channel: ChannelNumber,
    /// The language of the text, or of the mark of a drill; nothing: the default.
    pub language: Option<String>,
    /// What the device shows, where that is less than its channel carries.
    pub profile: Option<DeviceProfile>,
    /// Of the person's device.
    pub address: Option<String>,
    /// The route that would write it; nothing: there is none.
    pub route: Option<String>,
    /// A line above the text.
    pub headline: Option<String>,
    /// How it reads.
    pub message: MessagePreview,
    /// Messages that it becomes, as the route counts them; 0: nothing is sent.
    pub parts: u32,
    /// An answer link as people get it; this one leads nowhere.
    pub link: Option<String>,
    /// Placeholders without a value and without a default.
    pub missing: Vec<String>,
    /// Why there is no text.
    pub problem: Option<String>,
}

/// A device that a text is for.
struct PreviewDevice<'a> {
    channel: ChannelNumber,
    language: Option<&'a str>,
    profile: Option<DeviceProfile>,
    address: Option<&'a str>,
}

/// Makes previews.
#[derive(Clone)]
pub struct AlertPreviews {
    engine: Engine,
}

impl AlertPreviews {
    /// Of what an engine would send.
    pub fn of(engine: &Engine) -> AlertPreviews {
        AlertPreviews { engine: engine.clone() }
    }

    /// The texts of a request.
    ///
    /// # Errors
    /// The store's.
    pub async fn preview(&self, asked: PreviewRequest) -> Result<AlertPreview, EngineError> {
        let wording = match Wording::new(&asked.request) {
            Ok(wording) => wording,
            Err(problems) => return Ok(AlertPreview { problems, ..AlertPreview::default() }),
        };
        let store = &self.engine.parts().store;
        let needed: Vec<String> = wording.needed().into_iter().map(str::to_owned).collect();
        let asked_for: Vec<String> =
            needed.iter().filter(|name| !BUILT_IN.contains(&name.as_str())).cloned().collect();
        let missing = match asked_for.is_empty() {
            true => Vec::new(),
            false => {
                store::unused_attributes(store, &asked.account, &asked_for).await.map_err(store_error)?
            }
        };
        let (parts, routes) = (self.engine.parts().clone(), routes_of(&self.engine));
        let work = move || {
            let example = example(&needed);
            let previewer = Previewer {
                parts: &parts,
                routes: &routes,
                wording: &wording,
                asked: &asked,
                example: &example,
            };
            let (texts, more) = previewer.texts();
            AlertPreview { texts, more, spoken: previewer.spoken(), missing, problems: Vec::new() }
        };
        tokio::task::spawn_blocking(work).await.map_err(|error| EngineError::Internal(error.to_string()))
    }
}

/// Somebody who has a value for each placeholder: the attribute's name.
fn example(needed: &[String]) -> Recipient {
    Recipient {
        id: "1042".to_owned(),
        name: "Anna Ek".to_owned(),
        language: Some("en".to_owned()),
        time_zone: Some("Europe/Stockholm".to_owned()),
        attributes: needed.iter().map(|name| (name.clone(), name.clone())).collect(),
        ..Recipient::default()
    }
}

struct Previewer<'a> {
    parts: &'a Parts,
    routes: &'a [Route],
    wording: &'a Wording,
    asked: &'a PreviewRequest,
    example: &'a Recipient,
}

impl<'a> Previewer<'a> {
    fn texts(&self) -> (Vec<PreviewedText>, u64) {
        let devices = match &self.asked.recipient {
            Some(person) => self.devices_of(person),
            None => self.devices(),
        };
        let more = devices.len().saturating_sub(PREVIEWS_MAX) as u64;
        (devices.into_iter().take(PREVIEWS_MAX).map(|device| self.text(&device)).collect(), more)
    }

    fn devices_of(&self, person: &'a Recipient) -> Vec<PreviewDevice<'a>> {
        let language = self.wording.language_for(person.language.as_deref());
        let devices = person.devices.iter().filter(|device| self.is_wanted(device.channel));
        let of = |device: &'a records::Device| PreviewDevice {
            channel: device.channel,
            language,
            profile: device.profile,
            address: Some(&device.address),
        };
        devices.map(of).collect()
    }

    /// Each channel that a route carries, in each language that it has a text in, on each kind of device.
    fn devices(&self) -> Vec<PreviewDevice<'a>> {
        let request = &self.asked.request;
        let languages = || std::iter::once(None).chain(request.texts.languages.keys().map(Some));
        let mut devices = Vec::new();
        for channel in channels::ALL.iter().filter(|channel| self.is_shown(channel.number())) {
            let number = channel.number();
            let of_channel = self.asked.profiles.iter().filter(|(of, _)| *of == number);
            for language in languages().map(|language| language.map(String::as_str)) {
                if channel.content(request, language).is_none() {
                    continue;
                }
                let profiles = std::iter::once(None).chain(of_channel.clone().map(|(_, of)| Some(*of)));
                devices.extend(profiles.map(|profile| PreviewDevice {
                    channel: number,
                    language,
                    profile,
                    address: None,
                }));
            }
        }
        devices
    }

    fn is_wanted(&self, channel: ChannelNumber) -> bool {
        let channels = &self.asked.request.channels;
        channels.is_empty() || channels.contains(&channel)
    }

    /// A channel that the request names, or else one that a route carries.
    fn is_shown(&self, channel: ChannelNumber) -> bool {
        self.is_wanted(channel)
            && (!self.asked.request.channels.is_empty() || self.route(channel, None).is_some())
    }

    /// The first route that would take it.
    fn route(&self, channel: ChannelNumber, address: Option<&str>) -> Option<&'a Route> {
        let account = &self.asked.account;
        self.routes.iter().find(|route| {
            let is_its = route.accounts.is_empty() || route.accounts.iter().any(|own| own == account);
            let is_near = route.prefixes.is_empty()
                || address
                    .is_none_or(|to| route.prefixes.iter().any(|prefix| to.starts_with(prefix.as_str())));
            route.channel == channel && route.mode == self.asked.request.mode && is_its && is_near
        })
    }

    fn text(&self, device: &PreviewDevice<'_>) -> PreviewedText {
        let (request, channel) = (&self.asked.request, device.channel);
        let person = self.asked.recipient.as_ref().unwrap_or(self.example);
        let values = self.wording.values_for(channel, device.language, person);
        let has_value = |name: &String| values.iter().any(|(of, value)| of == name && !value.is_empty());
        let needed = self.wording.needed_by(channel, device.language);
        let route = self.route(channel, device.address);
        let mut text = PreviewedText {
            channel,
            language: device.language.map(str::to_owned),
            profile: device.profile,
            address: device.address.map(|address| channels::shown(channel, address).into_owned()),
            route: route.map(|route| route.name.clone()),
            headline: None,
            message: MessagePreview::default(),
            parts: 0,
            link: self.link(device),
            missing: needed.iter().filter(|name| !has_value(name)).cloned().collect(),
            problem: None,
        };
        match self.wording.render_for(channel, device.language, &values, device.profile) {
            Ok(rendering) => {
                let body = rendering.body();
                let source = PreviewSource {
                    body,
                    link: text.link.as_deref(),
                    answer: request.require_answer,
                    choices: &request.choices,
                    flash: request.flash,
                };
                text.message = match route {
                    Some(route) => self.parts.weigher.preview(route, &source),
                    None => MessagePreview::as_it_is(&source),
                };
                text.parts = route.map_or(0, |route| self.parts.weigher.units(route, body).max(1));
                text.headline = body.content().and_then(|content| content.subject.clone());
            }
            Err(reason) => text.problem = Some(reason),
        }
        text
    }

    /// A link as it stands in a message; no alert has this number.
    fn link(&self, device: &PreviewDevice<'_>) -> Option<String> {
        let shows_link = device.profile.is_none_or(|profile| profile.links != Some(false));
        let has_link = channels::traits(device.channel).reply_link && shows_link;
        let wants_link = self.asked.request.require_answer && has_link;
        wants_link.then(|| self.parts.links.link(AlertNo(0), EndpointNo(0))).flatten()
    }

    /// The text of each language in words alone.
    fn spoken(&self) -> Vec<(Option<String>, String)> {
        let request = &self.asked.request;
        let languages = std::iter::once(None).chain(request.texts.languages.keys().map(Some));
        let person = self.asked.recipient.as_ref().unwrap_or(self.example);
        let said = |language: Option<&String>| {
            let language = language.map(String::as_str);
            let has_text =
                |channel: &&&'static dyn channels::Channel| channel.content(request, language).is_some();
            let channel = channels::ALL.iter().find(has_text)?.number();
            let values = self.wording.values_for(channel, language, person);
            let rendering = self.wording.render(channel, language, &values).ok()?;
            let content = rendering.body().content()?;
            Some((language.map(str::to_owned), in_words(content, request.mode, language)))
        };
        languages.filter_map(said).collect()
    }
}

/// A text to be read out: its own words, or the text without links, the mark of a drill as a word.
fn in_words(content: &Content, mode: Mode, language: Option<&str>) -> String {
    if let Some(spoken) = &content.spoken {
        return spoken.clone();
    }
    let mark = (mode == Mode::Drill).then(|| language.and_then(Mark::of).unwrap_or_default());
    let is_link = |word: &&str| {
        let word = word.trim_start_matches(['(', '<', '"', '\'']);
        ["http://", "https://", "www."].iter().any(|start| word.starts_with(start))
    };
    let line =
        |line: &str| line.split_whitespace().filter(|word| !is_link(word)).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = content.text.lines().map(line).filter(|line| !line.is_empty()).collect();
    let words = lines.join("\n");
    match mark {
        Some(mark) => words.replace(mark.text(), &format!("{}.", mark.word())),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_out_has_no_links_and_the_mark_as_a_word() {
        let text = "[ÖVNING] Läs mer: https://x.example/a\n\n(https://x.example)\nGå ut";
        let content = Content::of_text(text.to_owned());
        assert_eq!(in_words(&content, Mode::Drill, Some("sv")), "ÖVNING. Läs mer:\nGå ut");
        assert_eq!(in_words(&content, Mode::Live, None), "[ÖVNING] Läs mer:\nGå ut");
        let content = Content { spoken: Some("Go out".to_owned()), ..content };
        assert_eq!(in_words(&content, Mode::Live, None), "Go out");
    }
}
