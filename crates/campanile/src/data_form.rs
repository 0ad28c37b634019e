//! Form of a data folder and of the streams of a bus: what a newer version wrote is refused before anything
//! of it is opened. docs/dev/compatibility.md has the policy.

use bus::{BusError, Topic};
use records::{DATA_FORM, behind_form, with_form};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The file in the data folder.
const FILE: &str = "form";
/// Its words before the form.
const WORDS: &str = "campanile data ";
/// Other processes may note forms at the same time so often.
const TRIES_MAX: usize = 100;
/// Records of the topic at most: one for each form, and some that were noted at the same time.
const RECORDS_MAX: usize = 10_000;

/// Notes in the folder that it has this version's form; a folder without a note is new, or of the first form.
///
/// # Errors
/// In words: a newer version wrote the folder, or the note cannot be read or written.
pub fn note_in_folder(data: &Path) -> Result<(), String> {
    let path = data.join(FILE);
    let says = |error: std::io::Error| format!("{}: {error}", path.display());
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let form = text.trim_end().strip_prefix(WORDS).and_then(|form| form.parse().ok());
            match form {
                Some(DATA_FORM) => return Ok(()),
                Some(form) if form > DATA_FORM => return Err(newer(&path.display().to_string(), form)),
                Some(_) => {}
                None => {
                    return Err(format!(
                        "{} is damaged: it should contain \"{WORDS}{DATA_FORM}\"; restore it from a backup",
                        path.display()
                    ));
                }
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(says(error)),
    }
    write(data, &path).map_err(says)
}

fn write(data: &Path, path: &Path) -> std::io::Result<()> {
    let unfinished = path.with_extension("new");
    let mut file = std::fs::File::create(&unfinished)?;
    file.write_all(format!("{WORDS}{DATA_FORM}\n").as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&unfinished, path)?;
    std::fs::File::open(data)?.sync_all()
}

/// Notes on a topic of the bus that its streams have this version's form: records behind the first one.
///
/// # Errors
/// In words: a newer version wrote the streams, or the bus fails.
pub async fn note_on_bus(topic: &dyn Topic, name: &str) -> Result<(), String> {
    let describe = |error: BusError| format!("[bus]: {error}");
    for _ in 0..TRIES_MAX {
        let records = topic.fetch(0, RECORDS_MAX, usize::MAX).await.map_err(describe)?;
        let mut noted = 0;
        for record in records.iter().filter(|record| record.index > 0) {
            let octets = behind_form("form of the streams", &record.octets)
                .map_err(|error| format!("[bus]: the topic {name:?}: {error}"))?;
            noted = octets.try_into().map_or(noted, |octets| u32::from_le_bytes(octets).max(noted));
        }
        if noted > DATA_FORM {
            return Err(newer(&format!("[bus]: the topic {name:?}"), noted));
        }
        if noted == DATA_FORM {
            return Ok(());
        }
        let head = records.last().map_or(0, |last| last.index + 1);
        match topic.append_at(head, &[&with_form(&DATA_FORM.to_le_bytes())]).await {
            // Another process may have noted a newer one.
            Ok(_) | Err(BusError::Moved { .. }) => {}
            Err(error) => return Err(describe(error)),
        }
    }
    Err(format!("[bus]: the topic {name:?} keeps growing while it is read"))
}

fn newer(place: &str, form: u32) -> String {
    format!(
        "{place}: the data's form is {form}, which was written by a newer version of campanile: this one reads forms up to \
         {DATA_FORM}; use the newer one, or restore the copy that was made before it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use bus::Bus;

    #[test]
    fn a_folder_of_a_newer_version_is_refused_by_name_and_stays_as_it_is() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(FILE);
        for _ in 0..2 {
            note_in_folder(data.path()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{WORDS}{DATA_FORM}\n"));
        }
        let newer = format!("{WORDS}{}\n", DATA_FORM + 1);
        for (text, words) in [(newer.as_str(), "newer version"), ("campanile\n", "damaged")] {
            std::fs::write(&path, text).unwrap();
            let refused = note_in_folder(data.path()).unwrap_err();
            assert!(refused.contains(words) && refused.contains(&path.display().to_string()), "{refused}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        std::fs::write(&path, format!("{WORDS}{}\n", DATA_FORM - 1)).unwrap();
        note_in_folder(data.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{WORDS}{DATA_FORM}\n"));
    }

    #[tokio::test]
    async fn streams_of_a_newer_version_are_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let bus = bus::embedded::Embedded::open(dir.path(), bus::embedded::Options::default()).unwrap();
        let topic = bus.topic("house").unwrap();
        topic.append(&[b"the first record is another's"]).await.unwrap();
        for _ in 0..2 {
            note_on_bus(&*topic, "house").await.unwrap();
            assert_eq!(topic.latest().await.unwrap(), 2, "it is noted once");
        }
        topic.append(&[&with_form(&(DATA_FORM + 1).to_le_bytes())]).await.unwrap();
        let refused = note_on_bus(&*topic, "house").await.unwrap_err();
        assert!(refused.contains("\"house\"") && refused.contains("newer version"), "{refused}");
    }
}
