//! Log of the server on standard error: which lines, in which form; and what is said there without the log:
//! errors of a start, panics. Where the log is JSON, every line is.

use crate::config::{self, Log, LogFormat};
use crate::log_filter;
use serde_json::{Map, Value, json};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;
use tracing_subscriber::EnvFilter;

/// Overrides `[log] filter`.
pub const FILTER_VARIABLE: &str = "CAMPANILE_LOG";
/// Overrides `[log] format`.
pub const FORMAT_VARIABLE: &str = "CAMPANILE_LOG_FORMAT";

/// Levels, from the least that is logged.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
/// Our parts: the first word of a target.
const PARTS: [&str; 18] = [
    "bus",
    "campanile",
    "cap",
    "channels",
    "charging",
    "diameter",
    "doors",
    "engine",
    "gateway",
    "ledger",
    "net",
    "pace",
    "paced_udp",
    "placeholders",
    "sim",
    "smpp",
    "smtp",
    "store",
];

/// The form in which this process writes to standard error, once it is known.
static FORM: OnceLock<LogFormat> = OnceLock::new();

/// What is wrong with a filter, in words; nothing if it is good.
pub fn filter_problem(filter: &str) -> Option<String> {
    if filter.trim().is_empty() {
        return Some(format!("is empty: a level is needed, one of {}", LEVELS.join(", ")));
    }
    for directive in directives(filter) {
        if let Some(problem) = directive_problem(directive.trim()) {
            return Some(problem);
        }
    }
    without_spaces(filter).parse::<EnvFilter>().err().map(|error| format!("{filter:?} is no filter: {error}"))
}

/// The filter without spaces around its commas, which people write and `EnvFilter` does not read.
fn without_spaces(filter: &str) -> String {
    directives(filter).into_iter().map(str::trim).collect::<Vec<_>>().join(",")
}

/// Commas inside `[span{field=1,other=2}]` part nothing.
fn directives(filter: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, c) in filter.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&filter[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&filter[from..]);
    parts
}

/// `LEVEL`, `PART=LEVEL`, `PART::MODULE=LEVEL`, or a span in brackets.
fn directive_problem(directive: &str) -> Option<String> {
    let is_level = |word: &str| LEVELS.contains(&word.to_ascii_lowercase().as_str());
    if directive.contains('[') {
        return None; // EnvFilter reads it, and has problems of its own
    }
    let Some((target, level)) = directive.rsplit_once('=') else {
        if is_level(directive) || PARTS.contains(&first_word(directive)) {
            return None;
        }
        let known = LEVELS.into_iter().chain(PARTS);
        return Some(format!(
            "{directive:?} is no level: {} are, or PART=LEVEL such as \"info,gateway=debug\"{}",
            LEVELS.join(", "),
            meant(directive, known)
        ));
    };
    if !is_level(level) {
        let near = meant(level, LEVELS);
        return Some(format!("{level:?} in {directive:?} is none of {}{near}", LEVELS.join(", ")));
    }
    let is_path =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !target.split("::").all(is_path) {
        return Some(format!(
            "{target:?} in {directive:?} is no part of the program, such as gateway or doors::http"
        ));
    }
    // Others are libraries'.
    let part = first_word(target);
    let near = if PARTS.contains(&part) { None } else { settings::nearest(part, PARTS) };
    near.map(|near| format!("{part:?} in {directive:?} is no part of the program; did you mean {near}?"))
}

fn first_word(target: &str) -> &str {
    target.split("::").next().unwrap_or(target)
}

fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    settings::nearest(word, known).map(|near| format!("; did you mean {near}?")).unwrap_or_default()
}

/// What is wrong with a form of the environment; nothing if it is good.
pub fn format_problem(format: &str) -> Option<String> {
    let known = ["text", "json"];
    if known.contains(&format) {
        return None;
    }
    Some(format!("{format:?} is none of {}{}", known.join(", "), meant(format, known)))
}

/// Begins the log of a server. A config or an environment with problems is logged by what of it is good: the
/// server says the problems itself.
pub fn begin(file: Option<&Path>, data: &Path) {
    let log = config::load(file, data).map_or_else(|_| salvaged(file), |config| config.log);
    begin_with(&log.filter, log.format);
}

/// `[log]` of a config that has problems elsewhere.
fn salvaged(file: Option<&Path>) -> Log {
    let text = std::fs::read_to_string(file.unwrap_or(Path::new(config::FILE))).unwrap_or_default();
    let table: toml::Table = text.parse().unwrap_or_default();
    let said = |key: &str| table.get("log")?.get(key)?.as_str().map(str::to_owned);
    let mut log = Log::default();
    if let Some(filter) = said("filter").filter(|filter| filter_problem(filter).is_none()) {
        log.filter = filter;
    }
    let of_environment = std::env::var(format!("{}LOG__FORMAT", config::ENVIRONMENT_PREFIX)).ok();
    if of_environment.or(said("format")).as_deref() == Some("json") {
        log.format = LogFormat::Json;
    }
    log
}

/// Begins a log; the environment goes over what is given.
pub fn begin_with(filter: &str, format: LogFormat) {
    let of_environment =
        std::env::var(FILTER_VARIABLE).ok().filter(|filter| filter_problem(filter).is_none());
    let filter = EnvFilter::new(without_spaces(of_environment.as_deref().unwrap_or(filter)));
    let format = match std::env::var(FORMAT_VARIABLE).as_deref() {
        Ok("json") => LogFormat::Json,
        Ok("text") => LogFormat::Text,
        _ => format,
    };
    let logger = tracing_subscriber::fmt()
        .with_env_filter(log_filter::without_contents(filter))
        .with_ansi(is_coloured(std::io::stderr().is_terminal(), std::env::var_os("NO_COLOR")))
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Json => logger.json().init(),
        LogFormat::Text => logger.init(),
    }
    if FORM.set(format).is_ok() && format == LogFormat::Json {
        std::panic::set_hook(Box::new(|panic| {
            let thread = std::thread::current();
            let mut fields = Map::new();
            fields.insert("thread".into(), thread.name().unwrap_or("unnamed").into());
            fields.insert("location".into(), panic.location().map(ToString::to_string).into());
            let trace = std::backtrace::Backtrace::capture();
            if trace.status() == std::backtrace::BacktraceStatus::Captured {
                fields.insert("backtrace".into(), trace.to_string().into());
            }
            let words = panic.payload_as_str().unwrap_or("without words");
            write_json("ERROR", &format!("panicked: {words}"), fields);
        }));
    }
}

/// Says something on standard error that no filter keeps back, as a line for people or as one of the log.
pub fn say(level: &str, words: &str) {
    if FORM.get() == Some(&LogFormat::Json) {
        write_json(level, words, Map::new());
    } else {
        eprintln!("{words}");
    }
}

/// Says why a command failed.
pub(crate) fn say_failure(why: &str) {
    if FORM.get() == Some(&LogFormat::Json) {
        write_json("ERROR", why, Map::new());
    } else {
        eprintln!("campanile: {why}");
    }
}

/// A line as the log's own. Nothing more can be done where even standard error fails.
fn write_json(level: &str, words: &str, mut fields: Map<String, Value>) {
    let line = json_line(&format!("{:.6}", jiff::Timestamp::now()), level, words, &mut fields);
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

fn json_line(at: &str, level: &str, words: &str, fields: &mut Map<String, Value>) -> String {
    fields.insert("message".into(), words.into());
    format!("{}\n", json!({"timestamp": at, "level": level, "fields": fields, "target": "campanile"}))
}

/// Colours are for eyes: in a journal or a container's log they are noise that no search finds its way
/// through. `NO_COLOR` (not empty) takes them from terminals too.
fn is_coloured(is_terminal: bool, no_color: Option<std::ffi::OsString>) -> bool {
    is_terminal && no_color.is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_colours_on_a_terminal_alone_and_not_where_they_are_unwanted() {
        assert!(is_coloured(true, None) && is_coloured(true, Some("".into())));
        assert!(!is_coloured(false, None) && !is_coloured(true, Some("1".into())));
    }

    #[test]
    fn a_filter_that_would_log_nothing_by_a_slip_is_refused_with_what_was_meant() {
        for good in [
            "info",
            "WARN",
            "off",
            "info,gateway=debug",
            "warn, doors::http=trace",
            "gateway",
            "hyper=warn,info",
            "info,engine[solve{alert=1}]=trace",
        ] {
            assert_eq!(filter_problem(good), None, "{good}");
        }
        for (wrong, words) in [
            ("loud", "\"loud\" is no level: off, error, warn, info, debug, trace are"),
            ("inof", "did you mean info?"),
            ("", "a level is needed"),
            (" ", "a level is needed"),
            ("info,", "\"\" is no level"),
            ("info,gateway=debgu", "\"debgu\" in \"gateway=debgu\" is none of"),
            ("info,gatway=debug", "did you mean gateway?"),
            ("gateway:debug", "is no level"),
            ("info;gateway=debug", "is no part of the program"),
            ("info gateway=debug", "is no part of the program"),
            ("=info", "is no part of the program"),
            ("engine[=info", "is no filter"),
        ] {
            let problem = filter_problem(wrong).unwrap_or_default();
            assert!(problem.contains(words), "{wrong:?}: {problem:?}");
        }
        assert_eq!(format_problem("json"), None);
        assert_eq!(
            format_problem("jsn").as_deref(),
            Some("\"jsn\" is none of text, json; did you mean json?")
        );
    }

    #[test]
    fn a_line_without_the_log_has_the_form_of_the_logs_own() {
        let line = json_line("2026-01-01T00:00:00.000000Z", "ERROR", "no \"disk\"\n", &mut Map::new());
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["fields"]["message"], "no \"disk\"\n");
        assert_eq!((&value["level"], line.matches('\n').count()), (&json!("ERROR"), 1));
    }
}
