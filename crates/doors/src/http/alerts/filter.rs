//! Filter of the list of alerts: by state, space, words, time and origin. The list goes by number, so alerts
//! that do not fit are looked through.

use super::view::headline;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::Query;
use crate::http::request::time_text::parse_time;
use records::{Alert, AlertState, Mode, Timestamp};
use store::search;

/// Parameters of the list.
pub(super) const NAMES: [&str; 8] = ["state", "mode", "q", "from", "until", "origin", "cursor", "limit"];
/// Characters of a search.
const QUERY_CHARS_MAX: usize = 200;
/// Alerts are numbered as they come, by the clocks of all processes: so far apart two of them may be.
const CLOCKS_APART_S: i64 = 3_600;
/// Origins of what is listed.
const ORIGINS: [&str; 6] = ["api", "cap", "console", "hook", "device", "schedule"];

/// See the module. Without members everything fits.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AlertFilter {
    states: Vec<AlertState>,
    mode: Option<Mode>,
    words: Vec<String>,
    from: Option<Timestamp>,
    until: Option<Timestamp>,
    origins: Vec<&'static str>,
}

impl AlertFilter {
    /// Of the query of a list.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub(super) fn read(query: &Query) -> HttpResult<AlertFilter> {
        let states = AlertState::ALL.map(|state| (state.name(), state));
        let time = |name: &str| {
            let read = query.one(name).map(parse_time).transpose();
            read.map_err(|reason| wrong(name, reason))
        };
        let text = query.one("q").unwrap_or_default();
        if text.chars().count() > QUERY_CHARS_MAX {
            return Err(wrong("q", format!("has more than {QUERY_CHARS_MAX} characters")));
        }
        let mode = match query.one("mode") {
            None => None,
            Some(_) => Some(query.word("mode", &[("live", Mode::Live), ("drill", Mode::Drill)])?),
        };
        Ok(AlertFilter {
            states: several(query, "state", &states)?,
            mode,
            words: search::words(text),
            from: time("from")?,
            until: time("until")?,
            origins: several(query, "origin", &ORIGINS.map(|name| (name, name)))?,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == AlertFilter::default()
    }

    pub(super) fn fits(&self, alert: &Alert) -> bool {
        (self.states.is_empty() || self.states.contains(&alert.state))
            && self.mode.is_none_or(|mode| alert.request.mode == mode)
            && self.from.is_none_or(|from| alert.created >= from)
            && self.until.is_none_or(|until| alert.created < until)
            && (self.origins.is_empty() || self.origins.contains(&alert.origin.name()))
            && self.has_words(alert)
    }

    /// Each word begins one of the headline's, or the id.
    fn has_words(&self, alert: &Alert) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let (own, id) = (search::words(&headline(&alert.request)), alert.id.to_string());
        let has = |word: &String| {
            id.starts_with(word.as_str()) || own.iter().any(|one| one.starts_with(word.as_str()))
        };
        self.words.iter().all(has)
    }

    /// Neither this alert fits, nor any before it.
    pub(super) fn is_past(&self, alert: &Alert) -> bool {
        self.from.is_some_and(|from| alert.created.plus_s(CLOCKS_APART_S) < from)
    }
}

/// Words of a list with commas.
fn several<T: Copy>(query: &Query, name: &str, known: &[(&str, T)]) -> HttpResult<Vec<T>> {
    let Some(text) = query.one(name) else { return Ok(Vec::new()) };
    let read = |word: &str| {
        let found = known.iter().find(|(known, _)| *known == word.trim());
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(known, _)| *known).collect();
            let word: String = word.chars().take(40).collect();
            wrong(name, format!("has {word:?}; it is one or more of {}, with commas", names.join(", ")))
        })
    };
    text.split(',').map(read).collect()
}

fn wrong(name: &str, reason: String) -> HttpProblem {
    HttpProblem::field(ProblemKind::BadQuery, name, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tests::*;

    fn read(query: &str) -> HttpResult<AlertFilter> {
        let uri = format!("/api/v1/alerts?{query}").parse().unwrap();
        AlertFilter::read(&Query::read(&uri, &NAMES).unwrap())
    }

    #[test]
    fn a_wrong_parameter_is_named_with_what_it_may_be() {
        for (query, name, word) in [
            ("state=runing", "state", "running"),
            ("state=running,,done", "state", "cancelled"),
            ("mode=Live", "mode", "live"),
            ("origin=notice", "origin", "schedule"),
            ("from=yesterday", "from", ""),
            ("until=2026-13-01T00:00:00Z", "until", ""),
        ] {
            let problem = read(query).unwrap_err();
            assert_eq!(problem.status(), 400, "{query}");
            assert!(problem.detail().contains(name) && problem.detail().contains(word), "{problem:?}");
        }
        assert_eq!(read(&format!("q={}", "a".repeat(201))).unwrap_err().status(), 400);
        assert!(read("").unwrap().is_empty());
    }

    #[tokio::test]
    async fn alerts_are_listed_by_state_mode_words_time_and_origin() {
        let server = TestServer::open().await;
        server.people().await;
        let mut ids = Vec::new();
        for (headline, mode) in
            [("Gas leak at the harbour", "live"), ("Siren test", "drill"), ("Harbour open", "live")]
        {
            ids.push(
                server
                    .submit(json!({"headline": headline, "text": "x", "audience": ["all"], "mode": mode}))
                    .await,
            );
            server.clock.fetch_add(3_600_000_000, Ordering::Relaxed);
        }
        let (status, stopped) = server.post(&format!("/api/v1/alerts/{}:cancel", ids[2]), json!({})).await;
        assert!(status.is_success(), "{stopped}");
        let id = |n: usize| ids[n].as_str();
        for (query, expected) in [
            ("", vec![id(2), id(1), id(0)]),
            ("mode=drill", vec![id(1)]),
            ("q=harbour", vec![id(2), id(0)]),
            ("q=HARB%20gas", vec![id(0)]),
            ("q=water", vec![]),
            (&format!("q={}", id(1)), vec![id(1)]),
            ("state=cancelled", vec![id(2)]),
            ("state=cancelled,expired&mode=drill", vec![]),
            ("from=2026-11-18T07:26:40Z", vec![id(2), id(1)]),
            ("until=2026-11-18T07:26:40Z", vec![id(0)]),
            ("from=2026-11-18T07:00:00Z&until=2026-11-18T08:00:00Z", vec![id(1)]),
            ("origin=api", vec![id(2), id(1), id(0)]),
            ("origin=console,schedule", vec![]),
        ] {
            let (status, page) = server.get(&format!("/api/v1/alerts?{query}")).await;
            assert_eq!(status, 200, "{query}: {page}");
            let found = page["items"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap());
            assert_eq!(found.collect::<Vec<_>>(), expected, "{query}");
        }
        let first = server.get("/api/v1/alerts?q=harbour&limit=1").await.1;
        let rest = format!("/api/v1/alerts?q=harbour&limit=1&cursor={}", first["next"].as_str().unwrap());
        let rest = server.get(&rest).await.1;
        assert_eq!((&first["items"][0]["id"], &rest["items"][0]["id"]), (&json!(id(2)), &json!(id(0))));
        server.close().await;
    }
}
