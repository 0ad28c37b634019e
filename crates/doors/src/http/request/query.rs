//! Query parameters, headers that are parameters, and cursors.

use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::nearest;
use axum::extract::{FromRequestParts, Path};
use axum::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use std::str::FromStr;

/// Items of a page without a `limit`.
pub(crate) const PAGE_DEFAULT: usize = 100;
/// Items of a page at most.
pub(crate) const PAGE_MAX: usize = 1_000;
/// Characters of a cursor.
const CURSOR_CHARS_MAX: usize = 1_000;

/// A query that has known names only.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the query; a name that is not in `known` is refused.
    pub(crate) fn read(uri: &Uri, known: &[&str]) -> HttpResult<Query> {
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri);
        let pairs = pairs.map_err(|error| HttpProblem::new(ProblemKind::BadQuery, error.to_string()))?.0;
        for (name, _) in &pairs {
            if !known.contains(&name.as_str()) {
                let name: String = name.chars().take(40).collect();
                let reason = match nearest(&name, known) {
                    Some(near) => format!("is unknown; did you mean {near:?}?"),
                    None if known.is_empty() => "is unknown; no parameters are accepted here".to_owned(),
                    None => format!("is unknown; known are {}", known.join(", ")),
                };
                return Err(wrong(&name, reason));
            }
        }
        Ok(Query(pairs))
    }

    /// The first value.
    pub(crate) fn one(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Every value.
    pub(crate) fn all<'q>(&'q self, name: &'q str) -> impl Iterator<Item = &'q str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A value that can be read from text.
    pub(crate) fn parsed<T: FromStr<Err = String>>(&self, name: &str) -> HttpResult<Option<T>> {
        self.one(name).map(|text| text.parse().map_err(|reason: String| wrong(name, reason))).transpose()
    }

    /// One of a few words; the first if absent.
    pub(crate) fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> HttpResult<T> {
        let Some(text) = self.one(name) else { return Ok(words[0].1) };
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        found.ok_or_else(|| {
            let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            wrong(name, format!("is {text:?}; must be one of {}", list.join(", ")))
        })
    }

    /// Number of items of a page.
    pub(crate) fn limit(&self) -> HttpResult<usize> {
        let Some(text) = self.one("limit") else { return Ok(PAGE_DEFAULT) };
        match text.parse::<usize>() {
            Ok(limit) if (1..=PAGE_MAX).contains(&limit) => Ok(limit),
            _ => Err(wrong("limit", format!("is {text:?}; a number from 1 to {PAGE_MAX} is needed"))),
        }
    }

    /// The start of the page: the value inside the opaque [`cursor`].
    pub(crate) fn cursor(&self) -> HttpResult<Option<String>> {
        let Some(text) = self.one("cursor").filter(|text| !text.is_empty()) else { return Ok(None) };
        let bytes = (text.len() <= CURSOR_CHARS_MAX).then(|| URL_SAFE_NO_PAD.decode(text).ok()).flatten();
        let inner = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        inner.map(Some).ok_or_else(|| wrong("cursor", "is not the next value of an earlier page"))
    }

    /// Like [`Query::cursor`], where a number was hidden.
    pub(crate) fn number_cursor<T: FromStr>(&self) -> HttpResult<Option<T>> {
        let Some(inner) = self.cursor()? else { return Ok(None) };
        inner.parse().map(Some).map_err(|_| wrong("cursor", "is not the next value of an earlier page"))
    }
}

/// Makes a cursor: opaque, so that clients do not count with it.
pub(crate) fn cursor(inner: impl ToString) -> String {
    URL_SAFE_NO_PAD.encode(inner.to_string())
}

fn wrong(name: &str, reason: impl Into<String>) -> HttpProblem {
    HttpProblem::field(ProblemKind::BadQuery, name, reason)
}

/// Captures of a path, as text.
pub(crate) struct Captured<T = String>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Captured<T> {
    type Rejection = HttpProblem;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Captured<T>, HttpProblem> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(captured)) => Ok(Captured(captured)),
            Err(rejection) => Err(HttpProblem::new(ProblemKind::UnknownPath, rejection.body_text())),
        }
    }
}

/// An entity tag of a version.
pub(crate) fn etag(version: u64) -> (HeaderName, HeaderValue) {
    let value = HeaderValue::from_str(&format!("\"{version}\""));
    (ETAG, value.unwrap_or(HeaderValue::from_static("\"\"")))
}

/// Compares If-Match, then If-None-Match (RFC 9110, sections 13.1.1, 13.1.2 and 13.2.2) with the current
/// version of what is to be changed; nothing: it is not there.
pub(crate) fn check_preconditions(headers: &HeaderMap, version: Option<u64>) -> HttpResult<()> {
    // Both are read before either is compared: what is no list of ETags is refused as that.
    let matched = names(headers, IF_MATCH, "If-Match", version)?;
    let unmatched = names(headers, IF_NONE_MATCH, "If-None-Match", version)?;
    if matched == Some(false) {
        let detail = match version {
            Some(version) => {
                format!("If-Match names another version; the current version is \"{version}\"")
            }
            None => "If-Match names a version, but nothing exists here".to_owned(),
        };
        return Err(changed(detail, version));
    }
    if unmatched == Some(true) {
        let version_now = version.unwrap_or_default();
        let detail = format!(
            "If-None-Match allows no change of what exists, and it exists: the current version is \"{version_now}\""
        );
        return Err(changed(detail, version));
    }
    Ok(())
}

fn changed(detail: String, version: Option<u64>) -> HttpProblem {
    let problem = HttpProblem::new(ProblemKind::VersionChanged, detail);
    match version.map(etag) {
        Some((name, value)) => problem.with_header(name, value),
        None => problem,
    }
}

/// Whether a header of entity tags names the version; nothing without the header.
fn names(
    headers: &HeaderMap,
    header: HeaderName,
    shown: &'static str,
    version: Option<u64>,
) -> HttpResult<Option<bool>> {
    let mut found = None;
    for line in headers.get_all(header) {
        let tags = line.to_str().ok().and_then(entity_tags).ok_or_else(|| {
            let reason = "is neither * nor a list of ETags, which stand in quotes";
            HttpProblem::field(ProblemKind::BadHeader, shown, reason)
        })?;
        let is_it = version
            .is_some_and(|version| tags.iter().any(|tag| *tag == "*" || *tag == format!("\"{version}\"")));
        found = Some(found.unwrap_or(false) || is_it);
    }
    Ok(found)
}

/// The entity tags of a line (RFC 9110, section 8.8.3), with their quotes; or `*` alone.
fn entity_tags(line: &str) -> Option<Vec<&str>> {
    let line = line.trim();
    if line == "*" {
        return Some(vec![line]);
    }
    let (mut tags, mut rest) = (Vec::new(), line);
    loop {
        let opaque = rest.strip_prefix("W/").unwrap_or(rest).strip_prefix('"')?;
        let end = rest.len() - opaque.len() + opaque.find('"')? + 1;
        tags.push(&rest[..end]);
        rest = rest[end..].trim_start();
        if rest.is_empty() {
            return Some(tags);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_of_entity_tags_is_refused_as_that_whatever_the_other_header_names() {
        let headers = |if_match: &'static str, if_none_match: &'static str| {
            let pairs = [(IF_MATCH, if_match), (IF_NONE_MATCH, if_none_match)];
            HeaderMap::from_iter(pairs.map(|(name, value)| (name, HeaderValue::from_static(value))))
        };
        for (if_match, if_none_match, status) in
            [("\"1\"", "2", 400), ("2", "\"7\"", 400), ("\"1\"", "\"7\"", 412), ("\"7\"", "\"7\"", 412)]
        {
            let refused = check_preconditions(&headers(if_match, if_none_match), Some(7)).unwrap_err();
            assert_eq!(refused.status(), status, "{if_match} {if_none_match}");
        }
        assert!(check_preconditions(&headers("\"7\"", "\"1\""), Some(7)).is_ok());
    }

    #[test]
    fn a_line_of_entity_tags_is_read_whole_or_not_at_all() {
        for (line, tags) in [
            ("*", Some(vec!["*"])),
            ("\"1\"", Some(vec!["\"1\""])),
            (" \"x,y\" ,W/\"2\"", Some(vec!["\"x,y\"", "W/\"2\""])),
            ("1", None),
            ("", None),
            ("{}", None),
            ("\"1", None),
            ("\"1\",", None),
            ("\"1\" \"2\"", None),
            ("*, \"1\"", None),
        ] {
            assert_eq!(entity_tags(line), tags, "{line}");
        }
    }
}
