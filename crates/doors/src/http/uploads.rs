//! Upload of a file: its octets are taken from the room of its account and of the disk while they come, and
//! given back if it comes to no end.

use crate::http::HttpLimits;
use crate::http::account_places::{AccountPlace, AccountPlaces};
use crate::http::app::AppState;
use crate::http::auth::Caller;
use crate::http::directories::DirectoryState;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use records::Timestamp;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use store::media::{Media, Stored, Writing};
use store::{FILES_MAX, OwnedFile, SharedStore, UploadRoom};
use uuid::Uuid;

/// Files that come at once.
const UPLOADS_MAX: usize = 16;
/// A whole file must be there within this.
pub(crate) const WHOLE_FILE_MAX: Duration = Duration::from_secs(3_600);
/// Room of an upload is free again after so long, seconds, should its process die.
const ROOM_KEPT_S: i64 = 2 * WHOLE_FILE_MAX.as_secs() as i64;
/// Octets by which the room of a file of unknown size grows.
const STEP_OCTETS: u64 = 1 << 20;

/// Limits on uploads, and the places of those that come.
pub(crate) struct UploadState {
    limits: UploadLimits,
    places: Arc<AccountPlaces>,
    pub media: Media,
    /// Imports of people, and directories that they come from.
    pub directory: DirectoryState,
}

struct UploadLimits {
    octets_max: u64,
    total_max: u64,
    unnamed_kept_s: i64,
    disk_reserve: u64,
}

impl UploadState {
    pub(crate) fn new(limits: &HttpLimits, media: Media, directory: DirectoryState) -> UploadState {
        let limits = UploadLimits {
            octets_max: limits.attachment_octets_max,
            total_max: limits.attachments_total_max,
            unnamed_kept_s: i64::try_from(limits.attachments_unnamed_kept.as_secs())
                .unwrap_or(i64::MAX / 1_000_000),
            disk_reserve: limits.attachments_disk_reserve,
        };
        let places = AccountPlaces::new("uploads", UPLOADS_MAX);
        UploadState { limits, places, media, directory }
    }
}

/// A file that comes. Dropped before [`Upload::finish`], it is forgotten, and its room is free.
pub(crate) struct Upload<'a> {
    app: &'a AppState,
    caller: &'a Caller,
    writing: Writing,
    room: Room,
    /// Octets at which the disk is looked at again.
    look_at: u64,
    _place: AccountPlace,
}

/// Octets that an upload has reserved in the store.
struct Room {
    store: SharedStore,
    upload: Uuid,
    octets: u64,
    is_used: bool,
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.is_used || self.octets == 0 {
            return;
        }
        let (store, upload) = (self.store.clone(), self.upload);
        // Where that fails the room is free by its time.
        tokio::spawn(async move {
            if let Err(error) = store.drop_upload(upload).await {
                tracing::warn!(%error, "the room of an upload that broke off is free only after some time");
            }
        });
    }
}

impl<'a> Upload<'a> {
    /// Begins a file; of a known size its whole room is reserved.
    pub(crate) async fn begin(
        app: &'a AppState,
        caller: &'a Caller,
        octets: Option<u64>,
    ) -> HttpResult<Upload<'a>> {
        let UploadState { limits, places, media, .. } = &app.uploads;
        let place = places.take(caller.account())?;
        limits.check_size(octets.unwrap_or(0))?;
        check_disk(media, limits.disk_reserve, octets.unwrap_or(0)).await?;
        let room = Room { store: app.store.clone(), upload: Uuid::now_v7(), octets: 0, is_used: false };
        let writing = media.begin().await.map_err(|error| not_written(&error))?;
        let mut upload = Upload { app, caller, writing, room, look_at: STEP_OCTETS, _place: place };
        upload.reserve(octets.unwrap_or(0), octets.unwrap_or(STEP_OCTETS)).await?;
        Ok(upload)
    }

    /// Octets so far.
    pub(crate) fn size(&self) -> u64 {
        self.writing.size()
    }

    /// The id that the file has if nothing more comes.
    pub(crate) fn id(&self) -> String {
        self.writing.id()
    }

    /// Adds octets.
    pub(crate) async fn write(&mut self, piece: &[u8]) -> HttpResult<()> {
        let limits = &self.app.uploads.limits;
        let size = self.writing.size() + piece.len() as u64;
        limits.check_size(size)?;
        if size > self.room.octets {
            self.reserve(size, size.saturating_add(STEP_OCTETS)).await?;
        }
        if size >= self.look_at {
            check_disk(&self.app.uploads.media, limits.disk_reserve, 0).await?;
            self.look_at = size + STEP_OCTETS;
        }
        self.writing.write(piece).await.map_err(|error| not_written(&error))
    }

    async fn reserve(&mut self, at_least: u64, at_most: u64) -> HttpResult<()> {
        let now = self.app.now();
        let total_max = self.app.uploads.limits.total_max;
        let room = UploadRoom {
            upload: self.room.upload,
            account: self.caller.account().to_owned(),
            at_least,
            at_most,
            total_max,
            now,
            until: now.plus_s(ROOM_KEPT_S),
        };
        match self.app.store.reserve_upload(room).await? {
            Some(octets) => {
                self.room.octets = octets;
                Ok(())
            }
            None => {
                let detail = format!(
                    "the attachments of this account have no room for this file: together they may have {total_max} octets \
                     ([http] attachments_total_max) in {FILES_MAX} files; one that no alert names goes after \
                     {} s, one that an alert names by [retention] attachments",
                    self.app.uploads.limits.unnamed_kept_s,
                );
                Err(HttpProblem::new(ProblemKind::QuotaReached, detail))
            }
        }
    }

    /// The file is whole: its account and token have it.
    pub(crate) async fn finish(mut self) -> HttpResult<Stored> {
        let stored = self.writing.end().await.map_err(|error| not_written(&error))?;
        let file = OwnedFile {
            id: stored.id.clone(),
            octets: stored.size,
            account: self.caller.account().to_owned(),
            token: self.caller.token.id.clone(),
        };
        // In the store before the folder: the sweep never takes away what somebody has.
        self.app
            .store
            .finish_upload(self.room.upload, file, self.app.uploads.unnamed_until(self.app.now()))
            .await?;
        self.room.is_used = true;
        self.writing.place(&stored).await.map_err(|error| not_written(&error))?;
        Ok(stored)
    }
}

impl UploadState {
    /// Until when a file is kept that no alert names.
    fn unnamed_until(&self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_add(self.limits.unnamed_kept_s.saturating_mul(1_000_000)))
    }
}

impl UploadLimits {
    fn check_size(&self, octets: u64) -> HttpResult<()> {
        if octets <= self.octets_max {
            return Ok(());
        }
        let detail =
            format!("a file may have at most {} octets ([http] attachment_octets_max)", self.octets_max);
        Err(HttpProblem::new(ProblemKind::TooLarge, detail))
    }
}

/// Refuses a file on a disk that is nearly full: alerts need what is left.
async fn check_disk(media: &Media, reserve: u64, octets: u64) -> HttpResult<()> {
    if reserve == 0 {
        return Ok(());
    }
    let media = media.clone();
    let free = tokio::task::spawn_blocking(move || media.free()).await;
    let free =
        free.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(|error| not_written(&error))?;
    if free.saturating_sub(octets) >= reserve {
        return Ok(());
    }
    let detail = format!(
        "the disk of the attachments has {free} octets left, and {reserve} are kept for alerts ([http] \
         attachments_disk_reserve): make room on it; alerts are still taken"
    );
    Err(HttpProblem::new(ProblemKind::DiskFull, detail))
}

fn not_written(error: &io::Error) -> HttpProblem {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ProblemKind::DiskFull,
        _ => ProblemKind::Internal,
    };
    tracing::error!(%error, "an attachment could not be stored");
    HttpProblem::new(kind, format!("the file could not be stored: {error}"))
}
