//! Checks of an alert's texts against who and what it goes to: placeholders that nothing can fill, and texts
//! that no message of a channel can carry.

use super::actor::store_error;
use super::submit::RequestCheck;
use crate::api::{EngineError, Problem, UnitsEstimator};
use crate::dispatch::{BUILT_IN, Wording};
use crate::nearest::nearest;
use crate::solve::audience::To;
use channels::legible;
use records::{AlertRequest, ChannelNumber, Route};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Octets of an alert's texts that are weighed by the thread that serves its sender.
const INLINE_OCTETS_MAX: usize = 16 * 1024;

/// Known names that a placeholder is compared with, and that are listed where none is near.
const COMPARED_MAX: usize = 10_000;
const LISTED_MAX: usize = 12;

impl RequestCheck<'_> {
    /// A placeholder without a default that no person of the audience can have a value for.
    pub(super) async fn check_placeholders(
        &self,
        account: &str,
        request: &AlertRequest,
        wording: &Wording,
        wanted: &[To],
        problems: &mut Vec<Problem>,
    ) -> Result<(), EngineError> {
        let needed: Vec<String> = wording.needed().into_iter().map(str::to_owned).collect();
        if needed.is_empty() {
            return Ok(());
        }
        let problem = |name: &str, why: &str| {
            let reason = format!("{{{{{name}}}}}: {why}");
            Problem { field: wording.field_with(request, name), reason }
        };
        if wanted.iter().all(|to| matches!(to, To::Address(..))) {
            problems.extend(needed.iter().map(|name| problem(name, &only_addresses(name))));
            return Ok(());
        }
        let asked: Vec<String> =
            needed.into_iter().filter(|name| !BUILT_IN.contains(&name.as_str())).collect();
        if asked.is_empty() {
            return Ok(());
        }
        let store = &self.engine.inner.parts.store;
        let unused = store::unused_attributes(store, account, &asked).await.map_err(store_error)?;
        if unused.is_empty() {
            return Ok(());
        }
        let mut known = store.attribute_names(account, COMPARED_MAX).await.map_err(store_error)?;
        known.retain(|name| !unused.contains(name));
        problems.extend(unused.iter().map(|name| problem(name, &unknown(name, &known))));
        Ok(())
    }

    /// A text with more parts than a message may have, on any route that may carry it. Long texts are weighed
    /// on a thread of their own.
    pub(super) async fn check_sizes(
        &self,
        request: &AlertRequest,
        wording: &Arc<Wording>,
        wanted: &[To],
        problems: &mut Vec<Problem>,
    ) -> Result<(), EngineError> {
        let used = channels_of(request, wanted);
        let mode = request.mode;
        let routes = self.engine.inner.routes.load();
        let routes: Vec<Route> = routes
            .iter()
            .filter(|route| route.mode == mode && used.contains(&route.channel))
            .cloned()
            .collect();
        let (parts, weighed) = (self.engine.inner.parts.clone(), wording.clone());
        let weigh = move || too_heavy(&*parts.weigher, &routes, &weighed);
        let found = if wording.octets() <= INLINE_OCTETS_MAX {
            weigh()
        } else {
            let weighing = tokio::task::spawn_blocking(weigh);
            weighing.await.map_err(|error| EngineError::Internal(error.to_string()))?
        };
        for (channel, language, reason) in found {
            let field = wording.field_of(request, channel, language.as_deref());
            if !problems.iter().any(|problem| problem.field == field) {
                problems.push(Problem { field, reason });
            }
        }
        Ok(())
    }
}

/// Texts that some route cannot carry, by channel and language, each with the reason.
fn too_heavy(
    weigher: &dyn UnitsEstimator,
    routes: &[Route],
    wording: &Wording,
) -> Vec<(ChannelNumber, Option<String>, String)> {
    let mut found = Vec::new();
    for route in routes {
        let max = weigher.units_max(route);
        if max == u32::MAX {
            continue;
        }
        for (language, body) in wording.samples(route.channel) {
            let units = weigher.units(route, &body);
            if units > max {
                found.push((route.channel, language, too_long(route, units, max)));
            }
        }
    }
    found
}

/// What a forecast or a finished solve says of people who lack a value.
pub(super) fn missing_values(
    request: &AlertRequest,
    wording: &Wording,
    missing: &BTreeMap<String, u64>,
) -> Vec<Problem> {
    let problem = |(name, count): (&String, &u64)| {
        let who = match count {
            1 => "1 person has no value and gets".to_owned(),
            _ => format!("{count} people have no value and get"),
        };
        Problem {
            field: wording.field_with(request, name),
            reason: format!(
                "{{{{{name}}}}}: {who} the text with nothing there; {{{{{name}|default(\"…\")}}}} says something \
                 in its place"
            ),
        }
    };
    missing.iter().map(problem).collect()
}

/// Texts in which nobody would see anything, whatever the values of their placeholders: each by the field
/// that it comes from.
pub(super) fn blank_texts(request: &AlertRequest, wording: &Wording) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for channel in channels::ALL {
        for language in std::iter::once(None).chain(request.texts.languages.keys().map(Some)) {
            let language = language.map(String::as_str);
            let Some(content) = channel.content(request, language) else { continue };
            if shows_something(&content.text) {
                continue;
            }
            let field = wording.field_of(request, channel.number(), language);
            if !problems.iter().any(|problem| problem.field == field) {
                let reason = "has nothing that anybody can see: write what is to be said, or leave it out";
                problems.push(Problem { field, reason: reason.to_owned() });
            }
        }
    }
    problems
}

/// As somebody gets it who has a value for each of its placeholders.
fn shows_something(text: &str) -> bool {
    if !placeholders::Text::has_marks(text) {
        return legible::has_visible(text);
    }
    let filled = placeholders::Text::parse(text)
        .ok()
        .and_then(|text| text.fill(placeholders::Escape::Plain, |_| Some("x")).ok());
    filled.is_none_or(|filled| legible::has_visible(&filled.text))
}

/// Channels on which the alert may go out.
fn channels_of(request: &AlertRequest, wanted: &[To]) -> Vec<ChannelNumber> {
    let allowed = |channel: &ChannelNumber| {
        (request.channels.is_empty() || request.channels.contains(channel))
            && wanted.iter().any(|to| match to {
                To::Address(of, _) | To::Group(_, Some(of)) => of == channel,
                To::All
                | To::Area
                | To::NamedArea(_)
                | To::Subscribers
                | To::Group(_, None)
                | To::Recipient(_)
                | To::Received(_)
                | To::Earlier(..) => true,
            })
    };
    channels::numbers().filter(allowed).collect()
}

fn only_addresses(name: &str) -> String {
    format!(
        "the audience is addresses alone, and an address has no values: name recipients or groups, or write \
         {{{{{name}|default(\"…\")}}}}"
    )
}

fn unknown(name: &str, known: &[String]) -> String {
    let all = BUILT_IN.iter().copied().chain(known.iter().map(String::as_str));
    let hint = match nearest(name, all.clone()) {
        Some(near) => format!("did you mean {{{{{near}}}}}?"),
        None => {
            let listed: Vec<&str> = all.clone().take(LISTED_MAX).collect();
            let more = all.count().saturating_sub(LISTED_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("known are {}{more}.", listed.join(", "))
        }
    };
    format!(
        "no recipient has a value for it; {hint} With {{{{{name}|default(\"…\")}}}} it is taken, and says that \
         in its place"
    )
}

fn too_long(route: &Route, units: u32, max: u32) -> String {
    let channel = channels::name(route.channel);
    format!(
        "makes {units} {channel} parts on route {}, over the limit of {max}: shorten it, write a shorter \
         texts.{channel}, or name other channels",
        route.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;
    use records::{ChannelTexts, OwnText};

    #[test]
    fn a_text_in_which_nothing_can_be_seen_is_a_problem_of_its_field() {
        let fields = |request: &AlertRequest| {
            let wording = Wording::new(request).unwrap();
            blank_texts(request, &wording).into_iter().map(|problem| problem.field).collect::<Vec<_>>()
        };
        for text in ["   ", "\n\t", "\u{200b}", "\u{2800}\u{3164}", "{{\" \"}}", "{{name|truncate(0)}} "] {
            assert_eq!(fields(&request(text)), ["text"], "{text:?}");
        }
        assert_eq!(fields(&request("{{name}}")), [""; 0]);
        let mut request = request("Leave");
        request.texts.default.own.insert(channels::MAIL, OwnText::of_text(" "));
        let texts = ChannelTexts { text: Some("\u{a0}".into()), ..ChannelTexts::default() };
        request.texts.languages.insert("sv".into(), texts);
        let found = fields(&request);
        assert!(
            found.contains(&"texts.mail".to_owned()) && found.contains(&"texts.sv".to_owned()),
            "{found:?}"
        );
    }
}
