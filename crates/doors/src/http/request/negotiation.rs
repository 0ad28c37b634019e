//! Content negotiation chooses one of several media types (RFC 9110, section 12.5.1).

use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// The one of `offered` with the highest quality for the client; the first at equal quality, or without an
/// Accept header.
pub(crate) fn negotiate<'o>(headers: &HeaderMap, offered: &[&'o str]) -> HttpResult<&'o str> {
    let wanted = ranges(headers);
    if wanted.is_empty() {
        return Ok(offered[0]);
    }
    let mut best: Option<(&str, f32)> = None;
    for candidate in offered {
        let quality = quality(candidate, &wanted);
        if quality > 0.0 && best.is_none_or(|(_, so_far)| quality > so_far) {
            best = Some((candidate, quality));
        }
    }
    best.map(|(candidate, _)| candidate).ok_or_else(|| {
        HttpProblem::new(
            ProblemKind::NotAcceptable,
            format!("this resource is available as {}", offered.join(", ")),
        )
    })
}

/// Whether a client takes a media type, and how it says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Liking {
    /// It names the type, or all of its kind.
    Named,
    /// It takes anything, by `*/*` or without an Accept header.
    Anything,
    Refused,
}

/// How a client likes a media type.
pub(crate) fn liking(headers: &HeaderMap, candidate: &str) -> Liking {
    let wanted = ranges(headers);
    if wanted.is_empty() {
        return Liking::Anything;
    }
    let (specificity, quality) = best_range(candidate, &wanted);
    match specificity {
        _ if quality <= 0.0 => Liking::Refused,
        0 | 1 => Liking::Anything,
        _ => Liking::Named,
    }
}

/// The ranges of the Accept header with their qualities.
fn ranges(headers: &HeaderMap) -> Vec<(String, f32)> {
    let lines = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(range).collect()
}

fn range(text: &str) -> (String, f32) {
    let mut parts = text.split(';').map(str::trim);
    let range = parts.next().unwrap_or_default().to_ascii_lowercase();
    let quality = parts.find_map(|part| part.strip_prefix("q=")).and_then(|q| q.parse().ok()).unwrap_or(1.0);
    (range, quality)
}

/// The quality of the most specific range that fits.
fn quality(candidate: &str, wanted: &[(String, f32)]) -> f32 {
    best_range(candidate, wanted).1
}

/// How specific that range is, from 1 (anything) to 3 (the type itself), and its quality; twice 0: none fits.
fn best_range(candidate: &str, wanted: &[(String, f32)]) -> (u8, f32) {
    let kind = candidate.split('/').next().unwrap_or_default();
    let specificity = |range: &str| match range {
        exact if exact == candidate => 3,
        // People and scripts write these for the registered names.
        "text/xml" if candidate == "application/xml" => 3,
        "application/csv" if candidate == "text/csv" => 3,
        all if all.strip_suffix("/*") == Some(kind) => 2,
        "*/*" => 1,
        _ => 0,
    };
    let fitting =
        wanted.iter().map(|(range, quality)| (specificity(range), *quality)).filter(|(s, _)| *s > 0);
    fitting.max_by_key(|(specificity, _)| *specificity).unwrap_or((0, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_liked_type_wins() {
        const OFFERED: [&str; 3] = ["application/json", "text/csv", "application/xml"];
        for (accept, wins) in [
            ("", Some("application/json")),
            ("*/*", Some("application/json")),
            ("text/csv", Some("text/csv")),
            ("text/*", Some("text/csv")),
            ("text/xml", Some("application/xml")),
            ("application/json;q=0.5, application/xml", Some("application/xml")),
            ("*/*;q=0.1, text/csv;q=0", Some("application/json")),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Some("application/xml")),
            ("image/png", None),
        ] {
            let mut headers = HeaderMap::new();
            if !accept.is_empty() {
                headers.insert(ACCEPT, accept.parse().unwrap());
            }
            assert_eq!(negotiate(&headers, &OFFERED).ok(), wins, "{accept}");
        }
    }
}
