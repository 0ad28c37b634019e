//! Fields of what a carrier sends, found by the paths of the configuration: JSON, a form, or plain text.

use serde_json::Value;

/// Items of one post.
const ITEMS_MAX: usize = 10_000;
/// Octets of a path.
const PATH_OCTETS_MAX: usize = 200;
/// Begins a path to a word of plain text.
const WORD: &str = "word:";

/// A body, or an item of it.
#[derive(Debug, Clone)]
pub(super) enum CarrierFields<'a> {
    Json(Value),
    /// A form, or plain text: which one shows by the path.
    Text(&'a str),
}

impl<'a> CarrierFields<'a> {
    /// JSON where it is some, whatever the carrier calls it.
    pub(super) fn of(body: &'a str) -> CarrierFields<'a> {
        let looks_so = body.trim_start().starts_with(['{', '[']);
        match looks_so.then(|| serde_json::from_str(body)) {
            Some(Ok(value)) => CarrierFields::Json(value),
            _ => CarrierFields::Text(body),
        }
    }

    /// The value at a path, as text; nothing if there is none.
    pub(super) fn value(&self, path: &str) -> Option<String> {
        match self {
            CarrierFields::Json(value) => {
                let found = if path.starts_with('/') { value.pointer(path) } else { value.get(path) };
                text_of(found?)
            }
            CarrierFields::Text(text) => match path.strip_prefix(WORD) {
                Some(number) => word(text, number.parse().ok()?),
                None => field(text, path),
            },
        }
    }

    /// The items of the list at a path; without a path there is one: all of it.
    ///
    /// # Errors
    /// There is no list, or a longer one than is read.
    pub(super) fn items(self, path: Option<&str>) -> Result<Vec<CarrierFields<'a>>, String> {
        let Some(path) = path else { return Ok(vec![self]) };
        let CarrierFields::Json(mut value) = self else {
            return Err(format!("{path} is a list of JSON, and this is none"));
        };
        let found = match path {
            "/" => Some(&mut value),
            path if path.starts_with('/') => value.pointer_mut(path),
            path => value.get_mut(path),
        };
        match found.map(Value::take) {
            Some(Value::Array(items)) if items.len() <= ITEMS_MAX => {
                Ok(items.into_iter().map(CarrierFields::Json).collect())
            }
            Some(Value::Array(items)) => {
                Err(format!("{} items are over the limit of {ITEMS_MAX}", items.len()))
            }
            _ => Err(format!("there is no list at {path}")),
        }
    }
}

/// What is wrong with a path.
pub(super) fn problem_of(path: &str) -> Option<String> {
    if path.is_empty() || path.len() > PATH_OCTETS_MAX {
        return Some(format!("a path has 1 to {PATH_OCTETS_MAX} octets"));
    }
    let number = path.strip_prefix(WORD).map(str::parse::<usize>);
    matches!(number, Some(Err(_) | Ok(0)))
        .then(|| format!("{path:?} is no word of a text, such as word:1, the first"))
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A word, from 1, without the signs that carriers put behind one.
fn word(text: &str, number: usize) -> Option<String> {
    let word = text.split_whitespace().nth(number.checked_sub(1)?)?;
    Some(word.trim_end_matches([':', ',', ';']).to_owned())
}

/// A field of a form.
fn field(text: &str, name: &str) -> Option<String> {
    let mut pairs = text.trim().split('&').filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(key, value)| (decoded(key) == name).then(|| decoded(value)))
}

/// `%XX` and `+`; what is no UTF-8 is replaced.
fn decoded(text: &str) -> String {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|two| *first == b'%' && two.iter().all(u8::is_ascii_hexdigit));
        let escaped = digits.and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        rest = if escaped.is_some() { &after[2..] } else { after };
        octets.push(escaped.unwrap_or(if *first == b'+' { b' ' } else { *first }));
    }
    String::from_utf8_lossy(&octets).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_value_is_found_in_whatever_a_carrier_writes() {
        for (body, path, expected) in [
            (r#"{"id": "a", "n": 7, "ok": true}"#, "id", Some("a")),
            (r#"{"id": "a", "n": 7}"#, "n", Some("7")),
            (r#"{"ok": true}"#, "/ok", Some("true")),
            (r#"{"messages": [{"id": "a"}]}"#, "/messages/0/id", Some("a")),
            (r#"[{"id": "a"}]"#, "/0/id", Some("a")),
            (r#"{"a.b": {"c/d": "x"}}"#, "/a.b/c~1d", Some("x")),
            (r#"{"id": null}"#, "id", None),
            (r#"{"id": ["a"]}"#, "id", None),
            ("id=a%2Bb+c&status=0", "id", Some("a+b c")),
            ("id=a&status=0\r\n", "status", Some("0")),
            ("id=%zz%4", "id", Some("%zz%4")),
            ("ID: 7f3a", "word:2", Some("7f3a")),
            ("0: Accepted for delivery", "word:1", Some("0")),
            ("OK", "word:2", None),
            ("", "id", None),
            ("{broken", "id", None),
        ] {
            assert_eq!(CarrierFields::of(body).value(path).as_deref(), expected, "{body} {path}");
        }
    }

    #[test]
    fn a_post_of_several_is_read_item_by_item() {
        let items = |body, path| CarrierFields::of(body).items(path);
        assert_eq!(items("id=1", None).unwrap().len(), 1);
        let body = r#"{"results": [{"id": "a"}, {"id": "b"}]}"#;
        let ids: Vec<_> =
            items(body, Some("/results")).unwrap().iter().map(|item| item.value("id")).collect();
        assert_eq!(ids, [Some("a".to_owned()), Some("b".to_owned())]);
        assert_eq!(items("[1, 2]", Some("/")).unwrap().len(), 2);
        let many = format!("[{}1]", "1,".repeat(ITEMS_MAX));
        for (body, path) in [("id=1", "/x"), ("{}", "/x"), ("{\"x\": 1}", "x"), (many.as_str(), "/")] {
            assert!(items(body, Some(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn a_path_that_leads_nowhere_is_known_before() {
        for path in ["id", "/a/0", "word:1"] {
            assert_eq!(problem_of(path), None);
        }
        for path in ["", "word:0", "word:x", &"x".repeat(PATH_OCTETS_MAX + 1)] {
            assert!(problem_of(path).is_some(), "{path}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_a_carrier_sends_makes_it_fall(body in "\\PC{0,200}", path in "(/|word:)?\\PC{0,20}") {
            let _ = CarrierFields::of(&body).value(&path);
            let _ = CarrierFields::of(&body).items(Some(&path));
        }
    }
}
