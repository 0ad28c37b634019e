//! Other settings for a route that runs.

use net::TlsClient;
use tokio::sync::oneshot;

use super::Checked;
use super::config::{SmsRoute, Step};
use crate::context::{Changed, Problem};

/// Changes that may wait for a route.
pub(super) const CHANGES_MAX: usize = 4;

/// A change on its way to the route.
pub(crate) struct Change {
    pub(super) route: Checked,
    answer: Option<oneshot::Sender<Changed>>,
}

impl Change {
    /// One that can be made, and where its answer comes.
    pub(crate) fn new(config: SmsRoute) -> Result<(Change, oneshot::Receiver<Changed>), Vec<Problem>> {
        let (answer, answered) = oneshot::channel();
        Ok((Change { route: checked(config)?, answer: Some(answer) }, answered))
    }

    /// Says what becomes of it.
    pub(super) fn answer(&mut self, step: Step) {
        let changed = match step {
            Step::None => Changed::Nothing,
            Step::InPlace => Changed::InPlace,
            Step::Rebind | Step::Reopen => Changed::Rebound,
        };
        if let Some(answer) = self.answer.take() {
            // Whoever asked may have gone.
            let _ = answer.send(changed);
        }
    }
}

/// Looks at all settings, files included.
pub(super) fn checked(config: SmsRoute) -> Result<Checked, Vec<Problem>> {
    let problems = config.problems();
    if !problems.is_empty() {
        return Err(problems);
    }
    match config.tls.as_ref().map(TlsClient::new).transpose() {
        Ok(tls) => Ok(Checked { config, tls }),
        Err(error) => Err(vec![Problem { field: "tls", reason: error.to_string() }]),
    }
}
