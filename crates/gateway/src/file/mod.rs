//! Files: each message is a line of JSON, for archives and for trying things. The walkthrough of
//! docs/dev/add-a-channel.md.
//!
//! ```text
//! keys      keys of a `[[route]]` of this channel
//! config    settings of a route
//! encode    an entry as a line
//! append    lines onto a file, each id once
//! ```
//!
//! Invariant worth naming: an entry's line has the same id whenever it is tried, and an id is written once.
//! So what a crash left under way is planned again at once, and leaves no second copy.

mod append;
mod config;
#[cfg(test)]
mod conformance;
mod encode;
mod keys;

pub use config::FileRoute;
pub use keys::FileKeys;

#[cfg(test)]
use crate::conformance::FarEnd;
use crate::context::{GatewayContext, RouteProblem, Stop};
use crate::dispatcher::{ChannelEncoder, Job, RateHolder, RouteDispatcher, RouteLimit};
use crate::registry::ChannelGateway;
use crate::route_keys::RouteKeys;
use crate::route_loop::{ChangeScope, Checked, RouteSessions};
use crate::surroundings::Surroundings;
use crate::worker::{Turns, Worker};
use append::Appender;
use bus::BusError;
#[cfg(test)]
use futures_util::future::BoxFuture;
use records::{AttemptResult, ChannelNumber, Entry, Segment};
use rustc_hash::FxHashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;

/// Files kept open at most.
const FILES_MAX: usize = 100;

/// The gateway of files.
pub struct FileGateway;

impl ChannelGateway for FileGateway {
    type Sessions = FileSessions;
    type Keys = FileKeys;
    const CHANNEL: ChannelNumber = channels::FILE;

    fn settings(
        common: &RouteKeys,
        keys: &FileKeys,
        around: &Surroundings,
    ) -> Result<FileRoute, RouteProblem> {
        Ok(keys.route(common, around))
    }

    #[cfg(test)]
    fn far_end() -> BoxFuture<'static, Box<dyn FarEnd>> {
        Box::pin(async { Box::new(conformance::Folder::new()) as Box<dyn FarEnd> })
    }
}

/// There is nothing to make of a segment once.
pub(crate) struct FileEncoder;

impl ChannelEncoder for FileEncoder {
    type Prepared = ();
    fn repeatable(&self) -> bool {
        true
    }

    fn prepare(&self, _segment: &Segment) {}

    fn units(&self, _segment: &Segment, (): &(), _entry: &Entry) -> u8 {
        1
    }
}

type FileJob = Job<()>;

/// The one session of a route: a task that writes.
pub(crate) struct FileSessions {
    limit: Arc<RouteLimit<FileEncoder>>,
    writer: Option<FileWriter>,
    settings: watch::Sender<FileRoute>,
    worker: Worker,
}

impl RouteSessions for FileSessions {
    type Settings = FileRoute;
    type Material = ();
    type Encoder = FileEncoder;

    fn prepare(settings: &FileRoute, _: &GatewayContext) -> Result<(), Vec<RouteProblem>> {
        let folder = &settings.folder;
        let reason = |error: io::Error| format!("the folder {} cannot be made: {error}", folder.display());
        std::fs::create_dir_all(folder)
            .map_err(|error| vec![RouteProblem { field: "folder", reason: reason(error) }])
    }

    fn encoder(_: &FileRoute, (): &()) -> FileEncoder {
        FileEncoder
    }

    fn open(
        route: &Checked<Self>,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<FileEncoder>>,
    ) -> Result<FileSessions, BusError> {
        let limit = RouteLimit::new(dispatcher, route.settings.rate);
        let (settings, config) = watch::channel(route.settings.clone());
        let writer = FileWriter {
            config,
            context: context.clone(),
            dispatcher: Arc::clone(dispatcher),
            limit: Arc::clone(&limit),
            files: FxHashMap::default(),
        };
        Ok(FileSessions { limit, writer: Some(writer), settings, worker: Worker::default() })
    }

    fn limit(&self) -> Arc<dyn RateHolder> {
        Arc::clone(&self.limit) as Arc<dyn RateHolder>
    }

    fn begin(&mut self) {
        if let Some(writer) = self.writer.take() {
            self.worker.begin(|stop| writer.write(stop));
        }
    }

    async fn change(&mut self, _: ChangeScope, route: Checked<Self>) {
        self.settings.send_replace(route.settings);
    }

    async fn end(self) {
        self.worker.end().await;
    }
}

/// A route at work.
struct FileWriter {
    config: watch::Receiver<FileRoute>,
    context: GatewayContext,
    dispatcher: Arc<RouteDispatcher<FileEncoder>>,
    limit: Arc<RouteLimit<FileEncoder>>,
    files: FxHashMap<PathBuf, Appender>,
}

impl FileWriter {
    /// Until it is time to stop.
    async fn write(mut self, mut stop: Stop) {
        let turns = Turns::begin(&self.dispatcher, &self.limit);
        while !stop.is_set() {
            let jobs = turns.take();
            if !jobs.is_empty() {
                self.carry_out(jobs).await;
                continue;
            }
            tokio::select! {
                () = turns.wait() => {}
                Ok(()) = self.config.changed() => {}
                () = stop.wait() => {}
            }
        }
    }

    /// Writes entries, those of one file together.
    async fn carry_out(&mut self, jobs: Vec<FileJob>) {
        let folder = self.config.borrow().folder.clone();
        let mut by_file: FxHashMap<PathBuf, Vec<FileJob>> = FxHashMap::default();
        for job in jobs {
            match self.dispatcher.refusal(&job) {
                None => by_file.entry(path(&folder, &job.entry().address)).or_default().push(job),
                Some(why) => {
                    self.limit.unused();
                    self.dispatcher.whole(&job, &AttemptResult::NotTried { why });
                }
            }
        }
        for (path, jobs) in by_file {
            self.append(path, jobs).await;
        }
    }

    async fn append(&mut self, path: PathBuf, jobs: Vec<FileJob>) {
        let (at, before) = (self.context.now(), Instant::now());
        let mut lines = Vec::with_capacity(jobs.len());
        for job in &jobs {
            let (segment, entry) = (&job.leased.segment, job.entry());
            if let Some(line) = encode::line(segment, entry, at) {
                lines.push((encode::id(segment, entry), line));
            }
        }
        let known = self.files.remove(&path);
        // A disk may take its time.
        let appended = tokio::task::spawn_blocking(move || {
            let mut appender = known.map_or_else(|| Appender::open(&path), Ok)?;
            appender.append(lines)?;
            Ok((path, appender))
        });
        let appended: io::Result<(PathBuf, Appender)> =
            appended.await.unwrap_or_else(|error| Err(io::Error::other(error)));
        self.limit.wrote(jobs.len(), before, Instant::now());
        jobs.iter().for_each(|job| self.dispatcher.whole(job, &result(job, appended.as_ref().err())));
        if let Ok((path, appender)) = appended {
            if self.files.len() >= FILES_MAX {
                self.files.clear();
            }
            self.files.insert(path, appender);
        }
    }
}

/// The file of an address.
fn path(folder: &Path, address: &str) -> PathBuf {
    folder.join(format!("{address}.jsonl"))
}

/// The outcome of an entry. What was perhaps written is found by its id when it is tried again.
fn result(job: &FileJob, error: Option<&io::Error>) -> AttemptResult {
    let (segment, entry) = (&job.leased.segment, job.entry());
    let refused = |permanent, code: &str, text: String| AttemptResult::Refused {
        permanent,
        code: code.to_owned(),
        text,
    };
    match error {
        Some(error) if error.kind() == io::ErrorKind::StorageFull => {
            refused(false, "file:full", format!("the disk is full: {error}"))
        }
        Some(error) => refused(false, "file:failed", error.to_string()),
        None if segment.body(entry).and_then(records::Body::content).is_none() => {
            refused(true, "file:body", "there is no text for a file".to_owned())
        }
        None => AttemptResult::Accepted { keys: Vec::new(), id: encode::id(segment, entry) },
    }
}
