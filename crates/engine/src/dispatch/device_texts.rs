//! Texts for devices that show less than their channel carries: made once for all devices of one profile that
//! get the same text, as the text itself is.

use super::wording::{Rendering, Variant, Wording, body};
use channels::adapt::{Frame, adapted};
use channels::drill::Mark;
use records::{Body, ChannelNumber, Choice, Content, DeviceProfile, Priority};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Texts that stay of one alert; those of more profiles are made for each device.
const KEPT_MAX: usize = 256;

/// See the module.
pub(super) struct DeviceTexts {
    /// What can be chosen, where an answer is asked for.
    choices: Vec<Choice>,
    priority: Priority,
    made: Mutex<FxHashMap<TextKey, Result<Arc<Body>, String>>>,
}

/// What an adapted text follows from.
#[derive(PartialEq, Eq, Hash)]
struct TextKey {
    channel: ChannelNumber,
    /// The place of the text among those of the channel.
    text: usize,
    mark: Option<usize>,
    profile: DeviceProfile,
}

impl DeviceTexts {
    pub(super) fn new(choices: Vec<Choice>, priority: Priority) -> DeviceTexts {
        DeviceTexts { choices, priority, made: Mutex::default() }
    }

    /// The text of this key, made now if it was not made before.
    fn shared(&self, key: TextKey, make: impl FnOnce() -> Result<Body, String>) -> Result<Rendering, String> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.get(&key) {
            return known.clone().map(Rendering::Shared);
        }
        if made.len() >= KEPT_MAX {
            return make().map(|body| Rendering::Own(Box::new(body)));
        }
        let body = make().map(Arc::new);
        made.insert(key, body.clone());
        body.map(Rendering::Shared)
    }
}

impl Wording {
    /// The message of an endpoint whose device shows no more than its profile says; as [`Wording::render`]
    /// where there is none. Whether it has a link is not the text's business.
    ///
    /// # Errors
    /// There is no text for the channel, or nobody would understand it on such a device.
    pub fn render_for(
        &self,
        channel: ChannelNumber,
        language: Option<&str>,
        values: &[(String, String)],
        profile: Option<DeviceProfile>,
    ) -> Result<Rendering, String> {
        let Some(profile) = profile.map(of_text).filter(|profile| !profile.is_empty()) else {
            return self.render(channel, language, values);
        };
        let Some((variant, text)) = self.placed(channel, language) else {
            return self.render(channel, language, values);
        };
        let written_in = self.language_at(text);
        let mark = self.mark(language, written_in);
        let line = self.choices_for(channel);
        let make = |content: Content| self.adapt(channel, content, written_in, mark, &profile);
        match variant {
            Variant::Shared(content, _) => {
                let key = TextKey { channel, text, mark: mark.map(Mark::place), profile };
                self.devices.shared(key, || {
                    let text = content.text.strip_suffix(line).unwrap_or(&content.text).to_owned();
                    make(Content { text, ..content.clone() })
                })
            }
            Variant::Personal(texts) => {
                texts.fill(values).and_then(make).map(|body| Rendering::Own(Box::new(body)))
            }
            Variant::Unreadable(reason) => Err(reason.clone()),
        }
    }

    fn adapt(
        &self,
        channel: ChannelNumber,
        content: Content,
        written_in: Option<&str>,
        mark: Option<Mark>,
        profile: &DeviceProfile,
    ) -> Result<Body, String> {
        let traits = channels::traits(channel);
        let choices = if traits.choices_line { &self.devices.choices[..] } else { &[] };
        let frame = Frame {
            mark,
            mark_last: traits.mark_last,
            choices,
            headline_in_text: traits.headline_in_text,
            priority: self.devices.priority,
        };
        let content = adapted(content, profile, &frame).map_err(|error| error.to_string())?;
        Ok(body(channel, content, written_in))
    }
}

/// What of a profile changes a text.
fn of_text(profile: DeviceProfile) -> DeviceProfile {
    DeviceProfile { links: None, ..profile }
}
