//! The log's filter, with a bound on crates of others: at debug they log what they carry, which is statements
//! with their values, URLs and headers.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// Crates whose lines below a warning may show numbers, texts or secrets.
const CARRIERS_OF_CONTENT: [&str; 9] = [
    "tokio_postgres",
    "postgres_protocol",
    "async_nats",
    "reqwest",
    "hyper",
    "hyper_util",
    "h2",
    "rustls",
    "tungstenite",
];

/// The filter, in which these crates say warnings and errors alone unless it names them itself.
pub fn without_contents(filter: EnvFilter) -> EnvFilter {
    if filter.max_level_hint().is_some_and(|level| level <= LevelFilter::INFO) {
        return filter;
    }
    let said = filter.to_string();
    let is_named = |name: &str| said.split(',').any(|part| part.split('=').next() == Some(name));
    let silent = CARRIERS_OF_CONTENT.iter().filter(|name| !is_named(name));
    let directives = silent.filter_map(|name| format!("{name}=warn").parse().ok());
    directives.fold(filter, EnvFilter::add_directive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_others_stay_silent_at_debug_unless_they_are_named() {
        let cases = [
            ("info", "tokio_postgres=warn", false),
            ("debug", "tokio_postgres=warn", true),
            ("info,gateway=debug", "reqwest=warn", true),
            ("trace,reqwest=debug", "reqwest=warn", false),
            ("trace,reqwest=debug", "hyper_util=warn", true),
        ];
        for (filter, directive, expected) in cases {
            let made = without_contents(EnvFilter::new(filter)).to_string();
            assert_eq!(made.split(',').any(|part| part == directive), expected, "{filter}: {made}");
        }
    }
}
