//! Header lines of the configuration: names and values, whose values are secrets.

use reqwest::header::{
    CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use settings::{Node, NodeValue, Problems, Schema, Secret, ValueFormat, format_text, join};

/// Lines at most.
const LINES_MAX: usize = 32;
/// A value has at most so many octets.
const VALUE_OCTETS_MAX: usize = 8_192;
/// Those that the client writes itself.
const OWN: [HeaderName; 3] = [HOST, CONTENT_LENGTH, TRANSFER_ENCODING];

/// Header lines, in their order.
pub(crate) type HeaderLines = Vec<(String, Secret)>;

/// How they are written: `["Authorization: Bearer …"]`, or as a table, `{Authorization = "Bearer …"}`.
#[derive(Debug)]
pub enum HeaderFormat {}

impl ValueFormat for HeaderFormat {
    type Value = HeaderLines;

    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<HeaderLines> {
        match &node.kind {
            NodeValue::List(items) => items
                .iter()
                .map(|item| read_line(&Secret::read(item, path, problems)?, item, path, problems))
                .collect(),
            NodeValue::Table(entries) => entries
                .iter()
                .map(|(name, entry)| {
                    let value = Secret::read(&entry.node, &join(path, name), problems)?;
                    Some((name.clone(), value))
                })
                .collect(),
            _ => {
                let reason = format!("must be a list of header lines, not {}", node.kind_in_words());
                problems.add(node.place.clone(), path, reason);
                None
            }
        }
    }

    fn write(value: &HeaderLines) -> Option<String> {
        let lines = value.iter().map(|(name, value)| format_text(&format!("{name}: {}", value.reveal())));
        (!value.is_empty()).then(|| format!("[{}]", lines.collect::<Vec<_>>().join(", ")))
    }

    fn schema() -> Schema {
        Schema::Plain("list of header lines")
    }
}

/// `Name: value`.
fn read_line(line: &Secret, node: &Node, path: &str, problems: &mut Problems) -> Option<(String, Secret)> {
    let read = line.reveal().split_once(':');
    if read.is_none() {
        let reason = "has a line without a colon between name and value".to_owned();
        problems.add(node.place.clone(), path, reason);
    }
    read.map(|(name, value)| (name.trim().to_owned(), Secret::from(value.trim())))
}

/// What is wrong with the lines, without their values.
pub(crate) fn problem_of(lines: &HeaderLines) -> Option<String> {
    if lines.len() > LINES_MAX {
        return Some(format!("{} header lines are over the limit of {LINES_MAX}", lines.len()));
    }
    lines.iter().find_map(|(name, value)| match HeaderName::from_bytes(name.as_bytes()) {
        Err(_) => Some(format!("{name:?} is no name of a header")),
        Ok(known) if OWN.contains(&known) => Some(format!("{name} is written by the client itself")),
        Ok(_) if value.reveal().len() > VALUE_OCTETS_MAX => {
            Some(format!("the value of {name} is over the limit of {VALUE_OCTETS_MAX} octets"))
        }
        Ok(_) if HeaderValue::from_str(value.reveal()).is_err() => {
            Some(format!("the value of {name} has characters that a header cannot have"))
        }
        Ok(_) => None,
    })
}

/// The lines as the client sends them; their values are shown nowhere. Lines with a
/// [problem](problem_of) are left out.
pub(crate) fn header_map(lines: &HeaderLines) -> HeaderMap {
    let mut map = HeaderMap::with_capacity(lines.len());
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(mut value)) = (name, HeaderValue::from_str(value.reveal())) {
            value.set_sensitive(true);
            map.append(name, value);
        }
    }
    map
}

/// The media type that the lines give a request's body, if they do, in small letters and without parameters.
pub(crate) fn media_type(lines: &HeaderLines) -> Option<String> {
    let line = lines.iter().find(|(name, _)| name.eq_ignore_ascii_case(CONTENT_TYPE.as_str()));
    let value = line.map(|(_, value)| value.reveal().split(';').next().unwrap_or_default());
    value.map(|value| value.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(name: &str, value: &str) -> HeaderLines {
        vec![(name.to_owned(), Secret::from(value))]
    }

    #[test]
    fn a_line_that_cannot_be_sent_is_named_without_its_value() {
        assert_eq!(problem_of(&lines("Authorization", "Bearer abc")), None);
        for (name, value) in [
            ("Auth orization", "secret"),
            ("", "secret"),
            ("Host", "secret"),
            ("content-length", "secret"),
            ("X-Key", "secret\r\nX-More: 1"),
            ("X-Key", &"secret".repeat(2_000)),
        ] {
            let problem = problem_of(&lines(name, value)).unwrap();
            assert!(!problem.contains("secret"), "{problem}");
        }
        let many = (0..=LINES_MAX).map(|n| (format!("X-{n}"), Secret::from("v"))).collect();
        assert!(problem_of(&many).is_some());
    }

    #[test]
    fn lines_are_written_as_a_list_or_as_a_table() {
        let read = |toml: &str| {
            let mut problems = Problems::new("c.toml");
            let root = settings::parse(toml, &mut problems);
            let NodeValue::Table(entries) = &root.kind else { panic!() };
            HeaderFormat::read(&entries["h"].node, "h", &mut problems).ok_or(format!("{problems:?}"))
        };
        let expected = lines("Authorization", "Bearer a:b");
        assert_eq!(read("h = [\"Authorization: Bearer a:b\"]"), Ok(expected.clone()));
        assert_eq!(read("h = {Authorization = \"Bearer a:b\"}"), Ok(expected.clone()));
        assert_eq!(HeaderFormat::write(&expected).as_deref(), Some("[\"Authorization: Bearer a:b\"]"));
        for wrong in ["h = \"sesame\"", "h = [\"sesame\"]", "h = [1]", "h = {A = 1}"] {
            assert!(!read(wrong).unwrap_err().contains("sesame"), "{wrong}");
        }
    }

    #[test]
    fn values_are_marked_as_secret_and_a_media_type_is_found_by_any_spelling() {
        let both = [lines("X-Key", "abc"), lines("content-TYPE", "Application/JSON; charset=utf-8")].concat();
        assert!(header_map(&both).values().all(HeaderValue::is_sensitive));
        assert_eq!(media_type(&both).as_deref(), Some("application/json"));
        assert_eq!(media_type(&lines("X-Key", "abc")), None);
    }
}
