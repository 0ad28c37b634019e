//! Sweep of attachments: files that nobody has any more leave the folder.

use crate::media::{Going, Media};
use crate::{NAMED_KEPT_S, SharedStore};
use records::Timestamp;
use std::io;
use std::time::{Duration, SystemTime};

/// Entries forgotten in one transaction.
const AT_ONCE: usize = 200;

/// Removes the files that nobody has at this time; says how many. Several processes may do it at once.
///
/// # Errors
/// In words: the store's or the disk's. What is left goes with the next sweep.
pub async fn sweep_attachments(store: &SharedStore, media: &Media, now: Timestamp) -> Result<usize, String> {
    let mut removed = 0;
    loop {
        let forgotten = store.forget_attachments(now, AT_ONCE).await.map_err(|error| error.to_string())?;
        for id in &forgotten.ids {
            removed += remove(store, media, id).await?;
        }
        if !forgotten.is_more {
            break;
        }
    }
    // Files of nobody: of an older version, or of a process that died between the two steps above.
    let kept = Duration::from_secs(NAMED_KEPT_S.unsigned_abs());
    let old = blocking(media, move |media| media.older(SystemTime::now() - kept)).await?;
    for id in &old.whole {
        if !store.has_attachment(id).await.map_err(|error| error.to_string())? {
            removed += remove(store, media, id).await?;
        }
    }
    for name in old.unfinished {
        blocking(media, move |media| media.remove_unfinished(&name)).await?;
        removed += 1;
    }
    Ok(removed)
}

/// Removes one, unless somebody uploads it at this moment: who does is in the store before the file is in its
/// place.
async fn remove(store: &SharedStore, media: &Media, id: &str) -> Result<usize, String> {
    let name = id.to_owned();
    let Some(going) = blocking(media, move |media| media.take_away(&name)).await? else { return Ok(0) };
    let is_kept = store.has_attachment(id).await;
    let then = if matches!(is_kept, Ok(false)) { Going::remove } else { Going::restore };
    blocking(media, move |_| then(going)).await?;
    is_kept.map(|is_kept| usize::from(!is_kept)).map_err(|error| error.to_string())
}

async fn blocking<T: Send + 'static>(
    media: &Media,
    run: impl FnOnce(&Media) -> io::Result<T> + Send + 'static,
) -> Result<T, String> {
    let media = media.clone();
    let done = tokio::task::spawn_blocking(move || run(&media)).await;
    done.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OwnedFile;
    use uuid::Uuid;

    #[tokio::test]
    async fn a_file_that_nobody_has_any_more_goes_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let media = Media::at(&folder.path().join("media"));
        let options = crate::sqlite::SqliteOptions::default();
        let store = crate::sqlite::open(&folder.path().join("db"), &options).unwrap();
        let mut ids = Vec::new();
        for (octets, until) in [(b"old", 10), (b"new", 20)] {
            let mut writing = media.begin().await.unwrap();
            writing.write(octets).await.unwrap();
            let stored = writing.end().await.unwrap();
            let (account, token) = ("a".to_owned(), "t".to_owned());
            let file = OwnedFile { id: stored.id.clone(), octets: stored.size, account, token };
            store.finish_upload(Uuid::now_v7(), file, Timestamp(until)).await.unwrap();
            writing.place(&stored).await.unwrap();
            ids.push(stored.id);
        }
        assert_eq!(sweep_attachments(&store, &media, Timestamp(9)).await, Ok(0));
        assert_eq!(sweep_attachments(&store, &media, Timestamp(10)).await, Ok(1));
        assert_eq!((media.size(&ids[0]).unwrap(), media.size(&ids[1]).unwrap()), (None, Some(3)));
        assert_eq!(remove(&store, &media, &ids[1]).await, Ok(0), "somebody has it");
        assert_eq!(media.size(&ids[1]).unwrap(), Some(3));
        // Of a process that died on the way, 42 days ago.
        store.forget_attachments(Timestamp(20), 10).await.unwrap();
        assert_eq!(sweep_attachments(&store, &media, Timestamp(30)).await, Ok(0));
        let file = std::fs::File::options().write(true).open(media.path(&ids[1]).unwrap()).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(42 * 86_400)).unwrap();
        assert_eq!(sweep_attachments(&store, &media, Timestamp(30)).await, Ok(1));
        store.close().await.unwrap();
    }
}
