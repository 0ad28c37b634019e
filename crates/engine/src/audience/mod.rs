//! Audience of an alert before it is sent: how many people, by which entries, on which devices, who is left
//! out and why; and who they are.
//!
//! It is solved as the alert would be, by the same code, and what was found is kept for a short time: pages
//! of people and the same count again are answered from that.

mod evaluation;
mod kept;
mod people;
mod request;
mod ways;

pub use evaluation::{AudienceCount, AudienceOverlap, EntryCount};
pub use people::{AudienceDevice, AudienceFilter, AudiencePage, AudiencePerson, WhyNamed};

use crate::api::EngineError;
use crate::run::{Engine, opt_out_rules, store_error};
use evaluation::{Evaluation, evaluate};
use kept::{EvaluationKey, KeptEvaluations};
use records::{AlertRequest, ChannelNumber, DeviceProfile};
use request::ReadAudience;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Audiences that are solved at once to be counted; who comes beyond is asked to come again.
pub const COUNTS_AT_ONCE: usize = 4;

/// Why an audience was not counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AudienceError {
    /// [`COUNTS_AT_ONCE`] are being solved.
    Busy,
    /// The filter names an entry that the audience does not have.
    UnknownEntry,
    /// As for an alert.
    Engine(EngineError),
}

impl From<EngineError> for AudienceError {
    fn from(error: EngineError) -> AudienceError {
        AudienceError::Engine(error)
    }
}

/// Counts audiences.
#[derive(Clone)]
pub struct Audiences {
    inner: Arc<AudiencesInner>,
}

struct AudiencesInner {
    engine: Engine,
    places: Arc<Semaphore>,
    kept: Mutex<KeptEvaluations>,
}

impl Audiences {
    /// Of the accounts of an engine.
    pub fn of(engine: &Engine) -> Audiences {
        let places = Arc::new(Semaphore::new(COUNTS_AT_ONCE));
        Audiences {
            inner: Arc::new(AudiencesInner { engine: engine.clone(), places, kept: Mutex::default() }),
        }
    }

    /// How many people a request would reach, if it were sent now. It may lack members, and what it names may
    /// not be there.
    ///
    /// # Errors
    /// Too many at once, or what a solve fails with.
    pub async fn count(&self, account: &str, request: AlertRequest) -> Result<AudienceCount, AudienceError> {
        Ok(self.evaluated(account, request).await?.count.clone())
    }

    /// A page of these people, each with what names them and what would be used.
    ///
    /// # Errors
    /// The same, or a filter by an entry that is none of the audience.
    pub async fn people(
        &self,
        account: &str,
        request: AlertRequest,
        filter: AudienceFilter,
    ) -> Result<AudiencePage, AudienceError> {
        let evaluation = self.evaluated(account, request).await?;
        let (parts, account) = (self.inner.engine.parts().clone(), account.to_owned());
        let runtime = Handle::current();
        off_thread(move || people::page(&parts, &account, &evaluation, &filter, &runtime)).await?
    }

    /// Kinds of these people's devices that show less than their channel carries, those of most devices
    /// first.
    ///
    /// # Errors
    /// As [`Audiences::count`].
    pub async fn profiles(
        &self,
        account: &str,
        request: AlertRequest,
    ) -> Result<Vec<(ChannelNumber, DeviceProfile)>, AudienceError> {
        Ok(self.evaluated(account, request).await?.profiles.clone())
    }

    async fn evaluated(
        &self,
        account: &str,
        mut request: AlertRequest,
    ) -> Result<Arc<Evaluation>, AudienceError> {
        let engine = &self.inner.engine;
        engine.fill_named_areas(account, &mut request).await?;
        let parts = engine.parts().clone();
        let now = parts.now();
        let read = ReadAudience::of(request);
        let revision = parts.store.directory_revision(account).await.map_err(store_error)?;
        let key = EvaluationKey { account: account.to_owned(), revision, audience: read.octets() };
        if let Some(known) = self.kept(|kept| kept.find(&key, now)) {
            return Ok(known);
        }
        let place = self.inner.places.clone().try_acquire_owned().map_err(|_| AudienceError::Busy)?;
        let (rules, runtime, account) = (opt_out_rules(engine), Handle::current(), account.to_owned());
        let work = move || {
            let _place = place;
            evaluate(&parts, &rules, &account, read, now, &runtime)
        };
        let evaluation = Arc::new(off_thread(work).await??);
        // Who got an earlier alert changes without a revision.
        if !evaluation.names_an_alert() {
            self.kept(|kept| kept.keep(key, evaluation.clone(), now));
        }
        Ok(evaluation)
    }

    /// Takes all places, as if so many audiences were being solved.
    #[cfg(test)]
    pub(crate) fn all_places(&self) -> Option<tokio::sync::OwnedSemaphorePermit> {
        self.inner.places.clone().try_acquire_many_owned(COUNTS_AT_ONCE as u32).ok()
    }

    fn kept<T>(&self, look: impl FnOnce(&mut KeptEvaluations) -> T) -> T {
        look(&mut self.inner.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, EngineError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| EngineError::Internal(error.to_string()))
}
