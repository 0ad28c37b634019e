//! Counters of requests, registered once.

use super::PATH;
use metrics::{Counter, Histogram};
use std::time::Duration;

/// Statuses that we answer with.
const STATUSES: [(u16, &str); 8] = [
    (202, "202"),
    (400, "400"),
    (403, "403"),
    (405, "405"),
    (413, "413"),
    (415, "415"),
    (503, "503"),
    (500, "500"),
];

/// The same counters as those of every other request.
pub(super) struct Meters {
    gets: Vec<Counter>,
    posts: Vec<Counter>,
    seconds: Histogram,
}

impl Meters {
    pub(super) fn new() -> Meters {
        let of = |method: &'static str| {
            let counter = |(_, status): &(u16, &'static str)| metrics::counter!("campanile_http_requests_total", "method" => method, "path" => PATH, "status" => *status);
            STATUSES.iter().map(counter).collect()
        };
        let seconds = metrics::histogram!("campanile_http_request_seconds", "path" => PATH);
        Meters { gets: of("GET"), posts: of("POST"), seconds }
    }

    pub(super) fn note(&self, is_post: bool, status: u16, took: Duration) {
        let place = STATUSES.iter().position(|(known, _)| *known == status).unwrap_or(STATUSES.len() - 1);
        let counters = if is_post { &self.posts } else { &self.gets };
        counters[place].increment(1);
        self.seconds.record(took.as_secs_f64());
        tracing::debug!(path = PATH, status, ?took, "a request was answered");
    }
}
