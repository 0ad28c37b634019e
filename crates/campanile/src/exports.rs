//! Exported files, in which people are forgotten too: a line keeps its place, state and times.

use engine::{ForgetElsewhere, ForgottenPerson};
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Columns of an exported line, by [`engine::report::csv_header`].
const CHANNEL: usize = 1;
const ADDRESS: usize = 2;
const RECIPIENTS: usize = 3;
const NAMES: usize = 4;
const REASON: usize = 6;
const ANSWER: usize = 12;
/// What joins several people of one line.
const AND: char = ';';

/// Forgets people in the files of this folder.
pub fn forget_in(folder: PathBuf) -> ForgetElsewhere {
    Arc::new(move |person| {
        let folder = folder.clone();
        Box::pin(async move {
            let forget = tokio::task::spawn_blocking(move || forget(&folder, &person));
            forget.await.unwrap_or_else(|error| Err(error.to_string()))
        })
    })
}

/// Gives how many files were changed.
fn forget(folder: &Path, person: &ForgottenPerson) -> Result<u64, String> {
    let says = |error: std::io::Error| format!("the exports in {}: {error}", folder.display());
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(says(error)),
    };
    let mut changed = 0;
    for entry in entries {
        let path = entry.map_err(says)?.path();
        if path.extension() == Some(OsStr::new("csv")) {
            let text = std::fs::read_to_string(&path).map_err(says)?;
            if let Some(text) = without(&text, person) {
                replace(&path, &text).map_err(says)?;
                changed += 1;
            }
        }
    }
    Ok(changed)
}

/// A file's text without a person; nothing if they are not in it.
fn without(text: &str, person: &ForgottenPerson) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut any = false;
    for line in lines(text) {
        match left(&fields(line), person) {
            Some(fields) => {
                any = true;
                out.push_str(&fields.iter().map(|field| quoted(field)).collect::<Vec<_>>().join(","));
                out.push_str("\r\n");
            }
            None => out.push_str(line),
        }
    }
    any.then_some(out)
}

/// The fields of a line without a person; nothing if it is not theirs.
fn left(fields: &[String], person: &ForgottenPerson) -> Option<Vec<String>> {
    let (ids, names) = (fields.get(RECIPIENTS)?, fields.get(NAMES)?);
    let address = fields.get(ADDRESS)?;
    let channel = channels::named(fields.get(CHANNEL)?).ok().map(|channel| channel.number());
    let is_reached = channel.is_some_and(|channel| person.has(channel, bare(address)));
    let is_named = ids.split(AND).any(|id| bare(id) == person.id);
    if !is_named && !is_reached {
        return None;
    }
    let pairs: Vec<(&str, &str)> = ids.split(AND).zip(names.split(AND)).collect();
    let others: Vec<_> =
        pairs.into_iter().filter(|(id, _)| !id.is_empty() && bare(id) != person.id).collect();
    let mut left = fields.to_vec();
    // A name may hold what joins names: then nobody can tell whose is whose, and all go.
    let is_clear = ids.split(AND).count() == names.split(AND).count();
    let joined =
        |of: fn(&(&str, &str)) -> String| others.iter().map(of).collect::<Vec<_>>().join(&AND.to_string());
    left[RECIPIENTS] = joined(|(id, _)| (*id).to_owned());
    left[NAMES] = if is_clear { joined(|(_, name)| (*name).to_owned()) } else { String::new() };
    if others.is_empty() {
        left[ADDRESS].clear();
    }
    for words in [REASON, ANSWER] {
        if let Some(field) = left.get_mut(words) {
            field.clear();
        }
    }
    Some(left)
}

/// A field without the quote that keeps spreadsheets from reading it as a formula.
fn bare(field: &str) -> &str {
    field.strip_prefix('\'').unwrap_or(field)
}

/// Lines with their ends; a line end within quotes is none (RFC 4180).
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split_inclusive(move |c| {
        quoted ^= c == '"';
        c == '\n' && !quoted
    })
}

fn fields(line: &str) -> Vec<String> {
    let line = line.trim_end_matches(['\r', '\n']);
    let mut quoted = false;
    let cut = line.split(move |c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    let plain = |field: &str| match field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => field.to_owned(),
    };
    cut.map(plain).collect()
}

fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let unfinished = path.with_extension("new");
    let mut file = std::fs::File::create(&unfinished)?;
    file.set_permissions(std::fs::metadata(path)?.permissions())?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&unfinished, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "endpoint,channel,address,recipients,names,state,reason,route,attempts,submitted,accepted,delivered,answer,answered,reason_code\r\n";

    fn ann() -> ForgottenPerson {
        ForgottenPerson {
            account: "a".to_owned(),
            id: "ann".to_owned(),
            addresses: [(channels::SMS, "+461".to_owned())].into_iter().collect(),
        }
    }

    #[test]
    fn lines_of_a_person_keep_their_state_and_lose_who_it_was() {
        assert_eq!(HEADER, engine::report::csv_header(), "the places of the columns are those of the header");
        for (before, after) in [
            (
                "0,sms,+461,ann,Ann,answered,to +461,r,1,s,a,d,\"at home, all\nwell\",t\r\n",
                Some("0,sms,,,,answered,,r,1,s,a,d,,t\r\n"),
            ),
            ("1,sms,+461,,,failed,,r,1,,,,,\r\n", Some("1,sms,,,,failed,,r,1,,,,,\r\n")),
            (
                "2,sms,+469,ann;bo,\"Ann;Bo, jr\",failed,,r,1,,,,,\r\n",
                Some("2,sms,+469,bo,\"Bo, jr\",failed,,r,1,,,,,\r\n"),
            ),
            ("3,mail,+461,bo,Bo;ann,failed,,r,1,,,,,\r\n", None),
            ("4,sms,+469,annika,Ann,failed,,r,1,,,,ann,\r\n", None),
        ] {
            let expected = after.map(|after| format!("{HEADER}{after}"));
            assert_eq!(without(&format!("{HEADER}{before}"), &ann()), expected, "{before:?}");
        }
    }

    #[test]
    fn only_files_that_name_them_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("1.csv", &format!("{HEADER}0,sms,+461,ann,Ann,failed,,r,1,,,,,\r\n"));
        write("2.csv", &format!("{HEADER}0,sms,+462,bo,Bo,failed,,r,1,,,,,\r\n"));
        write("1.json", "{\"ann\":1}");
        assert_eq!(forget(folder.path(), &ann()), Ok(1));
        assert_eq!(forget(folder.path(), &ann()), Ok(0));
        assert!(!std::fs::read_to_string(folder.path().join("1.csv")).unwrap().contains("Ann"));
        assert_eq!(forget(&folder.path().join("none"), &ann()), Ok(0));
    }
}
