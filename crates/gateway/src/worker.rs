//! Worker: the task of a route whose one session is this process, and what stops it.

use crate::context::Stop;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A task that works until it is told to stop.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    running: Option<(watch::Sender<bool>, JoinHandle<()>)>,
}

impl Worker {
    /// Begins it on this runtime. The future ends in order soon after its [`Stop`] says so.
    pub(crate) fn begin<F>(&mut self, work: impl FnOnce(Stop) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, stopping) = Stop::pair();
        self.running = Some((stop, tokio::spawn(work(stopping))));
    }

    /// Stops it, and waits for its end.
    pub(crate) async fn end(self) {
        let Some((stop, task)) = self.running else { return };
        let _ = stop.send(true);
        if let Err(error) = task.await {
            tracing::error!(%error, "the task of a route ended in a panic");
        }
    }
}
