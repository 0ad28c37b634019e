//! Listing of what a bus's folder has beside topics, for whoever fills another bus from it.

use super::{GROUPS, RETAINED, name};
use std::io;
use std::path::Path;

/// Names of the consumer groups of a topic that have acknowledged anything.
///
/// # Errors
/// The folder cannot be read; a name that cannot be one.
pub fn group_names(dir: &Path, topic: &str) -> io::Result<Vec<String>> {
    let topic = name::folder(topic).map_err(|error| io::Error::other(error.to_string()))?;
    folders(&dir.join(GROUPS).join(topic))
}

/// Names of the retained topics.
///
/// # Errors
/// The folder cannot be read.
pub fn retained_names(dir: &Path) -> io::Result<Vec<String>> {
    folders(&dir.join(RETAINED))
}

fn folders(dir: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir()
            && let Some(folder) = entry.file_name().to_str()
        {
            names.push(name::of_folder(folder));
        }
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::super::{Embedded, Options};
    use super::*;
    use crate::Bus;

    #[tokio::test]
    async fn groups_and_retained_topics_are_listed_by_their_names() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(group_names(dir.path(), "told/a").unwrap(), Vec::<String>::new());
        let bus = Embedded::open(dir.path(), Options::default()).unwrap();
        bus.topic("told/a").unwrap().append(&[b"one"]).await.unwrap();
        let group = bus.group("told/a", "smpp").unwrap();
        assert_eq!(
            group_names(dir.path(), "told/a").unwrap(),
            Vec::<String>::new(),
            "it has acknowledged nothing"
        );
        group.take(1, std::time::Duration::from_secs(60)).unwrap();
        group.ack(0).unwrap();
        group.flush().await.unwrap();
        bus.retained("joins/carrier").unwrap().set("a", b"b").await.unwrap();
        assert_eq!(group_names(dir.path(), "told/a").unwrap(), ["smpp"]);
        assert_eq!(group_names(dir.path(), "told/b").unwrap(), Vec::<String>::new());
        assert_eq!(retained_names(dir.path()).unwrap(), ["joins/carrier"]);
    }
}
