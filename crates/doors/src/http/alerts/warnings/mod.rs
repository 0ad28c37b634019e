//! Warnings about an alert, which never stop it: its texts by [`lint`], and its audience by the forecast.

mod lint;
mod words;

use crate::http::request::time_text::rfc3339;
use engine::{Forecast, SimilarAlert};
use records::{AlertRequest, Timestamp};
use serde_json::{Value, json};
use std::cmp::Reverse;

/// Languages without a text that are listed, those of most people first.
const LANGUAGES_LISTED: usize = 10;

/// Something odd: a stable code with its arguments, and the same in words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AlertWarning {
    pub code: &'static str,
    /// Such as `text` or `audience`.
    pub field: String,
    pub args: Value,
    pub message: String,
}

/// As clients read them.
pub(crate) fn view(warnings: &[AlertWarning]) -> Value {
    let one = |warning: &AlertWarning| {
        json!({
            "code": warning.code,
            "field": warning.field,
            "args": warning.args,
            "message": warning.message,
        })
    };
    warnings.iter().map(one).collect()
}

/// What is odd about the texts alone.
pub(crate) fn of_texts(request: &AlertRequest) -> Vec<AlertWarning> {
    lint::lint(request)
}

/// What is odd about texts and audience.
pub(crate) fn of_forecast(request: &AlertRequest, forecast: &Forecast, now: Timestamp) -> Vec<AlertWarning> {
    let mut warnings: Vec<AlertWarning> = forecast.similar.iter().map(|one| similar(one, now)).collect();
    warnings.extend(lint::lint(request));
    warnings.extend(missing_languages(request, forecast));
    warnings
}

fn similar(earlier: &SimilarAlert, now: Timestamp) -> AlertWarning {
    let (percent, minutes) = (earlier.percent, now.us_since(earlier.created).max(0) / 60_000_000);
    let ago = match minutes {
        0 => "less than a minute ago".to_owned(),
        1 => "1 minute ago".to_owned(),
        minutes if minutes < 120 => format!("{minutes} minutes ago"),
        minutes => format!("{} hours ago", minutes / 60),
    };
    AlertWarning {
        code: "similar_alert",
        field: "audience".to_owned(),
        message: format!("{percent} % of the same people got this text {ago}"),
        args: json!({
            "alert": earlier.id.to_string(),
            "percent": percent,
            "minutes": minutes,
            "created": rfc3339(earlier.created),
        }),
    }
}

/// Languages that people of the audience read, and that no text is in.
fn missing_languages(request: &AlertRequest, forecast: &Forecast) -> Vec<AlertWarning> {
    let default = lint::default_text(request);
    let of_default = default.as_deref().and_then(words::language_of).map(|language| language.tag);
    let written = &request.texts.languages;
    if of_default.is_none() && written.is_empty() {
        return Vec::new();
    }
    let primary = |tag: &str| tag.split('-').next().unwrap_or_default().to_lowercase();
    let has_text = |tag: &str| {
        let wanted = primary(tag);
        of_default == Some(wanted.as_str()) || written.keys().any(|known| primary(known) == wanted)
    };
    let mut missing: Vec<(&String, &u64)> =
        forecast.languages.iter().filter(|(tag, _)| !has_text(tag)).collect();
    missing.sort_by_key(|(tag, people)| (Reverse(**people), tag.as_str()));
    let one = |(tag, people): (&String, &u64)| {
        let fallback = match (&default, of_default) {
            (None, _) => None,
            (Some(_), language) => Some(language.unwrap_or("default")),
        };
        let gets = match fallback {
            None => "there is no text for them".to_owned(),
            Some("default") => "they get the text for all".to_owned(),
            Some(language) => format!("they get the text for all, in {language}"),
        };
        AlertWarning {
            code: "missing_language",
            field: format!("texts.{tag}"),
            message: format!("{people} people read {tag}, in which there is no text: {gets}"),
            args: json!({"language": tag, "people": people, "fallback": fallback}),
        }
    };
    missing.into_iter().take(LANGUAGES_LISTED).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::alerts::body;
    use crate::http::request::json::parse;
    use records::AlertId;

    const NOW: Timestamp = Timestamp(1_794_983_200_000_000);

    fn request(body: &str) -> AlertRequest {
        let node = parse(body.as_bytes()).unwrap();
        body::parse_part(node, NOW, &channels::Defaults::default()).0.unwrap()
    }

    fn forecast(languages: &[(&str, u64)]) -> Forecast {
        let languages = languages.iter().map(|(tag, people)| ((*tag).to_owned(), *people)).collect();
        Forecast { languages, ..Forecast::default() }
    }

    #[test]
    fn a_language_without_a_text_is_told_with_its_readers_and_what_they_get() {
        let readers = forecast(&[("sv", 4_203), ("de-at", 12), ("en", 900), ("fi", 30)]);
        for (body, expected) in [
            (
                r#"{"text": "Leave the building and wait in the yard."}"#,
                &[("sv", 4_203, Some("en")), ("fi", 30, Some("en")), ("de-at", 12, Some("en"))][..],
            ),
            (
                r#"{"text": "Leave the building.", "texts": {"sv": "Lämna huset.", "de": "Gehen Sie hinaus."}}"#,
                &[("fi", 30, Some("en"))],
            ),
            (
                r#"{"texts": {"sv": "Lämna huset."}}"#,
                &[("en", 900, None), ("fi", 30, None), ("de-at", 12, None)],
            ),
            (r#"{"text": "Poistukaa rakennuksesta heti pohjoisesta portaikosta."}"#, &[]),
        ] {
            let told: Vec<(String, u64, Option<String>)> = missing_languages(&request(body), &readers)
                .iter()
                .map(|warning| {
                    let text = |name: &str| warning.args[name].as_str().map(str::to_owned);
                    (text("language").unwrap(), warning.args["people"].as_u64().unwrap(), text("fallback"))
                })
                .collect();
            let told: Vec<(&str, u64, Option<&str>)> = told
                .iter()
                .map(|(tag, people, fallback)| (tag.as_str(), *people, fallback.as_deref()))
                .collect();
            assert_eq!(told, expected, "{body}");
        }
    }

    #[test]
    fn a_similar_alert_is_told_in_words_and_by_its_arguments() {
        for (seconds, words) in [
            (5, "93 % of the same people got this text less than a minute ago"),
            (61, "93 % of the same people got this text 1 minute ago"),
            (250, "93 % of the same people got this text 4 minutes ago"),
            (10_000, "93 % of the same people got this text 2 hours ago"),
        ] {
            let id: AlertId = "00000000-0000-0000-0000-000000000007".parse().unwrap();
            let earlier = SimilarAlert { id, created: NOW.plus_s(-seconds), percent: 93 };
            let told = similar(&earlier, NOW);
            assert_eq!((told.code, told.message.as_str()), ("similar_alert", words));
            assert_eq!(told.args["alert"], id.to_string());
        }
    }
}
